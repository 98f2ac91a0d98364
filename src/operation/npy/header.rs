//! The header of a `.npy` file: a Python literal, of which just the forms that numpy writes are parsed.

use super::NpyError;

/// numpy's own limit is 64.
const MAX_RANK: usize = 64;

/// What a header says.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    /// The element type, as numpy writes it.
    pub(super) descriptor: String,
    /// Whether the first dimension varies fastest.
    pub(super) fortran_order: bool,
    /// In elements.
    pub(super) shape: Vec<u64>,
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, members in any order.
pub(super) fn parse(text: &[u8]) -> Result<Header, NpyError> {
    let mut literal = Literal { rest: text };
    let (mut descriptor, mut fortran_order, mut shape) = (None, None, None);
    literal.expect(b'{', "expected `{`")?;
    while !literal.accept(b'}') {
        let key = literal.string()?;
        literal.expect(b':', "expected `:` after a name")?;
        let is_repeated = match key {
            b"descr" => descriptor.replace(literal.string()?).is_some(),
            b"fortran_order" => fortran_order.replace(literal.boolean()?).is_some(),
            b"shape" => shape.replace(literal.shape()?).is_some(),
            _ => return Err(NpyError::Header("it has a member of another name")),
        };
        if is_repeated {
            return Err(NpyError::Header("a member is repeated"));
        }
        if !literal.accept(b',') {
            literal.expect(b'}', "expected `,` or `}`")?;
            break;
        }
    }
    literal.skip_space();
    match (descriptor, fortran_order, shape) {
        (Some(descriptor), Some(fortran_order), Some(shape)) if literal.rest.is_empty() => {
            let descriptor = String::from_utf8_lossy(descriptor).into_owned();
            Ok(Header { descriptor, fortran_order, shape })
        }
        (Some(_), Some(_), Some(_)) => Err(NpyError::Header("something follows it")),
        _ => Err(NpyError::Header("`descr`, `fortran_order` or `shape` is missing")),
    }
}

/// What is left of a Python literal.
struct Literal<'a> {
    rest: &'a [u8],
}

impl<'a> Literal<'a> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.skip_space();
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, byte: u8, message: &'static str) -> Result<(), NpyError> {
        if self.accept(byte) { Ok(()) } else { Err(NpyError::Header(message)) }
    }

    fn string(&mut self) -> Result<&'a [u8], NpyError> {
        const MALFORMED: NpyError = NpyError::Header("expected a string in quotes, without escapes");
        self.skip_space();
        let (&quote, rest) = self.rest.split_first().ok_or(MALFORMED)?;
        let end = rest.iter().position(|byte| *byte == quote).ok_or(MALFORMED)?;
        if !matches!(quote, b'\'' | b'"') || rest[..end].contains(&b'\\') {
            return Err(MALFORMED);
        }
        self.rest = &rest[end + 1..];
        Ok(&rest[..end])
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.skip_space();
        for (word, value) in [(b"True".as_slice(), true), (b"False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(NpyError::Header("expected True or False"))
    }

    fn shape(&mut self) -> Result<Vec<u64>, NpyError> {
        let mut shape = Vec::new();
        self.expect(b'(', "expected `(`, a shape")?;
        while !self.accept(b')') {
            if shape.len() == MAX_RANK {
                return Err(NpyError::Header("the shape has more than 64 dimensions"));
            }
            shape.push(self.length()?);
            if !self.accept(b',') {
                self.expect(b')', "expected `,` or `)` in the shape")?;
                break;
            }
        }
        Ok(shape)
    }

    fn length(&mut self) -> Result<u64, NpyError> {
        self.skip_space();
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (text, rest) = self.rest.split_at(digits);
        // Python 2 wrote long integers with an L.
        self.rest = rest.strip_prefix(b"L").unwrap_or(rest);
        let text = std::str::from_utf8(text).unwrap_or_default();
        text.parse().map_err(|_| NpyError::Header("expected a length of 64 bits in the shape"))
    }
}
