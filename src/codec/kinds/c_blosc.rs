//! c-blosc 1 behind a safe interface: whole buffers, one thread, nothing kept between two calls.

use std::ffi::{CStr, c_int};

use blosc_src::{BLOSC_MAX_OVERHEAD, blosc_cbuffer_validate, blosc_compress_ctx, blosc_decompress_ctx};

use super::error::{CodecError, reserve};

/// A configured `blosc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blosc {
    /// The place of the compressor in `NAMES`.
    pub(super) compressor: usize,
    /// 0 (stored) to 9.
    pub(super) level: u8,
    /// The library's number for the filter before it.
    pub(super) shuffle: usize,
    /// Bytes of an element, at least 1; only the shuffles need it.
    pub(super) element_bytes: usize,
    /// Bytes of a block; 0 leaves the choice to the library.
    pub(super) block_bytes: usize,
}

/// The compressors, as `blosc` numbers them.
const NAMES: [&CStr; 6] = [c"blosclz", c"lz4", c"lz4hc", c"snappy", c"zlib", c"zstd"];

/// Compresses bytes into `encoded`, which is empty. One thread: the outcome does not depend on how many
/// there are.
pub(super) fn compress(settings: Blosc, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), CodecError> {
    let room = decoded.len().saturating_add(BLOSC_MAX_OVERHEAD as usize);
    reserve(encoded, room)?;
    let shuffle = c_int::try_from(settings.shuffle).unwrap_or(0);
    let name = NAMES[settings.compressor];
    // SAFETY: `decoded` is read within its length, and `encoded` has `room` bytes to write to; they do not overlap. The
    // name of the compressor ends with a zero, and nothing is kept.
    let written = unsafe {
        blosc_compress_ctx(
            c_int::from(settings.level),
            shuffle,
            settings.element_bytes.max(1),
            decoded.len(),
            decoded.as_ptr().cast(),
            encoded.as_mut_ptr().cast(),
            room,
            name.as_ptr(),
            settings.block_bytes,
            1,
        )
    };
    match usize::try_from(written) {
        Ok(written) if written > 0 && written <= room => {
            // SAFETY: so many bytes have been written, into the room that was reserved.
            unsafe { encoded.set_len(written) };
            Ok(())
        }
        _ => Err(CodecError::encode(format!("blosc cannot compress {} bytes ({written})", decoded.len()))),
    }
}

/// The decoded size by a header that fits the buffer; `None` where it does not.
fn decoded_size(encoded: &[u8]) -> Option<usize> {
    let mut size = 0;
    // SAFETY: the header is read within the length, and the size is a place to write to.
    let state = unsafe { blosc_cbuffer_validate(encoded.as_ptr().cast(), encoded.len(), &raw mut size) };
    (state == 0).then_some(size)
}

/// Decompresses a buffer whose header was found to fit, to `size` bytes, into `decoded`, which is empty.
pub(super) fn decompress(encoded: &[u8], size: usize, decoded: &mut Vec<u8>) -> Result<(), CodecError> {
    if decoded_size(encoded) != Some(size) {
        return Err(CodecError::corrupt("the blosc header is not valid"));
    }
    reserve(decoded, size)?;
    // SAFETY: the header was just found to fit the buffer, within which the library reads, and `decoded` has room for the
    // `size` bytes that it may write.
    let written = unsafe { blosc_decompress_ctx(encoded.as_ptr().cast(), decoded.as_mut_ptr().cast(), size, 1) };
    match usize::try_from(written) {
        Ok(written) if written > 0 && written <= size => {
            // SAFETY: so many bytes have been written, into the room that was reserved.
            unsafe { decoded.set_len(written) };
            Ok(())
        }
        _ => Err(CodecError::corrupt("blosc cannot decompress its blocks")),
    }
}
