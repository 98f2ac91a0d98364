//! Options of `transcode` that act together, plans, budgets, and what is refused.

use serde_json::{Value, json};

use super::support::{CliTest, float32};

const PLAIN: &str = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;

/// One dimension, chunks of 4 elements, by their bytes.
fn write_array(test: &CliTest, name: &str, data_type: &str, codecs: &str, chunks: &[Option<Vec<u8>>]) {
    let (fill_value, attributes) = match data_type {
        "int8" => {
            ("-1", r#"{"scale_factor":0.5,"add_offset":1,"_FillValue":-1,"_Unsigned":"true","units":"K"}"#)
        }
        "int16" => ("-9", r#"{"scale_factor":0.1,"add_offset":5,"_FillValue":-9}"#),
        _ => ("\"NaN\"", "{}"),
    };
    let length = chunks.len() * 4;
    test.write(
        &format!("{name}/zarr.json"),
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[{length}],"data_type":"{data_type}",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4]}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":{fill_value},"codecs":{codecs},
            "attributes":{attributes}}}"#
        ),
    );
    for (index, chunk) in chunks.iter().enumerate() {
        if let Some(chunk) = chunk {
            test.write(&format!("{name}/c/{index}"), chunk);
        }
    }
}

fn metadata(test: &CliTest, name: &str) -> Value {
    test.read_json(&format!("{name}/zarr.json"))
}

fn names(codecs: &Value) -> Vec<&str> {
    codecs.as_array().unwrap().iter().map(|codec| codec["name"].as_str().unwrap()).collect()
}

fn node(test: &CliTest, arguments: &[&str]) -> Value {
    let run = test.run(["transcode", "--json"].iter().chain(arguments));
    assert_eq!(run.status, 0, "{}", run.error);
    run.json()["nodes"][0].clone()
}

fn float64(values: [f64; 4]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn quantize_with_codecs_puts_the_codes_in_front_of_the_given_chain() {
    let test = CliTest::new();
    test.write_float32("a", "\"NaN\"", &[Some([0.0, 1.0, 2.0, 3.0])]);
    let chain = r#"[{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}]"#;
    node(&test, &["--quantize", "int16", "--codecs", chain, "a", "b"]);
    let codecs = &metadata(&test, "b")["codecs"];
    assert_eq!(names(codecs), ["scale_offset", "cast_value", "bytes", "crc32c"]);
    assert_eq!(codecs[2]["configuration"]["endian"], "big");
    let packed = r#"[{"name":"cast_value","configuration":{"data_type":"uint8"}},{"name":"bytes"}]"#;
    test.run(["transcode", "--quantize", "uint8", "--codecs", packed, "a", "c"])
        .fails(1, &["`--codecs`", "already"]);
}

#[test]
fn unpack_with_data_type_gives_that_type() {
    let test = CliTest::new();
    let codecs = r#"[{"name":"scale_offset","configuration":{"offset":1}},{"name":"cast_value","configuration":
        {"data_type":"uint8","scalar_map":{"encode":[["NaN",0]],"decode":[[0,"NaN"]]}}},{"name":"bytes"}]"#;
    write_array(&test, "codecs", "float32", codecs, &[Some(vec![1, 2, 3, 4])]);
    node(&test, &["--unpack", "--data-type", "float64", "--verify", "codecs", "a"]);
    assert_eq!(metadata(&test, "a")["data_type"], "float64");
    assert_eq!(test.read("a/c/0"), float64([2.0, 3.0, 4.0, 5.0]));
    let codes: Vec<u8> = [0_i16, 10, 20, 30].iter().flat_map(|code| code.to_le_bytes()).collect();
    write_array(&test, "cf", "int16", PLAIN, &[Some(codes)]);
    node(&test, &["--unpack", "--data-type", "float64", "--verify", "cf", "b"]);
    assert_eq!(metadata(&test, "b")["data_type"], "float64");
    assert_eq!(test.read("b/c/0"), float64([5.0, 6.0, 7.0, 8.0]));
    test.run(["transcode", "--unpack", "--data-type", "int32", "cf", "c"]).fails(1, &["int32", "float64"]);
}

#[test]
fn unpack_reads_codes_that_are_declared_unsigned() {
    let test = CliTest::new();
    write_array(&test, "a", "int8", r#"[{"name":"bytes"}]"#, &[Some(vec![0, 1, 254, 255])]);
    node(&test, &["--unpack", "a", "b"]);
    let found = test.read("b/c/0");
    assert_eq!(found[..12], float32(&[1.0, 1.5, 128.0]));
    assert!(f32::from_le_bytes(*found.last_chunk().unwrap()).is_nan());
    assert_eq!(metadata(&test, "b")["attributes"], json!({"units": "K"}));
}

#[test]
fn max_error_goes_on_to_a_type_that_has_room() {
    let test = CliTest::new();
    test.write_float32("a", "\"NaN\"", &[Some([1.0, 2.0, 3.0, 300.0])]);
    for options in [["--scale", "10"], ["--nan-value", "300"]] {
        let destination = options[1];
        let mut arguments = vec!["--max-error", "0.1"];
        arguments.extend(options);
        arguments.extend(["a", destination]);
        assert_eq!(node(&test, &arguments)["quantization"]["data_type"], "uint16", "{options:?}");
    }
    test.run(["transcode", "--max-error", "0.1", "--scale", "1e9", "a", "b"]).fails(1, &["1", "range"]);
    assert!(!test.exists("b"));
}

#[test]
fn plan_tells_what_a_quantisation_will_do_and_leaves_open_what_only_the_data_tell() {
    let test = CliTest::new();
    test.write_float32("a", "\"NaN\"", &[Some([0.0, 1.0, 2.0, 3.0]), None]);
    let plan = node(&test, &["--dry-run", "--quantize", "uint8", "a", "b"]);
    let quantization = &plan["quantization"];
    for (name, expected) in [
        ("data_type", json!("uint8")),
        ("codes", json!([1, 255])),
        ("nan_code", json!(0)),
        ("count", json!(8)),
        ("range", json!(null)),
        ("scale", json!(null)),
        ("max_abs_error", json!(null)),
    ] {
        assert_eq!(quantization[name], expected, "{name}");
    }
    let plan_of_error = node(&test, &["--dry-run", "--max-error", "0.1", "a", "b"]);
    assert_eq!(plan_of_error["quantization"]["data_type"], json!(null));
    assert_eq!(plan_of_error["quantization"]["bound"], json!(0.1));
    let run = node(&test, &["--quantize", "uint8", "a", "b"]);
    let same = ["chunks", "chunks_absent", "chunks_read", "chunks_written", "bytes_read", "bytes_written"];
    for name in same.into_iter().chain(["bytes_logical", "memory_bytes", "route"]) {
        assert_eq!(plan[name], run[name], "{name}");
    }
}

#[test]
fn plan_reads_as_many_bytes_of_shards_as_the_run() {
    let test = CliTest::new();
    test.write_float32("a", "\"NaN\"", &[Some([0.0, 1.0, 2.0, 3.0])]);
    let sharded = r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[{"name":"bytes",
        "configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},
        {"name":"crc32c"}]}}]"#;
    node(&test, &["--codecs", sharded, "a", "b"]);
    let plan = node(&test, &["--dry-run", "--quantize", "uint8", "b", "c"]);
    let run = node(&test, &["--quantize", "uint8", "b", "c"]);
    assert_eq!((&plan["bytes_read"], &run["bytes_read"]), (&json!(52), &json!(52)));
}

#[test]
fn verify_counts_absent_elements() {
    let test = CliTest::new();
    test.write_float32("a", "0.1", &[Some([0.0, 1.0, 2.0, 3.0]), None]);
    let verify = &node(&test, &["--quantize", "uint8", "--verify", "a", "b"])["verify"];
    assert_eq!((&verify["elements"], &verify["equal"]), (&json!(8), &json!(true)));
    // The fill value moved to its code's value.
    assert!(verify["max_abs_error"].as_f64().unwrap() > 0.005, "{verify}");
}

#[test]
fn budget_that_is_too_small_names_one_that_is_not_before_anything_is_read() {
    for options in
        [&["--quantize", "uint8"][..], &["--compress", "zstd:3", "--verify"], &["--max-error", "1"]]
    {
        let test = CliTest::new();
        test.write_float32("a", "\"NaN\"", &[Some([0.0, 1.0, 2.0, 3.0])]);
        // A corrupt chunk would be found first if it were read.
        test.write("a/c/0", [1, 2, 3]);
        let run = |memory: &str| {
            let arguments = ["transcode", "--max-memory", memory, "a", "b"];
            test.run(arguments.iter().chain(options).copied())
        };
        let refused = run("10").fails(3, &["`--max-memory` 10 B is too small", "--max-memory"]);
        assert!(!test.exists("b"));
        let least = refused.error.split("--max-memory ").nth(1).unwrap();
        let least = least.split(|c: char| !c.is_ascii_digit()).next().unwrap().to_owned();
        run(&least).fails(1, &["c/0"]);
        test.write("a/c/0", float32(&[0.0, 1.0, 2.0, 3.0]));
        assert_eq!(run(&least).status, 0);
    }
}

#[test]
fn data_type_refuses_what_it_cannot_do() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([0.0, 1.0, 2.0, 300.0])]);
    test.run(["transcode", "--data-type", "float16", "--out-of-range", "wrap", "a", "b"])
        .fails(1, &["wrap", "integer", "float16"]);
    let refused = test.run(["transcode", "--data-type", "uint8", "a", "b"]);
    let refused =
        refused.fails(1, &["change of data type: 300", "`c/0`", "0 to 255", "--out-of-range clamp"]);
    assert!(!refused.error.contains("codec -"), "{}", refused.error);
    assert!(!test.exists("b"));
}

#[test]
fn data_type_that_rounds_most_values_to_integers_is_a_warning_with_their_number() {
    let test = CliTest::new();
    let warnings = |options: &[&str]| {
        let run = test.run(["transcode", "--json", "--overwrite"].iter().chain(options).chain(&["a", "b"]));
        let warnings = run.json()["warnings"].as_array().unwrap().clone();
        warnings.iter().map(|found| format!("{} {}", found["code"], found["message"])).collect::<Vec<_>>()
    };
    test.write_float32("a", "0.0", &[Some([0.1, 0.9, 1.0, 2.5]), Some([0.5, 0.5, 3.0, 4.0])]);
    let said = r#""ZC308" "5 of 8 stored values were rounded to integers of uint8""#;
    assert_eq!(warnings(&["-d", "uint8"]), [said]);
    assert_eq!(warnings(&["-d", "uint8", "-c", "3"]), [said], "in another grid, too");
    assert_eq!(warnings(&["-d", "float16"]), [""; 0]);
    test.write_float32("a", "0.0", &[Some([0.1, 0.9, 1.0, 2.5]), Some([0.5, 1.0, 3.0, 4.0])]);
    assert_eq!(warnings(&["-d", "uint8"]), [""; 0], "half of them");
}
