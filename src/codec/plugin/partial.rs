//! Parts of a chunk through an array->array codec.
//!
//! The elements of a part are encoded before anything is stored. What zarrs does without this reads the whole chunk
//! and erases it before it encodes: a value that cannot be encoded would cost the chunk. It also takes every codec
//! for one that treats each element by itself.

use std::sync::Arc;

use zarrs::array::{
    ArrayBytes, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits, ArraySubset, CodecError, CodecOptions,
    DataType, Indexer,
};
use zarrs::storage::StorageError;

use super::array::{Direction, OurCodec};

/// A codec in front of the handle that holds the encoded elements of a chunk.
pub(super) struct PartialChunk<T: ?Sized> {
    pub(super) handle: Arc<T>,
    pub(super) codec: Arc<OurCodec>,
    /// Of the decoded chunk.
    pub(super) data_type: DataType,
    /// Of the chunk, where the codec does not treat each element by itself.
    pub(super) whole: Option<Vec<u64>>,
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

    fn partial_decode(
        &self,
        indexer: &dyn Indexer,
        options: &CodecOptions,
    ) -> Result<ArrayBytes<'_>, CodecError> {
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

    fn erase(&self) -> Result<(), CodecError> {
        self.handle.erase()
    }

    fn partial_encode(
        &self,
        indexer: &dyn Indexer,
        bytes: &ArrayBytes<'_>,
        options: &CodecOptions,
    ) -> Result<(), CodecError> {
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
