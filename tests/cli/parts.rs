//! `transcode` in parts writes the same destination as one run, byte for byte.

use serde_json::{Value, json};

use super::support::{CliTest, Run, vlen};
use super::two_passes::write_planes;

/// Writes a float32 array of 6 x 6 chunks of 8 x 8. One in seven is missing, some contain only the fill value.
fn field(test: &CliTest, name: &str) {
    let attributes = json!({"units": "K"});
    test.array(name, json!({"shape": [47, 45], "chunk_shape": [8, 8], "fill_value": -1.0, "attributes": attributes}));
    for chunk in 0..36_u16 {
        if chunk % 7 == 3 {
            continue;
        }
        let value = |element: u16| match chunk {
            10 | 11 => -1.0,
            _ => f32::from(chunk * 64 + element) / 16.0,
        };
        let bytes: Vec<u8> = (0..64).flat_map(|element| value(element).to_le_bytes()).collect();
        test.write(&format!("{name}/c/{}/{}", chunk / 6, chunk % 6), bytes);
    }
}

/// The options of the jobs.
const JOBS: [&[&str]; 18] = [
    &[],
    &["--verify"],
    &["-s", "16,16", "--verify"],
    &["--quantize", "uint8", "--verify"],
    &["--quantize", "int16", "-c", "5,9", "--verify"],
    &["--data-type", "float64", "-c", "5,9", "-s", "10,18", "--verify"],
    &["--compress", "zstd:3"],
    &["--compress", "none"],
    &["-s", "16,16"],
    &["-c", "5,9", "-s", "10,18"],
    &["-c", "12,0", "--compress", "gzip:1"],
    &["--quantize", "uint8", "--range=-1,150", "--write-empty-chunks"],
    &["--quantize", "uint8"],
    &["--max-error", "0.05", "--compress", "zstd:1"],
    &["--step", "0.0625", "-s", "24,24"],
    &["--quantize", "int16", "--as", "cf", "-c", "5,9"],
    &["--max-error", "0.5", "--range=-1,150"],
    &["--max-error", "0.5", "--select", "1=3:40,0=2:44"],
];

fn init(test: &CliTest, options: &[&str], partitions: &str, destination: &str) -> Value {
    let fixed = ["transcode", "--json", "a", destination, "--init", "--partitions", partitions];
    test.run(fixed.iter().chain(options)).succeeds().json()
}

fn part(test: &CliTest, destination: &str, index: u64) -> Run {
    test.run(["transcode", "--json", "a", destination, "--partition", &index.to_string()])
}

fn command(test: &CliTest, destination: &str, command: &str) -> Run {
    test.run(["transcode", "--json", "a", destination, command])
}

/// Returns the result members of a node that must be equal. With another grid, two parts may read one chunk of SOURCE.
fn figures(result: &Value) -> Vec<Value> {
    let node = |node: &Value| {
        let mut node = node.clone();
        for name in ["memory_bytes", "units", "passes", "read_amplification"] {
            node[name].take();
        }
        if node["route"] == "rechunk" {
            for name in ["bytes_read", "bytes_temporary"] {
                node[name].take();
            }
        }
        node
    };
    result["nodes"].as_array().unwrap().iter().map(node).collect()
}

/// Runs a job as a whole, and in parts: in reverse order and each part twice. Returns its passes.
fn try_job(test: &CliTest, number: usize, options: &[&str]) -> Vec<String> {
    let (whole, destination) = (format!("whole{number}"), format!("parts{number}"));
    let fixed = ["transcode", "--json", "a", &whole];
    let wanted = test.run(fixed.iter().chain(options)).succeeds().json();
    let planned = init(test, options, "4", &destination);
    assert_eq!(planned["partitions"], 4, "{options:?}: {planned}");
    let passes: Vec<(String, u64)> = planned["passes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pass| (pass["name"].as_str().unwrap().to_owned(), pass["partitions"].as_u64().unwrap()))
        .collect();
    assert_eq!(init(test, options, "4", &destination)["was_there"], true);
    for (place, (name, partitions)) in passes.iter().enumerate() {
        if place + 1 < passes.len() {
            let early = test.run(["transcode", "a", &destination, "--partition", "0", "--pass", "write"]);
            early.fails(4, &["`write` cannot begin", name, "`--status` shows which"]);
        }
        for index in (0..*partitions).rev() {
            let status = command(test, &destination, "--status");
            assert_eq!((status.status, &status.json()["complete"]), (1, &Value::from(false)), "{}", status.error);
            let done = part(test, &destination, index).succeeds().json();
            assert_eq!(
                (&done["was_done"], &done["pass"]),
                (&Value::from(false), &Value::from(name.as_str())),
                "{options:?}"
            );
            let again =
                test.run(["transcode", "--json", "a", &destination, "--partition", &index.to_string(), "--pass", name]);
            assert_eq!(again.succeeds().json()["was_done"], true);
        }
    }
    command(test, &destination, "--status").succeeds();
    let result = command(test, &destination, "--finish").succeeds().json();
    assert_eq!(figures(&result), figures(&wanted), "{options:?}");
    let [found, wanted] = [&destination, &whole].map(|folder| test.all_files(folder));
    assert!(found == wanted, "{options:?}: {:?} and {:?}", found.keys(), wanted.keys());
    for again in ["--finish", "--status"] {
        assert_eq!(command(test, &destination, again).succeeds().json()["complete"], true);
    }
    assert_eq!(part(test, &destination, 0).succeeds().json()["complete"], true);
    passes.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn parts_in_any_order_and_again_make_what_one_run_makes() {
    let test = CliTest::new();
    field(&test, "a");
    for (number, options) in JOBS.iter().enumerate() {
        let passes = try_job(&test, number, options);
        assert_eq!(passes.last().unwrap(), "write");
    }
}

#[test]
fn both_passes_of_a_transposing_rechunk_are_done_in_parts() {
    for is_sharded in [false, true] {
        let test = CliTest::new();
        write_planes(&test, "a", is_sharded);
        let chunks = ["-c", "0,5,6", "-s", "none", "--max-memory", "600000"];
        assert_eq!(try_job(&test, 0, &chunks), ["staging", "write"]);
        let quantised =
            ["-c", "0,5,6", "-s", "0,10,12", "--data-type", "float32", "--verify", "--max-memory", "640000"];
        assert_eq!(try_job(&test, 1, &quantised), ["staging", "write"]);
        let selected = ["-c", "0,5,6", "-s", "none", "--select", "0=2:58", "--max-memory", "600000"];
        assert_eq!(try_job(&test, 2, &selected), ["staging", "write"]);
    }
    let test = CliTest::new();
    test.group("a");
    write_planes(&test, "a/planes", false);
    assert_eq!(try_job(&test, 0, &["-c", "0,5,6", "--max-memory", "600000"]), ["staging", "write"]);
    // One pass is enough for this array: it is neither written nor verified in the first.
    test.array("a/small", json!({})).write("a/small/c/0", [1; 16]);
    let verified = ["--include", "planes", "-c", "0,5,6", "--verify", "--max-memory", "640000"];
    assert_eq!(try_job(&test, 1, &verified), ["staging", "write"]);
}

/// Writes a group with a field, a small array, text, and a file outside all nodes.
fn hierarchy(test: &CliTest) {
    test.write("a/zarr.json", r#"{"zarr_format":3,"node_type":"group","attributes":{"title":"t"}}"#);
    field(test, "a/field");
    field(test, "a/deep/field");
    test.group("a/deep");
    test.write("a/notes.txt", "not Zarr");
    let codecs = json!([{"name": "vlen-utf8"}]);
    test.array(
        "a/names",
        json!({"shape": [5], "chunk_shape": [2], "data_type": "string", "fill_value": "", "codecs": codecs}),
    );
    test.write("a/names/c/0", vlen(&["ab", "c"])).write("a/names/c/1", vlen(&["", "long word"]));
}

#[test]
fn hierarchy_is_made_in_parts() {
    let test = CliTest::new();
    hierarchy(&test);
    let jobs: [&[&str]; 4] = [
        &[],
        &["--compress", "zstd:1", "--verify"],
        &["--quantize", "uint8", "--rule", "field: --max-error 0.5", "--verify"],
        &["-s", "24,24", "--exclude", "names"],
    ];
    for (number, options) in jobs.iter().enumerate() {
        try_job(&test, number, options);
    }
}

#[test]
fn part_that_is_killed_goes_on_and_leaves_nothing_over() {
    let test = CliTest::new();
    write_planes(&test, "a", false);
    let options = ["-c", "0,5,6", "--compress", "zstd:19", "--max-memory", "1100000"];
    let fixed = ["transcode", "-q", "a", "whole"];
    test.run(fixed.iter().chain(&options)).succeeds();
    init(&test, &options, "3", "b");
    let mut kills = 0;
    for round in 0.. {
        let status = command(&test, "b", "--status").json();
        let left = status["passes"].as_array().unwrap().iter().any(|pass| pass["missing"] != "");
        if !left {
            break;
        }
        for index in ["2", "0", "1"] {
            let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_zarrcast"))
                .args(["transcode", "-q", "a", "b", "--partition", index])
                .current_dir(test.path(""))
                .spawn()
                .unwrap();
            // Each round gives a part a little more time.
            std::thread::sleep(std::time::Duration::from_millis(2 * round));
            child.kill().unwrap();
            kills += u32::from(!child.wait().unwrap().success());
        }
    }
    assert!(kills > 0);
    let result = command(&test, "b", "--finish").succeeds().json();
    assert_eq!(result["nodes"][0]["chunks_written"], 16);
    assert!(test.all_files("b") == test.all_files("whole"));
}

#[test]
fn finish_tells_the_memory_of_a_run_that_verifies_as_the_parts_did() {
    let test = CliTest::new();
    field(&test, "a");
    let limits = ["--threads", "1", "--max-memory", "64MiB"];
    let memory = |result: Value| result["nodes"][0]["memory_bytes"].as_u64().unwrap();
    for change in [&["--compress", "zstd:1"][..], &["-c", "5,9", "-s", "10,18"]] {
        let run = |destination: &str, options: &[&str]| {
            let fixed = ["transcode", "--json", "a", destination];
            test.run(fixed.iter().chain(&limits).chain(options)).succeeds().json()
        };
        let [verified, plain] = ["verified", "plain"].map(|name| format!("{name}{}", change.len()));
        let wanted = memory(run(&verified, &[change, &["--verify"]].concat()));
        assert_ne!(wanted, memory(run(&plain, change)), "{change:?}");
        let destination = format!("parts{}", change.len());
        run(&destination, &[change, &["--verify", "--init", "--partitions", "2"]].concat());
        (0..2).for_each(|index| drop(part(&test, &destination, index).succeeds()));
        assert_eq!(memory(run(&destination, &["--finish"])), wanted, "{change:?}");
    }
}

#[test]
fn part_of_the_range_pass_tells_what_it_read() {
    let test = CliTest::new();
    field(&test, "a");
    test.run(["transcode", "-s", "16,16", "a", "sharded"]).succeeds();
    // Chunks that are read whole, elements that are read piece by piece, and inner chunks with their shard indexes.
    test.run(["transcode", "--compress", "gzip:1", "a", "packed"]).succeeds();
    for source in ["a", "packed", "sharded"] {
        let destination = format!("{source}_codes");
        let arguments = ["transcode", "--json", source, &destination];
        let run = |options: &[&str]| test.run(arguments.iter().chain(options)).succeeds().json();
        run(&["--init", "--partitions", "2", "--quantize", "uint8"]);
        let chunks = test.all_files(source).into_iter().filter(|(name, _)| name.starts_with("c/"));
        let stored: u64 = chunks.map(|(_, bytes)| bytes.len() as u64).sum();
        let read = ["0", "1"].map(|part| run(&["--partition", part]));
        assert!(read.iter().all(|part| part["pass"] == "range" && part["bytes_written"] == 0), "{read:?}");
        let read: u64 = read.iter().map(|part| part["bytes_read"].as_u64().unwrap()).sum();
        assert_eq!(read, stored, "{source}");
    }
    test.run(["transcode", "a", "text", "--init", "--partitions", "1", "--quantize", "uint8"]).succeeds();
    let text = test.run(["transcode", "a", "text", "--partition", "0"]).succeeds();
    assert!(text.text().contains(" KiB read\n") && !text.text().contains("written"), "{}", text.text());
}

#[test]
fn fill_value_is_held_against_the_codes_when_their_range_is_known() {
    let test = CliTest::new();
    test.array("a", json!({"shape": [255], "chunk_shape": [51], "fill_value": "NaN"}));
    for chunk in 0..5_u16 {
        let values = (chunk * 51..).take(51).flat_map(|value| f32::from(value).to_le_bytes());
        test.write(&format!("a/c/{chunk}"), values.collect::<Vec<u8>>());
    }
    try_job(&test, 0, &["--quantize", "uint8", "--fill-value", "0"]);
    init(&test, &["--quantize", "uint8", "--fill-value", "0.3"], "1", "b");
    part(&test, "b", 0).succeeds();
    part(&test, "b", 0).fails(1, &["the fill value 0.3 does not survive", "ZC237"]);
}

#[test]
fn script_with_more_threads_gives_a_part_more_memory() {
    let test = CliTest::new();
    field(&test, "a");
    let planned = init(&test, &["--compress", "zstd:1"], "4", "b");
    let memory = (planned["memory_bytes"].as_u64().unwrap() * 8).to_string();
    for engine in ["slurm", "kubernetes", "dask", "snakemake"] {
        let script = test.run(["transcode", "a", "b", "--print-script", engine, "--threads", "8"]).succeeds();
        assert!(script.text().contains(&memory), "{engine} without {memory}:\n{}", script.text());
    }
}

/// A part of a plan finishes after DEST was removed and planned again.
#[test]
fn part_of_a_job_that_was_removed_counts_for_nothing() {
    let test = CliTest::new();
    field(&test, "a");
    init(&test, &["--compress", "zstd:1"], "2", "b");
    part(&test, "b", 0).succeeds();
    let old = test.all_files("b");
    std::fs::remove_dir_all(test.path("b")).unwrap();
    init(&test, &["--compress", "gzip:9"], "2", "b");
    for (key, bytes) in &old {
        if key != ".zarrcast/plan.json" {
            test.write(&format!("b/{key}"), bytes);
        }
    }
    let status = command(&test, "b", "--status");
    assert!(status.error.contains("belongs to another job"), "{}", status.error);
    assert_eq!(status.json()["passes"][0]["missing"], "0-1");
    for index in 0..2 {
        assert_eq!(part(&test, "b", index).succeeds().json()["was_done"], false);
    }
    let finished = command(&test, "b", "--finish");
    assert!(finished.status == 0 && finished.error.contains("belongs to another job"), "{}", finished.error);
    test.run(["transcode", "-q", "--compress", "gzip:9", "a", "whole"]).succeeds();
    assert!(test.all_files("b") == test.all_files("whole"));
}

#[test]
fn pass_for_intermediate_data_has_no_more_parts_than_there_are_stored_objects() {
    let test = CliTest::new();
    write_planes(&test, "a", false);
    let planned = init(&test, &["-c", "0,5,6", "-s", "0,20,24", "--max-memory", "560000"], "100", "b");
    let partitions = |pass: usize| planned["passes"][pass]["partitions"].as_u64().unwrap();
    assert_eq!(planned["passes"][0]["name"], "staging", "{planned}");
    assert!(partitions(0) <= planned["objects"].as_u64().unwrap(), "{planned}");
}
