//! `transcode` where chunks are encoded anew by codecs that stay: filters that do not give back every float, filters that
//! were made for another type, and what a chain says once a part of it is new.

use serde_json::Value;

use super::support::{CliTest, float32};

/// Floats whose differences are rounded: `plain` in chunks of 8, `a` of the same with `delta`, `v2` of that in v2.
fn differences() -> CliTest {
    let test = CliTest::new();
    // The second chunk begins with a value that is much less than the one before it: 1007.3 + (0.8 - 1007.3) is not 0.8.
    let value = |i: u8| if i % 2 == 1 { 1000.3 + f32::from(i) } else { f32::from(i) / 10.0 };
    let values: Vec<f32> = (0..16).map(value).collect();
    let codecs = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;
    test.write("plain/zarr.json", document("float32", codecs)).write("plain/c/0", float32(&values[..8]));
    test.write("plain/c/1", float32(&values[8..]));
    let delta = r#"[{"name":"numcodecs.delta","configuration":{"dtype":"<f4"}},{"name":"bytes","configuration":{"endian":"little"}}]"#;
    let run = test.run(["transcode", "--codecs", delta, "plain", "a"]);
    assert_eq!(run.status, 0, "{}", run.error);
    let run = test.run(["transcode", "-q", "--zarr-format", "2", "a", "v2"]);
    assert_eq!(run.status, 0, "{}", run.error);
    test
}

/// A document of 16 elements in chunks of 8.
fn document(data_type: &str, codecs: &str) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[16],"data_type":"{data_type}",
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[8]}}}},
        "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":{codecs},"attributes":{{}}}}"#
    )
}

/// Whether a run gave a warning of a code.
fn warns_of(result: &Value, code: &str) -> bool {
    result["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == code)
}

#[test]
fn d15_delta_of_floats_that_is_applied_anew_is_warned_of() {
    let test = differences();
    for source in ["a", "v2"] {
        for options in [&["-c", "4"][..], &["-c", "16"], &["--fill-value", "1", "-c", "5"]] {
            let run = test.run(["transcode", "--json", "--overwrite", source, "out"].iter().chain(options));
            assert_eq!(run.status, 0, "{source} {options:?}: {}", run.error);
            assert!(warns_of(&run.json(), "ZC215"), "{source} {options:?}");
            assert!(run.error.contains("encoded anew by `numcodecs.delta` of floats"), "{}", run.error);
        }
        // What it does to integers comes back, and so do chunks that it has encoded already.
        for options in [&["--compress", "zstd:1"][..], &["--separator", "."], &[]] {
            let run = test
                .run(["transcode", "--json", "--verify", "--overwrite", source, "out"].iter().chain(options));
            assert_eq!(run.status, 0, "{source} {options:?}: {}", run.error);
            assert!(!warns_of(&run.json(), "ZC215"), "{source} {options:?}: {}", run.error);
        }
    }
}

#[test]
fn zfp_that_rounds_is_warned_of_and_held_to_its_tolerance() {
    let test = differences();
    let accuracy = r#"{"name":"zfp","configuration":{"mode":"fixed_accuracy","tolerance":0.5}}"#;
    let zfpy = r#"{"name":"numcodecs.zfpy","configuration":{"mode":4,"tolerance":0.5}}"#;
    for (codec, bound) in [
        (accuracy, Some(0.5)),
        (zfpy, Some(0.5)),
        (r#"{"name":"zfp","configuration":{"mode":"fixed_rate","rate":12}}"#, None),
    ] {
        let codecs = format!("[{codec}]");
        let run = test.run([
            "transcode",
            "--json",
            "--verify",
            "--overwrite",
            "--codecs",
            &codecs,
            "plain",
            "lossy",
        ]);
        assert_eq!(run.status, 0, "{codec}: {}", run.error);
        let result = run.json();
        assert!(warns_of(&result, "ZC216"), "{codec}: {}", run.error);
        let verified = &result["nodes"][0]["verify"];
        assert_eq!(
            (verified["equal"].as_bool(), verified["bound"].as_f64()),
            (Some(true), bound),
            "{result:#}"
        );
        let error = verified["max_abs_error"].as_f64().unwrap();
        assert!(error > 0.0 && error <= bound.unwrap_or(1e9), "{error}");
        // Chunks that it has encoded are copied, or compressed anew, as they are.
        for options in [&[][..], &["--compress", "zstd:1"], &["--separator", "."]] {
            let run = test.run(
                ["transcode", "--json", "--verify", "--overwrite", "lossy", "out"].iter().chain(options),
            );
            assert_eq!(run.status, 0, "{codec} {options:?}: {}", run.error);
            assert!(!warns_of(&run.json(), "ZC216"), "{codec} {options:?}: {}", run.error);
            assert_eq!(run.json()["nodes"][0]["verify"]["max_abs_error"], 0.0, "{codec} {options:?}");
        }
        let run = test.run(["transcode", "-q", "--verify", "-c", "5", "lossy", "anew"]);
        run.fails(1, &["differs from the source", "does not give back"]);
        assert!(!test.exists("anew/zarr.json"));
    }
    let reversible = r#"[{"name":"zfp","configuration":{"mode":"reversible"}}]"#;
    let run = test.run(["transcode", "--json", "--verify", "--codecs", reversible, "plain", "exact"]);
    assert!(run.status == 0 && !warns_of(&run.json(), "ZC216"), "{}", run.error);
    test.run(["transcode", "-q", "--verify", "-c", "5", "exact", "exact.out"]).succeeds();
    // A NaN makes numbers of its neighbours that are none of theirs.
    let values: Vec<f32> = (0_u8..8).map(|n| if n == 3 { f32::NAN } else { f32::from(n) }).collect();
    test.write("plain/c/0", float32(&values));
    let run = test.run(["transcode", "-q", "--verify", "--codecs", &format!("[{accuracy}]"), "plain", "nan"]);
    run.fails(1, &["differs from the source", "`zfp` does not give back"]);
}

#[test]
fn d15_verify_holds_destination_to_the_values_of_source() {
    let test = differences();
    for source in ["a", "v2"] {
        let run = test.run(["transcode", "-q", "--verify", "-c", "16", source, &format!("{source}.out")]);
        let parts = ["differs from the source", "of 16 elements", "`numcodecs.delta` does not give back"];
        run.fails(1, &parts);
        assert!(
            !test.exists(&format!("{source}.out/zarr.json"))
                && !test.exists(&format!("{source}.out/.zarray")),
            "{source}"
        );
        // Without the filter every value is kept.
        let codecs = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;
        let format = ["transcode", "-q", "--overwrite", "--verify", "--zarr-format", "3", "-c", "16"];
        let run = test.run(format.iter().chain(&["--codecs", codecs, source, "out"]));
        assert_eq!(run.status, 0, "{}", run.error);
        test.run(["validate", "-q", "--against", source, "out"]).succeeds();
    }
}

#[test]
fn d15_verify_of_filters_that_round_once_is_exact() {
    let test = differences();
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    for filter in [
        r#"{"name":"numcodecs.quantize","configuration":{"digits":1,"dtype":"<f4"}}"#,
        r#"{"name":"numcodecs.bitround","configuration":{"keepbits":7}}"#,
        r#"{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":270,"scale":10,"dtype":"<f4","astype":"<i2"}}"#,
    ] {
        let codecs = format!("[{filter},{bytes}]");
        test.run(["transcode", "-q", "--overwrite", "--codecs", &codecs, "plain", "rounded"]).succeeds();
        let run = test.run(["transcode", "--json", "--verify", "--overwrite", "-c", "4", "rounded", "out"]);
        assert_eq!(run.status, 0, "{filter}: {}", run.error);
        let result = run.json();
        assert!(!warns_of(&result, "ZC215"), "{filter}: {result:#}");
        let verify = &result["nodes"][0]["verify"];
        assert_eq!((&verify["equal"], &verify["differing"]), (&true.into(), &0.into()), "{filter}");
        test.run(["validate", "-q", "--against", "rounded", "out"]).succeeds();
    }
}

/// The first `bytes` of a chain, inside shards where there are such.
fn bytes_codec(test: &CliTest, name: &str) -> Value {
    let document: Value = serde_json::from_slice(&test.read(&format!("{name}/zarr.json"))).unwrap();
    let mut codecs = document["codecs"].clone();
    while codecs[0]["name"] == "sharding_indexed" {
        codecs = codecs[0]["configuration"]["codecs"].clone();
    }
    codecs.as_array().unwrap().iter().find(|codec| codec["name"] == "bytes").unwrap().clone()
}

#[test]
fn d17_a_chain_with_a_new_part_has_a_byte_order() {
    let test = CliTest::new();
    let values: Vec<f32> = (0..16_u8).map(f32::from).collect();
    test.write("a/zarr.json", document("float32", r#"[{"name":"bytes"}]"#));
    test.write("a/c/0", float32(&values[..8])).write("a/c/1", float32(&values[8..]));
    let new: [&[&str]; 6] = [
        &["-c", "4"],
        &["-c", "16"],
        &["-s", "8"],
        &["-c", "4", "-s", "8"],
        &["--compress", "zstd:1"],
        &["--fill-value", "1"],
    ];
    for options in new {
        let run = test.run(["transcode", "-q", "--verify", "--overwrite", "a", "out"].iter().chain(options));
        assert_eq!(run.status, 0, "{options:?}: {}", run.error);
        assert_eq!(bytes_codec(&test, "out")["configuration"]["endian"], "little", "{options:?}");
        test.run(["validate", "-q", "--level", "data", "out"]).succeeds();
        let run = test.run(["validate", "-q", "--level", "metadata", "--against", "a", "out"]);
        assert_eq!(run.status, 0, "{options:?}: {}", run.error);
    }
    // What is not new stays as it was read.
    for options in [&[][..], &["--attributes", "{}"]] {
        let run = test.run(["transcode", "-q", "--overwrite", "a", "out"].iter().chain(options));
        assert_eq!(run.status, 0, "{options:?}: {}", run.error);
        assert_eq!(bytes_codec(&test, "out"), serde_json::json!({"name": "bytes"}), "{options:?}");
    }
}

#[test]
fn d17_shards_inside_get_byte_orders_for_chunks_and_index() {
    let test = CliTest::new();
    let codecs = r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[4],"codecs":[{"name":"bytes"}],
        "index_codecs":[{"name":"bytes"}]}}]"#;
    test.write("a/zarr.json", document("int16", codecs));
    let mut shard: Vec<u8> = (0..8_u8).flat_map(|i| [i, 0]).collect();
    for number in [0_u64, 8, 8, 8] {
        shard.extend(number.to_le_bytes());
    }
    test.write("a/c/0", &shard);
    for options in [&["-s", "16"][..], &["-c", "2"], &["-c", "8"], &["-s", "none"]] {
        let run = test.run(["transcode", "-q", "--verify", "--overwrite", "a", "out"].iter().chain(options));
        assert_eq!(run.status, 0, "{options:?}: {}", run.error);
        assert_eq!(bytes_codec(&test, "out")["configuration"]["endian"], "little", "{options:?}");
        test.run(["validate", "-q", "--level", "data", "out"]).succeeds();
    }
}

#[test]
fn quantised_arrays_with_a_directed_rounding_keep_their_codes() {
    let test = CliTest::new();
    let values: Vec<f32> = (0..16_u8).map(|i| 280.0 + f32::from(i) * 0.37).collect();
    test.write(
        "plain/zarr.json",
        document("float32", r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#),
    );
    test.write("plain/c/0", float32(&values[..8])).write("plain/c/1", float32(&values[8..]));
    for rounding in ["towards-zero", "towards-positive", "towards-negative"] {
        let codecs = format!(
            r#"[{{"name":"scale_offset","configuration":{{"offset":270,"scale":100}}}},{{"name":"cast_value",
            "configuration":{{"data_type":"int16","rounding":"{rounding}","out_of_range":"clamp"}}}},
            {{"name":"bytes","configuration":{{"endian":"little"}}}}]"#
        );
        let run = test.run([
            "transcode",
            "-q",
            "--overwrite",
            "--no-fill-check",
            "--codecs",
            &codecs,
            "plain",
            "a",
        ]);
        assert_eq!(run.status, 0, "{}", run.error);
        for options in
            [&["-c", "4"][..], &["-c", "5"], &["-s", "16"], &["-c", "3", "-s", "9"], &["--fill-value", "300"]]
        {
            let run = test.run(
                ["transcode", "-q", "--verify", "--overwrite", "--no-fill-check", "a", "out"]
                    .iter()
                    .chain(options),
            );
            assert_eq!(run.status, 0, "{rounding} {options:?}: {}", run.error);
            let run = test.run(["validate", "-q", "--against", "a", "out"]);
            assert_eq!(run.status, 0, "{rounding} {options:?}: {} {}", run.error, run.text());
        }
    }
}

#[test]
fn cf_codes_in_v2_have_the_attribute_fill_value() {
    let test = CliTest::new();
    let zarray = r#"{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":"<f4","fill_value":"NaN","order":"C",
        "filters":null,"compressor":null}"#;
    for (name, attributes) in [("named", r#"{"_ARRAY_DIMENSIONS":["x"]}"#), ("plain", "{}")] {
        test.write(&format!("{name}/.zarray"), zarray).write(&format!("{name}/.zattrs"), attributes);
        test.write(&format!("{name}/0"), float32(&[1.0, f32::NAN, 3.0, 2.5]));
        let out = format!("{name}.out");
        let run = test.run(["transcode", "-q", "--quantize", "int16", "--as", "cf", name, &out]);
        assert_eq!(run.status, 0, "{}", run.error);
        let [array, attributes] = [".zarray", ".zattrs"]
            .map(|key| serde_json::from_slice::<Value>(&test.read(&format!("{out}/{key}"))).unwrap());
        assert_eq!(attributes["_FillValue"], -32768, "{name}: {attributes}");
        assert_eq!(array["fill_value"], -32768, "{name}: {array}");
    }
}

#[test]
fn plain_codes_leave_the_attribute_fill_value_as_it_is() {
    let test = CliTest::new();
    let zarray = r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<f4","fill_value":null,"order":"C",
        "filters":null,"compressor":null}"#;
    test.write("a/.zarray", zarray).write("a/.zattrs", r#"{"_FillValue":"NaN","_ARRAY_DIMENSIONS":["x"]}"#);
    test.write("a/0", float32(&[1.0, 3.0]));
    let run = test.run(["transcode", "-q", "--quantize", "uint16", "--as", "plain", "a", "b"]);
    assert_eq!(run.status, 0, "{}", run.error);
    let attributes: Value = serde_json::from_slice(&test.read("b/.zattrs")).unwrap();
    assert_eq!(attributes, serde_json::json!({"_FillValue": "NaN", "_ARRAY_DIMENSIONS": ["x"]}));
}

#[test]
fn narrow_ranges_far_from_zero_have_the_steps_that_the_type_allows() {
    let test = CliTest::new();
    // float16 has a value each 0.25 from 256 to 512: the offset is 259.75, not 260 - 1 / 51.
    let halves: Vec<u8> = [260.0_f32, 270.5, 283.25, 299.75, 300.0]
        .iter()
        .flat_map(|value| half::f16::from_f32(*value).to_le_bytes())
        .collect();
    let text = document("float16", r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#);
    test.write(
        "a/zarr.json",
        text.replace("[16]", "[5]")
            .replace("[8]", "[5]")
            .replace("\"fill_value\":0", "\"fill_value\":\"NaN\""),
    );
    test.write("a/c/0", halves);
    for rounding in ["nearest-even", "towards-zero"] {
        let run = test.run([
            "transcode",
            "--json",
            "--overwrite",
            "--quantize",
            "uint16",
            "--rounding",
            rounding,
            "a",
            "b",
        ]);
        assert_eq!(run.status, 0, "{}", run.error);
        let quantization = &run.json()["nodes"][0]["quantization"];
        assert!(quantization["step"].as_f64().unwrap() < 0.03, "{quantization:#}");
        assert!(quantization["max_abs_error"].as_f64().unwrap() <= 0.25, "{quantization:#}");
    }
}

#[test]
fn times_whose_absent_chunks_are_1970_are_no_nat_in_v2() {
    let test = CliTest::new();
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[4],
        "data_type":{"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":1}},
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},
        "fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"dimension_names":["x"]}"#;
    test.write("a/zarr.json", document).write("a/c/0", [7_i64.to_le_bytes(), 8_i64.to_le_bytes()].concat());
    let run = test.run(["transcode", "-q", "--zarr-format", "2", "a", "b"]);
    assert_eq!(run.status, 0, "{}", run.error);
    let array: Value = serde_json::from_slice(&test.read("b/.zarray")).unwrap();
    assert_eq!(array["fill_value"], 0, "{array}");
}

#[test]
fn quantize_refuses_filters_that_were_made_for_floats() {
    let test = differences();
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    for (name, configuration) in [
        ("bitround", r#"{"keepbits":5}"#),
        ("numcodecs.bitround", r#"{"keepbits":5}"#),
        ("numcodecs.quantize", r#"{"digits":1,"dtype":"<f4"}"#),
    ] {
        let codecs = format!(r#"[{{"name":"{name}","configuration":{configuration}}},{bytes}]"#);
        test.run(["transcode", "-q", "--overwrite", "--codecs", &codecs, "plain", "rounded"]).succeeds();
        for form in ["codecs", "cf", "plain"] {
            let run = test.run(["transcode", "--quantize", "int16", "--as", form, "rounded", "out"]);
            let message = format!("codec `{name}` is configured for float32, not for int16");
            run.fails(1, &[&message, "--codecs"]);
            assert!(!test.exists("out"), "{name} {form}");
        }
        let run = test.run([
            "transcode",
            "-q",
            "--quantize",
            "int16",
            "--codecs",
            &format!("[{bytes}]"),
            "rounded",
            "b",
        ]);
        assert_eq!(run.status, 0, "{}", run.error);
        std::fs::remove_dir_all(test.path("b")).unwrap();
    }
}

#[test]
fn d15_fill_value_that_filters_round_is_warned_of_where_absent_chunks_are_stored_with_others() {
    let test = CliTest::new();
    let values: Vec<u8> = [1.5_f32; 8].iter().flat_map(|value| value.to_le_bytes()).collect();
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    for filter in [
        r#"{"name":"numcodecs.quantize","configuration":{"digits":1,"dtype":"<f4"}}"#,
        r#"{"name":"numcodecs.bitround","configuration":{"keepbits":5}}"#,
    ] {
        let codecs = format!("[{filter},{bytes}]");
        let array = document("float32", &codecs).replace(r#""fill_value":0"#, r#""fill_value":0.588"#);
        test.write("a/zarr.json", array).write("a/c/0", &values);
        let run = test.run(["transcode", "--json", "--overwrite", "-c", "3", "a", "out"]);
        assert_eq!(run.status, 0, "{filter}: {}", run.error);
        assert!(warns_of(&run.json(), "ZC214"), "{filter}: {}", run.error);
        test.run(["transcode", "-q", "--verify", "-c", "3", "a", "no"])
            .fails(1, &["whose fill value does not survive"]);
        // Where no absent chunk meets a stored one nothing is rounded.
        test.run(["transcode", "-q", "--verify", "--overwrite", "-c", "4", "a", "out"]).succeeds();
    }
}
