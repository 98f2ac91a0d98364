//! `bytes` for zarrs: its own codec, except that the integers of odd widths are checked on both ways.
//!
//! The codec of zarrs leaves the bytes to the data type, which cannot say that a value is wrong.

use std::any::Any;
use std::num::NonZeroU64;
use std::sync::Arc;

use zarrs::array::codec::BytesCodec;
use zarrs::array::codec::api::{PartialDecoderCapability, PartialEncoderCapability};
use zarrs::array::{
    ArrayBytes, ArrayBytesDecodeIntoTarget, ArrayBytesRaw, ArrayCodecTraits, ArrayPartialDecoderTraits,
    ArrayPartialEncoderTraits, ArrayToBytesCodecTraits, BytesPartialDecoderTraits, BytesPartialEncoderTraits,
    BytesRepresentation, Codec, CodecError, CodecMetadataOptions, CodecOptions, CodecTraits, CodecTraitsV3,
    DataType, Endianness, FillValue, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{PluginCreateError, ZarrVersion};

use super::elementwise::element_error;
use super::odd_integer::OddIntegerDataType;
use super::{checked, members};
use crate::codec::kinds::bytes::{self, Endian};
use crate::element::NumberType;

/// `bytes` as zarrs has it, for data types of any other crate.
#[derive(Debug)]
pub(super) struct CheckedBytesCodec {
    inner: Arc<BytesCodec>,
    odd: Arc<OddBytesCodec>,
}

/// `bytes` for the integers of odd widths; parts of a chunk are taken from the whole of it.
#[derive(Debug)]
struct OddBytesCodec {
    inner: BytesCodec,
    is_swapped: bool,
}

zarrs::plugin::impl_extension_aliases!(CheckedBytesCodec, v3: "bytes");
zarrs::plugin::impl_extension_aliases!(OddBytesCodec, v3: "bytes");

fn odd(data_type: &DataType) -> Option<NumberType> {
    data_type.downcast_ref::<OddIntegerDataType>().map(OddIntegerDataType::number_type)
}

impl CodecTraitsV3 for CheckedBytesCodec {
    fn create(metadata: &MetadataV3) -> Result<Codec, PluginCreateError> {
        let configuration = checked(bytes::parse(members(metadata.configuration()).as_ref(), ""))?;
        let inner = BytesCodec::new(configuration.endian.map(|endian| match endian {
            Endian::Little => Endianness::Little,
            Endian::Big => Endianness::Big,
        }));
        // Without a byte order the least significant byte is first.
        let is_swapped = configuration.endian.unwrap_or(Endian::Little) != Endian::NATIVE;
        let odd = Arc::new(OddBytesCodec { inner: inner.clone(), is_swapped });
        Ok(Codec::ArrayToBytes(Arc::new(Self { inner: Arc::new(inner), odd })))
    }
}

/// What both have of the codec of zarrs.
macro_rules! impl_codec_traits {
    ($codec:ty, $capability:expr) => {
        impl CodecTraits for $codec {
            fn as_any(&self) -> &dyn Any {
                self
            }

            fn configuration(
                &self,
                version: ZarrVersion,
                options: &CodecMetadataOptions,
            ) -> Option<Configuration> {
                self.inner.configuration(version, options)
            }

            fn partial_decoder_capability(&self) -> PartialDecoderCapability {
                PartialDecoderCapability { partial_read: $capability, partial_decode: $capability }
            }

            fn partial_encoder_capability(&self) -> PartialEncoderCapability {
                PartialEncoderCapability { partial_encode: $capability }
            }
        }

        impl ArrayCodecTraits for $codec {
            fn recommended_concurrency(
                &self,
                shape: &[NonZeroU64],
                data_type: &DataType,
            ) -> Result<RecommendedConcurrency, CodecError> {
                self.inner.recommended_concurrency(shape, data_type)
            }
        }
    };
}

impl_codec_traits!(CheckedBytesCodec, true);
impl_codec_traits!(OddBytesCodec, false);

impl ArrayToBytesCodecTraits for CheckedBytesCodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToBytesCodecTraits> {
        self
    }

    fn encoded_representation(
        &self,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
    ) -> Result<BytesRepresentation, CodecError> {
        self.inner.encoded_representation(shape, data_type, fill_value)
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        match odd(data_type) {
            Some(_) => self.odd.encode(bytes, shape, data_type, fill_value, options),
            None => self.inner.encode(bytes, shape, data_type, fill_value, options),
        }
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        match odd(data_type) {
            Some(_) => self.odd.decode(bytes, shape, data_type, fill_value, options),
            None => self.inner.decode(bytes, shape, data_type, fill_value, options),
        }
    }

    fn decode_into(
        &self,
        bytes: ArrayBytesRaw<'_>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        output_target: ArrayBytesDecodeIntoTarget<'_>,
        options: &CodecOptions,
    ) -> Result<(), CodecError> {
        match odd(data_type) {
            Some(_) => self.odd.decode_into(bytes, shape, data_type, fill_value, output_target, options),
            None => self.inner.decode_into(bytes, shape, data_type, fill_value, output_target, options),
        }
    }

    fn partial_decoder(
        self: Arc<Self>,
        input_handle: Arc<dyn BytesPartialDecoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialDecoderTraits>, CodecError> {
        match odd(data_type) {
            Some(_) => self.odd.clone().partial_decoder(input_handle, shape, data_type, fill_value, options),
            None => self.inner.clone().partial_decoder(input_handle, shape, data_type, fill_value, options),
        }
    }

    fn partial_encoder(
        self: Arc<Self>,
        input_output_handle: Arc<dyn BytesPartialEncoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialEncoderTraits>, CodecError> {
        let handle = input_output_handle;
        match odd(data_type) {
            Some(_) => self.odd.clone().partial_encoder(handle, shape, data_type, fill_value, options),
            None => self.inner.clone().partial_encoder(handle, shape, data_type, fill_value, options),
        }
    }
}

impl OddBytesCodec {
    /// Refuses values outside of the type, and elements of another number.
    fn check(bytes: &[u8], shape: &[NonZeroU64], number_type: NumberType) -> Result<(), CodecError> {
        let expected = shape
            .iter()
            .try_fold(number_type.size() as u64, |product, extent| product.checked_mul(extent.get()));
        if expected != Some(bytes.len() as u64) {
            let found = bytes.len();
            let expected = expected.map_or_else(|| "too many".to_owned(), |expected| expected.to_string());
            return Err(CodecError::Other(format!("`bytes`: expected {expected} bytes, found {found}")));
        }
        super::odd_integer::check(bytes, number_type)
            .map_err(|fault| element_error("bytes", fault, (number_type, number_type), bytes))
    }

    fn swap(&self, bytes: &mut [u8], size: usize) {
        if self.is_swapped {
            bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
    }
}

impl ArrayToBytesCodecTraits for OddBytesCodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToBytesCodecTraits> {
        self
    }

    fn encoded_representation(
        &self,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
    ) -> Result<BytesRepresentation, CodecError> {
        self.inner.encoded_representation(shape, data_type, fill_value)
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        _fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let unsupported = || CodecError::UnsupportedDataType(data_type.clone(), "bytes".to_owned());
        let number_type = odd(data_type).ok_or_else(unsupported)?;
        let mut bytes = bytes.into_fixed()?.into_owned();
        Self::check(&bytes, shape, number_type)?;
        self.swap(&mut bytes, number_type.size());
        Ok(bytes.into())
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        _fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        let unsupported = || CodecError::UnsupportedDataType(data_type.clone(), "bytes".to_owned());
        let number_type = odd(data_type).ok_or_else(unsupported)?;
        let mut bytes = bytes.into_owned();
        self.swap(&mut bytes, number_type.size());
        Self::check(&bytes, shape, number_type)?;
        Ok(ArrayBytes::from(bytes))
    }
}
