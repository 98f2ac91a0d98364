//! JSON that keeps what was written: the literal of every number, the order of members, repeated names.
//! (API; being filled in)

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number, by its literal.
    Number(Number),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

/// A number as it was written: `1.0`, `1e3` and 30-digit integers stay what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number(String);

/// The members of an object in their order, repeated names included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object {
    members: Vec<(String, Json)>,
}
