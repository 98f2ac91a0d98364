//! `transcode` as its users see it: reports, JSON, what is written.

use serde_json::json;

use super::support::{CliTest, fixture};

fn quantised() -> (CliTest, serde_json::Value) {
    let test = CliTest::new();
    test.write_float32(
        "a",
        "\"NaN\"",
        &[Some([0.0, 1.0, f32::NAN, 3.0]), None, Some([255.0, 5.5, 254.0, 7.0])],
    );
    let run = test.run([
        "transcode",
        "--json",
        "--quantize",
        "uint8",
        "--nan-value=255",
        "--range=0,254",
        "--out-of-range",
        "clamp",
        "--verify",
        "a",
        "b",
    ]);
    assert_eq!(run.status, 0, "{}", run.error);
    (test, run.json())
}

#[test]
fn json_of_a_quantisation_has_every_member() {
    let (_, result) = quantised();
    assert_eq!(result["schema"], "zarrcast.transcode/1");
    assert_eq!((&result["source"], &result["destination"]), (&json!("a"), &json!("b")));
    assert_eq!((&result["dry_run"], &result["complete"]), (&json!(false), &json!(true)));
    assert!(result["seconds"].is_number() && result["warnings"].is_array());
    let node = &result["nodes"][0];
    assert_eq!(
        (&node["path"], &node["node_type"], &node["route"]),
        (&json!("/"), &json!("array"), &json!("recode"))
    );
    for name in [
        "chunks",
        "chunks_absent",
        "chunks_read",
        "chunks_written",
        "bytes_read",
        "bytes_written",
        "bytes_temporary",
        "bytes_logical",
        "bytes_source",
    ] {
        assert!(node[name].is_u64() && result["totals"][name].is_u64(), "{name}");
    }
    assert_eq!(
        (&node["chunks"], &node["chunks_absent"], &node["bytes_written"]),
        (&json!(3), &json!(1), &json!(8))
    );
    assert_eq!(result["totals"]["other_keys"], 0);
    let quantization = &node["quantization"];
    for (name, expected) in [
        ("as", json!("codecs")),
        ("data_type", json!("uint8")),
        ("step", json!(1.0)),
        ("codes", json!([0, 254])),
        ("nan_code", json!(255)),
        ("clamped", json!(1)),
        ("max_abs_error", json!(0.5)),
        ("max_abs_error_clamped", json!(1.0)),
    ] {
        assert_eq!(quantization[name], expected, "{name}");
    }
    for name in [
        "range",
        "offset",
        "scale",
        "count",
        "nan",
        "rms_error",
        "bound",
        "distinct_codes",
        "bytes_source",
        "bytes_destination",
    ] {
        assert!(quantization.get(name).is_some_and(|value| !value.is_null()), "{name}: {quantization}");
    }
    assert_eq!(node["verify"]["equal"], true);
    for name in ["elements", "differing", "max_abs_error", "bound"] {
        assert!(node["verify"].get(name).is_some(), "{name}");
    }
}

#[test]
fn missing_chunk_stays_missing_and_attributes_stay() {
    let (test, _) = quantised();
    assert_eq!(test.read("b/c/0"), [0, 1, 255, 3]);
    assert!(!test.exists("b/c/1"));
    assert_eq!(test.read("b/c/2"), [254, 6, 254, 7]);
    let document: serde_json::Value = serde_json::from_slice(&test.read("b/zarr.json")).unwrap();
    assert_eq!(document["attributes"], json!({"units": "K"}));
    assert_eq!(document["data_type"], "float32");
}

#[test]
fn copy_is_byte_for_byte() {
    let test = CliTest::new();
    let source = fixture("zarr-python_3.4.2_float32_as_uint8_zstd");
    let run = test.run(["transcode", "--json", "--verify", source.to_str().unwrap(), "copy"]);
    assert_eq!(run.status, 0, "{}", run.error);
    let node = &run.json()["nodes"][0];
    assert_eq!((&node["route"], &node["quantization"]), (&json!("copy"), &json!(null)));
    assert_eq!(test.read("copy/c/0/0"), std::fs::read(source.join("c/0/0")).unwrap());
    let document = |bytes: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&bytes).unwrap();
    let copied = document(test.read("copy/zarr.json"));
    assert_eq!(copied, document(std::fs::read(source.join("zarr.json")).unwrap()));
}

#[test]
fn dry_run_writes_nothing() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([0.0, 1.0, 2.0, 3.0])]);
    let run = test.run(["transcode", "--dry-run", "--compress", "zstd:3", "a", "b"]).succeeds();
    assert!(
        run.text().contains("plan, nothing written") && run.text().contains("1 to read"),
        "{}",
        run.text()
    );
    assert_eq!(test.names(), ["a"]);
}

#[test]
fn text_report_tells_what_the_quantisation_did() {
    let test = CliTest::new();
    let source = fixture("sea_surface_temperature");
    let run =
        test.run(["transcode", "--quantize", "uint8", "--verify", source.to_str().unwrap(), "b"]).succeeds();
    for part in [
        "range",
        "step",
        "greatest error",
        "rms error",
        "clamped",
        "NaN",
        "times smaller",
        "verified: within the bound",
    ] {
        assert!(run.text().contains(part), "{part}:\n{}", run.text());
    }
}

#[test]
fn result_is_the_same_for_any_number_of_threads() {
    let source = fixture("sea_surface_temperature");
    let [one, four] = ["1", "4"].map(|threads| {
        let test = CliTest::new();
        let options = [
            "transcode",
            "--json",
            "--max-error",
            "0.05",
            "--threads",
            threads,
            source.to_str().unwrap(),
            "b",
        ];
        let mut result = test.run(options).json();
        result["seconds"].take();
        result["nodes"][0]["memory_bytes"].take();
        (result, test.read("b/zarr.json"), test.read("b/c/0/0/0"))
    });
    assert_eq!(one, four);
}

#[test]
fn progress_is_shown_only_when_asked_for_without_a_terminal() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([0.0, 1.0, 2.0, 3.0])]);
    test.run(["transcode", "a", "b"]).succeeds();
    let run = test.run(["transcode", "--progress", "always", "--quantize", "uint8", "a", "c"]);
    assert_eq!(run.status, 0);
    assert!(run.error.contains("transcode ["), "{:?}", run.error);
    test.run(["transcode", "--progress", "never", "a", "d"]).succeeds();
    let run = test.run(["transcode", "--verbose", "--quantize", "uint8", "a", "e"]);
    assert!(run.error.lines().all(|line| line.contains("16 B in ")), "{:?}", run.error);
}
