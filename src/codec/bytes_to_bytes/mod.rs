//! Bytes to bytes: compressors and checksums, each bounded by the size that its input may decode to.
//!
//! A decoder writes at most what the codec chain expects of it: a header that claims more is an error before anything
//! is allocated, a stream that turns out longer is one as soon as it passes the bound. Compressor contexts and buffers
//! are the caller's and are reused. What has no file here goes through the codecs of zarrs.

mod blosc;
mod bz2;
mod checksum;
mod conditional;
mod deflate;
mod error;
mod foreign;
mod lz4;
mod lzma;
mod numcodecs;
mod shuffle;
mod size;
mod zstd;

pub use error::BytesCodecError;
pub use size::{DecodedSize, EncodedSize};

use std::sync::Arc;

use zarrs::array::BytesToBytesCodecTraits;

use self::checksum::{Checksum, Location};
use self::conditional::Conditional;
use crate::diagnostic::Diagnostic;
use crate::metadata::CodecMetadata;
use crate::metadata::json::Object;
use crate::pipeline::configuration::{
    BloscConfiguration, CodecConfiguration, LzmaConfiguration, ZstdConfiguration,
};

/// A bytes to bytes codec, ready to run.
#[derive(Debug, Clone)]
pub struct BytesCodec {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Zstd(ZstdConfiguration),
    Gzip { level: u32 },
    Zlib { level: u32 },
    Bz2 { level: u32 },
    Blosc(BloscConfiguration),
    Lz4 { acceleration: i32 },
    Lzma(LzmaConfiguration),
    Shuffle { element_size: usize },
    Checksum(Checksum, Location),
    Conditional(Conditional),
    Foreign(Arc<dyn BytesToBytesCodecTraits>),
}

/// What a thread keeps from one chunk to the next.
#[derive(Debug, Default)]
pub struct Contexts {
    zstd: zstd::ZstdContexts,
    deflate: deflate::DeflateContexts,
}

impl Contexts {
    /// No context yet: each is made when a codec first needs it.
    pub fn new() -> Self {
        Self::default()
    }
}

impl BytesCodec {
    /// Makes a codec from its metadata.
    pub fn new(name: &str, configuration: Option<&Object>) -> Result<Self, BytesCodecError> {
        let parsed = match CodecConfiguration::parse(&CodecMetadata::new(name, configuration.cloned())) {
            None => foreign::create(name, configuration).map(Kind::Foreign),
            Some(parsed) => checked(parsed).and_then(|parsed| match parsed {
                CodecConfiguration::Numcodecs(_) => numcodecs::kind(name, configuration)
                    .map_or_else(|| foreign::create(name, configuration).map(Kind::Foreign), Ok),
                parsed => Kind::of_configuration(&parsed),
            }),
        };
        let kind =
            parsed.map_err(|reason| BytesCodecError::Configuration { codec: name.to_owned(), reason })?;
        Ok(BytesCodec { name: name.to_owned(), kind })
    }

    /// The name in metadata.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Encodes `decoded` into `encoded`, whose contents are replaced.
    pub fn encode(
        &self,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
        contexts: &mut Contexts,
    ) -> Result<(), BytesCodecError> {
        encoded.clear();
        let result = match &self.kind {
            Kind::Zstd(configuration) => contexts.zstd.encode(*configuration, decoded, encoded),
            Kind::Gzip { level } => contexts.deflate.encode_gzip(*level, decoded, encoded),
            Kind::Zlib { level } => contexts.deflate.encode_zlib(*level, decoded, encoded),
            Kind::Bz2 { level } => bz2::encode(*level, decoded, encoded),
            Kind::Blosc(configuration) => blosc::encode(*configuration, decoded, encoded),
            Kind::Lz4 { acceleration } => lz4::encode(*acceleration, decoded, encoded),
            Kind::Lzma(configuration) => lzma::encode(configuration, decoded, encoded),
            Kind::Shuffle { element_size } => shuffle::encode(*element_size, decoded, encoded),
            Kind::Checksum(checksum, location) => {
                checksum.encode(*location, decoded, encoded);
                Ok(())
            }
            Kind::Conditional(codec) => codec.encode(decoded, encoded, contexts),
            Kind::Foreign(codec) => foreign::encode(codec.as_ref(), decoded, encoded),
        };
        result.map_err(|fault| fault.of_codec(&self.name))
    }

    /// Decodes `encoded` into `decoded`, whose contents are replaced; the outcome has the size of `bound`.
    pub fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
        contexts: &mut Contexts,
    ) -> Result<(), BytesCodecError> {
        decoded.clear();
        let result = match &self.kind {
            Kind::Zstd(_) => contexts.zstd.decode(encoded, decoded, bound),
            Kind::Gzip { .. } => contexts.deflate.decode_gzip(encoded, decoded, bound),
            Kind::Zlib { .. } => contexts.deflate.decode_zlib(encoded, decoded, bound),
            Kind::Bz2 { .. } => bz2::decode(encoded, decoded, bound),
            Kind::Blosc(_) => blosc::decode(encoded, decoded, bound),
            Kind::Lz4 { .. } => lz4::decode(encoded, decoded, bound),
            Kind::Lzma(configuration) => lzma::decode(configuration, encoded, decoded, bound),
            Kind::Shuffle { element_size } => {
                bound.check(encoded.len()).and_then(|()| shuffle::decode(*element_size, encoded, decoded))
            }
            Kind::Checksum(checksum, location) => checksum.decode(*location, encoded, decoded, bound),
            Kind::Conditional(codec) => codec.decode(encoded, decoded, bound, contexts),
            Kind::Foreign(codec) => foreign::decode(codec.as_ref(), encoded, decoded, bound),
        };
        result.and_then(|()| bound.check(decoded.len())).map_err(|fault| fault.of_codec(&self.name))
    }

    /// Bytes of memory that it holds beside its buffers while it encodes, and decodes, so many bytes.
    pub fn context_bytes(&self, decoded: u64) -> u64 {
        match &self.kind {
            Kind::Zstd(configuration) => zstd::context_bytes(configuration.level, decoded),
            Kind::Gzip { .. } | Kind::Zlib { .. } => deflate::CONTEXT_BYTES,
            Kind::Bz2 { .. } => bz2::CONTEXT_BYTES,
            Kind::Blosc(configuration) => blosc::context_bytes(*configuration, decoded),
            Kind::Lz4 { .. } => lz4::CONTEXT_BYTES,
            Kind::Lzma(configuration) => lzma::context_bytes(configuration, decoded),
            Kind::Shuffle { .. } | Kind::Checksum(..) => 0,
            Kind::Conditional(codec) => codec.context_bytes(decoded),
            // Such codecs return their bytes in a buffer of their own.
            Kind::Foreign(_) => decoded,
        }
    }

    /// What `decoded` bytes encode to.
    pub fn encoded_size(&self, decoded: EncodedSize) -> EncodedSize {
        match &self.kind {
            Kind::Zstd(_) => decoded.bounded_by(zstd::bound),
            Kind::Gzip { .. } | Kind::Zlib { .. } => decoded.bounded_by(deflate::bound),
            Kind::Bz2 { .. } => decoded.bounded_by(bz2::bound),
            Kind::Blosc(_) => decoded.bounded_by(blosc::bound),
            Kind::Lz4 { .. } => decoded.bounded_by(lz4::bound),
            // A stream of what does not compress is longer by what the settings make of it.
            Kind::Lzma(_) => EncodedSize::Unbounded,
            Kind::Shuffle { .. } => decoded,
            Kind::Checksum(..) => decoded.plus(checksum::SIZE as u64),
            Kind::Conditional(codec) => codec.encoded_size(decoded),
            Kind::Foreign(codec) => foreign::encoded_size(codec.as_ref(), decoded),
        }
    }
}

impl Kind {
    fn of_configuration(configuration: &CodecConfiguration) -> Result<Self, String> {
        Ok(match configuration {
            CodecConfiguration::Zstd(configuration) => Kind::Zstd(*configuration),
            CodecConfiguration::Gzip(configuration) => Kind::Gzip { level: configuration.level },
            CodecConfiguration::Blosc(configuration) => Kind::Blosc(*configuration),
            CodecConfiguration::Lzma(configuration) => Kind::Lzma(configuration.clone()),
            CodecConfiguration::Conditional(configuration) => {
                Kind::Conditional(Conditional::new(configuration)?)
            }
            CodecConfiguration::Crc32c(_) => Kind::Checksum(Checksum::Crc32c, Location::End),
            _ => return Err("it does not turn bytes into bytes".to_owned()),
        })
    }
}

/// A configuration without errors, or the first of them.
fn checked<T>((configuration, diagnostics): (Option<T>, Vec<Diagnostic>)) -> Result<T, String> {
    match diagnostics.into_iter().find(Diagnostic::is_error) {
        Some(diagnostic) => Err(diagnostic.message),
        None => configuration.ok_or_else(|| "the configuration is not valid".to_owned()),
    }
}

#[cfg(test)]
mod tests;
