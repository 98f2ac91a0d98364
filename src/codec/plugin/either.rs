//! `bytes` for zarrs, which has a codec of this name. The data type decides which of the two runs.

use std::any::Any;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

use zarrs::array::codec::api::{PartialDecoderCapability, PartialEncoderCapability};
use zarrs::array::{
    ArrayBytes, ArrayBytesRaw, ArrayCodecTraits, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits,
    ArrayToBytesCodecTraits, BytesPartialDecoderTraits, BytesPartialEncoderTraits, BytesRepresentation, CodecError,
    CodecMetadataOptions, CodecOptions, CodecTraits, DataType, FillValue, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::plugin::{ExtensionName, ZarrVersion};

use super::NarrowIntegerDataType;
use super::array::OurCodec;

/// A codec of this crate for some data types, the codec of zarrs for the others.
#[derive(Debug)]
pub(super) struct EitherCodec {
    pub(super) ours: Arc<OurCodec>,
    pub(super) theirs: Arc<dyn ArrayToBytesCodecTraits>,
}

impl EitherCodec {
    /// Returns the codec for a data type. Ours checks integers of odd widths, and zarrs reads parts of all others.
    fn of(&self, data_type: &DataType) -> Arc<dyn ArrayToBytesCodecTraits> {
        let is_ours = data_type.downcast_ref::<NarrowIntegerDataType>().is_some();
        if is_ours { self.ours.clone() } else { self.theirs.clone() }
    }
}

impl ExtensionName for EitherCodec {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        self.ours.name(version)
    }
}

impl CodecTraits for EitherCodec {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, version: ZarrVersion, options: &CodecMetadataOptions) -> Option<Configuration> {
        self.ours.configuration(version, options)
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        self.theirs.partial_decoder_capability()
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        self.theirs.partial_encoder_capability()
    }
}

impl ArrayCodecTraits for EitherCodec {
    fn recommended_concurrency(&self, _: &[NonZeroU64], _: &DataType) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }
}

impl ArrayToBytesCodecTraits for EitherCodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToBytesCodecTraits> {
        self
    }

    fn encoded_representation(
        &self,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
    ) -> Result<BytesRepresentation, CodecError> {
        self.of(data_type).encoded_representation(shape, data_type, fill_value)
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        self.of(data_type).encode(bytes, shape, data_type, fill_value, options)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        self.of(data_type).decode(bytes, shape, data_type, fill_value, options)
    }

    fn partial_decoder(
        self: Arc<Self>,
        handle: Arc<dyn BytesPartialDecoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialDecoderTraits>, CodecError> {
        self.of(data_type).partial_decoder(handle, shape, data_type, fill_value, options)
    }

    fn partial_encoder(
        self: Arc<Self>,
        handle: Arc<dyn BytesPartialEncoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialEncoderTraits>, CodecError> {
        self.of(data_type).partial_encoder(handle, shape, data_type, fill_value, options)
    }
}
