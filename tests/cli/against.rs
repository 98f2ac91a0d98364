//! `validate --against`: equal by value, whatever the metadata.

use serde_json::{Value, json};

use super::support::{CliTest, fixture};

/// A float32 array of two dimensions, shape 5 by 6, with these chunks; all of it is stored.
fn array(
    test: &CliTest,
    name: &str,
    data_type: &str,
    chunk: [usize; 2],
    value: impl Fn(usize, usize) -> Vec<u8>,
) {
    test.write(
        &format!("{name}/zarr.json"),
        json!({
            "zarr_format": 3, "node_type": "array", "shape": [5, 6], "data_type": data_type, "fill_value": 0,
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
            "chunk_key_encoding": { "name": "default" },
            "codecs": [{ "name": "bytes", "configuration": { "endian": "little" } }],
        })
        .to_string(),
    );
    for i in 0..5_usize.div_ceil(chunk[0]) {
        for j in 0..6_usize.div_ceil(chunk[1]) {
            let positions = (0..chunk[0]).flat_map(|y| (0..chunk[1]).map(move |x| (y, x)));
            let bytes: Vec<u8> =
                positions.flat_map(|(y, x)| value(i * chunk[0] + y, j * chunk[1] + x)).collect();
            test.write(&format!("{name}/c/{i}/{j}"), bytes);
        }
    }
}

/// Elements beyond the edge are of no account: those of `beyond` differ between the arrays.
fn number(y: usize, x: usize, beyond: f64) -> f64 {
    if y < 5 && x < 6 { (y * 10 + x) as f64 } else { beyond }
}

fn compare(test: &CliTest, a: &str, b: &str, options: &[&str]) -> (i32, Value) {
    let run = test.run(["validate", "--json", a, "--against", b].iter().chain(options));
    assert_eq!(run.error, "");
    let against = run.json()["against"].clone();
    assert_eq!(run.status == 0, against["equal"] == true, "{against}");
    (run.status, against)
}

#[test]
fn arrays_of_other_chunks_types_and_padding_are_equal() {
    let test = CliTest::new();
    array(&test, "a", "float32", [2, 3], |y, x| (number(y, x, 7.0) as f32).to_le_bytes().to_vec());
    array(&test, "b", "int64", [4, 1], |y, x| (number(y, x, 9.0) as i64).to_le_bytes().to_vec());
    array(&test, "c", "float64", [5, 6], |y, x| number(y, x, 0.0).to_le_bytes().to_vec());
    for (a, b) in [("a", "b"), ("b", "a"), ("a", "c"), ("c", "b")] {
        let (status, against) = compare(&test, a, b, &[]);
        assert_eq!(status, 0, "{against}");
        assert_eq!(against["nodes"][0]["elements"], 30);
    }
}

#[test]
fn difference_is_counted_and_the_greatest_is_shown() {
    let test = CliTest::new();
    let changed = |y, x| match (y, x) {
        (1, 2) => 14.5,
        (3, 4) => 31.5,
        (4, 4) => 46.5,
        _ => number(y, x, 0.0),
    };
    array(&test, "a", "float32", [2, 3], |y, x| (changed(y, x) as f32).to_le_bytes().to_vec());
    array(&test, "b", "uint8", [4, 4], |y, x| vec![number(y, x, 1.0) as u8]);
    for threads in ["1", "3"] {
        let (status, against) = compare(&test, "a", "b", &["--threads", threads]);
        assert_eq!(status, 1);
        let node = &against["nodes"][0];
        assert_eq!(node["differing"], 3);
        assert_eq!(node["max_abs_difference"].as_f64(), Some(2.5));
        assert_eq!(node["at"], json!([1, 2]), "the first of three that differ as much");
        assert_eq!((node["value"].as_f64(), &node["other_value"]), (Some(14.5), &json!(12)));
        assert_eq!(node["max_rel_difference"].as_f64(), Some(2.5 / 12.0));
    }
    assert_eq!(compare(&test, "a", "b", &["--atol", "2.5"]).0, 0);
    assert_eq!(compare(&test, "a", "b", &["--atol", "2.49"]).0, 1);
    assert_eq!(compare(&test, "a", "b", &["--rtol", "0.21"]).0, 0);
    let text = test.run(["validate", "a", "--against", "b"]);
    assert_eq!(text.status, 1);
    assert!(text.text().contains("3 of 30 elements differ"), "{}", text.text());
}

#[test]
fn absent_chunks_equal_stored_fill_values() {
    let test = CliTest::new();
    let some = [1.0, f32::NAN, -0.0, f32::INFINITY];
    test.write_float32("a", "1.5", &[None, Some([1.5; 4]), Some(some), None])
        .write_float32("b", "1.5", &[Some([1.5; 4]), None, Some(some), None])
        .write_float32("c", "2.5", &[Some([1.5; 4]), Some([1.5; 4]), Some(some), None]);
    assert_eq!(compare(&test, "a", "b", &[]).0, 0);
    let (_, against) = compare(&test, "a", "c", &[]);
    let node = &against["nodes"][0];
    assert_eq!((&node["differing"], &node["at"]), (&json!(4), &json!([12])));
    assert_eq!(node["other_value"].as_f64(), Some(2.5));
}

#[test]
fn nan_against_a_number_differs_without_a_difference() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([1.0, f32::NAN, 3.0, 4.0])]).write_float32(
        "b",
        "0",
        &[Some([1.0, 2.0, 3.0, f32::NAN])],
    );
    let (status, against) = compare(&test, "a", "b", &["--atol", "1e300"]);
    assert_eq!(status, 1);
    let node = &against["nodes"][0];
    assert_eq!((&node["differing"], &node["at"]), (&json!(2), &json!([1])));
    assert_eq!((&node["max_abs_difference"], &node["value"]), (&json!(null), &json!("NaN")));
}

#[test]
fn shards_and_chunks_of_other_writers_are_read_alike() {
    for (a, b) in [
        ("zarr-python_3.1.6_sharded_index_end", "zarr-python_3.1.6_sharded_index_end"),
        ("tensorstore_0.1.86_sharded_index_end", "tensorstore_0.1.86_sharded_index_start"),
    ] {
        let test = CliTest::new();
        let (a, b) = (fixture(a), fixture(b));
        let options: &[&str] = &["--level", "metadata"];
        assert_eq!(compare(&test, a.to_str().unwrap(), b.to_str().unwrap(), options).0, 0);
        let unsharded = test.path("plain");
        let codecs = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;
        let copy = ["transcode", a.to_str().unwrap(), unsharded.to_str().unwrap(), "--codecs", codecs];
        assert_eq!(test.run(copy).status, 0);
        assert_eq!(compare(&test, a.to_str().unwrap(), "plain", &[]).0, 0);
    }
}

#[test]
fn groups_are_paired_by_path() {
    let test = CliTest::new();
    let group = r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#;
    for store in ["s", "o"] {
        test.write(&format!("{store}/zarr.json"), group);
        test.write_float32(&format!("{store}/same"), "0", &[Some([1.0, 2.0, 3.0, 4.0])]);
    }
    test.write_float32("s/only", "0", &[None]).write_float32("o/shape", "0", &[None, None]);
    test.write_float32("s/shape", "0", &[None]);
    let (status, against) = compare(&test, "s", "o", &[]);
    assert_eq!(status, 1);
    let nodes = against["nodes"].as_array().unwrap();
    let of = |member: &str| -> Vec<Value> { nodes.iter().map(|node| node[member].clone()).collect() };
    assert_eq!(of("path"), ["/only", "/same", "/shape"]);
    assert_eq!(of("equal"), [false, true, false]);
    assert_eq!(
        of("reason"),
        [json!("no such array in o"), json!(null), json!("the shape is [4], there [8]")]
    );
    let (status, _) = compare(&test, "s", "o", &["--node", "same"]);
    assert_eq!(status, 0);
}

#[test]
fn chunk_that_does_not_decode_is_a_reason() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([1.0; 4]), Some([2.0; 4])]);
    test.write_float32("b", "0", &[Some([1.0; 4]), Some([2.0; 4])]).write("b/c/1", "short");
    let (status, against) = compare(&test, "a", "b", &["--level", "metadata"]);
    assert_eq!(status, 1);
    let reason = against["nodes"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("chunk c/1 of b"), "{reason}");
}

#[test]
fn other_that_is_not_there_is_3() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[None]);
    let run = test.run(["validate", "a", "--against", "missing"]);
    assert_eq!(run.status, 3, "{}", run.error);
    assert!(run.error.contains("missing"), "{}", run.error);
}

#[test]
fn huge_arrays_without_chunks_are_compared_by_their_fill_values() {
    let test = CliTest::new();
    let document = |fill_value: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[4611686018427387904],"data_type":"uint8",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[16]}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":{fill_value},"codecs":[{{"name":"bytes"}}]}}"#
        )
    };
    test.write("a/zarr.json", document("0")).write("b/zarr.json", document("0")).write("b/c/1", [0; 16]);
    test.write("c/zarr.json", document("3")).write("c/c/0", [0; 16]);
    assert_eq!(compare(&test, "a", "b", &["--level", "metadata"]).0, 0);
    let (_, against) = compare(&test, "a", "c", &["--level", "metadata"]);
    let node = &against["nodes"][0];
    assert_eq!((&node["differing"], &node["at"]), (&json!((1_u64 << 62) - 16), &json!([16])));
    assert_eq!(node["max_abs_difference"], 3);
}
