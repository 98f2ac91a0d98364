//! The configurations of the codecs that take an array, typed. Those of bytes->bytes codecs stand with the codecs.
//!
//! Each codec's file has `parse`, which needs no data type and collects every fault, and, where the meaning depends on
//! what reaches the codec, `bind`, which takes its data type or shape. Both give back what could be made together
//! with everything that is wrong: who reads or writes data must refuse a configuration with an error among its
//! diagnostics, even if there is one. What is forbidden but read comes as a warning here; `validate` gives each
//! diagnostic the severity that the table of codes has.

pub mod bitround;
pub mod bytes;
pub mod cast_value;
pub mod n5_default;
pub mod numcodecs;
pub mod packbits;
pub mod pcodec;
pub mod reshape;
mod scalar;
pub mod scale_offset;
pub mod sharding_indexed;
pub mod transpose;
pub mod vlen;
pub mod zfp;

use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::CodecMetadata;

pub use bitround::BitRoundConfiguration;
pub use bytes::{BytesConfiguration, Endian};
pub use cast_value::{BoundCastValue, CastValueConfiguration};
pub use n5_default::N5DefaultConfiguration;
pub use numcodecs::{BoundFilter, NumcodecsConfiguration};
pub use packbits::{BoundPackBits, PackBitsConfiguration, PaddingEncoding};
pub use pcodec::{BoundPcodec, PcodecConfiguration};
pub use reshape::ReshapeConfiguration;
pub use scale_offset::{BoundScaleOffset, ScaleOffsetConfiguration};
pub use sharding_indexed::{IndexLocation, ShardingIndexedConfiguration};
pub use transpose::{TransposeConfiguration, TransposeOrder};
pub use vlen::VlenConfiguration;
pub use zfp::{BoundZfp, ZfpConfiguration};

pub use crate::codec::kinds::Parsed;

/// The configuration of a codec that takes an array, of those that this program knows by name.
#[derive(Debug, Clone, PartialEq)]
pub enum CodecConfiguration {
    /// `scale_offset`, array to array.
    ScaleOffset(ScaleOffsetConfiguration),
    /// `cast_value`, array to array.
    CastValue(CastValueConfiguration),
    /// `bitround`, array to array.
    BitRound(BitRoundConfiguration),
    /// `reshape`, array to array.
    Reshape(ReshapeConfiguration),
    /// `transpose`, array to array.
    Transpose(TransposeConfiguration),
    /// `bytes`, array to bytes.
    Bytes(BytesConfiguration),
    /// `packbits`, array to bytes.
    PackBits(PackBitsConfiguration),
    /// `numcodecs.pcodec`, array to bytes.
    Pcodec(PcodecConfiguration),
    /// `sharding_indexed`, array to bytes.
    ShardingIndexed(ShardingIndexedConfiguration),
    /// `vlen-utf8`, `vlen-bytes` and `zarrs.vlen_v2`, array to bytes.
    Vlen(VlenConfiguration),
    /// `zfp`, array to bytes.
    Zfp(ZfpConfiguration),
    /// `n5_default`, array to bytes.
    N5Default(N5DefaultConfiguration),
    /// An array->array codec of numcodecs, beside `numcodecs.bitround`.
    Numcodecs(NumcodecsConfiguration),
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
            "bitround" => wrap(bitround::parse(configuration, pointer), Self::BitRound),
            "numcodecs.bitround" => wrap(bitround::parse_numcodecs(configuration, pointer), Self::BitRound),
            "reshape" => wrap(reshape::parse(configuration, pointer), Self::Reshape),
            "transpose" => wrap(transpose::parse(configuration, pointer), Self::Transpose),
            "bytes" => wrap(bytes::parse(configuration, pointer), Self::Bytes),
            "packbits" => wrap(packbits::parse(configuration, pointer), Self::PackBits),
            "sharding_indexed" => {
                wrap(sharding_indexed::parse(configuration, pointer), Self::ShardingIndexed)
            }
            "vlen-utf8" => wrap(VlenConfiguration::Utf8.parse(configuration, pointer), Self::Vlen),
            "vlen-bytes" => wrap(VlenConfiguration::Bytes.parse(configuration, pointer), Self::Vlen),
            "zarrs.vlen_v2" => wrap(VlenConfiguration::Zarrs.parse(configuration, pointer), Self::Vlen),
            "zfp" => wrap(zfp::parse(configuration, pointer), Self::Zfp),
            "n5_default" => wrap(n5_default::parse(configuration, pointer), Self::N5Default),
            "numcodecs.pcodec" => wrap(pcodec::parse(configuration, pointer), Self::Pcodec),
            name => wrap(numcodecs::parse(name, configuration, pointer)?, Self::Numcodecs),
        })
    }
}

/// A registered use of a codec that this program does not decode.
fn unsupported(codec: &str, data_type: &DataType, pointer: &str) -> Diagnostic {
    let message = format!("`{codec}` of `{data_type}` is not decoded by this program");
    Diagnostic::new(code::CODEC_UNSUPPORTED, message).at_pointer(pointer)
}

#[cfg(test)]
mod tests;
