//! Locks: objects that are created if there is none, renewed, taken over and removed.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Answer, Manner, Objects, Server, array, run, sound, unlocked, variables};
use crate::remote::server::Request;
use crate::support::CliTest;

const BUCKET: Manner = Manner::Bucket { page: 1000 };
const LOCK: &str = "/bucket/b/.zarrcast/lock";
const COMMAND: [&str; 3] = ["transcode", "s3://bucket/a", "s3://bucket/b"];

/// Returns the objects below DEST.
fn below(server: &Server, prefix: &str) -> Vec<String> {
    let objects = server.objects();
    objects.keys().filter(|path| path.starts_with(prefix)).cloned().collect()
}

fn whole() -> Vec<String> {
    let keys = array("/bucket/b").into_keys();
    keys.collect()
}

/// Returns a lock as another run would leave it.
fn lock_of(host: &str, process: u32) -> Vec<u8> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let holder = serde_json::json!({"host": host, "boot": boot.trim(), "process": process,
        "namespace": namespace.to_str(), "begun": 1, "run": 0});
    let lock = serde_json::json!({"id": "other", "note": holder.to_string()});
    lock.to_string().into_bytes()
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

fn locked(lock: Vec<u8>) -> Objects {
    let mut objects = array("/bucket/a");
    objects.insert(LOCK.to_owned(), lock);
    objects
}

#[test]
fn lock_is_removed_at_the_end() {
    let (test, server) = (CliTest::new(), sound(array("/bucket/a"), BUCKET));
    run(&test, &server, &COMMAND).succeeds();
    assert_eq!(below(&server, "/bucket/b"), whole());
    assert!(server.requests().iter().any(|request| request.path == LOCK && request.method == "PUT"));
}

#[test]
fn lock_is_removed_after_an_error() {
    let fault = |_, request: &Request| {
        (request.method == "PUT" && request.path.ends_with("b/c/4"))
            .then(|| Answer::new(403, "<Error><Code>AccessDenied</Code></Error>"))
    };
    let (test, server) = (CliTest::new(), Server::start(array("/bucket/a"), BUCKET, Box::new(fault)));
    run(&test, &server, &COMMAND).fails(3, &["c/4"]);
    assert!(!server.objects().contains_key(LOCK));
    assert!(!server.objects().contains_key("/bucket/b/zarr.json"));
}

#[test]
fn server_that_takes_conditions_and_overwrites_gives_no_lock() {
    let (test, server) = (CliTest::new(), sound(array("/bucket/a"), Manner::Careless { page: 1000 }));
    unlocked(run(&test, &server, &COMMAND));
    assert_eq!(below(&server, "/bucket/b"), whole());
    // The same with a server that refuses them.
    let fault = |_, request: &Request| {
        request.headers.contains_key("if-none-match").then(|| Answer::new(501, "<Error></Error>"))
    };
    let (test, server) = (CliTest::new(), Server::start(array("/bucket/a"), BUCKET, Box::new(fault)));
    unlocked(run(&test, &server, &COMMAND));
    assert_eq!(below(&server, "/bucket/b"), whole());
}

#[test]
fn second_run_is_refused_while_the_first_goes_on() {
    let slow = |_, request: &Request| {
        let is_document = request.method == "PUT" && request.path.ends_with("b/zarr.json");
        is_document.then(|| Answer { delay: Duration::from_secs(8), ..Answer::new(500, "") })
    };
    let (test, server) = (CliTest::new(), Server::start(array("/bucket/a"), BUCKET, Box::new(slow)));
    let mut first = Command::new(env!("CARGO_BIN_EXE_zarrcast"));
    first.args(COMMAND).envs(variables(&server)).stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = first.spawn().unwrap();
    let begun = Instant::now();
    while !server.lines().iter().any(|line| line == "PUT /bucket/b/zarr.json") {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    let process = format!("process {} on", first.id());
    for option in ["--resume", "--overwrite"] {
        let arguments = [&COMMAND[..], &[option]].concat();
        run(&test, &server, &arguments).fails(3, &["locked", &process, "wait until"]);
    }
    assert!(below(&server, "/bucket/b/c").len() == 5, "the second has removed what the first wrote");
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(server.objects().contains_key(LOCK));
    // Its process is dead, on this host.
    let sound = Server::start(server.objects(), BUCKET, Box::new(|_, _| None));
    let arguments = [&COMMAND[..], &["--resume"]].concat();
    run(&test, &sound, &arguments).succeeds();
    assert_eq!(below(&sound, "/bucket/b"), whole());
}

#[test]
fn dry_run_tells_of_an_unfinished_run_with_another_plan() {
    let fault = |_, request: &Request| {
        let is_document = request.method == "PUT" && request.path.ends_with("b/zarr.json");
        is_document.then(|| Answer::new(403, "<Error><Code>AccessDenied</Code></Error>"))
    };
    let (test, server) = (CliTest::new(), Server::start(array("/bucket/a"), BUCKET, Box::new(fault)));
    run(&test, &server, &COMMAND).fails(3, &["zarr.json", "403"]);
    let before = server.objects();
    let other = [&COMMAND[..], &["--resume", "--compress", "zstd:1"]].concat();
    for shown in [&["--dry-run"][..], &[]] {
        run(&test, &server, &[&other[..], shown].concat()).fails(3, &["another plan"]);
    }
    run(&test, &server, &[&COMMAND[..], &["--resume", "--dry-run"]].concat()).succeeds();
    assert!(server.objects() == before);
}

#[test]
fn lock_of_another_host_is_taken_over_once_it_has_expired() {
    let (test, server) = (CliTest::new(), sound(array("/bucket/a"), BUCKET));
    // The lock is as old as the store itself, because it has not been renewed.
    let old = sound(locked(lock_of("elsewhere", 7)), BUCKET);
    run(&test, &old, &[&COMMAND[..], &["--resume"]].concat()).succeeds();
    assert_eq!(below(&old, "/bucket/b"), whole());
    // A lock that is written now and read again 70 seconds later.
    let fresh = put_lock(&server, &lock_of("elsewhere", 7));
    assert!(fresh.contains("200"), "{fresh}");
    let resume = [&COMMAND[..], &["--resume"]].concat();
    run(&test, &server, &resume).fails(3, &["locked", "process 7 on `elsewhere`", "expires 60 s"]);
    server.wait_for(70);
    run(&test, &server, &resume).succeeds();
    assert_eq!(below(&server, "/bucket/b"), whole());
}

#[test]
fn lock_of_a_dead_process_of_this_host_is_taken_over_at_once() {
    let (test, server) = (CliTest::new(), sound(array("/bucket/a"), BUCKET));
    put_lock(&server, &lock_of(&host(), 4_000_000));
    run(&test, &server, &[&COMMAND[..], &["--resume"]].concat()).succeeds();
    assert_eq!(below(&server, "/bucket/b"), whole());
}

/// What is in DEST stays there.
pub(crate) fn run_whose_lock_is_taken_over_while_it_waits_stops() {
    // The run waits longer than the time until its next renewal.
    let is_slow = AtomicBool::new(true);
    let slow = move |_, request: &Request| {
        let is_chunk = request.method == "PUT" && request.path.ends_with("b/c/4");
        (is_chunk && is_slow.swap(false, Ordering::SeqCst))
            .then(|| Answer { delay: Duration::from_secs(18), ..Answer::new(500, "") })
    };
    let (test, server) = (CliTest::new(), Server::start(array("/bucket/a"), BUCKET, Box::new(slow)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !server.lines().iter().any(|line| line == "PUT /bucket/b/c/4") {
                std::thread::sleep(Duration::from_millis(20));
            }
            put_lock(&server, &lock_of("elsewhere", 7));
        });
        run(&test, &server, &COMMAND).fails(3, &["lock", "another run"]);
    });
    let left = server.objects();
    assert_eq!(left.get(LOCK), Some(&lock_of("elsewhere", 7)));
    assert!(left.contains_key("/bucket/b/c/0") && !left.contains_key("/bucket/b/zarr.json"));
}

/// A run that goes on looks at its lock before it writes again.
pub(crate) fn run_whose_lock_is_taken_over_while_it_is_paused_stops() {
    let failing = |_, request: &Request| {
        let is_chunk = request.method == "PUT" && request.path.ends_with("b/c/4");
        is_chunk.then(|| Answer { delay: Duration::from_secs(1), ..Answer::new(500, "") })
    };
    let (test, server) = (CliTest::new(), Server::start(array("/bucket/a"), BUCKET, Box::new(failing)));
    let mut child = Command::new(env!("CARGO_BIN_EXE_zarrcast"));
    child.args(COMMAND).envs(variables(&server)).current_dir(test.path(""));
    let child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let signal = |signal: &str| {
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    while !server.lines().iter().any(|line| line == "PUT /bucket/b/c/4") {
        std::thread::sleep(Duration::from_millis(5));
    }
    signal("-STOP");
    // Longer than a run trusts its own lock, and longer than its running requests take.
    std::thread::sleep(Duration::from_secs(22));
    put_lock(&server, &lock_of("elsewhere", 7));
    let before = server.requests().len();
    signal("-CONT");
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && error.contains("another run took this lock"), "{error}");
    let changes = server
        .requests()
        .split_off(before)
        .into_iter()
        .filter(|request| !matches!(request.method.as_str(), "GET" | "HEAD") && request.path != LOCK);
    let changes: Vec<String> = changes.map(|request| format!("{} {}", request.method, request.path)).collect();
    assert!(changes.is_empty(), "{changes:?}");
    assert_eq!(server.objects().get(LOCK), Some(&lock_of("elsewhere", 7)));
}

/// Only the clock of the server counts, however different the clock of this machine is.
#[test]
fn lock_expires_by_the_clock_of_the_server_alone() {
    let (test, server) = (CliTest::new(), sound(array("/bucket/a"), BUCKET));
    server.wait_for(30 * 86_400);
    put_lock(&server, &lock_of("elsewhere", 7));
    let resume = [&COMMAND[..], &["--resume"]].concat();
    run(&test, &server, &resume).fails(3, &["locked", "process 7 on `elsewhere`"]);
    server.wait_for(70);
    run(&test, &server, &resume).succeeds();
    assert_eq!(below(&server, "/bucket/b"), whole());
}

/// Writes a lock as another program would.
fn put_lock(server: &Server, body: &[u8]) -> String {
    use std::io::{Read, Write};
    let host = server.address.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let head = format!("PUT {LOCK} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}
