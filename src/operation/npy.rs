//! `.npy` files, versions 1.0 to 3.0: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
//!
//! The header is a Python literal. It is parsed, never evaluated. Both orders of dimensions and of bytes are read.
//! Version 1.0, little endian and C order are written. Elements here are in C order and the byte order of this machine.

use std::borrow::Cow;
use std::fmt::Display;

use serde::Deserialize;
use serde_json::Value;

use crate::data_type::DataType;
use crate::element::NumberType;
use crate::grid::num_elements;
use crate::kernel::transpose::{Transpose, swap};
use crate::metadata::v2;

/// The first bytes of every file.
pub const MAGIC: &[u8] = b"\x93NUMPY";

/// The sentence about a file that ends in its header.
const TRUNCATED: &str = "the .npy header is cut off";

fn malformed(reason: impl Display) -> String {
    format!("the .npy header is malformed: {reason}")
}

/// A data type and a shape, and the elements in C order and the byte order of this machine.
pub type NpyArray = ((DataType, Vec<u64>), Vec<u8>);

/// Reads a file.
pub fn read(file: &[u8]) -> Result<NpyArray, String> {
    let (header, elements) = split(file)?;
    let Header { descr, fortran_order, shape } = Header::read(header)?;
    let (data_type, is_big_endian) = descr.as_str().and_then(layout_of).ok_or_else(|| {
        let supported = "save the array as numbers, times, text or bytes of one length";
        format!("the .npy element type {descr} is not supported: {supported}")
    })?;
    let size = data_type.size().unwrap_or(1);
    let found = elements.len() as u64;
    let count = num_elements(&shape);
    // A header may claim any size. The allocations below follow the bytes that are there.
    let expected = count.and_then(|count| count.checked_mul(size as u64));
    if expected != Some(found) {
        let expected = expected.unwrap_or(u64::MAX);
        return Err(format!("the .npy header tells of {expected} bytes of elements, and {found} follow"));
    }
    let mut elements = Cow::Borrowed(elements);
    if is_big_endian != cfg!(target_endian = "big") {
        let mut swapped = vec![0; elements.len()];
        swap(&elements, &mut swapped, data_type.component_size().unwrap_or(1));
        elements = Cow::Owned(swapped);
    }
    if fortran_order && shape.len() > 1 && !elements.is_empty() {
        let order: Vec<usize> = (0..shape.len()).rev().collect();
        let mut ordered = vec![0; elements.len()];
        let transpose = Transpose::new(&shape, &order, size).ok_or_else(|| malformed("its shape is too large"))?;
        transpose.decode(&elements, &mut ordered).map_err(malformed)?;
        elements = Cow::Owned(ordered);
    }
    Ok(((data_type, shape), elements.into_owned()))
}

/// Returns a `.npy` file with these elements, which are in C order and the byte order of this machine.
pub fn write(data_type: &DataType, shape: &[u64], elements: &[u8]) -> Result<Vec<u8>, String> {
    let descriptor = describe(data_type).ok_or_else(|| format!("data type {data_type} cannot be written as .npy"))?;
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    // A Python tuple of one element needs its comma.
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut header =
        format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': ({}{comma}), }}", lengths.join(", "));
    // Elements begin at a multiple of 64 bytes. The header ends with a line end.
    let prefix = MAGIC.len() + 4;
    let padding = (prefix + header.len() + 1).next_multiple_of(64) - prefix - header.len() - 1;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let length = u16::try_from(header.len()).map_err(|_| malformed("it is too long to be written"))?;
    let mut file = Vec::with_capacity(prefix + header.len() + elements.len());
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&[1, 0]);
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    let begin = file.len();
    file.extend_from_slice(elements);
    if cfg!(target_endian = "big") {
        swap(elements, &mut file[begin..], data_type.component_size().unwrap_or(1));
    }
    Ok(file)
}

/// Returns the text of the header, and the bytes after it.
fn split(file: &[u8]) -> Result<(&[u8], &[u8]), String> {
    let rest = file.strip_prefix(MAGIC).ok_or("it does not begin as a .npy file does")?;
    let (&[major, minor], rest) = rest.split_first_chunk().ok_or(TRUNCATED)?;
    let width = match (major, minor) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        _ => return Err(format!(".npy version {major}.{minor} is not known")),
    };
    let (length, rest) = rest.split_at_checked(width).ok_or(TRUNCATED)?;
    let length = length.iter().rev().fold(0, |length, byte| (length << 8) | usize::from(*byte));
    rest.split_at_checked(length).ok_or_else(|| TRUNCATED.to_owned())
}

/// The maximum rank, which is numpy's own limit.
const MAX_RANK: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    descr: Value,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. This is JSON except for quotes, brackets,
    /// capitals, trailing commas, and the L after long integers of Python 2.
    fn read(literal: &[u8]) -> Result<Self, String> {
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
        let header: Header = serde_json::from_str(&text).map_err(malformed)?;
        if header.shape.len() > MAX_RANK {
            return Err(malformed("the shape has more than 64 dimensions"));
        }
        Ok(header)
    }
}

/// Returns the type of elements, and whether it is big-endian. Descriptors are `<f4`, `>i2`, `|u1`, `|b1`, `<c8`,
/// `|V3`, `<M8[ns]`, `<U5`, `|S5`. Without an order, or with `=`, it is that of this machine.
fn layout_of(descriptor: &str) -> Option<(DataType, bool)> {
    let native = if cfg!(target_endian = "big") { '>' } else { '<' };
    let is_ordered = descriptor.starts_with(['<', '>', '|']);
    let own = || format!("{native}{}", descriptor.strip_prefix('=').unwrap_or(descriptor));
    let text = if is_ordered { descriptor.to_owned() } else { own() };
    let (data_type, _, is_big_endian) = v2::read_type_string(&text).ok()?;
    describe(&data_type)?;
    Some((data_type, is_big_endian == Some(true)))
}

/// Returns the little-endian descriptor of a type. `None` for types that numpy has not, or that have fields.
fn describe(data_type: &DataType) -> Option<String> {
    // Elements of any length are pickled.
    data_type.size().filter(|_| !data_type.is_small_float())?;
    // Values of fewer bits are stored in the next larger type.
    let stored = data_type.real_number().map(|number| DataType::Number(NumberType::of(number.element())));
    let descriptor = v2::write_dtype(stored.as_ref().unwrap_or(data_type), false).ok()?;
    descriptor.as_str().map(str::to_owned)
}
