//! The common parts of every codec whose input is an array. They read its configuration, bind it to its input, run it,
//! and describe it to the chain.

use std::fmt::Display;
use std::sync::Arc;

use super::error::{CodecError, reserve};
use super::members::{ConfigurationReader, Member};
use super::vlen::framing::Vlen;
use super::{ArrayRepresentation, BytesSize, Coder, Representation, V2Form};
use crate::data_type::{DataType, FillValue, FillValueError, Read, value_to_json};
use crate::diagnostic::{Code, Diagnostic, code};
use crate::element::{NumberType, element_bits};
use crate::kernel::cast::Cast;
use crate::kernel::keep_bits::BitRound;
use crate::kernel::numcodecs::{Delta, ElementFilter};
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::transpose::swap;
use crate::kernel::{ElementFault, FaultKind};
use crate::memory::resize;
use crate::metadata::extension::{CodecMetadata, Findings};

/// A codec whose input is an array: all that the program knows about it.
#[derive(Debug, Clone, Copy)]
pub struct ArrayKind {
    /// The members of the configuration, which may depend on the metadata.
    pub(crate) members: fn(&CodecMetadata) -> &'static [Member],
    /// Reads the members and binds the codec to its input array. The members match their table, or a fault has been
    /// reported. `None` after a fault, and if the input is not an array.
    pub(crate) make: fn(&mut Binding<'_>) -> Option<BoundArray>,
    /// True if the codec may be bound to elements of an unknown type.
    pub(crate) takes_any_type: bool,
    /// The form of the configuration in v2.
    pub v2: V2Form,
    /// Returns the id in v2 if it depends on the type of the elements, and the registry's row has none.
    pub v2_id: fn(&DataType) -> Option<&'static str>,
    /// The numpy types of the elements before and after the codec in v2, if its configuration does not contain them.
    pub v2_types: Option<(&'static str, &'static str)>,
    /// True if v2 has the codec only for elements in the machine's byte order, and machines are little-endian.
    pub is_little_endian_in_v2: bool,
}

impl ArrayKind {
    /// Makes a kind whose configuration is the same in v2.
    pub(crate) const fn new(
        members: fn(&CodecMetadata) -> &'static [Member],
        make: fn(&mut Binding<'_>) -> Option<BoundArray>,
    ) -> Self {
        ArrayKind {
            members,
            make,
            takes_any_type: false,
            v2: V2Form::SAME,
            v2_id: |_| None,
            v2_types: None,
            is_little_endian_in_v2: false,
        }
    }

    /// Reads the configuration and binds it to the input array, if there is one. All faults are collected.
    pub fn bind(
        &self,
        codec: &CodecMetadata,
        array: Option<&ArrayRepresentation>,
        found: &mut Vec<Diagnostic>,
    ) -> BoundArray {
        let members = ConfigurationReader::of_codec(codec, (self.members)(codec));
        // An unknown type has its own diagnostic.
        let is_known = |array: &&ArrayRepresentation| !matches!(array.data_type, DataType::Other(_));
        let array = array.filter(|array| members.is_valid && (self.takes_any_type || is_known(array)));
        let mut to = Binding { codec, members, array };
        let bound = (self.make)(&mut to).unwrap_or_default();
        found.append(&mut to.members.diagnostics);
        bound
    }
}

/// The configuration of a codec, and its input array while it is bound.
pub(crate) struct Binding<'a> {
    /// The codec, as in the document.
    pub(crate) codec: &'a CodecMetadata,
    /// The members of the configuration, and all diagnostics.
    pub(crate) members: ConfigurationReader<'a>,
    /// The input array. `None` if there is none, and after a fault in a member's form.
    pub(crate) array: Option<&'a ArrayRepresentation>,
}

impl Binding<'_> {
    pub(crate) fn report(&mut self, code: Code, message: impl Into<String>) {
        self.push(Diagnostic::new(code, message));
    }

    pub(crate) fn push(&mut self, found: Diagnostic) {
        self.members.diagnostics.push(found.at_pointer(self.codec.pointer.as_str()));
    }

    /// Reports elements that the codec cannot encode, and returns `None`. The message begins with `takes`.
    pub(crate) fn refuse<T>(&mut self, code: Code, takes: impl Display) -> Option<T> {
        self.report(code, format!("{takes}, but its input is `{}`", self.array?.data_type));
        None
    }

    /// Returns the type of an array of real numbers. Reports any other array with a message that begins with `takes`.
    pub(crate) fn real_number(&mut self, code: Code, takes: &str) -> Option<NumberType> {
        let number_type = self.array?.data_type.real_number();
        number_type.or_else(|| self.refuse(code, format!("{takes} integers and real floats")))
    }
}

/// A codec bound to its input array.
#[derive(Debug, Clone, Default)]
pub struct BoundArray {
    /// The codec. `None` after a fault, and if it does not run here.
    pub codec: Option<Arc<dyn Coder>>,
    /// The chunk after it. `None` after a fault, and if the codec's kind alone determines it.
    pub output: Option<Representation>,
}

impl BoundArray {
    /// Makes a codec whose output is an array.
    pub(crate) fn to_array(codec: impl Coder + 'static, output: ArrayRepresentation) -> Self {
        BoundArray { codec: Some(Arc::new(codec)), output: Some(Representation::Array(output)) }
    }

    /// Makes a codec whose output is bytes.
    pub(crate) fn to_bytes(codec: impl Coder + 'static, size: BytesSize) -> Self {
        BoundArray { codec: Some(Arc::new(codec)), output: Some(Representation::Bytes(size)) }
    }
}

/// Returns the diagnostic of a registered use of a codec that this program does not decode.
pub(super) fn unsupported(codec: &str, data_type: &DataType) -> Diagnostic {
    let message = format!("`{codec}` of `{data_type}` is not decoded by this program");
    Diagnostic::new(code::CODEC_UNSUPPORTED, message)
}

/// The effect of a codec on the elements of a chunk, as far as other code uses it.
#[derive(Debug, Clone, Copy)]
pub enum Effect<'a> {
    /// `scale_offset`, element by element.
    ScaleOffset(&'a ScaleOffset),
    /// `cast_value`, element by element.
    Cast {
        /// The cast from the array's type to the encoded type.
        encode: &'a Cast,
        /// The cast back.
        decode: &'a Cast,
    },
    /// Rounds each element by itself. Decoding changes nothing.
    BitRound(BitRound),
    /// Changes each element by itself, as numcodecs does.
    Filter {
        /// The arithmetic on each element.
        filter: &'a ElementFilter,
        /// The bytes of an element, if they are swapped before the filter.
        swap: Option<usize>,
    },
    /// Stores differences between neighbours.
    Delta(&'a Delta),
    /// Packs several elements into one.
    Packs,
    /// Permutes the dimensions: `encoded_shape[i] = decoded_shape[order[i]]`.
    Transpose(&'a [usize]),
    /// Changes the shape and moves no element.
    Reshape,
    /// Writes the elements unchanged.
    Bytes {
        /// The size of a component, if the byte order is not this machine's.
        swap: Option<usize>,
        /// Checks the range of values of types with unused bits.
        check: Option<&'a Cast>,
    },
    /// Writes bytes that are not elements, and decodes to elements of a fixed size.
    Compress,
    /// Frames variable-length elements.
    Vlen(Vlen),
    /// Any other effect: the codec runs by itself.
    Other,
}

impl Effect<'_> {
    /// Returns the order of dimensions after the codec, from that before it.
    pub fn order_after(self, order: Vec<usize>) -> Vec<usize> {
        let Effect::Transpose(permutation) = self else { return order };
        permutation.iter().map(|dimension| order[*dimension]).collect()
    }

    /// Returns the order or the lengths of dimensions before the codec, from those after it.
    pub fn order_before<T: Copy>(self, order: Vec<T>) -> Vec<T> {
        let Effect::Transpose(permutation) = self else { return order };
        let mut before = order.clone();
        order.iter().zip(permutation).for_each(|(current, dimension)| before[*dimension] = *current);
        before
    }
}

/// Returns the fill value after the codec `name`, which changes numbers. It is encoded like an element, and must decode
/// to the same bits (SEMANTICS: A1.8, A2.11, B17, B18). Otherwise a missing chunk would read differently from a stored
/// one.
///
/// `None` if there is none, or if it cannot be encoded. The two codes
/// are those of a value that cannot be encoded, and of one that does not decode to the same bits.
pub(super) fn encoded_fill_value(
    to: &mut Binding<'_>,
    name: &str,
    (source, target): (NumberType, NumberType),
    [refused, lost]: [Code; 2],
    encode: impl Fn(u64) -> Result<u64, FaultKind>,
    decode: impl Fn(u64) -> Result<u64, FaultKind>,
) -> Option<FillValue> {
    let text = |number_type, bits| value_to_json(number_type, bits).to_string();
    let bits = element_bits(&to.array?.fill_value.as_ref()?.0);
    let fill = text(source, bits);
    let encoded = match encode(bits) {
        Ok(encoded) => encoded,
        Err(kind) => {
            let (fault, types) = (ElementFault { kind, index: 0 }, Some((source, target)));
            let reason = CodecError::Element { fault, position: None, bits, types };
            let message = format!("`{name}` cannot encode the fill value {fill} ({source}): {reason}");
            let help = "choose a fill value that the codec can encode, or map it in `scalar_map`";
            to.push(Diagnostic::new(refused, message).with_help(help));
            return None;
        }
    };
    let decoded = decode(encoded);
    if decoded != Ok(bits) {
        let back = decoded.map_or_else(|_| "an error".to_owned(), |bits| text(source, bits));
        let between = text(target, encoded);
        let message = format!(
            "the fill value {fill} does not survive `{name}`: it is encoded as {between} and decoded as {back}"
        );
        let help = "a missing chunk would read differently from a stored one; choose a fill value that is decoded \
                    bit for bit, or accept it with --no-fill-check";
        to.push(Diagnostic::new(lost, message).with_help(help));
    }
    Some(FillValue::from_bits(target, encoded))
}

/// Returns the bits of a scalar. Its notes, or the error, are added to `diagnostics`.
pub(super) fn scalar(
    (code, what): (Code, &str),
    read: Result<Read<u64>, FillValueError>,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<u64> {
    match read {
        Ok(Read { value, notes }) => {
            diagnostics.extend(notes.into_iter().map(|note| note.at_pointer(pointer)));
            Some(value)
        }
        Err(error) => {
            diagnostics.add(code, pointer, format!("{what}: {error}"));
            None
        }
    }
}

/// Resizes a buffer to `size` bytes. New bytes are zero. The size in a document may exceed the memory of the machine,
/// which is an error.
pub(crate) fn zeroed(buffer: &mut Vec<u8>, size: usize) -> Result<(), CodecError> {
    resize(buffer, size).map_err(|needed| CodecError::Memory { needed })
}

/// Copies elements. If `width` is given, the bytes of each component of `width` bytes are swapped.
pub(super) fn copy_swapped(source: &[u8], target: &mut Vec<u8>, width: Option<usize>) -> Result<(), CodecError> {
    let Some(width) = width else { return copy(source, target) };
    zeroed(target, source.len())?;
    swap(source, target, width);
    Ok(())
}

/// Copies bytes. It fails if there is not enough memory.
pub(crate) fn copy(source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
    target.clear();
    reserve(target, source.len())?;
    target.extend_from_slice(source);
    Ok(())
}

pub(super) fn cast(cast: &Cast, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
    let types = (cast.options().source, cast.options().target);
    convert(types, source, target, |source, target| cast.convert(source, target))
}

/// Converts elements of one type to another with `run`.
pub(super) fn convert(
    (from, to): (NumberType, NumberType),
    source: &[u8],
    target: &mut Vec<u8>,
    run: impl FnOnce(&[u8], &mut [u8]) -> Result<(), ElementFault>,
) -> Result<(), CodecError> {
    zeroed(target, (source.len() / from.size()).saturating_mul(to.size()))?;
    run(source, target).map_err(|fault| CodecError::element(fault, Some((from, to)), source))
}
