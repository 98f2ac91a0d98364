//! Runs every command on a store within limits and checks the files that it leaves.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::hostile::case::{Case, STORE, Store};
use crate::support::{after, side_by_side, temporary_folder};

/// The maximum processor time of a command. Test builds are not optimised for speed.
const PROCESSOR_SECONDS: u64 = 20;

/// A command that runs longer hangs. The limit is high because the machine is shared.
const HANG: Duration = Duration::from_mins(2);

/// The maximum resident memory of a command.
const RESIDENT_KIBIBYTES: i64 = 300 << 10;

/// The maximum address space of a command: the memory that it uses and the stacks of its threads.
const ADDRESS_BYTES: u64 = 600 << 20;

/// The placeholder of the chunk of the case.
const CHUNK: &str = "CHUNK";

/// The commands for each store. A last argument of `result...` is a DEST or an OUTPUT.
const COMMANDS: [&[&str]; 5] = [
    &["inspect", "--json", STORE],
    &["validate", "--level", "data", "--json", STORE],
    &["transcode", "--json", "--compress", "zstd:1", STORE, "result.zstd"],
    &["transcode", "--data-type", "float64", "--verify", STORE, "result.float64"],
    &["apply-codec", "--like", STORE, "--chunk", CHUNK, "result.raw"],
];

/// One of these commands runs on each store in turn. If `ZARRCAST_TESTS` is `all`, all of them do.
const MORE_COMMANDS: [&[&str]; 6] = [
    &["inspect", STORE],
    &["inspect", "--stats", "--histogram", "8", "--json", STORE],
    &["inspect", "--preview", STORE],
    &["inspect", "--chunk", CHUNK, "--json", STORE],
    &["transcode", STORE, "result.copy"],
    &["transcode", "--fill-value", "1", STORE, "result.fill"],
];

/// The commands that decode the chunk of a case.
const DECODERS: [&[&str]; 12] = [
    &["inspect", "--stats", STORE],
    &["inspect", "--histogram", "8", STORE],
    &["inspect", "--suggest", "uint8", STORE],
    &["inspect", "--preview", STORE],
    &["inspect", "--chunk", CHUNK, STORE],
    &["validate", "--level", "data", STORE],
    &["validate", "--against", STORE, STORE],
    &["transcode", "--quantize", "uint8", STORE, "result.uint8"],
    &["transcode", "--compress", "gzip:1", STORE, "result.gzip"],
    &["apply-codec", "--like", STORE, "--chunk", CHUNK, "result.raw"],
    &["apply-codec", "--like", STORE, "--decode", "store.zarr/0.0", "result.raw"],
    &["transcode", "-c", "1024,1024", STORE, "result.rechunked"],
];

/// Runs every command with its default memory limit. A chunk that needs more must end it with status 3 and a message
/// with the smallest sufficient limit.
pub(crate) fn refuse_by_default(case: &Case) {
    let folder = temporary_folder();
    fs::create_dir(folder.path().join("streams")).unwrap();
    (case.build)(&Store::new(&folder.path().join(STORE)));
    for command in DECODERS {
        let arguments: Vec<&str> =
            command.iter().map(|argument| if *argument == CHUNK { case.chunk } else { argument }).collect();
        let ended = run(folder.path(), &arguments, ADDRESS_BYTES);
        let error = beginning(&folder.path().join("streams/error"));
        let place = format!("{}: {}: {error}", case.name, arguments.join(" "));
        assert_eq!((ended.status, ended.signal), (Some(3), 0), "{place}");
        assert!(ended.kibibytes < RESIDENT_KIBIBYTES, "{place}");
        assert!(error.contains("the default of `--max-memory`, ") && error.contains("give `--max-memory "), "{place}");
        let left = fs::read_dir(folder.path()).unwrap();
        let left = left.filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with("result"));
        assert_eq!(left.count(), 0, "{place}");
    }
}

/// The commands for an array and a document that need more memory than the limit.
const HUNGRY: [&[&str]; 8] = [
    &["inspect", "--stats", STORE],
    &["validate", "--level", "data", STORE],
    &["transcode", STORE, "result.copy"],
    &["transcode", "--compress", "zstd:19", STORE, "result.zstd"],
    &["transcode", "-c", "100,100", "--compress", "blosc:zstd:9", STORE, "result.cut"],
    &["transcode", "--max-error", "0.5", "--verify", STORE, "result.codes"],
    &["apply-codec", "--like", STORE, "--chunk", "0,0", "result.raw"],
    &["validate", "wordy.zarr"],
];

/// A command that runs out of memory exits by itself with a message.
#[test]
fn refused_memory_ends_no_command_by_a_signal() {
    let folder = temporary_folder();
    let at = |name: &str| folder.path().join(name);
    for name in ["streams", "store.zarr", "store.zarr/c", "store.zarr/c/0", "wordy.zarr"] {
        fs::create_dir(at(name)).unwrap();
    }
    let document = |attributes: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[2048,1024],"data_type":"float32","fill_value":0,
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2048,1024]}}}},
            "chunk_key_encoding":{{"name":"default"}},"attributes":{{{attributes}}},
            "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}"#
        )
    };
    fs::write(at("store.zarr/zarr.json"), document("")).unwrap();
    fs::write(at("store.zarr/c/0/0"), 1.5_f32.to_le_bytes().repeat(2048 * 1024)).unwrap();
    fs::write(at("wordy.zarr/zarr.json"), document(&format!(r#""a":"{}""#, "a".repeat(40 << 20)))).unwrap();
    let mut refused = 0;
    for (mebibytes, command) in (150..=600).step_by(50).flat_map(|limit| HUNGRY.map(|command| (limit, command))) {
        let ended = run(folder.path(), command, mebibytes << 20);
        let error = beginning(&at("streams/error"));
        let place =
            format!("{mebibytes} MiB: {}: {:?}, signal {}: {error}", command.join(" "), ended.status, ended.signal);
        assert!(matches!(ended.status, Some(0 | 3)), "{place}");
        if ended.status == Some(3) {
            refused += 1;
            assert!(error.starts_with("error: ") && error.contains("memory"), "{place}");
        }
        for entry in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with("result")) {
                if entry.is_dir() {
                    fs::remove_dir_all(entry).unwrap();
                } else {
                    fs::remove_file(entry).unwrap();
                }
            }
        }
    }
    assert!(refused > 0, "there was memory for everything");
}

/// The end of a command.
struct Ended {
    /// `None` after a signal.
    status: Option<i32>,
    signal: i32,
    kibibytes: i64,
    /// Processor time.
    seconds: f64,
}

/// Checks each case of a class against the limits and reports all faults at the end.
pub(crate) fn survive(class: &str, cases: &[Case]) {
    assert!(cases.len() >= 8, "{class} has {} cases", cases.len());
    let are_all = std::env::var_os("ZARRCAST_TESTS").is_some_and(|tests| tests == "all");
    let more = MORE_COMMANDS.chunks(if are_all { MORE_COMMANDS.len() } else { 1 }).cycle();
    let faults = side_by_side(2, cases.iter().zip(more), |(case, more)| survive_case(class, case, more)).concat();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

fn survive_case(class: &str, case: &Case, more: &[&[&'static str]]) -> Vec<String> {
    let folder = temporary_folder();
    fs::create_dir(folder.path().join("outside")).unwrap();
    fs::write(folder.path().join("outside/sentinel"), "mine").unwrap();
    fs::create_dir(folder.path().join("streams")).unwrap();
    (case.build)(&Store::new(&folder.path().join(STORE)));
    let mut faults = Vec::new();
    let mut said_something = false;
    for command in COMMANDS.iter().chain(more) {
        let named = |argument: &'static str| match argument {
            CHUNK => case.chunk,
            STORE => case.location,
            other => other,
        };
        let arguments: Vec<&str> = command.iter().map(|argument| named(argument)).collect();
        let limited: Vec<&str> = arguments.iter().copied().chain(["--max-memory", "128MiB"]).collect();
        let ended = run(folder.path(), &limited, ADDRESS_BYTES);
        // Any store with a missing chunk causes a message of `apply-codec`.
        said_something |=
            command[0] != "apply-codec" && (ended.status != Some(0) || size(&folder.path().join("streams/error")) > 0);
        let place = format!("{class}: {}: {}", case.name, arguments.join(" "));
        if std::env::var_os("HOSTILE_VERBOSE").is_some() {
            let error = fs::read(folder.path().join("streams/error")).unwrap();
            let error = String::from_utf8_lossy(&error[..error.len().min(700)]).replace('\n', "\n      ");
            let Ended { status, kibibytes, seconds, .. } = ended;
            eprintln!("{place}\n    {status:?}, {} MiB, {seconds:.2} s\n      {error}", kibibytes >> 10);
        }
        let found = look(folder.path(), &arguments, &ended);
        faults.extend(found.into_iter().map(|fault| format!("{place}: {fault}")));
    }
    if more.len() == MORE_COMMANDS.len() && !said_something && !case.harmless {
        faults.push(format!("{class}: {}: no command says a word", case.name));
    }
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    faults
}

/// Runs the program with little address space. Its streams are files, because it could block on a pipe.
fn run(folder: &Path, arguments: &[&str], addresses: u64) -> Ended {
    let stream = |name: &str| Stdio::from(File::create(folder.join("streams").join(name)).unwrap());
    let mut command = after(&format!("ulimit -v {} && ulimit -t {PROCESSOR_SECONDS}", addresses >> 10));
    command
        .args(arguments)
        .args(["--threads", "2"])
        .current_dir(folder)
        // An arena for each thread would use address space, not memory.
        .env("MALLOC_ARENA_MAX", "1")
        .env("RUST_BACKTRACE", "1")
        .stdin(Stdio::null())
        .stdout(stream("output"))
        .stderr(stream("error"));
    let begun = Instant::now();
    #[expect(clippy::zombie_processes, reason = "wait4 waits for it and also reports its memory")]
    let child = command.spawn().unwrap();
    let process = i32::try_from(child.id()).unwrap();
    loop {
        if let Some(ended) = wait(process) {
            return ended;
        }
        if begun.elapsed() > HANG {
            // SAFETY: a call without pointers; the process is a child of this one that nobody has waited for.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the end of a child and its maximum memory. `None` while it runs.
fn wait(process: i32) -> Option<Ended> {
    let mut status = 0;
    // SAFETY: `rusage` is made of integers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to variables of this function, of the types that the call fills.
    let waited = unsafe { libc::wait4(process, &raw mut status, libc::WNOHANG, &raw mut usage) };
    assert!(waited >= 0, "{}", std::io::Error::last_os_error());
    let seconds = |time: libc::timeval| {
        f64::from(i32::try_from(time.tv_sec).unwrap_or(i32::MAX))
            + f64::from(i32::try_from(time.tv_usec).unwrap_or_default()) / 1e6
    };
    (waited == process).then(|| Ended {
        status: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WTERMSIG(status),
        kibibytes: usage.ru_maxrss,
        seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
    })
}

/// Checks how a command ended and what files it left. Removes its result.
fn look(folder: &Path, arguments: &[&str], ended: &Ended) -> Vec<String> {
    let mut faults = Vec::new();
    match ended.status {
        Some(0 | 1 | 3) => {}
        Some(status) => faults.push(format!("exit status {status}")),
        None => {
            faults.push(format!("signal {} after {:.0} s of processor time", ended.signal, ended.seconds));
        }
    }
    if ended.kibibytes >= RESIDENT_KIBIBYTES {
        faults.push(format!("{} MiB of memory", ended.kibibytes >> 10));
    }
    let error = folder.join("streams/error");
    for word in ["panicked", "internal error", "the program has a bug", "stack overflow", "memory allocation"] {
        if holds(&error, word.as_bytes()) {
            faults.push(format!("{word:?} on stderr: {}", beginning(&error)));
        }
    }
    let output = folder.join("streams/output");
    for stream in [&output, &error] {
        faults.extend(control_character(stream).map(|found| format!("{found} on {}", stream.display())));
    }
    if arguments.contains(&"--json") && size(&output) > 0 {
        let text = BufReader::new(File::open(&output).unwrap());
        if let Err(error) = serde_json::from_reader::<_, serde::de::IgnoredAny>(text) {
            faults.push(format!("stdout is no JSON: {error}"));
        }
    }
    faults.extend(leavings(folder, arguments, ended.status == Some(0)));
    faults
}

/// Returns an unexpected new or missing file. A result that opens may exist only after success.
fn leavings(folder: &Path, arguments: &[&str], done: bool) -> Option<String> {
    let result = arguments.last().filter(|last| last.starts_with("result"));
    // An unfinished run that can be resumed leaves its journal and no document.
    let is_unfinished = |path: &Path| {
        path.join(".zarrcast/journal").exists()
            && ["zarr.json", ".zarray", ".zgroup"].iter().all(|document| !path.join(document).exists())
    };
    let is_complete = |path: &Path| path.exists() && !is_unfinished(path);
    let is_there = result.is_some_and(|name| is_complete(&folder.join(name)));
    if let Some(name) = result.filter(|name| folder.join(name).exists()) {
        let path = folder.join(name);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    let list = |path: &Path| {
        let entries = fs::read_dir(path).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    if list(folder) != ["outside", STORE, "streams"] || list(&folder.join("outside")) != ["sentinel"] {
        return Some(format!("files were made or removed: {:?}", list(folder)));
    }
    if fs::read(folder.join("outside/sentinel")).unwrap() != b"mine" {
        return Some("a file outside the store was changed".to_owned());
    }
    match (result, is_there, done) {
        (Some(_), true, false) => Some("a result was left after an error".to_owned()),
        (Some(_), false, true) => Some("there is no result".to_owned()),
        _ => None,
    }
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

fn beginning(path: &Path) -> String {
    let mut text = Vec::new();
    File::open(path).unwrap().take(600).read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

/// Checks whether the first MiB of a file contains a word.
fn holds(path: &Path, word: &[u8]) -> bool {
    let mut text = Vec::new();
    File::open(path).unwrap().take(1 << 20).read_to_end(&mut text).unwrap();
    text.windows(word.len()).any(|window| window == word)
}

/// Finds the first control character for a terminal: ASCII or its 8-bit (C1) variants.
fn control_character(path: &Path) -> Option<String> {
    let mut before = 0;
    for byte in BufReader::new(File::open(path).unwrap()).bytes() {
        let byte = byte.unwrap();
        let is_control = byte < 0x20 && byte != b'\n';
        let is_relative = before == 0xc2 && (0x80..0xa0).contains(&byte);
        if is_control || byte == 0x7f || is_relative {
            return Some(format!("the control character {byte:#04x}"));
        }
        before = byte;
    }
    None
}
