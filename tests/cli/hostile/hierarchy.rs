//! Groups with false metadata about their contents.

use std::fmt::Write;

use crate::hostile::case::{Case, Store, case, document};

const GROUP: &str = r#"{"zarr_format":3,"node_type":"group"}"#;

/// Returns a group with these consolidated metadata, and one array `a`.
fn consolidated(name: &'static str, text: impl Into<String>) -> Case {
    let text = text.into();
    case(name, move |store: &Store| {
        let group = format!(r#"{{"zarr_format":3,"node_type":"group","consolidated_metadata":{text}}}"#);
        store.write("zarr.json", group).write("a/zarr.json", document(&[])).write("a/c/0", [1, 2, 3, 4]);
    })
}

/// Returns consolidated metadata of these nodes.
fn inline(nodes: &str) -> String {
    format!(r#"{{"kind":"inline","must_understand":false,"metadata":{{{nodes}}}}}"#)
}

fn array(shape: &str) -> String {
    document(&[("shape", shape)])
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = lies();
    cases.extend(contradictions());
    cases
}

fn lies() -> Vec<Case> {
    let million: Vec<String> = (0..200_000).map(|node| format!("\"n{node}\":{GROUP}")).collect();
    let of_itself =
        format!("\"\":{{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{}}}", inline(""));
    vec![
        consolidated("stale shape", inline(&format!("\"a\":{}", array("[99]")))),
        consolidated("node that is not there", inline(&format!("\"b\":{}", array("[8]")))),
        consolidated("node left out", inline("")),
        consolidated("group for an array", inline(&format!("\"a\":{GROUP}"))),
        consolidated("array above an array", inline(&format!("\"a\":{0},\"a/b\":{0}", array("[8]")))),
        consolidated(
            "shape of 2^126",
            inline(&format!("\"a\":{}", array("[9223372036854775808,9223372036854775808]"))),
        ),
        consolidated("node twice", inline(&format!("\"a\":{},\"a\":{}", array("[8]"), array("[9]")))),
        consolidated("nodes of every wrong type", inline(r#""a":null,"b":7,"c":[],"d":"text","e":{}"#)),
        consolidated("200000 nodes that are not there", inline(&million.join(","))),
        consolidated("consolidated metadata in itself", inline(&of_itself)),
        consolidated(
            "100 consolidated metadata within each other",
            (0..60).fold(inline(""), |inner, _| {
                inline(&format!(
                    "\"a\":{{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{inner}}}"
                ))
            }),
        ),
        consolidated("unknown kind", r#"{"kind":"x","must_understand":false,"metadata":{}}"#),
        consolidated("that must be understood", r#"{"kind":"inline","must_understand":true,"metadata":{}}"#),
        consolidated("null", "null"),
        consolidated("number", "7"),
        consolidated("metadata are a list", r#"{"kind":"inline","must_understand":false,"metadata":[1,2]}"#),
    ]
}

fn contradictions() -> Vec<Case> {
    vec![
        case("array inside an array", |store| {
            store.array(&[]).write("c/0", [1, 2, 3, 4]);
            store.write("inner/zarr.json", document(&[])).write("c/1/zarr.json", document(&[]));
        }),
        case("array and group of both formats", |store| {
            store.array(&[]).write("c/0", [1, 2, 3, 4]);
            store.write(".zarray", "{").write(".zgroup", "{\"zarr_format\":2}").write(".zattrs", "[]");
        })
        .harmless(),
        case("array without the groups above it", |store| {
            store.write("a/b/c/zarr.json", document(&[]));
        }),
        case("group whose arrays are broken", |store| {
            store
                .write("zarr.json", GROUP)
                .write("a/zarr.json", "{")
                .write("b/zarr.json", "")
                .write("c/zarr.json", "null");
        })
        .harmless(),
        case("group with a million attributes", |store| {
            let mut text = String::from(r#"{"zarr_format":3,"node_type":"group","attributes":{"a":0"#);
            for number in 0..300_000 {
                write!(text, ",\"{number}\":0").unwrap();
            }
            store.write("zarr.json", text + "}}");
        })
        .harmless(),
        case("group of 2000 arrays of 2^126 elements", |store| {
            store.write("zarr.json", GROUP);
            let array = array("[9223372036854775808,9223372036854775808]");
            for number in 0..2000 {
                store.write(&format!("a{number}/zarr.json"), &array);
            }
        })
        .harmless(),
        case("group of 3000 arrays with grids of 2^60", |store| {
            store.write("zarr.json", GROUP);
            for number in 0..3000 {
                store.write(&format!("a{number}/zarr.json"), array("[4611686018427387904]"));
            }
        })
        .harmless(),
        case("group with members of an array", |store| {
            store.write("zarr.json", document(&[("node_type", "\"group\"")]));
        })
        .harmless(),
    ]
}
