//! The codecs, a file each or some that are alike: the configuration, what it encodes to, encoding and decoding, the
//! memory that it takes, its form in v2, and the word that stands for it on the command line.
//!
//! A new codec gives a [`BytesKind`] or an [`ArrayKind`], and a row in
//! [`registry`](super::registry). It needs to know of no document and no chain: what reaches it comes in, what it makes
//! of it goes out.
//!
//! A decoder writes at most what the chain expects of it: a header that claims more is an error before anything is
//! allocated, a stream that turns out longer is one as soon as it passes the bound. What a compressor of bytes sets up
//! for a chunk is kept by the thread for the next one ([`Contexts`]).

// What every codec is made with.
pub mod array;
mod contexts;
pub(crate) mod error;
pub(crate) mod members;
mod representation;
// What several codecs share.
mod fill;
// The codecs that take an array.
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
pub mod zfpy;
// The codecs that turn bytes into bytes.
pub mod blosc;
pub mod checksum;
pub mod conditional;
pub mod deflate;
pub mod lzma;
pub mod numcodecs_bytes;
pub mod zstd;

pub use array::{ArrayKind, Role};
pub use contexts::Contexts;
pub use error::CodecError;
pub use representation::{ArrayRepresentation, BytesSize, Representation, SizeRule};

use std::fmt::Debug;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Profile};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Object;
use members::{Member, Members};

/// Makes a codec of its configuration, whose members are as their table has them, or have been reported; what is wrong
/// beyond that is reported too.
pub(crate) type Make = fn(&mut Members<'_>, KindOf) -> Option<Arc<dyn Coder>>;

/// Everything that the program knows of a bytes->bytes codec.
#[derive(Debug, Clone, Copy)]
pub struct BytesKind {
    /// The members of the configuration.
    pub(crate) members: &'static [Member],
    /// Makes it.
    pub(crate) make: Make,
    /// The greatest size of encoded bytes.
    pub size: SizeRule,
    /// True if chunks hold a checksum, by the configuration alone, be it right or not.
    pub stores_checksum: fn(Option<&Object>) -> bool,
    /// The form of the configuration in v2.
    pub v2: V2Form,
    /// The word of the command line; `None` where that takes JSON.
    pub shorthand: Option<Shorthand>,
}

impl BytesKind {
    /// A codec without a checksum or a shorthand, whose configuration is the same in v2.
    pub(crate) const fn new(members: &'static [Member], make: Make, size: SizeRule) -> Self {
        BytesKind { members, make, size, stores_checksum: |_| false, v2: V2Form::SAME, shorthand: None }
    }
}

/// The registry's answer to the name of a codec that stands inside another.
#[derive(Debug, Clone, Copy)]
pub enum InnerKind {
    /// This program does not run it.
    NotRun,
    /// It turns bytes into bytes.
    Bytes(&'static BytesKind),
    /// It takes or gives an array.
    Array,
}

/// Finds the kind of a codec inside of another: the registry stands above the codecs.
pub type KindOf = fn(&str) -> InnerKind;

/// Where a codec writes to, and what it may use for that.
#[derive(Debug)]
pub struct Output<'a> {
    /// Empty for codecs that turn bytes into bytes; what others find in it they replace.
    pub bytes: &'a mut Vec<u8>,
    /// The size of what is decoded: no more memory is given to `bytes`. The shape says it where an array is decoded.
    pub allowed: BytesSize,
    /// Compressor contexts.
    pub contexts: &'a mut Contexts,
}

/// A codec with its configuration, bound to a chunk where it takes an array: elements lie in C order, in the byte order of
/// this machine.
pub trait Coder: Debug + Send + Sync {
    /// Encodes a chunk.
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError>;

    /// Decodes a chunk.
    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError>;

    /// Bytes of memory that it holds beside its buffers while it encodes, and decodes, so many bytes.
    fn context_bytes(&self, _decoded: u64) -> u64 {
        0
    }

    /// The effect on elements, for the chain around it: neighbours are joined into one pass, dimensions followed.
    fn role(&self) -> Role<'_> {
        Role::Other
    }

    /// By how much a number that it encodes may come back changed at most: `None` where every bit comes back, infinity
    /// where nothing bounds it.
    fn max_loss(&self) -> Option<f64> {
        None
    }

    /// Why it cannot run, where it cannot.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// Its metadata as they are written, without what says nothing; `None` where they stay as they are.
    fn written(&self) -> Option<CodecMetadata> {
        None
    }

    /// The codec that takes the nearest code for a value whatever its rounding says; `None` where it does anyway.
    fn to_nearest(&self) -> Option<Arc<dyn Coder>> {
        None
    }

    /// The size that bytes encode to, where the rule of the kind does not tell it for every configuration.
    fn encoded_size(&self, rule: SizeRule, decoded: BytesSize) -> BytesSize {
        rule.of(decoded)
    }

    /// True if these encoded bytes hold a checksum, where they tell it themselves.
    fn holds_checksum(&self, _encoded: &[u8]) -> Option<bool> {
        None
    }

    /// The codecs inside of this one, in encode order.
    fn inner(&self) -> &[CodecMetadata] {
        &[]
    }
}

/// A codec of v2 as v3 has it: the name, where it is not that of the registry's row, and the configuration.
pub type InV3 = (Option<&'static str>, Option<Object>);

/// The configuration of a word; the error says what is expected, or nothing where there are too many parts.
pub type ShorthandRead = Result<Option<Object>, Option<String>>;

/// The form of a configuration in v2, that is in numcodecs. The `id` stands in the registry.
#[derive(Debug, Clone, Copy)]
pub struct V2Form {
    /// The members, with what numcodecs takes for those that are absent, where v3 needs them.
    pub(crate) members: &'static [Member],
    /// From the members without `id`, and the bytes of an element that reaches the codec.
    pub(crate) read: fn(Object, u64) -> InV3,
    /// To the members beside `id`.
    pub write: fn(Object) -> Object,
}

impl V2Form {
    /// Members as they stand in v3.
    pub(crate) const SAME: V2Form =
        V2Form { members: &[], read: |members, _| (None, Some(members)), write: |members| members };

    /// Members as they stand in v3, where none may be absent.
    pub(crate) const fn with_defaults(members: &'static [Member]) -> V2Form {
        V2Form { members, ..V2Form::SAME }
    }

    /// The members without `id` as v3 has them; an element that reaches the codec has `item_size` bytes.
    pub fn in_v3(&self, mut members: Object, item_size: u64) -> InV3 {
        members::fill(&mut members, self.members);
        (self.read)(members, item_size)
    }
}

/// The word of a codec on the command line, with what follows it after colons: `zstd:5:checksum`.
#[derive(Debug, Clone, Copy)]
pub struct Shorthand {
    /// The word with its parts, as messages list it: `zstd[:LEVEL][:checksum]`.
    pub usage: &'static str,
    /// Names of other programs, each with the word to take instead.
    pub aliases: &'static [(&'static str, &'static str)],
    /// From the parts after the word, and the whole.
    pub read: fn(&[&str], &str) -> ShorthandRead,
}

/// A level of a shorthand.
pub(crate) fn shorthand_level(text: &str, least: i64, greatest: i64) -> Result<i64, String> {
    let level = text.parse().ok().filter(|level| (least..=greatest).contains(level));
    level.ok_or_else(|| format!("expected a level from {least} to {greatest}; found `{text}`"))
}

/// A bytes->bytes codec, ready to run.
#[derive(Debug, Clone)]
pub struct BytesCodec {
    name: String,
    configuration: Option<Object>,
    kind: &'static BytesKind,
    transform: Arc<dyn Coder>,
}

impl BytesCodec {
    /// Reads the configuration of a codec of this kind.
    pub(crate) fn parse(
        kind: &'static BytesKind,
        codec: &CodecMetadata,
        kind_of: KindOf,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let (mut members, is_valid) = Members::of_codec(codec, kind.members);
        let transform = (kind.make)(&mut members, kind_of).filter(|_| is_valid);
        found.append(&mut members.diagnostics);
        transform.map(|transform| Self::of(codec, kind, transform))
    }

    /// A codec that was made by other means.
    pub(crate) fn of(codec: &CodecMetadata, kind: &'static BytesKind, coder: Arc<dyn Coder>) -> Self {
        let CodecMetadata { name, configuration, .. } = codec.clone();
        BytesCodec { name, configuration, kind, transform: coder }
    }

    /// A codec ready to run; the error says why it cannot.
    pub(crate) fn checked(codec: &CodecMetadata, kind_of: KindOf) -> Result<Self, String> {
        let kind = match kind_of(&codec.name) {
            InnerKind::Bytes(kind) => kind,
            InnerKind::Array => return Err(format!("`{}`: it does not turn bytes into bytes", codec.name)),
            InnerKind::NotRun => return Err(format!("`{}`: this program does not run it", codec.name)),
        };
        let mut found = Vec::new();
        let parsed = Self::parse(kind, codec, kind_of, &mut found);
        let reason = match (found.into_iter().find(|found| Profile::Read.forbids(found)), parsed) {
            (Some(error), _) => error.message,
            (None, None) => "the configuration is not valid".to_owned(),
            (None, Some(parsed)) => match parsed.refusal() {
                Some(reason) => reason,
                None => return Ok(parsed),
            },
        };
        Err(format!("`{}`: {reason}", codec.name))
    }

    /// The name in metadata.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Encodes `decoded` into `encoded`, whose contents are replaced.
    pub fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, contexts: &mut Contexts) -> Result<(), CodecError> {
        encoded.clear();
        let allowed = BytesSize::Fixed(decoded.len() as u64);
        let result = self.transform.encode(decoded, &mut Output { bytes: encoded, allowed, contexts });
        result.map_err(|error| error.of_codec(&self.name))
    }

    /// Decodes `encoded` into `decoded`, whose contents are replaced; the outcome has the size of `bound`.
    pub fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: BytesSize,
        contexts: &mut Contexts,
    ) -> Result<(), CodecError> {
        decoded.clear();
        let mut out = Output { bytes: decoded, allowed: bound, contexts };
        let result = self.transform.decode(encoded, &mut out);
        result.and_then(|()| bound.check(decoded.len())).map_err(|error| error.of_codec(&self.name))
    }

    /// Bytes of memory that it holds beside its buffers while it encodes, and decodes, so many bytes.
    pub fn context_bytes(&self, decoded: u64) -> u64 {
        self.transform.context_bytes(decoded)
    }

    /// The size that bytes of this size encode to.
    pub fn encoded_size(&self, decoded: BytesSize) -> BytesSize {
        self.transform.encoded_size(self.kind.size, decoded)
    }

    /// True if these encoded bytes hold a checksum, which decoding verifies.
    pub fn holds_checksum(&self, encoded: &[u8]) -> bool {
        let by_configuration = || (self.kind.stores_checksum)(self.configuration.as_ref());
        self.transform.holds_checksum(encoded).unwrap_or_else(by_configuration)
    }

    /// The codecs inside of this one, in encode order.
    pub fn inner(&self) -> &[CodecMetadata] {
        self.transform.inner()
    }

    /// Why it cannot run, where a codec inside of it cannot.
    pub fn refusal(&self) -> Option<String> {
        self.transform.refusal()
    }
}

#[cfg(test)]
#[cfg(feature = "zarrs")]
mod tests;

/// A codec by itself, for tests.
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

    /// The bytes that a codec makes of these.
    pub(crate) fn encoded(coder: &dyn Coder, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
        run(|out| coder.encode(bytes, out), BytesSize::Bounded(u64::MAX))
    }

    /// The bytes that these were made of.
    pub(crate) fn decoded(coder: &dyn Coder, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
        decoded_within(coder, bytes, BytesSize::Bounded(u64::MAX))
    }

    /// The same, within a bound.
    pub(crate) fn decoded_within(coder: &dyn Coder, bytes: &[u8], allowed: BytesSize) -> Result<Vec<u8>, CodecError> {
        run(|out| coder.decode(bytes, out), allowed)
    }

    /// Bytes that no codec shrinks.
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
