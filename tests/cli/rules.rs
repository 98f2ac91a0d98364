//! The rules of `validate`: each fixture of `fixtures/invalid` breaks just one, that of the code in its name.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zarrcast::diagnostic::{Code, Severity, code};

use super::support::CliTest;

/// Codes that `validate` does not give: other commands say them, or the comparison of `--against`.
const OF_OTHERS: [Code; 7] = [
    code::DATA_TYPE_UNREAD,
    code::NO_STATISTICS,
    code::QUANTIZE_CODE_RESERVED,
    code::QUANTIZE_FILL_VALUE_MOVED,
    code::QUANTIZE_CLAMPED,
    code::V2_FILL_VALUE_MASKS,
    code::VALUES_DIFFER,
];

/// A store that breaks a rule.
struct Fixture {
    name: String,
    code: Code,
    document: Value,
}

fn fixtures() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/invalid");
    let mut names: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let (code, _) = name.split_once('_').unwrap_or_else(|| panic!("{name} is no CODE_slug"));
        let code = code::find(code).unwrap_or_else(|| panic!("{name} is of no code"));
        let document = serde_json::from_slice(&fs::read(path).unwrap())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        Fixture { name, code, document }
    };
    names.into_iter().map(read).collect()
}

impl Fixture {
    /// Makes the store, and runs `validate` on it.
    fn run(&self) -> (i32, Value) {
        let test = CliTest::new();
        fs::create_dir(test.path("store")).unwrap();
        for (key, value) in self.document["store"].as_object().unwrap() {
            write(&test.path("store").join(key), value);
        }
        let level = self.document.get("level").map_or("metadata", |level| level.as_str().unwrap());
        let mut arguments = vec!["validate", "--json", "--level", level, "store"];
        if let Some(expect) = self.document.get("expect") {
            test.write("expect.json", expect.to_string());
            arguments.extend(["--expect", "expect.json"]);
        }
        let run = test.run(arguments);
        assert_eq!(run.error, "", "{}: stderr", self.name);
        (run.status, run.json())
    }

    /// What is wrong with the findings.
    fn faults(&self) -> Vec<String> {
        let (status, result) = self.run();
        let mut faults = Vec::new();
        let findings = result["findings"].as_array().unwrap();
        let found: Vec<_> = findings.iter().filter(|finding| finding["code"] == self.code.code).collect();
        if found.is_empty() {
            faults.push("the code is not among the findings".to_owned());
        }
        let also: Vec<&Value> = self.document["also"].as_array().into_iter().flatten().collect();
        for finding in findings {
            let is_own = finding["code"] == self.code.code || also.contains(&&finding["code"]);
            if !is_own && finding["severity"] != "info" {
                faults.push(format!("another finding: {finding}"));
            }
            faults.extend(what_is_missing(finding));
        }
        for finding in &found {
            if finding["severity"] != self.code.severity.name() || finding["name"] != self.code.name {
                faults.push(format!("not as in the table: {finding}"));
            }
        }
        let is_error = self.code.severity == Severity::Error;
        if status != i32::from(is_error) || result["valid"] != !is_error {
            faults.push(format!("exit status {status}, valid {}", result["valid"]));
        }
        faults
    }
}

/// A finding says what, where, and what to do.
fn what_is_missing(finding: &Value) -> Vec<String> {
    let has_text = |member: &str| finding[member].as_str().is_some_and(|text| !text.is_empty());
    let mut faults: Vec<String> = ["message", "help", "store", "node"]
        .into_iter()
        .filter(|member| !has_text(member))
        .map(|member| format!("no {member}: {finding}"))
        .collect();
    // What is wrong with the place of a node in its hierarchy is in no document.
    let is_about_place = finding["code"].as_str().is_some_and(|code| code.starts_with("ZH"));
    if finding["key"].is_null() && finding["severity"] != "info" && !is_about_place {
        faults.push(format!("no key: {finding}"));
    }
    faults
}

/// Makes what a fixture has at a key.
fn write(path: &Path, value: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let (kind, value) = value.as_object().unwrap().iter().next().unwrap();
    let text = || value.as_str().unwrap();
    match kind.as_str() {
        "json" => fs::write(path, value.to_string()).unwrap(),
        "text" => fs::write(path, text()).unwrap(),
        "base64" => fs::write(path, base64(text())).unwrap(),
        "fill" => {
            let byte = u8::try_from(value["byte"].as_u64().unwrap()).unwrap();
            let count = usize::try_from(value["count"].as_u64().unwrap()).unwrap();
            fs::write(path, vec![byte; count]).unwrap();
        }
        "fifo" => {
            let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
            assert!(made.success(), "mkfifo {}", path.display());
        }
        "symlink" => symlink(text(), path).unwrap(),
        "not_utf8" => {
            let mut name = path.as_os_str().as_bytes().to_vec();
            name.push(0xe9);
            fs::write(OsStr::from_bytes(&name), b"").unwrap();
        }
        "directory" => fs::create_dir_all(path).unwrap(),
        other => panic!("a fixture has no {other}"),
    }
}

/// RFC 4648, with padding.
pub(crate) fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let value = ALPHABET.iter().position(|other| *other == letter).unwrap();
        bits = (bits << 6) | u32::try_from(value).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap());
        }
    }
    bytes
}

#[test]
fn fixture_gives_its_code_and_nothing_worse() {
    let mut faults = String::new();
    for fixture in fixtures() {
        for fault in fixture.faults() {
            writeln!(faults, "{}: {fault}", fixture.name).unwrap();
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn every_code_of_validate_has_a_fixture() {
    let with_fixture: BTreeSet<_> = fixtures().into_iter().map(|fixture| fixture.code.code).collect();
    let without: Vec<_> = code::ALL
        .iter()
        .filter(|code| !OF_OTHERS.contains(code) && !with_fixture.contains(code.code))
        .map(|code| code.code)
        .collect();
    assert_eq!(without, Vec::<&str>::new());
}

#[test]
fn fixtures_are_described_and_no_two_are_the_same() {
    let fixtures = fixtures();
    for fixture in &fixtures {
        let description = fixture.document["description"].as_str();
        assert!(description.is_some_and(|text| text.len() > 3), "{} is not described", fixture.name);
    }
    let mut stores: Vec<_> = fixtures.iter().map(|fixture| fixture.document.to_string()).collect();
    stores.sort();
    stores.dedup();
    assert_eq!(stores.len(), fixtures.len());
}
