//! Chunks written by numcodecs in both formats, and its codecs in every command.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::rules::base64;
use super::support::CliTest;

/// An array of one chunk of the fixtures, and the elements that its writer read back.
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

    /// Writes the array to the folder `a` of a test.
    fn store(&self) -> CliTest {
        let test = CliTest::new();
        let (document, chunk) = if self.is_version_2() { (".zarray", "0.0") } else { ("zarr.json", "c/0/0") };
        test.write(&format!("a/{document}"), self.document.to_string());
        test.write(&format!("a/{chunk}"), &self.chunk);
        test
    }

    /// Checks whether decoding restores the encoded values.
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
        let codes: Vec<&str> =
            result["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect();
        // The only findings are that no registry has the names, and that most have no checksum.
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
