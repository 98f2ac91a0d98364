//! `numcodecs.lz4` and `numcodecs.lzma`: more bytes than the chunk, false sizes, and dictionaries of any size.

use std::io::Write;

use liblzma::stream::{Check, Filters, LzmaOptions, Stream};
use liblzma::write::XzEncoder;

use super::{stored, stored_as, write_zeros};
use crate::hostile::case::{Case, codec};

fn lz4() -> String {
    codec("numcodecs.lz4", r#"{"acceleration":1}"#)
}

fn lzma(configuration: &str) -> String {
    codec("numcodecs.lzma", configuration)
}

/// Returns a header that claims `claimed` bytes, then the block.
fn lz4_chunk(claimed: u32, block: &[u8]) -> Vec<u8> {
    [&claimed.to_le_bytes()[..], block].concat()
}

/// Returns a block that decodes to about 255 zeros per byte.
fn lz4_zeros(count: usize) -> Vec<u8> {
    let mut block = vec![0x1f, 0, 1, 0];
    block.extend(std::iter::repeat_n(0xff, count));
    block.extend([0, 0x50, 0, 0, 0, 0, 0]);
    block
}

fn compressed(stream: Stream, write: impl Fn(&mut XzEncoder<Vec<u8>>)) -> Vec<u8> {
    let mut encoder = XzEncoder::new_stream(Vec::new(), stream);
    write(&mut encoder);
    encoder.finish().unwrap()
}

fn options(dict_size: u32) -> LzmaOptions {
    let mut options = LzmaOptions::new_preset(0).unwrap();
    options.dict_size(dict_size);
    options
}

fn xz(write: impl Fn(&mut XzEncoder<Vec<u8>>)) -> Vec<u8> {
    let mut filters = Filters::new();
    filters.lzma2(&options(1 << 16));
    compressed(Stream::new_stream_encoder(&filters, Check::Crc64).unwrap(), write)
}

fn raw(write: impl Fn(&mut XzEncoder<Vec<u8>>)) -> Vec<u8> {
    let mut filters = Filters::new();
    filters.lzma2(&options(1 << 16));
    compressed(Stream::new_raw_encoder(&filters).unwrap(), write)
}

fn alone(write: impl Fn(&mut XzEncoder<Vec<u8>>)) -> Vec<u8> {
    compressed(Stream::new_lzma_encoder(&options(1 << 16)).unwrap(), write)
}

fn four(encoder: &mut XzEncoder<Vec<u8>>) {
    encoder.write_all(&[1, 2, 3, 4]).unwrap();
}

fn zeros(encoder: &mut XzEncoder<Vec<u8>>) {
    write_zeros(encoder, 64 << 20);
}

/// Returns `.lzma` of four bytes with another dictionary and size in its header.
fn alone_claiming(dictionary: u32, size: u64) -> Vec<u8> {
    let mut stream = alone(four);
    stream[1..5].copy_from_slice(&dictionary.to_le_bytes());
    stream[5..13].copy_from_slice(&size.to_le_bytes());
    stream
}

/// Returns `.xz` with this dictionary size in its header. The maximum 40 means 4 GiB.
fn xz_claiming(dictionary: u8) -> Vec<u8> {
    const BLOCK_HEADER: std::ops::Range<usize> = 12..24;
    let mut stream = xz(four);
    stream[BLOCK_HEADER][4] = dictionary;
    let mut crc = flate2::Crc::new();
    crc.update(&stream[12..20]);
    stream[20..24].copy_from_slice(&crc.sum().to_le_bytes());
    stream
}

pub(crate) fn cases() -> Vec<Case> {
    const RAW: &str = r#"{"format":3,"filters":[{"id":33,"dict_size":65536}]}"#;
    const GREAT: &str = r#"{"format":3,"filters":[{"id":33,"dict_size":1610612736}]}"#;
    let (fast, small) = (&lz4(), &lzma("{}"));
    let (alone_format, raw_format, great) = (&lzma(r#"{"format":2}"#), &lzma(RAW), &lzma(GREAT));
    let auto = &lzma(r#"{"format":0}"#);
    vec![
        stored("lz4: 64 MiB of zeros in a chunk of 4", fast, || lz4_chunk(64 << 20, &lz4_zeros(263_172))),
        stored_as("lz4: 2^28 bytes in a block of 100", fast, "[268435456]", || lz4_chunk(1 << 28, &lz4_zeros(100))),
        stored_as("lz4: 64 MiB of zeros in a chunk of 2^40", fast, "[1099511627776]", || {
            lz4_chunk(64 << 20, &lz4_zeros(263_172))
        }),
        stored("lz4: 2^32-1 bytes", fast, || lz4_chunk(u32::MAX, &[0; 64])),
        stored("lz4: no block", fast, || lz4_chunk(4, &[])),
        stored("lz4: no header", fast, || vec![4, 0]),
        stored("lz4: an offset before the start", fast, || lz4_chunk(4, &[0x10, 1, 9, 0, 0])),
        stored("lz4: an offset of 0", fast, || lz4_chunk(4, &[0x10, 1, 0, 0, 0])),
        stored("lz4: a byte too few", fast, || lz4_chunk(4, &[0x30, 1, 2, 3])),
        stored("xz: 64 MiB of zeros in a chunk of 4", small, || xz(zeros)),
        stored_as("xz: 64 MiB of zeros in a chunk of 2^40", small, "[1099511627776]", || xz(zeros)),
        stored("xz: 10000 empty streams", small, || xz(|_| {}).repeat(10_000)),
        stored("xz: a dictionary of 4 GiB", small, || xz_claiming(40)),
        stored("xz: a dictionary of 96 MiB", small, || xz_claiming(29)),
        stored("xz: truncated", small, || xz(four)[..40].to_vec()),
        stored("xz: something behind it", small, || [xz(four), vec![1]].concat()),
        stored("xz: nothing", small, Vec::new),
        stored("xz: another format", small, || alone(four)),
        stored("lzma: 64 MiB of zeros in a chunk of 4", alone_format, || alone(zeros)),
        stored("lzma: a dictionary of 4 GiB", alone_format, || alone_claiming(u32::MAX, u64::MAX)),
        stored("lzma: 2^62 bytes", alone_format, || alone_claiming(4096, 1 << 62)),
        stored("auto: 64 MiB of zeros in a chunk of 4", auto, || alone(zeros)),
        stored("auto: a dictionary of 4 GiB", auto, || xz_claiming(40)),
        stored("raw: 64 MiB of zeros in a chunk of 4", raw_format, || raw(zeros)),
        stored_as("raw: 64 MiB of zeros in a chunk of 2^40", raw_format, "[1099511627776]", || raw(zeros)),
        stored("raw: a dictionary of 1.5 GiB", great, || raw(four)),
        stored("raw: garbage", raw_format, || vec![0xff; 4096]),
    ]
}
