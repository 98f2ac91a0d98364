//! Fill values that are invalid for their type.

use crate::hostile::case::{Case, LITTLE, case};

/// Returns an array with this type and fill value. Its chunk is missing, so the fill value is read.
fn fill(data_type: &'static str, name: &'static str, text: impl Into<String>) -> Case {
    let text = text.into();
    case(format!("{data_type}: {name}"), move |store| {
        let data_type = if data_type.starts_with('{') { data_type.to_owned() } else { format!("\"{data_type}\"") };
        store.array(&[("data_type", &data_type), ("fill_value", &text), ("codecs", &format!("[{LITTLE}]"))]);
    })
}

/// Returns an array with a fill value of 60 MB that repeats a piece.
fn long(data_type: &'static str, name: &str, piece: &'static str) -> Case {
    case(format!("{data_type}: {name}"), move |store| {
        let data_type = format!("\"{data_type}\"");
        let changes = [("data_type", data_type.as_str()), ("fill_value", "\"PIECES\"")];
        store.array_of_pieces(&changes, piece, 15_000_000);
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = numbers();
    cases.extend(others());
    cases
}

fn numbers() -> Vec<Case> {
    vec![
        fill("uint8", "null", "null"),
        fill("uint8", "256", "256"),
        fill("uint8", "-1", "-1"),
        fill("uint8", "a million digits", "1".repeat(1_000_000)),
        fill("uint8", "a million zeros after the point", format!("1.{}", "0".repeat(1_000_000))),
        fill("uint8", "1e999999999", "1e999999999"),
        fill("uint8", "1e-999999999", "1e-999999999"),
        fill("uint8", "0e99999999999999999999", "0e99999999999999999999"),
        fill("uint8", "text of a mebibyte", format!("\"{}\"", "7".repeat(1 << 20))),
        fill("uint8", "object", "{\"a\":1}"),
        fill("int64", "2^63", "9223372036854775808"),
        fill("uint64", "2^64", "18446744073709551616"),
        fill("uint10", "1024", "1024"),
        fill("float16", "hexadecimal of another width", "\"0x7fc00000\""),
        fill("float32", "hexadecimal of a mebibyte", format!("\"0x{}\"", "f".repeat(1 << 20))),
        fill("float32", "hexadecimal of nothing", "\"0x\""),
        fill("float32", "hexadecimal with a sign", "\"0x+fc00000\""),
        fill("float64", "1e999999999", "1e999999999"),
        fill("float64", "-1e999999999", "-1e999999999"),
        fill("float64", "a million digits between two values", format!("1.{}1", "0".repeat(1_000_000))).harmless(),
        fill("float64", "exponent of a million digits", format!("1e{}", "9".repeat(1_000_000))),
        fill("float64", "true", "true"),
        fill(
            "float64",
            "a million nines with an exponent that takes them back",
            format!("{}e-1000000", "9".repeat(1_000_000)),
        ),
        fill("bfloat16", "list", "[1]"),
    ]
}

fn others() -> Vec<Case> {
    vec![
        fill("bool", "0", "0"),
        fill("bool", "\"true\"", "\"true\""),
        fill("complex64", "one number", "1"),
        fill("complex64", "no number", "[]"),
        fill("complex64", "a million numbers", format!("[0{}]", ",0".repeat(1_000_000))),
        fill("complex128", "lists in lists", "[[0,0],[0,0]]"),
        fill("r16", "a million bytes", format!("[0{}]", ",0".repeat(1_000_000))),
        fill("r16", "base64 of a mebibyte", format!("\"{}\"", "AAAA".repeat(1 << 18))),
        long("r16", "base64 of 60 MB", "AAAA"),
        fill("r16", "no base64", "\"&&&=\""),
        fill("r16", "bytes of 256", "[256,-1]"),
        fill("r0", "no byte", "[]"),
        fill("r12", "half a byte", "[0]"),
        fill("r18446744073709551616", "2^64 bits", "[0]"),
        fill("r99999999999999999999999999", "more bits", "[0]"),
        fill("string", "lone surrogate", "\"\\ud800\""),
        long("string", "60 MB", "text"),
        fill("string", "number", "7"),
        fill(
            r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":4611686018427387904}}"#,
            "2^62 bytes",
            "\"\"",
        ),
        fill(
            r#"{"name":"null_terminated_bytes","configuration":{"length_bytes":9223372036854775807}}"#,
            "2^63-1 bytes",
            "\"\"",
        ),
        fill(r#"{"name":"raw_bytes","configuration":{"length_bytes":1099511627776}}"#, "2^40 bytes", "\"AA==\""),
        fill(r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":0}}"#, "a scale of 0", "\"NaT\""),
        fill(r#"{"name":"struct","configuration":{"fields":[]}}"#, "no field", "{}"),
        fill(r#"{"name":"struct","configuration":{"fields":null}}"#, "fields of null", "null"),
        fill(r#"{"name":"uint8","configuration":{"a":1}}"#, "a configuration", "0"),
    ]
}
