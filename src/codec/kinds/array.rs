//! What every codec that takes an array is made with: how its configuration is read and bound to the chunk that reaches
//! it, how it runs, and what the chain around it may know of it.

use std::fmt::Display;
use std::sync::Arc;

use super::error::{CodecError, reserve};
use super::members::{Member, Members};
use super::vlen::framing::Vlen;
use super::{ArrayRepresentation, BytesSize, Coder, Representation, V2Form};
use crate::data_type::DataType;
use crate::diagnostic::{Code, Diagnostic, Profile, code};
use crate::element::NumberType;
use crate::kernel::ElementFault;
use crate::kernel::bit_round::BitRound;
use crate::kernel::cast::Cast;
use crate::kernel::numcodecs::{Delta, ElementFilter};
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::transpose::swap;
use crate::memory::resize;
use crate::metadata::extension::CodecMetadata;

/// Everything that the program knows of a codec that takes an array.
#[derive(Debug, Clone, Copy)]
pub struct ArrayKind {
    /// The members of the configuration, by what the document has.
    pub(crate) members: fn(&CodecMetadata) -> &'static [Member],
    /// Reads members that are as their table has them, or have been reported, and binds the codec to the array that
    /// reaches it; `None` after a fault, and where no array does.
    pub(crate) make: fn(&mut Binding<'_>) -> Option<BoundArray>,
    /// True if it may be bound to elements of a type that this program does not know.
    pub(crate) takes_any_type: bool,
    /// The array after the codec, where nothing is wrong but it was not bound: as far as its metadata tell.
    pub(crate) output_unbound: fn(&CodecMetadata, &ArrayRepresentation) -> Option<ArrayRepresentation>,
    /// The form of the configuration in v2.
    pub v2: V2Form,
    /// The id in v2 where it depends on the type of the elements, and the registry's row has none.
    pub v2_id: fn(&DataType) -> Option<&'static str>,
    /// The numpy types of the elements before and after the codec in v2, where its configuration does not say them.
    pub v2_types: Option<(&'static str, &'static str)>,
    /// True if v2 has it for elements of the machine's byte order alone, and machines are little endian.
    pub is_little_endian_in_v2: bool,
}

impl ArrayKind {
    /// A codec whose configuration is the same in v2.
    pub(crate) const fn new(
        members: fn(&CodecMetadata) -> &'static [Member],
        make: fn(&mut Binding<'_>) -> Option<BoundArray>,
    ) -> Self {
        ArrayKind {
            members,
            make,
            takes_any_type: false,
            output_unbound: |_, _| None,
            v2: V2Form::SAME,
            v2_id: |_| None,
            v2_types: None,
            is_little_endian_in_v2: false,
        }
    }

    /// Reads the configuration and binds it to the array that reaches the codec, where one does. Every fault is
    /// collected, whatever else is wrong.
    pub fn bind(
        &self,
        codec: &CodecMetadata,
        array: Option<&ArrayRepresentation>,
        found: &mut Vec<Diagnostic>,
    ) -> BoundArray {
        let (members, is_valid) = Members::of_codec(codec, (self.members)(codec));
        // A type that is not known has its own finding.
        let is_known = |array: &&ArrayRepresentation| !matches!(array.data_type, DataType::Other(_));
        let taken = array.filter(|array| is_valid && (self.takes_any_type || is_known(array)));
        let mut to = Binding { codec, members, array: taken, num_read: None };
        let mut bound = (self.make)(&mut to).unwrap_or_default();
        let bindings = to.num_read.map_or(&[][..], |read| &to.members.diagnostics[read..]);
        let is_faulty = bindings.iter().any(|found| Profile::Read.forbids(found));
        if bound.output.is_none() && !is_faulty {
            let output = array.and_then(|array| (self.output_unbound)(codec, array));
            bound.output = output.map(Representation::Array);
        }
        found.append(&mut to.members.diagnostics);
        bound
    }
}

/// The configuration of a codec, and the array that it is bound to.
pub(crate) struct Binding<'a> {
    /// The codec, as the document has it.
    pub(crate) codec: &'a CodecMetadata,
    /// The members of the configuration, and all findings.
    pub(crate) members: Members<'a>,
    array: Option<&'a ArrayRepresentation>,
    /// The number of findings of the configuration, once it is read.
    num_read: Option<usize>,
}

impl<'a> Binding<'a> {
    /// The array that reaches the codec, which is asked for once the configuration is read: what is reported from then
    /// on is of the binding. `None` where there is none, and after a fault of a member's form.
    pub(crate) fn array(&mut self) -> Option<&'a ArrayRepresentation> {
        self.num_read.get_or_insert(self.members.diagnostics.len());
        self.array
    }

    /// Adds a fault of the codec.
    pub(crate) fn report(&mut self, code: Code, message: impl Into<String>) {
        self.push(Diagnostic::new(code, message));
    }

    /// Adds a finding of the codec.
    pub(crate) fn push(&mut self, found: Diagnostic) {
        self.members.diagnostics.push(found.at_pointer(self.codec.pointer.as_str()));
    }

    /// Adds the fault of elements that the codec does not take, and gives nothing; `takes` begins the message.
    pub(crate) fn refuse<T>(&mut self, code: Code, takes: impl Display) -> Option<T> {
        self.report(code, format!("{takes}, but its input is `{}`", self.array?.data_type));
        None
    }

    /// The type of an array of numbers. Of any other array it adds a fault; `takes` begins its message.
    pub(crate) fn real_number(&mut self, code: Code, takes: &str) -> Option<NumberType> {
        let number_type = self.array?.data_type.real_number();
        number_type.or_else(|| self.refuse(code, format!("{takes} integers and real floats")))
    }
}

/// A codec bound to the array that reaches it.
#[derive(Debug, Clone, Default)]
pub struct BoundArray {
    /// The codec; `None` after a fault, and where it does not run here.
    pub codec: Option<Arc<dyn Coder>>,
    /// The chunk after it; `None` after a fault, and where only its kind tells.
    pub output: Option<Representation>,
}

impl BoundArray {
    /// A codec that gives an array.
    pub(crate) fn to_array(codec: impl Coder + 'static, output: ArrayRepresentation) -> Self {
        BoundArray { codec: Some(Arc::new(codec)), output: Some(Representation::Array(output)) }
    }

    /// A codec that gives bytes.
    pub(crate) fn to_bytes(codec: impl Coder + 'static, size: BytesSize) -> Self {
        BoundArray { codec: Some(Arc::new(codec)), output: Some(Representation::Bytes(size)) }
    }
}

/// A registered use of a codec that this program does not decode.
pub(super) fn unsupported(codec: &str, data_type: &DataType) -> Diagnostic {
    let message = format!("`{codec}` of `{data_type}` is not decoded by this program");
    Diagnostic::new(code::CODEC_UNSUPPORTED, message)
}

/// The effect of a codec on the elements of a chunk, as far as others make use of it.
#[derive(Debug, Clone, Copy)]
pub enum Role<'a> {
    /// Takes each element by itself: `scale_offset`.
    ScaleOffset(&'a ScaleOffset),
    /// Takes each element by itself: `cast_value`.
    Cast {
        /// Array to encoded type.
        encode: &'a Cast,
        /// And back.
        decode: &'a Cast,
    },
    /// Rounds each element by itself; decoding changes nothing.
    BitRound(BitRound),
    /// Takes each element by itself, as numcodecs does.
    Filter {
        /// The arithmetic on each element.
        filter: &'a ElementFilter,
        /// Bytes of an element that are swapped before it.
        swap: Option<usize>,
    },
    /// Takes differences between neighbours.
    Delta(&'a Delta),
    /// Puts several elements into one.
    Packs,
    /// Permutes the dimensions: `encoded_shape[i] = decoded_shape[order[i]]`.
    Transpose(&'a [usize]),
    /// Gives the elements another shape and moves none.
    Reshape,
    /// Gives the elements as they are.
    Bytes {
        /// Component size, where the byte order is not this machine's.
        swap: Option<usize>,
        /// Holds the values of types with unused bits to their range.
        check: Option<&'a Cast>,
    },
    /// Gives bytes that are no elements, and decodes to elements of a fixed size.
    Compress,
    /// Frames elements of any length.
    Vlen(Vlen),
    /// Anything else: it is run by itself.
    Other,
}

/// Makes a buffer so many bytes long; those that are new are zeros. What a document claims may be more than the machine
/// has: then that is an error.
pub(crate) fn zeroed(buffer: &mut Vec<u8>, size: usize) -> Result<(), CodecError> {
    resize(buffer, size).map_err(|needed| CodecError::Memory { needed })
}

/// Copies elements, the bytes of each component of `width` swapped where there is one.
pub(super) fn copy_swapped(source: &[u8], target: &mut Vec<u8>, width: Option<usize>) -> Result<(), CodecError> {
    let Some(width) = width else { return copy(source, target) };
    zeroed(target, source.len())?;
    swap(source, target, width);
    Ok(())
}

/// Copies bytes, if there is memory for them.
pub(crate) fn copy(source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
    target.clear();
    reserve(target, source.len())?;
    target.extend_from_slice(source);
    Ok(())
}

/// Casts every element.
pub(super) fn cast(cast: &Cast, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
    let types = (cast.options().source, cast.options().target);
    convert(types, source, target, |source, target| cast.convert(source, target))
}

/// Makes elements of one type of those of another.
pub(super) fn convert(
    (from, to): (NumberType, NumberType),
    source: &[u8],
    target: &mut Vec<u8>,
    run: impl FnOnce(&[u8], &mut [u8]) -> Result<(), ElementFault>,
) -> Result<(), CodecError> {
    zeroed(target, (source.len() / from.size()).saturating_mul(to.size()))?;
    run(source, target).map_err(|fault| CodecError::element(fault, Some((from, to)), source))
}
