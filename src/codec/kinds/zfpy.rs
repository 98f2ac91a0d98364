//! `numcodecs.zfpy`: streams of zfp that begin with the library's full header, of which the decoder believes the mode and
//! nothing else.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/compression/zfpy.html>

use super::array::{ArrayKind, Binding, BoundArray};
use super::members::{Absent, Form, Member};
use super::zfp::{MAX_DIMENSIONS, bound, parameter};
use crate::data_type::DataType;
use crate::diagnostic::code;
use crate::element::ElementType;
use crate::metadata::json::Json;

/// The name of the codec.
const NAME: &str = "numcodecs.zfpy";

/// `numcodecs.zfpy`.
pub(crate) static ZFPY: ArrayKind = ArrayKind { is_little_endian_in_v2: true, ..ArrayKind::new(|_| MEMBERS, bind) };

/// The members that numcodecs writes; of the parameters only that of the mode counts.
const MEMBERS: &[Member] = &[
    Member::new("mode", Form::Integer(0, 5), Absent::Nothing),
    Member::new("tolerance", Form::Number, Absent::Nothing),
    Member::new("rate", Form::Number, Absent::Nothing),
    Member::new("precision", Form::Number, Absent::Nothing),
    Member::new("compression_kwargs", Form::Any, Absent::Nothing),
];

/// The parameters are found by zfp's number of the mode, the default of which is numcodecs'. One below 0 is none; nothing
/// is lost where none says otherwise.
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
        let message = format!("`{NAME}` takes 1 to {MAX_DIMENSIONS} dimensions, but a chunk of {rank} reaches it");
        to.report(code::CODEC_DIMENSIONS, message);
    }
    bound(if is_given { mode } else { "reversible" }, element.filter(|_| takes)?, to)
}

/// The primitive of a type that zfpy takes.
fn element(data_type: &DataType) -> Option<ElementType> {
    let number = data_type.number().filter(|number| number.is_whole())?;
    let is_taken = matches!(
        number.element(),
        ElementType::Int32 | ElementType::Int64 | ElementType::Float32 | ElementType::Float64
    );
    is_taken.then_some(number.element())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::codec::kinds::coding::{decoded, encoded, hexadecimal};
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

    /// By zfpy 1.0.1 with its header: `arange(30)` of float32 as `[5, 6]`, squared and divided by 7;
    /// `arange(24) * 1000 - 7000` of int32 as `[2, 3, 4]`; `arange(7) / 4` of float64.
    #[test]
    fn streams_of_zfpy_are_written_bit_for_bit_and_read() {
        let steps: Vec<u8> = (0..24).flat_map(|n: i32| (n * 1000 - 7000).to_ne_bytes()).collect();
        let quarters: Vec<u8> = (0_u8..7).flat_map(|n| (f64::from(n) / 4.0).to_ne_bytes()).collect();
        let squares = squares();
        for (name, shape, configuration, elements, stream) in [
            (
                "float32",
                &[5_u64, 6][..],
                r#"{"mode":4,"tolerance":0.01}"#,
                &squares[..],
                concat!(
                    "7a667005560000400000c0ca0b6dd192aa354a2062805c0c818801720d490584442117404206014407414206",
                    "01d4d0ca940da66810a0408a06a1a141a3080000208a002002a20800",
                ),
            ),
            (
                "float32",
                &[5, 6],
                r#"{"mode":4,"tolerance":-1,"rate":-1,"precision":-1,"compression_kwargs":{"tolerance":-1}}"#,
                &squares,
                concat!(
                    "7a6670055600004000000088fff8e1c7ff1f00000000280cab5fd382ee8e34977184275f0b0c5dd5a4408290",
                    "698d2646cb194dcba4568290698d2646cb194dcba4568290698d2646cb144fc42e3d438f4448c4d624c6f600",
                    "30f600c6f60030f600c6f64070016d51815a0c58cd12840094086498ad3244a5080022208a002002a2080062",
                    "9461361849000000900408120049802001900449",
                ),
            ),
            (
                "float32",
                &[5, 6],
                r#"{"mode":2,"rate":8.0}"#,
                &squares,
                concat!(
                    "7a667005560000400000f0070b6dd192aa354a2062805c0c818801720d490584442117404206014407414206",
                    "0dad4cd9608a06010aa46810a0408a260d0d1a4500000051040011104500100100000000",
                ),
            ),
            (
                "float32",
                &[5, 6],
                r#"{"mode":3,"precision":16}"#,
                &squares,
                concat!(
                    "7a667005560000400000f0800b6dd192aa354a2062805c0c8168482a20240ab900123208203a888656a66c30",
                    "458300050d0d1a45000000510400110000000000",
                ),
            ),
            (
                "int32",
                &[2, 3, 4],
                r#"{"mode":4,"tolerance":0.5}"#,
                &steps,
                concat!(
                    "7a66700538002000100020cb0000020840011138400201540040040010300003013420400502701000010044",
                    "000000000000000000000000",
                ),
            ),
            (
                "int32",
                &[2, 3, 4],
                "{}",
                &steps,
                concat!(
                    "7a66700538002000100000881c002080014210a00400601020000018000004004810a002002810a007011a00",
                    "80010000",
                ),
            ),
            (
                "float64",
                &[7],
                r#"{"mode":2,"rate":33.3}"#,
                &quarters,
                concat!(
                    "7a6670056300000000004008ff67a7000000000000000000000000002000add5582800000000000000000000",
                    "00000000",
                ),
            ),
        ] {
            let codec = bound(name, shape, configuration).0.unwrap();
            let found = encoded(&*codec, elements).unwrap();
            assert_eq!(found, hexadecimal(stream), "{name} {configuration}");
            assert_eq!(decoded(&*codec, &found).unwrap().len(), elements.len(), "{name} {configuration}");
        }
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
