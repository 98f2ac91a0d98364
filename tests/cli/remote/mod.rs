//! Remote stores, on a server in the test process: the requests, and late, short, wrong or refused answers.

mod ahead;
mod bucket;
mod copying;
pub(crate) mod faults;
mod killed;
pub(crate) mod locks;
mod parts;
mod reading;
mod removal;
mod secrets;
mod server;
mod zips;

use crate::support::{self, CliTest, Run};
use server::{Answer, Fault, Manner, Objects, Server};

/// Returns an array of 6 chunks of 4 bytes below `prefix`. The last chunk is missing.
fn array(prefix: &str) -> Objects {
    let codecs = serde_json::json!([{"name": "bytes"}]);
    let members =
        serde_json::json!({"shape": [24], "chunk_shape": [4], "data_type": "uint8", "fill_value": 7, "codecs": codecs});
    let document = support::array::document(&members).to_string();
    let mut objects = Objects::from([(format!("{prefix}/zarr.json"), document.into_bytes())]);
    for chunk in 0..5_u8 {
        objects.insert(format!("{prefix}/c/{chunk}"), vec![chunk; 4]);
    }
    objects
}

/// Runs tests that mostly wait.
pub(crate) fn at_once<const N: usize>(tests: [impl FnOnce() + Send; N]) {
    support::side_by_side(N, tests.into_iter(), |test| test());
}

/// Returns a server without faults.
fn sound(objects: Objects, manner: Manner) -> Server {
    Server::start(objects, manner, Box::new(|_, _| None))
}

/// Returns environment variables that make this server the S3 endpoint, with keys.
fn variables(server: &Server) -> [(&'static str, &str); 7] {
    [
        ("AWS_ENDPOINT_URL", server.address.as_str()),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "hidden"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_CONFIG_FILE", "/dev/null"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"),
        ("NO_PROXY", "127.0.0.1"),
    ]
}

/// Runs the program with this server as the S3 endpoint.
fn run(test: &CliTest, server: &Server, arguments: &[&str]) -> Run {
    test.run_with(arguments.iter().copied(), &variables(server))
}

/// Asserts status 0 and only the warning about missing locks.
#[track_caller]
fn unlocked(run: Run) -> Run {
    assert!(run.status == 0 && run.error.starts_with("warning[ZK208]"), "{} {}", run.status, run.error);
    assert_eq!(run.error.lines().count(), 1, "{}", run.error);
    run
}

/// Checks whether a local copy equals the server's objects below `prefix`.
fn is_copy(test: &CliTest, name: &str, objects: &Objects, prefix: &str) -> bool {
    let prefix = format!("{prefix}/");
    let expected = objects.iter().filter_map(|(key, bytes)| Some((key.strip_prefix(&prefix)?, bytes)));
    test.all_files(name).iter().map(|(key, bytes)| (key.as_str(), bytes)).eq(expected)
}
