//! The codecs of this crate for zarrs. Each is a chain of one codec, bound to the data that zarrs passes. The decoded
//! size of bytes->bytes codecs is limited to the one that zarrs expects.

use std::any::Any;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::cast_slice;
use zarrs::array::codec::api::{PartialDecoderCapability, PartialEncoderCapability};
use zarrs::array::codec::{TransposeCodec, TransposeOrder};
use zarrs::array::{
    ArrayBytes, ArrayBytesRaw, ArrayCodecTraits, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits, ArraySubset,
    ArrayToArrayCodecTraits, ArrayToBytesCodecTraits, BytesRepresentation, BytesToBytesCodecTraits, ChunkShape,
    CodecError, CodecMetadataOptions, CodecOptions, CodecTraits, DataType, FillValue, Indexer, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{ExtensionName, ZarrVersion};
use zarrs::storage::StorageError;

use super::{checked, representation};
use crate::codec::kinds::{BytesSize, Contexts};
use crate::codec::{BoundChain, BytesCodec, PerShape, Workspace};
use crate::data_type;
use crate::metadata::{CodecMetadata, Json, Object};
use crate::pipeline::{ArrayRepresentation, CodecKind, Completeness, Pipeline, Representation, codec_kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Encode,
    Decode,
}

/// The chains that were bound to a data type and a fill value, by shape.
type Bindings = (DataType, Option<FillValue>, PerShape<BoundChain>);

type Result<T, E = CodecError> = std::result::Result<T, E>;

/// A codec as zarrs' traits.
#[derive(Debug)]
pub(super) struct OurCodec {
    name: &'static str,
    own: CodecMetadata,
    /// The configuration that was read, to write it again.
    metadata: Configuration,
    bound: Mutex<Vec<Bindings>>,
}

impl OurCodec {
    pub(super) fn new(name: &'static str, own: CodecMetadata, metadata: Configuration) -> Self {
        OurCodec { name, own, metadata, bound: Mutex::default() }
    }

    /// Returns true if the codec reverses `rank` dimensions, false if it is a `transpose` that changes nothing. `None`
    /// for any other codec.
    fn reverses(&self, rank: usize) -> Option<bool> {
        let is_reversed = || rank > 1 && self.own.member("order") == Some(&Json::from("F"));
        (self.name == "transpose").then(is_reversed)
    }

    /// Returns true if an array->array codec converts only whole chunks, not each element by itself.
    fn takes_whole(&self) -> bool {
        self.name == "numcodecs.delta"
    }

    fn takes_parts(&self) -> bool {
        codec_kind(self.name) == Some(CodecKind::ArrayToArray) && !self.takes_whole()
    }

    /// Returns the chain of this codec alone for chunks of a shape.
    fn chain(&self, shape: &[u64], data_type: &DataType, fill_value: Option<&FillValue>) -> Result<Arc<BoundChain>> {
        // A panic while the lock is held leaves the list valid, because entries are only appended.
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let known = bound.iter().find(|entry| entry.0 == *data_type && entry.1.as_ref() == fill_value);
        let by_shape = known.map(|entry| entry.2.clone()).unwrap_or_default();
        if known.is_none() {
            bound.push((data_type.clone(), fill_value.cloned(), by_shape.clone()));
        }
        drop(bound);
        let chain = by_shape.get(shape, || self.bind(shape, from_zarrs(data_type), fill_value));
        chain.map_err(|reason| CodecError::Other(format!("`{}` on `{data_type}`: {reason}", self.name)))
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
    pub(super) fn convert(
        &self,
        direction: Direction,
        bytes: ArrayBytes<'_>,
        shape: &[u64],
        data_type: &DataType,
    ) -> Result<ArrayBytes<'static>> {
        self.run(direction, &bytes.into_fixed()?, shape, data_type).map(ArrayBytes::from)
    }

    fn run(&self, direction: Direction, source: &[u8], shape: &[u64], data_type: &DataType) -> Result<Vec<u8>> {
        let chain = self.chain(shape, data_type, None)?;
        let (mut target, mut workspace) = (Vec::new(), Workspace::default());
        let result = match direction {
            Direction::Encode => chain.encode(source, &mut target, &mut workspace),
            Direction::Decode => chain.decode(source, &mut target, &mut workspace),
        };
        let origin = vec![0; shape.len()];
        result.map_err(|fault| CodecError::Other(fault.sentence_at(&origin)))?;
        Ok(target)
    }

    /// Makes the parts of a chunk of this shape, for a handle to the whole chunk.
    fn part<T: ?Sized>(self: Arc<Self>, handle: Arc<T>, shape: &[u64], data_type: &DataType) -> PartialChunk<T> {
        let whole = self.takes_whole().then(|| shape.to_vec());
        PartialChunk { handle, codec: self, data_type: data_type.clone(), whole }
    }

    fn bytes_codec(&self) -> Result<BytesCodec> {
        BytesCodec::new(&self.own.name, self.own.configuration.as_ref()).map_err(CodecError::Other)
    }
}

/// Returns zarrs' codec that reverses `rank` dimensions.
fn reversing(rank: usize) -> Arc<TransposeCodec> {
    Arc::new(TransposeCodec::new(TransposeOrder((0..rank).rev().collect())))
}

/// Converts a data type of zarrs to that of this crate. `Other` if there is none.
pub(crate) fn from_zarrs(data_type: &DataType) -> data_type::DataType {
    let name = data_type.name_v3().unwrap_or_default().into_owned();
    let configuration = super::members(Some(&data_type.configuration_v3())).unwrap_or_default();
    let metadata = if configuration.is_empty() {
        Json::from(name)
    } else {
        Json::from(Object::new().with("name", name).with("configuration", configuration))
    };
    data_type::DataType::from_metadata(&metadata).unwrap_or(data_type::DataType::Other(metadata))
}

impl ExtensionName for OurCodec {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        (version == ZarrVersion::V3).then_some(Cow::Borrowed(self.name))
    }
}

impl CodecTraits for OurCodec {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        Some(self.metadata.clone())
    }

    /// Reports that parts can be decoded. Otherwise zarrs 0.23 would add a cache of elements after this codec. It would
    /// use them as those of the codec before it, which is wrong after a `cast_value`.
    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        let takes_array = codec_kind(self.name) != Some(CodecKind::BytesToBytes);
        PartialDecoderCapability { partial_read: self.takes_parts(), partial_decode: takes_array }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability { partial_encode: self.takes_parts() }
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
        if self.name == "transpose" {
            return reversing(0).encoded_data_type(decoded);
        }
        let chain = self.chain(&[1], decoded, None)?;
        match chain.encoded() {
            Representation::Array(array) if array.data_type != chain.decoded().data_type => {
                DataType::from_metadata(&MetadataV3::new(array.data_type.name()))
                    .map_err(|error| CodecError::Other(error.to_string()))
            }
            _ => Ok(decoded.clone()),
        }
    }

    fn encoded_fill_value(&self, decoded: &DataType, fill_value: &FillValue) -> Result<FillValue> {
        if self.name == "transpose" {
            return Ok(fill_value.clone());
        }
        let encoded = self.chain(&[1], decoded, Some(fill_value))?.encoded();
        match encoded.array().and_then(|array| array.fill_value.clone()) {
            Some(encoded) => Ok(FillValue::new(encoded.0)),
            // The fill value is not followed through filters of numcodecs.
            None => self.run(Direction::Encode, fill_value.as_ne_bytes(), &[1], decoded).map(FillValue::new),
        }
    }

    fn encoded_shape(&self, decoded: &[NonZeroU64]) -> Result<ChunkShape> {
        let mut shape = decoded.to_vec();
        if self.reverses(shape.len()) == Some(true) {
            shape.reverse();
        }
        Ok(shape)
    }

    fn decoded_shape(&self, encoded: &[NonZeroU64]) -> Result<Option<ChunkShape>> {
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
        match self.reverses(shape.len()) {
            Some(false) => Ok(bytes),
            Some(true) => reversing(shape.len()).encode(bytes, shape, data_type, fill_value, options),
            None => self.convert(Direction::Encode, bytes, cast_slice(shape), data_type),
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
        match self.reverses(shape.len()) {
            Some(false) => Ok(bytes),
            Some(true) => reversing(shape.len()).decode(bytes, shape, data_type, fill_value, options),
            None => self.convert(Direction::Decode, bytes, cast_slice(shape), data_type),
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
        match self.reverses(shape.len()) {
            Some(false) => Ok(handle),
            Some(true) => reversing(shape.len()).partial_decoder(handle, shape, data_type, fill_value, options),
            None => Ok(Arc::new(self.part(handle, cast_slice(shape), data_type))),
        }
    }

    fn partial_encoder(
        self: Arc<Self>,
        handle: Arc<dyn ArrayPartialEncoderTraits>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill_value: &FillValue,
        options: &CodecOptions,
    ) -> Result<Arc<dyn ArrayPartialEncoderTraits>> {
        match self.reverses(shape.len()) {
            Some(false) => Ok(handle),
            Some(true) => reversing(shape.len()).partial_encoder(handle, shape, data_type, fill_value, options),
            None => Ok(Arc::new(self.part(handle, cast_slice(shape), data_type))),
        }
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
        self.run(Direction::Encode, &bytes.into_fixed()?, cast_slice(shape), data_type).map(Into::into)
    }

    fn decode<'a>(
        &self,
        bytes: ArrayBytesRaw<'a>,
        shape: &[NonZeroU64],
        data_type: &DataType,
        _: &FillValue,
        _: &CodecOptions,
    ) -> Result<ArrayBytes<'a>> {
        self.run(Direction::Decode, &bytes, cast_slice(shape), data_type).map(ArrayBytes::from)
    }
}

/// Parts of a chunk: a codec before the handle to the encoded elements.
///
/// The elements of a part are encoded before anything is stored. Without this, zarrs reads the whole chunk and erases
/// it before encoding. A value that cannot be encoded would then lose the chunk.
struct PartialChunk<T: ?Sized> {
    handle: Arc<T>,
    codec: Arc<OurCodec>,
    data_type: DataType,
    /// The shape of the chunk, if the codec does not convert each element by itself.
    whole: Option<Vec<u64>>,
}

impl<T: ArrayPartialDecoderTraits + ?Sized> ArrayPartialDecoderTraits for PartialChunk<T> {
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
            return self.codec.convert(Direction::Decode, encoded, &[indexer.len()], &self.data_type);
        };
        let all = ArraySubset::new_with_shape(shape.clone());
        let encoded = self.handle.partial_decode(&all, options)?;
        let decoded = self.codec.convert(Direction::Decode, encoded, shape, &self.data_type)?;
        Ok(decoded.extract_array_subset(indexer, shape, &self.data_type)?.into_owned())
    }

    fn supports_partial_decode(&self) -> bool {
        self.handle.supports_partial_decode()
    }
}

impl<T: ArrayPartialEncoderTraits + ?Sized> ArrayPartialEncoderTraits for PartialChunk<T> {
    fn into_dyn_decoder(self: Arc<Self>) -> Arc<dyn ArrayPartialDecoderTraits> {
        self
    }

    fn erase(&self) -> Result<()> {
        self.handle.erase()
    }

    fn partial_encode(&self, indexer: &dyn Indexer, bytes: &ArrayBytes<'_>, options: &CodecOptions) -> Result<()> {
        let Some(shape) = &self.whole else {
            let count = &[indexer.len()];
            let encoded = self.codec.convert(Direction::Encode, bytes.clone(), count, &self.data_type)?;
            return self.handle.partial_encode(indexer, &encoded, options);
        };
        let all = ArraySubset::new_with_shape(shape.clone());
        let size = self.data_type.size();
        let decoded = self.partial_decode(&all, options)?;
        let decoded = zarrs::array::update_array_bytes(decoded, shape, indexer, bytes, size)?;
        let encoded = self.codec.convert(Direction::Encode, decoded, shape, &self.data_type)?;
        self.handle.partial_encode(&all, &encoded, options)
    }

    fn supports_partial_encode(&self) -> bool {
        self.handle.supports_partial_encode()
    }
}

/// Converts a size of zarrs to that of this crate.
pub(crate) fn bytes_size(representation: BytesRepresentation) -> BytesSize {
    match representation {
        BytesRepresentation::FixedSize(bytes) => BytesSize::Fixed(bytes),
        BytesRepresentation::BoundedSize(bytes) => BytesSize::Bounded(bytes),
        BytesRepresentation::UnboundedSize => BytesSize::Unbounded,
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
        result.map(|()| encoded.into()).map_err(|error| CodecError::Other(error.to_string()))
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        representation: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>> {
        let (mut decoded, bound) = (Vec::new(), bytes_size(*representation));
        let result = self.bytes_codec()?.decode(&encoded, &mut decoded, bound, &mut Contexts::default());
        result.map(|()| decoded.into()).map_err(|error| CodecError::Other(error.to_string()))
    }
}
