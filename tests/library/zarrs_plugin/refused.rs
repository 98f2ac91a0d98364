//! Faults on opening an array, and faults when its codecs first get the data type and the fill value.

use serde_json::{Value, json};

use crate::zarrs_plugin::{little, metadata, open};

/// Faults of any type are reported. `tests/cli/cases/configurations.txt` tests the others.
#[test]
fn configurations_that_are_wrong_in_any_type_do_not_open() {
    for (codec, part) in [
        (json!({"name": "scale_offset", "configuration": {"offset": 0, "factor": 2}}), "factor"),
        (json!({"name": "scale_offset", "configuration": {"scale": 0.0}}), "zero"),
        (json!({"name": "scale_offset", "configuration": {"offset": null}}), "null"),
        (json!({"name": "cast_value"}), "no configuration"),
        (json!({"name": "cast_value", "configuration": {"data_type": "bool"}}), "bool"),
        (json!({"name": "cast_value", "configuration": {"data_type": "uint8", "rounding": "up"}}), "nearest-even"),
        (json!({"name": "cast_value", "configuration": {"data_type": "uint8", "out_of_range": "error"}}), "clamp"),
        (json!({"name": "cast_value", "configuration": {"data_type": "float32", "out_of_range": "wrap"}}), "wrap"),
        (
            json!({"name": "cast_value", "configuration": {
            "data_type": "uint8", "scalar_map": {"encode": [["NaN"]]}}}),
            "a key and a value",
        ),
        (json!({"name": "transpose", "configuration": {"order": [0, 0]}}), "given before"),
    ] {
        let metadata = metadata("float32", json!(0), &[4, 4], &[2, 2], &json!([codec, little()]));
        let error = open(&metadata).map(drop).expect_err(&codec.to_string()).to_string();
        assert!(error.contains(part), "{codec}: {error}");
    }
    for codec in [
        json!({"name": "packbits", "configuration": {"padding_encoding": "start_byte"}}),
        json!({"name": "packbits", "configuration": {"first_bit": 3, "last_bit": 2}}),
        json!({"name": "bytes", "configuration": {"endian": "middle"}}),
    ] {
        assert!(open(&metadata("uint8", json!(0), &[4], &[2], &json!([codec]))).is_err(), "{codec}");
    }
}

/// Returns the error of the codecs of an array that opens.
fn first_fault(data_type: &str, fill_value: Value, codec: Value) -> String {
    let array = open(&metadata(data_type, fill_value, &[4], &[4], &json!([codec, little()]))).unwrap();
    let representation = array.codecs();
    let shape = [std::num::NonZeroU64::new(4).unwrap()];
    let fault = zarrs::array::ArrayToBytesCodecTraits::encoded_representation(
        representation.as_ref(),
        &shape,
        array.data_type(),
        array.fill_value(),
    );
    fault.unwrap_err().to_string()
}

#[test]
fn configurations_that_are_wrong_in_the_data_type_are_errors_of_the_first_use() {
    for (data_type, codec, part) in [
        ("int8", json!({"name": "scale_offset", "configuration": {"offset": 200}}), "200"),
        ("int8", json!({"name": "scale_offset", "configuration": {"scale": 0.1}}), "0.1"),
        ("int8", json!({"name": "scale_offset", "configuration": {"scale": "2"}}), "scale"),
        ("float32", json!({"name": "scale_offset", "configuration": {"scale": "0x80000000"}}), "zero"),
        ("bool", json!({"name": "scale_offset"}), "bool"),
        ("bool", json!({"name": "cast_value", "configuration": {"data_type": "uint8"}}), "bool"),
        ("complex64", json!({"name": "cast_value", "configuration": {"data_type": "uint8"}}), "complex64"),
        (
            "int8",
            json!({"name": "cast_value", "configuration": {
            "data_type": "uint8", "scalar_map": {"encode": [["NaN", 0]]}}}),
            "entry 0",
        ),
        ("int8", json!({"name": "transpose", "configuration": {"order": [1, 0]}}), "transpose"),
    ] {
        let fill_value = match data_type {
            "bool" => json!(false),
            "complex64" => json!([0.0, 0.0]),
            _ => json!(0),
        };
        let fault = first_fault(data_type, fill_value, codec.clone());
        assert!(fault.contains(part), "{codec}: {fault}");
    }
}

#[test]
fn fill_value_that_does_not_survive_the_cast_is_an_error_of_the_first_use() {
    let cast = |scalar_map: Value| json!({"name": "cast_value", "configuration": {"data_type": "uint8", "scalar_map": scalar_map}});
    for (fill_value, scalar_map, part) in [
        (json!("NaN"), json!({}), "NaN"),
        (json!(-1), json!({}), "-1"),
        (json!(0.5), json!({}), "0.5"),
        (json!(-0.0), json!({}), "-0"),
        (json!("0x7fc00001"), json!({"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}), "decoded as"),
    ] {
        let fault = first_fault("float32", fill_value.clone(), cast(scalar_map));
        assert!(fault.contains("fill value") && fault.contains(part), "{fill_value}: {fault}");
    }
}

#[test]
fn fill_value_that_scale_offset_alone_loses_is_let_pass() {
    let codecs = json!([{"name": "scale_offset", "configuration": {"offset": 0.1, "scale": 3}}, little()]);
    let array = open(&metadata("float32", json!(1.3), &[2], &[2], &codecs)).unwrap();
    array.store_chunk(&[0], vec![0.1_f32, 3.1]).unwrap();
}
