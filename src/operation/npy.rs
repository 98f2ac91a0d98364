//! `.npy` files, versions 1.0 to 3.0: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
//!
//! The header is a Python literal; it is parsed, never evaluated. Read in either order of dimensions and bytes;
//! written in version 1.0, little endian and C order. Elements here are in C order and the byte order of this machine.

use std::borrow::Cow;

use serde::Deserialize;

use crate::data_type::DataType;
use crate::element::{ElementType, NumberType};
use crate::grid::num_elements;
use crate::kernel::swap::swap;
use crate::kernel::transpose::Transpose;

/// What every file begins with.
const MAGIC: &[u8] = b"\x93NUMPY";

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
    Header(String),
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
    let Header { descr, fortran_order, shape } = Header::read(header)?;
    let layout = Layout::of_descriptor(&descr).ok_or(NpyError::Descriptor(descr))?;
    let found = elements.len() as u64;
    let count = num_elements(&shape);
    let expected = count.and_then(|count| count.checked_mul(layout.size as u64));
    if expected != Some(found) {
        return Err(NpyError::Size { expected: expected.unwrap_or(u64::MAX), found });
    }
    let mut elements = Cow::Borrowed(elements);
    if layout.big_endian != cfg!(target_endian = "big") {
        let mut swapped = vec![0; elements.len()];
        swap(&elements, &mut swapped, layout.component);
        elements = Cow::Owned(swapped);
    }
    if fortran_order && shape.len() > 1 && !elements.is_empty() {
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        let mut ordered = vec![0; elements.len()];
        let transpose = Transpose::new(&shape, &order, layout.size);
        let decoded = transpose.and_then(|transpose| transpose.decode(&elements, &mut ordered));
        decoded.map_err(|error| NpyError::Header(error.to_string()))?;
        elements = Cow::Owned(ordered);
    }
    Ok(NpyArray { data_type: layout.data_type, shape, elements: elements.into_owned() })
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
    let length = u16::try_from(header.len())
        .map_err(|_| NpyError::Header("it is too long to be written".to_owned()))?;
    let mut file = Vec::with_capacity(prefix + header.len() + elements.len());
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&[1, 0]);
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    let begin = file.len();
    file.extend_from_slice(elements);
    if cfg!(target_endian = "big") {
        swap(elements, &mut file[begin..], component);
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

/// numpy's own limit is 64.
const MAX_RANK: usize = 64;

/// The members of a header.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`: JSON but for quotes, brackets, capitals, commas
    /// after the last element, and the L behind long integers of Python 2.
    fn read(literal: &[u8]) -> Result<Self, NpyError> {
        let mut text: String =
            literal.iter().filter(|byte| !byte.is_ascii_whitespace()).copied().map(char::from).collect();
        for (python, json) in [
            ("'", "\""),
            ("(", "["),
            (")", "]"),
            ("True", "true"),
            ("False", "false"),
            ("L,", ","),
            ("L]", "]"),
            (",}", "}"),
            (",]", "]"),
        ] {
            text = text.replace(python, json);
        }
        let header: Header =
            serde_json::from_str(&text).map_err(|error| NpyError::Header(error.to_string()))?;
        if header.shape.len() > MAX_RANK {
            return Err(NpyError::Header("the shape has more than 64 dimensions".to_owned()));
        }
        Ok(header)
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
        _ if data_type.is_small_float() => return None,
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
        // numpy has no complex number of two float16.
        DataType::Complex(component) if component.size() > 2 => {
            (format!("<c{}", component.size() * 2), component.size())
        }
        DataType::Raw(size) => (format!("|V{size}"), 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
