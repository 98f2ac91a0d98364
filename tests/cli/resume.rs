//! `--resume` after links, locks, limits and a kill. `cases/resume.txt` tests the rest.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde_json::json;

use super::support::{CliTest, after, float32};

/// Writes an array of 4 chunks with a truncated third chunk. A run to `b` has failed at it.
fn ended() -> CliTest {
    let test = CliTest::new();
    let chunk = |first: f32| Some([first, first + 1.0, first + 2.0, first + 3.0]);
    test.write_float32("a", "0", &[chunk(0.0), chunk(4.0), chunk(8.0), chunk(12.0)]);
    test.run(["transcode", "--compress", "zstd:1", "a", "whole"]).succeeds();
    test.write("a/c/2", b"torn");
    let run = test.run(["transcode", "--threads=1", "--compress=zstd:1", "a", "b"]);
    run.fails(1, &["chunk [2]", "`b` is unfinished", "--resume"]);
    assert!(!test.exists("b/zarr.json") && test.exists("b/c/0") && test.exists("b/.zarrcast/journal"));
    test
}

fn mend(test: &CliTest) {
    test.write("a/c/2", float32(&[8.0, 9.0, 10.0, 11.0]));
}

#[test]
fn links_planted_in_an_unfinished_destination_lead_nowhere() {
    // The path of a link, and its target.
    for (link, target) in [
        ("b/c", "outside"),
        ("b/c/2", "outside/mine"),
        ("b/c/3", "outside/new"),
        ("b/zarr.zarrcast-partial", "outside/mine"),
    ] {
        let test = ended();
        mend(&test);
        test.write("outside/mine", "mine");
        test.write("outside/0", "mine");
        let _ = if link == "b/c" { fs::remove_dir_all(test.path(link)) } else { fs::remove_file(test.path(link)) };
        symlink(test.path(target), test.path(link)).unwrap();
        let run = test.run(["transcode", "--compress=zstd:1", "--resume", "a", "b"]);
        // A link at the key of an unfinished chunk is replaced, and the chunk is written. No other link is followed.
        if run.status != 0 {
            run.fails(3, &["a symbolic link is in the path", link]);
        }
        assert_eq!(test.read("outside/mine"), b"mine", "{link}");
        assert_eq!(test.read("outside/0"), b"mine", "{link}");
        assert!(!test.exists("outside/new"), "{link}");
        assert_eq!(fs::read_dir(test.path("outside")).unwrap().count(), 2, "{link}");
    }
}

#[test]
fn process_killed_at_any_instant_goes_on_to_the_same_bytes() {
    let test = CliTest::new();
    let chunks = vec![Some([1.0, 2.0, 3.0, 4.0]); 600];
    test.write_float32("a", "0", &chunks);
    let options = ["--codecs", r#"[{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}]"#];
    let command = |more: &[&str], destination: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zarrcast"));
        command.arg("transcode").args(options).args(more).args(["a", destination]).current_dir(test.path(""));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    assert!(command(&[], "whole").status().unwrap().success());
    let expected = test.all_files("whole");
    for (round, more) in [["--threads=1"].as_slice(), &["--threads=2"], &["--threads=2", "--overwrite"]]
        .into_iter()
        .cycle()
        .take(12)
        .enumerate()
    {
        let destination = format!("b{round}");
        if more.len() > 1 {
            test.write_float32(&destination, "0", &[Some([9.0; 4])]);
        }
        let mut child = command(more, &destination).spawn().unwrap();
        // A little later each time, from before the first chunk on.
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < 2 + 2 * round as u128 && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let node = test.path(&destination);
        if node.join("zarr.json").exists() {
            let found = test.all_files(&destination);
            let is_old = found.len() == 2 && more.len() > 1;
            assert!(is_old || expected.iter().all(|(key, bytes)| found.get(key) == Some(bytes)), "{round}");
        }
        let resumed = command(more, &destination).arg("--resume").status().unwrap();
        // The run may have been complete.
        assert!(resumed.success() || resumed.code() == Some(3), "{round}");
        assert_eq!(test.all_files(&destination), expected, "{round}");
        assert!(!test.exists(&format!(".{destination}.zarrcast")));
    }
}

#[test]
fn destination_of_a_running_process_is_locked() {
    let test = ended();
    mend(&test);
    let journal = fs::File::open(test.path("b/.zarrcast/journal")).unwrap();
    journal.try_lock().unwrap();
    let before = test.all_files("b");
    for option in ["--resume", "--overwrite"] {
        test.run(["transcode", "--compress=zstd:1", option, "a", "b"]).fails(3, &["locked", "`b`"]);
    }
    assert_eq!(test.all_files("b"), before);
    // A closed file stays locked while a process that another test is starting has it, too.
    journal.unlock().unwrap();
    test.run(["transcode", "--compress=zstd:1", "--resume", "a", "b"]).succeeds();
}

#[test]
fn file_size_limit_is_an_error_that_says_what_may_have_run_out() {
    let test = CliTest::new();
    test.array("a", json!({"shape": [32768], "chunk_shape": [8192], "data_type": "uint8"}));
    for index in 0..4 {
        test.write(&format!("a/c/{index}"), vec![1; 8192]);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_zarrcast"));
    command.args(["transcode", "--codecs", r#"[{"name":"bytes"},{"name":"crc32c"}]"#, "a", "b"]);
    command.current_dir(test.path(""));
    let limit = || {
        let limit = libc::rlimit { rlim_cur: 4096, rlim_max: 4096 };
        // SAFETY: the call reads the passed struct, and nothing else happens in the child before `exec`.
        match unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes one system call that is allowed between `fork` and `exec`.
    unsafe { command.pre_exec(limit) };
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("are free there now: look for a quota, a limit of the process"), "{error}");
    assert!(!test.exists("b/zarr.json"));
}

#[test]
fn permissions_are_those_that_cp_gives() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([1.0; 4]), Some([2.0; 4])]);
    let set = |name: &str, mode| {
        fs::set_permissions(test.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("a", 0o750);
    set("a/c", 0o750);
    set("a/zarr.json", 0o640);
    set("a/c/0", 0o600);
    set("a/c/1", 0o444);
    let mode = |name: &str| fs::metadata(test.path(name)).unwrap().permissions().mode() & 0o777;
    let run = |umask: &str, options: &[&str], destination: &str| {
        let mut shell = after(&format!("umask {umask}"));
        shell.arg("transcode").args(options).args(["a", destination]).current_dir(test.path(""));
        assert!(shell.stdout(Stdio::null()).status().unwrap().success());
    };
    run("022", &[], "b");
    assert_eq!([mode("b"), mode("b/c"), mode("b/zarr.json")], [0o750, 0o750, 0o640]);
    assert_eq!([mode("b/c/0"), mode("b/c/1")], [0o600, 0o444]);
    run("077", &["--compress", "zstd:1"], "d");
    assert_eq!([mode("d"), mode("d/c"), mode("d/zarr.json"), mode("d/c/0")], [0o700, 0o700, 0o600, 0o600]);
}

/// A process with few file descriptors fails at some point and explains how to resume.
#[test]
fn run_that_may_open_few_files_is_complete_or_can_be_resumed() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([1.0; 4]), Some([2.0; 4])]);
    let mut unfinished = 0;
    for most in 4..40 {
        let destination = format!("b{most}");
        let mut shell = after(&format!("ulimit -n {most}"));
        shell.args(["transcode", "--threads", "1", "a", &destination]).current_dir(test.path(""));
        let output = shell.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            assert!(!test.exists(&format!("{destination}/.zarrcast")), "{most}");
        } else if test.exists(&destination) {
            unfinished += 1;
            assert!(!test.exists(&format!("{destination}/zarr.json")), "{most}: {error}");
            assert!(error.contains("--resume"), "{most}: {error}");
            test.run(["transcode", "--resume", "a", &destination]).succeeds();
        }
    }
    assert!(unfinished > 0);
}
