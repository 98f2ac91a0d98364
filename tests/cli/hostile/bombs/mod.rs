//! Chunks that decode to far more than the size of a chunk.

pub(crate) mod blosc;
pub(crate) mod bz2;
pub(crate) mod chained;
pub(crate) mod gzip;
pub(crate) mod lz4_and_lzma;
pub(crate) mod pcodec;
pub(crate) mod zlib;
pub(crate) mod zstd;

use std::io::Write;

use crate::hostile::case::{Case, case, codec};

/// Returns the codecs `bytes` and a compressor.
fn after_bytes(compressor: &str) -> String {
    format!(r#"[{{"name":"bytes"}},{compressor}]"#)
}

/// Returns an array with compressed chunks of four bytes, and one chunk.
fn stored(name: &'static str, compressor: &str, chunk: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Case {
    let codecs = after_bytes(compressor);
    case(name, move |store| {
        store.array(&[("codecs", &codecs)]).write("c/0", chunk());
    })
}

/// Returns an array like [`stored`] with another chunk shape, which is also its own shape.
fn stored_as(
    name: &'static str,
    compressor: &str,
    shape: &'static str,
    chunk: impl Fn() -> Vec<u8> + Send + Sync + 'static,
) -> Case {
    let codecs = after_bytes(compressor);
    case(name, move |store| {
        store.array(&[("shape", shape), ("chunk_shape", shape), ("codecs", &codecs)]).write("c/0", chunk());
    })
}

/// Writes `count` zeros to a compressor in small pieces.
fn write_zeros(compressor: &mut impl Write, count: usize) {
    let zeros = vec![0; 1 << 16];
    for _ in 0..count >> 16 {
        compressor.write_all(&zeros).unwrap();
    }
}

fn gzip_of(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Compresses 64 MiB of zeros.
fn gzip_bomb() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    write_zeros(&mut encoder, 64 << 20);
    encoder.finish().unwrap()
}

fn zlib_bomb() -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    write_zeros(&mut encoder, 64 << 20);
    encoder.finish().unwrap()
}

fn bz2_bomb() -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(1));
    write_zeros(&mut encoder, 16 << 20);
    encoder.finish().unwrap()
}

/// Returns a zstd frame of RLE blocks of 128 KiB. Its header claims `content` bytes, or no size.
fn zstd_bomb(blocks: usize, content: Option<u64>) -> Vec<u8> {
    // The byte of a window of 1 MiB follows the descriptor, also with a content size of 8 bytes.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, if content.is_some() { 0xc0 } else { 0 }, 10 << 3];
    frame.extend(content.into_iter().flat_map(u64::to_le_bytes));
    for block in 1..=blocks {
        let header = u32::from(block == blocks) | (1 << 1) | ((128 << 10) << 3);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

fn gzip() -> String {
    codec("gzip", r#"{"level":5}"#)
}

fn zstd() -> String {
    codec("zstd", r#"{"level":1,"checksum":false}"#)
}

fn zlib() -> String {
    codec("numcodecs.zlib", r#"{"level":1}"#)
}

fn bz2() -> String {
    codec("numcodecs.bz2", r#"{"level":1}"#)
}
