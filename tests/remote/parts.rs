//! A job in parts in a bucket.

use super::server::{Manner, Objects};
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
    assert!(
        missing.status == 1 && !server.objects().contains_key("/bucket/b/zarr.json"),
        "{}",
        missing.error
    );
    command(&["--partition", "1"]).succeeds();
    command(&["--status"]).succeeds();
    command(&["--finish"]).succeeds();
    command(&["--finish"]).succeeds();
    run(&test, &server, &["transcode", "-q", "--compress", "zstd:1", "s3://bucket/a", "whole"]).succeeds();
    let objects: Objects = server.objects();
    assert!(is_copy(&test, "whole", &objects, "/bucket/b"), "{:?}", objects.keys());
    assert!(objects.keys().all(|key| !key.contains(".zarrcast")), "{:?}", objects.keys());
}
