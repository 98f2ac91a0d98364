//! `transcode` of hierarchies: patterns, rules, groups, consolidated metadata, keys of no node, resuming.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::support::{CliTest, Run};

const FLOATS: [Option<[f32; 4]>; 2] = [Some([0.0, 1.0, 2.0, 3.0]), Some([4.0, 5.0, 6.0, 255.0])];

/// A group with `/temperature`, its coordinate `/x`, `/deep/salt` and `/deep/count` (integers), and other keys.
fn tree() -> CliTest {
    let test = CliTest::new();
    let group = |attributes: &str| {
        format!(r#"{{"zarr_format": 3, "node_type": "group", "attributes": {attributes}}}"#)
    };
    test.write("a/zarr.json", group(r#"{"title": 1.0, "big": 123456789012345678901234567890}"#));
    test.write("a/deep/zarr.json", group("{}"));
    for name in ["temperature", "x", "deep/salt"] {
        test.write_float32(&format!("a/{name}"), "\"NaN\"", &FLOATS);
        let document = String::from_utf8(test.read(&format!("a/{name}/zarr.json"))).unwrap();
        let named = document.replace("\"attributes\"", "\"dimension_names\":[\"x\"],\"attributes\"");
        test.write(&format!("a/{name}/zarr.json"), named);
    }
    test.write(
        "a/deep/count/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"uint8","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]}"#,
    );
    test.write("a/deep/count/c/0", [1, 2]);
    test.write("a/README", "read me").write("a/notes/more/x.txt", "notes");
    test
}

fn node<'a>(result: &'a Value, path: &str) -> &'a Value {
    let nodes = result["nodes"].as_array().unwrap();
    nodes.iter().find(|node| node["path"] == path).unwrap_or_else(|| panic!("{path} is not in the result"))
}

fn routes(run: Run) -> Vec<(String, String)> {
    let result = run.succeeds().json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    result["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (text(&node["path"]), text(&node["route"])))
        .collect()
}

fn expect(routes: &[(String, String)], expected: &[(&str, &str)]) {
    let found: Vec<(&str, &str)> =
        routes.iter().map(|(path, route)| (path.as_str(), route.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn shape_that_does_not_fit_one_array_names_the_way_to_leave_it_out() {
    let test = CliTest::new();
    let array = |path: &str, shape: &str, names: &str| {
        test.write(
            &format!("g/{path}/zarr.json"),
            format!(
                r#"{{"zarr_format":3,"node_type":"array","shape":{shape},"data_type":"uint8","dimension_names":{names},
                "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{shape}}}}},
                "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
            ),
        );
    };
    test.group("g");
    test.group("g/coordinates");
    array("coordinates/time", "[240]", r#"["time"]"#);
    array("field", "[30,8]", r#"["time","x"]"#);
    array("crs", "[]", "[]");
    let run = |options: &[&str]| test.run(["transcode", "g", "h"].iter().chain(options));
    let excluded = "or leave this array as it is with `--exclude 'coordinates/time'`";
    run(&["-s", "time=90"]).fails(1, &["`g/coordinates/time`", "90 is not a multiple of 240", excluded]);
    let help = "a scalar is one chunk as it is: leave --chunk-shape out, or give lengths by name; or leave this array as \
                it is with `--exclude 'crs'`";
    run(&["-c", "10", "--exclude", "coordinates/*", "--exclude", "field"]).fails(1, &["`g/crs`", help]);
    run(&["-s", "time=90", "--exclude", "coordinates/time"]).succeeds();
    let single = test.run(["transcode", "-c", "10", "g/crs", "k"]);
    let single = single.fails(1, &["a scalar is one chunk as it is: leave --chunk-shape out"]);
    assert!(!single.error.contains("--exclude"), "{}", single.error);
}

#[test]
fn group_is_copied_with_everything_in_it() {
    let test = tree();
    let result = test.run(["transcode", "--json", "--verify", "a", "b"]).succeeds().json();
    assert_eq!(result["totals"]["other_keys"], 2);
    assert_eq!(
        (&node(&result, "/")["node_type"], &node(&result, "/")["route"]),
        (&json!("group"), &json!("metadata"))
    );
    assert_eq!(node(&result, "/deep/salt")["verify"]["equal"], true);
    assert_eq!(test.all_files("b"), test.all_files("a"));
}

#[test]
fn floats_are_quantised_and_coordinates_and_integers_are_not() {
    let test = tree();
    let run = test.run(["transcode", "--json", "--quantize=uint8", "a", "b"]);
    let found = routes(run);
    let expected = [
        ("/", "metadata"),
        ("/deep", "metadata"),
        ("/deep/count", "copy"),
        ("/deep/salt", "recode"),
        ("/temperature", "recode"),
        ("/x", "copy"),
    ];
    expect(&found, &expected);
    // A pattern that names it, and one that does not.
    for (pattern, route) in [("x", "recode"), ("*", "copy"), ("{x,salt}", "recode")] {
        let _ = fs::remove_dir_all(test.path("c"));
        let run = test.run(["transcode", "--json", "--quantize=uint8", "--include", pattern, "a", "c"]);
        assert!(routes(run).contains(&("/x".to_owned(), route.to_owned())), "{pattern}");
    }
}

#[test]
fn patterns_choose_and_later_rules_win() {
    let test = tree();
    let found = routes(test.run([
        "transcode",
        "--json",
        "--compress=zstd:1",
        "--include",
        "**/salt",
        "--rule",
        "*: --chunk-shape 2",
        "--rule",
        "temperature: --chunk-shape 8 --data-type float64",
        "a",
        "b",
    ]));
    let expected = [
        ("/", "metadata"),
        ("/deep", "metadata"),
        ("/deep/count", "copy"),
        ("/deep/salt", "recode"),
        ("/temperature", "rechunk"),
        ("/x", "rechunk"),
    ];
    expect(&found, &expected);
    let result = test.run(["inspect", "--json", "b/temperature"]).succeeds().json();
    assert_eq!((&result["data_type"], &result["chunk_shape"]), (&json!("float64"), &json!([8])));
    let found =
        routes(test.run(["transcode", "--json", "--compress=zstd:1", "--exclude", "deep/**", "a", "c"]));
    assert!(found.contains(&("/deep/salt".to_owned(), "copy".to_owned())));
    assert!(found.contains(&("/x".to_owned(), "recode".to_owned())));
}

#[test]
fn pattern_that_matches_nothing_is_1_and_one_that_is_none_is_2() {
    let test = tree();
    let run = |options: &[&str]| test.run(["transcode"].iter().chain(options).chain(&["a", "b"]));
    run(&["--include", "*/temperature"]).fails(1, &["--include", "*/temperature"]);
    run(&["--exclude", "nothing"]).fails(1, &["--exclude", "nothing"]);
    run(&["--rule", "nothing: --compress none"]).fails(1, &["--rule", "nothing"]);
    run(&["--include", "x", "--exclude", "*"]).fails(1, &["leave no array"]);
    run(&["--include", "a["]).fails(2, &["--include"]);
    run(&["--rule", "x --compress none"]).fails(2, &["--rule", "`: `"]);
    run(&["--rule", "x: --frobnicate"]).fails(2, &["--rule", "--frobnicate"]);
    run(&["--rule", "x: --compress 'none"]).fails(2, &["--rule", "quote"]);
    run(&["--rule", "x: --range 0,1"]).fails(2, &["--range"]);
    assert_eq!(test.names(), ["a"]);
}

#[test]
fn option_that_applies_to_no_array_is_1() {
    let test = tree();
    for (options, said) in [
        (["--exclude=**/temperature", "--exclude=**/salt", "--quantize=uint8"].as_slice(), "no float array"),
        (&["--unpack"], "no array to unpack"),
        (&["-c", "x=2,tme=5"], "`tme`"),
        (&["-s", "x=2,tme=5", "-c", "x=1"], "`tme`"),
    ] {
        let run = test.run(["transcode"].iter().chain(options).chain(&["a", "b"]));
        run.fails(1, &[said, "help: "]);
        assert!(!test.exists("b"));
    }
}

#[test]
fn lengths_by_name_go_to_the_arrays_that_have_the_dimension() {
    let test = tree();
    let found = routes(test.run(["transcode", "--json", "-c", "x=2", "a", "b"]));
    assert!(found.contains(&("/deep/count".to_owned(), "copy".to_owned())));
    assert!(found.contains(&("/temperature".to_owned(), "rechunk".to_owned())));
    test.run(["transcode", "-c", "2,2", "a", "c"]).fails(1, &["--chunk-shape", "a/deep/count"]);
}

#[test]
fn consolidated_metadata_are_made_anew_where_they_were() {
    let test = tree();
    let read = |path: &str| -> Value { test.read_json(path) };
    let copies: serde_json::Map<String, Value> = ["temperature", "deep", "deep/salt", "x", "deep/count"]
        .iter()
        .map(|path| ((*path).to_owned(), read(&format!("a/{path}/zarr.json"))))
        .collect();
    let mut root = read("a/zarr.json");
    root["consolidated_metadata"] = json!({"kind": "inline", "must_understand": false, "metadata": copies});
    test.write("a/zarr.json", serde_json::to_vec(&root).unwrap());
    test.run(["transcode", "a", "same"]).succeeds();
    assert_eq!(test.all_files("same"), test.all_files("a"));
    test.run(["transcode", "--compress=zstd:1", "a", "b"]).succeeds();
    let found = &read("b/zarr.json")["consolidated_metadata"];
    assert_eq!((&found["kind"], &found["must_understand"]), (&json!("inline"), &json!(false)));
    for path in ["temperature", "deep", "deep/salt", "x", "deep/count"] {
        assert_eq!(found["metadata"][path], read(&format!("b/{path}/zarr.json")), "{path}");
    }
    test.run(["validate", "b"]).succeeds();
    test.run(["transcode", "--no-consolidate", "a", "c"]).succeeds();
    assert!(read("c/zarr.json").get("consolidated_metadata").is_none());
}

#[test]
fn hierarchy_of_version_2_keeps_its_documents() {
    let test = CliTest::new();
    test.write("a/.zgroup", "{\"zarr_format\":2}").write("a/.zattrs", "{\"x\": 1.50}");
    test.write("a/inner/.zgroup", "{\"zarr_format\":2}");
    test.write(
        "a/.zmetadata",
        r#"{"zarr_consolidated_format":1,"metadata":{".zgroup":{"zarr_format":2},".zattrs":{"x":1.50},"inner/.zgroup":{"zarr_format":2}}}"#,
    );
    test.run(["transcode", "a", "b"]).succeeds();
    assert_eq!(test.all_files("b"), test.all_files("a"));
}

#[test]
fn links_of_a_hierarchy_are_not_followed() {
    let test = tree();
    test.write("outside/secret", "secret");
    test.write_float32("outside/array", "0", &[Some([1.0; 4])]);
    symlink(test.path("outside/secret"), test.path("a/secret")).unwrap();
    symlink(test.path("outside/array"), test.path("a/linked")).unwrap();
    let run = test.run(["transcode", "a", "b"]);
    assert_eq!(run.status, 0);
    assert!(run.error.contains("2 links"), "{}", run.error);
    assert!(!test.exists("b/secret") && !test.exists("b/linked"));
}

#[test]
fn hierarchy_with_an_error_anywhere_is_refused() {
    let test = tree();
    test.write("a/deep/bad/zarr.json", "{");
    test.run(["transcode", "a", "b"]).fails(1, &["ZM001", "a/deep/bad"]);
    assert_eq!(test.names(), ["a"]);
}

#[test]
fn hierarchy_goes_on_where_a_corrupt_chunk_ended_it() {
    let test = tree();
    let chunk = test.read("a/temperature/c/1");
    test.run(["transcode", "--compress=zstd:1", "a", "whole"]).succeeds();
    test.write("a/temperature/c/1", "torn");
    let run =
        |more: &[&str]| test.run(["transcode", "--compress=zstd:1"].iter().chain(more).chain(&["a", "b"]));
    run(&[]).fails(1, &["chunk [1]", "a/temperature", "--resume"]);
    assert!(!test.exists("b/zarr.json") && !test.exists("b/deep/zarr.json"));
    run(&[]).fails(3, &["unfinished"]);
    test.write("a/temperature/c/1", chunk);
    run(&["--resume", "--threads=1"]).succeeds();
    assert_eq!(test.all_files("b"), test.all_files("whole"));
}

#[test]
fn rule_of_a_single_array_is_a_pattern_without_a_match() {
    let test = CliTest::new();
    test.write_float32("a", "0", &FLOATS);
    test.run(["transcode", "--rule", "x: --compress none", "a", "b"])
        .fails(1, &["--rule", "matches no array"]);
}

#[test]
fn array_whose_chunks_are_read_again_tells_what_source_stores() {
    let test = CliTest::new();
    test.group("g").write(
        "g/field/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[64,64],"data_type":"uint8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[16,16]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]}"#,
    );
    for place in 0..16 {
        test.write(&format!("g/field/c/{}/{}", place / 4, place % 4), [1; 256]);
    }
    let options = ["-c", "10,10", "--threads", "1", "--max-memory", "530000", "--overwrite", "g", "h"];
    let run = |json: &[&str]| test.run(["transcode"].iter().chain(json).chain(&options)).succeeds();
    let result = run(&["--json"]).json();
    let node = result["nodes"].as_array().unwrap().iter().find(|node| node["path"] == "/field").unwrap();
    assert!(node["read_amplification"].as_f64().unwrap() > 1.0, "{node}");
    assert!(node["bytes_read"].as_u64().unwrap() > 4096, "{node}");
    assert_eq!([&node["bytes_source"], &result["totals"]["bytes_source"]], [4096, 4096]);
    let text = run(&[]).text().to_owned();
    assert!(text.contains("uint8  4.00 KiB  -> 4.79 KiB"), "{text}");
    assert!(text.contains("stored  4.00 KiB -> 4.79 KiB"), "{text}");
}

#[test]
fn verification_of_a_hierarchy_is_one_line_and_all_lines_where_that_is_asked_for() {
    let test = tree();
    let lines = |more: &[&str], destination: &str| {
        let run = test.run([&["transcode", "--verify", "a", destination], more].concat());
        assert_eq!(run.status, 0, "{}", run.error);
        run.text().lines().filter(|line| line.contains("verified: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let (one, all) = (lines(&[], "b"), lines(&["-v"], "c"));
    assert!(all.len() > 1, "{all:?}");
    assert_eq!(one.len(), 1, "{one:?}");
    assert!(one[0].starts_with(&format!("{} arrays verified: equal, ", all.len())), "{one:?}");
}

#[test]
fn names_with_control_characters_are_no_keys() {
    let test = tree();
    test.write("a/no\tes", "x").write("a/\u{7f}/inside", "x");
    for arguments in [&["transcode", "a", "b"][..], &["inspect", "a"]] {
        let run = test.run(arguments);
        assert_eq!(run.status, 0, "{}", run.error);
        assert!(run.error.contains("ZK206") && run.error.contains("2 names"), "{}", run.error);
    }
    assert!(!test.exists("b/no\tes") && !test.exists("b/\u{7f}"));
    let found = test.run(["validate", "--json", "a"]).json();
    let codes = found["findings"].as_array().unwrap().iter().filter(|found| found["code"] == "ZK206").count();
    assert_eq!(codes, 2, "{found}");
    for node in ["x//y", ".", "x/../y", "no\tes"] {
        test.run(["inspect", "--node", node, "a"]).fails(2, &["--node: `", "is not the name of a node"]);
    }
}

#[test]
fn error_that_leaves_nothing_of_some_arrays_names_them_and_the_way_out() {
    let test = tree();
    let small = [Some([0.0, 1e-6, 1e-5, 5e-6]); 2];
    test.write_float32("a/flux", "\"NaN\"", &small).write_float32("a/deep/flux", "\"NaN\"", &small);
    let run = |options: &[&str]| test.run(["transcode", "--max-error", "0.05"].iter().chain(options));
    let said = ["`deep/flux`, `flux`", "--rule 'deep/flux: --max-error NUMBER'", "--exclude 'deep/flux'"];
    run(&["--as", "cf", "a", "b"]).fails(1, &said);
    assert!(!test.exists("b"));
    run(&["--rule", "**/flux: --max-error 1e-8", "a", "b"]).succeeds();
    run(&["--exclude", "**/flux", "a", "c"]).succeeds();
}

/// An image of two levels in the group `/image`, as OME-Zarr 0.5 or `GeoZarr` has it.
fn image(multiscales: &Value) -> CliTest {
    let test = tree();
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": multiscales});
    test.write("a/image/zarr.json", group.to_string());
    for level in ["0", "1"] {
        test.write_float32(&format!("a/image/{level}"), "\"NaN\"", &FLOATS);
        let document = String::from_utf8(test.read(&format!("a/image/{level}/zarr.json"))).unwrap();
        let named = document.replace("\"attributes\"", "\"dimension_names\":[\"x\"],\"attributes\"");
        test.write(&format!("a/image/{level}/zarr.json"), named);
    }
    test
}

#[test]
fn levels_of_one_image_are_not_cut_by_one_index_and_share_a_range() {
    let datasets = json!([{"path": "0"}, {"path": "1"}]);
    for multiscales in [
        json!({"ome": {"version": "0.5", "multiscales": [{"datasets": datasets}]}}),
        json!({"multiscales": [{"version": "0.4", "datasets": datasets}]}),
        json!({"multiscales": {"layout": [{"asset": "0"}, {"asset": "1", "derived_from": "0"}]}}),
        json!({"multiscales": {"tile_matrix_limits": {"0": {}, "1": {}}}}),
    ] {
        let test = image(&multiscales);
        let run = |options: &[&str]| test.run(["transcode"].iter().chain(options));
        let said = ["`image/0`, `image/1` are levels of one image", "--only 'image/0'"];
        run(&["--select", "x=0:2", "a", "b"]).fails(1, &said);
        let plain = ["--quantize", "uint8", "--as", "plain", "--include", "image/*", "a", "b"];
        run(&plain).fails(1, &["`image/0`, `image/1` are levels", "--range LO,HI or --scale"]);
        assert!(!test.exists("b"));
        run(&[&["--range", "0,255"], &plain[..]].concat()).succeeds();
        let only = run(&["--json", "--select", "x=0:2", "--only", "image/0", "a", "c"]);
        assert_eq!(only.status, 0, "{}", only.error);
        let only = only.json();
        let warning =
            only["warnings"].as_array().unwrap().iter().find(|found| found["code"] == "ZH115").unwrap();
        assert_eq!(warning["message"], "`multiscales` names `1`, which --only leaves out");
        assert!(test.exists("c/image/0/zarr.json") && !test.exists("c/image/1"));
        run(&["--select", "x=0:2", "a/image/0", "d"]).succeeds();
        run(&["--quantize", "uint8", "a", "e"]).succeeds();
    }
}

#[test]
fn only_some_arrays_are_written_with_what_they_need() {
    let test = tree();
    let attributes = r#""attributes":{"ancillary_variables":"../count count"}"#;
    let document = String::from_utf8(test.read("a/deep/salt/zarr.json")).unwrap();
    test.write("a/deep/salt/zarr.json", document.replace(r#""attributes":{"units":"K"}"#, attributes));
    let found = routes(test.run(["transcode", "--json", "--verify", "--only", "deep/s*", "a", "b"]));
    let expected = [
        ("/", "metadata"),
        ("/deep", "metadata"),
        ("/deep/count", "copy"),
        ("/deep/salt", "copy"),
        ("/x", "copy"),
    ];
    expect(&found, &expected);
    assert!(!test.exists("b/README") && !test.exists("b/temperature"));
    let both = ["--only", "deep/count", "--only", "temperature", "--max-error", "0.5"];
    let found = routes(test.run(["transcode", "--json"].iter().chain(&both).chain(&["a", "c"])));
    assert!(
        found.contains(&("/temperature".to_owned(), "recode".to_owned())) && found.len() == 5,
        "{found:?}"
    );
    let run = |options: &[&str]| test.run(["transcode"].iter().chain(options).chain(&["a", "d"]));
    run(&["--only", "temperature", "--only", "tmp"]).fails(1, &["--only `tmp` matches no array"]);
    test.run(["transcode", "--only", "x", "a/x", "d"]).fails(1, &["--only `x` matches no array"]);
    run(&["--include", "temperature,x"]).fails(1, &["give the option once for each, or `{a,b}`"]);
    let parts = ["transcode", "a", "p"];
    let run = |options: &[&str]| test.run(parts.iter().chain(options));
    run(&["--init", "--partitions", "2", "--only", "deep/salt"]).succeeds();
    run(&["--partition", "0"]).succeeds();
    run(&["--partition", "1"]).succeeds();
    run(&["--finish"]).succeeds();
    assert_eq!(test.all_files("p"), test.all_files("b"));
}

#[test]
fn what_holds_for_all_arrays_holds_for_those_of_rules() {
    let test = tree();
    let run = |options: &[&str], name: &str| {
        test.run(["transcode", "--json"].iter().chain(options).chain(&["a", name])).succeeds().json()
    };
    let rule = ["--rule", "temperature: --max-error 0.1"];
    let result =
        run(&[&rule[..], &["--as", "cf", "--missing", "255", "--rounding", "towards-zero"]].concat(), "b");
    let found = &node(&result, "/temperature")["quantization"];
    assert_eq!((&found["as"], &found["nan"]), (&json!("cf"), &json!(1)));
    assert_eq!(node(&result, "/deep/salt")["route"], "copy");
    let own = ["--as", "cf", "--rule", "temperature: --max-error 0.1 --as plain"];
    let result = run(&own, "c");
    assert_eq!(node(&result, "/temperature")["quantization"]["as"], "plain");
    test.run(["transcode", "--as", "cf", "--rule", "x: --compress none", "a", "d"]).fails(2, &["--as needs"]);
    test.run(["transcode", "--range", "0,1", "a", "d"].iter().chain(&rule)).fails(2, &["--range needs"]);
}
