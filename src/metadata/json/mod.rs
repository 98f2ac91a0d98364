//! JSON that keeps the literal of every number, the order of members and repeated names.

mod number;
mod object;
mod parse;
mod write;

use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use crate::diagnostic::quantity::shortened;

pub use number::Number;
pub use object::Object;
pub use parse::{JsonError, NotFiniteValues};

/// A JSON value. `==` compares the text of literals, [`Json::same_value`] compares meanings.
///
/// `serde_json`'s serialisers write every literal unchanged. A bare `NaN` or `Infinity`, which is not JSON, is written
/// as the string of that name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number, as its literal.
    Number(Number),
    /// `NaN`, `Infinity` or `-Infinity` as a bare word. It is not JSON (RFC 8259, section 6), but Python's `json`
    /// writes and reads it by default. So zarr-python and xarray write it into attributes. In quotes, the word is
    /// Zarr's form of a float value.
    NotFinite(&'static str),
    /// A string, unescaped. Clones share it, as clones of an object share its members.
    String(#[serde(serialize_with = "write::shared_text")] Arc<str>),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

impl Json {
    /// Returns the kind of the value, with an article: "a number", "an object", "null".
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

    /// Returns true for `null`.
    pub const fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// Returns true for a bare `NaN`, `Infinity` or `-Infinity`, or an array that contains one.
    pub fn is_not_finite(&self) -> bool {
        match self {
            Json::NotFinite(_) => true,
            Json::Array(elements) => elements.iter().any(Json::is_not_finite),
            _ => false,
        }
    }

    /// Returns the boolean. `None` for another kind.
    pub const fn as_bool(&self) -> Option<bool> {
        if let Json::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the string. `None` for another kind.
    pub fn as_str(&self) -> Option<&str> {
        if let Json::String(value) = self { Some(value) } else { None }
    }

    /// Returns the number. `None` for another kind.
    pub const fn as_number(&self) -> Option<&Number> {
        if let Json::Number(value) = self { Some(value) } else { None }
    }

    /// Returns the elements of an array. `None` for another kind.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Json::Array(value) = self { Some(value) } else { None }
    }

    /// Returns the object. `None` for another kind.
    pub const fn as_object(&self) -> Option<&Object> {
        if let Json::Object(value) = self { Some(value) } else { None }
    }

    /// Returns the object, to change it. `None` for another kind.
    pub const fn as_object_mut(&mut self) -> Option<&mut Object> {
        if let Json::Object(value) = self { Some(value) } else { None }
    }

    /// Returns a number that is written as an integer (no fraction, no exponent) from 0 to 2^64-1, else `None`.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }

    /// Returns a number that is written as an integer (no fraction, no exponent) and fits, else `None`.
    pub fn as_i128(&self) -> Option<i128> {
        self.as_number().and_then(Number::as_i128)
    }

    /// Returns a member of an object, the last of that name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.as_object().and_then(|object| object.get(name))
    }

    /// Returns a member of an object, the last of that name, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        self.as_object_mut().and_then(|object| object.get_mut(name))
    }

    /// Returns the value at an RFC 6901 pointer. The last of repeated members counts.
    pub fn pointer(&self, pointer: &str) -> Option<&Json> {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return None;
        }
        pointer.split('/').skip(1).try_fold(self, |json, token| match json {
            Json::Object(object) => object.get(&token.replace("~1", "/").replace("~0", "~")),
            Json::Array(elements) => elements.get(index::<usize>(token)?),
            _ => None,
        })
    }

    /// Returns a short description for messages: scalars as written, shortened if long, else the kind.
    pub fn excerpt(&self) -> String {
        const MAX_CHARACTERS: usize = 60;
        if matches!(self, Json::Array(_) | Json::Object(_)) {
            return self.kind().to_owned();
        }
        // A character has at most four bytes.
        shortened(self.to_string_cut(4 * (MAX_CHARACTERS + 1)), MAX_CHARACTERS)
    }

    /// Returns RFC 6901 pointers to members whose name is repeated in their object, each once. There are at most
    /// `most`, or fewer if the pointers are long: long names are part of each.
    pub fn duplicates(&self, most: usize) -> Vec<String> {
        const MOST_BYTES: usize = 1 << 20;
        let (mut found, mut bytes) = (Vec::new(), 0);
        // An error ends the visit early.
        let _ = self.visit(&mut String::new(), &mut |json, pointer| {
            for name in json.as_object().map(Object::duplicates).unwrap_or_default() {
                if found.len() >= most || bytes > MOST_BYTES {
                    return Err(());
                }
                let pointer = member_pointer(pointer, name);
                bytes += pointer.len();
                found.push(pointer);
            }
            Ok(())
        });
        found
    }

    /// Visits this value and the arrays, objects and bare words inside it, in the order of the text. Each has its RFC
    /// 6901 pointer.
    fn visit<E>(&self, pointer: &mut String, visitor: &mut impl FnMut(&Json, &str) -> Result<(), E>) -> Result<(), E> {
        visitor(self, pointer)?;
        let length = pointer.len();
        // Nobody needs the pointers of other values, and there are many.
        let is_visited = |json: &Json| matches!(json, Json::Array(_) | Json::Object(_) | Json::NotFinite(_));
        // The parser limits the depth of documents, so the recursion cannot overflow the stack.
        let mut below = |name: &str, json: &Json| {
            push_token(pointer, name);
            json.visit(pointer, visitor)?;
            pointer.truncate(length);
            Ok(())
        };
        match self {
            Json::Array(elements) => {
                let mut visited = elements.iter().enumerate().filter(|(_, json)| is_visited(json));
                visited.try_for_each(|(index, json)| below(&index.to_string(), json))
            }
            Json::Object(object) => {
                let mut visited = object.iter().filter(|(_, json)| is_visited(json));
                visited.try_for_each(|(name, json)| below(name, json))
            }
            _ => Ok(()),
        }
    }

    /// Returns true if two values mean the same. Numbers are compared by exact value: `1.0` is `1`, `-0` is not `0`.
    /// Members are compared in any order, by the last of each name.
    pub fn same_value(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Number(a), Json::Number(b)) => a.same_value(b),
            (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_value(b)),
            (Json::Object(a), Json::Object(b)) => a.same_value(b),
            _ => self == other,
        }
    }
}

/// Parses an index as written in the document or a pointer (RFC 6901): digits, no leading zero.
pub(super) fn index<T: FromStr>(text: &str) -> Option<T> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok())?
}

/// Returns the RFC 6901 pointer to a member of the value at `pointer`.
pub fn member_pointer(pointer: &str, name: &str) -> String {
    let mut pointer = pointer.to_owned();
    push_token(&mut pointer, name);
    pointer
}

/// Appends a member's name to a pointer.
fn push_token(pointer: &mut String, name: &str) {
    pointer.push('/');
    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
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
