//! Streams of every type, rank and mode, compared with those of the C library, and damaged streams.

use std::sync::Arc;

use super::*;
use crate::codec::kinds::coding::{decoded, encoded, noise};
use crate::codec::kinds::{ArrayRepresentation, Representation};

fn bound(data_type: &str, shape: &[u64], configuration: &str) -> (Made, Vec<&'static str>) {
    bound_as(("zfp", &ZFP), data_type, shape, configuration)
}

fn bound_as(
    (name, kind): (&str, &Kind),
    data_type: &str,
    shape: &[u64],
    configuration: &str,
) -> (Made, Vec<&'static str>) {
    let codec = CodecMetadata::new(name, Json::parse_str(configuration).unwrap().as_object().cloned());
    let data_type = DataType::from_name(data_type).unwrap();
    let array = ArrayRepresentation { data_type, shape: shape.to_vec(), fill_value: None };
    let mut found = Vec::new();
    let bound = kind.bind(&codec, Some(&array), &mut found);
    (bound, found.iter().map(|found| found.code).collect())
}

fn zfp(data_type: &str, shape: &[u64], configuration: &str) -> Arc<dyn Coder> {
    bound(data_type, shape, configuration).0.codec.unwrap()
}

const SHAPES: [&[u64]; 5] = [&[1], &[77], &[5, 9], &[3, 4, 5], &[2, 3, 5, 1]];

#[test]
fn reversible_gives_every_bit_back_within_its_bound() {
    for name in ["int8", "uint8", "int16", "uint16", "int32", "int64", "float32", "float64"] {
        for shape in SHAPES {
            let Made { codec, output } = bound(name, shape, r#"{"mode":"reversible"}"#).0;
            let (codec, size) = (codec.unwrap(), DataType::from_name(name).unwrap().size().unwrap());
            let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
            let elements = noise(count * size);
            let stream = encoded(&*codec, &elements).unwrap();
            let Some(Representation::Bytes(BytesSize::Bounded(most))) = output else { panic!("{output:?}") };
            assert!(stream.len() as u64 <= most, "{name} {shape:?}");
            assert_eq!(decoded(&*codec, &stream).unwrap(), elements, "{name} {shape:?}");
        }
    }
}

#[test]
fn accuracy_is_kept() {
    let codec = zfp("float32", &[8, 9], r#"{"mode":"fixed_accuracy","tolerance":0.25}"#);
    let elements: Vec<f32> = (0_u8..72).map(|n| (f32::from(n) * 0.3).sin() * 40.0).collect();
    let stream = encoded(&*codec, bytemuck::cast_slice(&elements)).unwrap();
    assert!(stream.len() < 72 * 4 / 2, "{}", stream.len());
    let found: Vec<f32> = bytemuck::pod_collect_to_vec(&decoded(&*codec, &stream).unwrap());
    assert!(elements.iter().zip(&found).all(|(one, two)| (one - two).abs() <= 0.25), "{found:?}");
}

#[test]
fn damaged_streams_are_errors_or_other_numbers() {
    let configurations = [
        r#"{"mode":"reversible"}"#,
        r#"{"mode":"fixed_rate","rate":6.5}"#,
        r#"{"mode":"fixed_precision","precision":9}"#,
        r#"{"mode":"expert","minbits":1,"maxbits":400,"maxprec":19,"minexp":-20}"#,
    ];
    for configuration in configurations {
        let codec = zfp("float64", &[6, 5, 4], configuration);
        let elements = noise(6 * 5 * 4 * 8);
        let stream = encoded(&*codec, &elements).unwrap();
        for end in 0..stream.len() {
            assert!(decoded(&*codec, &stream[..end]).is_err(), "{configuration} {end}");
        }
        let longer = [&stream[..], &[0; WORD]].concat();
        let error = decoded(&*codec, &longer).unwrap_err().to_string();
        assert_eq!(error, "8 bytes follow the compressed numbers");
        for offset in 0..stream.len() {
            let mut damaged = stream.clone();
            damaged[offset] ^= 0x55;
            if let Ok(decoded) = decoded(&*codec, &damaged) {
                assert_eq!(decoded.len(), elements.len());
            }
        }
    }
}

#[test]
fn stream_that_cannot_hold_the_chunk_takes_no_memory() {
    let codec = zfp("float32", &[1 << 40], r#"{"mode":"reversible"}"#);
    let error = decoded(&*codec, &[0; 64]).unwrap_err().to_string();
    assert_eq!(error, "64 bytes cannot hold 1099511627776 elements");
}

#[test]
fn half_floats_and_a_single_element_come_back() {
    let halves: Vec<u8> = (0_u8..6).flat_map(|n| f16::from_f32(f32::from(n) * 0.7).to_ne_bytes()).collect();
    for (name, shape, elements) in [("float16", &[2_u64, 3][..], &halves[..]), ("float16", &[], &halves[2..4])] {
        let codec = zfp(name, shape, r#"{"mode":"reversible"}"#);
        let stream = encoded(&*codec, elements).unwrap();
        assert_eq!(decoded(&*codec, &stream).unwrap(), elements, "{shape:?}");
    }
}

fn zfpy(data_type: &str, shape: &[u64], configuration: &str) -> Arc<dyn Coder> {
    bound_as(("numcodecs.zfpy", &ZFPY), data_type, shape, configuration).0.codec.unwrap()
}

fn squares() -> Vec<u8> {
    let squares = (0_u8..30).map(|n| f32::from(n) * f32::from(n) / 7.0);
    squares.flat_map(f32::to_ne_bytes).collect()
}

#[test]
fn header_decides_how_a_chunk_is_read_but_not_what_it_holds() {
    let reversible = zfpy("float32", &[5, 6], "{}");
    let stream = encoded(&*reversible, &squares()).unwrap();
    for (shape, configuration) in [(&[5_u64, 6][..], r#"{"mode":2,"rate":4}"#), (&[30], "{}"), (&[2, 3, 5], "{}")] {
        let codec = zfpy("float32", shape, configuration);
        assert_eq!(decoded(&*codec, &stream).unwrap(), squares(), "{shape:?}");
    }
    for (name, shape) in
        [("int32", &[5_u64, 6][..]), ("float64", &[5, 6]), ("float32", &[5, 7]), ("float32", &[1 << 40])]
    {
        let found = decoded(&*zfpy(name, shape, "{}"), &stream);
        assert!(matches!(found, Err(CodecError::Bytes(_))), "{name} {shape:?}: {found:?}");
    }
    for end in 0..stream.len() {
        assert!(decoded(&*reversible, &stream[..end]).is_err(), "{end}");
    }
    for offset in 0..stream.len() {
        let mut damaged = stream.clone();
        damaged[offset] ^= 0x55;
        if let Ok(decoded) = decoded(&*reversible, &damaged) {
            assert_eq!(decoded.len(), 120);
        }
    }
}
