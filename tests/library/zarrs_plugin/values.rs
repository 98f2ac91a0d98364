//! `scale_offset` and `cast_value`: before, inside and around shards, in parts, with missing chunks.

use serde_json::{Value, json};
use zarrs::array::{Array, ArraySubset, CodecMetadataOptions, CodecOptions};
use zarrs::storage::store::MemoryStore;

use crate::zarrs_plugin::{little, metadata, open, quantizing, sharded, stored};

/// Returns chains with the two codecs at every possible position.
fn chains() -> Vec<(&'static str, Value)> {
    let zstd = json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}});
    let plain = [quantizing(), vec![json!({"name": "bytes"}), zstd.clone()]].concat();
    let before = [quantizing(), vec![sharded(&[2, 2], &json!([{"name": "bytes"}, zstd]))]].concat();
    let inner = [quantizing(), vec![json!({"name": "bytes"}), json!({"name": "crc32c"})]].concat();
    let [scale, cast] = <[Value; 2]>::try_from(quantizing()).unwrap();
    let around = json!([scale, sharded(&[2, 4], &json!([cast, {"name": "bytes"}]))]);
    vec![
        ("plain", json!(plain)),
        ("before a shard", json!(before)),
        ("inside a shard", json!([sharded(&[2, 2], &json!(inner))])),
        ("around and inside a shard", around),
    ]
}

fn array(codecs: &Value) -> Array<MemoryStore> {
    open(&metadata("float32", json!("NaN"), &[8, 8], &[4, 4], codecs)).unwrap()
}

/// Returns values that the codes represent exactly, with a NaN.
fn chunk(first: f32) -> Vec<f32> {
    let mut values: Vec<f32> = (0..16).map(|index| first + index as f32 * 0.25).collect();
    values[5] = f32::NAN;
    values
}

fn assert_same(found: &[f32], expected: &[f32], chain: &str) {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(found), bits(expected), "{chain}");
}

#[test]
fn values_come_back_from_every_place_in_a_chain() {
    for (chain, codecs) in chains() {
        let array = array(&codecs);
        array.store_chunk(&[0, 1], chunk(-10.0)).unwrap();
        assert_same(&array.retrieve_chunk::<Vec<f32>>(&[0, 1]).unwrap(), &chunk(-10.0), chain);
        assert_same(&array.retrieve_chunk::<Vec<f32>>(&[1, 1]).unwrap(), &[f32::NAN; 16], chain);
    }
}

#[test]
fn parts_of_chunks_are_those_of_the_whole() {
    for (chain, codecs) in chains() {
        let array = array(&codecs);
        array.store_chunk(&[0, 0], chunk(0.0)).unwrap();
        let subset = ArraySubset::new_with_ranges(&[1..3, 1..4]);
        let whole = chunk(0.0);
        let expected: Vec<f32> = [5, 6, 7, 9, 10, 11].map(|index| whole[index]).to_vec();
        let part = array.retrieve_chunk_subset::<Vec<f32>>(&[0, 0], &subset).unwrap();
        assert_same(&part, &expected, chain);
        let across = ArraySubset::new_with_ranges(&[3..5, 3..5]);
        let part = array.retrieve_array_subset::<Vec<f32>>(&across).unwrap();
        assert_same(&part, &[whole[15], f32::NAN, f32::NAN, f32::NAN], chain);
    }
}

#[test]
fn parts_of_chunks_are_written() {
    for options in [CodecOptions::default(), CodecOptions::default().with_experimental_partial_encoding(true)] {
        for (chain, codecs) in chains() {
            let array = array(&codecs);
            array.store_chunk(&[0, 0], chunk(0.0)).unwrap();
            let subset = ArraySubset::new_with_ranges(&[1..2, 1..3]);
            array.store_chunk_subset_opt(&[0, 0], &subset, vec![50.0_f32, 51.0], &options).unwrap();
            let mut expected = chunk(0.0);
            expected[5..7].copy_from_slice(&[50.0, 51.0]);
            assert_same(&array.retrieve_chunk::<Vec<f32>>(&[0, 0]).unwrap(), &expected, chain);
        }
    }
}

#[test]
fn value_out_of_range_is_an_error_that_names_it_and_costs_nothing() {
    for partial in [false, true] {
        let options = CodecOptions::default().with_experimental_partial_encoding(partial);
        for (chain, codecs) in chains() {
            let array = array(&codecs);
            array.store_chunk(&[0, 0], chunk(0.0)).unwrap();
            let mut wrong = chunk(0.0);
            wrong[3] = 1000.0;
            let error = array.store_chunk_opt(&[0, 0], wrong, &options).unwrap_err().to_string();
            assert!(error.contains("cast_value") && error.contains("4040"), "{chain}: {error}");
            let subset = ArraySubset::new_with_ranges(&[0..1, 0..1]);
            let part = array.store_chunk_subset_opt(&[0, 0], &subset, vec![1000.0_f32], &options);
            assert!(part.is_err(), "{chain}");
            assert_same(&array.retrieve_chunk::<Vec<f32>>(&[0, 0]).unwrap(), &chunk(0.0), chain);
        }
    }
}

#[test]
fn stored_bytes_are_the_codes() {
    let codecs = json!([quantizing(), vec![json!({"name": "bytes"})]].concat());
    let array = open(&metadata("float32", json!("NaN"), &[4], &[4], &codecs)).unwrap();
    array.store_chunk(&[0], vec![-10.0_f32, 0.0, f32::NAN, 53.5]).unwrap();
    assert_eq!(stored(&array, "c/0"), Some(vec![0, 40, 255, 254]));
}

#[test]
fn metadata_are_written_as_they_were_read() {
    for (chain, codecs) in chains() {
        let array = array(&codecs);
        let written = serde_json::to_value(array.metadata()).unwrap()["codecs"].clone();
        let made = serde_json::to_value(array.codecs().create_metadatas(&CodecMetadataOptions::default()));
        for written in [written, made.unwrap()] {
            for (written, read) in written.as_array().unwrap().iter().zip(codecs.as_array().unwrap()) {
                if read["name"] == "scale_offset" || read["name"] == "cast_value" {
                    assert_eq!(written, read, "{chain}");
                }
            }
        }
    }
}

#[test]
fn scale_offset_without_configuration_changes_nothing() {
    let codecs = json!([{"name": "scale_offset"}, little()]);
    let array = open(&metadata("float32", json!(0.0), &[3], &[3], &codecs)).unwrap();
    array.store_chunk(&[0], vec![-0.0_f32, 1.5, f32::INFINITY]).unwrap();
    let values = array.retrieve_chunk::<Vec<f32>>(&[0]).unwrap();
    assert_same(&values, &[-0.0, 1.5, f32::INFINITY], "scale_offset");
}

#[test]
fn registry_example_of_range_reduction_works() {
    let codecs = json!([
        {"name": "scale_offset", "configuration": {"offset": 1000}},
        {"name": "cast_value", "configuration": {"data_type": "uint8"}},
        {"name": "bytes"},
    ]);
    let array = open(&metadata("uint16", json!(1000), &[3], &[3], &codecs)).unwrap();
    array.store_chunk(&[0], vec![1000_u16, 1001, 1255]).unwrap();
    assert_eq!(stored(&array, "c/0"), Some(vec![0, 1, 255]));
    assert_eq!(array.retrieve_chunk::<Vec<u16>>(&[0]).unwrap(), [1000, 1001, 1255]);
    let error = array.store_chunk(&[0], vec![999_u16, 1000, 1000]).unwrap_err().to_string();
    assert!(error.contains("scale_offset") && error.contains("999"), "{error}");
}

#[test]
fn wrong_number_of_stored_elements_is_an_error() {
    let codecs = json!([quantizing(), vec![json!({"name": "bytes"})]].concat());
    let array = open(&metadata("float32", json!("NaN"), &[4], &[4], &codecs)).unwrap();
    let key = zarrs::storage::StoreKey::new("c/0").unwrap();
    zarrs::storage::WritableStorageTraits::set(&*array.storage(), &key, vec![1, 2, 3].into()).unwrap();
    assert!(array.retrieve_chunk::<Vec<f32>>(&[0]).is_err());
}
