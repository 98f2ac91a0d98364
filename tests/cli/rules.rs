//! The rules of `validate`: each fixture of `fixtures/invalid` breaks only the rule whose code is in its name.

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

/// Codes that `validate` alone does not report, each with a test of another command that reports it.
const OF_OTHERS: [(Code, &str); 20] = [
    (code::PREDICT_READERS, "cast_stands_where_numcodecs_would_read_another_order"),
    (code::NAN_VALUE_TAKEN, "number_that_becomes_the_value_of_nan_is_a_warning_and_not_equal"),
    (code::KEEP_BITS_NO_INFORMATION, "constant_arrays_keep_all_bits_and_say_so"),
    (code::QUANTIZE_FEW_CODES, "step_that_leaves_nothing_of_an_array_is_refused_and_few_codes_are_a_warning"),
    (code::DATA_TYPE_ROUNDED, "data_type_that_rounds_most_values_to_integers_is_a_warning_with_their_number"),
    (code::QUANTIZE_ATTRIBUTES, "attributes_that_mask_values_follow_the_codes"),
    (code::OME_METADATA_OLD, "ome_zarr_of_0_4_in_version_3_is_a_warning_that_names_what_readers_miss"),
    (code::MULTISCALES_LEVELS_LEFT_OUT, "levels_of_one_image_are_not_cut_by_one_index_and_share_a_range"),
    (code::ZFP_LOSSY, "zfp_that_rounds_is_warned_of_and_held_to_its_tolerance"),
    (code::DELTA_LOSSY, "d15_delta_of_floats_that_is_applied_anew_is_warned_of"),
    (code::DATA_TYPE_UNREAD, "raw_bytes_get_the_name_of_the_core_or_that_of_zarr_python"),
    (code::NO_STATISTICS, "values_without_order_are_an_info_and_exit_0"),
    (code::QUANTIZE_FILL_VALUE_MOVED, "fill_value_that_the_codes_do_not_bring_back_is_moved_with_a_warning"),
    (code::QUANTIZE_CLAMPED, "values_that_are_clamped_are_a_warning_with_their_number"),
    (code::QUANTIZE_CF_TYPE, "cf_of_float32_in_32_bits_is_a_warning"),
    (code::QUANTIZE_READERS, "shards_whose_zero_overflows_are_warned_of_as_few_readers_open_them"),
    (code::V2_FILL_VALUE_MASKS, "v3_whose_fill_value_masks_nothing_says_so_in_v2"),
    (code::NOT_LOCKED, "file_system_without_locks_is_a_warning"),
    (code::MANY_OBJECTS, "plan_of_very_many_objects_is_a_warning_that_names_larger_shards"),
    (code::VALUES_DIFFER, "difference_is_a_finding_in_the_formats_of_runners"),
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
        let document =
            serde_json::from_slice(&fs::read(path).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
        Fixture { name, code, document }
    };
    names.into_iter().map(read).collect()
}

impl Fixture {
    /// Writes the store and runs `validate` on it.
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

    /// Returns the faults of the findings.
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
            if finding["severity"] != self.code.severity.name() || finding["name"] != self.code.name() {
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

/// Returns the missing parts of a finding: its message, its position or its help.
fn what_is_missing(finding: &Value) -> Vec<String> {
    let has_text = |member: &str| finding[member].as_str().is_some_and(|text| !text.is_empty());
    let mut faults: Vec<String> = ["message", "help", "store", "node"]
        .into_iter()
        .filter(|member| !has_text(member))
        .map(|member| format!("no {member}: {finding}"))
        .collect();
    // A fault about the position of a node in its hierarchy is in no document.
    let is_about_place = finding["code"].as_str().is_some_and(|code| code.starts_with("ZH"));
    if finding["key"].is_null() && finding["severity"] != "info" && !is_about_place {
        faults.push(format!("no key: {finding}"));
    }
    faults
}

/// Writes the object of a fixture at a path.
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

/// Decodes base64 (RFC 4648) with padding.
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

/// Returns the text of all tests in some folders.
fn tests_of(folders: &[&str]) -> String {
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap());
    let files = files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files.map(|path| fs::read_to_string(path).unwrap() + "\n== \n").collect()
}

#[test]
fn every_code_is_given_by_a_fixture_or_by_a_named_test() {
    let mut given: BTreeSet<String> = BTreeSet::new();
    for fixture in fixtures() {
        let (_, result) = fixture.run();
        let findings = result["findings"].as_array().unwrap();
        given.extend(findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()));
    }
    let tests = tests_of(&["tests/cli", "tests/cli/cases", "src/operation/transcode/tests"]);
    for (code, test) in OF_OTHERS {
        assert!(!given.contains(code.code), "{} is given by a fixture: list it no more", code.code);
        let body =
            [("\n== ", "\n", "\n== "), ("#[test]\nfn ", "() {\n", "\n}\n")].iter().find_map(|(before, behind, end)| {
                let (_, rest) = tests.split_once(&format!("{before}{test}{behind}"))?;
                rest.split(end).next()
            });
        let body = body.unwrap_or_else(|| panic!("{}: there is no test {test}", code.code));
        assert!(body.contains(&format!("{}\"", code.code)), "{test} does not look for {}", code.code);
        given.insert(code.code.to_owned());
    }
    let missing: Vec<_> = code::ALL.iter().map(|code| code.code).filter(|code| !given.contains(*code)).collect();
    assert_eq!(missing, Vec::<&str>::new());
    assert!(code::RETIRED.iter().all(|code| !given.contains(code.code)));
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
