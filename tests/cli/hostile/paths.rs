//! Keys and names with paths outside the store.

use std::fs;
use std::os::unix::fs::symlink;

use crate::hostile::case::{Case, Store, case, document};

/// A file outside, relative to the store.
const SENTINEL: &str = "../outside/sentinel";

/// Returns an array with this chunk key encoding.
fn encoding(name: &'static str, encoding: &'static str) -> Case {
    case(name, move |store| {
        store.array(&[("chunk_key_encoding", encoding)]).write("c/0", [1, 2, 3, 4]);
    })
}

/// Returns an array with a link at a key.
fn link(name: &'static str, key: &'static str, target: &'static str) -> Case {
    case(name, move |store| {
        store.array(&[]).write("c/1", [1, 2, 3, 4]);
        let _ = fs::remove_file(store.path(key));
        symlink(target, store.path(key)).unwrap();
    })
}

/// Returns a group whose consolidated metadata contain a node of this name.
fn consolidated(name: &'static str, node: &'static str) -> Case {
    case(name, move |store| {
        let array = document(&[]);
        store.write(
            "zarr.json",
            format!(
                r#"{{"zarr_format":3,"node_type":"group","consolidated_metadata":
                {{"kind":"inline","must_understand":false,"metadata":{{"{node}":{array}}}}}}}"#
            ),
        );
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = key_encodings();
    cases.extend(links());
    cases.extend(nodes());
    cases
}

fn key_encodings() -> Vec<Case> {
    let suffix = |name, suffix: &str| {
        let text =
            format!(r#"{{"name":"zarrs.default_suffix","configuration":{{"separator":"/","suffix":"{suffix}"}}}}"#);
        encoding(name, Box::leak(text.into_boxed_str()))
    };
    let named = |name, text| encoding(name, text);
    vec![
        suffix("suffix that leads out", "/../../../outside/sentinel"),
        suffix("suffix of a mebibyte", &"a".repeat(1 << 20)),
        named("suffix for the default encoding", r#"{"name":"default","configuration":{"suffix":"/../../outside"}}"#),
        named("separator that leads out", r#"{"name":"v2","configuration":{"separator":"/../../outside/sentinel"}}"#),
        named("separator of nothing", r#"{"name":"v2","configuration":{"separator":""}}"#),
        named("separator is a backslash", r#"{"name":"default","configuration":{"separator":"\\"}}"#),
        named("separator is null", r#"{"name":"default","configuration":{"separator":null}}"#),
        named("absolute name", r#"{"name":"/etc/passwd"}"#),
        named("prefix that leads out", r#"{"name":"fanout","configuration":{"prefix":"../../outside"}}"#),
        named("text", r#""../../outside""#),
        named("list", "[]"),
    ]
}

fn links() -> Vec<Case> {
    vec![
        link("chunk that is a link to a file outside", "c/0", "../../outside/sentinel").harmless(),
        link("chunk that is a link to /dev/zero", "c/0", "/dev/zero"),
        link("chunk that is a link to /proc/self/mem", "c/0", "/proc/self/mem"),
        link("chunk that is a link to itself", "c/0", "0"),
        link("chunk that is a link to nothing", "c/0", "nothing").harmless(),
        link("chunk that is a link to the root", "c/0", "/"),
        link("document that is a link to itself", "zarr.json", "zarr.json"),
        link("document that is a link to /dev/zero", "zarr.json", "/dev/zero"),
        link("document that is a link to nothing", "zarr.json", "nothing"),
        link("document that is a link outside", "zarr.json", SENTINEL),
        case("folder of chunks that is a link to the store", |store| {
            store.array(&[]);
            symlink(".", store.path("c")).unwrap();
        })
        .harmless(),
        case("folder of chunks that is a link to the root", |store| {
            store.array(&[]);
            symlink("/", store.path("c")).unwrap();
        })
        .harmless(),
        case("two links to the store in the store", |store: &Store| {
            store.array(&[]).write("c/0", [1, 2, 3, 4]);
            symlink(".", store.path("a")).unwrap();
            symlink(".", store.path("b")).unwrap();
        })
        .harmless(),
        case("group with two links to itself", |store: &Store| {
            store.write("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
            symlink(".", store.path("a")).unwrap();
            symlink(".", store.path("b")).unwrap();
        })
        .harmless(),
        case("group with a link to what is above it", |store: &Store| {
            store.write("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
            store.write("x/zarr.json", document(&[])).write("x/c/0", [1, 2, 3, 4]);
            symlink("..", store.path("up")).unwrap();
            symlink("../outside", store.path("out")).unwrap();
        })
        .harmless(),
        case("ring of links", |store: &Store| {
            store.write("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
            for (from, to) in [("a", "b"), ("b", "c"), ("c", "a")] {
                symlink(to, store.path(from)).unwrap();
            }
        })
        .harmless(),
    ]
}

fn nodes() -> Vec<Case> {
    vec![
        consolidated("node ../outside", "../outside"),
        consolidated("node a/../../outside", "a/../../outside"),
        consolidated("absolute node", "/etc"),
        consolidated("node ..", ".."),
        consolidated("node .", "."),
        consolidated("node of nothing", ""),
        consolidated("node with NUL", "a\\u0000b"),
        consolidated("node of slashes", "a//b/"),
        consolidated("node of a mebibyte", Box::leak("a".repeat(1 << 20).into_boxed_str())),
        consolidated("node of 100000 names", Box::leak("a/".repeat(100_000).into_boxed_str())),
        case("nodes named with dots", |store: &Store| {
            store.write("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
            for name in ["...", "..a", "__a", ".a", "a b", "-a"] {
                store.write(&format!("{name}/zarr.json"), document(&[]));
            }
        })
        .harmless(),
    ]
}
