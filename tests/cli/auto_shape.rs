//! `--chunk-shape auto[:SIZE]` and `--shard-shape auto[:SIZE]`: shapes of about a size.

use serde_json::{Value, json};

use super::support::CliTest;

/// Adds an array of zeros, of which no chunk is stored.
fn array(test: &CliTest, name: &str, shape: &Value, chunks: &Value, data_type: &str) {
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "attributes": {},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    test.write(&format!("{name}/zarr.json"), document.to_string());
}

/// The chunk shape and the shard shape of DEST, which a plan tells before it is written.
fn shapes(test: &CliTest, options: &[&str], source: &str) -> [Value; 2] {
    let plan = test.run(["transcode", "--json", "--dry-run"].iter().chain(options).chain(&[source, "out"]));
    assert_eq!(plan.status, 0, "{options:?}: {}", plan.error);
    let shapes = |run: &Value| {
        let destination = &run["nodes"][0]["destination"];
        [destination["chunk_shape"].clone(), destination["shard_shape"].clone()]
    };
    shapes(&plan.json())
}

#[test]
fn chunks_and_shards_have_about_the_size_that_is_asked_for() {
    let test = CliTest::new();
    array(&test, "large", &json!([365, 721, 1440]), &json!([1, 721, 1440]), "float32");
    array(&test, "none", &json!([0, 180, 360]), &json!([1, 180, 360]), "float64");
    array(&test, "scalar", &json!([]), &json!([]), "float32");
    array(&test, "huge", &json!([1_u64 << 62, 3]), &json!([1_u64 << 20, 3]), "uint8");
    let cases: [(&str, &[&str], Value, Value); 13] = [
        ("large", &["-c", "auto"], json!([1, 181, 1440]), Value::Null),
        ("large", &["-c", "auto:16MiB"], json!([4, 721, 1440]), Value::Null),
        ("large", &["-c", "auto:1"], json!([1, 1, 1]), Value::Null),
        ("large", &["-c", "auto:1000GB"], json!([365, 721, 1440]), Value::Null),
        // Of what is written, and of what is read where the data decide what is written.
        ("large", &["-c", "auto:8kB", "-d", "float64"], json!([1, 1, 720]), Value::Null),
        (
            "large",
            &["-c", "auto:1440", "--quantize", "uint8", "--as", "cf", "--range", "0,9"],
            json!([1, 1, 1440]),
            Value::Null,
        ),
        (
            "large",
            &["-c", "auto:1440", "--quantize", "uint8", "--range", "0,9"],
            json!([1, 1, 360]),
            Value::Null,
        ),
        ("large", &["-c", "auto", "-s", "auto"], json!([1, 181, 1440]), json!([61, 724, 1440])),
        ("large", &["-s", "auto:5MB"], json!([1, 721, 1440]), json!([1, 721, 1440])),
        ("large", &["-c", "1,100,100", "-s", "auto:2MB"], json!([1, 100, 100]), json!([1, 300, 1500])),
        ("none", &["-c", "auto", "-s", "auto"], json!([1, 180, 360]), json!([1, 180, 360])),
        ("scalar", &["-c", "auto", "-s", "auto"], json!([]), json!([])),
        ("huge", &["-c", "auto:300"], json!([100, 3]), Value::Null),
    ];
    for (source, options, chunk, shard) in cases {
        assert_eq!(shapes(&test, options, source), [chunk, shard], "{source} {options:?}");
    }
    let plan = test.run(["transcode", "--dry-run", "-c", "auto", "large", "out"]);
    assert!(plan.text().contains("chunk shape  1, 721, 1440 -> 1, 181, 1440\n"), "{}", plan.text());
}

#[test]
fn inner_chunks_divide_the_shards_that_are_given_or_kept() {
    let test = CliTest::new();
    array(&test, "plain", &json!([300, 700]), &json!([20, 700]), "uint8");
    test.run(["transcode", "-c", "10,30", "-s", "60,210", "plain", "sharded"]).succeeds();
    let cases: [(&str, &[&str], Value, Value); 7] = [
        ("sharded", &["-c", "auto:2kB"], json!([6, 210]), json!([60, 210])),
        ("sharded", &["-c", "auto:100"], json!([1, 70]), json!([60, 210])),
        ("sharded", &["-c", "auto:2kB", "-s", "none"], json!([2, 700]), Value::Null),
        ("sharded", &["-s", "auto:9kB"], json!([10, 30]), json!([10, 720])),
        ("plain", &["-c", "auto:100", "-s", "31,240"], json!([1, 80]), json!([31, 240])),
        // 0 goes to the end of the last inner chunk.
        ("plain", &["-c", "auto:300", "-s", "0,0"], json!([1, 234]), json!([300, 702])),
        ("sharded", &["-c", "auto:100", "-s", "auto:200"], json!([1, 100]), json!([1, 200])),
    ];
    for (source, options, chunk, shard) in cases {
        assert_eq!(shapes(&test, options, source), [chunk, shard], "{source} {options:?}");
    }
}

#[test]
fn arrays_of_a_hierarchy_have_their_own_shapes_and_their_values() {
    let test = CliTest::new();
    test.group("g");
    array(&test, "g/time", &json!([7]), &json!([1]), "int16");
    array(&test, "g/values", &json!([7, 9, 11]), &json!([7, 2, 3]), "int16");
    array(&test, "g/point", &json!([]), &json!([]), "int16");
    let values: Vec<u8> = (0..84_u8).collect();
    test.write("g/values/c/0/1/2", &values).write("g/time/c/3", [5, 0]);
    let arguments = ["transcode", "--json", "--verify", "-c", "auto:200", "-s", "auto:900B", "g", "out"];
    let run = test.run(arguments).succeeds().json();
    let node = |path: &str| {
        let nodes = run["nodes"].as_array().unwrap();
        nodes.iter().find(|node| node["path"] == path).unwrap().clone()
    };
    for (path, chunk, shard) in [
        ("/time", json!([7]), json!([7])),
        ("/values", json!([1, 9, 11]), json!([4, 9, 11])),
        ("/point", json!([]), json!([])),
    ] {
        let node = node(path);
        assert_eq!(node["destination"]["chunk_shape"], chunk, "{path}");
        assert_eq!(node["destination"]["shard_shape"], shard, "{path}");
        assert_eq!(node["verify"]["equal"], true, "{path}");
    }
    test.run(["validate", "--level", "data", "out", "--against", "g"]).succeeds();
    // A rule may ask for another size.
    let rule = "time: -c auto:4";
    let arguments = ["transcode", "--json", "--dry-run", "-c", "auto:200", "--rule", rule, "g", "ruled"];
    let run = test.run(arguments).succeeds().json();
    let nodes = run["nodes"].as_array().unwrap();
    let time = nodes.iter().find(|node| node["path"] == "/time").unwrap();
    assert_eq!(time["destination"]["chunk_shape"], json!([2]));
}

#[test]
fn version_2_text_and_rectilinear_grids_are_cut_too() {
    let test = CliTest::new();
    let document = r#"{"zarr_format":2,"shape":[100,30],"chunks":[3,7],"dtype":"<i4","fill_value":0,"order":"C",
        "filters":null,"compressor":null}"#;
    test.write("v2/.zarray", document);
    assert_eq!(shapes(&test, &["-c", "auto:1200"], "v2"), [json!([10, 30]), Value::Null]);
    test.run(["transcode", "-s", "auto", "v2", "out"]).fails(1, &["shards"]);
    let run = |chunk_grid: &Value, data_type: &str, codec: &Value| {
        let fill_value = if data_type == "string" { json!("") } else { json!(0) };
        let document = json!({
            "zarr_format": 3, "node_type": "array", "shape": [100], "data_type": data_type, "fill_value": fill_value,
            "chunk_grid": chunk_grid, "chunk_key_encoding": {"name": "default"}, "codecs": [codec],
        });
        test.write("array/zarr.json", document.to_string());
        shapes(&test, &["-c", "auto:320"], "array")[0].clone()
    };
    let regular = json!({"name": "regular", "configuration": {"chunk_shape": [100]}});
    assert_eq!(run(&regular, "string", &json!("vlen-utf8")), json!([20]));
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let lengths =
        json!({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[60, 40]]}});
    assert_eq!(run(&lengths, "int32", &bytes), json!([50]));
    test.run(["transcode", "-s", "auto", "array", "out"]).fails(1, &["--chunk-shape", "rectilinear"]);
    for text in ["auto:", "auto:0", "auto:x", "auto:1MiB,2"] {
        test.run(["transcode", "-c", text, "array", "out"]).fails(2, &["size"]);
        test.run(["transcode", "-s", text, "array", "out"]).fails(2, &["size"]);
    }
}
