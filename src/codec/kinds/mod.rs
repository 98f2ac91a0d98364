//! The codecs, one file for each or for a few similar ones: configuration, encoding, decoding, memory, v2 form and
//! the word for `--compress`.
//!
//! A new codec needs a [`BytesKind`] or an [`ArrayKind`], and a row in [`registry`](super::registry). It needs no
//! knowledge of documents and chains: it gets its input and returns its output.
//!
//! A decoder writes at most as much as the chain expects. A header that claims more is an error before any allocation.
//! A stream that is longer than the limit is an error as soon as it exceeds it. Each thread keeps the contexts of
//! bytes->bytes compressors for the next chunk ([`Contexts`]).

// Used by every codec.
pub mod array;
pub(crate) mod error;
pub(crate) mod members;
mod representation;
// Codecs whose input is an array.
pub mod bitround;
pub mod bytes;
pub mod cast_value;
pub mod dimensions;
pub mod filter;
pub mod packbits;
pub mod pcodec;
pub mod scale_offset;
pub mod vlen;
pub mod zfp;
// bytes->bytes codecs.
pub mod blosc;
pub mod checksum;
pub mod conditional;
pub mod deflate;
pub mod lzma;
pub mod numcodecs_bytes;
pub mod zstd;

pub use array::{ArrayKind, Effect};
pub use error::CodecError;
pub(crate) use representation::with_allowance;
pub use representation::{ArrayRepresentation, BytesSize, Representation, SizeRule};

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::spelling::{alternatives, near};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Object;
use members::{ConfigurationReader, Member};

/// Makes a codec from its configuration. The members match their table, or a fault has been reported. Other faults are
/// reported here.
pub(crate) type Make = fn(&mut ConfigurationReader<'_>, KindOf) -> Option<Arc<dyn Coder>>;

/// A bytes->bytes codec: all that the program knows about it.
#[derive(Debug, Clone, Copy)]
pub struct BytesKind {
    pub(crate) members: &'static [Member],
    pub(crate) make: Make,
    /// The rule for the greatest size of encoded bytes.
    pub size: SizeRule,
    /// Returns true if chunks contain a checksum, decided by the configuration alone, whether valid or not.
    pub stores_checksum: fn(Option<&Object>) -> bool,
    /// The form of the configuration in v2.
    pub v2: V2Form,
    /// The word of the command line. `None` if the command line needs JSON.
    pub shorthand: Option<Shorthand>,
}

impl BytesKind {
    /// Makes a kind without a checksum or a shorthand, whose configuration is the same in v2.
    pub(crate) const fn new(members: &'static [Member], make: Make, size: SizeRule) -> Self {
        BytesKind { members, make, size, stores_checksum: |_| false, v2: V2Form::SAME, shorthand: None }
    }
}

/// The answer of the registry to the name of a codec inside another codec.
#[derive(Debug, Clone, Copy)]
pub enum InnerKind {
    /// This program does not run it.
    NotRun,
    /// It turns bytes into bytes.
    Bytes(&'static BytesKind),
    /// Its input or output is an array.
    Array,
}

/// Finds the kind of a codec inside another codec. It is a function because the registry is a layer above the codecs.
pub type KindOf = fn(&str) -> InnerKind;

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
    name: String,
    /// True if the configuration says that chunks contain a checksum.
    stores_checksum: bool,
    kind: &'static BytesKind,
    /// The codec itself. A chain calls it by the methods of this type, which check sizes and name the codec in errors.
    pub(crate) transform: Arc<dyn Coder>,
}

impl BytesCodec {
    /// Reads the configuration of a codec of this kind. `None` after a fault.
    pub(crate) fn parse(
        kind: &'static BytesKind,
        codec: &CodecMetadata,
        kind_of: KindOf,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let mut members = ConfigurationReader::of_codec(codec, kind.members);
        let transform = (kind.make)(&mut members, kind_of).filter(|_| members.is_valid);
        found.append(&mut members.diagnostics);
        transform.map(|transform| Self::with_kind(codec, kind, transform))
    }

    /// Makes a codec from a coder that was made elsewhere.
    pub(crate) fn with_kind(codec: &CodecMetadata, kind: &'static BytesKind, coder: Arc<dyn Coder>) -> Self {
        let stores_checksum = (kind.stores_checksum)(codec.configuration.as_ref());
        BytesCodec { name: codec.name.clone(), stores_checksum, kind, transform: coder }
    }

    /// Returns the name in metadata.
    pub fn name(&self) -> &str {
        &self.name
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
