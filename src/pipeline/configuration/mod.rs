//! The configurations of the codecs that this program knows, typed.
//!
//! Each codec's file has `parse`, which needs no data type and collects every fault, and, where the meaning depends on
//! what reaches the codec, `bind`, which takes its data type or shape. Both give back what could be made together
//! with everything that is wrong: who reads or writes data must refuse a configuration with an error among its
//! diagnostics, even if there is one. What is forbidden but read comes as a warning here; `validate` gives each
//! diagnostic the severity that the table of codes has.

pub mod blosc;
pub mod bytes;
pub mod cast_value;
pub mod crc32c;
pub mod gzip;
mod members;
pub mod packbits;
pub mod scale_offset;
pub mod sharding_indexed;
pub mod transpose;
pub mod zstd;

use crate::diagnostic::{Diagnostic, Severity};
use crate::metadata::CodecMetadata;

pub use blosc::BloscConfiguration;
pub use bytes::{BytesConfiguration, Endian};
pub use cast_value::{BoundCastValue, CastValueConfiguration};
pub use crc32c::Crc32cConfiguration;
pub use gzip::GzipConfiguration;
pub use packbits::{BoundPackBits, PackBitsConfiguration, PaddingEncoding};
pub use scale_offset::{BoundScaleOffset, ScaleOffsetConfiguration};
pub use sharding_indexed::{IndexLocation, ShardingIndexedConfiguration};
pub use transpose::{TransposeConfiguration, TransposeOrder};
pub use zstd::ZstdConfiguration;

/// What could be made of a configuration, and what is wrong with it.
pub type Parsed<T> = (Option<T>, Vec<Diagnostic>);

/// The configuration of a codec that this program knows by name.
#[derive(Debug, Clone, PartialEq)]
pub enum CodecConfiguration {
    /// `scale_offset`, array to array.
    ScaleOffset(ScaleOffsetConfiguration),
    /// `cast_value`, array to array.
    CastValue(CastValueConfiguration),
    /// `transpose`, array to array.
    Transpose(TransposeConfiguration),
    /// `bytes`, array to bytes.
    Bytes(BytesConfiguration),
    /// `packbits`, array to bytes.
    PackBits(PackBitsConfiguration),
    /// `sharding_indexed`, array to bytes.
    ShardingIndexed(ShardingIndexedConfiguration),
    /// `crc32c`, bytes to bytes.
    Crc32c(Crc32cConfiguration),
    /// `zstd`, bytes to bytes.
    Zstd(ZstdConfiguration),
    /// `gzip`, bytes to bytes.
    Gzip(GzipConfiguration),
    /// `blosc`, bytes to bytes.
    Blosc(BloscConfiguration),
}

impl CodecConfiguration {
    /// Parses the configuration of a codec by its name; `None` where the name is none of these.
    pub fn parse(codec: &CodecMetadata) -> Option<Parsed<CodecConfiguration>> {
        fn wrap<T>(
            (configuration, diagnostics): Parsed<T>,
            variant: fn(T) -> CodecConfiguration,
        ) -> Parsed<CodecConfiguration> {
            (configuration.map(variant), diagnostics)
        }
        let (configuration, pointer) = (codec.configuration.as_ref(), codec.pointer.as_str());
        Some(match codec.name.as_str() {
            "scale_offset" => wrap(scale_offset::parse(configuration, pointer), Self::ScaleOffset),
            "cast_value" => wrap(cast_value::parse(configuration, pointer), Self::CastValue),
            "transpose" => wrap(transpose::parse(configuration, pointer), Self::Transpose),
            "bytes" => wrap(bytes::parse(configuration, pointer), Self::Bytes),
            "packbits" => wrap(packbits::parse(configuration, pointer), Self::PackBits),
            "sharding_indexed" => {
                wrap(sharding_indexed::parse(configuration, pointer), Self::ShardingIndexed)
            }
            "crc32c" => wrap(crc32c::parse(configuration, pointer), Self::Crc32c),
            "zstd" => wrap(zstd::parse(configuration, pointer), Self::Zstd),
            "gzip" => wrap(gzip::parse(configuration, pointer), Self::Gzip),
            "blosc" => wrap(blosc::parse(configuration, pointer), Self::Blosc),
            _ => return None,
        })
    }
}

/// A finding about something that was read all the same: at most a warning here.
fn lenient(diagnostic: Diagnostic) -> Diagnostic {
    let severity = diagnostic.severity.min(Severity::Warning);
    diagnostic.with_severity(severity)
}

#[cfg(test)]
mod tests;
