//! Zarr v2: false dtypes, endless filters, and separators with paths outside.

use crate::hostile::case::{Case, case};

/// Returns a v2 array with members changed, and a chunk of four bytes.
fn array(name: &'static str, changes: &[(&'static str, &str)]) -> Case {
    let text = document(changes);
    case(name, move |store| {
        store.write(".zarray", &text).write("0", [1, 2, 3, 4]);
    })
}

fn document(changes: &[(&'static str, &str)]) -> String {
    let plain = [
        ("zarr_format", "2"),
        ("shape", "[8]"),
        ("chunks", "[4]"),
        ("dtype", "\"|u1\""),
        ("compressor", "null"),
        ("fill_value", "0"),
        ("order", "\"C\""),
        ("filters", "null"),
        ("dimension_separator", "\".\""),
    ];
    let change = |name: &str| changes.iter().find(|(changed, _)| *changed == name).map(|(_, text)| *text);
    let members: Vec<String> =
        plain.iter().map(|(name, text)| format!("\"{name}\":{}", change(name).unwrap_or(text))).collect();
    format!("{{{}}}", members.join(","))
}

fn dtype(name: &'static str, text: &str) -> Case {
    array(name, &[("dtype", text)])
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = dtypes();
    cases.extend(members());
    cases.extend(consolidated());
    cases
}

fn dtypes() -> Vec<Case> {
    let field = |depth: usize| format!("{}\"|u1\"{}", "[[\"a\",".repeat(depth), "]]".repeat(depth));
    vec![
        dtype("text of 2^31-1 bytes", "\"|S2147483647\""),
        dtype("text of 2^63 bytes", "\"|S9223372036854775808\""),
        dtype("text of 2^64 bytes", "\"|S18446744073709551616\""),
        dtype("text of 2^62 characters", "\"<U4611686018427387904\""),
        dtype("text of 2^30 characters", "\"<U1073741824\""),
        dtype("void of 2^40 bytes", "\"|V1099511627776\""),
        dtype("text of no byte", "\"|S0\""),
        dtype("integer of 2^40 bytes", "\"<i1099511627776\""),
        dtype("integer of 3 bytes", "\"<i3\""),
        dtype("float of a mebibyte of digits", &format!("\"<f{}\"", "4".repeat(1 << 20))),
        dtype("no byte order", "\"i4\""),
        dtype("byte order of its own", "\"=i4\""),
        dtype("time of its own", "\"<M8[parsecs]\""),
        dtype("time by 2^64", "\"<M8[18446744073709551616us]\""),
        dtype("time without end", &format!("\"<M8[{}\"", "1".repeat(1 << 20))),
        dtype("object", "\"|O\""),
        dtype("nothing", "\"\""),
        dtype("letters beyond ASCII", "\"\u{e9}\u{661}4\""),
        dtype("fields 1000 deep", &field(1000)),
        dtype("fields 40 deep", &field(40)),
        dtype("100000 fields", &format!("[[\"a\",\"|u1\"]{}]", ",[\"a\",\"|u1\"]".repeat(100_000))),
        dtype(
            "fields of 2^40 elements each",
            r#"[["a","<f8",[1099511627776]],["b","<f8",[1099511627776,1099511627776]]]"#,
        ),
        dtype(
            "fields of 2^62 bytes",
            r#"[["a","|V4611686018427387904"],["b","|V4611686018427387904"],["c","|V4611686018427387904"],["d","|V4611686018427387904"]]"#,
        ),
        dtype("fields of nothing", "[[],[1],[null,null],{}]"),
        dtype("no field", "[]"),
        dtype("null", "null"),
        dtype("number", "8"),
    ]
}

fn members() -> Vec<Case> {
    let filters = |count: usize| format!("[{}]", vec![r#"{"id":"shuffle","elementsize":1}"#; count].join(","));
    vec![
        array(
            "all null",
            &[
                "shape",
                "chunks",
                "dtype",
                "compressor",
                "fill_value",
                "order",
                "filters",
                "dimension_separator",
                "zarr_format",
            ]
            .map(|name| (name, "null")),
        ),
        array(
            "product of 2^126 elements",
            &[("shape", "[9223372036854775808,9223372036854775808]"), ("chunks", "[4,4]")],
        ),
        array("chunk of 2^62 elements of 8 bytes", &[("chunks", "[4611686018427387904]"), ("dtype", "\"<f8\"")]),
        array("chunk of 0", &[("chunks", "[0]")]),
        array("chunks as a truth", &[("chunks", "true")]),
        array(
            "rank 100000",
            &[("shape", &format!("[1{}]", ",1".repeat(99_999))), ("chunks", &format!("[1{}]", ",1".repeat(99_999)))],
        ),
        array("100000 filters", &[("filters", &filters(100_000))]),
        array("200 filters", &[("filters", &filters(200))]).harmless(),
        array("filters within each other", &[("filters", &format!("{}{}", "[".repeat(100), "]".repeat(100)))]),
        array("filter of its own", &[("filters", r#"[{"id":"../../mine"}]"#)]),
        array("filter without a name", &[("filters", "[{}]")]),
        array("compressor that is a list", &[("compressor", "[]")]),
        array("compressor without a name", &[("compressor", "{\"level\":1}")]),
        array("bz2 level 0", &[("compressor", r#"{"id":"bz2","level":0}"#)]),
        array("zlib level 2^40", &[("compressor", r#"{"id":"zlib","level":1099511627776}"#)]),
        array("delta by its own types", &[("filters", r#"[{"id":"delta","dtype":"<q77","astype":"|O"}]"#)]),
        array(
            "fixedscaleoffset by 0",
            &[
                ("filters", r#"[{"id":"fixedscaleoffset","scale":0,"offset":0,"dtype":"<f8","astype":"|u1"}]"#),
                ("dtype", "\"<f8\""),
            ],
        ),
        array("order of its own", &[("order", "\"K\"")]),
        array("separator that leads out", &[("dimension_separator", "\"/../../outside/\"")]),
        array("separator of nothing", &[("dimension_separator", "\"\"")]),
        array("fill value of no base64", &[("dtype", "\"|S4\""), ("fill_value", "\"&&&&\"")]),
        array(
            "fill value of a mebibyte of base64",
            &[("dtype", "\"|V4\""), ("fill_value", &format!("\"{}\"", "AAAA".repeat(1 << 18)))],
        ),
        array("fill value of 1e999999999", &[("dtype", "\"<f8\""), ("fill_value", "1e999999999")]),
        array("attributes of their own", &[("shape", "[8]")]).harmless(),
    ]
}

fn consolidated() -> Vec<Case> {
    let with = |name: &'static str, metadata: &str| {
        let text = format!("{{\"zarr_consolidated_format\":1,\"metadata\":{metadata}}}");
        case(name, move |store| {
            store.write(".zgroup", "{\"zarr_format\":2}").write(".zmetadata", &text);
            store.write("a/.zarray", document(&[])).write("a/0", [1, 2, 3, 4]);
        })
    };
    vec![
        with("consolidated ../outside/.zarray", &format!("{{\"../outside/.zarray\":{}}}", document(&[]))),
        with("consolidated /etc/.zgroup", "{\"/etc/.zgroup\":{\"zarr_format\":2}}"),
        with("consolidated documents of their own", "{\"a/.mine\":7,\".zgroup\":null,\"\":{}}"),
        with(
            "consolidated lie",
            &format!("{{\".zgroup\":{{\"zarr_format\":2}},\"a/.zarray\":{}}}", document(&[("shape", "[99]")])),
        ),
        with("consolidated list", "[]"),
        case("attributes that are a list", |store| {
            store.write(".zarray", document(&[])).write("0", [1, 2, 3, 4]).write(".zattrs", "[1,2]");
        }),
        case("dimensions of their own", |store| {
            store.write(".zarray", document(&[])).write("0", [1, 2, 3, 4]);
            store.write(".zattrs", r#"{"_ARRAY_DIMENSIONS":[1,null,"\u001b[2J","a","a"]}"#);
        })
        .harmless(),
        case("group that is an array", |store| {
            store.write(".zarray", document(&[])).write(".zgroup", "{\"zarr_format\":2}").write("0", [1, 2, 3, 4]);
        }),
    ]
}
