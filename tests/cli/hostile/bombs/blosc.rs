//! blosc: false headers, for each inner compressor.

use zarrs::array::codec::bytes_to_bytes::blosc::{
    BloscCompressionLevel, BloscCompressor, BloscShuffleMode, blosc_compress_bytes,
};

use super::{stored, stored_as};
use crate::hostile::case::{Case, codec};

const COMPRESSORS: [(&str, BloscCompressor); 6] = [
    ("blosclz", BloscCompressor::BloscLZ),
    ("lz4", BloscCompressor::LZ4),
    ("lz4hc", BloscCompressor::LZ4HC),
    ("snappy", BloscCompressor::Snappy),
    ("zlib", BloscCompressor::Zlib),
    ("zstd", BloscCompressor::Zstd),
];

fn blosc(cname: &str) -> String {
    codec("blosc", &format!(r#"{{"cname":"{cname}","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}}"#))
}

/// Compresses 4096 bytes. `None` for a compressor that is not built in.
fn compressed(compressor: BloscCompressor) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = (0..4096_u32).map(|index| u8::try_from(index / 64).unwrap()).collect();
    let level = BloscCompressionLevel::try_from(5).unwrap();
    blosc_compress_bytes(&bytes, level, BloscShuffleMode::Shuffle, 4, compressor, 0, 1).ok()
}

/// Replaces four bytes of the compressed chunk.
fn patched(compressor: BloscCompressor, at: usize, word: u32) -> Vec<u8> {
    let mut chunk = compressed(compressor).unwrap_or_else(|| header(0x41, [4096, 4096, 32]));
    let end = (at + 4).min(chunk.len());
    chunk.truncate(chunk.len().max(end));
    chunk[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
    chunk
}

/// Returns a header with these flags and the sizes of the content, a block, and the whole.
fn header(flags: u8, sizes: [u32; 3]) -> Vec<u8> {
    let mut chunk = vec![2, 1, flags, 4];
    chunk.extend(sizes.into_iter().flat_map(u32::to_le_bytes));
    chunk.resize(32, 0);
    chunk
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = headers();
    for (cname, compressor) in COMPRESSORS {
        cases.extend(lies(cname, compressor));
    }
    cases
}

fn headers() -> Vec<Case> {
    let codec = &blosc("lz4");
    // 2: the content is not compressed. 0x20: lz4.
    vec![
        stored("content of 2^31-1 bytes", codec, || header(0x21, [0x7fff_ffff, 4096, 32])),
        stored("content of -1 bytes", codec, || header(0x21, [u32::MAX, 4096, 32])),
        stored_as("chunk and content of 2^31-1 bytes", codec, "[2147483647]", || {
            header(0x21, [0x7fff_ffff, 0x7fff_ffff, 32])
        }),
        stored_as("chunk and stored content of 2^28 bytes", codec, "[268435456]", || {
            header(0x23, [1 << 28, 1 << 28, 32])
        }),
        stored_as("chunk and content of 2^28 bytes", codec, "[268435456]", || header(0x21, [1 << 28, 1 << 20, 32])),
        stored("block of 0 bytes", codec, || header(0x21, [4, 0, 32])),
        stored("block of -1 bytes", codec, || header(0x21, [4, u32::MAX, 32])),
        stored("whole of 0 bytes", codec, || header(0x21, [4, 4, 0])),
        stored("whole of 2^31 bytes", codec, || header(0x21, [4, 4, 1 << 31])),
        stored("stored content that is not there", codec, || header(0x23, [4096, 4096, 32])),
        stored("element of 0 bytes", codec, || {
            let mut chunk = header(0x21, [4, 4, 32]);
            chunk[3] = 0;
            chunk
        }),
        stored("version of 255", codec, || {
            let mut chunk = header(0x21, [4, 4, 32]);
            chunk[..2].fill(255);
            chunk
        }),
        stored("compressor of 7", codec, || header(0xe1, [4, 4, 32])),
        stored("header alone", codec, || header(0x21, [4, 4, 16])[..16].to_vec()),
        stored("half a header", codec, || header(0x21, [4, 4, 16])[..8].to_vec()),
        stored("nothing", codec, Vec::new),
    ]
}

/// Returns false headers of compressed data. The offset of the first block follows the header, then its length.
fn lies(cname: &'static str, compressor: BloscCompressor) -> Vec<Case> {
    let codec = &blosc(cname);
    let lie = |name: &'static str, at: usize, word: u32| {
        let mut case = stored_as(name, codec, "[4096]", move || patched(compressor, at, word));
        case.name = format!("{cname}: {name}");
        case
    };
    let mut cases = vec![
        lie("content larger than the chunk", 4, 1 << 30),
        lie("content smaller than it is", 4, 16),
        lie("block larger than the content", 8, 1 << 30),
        lie("block of one byte", 8, 1),
        lie("block far outside", 16, 0x7fff_0000),
        lie("block before the start", 16, u32::MAX),
        lie("block inside the header", 16, 2),
        lie("stream of 2^31-1 bytes", 20, 0x7fff_ffff),
        lie("stream of -1 bytes", 20, u32::MAX),
        lie("stream of no byte", 20, 0),
        lie("garbage in the stream", 26, 0xffff_ffff),
    ];
    let mut truncated = stored_as("truncated", codec, "[4096]", move || {
        let mut chunk = compressed(compressor).unwrap_or_default();
        chunk.truncate(chunk.len() / 2);
        chunk
    });
    truncated.name = format!("{cname}: truncated");
    cases.push(truncated);
    cases
}
