//! The requests of commands that read.

use super::{Answer, Manner, Objects, Server, array, is_copy, run, sound, variables};
use crate::support::{self, CliTest, Run};

#[test]
fn array_is_inspected_by_three_requests() {
    let server = sound(array("/bucket/a"), Manner::Bucket { page: 1000 });
    run(&CliTest::new(), &server, &["inspect", "s3://bucket/a"]).succeeds();
    let lines = server.lines();
    assert!(lines.len() <= 3 && lines.contains(&"GET /bucket/a/zarr.json".to_owned()), "{lines:?}");
    let server = sound(array("/a%20b"), Manner::Ranges);
    let url = format!("{}/a%2520b", server.address);
    run(&CliTest::new(), &server, &["inspect", &url]).succeeds();
    assert!(server.lines().len() <= 3);
}

#[test]
fn documents_are_requested_once_although_members_are_expected() {
    let test = CliTest::new();
    test.write("expect.json", r#"{"shape":[1]}"#);
    let requests = [&[][..], &["--expect", "expect.json"]].map(|expected| {
        let server = sound(array("/bucket/a"), Manner::Bucket { page: 1000 });
        run(&test, &server, &[&["validate", "--json", "s3://bucket/a"], expected].concat());
        server.lines().len()
    });
    assert_eq!(requests[0], requests[1]);
}

/// Returns a group of 500 arrays with consolidated metadata.
fn hierarchy() -> Objects {
    let array = String::from_utf8(array("").remove("/zarr.json").unwrap()).unwrap();
    let (mut objects, mut copies) = (Objects::new(), Vec::new());
    for number in 0..500 {
        objects.insert(format!("/bucket/g/{number:03}/zarr.json"), array.as_bytes().to_vec());
        copies.push(format!("\"{number:03}\":{array}"));
    }
    let group = format!(
        r#"{{"zarr_format":3,"node_type":"group","attributes":{{}},"consolidated_metadata":{{"kind":"inline",
        "must_understand":false,"metadata":{{{}}}}}}}"#,
        copies.join(",")
    );
    objects.insert("/bucket/g/zarr.json".to_owned(), group.into_bytes());
    objects
}

#[test]
fn consolidated_hierarchy_of_500_arrays_is_inspected_by_four_requests() {
    let server = sound(hierarchy(), Manner::Bucket { page: 1000 });
    let inspected = run(&CliTest::new(), &server, &["inspect", "s3://bucket/g", "--json"]).succeeds();
    assert!(server.lines().len() <= 4, "{:?}", server.lines());
    assert_eq!(String::from_utf8_lossy(&inspected.output).matches("\"/499\"").count(), 1);
    let server = sound(hierarchy(), Manner::Ranges);
    let url = format!("{}/bucket/g", server.address);
    run(&CliTest::new(), &server, &["inspect", &url]).succeeds();
    assert!(server.lines().len() <= 4, "{:?}", server.lines());
}

/// Returns an array of 24 x 24 floats in 4 chunks.
fn field() -> Objects {
    let codecs = serde_json::json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let document = support::array::document(&serde_json::json!({
        "shape": [24, 24], "chunk_shape": [12, 12], "data_type": "float32", "fill_value": "NaN", "codecs": codecs,
    }));
    let mut objects = Objects::from([("/bucket/f/zarr.json".to_owned(), document.to_string().into_bytes())]);
    for chunk in 0..4_u8 {
        let value = |place: u8| (f32::from(chunk) + f32::from(place).sin()).to_le_bytes();
        objects.insert(format!("/bucket/f/c/{}/{}", chunk / 2, chunk % 2), (0..144).flat_map(value).collect());
    }
    objects
}

/// Counts the reads of chunks of `f` and of `g`.
fn chunk_reads(arguments: &[&str]) -> [usize; 2] {
    let (test, server) = (CliTest::new(), sound(field(), Manner::Bucket { page: 1000 }));
    run(&test, &server, arguments).succeeds();
    let lines = server.lines();
    ["/f/c/", "/g/c/"].map(|place| lines.iter().filter(|line| line.starts_with(&format!("GET /bucket{place}"))).count())
}

#[test]
fn quantising_with_every_measure_reads_source_twice_and_destination_once() {
    let asked = ["transcode", "s3://bucket/f", "s3://bucket/g", "--quantize", "uint8", "--verify", "--quality"];
    assert_eq!(chunk_reads(&asked), [8, 4]);
    // The pictures are drawn from the published DEST, from a limited number of chunks.
    assert_eq!(chunk_reads(&[&asked[..], &["--report", "r.html"]].concat()), [12, 8]);
}

#[test]
fn every_figure_of_an_array_takes_three_reads() {
    let asked = ["inspect", "s3://bucket/f", "--stats", "--histogram", "5", "--suggest", "uint8", "--information"];
    assert_eq!(chunk_reads(&asked), [12, 0]);
    assert_eq!(chunk_reads(&[&asked[..], &["--report", "r.html"]].concat()), [16, 0]);
}

#[test]
fn array_is_copied_from_every_manner_of_server() {
    let objects = array("/bucket/[ä] +%/a");
    for manner in [Manner::Bucket { page: 2 }, Manner::Bucket { page: 1000 }] {
        let (test, server) = (CliTest::new(), sound(objects.clone(), manner));
        run(&test, &server, &["transcode", "s3://bucket/[ä] +%/a", "copy"]).succeeds();
        assert!(is_copy(&test, "copy", &objects, "/bucket/[ä] +%/a"));
        let chunks = server.lines().iter().filter(|line| line.starts_with("GET") && line.contains("/c/")).count();
        assert_eq!(chunks, 5, "{:?}", server.lines());
        assert!(server.requests().iter().all(|request| request.headers.contains_key("authorization")));
    }
    for manner in [Manner::Ranges, Manner::Whole] {
        let (test, server) = (CliTest::new(), sound(objects.clone(), manner));
        let url = format!("{}/bucket/%5B%C3%A4%5D%20+%25/a?token=1", server.address);
        run(&test, &server, &["transcode", &url, "copy"]).succeeds();
        assert!(is_copy(&test, "copy", &objects, "/bucket/[ä] +%/a"));
        assert!(server.requests().iter().all(|request| request.query == "token=1"));
    }
}

#[test]
fn store_is_validated_and_strange_keys_are_seen() {
    let mut objects = array("/bucket/a");
    let test = CliTest::new();
    let server = sound(objects.clone(), Manner::Bucket { page: 2 });
    let arguments = ["validate", "s3://bucket/a", "--level", "data", "--json"];
    let text = String::from_utf8(run(&test, &server, &arguments).succeeds().output).unwrap();
    assert!(text.contains("\"valid\": true") || text.contains("\"valid\":true"), "{text}");
    // Folder markers are ignored. Invalid keys are reported.
    objects.insert("/bucket/a/".to_owned(), Vec::new());
    objects.insert("/bucket/a/c/".to_owned(), Vec::new());
    objects.insert("/bucket/a/c//x".to_owned(), b"x".to_vec());
    objects.insert("/bucket/a/c/9".to_owned(), b"four".to_vec());
    let server = sound(objects, Manner::Bucket { page: 2 });
    let validated = run(&test, &server, &["validate", "s3://bucket/a"]);
    let text = String::from_utf8_lossy(&validated.output).into_owned();
    assert!(text.contains("c//") && text.contains("c/9"), "{text}{}", validated.error);
    // Skipped objects are counted, and no location can name them.
    for arguments in [&["inspect", "--storage", "always", "s3://bucket/a"][..], &["transcode", "s3://bucket/a", "copy"]]
    {
        let run = run(&test, &server, arguments);
        assert_eq!(run.status, 0, "{}", run.error);
        assert!(run.error.contains("ZK206"), "{arguments:?}: {}", run.error);
    }
    for location in ["s3://bucket/a/c//x", "s3://bucket/a/./c", "s3://bucket/a/../a", "s3://bucket/a\n"] {
        run(&test, &server, &["inspect", location]).fails(2, &["empty, `.` or `..`"]);
    }
}

#[test]
fn plan_tells_the_requests_of_a_bucket_and_speaks_of_objects() {
    let (test, server) = (CliTest::new(), sound(array("/bucket/a"), Manner::Bucket { page: 1000 }));
    let plan = |ends: [&str; 2], more: &[&str]| {
        let arguments = [&["transcode", "--dry-run", "--json"], &ends[..], more].concat();
        run(&test, &server, &arguments).succeeds().json()["plan"].clone()
    };
    let null = serde_json::Value::Null;
    let down = plan(["s3://bucket/a", "copy"], &[]);
    assert_eq!([&down["keys"], &down["files"], &down["requests_read"]], [6, 6, 5]);
    assert_eq!(down["requests_write"], null);
    let along = plan(["s3://bucket/a", "s3://bucket/b"], &[]);
    assert_eq!([&along["keys"], &along["requests_read"], &along["requests_write"]], [6, 0, 6]);
    assert_eq!([&along["files"], &along["folders"]], [&null; 2]);
    let anew = plan(["s3://bucket/a", "s3://bucket/b"], &["--compress", "zstd:1"]);
    assert_eq!([&anew["requests_read"], &anew["requests_write"]], [5, 6]);
    let text = run(&test, &server, &["transcode", "--dry-run", "s3://bucket/a", "s3://bucket/b"]).succeeds();
    assert!(text.text().contains("at most 6 objects"), "{}", text.text());
}

#[test]
fn damaged_document_behind_a_network_is_a_finding() {
    for document in ["/bucket/a/zarr.json", "/bucket/a/.zarray"] {
        let objects = Objects::from([(document.to_owned(), b"{'no': json}".to_vec())]);
        let (test, server) = (CliTest::new(), sound(objects.clone(), Manner::Bucket { page: 1000 }));
        let validated = run(&test, &server, &["validate", "s3://bucket/a", "--json"]);
        assert_eq!(validated.status, 1, "{}", validated.error);
        assert_eq!(validated.json()["findings"][0]["code"], "ZM001");
        let server = sound(objects, Manner::Ranges);
        let web = format!("{}/bucket/a", server.address);
        let validated = run(&test, &server, &["validate", &web]);
        assert_eq!(validated.status, 3);
        assert!(validated.error.contains("is not JSON"), "{}", validated.error);
    }
}

#[test]
fn web_server_is_validated_by_its_documents_and_by_the_grid_where_that_is_asked_for() {
    let (test, server) = (CliTest::new(), sound(array("/a"), Manner::Ranges));
    let url = format!("{}/a", server.address);
    run(&test, &server, &["validate", &url]).succeeds();
    assert!(server.lines().iter().all(|line| !line.contains("/c/")));
    let decoded = run(&test, &server, &["validate", &url, "--level", "data", "--json", "-v"]);
    assert!(decoded.error.contains("24 B in"), "{}", decoded.error);
    let decoded = decoded.json();
    assert_eq!((decoded["valid"].clone(), decoded["verdict"].clone()), (true.into(), "valid".into()));
    assert_eq!(decoded["unchecked"][0]["count"], 1);
    assert!(server.lines().contains(&"GET /a/c/5".to_owned()));
    let inspected = run(&test, &server, &["inspect", "--json", "--storage", "always", &url]).succeeds().json();
    assert_eq!(inspected["storage"]["chunks_present"], 5);
    assert!(inspected["storage"]["unknown_keys"].is_null());
    for (key, bytes) in array("plain") {
        test.write(&key, bytes);
    }
    test.run(["transcode", "-s", "8", "plain", "shards"]).succeeds();
    let shards = test.all_files("shards").into_iter().map(|(key, bytes)| (format!("/s/{key}"), bytes));
    let server = sound(shards.collect(), Manner::Ranges);
    run(&test, &server, &["validate", &format!("{}/s", server.address), "--level", "index"]).succeeds();
    let lines = server.lines();
    let requests = |method: &str| lines.iter().filter(|line| line.starts_with(&format!("{method} /s/c/"))).count();
    assert_eq!((requests("GET"), requests("HEAD")), (3, 0), "{lines:?}");
}

#[test]
fn values_behind_a_network_are_those_of_the_local_store() {
    let (test, server) = (CliTest::new(), sound(array("/bucket/a"), Manner::Bucket { page: 3 }));
    for (key, bytes) in array("local") {
        test.write(&key, bytes);
    }
    let url = format!("{}/bucket/a", server.address);
    for store in ["s3://bucket/a", &url] {
        run(&test, &server, &["validate", store, "--against", "local"]).succeeds();
        let remote = run(&test, &server, &["inspect", "--stats", "--preview", "--json", store]).succeeds();
        assert!(String::from_utf8_lossy(&remote.output).contains("\"count\""));
    }
    // To shards, and back.
    run(&test, &server, &["transcode", "s3://bucket/a", "sharded", "-s", "12"]).succeeds();
    let sharded: Objects =
        test.all_files("sharded").into_iter().map(|(key, bytes)| (format!("/bucket/s/{key}"), bytes)).collect();
    for manner in [Manner::Bucket { page: 1000 }, Manner::Whole] {
        let server = sound(sharded.clone(), manner);
        let web = format!("{}/bucket/s", server.address);
        let store = if manner == Manner::Whole { web.as_str() } else { "s3://bucket/s" };
        run(&test, &server, &["transcode", store, "plain", "-s", "none", "--overwrite"]).succeeds();
        test.run(["validate", "plain", "--against", "local"]).succeeds();
    }
}

/// A web server cannot list its keys. So each of its chunks is read, in the same grid and in another one.
#[test]
fn chunk_that_only_a_web_server_has_makes_arrays_differ() {
    let (test, server) = (CliTest::new(), sound(array("/a"), Manner::Ranges));
    for (key, bytes) in array("local").into_iter().filter(|(key, _)| key != "local/c/4") {
        test.write(&key, bytes);
    }
    test.run(["transcode", "-c", "8", "local", "regridded"]).succeeds();
    assert!(!test.exists("regridded/c/2"));
    let url = format!("{}/a", server.address);
    for (one, other) in [("local", url.as_str()), (&url, "local"), ("regridded", &url), (&url, "regridded")] {
        let compared = run(&test, &server, &["validate", one, "--against", other]);
        assert!(
            compared.status == 1 && String::from_utf8_lossy(&compared.output).contains("values differ"),
            "{one} {other}: {}",
            compared.error
        );
    }
}

#[test]
fn values_of_a_consolidated_group_are_those_of_the_local_store() {
    let copy = String::from_utf8(array("").remove("/zarr.json").unwrap()).unwrap();
    let group = format!(
        r#"{{"zarr_format":3,"node_type":"group","attributes":{{}},"consolidated_metadata":{{"kind":"inline",
        "must_understand":false,"metadata":{{"a":{copy},"deep":{{"zarr_format":3,"node_type":"group","attributes":{{}}}},
        "deep/b":{copy},"empty":{{"zarr_format":3,"node_type":"group","attributes":{{}}}}}}}}}}"#
    );
    let empty = br#"{"zarr_format":3,"node_type":"group","attributes":{}}"#.to_vec();
    let mut objects: Objects = array("/bucket/g/a").into_iter().chain(array("/bucket/g/deep/b")).collect();
    objects.insert("/bucket/g/zarr.json".to_owned(), group.into_bytes());
    for name in ["deep", "empty"] {
        objects.insert(format!("/bucket/g/{name}/zarr.json"), empty.clone());
    }
    let test = CliTest::new();
    for (key, bytes) in &objects {
        test.write(key.strip_prefix("/bucket/").unwrap(), bytes);
    }
    let look = ["--stats", "--storage", "always", "--json"];
    let nodes = |run: Run| run.succeeds().json()["nodes"].clone();
    let local = nodes(test.run(["inspect", "g"].iter().chain(&look)));
    assert_eq!(local.as_array().unwrap().len(), 4);
    for manner in [Manner::Bucket { page: 1000 }, Manner::Ranges] {
        let server = sound(objects.clone(), manner);
        let web = format!("{}/bucket/g", server.address);
        let store = if manner == Manner::Ranges { web.as_str() } else { "s3://bucket/g" };
        let arguments: Vec<&str> = ["inspect", store].iter().chain(&look).copied().collect();
        assert_eq!(nodes(run(&test, &server, &arguments)), local, "{store}");
    }
}

#[test]
fn what_is_not_there_is_named_with_what_is_near() {
    let (test, server) = (CliTest::new(), sound(array("/bucket/dir/array"), Manner::Bucket { page: 1000 }));
    run(&test, &server, &["inspect", "s3://bucket/dir/aray"]).fails(3, &["does not exist", "s3://bucket/dir/array"]);
    let server = sound(array("/a"), Manner::Ranges);
    for path in ["b", "x.json", "x.json/y"] {
        let url = format!("{}/{path}", server.address);
        run(&test, &server, &["inspect", &url]).fails(3, &[&url, "the server has no metadata there"]);
    }
    let folder = format!("{}/a", server.address);
    for (key, said) in [("zarr.json", "is a document of the node"), ("c/0", "is a chunk of the array")] {
        let url = format!("{folder}/{key}");
        run(&test, &server, &["inspect", &url]).fails(3, &[said, &format!("name the folder: {folder}")]);
    }
}

#[test]
fn option_that_no_store_uses_is_usage_and_an_empty_variable_is_nothing() {
    let (test, server) = (CliTest::new(), sound(array("/bucket/a"), Manner::Bucket { page: 1000 }));
    let unknown = ["inspect", "s3://bucket/a", "--storage-option", "aws_rejion=eu-west-1"];
    run(&test, &server, &unknown).fails(2, &["aws_rejion", "aws_region"]);
    run(&test, &server, &["inspect", "s3://bucket/a", "--storage-option", "aws_allow_http=true"]).succeeds();
    let web = format!("{}/bucket/a", server.address);
    for store in ["s3://bucket/a", &web] {
        let option = ["inspect", store, "--storage-option", "azure_storage_account_name=other"];
        run(&test, &server, &option).fails(2, &["no store of this command uses it"]);
    }
    let endpoint = format!("endpoint={}", server.address);
    let empty = [
        ("AWS_ENDPOINT_URL", ""),
        ("AWS_REGION", ""),
        ("AWS_SESSION_TOKEN", ""),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "hidden"),
        ("NO_PROXY", "127.0.0.1"),
    ];
    test.run_with(["inspect", "s3://bucket/a", "--storage-option", &endpoint], &empty).succeeds();
    // The bucket is that of the URL, whatever the environment names.
    let other_bucket: Vec<_> = variables(&server).into_iter().chain([("AWS_BUCKET", "other")]).collect();
    test.run_with(["inspect", "s3://bucket/a"], &other_bucket).succeeds();
    // Two runs exclude each other by conditional requests, which the environment cannot switch off.
    let no_locks: Vec<_> = variables(&server).into_iter().chain([("AWS_CONDITIONAL_PUT", "disabled")]).collect();
    test.run_with(["transcode", "-q", "s3://bucket/a", "s3://bucket/b"], &no_locks).succeeds();
    let requests = server.requests();
    assert!(requests.iter().all(|request| !request.headers.contains_key("x-amz-security-token")));
}

#[test]
fn folders_of_chunks_are_listed_together() {
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[20,20,20],"data_type":"uint8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2,2]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{}}"#;
    let mut objects = Objects::from([("/bucket/a/zarr.json".to_owned(), document.as_bytes().to_vec())]);
    for chunk in 0..1000 {
        let key = format!("/bucket/a/c/{}/{}/{}", chunk / 100, chunk / 10 % 10, chunk % 10);
        objects.insert(key, vec![1; 8]);
    }
    let test = CliTest::new();
    for command in
        [["inspect", "s3://bucket/a", "--storage", "always"], ["validate", "s3://bucket/a", "--level", "keys"]]
    {
        let server = sound(objects.clone(), Manner::Bucket { page: 1000 });
        run(&test, &server, &command).succeeds();
        assert!(server.lines().len() <= 8, "{:?}", server.lines());
    }
}

#[test]
fn array_in_a_bucket_that_refuses_to_list_is_read_key_by_key() {
    for (listing, absent) in [(403, 404), (403, 403), (404, 404), (401, 404)] {
        let refuse = move |_, request: &super::server::Request| {
            let is_listed = request.query.contains("list-type");
            let status = if is_listed { listing } else { absent };
            let is_refused = is_listed || request.path.ends_with("/c/5");
            is_refused.then(|| Answer::new(status, "<Error><Code>AccessDenied</Code></Error>"))
        };
        let start = || Server::start(array("/bucket/a"), Manner::Bucket { page: 1000 }, Box::new(refuse));
        let (test, server) = (CliTest::new(), start());
        let option = if absent == 403 { &["--missing-status", "403"][..] } else { &[] };
        for command in [
            &["transcode", "s3://bucket/a", "copy"][..],
            &["transcode", "s3://bucket/a", "coded", "--compress", "gzip:1"],
            &["inspect", "--stats", "s3://bucket/a"],
            &["validate", "--level", "data", "s3://bucket/a"],
        ] {
            run(&test, &server, &[command, option].concat()).succeeds();
        }
        assert!(is_copy(&test, "copy", &array("/bucket/a"), "/bucket/a"));
        let server = start();
        let validated = run(&test, &server, &["validate", "--json", "s3://bucket/a"]).succeeds().json();
        assert_eq!(validated["verdict"], "no errors in metadata; keys and chunks were not looked at");
        assert!(server.lines().iter().all(|line| !line.contains("/c/")));
        if absent == 403 {
            run(&test, &start(), &["transcode", "s3://bucket/a", "other"]).fails(3, &["c/5", "--missing-status 403"]);
        }
    }
    // The server does not list the nodes.
    let refuse =
        |_, request: &super::server::Request| request.query.contains("list-type").then(|| Answer::new(403, ""));
    let group = r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#;
    let document = String::from_utf8(array("")["/zarr.json"].clone()).unwrap();
    let copies = format!(
        r#""consolidated_metadata":{{"kind":"inline","must_understand":false,"metadata":{{"a":{document}}}}}}}"#
    );
    let consolidated = group.replace("{}}", &format!("{{}},{copies}"));
    for (group, status) in [(group, 3), (&consolidated, 0)] {
        let group = ("/bucket/g/zarr.json".to_owned(), group.as_bytes().to_vec());
        let objects: Objects = array("/bucket/g/a").into_iter().chain([group]).collect();
        let server = Server::start(objects, Manner::Bucket { page: 1000 }, Box::new(refuse));
        for command in [&["inspect", "s3://bucket/g"][..], &["validate", "--level", "data", "s3://bucket/g"]] {
            let found = run(&CliTest::new(), &server, command);
            assert!(found.status == status && found.error.contains("cannot list") == (status == 3), "{}", found.error);
        }
    }
}

/// Returns an array of floats whose last chunk is missing.
fn floats(fill_value: &str) -> Objects {
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[24],"data_type":"float32",
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4]}}}},"chunk_key_encoding":{{"name":"default"}},
        "fill_value":{fill_value},"codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}],"attributes":{{}}}}"#
    );
    let mut objects = Objects::from([("/f/zarr.json".to_owned(), document.into_bytes())]);
    for chunk in 0..5_u8 {
        let values = (0..4_u8).flat_map(|index| f32::from(chunk * 4 + index).to_le_bytes());
        objects.insert(format!("/f/c/{chunk}"), values.collect());
    }
    objects
}

#[test]
fn chunk_behind_http_takes_one_request_whatever_is_done_with_it() {
    // The arguments, the number of reads of a chunk, and whether a HEAD request comes first.
    let cases: [(&str, &[&str], usize, bool); 11] = [
        ("\"NaN\"", &["transcode", "URL", "d"], 1, false),
        ("\"NaN\"", &["transcode", "URL", "d", "--compress", "zstd:1"], 1, false),
        ("\"NaN\"", &["transcode", "URL", "d", "-c", "8"], 1, false),
        ("\"NaN\"", &["transcode", "URL", "d", "--quantize", "uint8", "--range", "0,100"], 1, false),
        // With a given range, the new fill value depends on whether a chunk is missing.
        ("0.5", &["transcode", "URL", "d", "--quantize", "uint8", "--range", "0,100"], 1, true),
        ("0.5", &["transcode", "URL", "d", "--fill-value", "1"], 1, false),
        ("0.5", &["transcode", "URL", "d", "--dry-run"], 0, true),
        ("0.5", &["inspect", "URL", "--stats"], 1, false),
        ("0.5", &["validate", "URL", "--against", "local"], 1, false),
        ("0.5", &["validate", "URL", "--level", "data"], 1, false),
        // The shares are those of the chunks that exist.
        ("0.5", &["validate", "URL", "--level", "data", "--partition", "0/1"], 1, true),
    ];
    for (fill_value, arguments, reads, is_asked) in cases {
        let objects = floats(fill_value);
        let (test, server) = (CliTest::new(), sound(objects.clone(), Manner::Ranges));
        for (key, bytes) in objects {
            test.write(&key.replace("/f/", "local/"), bytes);
        }
        let url = format!("{}/f", server.address);
        let typed: Vec<&str> =
            arguments.iter().map(|argument| if *argument == "URL" { &url } else { *argument }).collect();
        let done = run(&test, &server, &[&typed[..], &["--json"]].concat());
        assert_eq!(done.status, 0, "{typed:?}: {}", done.error);
        let lines = server.lines();
        let requests =
            |method: &str, chunk| lines.iter().filter(|line| **line == format!("{method} /f/c/{chunk}")).count();
        for chunk in 0..6 {
            // A chunk that is known to be missing is not read.
            let reads = if is_asked && chunk == 5 { 0 } else { reads };
            let found = (requests("GET", chunk), requests("HEAD", chunk));
            assert_eq!(found, (reads, usize::from(is_asked)), "chunk {chunk} of {typed:?}: {lines:?}");
        }
        if arguments[0] == "transcode" {
            let array = &done.json()["nodes"][0];
            assert_eq!([&array["chunks_read"], &array["chunks_absent"]], [5, 1], "{typed:?}: {array}");
        }
    }
}

#[test]
fn first_pass_behind_http_finds_out_which_chunks_are_absent() {
    for fill_value in ["0.5", "\"NaN\"", "1000.0"] {
        let objects = floats(fill_value);
        let (test, server) = (CliTest::new(), sound(objects.clone(), Manner::Ranges));
        for (key, bytes) in objects {
            test.write(&key.replace("/f/", "local/"), bytes);
        }
        let url = format!("{}/f", server.address);
        for options in [&["--quantize", "uint8"][..], &["--max-error", "0.3"], &["--keep-bits", "auto"]] {
            let made = |source: &str| {
                let arguments = [&["transcode", source, "d", "--overwrite", "--verify"], options].concat();
                let done = run(&test, &server, &arguments);
                assert_eq!(done.status, 0, "{arguments:?}: {}", done.error);
                test.all_files("d")
            };
            assert_eq!(made(&url), made("local"), "{fill_value} {options:?}");
        }
        assert!(server.lines().iter().all(|line| !line.starts_with("HEAD /f/c")), "{:?}", server.lines());
    }
}

#[test]
fn emulator_of_azure_is_asked_at_the_endpoint_that_is_given() {
    let (test, server) = (CliTest::new(), sound(array("/devstoreaccount1/box/a"), Manner::Ranges));
    let variables = [
        ("AZURE_STORAGE_USE_EMULATOR", "true"),
        ("AZURE_STORAGE_ENDPOINT", server.address.as_str()),
        ("NO_PROXY", "*"),
    ];
    let shown = test.run_with(["inspect", "az://box/a", "--storage", "never"], &variables);
    assert_eq!(shown.status, 0, "{}", shown.error);
    assert!(server.lines().iter().any(|line| line.starts_with("GET /devstoreaccount1/box/a/zarr.json")));
    assert!(server.requests()[0].headers.contains_key("authorization"));
}
