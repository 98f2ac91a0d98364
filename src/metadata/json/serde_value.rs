//! To and from `serde_json::Value`, which zarrs speaks, and serialisation with the literals kept.

use serde::ser::{Error as _, SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Json, Number, Object};

impl Json {
    /// As a `serde_json::Value`: an integer outside of 64 bits becomes the nearest `f64`, a number beyond its
    /// range the greatest finite one; a bare `NaN` or `Infinity` the string of that name; of repeated names the last.
    pub fn to_value(&self) -> Value {
        match self {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => number_to_value(number),
            Json::NotFinite(value) => Value::from(value.word()),
            Json::String(string) => Value::String(string.to_string()),
            Json::Array(elements) => Value::Array(elements.iter().map(Json::to_value).collect()),
            Json::Object(object) => Value::Object(
                object.iter().map(|(name, value)| (name.to_owned(), value.to_value())).collect(),
            ),
        }
    }
}

fn number_to_value(number: &Number) -> Value {
    // `-0` is a float to `serde_json`, too: no integer has its sign.
    if number.literal() != "-0"
        && let Some(integer) = number.as_i128()
    {
        if let Ok(integer) = u64::try_from(integer) {
            return Value::from(integer);
        }
        if let Ok(integer) = i64::try_from(integer) {
            return Value::from(integer);
        }
    }
    Value::from(number.as_f64().clamp(f64::MIN, f64::MAX))
}

/// [`Json::to_value`].
impl From<&Json> for Value {
    fn from(json: &Json) -> Self {
        json.to_value()
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => Json::Number(Number::from_valid(&number.to_string())),
            Value::String(string) => Json::from(string.as_str()),
            Value::Array(elements) => Json::Array(elements.iter().map(Json::from).collect()),
            Value::Object(members) => {
                Json::Object(members.iter().map(|(name, value)| (name.clone(), Json::from(value))).collect())
            }
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.literal().to_owned()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// With `serde_json`'s serialisers every literal is written as it is, and a bare `NaN` or `Infinity`, which is no JSON, as
/// the string of that name.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(number) => number.serialize(serializer),
            Json::NotFinite(value) => serializer.serialize_str(value.word()),
            Json::String(string) => serializer.serialize_str(string),
            Json::Array(elements) => {
                let mut sequence = serializer.serialize_seq(Some(elements.len()))?;
                for element in elements {
                    sequence.serialize_element(element)?;
                }
                sequence.end()
            }
            Json::Object(object) => object.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_keeps_literals() {
        let text = r#"{"a":[1.0,1e3,123456789012345678901234567890],"a":-0}"#;
        assert_eq!(serde_json::to_string(&Json::parse_str(text).unwrap()).unwrap(), text);
    }

    #[test]
    fn value_has_the_nearest_numbers() {
        let json = Json::parse_str("[18446744073709551615,-9223372036854775808,1e400,1.5,-0]").unwrap();
        let value = json.to_value();
        assert_eq!(value[0].as_u64(), Some(u64::MAX));
        assert_eq!(value[1].as_i64(), Some(i64::MIN));
        assert_eq!(value[2].as_f64(), Some(f64::MAX));
        assert_eq!(value[4].as_f64().unwrap().to_bits(), (-0.0_f64).to_bits());
        assert!(Json::from(&value).same_value(&Json::parse_str(&value.to_string()).unwrap()));
    }
}
