//! `transcode` to other chunks in two passes, where one pass would read each source chunk too often.

use serde_json::{Value, json};

use super::support::{CliTest, Run};

/// A memory limit with which one pass would read each chunk many times.
const SMALL: &str = "560000";

/// Writes a 60 x 20 x 24 int16 array in chunks of one plane, or in shards of such inner chunks. Some planes contain
/// numbers, some only the fill value, and some are missing.
fn planes(is_sharded: bool) -> CliTest {
    let test = CliTest::new();
    write_planes(&test, "a", is_sharded);
    test
}

pub(super) fn write_planes(test: &CliTest, name: &str, is_sharded: bool) {
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let sharding = json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1, 20, 24], "codecs": [little], "index_codecs": [little, {"name": "crc32c"}], "index_location": "end",
    }});
    let (chunk, codec) = if is_sharded { (6, sharding) } else { (1, little) };
    let chunk_shape = [chunk, 20, 24];
    let members = json!({"shape": [60, 20, 24], "chunk_shape": chunk_shape, "data_type": "int16", "fill_value": -1, "codecs": [codec]});
    test.array(name, members);
    let planes: Vec<Option<Vec<u8>>> = (0..60).map(plane).collect();
    if !is_sharded {
        for (number, plane) in planes.iter().enumerate() {
            if let Some(plane) = plane {
                test.write(&format!("{name}/c/{number}/0/0"), plane);
            }
        }
        return;
    }
    for (number, shard) in planes.chunks(6).enumerate() {
        let (mut bytes, mut index) = (Vec::new(), Vec::new());
        for plane in shard {
            let entry = plane.as_ref().map_or([u64::MAX; 2], |plane| [bytes.len() as u64, plane.len() as u64]);
            index.extend(entry.iter().flat_map(|word| word.to_le_bytes()));
            bytes.extend(plane.iter().flatten());
        }
        index.extend(crc32c::crc32c(&index).to_le_bytes());
        bytes.extend(index);
        if shard.iter().any(Option::is_some) {
            test.write(&format!("{name}/c/{number}/0/0"), bytes);
        }
    }
}

fn plane(number: i16) -> Option<Vec<u8>> {
    let value = |index: i16| match number {
        10..20 => -1,
        _ => number * 400 + index,
    };
    let is_stored = !(25..50).contains(&number);
    is_stored.then(|| (0..480).flat_map(|index| value(index).to_le_bytes()).collect())
}

fn transcode(test: &CliTest, destination: &str, options: &[&str]) -> Run {
    let fixed = ["transcode", "--json", "a", destination];
    test.run(fixed.iter().chain(options))
}

fn node(run: &Run) -> Value {
    assert_eq!((run.status, run.error.as_str()), (0, ""));
    run.json()["nodes"][0].clone()
}

/// Checks that both ways write the same objects. Returns the report of two passes.
fn same_in_one_pass_and_two(test: &CliTest, budget: &str, options: &[&str]) -> Value {
    let one = node(&transcode(test, "one", &[options, &["--verify"]].concat()));
    assert_eq!(one["bytes_temporary"], 0);
    let small = ["--verify", "--max-memory", budget];
    let two = node(&transcode(test, "two", &[options, &small].concat()));
    assert!(two["bytes_temporary"].as_u64().unwrap() > 0, "{two}");
    assert!(two["read_amplification"].as_f64().unwrap() <= 2.0, "{two}");
    assert!(two["memory_bytes"].as_u64().unwrap() <= budget.parse().unwrap(), "{two}");
    assert_eq!((&one["verify"]["equal"], &two["verify"]["equal"]), (&true.into(), &true.into()));
    for member in ["bytes_read", "bytes_written", "chunks_written", "chunks_read", "quantization"] {
        assert_eq!(one[member], two[member], "{member}");
    }
    let (one, two) = (test.all_files("one"), test.all_files("two"));
    assert_eq!(one.keys().collect::<Vec<_>>(), two.keys().collect::<Vec<_>>());
    assert!(one == two, "the objects differ");
    let threads = node(&transcode(test, "threads", &[options, &["--threads", "7"], &small].concat()));
    assert_eq!(threads["route"], "rechunk");
    assert!(test.all_files("threads") == one, "the result depends on threads");
    node(&test.run(["transcode", "--json", "--dry-run", "a", "none", "--max-memory", budget].iter().chain(options)))
}

#[test]
fn transposing_within_a_small_budget_reads_each_chunk_once() {
    let test = planes(false);
    let plan = same_in_one_pass_and_two(&test, SMALL, &["-c", "60,1,1"]);
    assert_eq!((&plan["route"], &plan["read_amplification"]), (&"rechunk".into(), &1.0.into()));
    // All of the array, and an index for each shard.
    let temporary = plan["bytes_temporary"].as_u64().unwrap();
    assert!((57_600..70_000).contains(&temporary), "{temporary}");
    let run = test.run(["transcode", "--dry-run", "-c", "60,1,1", "--max-memory", SMALL, "a", "b"]).succeeds();
    assert!(run.text().contains("in two passes"), "{}", run.text());
    assert!(run.text().lines().all(|line| line.chars().count() <= 80), "{}", run.text());
}

#[test]
fn stored_fill_values_and_absent_chunks_stay_apart_in_two_passes() {
    // In each column the last elements are missing. In some chunks all are missing, in others all are stored fill
    // values.
    let test = planes(false);
    same_in_one_pass_and_two(&test, "540000", &["-c", "5,1,1", "--write-empty-chunks"]);
    let kept = test.all_files("two").len();
    let plain = planes(false);
    same_in_one_pass_and_two(&plain, "540000", &["-c", "5,1,1"]);
    assert!(plain.all_files("two").len() < kept);
}

#[test]
fn inner_chunks_that_are_absent_stay_so_in_two_passes() {
    let test = planes(true);
    same_in_one_pass_and_two(&test, SMALL, &["-c", "5,1,1", "-s", "60,2,4", "--write-empty-chunks"]);
}

#[test]
fn values_change_once_in_two_passes() {
    let test = planes(false);
    let options = ["-c", "60,1,1", "-d", "float32", "-f", "\"NaN\"", "--compress", "zstd:1"];
    same_in_one_pass_and_two(&test, "800000", &options);
    let floats = CliTest::new();
    write_planes(&floats, "ints", false);
    assert_eq!(floats.run(["transcode", "-d", "float32", "ints", "a"]).status, 0);
    let quantized = same_in_one_pass_and_two(&floats, SMALL, &["-c", "60,1,1", "--quantize", "uint16"]);
    assert_eq!(quantized["quantization"]["count"], 28_800);
}

#[test]
fn run_in_two_passes_goes_on_after_a_fault_in_either_with_another_budget() {
    let test = planes(false);
    let expected = |test: &CliTest| {
        node(&transcode(test, "expected", &["-c", "60,1,1"]));
        test.all_files("expected")
    };
    let expected = expected(&test);
    let last = test.read("a/c/59/0/0");
    test.write("a/c/59/0/0", [0; 3]);
    let options = ["-c", "60,1,1", "--threads", "1"];
    let run = transcode(&test, "b", &[&options[..], &["--max-memory", SMALL]].concat());
    run.fails(1, &["chunk [59, 0, 0]", "--resume"]);
    assert!(test.exists("b/.zarrcast/staging/zarr.json"));
    test.write("a/c/59/0/0", last);
    // The second pass cannot write an object, because a folder has its path.
    test.write("b/c/19/23/0/x", [0]);
    let folder = test.path("b/c/0/19/23");
    std::fs::create_dir_all(&folder).unwrap();
    let run = transcode(&test, "b", &[&options[..], &["--max-memory", "600000", "--resume"]].concat());
    run.fails(3, &["b"]);
    assert!(!test.exists("b/zarr.json"));
    std::fs::remove_dir_all(test.path("b/c/19")).unwrap();
    std::fs::remove_dir(folder).unwrap();
    let resumed = ["--resume", "--verify", "--max-memory", "590000"];
    let run = node(&transcode(&test, "b", &[&options[..], &resumed].concat()));
    assert_eq!(run["verify"]["equal"], true);
    assert!(test.all_files("b") == expected, "the resumed result differs");
}

#[test]
fn intermediate_data_of_a_sparse_array_are_those_of_its_chunks() {
    let test = CliTest::new();
    // 8 TB with one stored chunk.
    test.array("a", json!({"shape": [1000, 2_000_000, 2000], "chunk_shape": [1, 200, 200], "data_type": "int16"}));
    test.write("a/c/500/7000/5", vec![1; 80_000]);
    let plan = node(&transcode(&test, "b", &["--dry-run", "-c", "1000,200,2", "--max-memory", "3MB"]));
    assert_eq!(plan["passes"], 2);
    assert!(plan["bytes_temporary"].as_u64().unwrap() < 50_000_000, "{plan}");
}
