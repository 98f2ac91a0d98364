//! `zfp`: blocks of up to four dimensions, of which each keeps its most significant bits, or all.
//!
//! Through `zfp-rs`, which is written in Rust: it reads nothing beyond the end of a stream. A chunk is a stream in words of
//! 64 bits, little endian: of `zfp` without a header, of `numcodecs.zfpy` with zfp's own. Integers of 8 and 16 bits lie in
//! the upper bits of 32, as zfp's own functions put them there.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/zfp>

use std::borrow::Cow;

use bytemuck::Pod;
use half::f16;
use thiserror::Error;
use zfp_rs::{ZfpBitStream, ZfpConfig, ZfpField, ZfpFieldMut, ZfpHeaderMask, ZfpScalar, ZfpScalarType};

use super::BoundZfp;
use crate::element::ElementType;
use crate::memory::fallibly;

/// Bytes of a word of a stream.
const WORD: usize = 8;

/// The most elements of a block, which takes a bit at least.
const GREATEST_BLOCK: usize = 256;

/// Why numbers cannot be compressed or decompressed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ZfpError {
    /// The library says so.
    #[error("{0}")]
    Library(String),
    /// Something that is no stream.
    #[error("{found} bytes are not a whole number of words of {WORD}")]
    Words {
        /// Bytes of the chunk.
        found: usize,
    },
    /// Too little for so many elements, whatever they are.
    #[error("{found} bytes cannot hold {elements} elements")]
    Short {
        /// Bytes of the chunk.
        found: usize,
        /// Elements of the chunk.
        elements: usize,
    },
    /// A header of another chunk.
    #[error("the header is of {} elements of {:?}, expected {} of {:?}", found.1, found.0, expected.1, expected.0)]
    Header {
        /// The type and the number of the elements of the chunk.
        expected: (ZfpScalarType, usize),
        /// Those of the header.
        found: (ZfpScalarType, usize),
    },
    /// Something behind the end.
    #[error("{count} bytes follow the compressed numbers")]
    Trailing {
        /// How many.
        count: usize,
    },
    /// No memory for the numbers.
    #[error("{size} bytes do not fit in memory")]
    Memory {
        /// Bytes that were needed.
        size: usize,
    },
}

/// Compresses and decompresses numbers of one type and shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zfp {
    bound: BoundZfp,
}

impl Zfp {
    /// Compresses as `bound` says.
    pub const fn new(bound: BoundZfp) -> Self {
        Zfp { bound }
    }

    /// What was bound.
    pub const fn bound(&self) -> &BoundZfp {
        &self.bound
    }

    /// Bytes beside the buffers: the elements in 32 bits where they are smaller, and the stream.
    pub fn context_bytes(&self, decoded: u64) -> u64 {
        let stream = self.bound.max_encoded_bytes().unwrap_or(u64::MAX);
        decoded.saturating_mul(4).saturating_add(stream)
    }

    /// Compresses native-endian elements into `encoded`, whose contents are replaced.
    pub fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), ZfpError> {
        encoded.clear();
        match self.bound.element {
            ElementType::Int8 => self.encode_wide(decoded, encoded, |value: i8| i32::from(value) << 23),
            ElementType::UInt8 => {
                self.encode_wide(decoded, encoded, |value: u8| (i32::from(value) - 0x80) << 23)
            }
            ElementType::Int16 => self.encode_wide(decoded, encoded, |value: i16| i32::from(value) << 15),
            ElementType::UInt16 => {
                self.encode_wide(decoded, encoded, |value: u16| (i32::from(value) - 0x8000) << 15)
            }
            ElementType::Int32 => self.encode_as::<i32>(&numbers(decoded), encoded),
            ElementType::Int64 => self.encode_as::<i64>(&numbers(decoded), encoded),
            ElementType::Float16 => {
                let wide: Vec<f32> = numbers::<f16>(decoded).iter().map(|value| value.to_f32()).collect();
                self.encode_as(&wide, encoded)
            }
            ElementType::Float32 => self.encode_as::<f32>(&numbers(decoded), encoded),
            ElementType::Float64 => self.encode_as::<f64>(&numbers(decoded), encoded),
            element @ (ElementType::UInt32 | ElementType::UInt64) => Err(not_of_its(element)),
        }
    }

    fn encode_wide<T: Pod>(
        &self,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
        widen: impl Fn(T) -> i32,
    ) -> Result<(), ZfpError> {
        let wide: Vec<i32> = numbers::<T>(decoded).iter().map(|value| widen(*value)).collect();
        self.encode_as(&wide, encoded)
    }

    fn encode_as<T: ZfpScalar>(&self, numbers: &[T], encoded: &mut Vec<u8>) -> Result<(), ZfpError> {
        let size = self.bound.max_encoded_bytes().and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or(ZfpError::Memory { size: usize::MAX })?;
        let mut stream = ZfpBitStream::new(size).map_err(|error| ZfpError::Memory { size: error.bytes })?;
        let field = ZfpField::new(numbers, self.bound.lengths).map_err(library)?;
        if self.bound.has_header {
            stream
                .write_header(&self.bound.config, &field.metadata(), ZfpHeaderMask::FULL)
                .map_err(library)?;
        }
        let written = stream.compress(&self.bound.config, &field).map_err(library)?;
        fallibly(|| encoded.try_reserve_exact(written)).map_err(|_| ZfpError::Memory { size: written })?;
        encoded.extend_from_slice(stream.as_bytes().get(..written).unwrap_or_default());
        Ok(())
    }

    /// Decompresses into `decoded`, whose contents are replaced.
    pub fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>) -> Result<(), ZfpError> {
        decoded.clear();
        match self.bound.element {
            ElementType::Int8 => self.decode_wide(encoded, decoded, |value| (value >> 23).clamp(-0x80, 0x7f)),
            ElementType::UInt8 => {
                self.decode_wide(encoded, decoded, |value| ((value >> 23) + 0x80).clamp(0, 0xff))
            }
            ElementType::Int16 => {
                self.decode_wide(encoded, decoded, |value| (value >> 15).clamp(-0x8000, 0x7fff))
            }
            ElementType::UInt16 => {
                self.decode_wide(encoded, decoded, |value| ((value >> 15) + 0x8000).clamp(0, 0xffff))
            }
            ElementType::Int32 => self.decode_as::<i32>(encoded).and_then(|found| append(&found, decoded)),
            ElementType::Int64 => self.decode_as::<i64>(encoded).and_then(|found| append(&found, decoded)),
            ElementType::Float16 => self.decode_as::<f32>(encoded).and_then(|found| {
                let narrow: Vec<f16> = found.into_iter().map(f16::from_f32).collect();
                append(&narrow, decoded)
            }),
            ElementType::Float32 => self.decode_as::<f32>(encoded).and_then(|found| append(&found, decoded)),
            ElementType::Float64 => self.decode_as::<f64>(encoded).and_then(|found| append(&found, decoded)),
            element @ (ElementType::UInt32 | ElementType::UInt64) => Err(not_of_its(element)),
        }
    }

    /// Decodes 32 bits, and keeps the low bytes of what `narrow` makes of them.
    fn decode_wide(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        narrow: impl Fn(i32) -> i32,
    ) -> Result<(), ZfpError> {
        let wide = self.decode_as::<i32>(encoded)?;
        let size = self.bound.element.size();
        let total = wide.len().saturating_mul(size);
        fallibly(|| decoded.try_reserve_exact(total)).map_err(|_| ZfpError::Memory { size: total })?;
        for value in wide {
            let bytes = narrow(value).to_ne_bytes();
            let low = if cfg!(target_endian = "big") { &bytes[4 - size..] } else { &bytes[..size] };
            decoded.extend_from_slice(low);
        }
        Ok(())
    }

    fn decode_as<T: ZfpScalar + Pod>(&self, encoded: &[u8]) -> Result<Vec<T>, ZfpError> {
        let elements = self.bound.lengths.iter().filter(|length| **length > 0).product::<usize>();
        let found = encoded.len();
        if !found.is_multiple_of(WORD) {
            return Err(ZfpError::Words { found });
        }
        // Memory is given for what the stream can hold alone.
        if elements / GREATEST_BLOCK > found.saturating_mul(8) {
            return Err(ZfpError::Short { found, elements });
        }
        let mut stream =
            ZfpBitStream::from_bytes(encoded).map_err(|error| ZfpError::Memory { size: error.bytes })?;
        let (config, lengths) = if self.bound.has_header {
            read_header(&mut stream, T::SCALAR_TYPE, elements)?
        } else {
            (self.bound.config, self.bound.lengths)
        };
        let mut numbers = Vec::new();
        let size = elements.saturating_mul(size_of::<T>());
        fallibly(|| numbers.try_reserve_exact(elements)).map_err(|_| ZfpError::Memory { size })?;
        numbers.resize(elements, T::zeroed());
        let mut field = ZfpFieldMut::new(&mut numbers, lengths).map_err(library)?;
        let read = stream.decompress(&config, &mut field).map_err(library)?;
        match found.checked_sub(read) {
            Some(count) if count > 0 => Err(ZfpError::Trailing { count }),
            _ => Ok(numbers),
        }
    }
}

/// The parameters that a stream says of itself, and its lengths: any that have as many elements as the chunk, which
/// may have been flattened.
fn read_header(
    stream: &mut ZfpBitStream,
    scalar: ZfpScalarType,
    elements: usize,
) -> Result<(ZfpConfig, [usize; 4]), ZfpError> {
    let header = stream.read_header(ZfpHeaderMask::FULL).map_err(library)?;
    let (Some(config), Some(metadata)) = (header.config, header.metadata) else {
        return Err(ZfpError::Library("the header is not whole".to_owned()));
    };
    let dims = metadata.dims.iter().filter(|length| **length > 0);
    let found = dims.fold(1_usize, |count, length| count.saturating_mul(*length));
    if metadata.scalar_type != scalar || found != elements {
        return Err(ZfpError::Header { expected: (scalar, elements), found: (metadata.scalar_type, found) });
    }
    Ok((config, metadata.dims))
}

fn library(error: impl std::fmt::Display) -> ZfpError {
    ZfpError::Library(error.to_string())
}

fn not_of_its(element: ElementType) -> ZfpError {
    ZfpError::Library(format!("{element:?} is no type of its"))
}

/// Bytes as numbers; a copy where they do not lie as numbers do.
fn numbers<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    bytemuck::try_cast_slice(bytes)
        .map_or_else(|_| Cow::Owned(bytemuck::pod_collect_to_vec(bytes)), Cow::Borrowed)
}

fn append<T: Pod>(numbers: &[T], decoded: &mut Vec<u8>) -> Result<(), ZfpError> {
    let bytes: &[u8] = bytemuck::cast_slice(numbers);
    fallibly(|| decoded.try_reserve_exact(bytes.len()))
        .map_err(|_| ZfpError::Memory { size: bytes.len() })?;
    decoded.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests;
