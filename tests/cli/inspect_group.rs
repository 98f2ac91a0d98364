//! `inspect` of a group: its tree.

use serde_json::{Value, json};

use super::support::{CliTest, fixture};

fn inspect(arguments: &[&str]) -> Value {
    let store = fixture("zarr-python_3.1.6_group");
    let arguments = [&["inspect", "--json"], arguments, &[store.to_str().unwrap()]].concat();
    CliTest::new().run(arguments).succeeds().json()
}

fn paths(result: &Value) -> Vec<(&str, &str)> {
    let nodes = result["nodes"].as_array().unwrap().iter();
    nodes.map(|node| (node["path"].as_str().unwrap(), node["node_type"].as_str().unwrap())).collect()
}

#[test]
fn group_lists_its_nodes_flat_in_the_order_of_their_paths() {
    let result = inspect(&[]);
    assert_eq!(result["schema"], "zarrcast.inspect/2");
    assert_eq!([&result["node_type"], &result["path"]], ["group", "/"]);
    assert_eq!(result["zarr_format"], 3);
    assert!(result["attributes"].is_object());
    assert_eq!(result["warnings"], json!([]));
    let nodes = paths(&result);
    assert!(
        nodes.contains(&("/ocean", "group")) && nodes.contains(&("/ocean/salinity", "array")),
        "{nodes:?}"
    );
    assert!(nodes.is_sorted() && !nodes.iter().any(|(path, _)| *path == "/"), "{nodes:?}");
    let salinity =
        result["nodes"].as_array().unwrap().iter().find(|node| node["path"] == "/ocean/salinity").unwrap();
    let array = inspect(&["--node", "ocean/salinity"]);
    for name in [
        "shape",
        "data_type",
        "chunk_shape",
        "shard_shape",
        "codecs",
        "dimension_names",
        "fill_value",
        "attributes",
    ] {
        assert_eq!(salinity[name], array[name], "{name}");
    }
    assert_eq!(salinity["bytes_logical"], array["storage"]["bytes_logical"]);
    assert_eq!(array["path"], "/ocean/salinity");
}

#[test]
fn group_inside_a_store_and_depth_bound_what_is_listed() {
    let all = inspect(&[]);
    let one = inspect(&["--depth", "1"]);
    assert!(paths(&one).iter().all(|(path, _)| path.matches('/').count() == 1));
    assert!(paths(&one).len() < paths(&all).len());
    assert_eq!(inspect(&["--depth", "0"])["nodes"], json!([]));
    let ocean = inspect(&["--node", "/ocean", "--depth", "1"]);
    assert_eq!(ocean["path"], "/ocean");
    assert!(paths(&ocean).iter().all(|(path, _)| path.starts_with("/ocean/")));
    assert!(!paths(&ocean).is_empty());
}

#[test]
fn group_is_drawn_as_a_tree() {
    let test = CliTest::new();
    let group = r#"{"zarr_format":3,"node_type":"group","attributes":{"title":"two"}}"#;
    test.write("g/zarr.json", group).write("g/inner/zarr.json", group);
    let array = r#"{"zarr_format":3,"node_type":"array","shape":[1000,2000],"data_type":"float32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[100,100]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"sharding_indexed","configuration":
        {"chunk_shape":[50,10],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},
        {"name":"zstd","configuration":{"level":1,"checksum":false}}],
        "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]}"#;
    test.write("g/inner/sharded/zarr.json", array);
    let run = test.run(["inspect", "g"]).succeeds();
    let expected = "\
g: group, Zarr v3; 1 array, 1 group below it
  metadata  not consolidated

attributes
  title  \"two\"

  node       shape      type     chunks            codecs              decoded  stored  ratio
  inner/
    sharded  1000,2000  float32  50,10 in 100,100  shard[bytes zstd]  7.63 MiB     0 B
";
    assert_eq!(run.text(), expected);
}

#[cfg(unix)]
#[test]
fn tree_has_names_sizes_totals_and_fits_the_terminal() {
    use super::support::terminal::OnTerminal;
    let test = CliTest::new();
    let group = r#"{"zarr_format":3,"node_type":"group"}"#;
    test.write("g/zarr.json", group);
    let array = r#"{"zarr_format":3,"node_type":"array","shape":[4,8],"data_type":"uint8","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,4]}},
        "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}],"dimension_names":["time",null]}"#;
    let long = "a name that is far longer than what a table has room for on a terminal";
    for name in [long, "\u{6e29}\u{5ea6}"] {
        test.write(&format!("g/{name}/zarr.json"), array).write(&format!("g/{name}/c/0/0"), [0; 16]);
    }
    let document = test.run(["inspect", "--json", "g"]).succeeds().json();
    assert_eq!(document["totals"], json!({"arrays": 2, "bytes_logical": 64, "bytes_stored": 32}));
    assert_eq!(
        [&document["nodes"][0]["bytes_stored"], &document["consolidated"]],
        [&json!(16), &json!(false)]
    );
    let text = test.run(["inspect", "g"]).succeeds().text().to_owned();
    assert!(
        text.contains(&format!("  {long}  time=4,8  uint8  4,4     bytes      32 B    16 B   2.00\n")),
        "{text}"
    );
    assert!(text.lines().last().unwrap().trim_start().starts_with("total "), "{text}");
    assert!(text.ends_with(" 64 B    32 B   2.00\n"), "{text}");
    for columns in [60, 80, 200] {
        let shown = test.run_in_terminal(columns, OnTerminal::Both, &["inspect", "--color", "never", "g"]);
        assert!(shown.lines.iter().all(|line| line.chars().count() <= columns.into()), "{:#?}", shown.lines);
        assert_eq!(shown.lines.len(), text.lines().count(), "{:#?}", shown.lines);
        assert_eq!(shown.lines.iter().any(|line| line.contains(long)), columns == 200, "{:#?}", shown.lines);
    }
    let plain = test.run(["inspect", "--storage", "never", "--json", "g"]).succeeds().json();
    assert_eq!(plain["totals"]["bytes_stored"], Value::Null);
}

#[cfg(unix)]
#[test]
fn tree_keeps_dimension_names_and_sizes_on_a_narrow_terminal() {
    use super::support::terminal::OnTerminal;
    let test = CliTest::new();
    test.write("g/zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
    let array = r#"{"zarr_format":3,"node_type":"array","shape":[365,721,1440],"data_type":"float32","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1,721,1440]}},
        "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes","configuration":{"endian":"little"}},
        {"name":"zstd","configuration":{"level":1,"checksum":false}}],
        "dimension_names":["time","latitude","longitude"]}"#;
    test.write("g/mean_sea_level_pressure/zarr.json", array);
    let shown = |columns| {
        let run = test.run_in_terminal(columns, OnTerminal::Both, &["inspect", "--color", "never", "g"]);
        run.lines
            .iter()
            .map(|line| line.trim_end().to_owned())
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
    };
    let narrow = shown(80);
    assert!(narrow.iter().all(|line| line.chars().count() <= 80), "{narrow:#?}");
    let heading = narrow.iter().find(|line| line.trim_start().starts_with("node ")).unwrap();
    let columns: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(columns, ["node", "shape", "type", "decoded", "stored"], "{narrow:#?}");
    let row = narrow.last().unwrap();
    assert!(row.contains("  mean_sea_level_pressure  time=365,latitude=721,lo"), "{row}");
    assert!(row.ends_with("float32  1.41 GiB     0 B"), "{row}");
    let wide = shown(200);
    assert!(wide.last().unwrap().contains("  1,721,1440  bytes zstd  "), "{wide:#?}");
}

#[test]
fn damaged_member_is_a_finding_and_the_others_are_shown() {
    let test = CliTest::new();
    let group = r#"{"zarr_format":3,"node_type":"group"}"#;
    test.write("g/zarr.json", group).write("g/a/zarr.json", group).write("g/b/zarr.json", "{");
    let run = test.run(["inspect", "--json", "g"]);
    assert_eq!(run.status, 1);
    assert_eq!(paths(&run.json()), [("/a", "group"), ("/b", "unknown")]);
    let found = run.json()["warnings"][0].clone();
    assert_eq!([&found["severity"], &found["node"]], ["error", "/b"]);
    let run = test.run(["inspect", "g"]);
    assert!(run.text().contains("b (unreadable)"), "{}", run.text());
}

#[test]
fn what_only_an_array_can_answer_is_refused_for_a_group() {
    let store = fixture("zarr-python_3.1.6_group");
    for option in [["--histogram", "5"].as_slice(), &["--chunk", "0,0"], &["--preview"]] {
        let arguments = [&["inspect"], option, &[store.to_str().unwrap()]].concat();
        CliTest::new().run(arguments).fails(1, &["is a group", "name an array"]);
    }
}

/// A group of two arrays of values, a v2 one with missing values and a damaged one, and one of text.
fn group_of_values() -> CliTest {
    let test = CliTest::new();
    let array = |data_type: &str, fill_value: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[4],"data_type":{data_type},"fill_value":{fill_value},
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2]}}}},
            "chunk_key_encoding":{{"name":"default"}},
            "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}],"attributes":{{"missing_value":-1}}}}"#
        )
    };
    test.write("g/zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
    test.write("g/inner/zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
    test.write("g/a/zarr.json", array("\"int16\"", "7")).write("g/a/c/0", [255, 255, 2, 0]);
    test.write("g/inner/b/zarr.json", array("\"float32\"", "\"NaN\""));
    test.write("g/inner/b/c/1", [1.5f32.to_le_bytes(), 2.5f32.to_le_bytes()].concat());
    let text = r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":4}}"#;
    test.write("g/text/zarr.json", array(text, "\"\""));
    test
}

#[test]
fn stats_of_a_group_have_a_row_for_each_array() {
    let test = group_of_values();
    let run = test.run(["inspect", "--stats", "-q", "g"]).succeeds();
    let rows = "
values
  array    elements  NaN  missing  least  greatest     mean  deviation
  a               4    0        1      2         7  5.33333    2.35702
  inner/b         4    2        0    1.5       2.5        2        0.5
";
    assert!(run.text().ends_with(rows), "{}", run.text());
    let json = test.run(["inspect", "--stats", "--json", "-q", "g"]).succeeds().json();
    assert_eq!(
        (&json["warnings"][0]["code"], &json["warnings"][0]["node"]),
        (&"ZX201".into(), &"/text".into())
    );
    let stats = |path: &str| {
        let nodes = json["nodes"].as_array().unwrap();
        nodes.iter().find(|node| node["path"] == path).unwrap()["stats"].clone()
    };
    assert_eq!(stats("/inner/b"), test.run(["inspect", "--stats", "--json", "g/inner/b"]).json()["stats"]);
    assert_eq!(stats("/a"), test.run(["inspect", "--stats", "--json", "g/a"]).json()["stats"]);
    assert!(stats("/text").is_null() && stats("/inner").is_null());
    assert!(test.run(["inspect", "--json", "g"]).json()["nodes"][0]["stats"].is_null());
}

#[test]
fn stats_of_a_group_with_a_damaged_chunk_are_those_of_the_others() {
    let test = group_of_values();
    test.write("g/a/c/0", [1u8, 2, 3]);
    let run = test.run(["inspect", "--stats", "g"]);
    assert!(
        run.status == 1 && run.error.contains("error[ZX101]") && run.error.contains("a/c/0"),
        "{}",
        run.error
    );
    assert!(run.text().contains("  inner/b         4    2"), "{}", run.text());
    assert_eq!(run.text().matches("\n  a ").count(), 1, "in the tree alone: {}", run.text());
}

#[test]
fn several_stores_are_shown_one_after_the_other() {
    let test = group_of_values();
    let one = test.run(["inspect", "g"]).succeeds().text().to_owned();
    let other = test.run(["inspect", "g/a"]).succeeds().text().to_owned();
    let run = test.run(["inspect", "g", "g/a"]).succeeds();
    assert_eq!(run.text(), format!("{one}\n{other}"));
    let node = test.run(["inspect", "--node", "a", "g", "g"]).succeeds().text().to_owned();
    assert_eq!(
        node.matches("int16").count(),
        2 * test.run(["inspect", "--node", "a", "g"]).text().matches("int16").count()
    );
    let json = |arguments: &[&str]| test.run([&["inspect", "--json"], arguments].concat()).succeeds().json();
    let several = json(&["g/a", "g"]);
    assert_eq!(several["schema"], "zarrcast.inspect/2");
    assert_eq!([&several["failures"], &several["warnings"]], [&json!([]), &json!([])]);
    for (number, store) in ["g/a", "g"].into_iter().enumerate() {
        assert_eq!(several["stores"][number], json(&[store]), "{store}");
    }
    let stats = json(&["--stats", "g/a", "g/inner/b"]);
    assert_eq!([&stats["stores"][0]["stats"]["count"], &stats["stores"][1]["stats"]["nan"]], [4, 2]);
}

#[test]
fn of_several_stores_all_are_shown_and_3_beats_1() {
    let test = group_of_values();
    test.write("damaged/zarr.json", r#"{"zarr_format":3,"node_type":"array","shape":[-1]}"#);
    let run = test.run(["inspect", "none", "damaged", "g/a"]);
    assert_eq!(run.status, 3, "{}", run.error);
    assert!(run.error.contains("none") && run.error.contains("; at damaged, "), "{}", run.error);
    assert!(run.text().contains("int16"), "{}", run.text());
    assert_eq!(test.run(["inspect", "damaged", "g/a"]).status, 1);
    let run = test.run(["inspect", "--json", "none", "damaged", "g/a"]);
    let json = run.json();
    assert_eq!(run.status, 3);
    assert_eq!((&json["failures"][0]["store"], &json["stores"][1]["store"]), (&json!("none"), &json!("g/a")));
    assert_eq!(json["warnings"], json["stores"][0]["warnings"]);
    assert!(!json["warnings"].as_array().unwrap().is_empty());
    // What one group cannot answer does not keep the others from answering.
    let run = test.run(["inspect", "--histogram", "2", "-q", "g", "g/a"]);
    assert_eq!(run.status, 1);
    assert!(run.error.contains("is a group") && run.text().contains("int16"), "{}", run.error);
    test.run(["inspect", "--preview-png", "p.png", "g/a", "g/a"]).fails(2, &["--preview-png", "several"]);
    test.run(["inspect", "--preview", "g/a", "g/a"]).fails(2, &["AXIS=INDEX"]);
    test.run(["inspect"]).fails(2, &["STORE"]);
}
