//! SIGHUP, SIGINT and SIGTERM: the program exits by itself, reports the files that it leaves, and no DEST opens.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use signal_hook::consts::SIGHUP;

use serde_json::json;

use super::support::CliTest;

/// Starts the program with the lowest priority. On a busy machine it could otherwise end before the test sees its files.
fn spawn(test: &CliTest, arguments: &[&str]) -> Child {
    // A new program has the default action of each signal that its parent handles. It ignores one that its parent
    // ignores, such as under `nohup`.
    signal_hook::flag::register(SIGHUP, Arc::default()).unwrap();
    Command::new("nice")
        .args(["-n", "19", env!("CARGO_BIN_EXE_zarrcast")])
        .args(arguments)
        .current_dir(test.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends a signal by a system call. A `kill` process would take as long to start as some of the work takes.
fn send(child: &Child, signal: Signal) {
    let id = rustix::process::Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, signal).unwrap();
}

/// Sends a signal. Returns the exit status (`None` if the signal ended the process) and stderr.
fn end(child: Child, signal: Signal) -> (Option<i32>, String) {
    send(&child, signal);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn transcode_interrupted_exits_and_goes_on_when_it_is_resumed() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let (test, error) = interrupt_transcode(signal, status, "b/c/0");
        assert!(error.contains("`b`") && error.contains("--resume"), "{error}");
        test.run(["transcode", "--compress", "zstd:19", "a", "b"]).fails(3, &["unfinished", "--resume"]);
        test.run(["transcode", "--compress", "zstd:1", "a", "whole"]).succeeds();
        test.run(["transcode", "--compress", "zstd:19", "--resume", "a", "b"]).succeeds();
        test.run(["validate", "--level", "metadata", "--against", "whole", "b"]).succeeds();
    }
}

#[test]
fn transcode_interrupted_as_it_begins_says_what_it_leaves() {
    let (test, error) = interrupt_transcode(Signal::INT, 130, "b");
    // A chunk may or may not be finished by then. If none is, no file is left.
    if test.exists("b") {
        assert!(error.contains("`b`") && error.contains("--resume"), "{error}");
    } else {
        assert!(error.contains("leaves nothing unfinished"), "{error}");
    }
}

#[test]
fn transcode_interrupted_leaves_no_zip_and_the_old_one_as_it_was() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let test = CliTest::new();
        write_work(&test);
        test.write_float32("old", "0", &[Some([1.0; 4])]);
        test.run(["transcode", "old", "b.zip"]).succeeds();
        let old = test.read("b.zip");
        let words = ["transcode", "--compress", "zstd:19", "a", "b.zip", "--overwrite"];
        let error = interrupt(&test, &words, (signal, status), ".b.zip.zarrcast/data");
        assert!(error.contains("leaves nothing unfinished"), "{error}");
        assert_eq!((test.names(), test.read("b.zip")), (["a", "b.zip", "old"].map(str::to_owned).to_vec(), old));
    }
}

#[test]
fn transcode_that_does_not_stop_in_time_leaves_no_zip_either() {
    let test = CliTest::new();
    let length = 64 << 20;
    test.array("a", json!({"shape": [length], "data_type": "uint8"}));
    let noise = noise().take(length).collect::<Vec<u8>>();
    test.write("a/c/0", noise);
    let words = ["transcode", "--compress", "zstd:19", "--max-memory", "2GiB", "a", "b.zip"];
    let error = interrupt(&test, &words, (Signal::INT, 130), ".b.zip.zarrcast/journal");
    // Most likely the chunk has begun by then, and the program does not wait for it. Otherwise it never begins.
    let said = ["nothing of `b.zip` is kept", "leaves nothing unfinished"];
    assert!(said.iter().any(|said| error.contains(said)), "{error}");
    assert_eq!(test.names(), ["a"]);
}

/// Interrupts a transcode from `a` to `b` as soon as a path exists. Returns the folder and stderr.
fn interrupt_transcode(signal: Signal, status: i32, awaited: &str) -> (CliTest, String) {
    let test = CliTest::new();
    write_work(&test);
    let words = ["transcode", "--compress", "zstd:19", "a", "b"];
    let error = interrupt(&test, &words, (signal, status), awaited);
    assert!(!test.exists("b/zarr.json"));
    (test, error)
}

/// Interrupts a command by a signal as soon as a path exists. Returns stderr.
fn interrupt(test: &CliTest, words: &[&str], (signal, status): (Signal, i32), awaited: &str) -> String {
    let mut child = spawn(test, words);
    while !test.exists(awaited) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before `{awaited}` was there");
        // A thread that yields its time again and again gets less of it than the program.
        std::thread::sleep(Duration::from_millis(1));
    }
    let (code, error) = end(child, signal);
    assert_eq!(code, Some(status), "{error}");
    assert!(error.starts_with("error: interrupted"), "{error}");
    error
}

/// Bytes that are slow to compress.
fn noise() -> impl Iterator<Item = u8> {
    let mut state = 1_u32;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0] >> 3
    })
}

/// Writes far more work than can be done between the creation of DEST and a signal.
fn write_work(test: &CliTest) {
    const CHUNKS: usize = 400;
    test.array("a", json!({"shape": [CHUNKS << 16], "chunk_shape": [65536], "data_type": "uint8"}));
    let chunk: Vec<u8> = noise().take(1 << 16).collect();
    for index in 0..CHUNKS {
        test.write(&format!("a/c/{index}"), &chunk);
    }
}

#[test]
fn apply_codec_interrupted_while_it_reads_exits_at_once() {
    let test = CliTest::new();
    let mut child =
        spawn(&test, &["apply-codec", "--codecs", "[]", "--data-type", "uint8", "--shape", "9999999", "-", "b"]);
    // More than the size of a pipe. After the write, the program has read some of it and has its signal handlers.
    let mut input = child.stdin.take().unwrap();
    input.write_all(&vec![0; 1 << 20]).unwrap();
    let (code, error) = end(child, Signal::INT);
    drop(input);
    assert_eq!(code, Some(130), "{error}");
    assert!(error.starts_with("error: interrupted by SIGINT\n"), "{error}");
    assert!(test.names().is_empty());
}

#[test]
fn hang_up_that_is_ignored_stays_ignored() {
    let test = CliTest::new();
    let program = env!("CARGO_BIN_EXE_zarrcast");
    let command =
        format!("trap '' HUP; exec {program} apply-codec --codecs '[]' --data-type uint8 --shape 9999999 - b");
    let mut child = Command::new("sh");
    child.args(["-c", &command]).current_dir(test.path(""));
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // More than the size of a pipe. After the write, the program has read some of it and has its signal handlers.
    input.write_all(&vec![0; 1 << 20]).unwrap();
    send(&child, Signal::HUP);
    let (code, error) = end(child, Signal::TERM);
    drop(input);
    assert_eq!(code, Some(143), "{error}");
}
