//! Array to array codecs that treat each element by itself: `scale_offset` and `cast_value`.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;
use std::num::NonZeroU64;
use std::sync::Arc;

use zarrs::array::codec::api::{PartialDecoderCapability, PartialEncoderCapability};
use zarrs::array::{
    ArrayBytes, ArrayCodecTraits, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits,
    ArrayToArrayCodecTraits, Codec, CodecError, CodecMetadataOptions, CodecOptions, CodecTraits,
    CodecTraitsV3, DataType as ZarrsDataType, FillValue as ZarrsFillValue, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{ExtensionName, PluginCreateError, ZarrVersion};

use super::binding::Bindings;
use super::elementwise_partial::{ConvertElements, Direction, ElementwisePartial};
use super::{data_type, members};
use crate::codec::element_bits;
use crate::codec::fault::ChainFaultKind;
use crate::data_type::{DataType, FillValue};
use crate::element::NumberType;
use crate::kernel::ElementFault;
use crate::metadata::json::Object;

/// The configuration of such a codec.
pub(super) trait ElementwiseConfiguration: Debug + Send + Sync + Sized + 'static {
    /// The name in metadata.
    const NAME: &'static str;
    /// The codec for one data type.
    type Bound: BoundElementwise;
    /// Reads a configuration without a data type.
    fn parse(configuration: Option<&Object>) -> Result<Self, String>;
    /// Binds it to the type of the decoded elements.
    fn bind(&self, data_type: &DataType) -> Result<Self::Bound, String>;
}

/// Such a codec for one data type.
pub(super) trait BoundElementwise: Debug + Send + Sync + 'static {
    /// The types of the decoded and of the encoded elements.
    fn types(&self) -> (NumberType, NumberType);
    /// Whether elements stay what they are.
    fn is_identity(&self) -> bool;
    /// Encodes elements.
    fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault>;
    /// Decodes elements.
    fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault>;
    /// Encodes the fill value by its bits, as far as the codec allows it.
    fn encode_fill_value(&self, bits: u64) -> Result<u64, String>;
}

/// The codec as zarrs has it.
#[derive(Debug)]
pub(super) struct ElementwiseCodec<C: ElementwiseConfiguration> {
    /// What was read, to be written again.
    metadata: Configuration,
    configuration: C,
    bindings: Bindings<C::Bound>,
}

impl<C: ElementwiseConfiguration> ElementwiseCodec<C> {
    fn bound(&self, data_type: &ZarrsDataType) -> Result<Arc<C::Bound>, CodecError> {
        self.bindings.get(data_type, || {
            self.configuration
                .bind(&data_type::from_zarrs(data_type))
                .map_err(|reason| format!("`{}` on `{data_type}`: {reason}", C::NAME))
        })
    }
}

impl<C: ElementwiseConfiguration> ConvertElements for ElementwiseCodec<C> {
    fn convert<'a>(
        &self,
        direction: Direction,
        bytes: ArrayBytes<'a>,
        num_elements: Option<u64>,
        data_type: &ZarrsDataType,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        let bound = self.bound(data_type)?;
        let (decoded, encoded) = bound.types();
        let (source, target) = match direction {
            Direction::Encode => (decoded, encoded),
            Direction::Decode => (encoded, decoded),
        };
        let bytes = bytes.into_fixed()?;
        let count = bytes.len() / source.size();
        let is_whole = bytes.len().is_multiple_of(source.size());
        if !is_whole || num_elements.is_some_and(|expected| expected != count as u64) {
            let expected = num_elements.map_or_else(|| "whole".to_owned(), |expected| expected.to_string());
            let (name, size) = (C::NAME, source.size());
            let found = bytes.len();
            let message =
                format!("`{name}`: expected {expected} elements of {size} bytes, found {found} bytes");
            return Err(CodecError::Other(message));
        }
        if bound.is_identity() {
            return Ok(ArrayBytes::new_flen(bytes));
        }
        let mut converted = vec![0; count * target.size()];
        match direction {
            Direction::Encode => bound.encode(&bytes, &mut converted),
            Direction::Decode => bound.decode(&bytes, &mut converted),
        }
        .map_err(|fault| element_error(C::NAME, fault, (source, target), &bytes))?;
        Ok(ArrayBytes::from(converted))
    }
}

/// The fault of an element, with its value.
pub(super) fn element_error(
    codec: &str,
    fault: ElementFault,
    types: (NumberType, NumberType),
    source: &[u8],
) -> CodecError {
    let size = types.0.size();
    let bits = source.get(fault.index * size..(fault.index + 1) * size).map_or(0, element_bits);
    CodecError::Other(format!("`{codec}`, element {}: {}", fault.index, describe(fault, bits, types)))
}

/// Why a value cannot be converted.
pub(super) fn describe(fault: ElementFault, bits: u64, types: (NumberType, NumberType)) -> String {
    ChainFaultKind::Element { fault, position: None, bits, types: Some(types) }.to_string()
}

fn num_elements(shape: &[NonZeroU64]) -> Result<Option<u64>, CodecError> {
    let count = shape.iter().try_fold(1_u64, |product, extent| product.checked_mul(extent.get()));
    count.map(Some).ok_or_else(|| CodecError::Other(format!("a chunk of shape {shape:?} is too large")))
}

impl<C: ElementwiseConfiguration> ExtensionName for ElementwiseCodec<C> {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        (version == ZarrVersion::V3).then_some(Cow::Borrowed(C::NAME))
    }
}

impl<C: ElementwiseConfiguration> CodecTraitsV3 for ElementwiseCodec<C> {
    fn create(metadata: &MetadataV3) -> Result<Codec, PluginCreateError> {
        let configuration = C::parse(members(metadata.configuration()).as_ref())?;
        let metadata = metadata.configuration().cloned().unwrap_or_default();
        Ok(Codec::ArrayToArray(Arc::new(Self { metadata, configuration, bindings: Bindings::default() })))
    }
}

impl<C: ElementwiseConfiguration> CodecTraits for ElementwiseCodec<C> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _version: ZarrVersion, _options: &CodecMetadataOptions) -> Option<Configuration> {
        Some(self.metadata.clone())
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        PartialDecoderCapability { partial_read: true, partial_decode: true }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability { partial_encode: true }
    }
}

impl<C: ElementwiseConfiguration> ArrayCodecTraits for ElementwiseCodec<C> {
    fn recommended_concurrency(
        &self,
        _shape: &[NonZeroU64],
        data_type: &ZarrsDataType,
    ) -> Result<RecommendedConcurrency, CodecError> {
        self.bound(data_type)?;
        Ok(RecommendedConcurrency::new_maximum(1))
    }
}

impl<C: ElementwiseConfiguration> ArrayToArrayCodecTraits for ElementwiseCodec<C> {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToArrayCodecTraits> {
        self
    }

    fn encoded_data_type(&self, decoded_data_type: &ZarrsDataType) -> Result<ZarrsDataType, CodecError> {
        let (decoded, encoded) = self.bound(decoded_data_type)?.types();
        if decoded == encoded {
            return Ok(decoded_data_type.clone());
        }
        data_type::to_zarrs(encoded).map_err(CodecError::Other)
    }

    fn encoded_fill_value(
        &self,
        decoded_data_type: &ZarrsDataType,
        decoded_fill_value: &ZarrsFillValue,
    ) -> Result<ZarrsFillValue, CodecError> {
        let bound = self.bound(decoded_data_type)?;
        let (decoded, encoded) = bound.types();
        let bytes = decoded_fill_value.as_ne_bytes();
        if bytes.len() != decoded.size() {
            let message = format!(
                "`{}`: the fill value has {} bytes, but `{decoded}` has {}",
                C::NAME,
                bytes.len(),
                decoded.size()
            );
            return Err(CodecError::Other(message));
        }
        let bits = bound
            .encode_fill_value(element_bits(bytes))
            .map_err(|reason| CodecError::Other(format!("`{}`, the fill value: {reason}", C::NAME)))?;
        Ok(ZarrsFillValue::new(FillValue::from_bits(encoded, bits).0))
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &ZarrsDataType,
        _fill_value: &ZarrsFillValue,
        _options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        self.convert(Direction::Encode, bytes, num_elements(shape)?, data_type)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &ZarrsDataType,
        _fill_value: &ZarrsFillValue,
        _options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        self.convert(Direction::Decode, bytes, num_elements(shape)?, data_type)
    }

    fn partial_decoder(
        self: Arc<Self>,
        input_handle: Arc<dyn ArrayPartialDecoderTraits>,
        _shape: &[NonZeroU64],
        data_type: &ZarrsDataType,
        _fill_value: &ZarrsFillValue,
        _options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialDecoderTraits>, CodecError> {
        Ok(Arc::new(ElementwisePartial::new(input_handle, self, data_type.clone())))
    }

    fn partial_encoder(
        self: Arc<Self>,
        input_output_handle: Arc<dyn ArrayPartialEncoderTraits>,
        _shape: &[NonZeroU64],
        data_type: &ZarrsDataType,
        _fill_value: &ZarrsFillValue,
        _options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialEncoderTraits>, CodecError> {
        Ok(Arc::new(ElementwisePartial::new(input_output_handle, self, data_type.clone())))
    }
}
