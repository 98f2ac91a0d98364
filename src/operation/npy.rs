//! `.npy` files, versions 1.0 to 3.0: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
//!
//! The header is a Python literal; it is parsed, never evaluated. Read in either order of dimensions and bytes;
//! written in version 1.0, little endian and C order. Elements here are in C order and the byte order of this machine.

use crate::data_type::DataType;
use crate::element::{ElementType, NumberType};

/// What every file begins with.
const MAGIC: &[u8] = b"\x93NUMPY";

/// numpy's own limit is 64.
const MAX_RANK: usize = 64;

/// An array in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct NpyArray {
    /// The type of its elements.
    pub data_type: DataType,
    /// In elements.
    pub shape: Vec<u64>,
    /// C order, in the byte order of this machine.
    pub elements: Vec<u8>,
}

/// Why bytes are no `.npy` file that is read here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NpyError {
    /// Another file.
    #[error("it does not begin as a .npy file does")]
    Magic,
    /// A later version.
    #[error(".npy version {0}.{1} is not known")]
    Version(u8, u8),
    /// The file ends in its header.
    #[error("the .npy header is cut off")]
    Truncated,
    /// The header is not the literal that it must be.
    #[error("the .npy header is malformed: {0}")]
    Header(&'static str),
    /// An element type that no Zarr array has.
    #[error("the .npy element type {0:?} is not supported")]
    Descriptor(String),
    /// A type that cannot be written.
    #[error("data type {0} cannot be written as .npy")]
    DataType(String),
    /// More or fewer bytes than the shape tells.
    #[error("the .npy header tells of {expected} bytes of elements, and {found} follow")]
    Size {
        /// Bytes by the header; saturated.
        expected: u64,
        /// Bytes in the file.
        found: u64,
    },
}

/// Whether bytes begin as a `.npy` file does.
pub fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads a file.
pub fn read(file: &[u8]) -> Result<NpyArray, NpyError> {
    let (header, elements) = split(file)?;
    let Header { descriptor, fortran_order, shape } = parse_header(header)?;
    let layout = Layout::of_descriptor(&descriptor).ok_or(NpyError::Descriptor(descriptor))?;
    let found = elements.len() as u64;
    let count = num_elements(&shape);
    let expected = count.and_then(|count| count.checked_mul(layout.size as u64));
    if expected != Some(found) {
        return Err(NpyError::Size { expected: expected.unwrap_or(u64::MAX), found });
    }
    let mut elements = if fortran_order && shape.len() > 1 {
        c_order(elements, &shape, layout.size)
    } else {
        elements.to_vec()
    };
    if layout.big_endian != cfg!(target_endian = "big") {
        reverse_components(&mut elements, layout.component);
    }
    Ok(NpyArray { data_type: layout.data_type, shape, elements })
}

/// A file of these elements, which are in C order and the byte order of this machine.
pub fn write(data_type: &DataType, shape: &[u64], elements: &[u8]) -> Result<Vec<u8>, NpyError> {
    let (descriptor, component) =
        describe(data_type).ok_or_else(|| NpyError::DataType(data_type.to_string()))?;
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut header = format!(
        "{{'descr': '{descriptor}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        lengths.join(", ")
    );
    // Elements begin at a multiple of 64 bytes; the header ends in a line end.
    let prefix = MAGIC.len() + 4;
    let padding = (prefix + header.len() + 1).next_multiple_of(64) - prefix - header.len() - 1;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let length = u16::try_from(header.len()).map_err(|_| NpyError::Header("it is too long to be written"))?;
    let mut file = Vec::with_capacity(prefix + header.len() + elements.len());
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&[1, 0]);
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(elements);
    if cfg!(target_endian = "big") {
        reverse_components(&mut file[prefix + header.len()..], component);
    }
    Ok(file)
}

/// The header's text, and what follows it.
fn split(file: &[u8]) -> Result<(&[u8], &[u8]), NpyError> {
    let rest = file.strip_prefix(MAGIC).ok_or(NpyError::Magic)?;
    let (&[major, minor], rest) = rest.split_first_chunk().ok_or(NpyError::Truncated)?;
    let (length, rest) = match (major, minor) {
        (1, 0) => {
            let (length, rest) = rest.split_first_chunk().ok_or(NpyError::Truncated)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        (2 | 3, 0) => {
            let (length, rest) = rest.split_first_chunk().ok_or(NpyError::Truncated)?;
            (usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX), rest)
        }
        _ => return Err(NpyError::Version(major, minor)),
    };
    rest.split_at_checked(length).ok_or(NpyError::Truncated)
}

/// What a header says.
#[derive(Debug, PartialEq)]
struct Header {
    descriptor: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, members in any order.
fn parse_header(text: &[u8]) -> Result<Header, NpyError> {
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

/// How elements lie in a file.
struct Layout {
    data_type: DataType,
    /// Bytes of an element.
    size: usize,
    /// Bytes of what has a byte order.
    component: usize,
    big_endian: bool,
}

impl Layout {
    /// From `<f4`, `>i2`, `|u1`, `|b1`, `<c8`, `|V3`.
    fn of_descriptor(descriptor: &str) -> Option<Self> {
        let (order, kind, size) = match descriptor.as_bytes() {
            [order @ (b'<' | b'>' | b'|' | b'='), kind, size @ ..] => (*order, *kind, size),
            [kind, size @ ..] => (b'=', *kind, size),
            _ => return None,
        };
        if size.is_empty() || !size.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let size: usize = std::str::from_utf8(size).ok()?.parse().ok()?;
        let float = |size| match size {
            2 => Some(ElementType::Float16),
            4 => Some(ElementType::Float32),
            8 => Some(ElementType::Float64),
            _ => None,
        };
        let bits = u32::try_from(size.checked_mul(8)?).ok()?;
        let integer =
            |signed| matches!(size, 1 | 2 | 4 | 8).then(|| NumberType::integer(signed, bits)).flatten();
        let (data_type, component) = match kind {
            b'b' if size == 1 => (DataType::Bool, 1),
            b'i' => (DataType::Number(integer(true)?), size),
            b'u' => (DataType::Number(integer(false)?), size),
            b'f' => (DataType::Number(NumberType::of(float(size)?)), size),
            b'c' if size >= 8 => (DataType::Complex(NumberType::of(float(size / 2)?)), size / 2),
            b'V' if size > 0 => (DataType::Raw(size), 1),
            _ => return None,
        };
        // `c9` halves to a float's size as well.
        if matches!(data_type, DataType::Complex(_)) && size != component * 2 {
            return None;
        }
        if order == b'|' && component > 1 {
            return None;
        }
        let big_endian = order == b'>' || (order == b'=' && cfg!(target_endian = "big"));
        Some(Layout { data_type, size, component, big_endian })
    }
}

/// The descriptor of a type, little endian, and the bytes of what has a byte order.
fn describe(data_type: &DataType) -> Option<(String, usize)> {
    let order = |size: usize| if size == 1 { '|' } else { '<' };
    Some(match data_type {
        DataType::Bool => ("|b1".to_owned(), 1),
        DataType::Number(number) => {
            let kind = if number.is_float() {
                'f'
            } else if number.element().is_signed_integer() {
                'i'
            } else {
                'u'
            };
            (format!("{}{kind}{}", order(number.size()), number.size()), number.size())
        }
        DataType::Complex(component) => (format!("<c{}", component.size() * 2), component.size()),
        DataType::Raw(size) => (format!("|V{size}"), 1),
        DataType::Other(_) => return None,
    })
}

/// `None` where the product overflows; 0 where any length is.
fn num_elements(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u64, |product, length| product.checked_mul(*length))
}

fn reverse_components(elements: &mut [u8], component: usize) {
    if component > 1 {
        for component in elements.chunks_exact_mut(component) {
            component.reverse();
        }
    }
}

/// Elements in Fortran order to C order. Their number is that of the shape.
fn c_order(elements: &[u8], shape: &[u64], size: usize) -> Vec<u8> {
    let mut ordered = Vec::with_capacity(elements.len());
    // The file holds the elements, so each length and stride fits a usize, unless there is no element at all.
    let lengths: Vec<usize> = shape.iter().map(|length| usize::try_from(*length).unwrap_or(0)).collect();
    if elements.is_empty() {
        return ordered;
    }
    let mut strides = vec![size; lengths.len()];
    for dimension in 1..lengths.len() {
        strides[dimension] = strides[dimension - 1] * lengths[dimension - 1];
    }
    let mut indices = vec![0; lengths.len()];
    let mut start = 0;
    loop {
        ordered.extend_from_slice(&elements[start..start + size]);
        let mut dimension = lengths.len();
        loop {
            if dimension == 0 {
                return ordered;
            }
            dimension -= 1;
            indices[dimension] += 1;
            start += strides[dimension];
            if indices[dimension] < lengths[dimension] {
                break;
            }
            start -= strides[dimension] * lengths[dimension];
            indices[dimension] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOAT32: DataType = DataType::Number(NumberType::of(ElementType::Float32));
    const INT16: DataType = DataType::Number(NumberType::of(ElementType::Int16));

    fn file(version: u8, header: &str, elements: &[u8]) -> Vec<u8> {
        let length = u32::try_from(header.len()).unwrap().to_le_bytes();
        let length = if version == 1 { &length[..2] } else { &length[..] };
        [MAGIC, &[version, 0], length, header.as_bytes(), elements].concat()
    }

    fn header(descriptor: &str, shape: &str) -> String {
        format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': {shape}, }}")
    }

    #[test]
    fn what_is_written_is_read_again() {
        let elements: Vec<u8> = (0..48).collect();
        for shape in [vec![12], vec![3, 4], vec![1, 2, 6]] {
            let file = write(&FLOAT32, &shape, &elements).unwrap();
            assert_eq!((file.len() - elements.len()) % 64, 0);
            assert_eq!(
                read(&file).unwrap(),
                NpyArray { data_type: FLOAT32, shape, elements: elements.clone() }
            );
        }
        let scalar = write(&INT16, &[], &[1, 0]).unwrap();
        assert_eq!(read(&scalar).unwrap().shape, Vec::<u64>::new());
        let empty = write(&INT16, &[0, 3], &[]).unwrap();
        assert_eq!(read(&empty).unwrap().shape, [0, 3]);
    }

    #[test]
    fn every_type_has_a_descriptor_that_is_read_as_it() {
        let numbers = ElementType::ALL.map(|element| DataType::Number(NumberType::of(element)));
        let others = [
            DataType::Bool,
            DataType::Complex(NumberType::of(ElementType::Float32)),
            DataType::Complex(NumberType::of(ElementType::Float64)),
            DataType::Raw(3),
        ];
        for data_type in numbers.into_iter().chain(others) {
            let (descriptor, _) = describe(&data_type).unwrap();
            assert_eq!(Layout::of_descriptor(&descriptor).unwrap().data_type, data_type, "{descriptor}");
        }
    }

    #[test]
    fn big_endian_and_fortran_order_are_turned() {
        let header = "{'shape': (2, 3), 'fortran_order': True, 'descr': \">i2\"}\n";
        for version in 1..=3 {
            let array = read(&file(version, header, &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6])).unwrap();
            let expected: Vec<u8> = (1..=6_i16).flat_map(i16::to_ne_bytes).collect();
            assert_eq!(array, NpyArray { data_type: INT16, shape: vec![2, 3], elements: expected });
        }
    }

    #[test]
    fn fortran_order_of_three_dimensions_is_turned() {
        let elements = [0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23];
        let ordered = c_order(&elements, &[2, 3, 4], 1);
        assert_eq!(ordered, (0..24).collect::<Vec<u8>>());
    }

    #[test]
    fn size_that_does_not_fit_is_an_error() {
        let refused = |shape| read(&file(1, &header("<i2", shape), &[0; 12])).unwrap_err();
        assert_eq!(refused("(2, 4)"), NpyError::Size { expected: 16, found: 12 });
        assert_eq!(refused("(2,)"), NpyError::Size { expected: 4, found: 12 });
        assert_eq!(
            refused("(4294967296, 4294967296, 4294967296)"),
            NpyError::Size { expected: u64::MAX, found: 12 }
        );
        assert_eq!(refused("(0, 18446744073709551615)"), NpyError::Size { expected: 0, found: 12 });
        assert!(read(&file(1, &header("<i2", "(0, 18446744073709551615, 7)"), &[])).is_ok());
    }

    #[test]
    fn malformed_headers_are_errors() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<i2'",
            "{'descr': '<i2', 'fortran_order': False}",
            "{'descr': '<i2', 'descr': '<i2', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<i2', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': 1}",
            "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (1,)} + x",
            "{'descr': '<i2', 'fortran_order': False, 'shape': (1,), 'x': 1}",
        ] {
            assert!(matches!(read(&file(1, text, &[0; 2])), Err(NpyError::Header(_))), "{text}");
        }
        for descriptor in [
            "",
            "<",
            "<i",
            "<i3",
            "|i2",
            "<O8",
            "<U4",
            "<M8[ns]",
            "<f16",
            "<c9",
            "i2x",
            "<i99999999999999999999",
        ] {
            let file = file(1, &header(descriptor, "(1,)"), &[0; 2]);
            assert!(matches!(read(&file), Err(NpyError::Descriptor(_))), "{descriptor}");
        }
    }

    #[test]
    fn every_truncation_is_an_error() {
        let file = write(&INT16, &[3], &[1, 0, 2, 0, 3, 0]).unwrap();
        for length in 0..file.len() {
            assert!(read(&file[..length]).is_err(), "{length}");
        }
        assert_eq!(read(b"\x93NUMPY\x04\x00"), Err(NpyError::Version(4, 0)));
    }
}
