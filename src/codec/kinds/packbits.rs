//! `packbits`: stores the bits of elements without gaps, all or only some of them, and optionally the number of padding
//! bits.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/packbits>

use super::error::{CodecError, reserve};
use super::members::{Member, MemberDefault, MemberType};
use super::representation::size;
use super::{Binding, BytesSize, Coder, Effect, Kind, Made, Output, zeroed};
use crate::data_type::DataType;
use crate::diagnostic::code;
use crate::element::{Element, NumberType, with_bits};
use crate::metadata::extension::Findings;

/// `packbits`, which v2 does not have. The packbits of numcodecs is `numcodecs.packbits`.
pub(crate) static PACKBITS: Kind = Kind::new(|_| MEMBERS, bind);

/// `packbits` for one data type. Bits are stored from the least significant up, element after element. Unused bits of
/// the last byte are zero. A configured padding byte is also written for types of whole bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PackBits {
    /// Bytes of a component in memory.
    component_size: usize,
    /// Components of an element: 2 for complex types.
    num_components: usize,
    /// True if a decoded component is sign-extended.
    is_signed: bool,
    /// Bits of a component that count: 1 for `bool`, 10 for `uint10`.
    bits: u32,
    /// The lowest bit that is stored.
    first_bit: u32,
    /// The highest bit that is stored.
    last_bit: u32,
    /// The location of the number of padding bits: `none`, or a byte before or after the packed bits (`first_byte`,
    /// `last_byte`).
    padding_encoding: &'static str,
    num_elements: u64,
}

const PADDING_ENCODINGS: [&str; 3] = ["none", "first_byte", "last_byte"];

const MEMBERS: &[Member] = &[
    Member::optional("padding_encoding", MemberType::Choice(&PADDING_ENCODINGS)),
    Member::new("first_bit", MemberType::Integer(0, 63), MemberDefault::Null),
    Member::new("last_bit", MemberType::Integer(0, 63), MemberDefault::Null),
];

fn bind(to: &mut Binding<'_>) -> Option<Made> {
    let members = &mut to.members;
    let padding_encoding = members.text_value("padding_encoding");
    let padding_encoding = PADDING_ENCODINGS.into_iter().find(|name| *name == padding_encoding).unwrap_or("none");
    let (first_bit, last_bit) = (members.integer_value("first_bit"), members.integer("last_bit"));
    if let Some(last) = last_bit.filter(|last| members.is_valid && *last < first_bit) {
        let message = format!("`last_bit` {last} of `packbits` is below `first_bit` {first_bit}");
        return members.refuse(code::CONFIGURATION_VALUE, "last_bit", message);
    }
    let array = to.array?;
    let data_type = &array.data_type;
    let (number, num_components) = match data_type.stored_components() {
        Some((number, num_components)) => (Some(number), num_components),
        None if *data_type == DataType::Bool => (None, 1),
        None => {
            to.report(code::CODEC_DATA_TYPE, format!("`packbits` does not encode `{data_type}`"));
            return None;
        }
    };
    let bits = number.map_or(1, NumberType::bits);
    let last_bit = last_bit.unwrap_or(bits - 1);
    if last_bit >= bits || first_bit > last_bit {
        let message = format!(
            "`packbits` keeps the bits {first_bit} to {last_bit}, but a component of `{data_type}` has the bits 0 to {}",
            bits - 1
        );
        let pointer = format!("{}/configuration", to.codec.pointer);
        to.members.diagnostics.add(code::CONFIGURATION_VALUE, pointer, message);
        return None;
    }
    let bound = PackBits {
        component_size: number.map_or(1, NumberType::size),
        num_components,
        is_signed: number.is_some_and(|number| number.element().is_signed_integer()),
        bits,
        first_bit,
        last_bit,
        padding_encoding,
        num_elements: array.num_elements().unwrap_or(u64::MAX),
    };
    let size = bound.layout().map(|(packed, _)| BytesSize::Fixed((packed + bound.num_padding_bytes()) as u64));
    Some(Made::to_bytes(bound, size.unwrap_or(BytesSize::Unbounded)))
}

impl PackBits {
    /// Returns the number of bits of a component that are stored.
    const fn stored_bits(&self) -> u32 {
        self.last_bit - self.first_bit + 1
    }

    fn num_padding_bytes(&self) -> usize {
        usize::from(self.padding_encoding != "none")
    }

    /// Returns the packed bytes of a chunk, and the number of padding bits in the last. `None` if they do not fit into
    /// memory.
    fn layout(&self) -> Option<(usize, u8)> {
        let num_components = self.num_elements.checked_mul(self.num_components as u64)?;
        // The number of bits may exceed 64 bits, although the number of bytes does not.
        let bits = u128::from(num_components) * u128::from(self.stored_bits());
        let packed = usize::try_from(bits.div_ceil(8)).ok().filter(|&size| isize::try_from(size).is_ok())?;
        Some((packed, u8::try_from(packed as u128 * 8 - bits).ok()?))
    }

    fn pack<T: Element>(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), CodecError> {
        let Self { num_components, bits, first_bit, .. } = *self;
        let width = self.stored_bits();
        let mask = low_bits(width);
        // At most 63 bits are left from before, and a component adds at most 64.
        let (mut word, mut filled) = (0_u128, 0_u32);
        for (index, component) in decoded.chunks_exact(size_of::<T>()).enumerate() {
            let pattern = bytemuck::pod_read_unaligned::<T>(component).to_bits64();
            if !self.holds(pattern) {
                let index = index / num_components;
                let message = format!("element {index} has bits outside of the {bits} of its data type");
                return Err(CodecError::Bytes(message));
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

    /// Checks length and padding, and returns the packed bytes without the padding byte.
    fn check<'a>(&self, encoded: &'a [u8]) -> Result<&'a [u8], CodecError> {
        let (size, padding) = self.layout().ok_or(CodecError::memory(usize::MAX))?;
        let expected = size + self.num_padding_bytes();
        if encoded.len() != expected {
            let message = format!("expected {expected} encoded bytes, found {}", encoded.len());
            return Err(CodecError::Bytes(message));
        }
        let (packed, found) = match self.padding_encoding {
            "first_byte" => (&encoded[1..], encoded[0]),
            "last_byte" => (&encoded[..size], encoded[size]),
            _ => (encoded, padding),
        };
        if found != padding {
            return Err(CodecError::Bytes(format!("expected a padding byte of {padding}, found {found}")));
        }
        match packed.last() {
            // Without padding the shift is 8, which is too much for a byte.
            Some(&last) if u16::from(last) >> (8 - padding) != 0 => Err(CodecError::Bytes(format!(
                "expected {padding} zero bits of padding, found {last:#010b} as the last byte"
            ))),
            _ => Ok(packed),
        }
    }

    fn unpack<T: Element>(&self, packed: &[u8], decoded: &mut [u8]) {
        let Self { first_bit, is_signed, .. } = *self;
        let width = self.stored_bits();
        let mask = low_bits(width);
        // The shift moves the highest stored bit to the top, so that shifting back extends the sign.
        let sign = 64 - width;
        let (mut word, mut filled) = (0_u128, 0_u32);
        let mut rest = packed;
        for component in decoded.chunks_exact_mut(size_of::<T>()) {
            while filled < width {
                let (next, size);
                (next, size, rest) = match (rest.split_first_chunk::<8>(), rest.split_first()) {
                    (Some((word, following)), _) => (u64::from_le_bytes(*word), 64, following),
                    (None, Some((&byte, following))) => (u64::from(byte), 8, following),
                    // The length has been checked, so there is always a byte left.
                    (None, None) => (0, 8, rest),
                };
                word |= u128::from(next) << filled;
                filled += size;
            }
            let stored = low_word(word) & mask;
            word >>= width;
            filled -= width;
            let value = if is_signed { ((stored << sign).cast_signed() >> sign).cast_unsigned() } else { stored };
            component.copy_from_slice(bytemuck::bytes_of(&T::from_bits64(value << first_bit)));
        }
    }

    /// Returns true if a zero-extended pattern is a value of the type. A component of fewer bits than its primitive
    /// would otherwise decode to another value, unless bits are removed on purpose.
    const fn holds(&self, pattern: u64) -> bool {
        let Self { component_size, bits, is_signed, .. } = *self;
        if bits as usize == component_size * 8 || self.first_bit > 0 || self.last_bit < bits - 1 {
            return true;
        }
        if is_signed {
            let unused = 64 - component_size * 8;
            let above = ((pattern << unused).cast_signed() >> unused) >> (bits - 1);
            above == 0 || above == -1
        } else {
            pattern >> bits == 0
        }
    }
}

impl Coder for PackBits {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let (packed, padding) = self.layout().ok_or(CodecError::memory(usize::MAX))?;
        out.bytes.clear();
        reserve(out.bytes, packed + 1)?;
        out.bytes.extend((self.padding_encoding == "first_byte").then_some(padding));
        with_bits!(self.component_size, T => self.pack::<T>(decoded, out.bytes)?);
        out.bytes.extend((self.padding_encoding == "last_byte").then_some(padding));
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let packed = self.check(encoded)?;
        let element = self.component_size * self.num_components;
        zeroed(out.bytes, size(self.num_elements).saturating_mul(element))?;
        with_bits!(self.component_size, T => self.unpack::<T>(packed, out.bytes));
        Ok(())
    }

    fn effect(&self) -> Effect<'_> {
        Effect::Compress
    }
}

/// Returns a mask of the low `count` (1 to 64) bits.
const fn low_bits(count: u32) -> u64 {
    u64::MAX >> (64 - count)
}

#[expect(clippy::cast_possible_truncation, reason = "only the low word is needed")]
const fn low_word(word: u128) -> u64 {
    word as u64
}

#[cfg(test)]
#[cfg(feature = "zarrs")]
mod tests;
