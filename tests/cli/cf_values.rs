//! Values as CF readers see them: declared missing values are left out and counted, packed ones are unpacked.

use serde_json::{Value, json};

use super::support::CliTest;

fn inspect(test: &CliTest, arguments: &[&str]) -> Value {
    test.run([&["inspect", "--json"], arguments].concat()).succeeds().json()
}

/// An array of Zarr v3 of one dimension, little endian, uncompressed, in one chunk.
fn write_v3(test: &CliTest, name: &str, data_type: &str, count: usize, attributes: &str, bytes: &[u8]) {
    let metadata = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{count}],"data_type":"{data_type}",
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{count}]}}}},
        "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"dimension_names":["x"],
        "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}],"attributes":{attributes}}}"#
    );
    test.write(&format!("{name}/zarr.json"), metadata).write(&format!("{name}/c/0"), bytes);
}

/// An array of Zarr v2 of 3 x 4 elements in chunks of 2 x 4, of which the second is absent.
fn write_v2(test: &CliTest, name: &str, fill_value: &str, attributes: &str, first: &[i16; 8]) {
    let metadata = format!(
        r#"{{"zarr_format":2,"shape":[3,4],"chunks":[2,4],"dtype":"<i2","fill_value":{fill_value},"order":"C",
        "filters":null,"compressor":null}}"#
    );
    let bytes: Vec<u8> = first.iter().flat_map(|value| value.to_le_bytes()).collect();
    test.write(&format!("{name}/.zarray"), metadata)
        .write(&format!("{name}/.zattrs"), attributes)
        .write(&format!("{name}/0.0"), bytes);
}

fn float32(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

const NAMES: &str = r#""_ARRAY_DIMENSIONS":["y","x"]"#;

#[test]
fn stats_leave_declared_missing_values_out_and_count_them() {
    let test = CliTest::new();
    let values = float32(&[1.0, 2.0, 3.0, -999.0, 1e20, f32::NAN, f32::INFINITY, 0.0]);
    write_v3(&test, "a", "float32", 8, r#"{"_FillValue":-999,"missing_value":[1e20]}"#, &values);
    let expected = json!({
        "count": 8, "finite": 4, "nan": 1, "missing": 2, "positive_infinity": 1, "negative_infinity": 0,
        "fill_value": 1, "min": 0.0, "max": 3.0, "mean": 1.5, "standard_deviation": 1.118_033_988_749_895
    });
    assert_eq!(inspect(&test, &["--stats", "a"])["stats"], expected);
    let none = &inspect(&test, &["--stats", "--missing", "none", "a"])["stats"];
    assert_eq!([&none["missing"], &none["finite"], &none["min"]], [&json!(0), &json!(6), &json!(-999.0)]);
    let given = &inspect(&test, &["--stats", "--missing", "-999,3", "a"])["stats"];
    assert_eq!([&given["missing"], &given["finite"], &given["min"]], [&json!(2), &json!(4), &json!(0.0)]);
    let text = test.run(["inspect", "--stats", "a"]).succeeds();
    assert!(text.text().contains("missing             2 (25 %)"), "{}", text.text());
    test.run(["inspect", "--stats", "--missing", "x", "a"]).fails(2, &["--missing"]);
    write_v3(&test, "b", "uint8", 2, "{}", &[0, 1]);
    test.run(["inspect", "--stats", "--missing", "-1", "b"]).fails(1, &["--missing -1", "uint8"]);
}

#[test]
fn missing_values_in_the_base64_of_xarray_are_read() {
    let test = CliTest::new();
    // The base64 of the float64 -9999.0, which xarray writes for every type of floats.
    write_v3(&test, "a", "float32", 2, r#"{"_FillValue":"AAAAAICHw8A="}"#, &float32(&[5.0, -9999.0]));
    let stats = &inspect(&test, &["--stats", "a"])["stats"];
    assert_eq!([&stats["missing"], &stats["min"]], [&json!(1), &json!(5.0)]);
}

#[test]
fn fill_value_of_v2_is_missing_where_dimensions_have_names() {
    let test = CliTest::new();
    let values = [1, 2, 3, 4, 5, -5, -5, 7];
    write_v2(&test, "named", "-5", &format!("{{{NAMES}}}"), &values);
    write_v2(&test, "plain", "-5", "{}", &values);
    write_v2(&test, "null", "null", &format!("{{{NAMES}}}"), &values);
    let stats = |name: &str| inspect(&test, &["--stats", name])["stats"].clone();
    let named = stats("named");
    // Two elements of the first chunk, and the absent one.
    assert_eq!(
        [&named["missing"], &named["fill_value"], &named["finite"]],
        [&json!(6), &json!(6), &json!(6)]
    );
    assert_eq!([&named["min"], &named["max"]], [&json!(1), &json!(7)]);
    let plain = stats("plain");
    assert_eq!([&plain["missing"], &plain["fill_value"], &plain["min"]], [&json!(0), &json!(6), &json!(-5)]);
    // Readers do not agree on what is absent then, which a warning says.
    let null = test.run(["inspect", "--json", "--stats", "-q", "null"]).succeeds().json();
    assert_eq!(null["stats"]["missing"], 0);
}

#[test]
fn cf_unpacks_and_takes_codes_as_unsigned_where_that_is_declared() {
    let test = CliTest::new();
    let attributes = r#"{"scale_factor":0.5,"add_offset":10,"_Unsigned":"true","_FillValue":-1}"#;
    write_v3(&test, "a", "int8", 4, attributes, &[0, 200, 255, 7]);
    let stored = &inspect(&test, &["--stats", "a"])["stats"];
    assert_eq!([&stored["min"], &stored["max"], &stored["missing"]], [&json!(-56), &json!(7), &json!(1)]);
    let result = inspect(&test, &["--stats", "--cf", "--histogram", "2", "a"]);
    let seen = &result["stats"];
    assert_eq!([&seen["min"], &seen["max"], &seen["missing"]], [&json!(10.0), &json!(110.0), &json!(1)]);
    assert_eq!(seen["fill_value"], 1);
    assert_eq!(result["histogram"]["counts"], json!([2, 1]));
    // 255 is the same bits, and is declared so by some writers.
    let attributes = attributes.replace("-1", "255").replace("true", "false");
    write_v3(&test, "b", "uint8", 4, &attributes, &[0, 200, 255, 7]);
    let seen = &inspect(&test, &["--stats", "--cf", "b"])["stats"];
    assert_eq!([&seen["min"], &seen["max"], &seen["missing"]], [&json!(-18.0), &json!(13.5), &json!(1)]);
}

#[test]
fn histogram_and_preview_leave_missing_values_out() {
    let test = CliTest::new();
    write_v2(&test, "a", "-5", &format!("{{{NAMES}}}"), &[0, 1, 2, 3, 4, -5, 6, 7]);
    let result = inspect(&test, &["--histogram", "4", "--preview", "--", "a"]);
    assert_eq!(result["histogram"]["counts"], json!([2, 2, 1, 2]));
    let missing = [json!("NaN"), json!("NaN"), json!("NaN"), json!("NaN")];
    assert_eq!(result["preview"]["values"][1], json!([4.0, "NaN", 6.0, 7.0]));
    assert_eq!(result["preview"]["values"][2], json!(missing));
}

#[test]
fn suggestion_is_of_the_range_without_missing_values_and_its_command_does_it() {
    let test = CliTest::new();
    let values = float32(&[1.0, 2.0, 3.0, -999.0]);
    write_v3(&test, "my a", "float32", 4, r#"{"_FillValue":-999}"#, &values);
    let suggestion = inspect(&test, &["--suggest", "uint8", "my a"])["suggestion"].clone();
    assert_eq!(suggestion["range"], json!([1.0, 3.0]));
    let command = suggestion["command"].as_str().unwrap();
    assert_eq!(command, "zarrcast transcode --quantize uint8 --missing auto 'my a' DEST");
    test.run(["transcode", "--quantize", "uint8", "--missing", "auto", "my a", "DEST"]);
    let written: Value = serde_json::from_slice(&test.read("DEST/zarr.json")).unwrap();
    assert_eq!(written["codecs"][0], suggestion["codecs"][0]);
    let given = inspect(&test, &["--suggest", "uint8", "--missing", "-999,3", "my a"])["suggestion"].clone();
    assert_eq!(given["range"], json!([1.0, 2.0]));
    assert!(given["command"].as_str().unwrap().contains(" --missing=-999,3 "), "{given}");
    write_v3(&test, "whole", "float32", 4, "{}", &float32(&[1.0, 2.0, 3.0, 4.0]));
    let whole = inspect(&test, &["--suggest", "uint8", "whole"])["suggestion"].clone();
    assert_eq!(whole["command"], "zarrcast transcode --quantize uint8 whole DEST");
    let text = test.run(["inspect", "--suggest", "uint8", "whole"]).succeeds();
    assert!(text.text().contains("    zarrcast transcode --quantize uint8 whole DEST\n"), "{}", text.text());
}

#[test]
fn values_without_order_are_an_info_and_exit_0() {
    let test = CliTest::new();
    write_v3(&test, "a", "complex64", 1, "{}", &[0; 8]);
    let metadata = String::from_utf8(test.read("a/zarr.json")).unwrap();
    test.write("a/zarr.json", metadata.replace("\"fill_value\":0", "\"fill_value\":[0,0]"));
    let run = test.run([
        "inspect",
        "--json",
        "--stats",
        "--histogram",
        "3",
        "--suggest",
        "uint8",
        "--preview",
        "--",
        "a",
    ]);
    assert_eq!(run.status, 0, "{}", run.error);
    let warnings = run.json()["warnings"].clone();
    assert_eq!(warnings.as_array().unwrap().len(), 1, "{warnings}");
    assert_eq!([&warnings[0]["code"], &warnings[0]["severity"]], ["ZX201", "info"]);
}

#[test]
fn text_among_the_arrays_of_a_group_keeps_no_figures_from_the_others() {
    let test = CliTest::new();
    write_v2(&test, "g/a", "0", &format!("{{{NAMES}}}"), &[0, 1, 2, 3, 4, 5, 6, 7]);
    test.write("g/.zgroup", r#"{"zarr_format":2}"#);
    test.write(
        "g/names/.zarray",
        r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|O","fill_value":null,"order":"C",
        "filters":[{"id":"vlen-utf8"}],"compressor":null}"#,
    );
    for store in ["g", "g/names"] {
        let run = test.run(["inspect", "--json", "--stats", store]);
        assert_eq!(run.status, 0, "{}", run.error);
        let codes: Vec<Value> =
            run.json()["warnings"].as_array().unwrap().iter().map(|found| found["code"].clone()).collect();
        assert!(codes.contains(&json!("ZX201")) && !codes.contains(&json!("ZC105")), "{codes:?}");
    }
    let nodes = test.run(["inspect", "--json", "--stats", "g"]).json()["nodes"].clone();
    assert_eq!((&nodes[0]["stats"]["count"], &nodes[1]["stats"]), (&json!(12), &Value::Null));
}

#[test]
fn array_of_v2_has_the_dimension_names_of_xarray() {
    let test = CliTest::new();
    write_v2(&test, "g/a", "0", &format!("{{{NAMES}}}"), &[0, 1, 2, 3, 4, 5, 6, 7]);
    test.write("g/.zgroup", r#"{"zarr_format":2}"#);
    assert_eq!(inspect(&test, &["g/a"])["dimension_names"], json!(["y", "x"]));
    assert_eq!(inspect(&test, &["g"])["nodes"][0]["dimension_names"], json!(["y", "x"]));
    let text = test.run(["inspect", "g/a"]).succeeds();
    assert!(text.text().contains("y=3, x=4"), "{}", text.text());
    let preview = &inspect(&test, &["--preview", "y=1", "g/a"])["preview"];
    assert_eq!(preview["at"], json!([{"axis": 0, "name": "y", "index": 1}]));
    write_v2(&test, "b", "0", r#"{"_ARRAY_DIMENSIONS":["y"]}"#, &[0; 8]);
    assert_eq!(inspect(&test, &["b"])["dimension_names"], Value::Null);
}

#[test]
fn against_with_cf_compares_what_readers_see() {
    let test = CliTest::new();
    let attributes = r#"{"scale_factor":0.5,"add_offset":10,"_FillValue":255}"#;
    write_v3(&test, "packed", "uint8", 4, attributes, &[0, 200, 255, 7]);
    write_v3(&test, "plain", "float32", 4, "{}", &float32(&[10.0, 110.0, f32::NAN, 13.5]));
    write_v3(&test, "masked", "float32", 4, r#"{"missing_value":-1}"#, &float32(&[10.0, 110.0, -1.0, 13.5]));
    let compare = |a: &str, b: &str, more: &[&str]| {
        let run = test.run([&["validate", "--json", a, "--against", b], more].concat());
        (run.status, run.json()["against"]["nodes"][0].clone())
    };
    for (a, b) in [("packed", "plain"), ("plain", "packed"), ("masked", "packed"), ("masked", "plain")] {
        assert_eq!(compare(a, b, &["--cf"]).0, 0, "{a} {b}");
        assert_eq!(compare(a, b, &[]).0, 1, "{a} {b}");
    }
    write_v3(&test, "other", "float32", 4, "{}", &float32(&[10.0, 110.0, f32::NAN, 14.0]));
    let (status, node) = compare("packed", "other", &["--cf"]);
    assert_eq!((status, &node["differing"], &node["at"]), (1, &json!(1), &json!([3])));
    assert_eq!([&node["value"], &node["other_value"]], [&json!(13.5), &json!(14.0)]);
    test.run(["validate", "--cf", "packed"]).fails(2, &["--against"]);
}

#[test]
fn what_is_unpacked_equals_the_packed_array_with_cf() {
    let test = CliTest::new();
    let codes: Vec<u8> = (0..256_u16).flat_map(|code| (code * 97).to_le_bytes()).collect();
    write_v3(&test, "packed", "int16", 256, r#"{"scale_factor":0.01,"add_offset":273.15}"#, &codes);
    for (options, plain) in [(&["--unpack"][..], "narrow"), (&["--unpack", "-d", "float64"], "wide")] {
        test.run([&["transcode"], options, &["packed", plain]].concat()).succeeds();
        for (a, b) in [(plain, "packed"), ("packed", plain)] {
            let run = test.run(["validate", "--json", "--cf", a, "--against", b]);
            assert_eq!((run.status, &run.json()["against"]["equal"]), (0, &json!(true)), "{a} {b}");
        }
    }
}

#[test]
fn difference_of_stored_values_names_cf_where_attributes_pack_them() {
    let test = CliTest::new();
    write_v3(&test, "plain", "float32", 2, "{}", &float32(&[1.0, 2.0]));
    write_v3(&test, "packed", "uint8", 2, r#"{"scale_factor":0.5}"#, &[2, 4]);
    write_v3(&test, "other", "float32", 2, "{}", &float32(&[1.0, 3.0]));
    let text = |a: &str, b: &str| test.run(["validate", a, "--against", b]).text().to_owned();
    for (a, b) in [("plain", "packed"), ("packed", "plain")] {
        let text = text(a, b);
        assert!(
            text.contains("values differ as they are stored; `--cf` compares what CF readers see"),
            "{text}"
        );
    }
    assert!(text("plain", "other").contains("values differ; 1 of 2"), "{}", text("plain", "other"));
    let cf = test.run(["validate", "--cf", "packed", "--against", "other"]);
    assert!(cf.status == 1 && !cf.text().contains("--cf"), "{}", cf.text());
}

#[test]
fn values_equal_to_the_fill_value_of_v2_are_told_by_its_name() {
    let test = CliTest::new();
    let document = |name: &str, attributes: &str| {
        let array = r#"{"zarr_format":2,"shape":[3],"chunks":[3],"dtype":"<f4","fill_value":-9.0,"order":"C",
            "filters":null,"compressor":null}"#;
        test.write(&format!("{name}/.zarray"), array)
            .write(&format!("{name}/.zattrs"), format!(r#"{{"_ARRAY_DIMENSIONS":["x"]{attributes}}}"#))
            .write(&format!("{name}/0"), float32(&[1.0, -9.0, 2.0]));
    };
    document("a", "");
    document("b", r#","missing_value":-9.0"#);
    document("c", r#","missing_value":2.0"#);
    let refused = |name: &str, said: &str| {
        let run = test.run(["transcode", "--zarr-format", "3", "--quantize", "uint8", name, "d"]);
        run.fails(1, &[&format!("equal to {said}, which would ruin the range"), "--missing auto"]);
    };
    refused("a", "its `fill_value` (in Zarr v2 a mask, as xarray reads it)");
    refused("b", "its attribute `_FillValue` or `missing_value`, or its `fill_value`");
    refused("c", "its attribute `_FillValue` or `missing_value`, or its `fill_value`");
}

#[test]
fn against_with_cf_masks_absent_chunks_of_v2() {
    let test = CliTest::new();
    let values = [1, 2, 3, 4, 5, -5, -5, 7];
    write_v2(&test, "a", "-5", &format!("{{{NAMES}}}"), &values);
    write_v2(
        &test,
        "b",
        "-6",
        &format!("{{{NAMES}}}"),
        &values.map(|value| if value == -5 { -6 } else { value }),
    );
    let compare =
        |more: &[&str]| test.run([&["validate", "--json", "a", "--against", "b"], more].concat()).status;
    assert_eq!([compare(&["--cf"]), compare(&[])], [0, 1]);
}

#[test]
fn packed_values_are_unpacked_first_and_quantised_or_rounded_in_one_pass() {
    let test = CliTest::new();
    let codes: Vec<u8> = (0..1000_u16).flat_map(|code| (code * 7).to_le_bytes()).collect();
    let attributes = r#"{"scale_factor":0.01,"add_offset":273.15,"_FillValue":77,"units":"K"}"#;
    write_v3(&test, "packed", "int16", 1000, attributes, &codes);
    let floats = ["transcode", "--quantize", "uint16", "float", "quantised"];
    test.run(["transcode", "--unpack", "packed", "float"]).succeeds();
    test.run(floats).succeeds();
    for (number, options) in [
        &["--quantize", "uint8"][..],
        &["--max-error", "0.1", "--as", "cf"],
        &["--step", "0.5", "--as", "plain"],
        &["--keep-bits", "5"],
        &["--keep-bits", "auto"],
        &["--max-error", "0.02", "-c", "300"],
        &["--quantize", "int16", "--zarr-format", "2", "--as", "cf"],
    ]
    .into_iter()
    .enumerate()
    {
        let [once, twice, again] = ["once", "twice", "again"].map(|name| format!("{name}{number}"));
        let run = |more: &[&str]| {
            let run = test.run(["transcode", "--json", "--verify"].iter().chain(options).chain(more));
            assert_eq!(run.status, 0, "{options:?}: {}", run.error);
            run.json()["nodes"][0]["quantization"].clone()
        };
        let mut found = run(&["--unpack", "--quality", "packed", &once]);
        let mut expected = run(&["--quality", "float", &twice]);
        for figures in [&mut found, &mut expected] {
            figures["bytes_source"].take();
        }
        assert_eq!(found, expected, "{options:?}");
        let (once_files, twice_files) = (test.all_files(&once), test.all_files(&twice));
        assert_eq!(once_files, twice_files, "{options:?}");
        test.run(["transcode", "--unpack"].iter().chain(options).chain(&["quantised", &again]));
        assert!(test.exists(&again), "from codecs, too");
    }
    test.run(["transcode", "--quantize", "uint8", "quantised", "x"]).fails(1, &["add --unpack"]);
    let report = ["transcode", "--unpack", "--quantize", "uint8", "--report", "r.html", "packed", "y"];
    test.run(report).succeeds();
    assert!(!String::from_utf8(test.read("r.html")).unwrap().contains("cannot be"));
}
