//! Documents that are not plain JSON: deep, giant, or not text.

use crate::hostile::case::{Case, Store, case, document};

/// Returns a document of these bytes.
fn bytes(name: &'static str, bytes: impl Into<Vec<u8>>) -> Case {
    let bytes = bytes.into();
    case(name, move |store| {
        store.write("zarr.json", &bytes);
    })
}

/// Returns an array with one more member.
fn member(name: &'static str, member: &'static str, text: impl Fn() -> String + Send + Sync + 'static) -> Case {
    case(name, move |store| {
        store.array(&[(member, &text())]).write("c/0", [1, 2, 3, 4]);
    })
}

/// Returns an array document with `count` copies of a piece in its attributes.
fn repeated(name: &'static str, attributes: &'static str, piece: &'static str, count: usize) -> Case {
    case(name, move |store| {
        store.array_of_pieces(&[("attributes", attributes)], piece, count).write("c/0", [1, 2, 3, 4]);
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = deep();
    cases.extend(giant());
    cases.extend(no_text());
    cases.extend(no_json());
    cases
}

fn deep() -> Vec<Case> {
    vec![
        bytes("100000 brackets", "[".repeat(100_000)),
        bytes("100000 braces", "{\"a\":".repeat(100_000)),
        member("1000 arrays in the attributes", "attributes", || {
            format!("{{\"a\":{}{}}}", "[".repeat(1000), "]".repeat(1000))
        }),
        member("126 objects in the attributes", "attributes", || {
            format!("{}1{}", "{\"a\":".repeat(126), "}".repeat(126))
        })
        .harmless(),
        member("10000 arrays in the fill value", "fill_value", || {
            format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))
        }),
        member("data type of 1000 objects", "data_type", || {
            format!("{}\"x\"{}", "{\"name\":".repeat(1000), "}".repeat(1000))
        }),
        case("millions of brackets", |store| {
            store.write_repeated("zarr.json", ["", "[[[[[[[[", ""], 8 << 20);
        }),
        case("120 objects around a million numbers", |store| {
            let before = format!("{}[0", "{\"a\":".repeat(120));
            store.write_repeated("zarr.json", [&before, ",0", &format!("]{}", "}".repeat(120))], 1_000_000);
        }),
    ]
}

fn giant() -> Vec<Case> {
    vec![
        repeated("attribute of 200 MB", "{\"a\":\"PIECES\"}", "aaaaaaaa", 25_000_000),
        repeated("attribute of 60 MB", "{\"a\":\"PIECES\"}", "aaaaaaaa", 7_500_000).harmless(),
        repeated("attribute of 60 MB of escapes", "{\"a\":\"PIECES\"}", "\\u001b", 10_000_000).harmless(),
        repeated("30 million zeros", "{\"a\":[0PIECES]}", ",0", 30_000_000),
        repeated("4 million zeros", "{\"a\":[0PIECES]}", ",0", 4_000_000).harmless(),
        repeated("10 million empty arrays", "{\"a\":[0PIECES]}", ",[]", 10_000_000),
        repeated("a million members of one name", "{\"a\":0PIECES}", ",\"a\":0", 1_000_000),
        case("a million members", |store| {
            let mut file = store.create("zarr.json");
            let text = document(&[("attributes", "{\"a\":0")]);
            write_members(&mut file, text.trim_end_matches('}'), "}}");
        })
        .harmless(),
        case("a million unknown members", |store| {
            let mut file = store.create("zarr.json");
            write_members(&mut file, "{\"zarr_format\":3,\"node_type\":\"array\"", "}");
        }),
        case("sparse document of 2^40 bytes", |store| {
            store.write_sparse("zarr.json", 1 << 40);
        }),
        case("64 MiB of white space", |store| {
            store.write_repeated("zarr.json", ["", "        ", ""], 8 << 20);
        }),
        member("number of a million digits as a shape", "shape", || format!("[{}]", "9".repeat(1_000_000))),
        member("number of a million digits as fill value", "fill_value", || "9".repeat(1_000_000)),
        member("number of a million digits as attribute", "attributes", || {
            format!("{{\"a\":-0.{}e-{}}}", "0".repeat(1_000_000), "9".repeat(1000))
        })
        .harmless(),
    ]
}

fn write_members(file: &mut impl std::io::Write, before: &str, after: &str) {
    file.write_all(before.as_bytes()).unwrap();
    for index in 0..1_000_000 {
        write!(file, ",\"m{index}\":{index}").unwrap();
    }
    file.write_all(after.as_bytes()).unwrap();
    file.flush().unwrap();
}

fn no_text() -> Vec<Case> {
    let with_attribute = |bytes: &[u8]| {
        let text = document(&[("attributes", "{\"a\":\"?\"}")]);
        let at = text.find('?').unwrap();
        [&text.as_bytes()[..at], bytes, &text.as_bytes()[at + 1..]].concat()
    };
    let utf16: Vec<u8> = document(&[]).encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        bytes("nothing", ""),
        bytes("NUL", vec![0; 4096]),
        bytes("byte order mark", [b"\xef\xbb\xbf", document(&[]).as_bytes()].concat()),
        bytes("UTF-16", utf16.clone()),
        bytes("UTF-16 with its mark", [vec![0xff, 0xfe], utf16].concat()),
        bytes("invalid UTF-8 in a string", with_attribute(b"\xff\xfe")),
        bytes("overlong UTF-8 in a string", with_attribute(b"\xc0\x80")),
        bytes("surrogate as UTF-8 in a string", with_attribute(b"\xed\xa0\x80")),
        bytes("NUL in a string", with_attribute(b"\0")),
        bytes("raw escape in a string", with_attribute(b"\x1b[2J")),
        bytes("lone surrogate", with_attribute(b"\\ud800")),
        bytes("surrogates in the wrong order", with_attribute(b"\\udc00\\ud800")),
        bytes("surrogate before another character", with_attribute(b"\\ud800\\u0041")),
        bytes("UTF-8 cut at the end", [document(&[]).as_bytes(), b"\xe2\x82"].concat()),
    ]
}

fn no_json() -> Vec<Case> {
    let of_array = |name, edit: fn(String) -> String| {
        case(name, move |store: &Store| {
            store.write("zarr.json", edit(document(&[]))).write("c/0", [1, 2, 3, 4]);
        })
    };
    vec![
        bytes("brace", "{"),
        bytes("null", "null"),
        bytes("number", "3"),
        bytes("array", "[]"),
        bytes("object", "{}"),
        bytes("NaN", "NaN"),
        bytes("1e999999999", "1e999999999"),
        of_array("two documents", |text| text.repeat(2)),
        of_array("every member twice", |text| format!("{},{}", text.trim_end_matches('}'), &text[1..])),
        of_array("members twice with other values", |text| text.replacen('{', "{\"shape\":[4],\"shape\":[1],", 1)),
        of_array("all null", |_| {
            let names = ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"];
            let nulls: Vec<String> = names.iter().map(|name| format!("\"{name}\":null")).collect();
            format!("{{\"zarr_format\":3,\"node_type\":\"array\",{}}}", nulls.join(","))
        }),
        of_array("a format of 1e999999999", |text| text.replace("\"zarr_format\":3", "\"zarr_format\":1e999999999")),
        of_array("a chunk of 1e999999999", |text| text.replace("[4]", "[1e999999999]")),
        of_array("a level of 1e999999999", |text| {
            text.replace(
                "[{\"name\":\"bytes\"}]",
                r#"[{"name":"bytes"},{"name":"zstd","configuration":{"level":1e999999999,"checksum":false}}]"#,
            )
        }),
        of_array("members of every wrong type", |text| {
            text.replace("[8]", "{}").replace("\"uint8\"", "[]").replace("\"/\"", "7").replace("\"bytes\"", "{}")
        }),
        of_array("unknown node type", |text| text.replace("\"array\"", "\"table\"")),
    ]
}
