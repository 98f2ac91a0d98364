//! What every codec that takes an array is made with: how its configuration is read and bound to the chunk that reaches
//! it, how it runs, and what the chain around it may know of it.

use std::sync::Arc;

use super::error::{CodecError, reserve};
use super::member::Member;
use super::members::Members;
use super::vlen::framing::Vlen;
use super::{ArrayRepresentation, BytesSize, Coder, Parsed, Representation, V2Form};
use crate::data_type::DataType;
use crate::diagnostic::{Code, Diagnostic, Profile, code};
use crate::element::NumberType;
use crate::kernel::bit_round::BitRound;
use crate::kernel::cast::Cast;
use crate::kernel::numcodecs::{Delta, ElementFilter};
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::swap::swap;
use crate::memory::resize;
use crate::metadata::extension::CodecMetadata;

/// Everything that the program knows of a codec that takes an array.
#[derive(Debug, Clone, Copy)]
pub struct ArrayKind {
    /// Reads the configuration and binds it to the array that reaches the codec, where one does. Every fault is
    /// collected, whatever else is wrong.
    pub bind: fn(&CodecMetadata, Option<&ArrayRepresentation>, &mut Vec<Diagnostic>) -> BoundArray,
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
    pub(crate) const fn new<C: ArrayConfiguration>() -> Self {
        ArrayKind {
            bind: bind::<C>,
            v2: V2Form::SAME,
            v2_id: |_| None,
            v2_types: None,
            is_little_endian_in_v2: false,
        }
    }
}

/// The configuration of a codec that takes an array.
pub(crate) trait ArrayConfiguration: Sized {
    /// True if it may be bound to elements of a type that this program does not know.
    const TAKES_ANY_TYPE: bool = false;

    /// The members; the codec's name tells codecs apart that share it.
    fn members(codec: &CodecMetadata) -> &'static [Member];

    /// Reads members that are as their table has them, or have been reported; what is wrong beyond that is reported too.
    fn read(members: &mut Members<'_>) -> Option<Self>;

    /// Reads the configuration of a codec, and collects every fault of it.
    fn parse(codec: &CodecMetadata) -> Parsed<Self> {
        let configuration = codec.configuration.as_ref();
        let (mut members, is_valid) =
            Members::of_table(&codec.name, configuration, &codec.pointer, Self::members(codec));
        let read = Self::read(&mut members).filter(|_| is_valid);
        members.finish(read)
    }

    /// Binds it to the array that reaches the codec; `None` after a fault.
    fn bind(self, to: &mut Binding<'_>) -> Option<BoundArray>;

    /// The array after the codec, where nothing is wrong but it was not bound: as far as its metadata tell.
    fn output_unbound(_: &CodecMetadata, _: &ArrayRepresentation) -> Option<ArrayRepresentation> {
        None
    }
}

/// Array that a codec is bound to, and the findings of that.
pub(crate) struct Binding<'a> {
    /// The codec, as the document has it.
    pub(crate) codec: &'a CodecMetadata,
    /// The array that reaches it.
    pub(crate) array: &'a ArrayRepresentation,
    /// Findings of the binding.
    pub(crate) found: &'a mut Vec<Diagnostic>,
}

impl Binding<'_> {
    /// Adds a fault of the codec.
    pub(crate) fn report(&mut self, code: Code, message: impl Into<String>) {
        self.found.push(Diagnostic::new(code, message).at_pointer(self.codec.pointer.as_str()));
    }

    /// The type of an array of numbers. Of any other array it adds a fault; `takes` begins its message.
    pub(crate) fn real_number(&mut self, code: Code, takes: &str) -> Option<NumberType> {
        let data_type = &self.array.data_type;
        let number_type = data_type.real_number();
        if number_type.is_none() {
            self.report(code, format!("{takes} integers and real floats, but `{data_type}` reaches it"));
        }
        number_type
    }

    /// Adds a fault of a member of the configuration.
    pub(crate) fn report_member(&mut self, code: Code, name: &str, message: impl Into<String>) {
        let pointer = format!("{}/configuration/{name}", self.codec.pointer);
        self.found.push(Diagnostic::new(code, message).at_pointer(pointer));
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

fn bind<C: ArrayConfiguration>(
    codec: &CodecMetadata,
    array: Option<&ArrayRepresentation>,
    found: &mut Vec<Diagnostic>,
) -> BoundArray {
    let configuration = keep(C::parse(codec), found);
    let Some(array) = array else { return BoundArray::default() };
    let reported = found.len();
    // A type that is not known has its own finding.
    let is_known = C::TAKES_ANY_TYPE || !matches!(array.data_type, DataType::Other(_));
    let configuration = configuration.filter(|_| is_known);
    let bound =
        configuration.and_then(|configuration| configuration.bind(&mut Binding { codec, array, found }));
    let mut bound = bound.unwrap_or_default();
    let is_faulty = found[reported..].iter().any(|found| Profile::Read.forbids(found));
    if bound.output.is_none() && !is_faulty {
        bound.output = C::output_unbound(codec, array).map(Representation::Array);
    }
    bound
}

/// Keeps the diagnostics, and gives what was made.
pub(crate) fn keep<T>((made, diagnostics): Parsed<T>, found: &mut Vec<Diagnostic>) -> Option<T> {
    found.extend(diagnostics);
    made
}

/// A registered use of a codec that this program does not decode.
pub(super) fn unsupported(codec: &str, data_type: &DataType, pointer: &str) -> Diagnostic {
    let message = format!("`{codec}` of `{data_type}` is not decoded by this program");
    Diagnostic::new(code::CODEC_UNSUPPORTED, message).at_pointer(pointer)
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
pub(super) fn copy_swapped(
    source: &[u8],
    target: &mut Vec<u8>,
    width: Option<usize>,
) -> Result<(), CodecError> {
    if let Some(width) = width {
        zeroed(target, source.len())?;
        swap(source, target, width);
    } else {
        target.clear();
        reserve(target, source.len())?;
        target.extend_from_slice(source);
    }
    Ok(())
}

/// Casts every element.
pub(super) fn cast(cast: &Cast, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
    let (from, to) = (cast.options().source, cast.options().target);
    zeroed(target, source.len() / from.size() * to.size())?;
    cast.convert(source, target).map_err(|fault| CodecError::element(fault, Some((from, to)), source))
}
