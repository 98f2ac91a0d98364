//! Shard indexes with false entries.

use crate::hostile::case::{ABSENT, BYTES, Case, LITTLE, case, codec, index, sharding, sharding_at};

/// Returns a shard with two inner chunks of two bytes each at its start, and an index of these entries.
fn entries(name: &'static str, first: (u64, u64), second: (u64, u64)) -> Case {
    case(name, move |store| {
        let codecs = format!("[{}]", sharding("[2]", BYTES));
        let shard = [vec![1, 2, 3, 4], index(&[first, second])].concat();
        store.array(&[("codecs", &codecs)]).write("c/0", shard);
    })
}

/// Returns such a shard with the index of 36 bytes at its start.
fn entries_at_start(name: &'static str, first: (u64, u64), second: (u64, u64)) -> Case {
    case(name, move |store| {
        let codecs = format!("[{}]", sharding_at("start", "[2]", BYTES));
        let shard = [index(&[first, second]), vec![1, 2, 3, 4]].concat();
        store.array(&[("codecs", &codecs)]).write("c/0", shard);
    })
}

/// Returns a shard of these bytes.
fn bytes(name: &'static str, bytes: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Case {
    case(name, move |store| {
        let codecs = format!("[{}]", sharding("[2]", BYTES));
        store.array(&[("codecs", &codecs)]).write("c/0", bytes());
    })
}

fn right() -> Vec<u8> {
    [vec![1, 2, 3, 4], index(&[(0, 2), (2, 2)])].concat()
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = lies();
    cases.extend(damages());
    cases.extend(other_index_codecs());
    cases
}

fn lies() -> Vec<Case> {
    let ok = (2, 2);
    vec![
        entries("end wraps to 0", (u64::MAX - 1, 2), ok),
        entries("end wraps to 1", (u64::MAX, 2), ok),
        entries("offset of 2^64-1 with 16 bytes", (u64::MAX, 16), ok),
        entries("offset of 0 with 2^64-1 bytes", (0, u64::MAX), ok),
        entries("offset of 2^63 with 2^63 bytes", (1 << 63, 1 << 63), ok),
        entries("offset of 2^62", (1 << 62, 2), ok),
        entries("2^40 bytes", (0, 1 << 40), ok),
        entries("one byte beyond the end", (39, 2), ok),
        entries("at the end, no byte", (40, 0), ok),
        entries("no byte", (0, 0), ok),
        entries("inside the index", (4, 2), ok),
        entries("across data and index", (3, 2), ok),
        entries("the same bytes twice", (2, 2), ok).harmless(),
        entries("overlapping by one", (1, 2), ok).harmless(),
        entries("longer than its chunk", (0, 3), ok),
        entries("shorter than its chunk", (0, 1), ok),
        entries("absent by its offset alone", (u64::MAX, 0), ok),
        entries("absent by its length alone", (0, u64::MAX), ok),
        entries("in another order, with a gap", (2, 2), (0, 1)),
        entries("all absent, with data", ABSENT, ABSENT).harmless(),
        entries_at_start("first: inside the index", (0, 2), (36, 2)),
        entries_at_start("first: relative to the data", (0, 2), (2, 2)),
        entries_at_start("first: end wraps", (u64::MAX - 1, 4), (36, 2)),
        entries_at_start("first: one byte beyond the end", (39, 2), (36, 2)),
    ]
}

fn damages() -> Vec<Case> {
    let cut = |name, length: usize| bytes(name, move || right()[right().len() - length..].to_vec());
    vec![
        bytes("wrong checksum", || {
            let mut shard = right();
            *shard.last_mut().unwrap() ^= 1;
            shard
        }),
        bytes("wrong entry under its checksum", || {
            let mut shard = right();
            shard[4] = 1;
            shard
        }),
        cut("index alone", 36),
        cut("index without its first byte", 35),
        cut("checksum alone", 4),
        cut("nothing", 0),
        bytes("index of one entry", || [vec![1, 2, 3, 4], index(&[(0, 2)])].concat()),
        bytes("index of three entries", || [vec![1, 2, 3, 4], index(&[(0, 2), (2, 2), ABSENT])].concat()),
        bytes("one more byte at the end", || [right(), vec![0]].concat()),
        bytes("truncated at the end", || right()[..39].to_vec()),
        bytes("zeros", || vec![0; 40]),
        bytes("ones", || vec![0xff; 40]),
        case("sparse shard of 2^40 bytes", |store| {
            let codecs = format!("[{}]", sharding("[2]", BYTES));
            store.array(&[("codecs", &codecs)]).write_sparse("c/0", 1 << 40);
        }),
        case("sparse shard of 2^40 bytes, an inner chunk of all of it", |store| {
            let codecs = format!("[{}]", sharding_at("start", "[2]", BYTES));
            store.array(&[("codecs", &codecs)]).write("c/0", index(&[(0, 1 << 40), (36, 2)]));
            let file = std::fs::OpenOptions::new().write(true).open(store.path("c/0")).unwrap();
            file.set_len(1 << 40).unwrap();
        }),
    ]
}

fn other_index_codecs() -> Vec<Case> {
    let with = |name: &'static str, index_codecs: String| {
        case(name, move |store| {
            let configuration = format!(r#"{{"chunk_shape":[2],"codecs":{BYTES},"index_codecs":{index_codecs}}}"#);
            let codecs = format!("[{}]", codec("sharding_indexed", &configuration));
            store.array(&[("codecs", &codecs)]).write("c/0", right());
        })
    };
    vec![
        with("no index codec", "[]".to_owned()),
        with("index codecs are null", "null".to_owned()),
        with("index of zstd", format!("[{LITTLE},{}]", codec("zstd", r#"{"level":1,"checksum":false}"#))),
        with(
            "index of blosc",
            format!(
                "[{LITTLE},{}]",
                codec("blosc", r#"{"cname":"lz4","clevel":1,"shuffle":"noshuffle","blocksize":0}"#)
            ),
        ),
        with("index big endian", format!("[{}]", codec("bytes", r#"{"endian":"big"}"#))),
        with("index without endian", BYTES.to_owned()),
        with("index with 200 checksums", format!("[{LITTLE}{}]", r#",{"name":"crc32c"}"#.repeat(200))),
        with("index of packbits", format!("[{}]", codec("packbits", r#"{"first_bit":0,"last_bit":3}"#))),
        with("index of an unknown codec", r#"["mine"]"#.to_owned()),
    ]
}
