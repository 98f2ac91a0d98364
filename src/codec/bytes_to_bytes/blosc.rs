//! `blosc`: the format of c-blosc 1, through the library that zarrs links.

use zarrs::array::codec::bytes_to_bytes::blosc::{
    BloscCompressionLevel, BloscCompressor as Compressor, BloscShuffleMode, blosc_compress_bytes,
    blosc_decompress_bytes, blosc_validate,
};

use super::DecodedSize;
use super::error::Fault;
use crate::pipeline::configuration::BloscConfiguration;
use crate::pipeline::configuration::blosc::{BloscCompressor, BloscShuffle};

/// Bytes of the header, and so the most that blosc adds.
const HEADER: usize = 16;

pub(super) fn bound(decoded: u64) -> Option<u64> {
    decoded.checked_add(HEADER as u64)
}

/// What the library holds: buffers of a block, and the context of the compressor inside. A block is at most the
/// chunk, and where the library chooses its size, at most 8 MiB.
pub(super) fn context_bytes(configuration: BloscConfiguration, decoded: u64) -> u64 {
    const GREATEST_BLOCK: u64 = 8 << 20;
    const SMALL_CONTEXT: u64 = 512 << 10;
    let chosen = u64::try_from(configuration.blocksize).unwrap_or(u64::MAX);
    let block = decoded.min(if chosen == 0 { GREATEST_BLOCK } else { chosen });
    let context = match configuration.cname {
        // Its levels, as blosc maps its own.
        BloscCompressor::Zstd if configuration.clevel >= 9 => super::zstd::context_bytes(22, block),
        BloscCompressor::Zstd => super::zstd::context_bytes(i32::from(configuration.clevel) * 2 - 1, block),
        _ => SMALL_CONTEXT,
    };
    // Encoding allocates the chunk anew, and three blocks.
    decoded.saturating_add(block.saturating_mul(3)).saturating_add(context)
}

pub(super) fn encode(
    configuration: BloscConfiguration,
    decoded: &[u8],
    encoded: &mut Vec<u8>,
) -> Result<(), Fault> {
    let BloscConfiguration { cname, clevel, shuffle, typesize, blocksize } = configuration;
    let clevel = BloscCompressionLevel::try_from(clevel)
        .map_err(|level| Fault::Encode { reason: format!("there is no level {level}") })?;
    let compressor = match cname {
        BloscCompressor::BloscLz => Compressor::BloscLZ,
        BloscCompressor::Lz4 => Compressor::LZ4,
        BloscCompressor::Lz4Hc => Compressor::LZ4HC,
        BloscCompressor::Snappy => Compressor::Snappy,
        BloscCompressor::Zlib => Compressor::Zlib,
        BloscCompressor::Zstd => Compressor::Zstd,
    };
    let shuffle = match shuffle {
        BloscShuffle::NoShuffle => BloscShuffleMode::NoShuffle,
        BloscShuffle::Shuffle => BloscShuffleMode::Shuffle,
        BloscShuffle::BitShuffle => BloscShuffleMode::BitShuffle,
    };
    // One thread: the outcome does not depend on how many there are.
    *encoded =
        blosc_compress_bytes(decoded, clevel, shuffle, typesize.unwrap_or(0), compressor, blocksize, 1)
            .map_err(|error| Fault::Encode { reason: error.to_string() })?;
    Ok(())
}

pub(super) fn decode(encoded: &[u8], decoded: &mut Vec<u8>, bound: DecodedSize) -> Result<(), Fault> {
    let Some(header) = encoded.first_chunk::<HEADER>() else {
        return Err(Fault::Short { expected: HEADER as u64, found: encoded.len() as u64 });
    };
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (content, stored) = (word(4), word(12));
    let size = usize::try_from(content).unwrap_or(usize::MAX);
    bound.check(size)?;
    match usize::try_from(stored).ok().and_then(|stored| encoded.len().checked_sub(stored)) {
        None => return Err(Fault::Short { expected: u64::from(stored), found: encoded.len() as u64 }),
        Some(0) => {}
        Some(count) => return Err(Fault::Trailing { count }),
    }
    if size == 0 {
        return Ok(());
    }
    if blosc_validate(encoded) != Some(size) {
        return Err(Fault::corrupt("the blosc header is not valid"));
    }
    *decoded = blosc_decompress_bytes(encoded, size, 1)
        .map_err(|_| Fault::corrupt("blosc cannot decompress its blocks"))?;
    Ok(())
}
