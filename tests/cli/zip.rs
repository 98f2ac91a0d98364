//! Stores in zip files: every command reads them, and messages name their faults.

use std::path::Path;

use super::support::zip::{Member, zip};
use super::support::{CliTest, fixture};

/// Returns a zip of all files of a folder, each encoded by `member`, below a folder of the zip.
fn zip_of(folder: &Path, top: &str, member: fn(&str, &[u8]) -> Member) -> Vec<u8> {
    let (mut members, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let key = path.strip_prefix(folder).unwrap().to_str().unwrap();
            members.push(member(&format!("{top}{key}"), &std::fs::read(&path).unwrap()));
        }
    }
    members.sort_by(|a, b| a.name.cmp(&b.name));
    zip(&members)
}

const STORED: fn(&str, &[u8]) -> Member = |name, bytes| Member::stored(name, bytes);
const DEFLATED: fn(&str, &[u8]) -> Member = |name, bytes| Member::deflated(name, bytes);
const BY_ZSTD: fn(&str, &[u8]) -> Member = |name, bytes| Member::by_zstd(name, bytes);

/// Writes an array of 3 chunks. One is missing.
fn with_array() -> CliTest {
    let test = CliTest::new();
    test.write_float32("a.zarr", "0", &[Some([1.0, 2.0, 3.0, 4.0]), None, Some([5.0, 6.0, 7.0, 8.0])]);
    test
}

/// Writes a group of two arrays.
fn with_group() -> CliTest {
    let test = CliTest::new();
    test.group("g.zarr");
    test.write_float32("g.zarr/x", "0", &[Some([1.0; 4])]).write_float32("g.zarr/sub/y", "0", &[Some([2.0; 4])]);
    test.group("g.zarr/sub");
    test
}

#[test]
fn zip_is_read_as_its_folder_is() {
    let sharded = fixture("zarr-python_3.1.6_sharded_index_start");
    let test = with_array();
    for folder in [test.path("a.zarr"), sharded] {
        for member in [STORED, DEFLATED, BY_ZSTD] {
            test.write("a.zip", zip_of(&folder, "", member));
            let json = |store: &Path| {
                let run = test.run(["inspect", "--json", "--stats", store.to_str().unwrap()]);
                let mut json = run.succeeds().json();
                json["warnings"] = serde_json::Value::Null;
                json.to_string().replace(store.to_str().unwrap(), "STORE")
            };
            assert_eq!(json(Path::new("a.zip")), json(&folder));
            let folder = folder.to_str().unwrap();
            test.run(["validate", "--level", "data", "a.zip"]).succeeds();
            test.run(["validate", "a.zip", "--against", folder]).succeeds();
            test.run(["validate", folder, "--against", "a.zip"]).succeeds();
            test.run(["transcode", "a.zip", "copy.zarr", "--verify"]).succeeds();
            assert_eq!(test.all_files("copy.zarr"), test.all_files(folder));
            std::fs::remove_dir_all(test.path("copy.zarr")).unwrap();
            test.run(["transcode", "a.zip", "copy.zarr", "--compress", "gzip", "--verify"]).succeeds();
            std::fs::remove_dir_all(test.path("copy.zarr")).unwrap();
        }
    }
}

#[test]
fn node_of_a_zip_is_named_by_path_by_option_and_by_adapter() {
    let test = with_group();
    let inner = zip_of(&test.path("g.zarr"), "", STORED);
    test.write("g.zip", &inner).write("dir.zip/g.zip", &inner);
    test.write("top.zip", zip_of(&test.path("g.zarr"), "data.zarr/", DEFLATED));
    test.write("outer.zip", zip(&[Member::stored("in/g.zip", &inner), Member::stored("x", "")]));
    test.write("other.name", &inner);
    let folder = test.path("").display().to_string();
    let url = format!("file://{}/g.zip|zip:sub/y", folder.trim_end_matches('/'));
    for location in [
        "g.zip/sub/y",
        "g.zip|zip:sub/y",
        "dir.zip/g.zip/sub/y",
        "top.zip/sub/y",
        "top.zip/data.zarr/sub/y",
        "top.zip|zip:data.zarr/sub/y",
        "outer.zip|zip:in/g.zip|zip:sub/y",
        "other.name|zip:sub/y",
        &url,
    ] {
        let run = test.run(["inspect", "--json", location]).succeeds();
        assert_eq!(run.json()["node_type"], "array", "{location}");
        test.run(["validate", "--level", "data", location]).succeeds();
        test.run(["validate", "g.zarr/sub/y", "--against", location]).succeeds();
        test.run(["transcode", location, "y.zarr"]).succeeds();
        assert_eq!(test.all_files("y.zarr"), test.all_files("g.zarr/sub/y"));
        std::fs::remove_dir_all(test.path("y.zarr")).unwrap();
    }
    for store in ["g.zip", "top.zip", "g.zip|zip:", "g.zarr"] {
        test.run(["inspect", store, "--node", "sub/y"]).succeeds();
        test.run(["validate", store, "--node", "/sub/y/"]).succeeds();
        test.run(["transcode", store, "y.zarr", "--node", "sub/y"]).succeeds();
        assert_eq!(test.all_files("y.zarr"), test.all_files("g.zarr/sub/y"));
        std::fs::remove_dir_all(test.path("y.zarr")).unwrap();
        let run = test.run(["apply-codec", "--like", store, "--node", "sub/y", "--chunk", "0", "out"]);
        run.succeeds();
        assert_eq!(test.read("out").len(), 16);
        test.run(["transcode", store, "y.zarr", "--node", "../y"]).fails(2, &["--node: `..`"]);
    }
    test.run(["transcode", "g.zip", "out.zarr"]).succeeds();
    assert_eq!(test.all_files("out.zarr"), test.all_files("g.zarr"));
    assert_eq!(test.run(["inspect", "--json", "g.zip"]).succeeds().json()["node_type"], "group");
}

#[test]
fn zip_without_a_node_is_nothing_zarr() {
    let test = CliTest::new();
    test.write("n.zip", zip(&[Member::stored("readme", "")]));
    test.run(["inspect", "n.zip"]).fails(3, &["nothing Zarr at `n.zip`"]);
}

#[test]
fn damaged_zip_is_an_error_of_every_command() {
    let test = with_array();
    let whole = zip_of(&test.path("a.zarr"), "", STORED);
    test.write("cut.zip", &whole[..whole.len() - 30]);
    let document = test.read("a.zarr/zarr.json");
    let with = |member| zip(&[Member::stored("zarr.json", &document), member]);
    test.write("up.zip", with(Member::stored("../evil", "x")));
    test.write("abs.zip", with(Member::stored("/evil", "x")));
    let cases = [
        ("cut.zip", "cut.zip is damaged: its end is missing"),
        ("up.zip", "the name of its member \"../evil\" points outside of it"),
        ("abs.zip", "the name of its member \"/evil\" is an absolute path"),
    ];
    for (name, reason) in cases {
        test.run(["inspect", name]).fails(3, &[reason]);
        test.run(["transcode", name, "out.zarr"]).fails(3, &[reason]);
        let run = test.run(["validate", name]);
        assert!(run.status == 3 && run.error.contains(reason), "{}", run.error);
        let run = test.run(["validate", "a.zarr", "--against", name]);
        assert!(run.status == 3 && run.error.contains(reason), "{}", run.error);
        assert!(!test.exists("out.zarr"));
    }
}

#[test]
fn damaged_member_is_a_finding_that_names_it() {
    let test = with_array();
    let document = test.read("a.zarr/zarr.json");
    let chunk = Member::stored("c/0", test.read("a.zarr/c/0"));
    let cases = [
        (Member { crc32: 1, ..chunk.clone() }, "c/0 is damaged: its checksum is"),
        (Member { flags: 1, ..chunk.clone() }, "c/0 is damaged: it is encrypted"),
        (Member { method: 14, ..chunk.clone() }, "c/0 is not read: its compression method 14 is not supported"),
    ];
    for (member, reason) in cases {
        test.write("a.zip", zip(&[Member::stored("zarr.json", &document), member]));
        let run = test.run(["inspect", "--stats", "a.zip"]);
        assert!(run.status == 1 && run.error.contains(reason), "{reason}: {}", run.error);
        test.run(["transcode", "a.zip", "out.zarr"]).fails(1, &[reason, "restore the chunk"]);
        let run = test.run(["validate", "--level", "data", "--json", "a.zip"]);
        assert_eq!(run.status, 1, "{}{}", run.error, run.text());
        assert!(run.text().contains(reason), "{reason}: {}", run.text());
        assert!(!test.exists("out.zarr"));
    }
    test.write("a.zip", zip(&[Member::stored("zarr.json", &document), chunk.clone(), chunk]));
    let run = test.run(["validate", "--level", "data", "a.zip"]);
    assert!(run.status == 1 && format!("{}{}", run.error, run.text()).contains("two members of this name"));
    let method = Member { method: 14, ..Member::stored("zarr.json", &document) };
    for members in [vec![method], vec![Member::stored("zarr.json", &document); 2]] {
        test.write("a.zip", zip(&members));
        assert!(test.run(["validate", "a.zip"]).text().contains("help: write the zip file again: each name once"));
    }
}

#[test]
fn findings_of_a_zip_are_those_of_its_folder() {
    let test = with_group();
    test.write("g.zarr/sub/y/c/9", [1; 16]).write("g.zarr/sub/y/c/0", [1, 2, 3]).write("g.zarr/x/stray", "x");
    test.write("g.zarr/sub/notes/read.me", "text");
    test.write("g.zip", zip_of(&test.path("g.zarr"), "", DEFLATED));
    for level in ["metadata", "keys", "index", "data"] {
        let findings = |store: &str| {
            let run = test.run(["validate", "--json", "--level", level, store]);
            (run.status, run.text().replace(store, "STORE"))
        };
        assert_eq!(findings("g.zip"), findings("g.zarr"), "{level}");
    }
    assert!(test.run(["validate", "--json", "g.zip"]).text().contains("x/stray"));
}
