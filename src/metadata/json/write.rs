//! Writing: compact, or indented as Python's `json.dumps(indent=2)` does. Number literals stay as they are.

use std::fmt::Write as _;

use super::{Json, Object};

/// The columns within which an array of scalars stays on one line.
const MAX_COLUMNS: usize = 80;

impl Json {
    /// One line, without white space.
    pub fn to_string_compact(&self) -> String {
        let mut text = String::new();
        write_compact(self, &mut text, usize::MAX);
        text
    }

    /// The same, cut soon after so many bytes: for showing what may be of any size.
    pub fn to_string_cut(&self, max_bytes: usize) -> String {
        let mut text = String::new();
        write_compact(self, &mut text, max_bytes);
        text
    }

    /// Indented by two spaces, without a line end; an array of scalars stays on its line if that has at most 80 columns.
    pub fn to_string_pretty(&self) -> String {
        let mut text = String::new();
        write_pretty(self, 0, &mut text);
        text
    }

    /// The indented form as the bytes of a document, with a line end.
    pub fn to_document(&self) -> Vec<u8> {
        let mut text = self.to_string_pretty();
        text.push('\n');
        text.into_bytes()
    }
}

/// The compact form.
impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_string_compact())
    }
}

fn write_scalar(json: &Json, text: &mut String, max_bytes: usize) {
    match json {
        Json::Bool(true) => text.push_str("true"),
        Json::Bool(false) => text.push_str("false"),
        Json::Number(number) => text.push_str(number.literal()),
        Json::NotFinite(value) => text.push_str(value.word()),
        Json::String(string) => write_string(string, text, max_bytes),
        Json::Null | Json::Array(_) | Json::Object(_) => text.push_str("null"),
    }
}

/// From so many bytes on, room for a string is made at once, with some for what follows: where the text grows by doubling, it
/// is there twice while it moves.
const LONG: usize = 1 << 16;

fn write_string(string: &str, text: &mut String, max_bytes: usize) {
    if string.len() >= LONG {
        text.reserve(string.len().min(max_bytes).saturating_add(LONG));
    }
    text.push('"');
    for character in string.chars() {
        if text.len() >= max_bytes {
            return;
        }
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            control if control < ' ' => {
                // Writing to a string does not fail.
                let _ = write!(text, "\\u{:04x}", u32::from(control));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

/// Stops where `text` has reached `max_bytes`.
fn write_compact(json: &Json, text: &mut String, max_bytes: usize) {
    match json {
        Json::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_compact(element, text, max_bytes);
                if text.len() >= max_bytes {
                    return;
                }
            }
            text.push(']');
        }
        Json::Object(object) => {
            text.push('{');
            for (index, (name, value)) in object.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(name, text, max_bytes);
                text.push(':');
                write_compact(value, text, max_bytes);
                if text.len() >= max_bytes {
                    return;
                }
            }
            text.push('}');
        }
        scalar => write_scalar(scalar, text, max_bytes),
    }
}

fn write_pretty(json: &Json, indentation: usize, text: &mut String) {
    match json {
        Json::Array(elements) if !elements.is_empty() => write_array(elements, indentation, text),
        Json::Object(object) if !object.is_empty() => write_object(object, indentation, text),
        other => write_compact(other, text, usize::MAX),
    }
}

fn write_object(object: &Object, indentation: usize, text: &mut String) {
    text.push('{');
    for (index, (name, value)) in object.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        new_line(indentation + 2, text);
        write_string(name, text, usize::MAX);
        text.push_str(": ");
        write_pretty(value, indentation + 2, text);
    }
    new_line(indentation, text);
    text.push('}');
}

fn write_array(elements: &[Json], indentation: usize, text: &mut String) {
    let start = text.len();
    let line_start = text.rfind('\n').map_or(0, |newline| newline + 1);
    if write_on_line(elements, line_start, text) {
        return;
    }
    text.truncate(start);
    text.push('[');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        new_line(indentation + 2, text);
        write_pretty(element, indentation + 2, text);
    }
    new_line(indentation, text);
    text.push(']');
}

/// Writes an array on the line that began at `line_start`; false, with part of it written, where it does not fit or
/// holds more than scalars.
fn write_on_line(elements: &[Json], line_start: usize, text: &mut String) -> bool {
    text.push('[');
    for (index, element) in elements.iter().enumerate() {
        if matches!(element, Json::Array(_) | Json::Object(_)) {
            return false;
        }
        if index > 0 {
            text.push_str(", ");
        }
        write_scalar(element, text, usize::MAX);
        // Bytes bound the characters from above; the bracket and a comma are still to come.
        if text.len() - line_start + 2 > MAX_COLUMNS {
            return false;
        }
    }
    text.push(']');
    true
}

fn new_line(indentation: usize, text: &mut String) {
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', indentation));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_output_keeps_what_was_read() {
        let text = r#"{"b":1.0,"a":[1e3,-0,123456789012345678901234567890],"b":null,"c":{"d":[]},"e":"é\n\u0001\"\\"}"#;
        assert_eq!(Json::parse_str(text).unwrap().to_string(), text);
    }

    #[test]
    fn cut_output_ends_soon_after_its_limit() {
        let json =
            Json::parse_str(&format!(r#"{{"a":[{}0],"b":"{}"}}"#, "1,".repeat(5000), "x".repeat(5000)))
                .unwrap();
        assert!((100..110).contains(&json.to_string_cut(100).len()));
        assert!((11_000..11_010).contains(&json.to_string_cut(11_000).len()));
        assert_eq!(json.to_string_cut(usize::MAX), json.to_string_compact());
    }

    #[test]
    fn pretty_output_is_as_python_writes_it_but_for_arrays_of_scalars() {
        let json = Json::parse_str(r#"{"a":[1,2],"b":{},"c":[],"d":[{"e":true}],"f":{"g":null}}"#).unwrap();
        let expected = r#"{
  "a": [1, 2],
  "b": {},
  "c": [],
  "d": [
    {
      "e": true
    }
  ],
  "f": {
    "g": null
  }
}"#;
        assert_eq!(json.to_string_pretty(), expected);
    }

    #[test]
    fn pretty_output_breaks_long_arrays() {
        let json = Json::from(Object::new().with("a", vec![1_000_000_u64; 20]));
        let text = json.to_string_pretty();
        assert_eq!(text.lines().count(), 24);
        assert_eq!(Json::parse_str(&text).unwrap(), json);
    }
}
