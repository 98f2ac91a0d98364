//! Removal of many objects.

use super::server::{Answer, Manner, Objects, Request, Server};
use super::{array, is_copy, run, sound};
use crate::support::CliTest;

/// Returns an array, and another of 2,501 objects at its destination.
fn before() -> Objects {
    let mut objects = array("/bucket/a");
    objects.extend(array("/bucket/b"));
    objects.extend((5..2500).map(|chunk| (format!("/bucket/b/c/{chunk}"), vec![9])));
    objects.insert("/bucket/b/c/<&> \"x\" 'y'".to_owned(), vec![9]);
    objects
}

const COMMAND: [&str; 5] = ["transcode", "-q", "--overwrite", "s3://bucket/a", "s3://bucket/b"];

fn of_many(requests: &[Request]) -> usize {
    requests.iter().filter(|request| request.method == "POST" && request.query.contains("delete")).count()
}

fn of_one(requests: &[Request]) -> usize {
    let is_chunk = |path: &str| path.starts_with("/bucket/b/c/");
    requests.iter().filter(|request| request.method == "DELETE" && is_chunk(&request.path)).count()
}

#[track_caller]
fn assert_replaced(server: &Server) {
    let objects = server.objects();
    let of = |prefix: &str| -> Objects {
        let objects = objects.iter().filter_map(|(key, bytes)| Some((key.strip_prefix(prefix)?, bytes)));
        objects.map(|(key, bytes)| (key.to_owned(), bytes.clone())).collect()
    };
    assert!(of("/bucket/b") == of("/bucket/a"), "{:?}", of("/bucket/b").keys());
}

#[test]
fn objects_are_removed_a_thousand_at_a_time() {
    let server = sound(before(), Manner::Bucket { page: 1000 });
    run(&CliTest::new(), &server, &COMMAND).succeeds();
    assert_replaced(&server);
    let requests = server.requests();
    assert!((3..=5).contains(&of_many(&requests)), "{}", of_many(&requests));
    assert_eq!(of_one(&requests), 0);
}

/// A store without this request may answer anything. A store with it may fail for some objects.
#[test]
fn objects_that_are_not_removed_together_are_removed_one_by_one() {
    let answers = [
        (501, ""),
        (400, "<Error><Code>MissingContentMD5</Code></Error>"),
        (403, "<Error><Code>AccessDenied</Code></Error>"),
        (500, "<Error><Code>InternalError</Code></Error>"),
        (200, "ok"),
        (200, "<DeleteResult><Error><Key>b%2Fc%2F0</Key></Error></DeleteResult>"),
    ];
    for (status, body) in answers {
        let decline = move |_, request: &Request| {
            let is_meant = request.method == "POST" && request.query.contains("delete");
            is_meant.then(|| Answer::new(status, body))
        };
        let server = Server::start(before(), Manner::Bucket { page: 1000 }, Box::new(decline));
        run(&CliTest::new(), &server, &COMMAND).succeeds();
        assert_replaced(&server);
        let requests = server.requests();
        assert_eq!(of_many(&requests), 1, "{status}: it is asked once");
        assert_eq!(of_one(&requests), 2501, "{status}");
    }
}

#[test]
fn object_that_cannot_be_removed_is_named() {
    let refuse = |_, request: &Request| {
        let body = String::from_utf8_lossy(&request.body);
        if request.method == "POST" && request.query.contains("delete") && body.contains("c/77<") {
            let answer = "<DeleteResult><Error><Key>b/c/77</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>";
            return Some(Answer::new(200, answer));
        }
        let is_meant = request.method == "DELETE" && request.path == "/bucket/b/c/77";
        is_meant.then(|| Answer::new(403, "<Error><Code>AccessDenied</Code></Error>"))
    };
    let server = Server::start(before(), Manner::Bucket { page: 1000 }, Box::new(refuse));
    run(&CliTest::new(), &server, &COMMAND).fails(3, &["b/c/77", "403"]);
    assert!(!server.objects().contains_key("/bucket/b/zarr.json"));
    assert_eq!(of_one(&server.requests()), 1);
}

/// Returns a reference file of an array with chunks below a URL.
fn references(chunks: &str) -> String {
    let document = String::from_utf8(array("").remove("/zarr.json").unwrap()).unwrap();
    let refs = (0..5).map(|chunk| (format!("c/{chunk}"), serde_json::json!([format!("{chunks}/c/{chunk}")])));
    let refs: serde_json::Map<_, _> = refs.chain([("zarr.json".to_owned(), document.into())]).collect();
    serde_json::json!({"version": 1, "refs": refs}).to_string()
}

#[test]
fn targets_of_a_reference_file_on_a_web_server_lie_beside_it() {
    let mut objects = array("/w");
    objects.insert("/w/refs +.json".to_owned(), references(".").into_bytes());
    objects.insert("/other/in/refs.json".to_owned(), references("../../w").into_bytes());
    objects.insert("/outside/refs.json".to_owned(), references("../../w").into_bytes());
    let (test, server) = (CliTest::new(), sound(objects, Manner::Ranges));
    for (path, copy) in [("w/refs%20+.json", "beside"), ("other/in/refs.json", "above")] {
        let url = format!("{}/{path}?token=1", server.address);
        run(&test, &server, &["transcode", &url, copy]).succeeds();
        assert!(is_copy(&test, copy, &array("/w"), "/w"));
    }
    assert!(server.requests().iter().all(|request| request.query == "token=1"));
    let url = format!("{}/outside/refs.json", server.address);
    run(&test, &server, &["transcode", &url, "outside"]).fails(3, &["../../w/c/", "outside of its store"]);
}

/// The web server is seen by an object that is written in DEST for a moment.
#[test]
fn source_is_not_removed_if_a_web_server_shows_it_under_another_path() {
    let objects: Objects = array("/bucket/b").into_iter().chain(array("/bucket/b/in/a")).collect();
    let lead = |_, request: &Request| {
        let rest = request.path.strip_prefix("/cdn/x")?;
        Some(Answer::new(302, "").with("location", format!("/bucket/b{rest}")))
    };
    let server = Server::start(objects.clone(), Manner::Bucket { page: 1000 }, Box::new(lead));
    let test = CliTest::new();
    let web = format!("{}/cdn/x", server.address);
    test.write("web.json", references(&web));
    let inner = format!("{web}/in/a");
    for (source, destination) in [
        (web.as_str(), "s3://bucket/b"),
        (&inner, "s3://bucket/b"),
        ("web.json", "s3://bucket/b"),
        (&web, "s3://bucket/b/in/a"),
    ] {
        let command = ["transcode", source, destination, "--overwrite"];
        run(&test, &server, &command).fails(3, &[&format!("`{destination}` is SOURCE"), "web server"]);
        assert!(server.objects() == objects, "{source} {destination}: {:?}", server.objects().keys());
    }
}

#[test]
fn source_is_not_removed_by_whatever_address_it_is_read() {
    let objects: Objects = array("/bucket/b").into_iter().chain(array("/bucket/b/in/a")).collect();
    let server = sound(objects.clone(), Manner::Bucket { page: 1000 });
    let test = CliTest::new();
    let web = format!("{}/bucket/b", server.address);
    test.write("own.json", references("s3://bucket/b"));
    test.write("deep.json", references("s3://bucket/b/in/a"));
    test.write("web.json", references(&web));
    let inner = format!("{web}/in/a");
    for (source, destination) in [
        ("own.json", "s3://bucket/b"),
        ("deep.json", "s3://bucket/b"),
        ("web.json", "s3://bucket/b"),
        (&web, "s3://bucket/b"),
        (&inner, "s3://bucket/b"),
        (&web, "s3://bucket/b/in/a"),
    ] {
        let command = ["transcode", source, destination, "--overwrite"];
        let other = run(&test, &server, &command);
        assert!(other.status == 3, "{source} {destination}: {}", other.error);
        assert!(other.error.contains("SOURCE"), "{}", other.error);
        assert!(server.objects() == objects, "{source} {destination}");
    }
    // A source that is another object is read and written.
    for source in ["own.json", &web] {
        for _ in 0..2 {
            let command = ["transcode", "-q", source, "s3://bucket/other/b", "--overwrite"];
            run(&test, &server, &command).succeeds();
        }
    }
}
