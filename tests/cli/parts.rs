//! `transcode` in parts: the same destination, byte for byte, as of one run.

use serde_json::Value;

use super::support::{CliTest, Run};
use super::two_passes::{files, write_planes};

/// A float32 array of 6 x 6 chunks of 8 x 8 elements, of which one in seven is absent and some hold the fill value alone.
pub(super) fn field(test: &CliTest, name: &str) {
    test.write(
        &format!("{name}/zarr.json"),
        r#"{"zarr_format":3,"node_type":"array","shape":[47,45],"data_type":"float32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[8,8]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":-1.0,
        "attributes":{"units":"K"},"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#,
    );
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

/// A job by its options, and how its parts are told apart.
const JOBS: [&[&str]; 17] = [
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
];

pub(super) fn init(test: &CliTest, options: &[&str], partitions: &str, destination: &str) -> Value {
    let fixed = ["transcode", "--json", "a", destination, "--init", "--partitions", partitions];
    test.run(fixed.iter().chain(options)).succeeds().json()
}

pub(super) fn part(test: &CliTest, destination: &str, index: u64) -> Run {
    test.run(["transcode", "--json", "a", destination, "--partition", &index.to_string()])
}

pub(super) fn command(test: &CliTest, destination: &str, command: &str) -> Run {
    test.run(["transcode", "--json", "a", destination, command])
}

/// The members of a node that tell what was done. Where the grid changes, chunks of SOURCE under two parts are read by both.
fn figures(result: &Value) -> Vec<Value> {
    let node = |node: &Value| {
        let mut node = node.clone();
        for name in ["memory_bytes", "units", "passes", "read_amplification"] {
            node[name].take();
        }
        if node["route"] == "rechunk" {
            for name in ["bytes_read", "bytes_temporary", "bytes_source"] {
                node[name].take();
            }
            if node["quantization"].is_object() {
                node["quantization"]["bytes_source"].take();
            }
        }
        node
    };
    result["nodes"].as_array().unwrap().iter().map(node).collect()
}

/// Runs a job as a whole and in parts, in the reverse order of their numbers and each twice; its passes.
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
            early.fails(4, &["`write` cannot begin", name, "`--status` says which"]);
        }
        for index in (0..*partitions).rev() {
            let status = command(test, &destination, "--status");
            assert_eq!(
                (status.status, &status.json()["complete"]),
                (1, &Value::from(false)),
                "{}",
                status.error
            );
            let done = part(test, &destination, index).succeeds().json();
            assert_eq!(
                (&done["was_done"], &done["pass"]),
                (&Value::from(false), &Value::from(name.as_str())),
                "{options:?}"
            );
            let again = test.run([
                "transcode",
                "--json",
                "a",
                &destination,
                "--partition",
                &index.to_string(),
                "--pass",
                name,
            ]);
            assert_eq!(again.succeeds().json()["was_done"], true);
        }
    }
    command(test, &destination, "--status").succeeds();
    let result = command(test, &destination, "--finish").succeeds().json();
    assert_eq!(figures(&result), figures(&wanted), "{options:?}");
    let [found, wanted] = [&destination, &whole].map(|folder| files(&test.path(folder)));
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
    }
}

/// A group with a field, a small array, text and a file that belongs to no node.
fn hierarchy(test: &CliTest) {
    test.write("a/zarr.json", r#"{"zarr_format":3,"node_type":"group","attributes":{"title":"t"}}"#);
    field(test, "a/field");
    field(test, "a/deep/field");
    test.group("a/deep");
    test.write("a/notes.txt", "not Zarr");
    test.write(
        "a/names/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[5],"data_type":"string","fill_value":"",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"codecs":[{"name":"vlen-utf8"}]}"#,
    );
    for (chunk, words) in [["ab", "c"], ["", "long word"]].iter().enumerate() {
        let mut bytes = 2_u32.to_le_bytes().to_vec();
        for word in words {
            bytes.extend(u32::try_from(word.len()).unwrap().to_le_bytes());
            bytes.extend(word.as_bytes());
        }
        test.write(&format!("a/names/c/{chunk}"), bytes);
    }
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
            // Each round a part has a little more time than before.
            std::thread::sleep(std::time::Duration::from_millis(2 * round));
            child.kill().unwrap();
            kills += u32::from(!child.wait().unwrap().success());
        }
    }
    assert!(kills > 0);
    let result = command(&test, "b", "--finish").succeeds().json();
    assert_eq!(result["nodes"][0]["chunks_written"], 16);
    assert!(files(&test.path("b")) == files(&test.path("whole")));
}

#[test]
fn finish_proves_that_objects_are_there_and_names_the_parts_of_those_that_are_not() {
    let test = CliTest::new();
    field(&test, "a");
    init(&test, &["--compress", "zstd:1"], "4", "b");
    for index in 0..4 {
        part(&test, "b", index).succeeds();
    }
    // One is gone, of another the end.
    std::fs::remove_file(test.path("b/c/5/4")).unwrap();
    let whole = std::fs::read(test.path("b/c/0/1")).unwrap();
    test.write("b/c/0/1", &whole[..whole.len() - 1]);
    let found = command(&test, "b", "--finish");
    let missing = &found.json()["passes"][0]["missing"];
    assert_eq!((found.status, missing), (1, &Value::from("0,3")), "{}", found.error);
    assert!(!test.exists("b/zarr.json"));
    for index in [0, 3] {
        part(&test, "b", index).succeeds();
    }
    test.write("b/c/0/3", b"nobody's");
    let found = command(&test, "b", "--finish");
    assert_eq!(
        (found.status, &found.json()["passes"][0]["missing"]),
        (1, &Value::from("0")),
        "{}",
        found.error
    );
    part(&test, "b", 0).succeeds();
    command(&test, "b", "--finish").succeeds();
    test.run(["transcode", "-q", "--compress", "zstd:1", "a", "whole"]).succeeds();
    assert!(files(&test.path("b")) == files(&test.path("whole")));
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
fn finish_interrupted_before_it_cleared_up_is_done_again() {
    let test = CliTest::new();
    field(&test, "a");
    init(&test, &[], "2", "b");
    let plan = std::fs::read(test.path("b/.zarrcast/plan.json")).unwrap();
    (0..2).for_each(|index| drop(part(&test, "b", index).succeeds()));
    command(&test, "b", "--finish").succeeds();
    let wanted = files(&test.path("b"));
    // As if it had ended before the plan was removed.
    test.write("b/.zarrcast/plan.json", plan);
    assert_eq!(command(&test, "b", "--status").succeeds().json()["complete"], true);
    assert_eq!(command(&test, "b", "--finish").succeeds().json()["complete"], true);
    assert!(files(&test.path("b")) == wanted);
}

#[test]
fn plan_of_an_older_version_is_refused() {
    let test = CliTest::new();
    field(&test, "a");
    init(&test, &[], "2", "b");
    let plan = String::from_utf8(std::fs::read(test.path("b/.zarrcast/plan.json")).unwrap()).unwrap();
    assert!(plan.contains("zarrcast.parts/3"));
    test.write("b/.zarrcast/plan.json", plan.replace("zarrcast.parts/3", "zarrcast.parts/2"));
    for run in [part(&test, "b", 0), command(&test, "b", "--status"), command(&test, "b", "--finish")] {
        run.fails(3, &["`schema`", "zarrcast.parts/3", "remove DEST, and begin again with `--init`"]);
    }
}

#[test]
fn plan_of_another_source_is_refused_and_both_are_named() {
    let test = CliTest::new();
    field(&test, "a");
    field(&test, "other");
    for options in [&["--quantize", "uint8"][..], &[]] {
        let destination = if options.is_empty() { "plain" } else { "quantised" };
        init(&test, options, "2", destination);
        for asked in ["--partition=0", "--status", "--finish", "--print-script=slurm"] {
            let run = test.run(["transcode", "other", destination, asked]);
            let run =
                run.fails(3, &["sealed for the SOURCE `[FOLDER]/a`, not for `[FOLDER]/other`", "help: "]);
            assert!(!run.error.contains("0.1.0"), "{}", run.error);
        }
        // Nothing was done.
        assert!(!test.exists(&format!("{destination}/.zarrcast/parts")));
    }
    // A link to SOURCE is SOURCE.
    std::os::unix::fs::symlink(test.path("a"), test.path("link")).unwrap();
    for asked in ["--partition=0", "--partition=1", "--finish"] {
        test.run(["transcode", "--json", "link", "plain", asked]).succeeds();
    }
    // What is complete does not tell of what it was made.
    test.run(["transcode", "--json", "other", "plain", "--status"]).succeeds();
}

#[test]
fn part_of_the_range_pass_tells_what_it_read() {
    let test = CliTest::new();
    field(&test, "a");
    test.run(["transcode", "-s", "16,16", "a", "sharded"]).succeeds();
    // Whole chunks at once; elements that are read piece by piece; inner chunks with the indexes of their shards.
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
    test.write(
        "a/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[255],"data_type":"float32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[51]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":"NaN",
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#,
    );
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
fn what_is_no_job_or_no_part_of_it_is_refused() {
    let test = CliTest::new();
    field(&test, "a");
    for asked in ["--status", "--finish", "--partition=0", "--print-script=slurm"] {
        test.run(["transcode", "a", "b", asked]).fails(3, &["no job in parts was begun in `b`", "--init"]);
    }
    assert!(!test.exists("b"));
    for (options, said) in [
        (&["--init"][..], "--partitions"),
        (&["--partitions", "2"], "--init"),
        (&["--init", "--partitions", "0"], "0 is not in 1.."),
        (&["--init", "--partitions", "2", "--overwrite"], "cannot be used with"),
        (&["--init", "--partitions", "2", "--resume"], "cannot be used with"),
        (&["--partition", "0", "--finish"], "cannot be used with"),
        (&["--partition", "0", "--partitions", "3"], "cannot be used with"),
        (&["--status", "--partitions", "3"], "cannot be used with"),
        (&["--finish", "--partitions", "3"], "cannot be used with"),
        (&["--partition", "x"], "give a number from 0, or `auto`"),
        (&["--pass", "write"], "--partition"),
        (&["--first-index", "1"], "--first-index needs --partition"),
    ] {
        let arguments = ["transcode", "a", "b"];
        test.run(arguments.iter().chain(options)).fails(2, &[said]);
    }
    init(&test, &["--compress", "zstd:1"], "4", "b");
    let refused = test.run(["transcode", "a", "b", "--init", "--partitions", "5", "--compress", "zstd:1"]);
    refused.fails(3, &["in `b` another plan is under way"]);
    test.run(["transcode", "a", "b", "--init", "--partitions", "4"]).fails(3, &["another plan"]);
    test.run(["transcode", "a", "b", "--partition", "4"]).fails(2, &["there is no part 4", "the last is 3"]);
    test.run(["transcode", "a", "b", "--partition", "1", "--compress", "zstd:2"])
        .fails(2, &["the options of the job were given to --init"]);
    test.run(["transcode", "a", "b", "--partition", "1", "--pass", "range"])
        .fails(2, &["no pass `range`", "write"]);
    test.run(["transcode", "a", "b", "--partition", "auto"])
        .fails(2, &["no scheduler", "SLURM_ARRAY_TASK_ID"]);
    for options in [&[][..], &["--resume"]] {
        let arguments = ["transcode", "--compress", "zstd:1", "a", "b"];
        test.run(arguments.iter().chain(options))
            .fails(3, &["`b` is a job in parts, and not finished", "--status"]);
    }
    test.write(
        "a/zarr.json",
        std::fs::read_to_string(test.path("a/zarr.json")).unwrap().replace("\"K\"", "\"C\""),
    );
    test.run(["transcode", "a", "b", "--partition", "1"])
        .fails(3, &["SOURCE has changed since the plan was sealed"]);
    test.run(["transcode", "-q", "--overwrite", "a", "b"]).succeeds();
    assert!(test.exists("b/zarr.json") && !test.exists("b/.zarrcast"));
}

#[test]
fn number_of_a_part_comes_from_the_scheduler() {
    let test = CliTest::new();
    field(&test, "a");
    init(&test, &[], "4", "b");
    let of = |variable: &str, value: &str, options: &[&str]| {
        let arguments = ["transcode", "--json", "a", "b", "--partition", "auto"];
        test.run_with(arguments.iter().chain(options), &[(variable, value)])
    };
    for (variable, value, options, part) in [
        ("SLURM_ARRAY_TASK_ID", "0", &[][..], 0),
        ("JOB_COMPLETION_INDEX", "1", &[], 1),
        ("AWS_BATCH_JOB_ARRAY_INDEX", "2", &[], 2),
        ("BATCH_TASK_INDEX", "3", &[], 3),
        ("SGE_TASK_ID", "1", &[], 0),
        ("PBS_ARRAY_INDEX", "1", &[], 1),
        ("LSB_JOBINDEX", "4", &[], 3),
        ("SLURM_ARRAY_TASK_ID", "11", &["--first-index", "10"], 1),
    ] {
        assert_eq!(of(variable, value, options).succeeds().json()["partition"], part, "{variable}");
    }
    of("SGE_TASK_ID", "0", &[]).fails(2, &["SGE_TASK_ID is 0, and parts are counted from 1"]);
    of("SLURM_ARRAY_TASK_ID", "x", &[]).fails(2, &["SLURM_ARRAY_TASK_ID is `x`"]);
    of("SGE_TASK_ID", "undefined", &[]).fails(2, &["no scheduler"]);
    let status = test.run(["transcode", "--json", "a", "b", "--status", "--first-index", "1"]);
    assert_eq!(status.json()["passes"][0]["missing"], "");
}

#[test]
fn plan_of_very_many_objects_is_a_warning_that_names_larger_shards() {
    let test = CliTest::new();
    test.write(
        "a/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[400,400],"data_type":"uint8","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[400,400]}},"attributes":{},
        "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]}"#,
    );
    test.write("a/c/0/0", vec![1; 160_000]);
    let arguments = ["transcode", "-c", "1,1", "a", "b", "--init", "--partitions", "4"];
    let run = test.run(arguments);
    assert_eq!(run.status, 0, "{}", run.error);
    for part in
        ["warning[ZK209", "DEST will have 160000 files", "`--shard-shape 400,400`", "1 shard of 156 KiB"]
    {
        assert!(run.error.contains(part), "{part} is not in:\n{}", run.error);
    }
}

const ENGINES: [&str; 4] = ["slurm", "kubernetes", "dask", "snakemake"];

#[test]
fn script_says_how_stores_are_reached_and_what_a_part_may_use() {
    let test = CliTest::new();
    field(&test, "a");
    let planned = init(&test, &["--compress", "zstd:1"], "4", "b");
    let arguments = [
        "transcode",
        "a",
        "b",
        "--storage-option",
        "aws_region=eu central",
        "--storage-option",
        "endpoint=http://localhost:9000",
        "--anonymous",
        "--requests",
        "7",
        "--missing-status",
        "403",
        "--allow-file-references",
        "--threads",
        "3",
        "--max-memory",
        "200MiB",
    ];
    for engine in ENGINES {
        let script = test.run(arguments.iter().chain(&["--print-script", engine])).succeeds();
        let script = script.text();
        for word in [
            "--storage-option=aws_region=eu central",
            "--storage-option=endpoint=http://localhost:9000",
            "--anonymous",
            "--requests=7",
            "--missing-status=403",
            "--allow-file-references",
            "209715200",
            "--threads",
        ] {
            assert!(script.contains(word), "{engine} without {word}:\n{script}");
        }
        let threads = ["--threads 3 ", "- \"3\"", "THREADS = 3\n"];
        assert!(threads.iter().any(|threads| script.contains(threads)), "{engine}:\n{script}");
        // With more threads than the plan has a part takes more memory.
        let script = test.run(["transcode", "a", "b", "--print-script", engine, "--threads", "8"]).succeeds();
        let memory = (planned["memory_bytes"].as_u64().unwrap() * 8).to_string();
        assert!(script.text().contains(&memory), "{engine} without {memory}:\n{}", script.text());
    }
}

#[test]
fn script_names_a_node_inside_a_zip_file_from_any_folder() {
    let test = CliTest::new();
    field(&test, "a/t");
    test.group("a");
    test.run(["transcode", "-q", "a", "s.zip"]).succeeds();
    let store = ["transcode", "s.zip", "b", "--node", "t"];
    test.run(store.iter().chain(&["--init", "--partitions", "2"])).succeeds();
    let source = test.path("s.zip/t").to_str().unwrap().to_owned();
    let destination = test.path("b").to_str().unwrap().to_owned();
    for engine in ENGINES {
        let script = test.run(store.iter().chain(&["--print-script", engine])).succeeds();
        assert!(script.text().contains(&source), "{engine}: no {source} in\n{}", script.text());
    }
    for part in ["0", "1"] {
        test.run(["transcode", &source, &destination, "--partition", part]).succeeds();
    }
    test.run(["transcode", &source, &destination, "--finish"]).succeeds();
}

#[test]
fn script_never_has_a_secret() {
    let test = CliTest::new();
    field(&test, "a");
    init(&test, &[], "2", "b");
    for engine in ENGINES {
        for (setting, next) in [
            ("aws_secret_access_key=hidden", "AWS_SECRET_ACCESS_KEY in the environment"),
            ("aws_session_token=hidden", "AWS_SESSION_TOKEN"),
            ("azure_storage_sas_token=hidden", "AZURE_STORAGE_SAS_TOKEN"),
            ("google_service_account_key=hidden", "GOOGLE_SERVICE_ACCOUNT_KEY"),
            ("secret_access_key=hidden", "AWS_SECRET_ACCESS_KEY (or GOOGLE_, AZURE_)"),
            ("endpoint=http://me:hidden@localhost", "AWS_ENDPOINT"),
        ] {
            let run =
                test.run(["transcode", "a", "b", "--print-script", engine, "--storage-option", setting]);
            let run = run.fails(2, &["may be a secret", "not written into scripts", next]);
            assert!(!run.error.contains("hidden"), "{}", run.error);
        }
        for source in [
            "https://example.org/a.zarr?sig=hidden",
            "https://me:hidden@example.org/a.zarr",
            "file:///a?hidden",
        ] {
            let run = test.run(["transcode", source, "b", "--print-script", engine]);
            let run = run.fails(2, &["SOURCE `", "a query or a password", "--partition I"]);
            assert!(!run.error.contains("hidden"), "{}", run.error);
        }
    }
}
