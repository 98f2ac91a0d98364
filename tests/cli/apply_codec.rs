//! `apply-codec`: chains over raw and `.npy` data, both ways, and what is refused.

use serde_json::json;

use super::support::{CliTest, fixture, float32};

const TO_UINT8: &str = r#"[{"name":"scale_offset","configuration":{"offset":5,"scale":10}},
    {"name":"cast_value","configuration":{"data_type":"uint8"}},{"name":"bytes"}]"#;
const SCALE: &str = r#"[{"name":"scale_offset","configuration":{"offset":5,"scale":10}}]"#;
const TRANSPOSE: &str = r#"[{"name":"transpose","configuration":{"order":[1,0]}}]"#;
const SHARDS: &str = r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],
    "codecs":[{"name":"bytes","configuration":{"endian":"little"}}],
    "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]"#;

/// Four floats that the chain above turns into 0, 3, 130 and 255.
const FLOATS: [f32; 4] = [5.0, 5.26, 18.0, 30.5];

fn with_floats() -> CliTest {
    let test = CliTest::new();
    test.write("floats", float32(&FLOATS));
    test
}

#[test]
fn floats_become_codes_and_come_back() {
    let test = with_floats();
    let run = test.run([
        "apply-codec",
        "--codecs",
        TO_UINT8,
        "--data-type",
        "float32",
        "--shape",
        "4",
        "floats",
        "codes",
    ]);
    assert_eq!(run.succeeds().output, b"");
    assert_eq!(test.read("codes"), [0, 3, 130, 255]);
    let back = [
        "apply-codec",
        "--codecs",
        TO_UINT8,
        "--data-type=float32",
        "--shape=4",
        "--decode",
        "codes",
        "back",
    ];
    test.run(back).succeeds();
    assert_eq!(test.read("back"), float32(&[5.0, 5.3, 18.0, 30.5]));
    assert_eq!(test.names(), ["back", "codes", "floats"]);
}

#[test]
fn dash_is_stdin_and_stdout() {
    let options = ["apply-codec", "--codecs", TO_UINT8, "--data-type", "float32", "--shape", "2,2", "-", "-"];
    let run = CliTest::new().run_with_input(options, &float32(&FLOATS)).succeeds();
    assert_eq!(run.output, [0, 3, 130, 255]);
}

#[test]
fn chain_may_stop_at_an_array() {
    let test = CliTest::new();
    test.write("source", [1, 2, 3, 4, 5, 6]);
    test.run([
        "apply-codec",
        "--codecs",
        TRANSPOSE,
        "--data-type",
        "uint8",
        "--shape",
        "2,3",
        "source",
        "turned",
    ])
    .succeeds();
    assert_eq!(test.read("turned"), [1, 4, 2, 5, 3, 6]);
    test.run([
        "apply-codec",
        "--codecs",
        TRANSPOSE,
        "--data-type",
        "uint8",
        "--shape",
        "2,3",
        "--decode",
        "turned",
        "back",
    ])
    .succeeds();
    assert_eq!(test.read("back"), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn npy_carries_type_and_shape_both_ways() {
    let test = CliTest::new();
    test.write("source", [1, 2, 3, 4, 5, 6]);
    test.run([
        "apply-codec",
        "--codecs",
        "[]",
        "--data-type",
        "uint8",
        "--shape",
        "2,3",
        "source",
        "source.npy",
    ])
    .succeeds();
    test.run(["apply-codec", "--codecs", TRANSPOSE, "source.npy", "turned.npy"]).succeeds();
    let turned = test.read("turned.npy");
    assert!(
        String::from_utf8_lossy(&turned)
            .contains("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }")
    );
    assert_eq!(turned[turned.len() - 6..], [1, 4, 2, 5, 3, 6]);
    test.run([
        "apply-codec",
        "--codecs",
        TRANSPOSE,
        "--data-type=uint8",
        "--shape=2,3",
        "--decode",
        "turned.npy",
        "back",
    ])
    .succeeds();
    assert_eq!(test.read("back"), [1, 2, 3, 4, 5, 6]);
    test.run(["apply-codec", "--codecs", TRANSPOSE, "--shape", "3,2", "source.npy", "x"])
        .fails(2, &["--shape", "[2, 3]"]);
    test.run(["apply-codec", "--codecs", TRANSPOSE, "--data-type", "int8", "source.npy", "x"])
        .fails(2, &["--data-type"]);
    assert!(!test.exists("x"));
}

#[test]
fn npy_in_fortran_order_and_big_endian_is_read() {
    let test = CliTest::new();
    let header = format!("{:<117}\n", "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }");
    let elements = [1_i16, 4, 2, 5, 3, 6].map(i16::to_be_bytes).concat();
    test.write(
        "turned.npy",
        [b"\x93NUMPY\x01\x00\x76\x00".as_slice(), header.as_bytes(), &elements].concat(),
    );
    test.run(["apply-codec", "--codecs", "[]", "turned.npy", "raw"]).succeeds();
    assert_eq!(test.read("raw"), [1_i16, 2, 3, 4, 5, 6].map(i16::to_le_bytes).concat());
}

#[test]
fn scalar_has_the_shape_scalar_or_nothing() {
    let test = CliTest::new();
    test.write("one", float32(&[5.5]));
    for shape in ["scalar", ""] {
        test.run([
            "apply-codec",
            "--codecs",
            SCALE,
            "--data-type",
            "float32",
            "--shape",
            shape,
            "one",
            "scaled",
        ])
        .succeeds();
        assert_eq!(test.read("scaled"), float32(&[5.0]));
    }
}

#[test]
fn output_is_replaced_after_success_and_kept_after_an_error() {
    let test = with_floats();
    test.write("codes", "before").write("bad", float32(&[1.0]));
    let encode = |input: &str| {
        test.run([
            "apply-codec",
            "--codecs",
            TO_UINT8,
            "--data-type",
            "float32",
            "--shape",
            "4",
            input,
            "codes",
        ])
    };
    encode("bad").fails(1, &["4 bytes", "16 bytes"]);
    assert_eq!(test.read("codes"), b"before");
    encode("floats").succeeds();
    assert_eq!(test.read("codes").len(), 4);
    assert_eq!(test.names(), ["bad", "codes", "floats"]);
}

#[test]
fn value_that_cannot_be_encoded_names_element_value_bounds_and_way_out() {
    let test = CliTest::new();
    test.write("floats", float32(&[5.0, 5.1, 31.0, 5.0]));
    let run = test.run([
        "apply-codec",
        "--codecs",
        TO_UINT8,
        "--data-type=float32",
        "--shape=2,2",
        "floats",
        "codes",
    ]);
    run.fails(1, &["[1, 0]", "260", "0 to 255", "codec 1 (cast_value)", "clamp", "help:"]);
    test.write("floats", float32(&[5.0, f32::NAN, f32::INFINITY, 5.0]));
    let run = test.run([
        "apply-codec",
        "--codecs",
        TO_UINT8,
        "--data-type=float32",
        "--shape=2,2",
        "floats",
        "codes",
    ]);
    run.fails(1, &["[0, 1]", "NaN", "scalar_map"]);
    assert_eq!(test.names(), ["floats"]);
}

#[test]
fn input_of_the_wrong_length_is_1() {
    let test = with_floats();
    let run = |shape: &str, options: &[&str]| {
        let arguments =
            ["apply-codec", "--codecs", TO_UINT8, "--data-type=float32", "--shape", shape, "floats", "out"];
        test.run(arguments.iter().chain(options)).fails(1, &["float"])
    };
    run("3", &[]);
    run("5", &[]);
    run("4611686018427387904", &[]);
    run("4", &["--decode"]);
    assert!(!test.exists("out"));
}

#[test]
fn chain_that_does_not_fit_is_1() {
    let test = with_floats();
    for (codecs, part) in [
        (r#"["bytes",{"name":"scale_offset"}]"#, "scale_offset"),
        (r#"[{"name":"scale_offset","configuration":{"scale":0}}]"#, "scale"),
        (r#"[{"name":"scale_offset","configuration":{"factor":1}}]"#, "factor"),
        (r#"[{"name":"cast_value","configuration":{"data_type":"bool"}}]"#, "bool"),
        (r#"[{"name":"cast_value","configuration":{"data_type":"float16","out_of_range":"wrap"}}]"#, "wrap"),
        (r#"[{"name":"transpose","configuration":{"order":[1,1]}}]"#, "order"),
        (r#"[{"name":"frobnicate"}]"#, "frobnicate"),
        (r#"[{"configuration":{}}]"#, "name"),
        ("[3]", "0"),
    ] {
        let run = test.run([
            "apply-codec",
            "--codecs",
            codecs,
            "--data-type=float32",
            "--shape=2,2",
            "floats",
            "out",
        ]);
        run.fails(1, &[part]);
    }
    assert!(!test.exists("out"));
}

#[test]
fn options_that_are_missing_or_contradict_are_2() {
    let test = with_floats();
    let usage = |arguments: &[&str], part: &str| {
        test.run([&["apply-codec"], arguments].concat()).fails(2, &[part]);
    };
    usage(&["floats", "out"], "--codecs");
    usage(&["--codecs", TO_UINT8], "INPUT");
    usage(&["--codecs", TO_UINT8, "floats"], "OUTPUT");
    usage(&["--codecs", TO_UINT8, "floats", "out"], "--data-type");
    usage(&["--codecs", TO_UINT8, "--shape=4", "floats", "out"], "--data-type");
    usage(&["--codecs", TO_UINT8, "--like", "a", "floats", "out"], "--like");
    usage(&["--codecs", TO_UINT8, "--chunk", "0", "out"], "--like");
    usage(&["--like", "a", "--chunk", "0", "in", "out"], "--chunk");
    usage(&["--codecs", TO_UINT8, "--decode", "--round-trip", "floats"], "--round-trip");
    usage(&["--codecs", TO_UINT8, "--shape=4", "--data-type=float32", "--json", "floats", "-"], "--json");
    usage(&["--codecs", TO_UINT8, "--shape=4,x", "--data-type=float32", "floats", "out"], "--shape");
    usage(&["--codecs", TO_UINT8, "--shape=-4", "--data-type=float32", "floats", "out"], "--shape");
    usage(&["--codecs", TO_UINT8, "--shape=4", "--data-type=floating", "floats", "out"], "--data-type");
    usage(&["--codecs", "[", "--shape=4", "--data-type=float32", "floats", "out"], "JSON");
    usage(&["--codecs", TO_UINT8, "--shape=4", "--data-type=float32", "--repeat=0", "floats"], "--repeat");
}

#[test]
fn what_is_not_there_is_3() {
    let test = with_floats();
    let run = |codecs: &str, input: &str, output: &str| {
        test.run(["apply-codec", "--codecs", codecs, "--data-type=float32", "--shape=4", input, output])
    };
    run(TO_UINT8, "missing", "out").fails(3, &["missing"]);
    run("@missing", "floats", "out").fails(3, &["missing"]);
    run(TO_UINT8, "floats", "missing/out").fails(3, &["missing/out"]);
    test.run(["apply-codec", "--like", "missing", "floats", "out"]).fails(3, &["missing"]);
}

#[test]
fn codecs_are_read_from_a_file() {
    let test = with_floats();
    test.write("codecs.json", TO_UINT8);
    test.run([
        "apply-codec",
        "--codecs",
        "@codecs.json",
        "--data-type",
        "float32",
        "--shape",
        "4",
        "floats",
        "codes",
    ])
    .succeeds();
    assert_eq!(test.read("codes"), [0, 3, 130, 255]);
}

#[test]
fn fill_value_must_come_back_unless_it_is_not_checked() {
    let test = with_floats();
    let run = |options: &[&str]| {
        let arguments = [
            "apply-codec",
            "--codecs",
            TO_UINT8,
            "--data-type=float32",
            "--shape=4",
            "--stages",
            "floats",
            "codes",
        ];
        test.run(arguments.iter().chain(options))
    };
    run(&["--fill-value", "5.26"]).fails(1, &["fill value", "comes back as 3.0", "--no-fill-check"]);
    run(&["--fill-value", "NaN"]).fails(1, &["fill value", "NaN"]);
    run(&["--fill-value", "-5"]).fails(1, &["fill value", "-100"]);
    run(&["--fill-value", "true"]).fails(1, &["--fill-value"]);
    assert!(!test.exists("codes"));
    let run = run(&["--fill-value", "5.26", "--no-fill-check"]);
    assert_eq!(run.status, 0, "{}", run.error);
    assert!(run.error.contains("does not survive"), "{}", run.error);
    assert_eq!(test.read("codes"), [0, 3, 130, 255]);
}

#[test]
fn shard_has_every_inner_chunk_unless_a_fill_value_is_given() {
    let test = CliTest::new();
    test.write("source", [7, 0, 0, 0].map(u16::to_le_bytes).concat());
    let run = |options: &[&str], files: [&str; 2]| {
        let arguments = ["apply-codec", "--codecs", SHARDS, "--data-type=uint16", "--shape=4"];
        test.run(arguments.iter().chain(options).chain(&files))
    };
    run(&[], ["source", "whole"]).succeeds();
    run(&["--fill-value", "0"], ["source", "sparse"]).succeeds();
    assert_eq!((test.read("whole").len(), test.read("sparse").len()), (8 + 36, 4 + 36));
    run(&["--decode", "--fill-value=0"], ["sparse", "back"]).succeeds();
    assert_eq!(test.read("back"), test.read("source"));
    run(&["--decode"], ["whole", "back"]).succeeds();
    assert_eq!(test.read("back"), test.read("source"));
    run(&["--decode"], ["sparse", "x"]).fails(1, &["fill value"]);
}

#[test]
fn stages_are_rows_on_stderr_and_in_json() {
    let test = with_floats();
    let options = [
        "apply-codec",
        "--codecs",
        TO_UINT8,
        "--data-type=float32",
        "--shape=4",
        "--stages",
        "--fill-value=5",
    ];
    let run = test.run(options.iter().chain(&["floats"]));
    assert_eq!((run.status, run.text()), (0, ""));
    for part in ["(input)", "scale_offset", "cast_value", "bytes", "float32", "uint8", "16"] {
        assert!(run.error.contains(part), "{}", run.error);
    }
    let result = test.run(options.iter().chain(&["--json", "floats", "codes"])).json();
    assert_eq!(result["schema"], "zarrcast.apply-codec/1");
    assert_eq!(result["direction"], "encode");
    assert_eq!(result["input"], json!({"path": "floats", "bytes": 16}));
    assert_eq!(result["output"], json!({"path": "codes", "bytes": 4}));
    assert_eq!((&result["round_trip"], &result["repeat"]), (&json!(null), &json!(null)));
    assert_eq!(result["warnings"], json!([]));
    let stages: Vec<_> = result["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| {
            json!([stage["codec"], stage["data_type"], stage["shape"], stage["fill_value"], stage["bytes"]])
        })
        .collect();
    assert_eq!(stages[0], json!([null, "float32", [4], 5.0, 16]));
    assert_eq!(stages[1], json!(["scale_offset", "float32", [4], 0.0, 16]));
    assert_eq!(stages[2], json!(["cast_value", "uint8", [4], 0, 4]));
    assert_eq!(stages[3], json!(["bytes", null, null, null, 4]));
    assert_eq!(result["stages"][0]["seconds"], json!(null));
    assert!(result["stages"][1]["seconds"].is_number());
}

#[test]
fn round_trip_reports_the_difference_and_exits_with_0() {
    let test = with_floats();
    let options =
        ["apply-codec", "--codecs", TO_UINT8, "--data-type=float32", "--shape=4", "--round-trip", "floats"];
    let run = test.run(options).succeeds();
    assert!(run.text().starts_with("round trip: 1 element differs, by at most 0.04"), "{}", run.text());
    let result = test.run(options.iter().chain(&["--json"])).json();
    assert_eq!(result["round_trip"]["bit_identical"], false);
    assert_eq!(result["round_trip"]["differing"], 1);
    assert_eq!(result["round_trip"]["at"], json!([1]));
    test.write("exact", float32(&[5.0, 18.0]));
    let run = test.run([
        "apply-codec",
        "--codecs",
        TO_UINT8,
        "--data-type=float32",
        "--shape=2",
        "--round-trip",
        "exact",
    ]);
    assert_eq!(run.succeeds().text(), "round trip: bit-identical\n");
}

#[test]
fn repeat_reports_the_throughput_of_each_codec() {
    let test = with_floats();
    let options =
        ["apply-codec", "--codecs", TO_UINT8, "--data-type=float32", "--shape=4", "--repeat=3", "floats"];
    let run = test.run(options).succeeds();
    assert!(run.text().contains("medians of 3") && run.text().contains("cast_value"), "{}", run.text());
    let result = test.run(options.iter().chain(&["--json"])).json();
    assert_eq!(result["repeat"], 3);
    assert!(result["stages"][2]["bytes_per_second"].is_number());
}

#[test]
fn like_takes_chain_type_and_chunk_shape_and_reads_a_chunk() {
    let test = CliTest::new();
    let store = fixture("zarr-python_3.4.2_float32_as_uint8_zstd");
    let like = ["apply-codec", "--like", store.to_str().unwrap()];
    test.run(like.iter().chain(&["--chunk", "0,0", "chunk.npy"])).succeeds();
    test.run(like.iter().chain(&["chunk.npy", "encoded"])).succeeds();
    test.run(like.iter().chain(&["--decode", "encoded", "again.npy"])).succeeds();
    assert_eq!(test.read("again.npy"), test.read("chunk.npy"));
    assert!(String::from_utf8_lossy(&test.read("chunk.npy")).contains("'shape': (14, 25)"));
    let run = test.run(like.iter().chain(&["--chunk", "0,0", "--round-trip"])).succeeds();
    assert_eq!(run.text(), "round trip: bit-identical\n");
    test.run(like.iter().chain(&["--chunk", "9,9", "x"])).fails(1, &["[9, 9]", "[2, 2]"]);
    test.run(like.iter().chain(&["--chunk", "0", "x"])).fails(1, &["[0]"]);
    assert!(!test.exists("x"));
}

#[test]
fn corrupt_chunk_is_1_and_leaves_nothing() {
    let test = CliTest::new();
    let store = fixture("zarr-python_3.4.2_float32_as_uint8_zstd");
    test.write("corrupt", b"\x28\xb5\x2f\xfd nothing that zstd knows");
    let run = test.run(["apply-codec", "--like", store.to_str().unwrap(), "--decode", "corrupt", "out"]);
    run.fails(1, &["codec 3 (zstd)", "corrupt"]);
    assert_eq!(test.names(), ["corrupt"]);
}

#[test]
fn memory_that_is_too_small_is_3_and_names_what_would_do() {
    let test = with_floats();
    let run = test.run([
        "apply-codec",
        "--codecs",
        TO_UINT8,
        "--data-type=float32",
        "--shape=4",
        "--max-memory=1",
        "floats",
        "codes",
    ]);
    run.fails(3, &["`--max-memory` 1 B is too small: one thread needs 48 B", "`--max-memory 48`"]);
}

#[test]
fn array_without_elements_passes_every_codec() {
    let test = CliTest::new();
    test.write("empty", "");
    let shards = SHARDS.replace("\"chunk_shape\":[2]", "\"chunk_shape\":[2,1]");
    for codecs in [TRANSPOSE, TO_UINT8, shards.as_str()] {
        let options = ["apply-codec", "--codecs", codecs, "--data-type=float32", "--shape=0,5"];
        test.run(options.iter().chain(&["empty", "encoded"])).succeeds();
        test.run(options.iter().chain(&["--decode", "encoded", "back"])).succeeds();
        assert_eq!(test.read("back"), b"", "{codecs}");
    }
}
