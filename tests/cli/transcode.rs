//! `transcode`: results that do not depend on threads, and plans that report the future contents.

use serde_json::{Value, json};

use super::support::{CliTest, fixture};

#[test]
fn result_is_the_same_for_any_number_of_threads() {
    let source = fixture("sea_surface_temperature");
    let [one, four] = ["1", "4"].map(|threads| {
        let test = CliTest::new();
        let options =
            ["transcode", "--json", "--max-error", "0.05", "--threads", threads, source.to_str().unwrap(), "b"];
        let mut result = test.run(options).json();
        result["seconds"].take();
        result["nodes"][0]["memory_bytes"].take();
        (result, test.read("b/zarr.json"), test.read("b/c/0/0/0"))
    });
    assert_eq!(one, four);
}

/// Counts the files and folders in a folder, including itself.
fn files_and_folders(folder: &std::path::Path) -> [u64; 2] {
    let mut counts = [0, 1];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let inside = if path.is_dir() { files_and_folders(&path) } else { [1, 0] };
        counts = [counts[0] + inside[0], counts[1] + inside[1]];
    }
    counts
}

#[test]
fn plan_tells_the_keys_files_and_folders_that_will_be() {
    let test = CliTest::new();
    test.group("a").write("a/notes/today", "x");
    for (path, row) in [("a/x", 0), ("a/g/y", 1)] {
        test.array(path, json!({"shape": [6, 8], "chunk_shape": [2, 2], "data_type": "uint8"}));
        for chunk in 0..12 {
            test.write(&format!("{path}/c/{}/{}", chunk / 4, chunk % 4), [row + 1; 4]);
        }
    }
    test.group("a/g");
    for options in [&[][..], &["--zarr-format", "2"], &["-c", "3,8"], &["--separator", "."]] {
        let run = |more: &[&str]| test.run([&["transcode", "--json", "a", "b"], options, more].concat());
        let plan = run(&["--dry-run"]).succeeds().json()["plan"].clone();
        assert_eq!(run(&[]).succeeds().json()["plan"], Value::Null);
        let [files, folders] = files_and_folders(&test.path("b"));
        let requests = [&plan["requests_read"], &plan["requests_write"]];
        assert_eq!(requests, [&Value::Null; 2]);
        let told = ["keys", "files", "folders"].map(|member| plan[member].as_u64().unwrap());
        assert_eq!(told, [files, files, folders], "{options:?}");
        std::fs::remove_dir_all(test.path("b")).unwrap();
    }
    let text = test.run(["transcode", "--dry-run", "-c", "6,8", "a/x", "b"]).succeeds();
    for part in ["at most 2 files in 3 folders", "1 unit\n"] {
        assert!(text.text().contains(part), "{part}: {}", text.text());
    }
    let plan = test.run(["transcode", "--dry-run", "--json", "a/x", "b.zip"]).succeeds().json()["plan"].clone();
    assert_eq!([&plan["keys"], &plan["files"], &plan["folders"]], [13, 1, 0]);
}
