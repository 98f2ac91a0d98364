//! Integers of odd widths: in `bytes` and `packbits`, as target of `cast_value`, and their ranges.

use serde_json::{Value, json};
use zarrs::array::ArraySubset;
use zarrs::storage::{StoreKey, WritableStorageTraits};

use crate::zarrs_plugin::{metadata, open, sharded, stored};

fn bytes(endian: &str) -> Value {
    json!({"name": "bytes", "configuration": {"endian": endian}})
}

fn packbits(padding_encoding: &str) -> Value {
    json!({"name": "packbits", "configuration": {"padding_encoding": padding_encoding}})
}

/// Returns the stored bytes of one chunk of `uint10`.
fn encoded(codec: &Value, values: &[u16]) -> Vec<u8> {
    let length = values.len() as u64;
    let array = open(&metadata("uint10", json!(0), &[length], &[length], &json!([codec]))).unwrap();
    array.store_chunk(&[0], values.to_vec()).unwrap();
    assert_eq!(array.retrieve_chunk::<Vec<u16>>(&[0]).unwrap(), values);
    let subset = ArraySubset::new_with_ranges(&[1..3]);
    assert_eq!(array.retrieve_chunk_subset::<Vec<u16>>(&[0], &subset).unwrap(), values[1..3]);
    stored(&array, "c/0").unwrap()
}

#[test]
fn uint10_takes_two_bytes_in_bytes_and_ten_bits_in_packbits() {
    let values = [1, 2, 1023, 512];
    assert_eq!(encoded(&bytes("little"), &values), [1, 0, 2, 0, 255, 3, 0, 2]);
    assert_eq!(encoded(&bytes("big"), &values), [0, 1, 0, 2, 3, 255, 2, 0]);
    // 1023 is bits 20 to 29, 512 is bit 39.
    assert_eq!(encoded(&packbits("none"), &values), [1, 8, 0xf0, 0x3f, 0x80]);
    assert_eq!(encoded(&packbits("first_byte"), &values), [0, 1, 8, 0xf0, 0x3f, 0x80]);
    assert_eq!(encoded(&packbits("last_byte"), &values[..3]), [1, 8, 0xf0, 0x3f, 2]);
    let twelve: Vec<u16> = (1..=12).collect();
    assert_eq!(encoded(&bytes("big"), &twelve).len(), 24);
    assert_eq!(encoded(&packbits("none"), &twelve).len(), 15);
    assert_eq!(encoded(&packbits("first_byte"), &twelve).len(), 16);
}

#[test]
fn signed_values_are_extended() {
    for codec in [bytes("big"), packbits("last_byte")] {
        let array = open(&metadata("int5", json!(-3), &[4], &[4], &json!([codec]))).unwrap();
        assert_eq!(array.retrieve_chunk::<Vec<i8>>(&[0]).unwrap(), [-3; 4]);
        array.store_chunk(&[0], vec![-16_i8, 15, -1, 0]).unwrap();
        assert_eq!(array.retrieve_chunk::<Vec<i8>>(&[0]).unwrap(), [-16, 15, -1, 0]);
        assert!(array.store_chunk(&[0], vec![16_i8, 0, 0, 0]).is_err());
        assert!(array.store_chunk(&[0], vec![-17_i8, 0, 0, 0]).is_err());
    }
}

#[test]
fn every_odd_width_comes_back() {
    for bits in (3..32).filter(|bits: &u32| !bits.is_power_of_two()) {
        for codec in [bytes("big"), packbits("none")] {
            let name = format!("uint{bits}");
            let array = open(&metadata(&name, json!(0), &[3], &[3], &json!([codec]))).unwrap();
            let greatest = (1_u64 << bits) - 1;
            let subset = ArraySubset::new_with_ranges(&[0..3]);
            match bits {
                ..8 => {
                    let values = vec![0, 1, u8::try_from(greatest).unwrap()];
                    array.store_array_subset(&subset, values.clone()).unwrap();
                    assert_eq!(array.retrieve_chunk::<Vec<u8>>(&[0]).unwrap(), values);
                }
                ..16 => {
                    let values = vec![0, 1, u16::try_from(greatest).unwrap()];
                    array.store_array_subset(&subset, values.clone()).unwrap();
                    assert_eq!(array.retrieve_chunk::<Vec<u16>>(&[0]).unwrap(), values);
                }
                _ => {
                    let values = vec![0, 1, u32::try_from(greatest).unwrap()];
                    array.store_array_subset(&subset, values.clone()).unwrap();
                    assert_eq!(array.retrieve_chunk::<Vec<u32>>(&[0]).unwrap(), values);
                }
            }
        }
    }
}

#[test]
fn fill_value_out_of_range_does_not_open() {
    for (name, fill_value, opens) in [
        ("uint10", json!(1023), true),
        ("uint10", json!(1024), false),
        ("uint10", json!(-1), false),
        ("uint10", json!(1.5), false),
        ("uint10", json!("5"), false),
        ("int10", json!(-512), true),
        ("int10", json!(-513), false),
    ] {
        let metadata = metadata(name, fill_value.clone(), &[2], &[2], &json!([bytes("little")]));
        assert_eq!(open(&metadata).is_ok(), opens, "{name} {fill_value}");
        if opens {
            let written = serde_json::to_value(open(&metadata).unwrap().metadata()).unwrap();
            assert_eq!(written["fill_value"], fill_value);
        }
    }
    assert!(open(&metadata("uint33", json!(0), &[2], &[2], &json!([bytes("little")]))).is_err());
}

#[test]
fn value_out_of_range_is_refused_on_write_and_on_read() {
    for codec in [bytes("little"), bytes("big"), packbits("none")] {
        for codecs in [json!([codec]), json!([sharded(&[2], &json!([codec]))])] {
            let array = open(&metadata("uint10", json!(0), &[4], &[4], &codecs)).unwrap();
            let error = array.store_chunk(&[0], vec![0_u16, 1, 2000, 3]).unwrap_err().to_string();
            assert!(error.contains("uint10") || error.contains("10"), "{error}");
            assert_eq!(stored(&array, "c/0"), None);
        }
    }
    let array = open(&metadata("uint10", json!(0), &[2], &[2], &json!([bytes("big")]))).unwrap();
    array.storage().set(&StoreKey::new("c/0").unwrap(), vec![0, 1, 4, 0].into()).unwrap();
    let error = array.retrieve_chunk::<Vec<u16>>(&[0]).unwrap_err().to_string();
    assert!(error.contains("1024") && error.contains("uint10"), "{error}");
    let subset = ArraySubset::new_with_ranges(&[1..2]);
    assert!(array.retrieve_chunk_subset::<Vec<u16>>(&[0], &subset).is_err());
}

#[test]
fn uint10_is_a_target_of_cast_value() {
    let cast = json!({"name": "cast_value", "configuration": {
        "data_type": "uint10", "out_of_range": "clamp",
        "scalar_map": {"encode": [["NaN", 1023]], "decode": [[1023, "NaN"]]},
    }});
    for rest in [bytes("big"), packbits("first_byte"), sharded(&[2], &json!([packbits("none")]))] {
        let array = open(&metadata("float64", json!("NaN"), &[8], &[4], &json!([cast, rest]))).unwrap();
        array.store_chunk(&[0], vec![1.0, 1e9, -7.0, 511.5]).unwrap();
        let values = array.retrieve_chunk::<Vec<f64>>(&[0]).unwrap();
        assert!(values[1].is_nan());
        assert_eq!([values[0], values[2], values[3]], [1.0, 0.0, 512.0]);
        let subset = ArraySubset::new_with_ranges(&[3..6]);
        let values = array.retrieve_array_subset::<Vec<f64>>(&subset).unwrap();
        assert!(values[0] == 512.0 && values[1].is_nan() && values[2].is_nan());
    }
}

#[test]
fn packbits_writes_the_padding_byte_for_whole_bytes_and_takes_the_small_types_of_zarrs() {
    let array = open(&metadata("int16", json!(0), &[2], &[2], &json!([packbits("first_byte")]))).unwrap();
    array.store_chunk(&[0], vec![1_i16, -2]).unwrap();
    assert_eq!(stored(&array, "c/0"), Some(vec![0, 1, 0, 254, 255]));
    assert_eq!(array.retrieve_chunk::<Vec<i16>>(&[0]).unwrap(), [1, -2]);
    let array = open(&metadata("int4", json!(0), &[3], &[3], &json!([packbits("none")]))).unwrap();
    array.store_chunk(&[0], vec![1_i8, -2, 7]).unwrap();
    assert_eq!(stored(&array, "c/0"), Some(vec![0xe1, 0x07]));
    assert_eq!(array.retrieve_chunk::<Vec<i8>>(&[0]).unwrap(), [1, -2, 7]);
    assert!(array.store_chunk(&[0], vec![8_i8, 0, 0]).is_err());
    let array = open(&metadata("bool", json!(false), &[9], &[9], &json!([packbits("last_byte")]))).unwrap();
    array.store_chunk(&[0], vec![true, false, true, false, false, false, false, false, true]).unwrap();
    assert_eq!(stored(&array, "c/0"), Some(vec![0b101, 1, 7]));
}

/// Checks that a chain with a small float encodes these values to these bytes and decodes them again.
fn check_small_float(name: &str, codes: &[u8], values: [f32; 4]) {
    let cast = json!({"name": "cast_value", "configuration": {"data_type": name}});
    let scale = json!({"name": "scale_offset", "configuration": {"scale": 2.0}});
    for rest in [bytes("little"), sharded(&[2], &json!([bytes("little")]))] {
        let array = open(&metadata("float32", json!(0.5), &[8], &[4], &json!([scale, cast, rest]))).unwrap();
        array.store_chunk(&[0], values.to_vec()).unwrap();
        assert_eq!(array.retrieve_chunk::<Vec<f32>>(&[0]).unwrap(), values, "{name}");
        assert_eq!(array.retrieve_chunk::<Vec<f32>>(&[1]).unwrap(), [0.5; 4], "{name}: an absent chunk");
        let refused = array.store_chunk(&[1], vec![1e38_f32; 4]);
        assert_eq!(refused.is_err(), name != "bfloat16", "{name}");
    }
    let array = open(&metadata("float32", json!(0.5), &[4], &[4], &json!([scale, cast, bytes("little")]))).unwrap();
    array.store_chunk(&[0], values.to_vec()).unwrap();
    assert_eq!(stored(&array, "c/0").unwrap(), codes, "{name}");
}

#[test]
fn small_floats_are_targets_of_cast_value() {
    check_small_float("bfloat16", &[0, 0x40, 0x80, 0xbf, 0, 0, 0xc0, 0x40], [1.0, -0.5, 0.0, 3.0]);
    check_small_float("float8_e4m3", &[0x40, 0xb8, 0, 0x4c], [1.0, -0.5, 0.0, 3.0]);
    check_small_float("float8_e5m2fnuz", &[0x44, 0xc0, 0, 0x4a], [1.0, -0.5, 0.0, 3.0]);
    check_small_float("float6_e2m3fn", &[0x10, 0x28, 0, 0x1c], [1.0, -0.5, 0.0, 3.0]);
    check_small_float("float4_e2m1fn", &[0x4, 0xa, 0, 0x7], [1.0, -0.5, 0.0, 3.0]);
}

#[test]
fn arrays_of_small_floats_are_scaled_in_their_own_arithmetic() {
    let scale = json!({"name": "scale_offset", "configuration": {"offset": 1.25, "scale": 1.25}});
    let array = open(&metadata("float8_e4m3", json!("0x3a"), &[1], &[1], &json!([scale, {"name": "bytes"}]))).unwrap();
    array.store_chunk(&[0], zarrs::array::ArrayBytes::new_flen(vec![0x4b_u8])).unwrap();
    assert_eq!(stored(&array, "c/0"), Some(vec![0x4a]), "(5.5 - 1.25) is 4, and 4 * 1.25 is 5");
}
