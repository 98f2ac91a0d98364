//! Percent-encoding of URLs (RFC 3986, section 2.1).

/// Decodes a text. Returns `None` if a `%` is not followed by two hexadecimal digits.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    Some(bytes)
}
