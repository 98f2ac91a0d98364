//! Base64 (RFC 4648, the standard alphabet, padded), in which some writers store the bytes of a raw value.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Decodes bytes. `None` if the text is not canonical base64, so that two texts never mean the same.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Encodes bytes, with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
