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
    assert_eq!(result["schema"], "zarrcast.inspect/1");
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
fn group_is_drawn_as_a_tree_within_80_columns() {
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

attributes
  title  \"two\"

node       shape      data type  chunks            codecs                 size
inner/
  sharded  1000,2000  float32    50,10 in 100,100  shard[bytes zstd]  7.63 MiB
";
    assert_eq!(run.text(), expected);
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
fn values_of_a_group_are_refused() {
    let store = fixture("zarr-python_3.1.6_group");
    for option in [["--stats"].as_slice(), &["--chunk", "0,0"], &["--preview"]] {
        let arguments = [&["inspect"], option, &[store.to_str().unwrap()]].concat();
        CliTest::new().run(arguments).fails(1, &["is a group", "name an array"]);
    }
}
