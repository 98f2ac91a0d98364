//! Answers that are late, short, wrong or refused.

use std::time::{Duration, Instant};

use super::{Answer, Fault, Manner, Objects, Server, array, at_once, is_copy, run};
use crate::support::CliTest;

const BUCKET: Manner = Manner::Bucket { page: 3 };

fn faulty(fault: Fault) -> Server {
    Server::start(array("/bucket/a"), BUCKET, fault)
}

#[test]
fn job_through_passing_faults_ends_with_the_right_bytes() {
    type OfNumber = fn(usize) -> Option<Answer>;
    let faults: [OfNumber; 6] = [
        |number| (number % 3 == 1).then(|| Answer::new(503, "<Error><Code>SlowDown</Code></Error>")),
        |number| (number % 4 == 2).then(|| Answer::new(429, "").with("retry-after", "0")),
        |number| (number % 3 == 1).then(|| Answer { cut: Some(1), ..Answer::new(200, "cut off") }),
        |number| (number % 3 == 1).then(|| Answer { cut: Some(0), ..Answer::new(500, "") }),
        |number| {
            (number % 3 == 1).then(|| Answer { cut: Some(1), ..Answer::new(200, "x").with("content-length", "10") })
        },
        |number| (number % 3 == 1).then(|| Answer::new(206, "xx").with("content-range", "bytes 7-8/9")),
    ];
    at_once(faults.map(|fault| {
        move || {
            let (test, server) = (CliTest::new(), faulty(Box::new(move |number, _| fault(number))));
            run(&test, &server, &["transcode", "s3://bucket/a", "copy"]).succeeds();
            assert!(is_copy(&test, "copy", &array("/bucket/a"), "/bucket/a"));
        }
    }));
}

pub(crate) fn retry_after_is_heeded() {
    let fault = |number, _: &_| (number == 2).then(|| Answer::new(503, "").with("retry-after", "2"));
    let (test, server) = (CliTest::new(), faulty(Box::new(fault)));
    let begun = Instant::now();
    run(&test, &server, &["transcode", "s3://bucket/a", "copy"]).succeeds();
    assert!(begun.elapsed() >= Duration::from_secs(2));
}

pub(crate) fn store_that_does_not_answer_is_given_up_at_first_contact() {
    let faults: [(Fault, &str); 3] = [
        (Box::new(|_, _| Some(Answer { delay: Duration::from_mins(1), ..Answer::new(200, "") })), "no answer"),
        (Box::new(|_, _| Some(Answer::new(503, ""))), "503"),
        (Box::new(|_, _| Some(Answer::new(429, "").with("retry-after", "100"))), "429"),
    ];
    at_once(faults.map(|(fault, why)| {
        move || {
            let (test, server) = (CliTest::new(), faulty(fault));
            let begun = Instant::now();
            run(&test, &server, &["transcode", "s3://bucket/a", "copy"])
                .fails(3, &[why, "attempts", "AWS_ENDPOINT_URL"]);
            assert!(begun.elapsed() < Duration::from_secs(15), "{why}: {:?}", begun.elapsed());
            assert!(test.names().is_empty());
        }
    }));
}

#[test]
fn error_that_cannot_pass_is_not_asked_for_again() {
    let known = [
        (400, "ExpiredToken", "expired"),
        (403, "InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"),
        (403, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"),
        (404, "NoSuchBucket", "bucket"),
        (401, "Whatever", "AWS_PROFILE"),
        (501, "NotImplemented", "address"),
        (403, "AccessDenied", "--missing-status 403"),
    ];
    for (status, code, help) in known {
        let body = format!("<Error><Code>{code}</Code><Message>in its\n words</Message></Error>");
        let (test, server) = (CliTest::new(), faulty(Box::new(move |_, _| Some(Answer::new(status, body.clone())))));
        let words = format!("{code}, in its words");
        run(&test, &server, &["inspect", "s3://bucket/a"]).fails(3, &[&words, help, "s3://bucket/a/"]);
        let lines = server.lines();
        assert!(lines.len() <= 4, "{lines:?}");
    }
}

#[test]
fn refused_chunk_names_the_option_that_takes_it_for_absent() {
    let refuse = |_, request: &super::server::Request| {
        let is_it = request.path.ends_with("/c/2") || request.path.ends_with("/.zarray");
        is_it.then(|| Answer::new(403, "<Error><Code>AccessDenied</Code></Error>"))
    };
    let (test, server) = (CliTest::new(), faulty(Box::new(refuse)));
    run(&test, &server, &["transcode", "s3://bucket/a", "copy"]).fails(3, &["c/2", "403", "--missing-status 403"]);
    assert!(!test.exists("copy/zarr.json"));
}

#[test]
fn refused_chunks_that_count_as_absent_are_counted() {
    let refuse = |_, request: &super::server::Request| {
        let is_it = ["/c/1", "/c/2"].iter().any(|name| request.path.ends_with(name));
        (is_it && request.method == "GET").then(|| Answer::new(403, "<Error><Code>AccessDenied</Code></Error>"))
    };
    for codecs in [&[][..], &["--compress", "gzip:1"][..], &["--chunk-shape", "12"][..]] {
        let (test, server) = (CliTest::new(), faulty(Box::new(refuse)));
        let arguments = ["transcode", "--missing-status", "403", "s3://bucket/a", "copy"];
        let result = run(&test, &server, &[&arguments[..], codecs, &["--json"]].concat()).succeeds().json();
        assert_eq!(result["nodes"][0]["chunks_refused"], 2, "{codecs:?}");
        assert_eq!(result["totals"]["chunks_refused"], 2, "{codecs:?}");
        let read = run(&test, &server, &["inspect", "--stats", "--json", "copy"]).succeeds().json();
        assert_eq!((&read["stats"]["fill_value"], &read["stats"]["max"]), (&12.into(), &7.into()), "{codecs:?}");
    }
    let (test, server) = (CliTest::new(), faulty(Box::new(refuse)));
    let text = run(&test, &server, &["transcode", "--missing-status", "403", "s3://bucket/a", "copy"]).succeeds();
    assert!(text.text().contains("2 refused"), "{}", text.text());
    // A chunk that exists and was not read is never called valid.
    let (test, server) = (CliTest::new(), faulty(Box::new(refuse)));
    let data = ["validate", "--json", "--level", "data", "--missing-status", "403", "s3://bucket/a"];
    let result = run(&test, &server, &data).succeeds().json();
    assert_eq!(
        result["unchecked"],
        serde_json::json!([{"reason": "objects not read: the store refused access", "count": 2}])
    );
    assert!(result["verdict"] != "valid", "{}", result["verdict"]);
}

#[test]
fn refused_chunks_of_a_web_server_are_counted_by_every_command() {
    let refuse = |_, request: &super::server::Request| {
        let is_it = ["/c/1", "/c/2"].iter().any(|name| request.path.ends_with(name));
        is_it.then(|| Answer::new(403, ""))
    };
    let (test, server) = (CliTest::new(), Server::start(array("/a"), Manner::Ranges, Box::new(refuse)));
    let url = format!("{}/a", server.address);
    let result = |arguments: &[&str]| {
        let run = run(&test, &server, &[arguments, &["--json", "--missing-status", "403", &url]].concat());
        run.succeeds().json()
    };
    for level in ["keys", "data"] {
        let found = result(&["validate", "--level", level]);
        assert_eq!(found["unchecked"][0]["count"], 2, "{level}");
        assert!(found["verdict"] != "valid", "{level}");
    }
    let compared = result(&["validate", "--level", "metadata", "--against", &url]);
    assert_eq!(
        compared["unchecked"],
        serde_json::json!([{"reason": "objects compared as absent: the store refused access", "count": 4}])
    );
    for option in [["--storage", "always"], ["--histogram", "3"]] {
        let found = result(&[&["inspect"][..], &option].concat());
        assert_eq!(found["chunks_refused"], 2, "{option:?}");
        let text = run(&test, &server, &[&["inspect", "--missing-status", "403", &url][..], &option].concat());
        assert!(text.succeeds().text().contains("2 chunks, treated as absent"), "{option:?}");
    }
    assert_eq!(result(&["inspect"])["chunks_refused"], serde_json::Value::Null);
    // An array of a group has its own number.
    let group = br#"{"zarr_format":3,"node_type":"group","attributes":{}}"#.to_vec();
    let objects = [("/bucket/g/zarr.json".to_owned(), group)].into_iter().chain(array("/bucket/g/a")).collect();
    let server = Server::start(objects, BUCKET, Box::new(refuse));
    let stats = ["inspect", "--stats", "--missing-status", "403", "s3://bucket/g"];
    assert_eq!(run(&test, &server, &[&stats[..], &["--json"]].concat()).json()["nodes"][0]["chunks_refused"], 2);
    assert!(run(&test, &server, &stats).succeeds().text().contains("2 chunks, treated as absent"));
}

#[test]
fn refused_chunk_of_a_store_that_cannot_list_is_named_and_the_others_are_checked() {
    let start = |status| {
        let refuse =
            move |_, request: &super::server::Request| request.path.ends_with("/c/2").then(|| Answer::new(status, ""));
        let mut objects = array("/a");
        objects.insert("/a/c/3".to_owned(), vec![3; 5]);
        Server::start(objects, Manner::Ranges, Box::new(refuse))
    };
    let (test, server) = (CliTest::new(), start(403));
    let url = format!("{}/a", server.address);
    for level in ["keys", "data"] {
        let ran = run(&test, &server, &["validate", "--json", "--level", level, &url]);
        assert!(ran.status == 3 && ran.error.contains("--missing-status 403"), "{level}: {}", ran.error);
        let found = ran.json();
        assert_eq!((&found["failures"][0]["key"], &found["failures"][1]), (&"c/2".into(), &serde_json::Value::Null));
        assert_eq!((&found["findings"][0]["code"], &found["findings"][0]["key"]), (&"ZK212".into(), &"c/3".into()));
    }
    let ran = run(&test, &server, &["inspect", "--json", "--storage", "always", &url]);
    assert!(ran.status == 0 && ran.error.contains("1 chunk is not counted"), "{}", ran.error);
    let storage = &ran.json()["storage"];
    assert_eq!([&storage["chunks_present"], &storage["bytes_stored"]], [4, 17]);
    run(&test, &server, &["transcode", "--dry-run", &url, "copy"]).fails(3, &["cannot be listed", "c/2"]);
    // A fault of the whole server ends a listing.
    let server = start(401);
    let url = format!("{}/a", server.address);
    run(&test, &server, &["inspect", "--storage", "always", &url]).fails(3, &["cannot be listed", "401"]);
    let ran = run(&test, &server, &["validate", "--level", "keys", &url]);
    assert!(ran.status == 3 && ran.error.contains("cannot be listed"), "{}", ran.error);
    let ran = run(&test, &server, &["validate", "--level", "data", &url]);
    assert!(ran.status == 3 && ran.error.contains("chunk [2]") && ran.error.contains("401"), "{}", ran.error);
}

#[test]
fn wrong_credentials_end_the_reading_of_an_array_at_once() {
    let members = serde_json::json!({"shape": [8000], "chunk_shape": [4], "data_type": "uint8",
        "codecs": [{"name": "bytes"}]});
    let document = crate::support::array::document(&members).to_string().into_bytes();
    for command in [
        &["validate", "--json", "--level", "data"][..],
        &["inspect", "--stats"],
        &["inspect", "--storage", "always"],
        &["transcode", "--compress", "zstd:1"],
        &["transcode"],
    ] {
        let refuse = |_, request: &super::server::Request| request.path.contains("/c/").then(|| Answer::new(401, ""));
        let objects = Objects::from([("/a/zarr.json".to_owned(), document.clone())]);
        let (test, server) = (CliTest::new(), Server::start(objects, Manner::Ranges, Box::new(refuse)));
        let url = format!("{}/a", server.address);
        let destination = if command[0] == "transcode" { &["b"][..] } else { &[] };
        let ran = run(&test, &server, &[command, &[&url], destination].concat());
        assert!(ran.status == 3 && ran.error.contains("401"), "{command:?}: {}", ran.error);
        // Some are under way when the first answer comes.
        let requests = server.requests().len();
        assert!(requests < 400, "{command:?}: {requests} requests for 2000 chunks");
        if command[0] == "validate" {
            let result = ran.json();
            assert_eq!(result["failures"].as_array().unwrap().len(), 1, "{result}");
            assert!(result["unchecked"][0]["reason"].as_str().unwrap().contains("credentials"), "{result}");
        }
    }
}

#[test]
fn refused_shard_is_told_and_the_others_are_counted() {
    let test = CliTest::new();
    for (key, bytes) in array("local") {
        test.write(&key, bytes);
    }
    test.run(["transcode", "-s", "8", "local", "shards"]).succeeds();
    let objects: Objects =
        test.all_files("shards").into_iter().map(|(key, bytes)| (format!("/bucket/a/{key}"), bytes)).collect();
    let refuse = |_, request: &super::server::Request| request.path.ends_with("/c/1").then(|| Answer::new(403, ""));
    for manner in [BUCKET, Manner::Ranges] {
        let server = Server::start(objects.clone(), manner, Box::new(refuse));
        let web = format!("{}/bucket/a", server.address);
        let store = if manner == BUCKET { "s3://bucket/a" } else { &web };
        let ran = run(&test, &server, &["inspect", "--json", "--storage", "always", store]);
        assert!(ran.status == 0 && ran.error.contains("not counted"), "{}", ran.error);
        assert_eq!(ran.json()["storage"]["chunks_present"], 3);
    }
}

#[test]
fn document_that_is_refused_is_never_absent() {
    let mut objects = super::Objects::new();
    let group = r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#;
    objects.insert("/bucket/g/zarr.json".to_owned(), group.as_bytes().to_vec());
    for name in ["x", "y"] {
        objects.extend(array(&format!("/bucket/g/{name}")));
    }
    let refuse = |_, request: &super::server::Request| {
        let is_it = request.path.ends_with("/y/zarr.json");
        is_it.then(|| Answer::new(403, "<Error><Code>AccessDenied</Code></Error>"))
    };
    for option in [&[][..], &["--missing-status", "403"][..]] {
        let (test, server) = (CliTest::new(), Server::start(objects.clone(), BUCKET, Box::new(refuse)));
        let arguments = ["transcode", "s3://bucket/g", "copy"];
        run(&test, &server, &[&arguments[..], option].concat()).fails(3, &["y/zarr.json", "403"]);
        assert!(!test.exists("copy/zarr.json"));
    }
}

#[test]
fn bucket_in_another_region_is_found_or_named() {
    let elsewhere = |_, request: &super::server::Request| {
        let authorization = request.headers.get("authorization")?;
        let is_here = authorization.contains("/eu-west-3/");
        (!is_here).then(|| {
            Answer::new(400, "<Error><Code>AuthorizationHeaderMalformed</Code></Error>")
                .with("x-amz-bucket-region", "eu-west-3")
        })
    };
    let (test, server) = (CliTest::new(), faulty(Box::new(elsewhere)));
    run(&test, &server, &["inspect", "s3://bucket/a"]).fails(3, &["eu-west-3", "AWS_REGION=eu-west-3"]);
    let option = ["inspect", "s3://bucket/a", "--storage-option", "region=eu-west-3"];
    run(&test, &server, &option).succeeds();
}

#[test]
fn redirect_is_followed_without_credentials_to_another_server() {
    let target = super::sound(array("/a"), Manner::Ranges);
    let address = target.address.clone();
    let lead = move |_, request: &super::server::Request| {
        Some(Answer::new(302, "").with("location", format!("{address}{}", request.path)))
    };
    let (test, server) = (CliTest::new(), Server::start(array("/a"), Manner::Ranges, Box::new(lead)));
    let url = format!("{}/a", server.address.replace("http://", "http://user:hidden@"));
    run(&test, &server, &["transcode", &url, "copy"]).succeeds();
    assert!(is_copy(&test, "copy", &array("/a"), "/a"));
    assert!(server.requests().iter().all(|request| request.headers.contains_key("authorization")));
    assert!(target.requests().iter().all(|request| !request.headers.contains_key("authorization")));
}

#[test]
fn listing_that_is_none_is_an_error() {
    let fault = |_, request: &super::server::Request| {
        request.query.contains("list-type").then(|| Answer::new(200, "<html>welcome</html>"))
    };
    let (test, server) = (CliTest::new(), faulty(Box::new(fault)));
    run(&test, &server, &["transcode", "s3://bucket/a", "copy"]).fails(3, &["not a listing", "endpoint"]);
}

#[test]
fn store_that_leads_to_another_one_without_credentials_names_it() {
    let target = Server::start(array("/bucket/a"), BUCKET, Box::new(|_, _| Some(Answer::new(403, ""))));
    let address = target.address.clone();
    let lead = move |_, request: &super::server::Request| {
        Some(Answer::new(307, "").with("location", format!("{address}{}", request.path)))
    };
    let (test, server) = (CliTest::new(), faulty(Box::new(lead)));
    run(&test, &server, &["transcode", "s3://bucket/a", "copy"]).fails(3, &["redirects to", &target.address]);
    assert!(target.requests().iter().all(|request| !request.headers.contains_key("authorization")));
}

#[test]
fn server_that_takes_a_range_from_the_end_for_one_from_the_beginning_is_found_out() {
    let misread = |_, request: &super::server::Request| {
        let from_end = request.headers.get("range")?.strip_prefix("bytes=-")?.parse::<usize>().ok()?;
        let object = array("/bucket/a").remove(&request.path)?;
        let part = object[..object.len().min(from_end.saturating_sub(1))].to_vec();
        let range = format!("bytes 0-{}/{}", part.len() - 1, object.len() + 1);
        Some(Answer::new(206, part).with("content-range", range))
    };
    let (test, server) = (CliTest::new(), faulty(Box::new(misread)));
    run(&test, &server, &["transcode", "--verify", "s3://bucket/a", "copy"]).succeeds();
    assert!(is_copy(&test, "copy", &array("/bucket/a"), "/bucket/a"));
    // The request for the size of a small object also returns its bytes.
    let lines = server.lines();
    assert!(lines.iter().all(|line| !line.starts_with("HEAD")), "{lines:?}");
}

#[test]
fn name_that_no_url_holds_is_refused_before_anything_is_asked() {
    let (test, server) = (CliTest::new(), faulty(Box::new(|_, _| None)));
    for store in ["s3://bucket/b/../a", "s3://bucket/./a", "s3://bucket/a/.."] {
        run(&test, &server, &["inspect", store]).fails(2, &["`.` or `..`"]);
    }
    assert!(server.requests().is_empty());
}

#[test]
fn refused_consolidated_metadata_of_a_group_are_passed_over() {
    let group = r#"{"zarr_format":2}"#;
    // zarr-python adds this member to copies of groups.
    let copy = r#"{"zarr_format":2,"consolidated_metadata":null}"#;
    let array = r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|u1","fill_value":0,"order":"C",
        "filters":null,"compressor":null}"#;
    let copies = format!(
        r#"{{"zarr_consolidated_format":1,"metadata":{{".zgroup":{group},"g/.zgroup":{copy},"g/x/.zarray":{array}}}}}"#
    );
    let documents =
        [(".zmetadata", &*copies), (".zgroup", group), ("g/.zgroup", group), ("g/x/.zarray", array), ("g/x/0", "ab")];
    let objects: Objects = documents.map(|(key, text)| (format!("/bucket/a/{key}"), text.as_bytes().to_vec())).into();
    let refuse: fn(usize, &super::server::Request) -> Option<Answer> = |_, request| {
        let is_it = request.path == "/bucket/a/g/.zmetadata";
        is_it.then(|| Answer::new(403, "<Error><Code>AccessDenied</Code></Error>"))
    };
    for arguments in [&["inspect"][..], &["validate", "--level", "data"], &["transcode", "--dry-run"]] {
        let (test, server) = (CliTest::new(), Server::start(objects.clone(), BUCKET, Box::new(refuse)));
        let place: &[&str] = if arguments[0] == "transcode" { &["s3://bucket/a", "b"] } else { &["s3://bucket/a"] };
        let run = run(&test, &server, &[arguments, place].concat());
        assert!(!run.error.contains("ZM231"), "{}", run.error);
        run.succeeds();
    }
}

/// Transcodes by each route, and between buckets.
const COMMANDS: [&[&str]; 4] = [
    &["transcode", "s3://bucket/a", "copy"],
    &["transcode", "s3://bucket/a", "copy", "--compress", "gzip:1"],
    &["transcode", "s3://bucket/a", "copy", "--chunk-shape", "12"],
    &["transcode", "s3://bucket/a", "s3://bucket/copy"],
];

/// Checks whether a request reads the third chunk of the source.
fn is_of_third(request: &super::server::Request) -> bool {
    request.method == "GET" && request.path == "/bucket/a/c/2"
}

#[test]
fn chunk_that_was_listed_and_is_gone_when_it_is_read_is_an_error() {
    for command in COMMANDS {
        let gone = |_, request: &super::server::Request| {
            let is_copied = request.headers.get("x-amz-copy-source").is_some_and(|from| from.ends_with("c/2"));
            (is_of_third(request) || is_copied).then(|| Answer::new(404, "<Error><Code>NoSuchKey</Code></Error>"))
        };
        let (test, server) = (CliTest::new(), faulty(Box::new(gone)));
        run(&test, &server, command).fails(3, &["a/c/2"]);
        let validated = run(&test, &server, &["validate", "--level", "data", "s3://bucket/a"]);
        assert!(validated.status == 3 && validated.error.contains("a/c/2"), "{}", validated.error);
        assert!(!test.exists("copy/zarr.json") && !server.objects().contains_key("/bucket/copy/zarr.json"));
    }
}

#[test]
fn success_without_content_is_no_chunk() {
    for status in [202, 203, 204] {
        for command in &COMMANDS[..3] {
            let nothing =
                move |_, request: &super::server::Request| is_of_third(request).then(|| Answer::new(status, ""));
            let (test, server) = (CliTest::new(), faulty(Box::new(nothing)));
            run(&test, &server, command).fails(3, &["a/c/2", &status.to_string()]);
            assert!(!test.exists("copy/zarr.json"));
        }
    }
}

#[test]
fn chunk_that_comes_compressed_unasked_is_an_error() {
    for command in &COMMANDS[..3] {
        let compressed = |_, request: &super::server::Request| {
            is_of_third(request).then(|| Answer::new(200, "gzip").with("content-encoding", "GZip"))
        };
        let (test, server) = (CliTest::new(), faulty(Box::new(compressed)));
        run(&test, &server, command).fails(3, &["a/c/2", "Content-Encoding: GZip"]);
        let mut reads = server.requests().into_iter().filter(|request| request.method == "GET");
        assert!(reads.all(|request| request.headers["accept-encoding"] == "identity"));
    }
    // Some stores report the encoding of the upload.
    let told = |_, request: &super::server::Request| {
        is_of_third(request).then(|| Answer::new(200, [2; 4]).with("content-encoding", "aws-chunked"))
    };
    let (test, server) = (CliTest::new(), faulty(Box::new(told)));
    run(&test, &server, &["transcode", "s3://bucket/a", "copy"]).succeeds();
    assert!(is_copy(&test, "copy", &array("/bucket/a"), "/bucket/a"));
}

#[test]
fn body_that_never_ends_is_read_as_far_as_a_chunk_may_go() {
    for command in &COMMANDS[..3] {
        let endless = |_, request: &super::server::Request| {
            let answer = Answer { is_endless: true, ..Answer::new(200, [2; 4]) };
            is_of_third(request).then_some(answer)
        };
        let (test, server) = (CliTest::new(), faulty(Box::new(endless)));
        run(&test, &server, command).fails(1, &["a/c/2", "at most"]);
        let found = run(&test, &server, &["validate", "--level", "data", "s3://bucket/a"]);
        let text = String::from_utf8(found.output).unwrap();
        assert!(found.status == 1 && text.contains("ZK213"), "{text}");
        assert!(!test.exists("copy/zarr.json"));
    }
}
