//! Parsing, access and comparison.

use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Json {
    Json::parse_str(text).unwrap()
}

fn fault(bytes: &[u8]) -> (usize, usize, usize, JsonErrorKind) {
    let error = Json::parse(bytes).unwrap_err();
    (error.offset, error.line, error.column, error.kind)
}

#[test]
fn json_parse_keeps_literals_order_and_repeated_names() {
    let json = parse(" {\"b\" : 1.0, \"a\":[1e3,-0],\"b\":\t2}\r\n");
    let object = json.as_object().unwrap();
    assert_eq!(object.names().collect::<Vec<_>>(), ["b", "a", "b"]);
    assert_eq!(json.get("b").unwrap().as_u64(), Some(2));
    assert_eq!(json.pointer("/a/0").unwrap().as_number().unwrap().literal(), "1e3");
    assert_eq!(json.duplicates(), ["/b"]);
}

#[test]
fn json_parse_errors_name_the_place() {
    use JsonErrorKind as K;
    let unexpected = |expected, found: &str| K::Unexpected { expected, found: found.to_owned() };
    assert_eq!(fault(b" \n "), (3, 2, 2, K::Empty));
    assert_eq!(fault(b"\xef\xbb\xbf{}"), (0, 1, 1, K::ByteOrderMark));
    assert_eq!(fault(b"\xff\xfe{\0"), (0, 1, 1, K::ByteOrderMark));
    assert_eq!(fault(b"[\"\xc3\xa9\xff\"]"), (4, 1, 4, K::NotUtf8));
    assert_eq!(fault(b"{}\n\"\xc3\xa9\" x"), (3, 2, 1, K::TrailingText("`\"`".to_owned())));
    assert_eq!(fault("{\n \"é\": NaN}".as_bytes()), (9, 2, 7, K::NotFinite("NaN")));
    assert_eq!(fault(b"[-Infinity]"), (1, 1, 2, K::NotFinite("-Infinity")));
    assert_eq!(fault(b"[1,]"), (2, 1, 3, K::TrailingComma));
    assert_eq!(fault(b"{\"a\":1,}"), (6, 1, 7, K::TrailingComma));
    assert_eq!(fault(b"{a:1}"), (1, 1, 2, unexpected("a member's name in double quotes", "`a`")));
    assert_eq!(fault(b"{\"a\" 1}"), (5, 1, 6, unexpected("`:`", "`1`")));
    assert_eq!(fault(b"[1 2]"), (3, 1, 4, unexpected("`,` or `]`", "`2`")));
    assert_eq!(fault(b"[1"), (2, 1, 3, K::End("`,` or `]`")));
    assert_eq!(fault(b"[nul]"), (1, 1, 2, unexpected("a value", "`n`")));
    assert_eq!(fault(b"01"), (0, 1, 1, K::LeadingZero));
    assert_eq!(fault(b"1.x"), (2, 1, 3, unexpected("a digit", "`x`")));
    assert_eq!(fault(b"-"), (1, 1, 2, K::End("a digit")));
    assert_eq!(fault(b"\"a\nb\""), (2, 1, 3, K::ControlCharacter(10)));
    assert_eq!(fault(b"\"ab"), (3, 1, 4, K::End("the closing quote of a string")));
    assert_eq!(fault(b"\"\\x\""), (1, 1, 2, K::Escape));
    assert_eq!(fault(b"\"\\u12g4\""), (1, 1, 2, K::Escape));
    assert_eq!(fault(b"\"\\u+123\""), (1, 1, 2, K::Escape));
    for lone in ["\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800x\""] {
        assert_eq!(fault(lone.as_bytes()), (1, 1, 2, K::LoneSurrogate), "{lone}");
    }
    assert_eq!(
        Json::parse(b"[1 2]").unwrap_err().to_string(),
        "line 1, column 4 (byte 3): expected `,` or `]`, found `2`"
    );
}

#[test]
fn json_parse_reads_escapes() {
    let json = parse(r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0000""#);
    assert_eq!(json.as_str(), Some("\"\\/\u{8}\u{c}\n\r\té😀\0"));
}

#[test]
fn json_parse_is_bounded() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Json::parse_str(&deep(128)).is_ok());
    assert_eq!(Json::parse_str(&deep(129)).unwrap_err().kind, JsonErrorKind::TooDeep(128));
    assert_eq!(Json::parse_str(&"[".repeat(1 << 20)).unwrap_err().kind, JsonErrorKind::TooDeep(128));
    let limits = Limits { max_bytes: 8, max_depth: 2, max_values: 3 };
    let kind = |text: &str| Json::parse_with_limits(text.as_bytes(), limits).unwrap_err().kind;
    assert_eq!(kind("123456789"), JsonErrorKind::TooLarge(8));
    assert_eq!(kind("[1,2,3]"), JsonErrorKind::TooManyValues(3));
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
    assert_eq!(json.duplicates(), ["/a/0/x~1y", "/b/c"]);
    // Many names are told apart in another way than few.
    let many = (0..40).map(|index| format!("\"{}\":0", index % 39)).collect::<Vec<_>>().join(",");
    assert_eq!(Json::parse_str(&format!("[{{{many}}}]")).unwrap().duplicates(), ["/0/0"]);
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
fn json_same_value_ignores_order_and_spelling_of_numbers() {
    assert!(parse(r#"{"a":1.0,"b":[1e1]}"#).same_value(&parse(r#"{"b":[10],"a":1}"#)));
    assert!(parse(r#"{"a":1,"a":2}"#).same_value(&parse(r#"{"a":2}"#)));
    assert!(!parse(r#"{"a":1}"#).same_value(&parse(r#"{"a":1,"b":2}"#)));
    assert!(!parse("[1,2]").same_value(&parse("[2,1]")));
    assert!(!parse("1").same_value(&parse("\"1\"")));
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
        let serde = serde_json::from_str::<serde_json::Value>(&text);
        match (Json::parse_str(&text), serde) {
            (Ok(json), Ok(value)) => prop_assert!(json.to_value() == value),
            (Err(_), Err(_)) => {}
            // serde_json refuses numbers beyond f64, which are JSON.
            (Ok(_), Err(error)) => prop_assert!(error.to_string().contains("out of range"), "{text}: {error}"),
            (Err(error), Ok(_)) => prop_assert!(false, "{text}: {error}"),
        }
    }

    #[test]
    fn json_round_trips_strings(text in any::<String>()) {
        let json = Json::from(text);
        prop_assert_eq!(&Json::parse_str(&json.to_string_compact()).unwrap(), &json);
        prop_assert_eq!(json.to_string_compact().len(), serde_json::to_string(&json).unwrap().len());
    }

    #[test]
    fn json_parse_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = Json::parse(&bytes);
    }
}

#[test]
fn json_is_small() {
    // What bounds the memory of a document: values x this, and what they hold.
    assert!(size_of::<Json>() <= 32 && size_of::<(String, Json)>() <= 56);
}
