//! Base64 (RFC 4648, the standard alphabet, padded), in which some writers give the bytes of a raw value.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The bytes; `None` where the text is no canonical base64: two texts never mean the same.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// The text of bytes, padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
