//! Parsing, access and comparison.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn parse(text: &str) -> Json {
    Json::parse_str(text).unwrap()
}

fn fault(bytes: &[u8]) -> String {
    Json::parse(bytes).unwrap_err().to_string()
}

#[test]
fn json_parse_is_bounded() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Json::parse_str(&deep(128)).is_ok());
    let too_deep = "arrays and objects are nested more than 128 deep";
    assert!(fault(deep(129).as_bytes()).ends_with(too_deep));
    assert!(fault("[".repeat(1 << 20).as_bytes()).ends_with(too_deep));
    assert!(Json::parse(format!("[{}0]", "0,".repeat((1 << 20) - 2)).as_bytes()).is_ok());
    for text in [format!("[{}0]", "0,".repeat((1 << 20) - 1)), " ".repeat((64 << 20) + 1)] {
        assert_eq!(Json::parse_str(&text).unwrap_err().diagnostic().code, "ZM002");
    }
    assert_eq!(Json::parse(b"[").unwrap_err().diagnostic().code, "ZM001");
    assert_eq!(Json::parse_str(&deep(129)).unwrap_err().diagnostic().code, "ZM002");
}

#[test]
fn json_parse_time_does_not_grow_with_depth() {
    // Quadratic scanning would take minutes.
    let text = format!("{}\"{}\"{}", "[".repeat(128), "x".repeat(4 << 20), "]".repeat(128));
    assert!(Json::parse_str(&text).is_ok());
}

#[test]
fn json_pointer_follows_rfc_6901() {
    let json = parse(r#"{"a/b":{"m~n":[10,20]},"":1}"#);
    assert_eq!(json.pointer("/a~1b/m~0n/1").unwrap().as_u64(), Some(20));
    assert_eq!(json.pointer("/").unwrap().as_u64(), Some(1));
    assert_eq!(json.pointer(""), Some(&json));
    for absent in ["/a~1b/m~0n/01", "/a~1b/m~0n/2", "/a~1b/m~0n/-", "/x", "x", "//"] {
        assert_eq!(json.pointer(absent), None, "{absent}");
    }
}

#[test]
fn json_duplicates_are_found_everywhere_once() {
    let json = parse(r#"{"a":[{"x/y":1,"x/y":2,"x/y":3}],"b":{"c":1,"c":1}}"#);
    assert_eq!(json.duplicates(100), ["/a/0/x~1y", "/b/c"]);
    assert_eq!(json.duplicates(1), ["/a/0/x~1y"]);
    // A long name is part of each pointer, so many pointers would repeat it.
    let below_long = format!(r#"{{"{}":{{"a":1,"a":2,"b":1,"b":2}}}}"#, "n".repeat(2 << 20));
    assert_eq!(parse(&below_long).duplicates(100).len(), 1);
    // Duplicates among many names are found by another algorithm than among few.
    let many = (0..40).map(|index| format!("\"{}\":0", index % 39)).collect::<Vec<_>>().join(",");
    assert_eq!(Json::parse_str(&format!("[{{{many}}}]")).unwrap().duplicates(100), ["/0/0"]);
}

#[test]
fn object_insert_replaces_the_last_in_its_place() {
    let mut json = parse(r#"{"a":1,"b":2,"a":3,"c":4}"#);
    json.as_object_mut().unwrap().insert("a", 9_u64);
    assert_eq!(json.to_string(), r#"{"b":2,"a":9,"c":4}"#);
    assert_eq!(json.as_object_mut().unwrap().remove("a"), Some(Json::from(9_u64)));
    assert_eq!(json.to_string(), r#"{"b":2,"c":4}"#);
}

#[test]
fn json_excerpt_is_short() {
    assert_eq!(parse("[1,2]").excerpt(), "an array");
    assert_eq!(parse("\"a\"").excerpt(), "\"a\"");
    assert!(Json::from("é".repeat(1 << 20)).excerpt().len() < 200);
}

proptest! {
    #[test]
    fn json_parse_agrees_with_serde_json(text in "[\\[\\]{}\",:0-9eE+\\-.\\\\untfalsr \u{e9}]{0,12}") {
        let serde = serde_json::from_str::<Value>(&text);
        match (Json::parse_str(&text), serde) {
            (Ok(json), Ok(value)) => prop_assert_eq!(value, serde_json::from_str::<Value>(&json.to_string()).unwrap()),
            (Err(_), Err(_)) => {}
            // serde_json refuses numbers outside f64, which are valid JSON.
            (Ok(_), Err(error)) => prop_assert!(error.to_string().contains("out of range"), "{text}: {error}"),
            (Err(error), Ok(_)) => prop_assert!(false, "{text}: {error}"),
        }
    }

    #[test]
    fn json_round_trips_strings(text in any::<String>()) {
        let json = Json::from(text);
        prop_assert_eq!(&Json::parse_str(&json.to_string()).unwrap(), &json);
        prop_assert_eq!(json.to_string().len(), serde_json::to_string(&json).unwrap().len());
    }

    #[test]
    fn json_parse_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = Json::parse(&bytes);
    }
}

#[test]
fn json_is_small() {
    // The memory of a document is limited by this size per value, plus the texts.
    assert!(size_of::<Json>() <= 32 && size_of::<(String, Json)>() <= 56);
}

#[test]
fn compact_output_keeps_what_was_read() {
    let text = r#"{"b":1.0,"a":[1e3,-0,123456789012345678901234567890],"b":null,"c":{"d":[]},"e":"é\n\u0001\"\\"}"#;
    assert_eq!(Json::parse_str(text).unwrap().to_string(), text);
}

#[test]
fn cut_output_ends_soon_after_its_limit() {
    let json = Json::parse_str(&format!(r#"{{"a":[{}0],"b":"{}"}}"#, "1,".repeat(5000), "x".repeat(5000))).unwrap();
    assert!((100..110).contains(&json.to_string_cut(100).len()));
    assert!((11_000..11_010).contains(&json.to_string_cut(11_000).len()));
    assert_eq!(json.to_string_cut(usize::MAX), json.to_string());
}

#[test]
fn serialisation_keeps_literals() {
    let text = r#"{"a":[1.0,1e3,123456789012345678901234567890],"a":-0}"#;
    assert_eq!(serde_json::to_string(&Json::parse_str(text).unwrap()).unwrap(), text);
}
