//! `numcodecs.zlib`: streams with more bytes than the chunk (RFC 1950).

use std::io::Write;

use super::{stored, stored_as, zlib, zlib_bomb};
use crate::hostile::case::Case;

fn plain(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn cases() -> Vec<Case> {
    let codec = &zlib();
    vec![
        stored("64 MiB of zeros in a chunk of 4", codec, zlib_bomb),
        stored_as("chunk of 2^40 bytes, 64 MiB of zeros", codec, "[1099511627776]", zlib_bomb),
        stored_as("chunk of 2^28 bytes, 64 MiB of zeros", codec, "[268435456]", zlib_bomb),
        stored("one byte too many", codec, || plain(&[1, 2, 3, 4, 5])),
        stored("one byte too few", codec, || plain(&[1, 2, 3])),
        stored("two streams", codec, || plain(&[1, 2, 3, 4]).repeat(2)),
        stored("100000 streams", codec, || plain(&[]).repeat(100_000)),
        stored("wrong checksum", codec, || {
            let mut stream = plain(&[1, 2, 3, 4]);
            *stream.last_mut().unwrap() ^= 1;
            stream
        }),
        stored("a dictionary that nobody has", codec, || vec![0x78, 0xbb, 0, 0, 0, 1, 3, 0]),
        stored("a window of 2^15 times 256", codec, || vec![0xf8, 0x01, 3, 0, 0, 0, 0, 1]),
        stored("a gzip stream", codec, || super::gzip_of(&[1, 2, 3, 4])),
        stored("a header alone", codec, || vec![0x78, 0x9c]),
        stored("nothing", codec, Vec::new),
        stored("blocks without content for ever", codec, || {
            // Empty stored blocks. None of them is the last.
            [vec![0x78, 0x01], [0, 0, 0, 0xff, 0xff].repeat(1 << 20)].concat()
        }),
    ]
}
