//! Packing the bits of elements that count, as the codec `packbits` does.
//!
//! Bits go from the least significant up, element after element; what is left of the last byte is zero. Where a
//! padding byte is configured it is written for types of whole bytes as well.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/packbits>

use thiserror::Error;

use super::{BoundPackBits, PaddingEncoding};
use crate::memory::fallibly;

/// Why elements cannot be packed or unpacked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PackBitsError {
    /// A buffer has another length than so many elements have.
    #[error("`packbits`: expected {expected} {side} bytes, found {found}")]
    Length {
        /// "decoded" or "encoded".
        side: &'static str,
        /// Bytes of the elements.
        expected: usize,
        /// Bytes of the buffer.
        found: usize,
    },
    /// The elements do not fit in memory.
    #[error("`packbits`: {num_elements} elements do not fit in memory")]
    TooLarge {
        /// How many.
        num_elements: usize,
    },
    /// The padding byte does not tell the padding.
    #[error("`packbits`: expected a padding byte of {expected}, found {found}")]
    PaddingByte {
        /// The number of padding bits.
        expected: u8,
        /// What is stored.
        found: u8,
    },
    /// A padding bit is set.
    #[error("`packbits`: expected {count} zero bits of padding, found {found:#010b} as the last byte")]
    PaddingBits {
        /// The number of padding bits.
        count: u8,
        /// The last packed byte.
        found: u8,
    },
    /// A decoded element is no value of its type.
    #[error("`packbits`: element {index} has bits outside of the {bits} of its data type")]
    Value {
        /// Its index.
        index: usize,
        /// Bits of the type.
        bits: u32,
    },
}

/// Where things are in the encoded bytes of so many elements.
#[derive(Debug, Clone, Copy)]
struct Layout {
    packed: usize,
    padding: u8,
}

/// Packs and unpacks elements of one data type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackBits {
    bound: BoundPackBits,
}

impl PackBits {
    /// Packs as `bound` says.
    pub const fn new(bound: BoundPackBits) -> Self {
        PackBits { bound }
    }

    /// What was bound.
    pub const fn bound(&self) -> &BoundPackBits {
        &self.bound
    }

    /// Bits of a component that are stored.
    const fn stored_bits(&self) -> u32 {
        self.bound.last_bit - self.bound.first_bit + 1
    }

    /// Bytes of so many decoded elements; `None` where they do not fit in memory.
    pub fn decoded_size(&self, num_elements: usize) -> Option<usize> {
        num_elements.checked_mul(self.bound.num_components)?.checked_mul(self.bound.component_size)
    }

    /// Bytes of so many encoded elements, the padding byte included; `None` where they do not fit in memory.
    pub fn encoded_size(&self, num_elements: usize) -> Option<usize> {
        self.layout(num_elements).map(|layout| layout.packed + self.num_padding_bytes())
    }

    const fn num_padding_bytes(&self) -> usize {
        match self.bound.padding_encoding {
            PaddingEncoding::None => 0,
            PaddingEncoding::FirstByte | PaddingEncoding::LastByte => 1,
        }
    }

    fn layout(&self, num_elements: usize) -> Option<Layout> {
        let num_components = num_elements.checked_mul(self.bound.num_components)?;
        let bits = num_components as u128 * u128::from(self.stored_bits());
        let packed = usize::try_from(bits.div_ceil(8)).ok().filter(|&size| isize::try_from(size).is_ok())?;
        let padding = u8::try_from(packed as u128 * 8 - bits).ok()?;
        packed.checked_add(self.num_padding_bytes())?;
        Some(Layout { packed, padding })
    }

    /// Packs the elements of `decoded` (native-endian) into `encoded`, whose contents are replaced.
    ///
    /// A component of fewer bits than its primitive must hold a value of its type, unless bits are cut off on
    /// purpose: it would come back as another value.
    pub fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), PackBitsError> {
        let BoundPackBits { component_size, num_components, padding_encoding, .. } = self.bound;
        let element_size = component_size * num_components;
        let num_elements = decoded.len() / element_size;
        let too_large = || PackBitsError::TooLarge { num_elements };
        let expected = num_elements * element_size;
        if expected != decoded.len() {
            return Err(PackBitsError::Length { side: "decoded", expected, found: decoded.len() });
        }
        let layout = self.layout(num_elements).ok_or_else(too_large)?;
        encoded.clear();
        fallibly(|| encoded.try_reserve_exact(layout.packed + 1)).map_err(|_| too_large())?;
        if padding_encoding == PaddingEncoding::FirstByte {
            encoded.push(layout.padding);
        }
        match component_size {
            1 => self.pack::<1>(decoded, encoded)?,
            2 => self.pack::<2>(decoded, encoded)?,
            4 => self.pack::<4>(decoded, encoded)?,
            _ => self.pack::<8>(decoded, encoded)?,
        }
        if padding_encoding == PaddingEncoding::LastByte {
            encoded.push(layout.padding);
        }
        Ok(())
    }

    fn pack<const SIZE: usize>(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), PackBitsError> {
        let BoundPackBits { num_components, bits, first_bit, .. } = self.bound;
        let (width, range) = (self.stored_bits(), self.range());
        let mask = low_bits(width);
        let (mut word, mut filled) = (0_u128, 0_u32);
        for (index, component) in decoded.as_chunks::<SIZE>().0.iter().enumerate() {
            let pattern = read(component);
            if !range.holds(pattern) {
                return Err(PackBitsError::Value { index: index / num_components, bits });
            }
            word |= u128::from((pattern >> first_bit) & mask) << filled;
            filled += width;
            while filled >= 64 {
                encoded.extend_from_slice(&low_word(word).to_le_bytes());
                word >>= 64;
                filled -= 64;
            }
        }
        let rest = low_word(word).to_le_bytes();
        encoded.extend(rest.iter().take(filled.div_ceil(8) as usize));
        Ok(())
    }

    /// Unpacks so many elements of `encoded` into `decoded`, whose contents are replaced.
    pub fn decode(
        &self,
        encoded: &[u8],
        num_elements: usize,
        decoded: &mut Vec<u8>,
    ) -> Result<(), PackBitsError> {
        let too_large = || PackBitsError::TooLarge { num_elements };
        let layout = self.layout(num_elements).ok_or_else(too_large)?;
        let packed = self.check(encoded, layout)?;
        let size = self.decoded_size(num_elements).ok_or_else(too_large)?;
        decoded.clear();
        fallibly(|| decoded.try_reserve_exact(size)).map_err(|_| too_large())?;
        decoded.resize(size, 0);
        match self.bound.component_size {
            1 => self.unpack::<1>(packed, decoded),
            2 => self.unpack::<2>(packed, decoded),
            4 => self.unpack::<4>(packed, decoded),
            _ => self.unpack::<8>(packed, decoded),
        }
        Ok(())
    }

    /// Checks length and padding; the packed bytes alone.
    fn check<'a>(&self, encoded: &'a [u8], layout: Layout) -> Result<&'a [u8], PackBitsError> {
        let expected = layout.packed + self.num_padding_bytes();
        let split = match self.bound.padding_encoding {
            _ if encoded.len() != expected => None,
            PaddingEncoding::None => Some((layout.padding, encoded)),
            PaddingEncoding::FirstByte => encoded.split_first().map(|(&byte, packed)| (byte, packed)),
            PaddingEncoding::LastByte => encoded.split_last().map(|(&byte, packed)| (byte, packed)),
        };
        let Some((found, packed)) = split else {
            return Err(PackBitsError::Length { side: "encoded", expected, found: encoded.len() });
        };
        if found != layout.padding {
            return Err(PackBitsError::PaddingByte { expected: layout.padding, found });
        }
        if let Some(&last) = packed.last()
            && u16::from(last) >> (8 - layout.padding) != 0
        {
            return Err(PackBitsError::PaddingBits { count: layout.padding, found: last });
        }
        Ok(packed)
    }

    fn unpack<const SIZE: usize>(&self, packed: &[u8], decoded: &mut [u8]) {
        let BoundPackBits { first_bit, is_signed, .. } = self.bound;
        let width = self.stored_bits();
        let mask = low_bits(width);
        // The shift that puts the highest stored bit on top, so that the way back extends the sign.
        let sign = 64 - width;
        let (mut word, mut filled) = (0_u128, 0_u32);
        let mut rest = packed;
        for component in decoded.as_chunks_mut::<SIZE>().0 {
            while filled < width {
                let (next, size);
                (next, size, rest) = match (rest.split_first_chunk::<8>(), rest.split_first()) {
                    (Some((word, following)), _) => (u64::from_le_bytes(*word), 64, following),
                    (None, Some((&byte, following))) => (u64::from(byte), 8, following),
                    // The length has been checked: there is always a byte left.
                    (None, None) => (0, 8, rest),
                };
                word |= u128::from(next) << filled;
                filled += size;
            }
            let stored = low_word(word) & mask;
            word >>= width;
            filled -= width;
            let value =
                if is_signed { ((stored << sign).cast_signed() >> sign).cast_unsigned() } else { stored };
            write(component, value << first_bit);
        }
    }

    /// The patterns that a component may have.
    fn range(&self) -> Range {
        let BoundPackBits { component_size, bits, is_signed, first_bit, last_bit, .. } = self.bound;
        let is_whole = bits as usize == component_size * 8 || first_bit > 0 || last_bit < bits - 1;
        Range { bits, is_signed, is_whole, unused: 64 - component_size * 8 }
    }
}

/// The values of a type of fewer bits than its primitive.
#[derive(Debug, Clone, Copy)]
struct Range {
    bits: u32,
    is_signed: bool,
    is_whole: bool,
    /// Bits of a u64 above the primitive.
    unused: usize,
}

impl Range {
    /// Whether a zero-extended pattern is a value of the type.
    const fn holds(self, pattern: u64) -> bool {
        if self.is_whole {
            return true;
        }
        if self.is_signed {
            let value = (pattern << self.unused).cast_signed() >> self.unused;
            let above = value >> (self.bits - 1);
            above == 0 || above == -1
        } else {
            pattern >> self.bits == 0
        }
    }
}

/// The low `count` (1 to 64) bits set.
const fn low_bits(count: u32) -> u64 {
    u64::MAX >> (64 - count)
}

#[expect(clippy::cast_possible_truncation, reason = "the low word is what is wanted")]
const fn low_word(word: u128) -> u64 {
    word as u64
}

/// A native-endian component, zero-extended.
fn read<const SIZE: usize>(component: &[u8; SIZE]) -> u64 {
    let mut bytes = [0; 8];
    if cfg!(target_endian = "big") {
        bytes[8 - SIZE..].copy_from_slice(component);
    } else {
        bytes[..SIZE].copy_from_slice(component);
    }
    u64::from_ne_bytes(bytes)
}

/// The low bytes of a value as a native-endian component.
fn write<const SIZE: usize>(component: &mut [u8; SIZE], value: u64) {
    let bytes = value.to_ne_bytes();
    if cfg!(target_endian = "big") {
        component.copy_from_slice(&bytes[8 - SIZE..]);
    } else {
        component.copy_from_slice(&bytes[..SIZE]);
    }
}

#[cfg(test)]
#[cfg(feature = "zarrs")]
mod tests;
