//! Copies inside one server: the server copies the bytes itself, or they are copied correctly without that.

use super::{Answer, Manner, Objects, Server, array, run, sound, unlocked};
use crate::remote::server::Request;
use crate::support::{CliTest, Run};

const BUCKET: Manner = Manner::Bucket { page: 3 };

fn moved(objects: &Objects, from: &str, to: &str) -> Objects {
    let below = objects.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(from)?, bytes)));
    below.map(|(path, bytes)| (format!("{to}{path}"), bytes.clone())).collect()
}

/// Asserts success on a server with or without locks.
#[track_caller]
fn goes_well(run: Run) -> Run {
    if run.error.is_empty() { run.succeeds() } else { unlocked(run) }
}

/// Asserts that a prefix contains exactly the array of these tests.
fn assert_copied(server: &Server, prefix: &str) {
    let found: Objects =
        server.objects().into_iter().filter(|(path, _)| path.starts_with(&format!("{prefix}/"))).collect();
    assert_eq!(found, moved(&array("/bucket/a"), "/bucket/a", prefix));
}

fn is_chunk_read(request: &Request) -> bool {
    request.method == "GET" && request.path.contains("/c/")
}

#[test]
fn server_copies_inside_a_bucket() {
    for (to, copied) in [("bucket/b", 5), ("other/b", 0)] {
        let (test, server) = (CliTest::new(), sound(array("/bucket/a"), BUCKET));
        let result =
            goes_well(run(&test, &server, &["transcode", "--json", "s3://bucket/a", &format!("s3://{to}")])).json();
        assert_copied(&server, &format!("/{to}"));
        assert_eq!(result["totals"]["bytes_read"], 20);
        assert_eq!(result["totals"]["bytes_written"], 20);
        let requests = server.requests();
        assert_eq!(requests.iter().filter(|request| is_chunk_read(request)).count(), 5 - copied, "{to}");
        let copies = requests.iter().filter(|request| request.headers.contains_key("x-amz-copy-source"));
        assert_eq!(copies.count(), copied, "{to}");
    }
}

#[test]
fn copies_are_compared_where_that_is_asked_for() {
    let (test, server) = (CliTest::new(), sound(array("/bucket/a"), BUCKET));
    goes_well(run(&test, &server, &["transcode", "--verify", "s3://bucket/a", "s3://bucket/b"]));
    assert_copied(&server, "/bucket/b");
    assert!(server.requests().iter().any(is_chunk_read));
}

#[test]
fn server_that_does_not_copy_is_found_out() {
    let refusals: [fn() -> Answer; 4] = [
        || Answer::new(501, "<Error><Code>NotImplemented</Code></Error>"),
        || Answer::new(403, "<Error><Code>AccessDenied</Code></Error>"),
        || Answer::new(200, "<Error><Code>InternalError</Code></Error>"),
        || Answer::new(200, ""),
    ];
    for refusal in refusals {
        let fault = move |_, request: &Request| request.headers.contains_key("x-amz-copy-source").then(refusal);
        let (test, server) = (CliTest::new(), Server::start(array("/bucket/a"), BUCKET, Box::new(fault)));
        goes_well(run(&test, &server, &["transcode", "s3://bucket/a", "s3://bucket/b"]));
        assert_copied(&server, "/bucket/b");
    }
    // A server that writes the body of the copy request, which is empty.
    let (test, server) = (CliTest::new(), sound(array("/bucket/a"), Manner::Careless { page: 3 }));
    goes_well(run(&test, &server, &["transcode", "s3://bucket/a", "s3://bucket/b"]));
    assert_copied(&server, "/bucket/b");
}

#[test]
fn chunk_that_is_larger_than_it_can_be_is_not_copied() {
    let mut objects = array("/bucket/a");
    objects.insert("/bucket/a/c/3".to_owned(), vec![0; 9 << 20]);
    let (test, server) = (CliTest::new(), sound(objects, BUCKET));
    run(&test, &server, &["transcode", "s3://bucket/a", "s3://bucket/b"]).fails(1, &["c/3", "9437184"]);
    assert!(!server.objects().contains_key("/bucket/b/zarr.json"));
}

#[test]
fn encryption_that_is_asked_for_is_on_every_object() {
    let mut objects = array("/bucket/a");
    // An object in a multipart upload, and an object that the server copies.
    let document = String::from_utf8(objects["/bucket/a/zarr.json"].clone()).unwrap();
    let large = document.replace("[24]", "[10000000]").replace("[4]", "[10000000]");
    objects.insert("/bucket/large/zarr.json".to_owned(), large.into_bytes());
    objects.insert("/bucket/large/c/0".to_owned(), vec![1; 10_000_000]);
    let settings = ["aws_server_side_encryption=aws:kms", "aws_sse_kms_key_id=k", "sse_bucket_key_enabled=true"];
    let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--storage-option", setting]).collect();
    for command in [
        ["transcode", "s3://bucket/a", "s3://bucket/b", "-q"].as_slice(),
        &["transcode", "s3://bucket/large", "s3://bucket/b", "-q", "--compress", "gzip:0"],
    ] {
        let (test, server) = (CliTest::new(), sound(objects.clone(), BUCKET));
        run(&test, &server, &[command, &settings].concat()).succeeds();
        let makes = |request: &&Request| {
            let is_begun = request.method == "POST" && request.parameters().contains_key("uploads");
            is_begun || (request.method == "PUT" && !request.parameters().contains_key("partNumber"))
        };
        let requests = server.requests();
        let made: Vec<&Request> = requests.iter().filter(makes).collect();
        assert!(made.len() >= 2 && made.iter().any(|request| request.path.ends_with("/b/c/0")));
        for request in made {
            let header = |name: &str| request.headers[&format!("x-amz-server-side-encryption{name}")].as_str();
            let found = [header(""), header("-aws-kms-key-id"), header("-bucket-key-enabled")];
            assert_eq!(found, ["aws:kms", "k", "true"], "{} {}", request.method, request.path);
            assert!(request.headers["authorization"].contains("x-amz-server-side-encryption"));
        }
    }
    let (test, server) = (CliTest::new(), sound(objects, BUCKET));
    let unknown = ["--storage-option", "aws_server_side_encryption=kms"];
    let command = ["transcode", "s3://bucket/a", "s3://bucket/b"];
    run(&test, &server, &[&command[..], &unknown].concat()).fails(3, &["aws:kms"]);
    assert!(server.requests().is_empty());
}
