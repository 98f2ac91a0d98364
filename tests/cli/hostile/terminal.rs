//! Terminal control characters, wherever a document or a file name may contain them.

use crate::hostile::case::{BYTES, Case, Store, case, codec, sharding};

/// Escapes that clear the screen, set the title and ring the bell, a carriage return, and their 8-bit variants.
const TEXT: &str = r"\u001b[2J\u001b]0;mine\u0007\r\u009b31m\u007f\u0000";

/// Returns an array with members changed, and a chunk.
fn array(name: &'static str, changes: &'static [(&'static str, &'static str)]) -> Case {
    case(name, move |store| {
        let texts: Vec<(&str, String)> =
            changes.iter().map(|(name, text)| (*name, text.replace("TEXT", TEXT))).collect();
        let changes: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        store.array(&changes).write("c/0", [1, 2, 3, 4]);
    })
}

/// Writes an array and a file with this name.
fn file(store: &Store, name: &str) {
    store.array(&[]).write("c/0", [1, 2, 3, 4]).write(name, "");
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        array("attribute", &[("attributes", r#"{"a":"TEXT"}"#)]).harmless(),
        array("name of an attribute", &[("attributes", r#"{"TEXT":1}"#)]).harmless(),
        array("attribute within others", &[("attributes", r#"{"a":[{"TEXT":"TEXT"}]}"#)]).harmless(),
        array("attribute given twice", &[("attributes", r#"{"TEXT":1,"TEXT":2}"#)]),
        array("dimension name", &[("dimension_names", r#"["TEXT"]"#)]).harmless(),
        array("data type", &[("data_type", r#""TEXT""#)]),
        array("name of a data type", &[("data_type", r#"{"name":"TEXT","configuration":{"TEXT":"TEXT"}}"#)]),
        array("fill value", &[("fill_value", r#""TEXT""#)]),
        array("fill value of a string", &[("data_type", r#""string""#), ("fill_value", r#""TEXT""#)]),
        array("codec", &[("codecs", r#"["TEXT","bytes"]"#)]),
        array(
            "name of a codec",
            &[("codecs", r#"[{"name":"TEXT","configuration":{"TEXT":"TEXT"}},{"name":"bytes"}]"#)],
        ),
        array("codec behind bytes", &[("codecs", r#"[{"name":"bytes"},{"name":"TEXT"}]"#)]),
        array("member of a codec", &[("codecs", r#"[{"name":"bytes","configuration":{"TEXT":1},"TEXT":2}]"#)]),
        array("value in a configuration", &[("codecs", r#"[{"name":"bytes","configuration":{"endian":"TEXT"}}]"#)]),
        array("key encoding", &[("chunk_key_encoding", r#"{"name":"TEXT"}"#)]),
        array("separator", &[("chunk_key_encoding", r#"{"name":"v2","configuration":{"separator":"TEXT"}}"#)]),
        array("chunk grid", &[("chunk_grid", r#"{"name":"TEXT","configuration":{"TEXT":1}}"#)]),
        array("node type", &[("node_type", r#""TEXT""#)]),
        array("format", &[("zarr_format", r#""TEXT""#)]),
        array("unknown member", &[("TEXT", r#""TEXT""#)]),
        array("storage transformer", &[("storage_transformers", r#"[{"name":"TEXT"}]"#)]),
        array("huge attribute names", &[("attributes", r#"{"TEXTTEXTTEXTTEXTTEXTTEXTTEXTTEXT":"TEXTTEXTTEXTTEXT"}"#)])
            .harmless(),
        case("dimension name of a mebibyte", |store| {
            let names = format!("[\"{}\"]", TEXT.repeat(1 << 14));
            store.array(&[("dimension_names", &names)]).write("c/0", [1, 2, 3, 4]);
        })
        .harmless(),
        case("codec inside a shard", |store| {
            let mine = format!("[{{\"name\":\"bytes\"}},{}]", codec(TEXT, "{}"));
            let codecs = format!("[{}]", sharding("[2]", &mine));
            store.array(&[("codecs", &codecs)]).write("c/0", [0; 40]);
        }),
        case("values that are not cast", |store| {
            let cast = codec("cast_value", &format!(r#"{{"data_type":"{TEXT}","rounding":"{TEXT}"}}"#));
            store.array(&[("codecs", &format!("[{cast},{}", &BYTES[1..]))]).write("c/0", [1, 2, 3, 4]);
        }),
        case("text instead of JSON", |store| {
            store.write("zarr.json", "\x1b[2J\u{9b}31m");
        }),
        case("text after the JSON", |store| {
            store.write("zarr.json", format!("{}\x1b[2J", crate::hostile::case::document(&[])));
        }),
    ];
    for (name, file_name) in [
        ("file name with escapes", "\x1b[2J\x1b]0;mine\x07"),
        ("file name with C1 controls", "\u{9b}31m"),
        ("file name with line ends", "one\ntwo\rthree"),
        ("file name with DEL", "\x7f\x7f"),
        ("chunk name with escapes", "c/0\x1b[2J"),
        ("folder name with escapes", "\x1b[2J/\x1b[3J"),
    ] {
        cases.push(case(name, move |store| file(store, file_name)).harmless());
    }
    cases
}
