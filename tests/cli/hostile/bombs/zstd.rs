//! zstd: frames that claim or contain more than the chunk (RFC 8878).

use super::{stored, stored_as, zstd, zstd_bomb};
use crate::hostile::case::{Case, LITTLE, case};

/// Returns a frame with four bytes.
fn plain() -> Vec<u8> {
    ::zstd::bulk::compress(&[1, 2, 3, 4], 1).unwrap()
}

/// Returns an empty frame that a decoder skips.
fn skippable(length: u32) -> Vec<u8> {
    let mut frame = vec![0x50, 0x2a, 0x4d, 0x18];
    frame.extend_from_slice(&length.to_le_bytes());
    frame
}

/// Returns a frame with one raw block of four bytes and the descriptor's window.
fn window(descriptor: u8) -> Vec<u8> {
    vec![0x28, 0xb5, 0x2f, 0xfd, 0, descriptor, 0x21, 0, 0, 1, 2, 3, 4]
}

/// A chunk of 512 KiB that decodes to all 4 * 2^32 bytes of its array.
pub(crate) fn whole_chunk_of_16_gib() -> Case {
    let codecs = format!("[{LITTLE},{}]", zstd());
    case("chunk of 16 GiB", move |store| {
        let shape = "[65536,65536]";
        let changes = [
            ("shape", shape),
            ("chunk_shape", shape),
            ("data_type", "\"float32\""),
            ("codecs", codecs.as_str()),
            ("chunk_key_encoding", r#"{"name":"v2"}"#),
        ];
        store.array(&changes).write("0.0", zstd_bomb(128 << 10, None));
    })
    .at("0,0")
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = claims();
    cases.extend(frames());
    cases
}

fn claims() -> Vec<Case> {
    let codec = &zstd();
    vec![
        stored("content size of 2^40", codec, || zstd_bomb(1, Some(1 << 40))),
        stored("content size of 2^63", codec, || zstd_bomb(1, Some(1 << 63))),
        stored("content size of 2^64-1", codec, || zstd_bomb(1, Some(u64::MAX))),
        stored("content size of 4 and 128 KiB of content", codec, || zstd_bomb(1, Some(4))),
        stored("16 GiB in RLE blocks, no content size", codec, || zstd_bomb(128 << 10, None)),
        stored("16 GiB in RLE blocks and a content size of 4", codec, || zstd_bomb(128 << 10, Some(4))),
        stored_as("chunk and content size of 2^40, 128 KiB of content", codec, "[1099511627776]", || {
            zstd_bomb(1, Some(1 << 40))
        }),
        stored_as("chunk and content size of 2^28, 128 KiB of content", codec, "[268435456]", || {
            zstd_bomb(1, Some(1 << 28))
        }),
        stored_as("chunk of 2^33 bytes from 256 KiB", codec, "[8589934592]", || zstd_bomb(64 << 10, None)),
        stored_as("chunk of 2^29 bytes from 16 KiB", codec, "[536870912]", || zstd_bomb(4 << 10, None)),
        stored("content sizes of two frames that overflow", codec, || {
            [zstd_bomb(1, Some(1 << 63)), zstd_bomb(1, Some(1 << 63))].concat()
        }),
    ]
}

fn frames() -> Vec<Case> {
    let codec = &zstd();
    vec![
        stored("window of 2 TiB", codec, || window(31 << 3)),
        // The maximum of zstd itself. It needs no memory if the content size is known.
        stored("window of 128 MiB", codec, || window(17 << 3)).harmless(),
        stored("100000 skippable frames before the content", codec, || {
            [skippable(0).repeat(100_000), plain()].concat()
        })
        .harmless(),
        stored("skippable frame of 2^32-1 bytes that are not there", codec, || skippable(u32::MAX)),
        stored("50000 frames of four bytes", codec, || plain().repeat(50_000)),
        stored("50000 empty frames", codec, || ::zstd::bulk::compress(&[], 1).unwrap().repeat(50_000)),
        stored("frame of version 0.7", codec, || vec![0x27, 0xb5, 0x2f, 0xfd, 0x20, 4, 0x43, 0, 1, 0]),
        stored("dictionary that nobody has", codec, || {
            vec![0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 4, 0x21, 0, 0, 1, 2, 3, 4]
        }),
        stored("reserved block type", codec, || vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, 4, 0x27, 0, 0, 1]),
        stored("compressed block of garbage", codec, || {
            let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, 4, 0x85, 0, 0];
            frame.extend([0xff; 16]);
            frame
        }),
        stored("block of 2 MiB that is not there", codec, || vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, 4, 0xf9, 0xff, 0xff]),
        stored("magic number alone", codec, || vec![0x28, 0xb5, 0x2f, 0xfd]),
        stored("nothing", codec, Vec::new),
        stored("content and one more byte", codec, || [plain(), vec![0]].concat()),
    ]
}
