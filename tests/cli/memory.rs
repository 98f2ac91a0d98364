//! Tests of `--max-memory`: every route and number of threads respects it, and the reported minimum is sufficient.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use serde_json::{Value, json};

use super::support::CliTest;

/// The memory that the process may use in addition to the limit and its own code, in KiB.
const BESIDE: u64 = 24 << 10;

/// Writes a float32 array of planes of `side` by `side` elements. Each plane is a chunk of one value.
fn planes(test: &CliTest, name: &str, count: usize, side: usize) {
    test.array(name, json!({"shape": [count, side, side], "chunk_shape": [1, side, side], "fill_value": -1.0}));
    for number in 0..count {
        let value = f32::from(u16::try_from(number).unwrap());
        test.write(&format!("{name}/c/{number}/0/0"), value.to_le_bytes().repeat(side * side));
    }
}

/// A job: its source, its options, and a limit in MiB that is enough for only a few units.
struct Job {
    source: &'static str,
    options: &'static [&'static str],
    mebibytes: u64,
    route: &'static str,
    passes: u64,
}

/// A job for every route, for arrays with chunks of `[1, side, side]` and for the same arrays in shards.
const JOBS: [Job; 9] = [
    Job { source: "chunks", options: &[], mebibytes: 8, route: "copy", passes: 1 },
    Job { source: "chunks", options: &["--compress", "zstd:19"], mebibytes: 64, route: "recode", passes: 1 },
    Job { source: "shards", options: &["--compress", "zstd:19"], mebibytes: 32, route: "recode", passes: 1 },
    Job { source: "shards", options: &["-s", "none"], mebibytes: 8, route: "reshard", passes: 1 },
    Job { source: "chunks", options: &["-s", "0,0,0"], mebibytes: 8, route: "reshard", passes: 1 },
    Job {
        source: "chunks",
        options: &["-c", "4,0,64", "--compress", "zstd:19"],
        mebibytes: 96,
        route: "rechunk",
        passes: 1,
    },
    Job {
        source: "shards",
        options: &["-c", "16,64,64", "-s", "0,128,128", "--quantize", "uint8", "--compress", "zstd:19"],
        mebibytes: 64,
        route: "rechunk",
        passes: 1,
    },
    Job { source: "packed", options: &["--quantize", "uint8"], mebibytes: 10, route: "recode", passes: 1 },
    Job { source: "packed", options: &["-c", "0,32,32"], mebibytes: 12, route: "rechunk", passes: 2 },
];

/// The unit in which a pipe takes bytes.
const PAGE: usize = 4096;

/// Returns a pipe with space for one page, and the number of spaces that it holds.
fn almost_full_pipe() -> (PipeReader, PipeWriter, u64) {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    let mut filled = 0;
    while writer.write(&[b' '; PAGE]).is_ok() {
        filled += PAGE as u64;
    }
    fcntl_setfl(&writer, flags).unwrap();
    reader.read_exact(&mut [0; PAGE]).unwrap();
    (reader, writer, filled - PAGE as u64)
}

/// Runs the program. Returns its result and its peak memory in KiB. The value of `wait4` would include this process,
/// from which it is forked.
///
/// However busy the machine is, the program does not end before its peak is known: it waits with its result, which is
/// longer than the space in the pipe, as it has a long name of the source.
///
/// Pages of files are subtracted. They are the program's code: an unoptimised build has 8 MiB more than a release, and
/// the system drops them when memory is short. They only grow otherwise, so the subtraction cannot hide an earlier peak.
fn measured(test: &CliTest, arguments: &[&str]) -> (Value, u64) {
    let (mut reader, writer, filled) = almost_full_pipe();
    let long = "./".repeat(PAGE / 3);
    let arguments =
        arguments.iter().map(|text| if test.exists(text) { long.clone() + text } else { (*text).to_owned() });
    let mut command = Command::new(env!("CARGO_BIN_EXE_zarrcast"));
    command.args(arguments).current_dir(test.path("")).stdin(Stdio::null()).stdout(writer).stderr(Stdio::inherit());
    let (mut child, name) = (command.spawn().unwrap(), format!("{command:?}"));
    // The end of the pipe that it holds.
    drop(command);
    let status = format!("/proc/{}/status", child.id());
    let (mut peak, mut most_of_files) = (0, 0);
    loop {
        let is_at_end = rustix::io::ioctl_fionread(&reader).unwrap() > filled;
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let amount = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix("kB")?.trim().parse().ok()
        };
        if let (Some(highest), Some(of_files)) = (amount("VmHWM:"), amount("RssFile:")) {
            most_of_files = of_files.max(most_of_files);
            peak = peak.max(highest.saturating_sub(most_of_files));
        }
        if is_at_end {
            break;
        }
        assert!(child.try_wait().unwrap().is_none(), "{name:?} has ended without a result");
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut result = Vec::new();
    reader.read_to_end(&mut result).unwrap();
    assert!(child.wait().unwrap().success(), "{name:?}");
    (serde_json::from_slice(&result).unwrap(), peak)
}

/// Writes the other sources of the jobs from `chunks`.
fn others(test: &CliTest, shape: &str, inner: &str) {
    test.run(["transcode", "-c", inner, "-s", shape, "chunks", "shards"]).succeeds();
    test.run(["transcode", "--compress", "zstd:1", "chunks", "packed"]).succeeds();
}

#[test]
fn peak_stays_within_the_budget_in_every_route_with_64_threads() {
    let test = CliTest::new();
    // 64 chunks of 1 MiB. Without a limit, 64 threads would use several times the size of the array.
    planes(&test, "chunks", 64, 512);
    others(&test, "8,512,512", "1,256,256");
    for (number, Job { source, options, mebibytes, route, passes }) in JOBS.iter().enumerate() {
        let (budget, destination) = (format!("{mebibytes}MiB"), number.to_string());
        let mut arguments = vec!["transcode", "--json", "--threads", "64", "--max-memory", &budget];
        arguments.extend_from_slice(options);
        arguments.extend([source, destination.as_str()]);
        let (result, kibibytes) = measured(&test, &arguments);
        let node = &result["nodes"][0];
        assert_eq!((&node["route"], &node["passes"]), (&Value::from(*route), &Value::from(*passes)), "{arguments:?}");
        assert!(node["memory_bytes"].as_u64().unwrap() <= mebibytes << 20, "{arguments:?}: {node}");
        assert!(kibibytes > 1000, "the peak was not seen");
        assert!(kibibytes <= (mebibytes << 10) + BESIDE, "{arguments:?}: a peak of {kibibytes} KiB");
        std::fs::remove_dir_all(test.path(&destination)).unwrap();
    }
}

/// Writes text in three chunks, each a word of `length` bytes, encoded by `vlen-utf8` and `zstd`.
fn long_words(test: &CliTest, name: &str, length: usize) {
    let members = json!({"shape": [3], "chunk_shape": [1], "data_type": "string", "fill_value": "", "codecs": [{"name": "vlen-utf8"}]});
    test.array("plain", members);
    for chunk in 0..3 {
        let mut bytes = 1_u32.to_le_bytes().to_vec();
        bytes.extend(u32::try_from(length).unwrap().to_le_bytes());
        bytes.resize(8 + length, b'a');
        test.write(&format!("plain/c/{chunk}"), bytes);
    }
    test.run(["transcode", "-q", "--compress", "zstd:1", "plain", name]).succeeds();
}

#[test]
fn chunks_that_grow_without_bound_keep_to_the_budget() {
    let test = CliTest::new();
    long_words(&test, "a", 48 << 20);
    for (number, options) in
        [&["--compress", "gzip:1"][..], &["-c", "2"], &["-c", "3", "--compress", "none", "--verify"]]
            .into_iter()
            .enumerate()
    {
        let run = |budget: &str, destination: &str| {
            let mut arguments = vec!["transcode", "--json", "--threads", "4", "--max-memory", budget];
            arguments.extend_from_slice(options);
            arguments.extend(["a", destination]);
            test.run(arguments)
        };
        let refused = run("40MiB", "none").fails(3, &["MiB of memory", "--max-memory "]);
        assert!(!test.exists("none"), "{}", refused.error);
        let named = |run: &super::support::Run| -> String {
            run.error.split("--max-memory ").last().unwrap().split('`').next().unwrap().to_owned()
        };
        // The error reports the memory of one chunk. A second chunk of the same cell is found only after the first.
        let (mut budget, mut tries) = (named(&refused), 0);
        loop {
            let run = run(&budget, &format!("{number}-{tries}"));
            if run.status == 0 {
                break;
            }
            budget = named(&run.fails(3, &["--max-memory "]));
            tries += 1;
            assert!(tries < 12, "{options:?}");
        }
        let mebibytes = budget.parse::<u64>().unwrap() >> 20;
        let arguments = ["transcode", "--json", "--threads", "4", "--max-memory", &budget];
        let mut arguments = arguments.to_vec();
        arguments.extend_from_slice(options);
        arguments.extend(["a", "again"]);
        let (_, kibibytes) = measured(&test, &arguments);
        assert!(kibibytes <= (mebibytes << 10) + BESIDE, "{options:?}: {budget}: a peak of {kibibytes} KiB");
        std::fs::remove_dir_all(test.path("again")).unwrap();
    }
}

#[test]
fn least_budget_that_is_named_will_do_in_every_route() {
    let test = CliTest::new();
    planes(&test, "chunks", 6, 64);
    others(&test, "2,64,64", "1,32,32");
    for (number, Job { source, options, .. }) in JOBS.iter().enumerate() {
        for (variant, verifies) in [&[][..], &["--verify"]].into_iter().enumerate() {
            let run = |budget: u64, destination: &str| {
                let fixed = ["transcode", "--json", "--threads", "64", "--max-memory"];
                let mut arguments: Vec<String> = fixed.map(str::to_owned).to_vec();
                arguments.push(budget.to_string());
                arguments.extend(options.iter().chain(verifies).map(|option| (*option).to_owned()));
                arguments.extend([(*source).to_owned(), destination.to_owned()]);
                test.run(arguments)
            };
            let refused =
                run(1, "none").fails(3, &["`--max-memory` 1 B is too small: one thread needs ", "--max-memory "]);
            let named = refused.error.split("--max-memory ").last().unwrap().split('`').next().unwrap();
            let least: u64 = named.parse().unwrap();
            run(least - 1, "none").fails(3, &[named]);
            assert!(!test.exists("none"));
            let result = run(least, &format!("{number}-{variant}")).succeeds().json();
            let node = &result["nodes"][0];
            assert!(node["memory_bytes"].as_u64().unwrap() <= least, "{options:?}: {node}");
            assert_eq!(node["verify"].is_null(), verifies.is_empty());
        }
    }
}

/// Writes a uint16 array of one chunk of `bytes` bytes of noise.
fn noise(test: &CliTest, name: &str, bytes: usize) {
    let count = bytes / 2;
    test.array(name, json!({"shape": [count], "data_type": "uint16"}));
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut chunk = Vec::with_capacity(bytes);
    for _ in 0..bytes / 8 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        chunk.extend(state.to_le_bytes());
    }
    test.write(&format!("{name}/c/0"), chunk);
}

#[test]
fn pcodec_takes_no_more_than_the_least_that_is_named() {
    let test = CliTest::new();
    noise(&test, "plain", 96 << 20);
    let packed = r#"[{"name":"numcodecs.pcodec","configuration":{"level":8}}]"#;
    let plain = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;
    for (source, destination, codecs) in [("plain", "packed", packed), ("packed", "again", plain)] {
        let arguments = |budget| {
            let job = ["transcode", "--json", "--threads", "1", "--codecs", codecs, source, destination];
            job.into_iter().chain(["--max-memory", budget]).collect::<Vec<_>>()
        };
        let refused = test.run(arguments("1")).fails(3, &["--max-memory "]);
        let named = refused.error.split("--max-memory ").last().unwrap().split('`').next().unwrap();
        let (_, kibibytes) = measured(&test, &arguments(named));
        let mebibytes = named.parse::<u64>().unwrap() >> 20;
        assert!(kibibytes <= (mebibytes << 10) + BESIDE, "{source}: {named}: a peak of {kibibytes} KiB");
    }
    assert!(std::fs::read(test.path("again/c/0")).unwrap() == std::fs::read(test.path("plain/c/0")).unwrap());
}

#[test]
fn compressor_of_a_plan_takes_no_memory_before_it_runs() {
    let test = CliTest::new();
    let shape = r#"[8192,8192],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[8192,8192]}}"#;
    test.write(
        "a/zarr.json",
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":{shape},"chunk_key_encoding":{{"name":"default"}},
            "fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
        ),
    );
    let (_, kibibytes) = measured(&test, &["transcode", "--json", "--dry-run", "--compress", "zstd:22", "a", "b"]);
    assert!(kibibytes <= BESIDE, "a peak of {kibibytes} KiB");
}

#[test]
fn long_scalar_map_counts() {
    let test = CliTest::new();
    let map: Vec<[u32; 2]> = (0..20_000).map(|number| [number, number]).collect();
    let codecs = json!([
        {"name": "cast_value", "configuration": {"data_type": "uint32", "scalar_map": {"encode": map}}},
        {"name": "bytes", "configuration": {"endian": "little"}}
    ]);
    test.array("a", json!({"shape": [4], "data_type": "int32", "codecs": codecs}));
    test.write("a/c/0", [5_u32, 6, 7, 8].map(u32::to_le_bytes).concat());
    let arguments = ["transcode", "-q", "--compress", "crc32c", "a", "b", "--max-memory"];
    test.run(arguments.iter().chain(&["6MiB"])).fails(3, &["is too small", "--max-memory "]);
    test.run(arguments.iter().chain(&["32MiB"])).succeeds();
    assert_eq!(test.read("b/c/0")[..16], test.read("a/c/0")[..]);
}
