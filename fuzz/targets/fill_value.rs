//! Fill values: what is read from JSON is written, and read again to the same bytes. The input is an array's document,
//! or at least its `data_type` and `fill_value`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zarrcast::data_type::DataType;
use zarrcast::metadata::json::Json;

fuzz_target!(|text: &[u8]| {
    let Ok(document) = Json::parse(text) else { return };
    let (Some(data_type), Some(fill_value)) = (document.get("data_type"), document.get("fill_value")) else {
        return;
    };
    let Ok(data_type) = DataType::from_metadata(data_type) else { return };
    let again = DataType::from_metadata(&data_type.to_metadata());
    assert_eq!(again.as_ref().ok(), Some(&data_type));
    let Ok(read) = data_type.fill_value_from_json(fill_value) else { return };
    let written = data_type.fill_value_to_json(&read.value).unwrap();
    assert_eq!(data_type.fill_value_from_json(&written).unwrap().value, read.value);
});
