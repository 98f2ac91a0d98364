//! Codecs that zarrs does not have or does not limit: whole chunks and parts of them.

use serde_json::{Value, json};
use zarrs::array::{ArraySubset, CodecOptions};
use zarrs::storage::{StoreKey, WritableStorageTraits};

use crate::zarrs_plugin::{little, metadata, open, stored};

/// Checks that a chain restores a chunk of `[3, 4]`, as a whole and in parts.
fn check(data_type: &str, codecs: &Value) {
    let array = open(&metadata(data_type, json!(0), &[3, 4], &[3, 4], codecs)).unwrap();
    let mut values: Vec<u16> = (0..12_u16).map(|value| value * value).collect();
    array.store_chunk(&[0, 0], values.clone()).unwrap();
    assert_eq!(array.retrieve_chunk::<Vec<u16>>(&[0, 0]).unwrap(), values, "{codecs}");
    let subset = ArraySubset::new_with_ranges(&[1..3, 1..3]);
    let part = array.retrieve_chunk_subset::<Vec<u16>>(&[0, 0], &subset).unwrap();
    assert_eq!(part, [25, 36, 81, 100], "{codecs}");
    for partial in [false, true] {
        let options = CodecOptions::default().with_experimental_partial_encoding(partial);
        let written = vec![7_u16, 8, 9, u16::from(partial)];
        array.store_chunk_subset_opt(&[0, 0], &subset, written.clone(), &options).unwrap();
        for (place, value) in [5, 6, 9, 10].into_iter().zip(written) {
            values[place] = value;
        }
        assert_eq!(array.retrieve_chunk::<Vec<u16>>(&[0, 0]).unwrap(), values, "{codecs}");
    }
}

#[test]
fn codecs_of_arrays_come_back_in_parts() {
    let delta = json!({"name": "numcodecs.delta", "configuration": {"dtype": "<u2"}});
    let astype = json!({"name": "numcodecs.astype", "configuration":
        {"encode_dtype": "<i4", "decode_dtype": "<u2"}});
    let fixed = json!({"name": "numcodecs.fixedscaleoffset", "configuration":
        {"offset": 0, "scale": 1, "dtype": "<u2", "astype": "<u4"}});
    let pcodec = json!({"name": "numcodecs.pcodec", "configuration": {"level": 8}});
    let zfp = json!({"name": "zfp", "configuration": {"mode": "reversible"}});
    for codecs in [
        json!([delta, little()]),
        json!([astype, delta_of_i4(), little()]),
        json!([fixed, little()]),
        json!([pcodec]),
        json!([delta, pcodec]),
        json!([zfp]),
    ] {
        check("uint16", &codecs);
    }
}

fn delta_of_i4() -> Value {
    json!({"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}})
}

#[test]
fn codecs_of_bytes_come_back_and_are_bounded() {
    for codec in [
        json!({"name": "zstd", "configuration": {"level": 1, "checksum": true}}),
        json!({"name": "gzip", "configuration": {"level": 1}}),
        json!({"name": "numcodecs.zlib", "configuration": {"level": 1}}),
        json!({"name": "numcodecs.bz2", "configuration": {"level": 1}}),
        json!({"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}),
        json!({"name": "numcodecs.lzma", "configuration": {"preset": 1}}),
        json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}}),
        json!({"name": "numcodecs.crc32"}),
    ] {
        check("uint16", &json!([little(), codec]));
    }
    let gzip = json!([little(), {"name": "gzip", "configuration": {"level": 9}}]);
    let large = open(&metadata("uint16", json!(0), &[1 << 20], &[1 << 20], &gzip)).unwrap();
    large.store_chunk(&[0], vec![1_u16; 1 << 20]).unwrap();
    let array = open(&metadata("uint16", json!(0), &[2], &[2], &gzip)).unwrap();
    let bomb = stored(&large, "c/0").unwrap();
    array.storage().set(&StoreKey::new("c/0").unwrap(), bomb.into()).unwrap();
    let error = array.retrieve_chunk::<Vec<u16>>(&[0]).unwrap_err().to_string();
    assert!(error.contains("expected 4 decoded bytes, found more"), "{error}");
}
