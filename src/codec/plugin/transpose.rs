//! `transpose` for zarrs, which reads "C", "F" and the empty permutation.
//!
//! Any other permutation is left to the codec that zarrs brings. Of the letters, whole chunks of fixed-size elements are
//! permuted here; parts of chunks, and elements of variable size, by that codec. Its asynchronous partial decoder is
//! not offered for a letter: zarrs is used without its feature `async` here.

use std::any::Any;
use std::num::NonZeroU64;
use std::sync::Arc;

use zarrs::array::codec::TransposeCodec as ZarrsTranspose;
use zarrs::array::codec::TransposeOrder as ZarrsOrder;
use zarrs::array::codec::api::{PartialDecoderCapability, PartialEncoderCapability};
use zarrs::array::{
    ArrayBytes, ArrayCodecTraits, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits,
    ArrayToArrayCodecTraits, ChunkShape, Codec, CodecError, CodecMetadataOptions, CodecOptions, CodecTraits,
    CodecTraitsV3, DataType, FillValue, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{PluginCreateError, ZarrVersion};

use super::{checked, members};
use crate::codec::kinds::transpose::{self, TransposeConfiguration, TransposeOrder};
use crate::kernel::transpose::{Transpose, inverse};

/// `transpose` by a letter or by the empty permutation, as zarrs has it.
#[derive(Debug)]
pub(super) struct TransposeCodec {
    /// What was read, to be written again.
    metadata: Configuration,
    configuration: TransposeConfiguration,
}

zarrs::plugin::impl_extension_aliases!(TransposeCodec, v3: "transpose");

impl TransposeCodec {
    fn order(&self, dimensions: usize) -> Result<Vec<usize>, CodecError> {
        checked(self.configuration.bind_rank(dimensions, "")).map_err(CodecError::Other)
    }

    /// The codec of zarrs; `None` where nothing moves.
    fn of_zarrs(&self, dimensions: usize) -> Result<Option<Arc<ZarrsTranspose>>, CodecError> {
        let order = self.order(dimensions)?;
        if order.is_sorted() {
            return Ok(None);
        }
        Ok(Some(Arc::new(ZarrsTranspose::new(ZarrsOrder(order)))))
    }

    fn permuted(&self, shape: &[NonZeroU64], data_type: &DataType) -> Result<Transpose, CodecError> {
        let size = data_type.fixed_size().unwrap_or(0);
        let extents: Vec<u64> = shape.iter().map(|extent| extent.get()).collect();
        Transpose::new(&extents, &self.order(shape.len())?, size)
            .map_err(|error| CodecError::Other(format!("`transpose`: {error}")))
    }
}

/// Whether elements are of one size and without a mask beside them.
fn is_plain(data_type: &DataType) -> bool {
    data_type.is_fixed() && !data_type.is_optional()
}

impl CodecTraitsV3 for TransposeCodec {
    fn create(metadata: &MetadataV3) -> Result<Codec, PluginCreateError> {
        let configuration = checked(transpose::parse(members(metadata.configuration()).as_ref(), ""))?;
        if let TransposeOrder::Permutation(order) = &configuration.order
            && !order.is_empty()
        {
            return Ok(Codec::ArrayToArray(Arc::new(ZarrsTranspose::new(ZarrsOrder(order.clone())))));
        }
        let metadata = metadata.configuration().cloned().unwrap_or_default();
        Ok(Codec::ArrayToArray(Arc::new(Self { metadata, configuration })))
    }
}

impl CodecTraits for TransposeCodec {
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

impl ArrayCodecTraits for TransposeCodec {
    fn recommended_concurrency(
        &self,
        shape: &[NonZeroU64],
        _data_type: &DataType,
    ) -> Result<RecommendedConcurrency, CodecError> {
        self.order(shape.len())?;
        Ok(RecommendedConcurrency::new_maximum(1))
    }
}

impl ArrayToArrayCodecTraits for TransposeCodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToArrayCodecTraits> {
        self
    }

    fn encoded_data_type(&self, decoded_data_type: &DataType) -> Result<DataType, CodecError> {
        if decoded_data_type.is_optional() {
            return Err(CodecError::UnsupportedDataType(decoded_data_type.clone(), "transpose".to_owned()));
        }
        Ok(decoded_data_type.clone())
    }

    fn encoded_fill_value(
        &self,
        _: &DataType,
        decoded_fill_value: &FillValue,
    ) -> Result<FillValue, CodecError> {
        Ok(decoded_fill_value.clone())
    }

    fn encoded_shape(&self, decoded_shape: &[NonZeroU64]) -> Result<ChunkShape, CodecError> {
        Ok(self.order(decoded_shape.len())?.into_iter().map(|dimension| decoded_shape[dimension]).collect())
    }

    fn decoded_shape(&self, encoded_shape: &[NonZeroU64]) -> Result<Option<ChunkShape>, CodecError> {
        let inverse = inverse(&self.order(encoded_shape.len())?).unwrap_or_default();
        Ok(Some(inverse.into_iter().map(|dimension| encoded_shape[dimension]).collect()))
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        if !is_plain(data_type) {
            return match self.of_zarrs(shape.len())? {
                Some(codec) => codec.encode(bytes, shape, data_type, fill_value, options),
                None => Ok(bytes),
            };
        }
        let transpose = self.permuted(shape, data_type)?;
        permute(bytes, transpose.is_identity(), |from, to| transpose.encode(from, to))
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>, CodecError> {
        if !is_plain(data_type) {
            return match self.of_zarrs(shape.len())? {
                Some(codec) => codec.decode(bytes, shape, data_type, fill_value, options),
                None => Ok(bytes),
            };
        }
        let transpose = self.permuted(shape, data_type)?;
        permute(bytes, transpose.is_identity(), |from, to| transpose.decode(from, to))
    }

    fn partial_decoder(
        self: Arc<Self>,
        input_handle: Arc<dyn ArrayPartialDecoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialDecoderTraits>, CodecError> {
        match self.of_zarrs(shape.len())? {
            Some(codec) => codec.partial_decoder(input_handle, shape, data_type, fill_value, options),
            None => Ok(input_handle),
        }
    }

    fn partial_encoder(
        self: Arc<Self>,
        input_output_handle: Arc<dyn ArrayPartialEncoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialEncoderTraits>, CodecError> {
        match self.of_zarrs(shape.len())? {
            Some(codec) => codec.partial_encoder(input_output_handle, shape, data_type, fill_value, options),
            None => Ok(input_output_handle),
        }
    }
}

fn permute(
    bytes: ArrayBytes<'_>,
    is_identity: bool,
    run: impl FnOnce(&[u8], &mut [u8]) -> Result<(), crate::kernel::transpose::TransposeError>,
) -> Result<ArrayBytes<'_>, CodecError> {
    if is_identity {
        return Ok(bytes);
    }
    let bytes = bytes.into_fixed()?;
    let mut permuted = vec![0; bytes.len()];
    run(&bytes, &mut permuted).map_err(|error| CodecError::Other(format!("`transpose`: {error}")))?;
    Ok(ArrayBytes::from(permuted))
}
