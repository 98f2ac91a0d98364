//! To and from `serde_json::Value`, which zarrs speaks, and serialisation with the literals kept.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Json;

impl Json {
    /// As a `serde_json::Value`: an integer outside of 64 bits becomes the nearest `f64`, a number beyond its
    /// range the greatest finite one; of repeated names the last.
    pub fn to_value(&self) -> Value {
        unimplemented!()
    }
}

impl From<&Value> for Json {
    fn from(_value: &Value) -> Self {
        unimplemented!()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        unimplemented!()
    }
}
