//! `transpose` with letters and permutations.

use serde_json::{Value, json};
use zarrs::array::ArraySubset;

use crate::zarrs_plugin::{little, metadata, open, sharded, stored};

fn codecs(order: &Value) -> Value {
    json!([{"name": "transpose", "configuration": {"order": order}}, little()])
}

#[test]
fn transpose_f_is_the_reversed_permutation() {
    let store = |order: Value| {
        let array = open(&metadata("uint16", json!(0), &[2, 3, 4], &[2, 3, 4], &codecs(&order))).unwrap();
        let values: Vec<u16> = (1..=24).collect();
        array.store_chunk(&[0, 0, 0], values.clone()).unwrap();
        assert_eq!(array.retrieve_chunk::<Vec<u16>>(&[0, 0, 0]).unwrap(), values);
        let subset = ArraySubset::new_with_ranges(&[1..2, 0..2, 1..3]);
        let part = array.retrieve_array_subset::<Vec<u16>>(&subset).unwrap();
        assert_eq!(part, [14, 15, 18, 19]);
        let written = serde_json::to_value(array.metadata()).unwrap();
        assert_eq!(written["codecs"][0]["configuration"]["order"], order);
        stored(&array, "c/0/0/0").unwrap()
    };
    assert_eq!(store(json!("F")), store(json!([2, 1, 0])));
    assert_eq!(store(json!("C")), store(json!([0, 1, 2])));
    assert_eq!(store(json!("F"))[..8], [1, 0, 13, 0, 5, 0, 17, 0]);
    store(json!([1, 2, 0]));
}

#[test]
fn transpose_of_an_array_without_dimensions_takes_the_empty_permutation() {
    for order in [json!([]), json!("C"), json!("F")] {
        let array = open(&metadata("float32", json!(0.0), &[], &[], &codecs(&order))).unwrap();
        array.store_chunk(&[], vec![4.5_f32]).unwrap();
        assert_eq!(array.retrieve_chunk::<Vec<f32>>(&[]).unwrap(), [4.5]);
        assert_eq!(array.retrieve_chunk_subset::<Vec<f32>>(&[], &ArraySubset::new_empty(0)).ok().map(|_| ()), Some(()));
    }
}

#[test]
fn transpose_inside_and_before_shards_comes_back() {
    let inside = json!([sharded(&[2, 3], &codecs(&json!("F")))]);
    let before = json!([
        {"name": "transpose", "configuration": {"order": "F"}},
        sharded(&[3, 2], &json!([little()])),
    ]);
    for codecs in [inside, before] {
        let array = open(&metadata("int32", json!(-1), &[4, 6], &[4, 6], &codecs)).unwrap();
        let values: Vec<i32> = (0..24).collect();
        array.store_chunk(&[0, 0], values.clone()).unwrap();
        assert_eq!(array.retrieve_chunk::<Vec<i32>>(&[0, 0]).unwrap(), values);
        let subset = ArraySubset::new_with_ranges(&[1..4, 2..4]);
        assert_eq!(array.retrieve_array_subset::<Vec<i32>>(&subset).unwrap(), [8, 9, 14, 15, 20, 21]);
        array.store_array_subset(&subset, vec![80, 90, 140, 150, 200, 210]).unwrap();
        let part = array.retrieve_array_subset::<Vec<i32>>(&subset).unwrap();
        assert_eq!(part, [80, 90, 140, 150, 200, 210]);
    }
}

#[test]
fn transpose_of_strings_comes_back() {
    let codecs = json!([{"name": "transpose", "configuration": {"order": "F"}}, {"name": "vlen-utf8"}]);
    let array = open(&metadata("string", json!(""), &[2, 3], &[2, 3], &codecs)).unwrap();
    let values: Vec<String> = (0..6).map(|index| "x".repeat(index)).collect();
    array.store_chunk(&[0, 0], values.clone()).unwrap();
    assert_eq!(array.retrieve_chunk::<Vec<String>>(&[0, 0]).unwrap(), values);
}
