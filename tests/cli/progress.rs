//! Progress in a pseudo-terminal: one line, never wider than the terminal, erased at the end.

use serde_json::json;

use super::support::CliTest;
use super::support::terminal::{OnTerminal, Shown};

/// Writes an array of `chunks` chunks of 64 KiB with bytes that are hard to compress.
fn write_noise(test: &CliTest, name: &str, chunks: usize) {
    test.array(name, json!({"shape": [chunks << 14], "chunk_shape": [16384]}));
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(state.to_be_bytes()[0] >> 3)
    });
    let chunk: Vec<u8> = noise.take(1 << 14).flat_map(f32::to_le_bytes).collect();
    for index in 0..chunks {
        test.write(&format!("{name}/c/{index}"), &chunk);
    }
}

/// Asserts that progress was one line that fits, and that it is erased.
#[track_caller]
fn is_one_erased_line(shown: &Shown, columns: usize, names: &[&str]) {
    assert_eq!(shown.status, Some(0), "{}", shown.written);
    for name in names {
        assert!(shown.written.contains(name), "{name:?} is not in {:?}", shown.written);
    }
    assert_eq!(shown.height, 1, "more than a line: {:?}", shown.written);
    assert!(shown.width < columns, "{} of {columns} columns: {:?}", shown.width, shown.written);
    assert!(shown.lines.is_empty(), "left: {:?}", shown.lines);
}

#[test]
fn errors_warnings_and_hints_are_no_wider_than_a_terminal_and_whole_elsewhere() {
    let test = CliTest::new();
    test.write_float32("a", "\"NaN\"", &[Some([1.0, 2.0, 3.0, 4.0])]);
    for arguments in [
        &["transcode", "-c", "1,2", "a", "b"][..],
        &["transcode", "--max-error", "5%", "a", "b"],
        &["transcode", "--quantize", "uint8", "--as", "cf", "--range", "5,6", "a", "b"],
        &["transcode", "--quantize", "uint9", "--verify", "--overwrite", "a", "c"],
        &["validate", "--node", "some/where/else", "a"],
        &["inspect", "--no-such-option", "a"],
    ] {
        let arguments = &[arguments, &["--progress=never"]].concat();
        let piped = test.run(arguments).error;
        for columns in [60, 80] {
            let shown = test.run_in_terminal(columns, OnTerminal::Error, arguments);
            let widest = shown.written.lines().map(str::trim_end).map(plain).max().unwrap();
            assert!(widest <= columns.into(), "{arguments:?}: {}", shown.written);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            // No word is missing. A warning's location and help are on separate lines.
            let of_terminal = words(&shown.lines.join("\n").replace(test.path("").to_str().unwrap(), "[FOLDER]/"));
            let of_pipe = words(&piped.replace(';', ""));
            assert_eq!(of_terminal.join(" ").replace(';', ""), of_pipe.join(" "), "{arguments:?}");
        }
    }
}

/// Counts the columns of a line without its colours.
fn plain(line: &str) -> usize {
    let mut columns = 0;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\x1b' => drop(letters.by_ref().find(char::is_ascii_alphabetic)),
            _ => columns += 1,
        }
    }
    columns
}

#[test]
fn progress_of_an_array_is_one_line_that_is_erased() {
    let test = CliTest::new();
    let name = "a-store-whose-name-is-longer-than-what-is-left-beside-the-figures.zarr";
    write_noise(&test, name, 40);
    for columns in [80, 60, 20] {
        let wide = usize::from(columns);
        let run = |arguments: &[&str]| test.run_in_terminal(columns, OnTerminal::Error, arguments);
        let options = ["--compress", "zstd:15", "--quantize", "uint8", "--verify", "--overwrite", "--threads", "1"];
        is_one_erased_line(
            &run(&[&["transcode", name, "b"], &options[..]].concat()),
            wide,
            &["first pass", "transcode", "verify"],
        );
        is_one_erased_line(&run(&["inspect", "--stats", "--histogram", "5", name]), wide, &["values", "histogram"]);
        is_one_erased_line(&run(&["validate", "--level", "data", name]), wide, &["a-s"]);
        is_one_erased_line(&run(&["validate", name, "--against", name]), wide, &["compare"]);
    }
}

#[test]
fn progress_of_a_hierarchy_is_one_line_for_all_of_it() {
    let test = CliTest::new();
    test.group("g");
    for name in ["g/a", "g/b", "g/sub/c"] {
        write_noise(&test, name, 12);
    }
    test.group("g/sub");
    for columns in [80, 60] {
        let wide = usize::from(columns);
        let run = |arguments: &[&str]| test.run_in_terminal(columns, OnTerminal::Error, arguments);
        let options = ["--compress", "zstd:15", "--quantize", "uint8", "--verify", "--overwrite"];
        let shown = run(&[&["transcode", "g", "b"], &options[..]].concat());
        is_one_erased_line(&shown, wide, &["first pass", "transcode", "verify"]);
        // The total is that of all arrays: 3 of 12 chunks of 64 KiB.
        assert!(shown.written.contains(" of 2.25 MiB"), "{:?}", shown.written);
        assert!(!shown.written.contains(" of 768 KiB"), "{:?}", shown.written);
        let shown = run(&["validate", "--level", "data", "g"]);
        is_one_erased_line(&shown, wide, &["g "]);
        assert!(shown.written.contains(" of 2.25 MiB"), "{:?}", shown.written);
        is_one_erased_line(&run(&["validate", "g", "--against", "g"]), wide, &["compare"]);
    }
}

#[test]
fn interrupt_leaves_the_message_alone() {
    let test = CliTest::new();
    write_noise(&test, "a", 150);
    let run = test.start_in_terminal(80, OnTerminal::Error, &["transcode", "--compress", "zstd:19", "a", "b"]);
    while !test.exists("b/c/0") {
        std::thread::yield_now();
    }
    run.signal("-INT");
    let shown = run.end();
    assert_eq!(shown.status, Some(130), "{}", shown.written);
    assert!(shown.written.contains("transcode"), "{}", shown.written);
    assert!(shown.lines[0].starts_with("error: interrupted"), "{:?}", shown.lines);
    assert!(shown.lines.iter().all(|line| !line.contains(" of 9.38 MiB")), "{:?}", shown.lines);
}

#[test]
fn resumed_run_counts_its_own_bytes() {
    let test = CliTest::new();
    write_noise(&test, "a", 150);
    let options = ["transcode", "--compress", "zstd:19", "--threads", "1", "a", "b"];
    let run = test.start_in_terminal(80, OnTerminal::Error, &options);
    while !test.exists("b/c/20") {
        std::thread::yield_now();
    }
    run.signal("-INT");
    assert_eq!(run.end().status, Some(130));
    let resumed = [&["transcode", "--resume"], &options[1..]].concat();
    let shown = test.run_in_terminal(80, OnTerminal::Error, &resumed);
    is_one_erased_line(&shown, 80, &["transcode"]);
    assert!(!shown.written.contains(" of 9.38 MiB"), "the bytes of the first run are counted: {:?}", shown.written);
}
