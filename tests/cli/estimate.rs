//! Estimates of a plan from a sample of its chunks: `transcode --dry-run --estimate` and `--compress auto`.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "values are float64 rounded to float32, and sizes are small"
)]

use serde_json::{Value, json};

use super::support::{CliTest, Run};

/// Writes a field of 96 levels, 70 rows and 90 columns, rougher with each level. The last chunks of 8 x 16 x 32 are
/// cut. With `gaps`, the third row of chunks is missing.
fn write_field(test: &CliTest, name: &str, fill_value: &Value, gaps: bool) {
    let value = |level: u32, row: u32, column: u32| {
        let (z, y, x) = (f64::from(level), f64::from(row), f64::from(column));
        let noise = (z * 37.719 + y * 12.9898 + x * 78.233).sin() * 43_758.5;
        (280.0 + 15.0 * (y / 9.0).sin() * (x / 11.0).cos() + 0.02 * z * (noise - noise.floor())) as f32
    };
    test.array(name, json!({"shape": [96, 70, 90], "chunk_shape": [8, 16, 32], "fill_value": fill_value, "dimension_names": ["z", "y", "x"]}));
    for (level, row, column) in (0..12).flat_map(|z| (0..5).flat_map(move |y| (0..3).map(move |x| (z, y, x)))) {
        if gaps && row == 2 {
            continue;
        }
        let bytes: Vec<u8> = (0..8)
            .flat_map(|z| (0..16).flat_map(move |y| (0..32).map(move |x| (z, y, x))))
            .flat_map(|(z, y, x)| value(level * 8 + z, row * 16 + y, column * 32 + x).to_le_bytes())
            .collect();
        test.write(&format!("{name}/c/{level}/{row}/{column}"), bytes);
    }
}

fn of_run(test: &CliTest, arguments: &[&str]) -> Value {
    let run: Run = test.run(["transcode", "--json"].iter().chain(arguments));
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.error);
    run.json()["nodes"][0].clone()
}

fn estimate(test: &CliTest, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["--dry-run", "--estimate"].iter().chain(arguments).copied().collect();
    of_run(test, &arguments)["estimate"].clone()
}

/// Returns the estimate of a plan, and the number of bytes that its run writes.
fn estimated_and_written(test: &CliTest, arguments: &[&str]) -> (Value, u64) {
    let run: Vec<&str> = ["--overwrite"].iter().chain(arguments).copied().collect();
    let found = estimate(test, &run);
    (found, of_run(test, &run)["bytes_written"].as_u64().unwrap())
}

fn assert_near(found: &Value, written: u64, share: f64, what: &[&str]) {
    let stored = found["bytes_stored"].as_f64().unwrap();
    let off = stored / written as f64 - 1.0;
    assert!(off.abs() <= share, "{what:?}: {stored} estimated, {written} written");
}

#[test]
fn estimate_is_near_what_is_written() {
    let test = CliTest::new();
    for (name, fill_value, gaps) in [("nan", json!("NaN"), false), ("gaps", json!(0.0), true)] {
        write_field(&test, name, &fill_value, gaps);
        let plans: [&[&str]; 9] = [
            &["--compress", "zstd:3"],
            &["--quantize", "uint8", "--compress", "zstd:3"],
            &["--quantize", "uint16", "--as", "cf", "--compress", "blosc:zstd:3:bitshuffle"],
            &["--max-error", "0.05", "--compress", "zstd:1", "--shard-shape", "16,32,64"],
            &["--keep-bits", "9", "--compress", "zstd:3"],
            &["--keep-bits", "auto", "--compress", "zstd:3"],
            &["--data-type", "float64", "--compress", "gzip:1"],
            &["-c", "96,10,10", "--compress", "zstd:3", "--quantize", "uint8"],
            &["--zarr-format", "2", "-c", "4,70,90", "--compress", "zstd:3"],
        ];
        for plan in plans {
            let arguments: Vec<&str> = plan.iter().chain(&[name, "dest"]).copied().collect();
            let (found, written) = estimated_and_written(&test, &arguments);
            assert_near(&found, written, 0.05, &arguments);
        }
    }
}

#[test]
fn estimate_of_parts_of_sharded_arrays_is_near_what_is_written() {
    let test = CliTest::new();
    write_field(&test, "plain", &json!("NaN"), false);
    of_run(&test, &["-s", "16,32,64", "--compress", "zstd:1", "plain", "a"]);
    let plans: [&[&str]; 4] = [
        &["--quantize", "uint8"],
        &["--quantize", "uint8", "-s", "none"],
        &["--select", "z=5:77,x=3:60", "--max-error", "0.1"],
        &["--codecs", "zstd:9", "-c", "12,70,90"],
    ];
    for plan in plans {
        let arguments: Vec<&str> = plan.iter().chain(&["a", "dest"]).copied().collect();
        let (found, written) = estimated_and_written(&test, &arguments);
        assert_near(&found, written, 0.05, &arguments);
    }
}

#[test]
fn estimate_of_a_copy_and_of_all_chunks_is_exact() {
    let test = CliTest::new();
    write_field(&test, "a", &json!("NaN"), false);
    for arguments in [vec!["a", "b"], vec!["--compress", "zstd:3", "a", "b"]] {
        let (found, written) = estimated_and_written(&test, &arguments);
        assert_eq!(found["bytes_stored"], written, "{arguments:?}");
        assert_eq!((&found["sample"]["chunks"], &found["sample"]["of"]), (&json!(180), &json!(180)));
    }
    test.write("none/zarr.json", test.read("a/zarr.json"));
    let (found, written) = estimated_and_written(&test, &["--quantize", "uint8", "none", "b"]);
    assert_eq!((&found["bytes_stored"], written), (&json!(0), 0));
}

#[test]
fn estimate_reads_a_hundredth_of_a_large_array_and_the_same_each_time() {
    let test = CliTest::new();
    // 2,100 chunks of 4 KiB.
    test.array("a", json!({"shape": [2100, 32, 32], "chunk_shape": [1, 32, 32], "fill_value": "NaN"}));
    for chunk in 0..2100_u32 {
        let value = |place: u32| ((f64::from(chunk) / 300.0).sin() + f64::from(place * place % 97) / 97.0) as f32;
        test.write(
            &format!("a/c/{chunk}/0/0"),
            (0..1024).flat_map(|place| value(place).to_le_bytes()).collect::<Vec<u8>>(),
        );
    }
    let arguments = ["--max-error", "0.01", "--compress", "zstd:3", "a", "b"];
    let found = estimate(&test, &arguments);
    let sample = &found["sample"];
    assert_eq!((&sample["chunks"], &sample["of"]), (&json!(21), &json!(2100)));
    assert_eq!(sample["bytes_read"], json!(21 * 4096));
    assert_eq!(sample["positions"].as_array().unwrap().len(), 21);
    for (stretch, position) in (0..).zip(sample["positions"].as_array().unwrap()) {
        assert_eq!(position[0].as_u64().unwrap() / 100, stretch, "{position}");
    }
    let again = estimate(&test, &arguments);
    for member in ["bytes_stored", "sample"] {
        assert_eq!(again[member], found[member]);
    }
    let written = of_run(&test, &arguments)["bytes_written"].as_u64().unwrap();
    assert_near(&found, written, 0.05, &arguments);
}

#[test]
fn compressor_is_the_best_of_a_few_on_a_sample() {
    let test = CliTest::new();
    write_field(&test, "a", &json!("NaN"), false);
    for (goal, values) in
        [("auto", "--keep-bits=9"), ("auto:fast", "--quantize=uint16"), ("auto:any", "--quantize=uint16")]
    {
        let node = of_run(&test, &["--overwrite", values, "--compress", goal, "a", "b"]);
        let compression = &node["compression"];
        assert_eq!(compression["goal"], goal);
        let tried = compression["tried"].as_array().unwrap();
        let mut all = Vec::new();
        for one in tried {
            let words = one["compress"].as_str().unwrap();
            let codecs = one["codecs"].as_array().unwrap();
            let names: Vec<&str> = codecs.iter().map(|codec| codec["name"].as_str().unwrap()).collect();
            if words == "numcodecs.pcodec" {
                assert_eq!((goal, names.as_slice()), ("auto:any", ["numcodecs.pcodec"].as_slice()));
                continue;
            }
            assert!(matches!(names.as_slice(), ["zstd" | "blosc"]), "{words}: {names:?}");
            let predict: Vec<&str> = one["predict"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let predict = if predict.is_empty() { "none".to_owned() } else { predict.join(",") };
            let arguments = ["--overwrite", values, "--compress", words, "--predict", &predict, "a", "c"];
            let written = of_run(&test, &arguments)["bytes_written"].clone();
            // All chunks are in the sample.
            assert_eq!(one["bytes_stored"], written, "{goal}: {words}");
            all.push((written.as_u64().unwrap(), words));
        }
        let known = tried.iter().filter_map(|one| one["bytes_stored"].as_u64()).min().unwrap();
        let best = tried.iter().find(|one| one["bytes_stored"].as_u64().unwrap() as f64 <= known as f64 * 1.01);
        assert_eq!(compression["chosen"], best.unwrap()["compress"]);
        assert_eq!(tried.iter().any(|one| one["predict"] != json!([])), goal == "auto:any");
        let least = all.iter().map(|(written, _)| *written).min().unwrap();
        assert!(node["bytes_written"].as_u64().unwrap() as f64 <= least as f64 * 1.01, "{node}");
    }
}

#[test]
fn compressor_of_parts_is_that_of_one_run() {
    let test = CliTest::new();
    write_field(&test, "a", &json!("NaN"), false);
    let options = ["--keep-bits", "auto", "--compress", "auto", "-s", "16,32,64"];
    let whole = of_run(&test, &[options.as_slice(), &["a", "whole"]].concat());
    test.run(["transcode", "--init", "--partitions", "3"].iter().chain(&options).chain(&["a", "parts"])).succeeds();
    for part in ["0", "1", "2"] {
        test.run(["transcode", "a", "parts", "--partition", part]).succeeds();
    }
    test.run(["transcode", "a", "parts", "--finish"]).succeeds();
    assert_eq!(test.read("whole/zarr.json"), test.read("parts/zarr.json"), "{}", whole["compression"]);
    test.run(["validate", "--against", "whole", "parts"]).succeeds();
}

#[test]
fn compressor_that_is_not_chosen_yet_is_said_to_be_open() {
    let test = CliTest::new();
    write_field(&test, "a", &json!("NaN"), false);
    let node = of_run(&test, &["--dry-run", "--compress", "auto", "a", "b"]);
    assert_eq!(node["compression"], json!({"goal": "auto", "chosen": null, "tried": [], "sample": null}));
    assert_eq!((&node["bytes_written"], node["destination"]["codecs"].as_array().unwrap().len()), (&Value::Null, 1));
    let text = test.run(["transcode", "--dry-run", "--compress", "auto", "a", "b"]).succeeds();
    assert!(text.text().contains("chosen by `auto` when a run begins, or with --estimate"), "{}", text.text());
    let node = of_run(&test, &["--dry-run", "--estimate", "--compress", "auto:small", "a", "b"]);
    let chosen = node["compression"]["chosen"].clone();
    let tried = node["compression"]["tried"].as_array().unwrap();
    let of_chosen = tried.iter().find(|one| one["compress"] == chosen).unwrap();
    assert_eq!(of_chosen["bytes_stored"], node["estimate"]["bytes_stored"]);
}

#[test]
fn estimate_of_chunks_that_are_alike_does_not_claim_to_be_exact() {
    let test = CliTest::new();
    // 2,100 chunks of 4 KiB with a sample of 21. All others may have any size.
    let document = json!({"shape": [2100, 1024], "chunk_shape": [1, 1024], "fill_value": 0.0});
    test.array("a", document);
    for row in 0..2100 {
        test.write(&format!("a/c/{row}/0"), 1.5_f32.to_le_bytes().repeat(1024));
    }
    let found = estimate(&test, &["--compress", "zstd:3", "a", "b"]);
    assert_eq!(found["sample"]["chunks"], 21, "{found}");
    let text = |options: &[&str]| {
        let run = test.run([&["transcode", "--dry-run", "--estimate", "a", "b"], options].concat());
        run.text().lines().find(|line| line.contains("estimated")).unwrap().to_owned()
    };
    assert!(text(&["--compress", "zstd:3"]).contains('~'));
    assert!(!text(&["--quantize", "uint8"]).contains('~'));
    // All chunks of uncompressed codes have the same size.
    let found = estimate(&test, &["--quantize", "uint8", "a", "b"]);
    assert_eq!(found["bytes_stored"], 2100 * 1024, "{found}");
}

#[test]
fn estimate_goes_through_codecs_in_front_of_shards_and_says_what_it_left_out_behind_them() {
    let test = CliTest::new();
    write_field(&test, "a", &json!(0.0), false);
    let chain = |behind: &str| {
        format!(
            r#"[{{"name": "cast_value", "configuration": {{"data_type": "int16", "rounding": "nearest-even"}}}},
            {{"name": "sharding_indexed", "configuration": {{"chunk_shape": [8, 16, 16],
            "codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}, {{"name": "zstd", "configuration": {{"level": 3, "checksum": false}}}}],
            "index_codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}]}}}}{behind}]"#
        )
    };
    let plan = |chain: &str| {
        let arguments = ["-c", "8,16,16", "-s", "16,32,32", "--codecs", chain, "a", "b"];
        let run = test.run([&["transcode", "--dry-run", "--estimate", "--overwrite"], &arguments[..]].concat());
        assert_eq!(run.status, 0, "{}", run.error);
        let (found, written) = estimated_and_written(&test, &arguments);
        let is_exact = !run.text().lines().any(|line| line.contains("estimated") && line.contains('~'));
        (found["bytes_stored"].as_u64().unwrap(), is_exact, written)
    };
    let (estimated, is_exact, written) = plan(&chain(""));
    assert_eq!((estimated, is_exact), (written, true));
    let (_, is_exact, _) = plan(&chain(r#", {"name": "zstd", "configuration": {"level": 3, "checksum": false}}"#));
    assert!(!is_exact);
}

#[test]
fn estimate_of_bits_that_all_chunks_need_counts_neighbours_across_chunks() {
    let test = CliTest::new();
    write_field(&test, "a", &json!("NaN"), false);
    of_run(&test, &["-c", "1,70,90", "a", "levels"]);
    let (found, written) =
        estimated_and_written(&test, &["--keep-bits", "auto", "--compress", "zstd:3", "levels", "b"]);
    assert_eq!(found["bytes_stored"], written);
}

#[test]
fn what_auto_tries_is_the_same_whatever_memory_there_is() {
    let test = CliTest::new();
    write_field(&test, "a", &json!("NaN"), false);
    let tried = |memory: &str| {
        let arguments = ["--dry-run", "--estimate", "--compress", "auto", "--threads", "1", "--max-memory", memory];
        let arguments: Vec<&str> = arguments.iter().chain(&["a", "b"]).copied().collect();
        of_run(&test, &arguments)["compression"].clone()
    };
    assert_eq!(tried("20MiB"), tried("4GiB"));
}

#[test]
fn copy_of_shards_is_estimated_without_memory_to_decode_them() {
    let test = CliTest::new();
    write_field(&test, "field", &json!("NaN"), false);
    test.zarrcast("transcode -q -c 96,70,90 -s 96,70,90 --compress zstd:1 field shards").succeeds();
    let arguments = ["--max-memory", "1MiB", "shards", "copy"];
    test.run(["transcode", "--compress", "gzip:1"].iter().chain(&arguments)).fails(3, &["--max-memory"]);
    let (found, written) = estimated_and_written(&test, &arguments);
    assert_eq!(found["bytes_stored"], json!(written), "{found}");
}
