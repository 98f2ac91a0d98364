//! Prefetch: one thread requests many objects at a time, and no object twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{Answer, Manner, Objects, Server, run};
use crate::support::CliTest;
use crate::support::array::document;

const CHUNKS: usize = 40;

/// Returns an array of 40 chunks of 4 numbers. The bytes are the numbers.
fn array(prefix: &str) -> Objects {
    let document = document(&json!({"shape": [160], "chunk_shape": [4]})).to_string();
    let mut objects = Objects::from([(format!("{prefix}/zarr.json"), document.into_bytes())]);
    for chunk in 0..CHUNKS {
        let numbers = (0..4_u8).map(|number| f32::from(number) + f32::from(u8::try_from(chunk).unwrap()));
        objects.insert(format!("{prefix}/c/{chunk}"), numbers.flat_map(f32::to_le_bytes).collect());
    }
    objects
}

/// Returns a server that delays each chunk, and its maximum number of concurrent chunk requests.
fn slow(objects: Objects) -> (Server, Arc<AtomicUsize>) {
    slow_as(Manner::Bucket { page: 1000 }, objects)
}

fn slow_as(manner: Manner, objects: Objects) -> (Server, Arc<AtomicUsize>) {
    let most = Arc::new(AtomicUsize::new(0));
    let (counted, at_once) = (most.clone(), AtomicUsize::new(0));
    let take_time = move |_, request: &super::server::Request| {
        if request.path.contains("/c/") {
            counted.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(30));
            at_once.fetch_sub(1, Ordering::SeqCst);
        }
        None
    };
    (Server::start(objects, manner, Box::new(take_time)), most)
}

/// Returns the maximum number of requests of one chunk, and the number of requested chunks.
fn asked(server: &Server) -> (usize, usize) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for line in server.lines().into_iter().filter(|line| line.contains("/c/")) {
        *counts.entry(line).or_default() += 1;
    }
    (counts.values().copied().max().unwrap_or(0), counts.len())
}

#[test]
fn server_that_closes_each_connection_gets_few_requests_at_a_time() {
    for (manner, bound) in [(Manner::Closing, 2..5), (Manner::Ranges, 8..65)] {
        let (server, most) = slow_as(manner, array("/a"));
        run(&CliTest::new(), &server, &["validate", "--level", "data", &format!("{}/a", server.address)]).succeeds();
        assert!(bound.contains(&most.load(Ordering::SeqCst)), "{manner:?}: {most:?}");
    }
}

#[test]
fn chunks_are_asked_for_many_at_a_time_and_once_by_every_command() {
    let test = CliTest::new();
    for (key, bytes) in array("local") {
        test.write(&key, bytes);
    }
    let from = "s3://bucket/a";
    for arguments in [
        &["inspect", "--stats", from][..],
        &["inspect", "--histogram", "10,0,50", from],
        &["inspect", "--preview", from],
        &["validate", "--level", "data", from],
        &["validate", from, "--against", "local"],
        &["validate", "local", "--against", from],
        &["transcode", from, "copy"],
        &["transcode", from, "recoded", "--compress", "zstd:1"],
        &["transcode", from, "rechunked", "--chunk-shape", "16"],
        &["transcode", from, "sharded", "--shard-shape", "16"],
        &["transcode", from, "codes", "--quantize", "uint8"],
        &["transcode", from, "steps", "--max-error", "0.5"],
    ] {
        let (server, most) = slow(array("/bucket/a"));
        let ran = run(&test, &server, &[arguments, &["--threads", "1"]].concat());
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.error);
        assert_eq!(asked(&server), (1, CHUNKS), "{arguments:?}: how often, and how many");
        let most = most.load(Ordering::SeqCst);
        assert!(most >= 8, "{arguments:?}: {most} at once");
    }
}

#[test]
fn encoded_chunks_are_asked_for_once_by_every_pass() {
    let test = CliTest::new();
    let mut objects = array("/bucket/a");
    let document = objects.get_mut("/bucket/a/zarr.json").unwrap();
    // Elements in another byte order are decoded chunk by chunk.
    *document = String::from_utf8_lossy(document).replace("little", "big").into_bytes();
    for (arguments, passes) in [
        (&["--stats"][..], 1),
        (&["--histogram", "10,0,50"], 1),
        (&["--histogram", "10"], 2),
        (&["--suggest", "uint8"], 2),
    ] {
        let (server, most) = slow(objects.clone());
        run(&test, &server, &[&["inspect", "--threads", "1"], arguments, &["s3://bucket/a"]].concat()).succeeds();
        assert_eq!(asked(&server), (passes, CHUNKS), "{arguments:?}: how often, and how many");
        assert!(most.load(Ordering::SeqCst) >= 8, "{arguments:?}");
    }
}

/// Returns the array in shards of `per_shard` chunks of `numbers` numbers, as the program converts a local one.
fn shards(test: &CliTest, numbers: usize, chunks: usize, per_shard: usize) -> Objects {
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{}],"data_type":"float32","fill_value":0,"attributes":{{}},
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{numbers}]}}}},
        "chunk_key_encoding":{{"name":"default"}},
        "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}"#,
        numbers * chunks
    );
    test.write("plain/zarr.json", document.as_bytes());
    for chunk in 0..chunks {
        let first = f32::from(u8::try_from(chunk).unwrap());
        test.write(&format!("plain/c/{chunk}"), first.to_le_bytes().repeat(numbers));
    }
    let length = (numbers * per_shard).to_string();
    test.run(["transcode", "plain", "shards", "--shard-shape", &length]).succeeds();
    let files = test.all_files("shards").into_iter();
    files.map(|(key, bytes)| (format!("/bucket/a/{key}"), bytes)).collect()
}

/// Commands that read shards of the bucket.
const OVER_SHARDS: [&[&str]; 7] = [
    &["inspect", "--stats", "s3://bucket/a"],
    &["validate", "--level", "data", "s3://bucket/a"],
    &["validate", "s3://bucket/a", "--against", "plain"],
    &["transcode", "s3://bucket/a", "copy"],
    &["transcode", "s3://bucket/a", "recoded", "--compress", "zstd:1"],
    &["transcode", "s3://bucket/a", "out", "--shard-shape", "none"],
    &["transcode", "s3://bucket/a", "steps", "--max-error", "0.5"],
];

#[test]
fn small_shards_come_whole_and_many_at_a_time() {
    for arguments in OVER_SHARDS {
        let test = CliTest::new();
        let (server, most) = slow(shards(&test, 4, 40, 2));
        let ran = run(&test, &server, &[arguments, &["--threads", "1"]].concat());
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.error);
        let (often, shards) = asked(&server);
        // Each of the two further passes reads the shard index of kept shards again.
        let passes = if arguments.contains(&"--max-error") { 3 } else { 1 };
        assert!(often <= passes && shards == 20, "{arguments:?}: {often} {shards}");
        let most = most.load(Ordering::SeqCst);
        assert!(most >= 8, "{arguments:?}: {most} at once");
    }
}

#[test]
fn neighbours_in_a_large_shard_come_together() {
    for arguments in OVER_SHARDS.into_iter().filter(|arguments| !arguments.contains(&"copy")) {
        let test = CliTest::new();
        // Two shards of 20 chunks of 256 KiB.
        let (server, _) = slow(shards(&test, 1 << 16, 40, 20));
        let ran = run(&test, &server, &[arguments, &["--threads", "1"]].concat());
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.error);
        let is_read = |request: &super::server::Request| request.method == "GET" && request.path.contains("/c/");
        let requests = server.requests().into_iter().filter(is_read);
        let ranges: Vec<_> = requests.map(|request| (request.path, request.headers.get("range").cloned())).collect();
        // For each shard, the index in each pass, and three requests of up to 2 MiB.
        let passes = if arguments.contains(&"--max-error") { 3 } else { 1 };
        assert!(ranges.len() <= 2 * (3 + passes), "{arguments:?}: {ranges:?}");
    }
}

#[test]
fn chunks_are_asked_for_once_more_to_verify_what_became_of_them() {
    for more in [&["--compress", "zstd:1"][..], &["--quantize", "uint8"], &[]] {
        let (test, (server, most)) = (CliTest::new(), slow(array("/bucket/a")));
        let arguments = ["transcode", "s3://bucket/a", "made", "--verify", "--threads", "1"];
        let ran = run(&test, &server, &[&arguments[..], more].concat());
        assert_eq!(ran.status, 0, "{more:?}: {}", ran.error);
        assert_eq!(asked(&server), (2, CHUNKS), "{more:?}: how often, and how many");
        assert!(most.load(Ordering::SeqCst) >= 8);
    }
}

#[test]
fn command_asks_for_little_beside_chunks() {
    let test = CliTest::new();
    for (name, more) in [("copy", &[][..]), ("codes", &["--quantize", "uint8"])] {
        let (server, _) = slow(array("/bucket/a"));
        run(&test, &server, &[&["transcode", "s3://bucket/a", name][..], more].concat()).succeeds();
        let lines = server.lines();
        let beside = lines.iter().filter(|line| !line.contains("/c/")).count();
        assert!(beside <= 6, "{lines:?}");
    }
}

/// The chunk of text is larger than the cache of a thread between two chunks that it writes.
#[test]
fn chunk_of_text_is_fetched_once_for_all_chunks_that_are_made_of_it() {
    const WORDS: u32 = 50_000;
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{WORDS}],"data_type":"string","fill_value":"",
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{WORDS}]}}}},
        "chunk_key_encoding":{{"name":"default"}},"codecs":[{{"name":"vlen-utf8"}}]}}"#
    );
    let words = (0..WORDS).flat_map(|_| [4_u32.to_le_bytes(), *b"word"].concat());
    let chunk: Vec<u8> = WORDS.to_le_bytes().into_iter().chain(words).collect();
    let objects =
        [("zarr.json", document.into_bytes()), ("c/0", chunk)].map(|(key, bytes)| (format!("/bucket/a/{key}"), bytes));
    let (test, (server, _)) = (CliTest::new(), slow(objects.into_iter().collect()));
    let arguments = ["transcode", "-c", "1000", "--threads", "1", "--max-memory", "4MiB", "s3://bucket/a", "b"];
    run(&test, &server, &arguments).succeeds();
    assert_eq!((asked(&server), test.all_files("b").len()), ((1, 1), 51));
}

/// Each block needs a quarter of one chunk, which is stored uncompressed.
#[test]
fn parts_of_a_chunk_that_blocks_need_are_asked_for_once() {
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[1024,1024],"data_type":"float32","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1024,1024]}},
        "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;
    let objects = [("zarr.json", document.as_bytes().to_vec()), ("c/0/0", vec![1; 4 << 20])]
        .map(|(key, bytes)| (format!("/bucket/a/{key}"), bytes));
    let (test, (server, _)) = (CliTest::new(), slow(objects.into_iter().collect()));
    let arguments = ["transcode", "-c", "256,1024", "--threads", "1", "--max-memory", "6MiB", "s3://bucket/a", "b"];
    run(&test, &server, &arguments).succeeds();
    let is_read = |request: &super::server::Request| request.method == "GET" && request.path.contains("/c/");
    let requests = server.requests().into_iter().filter(is_read);
    let ranges: Vec<_> = requests.map(|request| request.headers.get("range").cloned()).collect();
    let different: std::collections::BTreeSet<_> = ranges.iter().collect();
    assert!(ranges.len() == different.len() && ranges.len() > 4, "{ranges:?}");
}

/// Returns the answer to a range request.
pub(super) fn part_of(
    object: &[u8],
    request: &super::server::Request,
    (header, version): (&'static str, &str),
) -> Option<Answer> {
    let range = request.headers.get("range")?.strip_prefix("bytes=")?;
    let (first, last) = range.split_once('-')?;
    let end = object.len() - 1;
    let (first, last) = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) => (first, last.min(end)),
        (_, Ok(count)) => (object.len() - count.min(object.len()), end),
        _ => return None,
    };
    let part = Answer::new(206, &object[first..=last]).with(header, version);
    Some(part.with("content-range", format!("bytes {first}-{last}/{}", object.len())))
}

#[test]
fn parts_of_two_versions_of_a_target_are_never_put_together() {
    let mut objects = array("/w");
    objects.insert("/w/data".to_owned(), vec![1; 640]);
    let reads = AtomicUsize::new(0);
    let changing = move |_, request: &super::server::Request| {
        let version =
            if reads.fetch_add(usize::from(request.path == "/w/data"), Ordering::SeqCst) > 2 { "new" } else { "old" };
        (request.path == "/w/data").then(|| part_of(&[1; 640], request, ("etag", version))).flatten()
    };
    let document = String::from_utf8(objects["/w/zarr.json"].clone()).unwrap();
    let (test, server) = (CliTest::new(), Server::start(objects, Manner::Ranges, Box::new(changing)));
    let target = format!("{}/w/data", server.address);
    let refs = (0..40).map(|chunk| (format!("c/{chunk}"), serde_json::json!([target, 16 * chunk, 16])));
    let refs: serde_json::Map<_, _> = refs.chain([("zarr.json".to_owned(), document.into())]).collect();
    test.write("refs.json", serde_json::json!({"version": 1, "refs": refs}).to_string());
    run(&test, &server, &["transcode", "refs.json", "made"]).fails(3, &["w/data", "changed while it was read"]);
}

#[test]
fn parts_of_two_versions_of_a_shard_are_never_put_together() {
    let dates = ["Tue, 24 Nov 2026 09:00:00 GMT", "Tue, 24 Nov 2026 09:00:01 GMT"];
    for (header, [version, new_version]) in [
        ("etag", ["\"old\"", "\"new\""]),
        ("etag", ["W/\"old\"", "W/\"new\""]),
        ("last-modified", dates),
        // Only the size differs.
        ("x-none", ["old", "new"]),
    ] {
        for more in [&[][..], &["--compress", "zstd:1"], &["--shard-shape", "none"]] {
            let test = CliTest::new();
            // More bytes than one request returns.
            let objects = shards(&test, 1 << 17, 40, 40);
            let shard = objects["/bucket/a/c/0"].clone();
            let longer = [&shard[..], b"x"].concat();
            // From the second request on, the parts are of the new version, whatever the request's conditions are.
            let reads = AtomicUsize::new(0);
            let changing = move |_, request: &super::server::Request| {
                let is_read = request.path == "/bucket/a/c/0" && request.headers.contains_key("range");
                let is_new = is_read && reads.fetch_add(1, Ordering::SeqCst) > 0;
                let version = if is_new { new_version } else { version };
                let shard = if is_new && header == "x-none" { &longer } else { &shard };
                is_read.then(|| part_of(shard, request, (header, version))).flatten()
            };
            let server = Server::start(objects, Manner::Ranges, Box::new(changing));
            let url = format!("{}/bucket/a", server.address);
            run(&test, &server, &[&["transcode", &url, "made", "--threads", "1"][..], more].concat())
                .fails(3, &["c/0", "changed while it was read"]);
            assert!(!test.exists("made/zarr.json"));
        }
    }
}

#[test]
fn of_a_shard_come_its_index_and_what_is_taken_each_part_once() {
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[1024,1024],"data_type":"float32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1024,1024]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,"attributes":{},"dimension_names":["y","x"],
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;
    let test = CliTest::new();
    test.write("plain/zarr.json", document);
    test.write("plain/c/0/0", (0..1_u32 << 20).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    test.run(["transcode", "-q", "plain", "shard", "-c", "32,32", "-s", "1024,1024"]).succeeds();
    let objects: Objects =
        test.all_files("shard").into_iter().map(|(key, bytes)| (format!("/bucket/a/{key}"), bytes)).collect();
    let index = 16 * 1024 + 4;
    // A box of 16 by 24 inner chunks that is not aligned to them, and the whole array.
    let part = (["--select", "y=200:700,x=100:850"], 16 * 24 * 4096);
    let whole = (["--select", "y=0:1024,x=0:1024"], 4 << 20);
    for (select, bytes) in [part, whole] {
        for more in [&["-c", "128,128"][..], &["-s", "none"], &["--compress", "zstd:1"]] {
            let server = super::sound(objects.clone(), Manner::Bucket { page: 1000 });
            let command = ["transcode", "--json", "--overwrite", "s3://bucket/a", "made", "--threads", "1"];
            let made = run(&test, &server, &[&command[..], &select, more].concat()).succeeds().json();
            let of_shard = |request: &super::server::Request| request.path.contains("/c/");
            let ranges = server.requests().into_iter().filter(of_shard).filter_map(|request| {
                let range = request.headers.get("range")?.strip_prefix("bytes=")?.to_owned();
                let (first, last) = range.split_once('-')?;
                let last: u64 = last.parse().ok()?;
                Some(first.parse().map_or(last, |first: u64| last + 1 - first))
            });
            assert_eq!(ranges.sum::<u64>(), bytes + index, "{select:?} {more:?}");
            assert_eq!(made["totals"]["bytes_read"], bytes + index, "{select:?} {more:?}");
        }
    }
}
