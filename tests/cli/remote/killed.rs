//! Runs that end at any of their requests: no incomplete array opens, and `--resume` completes it.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Answer, Manner, Objects, Server, array, run, sound, variables};
use crate::remote::server::Request;
use crate::support::{CliTest, side_by_side};

const BUCKET: Manner = Manner::Bucket { page: 1000 };
const DEST: &str = "/bucket/b/";
const ROOT: &str = "/bucket/b/zarr.json";

/// A job that writes `s3://bucket/b`.
struct Job {
    test: CliTest,
    arguments: Vec<&'static str>,
    before: Objects,
}

fn at_destination(objects: &Objects) -> Objects {
    let below = objects.iter().filter(|(path, _)| path.starts_with(DEST));
    below.map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
}

/// Returns a server that needs longer to remove than to write.
fn lingering(objects: Objects) -> Server {
    let linger = |_, request: &Request| {
        if request.method == "DELETE" || request.query.contains("delete") {
            std::thread::sleep(Duration::from_millis(30));
        }
        None
    };
    Server::start(objects, BUCKET, Box::new(linger))
}

/// Drops the files that the run keeps only until it ends.
fn without_journal(objects: Objects) -> Objects {
    objects.into_iter().filter(|(path, _)| !path.contains("/.zarrcast/")).collect()
}

impl Job {
    /// Returns the result of an uninterrupted run and its number of requests.
    fn whole(&self) -> (Objects, usize) {
        let server = sound(self.before.clone(), BUCKET);
        run(&self.test, &server, &self.arguments).succeeds();
        assert_eq!(server.uploads().1, 0);
        (at_destination(&server.objects()), server.requests().len())
    }

    fn start(&self, server: &Server) -> Child {
        let mut child = Command::new(env!("CARGO_BIN_EXE_zarrcast"));
        child.args(&self.arguments).envs(variables(server)).current_dir(self.test.path(""));
        child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Kills the program at a request without an answer. Returns the objects left, or `None` if the run finished first.
    fn kill_at(&self, request: usize) -> Option<Objects> {
        let reached = Arc::new(AtomicBool::new(false));
        let seen = reached.clone();
        let stop = move |number, _: &Request| {
            (number >= request).then(|| {
                seen.store(true, Ordering::SeqCst);
                Answer { delay: Duration::from_mins(5), ..Answer::new(500, "") }
            })
        };
        let server = Server::start(self.before.clone(), BUCKET, Box::new(stop));
        let mut child = self.start(&server);
        let begun = Instant::now();
        while !reached.load(Ordering::SeqCst) {
            if child.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(begun.elapsed() < Duration::from_mins(1), "it waits before request {request}");
            std::thread::sleep(Duration::from_millis(2));
        }
        // Concurrent requests may still be answered.
        std::thread::sleep(Duration::from_millis(20));
        child.kill().unwrap();
        child.wait().unwrap();
        Some(server.objects())
    }

    /// Checks the objects after an interrupted run: no array that opens, or the one from before, or the whole result.
    fn check(&self, left: &Objects, whole: &Objects, at: &str) {
        let found = without_journal(at_destination(left));
        let is_sound = !found.contains_key(ROOT) || found == *whole || found == at_destination(&self.before);
        assert!(is_sound, "{at}: {:?}", found.keys());
    }

    /// Resumes the run. The result is the same as that of an uninterrupted run.
    fn resume(&self, left: Objects, whole: &Objects, at: &str) {
        let is_done = at_destination(&left) == *whole;
        let server = lingering(left);
        let arguments = [self.arguments.as_slice(), &["--resume"]].concat();
        let resumed = run(&self.test, &server, &arguments);
        let is_refused = is_done && resumed.status == 3 && resumed.error.contains("nothing to resume");
        assert!(resumed.status == 0 || is_refused, "{at}: {}", resumed.error);
        let found = at_destination(&server.objects());
        assert_eq!(found.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>(), "{at}");
        assert!(found == *whole, "{at}: other bytes");
    }

    /// Interrupts the job at every `step`th of its requests.
    fn survives(&self, step: usize) {
        let (whole, requests) = self.whole();
        assert!(requests > 8, "{requests}");
        side_by_side(4, (0..requests).step_by(step), |request| {
            let at = format!("killed at {request} of {requests}");
            if let Some(left) = self.kill_at(request) {
                self.check(&left, &whole, &at);
                self.resume(left, &whole, &at);
            }
        });
        side_by_side(4, (0..requests).skip(1).step_by(2 * step), |request| {
            let at = format!("refused at {request} of {requests}");
            let refuse = move |number, _: &Request| {
                let answer = || Answer::new(403, "<Error><Code>AccessDenied</Code></Error>");
                (number == request).then(answer)
            };
            let server = Server::start(self.before.clone(), BUCKET, Box::new(refuse));
            let refused = run(&self.test, &server, &self.arguments);
            assert!(matches!(refused.status, 0 | 3), "{at}: {}", refused.error);
            let left = server.objects();
            if refused.status == 0 {
                assert!(at_destination(&left) == whole, "{at}");
            } else {
                self.check(&left, &whole, &at);
                self.resume(left, &whole, &at);
            }
            let is_abort = server.requests().get(request).is_some_and(|request| request.method == "DELETE");
            assert!(is_abort || server.uploads().1 == 0, "{at}: an upload is left");
        });
    }
}

#[test]
fn copy_inside_a_bucket_survives() {
    let arguments = vec!["transcode", "s3://bucket/a", "s3://bucket/b"];
    Job { test: CliTest::new(), arguments, before: array("/bucket/a") }.survives(2);
}

#[test]
fn quantising_with_a_first_pass_survives() {
    let test = CliTest::new();
    let chunk = |value: f32| Some([value, value + 0.5, 1.0, -3.25]);
    test.write_float32("source", "\"NaN\"", &[chunk(0.0), chunk(9.0), chunk(4.0), None, chunk(2.0)]);
    let arguments = vec!["transcode", "--quantize", "uint8", "source", "s3://bucket/b"];
    Job { test, arguments, before: Objects::new() }.survives(2);
}

/// Returns a job that writes a shard of 9 MiB. It is uploaded in two parts.
fn large_shard() -> Job {
    let test = CliTest::new();
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[9437184],"data_type":"uint8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[3145728]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{}}"#;
    test.write("source/zarr.json", document);
    for chunk in 0..3_u8 {
        test.write(&format!("source/c/{chunk}"), vec![chunk + 1; 3 << 20]);
    }
    let arguments = vec!["transcode", "--requests", "1", "--shard-shape", "9437184", "source", "s3://bucket/b"];
    Job { test, arguments, before: Objects::new() }
}

#[test]
fn shard_that_is_uploaded_in_parts_survives() {
    let job = large_shard();
    let server = sound(Objects::new(), BUCKET);
    run(&job.test, &server, &job.arguments).succeeds();
    assert_eq!(server.uploads(), (1, 0));
    job.survives(2);
}

/// The abort of the upload does not wait behind a part in flight, also with only one request at a time.
#[test]
fn interrupt_aborts_an_upload_whose_part_hangs() {
    let job = large_shard();
    let (begun, part) = mpsc::channel();
    let hang = move |_, request: &Request| {
        request.parameters().contains_key("partNumber").then(|| {
            begun.send(()).unwrap();
            Answer { delay: Duration::from_mins(5), ..Answer::new(500, "") }
        })
    };
    let server = Server::start(Objects::new(), BUCKET, Box::new(hang));
    let mut child = job.start(&server);
    part.recv_timeout(Duration::from_mins(1)).unwrap();
    assert_eq!(server.uploads(), (1, 1));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(server.uploads(), (1, 0));
}

#[test]
fn replacing_an_array_survives() {
    let mut before = array("/bucket/a");
    before.extend(array("/bucket/b"));
    for chunk in 0..5 {
        before.insert(format!("/bucket/b/c/{chunk}"), vec![9; 4]);
    }
    before.insert("/bucket/b/c/5".to_owned(), vec![9; 4]);
    let arguments = vec!["transcode", "--overwrite", "s3://bucket/a", "s3://bucket/b"];
    Job { test: CliTest::new(), arguments, before }.survives(1);
}

/// A part of a job, and `--finish`.
#[test]
fn part_and_finish_of_a_job_in_parts_survive() {
    let job = ["transcode", "-q", "s3://bucket/a", "s3://bucket/b"];
    let command = |options: &[&'static str]| [&job[..], options].concat();
    let test = CliTest::new();
    let server = sound(array("/bucket/a"), BUCKET);
    run(&test, &server, &command(&["--compress", "zstd:1", "--init", "--partitions", "2"])).succeeds();
    let planned = server.objects();
    let parts = ["0", "1"].map(|part| command(&["--partition", part]));
    for part in &parts {
        run(&test, &server, part).succeeds();
    }
    let finish = command(&["--finish"]);
    let done = server.objects();
    run(&test, &server, &finish).succeeds();
    let whole = at_destination(&server.objects());
    assert!(whole.len() == 6 && whole.keys().all(|path| !path.contains(".zarrcast")), "{:?}", whole.keys());
    for (arguments, before) in [(parts[1].clone(), planned), (finish.clone(), done)] {
        let job = Job { test: CliTest::new(), arguments, before };
        let (_, requests) = job.whole();
        side_by_side(4, (0..requests).step_by(2), |request| {
            let at = format!("{:?} killed at {request} of {requests}", job.arguments.last());
            let Some(left) = job.kill_at(request) else { return };
            let found = without_journal(at_destination(&left));
            assert!(!found.contains_key(ROOT) || found == whole, "{at}: {:?}", found.keys());
            let server = lingering(left);
            for arguments in parts.iter().chain([&finish]) {
                let again = run(&job.test, &server, arguments);
                assert_eq!(again.status, 0, "{at}: {arguments:?}: {}", again.error);
            }
            assert!(at_destination(&server.objects()) == whole, "{at}: {:?}", server.objects().keys());
        });
    }
}

/// Chunks are written concurrently. The error of one arrives after later chunks are already noted.
#[test]
fn chunk_that_was_refused_is_not_noted_as_written() {
    let test = CliTest::new();
    for (key, bytes) in long("a") {
        test.write(&key, bytes);
    }
    let whole = long("/bucket/b");
    let command = ["transcode", "a", "s3://bucket/b", "--requests", "2", "--threads", "2"];
    for chunk in [0, 7, 100, 150, 198, 199] {
        let refused = format!("/bucket/b/c/{chunk}");
        let refuse = move |_, request: &Request| {
            let is_meant = request.method == "PUT" && request.path == refused;
            is_meant.then(|| Answer::new(403, "<Error><Code>AccessDenied</Code></Error>"))
        };
        let server = Server::start(Objects::new(), BUCKET, Box::new(refuse));
        run(&test, &server, &command).fails(3, &["403"]);
        let left = server.objects();
        assert!(!left.contains_key(ROOT) && !left.contains_key(&format!("/bucket/b/c/{chunk}")));
        let server = sound(left, BUCKET);
        run(&test, &server, &[&command[..], &["--resume"]].concat()).succeeds();
        let found = at_destination(&server.objects());
        assert_eq!(found.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>(), "chunk {chunk}");
        assert!(found == whole, "chunk {chunk}: other bytes");
    }
}

/// A change to the objects left in a bucket.
type Change = fn(&mut Objects);

/// Removals of a killed run may arrive at the store after another run has started.
#[test]
fn what_lacks_before_publication_is_written_again() {
    let test = CliTest::new();
    for (key, bytes) in long("a") {
        test.write(&key, bytes);
    }
    let command = ["transcode", "--compress", "zstd:1", "a", "s3://bucket/b"];
    let server = sound(Objects::new(), BUCKET);
    run(&test, &server, &command).succeeds();
    let requests = server.requests();
    let lists = |requests: &[Request]| requests.iter().filter(|request| request.query.contains("list-type")).count();
    let last_chunk = requests.iter().rposition(|request| request.path.starts_with("/bucket/b/c/")).unwrap();
    let root = requests.iter().rposition(|request| request.path == ROOT && request.method == "PUT").unwrap();
    assert_eq!(lists(&requests[last_chunk..root]), 1, "one request for up to 1,000 keys");
    let whole = at_destination(&server.objects());
    let refuse = |_, request: &Request| {
        let is_root = request.method == "PUT" && request.path == ROOT;
        is_root.then(|| Answer::new(403, "<Error><Code>AccessDenied</Code></Error>"))
    };
    let unpublished = Server::start(Objects::new(), BUCKET, Box::new(refuse));
    run(&test, &unpublished, &command).fails(3, &["403"]);
    let changes: [(Change, usize); 3] = [
        (|left| ["/bucket/b/c/7", "/bucket/b/c/199"].iter().for_each(|key| drop(left.remove(*key))), 2),
        (|left| drop(left.insert("/bucket/b/c/7".to_owned(), vec![9; 99])), 200),
        (|left| drop((left.remove("/bucket/b/c/0"), left.insert("/bucket/b/c/1".to_owned(), vec![]))), 201),
    ];
    for (number, (change, written)) in changes.into_iter().enumerate() {
        let mut left = unpublished.objects();
        change(&mut left);
        let server = sound(left, BUCKET);
        run(&test, &server, &[&command[..], &["--resume"]].concat()).succeeds();
        assert!(at_destination(&server.objects()) == whole, "change {number}");
        assert_eq!(chunks_put(&server), written, "change {number}");
    }
}

/// Counts the chunks that were sent.
fn chunks_put(server: &Server) -> usize {
    let lines = server.lines();
    lines.iter().filter(|line| line.starts_with("PUT /bucket/b/c/")).count()
}

/// Sends a signal to a copy of 200 chunks after `chunks` of them arrived. Returns the objects and the exit status.
fn end_at(
    copy: [&'static str; 7],
    chunks: usize,
    signal: &str,
    slow: impl Fn(usize) -> Duration + Send + Sync + 'static,
) -> (CliTest, Objects, Option<i32>) {
    let test = CliTest::new();
    for (key, bytes) in long("a") {
        test.write(&key, bytes);
    }
    let linger = move |_, request: &Request| {
        let chunk = request.path.strip_prefix("/bucket/b/c/").filter(|_| request.method == "PUT");
        // By the chunk's number: under load, requests arrive in another order than they were made.
        if let Some(chunk) = chunk {
            std::thread::sleep(slow(chunk.parse().unwrap()));
        }
        None
    };
    let server = Server::start(Objects::new(), BUCKET, Box::new(linger));
    let mut child = Command::new(env!("CARGO_BIN_EXE_zarrcast"));
    child.args(copy).envs(variables(&server)).current_dir(test.path(""));
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let stored = |objects: &Objects| objects.keys().filter(|key| key.starts_with("/bucket/b/c/")).count();
    while stored(&server.objects()) < chunks {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(5));
    }
    // Time for the answers to arrive.
    std::thread::sleep(Duration::from_millis(100));
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let status = child.wait().unwrap().code();
    (test, server.objects(), status)
}

const COPY: [&str; 7] = ["transcode", "a", "s3://bucket/b", "--requests", "4", "--threads", "2"];

/// One thread makes the requests in the order of the chunks, even on a busy machine.
const COPY_IN_ORDER: [&str; 7] = ["transcode", "a", "s3://bucket/b", "--requests", "4", "--threads", "1"];

/// Counts the chunks that a resumed run sends. Checks that it removes none.
fn resumed(test: &CliTest, left: Objects) -> usize {
    let server = sound(left, BUCKET);
    run(test, &server, &[&COPY[..], &["--resume"]].concat()).succeeds();
    assert!(without_journal(at_destination(&server.objects())) == long("/bucket/b"));
    let removes_chunks = |request: &Request| match request.method.as_str() {
        "DELETE" => request.path.starts_with("/bucket/b/c/"),
        _ => request.query.contains("delete") && String::from_utf8_lossy(&request.body).contains("b/c/"),
    };
    assert!(!server.requests().iter().any(removes_chunks));
    chunks_put(&server)
}

#[test]
fn run_that_is_terminated_during_slow_writes_notes_all_that_is_written() {
    // The 31st chunk and all later ones get no answer.
    let slow = |chunk: usize| if chunk < 30 { Duration::ZERO } else { Duration::from_mins(5) };
    let (test, left, status) = end_at(COPY_IN_ORDER, 30, "-TERM", slow);
    assert_eq!(status, Some(143));
    assert_eq!(resumed(&test, left), 170);
}

#[test]
fn run_that_is_killed_loses_little_of_what_it_has_written() {
    let (test, left, _) = end_at(COPY, 150, "-KILL", |_| Duration::from_millis(60));
    let again = resumed(&test, left);
    assert!(again < 150, "{again} of 200 chunks are written again, and 150 were there");
}

/// Returns an array of 200 chunks.
fn long(prefix: &str) -> Objects {
    let document = String::from_utf8(array("").remove("/zarr.json").unwrap()).unwrap();
    let document = document.replace("\"shape\":[24]", "\"shape\":[800]");
    let mut objects = Objects::from([(format!("{prefix}/zarr.json"), document.into_bytes())]);
    objects.extend((0..200_u8).map(|chunk| (format!("{prefix}/c/{chunk}"), vec![chunk; 4])));
    objects
}
