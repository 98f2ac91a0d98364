//! JSON that keeps what was written: the literal of every number, the order of members, repeated names.

mod error;
mod not_finite;
mod number;
mod object;
mod parse;
mod serde_value;
mod write;

use std::sync::Arc;

pub use error::{JsonError, JsonErrorKind, Limits};
pub use not_finite::{NotFinite, NotFiniteValues};
pub use number::{Decimal, Number};
pub use object::Object;

/// A JSON value. `==` compares what was written; see [`Json::same_value`].
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number, by its literal.
    Number(Number),
    /// `NaN`, `Infinity` or `-Infinity` as a bare word: no JSON, but what Python's `json` writes.
    NotFinite(NotFinite),
    /// A string, unescaped. A clone shares it, as one of an object shares its members.
    String(Arc<str>),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

impl Json {
    /// What it is, with an article: "a number", "an object", "null".
    pub const fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a boolean",
            Json::Number(_) => "a number",
            Json::NotFinite(_) => "a number that is not finite",
            Json::String(_) => "a string",
            Json::Array(_) => "an array",
            Json::Object(_) => "an object",
        }
    }

    /// Whether it is `null`.
    pub const fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// Whether it is, or as an array holds, a bare `NaN`, `Infinity` or `-Infinity`.
    pub fn is_not_finite(&self) -> bool {
        match self {
            Json::NotFinite(_) => true,
            Json::Array(elements) => elements.iter().any(Json::is_not_finite),
            _ => false,
        }
    }

    /// The boolean.
    pub const fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(value) = self { Some(*value) } else { None }
    }

    /// The string.
    pub fn as_str(&self) -> Option<&str> {
        if let Json::String(value) = self { Some(value) } else { None }
    }

    /// The number.
    pub const fn as_number(&self) -> Option<&Number> {
        if let Json::Number(value) = self { Some(value) } else { None }
    }

    /// The elements of an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Json::Array(value) = self { Some(value) } else { None }
    }

    /// The elements of an array, to change them.
    pub const fn as_array_mut(&mut self) -> Option<&mut Vec<Json>> {
        if let Json::Array(value) = self { Some(value) } else { None }
    }

    /// The object.
    pub const fn as_object(&self) -> Option<&Object> {
        if let Json::Object(value) = self { Some(value) } else { None }
    }

    /// The object, to change it.
    pub const fn as_object_mut(&mut self) -> Option<&mut Object> {
        if let Json::Object(value) = self { Some(value) } else { None }
    }

    /// The number, where it is written as an integer (no fraction, no exponent) from 0 to 2^64-1.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }

    /// The number, where it is written as an integer (no fraction, no exponent) that fits.
    pub fn as_i128(&self) -> Option<i128> {
        self.as_number().and_then(Number::as_i128)
    }

    /// A member of an object, the last of that name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.as_object().and_then(|object| object.get(name))
    }

    /// What an RFC 6901 pointer names; of repeated members the last.
    pub fn pointer(&self, pointer: &str) -> Option<&Json> {
        pointer_tokens(pointer)?.try_fold(self, |json, token| match json {
            Json::Object(object) => object.get(&token),
            Json::Array(elements) => elements.get(array_index(&token)?),
            _ => None,
        })
    }

    /// The same, to change it.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Json> {
        pointer_tokens(pointer)?.try_fold(self, |json, token| match json {
            Json::Object(object) => object.get_mut(&token),
            Json::Array(elements) => elements.get_mut(array_index(&token)?),
            _ => None,
        })
    }

    /// A short description for messages: scalars as they are written, if not too long, else what it is.
    pub fn excerpt(&self) -> String {
        const MAX_CHARACTERS: usize = 60;
        let text = match self {
            Json::Array(_) | Json::Object(_) => return self.kind().to_owned(),
            // A long string is cut before it is escaped.
            Json::String(string) => {
                Json::from(string.chars().take(MAX_CHARACTERS + 1).collect::<String>()).to_string_compact()
            }
            Json::Number(number) => number.literal().chars().take(MAX_CHARACTERS + 1).collect(),
            scalar => scalar.to_string_compact(),
        };
        if text.chars().count() <= MAX_CHARACTERS {
            return text;
        }
        let cut: String = text.chars().take(MAX_CHARACTERS).collect();
        format!("{cut}...")
    }

    /// RFC 6901 pointers to the members whose name is given more than once in their object, each once.
    pub fn duplicates(&self) -> Vec<String> {
        let mut found = Vec::new();
        // Mostly there are none, and no pointer is needed.
        if !self.has_duplicates() {
            return found;
        }
        collect_duplicates(self, &mut String::new(), &mut found);
        found
    }

    fn has_duplicates(&self) -> bool {
        match self {
            Json::Array(elements) => elements.iter().any(Json::has_duplicates),
            Json::Object(object) => {
                object.has_duplicates() || object.iter().any(|(_, it)| it.has_duplicates())
            }
            _ => false,
        }
    }

    /// Whether two values mean the same: numbers by exact value (`1.0` is `1`, `-0` is not `0`), members in any
    /// order and the last of each name.
    pub fn same_value(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Number(a), Json::Number(b)) => a.same_value(b),
            (Json::Array(a), Json::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_value(b))
            }
            (Json::Object(a), Json::Object(b)) => a.same_value(b),
            _ => self == other,
        }
    }
}

/// The unescaped tokens of a pointer; `None` where it is neither empty nor begins with a slash.
fn pointer_tokens(pointer: &str) -> Option<impl Iterator<Item = String>> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    Some(pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")))
}

/// An array index as RFC 6901 has it: digits, no leading zero.
fn array_index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (token == "0" || !token.starts_with('0'))).then(|| token.parse().ok())?
}

/// Appends a member's name to a pointer.
pub fn push_token(pointer: &mut String, name: &str) {
    pointer.push('/');
    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
}

fn collect_duplicates(json: &Json, pointer: &mut String, found: &mut Vec<String>) {
    let length = pointer.len();
    match json {
        Json::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&index.to_string());
                collect_duplicates(element, pointer, found);
                pointer.truncate(length);
            }
        }
        Json::Object(object) => {
            for name in object.duplicates() {
                push_token(pointer, name);
                found.push(pointer.clone());
                pointer.truncate(length);
            }
            for (name, member) in object.iter() {
                push_token(pointer, name);
                collect_duplicates(member, pointer, found);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Json::Bool(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Json::String(value.into())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Json::String(value.into())
    }
}

impl From<Number> for Json {
    fn from(value: Number) -> Self {
        Json::Number(value)
    }
}

impl From<Object> for Json {
    fn from(value: Object) -> Self {
        Json::Object(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Json::Number(Number::from(value))
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Json::Number(Number::from(value))
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Self {
        Json::from(u64::from(value))
    }
}

impl From<i32> for Json {
    fn from(value: i32) -> Self {
        Json::from(i64::from(value))
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(values: Vec<T>) -> Self {
        Json::Array(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Json::Null, Into::into)
    }
}

#[cfg(test)]
mod tests;
