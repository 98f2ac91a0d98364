//! Numbers in JSON results. JSON has no infinities and no NaN, so these are strings.

use serde::{Serialize, Serializer};

/// A number as an element of a list.
#[derive(Serialize)]
struct Number(#[serde(serialize_with = "number")] f64);

/// Serialises a list of numbers.
pub fn numbers<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| Number(*value)))
}

/// Serialises a number or "NaN", "Infinity", "-Infinity", and null for `None`.
pub fn number<N: Copy + Into<Option<f64>>, S: Serializer>(value: &N, serializer: S) -> Result<S::Ok, S::Error> {
    match (*value).into() {
        None => serializer.serialize_none(),
        Some(value) if value.is_finite() => serializer.serialize_f64(value),
        Some(value) if value.is_nan() => serializer.serialize_str("NaN"),
        Some(value) => serializer.serialize_str(if value > 0.0 { "Infinity" } else { "-Infinity" }),
    }
}
