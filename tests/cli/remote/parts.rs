//! A job in parts in a bucket.

use super::server::{Manner, Objects, Request};
use super::{array, is_copy, run, sound};
use crate::support::CliTest;

#[test]
fn job_in_parts_is_planned_done_and_finished_in_a_bucket() {
    let (test, server) = (CliTest::new(), sound(array("/bucket/a"), Manner::Bucket { page: 2 }));
    let command = |options: &[&str]| {
        let fixed = ["transcode", "-q", "s3://bucket/a", "s3://bucket/b"];
        run(&test, &server, &fixed.iter().chain(options).copied().collect::<Vec<_>>())
    };
    command(&["--compress", "zstd:1", "--verify", "--init", "--partitions", "3"]).succeeds();
    assert!(server.objects().keys().any(|key| key == "/bucket/b/.zarrcast/plan.json"));
    for part in ["2", "0"] {
        command(&["--partition", part]).succeeds();
        command(&["--partition", part]).succeeds();
    }
    let missing = command(&["--finish"]);
    assert!(missing.status == 1 && !server.objects().contains_key("/bucket/b/zarr.json"), "{}", missing.error);
    command(&["--partition", "1"]).succeeds();
    command(&["--status"]).succeeds();
    command(&["--finish"]).succeeds();
    command(&["--finish"]).succeeds();
    run(&test, &server, &["transcode", "-q", "--compress", "zstd:1", "s3://bucket/a", "whole"]).succeeds();
    let objects: Objects = server.objects();
    assert!(is_copy(&test, "whole", &objects, "/bucket/b"), "{:?}", objects.keys());
    assert!(objects.keys().all(|key| !key.contains(".zarrcast")), "{:?}", objects.keys());
}

/// Except listings, the number of requests does not grow with the number of parts. Only `--finish` reads the notes of
/// each part, once.
#[test]
fn job_of_many_parts_is_looked_at_and_finished_by_few_requests() {
    const PARTS: u64 = 60;
    let mut objects = array("/bucket/a");
    let document = String::from_utf8(objects["/bucket/a/zarr.json"].clone()).unwrap();
    objects.insert("/bucket/a/zarr.json".to_owned(), document.replace("[24]", "[240]").into_bytes());
    objects.extend((0..PARTS).map(|chunk| (format!("/bucket/a/c/{chunk}"), vec![1; 4])));
    let (test, server) = (CliTest::new(), sound(objects, Manner::Bucket { page: 6 }));
    let command = |options: &[&str]| {
        let before = server.requests().len();
        let fixed = ["transcode", "-q", "s3://bucket/a", "s3://bucket/b"];
        run(&test, &server, &fixed.iter().chain(options).copied().collect::<Vec<_>>()).succeeds();
        let requests = server.requests().split_off(before);
        let is_listing = |request: &&Request| request.query.contains("list-type");
        let of_many = |request: &&Request| !request.query.contains("max-keys=1");
        let listings = requests.iter().filter(is_listing).filter(of_many).count();
        (listings, requests.len() - listings)
    };
    command(&["--init", "--partitions", "60"]);
    for part in 0..PARTS {
        command(&["--partition", &part.to_string()]);
    }
    let (listings, others) = command(&["--status"]);
    // Ten pages of the parts' notes. `--finish` also lists DEST and the removed objects.
    assert!(listings <= 12 && others <= 20, "{listings} pages, {others} others");
    let (listings, others) = command(&["--finish"]);
    assert!(listings <= 50 && others <= 100, "{listings} pages, {others} others");
    assert!(server.objects().keys().all(|key| !key.contains(".zarrcast")));
    assert_eq!(server.objects().keys().filter(|key| key.starts_with("/bucket/b/c/")).count(), 60);
}

/// A part of a plan finishes after DEST was removed and planned again.
#[test]
fn part_of_a_job_that_was_removed_counts_for_nothing() {
    let test = CliTest::new();
    let fixed = ["transcode", "-q", "s3://bucket/a", "s3://bucket/b"];
    let with = |options: &[&'static str]| fixed.iter().chain(options).copied().collect::<Vec<_>>();
    let old = sound(array("/bucket/a"), Manner::Bucket { page: 1000 });
    for options in [&["--compress", "zstd:1", "--init", "--partitions", "2"][..], &["--partition", "0"]] {
        run(&test, &old, &with(options)).succeeds();
    }
    let new = sound(array("/bucket/a"), Manner::Bucket { page: 1000 });
    run(&test, &new, &with(&["--compress", "gzip:9", "--init", "--partitions", "2"])).succeeds();
    let mut objects = old.objects();
    objects.extend(new.objects());
    let server = sound(objects, Manner::Bucket { page: 1000 });
    let loud = ["transcode", "s3://bucket/a", "s3://bucket/b", "--status", "--json"];
    let status = run(&test, &server, &loud);
    assert!(status.error.contains("belongs to another job") && status.error.contains("--finish"), "{}", status.error);
    let status = status.json();
    assert_eq!(status["passes"][0]["missing"], "0-1", "{status}");
    assert_eq!(status["warnings"][0]["code"], "ZK202", "{status}");
    for options in [["--partition", "0"], ["--partition", "1"]] {
        let part = run(&test, &server, &[&with(&options)[..], &["--json"]].concat()).succeeds().json();
        assert_eq!(part["was_done"], false, "{part}");
    }
    run(&test, &server, &with(&["--finish"])).succeeds();
    run(&test, &server, &["transcode", "-q", "--compress", "gzip:9", "s3://bucket/a", "whole"]).succeeds();
    let objects = server.objects();
    assert!(is_copy(&test, "whole", &objects, "/bucket/b"), "{:?}", objects.keys());
}
