//! Writing: compact, or indented as Python's `json.dumps(indent=2)` does. Number literals stay unchanged.

use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Json, Number, Object};

impl Json {
    /// One line, without white space, cut soon after so many bytes: for showing what may be of any size.
    pub fn to_string_cut(&self, max_bytes: usize) -> String {
        self.text(max_bytes, false)
    }

    fn text(&self, max_bytes: usize, is_indented: bool) -> String {
        let mut writer = Writer { text: Vec::new(), max_bytes, is_indented };
        writer.value(self, 0);
        // The writer adds only whole characters, also when it cuts, so the conversion does not fail.
        String::from_utf8(writer.text).unwrap_or_default()
    }

    /// Returns the indented form as the bytes of a document, with a line end.
    pub fn to_document(&self) -> Vec<u8> {
        let mut text = self.text(usize::MAX, true);
        text.push('\n');
        text.into_bytes()
    }
}

/// Returns one line without white space.
impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_string_cut(usize::MAX))
    }
}

struct Writer {
    text: Vec<u8>,
    /// Writing stops soon after this number of bytes.
    max_bytes: usize,
    is_indented: bool,
}

impl Writer {
    fn value(&mut self, json: &Json, indentation: usize) {
        match json {
            Json::Null => self.raw("null"),
            Json::Bool(value) => self.raw(if *value { "true" } else { "false" }),
            Json::Number(number) => self.raw(self.cut(number.literal())),
            Json::NotFinite(word) => self.raw(word),
            Json::String(string) => self.string(string),
            Json::Array(elements) => {
                self.list(['[', ']'], elements.iter().map(|element| (None, element)), indentation);
            }
            Json::Object(object) => {
                self.list(['{', '}'], object.iter().map(|(name, value)| (Some(name), value)), indentation);
            }
        }
    }

    fn list<'a>(
        &mut self,
        [open, close]: [char; 2],
        members: impl Iterator<Item = (Option<&'a str>, &'a Json)>,
        indentation: usize,
    ) {
        let mut next = open;
        for (name, value) in members {
            self.text.push(next as u8);
            self.new_line(indentation + 2);
            if let Some(name) = name {
                self.string(name);
                self.raw(if self.is_indented { ": " } else { ":" });
            }
            self.value(value, indentation + 2);
            // Only excerpts have a limit. Nobody parses them, so they need no closing bracket.
            if self.text.len() >= self.max_bytes {
                return;
            }
            next = ',';
        }
        if next == open {
            self.text.push(open as u8);
        } else {
            self.new_line(indentation);
        }
        self.text.push(close as u8);
    }

    fn new_line(&mut self, indentation: usize) {
        if self.is_indented {
            self.text.push(b'\n');
            self.text.extend(std::iter::repeat_n(b' ', indentation));
        }
    }

    fn string(&mut self, string: &str) {
        /// The length from which capacity for a string is reserved at once, with some for the following text. Growing
        /// by doubling would need the text twice while it is copied.
        const LONG: usize = 1 << 16;
        let string = self.cut(string);
        if string.len() >= LONG {
            self.text.reserve(string.len() + LONG);
        }
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(&mut self.text, string);
    }

    fn raw(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Returns the beginning of the text, up to the limit.
    fn cut<'a>(&self, text: &'a str) -> &'a str {
        &text[..text.floor_char_boundary(self.max_bytes.saturating_sub(self.text.len()))]
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // `serde_json` writes other types of numbers by their value. Only a `RawValue` keeps the literal.
        RawValue::from_string(self.literal().to_owned()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// Writes a string.
pub(super) fn shared_text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// Reads the text of a document by `serde_json`. Literals stay unchanged.
impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Json::parse_str(Box::<RawValue>::deserialize(deserializer)?.get()).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Object(object) => Ok(object),
            other => Err(D::Error::custom(format_args!("expected an object, found {}", other.excerpt()))),
        }
    }
}
