//! `packbits` for zarrs: as the registry has it, with the values of a type checked on both ways.
//!
//! Unlike the codec that zarrs brings it writes the padding byte for types of whole bytes too, and refuses values that
//! do not fit their type instead of cutting them off. Parts of a chunk are taken from the whole of it.

use std::any::Any;
use std::num::NonZeroU64;
use std::sync::Arc;

use zarrs::array::codec::PackBitsDataTypeExt;
use zarrs::array::codec::api::{PartialDecoderCapability, PartialEncoderCapability};
use zarrs::array::{
    ArrayBytes, ArrayBytesRaw, ArrayCodecTraits, ArrayToBytesCodecTraits, BytesRepresentation, Codec,
    CodecError, CodecMetadataOptions, CodecOptions, CodecTraits, CodecTraitsV3, DataType as ZarrsDataType,
    FillValue, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{PluginCreateError, ZarrVersion};

use super::binding::Bindings;
use super::{checked, data_type, members};
use crate::codec::kinds::packbits::bits::{PackBits, PackBitsError};
use crate::codec::kinds::packbits::{self, BoundPackBits, Components, PackBitsConfiguration};
use crate::data_type::DataType;

/// `packbits` as zarrs has it.
#[derive(Debug)]
pub(super) struct PackBitsCodec {
    /// What was read, to be written again.
    metadata: Configuration,
    configuration: PackBitsConfiguration,
    bindings: Bindings<BoundPackBits>,
}

zarrs::plugin::impl_extension_aliases!(PackBitsCodec, v3: "packbits");

impl PackBitsCodec {
    fn codec(&self, data_type: &ZarrsDataType) -> Result<PackBits, CodecError> {
        let bound = self.bindings.get(data_type, || {
            bind(self.configuration, data_type)
                .map_err(|reason| format!("`packbits` on `{data_type}`: {reason}"))
        })?;
        Ok(PackBits::new(*bound))
    }
}

fn num_elements(shape: &[NonZeroU64]) -> Result<usize, CodecError> {
    shape
        .iter()
        .try_fold(1_usize, |product, extent| product.checked_mul(usize::try_from(extent.get()).ok()?))
        .ok_or_else(|| too_large(shape))
}

fn too_large(shape: &[NonZeroU64]) -> CodecError {
    CodecError::Other(format!("`packbits`: a chunk of shape {shape:?} does not fit in memory"))
}

/// Binds to a type of this crate, or to what zarrs says of its own.
fn bind(configuration: PackBitsConfiguration, data_type: &ZarrsDataType) -> Result<BoundPackBits, String> {
    let known = data_type::from_zarrs(data_type);
    if !matches!(known, DataType::Other(_)) {
        return checked(configuration.bind_type(&known, ""));
    }
    let traits = data_type.codec_packbits().map_err(|error| error.to_string())?;
    let unsupported = || "the data type is not supported".to_owned();
    let size = data_type.fixed_size().ok_or_else(unsupported)?;
    let num_components = usize::try_from(traits.num_components()).map_err(|_| unsupported())?;
    let components = Components {
        component_size: size.checked_div(num_components).ok_or_else(unsupported)?,
        num_components,
        is_signed: traits.sign_extension(),
        bits: u32::try_from(traits.component_size_bits()).map_err(|_| unsupported())?,
    };
    let is_primitive = matches!(components.component_size, 1 | 2 | 4 | 8);
    if !is_primitive || components.bits == 0 || components.bits as usize > components.component_size * 8 {
        return Err(unsupported());
    }
    checked(configuration.bind_components(components, &known, ""))
}

fn failed(error: &PackBitsError) -> CodecError {
    CodecError::Other(error.to_string())
}

impl CodecTraitsV3 for PackBitsCodec {
    fn create(metadata: &MetadataV3) -> Result<Codec, PluginCreateError> {
        let configuration = checked(packbits::parse(members(metadata.configuration()).as_ref(), ""))?;
        let metadata = metadata.configuration().cloned().unwrap_or_default();
        Ok(Codec::ArrayToBytes(Arc::new(Self { metadata, configuration, bindings: Bindings::default() })))
    }
}

impl CodecTraits for PackBitsCodec {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _version: ZarrVersion, _options: &CodecMetadataOptions) -> Option<Configuration> {
        Some(self.metadata.clone())
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        // A chunk is unpacked whole. To say that parts cannot be decoded would make zarrs 0.23 put a cache of elements
        // behind this codec, which takes them for those of the codec before it: wrong after a `cast_value`.
        PartialDecoderCapability { partial_read: false, partial_decode: true }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability { partial_encode: false }
    }
}

impl ArrayCodecTraits for PackBitsCodec {
    fn recommended_concurrency(
        &self,
        _shape: &[NonZeroU64],
        data_type: &ZarrsDataType,
    ) -> Result<RecommendedConcurrency, CodecError> {
        self.codec(data_type)?;
        Ok(RecommendedConcurrency::new_maximum(1))
    }
}

impl ArrayToBytesCodecTraits for PackBitsCodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToBytesCodecTraits> {
        self
    }

    fn encoded_representation(
        &self,
        shape: &[NonZeroU64],
        data_type: &ZarrsDataType,
        _fill_value: &FillValue,
    ) -> Result<BytesRepresentation, CodecError> {
        let size =
            self.codec(data_type)?.encoded_size(num_elements(shape)?).ok_or_else(|| too_large(shape))?;
        Ok(BytesRepresentation::FixedSize(size as u64))
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &ZarrsDataType,
        _fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let codec = self.codec(data_type)?;
        let bytes = bytes.into_fixed()?;
        let expected = codec.decoded_size(num_elements(shape)?).ok_or_else(|| too_large(shape))?;
        if bytes.len() != expected {
            let found = bytes.len();
            return Err(failed(&PackBitsError::Length { side: "decoded", expected, found }));
        }
        let mut encoded = Vec::new();
        codec.encode(&bytes, &mut encoded).map_err(|error| failed(&error))?;
        Ok(encoded.into())
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        shape: &[NonZeroU64],
        data_type: &ZarrsDataType,
        _fill_value: &FillValue,
        _options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        let mut decoded = Vec::new();
        self.codec(data_type)?
            .decode(&bytes, num_elements(shape)?, &mut decoded)
            .map_err(|error| failed(&error))?;
        Ok(ArrayBytes::from(decoded))
    }
}
