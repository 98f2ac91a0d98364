//! Shapes and chunk shapes that overflow or claim more than is stored.

use crate::hostile::case::{Case, LITTLE, Store, case};

const FLOAT64: (&str, &str) = ("data_type", "\"float64\"");

/// Returns an array of one dimension with one stored chunk of four bytes.
fn shape(name: &'static str, shape: &'static str, chunk_shape: &'static str) -> Case {
    case(name, move |store| {
        store.array(&[("shape", shape), ("chunk_shape", chunk_shape)]).write("c/0", [1, 2, 3, 4]);
    })
}

fn float64(name: &'static str, chunk_shape: &'static str) -> Case {
    case(name, move |store| {
        let codecs = format!("[{LITTLE}]");
        store
            .array(&[("shape", "[8]"), FLOAT64, ("chunk_shape", chunk_shape), ("codecs", &codecs)])
            .write("c/0", [0; 32]);
    })
}

/// Writes an array of a rank. Every dimension has this length.
fn rank(store: &Store, rank: usize, length: &str) {
    let list = format!("[{}]", vec![length; rank].join(","));
    let key = format!("c{}", "/0".repeat(rank));
    store.array(&[("shape", &list), ("chunk_shape", &list)]);
    // The limit of a path is 4096 bytes.
    if key.len() < 2000 {
        store.write(&key, [7]);
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = overflows();
    cases.extend(grids());
    cases.extend(ranks());
    cases.extend(rectilinear());
    cases
}

/// Returns rectilinear grids. Large claims cost nothing, and invalid ones are faults.
fn rectilinear() -> Vec<Case> {
    let grid = |name: &'static str, shape: &'static str, chunk_shapes: &'static str| {
        case(name, move |store| {
            let grid = format!(
                r#"{{"name":"rectilinear","configuration":{{"kind":"inline","chunk_shapes":{chunk_shapes}}}}}"#
            );
            store.array(&[("shape", shape), ("chunk_grid", &grid)]).write("c/0", [1, 2, 3, 4]);
        })
    };
    vec![
        grid("run of 2^40 chunks of 1 behind the stored one", "[1099511627780]", "[[4,[1,1099511627776]]]").harmless(),
        grid(
            "run of 2^64-1 chunks of 2^64-1 behind the array",
            "[9]",
            "[[4,5,[18446744073709551615,18446744073709551615]]]",
        ),
        grid("run of 2^64-1 chunks of 1", "[18446744073709551615]", "[[4,[1,18446744073709551615]]]"),
        grid("lengths that do not reach the end", "[9]", "[[4,4]]"),
        grid("length of 0", "[4]", "[[4,0]]"),
        grid("run of 0 chunks", "[4]", "[[4,[4,0]]]"),
        grid("run of three numbers", "[4]", "[[4,[4,1,1]]]"),
        grid("runs of runs", "[4]", "[[[[4,1],1]]]"),
        grid("negative length", "[4]", "[[4,-1]]"),
        grid("no lengths", "[4]", "[[]]"),
        grid("lengths of another rank", "[4]", "[[4],[4]]"),
        grid("lengths as an object", "[4]", "{}"),
        grid("chunk of 2^62 bytes beside one of 4", "[4611686018427387908]", "[[4,4611686018427387904]]"),
    ]
}

fn overflows() -> Vec<Case> {
    vec![
        shape("product of 2^126 elements", "[9223372036854775808,9223372036854775808]", "[4,4]").at("0,0"),
        shape("size of 2^64", "[18446744073709551616]", "[4]"),
        shape("size of 2^64-1", "[18446744073709551615]", "[4]"),
        shape("size of -1", "[-1]", "[4]"),
        shape("size of 1e30", "[1e30]", "[4]"),
        shape("size as text", "[\"8\"]", "[4]"),
        shape("shape is an object", "{\"0\":8}", "[4]"),
        shape("chunk of 2^64 elements", "[8]", "[18446744073709551616]"),
        shape("chunk of 2^64-1 bytes", "[8]", "[18446744073709551615]"),
        shape("chunk of 2^62 bytes", "[8]", "[4611686018427387904]"),
        shape("chunk of 2^40 bytes", "[8]", "[1099511627776]"),
        shape("chunk of 2^33 bytes", "[8]", "[8589934592]"),
        shape("chunk of 2^64 elements in two dimensions", "[8,8]", "[4294967296,4294967296]").at("0,0"),
        shape("chunk of 0", "[8]", "[0]"),
        shape("chunk of -4", "[8]", "[-4]"),
        shape("chunk of another rank", "[8]", "[4,4]"),
        shape("array and chunk of 2^64-1", "[18446744073709551615]", "[18446744073709551615]"),
        shape("two chunks to 2^64-1", "[18446744073709551615]", "[18446744073709551614]"),
        float64("float64 chunk of 2^64 bytes", "[2305843009213693952]"),
        float64("float64 chunk of 2^63 bytes", "[1152921504606846976]"),
        float64("float64 chunk of 2^43 bytes", "[1099511627776]"),
        case("raw bits of a mebibyte in a chunk of 2^40", |store| {
            store.array(&[("data_type", "\"r8388608\""), ("chunk_shape", "[1099511627776]"), ("fill_value", "[0]")]);
        }),
    ]
}

fn grids() -> Vec<Case> {
    vec![
        shape("grid of 2^60 chunks, one stored", "[4611686018427387904]", "[4]").harmless(),
        shape("grid of 2^42 chunks, one stored", "[17592186044416]", "[4]").harmless(),
        shape("grid of 2^40 large chunks, one short", "[1152921504606846976]", "[1048576]"),
        case("grid of 2^62 chunks, the last stored", |store| {
            store
                .array(&[("shape", "[4611686018427387904]"), ("chunk_shape", "[1]")])
                .write("c/4611686018427387903", [9]);
        })
        .at("4611686018427387903")
        .harmless(),
        case("grid of 2^60 chunks, none stored", |store| {
            store.array(&[("shape", "[4611686018427387904]")]);
        })
        .harmless(),
        case("chunk indices beyond 64 bits", |store| {
            store.array(&[]).write("c/18446744073709551616", [9]).write("c/99999999999999999999999", [9]);
        })
        .harmless(),
        case("absent chunk of 2^40 bytes", |store| {
            store.array(&[("shape", "[1099511627776]"), ("chunk_shape", "[1099511627776]")]);
        })
        .harmless(),
        case("zeros beside 2^64-1", |store| {
            store.array(&[("shape", "[0,18446744073709551615]"), ("chunk_shape", "[1,1]")]);
        })
        .at("0,0")
        .harmless(),
        case("zeros behind 2^128", |store| {
            store.array(&[("shape", "[18446744073709551615,18446744073709551615,0]"), ("chunk_shape", "[1,1,1]")]);
        })
        .at("0,0,0")
        .harmless(),
        case("zeros beside a chunk of 2^62", |store| {
            let huge = "[1,4611686018427387904]";
            store.array(&[("shape", "[0,18446744073709551615]"), ("chunk_shape", huge)]);
        })
        .at("0,0")
        .harmless(),
    ]
}

fn ranks() -> Vec<Case> {
    let of_rank = |count, length: &'static str| move |store: &Store| rank(store, count, length);
    vec![
        case("rank 0", |store| {
            store.array(&[("shape", "[]"), ("chunk_shape", "[]")]).write("c", [7]);
        })
        .at("")
        .harmless(),
        case("rank 0, a chunk of two elements", |store| {
            store.array(&[("shape", "[]"), ("chunk_shape", "[]")]).write("c", [7, 8]);
        })
        .at(""),
        case("rank 64", of_rank(64, "1")).harmless(),
        case("rank 64 of 2^32 each", of_rank(64, "4294967296")),
        case("rank 63 of 2 each", of_rank(63, "2")),
        case("rank 65", of_rank(65, "1")),
        case("rank 100000", of_rank(100_000, "1")),
        case("rank 200000 of 2^64-1 each", of_rank(200_000, "18446744073709551615")),
        case("shape of 300000 arrays", |store| {
            let nested = format!("[{}[]]", "[],".repeat(300_000));
            store.array(&[("shape", &nested), ("chunk_shape", &nested)]);
        }),
    ]
}
