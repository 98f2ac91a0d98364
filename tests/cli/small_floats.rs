//! `bfloat16` and the floats of 8 bits and fewer through every command that looks at elements.

use serde_json::Value;

use super::support::{CliTest, Run, float32};

/// A chain of one `cast_value` with these members.
fn cast(configuration: &str) -> String {
    format!(r#"[{{"name":"cast_value","configuration":{{{configuration}}}}}]"#)
}

fn apply(
    test: &CliTest,
    codecs: &str,
    data_type: &str,
    count: usize,
    files: [&str; 2],
    more: &[&str],
) -> Run {
    let shape = count.to_string();
    let options = ["apply-codec", "--codecs", codecs, "--data-type", data_type, "--shape", &shape];
    test.run(options.into_iter().chain(more.iter().copied()).chain(files))
}

/// An array of one chunk of `stored` bytes.
fn write_array(test: &CliTest, name: &str, data_type: &str, fill_value: &str, codecs: &str, stored: &[u8]) {
    test.write(
        &format!("{name}/zarr.json"),
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[8],"data_type":"{data_type}",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4]}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":{fill_value},"codecs":{codecs}}}"#
        ),
    );
    test.write(&format!("{name}/c/0"), stored);
}

fn metadata(test: &CliTest, name: &str) -> Value {
    test.read_json(&format!("{name}/zarr.json"))
}

const LITTLE: &str = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;

#[test]
fn cast_value_to_every_small_float_and_back_is_rounded_once_each_way() {
    let test = CliTest::new();
    let values = [1.0, 1.3, -2.9, 6.0];
    test.write("floats", float32(&values));
    for (name, codes, back) in [
        ("bfloat16", vec![0x80, 0x3f, 0xa6, 0x3f, 0x3a, 0xc0, 0xc0, 0x40], [1.0, 1.296_875, -2.906_25, 6.0]),
        ("float8_e3m4", vec![0x30, 0x35, 0xc7, 0x58], [1.0, 1.3125, -2.875, 6.0]),
        ("float8_e4m3", vec![0x38, 0x3a, 0xc4, 0x4c], [1.0, 1.25, -3.0, 6.0]),
        ("float8_e4m3fnuz", vec![0x40, 0x42, 0xcc, 0x54], [1.0, 1.25, -3.0, 6.0]),
        ("float8_e4m3b11fnuz", vec![0x58, 0x5a, 0xe4, 0x6c], [1.0, 1.25, -3.0, 6.0]),
        ("float8_e5m2", vec![0x3c, 0x3d, 0xc2, 0x46], [1.0, 1.25, -3.0, 6.0]),
        ("float8_e5m2fnuz", vec![0x40, 0x41, 0xc6, 0x4a], [1.0, 1.25, -3.0, 6.0]),
        ("float6_e2m3fn", vec![0x08, 0x0a, 0x34, 0x1c], [1.0, 1.25, -3.0, 6.0]),
        ("float6_e3m2fn", vec![0x0c, 0x0d, 0x32, 0x16], [1.0, 1.25, -3.0, 6.0]),
        ("float4_e2m1fn", vec![0x2, 0x3, 0xd, 0x7], [1.0, 1.5, -3.0, 6.0]),
    ] {
        let codecs = cast(&format!(r#""data_type":"{name}""#));
        apply(&test, &codecs, "float32", 4, ["floats", "codes"], &[]).succeeds();
        assert_eq!(test.read("codes"), codes, "{name}");
        apply(&test, &codecs, "float32", 4, ["codes", "back"], &["--decode"]).succeeds();
        assert_eq!(test.read("back"), float32(&back), "{name}");
        // The other way round: the array holds small floats, the encoded values are float32.
        let codecs = cast(r#""data_type":"float32""#);
        apply(&test, &codecs, name, 4, ["codes", "wide"], &[]).succeeds();
        assert_eq!(test.read("wide"), float32(&back), "{name}");
    }
}

#[test]
fn cast_value_faults_of_small_floats_name_value_and_bounds() {
    let test = CliTest::new();
    let strict = |name: &str| cast(&format!(r#""data_type":"{name}""#));
    let clamp = |name: &str| cast(&format!(r#""data_type":"{name}","out_of_range":"clamp""#));
    test.write("large", float32(&[1.0, 500.0]));
    let refused = apply(&test, &strict("float8_e4m3"), "float32", 2, ["large", "out"], &[]);
    refused.fails(1, &["[1]", "500", "float8_e4m3", "-240 to 240", "clamp"]);
    apply(&test, &clamp("float8_e4m3"), "float32", 2, ["large", "out"], &[]).succeeds();
    assert_eq!(test.read("out"), [0x38, 0x78], "an infinity");
    apply(&test, &clamp("float8_e4m3fnuz"), "float32", 2, ["large", "out"], &[]).succeeds();
    assert_eq!(test.read("out"), [0x40, 0x7f], "the greatest value");
    test.write("special", float32(&[f32::INFINITY, f32::NAN]));
    let refused = apply(&test, &clamp("float8_e5m2fnuz"), "float32", 2, ["special", "none"], &[]);
    refused.fails(1, &["[0]", "inf", "float8_e5m2fnuz", "scalar_map"]);
    let mapped = r#""data_type":"float4_e2m1fn","scalar_map":{"encode":[["Infinity",6.0],["NaN","0x0f"]]}"#;
    apply(&test, &cast(mapped), "float32", 2, ["special", "out"], &[]).succeeds();
    assert_eq!(test.read("out"), [0x07, 0x0f]);
    let wrap = cast(r#""data_type":"bfloat16","out_of_range":"wrap""#);
    apply(&test, &wrap, "int32", 1, ["special", "none"], &[]).fails(1, &["wrap", "integer"]);
    assert!(!test.exists("none"));
}

#[test]
fn scalar_map_keeps_the_bits_of_hexadecimal_nan_in_small_floats() {
    let test = CliTest::new();
    let map = r#""data_type":"bfloat16","scalar_map":{
        "encode":[["0x7fc00001","0x7fc3"],["NaN","0xffc1"]],"decode":[["0x7fc3","0x7fc00001"]]}"#;
    let floats: Vec<u8> = [0x7fc0_0001_u32, 0x7fc0_0002].iter().flat_map(|bits| bits.to_le_bytes()).collect();
    test.write("floats", &floats);
    apply(&test, &cast(map), "float32", 2, ["floats", "codes"], &[]).succeeds();
    assert_eq!(test.read("codes"), [0xc3, 0x7f, 0xc1, 0xff]);
    apply(&test, &cast(map), "float32", 2, ["codes", "back"], &["--decode"]).succeeds();
    assert_eq!(test.read("back"), [0x01, 0, 0xc0, 0x7f, 0, 0, 0xc1, 0xff]);
}

#[test]
fn integers_below_a_byte_are_cast_to_and_from_small_floats() {
    let test = CliTest::new();
    test.write("integers", [0, 3, 0xf8, 7]);
    let codecs = cast(r#""data_type":"float4_e2m1fn","rounding":"towards-zero""#);
    let refused = apply(&test, &codecs, "int4", 4, ["integers", "out"], &[]);
    refused.fails(1, &["-8", "float4_e2m1fn", "-6 to 6"]);
    let codecs = cast(r#""data_type":"float4_e2m1fn","rounding":"towards-zero","out_of_range":"clamp""#);
    let run = apply(&test, &codecs, "int4", 4, ["integers", "codes"], &[]);
    assert_eq!(run.status, 0, "{}", run.error);
    assert!(run.error.contains("which does not hold all of its values"), "{}", run.error);
    assert_eq!(test.read("codes"), [0, 5, 0xf, 7]);
    let codecs = cast(r#""data_type":"uint2","out_of_range":"wrap""#);
    apply(&test, &codecs, "float4_e2m1fn", 4, ["codes", "bits"], &[]).succeeds();
    assert_eq!(test.read("bits"), [0, 3, 2, 2]);
}

#[test]
fn scale_offset_of_small_floats_rounds_each_operation_in_the_type() {
    let test = CliTest::new();
    let codecs = r#"[{"name":"scale_offset","configuration":{"offset":1.25,"scale":1.25}}]"#;
    test.write("values", [0x4b]);
    apply(&test, codecs, "float8_e4m3", 1, ["values", "out"], &[]).succeeds();
    assert_eq!(test.read("out"), [0x4a], "(5.5 - 1.25) is 4, and 4 * 1.25 is 5");
    test.write("values", [0x80, 0x3f, 0x7f, 0x7f]);
    let refused = apply(&test, codecs, "bfloat16", 2, ["values", "none"], &[]);
    refused.fails(1, &["[1]", "leaves the range of bfloat16"]);
    let zero = r#"[{"name":"scale_offset","configuration":{"scale":"0x00"}}]"#;
    apply(&test, zero, "float8_e5m2", 1, ["values", "none"], &[]).fails(1, &["zero"]);
    let none = r#"[{"name":"scale_offset","configuration":{"offset":0}}]"#;
    apply(&test, none, "float8_e8m0fnu", 1, ["values", "none"], &[]).fails(1, &["float8_e8m0fnu", "found 0"]);
}

#[test]
fn fill_value_passes_small_floats_bit_for_bit_or_is_an_error() {
    let test = CliTest::new();
    test.write("floats", float32(&[0.5]));
    let codecs = cast(r#""data_type":"float8_e4m3""#);
    let fill = |value: &str| {
        apply(&test, &codecs, "float32", 1, ["floats", "out"], &["--fill-value", value, "--stages"])
    };
    let run = fill("0.25");
    assert_eq!(run.status, 0, "{}", run.error);
    assert!(run.error.contains("0.25"), "{}", run.error);
    fill("0.3").fails(1, &["0.3", "comes back as 0.3125"]);
    fill("1000").fails(1, &["1000", "float8_e4m3"]);
    assert_eq!(fill("NaN").status, 0);
}

#[test]
fn round_trip_of_small_floats_gives_the_greatest_difference() {
    let test = CliTest::new();
    test.write("values", [0x80, 0x3f, 0xa6, 0x3f]);
    let codecs = cast(r#""data_type":"float8_e4m3""#);
    let run = test.run([
        "apply-codec",
        "--codecs",
        &codecs,
        "--data-type=bfloat16",
        "--shape=2",
        "--round-trip",
        "--json",
        "values",
    ]);
    let round_trip = run.succeeds().json()["round_trip"].clone();
    assert_eq!(round_trip["differing"], 1);
    assert_eq!(round_trip["max_abs_error"], 1.296_875 - 1.25);
}

#[test]
fn transcode_changes_the_data_type_to_small_floats_and_back() {
    let test = CliTest::new();
    write_array(&test, "source", "float32", "\"NaN\"", LITTLE, &float32(&[1.0, -0.0, 2.5, f32::NAN]));
    for (name, stored, fill) in [
        ("bfloat16", vec![0x80, 0x3f, 0, 0x80, 0x20, 0x40, 0xc0, 0x7f], "\"NaN\""),
        ("float8_e5m2", vec![0x3c, 0x80, 0x41, 0x7e], "\"NaN\""),
        ("float8_e5m2fnuz", vec![0x40, 0, 0x45, 0x80], "\"NaN\""),
    ] {
        let run = test.run(["transcode", "--overwrite", "--verify", "--data-type", name, "source", "small"]);
        assert_eq!(run.status, 0, "{}", run.error);
        assert!(run.error.contains("warning") && run.error.contains(name), "{}", run.error);
        assert_eq!(test.read("small/c/0"), stored, "{name}");
        let written = metadata(&test, "small");
        assert_eq!(
            (written["data_type"].as_str(), written["fill_value"].to_string().as_str()),
            (Some(name), fill)
        );
        assert!(!test.exists("small/c/1"));
        test.run(["transcode", "--overwrite", "--data-type", "float32", "small", "back"]).succeeds();
        let mut back = float32(&[1.0, -0.0, 2.5, f32::NAN]);
        if name.ends_with("fnuz") {
            back[4..8].fill(0);
        }
        assert_eq!(test.read("back/c/0"), back, "{name}");
    }
    test.run(["transcode", "--data-type", "float4_e2m1fn", "source", "none"])
        .fails(1, &["NaN", "float4_e2m1fn"]);
    assert!(!test.exists("none"));
}

#[test]
fn transcode_refuses_integers_that_a_small_float_does_not_hold() {
    let test = CliTest::new();
    write_array(&test, "source", "uint8", "0", r#"[{"name":"bytes"}]"#, &[1, 2, 16, 17]);
    let run = test.run(["transcode", "--data-type", "float8_e4m3", "source", "none"]);
    run.fails(1, &["float8_e4m3", "uint8", "--allow-lossy-cast"]);
    let lossy = ["transcode", "--data-type", "float8_e4m3", "--allow-lossy-cast", "source", "small"];
    assert_eq!(test.run(lossy).status, 0);
    assert_eq!(test.read("small/c/0"), [0x38, 0x40, 0x58, 0x58]);
    assert_eq!(test.run(["transcode", "--data-type", "bfloat16", "source", "wide"]).status, 0);
    assert_eq!(test.read("wide/c/0"), [0x80, 0x3f, 0, 0x40, 0x80, 0x41, 0x88, 0x41]);
}

#[test]
fn chain_with_small_floats_is_written_packed_and_unpacked() {
    let test = CliTest::new();
    write_array(&test, "source", "float32", "0.5", LITTLE, &float32(&[1.0, -6.0, 0.5, 4.0]));
    let chain =
        r#"[{"name":"cast_value","configuration":{"data_type":"float4_e2m1fn"}},{"name":"packbits"}]"#;
    let run = test.run(["transcode", "--codecs", chain, "--verify", "source", "packed"]);
    assert_eq!(run.status, 0, "{}", run.error);
    assert!(run.error.contains("float4_e2m1fn"), "{}", run.error);
    assert_eq!(test.read("packed/c/0"), [0xf2, 0x61]);
    test.run(["validate", "--level", "data", "--against", "source", "packed"]).succeeds();
    test.run(["transcode", "--unpack", "packed", "plain"]).succeeds();
    assert_eq!(test.read("plain/c/0"), float32(&[1.0, -6.0, 0.5, 4.0]));
    assert_eq!(metadata(&test, "plain")["codecs"][0]["name"], "bytes");
}

#[test]
fn values_of_small_floats_are_compared_as_numbers() {
    let test = CliTest::new();
    write_array(&test, "a", "float32", "1.0", LITTLE, &float32(&[1.0, 1.25, -0.0, f32::NAN]));
    write_array(&test, "b", "float8_e4m3", "1.0", r#"[{"name":"bytes"}]"#, &[0x38, 0x3a, 0, 0xfc]);
    write_array(&test, "c", "float8_e4m3fnuz", "1.0", r#"[{"name":"bytes"}]"#, &[0x40, 0x43, 0, 0x80]);
    test.run(["validate", "--against", "a", "b"]).succeeds();
    let run = test.run(["validate", "--json", "--against", "c", "b"]);
    assert_eq!(run.status, 1, "{}", run.error);
    let node = run.json()["against"]["nodes"][0].clone();
    assert_eq!((&node["differing"], &node["max_abs_difference"]), (&Value::from(1), &Value::from(0.125)));
    test.run(["validate", "--against", "c", "--atol", "0.125", "b"]).succeeds();
}

#[test]
fn statistics_decode_a_chain_through_small_floats() {
    let test = CliTest::new();
    let chain = r#"[{"name":"scale_offset","configuration":{"scale":2.0}},
        {"name":"cast_value","configuration":{"data_type":"float8_e5m2"}},{"name":"bytes"}]"#;
    write_array(&test, "array", "float32", "0.0", chain, &[0x3c, 0x40, 0xc4, 0x7e]);
    let stats = test.run(["inspect", "--stats", "--json", "array"]).succeeds().json()["stats"].clone();
    assert_eq!(
        (&stats["nan"], &stats["min"], &stats["max"]),
        (&Value::from(1), &Value::from(-2.0), &Value::from(1.0))
    );
}
