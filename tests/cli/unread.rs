//! Text of any length: rechunked, sharded, and compared with little memory. `cases/unread.txt` tests the rest.

use serde_json::{Value, json};

use super::support::{CliTest, vlen};

/// Returns the word of an element. Words have any length and may be empty.
fn word(number: usize) -> String {
    "né ".repeat(number % 4) + &number.to_string().repeat(number % 3)
}

/// Writes a 5 x 6 array of words in chunks of 2 x 4. One is missing. With `transpose`, chunks are in reversed order.
fn table(test: &CliTest, name: &str, codecs: &str, fill_value: &str) {
    let codecs_of: Value = serde_json::from_str(codecs).unwrap();
    let members = json!({"shape": [5, 6], "chunk_shape": [2, 4], "data_type": "string", "fill_value": fill_value, "codecs": codecs_of});
    test.array(name, members);
    let is_reversed = codecs.contains("transpose");
    for (row, column) in [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)] {
        let at = |index: usize| if is_reversed { (index % 2, index / 2) } else { (index / 4, index % 4) };
        let elements: Vec<String> = (0..8)
            .map(|index| {
                let (y, x) = (row * 2 + at(index).0, column * 4 + at(index).1);
                if y < 5 && x < 6 { word(y * 6 + x) } else { "beyond".to_owned() }
            })
            .collect();
        test.write(&format!("{name}/c/{row}/{column}"), vlen(&elements));
    }
}

const FORWARD: &str = r#"[{"name":"vlen-utf8"}]"#;
const REVERSED: &str = r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"vlen-utf8"}]"#;

#[test]
fn text_is_written_in_any_other_chunks_and_shards() {
    for (codecs, fill_value) in [(FORWARD, ""), (FORWARD, "none"), (REVERSED, "none")] {
        let test = CliTest::new();
        table(&test, "a", codecs, fill_value);
        for (number, options) in [
            &["-c", "1,1"][..],
            &["-c", "5,6", "--compress", "zstd:1"],
            &["-c", "3,5"],
            &["-c", "2,3", "-s", "4,6"],
            &["-c", "4,1", "-s", "8,3", "--write-empty-chunks"],
            &["--codecs", REVERSED],
            &["--codecs", FORWARD, "-c", "0,0"],
        ]
        .into_iter()
        .enumerate()
        {
            let run = |threads: &str, source: &str, destination: &str, options: &[&str]| {
                let mut arguments = vec!["transcode", "--json", "--verify", "--threads", threads];
                arguments.extend_from_slice(options);
                arguments.extend([source, destination]);
                let report = test.run(arguments).succeeds().json();
                let verified = &report["nodes"][0]["verify"];
                assert_eq!((&verified["equal"], &verified["elements"]), (&true.into(), &30.into()));
            };
            let [there, alike, back] = ["b", "c", "d"].map(|name| format!("{name}{number}"));
            run("1", "a", &there, options);
            run("5", "a", &alike, options);
            assert_eq!(test.all_files(&there), test.all_files(&alike), "{options:?}");
            test.run(["validate", "-q", "--against", "a", &there]).succeeds();
            let codecs = if codecs == FORWARD { FORWARD } else { REVERSED };
            run("2", &there, &back, &["-c", "2,4", "-s", "none", "--codecs", codecs]);
            test.run(["validate", "-q", "--against", &back, "a"]).succeeds();
        }
    }
}

#[test]
fn against_of_text_names_damaged_chunks_and_memory_that_is_too_little() {
    let test = CliTest::new();
    let document = |length: usize| json!({"shape": [3], "chunk_shape": [length], "data_type": "string", "fill_value": "", "codecs": [{"name": "vlen-utf8"}]});
    let long = "word".repeat(750_000);
    test.array("a", document(3)).write("a/c/0", vlen(&[&long, &long, &long]));
    test.array("b", document(1));
    for index in 0..3 {
        test.write(&format!("b/c/{index}"), vlen(&[&long]));
    }
    let run = test.run(["validate", "--max-memory", "8MiB", "a", "--against", "b"]);
    assert!(run.status == 3 && run.error.contains("give `--max-memory"), "{}", run.error);
    test.run(["validate", "--max-memory", "80MiB", "a", "--against", "b"]).succeeds();
    test.write("b/c/1", b"\xff\xff\xff\xff");
    let report = test.run(["validate", "--json", "a", "--against", "b"]);
    let reason = report.json()["against"]["nodes"][0]["reason"].to_string();
    assert!(reason.contains("chunk c/1 of b"), "{reason}");
    test.run(["transcode", "-q", "-c", "1", "-s", "3", "a", "shards"]).succeeds();
    test.write("shards/c/0", "xx");
    let report = test.run(["validate", "--json", "a", "--against", "shards"]);
    let reason = report.json()["against"]["nodes"][0]["reason"].to_string();
    assert!(reason.contains("of shards"), "{reason}");
}
