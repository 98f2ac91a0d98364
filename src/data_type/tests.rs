//! Properties of every data type: no JSON makes them panic, and each value is written and read again bit for bit.

use proptest::prelude::*;

use super::*;
use crate::element::SmallFloat;
use crate::metadata::json::Number;

/// A type of each kind.
const TYPES: [&str; 24] = [
    r#""bool""#,
    r#""int2""#,
    r#""uint4""#,
    r#""uint10""#,
    r#""int64""#,
    r#""float16""#,
    r#""float64""#,
    r#""bfloat16""#,
    r#""float4_e2m1fn""#,
    r#""float6_e2m3fn""#,
    r#""float6_e3m2fn""#,
    r#""float8_e3m4""#,
    r#""float8_e4m3""#,
    r#""float8_e4m3b11fnuz""#,
    r#""float8_e5m2fnuz""#,
    r#""float8_e8m0fnu""#,
    r#""complex64""#,
    r#""complex_float6_e3m2fn""#,
    r#""r24""#,
    r#""string""#,
    r#""bytes""#,
    r#"{"name":"numpy.datetime64","configuration":{"unit":"us","scale_factor":10}}"#,
    r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}"#,
    r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"float8_e5m2"},
        {"name":"b","data_type":{"name":"raw_bytes","configuration":{"length_bytes":3}}},
        {"name":"c","data_type":{"name":"null_terminated_bytes","configuration":{"length_bytes":4}}}]}}"#,
];

fn types() -> Vec<DataType> {
    let read = |text: &str| DataType::from_metadata(&Json::parse_str(text).unwrap()).unwrap();
    TYPES.iter().map(|text| read(text)).collect()
}

/// Makes JSON of the words in data types and fill values.
fn any_json() -> impl Strategy<Value = Json> {
    let words = "name configuration fields data_type unit scale_factor length_bytes struct structured numpy.datetime64 \
        fixed_length_utf32 raw_bytes s float32 int2 r16 string NaN NaT Infinity +Infinity 0x7fc0 0x0f AAAA AQ== x";
    let words: Vec<&str> = words.split_whitespace().chain([""]).collect();
    let word = move || proptest::sample::select(words.clone());
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::from),
        "-?[0-9]{1,3}(\\.[0-9]{1,3})?(e-?[0-9]{1,3})?"
            .prop_filter_map("a number", |text| Number::parse(&text).map(Json::Number)),
        word().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let member = (word().prop_map(str::to_owned), inner.clone());
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Json::Array),
            proptest::collection::vec(member, 0..4).prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_json_is_a_data_type_or_an_error(json in any_json(), fill in any_json()) {
        if let Ok(read) = DataType::read(&json) {
            let written = read.value.to_metadata();
            prop_assert_eq!(DataType::from_metadata(&written).unwrap(), read.value.clone());
            let runs: usize = read.value.runs().iter().map(|run| run.width * run.count).sum();
            prop_assert_eq!(runs, read.value.size().unwrap_or(0));
            if let Ok(fill) = read.value.fill_value_from_json(&fill) {
                prop_assert!(read.value.fill_value_to_json(&fill.value).is_ok());
            }
        }
    }

    #[test]
    fn any_json_is_a_fill_value_that_comes_back_or_an_error(json in any_json()) {
        for data_type in types() {
            let Ok(read) = data_type.fill_value_from_json(&json) else { continue };
            let written = data_type.fill_value_to_json(&read.value).unwrap();
            prop_assert_eq!(data_type.fill_value_from_json(&written).unwrap().value, read.value, "{}", data_type);
        }
    }

    #[test]
    fn any_bytes_are_a_value_that_comes_back_or_none(bytes in proptest::collection::vec(any::<u8>(), 16)) {
        for data_type in types() {
            let own = bytes[..data_type.size().unwrap_or(5)].to_vec();
            let value = FillValue(own);
            let Ok(json) = data_type.fill_value_to_json(&value) else { continue };
            let read = data_type.fill_value_from_json(&json).unwrap();
            prop_assert_eq!(read.notes, vec![], "{}", data_type);
            prop_assert_eq!(read.value, value, "{} {}", data_type, json);
        }
    }
}

/// Checks that a value of small floats is written and read again bit for bit.
fn comes_back(data_type: &DataType, float: &SmallFloat, components: &[u32]) {
    let component = |bits: &u32| {
        let mut bytes = bits.to_le_bytes()[..float.size()].to_vec();
        if cfg!(target_endian = "big") {
            bytes.reverse();
        }
        bytes
    };
    let value = FillValue(components.iter().flat_map(component).collect());
    let json = data_type.fill_value_to_json(&value).unwrap();
    let read = data_type.fill_value_from_json(&json).unwrap();
    assert_eq!((read.value, read.notes), (value, vec![]), "{data_type} {components:x?} {json}");
}

#[test]
fn every_value_of_small_floats_comes_back_from_its_shortest_decimal() {
    for float in SmallFloat::all() {
        let [real, complex] = [DataType::Number, DataType::Complex].map(|of| of(NumberType::small(float)));
        assert_eq!(DataType::from_name(&complex.name()).as_ref(), Some(&complex));
        let patterns = 1_u32 << float.bits();
        for bits in 0..patterns {
            comes_back(&real, float, &[bits]);
            comes_back(&complex, float, &[bits, patterns - 1 - bits]);
        }
    }
}

#[test]
fn base64_of_the_longest_value_is_read_and_of_a_longer_one_refused() {
    let bytes = DataType::from_name("bytes").unwrap();
    let read = |length: usize| bytes.fill_value_from_json(&Json::from(base64::encode(&vec![7; length])));
    assert_eq!(read(1 << 20).unwrap().value.0.len(), 1 << 20);
    assert!(read((1 << 20) + 1).is_err());
}
