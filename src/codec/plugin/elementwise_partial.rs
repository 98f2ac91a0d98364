//! Parts of a chunk through a codec that treats each element by itself.
//!
//! The elements of a part are encoded before anything is stored. What zarrs does without this reads the whole chunk
//! and erases it before it encodes: a value that cannot be encoded would cost the chunk.

use std::sync::Arc;

use zarrs::array::{
    ArrayBytes, ArrayPartialDecoderTraits, ArrayPartialEncoderTraits, CodecError, CodecOptions, DataType,
    Indexer,
};
use zarrs::storage::StorageError;

/// A direction through a codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Encode,
    Decode,
}

/// A codec that converts elements, wherever they stand in their chunk.
pub(super) trait ConvertElements: Send + Sync + 'static {
    /// Converts `num_elements` elements of an array whose decoded elements are of `data_type`.
    fn convert<'a>(
        &self,
        direction: Direction,
        bytes: ArrayBytes<'a>,
        num_elements: Option<u64>,
        data_type: &DataType,
    ) -> Result<ArrayBytes<'a>, CodecError>;
}

/// A codec in front of the handle that holds the encoded elements.
pub(super) struct ElementwisePartial<T: ?Sized, C: ConvertElements> {
    handle: Arc<T>,
    codec: Arc<C>,
    data_type: DataType,
}

impl<T: ?Sized, C: ConvertElements> ElementwisePartial<T, C> {
    pub(super) fn new(handle: Arc<T>, codec: Arc<C>, data_type: DataType) -> Self {
        ElementwisePartial { handle, codec, data_type }
    }
}

impl<T, C> ArrayPartialDecoderTraits for ElementwisePartial<T, C>
where
    T: ArrayPartialDecoderTraits + ?Sized,
    C: ConvertElements,
{
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
        let encoded = self.handle.partial_decode(indexer, options)?;
        self.codec.convert(Direction::Decode, encoded, Some(indexer.len()), &self.data_type)
    }

    fn supports_partial_decode(&self) -> bool {
        self.handle.supports_partial_decode()
    }
}

impl<T, C> ArrayPartialEncoderTraits for ElementwisePartial<T, C>
where
    T: ArrayPartialEncoderTraits + ?Sized,
    C: ConvertElements,
{
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
        let count = Some(indexer.len());
        let encoded = self.codec.convert(Direction::Encode, bytes.clone(), count, &self.data_type)?;
        self.handle.partial_encode(indexer, &encoded, options)
    }

    fn supports_partial_encode(&self) -> bool {
        self.handle.supports_partial_encode()
    }
}
