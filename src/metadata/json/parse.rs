//! The parser: one linear pass, bounded in bytes, depth and values.
//!
//! Written by hand, because `serde_json` hands out number literals only as `RawValue`, and to reach those inside a
//! document each level has to be scanned again: time grows with depth times size.

use std::borrow::Cow;

use super::{Json, JsonError, JsonErrorKind, Limits, NotFinite, NotFiniteValues, Number, Object};

impl Json {
    /// Reads a document within the default [`Limits`].
    pub fn parse(bytes: &[u8]) -> Result<Json, JsonError> {
        Self::parse_with_limits(bytes, Limits::default())
    }

    /// The same, of text.
    pub fn parse_str(text: &str) -> Result<Json, JsonError> {
        Self::parse(text.as_bytes())
    }

    /// Reads a document within these limits.
    pub fn parse_with_limits(bytes: &[u8], limits: Limits) -> Result<Json, JsonError> {
        parse(bytes, limits, false).map(|(json, _)| json)
    }

    /// Reads a document as Python's `json` does, with `NaN`, `Infinity` and `-Infinity` as bare words wherever
    /// `is_allowed` takes the RFC 6901 pointer to one; also tells which there are.
    pub fn parse_with_not_finite(
        bytes: &[u8],
        is_allowed: impl Fn(&str) -> bool,
    ) -> Result<(Json, NotFiniteValues), JsonError> {
        let (json, offsets) = parse(bytes, Limits::default(), true)?;
        let found = if offsets.is_empty() {
            NotFiniteValues::default()
        } else {
            NotFiniteValues::within(&json, &offsets, is_allowed)
                .map_err(|(offset, kind)| JsonError::at(bytes, offset, kind))?
        };
        Ok((json, found))
    }
}

/// A value, and where in the text the bare words of it stand, in their order.
fn parse(bytes: &[u8], limits: Limits, takes_not_finite: bool) -> Result<(Json, Vec<usize>), JsonError> {
    if bytes.len() > limits.max_bytes {
        return Err(JsonError::at(b"", 0, JsonErrorKind::TooLarge(limits.max_bytes)));
    }
    let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
    if marks.iter().any(|mark| bytes.starts_with(mark)) {
        return Err(JsonError::at(bytes, 0, JsonErrorKind::ByteOrderMark));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| JsonError::at(bytes, error.valid_up_to(), JsonErrorKind::NotUtf8))?;
    let (members, elements) = (Vec::new(), Vec::new());
    let not_finite = takes_not_finite.then(Vec::new);
    let mut parser = Parser { text, position: 0, values: 0, limits, members, elements, not_finite };
    let json = parser.document().map_err(|Fault { offset, kind }| JsonError::at(bytes, offset, kind))?;
    Ok((json, parser.not_finite.unwrap_or_default()))
}

/// An error before its line and column are known.
struct Fault {
    offset: usize,
    kind: JsonErrorKind,
}

/// Takes what a list holds from `first` on. Where that is the most of it, and much, it goes on in the list's own memory: a
/// copy of a million members would take theirs twice.
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
    /// Always at a character boundary: only ASCII bytes, and strings to their closing quote, are passed over.
    position: usize,
    values: usize,
    limits: Limits,
    /// Members and elements of the lists that are open, the innermost last: each list is made with room for no more
    /// than it holds. A million lists of one element with room for four would take thrice their memory.
    members: Vec<(String, Json)>,
    elements: Vec<Json>,
    /// Offsets of the bare words for what is not finite; `None` where they are refused.
    not_finite: Option<Vec<usize>>,
}

impl<'a> Parser<'a> {
    fn document(&mut self) -> Result<Json, Fault> {
        self.skip_white_space();
        if self.peek().is_none() {
            return Err(self.fault(JsonErrorKind::Empty));
        }
        let json = self.value(0)?;
        self.skip_white_space();
        if self.peek().is_some() {
            return Err(self.fault(JsonErrorKind::TrailingText(self.found())));
        }
        Ok(json)
    }

    fn value(&mut self, depth: usize) -> Result<Json, Fault> {
        self.values += 1;
        if self.values > self.limits.max_values {
            return Err(self.fault(JsonErrorKind::TooManyValues(self.limits.max_values)));
        }
        match self.peek() {
            Some(b'{' | b'[') if depth >= self.limits.max_depth => {
                Err(self.fault(JsonErrorKind::TooDeep(self.limits.max_depth)))
            }
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::String(self.string()?.into())),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, Fault> {
        let first = self.members.len();
        self.position += 1;
        self.skip_white_space();
        if self.eat(b'}') {
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

    fn array(&mut self, depth: usize) -> Result<Json, Fault> {
        let first = self.elements.len();
        self.position += 1;
        self.skip_white_space();
        if self.eat(b']') {
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

    /// Passes a comma (false) or the closing bracket (true).
    fn end_of_list(&mut self, close: u8, expected: &'static str) -> Result<bool, Fault> {
        self.skip_white_space();
        if self.eat(close) {
            return Ok(true);
        }
        let comma = self.position;
        if !self.eat(b',') {
            return Err(self.expected(expected));
        }
        self.skip_white_space();
        if self.peek() == Some(close) {
            return Err(Fault { offset: comma, kind: JsonErrorKind::TrailingComma });
        }
        Ok(false)
    }

    fn word(&mut self) -> Result<Json, Fault> {
        let rest = &self.text[self.position..];
        let words = [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))];
        for (word, json) in words {
            if rest.starts_with(word) {
                self.position += word.len();
                return Ok(json);
            }
        }
        match [NotFinite::NaN, NotFinite::Infinity].into_iter().find(|value| rest.starts_with(value.word())) {
            Some(value) => self.not_finite(value),
            None => Err(self.expected("a value")),
        }
    }

    /// Passes a bare word, where they are taken.
    fn not_finite(&mut self, value: NotFinite) -> Result<Json, Fault> {
        let Some(offsets) = &mut self.not_finite else {
            return Err(self.fault(JsonErrorKind::NotFinite(value.word())));
        };
        offsets.push(self.position);
        self.position += value.word().len();
        Ok(Json::NotFinite(value))
    }

    fn number(&mut self) -> Result<Json, Fault> {
        let start = self.position;
        if self.text[start..].starts_with(NotFinite::NegativeInfinity.word()) {
            return self.not_finite(NotFinite::NegativeInfinity);
        }
        self.eat(b'-');
        let leading_zero = self.peek() == Some(b'0');
        if self.digits()? > 1 && leading_zero {
            return Err(Fault { offset: start, kind: JsonErrorKind::LeadingZero });
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(Json::Number(Number::from_valid(&self.text[start..self.position])))
    }

    /// Passes at least one digit; their number.
    fn digits(&mut self) -> Result<usize, Fault> {
        let digits = self.text.as_bytes()[self.position..].iter().take_while(|byte| byte.is_ascii_digit());
        let count = digits.count();
        if count == 0 {
            return Err(self.expected("a digit"));
        }
        self.position += count;
        Ok(count)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.position += 1;
        let mut string = Cow::default();
        loop {
            let text: &'a str = self.text;
            let rest = &text[self.position..];
            let special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < b' ';
            let Some(plain) = rest.as_bytes().iter().position(special) else {
                self.position = self.text.len();
                return Err(self.fault(JsonErrorKind::End("the closing quote of a string")));
            };
            // What has no escape is a piece of the text.
            string += &rest[..plain];
            self.position += plain;
            match rest.as_bytes()[plain] {
                b'"' => {
                    self.position += 1;
                    return Ok(string);
                }
                b'\\' => string.to_mut().push(self.escape()?),
                control => return Err(self.fault(JsonErrorKind::ControlCharacter(control))),
            }
        }
    }

    /// The character of an escape sequence, from its backslash on.
    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.position;
        let invalid = Fault { offset: start, kind: JsonErrorKind::Escape };
        self.position += 1;
        let letter = self.peek().ok_or(Fault { offset: start, kind: JsonErrorKind::End("an escape") })?;
        if letter != b'u' {
            let character = match letter {
                b'"' | b'\\' | b'/' => char::from(letter),
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                _ => return Err(invalid),
            };
            self.position += 1;
            return Ok(character);
        }
        self.position += 1;
        let first = self.four_hex_digits().ok_or(invalid)?;
        let mut units = vec![first];
        if (0xd800..0xdc00).contains(&first) && self.text[self.position..].starts_with("\\u") {
            self.position += 2;
            units.extend(self.four_hex_digits());
        }
        let lone = Fault { offset: start, kind: JsonErrorKind::LoneSurrogate };
        let mut characters = char::decode_utf16(units);
        match (characters.next(), characters.next()) {
            (Some(Ok(character)), None) => Ok(character),
            _ => Err(lone),
        }
    }

    fn four_hex_digits(&mut self) -> Option<u16> {
        let digits = self.text.get(self.position..self.position + 4)?;
        // `from_str_radix` also takes a sign.
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.position += 4;
        u16::from_str_radix(digits, 16).ok()
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

    fn found(&self) -> String {
        self.text[self.position..].chars().next().map_or_else(String::new, |character| {
            if character.is_control() {
                format!("U+{:04X}", u32::from(character))
            } else {
                format!("`{character}`")
            }
        })
    }

    fn fault(&self, kind: JsonErrorKind) -> Fault {
        Fault { offset: self.position, kind }
    }

    fn expected(&self, expected: &'static str) -> Fault {
        self.fault(if self.peek().is_none() {
            JsonErrorKind::End(expected)
        } else {
            JsonErrorKind::Unexpected { expected, found: self.found() }
        })
    }
}
