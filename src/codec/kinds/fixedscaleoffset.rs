//! `numcodecs.fixedscaleoffset`: `round((x - offset) * scale)`, as numpy calculates it.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/fixedscaleoffset.html>

use std::sync::Arc;

use super::array::ArrayKind;
use super::filter::{BoundFilter, ByElement, Filter, FilterConfiguration, data_type, numbers};
use super::members::Members;
use super::numcodecs::{Form, Member};
use crate::kernel::numcodecs::{ElementFilter, FilterOptions, NumpyType, PythonNumber};
use crate::metadata::json::Json;

/// `numcodecs.fixedscaleoffset`.
pub(crate) static FIXED_SCALE_OFFSET: ArrayKind = ArrayKind::new::<FilterConfiguration<FixedScaleOffset>>();

struct FixedScaleOffset {
    offset: PythonNumber,
    scale: PythonNumber,
}

impl Filter for FixedScaleOffset {
    const NAME: &'static str = "numcodecs.fixedscaleoffset";
    const MEMBERS: &'static [Member] = &[
        Member::required("offset", Form::Number),
        Member::required("scale", Form::Number),
        data_type("dtype"),
        data_type("astype"),
    ];

    fn read(members: &Members<'_>) -> Option<Self> {
        let number = |name: &str| members.get(name).and_then(python_number);
        Some(FixedScaleOffset { offset: number("offset")?, scale: number("scale")? })
    }

    fn bound(&self, types: (NumpyType, NumpyType), swap: Option<usize>) -> Result<BoundFilter, &'static str> {
        let (decoded, encoded) = numbers(types)?;
        let FixedScaleOffset { offset, scale } = *self;
        let options = FilterOptions::FixedScaleOffset { decoded, encoded, offset, scale };
        Ok(Arc::new(ByElement { filter: ElementFilter::new(options), swap }))
    }
}

/// Python reads `10` as an integer, `10.0` and `1e1` as floats.
fn python_number(json: &Json) -> Option<PythonNumber> {
    let integer = json.as_number()?.is_integer_literal().then(|| json.as_i128()).flatten();
    let float = || json.as_number().map(|number| PythonNumber::Float(number.as_f64()));
    integer.map(PythonNumber::Integer).or_else(float)
}
