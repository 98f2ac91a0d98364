//! `transcode` as its users see it: reports, JSON, what is written.

use serde_json::{Value, json};

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
    assert_eq!(result["schema"], "zarrcast.transcode/2");
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
    let document = test.read_json("b/zarr.json");
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

/// The files and folders in a folder, itself among them.
fn files_and_folders(folder: &std::path::Path) -> [u64; 2] {
    let mut counts = [0, 1];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let inside = if path.is_dir() { files_and_folders(&path) } else { [1, 0] };
        counts = [counts[0] + inside[0], counts[1] + inside[1]];
    }
    counts
}

#[test]
fn plan_tells_the_keys_files_and_folders_that_will_be() {
    let test = CliTest::new();
    let array = r#"{"zarr_format":3,"node_type":"array","shape":[6,8],"data_type":"uint8","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2]}},"attributes":{},
        "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]}"#;
    test.group("a").write("a/notes/today", "x");
    for (path, row) in [("a/x", 0), ("a/g/y", 1)] {
        test.write(&format!("{path}/zarr.json"), array);
        for chunk in 0..12 {
            test.write(&format!("{path}/c/{}/{}", chunk / 4, chunk % 4), [row + 1; 4]);
        }
    }
    test.group("a/g");
    for options in [&[][..], &["--zarr-format", "2"], &["-c", "3,8"], &["--separator", "."]] {
        let run = |more: &[&str]| test.run([&["transcode", "--json", "a", "b"], options, more].concat());
        let plan = run(&["--dry-run"]).succeeds().json()["plan"].clone();
        assert_eq!(run(&[]).succeeds().json()["plan"], Value::Null);
        let [files, folders] = files_and_folders(&test.path("b"));
        let requests = [&plan["requests_read"], &plan["requests_write"]];
        assert_eq!(requests, [&Value::Null; 2]);
        let told = ["keys", "files", "folders"].map(|member| plan[member].as_u64().unwrap());
        assert_eq!(told, [files, files, folders], "{options:?}");
        std::fs::remove_dir_all(test.path("b")).unwrap();
    }
    let text = test.run(["transcode", "--dry-run", "-c", "6,8", "a/x", "b"]).succeeds();
    for part in ["at most 2 files in 3 folders", "1 unit\n"] {
        assert!(text.text().contains(part), "{part}: {}", text.text());
    }
    let plan =
        test.run(["transcode", "--dry-run", "--json", "a/x", "b.zip"]).succeeds().json()["plan"].clone();
    assert_eq!([&plan["keys"], &plan["files"], &plan["folders"]], [13, 1, 0]);
}

#[test]
fn shards_that_a_plan_advises_are_large_and_few() {
    let test = CliTest::new();
    test.write(
        "a/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[40000,40000],"data_type":"uint8","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[100,100]}},"attributes":{},
        "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]}"#,
    );
    let plan = |more: &[&str]| {
        let run = test.run([&["transcode", "--dry-run", "-f", "1", "a", "b"], more].concat());
        assert_eq!(run.status, 0, "{}", run.error);
        run.error
    };
    let warning = plan(&[]);
    for part in ["warning[ZK209", "160000 files", "28 shards of 78.1 MiB"] {
        assert!(warning.contains(part), "{part} is not in:\n{warning}");
    }
    let option = warning.split("`--shard-shape ").nth(1).unwrap().split('`').next().unwrap();
    assert_eq!(plan(&["--shard-shape", option]), "");
    assert!(plan(&["--zarr-format", "2"]).contains("`--zarr-format 3 --shard-shape "));
}
