//! The parser: one linear pass, with limits for bytes, depth and values.
//!
//! It is written by hand because `serde_json` returns number literals only as `RawValue`. To reach those inside a
//! document, each level has to be scanned again, which takes time proportional to depth times size.

use std::borrow::Cow;

use super::{Json, Number, Object};
use crate::diagnostic::{Diagnostic, code};

const MAX_BYTES: usize = 64 << 20;
/// The greatest depth of nested arrays and objects.
const MAX_DEPTH: usize = 128;
/// The most values of any kind. Two bytes of text (`0,`) need more than fifty in memory, eight (`{"":0},`) two hundred.
const MAX_VALUES: usize = 1 << 20;

/// The reason why a text is not a JSON document, with the position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column} (byte {offset}): {message}")]
pub struct JsonError {
    /// Bytes before the fault.
    offset: usize,
    /// Counted from 1.
    line: usize,
    /// In characters, counted from 1.
    column: usize,
    is_limit: bool,
    message: Cow<'static, str>,
}

impl JsonError {
    /// Returns the error as a finding: `ZM001`, or `ZM002` for an exceeded limit.
    pub fn diagnostic(&self) -> Diagnostic {
        let code = if self.is_limit { code::JSON_LIMIT } else { code::JSON_SYNTAX };
        Diagnostic::new(code, self.to_string())
    }

    fn new(text: &[u8], offset: usize, is_limit: bool, message: impl Into<Cow<'static, str>>) -> Self {
        let before = &text[..offset.min(text.len())];
        let line = before.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        // Continuation bytes of UTF-8 are part of the character before.
        let is_start = |byte: &&u8| **byte & 0xc0 != 0x80;
        let column = 1 + line.iter().filter(is_start).count();
        let line = before.split(|&byte| byte == b'\n').count();
        JsonError { offset, line, column, is_limit, message: message.into() }
    }

    /// Makes the error of a bare word that is not allowed. `context` describes its position.
    fn not_finite(text: &[u8], offset: usize, word: &str, context: &str) -> Self {
        let message = format!("{word}{context} is not JSON (as the value of a float it is written \"{word}\")");
        Self::new(text, offset, false, message)
    }
}

/// The bare words `NaN` and infinities of a document, all at allowed positions.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NotFiniteValues {
    pub count: usize,
    /// The first of them, and its RFC 6901 pointer.
    pub first: Option<(&'static str, String)>,
}

impl Json {
    /// Reads a document of at most 64 MiB, 2^20 values, and a depth of 128 arrays and objects.
    pub fn parse(bytes: &[u8]) -> Result<Json, JsonError> {
        parse(bytes, false).map(|(json, _)| json)
    }

    /// Reads a document from text, with the same limits.
    pub fn parse_str(text: &str) -> Result<Json, JsonError> {
        Self::parse(text.as_bytes())
    }

    /// Reads a document as Python's `json` does, with `NaN`, `Infinity` and `-Infinity` as bare words. They are allowed
    /// if `is_allowed` returns true for the RFC 6901 pointer. Also returns the words that were found.
    pub fn parse_with_not_finite(
        bytes: &[u8],
        is_allowed: impl Fn(&str) -> bool,
    ) -> Result<(Json, NotFiniteValues), JsonError> {
        let (json, offsets) = parse(bytes, true)?;
        let (mut offsets, mut found) = (offsets.into_iter(), NotFiniteValues::default());
        // Most documents have no such word. A visit would build the pointer of every array and object for nothing.
        if offsets.len() == 0 {
            return Ok((json, found));
        }
        // Values are visited in the order of the text.
        json.visit(&mut String::new(), &mut |value, pointer| {
            let Json::NotFinite(word) = value else { return Ok(()) };
            let offset = offsets.next().unwrap_or_default();
            if !is_allowed(pointer) {
                return Err(JsonError::not_finite(bytes, offset, word, &format!(" at `{pointer}`")));
            }
            found.first.get_or_insert_with(|| (*word, pointer.to_owned()));
            found.count += 1;
            Ok(())
        })?;
        Ok((json, found))
    }
}

/// Returns a value, and the offsets of its bare words in order.
fn parse(bytes: &[u8], takes_not_finite: bool) -> Result<(Json, Vec<usize>), JsonError> {
    if bytes.len() > MAX_BYTES {
        return Err(JsonError::new(bytes, 0, true, format!("the document has more than {MAX_BYTES} bytes")));
    }
    // Without this check, the error would show a character that is not visible, or only name invalid UTF-8.
    let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
    if marks.iter().any(|mark| bytes.starts_with(mark)) {
        return Err(JsonError::new(bytes, 0, false, "a byte order mark, which JSON does not allow"));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| JsonError::new(bytes, error.valid_up_to(), false, "invalid UTF-8"))?;
    let (members, elements) = (Vec::new(), Vec::new());
    let not_finite = takes_not_finite.then(Vec::new);
    let mut parser = Parser { text, position: 0, values: 0, members, elements, not_finite };
    let json = parser.document()?;
    Ok((json, parser.not_finite.unwrap_or_default()))
}

/// Removes and returns the elements from `first` on. If they are many and most of the list, the result reuses the
/// list's own memory. A copy of a million members would need their memory twice.
fn split_last<T>(list: &mut Vec<T>, first: usize) -> Vec<T> {
    const MUCH: usize = 1 << 12;
    let count = list.len() - first;
    if count < MUCH.max(first) {
        return list.drain(first..).collect();
    }
    let mut last = std::mem::take(list);
    list.extend(last.drain(..first));
    last.shrink_to_fit();
    last
}

struct Parser<'a> {
    text: &'a str,
    /// Always at a character boundary: it only moves over ASCII bytes, and over strings up to the closing quote.
    position: usize,
    values: usize,
    /// The members and elements of open lists, the innermost last. So each list is allocated with exactly its length. A
    /// million lists of one element with capacity for four would need three times the memory.
    members: Vec<(String, Json)>,
    elements: Vec<Json>,
    /// Offsets of the bare words `NaN` and infinities. `None` if they are not allowed.
    not_finite: Option<Vec<usize>>,
}

impl<'a> Parser<'a> {
    fn document(&mut self) -> Result<Json, JsonError> {
        self.skip_white_space();
        if self.peek().is_none() {
            return Err(self.syntax(self.position, "the document is empty"));
        }
        let json = self.value(0)?;
        self.skip_white_space();
        if self.peek().is_some() {
            return Err(self.syntax(self.position, format!("text after the end of the document: {}", self.found())));
        }
        Ok(json)
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.limit(format!("the document has more than {MAX_VALUES} values")));
        }
        match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => {
                Err(self.limit(format!("arrays and objects are nested more than {MAX_DEPTH} deep")))
            }
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::String(self.string()?.into())),
            // `-Infinity` is a word, although it begins as a number does.
            Some(b'-' | b'0'..=b'9') if !self.rest().starts_with("-I") => self.number(),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        let first = self.members.len();
        if self.is_empty_list(b'}') {
            return Ok(Json::Object(Object::new()));
        }
        loop {
            self.skip_white_space();
            if self.peek() != Some(b'"') {
                return Err(self.expected("a member's name in double quotes"));
            }
            let name = self.string()?.into_owned();
            self.skip_white_space();
            if !self.eat(b':') {
                return Err(self.expected("`:`"));
            }
            self.skip_white_space();
            let value = self.value(depth + 1)?;
            self.members.push((name, value));
            if self.end_of_list(b'}', "`,` or `}`")? {
                return Ok(Json::Object(split_last(&mut self.members, first).into_iter().collect()));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        let first = self.elements.len();
        if self.is_empty_list(b']') {
            return Ok(Json::Array(Vec::new()));
        }
        loop {
            self.skip_white_space();
            let element = self.value(depth + 1)?;
            self.elements.push(element);
            if self.end_of_list(b']', "`,` or `]`")? {
                return Ok(Json::Array(split_last(&mut self.elements, first)));
            }
        }
    }

    /// Skips the opening bracket. Returns true and skips the closing one if it follows immediately.
    fn is_empty_list(&mut self, close: u8) -> bool {
        self.position += 1;
        self.skip_white_space();
        self.eat(close)
    }

    /// Skips a comma and returns false, or skips the closing bracket and returns true.
    fn end_of_list(&mut self, close: u8, expected: &str) -> Result<bool, JsonError> {
        self.skip_white_space();
        if self.eat(close) {
            return Ok(true);
        }
        let comma = self.position;
        if !self.eat(b',') {
            return Err(self.expected(expected));
        }
        self.skip_white_space();
        if self.peek() == Some(close) { Err(self.syntax(comma, "a comma with nothing after it")) } else { Ok(false) }
    }

    fn word(&mut self) -> Result<Json, JsonError> {
        const WORDS: [(&str, Json); 6] = [
            ("null", Json::Null),
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
            ("NaN", Json::NotFinite("NaN")),
            ("Infinity", Json::NotFinite("Infinity")),
            ("-Infinity", Json::NotFinite("-Infinity")),
        ];
        let rest = self.rest();
        let Some((word, json)) = WORDS.into_iter().find(|(word, _)| rest.starts_with(word)) else {
            return Err(self.expected("a value"));
        };
        if let Json::NotFinite(word) = json {
            let Some(offsets) = &mut self.not_finite else {
                return Err(JsonError::not_finite(self.text.as_bytes(), self.position, word, ""));
            };
            offsets.push(self.position);
        }
        self.position += word.len();
        Ok(json)
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.position;
        self.eat(b'-');
        let leading_zero = self.peek() == Some(b'0');
        if self.digits()? > 1 && leading_zero {
            return Err(self.syntax(start, "a number with a leading zero"));
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(Json::Number(Number(self.text[start..self.position].into())))
    }

    /// Skips digits and returns their number. Fails if there is none.
    fn digits(&mut self) -> Result<usize, JsonError> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return Err(self.expected("a digit"));
        }
        self.position += count;
        Ok(count)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        let (text, start) = (self.text, self.position);
        let mut has_escapes = false;
        self.position += 1;
        loop {
            let rest = &text.as_bytes()[self.position..];
            let special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < b' ';
            let Some(plain) = rest.iter().position(special) else {
                self.position = text.len();
                return Err(self.expected("the closing quote of a string"));
            };
            self.position += plain;
            match rest[plain] {
                b'"' => break,
                b'\\' => {
                    has_escapes = true;
                    // An escaped character may be a quote. Any other character is read again.
                    self.position += if rest.get(plain + 1).is_some_and(u8::is_ascii) { 2 } else { 1 };
                }
                control => {
                    let what = format!("a control character (U+{control:04X}) in a string");
                    return Err(self.syntax(self.position, what + ", which must be escaped"));
                }
            }
        }
        self.position += 1;
        let quoted = &text[start..self.position];
        if !has_escapes {
            return Ok(Cow::Borrowed(&quoted[1..quoted.len() - 1]));
        }
        // Escapes are rare. `serde_json` decodes them, and refuses surrogates without their other half.
        serde_json::from_str(quoted).map(Cow::Owned).map_err(|error| {
            // `quoted` has no line ends, so the column counts its bytes. The fault is in the escape sequence before it.
            let at = quoted.floor_char_boundary(error.column());
            let escape = quoted[..at].rfind('\\').unwrap_or_default();
            self.syntax(start + escape, "an escape sequence that is unknown, or half of a surrogate pair, in a string")
        })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.position += usize::from(there);
        there
    }

    fn skip_white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
    }

    /// Returns the next character for messages.
    fn found(&self) -> String {
        match self.rest().chars().next() {
            None => "the end of the document".to_owned(),
            Some(character) if character.is_control() => format!("U+{:04X}", u32::from(character)),
            Some(character) => format!("`{character}`"),
        }
    }

    fn limit(&self, message: String) -> JsonError {
        JsonError::new(self.text.as_bytes(), self.position, true, message)
    }

    fn syntax(&self, offset: usize, message: impl Into<Cow<'static, str>>) -> JsonError {
        JsonError::new(self.text.as_bytes(), offset, false, message)
    }

    fn expected(&self, expected: &str) -> JsonError {
        self.syntax(self.position, format!("expected {expected}, found {}", self.found()))
    }
}
