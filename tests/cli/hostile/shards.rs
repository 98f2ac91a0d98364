//! Shards that overflow, claim more than is stored, or are nested.

use crate::hostile::case::{ABSENT, BYTES, Case, LITTLE, case, codec, index, sharding, sharding_at};

/// Returns an array of one dimension with this shard shape and these inner chunks, and one stored shard.
fn shard(name: &'static str, shape: &'static str, inner: &'static str, stored: Vec<u8>) -> Case {
    case(name, move |store| {
        let codecs = format!("[{}]", sharding(inner, BYTES));
        store.array(&[("shape", shape), ("chunk_shape", shape), ("codecs", &codecs)]).write("c/0", &stored);
    })
}

/// Returns shards within shards, each half of the outer one.
fn nested(depth: usize) -> String {
    let mut codecs = BYTES.to_owned();
    for level in 0..depth {
        codecs = format!("[{}]", sharding(&format!("[{}]", 1_u64 << level), &codecs));
    }
    codecs
}

/// Returns shards within shards with one inner chunk each.
fn matryoshka(depth: usize) -> String {
    (0..depth).fold(BYTES.to_owned(), |codecs, _| format!("[{}]", sharding("[4]", &codecs)))
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = sizes();
    cases.extend(inner_chunks());
    cases.extend(nesting());
    cases
}

fn sizes() -> Vec<Case> {
    let one_absent = || index(&[ABSENT]);
    vec![
        shard("2^40 inner chunks in 4 bytes", "[1099511627776]", "[1]", vec![0; 4]),
        shard("2^28 inner chunks in 4 bytes", "[268435456]", "[1]", vec![0; 4]),
        shard("2^62 inner chunks", "[4611686018427387904]", "[1]", vec![0; 4]),
        shard("index of 2^64 bytes", "[1152921504606846976]", "[1]", vec![0; 4]),
        shard(
            "shard of 2^40 elements, its only inner chunk absent",
            "[1099511627776]",
            "[1099511627776]",
            one_absent(),
        ),
        shard("shard of 2^30 elements, its only inner chunk absent", "[1073741824]", "[1073741824]", one_absent()),
        shard("shard of 2^40 elements, its only inner chunk of 4 bytes", "[1099511627776]", "[1099511627776]", {
            let mut shard = vec![1, 2, 3, 4];
            shard.extend(index(&[(0, 4)]));
            shard
        }),
        shard(
            "shard of 2^62 elements, inner chunks of 2^61",
            "[4611686018427387904]",
            "[2305843009213693952]",
            index(&[ABSENT, ABSENT]),
        ),
        shard("shard of 2^64-1 elements", "[18446744073709551615]", "[18446744073709551615]", one_absent()),
        case("index of 2^27 bytes in a sparse file", |store| {
            let codecs = format!("[{}]", sharding("[1]", BYTES));
            store
                .array(&[("shape", "[8388608]"), ("chunk_shape", "[8388608]"), ("codecs", &codecs)])
                .write_sparse("c/0", (8_388_608 * 16) + 4);
        }),
        case("index of 2^32 bytes at the start of a sparse file", |store| {
            let codecs = format!("[{}]", sharding_at("start", "[1]", BYTES));
            store
                .array(&[("shape", "[268435456]"), ("chunk_shape", "[268435456]"), ("codecs", &codecs)])
                .write_sparse("c/0", 1 << 40);
        }),
        case("absent shard of 2^40 inner chunks", |store| {
            let codecs = format!("[{}]", sharding("[1]", BYTES));
            let shape = "[1099511627776]";
            store.array(&[("shape", shape), ("chunk_shape", shape), ("codecs", &codecs)]);
        })
        .harmless(),
        case("grid of 2^50 shards, one stored", |store| {
            let codecs = format!("[{}]", sharding("[2]", BYTES));
            store
                .array(&[("shape", "[4503599627370496]"), ("chunk_shape", "[4]"), ("codecs", &codecs)])
                .write("c/1", index(&[ABSENT, ABSENT]));
        })
        .at("1")
        .harmless(),
    ]
}

fn inner_chunks() -> Vec<Case> {
    let inner = |name: &'static str, shape: &'static str, inner: &'static str| {
        case(name, move |store| {
            let codecs = format!("[{}]", sharding(inner, BYTES));
            store
                .array(&[("shape", shape), ("chunk_shape", shape), ("codecs", &codecs)])
                .write("c/0", index(&[ABSENT, ABSENT]));
        })
    };
    vec![
        inner("inner chunk that does not divide", "[8]", "[3]"),
        inner("inner chunk larger than its shard", "[8]", "[16]"),
        inner("inner chunk of 0", "[8]", "[0]"),
        inner("inner chunk of -1", "[8]", "[-1]"),
        inner("inner chunk of 2^64", "[8]", "[18446744073709551616]"),
        inner("inner chunk of 2^126 elements", "[8,8]", "[9223372036854775808,9223372036854775808]").at("0,0"),
        inner("inner chunk of less dimensions", "[8,8]", "[4]").at("0,0"),
        inner("inner chunk of more dimensions", "[8]", "[4,1,1]"),
        inner("inner chunk of no dimension", "[8]", "[]"),
        inner(
            "inner chunk of 100000 dimensions",
            "[8]",
            Box::leak(format!("[1{}]", ",1".repeat(99_999)).into_boxed_str()),
        ),
        inner("inner chunk shape is null", "[8]", "null"),
    ]
}

fn nesting() -> Vec<Case> {
    let stored = |name: &'static str, codecs: String, shape: &'static str| {
        case(name, move |store| {
            store.array(&[("shape", shape), ("chunk_shape", shape), ("codecs", &codecs)]).write("c/0", [0xff; 60]);
        })
    };
    let variable = codec(
        "sharding_indexed",
        &format!(
            r#"{{"chunk_shape":[4],"codecs":{BYTES},"index_codecs":[{LITTLE},{{"name":"gzip","configuration":{{"level":1}}}}]}}"#
        ),
    );
    let sharded_index = codec(
        "sharding_indexed",
        &format!(r#"{{"chunk_shape":[4],"codecs":{BYTES},"index_codecs":[{}]}}"#, sharding("[1,2]", BYTES)),
    );
    let transposed_index = codec(
        "sharding_indexed",
        &format!(
            r#"{{"chunk_shape":[4],"codecs":{BYTES},"index_codecs":[{},{LITTLE}]}}"#,
            codec("transpose", r#"{"order":[1,0]}"#)
        ),
    );
    let cast_index = codec(
        "sharding_indexed",
        &format!(
            r#"{{"chunk_shape":[4],"codecs":{BYTES},"index_codecs":[{},{LITTLE}]}}"#,
            codec("cast_value", r#"{"data_type":"float32"}"#)
        ),
    );
    vec![
        stored("30 shards within each other, halved", nested(30), "[1073741824]"),
        stored("60 shards within each other, halved", nested(60), "[1152921504606846976]"),
        stored("30 shards of one inner chunk within each other", matryoshka(30), "[4]"),
        stored("40 shards within each other, deeper than documents may be", matryoshka(40), "[4]"),
        stored("1000 shards within each other", matryoshka(1000), "[4]"),
        stored("index of variable size", format!("[{variable}]"), "[8]"),
        stored("index that is a shard", format!("[{sharded_index}]"), "[8]"),
        stored("index transposed", format!("[{transposed_index}]"), "[8]").harmless(),
        stored("index cast to floats", format!("[{cast_index}]"), "[8]"),
        stored("two shards in one chain", format!("[{},{}]", sharding("[4]", BYTES), sharding("[4]", BYTES)), "[8]"),
    ]
}
