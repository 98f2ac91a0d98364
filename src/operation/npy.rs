//! `.npy` files, versions 1.0 to 3.0: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
//!
//! The header is a Python literal; it is parsed, never evaluated. Read in either order of dimensions and bytes;
//! written in version 1.0, little endian and C order. Elements here are in C order and the byte order of this machine.

use std::borrow::Cow;

use serde::Deserialize;

use crate::data_type::DataType;
use crate::element::NumberType;
use crate::grid::num_elements;
use crate::kernel::transpose::Transpose;
use crate::kernel::transpose::swap;
use crate::metadata::v2;

/// The first bytes of every file.
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

/// True if bytes begin as a `.npy` file does.
pub fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads a file.
pub fn read(file: &[u8]) -> Result<NpyArray, NpyError> {
    let (header, elements) = split(file)?;
    let Header { descr, fortran_order, shape } = Header::read(header)?;
    let (data_type, component, is_big_endian) = layout_of(&descr).ok_or(NpyError::Descriptor(descr))?;
    let size = data_type.size().unwrap_or(1);
    let found = elements.len() as u64;
    let count = num_elements(&shape);
    let expected = count.and_then(|count| count.checked_mul(size as u64));
    if expected != Some(found) {
        return Err(NpyError::Size { expected: expected.unwrap_or(u64::MAX), found });
    }
    let mut elements = Cow::Borrowed(elements);
    if is_big_endian != cfg!(target_endian = "big") {
        let mut swapped = vec![0; elements.len()];
        swap(&elements, &mut swapped, component);
        elements = Cow::Owned(swapped);
    }
    if fortran_order && shape.len() > 1 && !elements.is_empty() {
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        let mut ordered = vec![0; elements.len()];
        let transpose = Transpose::new(&shape, &order, size);
        let decoded = transpose.and_then(|transpose| transpose.decode(&elements, &mut ordered));
        decoded.map_err(|error| NpyError::Header(error.to_string()))?;
        elements = Cow::Owned(ordered);
    }
    Ok(NpyArray { data_type, shape, elements: elements.into_owned() })
}

/// A file of these elements, which are in C order and the byte order of this machine.
pub fn write(data_type: &DataType, shape: &[u64], elements: &[u8]) -> Result<Vec<u8>, NpyError> {
    let (descriptor, component) = describe(data_type).ok_or_else(|| NpyError::DataType(data_type.to_string()))?;
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut header =
        format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': ({}{comma}), }}", lengths.join(", "));
    // Elements begin at a multiple of 64 bytes; the header ends in a line end.
    let prefix = MAGIC.len() + 4;
    let padding = (prefix + header.len() + 1).next_multiple_of(64) - prefix - header.len() - 1;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let length =
        u16::try_from(header.len()).map_err(|_| NpyError::Header("it is too long to be written".to_owned()))?;
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
        let header: Header = serde_json::from_str(&text).map_err(|error| NpyError::Header(error.to_string()))?;
        if header.shape.len() > MAX_RANK {
            return Err(NpyError::Header("the shape has more than 64 dimensions".to_owned()));
        }
        Ok(header)
    }
}

/// The type of elements, the bytes of what has a byte order, and whether they are big-endian. From `<f4`, `>i2`, `|u1`, `|b1`,
/// `<c8`, `|V3`; without an order, or with `=`, that of this machine.
fn layout_of(descriptor: &str) -> Option<(DataType, usize, bool)> {
    let native = if cfg!(target_endian = "big") { '>' } else { '<' };
    let is_ordered = descriptor.starts_with(['<', '>', '|']);
    let own = || format!("{native}{}", descriptor.strip_prefix('=').unwrap_or(descriptor));
    let text = if is_ordered { descriptor.to_owned() } else { own() };
    let (data_type, is_big_endian) = v2::read_type_string(&text).ok()?;
    let (_, component) = describe(&data_type)?;
    Some((data_type, component, is_big_endian))
}

/// The descriptor of a type, little endian, and the bytes of what has a byte order; `None` for types that are not read.
fn describe(data_type: &DataType) -> Option<(String, usize)> {
    let stored = match data_type {
        _ if data_type.is_small_float() => return None,
        // Values of fewer bits are stored in the next larger type.
        DataType::Number(number) => DataType::Number(NumberType::of(number.element())),
        DataType::Bool | DataType::Complex(_) | DataType::Raw(_) => data_type.clone(),
        _ => return None,
    };
    let descriptor = v2::write_dtype(&stored, false).ok()?;
    Some((descriptor.as_str()?.to_owned(), stored.components().map_or(1, |(number, _)| number.size())))
}
