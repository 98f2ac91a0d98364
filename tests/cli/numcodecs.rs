//! Chunks that numcodecs wrote, in both formats, and what becomes of its codecs in every command.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::rules::base64;
use super::support::CliTest;

/// An array of one chunk of the fixtures, in the folder `a`; the elements that its writer read back.
struct Case {
    name: String,
    document: Value,
    chunk: Vec<u8>,
    elements: Vec<u8>,
}

fn cases() -> Vec<Case> {
    ["chunks.json", "zfpy.json"].into_iter().flat_map(cases_of).collect()
}

fn cases_of(name: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/numcodecs").join(name);
    let file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let case = |case: &Value| Case {
        name: case["name"].as_str().unwrap().to_owned(),
        document: case["document"].clone(),
        chunk: base64(case["chunk"].as_str().unwrap()),
        elements: base64(case["elements"].as_str().unwrap()),
    };
    file["cases"].as_array().unwrap().iter().map(case).collect()
}

impl Case {
    fn is_version_2(&self) -> bool {
        self.document["zarr_format"] == 2
    }

    /// The array in the folder `a` of a test.
    fn store(&self) -> CliTest {
        let test = CliTest::new();
        let (document, chunk) = if self.is_version_2() { (".zarray", "0.0") } else { ("zarr.json", "c/0/0") };
        test.write(&format!("a/{document}"), self.document.to_string());
        test.write(&format!("a/{chunk}"), &self.chunk);
        test
    }

    /// Whether what is encoded comes back as it was.
    fn is_lossless(&self) -> bool {
        if self.name.starts_with("zfpy") {
            return self.name.contains("reversible");
        }
        ["fixedscaleoffset", "two filters", "quantize", "delta of floats", "bitround"]
            .iter()
            .all(|lossy| !self.name.starts_with(lossy))
    }
}

#[test]
fn chunks_of_numcodecs_decode_to_what_it_reads_and_come_back() {
    let cases = cases();
    assert!(cases.len() > 70, "{}", cases.len());
    for case in cases {
        let (test, name) = (case.store(), case.name.as_str());
        test.run(["apply-codec", "-q", "--decode", "--like", "a", "--chunk", "0,0", "elements"]).succeeds();
        assert_eq!(test.read("elements"), case.elements, "{name}");
        test.run(["apply-codec", "-q", "--like", "a", "elements", "encoded"]).succeeds();
        if case.is_lossless() {
            test.run(["apply-codec", "-q", "--decode", "--like", "a", "encoded", "decoded"]).succeeds();
            assert_eq!(test.read("decoded"), case.elements, "{name}");
        }
        if name.starts_with("zfpy") && case.is_lossless() {
            assert_eq!(test.read("encoded"), case.chunk, "{name}");
        }
    }
}

#[test]
fn arrays_of_numcodecs_are_validated_down_to_their_values() {
    for case in cases() {
        let result = case.store().run(["validate", "--json", "--level", "data", "a"]).succeeds().json();
        let codes: Vec<&str> = result["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| finding["code"].as_str().unwrap())
            .collect();
        // That no registry has their names, and that most have no checksum, is all there is to say.
        let codes: Vec<&str> = codes.into_iter().filter(|code| *code != "ZX105").collect();
        assert!(codes.iter().all(|code| *code == "ZC104"), "{}: {codes:?}", case.name);
        assert!(!case.is_version_2() || codes.is_empty(), "{}: {codes:?}", case.name);
    }
}

#[test]
fn damaged_chunks_of_numcodecs_are_errors() {
    for case in cases().iter().filter(|case| !case.is_version_2()) {
        let test = case.store();
        test.write("a/c/0/0", &case.chunk[..case.chunk.len() - 1]);
        let run = test.run(["apply-codec", "-q", "--decode", "--like", "a", "--chunk", "0,0", "elements"]);
        assert_eq!(run.status, 1, "{}: {}", case.name, run.error);
        assert!(run.error.contains("cannot be decoded"), "{}: {}", case.name, run.error);
    }
}

#[test]
fn inspect_shows_a_chunk_of_numcodecs_codec_by_codec() {
    let case = cases().into_iter().find(|case| case.name == "two filters").unwrap();
    let test = case.store();
    let result = test.run(["inspect", "-q", "--json", "a"]).succeeds().json();
    let rows: Vec<(&str, &str)> = result["pipeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["codec"].as_str().unwrap_or(""), row["data_type"].as_str().unwrap_or("")))
        .collect();
    assert!(rows.contains(&("numcodecs.fixedscaleoffset", "int32")), "{result:#}");
    assert!(rows.contains(&("numcodecs.delta", "int32")), "{result:#}");
    let chunk = test.run(["inspect", "-q", "--chunk", "0,0", "--json", "a"]).succeeds().json();
    assert_eq!(chunk["warnings"], json!([]), "{chunk:#}");
}

const FLOATS: &str = r#"{"zarr_format":3,"node_type":"array","shape":[5],"data_type":"float32",
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},
    "chunk_key_encoding":{"name":"default"},"fill_value":"NaN",
    "codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;

/// `[1, 2.6, 3, 250]` and `[5.4]`, at whose edge anything may stand.
fn floats() -> CliTest {
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let test = CliTest::new();
    test.write("a/zarr.json", FLOATS).write("a/c/0", bytes(&[1.0, 2.6, 3.0, 250.0]));
    test.write("a/c/1", bytes(&[5.4, f32::NAN, 1e9, -1e9]));
    test
}

fn to_codes(scale: &str) -> String {
    format!(
        r#"[{{"name":"numcodecs.fixedscaleoffset","configuration":{{"offset":0,"scale":{scale},"dtype":"<f4","astype":"|u1"}}}},
        {{"name":"bytes"}}]"#
    )
}

#[test]
fn transcode_writes_codecs_of_numcodecs_whatever_stands_beyond_the_edge() {
    let test = floats();
    test.run(["transcode", "-q", "--codecs", &to_codes("1"), "a", "b"]).succeeds();
    assert_eq!(test.read("b/c/0"), [1, 3, 3, 250]);
    assert_eq!(test.read("b/c/1"), [5, 0, 0, 0]);
    let plain = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;
    test.run(["transcode", "-q", "--codecs", plain, "b", "c"]).succeeds();
    let expected: Vec<u8> = [1.0_f32, 3.0, 3.0, 250.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(test.read("c/c/0"), expected);
}

#[test]
fn transcode_names_the_element_that_numcodecs_would_lose() {
    let test = floats();
    let codecs = r#"[{"name":"numcodecs.astype","configuration":{"encode_dtype":"|u1","decode_dtype":"<f4"}},
        {"name":"bytes"}]"#;
    test.write("a/c/0", [1.0_f32, 2.6, 3.0, 256.0].map(f32::to_le_bytes).concat());
    let run = test.run(["transcode", "-q", "--codecs", codecs, "a", "b"]);
    assert_eq!(run.status, 1);
    for part in ["element [3]", "256 leaves the range of uint8", "numcodecs loses such a value"] {
        assert!(run.error.contains(part), "{part}: {}", run.error);
    }
    assert!(!test.exists("b/zarr.json"));
}

#[test]
fn fixedscaleoffset_wraps_as_numcodecs_does() {
    let test = floats();
    test.run(["transcode", "-q", "--codecs", &to_codes("2"), "a", "b"]).succeeds();
    // 250 times 2, less 256.
    assert_eq!(test.read("b/c/0"), [2, 5, 6, 244]);
    test.write("a/c/0", [1.0_f32, 2.6, 3.0, 2e9].map(f32::to_le_bytes).concat());
    let run = test.run(["transcode", "-q", "--codecs", &to_codes("2"), "a", "c"]);
    assert_eq!(run.status, 1);
    assert!(run.error.contains("element [3]") && run.error.contains("leaves the range"), "{}", run.error);
}

#[test]
fn filter_for_another_type_is_refused() {
    let test = floats();
    let codecs = r#"[{"name":"numcodecs.delta","configuration":{"dtype":"<i4"}},{"name":"bytes","configuration":{"endian":"little"}}]"#;
    let run = test.run(["transcode", "-q", "--codecs", codecs, "a", "b"]);
    assert_eq!(run.status, 1);
    let message = "`numcodecs.delta` is made for `int32`, but `float32` reaches it";
    assert!(run.error.contains(message), "{}", run.error);
}

#[test]
fn filter_that_stays_is_neither_undone_nor_done_again() {
    // Decoded to integers, codes of tenths lose their fraction: encoded again they would be others.
    let test = CliTest::new();
    let filter = r#"{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":0.5,"scale":10.0,"dtype":"<i4","astype":"<i2"}}"#;
    let bytes = |endian: &str| format!(r#"{{"name":"bytes","configuration":{{"endian":"{endian}"}}}}"#);
    let document = FLOATS
        .replace("float32", "int32")
        .replace("\"NaN\"", "0")
        .replace(&bytes("little"), &format!("{filter},{}", bytes("little")));
    test.write("a/zarr.json", document).write("a/c/0", [7, 0, 8, 0, 99, 0, 0xe8, 3]);
    let codecs = format!("[{filter},{}]", bytes("big"));
    test.run(["transcode", "-q", "--verify", "--codecs", &codecs, "a", "b"]).succeeds();
    assert_eq!(test.read("b/c/0"), [0, 7, 0, 8, 0, 99, 3, 0xe8]);
    test.run(["transcode", "-q", "--verify", "--compress", "zstd:1", "a", "c"]).succeeds();
    test.run(["validate", "-q", "--against", "a", "c"]).succeeds();
}

#[test]
fn differences_of_floats_are_not_verified_element_by_element() {
    let test = floats();
    let codecs = |kind: &str| {
        format!(
            r#"[{{"name":"numcodecs.delta","configuration":{{"dtype":"{kind}"}}}},{{"name":"bytes","configuration":{{"endian":"little"}}}}]"#
        )
    };
    let run = test.run(["transcode", "-q", "--verify", "--codecs", &codecs("<f4"), "a", "b"]);
    assert_eq!(run.status, 1);
    assert!(run.error.contains("adds up rounded differences") && !test.exists("b"), "{}", run.error);
    test.run(["transcode", "-q", "--codecs", &codecs("<f4"), "a", "b"]).succeeds();
    test.run([
        "transcode",
        "-q",
        "--data-type",
        "int32",
        "--nan-value",
        "0",
        "--out-of-range",
        "clamp",
        "a",
        "c",
    ])
    .succeeds();
    test.run(["transcode", "-q", "--verify", "--codecs", &codecs("<i4"), "c", "d"]).succeeds();
}
