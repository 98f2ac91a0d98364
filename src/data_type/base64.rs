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

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn base64_vectors_of_rfc_4648_are_decoded_and_encoded() {
        let vectors =
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmFy", "foobar")];
        for (text, bytes) in vectors {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
            assert_eq!(encode(bytes.as_bytes()), text);
        }
        assert_eq!(decode("+/+/"), Some(vec![0xfb, 0xff, 0xbf]));
    }

    #[test]
    fn base64_that_is_not_canonical_is_refused() {
        for text in ["Z", "Zg", "Zg=", "Zg==Zg==", "Zh==", "Zm9=", "====", "Z===", "Zm9-", "Zm 9", "=m9v"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
