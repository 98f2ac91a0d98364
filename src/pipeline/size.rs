//! The sizes of bytes: after a bytes->bytes codec, and of a shard.

use super::{BytesSize, Pipeline, Representation};

/// The most bytes of a shard: all inner chunks and the index.
pub(super) fn shard_size(inner: &Pipeline, index: &Pipeline) -> BytesSize {
    let bound = |pipeline: &Pipeline| match pipeline.output() {
        Some(Representation::Bytes(size)) => size.bound(),
        _ => None,
    };
    // The index array has two entries for each inner chunk.
    let count = index.input.num_elements().map(|entries| entries / 2);
    let total = count.zip(bound(inner)).and_then(|(count, bytes)| count.checked_mul(bytes));
    let total = total.zip(bound(index)).and_then(|(chunks, index)| chunks.checked_add(index));
    total.map_or(BytesSize::Unbounded, BytesSize::Bounded)
}

/// The size after a bytes->bytes codec, from its format's documentation.
pub(super) fn compressed_size(name: &str, size: BytesSize) -> BytesSize {
    if matches!(
        name,
        "crc32c"
            | "numcodecs.crc32c"
            | "numcodecs.crc32"
            | "numcodecs.adler32"
            | "numcodecs.fletcher32"
            | "numcodecs.jenkins_lookup3"
    ) {
        let plus = |bytes: u64| bytes.checked_add(4);
        return match size {
            BytesSize::Fixed(bytes) => plus(bytes).map_or(BytesSize::Unbounded, BytesSize::Fixed),
            BytesSize::Bounded(bytes) => plus(bytes).map_or(BytesSize::Unbounded, BytesSize::Bounded),
            BytesSize::Unbounded => BytesSize::Unbounded,
        };
    }
    if name == "numcodecs.shuffle" {
        return size;
    }
    let overhead = |bytes: u64| match name {
        // ZSTD_COMPRESSBOUND, and a checksum.
        "zstd" | "numcodecs.zstd" => Some((bytes >> 8) + 68),
        // Stored blocks of 16383 bytes with 5 bytes each, a header and a trailer.
        "gzip" | "numcodecs.gzip" | "numcodecs.zlib" => Some(bytes / 16383 * 5 + 64),
        // BLOSC_MAX_OVERHEAD.
        "blosc" | "numcodecs.blosc" => Some(16),
        // bzip2's manual: 1 % and 600 bytes.
        "numcodecs.bz2" => Some(bytes / 100 + 600),
        // LZ4_COMPRESSBOUND, and the length in front.
        "numcodecs.lz4" => Some(bytes / 255 + 20),
        _ => None,
    };
    let bound = size.bound().and_then(|bytes| bytes.checked_add(overhead(bytes)?));
    bound.map_or(BytesSize::Unbounded, BytesSize::Bounded)
}
