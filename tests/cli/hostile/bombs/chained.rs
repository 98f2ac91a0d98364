//! Bombs after other codecs: nested, in shards, after transposes, after checksums.

use super::{after_bytes, bz2, bz2_bomb, gzip, gzip_bomb, gzip_of, zlib, zstd, zstd_bomb};
use crate::hostile::case::{ABSENT, Case, case, codec, index, sharding, sharding_at};

/// Returns an array with this chain, and one chunk.
fn chain(name: &'static str, codecs: String, chunk: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Case {
    case(name, move |store| {
        store.array(&[("codecs", &codecs)]).write("c/0", chunk());
    })
}

/// Returns a shard with two inner chunks of two bytes. The first is the bomb, the second is missing.
fn in_shard(bomb: &[u8]) -> Vec<u8> {
    let mut shard = bomb.to_vec();
    shard.extend(index(&[(0, bomb.len() as u64), ABSENT]));
    shard
}

fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    ::zstd::bulk::compress(bytes, 1).unwrap()
}

fn with_crc32c(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = in_each_other();
    cases.extend(in_shards());
    cases
}

fn in_each_other() -> Vec<Case> {
    let (zstd, gzip, zlib) = (zstd(), gzip(), zlib());
    let crc32c = r#"{"name":"crc32c"}"#;
    let many = vec![zstd.as_str(); 250].join(",");
    vec![
        chain("zstd in zstd", after_bytes(&format!("{zstd},{zstd}")), || zstd_of(&zstd_bomb(128 << 10, None))),
        chain("gzip in gzip", after_bytes(&format!("{gzip},{gzip}")), || gzip_of(&gzip_bomb())),
        chain("gzip in gzip in gzip", after_bytes(&format!("{gzip},{gzip},{gzip}")), || {
            gzip_of(&gzip_of(&gzip_bomb()))
        }),
        chain("zstd in gzip in zlib", after_bytes(&format!("{zlib},{gzip},{zstd}")), || zstd_of(&gzip_bomb())),
        chain("bz2 in zstd", after_bytes(&format!("{},{zstd}", bz2())), || zstd_of(&bz2_bomb())),
        chain("zstd under a right checksum", after_bytes(&format!("{zstd},{crc32c}")), || {
            with_crc32c(zstd_bomb(128 << 10, None))
        }),
        chain("checksum under a bomb", after_bytes(&format!("{crc32c},{gzip}")), gzip_bomb),
        chain("250 compressors", after_bytes(&many), || zstd_bomb(1 << 10, None)),
        chain("gzip behind a transpose", transposed(&gzip), gzip_bomb),
        chain("zstd behind a transpose", transposed(&zstd), || zstd_bomb(128 << 10, None)),
        chain(
            "gzip behind shuffle",
            after_bytes(&format!("{},{gzip}", codec("numcodecs.shuffle", r#"{"elementsize":4}"#))),
            gzip_bomb,
        ),
        chain(
            "shuffle of 2^32-1 bytes an element",
            after_bytes(&codec("numcodecs.shuffle", r#"{"elementsize":4294967295}"#)),
            || vec![1, 2, 3, 4],
        )
        .harmless(),
        chain(
            "gzip behind fletcher32",
            after_bytes(&format!(r#"{{"name":"numcodecs.fletcher32"}},{gzip}"#)),
            gzip_bomb,
        ),
        chain("gzip behind packbits", format!(r#"[{{"name":"packbits"}},{gzip}]"#), gzip_bomb),
    ]
}

fn transposed(compressor: &str) -> String {
    format!(r#"[{},{{"name":"bytes"}},{compressor}]"#, codec("transpose", r#"{"order":[0]}"#))
}

fn in_shards() -> Vec<Case> {
    let sharded = |compressor: &str| format!("[{}]", sharding("[2]", &after_bytes(compressor)));
    let nested = format!("[{}]", sharding("[4]", &sharded(&zstd())));
    let at_start = format!("[{}]", sharding_at("start", "[2]", &after_bytes(&zstd())));
    let around = format!("[{},{}]", sharding("[2]", super::super::case::BYTES), gzip());
    vec![
        chain("zstd in a shard", sharded(&zstd()), || in_shard(&zstd_bomb(128 << 10, None))),
        chain("zstd claim in a shard", sharded(&zstd()), || in_shard(&zstd_bomb(1, Some(1 << 40)))),
        chain("gzip in a shard", sharded(&gzip()), || in_shard(&gzip_bomb())),
        chain("bz2 in a shard", sharded(&bz2()), || in_shard(&bz2_bomb())),
        chain("zstd in a shard in a shard", nested, || {
            let inner = in_shard(&zstd_bomb(128 << 10, None));
            let mut shard = inner.clone();
            shard.extend(index(&[(0, inner.len() as u64)]));
            shard
        }),
        chain("zstd in a shard with its index first", at_start, || {
            let bomb = zstd_bomb(128 << 10, None);
            let mut shard = index(&[(36, bomb.len() as u64), ABSENT]);
            shard.extend(bomb);
            shard
        }),
        chain("shard in gzip", around, gzip_bomb),
        case("10000 bombs in a shard", |store| {
            let codecs = format!("[{}]", sharding("[1]", &after_bytes(&zstd())));
            let bomb = zstd_bomb(1 << 10, None);
            let mut shard = bomb.clone();
            shard.extend(index(&vec![(0, bomb.len() as u64); 10_000]));
            store.array(&[("shape", "[10000]"), ("chunk_shape", "[10000]"), ("codecs", &codecs)]).write("c/0", shard);
        }),
    ]
}
