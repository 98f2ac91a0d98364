//! What others wrote: the rows of SEMANTICS.md, part D, about reading it.

use serde_json::{Value, json};

use super::support::{CliTest, Run, float32};

/// The codes of the findings of a result, in their order.
fn codes(result: &Value, member: &str) -> Vec<String> {
    let found = result[member].as_array().unwrap();
    found.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// Asserts that a run went well, whatever it warned of.
#[track_caller]
fn is_done(run: Run) -> Run {
    assert_eq!(run.status, 0, "{}", run.error);
    assert!(!run.error.contains("error:"), "{}", run.error);
    run
}

const BARE: &str = "{\"valid_min\": -Infinity, \"missing_value\": NaN,\n \"bounds\": [0.50, Infinity]}";

/// A consolidated v2 hierarchy as xarray writes it, with bare words in the attributes.
fn with_bare_words() -> CliTest {
    let test = CliTest::new();
    let array = r#"{"chunks":[4],"compressor":null,"dtype":"<f4","fill_value":"NaN","filters":null,"order":"C","shape":[4],"zarr_format":2}"#;
    let attributes = BARE.replacen('{', r#"{"_ARRAY_DIMENSIONS": ["x"], "#, 1);
    let copies = format!(
        r#"{{".zgroup":{{"zarr_format":2}},".zattrs":{BARE},"t/.zarray":{array},"t/.zattrs":{attributes}}}"#
    );
    test.write("a/.zgroup", r#"{"zarr_format":2}"#)
        .write("a/.zattrs", BARE)
        .write("a/t/.zarray", array)
        .write("a/t/.zattrs", attributes)
        .write("a/t/0", float32(&[1.0, 2.0, 3.0, 4.0]))
        .write("a/.zmetadata", format!(r#"{{"metadata":{copies},"zarr_consolidated_format":1}}"#));
    test
}

#[test]
fn d1_bare_nan_in_attributes_of_v2_is_read_with_a_warning() {
    let test = with_bare_words();
    for store in ["a", "a/t"] {
        let run = is_done(test.run(["inspect", "--json", store]));
        let result = run.json();
        assert_eq!(result["attributes"]["valid_min"], "-Infinity");
        assert_eq!(result["attributes"]["bounds"], json!([0.5, "Infinity"]));
        assert!(codes(&result, "warnings").iter().all(|code| code == "ZM003"), "{result}");
        assert_eq!(result["warnings"][0]["severity"], "warning");
    }
    let result = is_done(test.run(["inspect", "--json", "--stats", "a/t"])).json();
    assert_eq!(result["stats"]["max"], 4.0);
    is_done(test.run(["apply-codec", "--like", "a/t", "--chunk", "0", "--decode", "out"]));
    assert_eq!(test.read("out"), float32(&[1.0, 2.0, 3.0, 4.0]));
}

#[test]
fn d1_bare_nan_in_attributes_is_an_error_to_validate() {
    let test = with_bare_words();
    let run = test.run(["validate", "--json", "a"]);
    assert_eq!(run.status, 1);
    let findings = run.json()["findings"].clone();
    let keys: Vec<_> = findings.as_array().unwrap().iter().map(|found| found["key"].clone()).collect();
    // The copies in `.zmetadata` are no other fault.
    assert_eq!(keys, [".zattrs", "t/.zattrs"]);
    assert!(codes(&run.json(), "findings").iter().all(|code| code == "ZM003"));
    assert_eq!(findings[0]["pointer"], "/valid_min");
    assert!(findings[0]["message"].as_str().unwrap().contains("the first of 3"), "{findings}");
}

#[test]
fn d1_bare_nan_is_copied_byte_for_byte_and_converted_as_it_was() {
    let test = with_bare_words();
    is_done(test.run(["transcode", "--verify", "a", "copy"]));
    assert_eq!(test.all_files("copy"), test.all_files("a"));
    is_done(test.run(["transcode", "--compress", "zstd:1", "a", "packed"]));
    assert_eq!(test.read("packed/t/.zattrs"), test.read("a/t/.zattrs"));
    is_done(test.run(["transcode", "--zarr-format", "3", "a", "new"]));
    let text = String::from_utf8(test.read("new/zarr.json")).unwrap();
    assert_eq!(text.matches("\"valid_min\": -Infinity").count(), 2, "{text}");
    assert!(text.contains("\"bounds\": [\n      0.50,\n      Infinity\n    ]"), "{text}");
    // What masks values has the form that xarray gives it in v3.
    assert!(
        String::from_utf8(test.read("new/t/zarr.json")).unwrap().contains("\"_FillValue\": \"AAAAAAAA+H8=\"")
    );
    is_done(test.run(["transcode", "--compress", "gzip:1", "--verify", "new", "again"]));
    is_done(test.run(["transcode", "--zarr-format", "2", "new", "back"]));
    assert!(String::from_utf8(test.read("back/t/.zattrs")).unwrap().contains("\"valid_min\": -Infinity"));
    is_done(test.run(["transcode", "--overwrite", "a", "new"]));
    assert_eq!(test.all_files("new"), test.all_files("a"));
}

#[test]
fn d1_bare_nan_elsewhere_is_named_by_its_pointer() {
    let test = CliTest::new();
    test.write_float32("a", "NaN", &[None]);
    test.run(["inspect", "a"]).fails(1, &["`a/zarr.json` is not JSON", "NaN at `/fill_value`", "\"NaN\""]);
    // v2 had no rule at first: as a fill value it is read, and written in quotes once the document is made anew.
    let array = r#"{"chunks":[4],"compressor":null,"dtype":"<f4","fill_value":NaN,"filters":null,"order":"C","shape":[4],"zarr_format":2}"#;
    test.write("b/.zarray", array);
    let result = is_done(test.run(["inspect", "--json", "b"])).json();
    assert_eq!(
        (&result["fill_value"], codes(&result, "warnings")),
        (&json!("NaN"), vec!["ZM003".to_owned()])
    );
    is_done(test.run(["transcode", "--compress", "zstd:1", "b", "c"]));
    assert_eq!(serde_json::from_slice::<Value>(&test.read("c/.zarray")).unwrap()["fill_value"], "NaN");
    test.write("b/.zarray", array.replace("\"shape\":[4]", "\"shape\":[NaN]"));
    test.run(["inspect", "b"]).fails(1, &["NaN at `/shape/0`"]);
}

/// The text of a document.
fn document(test: &CliTest, key: &str) -> Value {
    serde_json::from_slice(&test.read(key)).unwrap()
}

/// A `.zarray` of four elements without compressor, with members replaced or added.
fn zarray(members: &Value) -> String {
    let mut array = json!({"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<f4", "fill_value": 0.0, "order": "C",
        "filters": null, "compressor": null});
    for (name, value) in members.as_object().unwrap() {
        array[name] = value.clone();
    }
    array.to_string()
}

/// A `zarr.json` of four float32 elements, with members replaced or added.
fn zarr_json(members: &Value) -> String {
    let mut array = json!({"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0.0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]});
    for (name, value) in members.as_object().unwrap() {
        array[name] = value.clone();
    }
    array.to_string()
}

const GROUP: &str = r#"{"zarr_format":3,"node_type":"group"}"#;

/// The elements of the first chunk of a one-dimensional array, decoded.
fn elements(test: &CliTest, store: &str) -> Vec<u8> {
    is_done(test.run(["apply-codec", "--decode", "--like", store, "--chunk", "0", "elements"]));
    test.read("elements")
}

#[test]
fn d2_gzip_of_level_minus_1_is_read_and_written_anew_as_6() {
    let test = CliTest::new();
    let values = float32(&[1.0, 2.0, 3.0, 4.0]);
    test.write("raw", &values);
    is_done(test.run([
        "apply-codec",
        "--codecs",
        r#"[{"name":"bytes"},{"name":"gzip","configuration":{"level":6}}]"#,
        "--data-type",
        "uint8",
        "--shape",
        "16",
        "raw",
        "packed",
    ]));
    test.write("a/.zarray", zarray(&json!({"compressor": {"id": "gzip", "level": -1}})))
        .write("a/0", test.read("packed"));
    test.run(["validate", "--level", "data", "a"]).succeeds();
    assert_eq!(elements(&test, "a"), values);
    is_done(test.run(["transcode", "a", "copy"]));
    assert_eq!(test.all_files("copy"), test.all_files("a"));
    let result = is_done(test.run(["transcode", "--json", "--zarr-format", "3", "a", "b"])).json();
    assert_eq!(result["nodes"][0]["route"], "copy");
    assert_eq!(
        document(&test, "b/zarr.json")["codecs"][1],
        json!({"name": "gzip", "configuration": {"level": 6}})
    );
    assert_eq!(elements(&test, "b"), values);
}

#[test]
fn d3_names_of_two_underscores_are_no_finding_in_v2() {
    let test = CliTest::new();
    test.write("a/.zgroup", r#"{"zarr_format":2}"#).write("a/__categories/.zgroup", r#"{"zarr_format":2}"#);
    test.write("a/__categories/kind/.zarray", zarray(&json!({})));
    let found = test.run(["validate", "--json", "--level", "keys", "a"]).succeeds().json();
    assert!(!codes(&found, "findings").contains(&"ZH104".to_owned()), "{found}");
    test.run(["inspect", "a"]).succeeds();
    test.run(["transcode", "a", "copy"]).succeeds();
    let result = is_done(test.run(["transcode", "--json", "--zarr-format", "3", "a", "b"])).json();
    assert_eq!(codes(&result, "warnings"), ["ZH104"]);
    assert_eq!(result["warnings"][0]["node"], "/__categories");
    // In v3 it is an error to `validate`, and read by the others.
    let run = test.run(["validate", "--json", "--level", "metadata", "b"]);
    assert_eq!((run.status, codes(&run.json(), "findings")), (1, vec!["ZH104".to_owned()]));
    assert_eq!(codes(&is_done(test.run(["inspect", "--json", "b"])).json(), "warnings"), ["ZH104"]);
    is_done(test.run(["transcode", "--compress", "zstd:1", "b", "c"]));
    assert!(test.exists("c/__categories/kind/zarr.json"));
}

/// A consolidated group of one array, whose copy has members replaced or added.
fn consolidated(members: &Value) -> CliTest {
    let test = CliTest::new();
    let copy: Value = serde_json::from_str(&zarr_json(members)).unwrap();
    let mut group: Value = serde_json::from_str(GROUP).unwrap();
    group["consolidated_metadata"] =
        json!({"kind": "inline", "must_understand": false, "metadata": {"x": copy}});
    test.write("a/zarr.json", group.to_string()).write("a/x/zarr.json", zarr_json(&json!({})));
    test.write("a/x/c/0", float32(&[1.0; 4]));
    test
}

#[test]
fn d4_copies_that_spell_out_defaults_are_equal() {
    let test = consolidated(&json!({"attributes": {}, "storage_transformers": [], "fill_value": 0,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}}));
    test.run(["validate", "--level", "data", "--deny", "warnings", "a"]).succeeds();
    test.run(["transcode", "a", "b"]).succeeds();
    assert_eq!(test.all_files("b"), test.all_files("a"));
    // In v2 too.
    let copy: Value =
        serde_json::from_str(&zarray(&json!({"dimension_separator": ".", "filters": []}))).unwrap();
    let metadata = json!({".zgroup": {"zarr_format": 2}, "x/.zarray": copy, "x/.zattrs": {}});
    test.write("c/.zgroup", r#"{"zarr_format":2}"#)
        .write("c/x/.zarray", zarray(&json!({})))
        .write("c/x/0", float32(&[1.0; 4]));
    test.write("c/.zmetadata", json!({"zarr_consolidated_format": 1, "metadata": metadata}).to_string());
    test.run(["validate", "--level", "data", "--deny", "warnings", "c"]).succeeds();
    // A copy of attributes that are not there says nothing: the documents stay as they were laid out.
    let laid_out = String::from_utf8(test.read("c/.zmetadata")).unwrap().replace('[', "[ ");
    test.write("c/.zmetadata", laid_out);
    test.run(["transcode", "c", "d"]).succeeds();
    assert_eq!(test.all_files("d"), test.all_files("c"));
}

#[test]
fn d4_stale_copies_are_made_anew_or_left_out_with_a_warning() {
    let test = consolidated(&json!({"shape": [3], "attributes": {"old": true}}));
    assert_eq!(test.run(["validate", "a"]).status, 1);
    let result = is_done(test.run(["transcode", "--json", "a", "b"])).json();
    assert_eq!(codes(&result, "warnings"), ["ZH202"]);
    assert_eq!(result["warnings"][0]["severity"], "warning");
    let copy = document(&test, "b/zarr.json")["consolidated_metadata"]["metadata"]["x"].clone();
    assert_eq!(copy, document(&test, "a/x/zarr.json"));
    test.run(["validate", "--level", "data", "b"]).succeeds();
    let run = is_done(test.run(["transcode", "--no-consolidate", "a", "c"]));
    assert!(run.error.contains("`--no-consolidate` leaves the copies out"), "{}", run.error);
    assert_eq!(document(&test, "c/zarr.json").get("consolidated_metadata"), None);
    // Copies that cannot be read are no reason to stop either.
    for broken in ["{", "[]", r#"{"metadata":{"../x":{}},"zarr_consolidated_format":1}"#] {
        let test = CliTest::new();
        test.write("a/.zgroup", r#"{"zarr_format":2}"#).write("a/x/.zarray", zarray(&json!({})));
        test.write("a/.zmetadata", broken);
        is_done(test.run(["transcode", "a", "b"]));
        test.run(["validate", "--level", "keys", "b"]).succeeds();
        assert_eq!(document(&test, "b/.zmetadata")["metadata"]["x/.zarray"], document(&test, "a/x/.zarray"));
    }
}

#[test]
fn d8_chunk_that_is_a_dangling_link_is_absent_in_every_command() {
    let test = CliTest::new();
    test.write_float32("a", "7.0", &[Some([1.0; 4]), None]);
    std::os::unix::fs::symlink("nowhere", test.path("a/c/1")).unwrap();
    let is_said = |result: &Value, member: &str| {
        let found = result[member].as_array().unwrap().iter().find(|found| found["code"] == "ZK204").cloned();
        let found = found.unwrap_or_else(|| panic!("{result}"));
        assert_eq!((&found["key"], &found["severity"]), (&json!("c/1"), &json!("warning")));
        assert_eq!(found["message"], "a link that leads nowhere: readers take the object as absent");
    };
    is_said(&test.run(["validate", "--json", "--level", "data", "a"]).succeeds().json(), "findings");
    let result = is_done(test.run(["inspect", "--json", "--stats", "a"])).json();
    is_said(&result, "warnings");
    assert_eq!((&result["storage"]["chunks_present"], &result["stats"]["max"]), (&json!(1), &json!(7.0)));
    for options in [vec!["--verify"], vec!["--compress=zstd:1", "--verify"], vec!["-c", "8", "--verify"]] {
        let _ = std::fs::remove_dir_all(test.path("b"));
        let result = is_done(test.run([&["transcode", "--json"], &options[..], &["a", "b"]].concat())).json();
        is_said(&result, "warnings");
        let against = test.run(["validate", "--json", "--against", "a", "b"]).json();
        assert_eq!(against["against"]["equal"], true, "{against}");
    }
    test.run(["apply-codec", "--decode", "--like", "a", "--chunk", "1", "out"]).fails(1, &["not stored"]);
    // A link in a circle leads nowhere, too.
    std::fs::remove_file(test.path("a/c/1")).unwrap();
    std::os::unix::fs::symlink("1", test.path("a/c/1")).unwrap();
    is_said(&test.run(["validate", "--json", "--level", "data", "a"]).succeeds().json(), "findings");
    is_said(&is_done(test.run(["inspect", "--json", "--stats", "a"])).json(), "warnings");
    let _ = std::fs::remove_dir_all(test.path("b"));
    is_said(&is_done(test.run(["transcode", "--json", "a", "b"])).json(), "warnings");
}

#[test]
fn d9_chunk_length_0_on_an_axis_of_length_0_is_read_and_written_as_1() {
    let test = CliTest::new();
    let grid = |length: u64| json!({"name": "regular", "configuration": {"chunk_shape": [length, 2]}});
    test.write("a/zarr.json", zarr_json(&json!({"shape": [0, 5], "chunk_grid": grid(0)})));
    test.write("b/.zarray", zarray(&json!({"shape": [0, 5], "chunks": [0, 2]})));
    for (store, key, pointer) in
        [("a", "zarr.json", "/chunk_grid/configuration/chunk_shape"), ("b", ".zarray", "/chunks")]
    {
        let result = is_done(test.run(["inspect", "--json", store])).json();
        assert_eq!(
            (&result["chunk_shape"], codes(&result, "warnings")),
            (&json!([1, 2]), vec!["ZG108".to_owned()])
        );
        let found = test.run(["validate", "--json", "--level", "data", store]).succeeds().json();
        assert!(codes(&found, "findings").contains(&"ZG108".to_owned()), "{found}");
        for options in [&[][..], &["--compress=zstd:1"]] {
            let _ = std::fs::remove_dir_all(test.path("out"));
            is_done(test.run([&["transcode", "--verify"], options, &[store, "out"]].concat()));
            let written = document(&test, &format!("out/{key}"));
            assert_eq!(written.pointer(pointer), Some(&json!([1, 2])), "{options:?}");
            test.run(["validate", "--deny", "warnings", "out"]).succeeds();
        }
    }
    // Where there are elements, it is an error.
    test.write("c/zarr.json", zarr_json(&json!({"shape": [4, 5], "chunk_grid": grid(0)})));
    test.run(["transcode", "c", "d"]).fails(1, &["ZG105"]);
}

#[test]
fn d10_storage_transformers_and_codecs_that_need_not_be_understood_are_ignored_with_a_warning() {
    let test = CliTest::new();
    let optional = json!({"name": "example.cache", "configuration": {"x": 1.50}, "must_understand": false});
    let values = float32(&[1.0, 2.0, 3.0, 4.0]);
    test.write("a/zarr.json", zarr_json(&json!({"storage_transformers": [optional]})))
        .write("a/c/0", &values);
    let codecs = json!([optional, {"name": "bytes", "configuration": {"endian": "little"}}, optional]);
    test.write("b/zarr.json", zarr_json(&json!({"codecs": codecs}))).write("b/c/0", &values);
    for (store, code) in [("a", "ZM112"), ("b", "ZC106")] {
        let result = is_done(test.run(["inspect", "--json", "--stats", store])).json();
        assert!(codes(&result, "warnings").iter().all(|found| found == code), "{result}");
        assert_eq!(result["stats"]["mean"], 2.5);
        let found = test.run(["validate", "--json", "--level", "data", store]).succeeds().json();
        assert!(codes(&found, "findings").contains(&code.to_owned()));
        assert_eq!(elements(&test, store), values);
        let copy = format!("{store}-copy");
        is_done(test.run(["transcode", "--verify", store, &copy]));
        assert_eq!(test.all_files(&copy), test.all_files(store));
        let packed = format!("{store}-packed");
        is_done(test.run(["transcode", "--compress", "zstd:1", "--verify", store, &packed]));
        assert_eq!(elements(&test, &packed), values);
    }
    // What DEST's chunks do not go through is not among its codecs; a storage transformer is kept.
    let names: Vec<_> = document(&test, "b-packed/zarr.json")["codecs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|codec| codec["name"].clone())
        .collect();
    assert_eq!(names, ["bytes", "zstd"]);
    assert_eq!(document(&test, "a-packed/zarr.json")["storage_transformers"], json!([optional]));
    // One that must be understood is refused.
    test.write("c/zarr.json", zarr_json(&json!({"storage_transformers": [{"name": "example.cache"}]})));
    test.run(["transcode", "c", "d"]).fails(1, &["ZM110"]);
}

#[test]
fn d12_quantize_that_changes_the_type_is_recoded_for_v3() {
    let test = CliTest::new();
    let filter = json!({"id": "quantize", "digits": 1, "dtype": "<f8", "astype": "<f4"});
    let values = [1.5_f32, 2.25, 3.0, -4.5];
    test.write("a/.zarray", zarray(&json!({"dtype": "<f8", "filters": [filter]})))
        .write("a/0", float32(&values));
    let expected: Vec<u8> = values.iter().flat_map(|value| f64::from(*value).to_le_bytes()).collect();
    assert_eq!(elements(&test, "a"), expected);
    let result =
        is_done(test.run(["transcode", "--json", "--verify", "--zarr-format", "3", "a", "b"])).json();
    assert_eq!(
        (&result["nodes"][0]["route"], &result["nodes"][0]["verify"]["equal"]),
        (&json!("recode"), &json!(true))
    );
    let codecs = document(&test, "b/zarr.json")["codecs"].clone();
    assert_eq!(codecs, json!([{"name": "bytes", "configuration": {"endian": "little"}}]));
    assert_eq!(elements(&test, "b"), expected);
    // A filter that goes by the new type stays, behind a codec that changes the type alone.
    let delta = json!({"id": "delta", "dtype": "<f4", "astype": "<f4"});
    test.write("c/.zarray", zarray(&json!({"dtype": "<f8", "filters": [filter, delta]})));
    test.write("c/0", float32(&[1.5, 0.5, 0.25, 1.0]));
    is_done(test.run(["transcode", "--zarr-format", "3", "c", "d"]));
    assert_eq!(document(&test, "d/zarr.json")["codecs"][0]["name"], "numcodecs.astype");
    assert_eq!(elements(&test, "d"), elements(&test, "c"));
}

#[test]
fn d13_members_of_netcdf_are_kept_in_v2_and_become_attributes_in_v3() {
    let test = CliTest::new();
    let of_array = json!({"dimension_references": ["/x"], "storage": "chunked"});
    test.write(
        "a/.zgroup",
        json!({"zarr_format": 2, "_NCZARR_SUPERBLOCK": {"version": "2.0.0"}}).to_string(),
    );
    test.write("a/.zattrs", json!({"_nczarr_group": {"dims": {"x": 4}}}).to_string());
    test.write("a/t/.zarray", zarray(&json!({"_NCZARR_ARRAY": of_array}))).write("a/t/0", float32(&[1.0; 4]));
    test.write(
        "a/t/.zattrs",
        json!({"_nczarr_attrs": {"types": {"units": "<S1"}}, "units": "K"}).to_string(),
    );
    is_done(test.run(["transcode", "a", "copy"]));
    assert_eq!(test.all_files("copy"), test.all_files("a"));
    is_done(test.run(["transcode", "--compress", "zstd:1", "a", "packed"]));
    assert_eq!(document(&test, "packed/t/.zarray")["_NCZARR_ARRAY"], of_array);
    let result = is_done(test.run(["transcode", "--json", "--zarr-format", "3", "a", "b"])).json();
    assert_eq!(codes(&result, "warnings"), ["ZM231", "ZM231"]);
    let messages: Vec<_> = result["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["message"].as_str().unwrap())
        .collect();
    assert!(messages.iter().all(|message| message.ends_with("becomes an attribute")), "{messages:?}");
    let group = json!({"_nczarr_group": {"dims": {"x": 4}}, "_NCZARR_SUPERBLOCK": {"version": "2.0.0"}});
    assert_eq!(document(&test, "b/zarr.json")["attributes"], group);
    let array =
        json!({"_nczarr_attrs": {"types": {"units": "<S1"}}, "units": "K", "_NCZARR_ARRAY": of_array});
    assert_eq!(document(&test, "b/t/zarr.json")["attributes"], array);
    test.run(["validate", "--level", "data", "b"]).succeeds();
}

#[test]
fn d14_points_get_empty_dimensions_only_beside_an_array_with_dimension_names() {
    let test = CliTest::new();
    let point = zarr_json(
        &json!({"shape": [], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}}}),
    );
    test.write("a/zarr.json", GROUP).write("a/named/zarr.json", GROUP).write("a/plain/zarr.json", GROUP);
    for group in ["named", "plain"] {
        test.write(&format!("a/{group}/point/zarr.json"), &point);
    }
    test.write("a/named/x/zarr.json", zarr_json(&json!({"dimension_names": ["x"]})));
    test.write("a/plain/y/zarr.json", zarr_json(&json!({})));
    is_done(test.run(["transcode", "--zarr-format", "2", "a", "b"]));
    assert_eq!(document(&test, "b/named/point/.zattrs"), json!({"_ARRAY_DIMENSIONS": []}));
    assert!(!test.exists("b/plain/point/.zattrs") && !test.exists("b/plain/y/.zattrs"));
    is_done(test.run(["transcode", "--zarr-format", "2", "a/plain/point", "c"]));
    assert!(!test.exists("c/.zattrs"));
}

#[test]
fn shape_with_a_negative_length_is_refused_as_what_it_is() {
    let test = CliTest::new();
    test.write("a/zarr.json", zarr_json(&json!({"shape": [-1]})));
    test.write("b/.zarray", zarray(&json!({"shape": [4, -1]})));
    test.write("c/.zarray", zarray(&json!({"chunks": [-4]})));
    let negative = |name: &str, length: &str, dimension: u32| {
        format!("`{name}` has the negative length {length} in dimension {dimension}")
    };
    test.run(["transcode", "a", "d"]).fails(1, &[&negative("shape", "-1", 0), "/shape/0"]);
    test.run(["transcode", "b", "d"]).fails(1, &[&negative("shape", "-1", 1)]);
    test.run(["transcode", "c", "d"]).fails(1, &[&negative("chunks", "-4", 0)]);
}
