//! JSON that keeps the literal of every number, the order of members and repeated names.

mod number;
mod parse;
#[cfg(test)]
mod tests;
mod write;

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use crate::diagnostic::quantity::shortened;
pub use number::{Decimal, Number};
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

/// The members of an object in order, including repeated names.
///
/// The last member of a repeated name counts, as for every reader. A clone shares the members until either side
/// changes. So parts of a document are passed on without a second copy.
#[derive(Debug, Clone, Default)]
pub struct Object {
    /// `None` if there are no members.
    members: Option<Arc<Vec<(String, Json)>>>,
}

impl Object {
    /// Makes an object without members.
    pub const fn new() -> Self {
        Object { members: None }
    }

    fn members(&self) -> &[(String, Json)] {
        self.members.as_ref().map_or(&[], |members| members.as_slice())
    }

    fn members_mut(&mut self) -> &mut Vec<(String, Json)> {
        Arc::make_mut(self.members.get_or_insert_default())
    }

    /// Returns the number of members, including repeated ones.
    pub fn len(&self) -> usize {
        self.members().len()
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.members().is_empty()
    }

    /// Returns the members in order, including repeated ones.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.members().iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the names in order, including repeated ones.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members().iter().map(|(name, _)| name.as_str())
    }

    /// Returns the last member of this name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.members().iter().rev().find(|member| member.0 == name).map(|member| &member.1)
    }

    /// Returns the last member of this name, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        let last = self.members().iter().rposition(|member| member.0 == name)?;
        Some(&mut self.members_mut()[last].1)
    }

    /// Returns a member for messages, or "nothing" if there is none of this name.
    pub(crate) fn excerpt(&self, name: &str) -> String {
        self.get(name).map_or_else(|| "nothing".to_owned(), Json::excerpt)
    }

    /// Returns the names that are not `known`, including repeated ones.
    pub(crate) fn unknown_names(&self, known: &[&str]) -> impl Iterator<Item = &str> {
        self.names().filter(|name| !known.contains(name))
    }

    /// Returns true if there is a member of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Replaces the last member of this name at its position and removes the others. Appends it if there is none.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        let name = name.into();
        let members = self.members_mut();
        let Some(last) = members.iter().rposition(|member| member.0 == name) else {
            members.push((name, value.into()));
            return;
        };
        let kept = members.split_off(last + 1);
        members.retain(|member| member.0 != name);
        members.push((name, value.into()));
        members.extend(kept);
    }

    /// Appends a member even if the name exists, for parsed documents.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        self.members_mut().push((name.into(), value.into()));
    }

    /// Returns the object with one more member: `Object::new().with("endian", "little")`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Json>) -> Self {
        self.insert(name, value);
        self
    }

    /// Removes all members of this name, and returns the last of them.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let removed = self.get(name).cloned()?;
        self.members_mut().retain(|member| member.0 != name);
        Some(removed)
    }

    /// Returns the repeated names, each once, sorted.
    pub fn duplicates(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.names().collect();
        names.sort_unstable();
        names.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).map(|same| same[0]).collect()
    }

    /// Returns true if two objects mean the same, see [`Json::same_value`].
    pub fn same_value(&self, other: &Object) -> bool {
        // Copies are mostly equal literally.
        if self == other {
            return true;
        }
        // The maps keep the last member of a repeated name. They also keep the comparison linear in time.
        let [own, others] = [self, other].map(|object| object.iter().collect::<HashMap<_, _>>());
        let is_same = |(name, value): (&&str, &&Json)| others.get(name).is_some_and(|it| value.same_value(it));
        own.len() == others.len() && own.iter().all(is_same)
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        // Clones share their members. Equality is then known without a visit of the whole tree.
        let are_shared = |(a, b): (&Arc<_>, &Arc<_>)| Arc::ptr_eq(a, b);
        self.members.as_ref().zip(other.members.as_ref()).is_some_and(are_shared) || self.members() == other.members()
    }
}

impl FromIterator<(String, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Self {
        let mut members: Vec<_> = members.into_iter().collect();
        // `collect` may reuse the memory of its source with all the capacity, and members live as long as the document.
        members.shrink_to_fit();
        Object { members: (!members.is_empty()).then(|| Arc::new(members)) }
    }
}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<(String, Json)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.map(Arc::unwrap_or_clone).unwrap_or_default().into_iter()
    }
}
