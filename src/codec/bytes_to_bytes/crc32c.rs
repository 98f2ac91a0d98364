//! `crc32c`: four bytes after the others.

use super::DecodedSize;
use super::error::{Fault, reserve};

/// Bytes of the checksum.
pub(super) const SIZE: usize = 4;

pub(super) fn encode(decoded: &[u8], encoded: &mut Vec<u8>) {
    encoded.reserve_exact(decoded.len() + SIZE);
    encoded.extend_from_slice(decoded);
    encoded.extend_from_slice(&::crc32c::crc32c(decoded).to_le_bytes());
}

pub(super) fn decode(encoded: &[u8], decoded: &mut Vec<u8>, bound: DecodedSize) -> Result<(), Fault> {
    let Some((bytes, stored)) = encoded.split_last_chunk::<SIZE>() else {
        return Err(Fault::Short { expected: SIZE as u64, found: encoded.len() as u64 });
    };
    bound.check(bytes.len())?;
    let (expected, found) = (u32::from_le_bytes(*stored), ::crc32c::crc32c(bytes));
    if expected != found {
        return Err(Fault::Checksum { expected, found });
    }
    reserve(decoded, bytes.len())?;
    decoded.extend_from_slice(bytes);
    Ok(())
}
