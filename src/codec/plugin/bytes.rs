//! Codecs that turn bytes into bytes, for zarrs: what they decode to is bounded by what zarrs expects.

use std::sync::Arc;

use zarrs::array::{
    ArrayBytesRaw, BytesRepresentation, BytesToBytesCodecTraits, CodecError, CodecOptions, RecommendedConcurrency,
};

use super::array::OurCodec;
use super::representation;
use crate::codec::BytesCodec;
use crate::codec::kinds::{BytesSize, Contexts};

impl OurCodec {
    fn bytes_codec(&self) -> Result<BytesCodec, CodecError> {
        let own = self.own();
        BytesCodec::new(&own.name, own.configuration.as_ref()).map_err(CodecError::Other)
    }
}

/// A size as this crate has it.
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

    fn recommended_concurrency(&self, _: &BytesRepresentation) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }

    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        let codec = self.bytes_codec().ok();
        representation(codec.map_or(BytesSize::Unbounded, |codec| codec.encoded_size(bytes_size(*decoded))))
    }

    fn encode<'a>(&self, decoded: ArrayBytesRaw<'a>, _: &CodecOptions) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let mut encoded = Vec::new();
        let result = self.bytes_codec()?.encode(&decoded, &mut encoded, &mut Contexts::new());
        result.map(|()| encoded.into()).map_err(|error| CodecError::Other(error.to_string()))
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        representation: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let (mut decoded, bound) = (Vec::new(), bytes_size(*representation));
        let result = self.bytes_codec()?.decode(&encoded, &mut decoded, bound, &mut Contexts::new());
        result.map(|()| decoded.into()).map_err(|error| CodecError::Other(error.to_string()))
    }
}
