//! Base64 (RFC 4648, the standard alphabet, padded), in which some writers give the bytes of a raw value.

/// The bytes; `None` where the text is no canonical base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let (groups, rest) = text.as_bytes().as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(groups.len() * 3);
    for (index, group) in groups.iter().enumerate() {
        let padding = group.iter().rev().take_while(|&&byte| byte == b'=').count();
        if padding > 2 || (padding > 0 && index + 1 < groups.len()) {
            return None;
        }
        let mut bits = 0_u32;
        for &byte in &group[..4 - padding] {
            bits = (bits << 6) | sextet(byte)?;
        }
        bits <<= 6 * padding;
        let [_, decoded @ ..] = bits.to_be_bytes();
        // Bits that belong to no byte must be zero, or two texts would mean the same.
        if decoded[3 - padding..].iter().any(|&byte| byte != 0) {
            return None;
        }
        bytes.extend_from_slice(&decoded[..3 - padding]);
    }
    Some(bytes)
}

/// The text of bytes, padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or_default());
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for place in 0..4 {
            let sextet = (bits >> (18 - 6 * place)) & 63;
            let letter = if place > group.len() { b'=' } else { ALPHABET[sextet as usize] };
            text.push(char::from(letter));
        }
    }
    text
}

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn base64_vectors_of_rfc_4648_are_decoded_and_encoded() {
        let vectors = [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmFy", "foobar"),
        ];
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
