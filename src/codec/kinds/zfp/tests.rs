//! Streams of every type, rank and mode, against those of the C library, and damaged ones.

use std::sync::Arc;

use super::*;
use crate::codec::kinds::coding::{decoded, encoded};
use crate::codec::kinds::{ArrayRepresentation, Representation};

fn bound(data_type: &str, shape: &[u64], configuration: &str) -> (BoundArray, Vec<&'static str>) {
    let codec = CodecMetadata::new("zfp", Json::parse_str(configuration).unwrap().as_object().cloned());
    let data_type = DataType::from_name(data_type).unwrap();
    let array = ArrayRepresentation { data_type, shape: shape.to_vec(), fill_value: None };
    let mut found = Vec::new();
    let bound = ZFP.bind(&codec, Some(&array), &mut found);
    (bound, found.iter().map(|found| found.code).collect())
}

fn zfp(data_type: &str, shape: &[u64], configuration: &str) -> Arc<dyn Coder> {
    bound(data_type, shape, configuration).0.codec.unwrap()
}

fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    })
    .take(length)
    .collect()
}

const SHAPES: [&[u64]; 5] = [&[1], &[77], &[5, 9], &[3, 4, 5], &[2, 3, 5, 1]];

#[test]
fn reversible_gives_every_bit_back_within_its_bound() {
    for name in ["int8", "uint8", "int16", "uint16", "int32", "int64", "float32", "float64"] {
        for shape in SHAPES {
            let BoundArray { codec, output } = bound(name, shape, r#"{"mode":"reversible"}"#).0;
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
        for place in 0..stream.len() {
            let mut damaged = stream.clone();
            damaged[place] ^= 0x55;
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

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16).unwrap()).unwrap();
    hexadecimal.as_bytes().as_chunks::<2>().0.iter().map(|[a, b]| digit(*a) << 4 | digit(*b)).collect()
}

/// By zfpy 1.0.1 without a header: `arange(7) / 4` of float64, 33.3 bits each; `arange(30)` of float32 as `[5, 6]`,
/// squared and divided by 7, 8 bits each; `arange(24) * 1000 - 7000` of int32 as `[2, 3, 4]`, to within 0.5, of which
/// integers know nothing; `arange(4) / 4` of float32 as `[1, 2, 1, 2]`, 1 bit each.
#[test]
fn rates_are_those_of_the_rank_and_integers_keep_all_of_an_accuracy() {
    let quarters: Vec<u8> = (0_u8..7).flat_map(|n| (f64::from(n) / 4.0).to_ne_bytes()).collect();
    let four: Vec<u8> = (0_u8..4).flat_map(|n| (f32::from(n) / 4.0).to_ne_bytes()).collect();
    let squares = (0_u8..30).map(|n| f32::from(n) * f32::from(n) / 7.0);
    let squares: Vec<u8> = squares.flat_map(f32::to_ne_bytes).collect();
    let steps: Vec<u8> = (0..24).flat_map(|n: i32| (n * 1000 - 7000).to_ne_bytes()).collect();
    for (codec, elements, stream) in [
        (
            zfp("float64", &[7], r#"{"mode":"fixed_rate","rate":33.3}"#),
            &quarters,
            "ff67a7000000000000000000000000002000add55828000000000000000000000000000000000000",
        ),
        (
            zfp("float32", &[5, 6], r#"{"mode":"fixed_rate","rate":8}"#),
            &squares,
            concat!(
                "0b6dd192aa354a2062805c0c818801720d4905844421174042060144074142060dad4cd9608a06010aa46810",
                "a0408a260d0d1a45000000510400111045001001",
            ),
        ),
        (
            zfp("int32", &[2, 3, 4], r#"{"mode":"fixed_accuracy","tolerance":0.5}"#),
            &steps,
            "00000208400111384002015400400400103000030134204005027010000100440000000000000000",
        ),
        (
            zfp("float32", &[1, 2, 1, 2], r#"{"mode":"fixed_rate","rate":1}"#),
            &four,
            "ff2c015801080000000000000000000000000000000000000000000000000000",
        ),
    ] {
        let found = encoded(&*codec, elements).unwrap();
        assert_eq!(found, bytes(stream));
        assert_eq!(decoded(&*codec, &found).unwrap().len(), elements.len());
    }
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

/// By zfpy 1.0.1 without a header: `arange(30)` of float32 as `[5, 6]`, squared and divided by 7, to within 0.01;
/// the same in the reversible mode; and `arange(24) * 1000 - 7000` of int32 as `[2, 3, 4]`, 20 bits each.
#[test]
fn streams_of_the_c_library_are_read_and_written() {
    let squares: Vec<f32> = (0_u8..30).map(|n| f32::from(n) * f32::from(n) / 7.0).collect();
    let squares: &[u8] = bytemuck::cast_slice(&squares);
    let near = bytes(concat!(
        "0000c0390020123e0038123f0094a43f00441240009c64400091a44000fbdf40804612418023394100936441804a8a41c091a4",
        "414023c141c0fedf412092004240491242c0242542a0243942e0484e422092644260007c42e0488a42202497422092a4426092",
        "b242a024c142e048d0420000e0420049f042"
    ));
    let steps: Vec<i32> = (0..24).map(|n| n * 1000 - 7000).collect();
    let steps: &[u8] = bytemuck::cast_slice(&steps);
    for (codec, elements, expected, stream) in [
        (
            zfp("float32", &[5, 6], r#"{"mode":"fixed_accuracy","tolerance":0.01}"#),
            squares,
            &near[..],
            concat!(
                "0b6dd192aa354a2062805c0c818801720d49058444211740420601440741420601d4d0ca940da66810a0408a06a1a141",
                "a3080000208a002002a2080000000000"
            )
            .to_owned(),
        ),
        (
            zfp("float32", &[5, 6], r#"{"mode":"reversible"}"#),
            squares,
            squares,
            concat!(
                "fff8e1c7ff1f00000000280cab5fd382ee8e34977184275f0b0c5dd5a4408290698d2646cb194dcba4568290698d2646",
                "cb194dcba4568290698d2646cb144fc42e3d438f4448c4d624c6f60030f600c6f60030f600c6f64070016d51815a0c58",
                "cd12840094086498ad3244a5080022208a002002a2080062946136184900000090040812004980200190044900000000"
            )
            .to_owned(),
        ),
        (
            zfp("int32", &[2, 3, 4], r#"{"mode":"fixed_rate","rate":20}"#),
            steps,
            steps,
            format!("0000020840011138400201540040040010300003013420400502701000010044{}", "0".repeat(256)),
        ),
    ] {
        assert_eq!(decoded(&*codec, &bytes(&stream)).unwrap(), expected);
        assert_eq!(encoded(&*codec, elements).unwrap(), bytes(&stream));
    }
}

fn is_valid(text: &str) -> bool {
    let configuration = Json::parse_str(text).unwrap();
    let codec = CodecMetadata::new("zfp", configuration.as_object().cloned());
    let (table, is_valid) = Members::of_codec(&codec, members(&codec));
    let is_taken = || config(table.text_value("mode"), &table, ZfpScalarType::F32, 2).is_ok();
    assert!((is_valid && is_taken()) || !table.diagnostics.is_empty(), "{text}");
    table.diagnostics.is_empty()
}

#[test]
fn zfp_has_the_members_of_its_mode() {
    for text in [
        r#"{"mode":"reversible"}"#,
        r#"{"mode":"expert","minbits":1,"maxbits":13,"maxprec":19,"minexp":-2}"#,
        r#"{"mode":"fixed_accuracy","tolerance":0.05}"#,
        r#"{"mode":"fixed_rate","rate":10.5}"#,
        r#"{"mode":"fixed_precision","precision":19}"#,
    ] {
        assert!(is_valid(text), "{text}");
    }
    for text in [
        "{}",
        r#"{"mode":3}"#,
        r#"{"mode":"fast"}"#,
        r#"{"mode":"reversible","rate":1}"#,
        r#"{"mode":"expert","minbits":1,"maxbits":13,"maxprec":19}"#,
        r#"{"mode":"fixed_precision","precision":1.5}"#,
        r#"{"mode":"fixed_rate","rate":"1"}"#,
    ] {
        assert!(!is_valid(text), "{text}");
    }
}

#[test]
fn zfp_takes_numbers_in_four_dimensions() {
    let bind = |name: &str, shape: &[u64]| bound(name, shape, r#"{"mode":"reversible"}"#).1;
    assert!(bind("float32", &[1, 2, 3, 4]).is_empty());
    assert!(bind("float16", &[]).is_empty());
    assert_eq!(bind("uint32", &[4]), [code::CODEC_UNSUPPORTED.code]);
    assert_eq!(bind("bfloat16", &[4]), [code::CODEC_UNSUPPORTED.code]);
    assert_eq!(bind("complex64", &[1; 5]), [code::CODEC_DATA_TYPE.code, code::CODEC_DIMENSIONS.code]);
}
