//! `numcodecs.quantize`: floats rounded to so many decimal digits.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/quantize.html>

use std::sync::Arc;

use super::array::ArrayKind;
use super::filter::{BoundFilter, ByElement, Filter, FilterConfiguration, data_type, numbers};
use super::members::Members;
use super::numcodecs::{Form, Member};
use crate::kernel::numcodecs::{ElementFilter, FilterOptions, GREATEST_DIGITS, LEAST_DIGITS, NumpyType};
use crate::metadata::json::Json;

/// `numcodecs.quantize`.
pub(crate) static QUANTIZE: ArrayKind = ArrayKind::new::<FilterConfiguration<Quantize>>();

struct Quantize {
    digits: i32,
}

impl Filter for Quantize {
    const NAME: &'static str = "numcodecs.quantize";
    const MEMBERS: &'static [Member] = &[
        Member::required("digits", Form::Integer(LEAST_DIGITS as i64, GREATEST_DIGITS as i64)),
        data_type("dtype"),
        data_type("astype"),
    ];

    fn read(members: &Members<'_>) -> Option<Self> {
        let digits = members.get("digits").and_then(Json::as_i128)?;
        Some(Quantize { digits: digits.try_into().ok()? })
    }

    fn bound(&self, types: (NumpyType, NumpyType), swap: Option<usize>) -> Result<BoundFilter, &'static str> {
        let (decoded, encoded) = numbers(types)?;
        if !decoded.is_float() || !encoded.is_float() {
            return Err("real floats");
        }
        let filter = ElementFilter::new(FilterOptions::Quantize { decoded, encoded, digits: self.digits });
        Ok(Arc::new(ByElement { filter, swap }))
    }
}
