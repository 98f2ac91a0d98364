//! The codecs of this crate for zarrs. Each is a chain of one codec, bound to the data that zarrs passes. The decoded
//! size of bytes->bytes codecs is limited to the one that zarrs expects.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Display;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::cast_slice;
use zarrs::array::codec::api::{PartialDecoderCapability, PartialEncoderCapability};
use zarrs::array::codec::{TransposeCodec, TransposeOrder};
use zarrs::array::{
    ArrayBytes, ArrayBytesRaw, ArrayCodecTraits, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits, ArraySubset,
    ArrayToArrayCodecTraits, ArrayToBytesCodecTraits, BytesPartialDecoderTraits, BytesPartialEncoderTraits,
    BytesRepresentation, BytesToBytesCodecTraits, ChunkShape, CodecError, CodecMetadataOptions, CodecOptions,
    CodecTraits, DataType, FillValue, Indexer, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::plugin::{ExtensionName, ZarrVersion};
use zarrs::storage::StorageError;

use super::{NarrowIntegerDataType, bytes_size, checked, from_zarrs, representation, to_zarrs};
use crate::codec::kinds::Contexts;
use crate::codec::registry::Entry;
use crate::codec::{BoundChain, BytesCodec, ChainFault, PerShape, Workspace};
use crate::data_type;
use crate::metadata::{CodecMetadata, Json};
use crate::pipeline::{ArrayRepresentation, BytesSize, CodecKind, Completeness, Pipeline, Representation};

/// [`BoundChain::encode`] or [`BoundChain::decode`].
type Direction = fn(&BoundChain, &[u8], &mut Vec<u8>, &mut Workspace) -> Result<(), ChainFault>;

/// The chains that were bound to a data type and a fill value, by shape.
pub(super) type Bindings = (DataType, Option<FillValue>, PerShape<BoundChain>);

type Result<T, E = CodecError> = std::result::Result<T, E>;

/// A codec as zarrs' traits.
#[derive(Debug)]
pub(super) struct OurCodec {
    pub(super) entry: Entry,
    pub(super) own: CodecMetadata,
    /// The configuration that was read, to write it again.
    pub(super) configuration: Configuration,
    pub(super) bound: Mutex<Vec<Bindings>>,
}

impl OurCodec {
    /// Returns zarrs' codec for a `transpose` whose `order` depends on the number of dimensions. zarrs does not read
    /// letters. `None` for any other codec.
    fn transpose(&self, rank: usize) -> Option<Arc<TransposeCodec>> {
        let is_reversed = self.own.member("order") == Some(&Json::from("F"));
        let order = (0..rank).map(|index| if is_reversed { rank - 1 - index } else { index }).collect();
        (self.entry.name == "transpose").then(|| Arc::new(TransposeCodec::new(TransposeOrder(order))))
    }

    /// Returns true if an array->array codec converts only whole chunks, not each element by itself.
    fn takes_whole(&self) -> bool {
        self.entry.name == "numcodecs.delta"
    }

    /// Returns the chain of this codec alone for chunks of a shape.
    fn chain(&self, shape: &[u64], data_type: &DataType, fill_value: Option<&FillValue>) -> Result<Arc<BoundChain>> {
        // A panic while the lock is held leaves the list valid, because entries are only appended.
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let known = bound.iter().position(|entry| entry.0 == *data_type && entry.1.as_ref() == fill_value);
        let index = known.unwrap_or_else(|| {
            bound.push((data_type.clone(), fill_value.cloned(), PerShape::default()));
            bound.len() - 1
        });
        let by_shape = bound[index].2.clone();
        // Binding is slow. It needs only the lock of its own list of shapes.
        drop(bound);
        let chain = by_shape.get(shape, || self.bind(shape, from_zarrs(data_type), fill_value));
        chain.map_err(|reason| CodecError::Other(format!("`{}` on `{data_type}`: {reason}", self.entry.name)))
    }

    fn bind(
        &self,
        shape: &[u64],
        data_type: data_type::DataType,
        fill_value: Option<&FillValue>,
    ) -> Result<BoundChain, String> {
        let fill_value = fill_value.map(|fill_value| data_type::FillValue(fill_value.as_ne_bytes().to_vec()));
        if let (Some(fill_value), Some(size)) = (&fill_value, data_type.size())
            && fill_value.0.len() != size
        {
            return Err(format!("the fill value has {} bytes, an element {size}", fill_value.0.len()));
        }
        if matches!(data_type, data_type::DataType::Other(_)) {
            return Err("the data type is not supported".to_owned());
        }
        let input = ArrayRepresentation { data_type, shape: shape.to_vec(), fill_value };
        let (codecs, mut found) = (std::slice::from_ref(&self.own), Vec::new());
        let pipeline = Pipeline::build(input, codecs, Completeness::Partial, "/codecs", &mut found);
        checked(found)?;
        BoundChain::bind(&pipeline).map_err(|error| error.to_string())
    }

    /// Runs the codec on a chunk with this decoded shape and type.
    fn run(&self, direction: Direction, source: &[u8], shape: &[u64], data_type: &DataType) -> Result<Vec<u8>> {
        let chain = self.chain(shape, data_type, None)?;
        let (mut target, mut workspace) = (Vec::new(), Workspace::default());
        let result = direction(&chain, source, &mut target, &mut workspace);
        let origin = vec![0; shape.len()];
        result.map_err(|fault| CodecError::Other(fault.sentence_at(&origin)))?;
        Ok(target)
    }

    fn fault(&self, error: impl Display) -> CodecError {
        CodecError::Other(format!("`{}`: {error}", self.entry.name))
    }

    fn bytes_codec(&self) -> Result<BytesCodec> {
        BytesCodec::new(&self.own.name, self.own.configuration.as_ref()).map_err(CodecError::Other)
    }
}

impl ExtensionName for OurCodec {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        (version == ZarrVersion::V3).then_some(Cow::Borrowed(self.entry.name))
    }
}

impl CodecTraits for OurCodec {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        Some(self.configuration.clone())
    }

    /// Reports that parts can be decoded. Otherwise zarrs 0.23 would add a cache of elements after this codec. It would
    /// use them as those of the codec before it, which is wrong after a `cast_value`.
    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        let takes_parts = self.entry.kind == CodecKind::ArrayToArray && !self.takes_whole();
        let takes_array = self.entry.kind != CodecKind::BytesToBytes;
        PartialDecoderCapability { partial_read: takes_parts, partial_decode: takes_array }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        // zarrs would erase a chunk before it encodes the new one. A value that cannot be encoded would lose the chunk.
        PartialEncoderCapability { partial_encode: false }
    }
}

impl ArrayCodecTraits for OurCodec {
    fn recommended_concurrency(&self, _: &[NonZeroU64], _: &DataType) -> Result<RecommendedConcurrency> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }
}

impl ArrayToArrayCodecTraits for OurCodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToArrayCodecTraits> {
        self
    }

    fn encoded_data_type(&self, decoded: &DataType) -> Result<DataType> {
        if let Some(transpose) = self.transpose(0) {
            return transpose.encoded_data_type(decoded);
        }
        // The codecs registered here give the same type for any shape. `reshape` and `numcodecs.packbits` are not among
        // them.
        let chain = self.chain(&[1], decoded, None)?;
        match chain.encoded() {
            Representation::Array(array) if array.data_type != chain.decoded().data_type => {
                to_zarrs(&array.data_type).map_err(CodecError::Other)
            }
            _ => Ok(decoded.clone()),
        }
    }

    fn encoded_fill_value(&self, decoded: &DataType, fill_value: &FillValue) -> Result<FillValue> {
        if let Some(transpose) = self.transpose(0) {
            return transpose.encoded_fill_value(decoded, fill_value);
        }
        let encoded = self.chain(&[1], decoded, Some(fill_value))?.encoded();
        match encoded.array().and_then(|array| array.fill_value.clone()) {
            Some(encoded) => Ok(FillValue::new(encoded.0)),
            // The fill value is not followed through filters of numcodecs.
            None => self.run(BoundChain::encode, fill_value.as_ne_bytes(), &[1], decoded).map(FillValue::new),
        }
    }

    fn encoded_shape(&self, decoded: &[NonZeroU64]) -> Result<ChunkShape> {
        self.transpose(decoded.len()).map_or_else(|| Ok(decoded.to_vec()), |codec| codec.encoded_shape(decoded))
    }

    fn decoded_shape(&self, encoded: &[NonZeroU64]) -> Result<Option<ChunkShape>> {
        // The orders of `Self::transpose` are the identity and the reversal. Each is its own inverse.
        self.encoded_shape(encoded).map(Some)
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>> {
        match self.transpose(shape.len()) {
            Some(codec) => codec.encode(bytes, shape, data_type, fill_value, options),
            None => {
                self.run(BoundChain::encode, &bytes.into_fixed()?, cast_slice(shape), data_type).map(ArrayBytes::from)
            }
        }
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>> {
        match self.transpose(shape.len()) {
            Some(codec) => codec.decode(bytes, shape, data_type, fill_value, options),
            None => {
                self.run(BoundChain::decode, &bytes.into_fixed()?, cast_slice(shape), data_type).map(ArrayBytes::from)
            }
        }
    }

    fn partial_decoder(
        self: Arc<Self>,
        handle: Arc<dyn ArrayPartialDecoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialDecoderTraits>> {
        if let Some(codec) = self.transpose(shape.len()) {
            return codec.partial_decoder(handle, shape, data_type, fill_value, options);
        }
        let whole = self.takes_whole().then(|| cast_slice(shape).to_vec());
        Ok(Arc::new(PartialChunk { handle, codec: self, data_type: data_type.clone(), whole }))
    }
}

impl ArrayToBytesCodecTraits for OurCodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn ArrayToBytesCodecTraits> {
        self
    }

    fn encoded_representation(
        &self,
        shape: &[NonZeroU64],
        data_type: &DataType,
        _: &FillValue,
    ) -> Result<BytesRepresentation> {
        match self.chain(cast_slice(shape), data_type, None)?.encoded() {
            Representation::Bytes(size) => Ok(representation(size)),
            Representation::Array(_) => Ok(BytesRepresentation::UnboundedSize),
        }
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        _: &FillValue,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>> {
        self.run(BoundChain::encode, &bytes.into_fixed()?, cast_slice(shape), data_type).map(Into::into)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        _: &FillValue,
        _: &CodecOptions,
    ) -> Result<ArrayBytes<'a>> {
        self.run(BoundChain::decode, &bytes, cast_slice(shape), data_type).map(ArrayBytes::from)
    }
}

/// Parts of a chunk: a codec before the handle to the encoded elements.
struct PartialChunk {
    handle: Arc<dyn ArrayPartialDecoderTraits>,
    codec: Arc<OurCodec>,
    data_type: DataType,
    /// The shape of the chunk, if the codec does not convert each element by itself.
    whole: Option<Vec<u64>>,
}

impl ArrayPartialDecoderTraits for PartialChunk {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn exists(&self) -> Result<bool, StorageError> {
        self.handle.exists()
    }

    fn size_held(&self) -> usize {
        self.handle.size_held()
    }

    fn partial_decode(&self, indexer: &dyn Indexer, options: &CodecOptions) -> Result<ArrayBytes<'_>> {
        let Some(shape) = &self.whole else {
            let encoded = self.handle.partial_decode(indexer, options)?;
            let run = self.codec.run(BoundChain::decode, &encoded.into_fixed()?, &[indexer.len()], &self.data_type);
            return run.map(ArrayBytes::from);
        };
        let all = ArraySubset::new_with_shape(shape.clone());
        let encoded = self.handle.partial_decode(&all, options)?;
        let decoded = self.codec.run(BoundChain::decode, &encoded.into_fixed()?, shape, &self.data_type)?;
        Ok(ArrayBytes::from(decoded).extract_array_subset(indexer, shape, &self.data_type)?.into_owned())
    }

    fn supports_partial_decode(&self) -> bool {
        self.handle.supports_partial_decode()
    }
}

impl BytesToBytesCodecTraits for OurCodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(&self, _: &BytesRepresentation) -> Result<RecommendedConcurrency> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }

    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        let codec = self.bytes_codec().ok();
        representation(codec.map_or(BytesSize::Unbounded, |codec| codec.encoded_size(bytes_size(*decoded))))
    }

    fn encode<'a>(&self, decoded: ArrayBytesRaw<'a>, _: &CodecOptions) -> Result<ArrayBytesRaw<'a>> {
        let mut encoded = Vec::new();
        let result = self.bytes_codec()?.encode(&decoded, &mut encoded, &mut Contexts::default());
        result.map(|()| encoded.into()).map_err(|error| self.fault(error))
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        representation: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>> {
        let (mut decoded, bound) = (Vec::new(), bytes_size(*representation));
        let result = self.bytes_codec()?.decode(&encoded, &mut decoded, bound, &mut Contexts::default());
        result.map(|()| decoded.into()).map_err(|error| self.fault(error))
    }
}

/// `bytes`, which zarrs has, too: the codec of this crate for some data types, that of zarrs for the others.
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
    fn recommended_concurrency(&self, _: &[NonZeroU64], _: &DataType) -> Result<RecommendedConcurrency> {
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
    ) -> Result<BytesRepresentation> {
        self.of(data_type).encoded_representation(shape, data_type, fill_value)
    }

    fn encode<'a>(
        &self,
        bytes: ArrayBytes<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>> {
        self.of(data_type).encode(bytes, shape, data_type, fill_value, options)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'a>> {
        self.of(data_type).decode(bytes, shape, data_type, fill_value, options)
    }

    fn partial_decoder(
        self: Arc<Self>,
        handle: Arc<dyn BytesPartialDecoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialDecoderTraits>> {
        self.of(data_type).partial_decoder(handle, shape, data_type, fill_value, options)
    }

    fn partial_encoder(
        self: Arc<Self>,
        handle: Arc<dyn BytesPartialEncoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialEncoderTraits>> {
        self.of(data_type).partial_encoder(handle, shape, data_type, fill_value, options)
    }
}
