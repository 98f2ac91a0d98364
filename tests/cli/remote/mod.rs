//! Stores behind a network, against a server in the test's own process: what is asked for, and what becomes of answers
//! that are late, short, wrong or refused.

mod ahead;
mod bucket;
mod copying;
mod faults;
mod killed;
mod locks;
mod parts;
mod reading;
mod removal;
mod secrets;
mod server;
mod zips;

use crate::support::{self, CliTest, Run};
use server::{Answer, Fault, Manner, Objects, Server};

/// An array of 6 chunks of 4 bytes, of which the last is absent, below `prefix`.
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

/// A server to which nothing happens.
fn sound(objects: Objects, manner: Manner) -> Server {
    Server::start(objects, manner, Box::new(|_, _| None))
}

/// What tells the program that this server is the endpoint of S3, and keys.
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

/// Runs the program with this server as the endpoint of S3.
fn run(test: &CliTest, server: &Server, arguments: &[&str]) -> Run {
    test.run_with(arguments.iter().copied(), &variables(server))
}

/// Asserts that it went well and said nothing but that there are no locks.
#[track_caller]
fn unlocked(run: Run) -> Run {
    assert!(run.status == 0 && run.error.starts_with("warning[ZK208]"), "{} {}", run.status, run.error);
    assert_eq!(run.error.lines().count(), 1, "{}", run.error);
    run
}

/// Whether a local copy is what the server has below `prefix`.
fn is_copy(test: &CliTest, name: &str, objects: &Objects, prefix: &str) -> bool {
    let prefix = format!("{prefix}/");
    let expected = objects.iter().filter_map(|(key, bytes)| Some((key.strip_prefix(&prefix)?, bytes)));
    test.all_files(name).iter().map(|(key, bytes)| (key.as_str(), bytes)).eq(expected)
}
