//! Writing `cast_value`, without the members that say nothing.

use super::{BoundCastValue, OUT_OF_RANGE, ROUNDINGS};
use crate::data_type::{DataType, value_to_json};
use crate::element::NumberType;
use crate::kernel::Rounding;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Object};

impl BoundCastValue {
    /// The metadata: `rounding` other than nearest-even, `out_of_range` and `scalar_map` where there is something to
    /// say, no key twice.
    pub fn to_metadata(&self) -> CodecMetadata {
        let mut configuration = Object::new().with("data_type", DataType::Number(self.encoded).to_metadata());
        if self.rounding != Rounding::default() {
            configuration.insert("rounding", name(&ROUNDINGS, self.rounding));
        }
        if OUT_OF_RANGE.iter().any(|entry| entry.1 == self.out_of_range) {
            configuration.insert("out_of_range", name(&OUT_OF_RANGE, self.out_of_range));
        }
        let mut scalar_map = Object::new();
        if !self.encode.is_empty() {
            scalar_map.insert("encode", pairs(self.decoded, self.encoded, &self.encode));
        }
        if !self.decode.is_empty() {
            scalar_map.insert("decode", pairs(self.encoded, self.decoded, &self.decode));
        }
        if !scalar_map.is_empty() {
            configuration.insert("scalar_map", scalar_map);
        }
        CodecMetadata::new("cast_value", Some(configuration))
    }
}

fn name<T: PartialEq + Copy>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|entry| entry.1 == value).map_or("", |entry| entry.0)
}

fn pairs(key: NumberType, value: NumberType, entries: &[(u64, u64)]) -> Vec<Json> {
    let pair =
        |&(from, to): &(u64, u64)| Json::Array(vec![value_to_json(key, from), value_to_json(value, to)]);
    entries.iter().map(pair).collect()
}
