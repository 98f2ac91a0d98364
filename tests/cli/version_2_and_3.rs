//! `transcode` of arrays of Zarr v2: as they are, in part, as v3 and back.

use serde_json::{Value, json};

use super::support::{CliTest, float32};

/// Members in an order of their own, a number as nobody writes it, a member that v2 does not have.
const ZARRAY: &str = r#"{ "shape": [2, 4], "zarr_format": 2, "chunks": [2, 2], "fill_value": -1.50e1, "dtype": ">f4",
    "order": "F", "filters": null, "compressor": null, "mine": 1e3 }"#;
const ZATTRS: &str = r#"{"units": "K", "_ARRAY_DIMENSIONS": ["y", "x"], "factor": 1.0}"#;

/// `[[1, 2], [3, 4]]`, column by column, big endian; the second chunk is absent.
fn write_array(test: &CliTest, zarray: &str, zattrs: &str) {
    let elements = [1.0_f32, 3.0, 2.0, 4.0].map(f32::to_be_bytes).concat();
    test.write("a/.zarray", zarray).write("a/0.0", elements);
    if !zattrs.is_empty() {
        test.write("a/.zattrs", zattrs);
    }
}

fn array() -> CliTest {
    let test = CliTest::new();
    write_array(&test, ZARRAY, ZATTRS);
    test
}

fn document(test: &CliTest, name: &str) -> Value {
    test.read_json(name)
}

/// Runs it to `b`, as JSON; warnings are allowed.
fn transcode(test: &CliTest, arguments: &[&str]) -> Value {
    let run = test.run(["transcode", "--json", "--verify", "a", "b"].iter().chain(arguments));
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.error);
    run.json()
}

fn codes(result: &Value) -> Vec<&str> {
    result["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

#[test]
fn copy_of_v2_is_the_same_byte_for_byte() {
    let test = array();
    let result = transcode(&test, &[]);
    for key in [".zarray", ".zattrs", "0.0"] {
        assert_eq!(test.read(&format!("b/{key}")), test.read(&format!("a/{key}")), "{key}");
    }
    assert!(!test.exists("b/zarr.json") && !test.exists("b/0.1"));
    let node = &result["nodes"][0];
    assert_eq!(node["route"], "copy");
    assert_eq!((&node["source"]["zarr_format"], &node["destination"]["zarr_format"]), (&json!(2), &json!(2)));
    assert_eq!(codes(&result), ["ZM231"]);
}

#[test]
fn option_changes_its_member_of_v2_alone() {
    let test = array();
    transcode(&test, &["--compress", "gzip:3"]);
    let expected = ZARRAY
        .replace(r#""compressor": null"#, r#""compressor": {"id": "gzip", "level": 3}"#)
        .parse::<Value>()
        .unwrap();
    assert_eq!(document(&test, "b/.zarray"), expected);
    let text = String::from_utf8(test.read("b/.zarray")).unwrap();
    assert!(text.contains("-1.50e1") && text.contains("1e3"), "{text}");
    assert_eq!(test.read("b/.zattrs"), ZATTRS.as_bytes());
}

#[test]
fn attributes_of_v2_change_and_dimensions_keep_their_names() {
    let test = array();
    transcode(&test, &["--attributes", r#"{"a":1.0}"#]);
    assert_eq!(document(&test, "b/.zattrs"), json!({"a": 1.0, "_ARRAY_DIMENSIONS": ["y", "x"]}));
    assert_eq!(test.read("b/.zarray"), ZARRAY.as_bytes());
    transcode(&test, &["--overwrite", "--dimension-names", "p,q"]);
    let text = String::from_utf8(test.read("b/.zattrs")).unwrap();
    assert!(text.find("units") < text.find("_ARRAY") && text.find("_ARRAY") < text.find("factor"), "{text}");
    assert_eq!(document(&test, "b/.zattrs")["_ARRAY_DIMENSIONS"], json!(["p", "q"]));
}

#[test]
fn v2_becomes_v3_and_chunks_are_copied() {
    let test = array();
    let result = transcode(&test, &["--zarr-format", "3"]);
    assert_eq!(result["nodes"][0]["route"], "copy");
    let expected = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": [2, 4],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}},
        "fill_value": -15.0,
        "codecs": [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "bytes", "configuration": {"endian": "big"}},
        ],
        "attributes": {"units": "K", "factor": 1.0, "_FillValue": "AAAAAAAALsA="},
        "dimension_names": ["y", "x"],
    });
    assert_eq!(document(&test, "b/zarr.json"), expected);
    assert_eq!(test.read("b/0.0"), test.read("a/0.0"));
    assert!(!test.exists("b/.zarray") && !test.exists("b/.zattrs"));
    test.run(["validate", "--level", "data", "b"]).succeeds();
}

#[test]
fn v2_that_becomes_v3_comes_back() {
    for (zarray, zattrs) in [
        (ZARRAY.replace(r#", "mine": 1e3"#, ""), ZATTRS.to_owned()),
        (ZARRAY.replace("-1.50e1", "null").replace(r#", "mine": 1e3"#, ""), ZATTRS.to_owned()),
        (ZARRAY.replace("-1.50e1", "0.0").replace(r#", "mine": 1e3"#, ""), ZATTRS.to_owned()),
        (ZARRAY.replace("-1.50e1", "\"NaN\"").replace(r#", "mine": 1e3"#, ""), ZATTRS.to_owned()),
        (ZARRAY.replace(r#", "mine": 1e3"#, ""), r#"{"units":"K","_FillValue":7}"#.to_owned()),
        (ZARRAY.replace(r#""mine": 1e3"#, r#""dimension_separator": "/""#), String::new()),
    ] {
        let test = CliTest::new();
        write_array(&test, &zarray, &zattrs);
        if zarray.contains("separator") {
            std::fs::create_dir(test.path("a/0")).unwrap();
            std::fs::rename(test.path("a/0.0"), test.path("a/0/0")).unwrap();
        }
        transcode(&test, &["--zarr-format", "3"]);
        let run = test.run(["transcode", "--zarr-format", "2", "--verify", "b", "c"]);
        assert_eq!(run.status, 0, "{}", run.error);
        let mut expected: Value = zarray.parse().unwrap();
        let members = expected.as_object_mut().unwrap();
        members.entry("dimension_separator").or_insert(json!("."));
        assert_eq!(document(&test, "c/.zarray"), expected, "{zattrs}");
        if zattrs.is_empty() {
            assert!(!test.exists("c/.zattrs"));
        } else {
            assert_eq!(document(&test, "c/.zattrs"), zattrs.parse::<Value>().unwrap(), "{zarray}");
        }
        let key = if zarray.contains("separator") { "0/0" } else { "0.0" };
        assert_eq!(test.read(&format!("c/{key}")), test.read(&format!("a/{key}")));
    }
}

#[test]
fn null_fill_value_is_flagged_and_masks_nothing() {
    let test = CliTest::new();
    write_array(&test, &ZARRAY.replace("-1.50e1", "null"), ZATTRS);
    let result = transcode(&test, &["--zarr-format", "3"]);
    assert!(codes(&result).contains(&"ZM221"), "{result}");
    let written = document(&test, "b/zarr.json");
    assert_eq!(written["fill_value"], 0.0);
    assert_eq!(written["attributes"].get("_FillValue"), None);
}

#[test]
fn mask_of_v2_is_the_attribute_of_v3_as_xarray_has_it() {
    let test = CliTest::new();
    // Of a null fill value the attribute masks, as it stands.
    let zattrs = r#"{"_FillValue": -9999.0, "_ARRAY_DIMENSIONS": ["y", "x"]}"#;
    write_array(&test, &ZARRAY.replace("-1.50e1", "null"), zattrs);
    transcode(&test, &["--zarr-format", "3"]);
    assert_eq!(document(&test, "b/zarr.json")["attributes"], json!({"_FillValue": "AAAAAICHw8A="}));
    let run = test.run(["transcode", "--zarr-format", "2", "b", "c"]);
    assert_eq!(run.status, 0, "{}", run.error);
    assert_eq!(document(&test, "c/.zarray")["fill_value"], Value::Null);
    assert_eq!(document(&test, "c/.zattrs")["_FillValue"], -9999.0);
    // Where nobody named the dimensions, xarray has no part in it.
    write_array(&test, ZARRAY, r#"{"units":"K"}"#);
    transcode(&test, &["--zarr-format", "3", "--overwrite"]);
    assert_eq!(document(&test, "b/zarr.json")["attributes"], json!({"units": "K"}));
}

#[test]
fn v3_whose_fill_value_masks_nothing_says_so_in_v2() {
    let test = CliTest::new();
    test.write_float32("a", "5.0", &[Some([0.0, 1.0, 2.0, 5.0])]);
    let result = transcode(&test, &["--zarr-format", "2", "--dimension-names", "x"]);
    assert_eq!(codes(&result), ["ZM223"]);
    assert_eq!(document(&test, "b/.zarray")["fill_value"], 5.0);
    transcode(&test, &["--zarr-format", "2", "--overwrite"]);
    assert_eq!(document(&test, "b/.zattrs"), json!({"units": "K"}));
    assert_eq!(test.read("b/0"), float32(&[0.0, 1.0, 2.0, 5.0]));
}

#[test]
fn separator_renames_keys_and_copies_chunks() {
    let test = array();
    let result = transcode(&test, &["--separator", "/"]);
    assert_eq!(result["nodes"][0]["route"], "copy");
    assert_eq!(document(&test, "b/.zarray")["dimension_separator"], "/");
    assert_eq!(test.read("b/0/0"), test.read("a/0.0"));
    transcode(&test, &["--separator", "/", "--zarr-format", "3", "--overwrite"]);
    let encoding = json!({"name": "v2", "configuration": {"separator": "/"}});
    assert_eq!(document(&test, "b/zarr.json")["chunk_key_encoding"], encoding);
    assert!(test.exists("b/0/0"));
    test.write_float32("a", "0", &[Some([1.0; 4]), None, Some([2.0; 4])]);
    std::fs::remove_file(test.path("a/.zarray")).unwrap();
    std::fs::remove_file(test.path("a/.zattrs")).unwrap();
    std::fs::remove_file(test.path("a/0.0")).unwrap();
    transcode(&test, &["--separator", ".", "--overwrite"]);
    assert!(test.exists("b/c.0") && test.exists("b/c.2") && !test.exists("b/c"));
    let run = test.run(["transcode", "--separator", ":", "a", "c"]);
    assert_eq!(run.status, 2);
}

#[test]
fn what_v2_cannot_express_is_refused_by_name() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([0.0, 1.0, 2.0, 3.0])]);
    for (arguments, part) in [
        (vec!["--shard-shape", "4"], "`sharding_indexed`"),
        (vec!["--quantize", "uint8"], "`--as cf`"),
        (vec!["--data-type", "uint4", "--codecs", r#"[{"name":"packbits"}]"#], "`packbits`"),
        (vec!["--data-type", "uint4"], "`uint4`"),
        (vec!["--fill-value", "\"0x7fc00001\""], "0x7fc00001"),
        (
            vec![
                "--codecs",
                r#"[{"name":"cast_value","configuration":{"data_type":"float64"}},{"name":"bytes"}]"#,
            ],
            "`cast_value`",
        ),
    ] {
        let run = test.run(["transcode", "--zarr-format", "2", "a", "b"].iter().chain(&arguments));
        let run = run.fails(1, &[part, "help: "]);
        assert!(!test.exists("b"), "{}", run.error);
    }
    let document = String::from_utf8(test.read("a/zarr.json")).unwrap();
    test.write(
        "a/zarr.json",
        document.replace("\"units\":\"K\"}", "\"units\":\"K\"},\"dimension_names\":[null]"),
    );
    let run = test.run(["transcode", "--zarr-format", "2", "a", "b"]);
    assert_eq!(run.status, 0, "{}", run.error);
}

#[test]
fn v2_is_quantised_as_cf_and_unpacked_again() {
    let test = CliTest::new();
    let zarray = ZARRAY.replace("-1.50e1", "\"NaN\"");
    write_array(&test, &zarray, ZATTRS);
    let refused = test.run(["transcode", "--quantize", "uint8", "a", "b"]);
    refused.fails(1, &["--zarr-format 3", "--as cf"]);
    transcode(&test, &["--quantize", "uint8", "--as", "cf"]);
    let (array, attributes) = (document(&test, "b/.zarray"), document(&test, "b/.zattrs"));
    assert_eq!((&array["dtype"], &array["fill_value"]), (&json!("|u1"), &json!(0)));
    // xarray masks by the fill value, other readers of CF by the attribute.
    assert_eq!(attributes["_FillValue"], 0);
    assert!(attributes.get("scale_factor").is_some() && attributes["_ARRAY_DIMENSIONS"] == json!(["y", "x"]));
    let run = test.run(["transcode", "--unpack", "--verify", "b", "c"]);
    assert_eq!(run.status, 0, "{}", run.error);
    let plain = document(&test, "c/.zarray");
    assert_eq!((&plain["dtype"], &plain["fill_value"]), (&json!("<f4"), &json!("NaN")));
    assert_eq!(
        document(&test, "c/.zattrs"),
        json!({"units": "K", "factor": 1.0, "_ARRAY_DIMENSIONS": ["y", "x"]})
    );
    let run = test.run(["validate", "--against", "c", "a", "--atol", "0.01"]);
    assert_eq!(run.status, 0, "{}{}", run.text(), run.error);
    transcode(&test, &["--quantize", "uint8", "--zarr-format", "3", "--overwrite"]);
    let codecs = document(&test, "b/zarr.json")["codecs"].clone();
    assert_eq!((&codecs[0]["name"], &codecs[1]["name"]), (&json!("scale_offset"), &json!("cast_value")));
}

#[test]
fn unpack_of_v2_knows_what_is_missing_by_the_fill_value() {
    let test = CliTest::new();
    let zarray = ZARRAY.replace(">f4", "|i1").replace("-1.50e1", "-1").replace("\"F\"", "\"C\"");
    write_array(
        &test,
        &zarray,
        r#"{"scale_factor": 0.5, "add_offset": 1.0, "_Unsigned": "true", "valid_range": [0, 127], "valid_min": 0,
        "missing_value": -2, "_ARRAY_DIMENSIONS": ["y", "x"]}"#,
    );
    test.write("a/0.0", [0, 255, 254, 4]);
    transcode(&test, &["--unpack"]);
    assert_eq!(document(&test, "b/.zattrs"), json!({"_ARRAY_DIMENSIONS": ["y", "x"]}));
    let values: Vec<f32> =
        test.read("b/0.0").chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!((values[0], values[3]), (1.0, 3.0));
    assert!(values[1].is_nan() && values[2].is_nan());
}

#[test]
fn missing_values_of_v2_are_those_of_the_fill_value() {
    let test = array();
    test.write("a/0.0", [1.0_f32, -15.0, 2.0, 4.0].map(f32::to_be_bytes).concat());
    let run = test.run(["transcode", "--quantize", "uint8", "--as", "plain", "a", "b"]);
    run.fails(1, &["--missing"]);
    let result = transcode(&test, &["--quantize", "uint8", "--as", "plain", "--missing", "auto"]);
    assert_eq!(result["nodes"][0]["quantization"]["range"], json!([1.0, 4.0]));
}

#[test]
fn data_type_of_v2_changes_with_its_fill_value() {
    let test = array();
    transcode(&test, &["--data-type", "int16"]);
    let written = document(&test, "b/.zarray");
    assert_eq!((&written["dtype"], &written["fill_value"]), (&json!(">i2"), &json!(-15)));
    assert_eq!(test.read("b/0.0"), [0, 1, 0, 3, 0, 2, 0, 4]);
    assert_eq!(test.read("b/.zattrs"), ZATTRS.as_bytes());
    transcode(&test, &["--data-type", "int16", "--zarr-format", "3", "--overwrite"]);
    assert_eq!(document(&test, "b/zarr.json")["attributes"]["_FillValue"], -15);
}

#[test]
fn run_over_v2_is_resumed_only_by_the_same_attributes() {
    let test = array();
    transcode(&test, &[]);
    test.write("b/.zattrs", "{}");
    test.run(["transcode", "a", "b"]).fails(3, &["exists already"]);
    transcode(&test, &["--overwrite"]);
    assert_eq!(test.read("b/.zattrs"), ZATTRS.as_bytes());
}

#[test]
fn ome_zarr_of_0_4_in_version_3_is_a_warning_that_names_what_readers_miss() {
    let test = CliTest::new();
    let attributes = json!({"multiscales": [{"version": "0.4", "datasets": [{"path": "0"}]}], "omero": {}});
    test.write("g/.zgroup", r#"{"zarr_format":2}"#).write("g/.zattrs", attributes.to_string());
    test.write("g/0/.zarray", ZARRAY);
    let run = |format: &str, name: &str| {
        let run = test.run(["transcode", "--json", "--zarr-format", format, "g", name]);
        assert_eq!(run.status, 0, "{}", run.error);
        run.json()
    };
    let result = run("3", "h");
    let found = result["warnings"].as_array().unwrap().iter().find(|found| found["code"] == "ZH114").unwrap();
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("`multiscales`, `omero` stay as OME-Zarr 0.4 has them"), "{message}");
    assert_eq!(document(&test, "h/zarr.json")["attributes"], attributes);
    assert!(!codes(&run("2", "i")).contains(&"ZH114"));
}

#[test]
fn order_of_single_bytes_says_nothing_in_version_2() {
    let test = CliTest::new();
    for endian in ["little", "big"] {
        let (source, copy) = (format!("{endian}.zarr"), format!("{endian}-2.zarr"));
        test.write(
            &format!("{source}/zarr.json"),
            format!(
                r#"{{"zarr_format":3,"node_type":"array","shape":[4,6],"data_type":"uint8","fill_value":0,
                "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2,3]}}}},
                "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},
                "codecs":[{{"name":"transpose","configuration":{{"order":[1,0]}}}},
                {{"name":"bytes","configuration":{{"endian":"{endian}"}}}}]}}"#
            ),
        );
        test.write(&format!("{source}/c/0/0"), [0, 1, 2, 3, 4, 5]);
        test.run(["transcode", "--zarr-format", "2", &source, &copy]).succeeds();
        let document = test.read_json(&format!("{copy}/.zarray"));
        assert_eq!((&document["dtype"], &document["order"]), (&Value::from("|u1"), &Value::from("F")));
        let result = test.run(["validate", "--json", &copy, "--against", &source]).json();
        assert_eq!(result["valid"], true, "{result}");
    }
}
