//! A first pass caches chunks that it has read. With memory for none, some or all of them, the result is the same.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::support::{CliTest, float32};

/// Writes a float32 array with chunks of 1 KiB that extend past its edges. One is missing, and some values are NaN.
fn write_field(test: &CliTest, name: &str) {
    test.array(name, json!({"shape": [10, 21, 17], "chunk_shape": [4, 8, 8], "fill_value": "NaN"}));
    for chunk in 0..27_u16 {
        let values: Vec<f32> = (0..256_u16)
            .map(|step| if step == chunk { f32::NAN } else { (f32::from(chunk * 256 + step) * 0.37).sin() })
            .collect();
        if chunk != 7 {
            test.write(&format!("{name}/c/{}/{}/{}", chunk / 9, chunk / 3 % 3, chunk % 3), float32(&values));
        }
    }
}

/// The field with other codecs, in shards, and with another byte order and permutation. Each needs other decoding.
const SOURCES: [(&str, &[&str]); 5] = [
    ("plain", &[]),
    ("zstd", &["--compress", "zstd:1"]),
    ("sharded", &["-s", "8,16,16", "--compress", "zstd:1"]),
    ("plain-sharded", &["-s", "8,16,16"]),
    (
        "turned",
        &[
            "--codecs",
            r#"[{"name":"transpose","configuration":{"order":[2,0,1]}},{"name":"bytes","configuration":{"endian":"big"}},
            {"name":"zstd","configuration":{"level":1,"checksum":false}},{"name":"crc32c"}]"#,
        ],
    ),
];

/// Quantisations that need the range, the range and the error, or a comparison afterwards.
const OPTIONS: [&[&str]; 5] = [
    &["--quantize", "uint8"],
    &["--max-error", "0.01", "--compress", "zstd:1"],
    &["--max-error", "1e-5"],
    &["--quantize", "int16", "--verify"],
    &["--quantize", "uint8", "-c", "4,16,4"],
];

/// Returns the output of a run with a memory limit, and its figures.
fn run(test: &CliTest, budget: &str, arguments: &[&str]) -> (BTreeMap<String, Vec<u8>>, Value) {
    let fixed = ["transcode", "--json", "--threads", "1", "--max-memory", budget];
    let run = test.run(fixed.iter().chain(arguments));
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.error);
    let result = run.json();
    let files = test.all_files("out");
    std::fs::remove_dir_all(test.path("out")).unwrap();
    let node = &result["nodes"][0];
    let names = ["quantization", "bytes_read", "bytes_written", "chunks_read", "chunks_written", "verify"];
    (files, names.map(|name| node[name].clone()).into())
}

#[test]
fn first_pass_that_keeps_none_some_or_all_chunks_gives_the_same() {
    let test = CliTest::new();
    write_field(&test, "field");
    for (source, codecs) in SOURCES {
        let make = ["transcode", "-q", "field", source];
        assert_eq!(test.run(make.iter().chain(codecs)).status, 0, "{source}");
        for options in OPTIONS {
            let arguments = [options, &[source, "out"]].concat();
            let refused = test.run([&["transcode", "--max-memory", "1"], &arguments[..]].concat());
            let refused = refused.fails(3, &["--max-memory "]);
            let named = refused.error.split("--max-memory ").last().unwrap().split('`').next().unwrap();
            let least: u64 = named.parse().unwrap();
            let none = run(&test, named, &arguments);
            for more in [1500, 100 << 20] {
                let kept = run(&test, &(least + more).to_string(), &arguments);
                // The limit sets the size of blocks, and so the number of chunk reads.
                let is_same = kept.0 == none.0 && (options.contains(&"-c") || kept.1 == none.1);
                assert!(is_same, "{source} {options:?}: {more}: {:?} {:?}", kept.1, none.1);
            }
        }
    }
}

#[test]
fn arrays_of_a_hierarchy_share_the_memory_for_what_is_kept() {
    let test = CliTest::new();
    test.group("tree");
    write_field(&test, "field");
    for name in ["a", "b", "c"] {
        let path = format!("tree/{name}");
        test.run(["transcode", "-q", "--compress", "zstd:1", "field", &path]).succeeds();
    }
    let of = |budget: &str| run(&test, budget, &["--quantize", "uint8", "tree", "out"]).0;
    let all = of("100MiB");
    for budget in ["2MiB", "1200KiB", "1050KiB"] {
        assert!(of(budget) == all, "{budget}");
    }
}

#[test]
fn damaged_chunk_is_named_by_the_first_pass_whatever_was_kept() {
    let test = CliTest::new();
    write_field(&test, "field");
    test.run(["transcode", "-q", "--compress", "zstd:1", "field", "a"]).succeeds();
    test.write("a/c/1/1/1", b"not a frame");
    test.run(["transcode", "--quantize", "uint8", "a", "b"]).fails(1, &["c/1/1/1", "zstd"]);
    assert!(!test.exists("b"));
}
