//! A build without zarrs has no codec of it.

use super::kinds::array::BoundArray;
use super::kinds::{ArrayRepresentation, BytesCodec};
use super::registry::CodecKind;
use crate::metadata::extension::CodecMetadata;

/// A codec of zarrs.
#[derive(Debug, Clone)]
pub(crate) enum ZarrsCodec {}

impl ZarrsCodec {
    pub(crate) fn find(_: &CodecMetadata) -> Option<Result<Self, String>> {
        None
    }

    pub(crate) fn kind(&self) -> CodecKind {
        match *self {}
    }

    pub(crate) fn bind(&self, _: &ArrayRepresentation) -> Result<BoundArray, String> {
        match *self {}
    }

    pub(crate) fn bytes_codec(&self, _: &CodecMetadata) -> BytesCodec {
        match *self {}
    }
}
