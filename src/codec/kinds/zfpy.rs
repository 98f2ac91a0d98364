//! `numcodecs.zfpy`: zfp streams that begin with the library's full header. The decoder uses the mode and the lengths
//! in the header, after a check of the type and the number of elements.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/compression/zfpy.html>

use super::array::{ArrayKind, Binding, BoundArray};
use super::members::{Absent, Form, Member};
use super::zfp::{MAX_DIMENSIONS, bound, parameter, scalar_type};
use crate::data_type::DataType;
use crate::diagnostic::code;
use crate::element::ElementType;
use crate::metadata::json::Json;

const NAME: &str = "numcodecs.zfpy";

pub(crate) static ZFPY: ArrayKind = ArrayKind { is_little_endian_in_v2: true, ..ArrayKind::new(|_| MEMBERS, bind) };

/// The members that numcodecs writes. Only the parameter of the mode counts.
const MEMBERS: &[Member] = &[
    Member::new("mode", Form::Integer(0, 5), Absent::Nothing),
    Member::new("tolerance", Form::Number, Absent::Nothing),
    Member::new("rate", Form::Number, Absent::Nothing),
    Member::new("precision", Form::Number, Absent::Nothing),
    Member::new("compression_kwargs", Form::Any, Absent::Nothing),
];

/// Binds the codec. zfp's number of the mode selects the parameter. The default mode is that of numcodecs. A parameter
/// below 0 counts as absent. Without one the mode is reversible.
fn bind(to: &mut Binding<'_>) -> Option<BoundArray> {
    const FIXED_RATE: i128 = 2;
    const FIXED_PRECISION: i128 = 3;
    const FIXED_ACCURACY: i128 = 4;
    let (mode, name) = match to.members.get("mode").and_then(Json::as_i128).unwrap_or(FIXED_ACCURACY) {
        FIXED_RATE => ("fixed_rate", "rate"),
        FIXED_PRECISION => ("fixed_precision", "precision"),
        FIXED_ACCURACY => ("fixed_accuracy", "tolerance"),
        _ => ("reversible", ""),
    };
    let is_given = parameter(&to.members, name).is_some_and(|value| value >= 0.0);
    let array = to.array()?;
    let rank = array.shape.len();
    let takes = format!("`{NAME}` takes int32, int64, float32 and float64");
    let element = element(&array.data_type).or_else(|| to.refuse(code::CODEC_DATA_TYPE, takes));
    let takes = (1..=MAX_DIMENSIONS).contains(&rank);
    if !takes {
        let message = format!("`{NAME}` takes 1 to {MAX_DIMENSIONS} dimensions, but its input has {rank}");
        to.report(code::CODEC_DIMENSIONS, message);
    }
    bound(if is_given { mode } else { "reversible" }, element.filter(|_| takes)?, to)
}

/// Returns the primitive of a type that zfpy supports.
fn element(data_type: &DataType) -> Option<ElementType> {
    let number = data_type.number().filter(|number| number.is_whole() && number.size() >= 4)?;
    scalar_type(number.element()).map(|_| number.element())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::codec::kinds::coding::{decoded, encoded};
    use crate::codec::kinds::{ArrayRepresentation, CodecError, Coder};
    use crate::metadata::extension::CodecMetadata;

    fn bound(name: &str, shape: &[u64], configuration: &str) -> (Option<Arc<dyn Coder>>, Vec<&'static str>) {
        let configuration = Json::parse_str(configuration).unwrap().as_object().cloned();
        let data_type = DataType::from_name(name).unwrap();
        let array = ArrayRepresentation { data_type, shape: shape.to_vec(), fill_value: None };
        let mut found = Vec::new();
        let bound = ZFPY.bind(&CodecMetadata::new(NAME, configuration), Some(&array), &mut found);
        (bound.codec, found.iter().map(|found| found.code).collect())
    }

    fn squares() -> Vec<u8> {
        let squares = (0_u8..30).map(|n| f32::from(n) * f32::from(n) / 7.0);
        squares.flat_map(f32::to_ne_bytes).collect()
    }

    #[test]
    fn header_decides_how_a_chunk_is_read_but_not_what_it_holds() {
        let reversible = bound("float32", &[5, 6], "{}").0.unwrap();
        let stream = encoded(&*reversible, &squares()).unwrap();
        for (shape, configuration) in [(&[5_u64, 6][..], r#"{"mode":2,"rate":4}"#), (&[30], "{}"), (&[2, 3, 5], "{}")] {
            let codec = bound("float32", shape, configuration).0.unwrap();
            assert_eq!(decoded(&*codec, &stream).unwrap(), squares(), "{shape:?}");
        }
        for (name, shape) in
            [("int32", &[5_u64, 6][..]), ("float64", &[5, 6]), ("float32", &[5, 7]), ("float32", &[1 << 40])]
        {
            let found = decoded(&*bound(name, shape, "{}").0.unwrap(), &stream);
            assert!(matches!(found, Err(CodecError::Bytes(_))), "{name} {shape:?}: {found:?}");
        }
        for end in 0..stream.len() {
            assert!(decoded(&*reversible, &stream[..end]).is_err(), "{end}");
        }
        for place in 0..stream.len() {
            let mut damaged = stream.clone();
            damaged[place] ^= 0x55;
            if let Ok(decoded) = decoded(&*reversible, &damaged) {
                assert_eq!(decoded.len(), 120);
            }
        }
    }
}
