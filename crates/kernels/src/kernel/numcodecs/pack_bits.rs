//! `packbits` of numcodecs: how many bits pad the last byte, then a bit for each boolean, the most significant first.

/// Bytes of so many booleans.
pub fn encoded_size(count: usize) -> usize {
    count.div_ceil(8) + 1
}

/// The bits that pad the last byte of so many booleans.
fn padding(count: usize) -> u8 {
    u8::try_from(count.next_multiple_of(8) - count).unwrap_or(0)
}

/// Packs booleans, a byte each; whatever is not 0 is true. `encoded` has [`encoded_size`] bytes.
pub fn encode(decoded: &[u8], encoded: &mut [u8]) {
    let Some((header, packed)) = encoded.split_first_mut() else { return };
    *header = padding(decoded.len());
    for (booleans, byte) in decoded.chunks(8).zip(packed) {
        *byte = booleans
            .iter()
            .enumerate()
            .fold(0, |byte, (place, boolean)| byte | (u8::from(*boolean != 0) << (7 - place)));
    }
}

/// Unpacks as many booleans as `decoded` holds; what stands in the padding is ignored. The error is the number of
/// padding bits that the first byte should hold, and what it holds.
pub fn decode(encoded: &[u8], decoded: &mut [u8]) -> Result<(), (u8, u8)> {
    let (expected, found) = (padding(decoded.len()), encoded.first().copied().unwrap_or(0));
    if expected != found {
        return Err((expected, found));
    }
    let packed = encoded.get(1..).unwrap_or_default();
    for (booleans, byte) in decoded.chunks_mut(8).zip(packed) {
        for (place, boolean) in booleans.iter_mut().enumerate() {
            *boolean = (byte >> (7 - place)) & 1;
        }
    }
    Ok(())
}
