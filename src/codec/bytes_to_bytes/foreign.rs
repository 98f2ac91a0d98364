//! Any other codec, through zarrs: what a program has registered there.

use std::borrow::Cow;
use std::sync::Arc;

use zarrs::array::{BytesRepresentation, BytesToBytesCodecTraits, Codec, CodecOptions};
use zarrs::metadata::v3::MetadataV3;

use super::error::{Fault, reserve};
use super::{DecodedSize, EncodedSize};
use crate::metadata::json::{Json, Object};

pub(super) fn create(
    name: &str,
    configuration: Option<&Object>,
) -> Result<Arc<dyn BytesToBytesCodecTraits>, String> {
    let metadata = match configuration {
        None => MetadataV3::new(name),
        Some(members) => match Json::Object(members.clone()).to_value() {
            serde_json::Value::Object(members) => MetadataV3::new_with_configuration(name, members),
            _ => return Err("expected an object as configuration".to_owned()),
        },
    };
    match Codec::from_metadata(&metadata) {
        Ok(Codec::BytesToBytes(codec)) => Ok(codec),
        Ok(_) => Err("it does not turn bytes into bytes".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn encode(
    codec: &dyn BytesToBytesCodecTraits,
    decoded: &[u8],
    encoded: &mut Vec<u8>,
) -> Result<(), Fault> {
    let bytes = codec
        .encode(Cow::Borrowed(decoded), &options())
        .map_err(|error| Fault::Encode { reason: error.to_string() })?;
    append(encoded, bytes)
}

pub(super) fn decode(
    codec: &dyn BytesToBytesCodecTraits,
    encoded: &[u8],
    decoded: &mut Vec<u8>,
    bound: DecodedSize,
) -> Result<(), Fault> {
    let representation = match bound {
        DecodedSize::Exact(size) => BytesRepresentation::FixedSize(size as u64),
        DecodedSize::AtMost(limit) => BytesRepresentation::BoundedSize(limit as u64),
    };
    let bytes = codec
        .decode(Cow::Borrowed(encoded), &representation, &options())
        .map_err(|error| Fault::corrupt(error.to_string()))?;
    append(decoded, bytes)
}

pub(super) fn encoded_size(codec: &dyn BytesToBytesCodecTraits, decoded: EncodedSize) -> EncodedSize {
    let decoded = match decoded {
        EncodedSize::Fixed(size) => BytesRepresentation::FixedSize(size),
        EncodedSize::Bounded(limit) => BytesRepresentation::BoundedSize(limit),
        EncodedSize::Unbounded => BytesRepresentation::UnboundedSize,
    };
    match codec.encoded_representation(&decoded) {
        BytesRepresentation::FixedSize(size) => EncodedSize::Fixed(size),
        BytesRepresentation::BoundedSize(limit) => EncodedSize::Bounded(limit),
        BytesRepresentation::UnboundedSize => EncodedSize::Unbounded,
    }
}

/// Checksums are always checked; parallelism is the caller's.
fn options() -> CodecOptions {
    CodecOptions::default().with_validate_checksums(true).with_concurrent_target(1)
}

fn append(buffer: &mut Vec<u8>, bytes: Cow<'_, [u8]>) -> Result<(), Fault> {
    match bytes {
        Cow::Owned(bytes) => *buffer = bytes,
        Cow::Borrowed(bytes) => {
            reserve(buffer, bytes.len())?;
            buffer.extend_from_slice(bytes);
        }
    }
    Ok(())
}
