//! Remote zip files: read by ranges, never as a whole.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::Request;
use super::{Manner, Objects, Server, array, is_copy, run, sound};
use crate::support::CliTest;
use crate::support::zip::{Member, zip};

/// Returns a zip file of 3 MiB with a small array, and the objects of the array.
fn zipped() -> (Objects, Objects) {
    let objects = array("/a");
    let mut members = vec![Member::stored("big/readme", vec![7; 3 << 20])];
    for (number, (key, bytes)) in objects.iter().enumerate() {
        let name = key.trim_start_matches('/');
        members.push(if number % 2 == 0 { Member::stored(name, bytes) } else { Member::deflated(name, bytes) });
    }
    (Objects::from([("/bucket/x.zip".to_owned(), zip(&members))]), objects)
}

#[test]
fn zip_behind_a_network_is_read_by_ranges() {
    let (zip, objects) = zipped();
    for manner in [Manner::Ranges, Manner::Bucket { page: 1000 }] {
        let is_bucket = matches!(manner, Manner::Bucket { .. });
        let (test, server) = (CliTest::new(), sound(zip.clone(), manner));
        let base = if is_bucket { "s3://bucket".to_owned() } else { format!("{}/bucket", server.address) };
        for location in [format!("{base}/x.zip/a"), format!("{base}/x.zip|zip:a")] {
            let before = server.requests().len();
            run(&test, &server, &["inspect", &location]).succeeds();
            assert!(server.requests().len() - before <= 3, "{:?}", server.lines());
            run(&test, &server, &["validate", "--level", "data", &location]).succeeds();
            run(&test, &server, &["transcode", &location, "copy"]).succeeds();
            assert!(is_copy(&test, "copy", &objects, "/a"));
            std::fs::remove_dir_all(test.path("copy")).unwrap();
            run(&test, &server, &["transcode", &location, "copy.zip", "--verify"]).succeeds();
            std::fs::remove_file(test.path("copy.zip")).unwrap();
        }
        let requests = server.requests();
        assert!(requests.iter().all(|request| request.method != "GET" || request.headers.contains_key("range")));
    }
}

#[test]
fn parts_of_two_versions_of_a_zip_are_never_put_together() {
    let (zip, _) = zipped();
    let (file, reads) = (zip["/bucket/x.zip"].clone(), AtomicUsize::new(0));
    let changing = move |_, request: &Request| {
        let is_new = request.method == "GET" && reads.fetch_add(1, Ordering::SeqCst) > 2;
        super::ahead::part_of(&file, request, ("etag", if is_new { "new" } else { "old" }))
    };
    let (test, server) = (CliTest::new(), Server::start(zip, Manner::Ranges, Box::new(changing)));
    let url = format!("{}/bucket/x.zip/a", server.address);
    run(&test, &server, &["transcode", &url, "copy"]).fails(3, &["x.zip", "changed while it was read"]);
}

#[test]
fn zip_is_written_to_local_disks_alone() {
    let (zip, _) = zipped();
    let (test, server) = (CliTest::new(), sound(zip, Manner::Bucket { page: 1000 }));
    let written = run(&test, &server, &["transcode", "s3://bucket/x.zip/a", "s3://bucket/new.zip"]);
    assert!(written.status == 2 && written.error.contains("a local .zip file"), "{}", written.error);
    let written = run(&test, &server, &["transcode", "s3://bucket/x.zip/a", "s3://bucket/x.zip|zip:b"]);
    assert!(written.status == 2 && written.error.contains("is inside a zip file"), "{}", written.error);
    assert!(server.requests().iter().all(|request| request.method != "PUT"));
}
