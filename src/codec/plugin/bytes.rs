//! Codecs that turn bytes into bytes, for zarrs: what they decode to is bounded by what zarrs expects.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use zarrs::array::codec::api::{PartialDecoderCapability, PartialEncoderCapability};
use zarrs::array::{
    ArrayBytesRaw, BytesRepresentation, BytesToBytesCodecTraits, Codec, CodecError, CodecMetadataOptions,
    CodecOptions, CodecTraits, RecommendedConcurrency,
};
use zarrs::metadata::Configuration;
use zarrs::plugin::{ExtensionName, PluginCreateError, ZarrVersion};

use crate::codec::kinds::{BytesCodec, BytesSize, Contexts, DecodedSize};
use crate::metadata::extension::CodecMetadata;

/// A bytes->bytes codec as zarrs has it.
#[derive(Debug)]
pub(super) struct OurBytesCodec {
    /// What was read, to be written again.
    metadata: Configuration,
    codec: BytesCodec,
}

impl OurBytesCodec {
    pub(super) fn create(own: &CodecMetadata, metadata: Configuration) -> Result<Codec, PluginCreateError> {
        let codec = BytesCodec::new(&own.name, own.configuration.as_ref())?;
        Ok(Codec::BytesToBytes(Arc::new(OurBytesCodec { metadata, codec })))
    }
}

fn size(representation: BytesRepresentation) -> BytesSize {
    match representation {
        BytesRepresentation::FixedSize(bytes) => BytesSize::Fixed(bytes),
        BytesRepresentation::BoundedSize(bytes) => BytesSize::Bounded(bytes),
        BytesRepresentation::UnboundedSize => BytesSize::Unbounded,
    }
}

/// A size as zarrs has it.
pub(super) fn representation(size: BytesSize) -> BytesRepresentation {
    match size {
        BytesSize::Fixed(bytes) => BytesRepresentation::FixedSize(bytes),
        BytesSize::Bounded(bytes) => BytesRepresentation::BoundedSize(bytes),
        BytesSize::Unbounded => BytesRepresentation::UnboundedSize,
    }
}

impl ExtensionName for OurBytesCodec {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        (version == ZarrVersion::V3).then(|| Cow::Owned(self.codec.name().to_owned()))
    }
}

impl CodecTraits for OurBytesCodec {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        Some(self.metadata.clone())
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        PartialDecoderCapability { partial_read: false, partial_decode: false }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability { partial_encode: false }
    }
}

impl BytesToBytesCodecTraits for OurBytesCodec {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(&self, _: &BytesRepresentation) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }

    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        representation(self.codec.encoded_size(size(*decoded)))
    }

    fn encode<'a>(
        &self,
        decoded: ArrayBytesRaw<'a>,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let mut encoded = Vec::new();
        let result = self.codec.encode(&decoded, &mut encoded, &mut Contexts::new());
        result.map(|()| encoded.into()).map_err(|error| CodecError::Other(error.to_string()))
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        representation: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let (mut decoded, bound) = (Vec::new(), DecodedSize::of(size(*representation)));
        let result = self.codec.decode(&encoded, &mut decoded, bound, &mut Contexts::new());
        result.map(|()| decoded.into()).map_err(|error| CodecError::Other(error.to_string()))
    }
}
