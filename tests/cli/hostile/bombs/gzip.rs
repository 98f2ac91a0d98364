//! gzip: streams with more bytes than the chunk, and endless headers (RFC 1952).

use super::{gzip, gzip_bomb, gzip_of, stored, stored_as};
use crate::hostile::case::Case;

const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Returns a header with these flags, and the rest of the stream.
fn with_flags(flags: u8, rest: &[u8]) -> Vec<u8> {
    let mut stream = HEADER.to_vec();
    stream[3] = flags;
    stream.extend_from_slice(rest);
    stream
}

/// Compresses four bytes and inverts one byte of the trailer, `skip` bytes before its last.
fn wrong_trailer(skip: usize) -> Vec<u8> {
    let mut stream = gzip_of(&[1, 2, 3, 4]);
    let at = stream.len() - 1 - skip;
    stream[at] ^= 0xff;
    stream
}

pub(crate) fn cases() -> Vec<Case> {
    let codec = &gzip();
    vec![
        stored("64 MiB of zeros in a chunk of 4", codec, gzip_bomb),
        stored("64 MiB of zeros in each of 100 members", codec, || gzip_bomb().repeat(100)),
        stored_as("chunk of 2^40 bytes, 64 MiB of zeros", codec, "[1099511627776]", gzip_bomb),
        stored_as("chunk of 2^28 bytes, 64 MiB of zeros", codec, "[268435456]", gzip_bomb),
        stored("20000 members of 1 KiB", codec, || gzip_of(&[7; 1024]).repeat(20_000)),
        stored("100000 empty members", codec, || gzip_of(&[]).repeat(100_000)),
        stored("100000 empty members before the content", codec, || {
            [gzip_of(&[]).repeat(100_000), gzip_of(&[1, 2, 3, 4])].concat()
        })
        .harmless(),
        stored("members of two bytes each", codec, || gzip_of(&[1, 2]).repeat(2)).harmless(),
        stored("content and garbage", codec, || [gzip_of(&[1, 2, 3, 4]), vec![0xee; 9]].concat()),
        stored("content and the start of a member", codec, || [gzip_of(&[1, 2, 3, 4]), vec![0x1f, 0x8b]].concat()),
        stored("extra field that is not there", codec, || with_flags(4, &[0xff, 0xff, 1])),
        stored("name of 16 MiB without end", codec, || with_flags(8, &vec![b'a'; 16 << 20])),
        stored("comment without end", codec, || with_flags(16, b"comment")),
        stored("every flag", codec, || with_flags(0xff, &[0; 64])),
        stored("wrong size in the trailer", codec, || wrong_trailer(0)),
        stored("wrong checksum in the trailer", codec, || wrong_trailer(5)),
        stored("header alone", codec, || HEADER.to_vec()),
        stored("nothing", codec, Vec::new),
        stored("stored block longer than the stream", codec, || with_flags(0, &[1, 0xff, 0xff, 0, 0, 1])),
        stored("distance before the start", codec, || with_flags(0, &[0x63, 0, 0x12, 0x05, 0xff, 0xff])),
        stored("reserved block type", codec, || with_flags(0, &[0x07, 0xff])),
        stored("truncated", codec, || gzip_of(&(0..=255).collect::<Vec<u8>>())[..100].to_vec()),
    ]
}
