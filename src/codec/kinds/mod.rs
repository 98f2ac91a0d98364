//! The codecs, one file for each or for a few similar ones: configuration, encoding, decoding, memory, v2 form and
//! the word for `--compress`.
//!
//! A new codec needs a [`Kind`] and a row in [`registry`](super::registry). It needs no
//! knowledge of documents and chains: it gets its input and returns its output.
//!
//! A decoder writes at most as much as the chain expects. A header that claims more is an error before any allocation.
//! A stream that is longer than the limit is an error as soon as it exceeds it. Each thread keeps the contexts of
//! bytes->bytes compressors for the next chunk ([`Contexts`]).

// Used by every codec.
pub(crate) mod error;
pub(crate) mod members;
mod representation;
// Codecs whose input is an array.
pub mod bytes;
pub mod dimensions;
pub mod filter;
pub mod packbits;
pub mod pcodec;
pub mod values;
pub mod vlen;
pub mod zfp;
// bytes->bytes codecs.
pub mod blosc;
pub mod checksum;
pub mod deflate;
pub mod lzma;
pub mod numcodecs_bytes;
pub mod zstd;

use std::any::Any;
use std::fmt::{Debug, Display};
use std::sync::Arc;

pub use error::CodecError;
use error::reserve;
use members::{ConfigurationReader, Member};
pub(crate) use representation::with_allowance;
pub use representation::{ArrayRepresentation, BytesSize, Representation, SizeRule};
use vlen::Vlen;

use crate::data_type::DataType;
use crate::diagnostic::spelling::{alternatives, near};
use crate::diagnostic::{Code, Diagnostic, code};
use crate::element::NumberType;
use crate::kernel::ElementFault;
use crate::kernel::cast::Cast;
use crate::kernel::keep_bits::BitRound;
use crate::kernel::numcodecs::ElementFilter;
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::transpose::swap;
use crate::memory::resize;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Object;

/// The output buffer of a codec, and the resources that it may use.
#[derive(Debug)]
pub struct Output<'a> {
    /// Empty for bytes->bytes codecs. Other codecs replace the contents.
    pub bytes: &'a mut Vec<u8>,
    /// The size of the decoded data, and the limit for the memory of `bytes`. For a decoded array the shape has it.
    pub allowed: BytesSize,
    /// Compressor contexts.
    pub contexts: &'a mut Contexts,
}

/// Compressor contexts of a thread, and a buffer for a codec that needs one more. There is at most one of each type,
/// made when a codec first needs it.
#[derive(Debug, Default)]
pub struct Contexts {
    kept: Vec<Box<dyn Any + Send>>,
}

impl Contexts {
    /// Runs `work` with the context of this type. If `work` panics, the context is lost, since its state is unknown.
    fn with<T: Any + Send + Default, R>(&mut self, work: impl FnOnce(&mut T) -> R) -> R {
        let index = self.kept.iter().position(|context| context.is::<T>());
        let context = index.and_then(|index| self.kept.swap_remove(index).downcast::<T>().ok());
        let mut context = context.unwrap_or_default();
        let result = work(&mut context);
        self.kept.push(context);
        result
    }
}

/// A codec with its configuration, bound to a chunk if its input is an array. Elements are in C order, in the byte
/// order of this machine.
pub trait Coder: Debug + Send + Sync {
    /// Encodes a chunk.
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError>;

    /// Decodes a chunk.
    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError>;

    /// Returns the bytes of memory that it needs in addition to its buffers to encode or decode `_decoded` bytes.
    fn context_bytes(&self, _decoded: u64) -> u64 {
        0
    }

    /// Returns the effect on elements, by which the chain joins neighbouring codecs into one pass and follows
    /// dimensions.
    fn effect(&self) -> Effect<'_> {
        Effect::Other
    }

    /// Returns the greatest change of a number by encoding and decoding. `None` if every bit is kept, infinity if there
    /// is no limit.
    fn max_loss(&self) -> Option<f64> {
        None
    }

    /// Returns its metadata as written, without members that equal their defaults. `None` if they stay unchanged.
    fn written(&self) -> Option<CodecMetadata> {
        None
    }

    /// Returns the codec that uses the nearest code for a value, whatever its rounding is. `None` if it already does.
    fn to_nearest(&self) -> Option<Arc<dyn Coder>> {
        None
    }

    /// Returns the encoded size, for configurations whose size the rule of the kind does not determine.
    fn encoded_size(&self, rule: SizeRule, decoded: BytesSize) -> BytesSize {
        rule.of(decoded)
    }

    /// Returns true if these encoded bytes contain a checksum. `None` if the bytes do not show it.
    fn holds_checksum(&self, _encoded: &[u8]) -> Option<bool> {
        None
    }
}

/// A v2 codec in v3: the name if the registry's row has another name, and the configuration.
pub type InV3 = (Option<&'static str>, Option<Object>);

/// The form of a configuration in v2, which is that of numcodecs. The `id` is in the registry.
#[derive(Debug, Clone, Copy)]
pub struct V2Form {
    /// The members, with numcodecs' defaults for absent ones that v3 needs.
    pub(crate) members: &'static [Member],
    /// Converts the members without `id`. The number is the bytes of an element that reaches the codec.
    pub(crate) read: fn(Object, u64) -> InV3,
    /// Returns the members in addition to `id`.
    pub write: fn(Object) -> Object,
}

impl V2Form {
    /// The same members as in v3.
    pub(crate) const SAME: V2Form =
        V2Form { members: &[], read: |members, _| (None, Some(members)), write: |members| members };

    /// Makes a form with the same members as in v3, where none may be absent.
    pub(crate) const fn with_defaults(members: &'static [Member]) -> V2Form {
        V2Form { members, ..V2Form::SAME }
    }

    /// Converts the members without `id` to v3. An element that reaches the codec has `item_size` bytes.
    pub fn in_v3(&self, mut members: Object, item_size: u64) -> InV3 {
        members::fill(&mut members, self.members);
        (self.read)(members, item_size)
    }
}

/// The word of a codec on the command line, with its parts after colons: `zstd:5:checksum`.
#[derive(Debug, Clone, Copy)]
pub struct Shorthand {
    /// The word with its parts, as messages list it: `zstd[:LEVEL][:checksum]`.
    pub usage: &'static str,
    /// Names in other programs, each with the word to use instead.
    pub aliases: &'static [(&'static str, &'static str)],
    /// The parts after the word, in order.
    pub(crate) parts: &'static [Part],
}

/// A part of a word: the member that it sets, and the value without it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// A level from the first to the second number.
    Level(&'static str, [i64; 2], i64),
    /// One of these names. The second text is what messages call it.
    Choice(&'static str, &'static str, &'static [&'static str], &'static str),
    /// The name of the member, which makes it true.
    Flag(&'static str),
    /// No part: the member is 0.
    Zero(&'static str),
}

impl Shorthand {
    /// Reads the configuration from the parts of a word. The error contains what is expected.
    pub fn read(&self, parts: &[&str], word: &str) -> Result<Option<Object>, String> {
        let is_flag = |text: &str| self.parts.iter().any(|part| matches!(part, Part::Flag(flag) if *flag == text));
        let (mut rest, mut members) = (parts.iter().copied().peekable(), Object::new());
        for part in self.parts {
            match *part {
                Part::Level(name, [least, greatest], default) => {
                    // The level before a flag may be absent.
                    let text = rest.next_if(|text| !is_flag(text)).map_or_else(|| default.to_string(), str::to_owned);
                    let level = text.parse::<i64>().ok().filter(|level| (least..=greatest).contains(level));
                    let fault = || format!("expected a level from {least} to {greatest}; found `{text}`");
                    members.insert(name, level.ok_or_else(fault)?);
                }
                Part::Choice(name, what, known, default) => {
                    let text = rest.next().unwrap_or(default);
                    if !known.contains(&text) {
                        let question = match near(text, known.iter().copied()).as_slice() {
                            [] => String::new(),
                            near => format!(" Did you mean {}?", alternatives(near)),
                        };
                        let known = known.join(", ");
                        return Err(format!("there is no {what} `{text}` in `{word}`.{question} Known are {known}"));
                    }
                    members.insert(name, text);
                }
                Part::Flag(name) => members.insert(name, rest.next_if_eq(&name).is_some()),
                Part::Zero(name) => members.insert(name, 0_u64),
            }
        }
        match rest.next() {
            Some(_) => Err(format!("expected {}; found `{word}`", self.usage)),
            None => Ok(Some(members).filter(|members| !members.is_empty())),
        }
    }
}

/// A bytes->bytes codec, ready to run.
#[derive(Debug, Clone)]
pub struct BytesCodec {
    /// The name in metadata.
    pub(crate) name: String,
    /// True if the configuration says that chunks contain a checksum.
    stores_checksum: bool,
    kind: &'static Kind,
    /// The codec itself. A chain calls it by the methods of this type, which check sizes and name the codec in errors.
    pub(crate) transform: Arc<dyn Coder>,
}

impl BytesCodec {
    /// Reads the configuration of a codec of this kind. `None` after a fault.
    pub(crate) fn parse(kind: &'static Kind, codec: &CodecMetadata, found: &mut Vec<Diagnostic>) -> Option<Self> {
        kind.bind(codec, None, found).codec.map(|coder| Self::with_kind(codec, kind, coder))
    }

    /// Makes a codec from a coder that was made elsewhere.
    pub(crate) fn with_kind(codec: &CodecMetadata, kind: &'static Kind, coder: Arc<dyn Coder>) -> Self {
        let stores_checksum = (kind.stores_checksum)(codec.configuration.as_ref());
        BytesCodec { name: codec.name.clone(), stores_checksum, kind, transform: coder }
    }

    /// Encodes `decoded` into `encoded`, whose contents are replaced.
    pub fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, contexts: &mut Contexts) -> Result<(), CodecError> {
        encoded.clear();
        let allowed = BytesSize::Fixed(decoded.len() as u64);
        self.transform.encode(decoded, &mut Output { bytes: encoded, allowed, contexts })
    }

    /// Decodes `encoded` into `decoded`, whose contents are replaced. It fails if the size of the output is not that of
    /// `bound`.
    pub fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: BytesSize,
        contexts: &mut Contexts,
    ) -> Result<(), CodecError> {
        decoded.clear();
        self.transform.decode(encoded, &mut Output { bytes: decoded, allowed: bound, contexts })?;
        // The decoders stop at the limit. Only here is a result found that is too short.
        bound.check(decoded.len())
    }

    /// Returns the bytes of memory that it needs in addition to its buffers to encode or decode `decoded` bytes.
    pub fn context_bytes(&self, decoded: u64) -> u64 {
        self.transform.context_bytes(decoded)
    }

    /// Returns the encoded size of bytes of this size.
    pub fn encoded_size(&self, decoded: BytesSize) -> BytesSize {
        self.transform.encoded_size(self.kind.size, decoded)
    }

    /// Returns true if these encoded bytes contain a checksum, which decoding verifies.
    pub fn holds_checksum(&self, encoded: &[u8]) -> bool {
        self.transform.holds_checksum(encoded).unwrap_or(self.stores_checksum)
    }
}

#[cfg(test)]
#[cfg(feature = "zarrs")]
mod tests;

/// A codec: all that the program knows about it.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The members of the configuration, which may depend on the metadata.
    pub(crate) members: fn(&CodecMetadata) -> &'static [Member],
    /// Reads the members and binds the codec to its input. The members match their table, or a fault has been
    /// reported. `None` after a fault, and if the codec needs an array and there is none.
    pub(crate) make: fn(&mut Binding<'_>) -> Option<Made>,
    /// The form of the configuration in v2.
    pub v2: V2Form,
    /// True if the codec may be bound to elements of an unknown type.
    pub(crate) takes_any_type: bool,
    /// Returns the id in v2 if it depends on the type of the elements, and the registry's row has none.
    pub v2_id: fn(&DataType) -> Option<&'static str>,
    /// The numpy types of the elements before and after the codec in v2, if its configuration does not contain them.
    pub v2_types: Option<(&'static str, &'static str)>,
    /// True if v2 has the codec only for elements in the machine's byte order, and machines are little-endian.
    pub is_little_endian_in_v2: bool,
    /// The rule for the greatest size of encoded bytes, of a bytes->bytes codec.
    pub size: SizeRule,
    /// Returns true if chunks contain a checksum, decided by the configuration alone, whether valid or not.
    pub stores_checksum: fn(Option<&Object>) -> bool,
    /// The word of the command line. `None` if the command line needs JSON.
    pub shorthand: Option<Shorthand>,
}

impl Kind {
    /// Makes a kind whose configuration is the same in v2.
    pub(crate) const fn new(
        members: fn(&CodecMetadata) -> &'static [Member],
        make: fn(&mut Binding<'_>) -> Option<Made>,
    ) -> Self {
        Kind {
            members,
            make,
            v2: V2Form::SAME,
            takes_any_type: false,
            v2_id: |_| None,
            v2_types: None,
            is_little_endian_in_v2: false,
            size: SizeRule::Unbounded,
            stores_checksum: |_| false,
            shorthand: None,
        }
    }

    /// Reads the configuration and binds it to the input array, if there is one. All faults are collected.
    pub(crate) fn bind(
        &self,
        codec: &CodecMetadata,
        array: Option<&ArrayRepresentation>,
        found: &mut Vec<Diagnostic>,
    ) -> Made {
        let members = ConfigurationReader::of_codec(codec, (self.members)(codec));
        // An unknown type has its own diagnostic.
        let is_known = |array: &&ArrayRepresentation| !matches!(array.data_type, DataType::Other(_));
        let array = array.filter(|array| members.is_valid && (self.takes_any_type || is_known(array)));
        let mut to = Binding { codec, members, array };
        let made = (self.make)(&mut to).filter(|_| to.members.is_valid);
        found.append(&mut to.members.diagnostics);
        made.unwrap_or_default()
    }
}

/// The configuration of a codec, and its input while it is bound.
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

/// A codec made for its input.
#[derive(Debug, Clone, Default)]
pub struct Made {
    /// The codec. `None` after a fault, and if it does not run here.
    pub codec: Option<Arc<dyn Coder>>,
    /// The chunk after it. `None` after a fault, and if the codec's kind alone determines it.
    pub output: Option<Representation>,
}

impl Made {
    /// Makes a bytes->bytes codec.
    pub(crate) fn of_bytes(codec: impl Coder + 'static) -> Self {
        Made { codec: Some(Arc::new(codec)), output: None }
    }

    /// Makes a codec whose output is an array.
    pub(crate) fn to_array(codec: impl Coder + 'static, output: ArrayRepresentation) -> Self {
        Made { codec: Some(Arc::new(codec)), output: Some(Representation::Array(output)) }
    }

    /// Makes a codec whose output is bytes.
    pub(crate) fn to_bytes(codec: impl Coder + 'static, size: BytesSize) -> Self {
        Made { codec: Some(Arc::new(codec)), output: Some(Representation::Bytes(size)) }
    }
}

/// Returns the diagnostic of a registered use of a codec that this program does not decode.
fn unsupported(codec: &str, data_type: &DataType) -> Diagnostic {
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
    Delta(&'a ElementFilter),
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

/// Resizes a buffer to `size` bytes. New bytes are zero. The size in a document may exceed the memory of the machine,
/// which is an error.
pub(crate) fn zeroed(buffer: &mut Vec<u8>, size: usize) -> Result<(), CodecError> {
    resize(buffer, size).map_err(|needed| CodecError::Memory { needed })
}

/// Copies elements. If `width` is given, the bytes of each component of `width` bytes are swapped.
fn copy_swapped(source: &[u8], target: &mut Vec<u8>, width: Option<usize>) -> Result<(), CodecError> {
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

fn cast(cast: &Cast, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
    let types = (cast.options.source, cast.options.target);
    convert(types, source, target, |source, target| cast.convert(source, target))
}

/// Converts elements of one type to another with `run`.
fn convert(
    (from, to): (NumberType, NumberType),
    source: &[u8],
    target: &mut Vec<u8>,
    run: impl FnOnce(&[u8], &mut [u8]) -> Result<(), ElementFault>,
) -> Result<(), CodecError> {
    zeroed(target, (source.len() / from.size()).saturating_mul(to.size()))?;
    run(source, target).map_err(|fault| CodecError::element(fault, Some((from, to)), source))
}

/// Codecs without a chain, for tests.
#[cfg(test)]
pub(crate) mod coding {
    use super::{BytesSize, CodecError, Coder, Contexts, Output};

    fn run(
        work: impl Fn(&mut Output<'_>) -> Result<(), CodecError>,
        allowed: BytesSize,
    ) -> Result<Vec<u8>, CodecError> {
        let (mut bytes, mut contexts) = (Vec::new(), Contexts::default());
        work(&mut Output { bytes: &mut bytes, allowed, contexts: &mut contexts })?;
        Ok(bytes)
    }

    /// Returns the bytes as the codec encodes them.
    pub(crate) fn encoded(coder: &dyn Coder, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
        run(|out| coder.encode(bytes, out), BytesSize::Bounded(u64::MAX))
    }

    /// Returns the decoded bytes.
    pub(crate) fn decoded(coder: &dyn Coder, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
        decoded_within(coder, bytes, BytesSize::Bounded(u64::MAX))
    }

    /// Returns the decoded bytes, within a limit.
    pub(crate) fn decoded_within(coder: &dyn Coder, bytes: &[u8], allowed: BytesSize) -> Result<Vec<u8>, CodecError> {
        run(|out| coder.decode(bytes, out), allowed)
    }

    /// Returns bytes that no codec shrinks.
    pub(crate) fn noise(length: usize) -> Vec<u8> {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[0]
        };
        std::iter::repeat_with(next).take(length).collect()
    }
}
