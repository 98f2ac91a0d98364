//! `numcodecs.astype`: the elements in another type of numpy, whatever is lost.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/astype.html>

use std::sync::Arc;

use super::array::ArrayKind;
use super::filter::{BoundFilter, ByElement, Filter, FilterConfiguration, data_type};
use super::members::Members;
use super::numcodecs::{Form, Member};
use crate::kernel::numcodecs::{ElementFilter, FilterOptions, NumpyType};

/// `numcodecs.astype`.
pub(crate) static ASTYPE: ArrayKind = ArrayKind::new::<FilterConfiguration<AsType>>();

struct AsType;

impl Filter for AsType {
    const NAME: &'static str = "numcodecs.astype";
    const MEMBERS: &'static [Member] =
        &[Member::required("encode_dtype", Form::DataType), data_type("decode_dtype")];

    fn read(_: &Members<'_>) -> Option<Self> {
        Some(AsType)
    }

    fn bound(
        &self,
        (decoded, encoded): (NumpyType, NumpyType),
        swap: Option<usize>,
    ) -> Result<BoundFilter, &'static str> {
        let filter = ElementFilter::new(FilterOptions::AsType { decoded, encoded });
        Ok(Arc::new(ByElement { filter, swap }))
    }
}
