//! Fails each store call of a small run once, in every way, for every route and kind of store. Nothing that existed may
//! be lost, and nothing unfinished may open. The resumed run must write the same bytes.

mod ahead;
mod parts;
mod quality;
mod sealed;
mod unlocked;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::transcode;
use crate::array::Interrupt;
use crate::engine::Silent;
use crate::metadata::Json;
use crate::operation::open::open_documents;
use crate::operation::options::{CommonOptions, compression};
use crate::operation::{
    ChangeOptions, Compression, FaultClass, OperationError, QuantizeOptions, RunOptions, ShapeRequest, ShardRequest,
    TranscodeOptions,
};
use crate::store::tests::faulty::{Call, Failure, Faults};
use crate::store::{Node, ZipStore};

pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// The kind of store in which a route is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Local,
    /// SOURCE is a folder, DEST a zip file.
    Zip,
}

const KINDS: [Kind; 2] = [Kind::Local, Kind::Zip];

/// The stores of a trial: SOURCE, DEST, and the old content of DEST.
pub(super) struct TestJob {
    kind: Kind,
    /// The store of SOURCE and DEST.
    root: Node,
    _folder: tempfile::TempDir,
    pub(super) options: TranscodeOptions,
    source: Files,
    /// DEST before the run, if it is replaced.
    old: Option<Files>,
}

fn files(node: &Node) -> Files {
    let mut found = Files::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let listing = node.list(&folder).unwrap();
        for key in listing.files {
            let mut bytes = Vec::new();
            node.read_into(&key, u64::MAX, &mut bytes).unwrap();
            found.insert(key, bytes);
        }
        folders.extend(listing.folders);
    }
    found
}

fn write(node: &Node, files: &Files) {
    for (key, bytes) in files {
        node.write(key, bytes).unwrap();
    }
}

/// Returns a 4 x 4 array of float32 in chunks of 2 x 2, one of them absent.
pub(super) fn plain(codec: &str) -> Files {
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[4,4],"data_type":"float32","fill_value":0,
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2,2]}}}},
        "chunk_key_encoding":{{"name":"default"}},"attributes":{{"units":"K"}},
        "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}{codec}]}}"#
    );
    let mut files = Files::from([("zarr.json".into(), document.into_bytes())]);
    for (name, first) in [("c/0/0", 1_u8), ("c/0/1", 5), ("c/1/1", 9)] {
        let values = (0..4).flat_map(|index| f32::from(first + index).to_le_bytes());
        files.insert(name.into(), values.collect());
    }
    files
}

/// Returns the same array in v2.
fn plain_v2() -> Files {
    let document = r#"{"zarr_format":2,"shape":[4,4],"chunks":[2,2],"dtype":"<f4","fill_value":0,"order":"F",
        "filters":null,"compressor":null}"#;
    let chunks = plain("").into_iter().filter_map(|(name, bytes)| {
        let key = name.strip_prefix("c/")?.replace('/', ".");
        Some((key, bytes))
    });
    let documents = [(".zarray", document), (".zattrs", r#"{"_ARRAY_DIMENSIONS":["y","x"]}"#)];
    chunks.chain(documents.map(|(key, text)| (key.into(), text.into()))).collect()
}

/// Returns the node with a name. DEST may be a zip file.
fn node_at(root: &Node, kind: Kind, name: &str) -> Node {
    if kind == Kind::Zip && name == "b" {
        return Node::of(Arc::new(ZipStore::new(root.child("b.zip").unwrap())));
    }
    root.child(name).unwrap()
}

/// Writes the objects of a node. A zip file is written as a whole.
fn write_whole(node: &Node, kind: Kind, files: &Files) {
    if kind != Kind::Zip {
        return write(node, files);
    }
    let destination = node.destination(false).unwrap();
    destination.run().create_root().unwrap();
    write(&destination.data, files);
    destination.data.publish("zarr.json", &files["zarr.json"]).unwrap();
    destination.take_place(false).unwrap();
    destination.clear().unwrap();
}

/// Returns a folder in memory, if possible: syncing to a disk is slow.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

impl TestJob {
    pub(super) fn new(kind: Kind, source: &Files, change: &TranscodeOptions, overwrites: bool) -> Self {
        let folder = folder();
        let root = Node::new(folder.path());
        write(&root.child("a").unwrap(), source);
        let mut old = None;
        if overwrites {
            let mut other = plain("");
            other.insert("c/1/0".into(), vec![1; 16]);
            write_whole(&node_at(&root, kind, "b"), kind, &other);
            old = Some(other);
        }
        let options = TranscodeOptions {
            source: root.child("a").unwrap().into(),
            destination: node_at(&root, kind, "b").into(),
            run: RunOptions {
                common: CommonOptions { threads: NonZeroUsize::new(1), ..change.run.common.clone() },
                overwrite: overwrites,
                ..change.run.clone()
            },
            ..change.clone()
        };
        TestJob { kind, root, _folder: folder, options, source: source.clone(), old }
    }

    pub(super) fn node(&self, name: &str) -> Node {
        node_at(&self.root, self.kind, name)
    }

    /// Returns the options with stores that fail.
    pub(super) fn with(&self, faults: &Arc<Faults>) -> TranscodeOptions {
        TranscodeOptions {
            source: faults.wrap(&self.node("a")).into(),
            destination: faults.wrap(&self.node("b")).into(),
            ..self.options.clone()
        }
    }

    fn run_with(&self, faults: &Arc<Faults>) -> Result<(), OperationError> {
        transcode(&self.with(faults), &Silent, &Interrupt::default()).map(|_| ())
    }

    fn run(&self, resumes: bool) -> Result<(), OperationError> {
        let mut options = self.options.clone();
        options.run.resume = resumes;
        transcode(&options, &Silent, &Interrupt::default()).map(|_| ())
    }

    pub(super) fn destination(&self) -> Files {
        files(&self.node("b"))
    }

    /// Checks that SOURCE is unchanged, and that DEST is unchanged, complete, or does not open.
    fn check(&self, whole: &Files, case: &str) {
        assert_eq!(files(&self.node("a")), self.source, "{case}: SOURCE");
        let found = self.destination();
        if let Some(old) = &self.old {
            let is_new = whole.iter().all(|(name, bytes)| found.get(name) == Some(bytes));
            // If folders cannot be exchanged, the old one has another name between two renames.
            let aside = files(&self.node(".b.zarrcast/old"));
            assert!(found == *old || is_new || aside == *old, "{case}: DEST is neither old nor new");
        } else if open_documents(&self.node("b"), "b").is_ok() {
            assert!(whole.iter().all(|(name, bytes)| found.get(name) == Some(bytes)), "{case}: DEST opens");
        }
    }

    /// Returns whether DEST is complete and nothing else is left.
    pub(super) fn is_whole(&self, whole: &Files) -> bool {
        let listing = self.root.list("").unwrap();
        let mut names = [listing.folders, listing.files].concat();
        names.sort();
        self.destination() == *whole && names == ["a", if self.kind == Kind::Zip { "b.zip" } else { "b" }]
    }
}

/// A route, and the conditions of its trial.
struct Trial<'a> {
    kind: Kind,
    route: &'a str,
    source: &'a Files,
    change: &'a TranscodeOptions,
    overwrites: bool,
    /// Failures in every run of the trial.
    always: Vec<(usize, Failure)>,
}

/// Returns options with this change.
pub(super) fn changing(change: ChangeOptions) -> TranscodeOptions {
    TranscodeOptions { change, ..TranscodeOptions::default() }
}

fn verified(mut options: TranscodeOptions) -> TranscodeOptions {
    options.run.verify = true;
    options
}

/// Fails each call of a run, and damages each chunk, one at a time.
fn try_decoding(route: &str, source: &Files, change: &TranscodeOptions) {
    try_all(route, source, change);
    for kind in KINDS {
        for overwrites in [false, true] {
            Trial { kind, route, source, change, overwrites, always: Vec::new() }.corrupt_each();
        }
    }
}

/// Fails each call of a run, one at a time.
fn try_all(route: &str, source: &Files, change: &TranscodeOptions) {
    for kind in KINDS {
        let trial = |overwrites, always| Trial { kind, route, source, change, overwrites, always };
        trial(false, Vec::new()).run();
        let calls = trial(true, Vec::new()).run();
        if kind == Kind::Zip {
            continue;
        }
        // If folders cannot be exchanged, there are two renames.
        let exchange = calls.iter().position(|call| *call == Call::Exchange).unwrap();
        let calls = trial(true, vec![(exchange, Failure::Unsupported)]).run();
        assert!(calls[exchange..].iter().filter(|call| **call == Call::Rename).count() == 2);
    }
}

impl Trial<'_> {
    fn run(&self) -> Vec<Call> {
        let test_job = TestJob::new(self.kind, self.source, self.change, self.overwrites);
        let counting = Faults::new(self.always.clone());
        let route = self.route;
        test_job.run_with(&counting).unwrap_or_else(|error| panic!("{route}: {error}: {:?}", error.help()));
        let calls = counting.calls();
        let whole = test_job.destination();
        assert!(test_job.is_whole(&whole) && calls.len() > 20, "{route}: {calls:?}");
        for (number, call) in calls.iter().enumerate() {
            let failures: &[Failure] = match call {
                Call::Write => {
                    &[Failure::Kill, Failure::Error(Errno::IO), Failure::Error(Errno::NOSPC), Failure::ShortWrite]
                }
                Call::Copy | Call::Publish => &[
                    Failure::Kill,
                    Failure::Error(Errno::IO),
                    Failure::Error(Errno::NOSPC),
                    Failure::ShortWrite,
                    Failure::Late,
                ],
                Call::Create => &[Failure::Kill, Failure::Error(Errno::NOSPC), Failure::Error(Errno::ACCESS)],
                Call::Rename | Call::Exchange | Call::Remove | Call::Sync => {
                    &[Failure::Kill, Failure::Error(Errno::IO), Failure::Late]
                }
                _ => &[Failure::Kill, Failure::Error(Errno::IO)],
            };
            let always = |(at, _): &(usize, Failure)| *at == number;
            for failure in failures.iter().filter(|_| !self.always.iter().any(always)) {
                let overwrites = self.overwrites;
                let kind = self.kind;
                let case =
                    format!("{route}, {kind:?}, overwriting: {overwrites}, call {number} ({call:?}): {failure:?}");
                self.fail_once((number, *failure), &whole, &case);
            }
        }
        calls
    }

    /// Truncates each stored chunk of SOURCE. After it is restored, the run is resumed.
    fn corrupt_each(&self) {
        let whole = {
            let test_job = TestJob::new(self.kind, self.source, self.change, self.overwrites);
            test_job.run(false).unwrap();
            test_job.destination()
        };
        let is_chunk = |key: &String| !key.starts_with("zarr.json") && !key.starts_with('.');
        for (key, bytes) in self.source.iter().filter(|(key, _)| is_chunk(key)) {
            let case = format!("{}, overwriting: {}, corrupt chunk {}", self.route, self.overwrites, key);
            let test_job = TestJob::new(self.kind, self.source, self.change, self.overwrites);
            test_job.node("a").write(key, &bytes[..bytes.len() / 2]).unwrap();
            let error = test_job.run(false).expect_err(&case);
            assert_eq!(error.class(), FaultClass::Data, "{case}");
            assert!(error.to_string().contains(key.as_str()), "{case}: {error}");
            write(&test_job.node("a"), self.source);
            test_job.check(&whole, &case);
            test_job.run(true).unwrap_or_else(|error| panic!("{case}: {error}"));
            assert!(test_job.is_whole(&whole), "{case}");
        }
    }

    fn fail_once(&self, failure: (usize, Failure), whole: &Files, case: &str) {
        let test_job = TestJob::new(self.kind, self.source, self.change, self.overwrites);
        let mut failures = self.always.clone();
        failures.push(failure);
        let ended = test_job.run_with(&Faults::new(failures));
        test_job.check(whole, case);
        let Err(error) = ended else {
            assert!(test_job.is_whole(whole), "{case}: it went well, and DEST is not whole");
            return;
        };
        assert_eq!(error.class(), FaultClass::Environment, "{case}: {error}");
        let help = error.help().unwrap_or_default();
        if failure.1 == Failure::Error(Errno::NOSPC) && help.contains("--resume") {
            // There is enough space in reality.
            assert!(
                help.contains("are free there now")
                    || ["durable", "the destination cannot be written"]
                        .iter()
                        .any(|known| error.to_string().contains(known)),
                "{case}: {help}"
            );
        }
        if let Err(error) = test_job.run(true) {
            // Only the notes of completion failed.
            assert!(error.to_string().contains("is complete"), "{case}: resumed: {error}: {:?}", error.help());
            // A zip file is complete or is not. The next run there removes the rest of the files.
            if self.kind == Kind::Zip {
                test_job.node(".b.zip.zarrcast").remove_root().unwrap();
            }
        }
        assert!(test_job.is_whole(whole), "{case}: resumed, and not the same: {:?}", test_job.destination().keys());
        assert_eq!(files(&test_job.node("a")), test_job.source, "{case}: SOURCE");
    }
}

fn shape(lengths: &[u64]) -> ShapeRequest {
    ShapeRequest::Lengths(lengths.to_vec())
}

fn zstd(level: u32) -> Compression {
    Compression::Codecs(compression(&format!("zstd:{level}")).unwrap())
}

fn made_of(source: &Files, change: ChangeOptions) -> Files {
    let test_job = TestJob::new(Kind::Local, source, &changing(change), false);
    test_job.run(false).unwrap();
    test_job.destination()
}

fn shards(lengths: &[u64]) -> ChangeOptions {
    ChangeOptions { shard_shape: Some(ShardRequest::Shape(shape(lengths))), ..ChangeOptions::default() }
}

fn sharded() -> Files {
    made_of(&plain(""), ChangeOptions { chunk_shape: Some(shape(&[2, 2])), ..shards(&[4, 2]) })
}

/// Returns a 4 x 4 array of text in chunks of 2 x 2, one of them absent.
fn text() -> Files {
    let mut files = plain("");
    let document = files.get_mut("zarr.json").unwrap();
    let text = String::from_utf8(document.clone()).unwrap();
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let text = text.replace("float32", "string").replace("\"fill_value\":0", "\"fill_value\":\"none\"");
    *document = text.replace(bytes, r#"{"name":"vlen-utf8"}"#).into_bytes();
    for (name, chunk) in files.iter_mut().filter(|(name, _)| name.starts_with('c')) {
        let words: Vec<String> = (0..4).map(|index| name.repeat(index)).collect();
        *chunk = 4_u32.to_le_bytes().to_vec();
        for word in words {
            chunk.extend(u32::try_from(word.len()).unwrap().to_le_bytes());
            chunk.extend(word.bytes());
        }
    }
    files
}

/// Returns every route of one pass: its name, SOURCE, and the requested change.
fn routes() -> Vec<(&'static str, Files, ChangeOptions)> {
    let none = ChangeOptions::default;
    let recode = || ChangeOptions { compress: Some(zstd(1)), ..none() };
    let rechunk = |lengths: &[u64]| ChangeOptions { chunk_shape: Some(shape(lengths)), ..none() };
    let single = || ChangeOptions { chunk_shape: Some(shape(&[1, 1])), ..shards(&[1, 4]) };
    let fill = |value: &str| ChangeOptions { fill_value: Some(Json::parse_str(value).unwrap()), ..none() };
    let out = || ChangeOptions { shard_shape: Some(ShardRequest::None), ..none() };
    let to = |zarr_format| ChangeOptions { zarr_format: Some(zarr_format), ..none() };
    let text_in_shards = || made_of(&text(), shards(&[4, 2]));
    vec![
        ("copy", plain(""), none()),
        ("copy of shards", sharded(), none()),
        ("copy of an unknown codec", plain(r#",{"name":"example.unknown"}"#), none()),
        ("copy of v2", plain_v2(), none()),
        ("recode", plain(""), recode()),
        ("recode inside shards", sharded(), recode()),
        ("recode of v2", plain_v2(), recode()),
        ("recode of text", text(), recode()),
        ("recode of text inside shards", text_in_shards(), recode()),
        ("fill value", plain(""), fill("7")),
        ("fill value of text", text(), fill("\"new\"")),
        ("into shards", plain(""), shards(&[4, 2])),
        ("out of shards", sharded(), out()),
        ("text out of shards", text_in_shards(), out()),
        ("rechunk to rows", plain(""), rechunk(&[1, 4])),
        ("rechunk", plain(""), rechunk(&[4, 1])),
        ("rechunk of compressed chunks", made_of(&plain(""), recode()), rechunk(&[4, 1])),
        ("rechunk of shards", sharded(), single()),
        ("rechunk of text", text(), single()),
        ("rechunk of text in shards", text_in_shards(), single()),
        ("v2 to v3", plain_v2(), to(3)),
        ("v3 to v2", plain(""), to(2)),
        (
            "v2 to v3 in shards",
            plain_v2(),
            ChangeOptions { chunk_shape: Some(shape(&[2, 1])), zarr_format: Some(3), ..shards(&[4, 2]) },
        ),
    ]
}

/// Calls `each` for each named route.
pub(super) fn each_route(names: &[&str], mut each: impl FnMut(&str, &Files, &TranscodeOptions)) {
    let routes: Vec<_> = routes().into_iter().filter(|(name, ..)| names.contains(name)).collect();
    assert_eq!(routes.len(), names.len(), "{names:?}");
    for (name, source, change) in routes {
        each(name, &source, &changing(change));
    }
}

#[test]
fn copy_survives_every_failure() {
    each_route(&["copy", "copy of shards"], try_all);
}

#[test]
fn copy_of_what_is_not_decoded_survives_every_failure() {
    each_route(&["copy of an unknown codec", "copy of v2", "v2 to v3", "v3 to v2"], try_all);
}

#[test]
fn recode_survives_every_failure() {
    each_route(&["recode", "recode inside shards", "recode of v2"], try_decoding);
}

#[test]
fn text_survives_every_failure() {
    each_route(&["recode of text", "rechunk of text"], |name, source, change| {
        try_decoding(name, source, &verified(change.clone()));
    });
    each_route(&["recode of text inside shards", "text out of shards"], try_decoding);
    each_route(&["fill value of text"], try_all);
}

#[test]
fn quantisation_survives_every_failure() {
    let quantize = QuantizeOptions { max_error: Some(1.0), ..QuantizeOptions::default() };
    let change = verified(changing(ChangeOptions { quantize: Some(quantize), ..ChangeOptions::default() }));
    try_decoding("quantise", &plain(""), &change);
}

#[test]
fn new_fill_value_and_reshard_survive_every_failure() {
    each_route(&["fill value", "out of shards"], try_decoding);
    each_route(&["into shards"], try_all);
}

#[test]
fn rechunk_survives_every_failure() {
    each_route(&["rechunk", "rechunk of shards", "v2 to v3 in shards"], try_decoding);
}

/// Returns a 16 x 128 x 128 array of uint8 in compressed planes, which small budgets rechunk in two passes.
fn planes() -> Files {
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[16,128,128],"data_type":"uint8","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1,128,128]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"."}},"codecs":[{"name":"bytes"}]}"#;
    let mut files = Files::from([("zarr.json".into(), document.as_bytes().to_vec())]);
    for plane in 0..16_usize {
        let values = (0..128 * 128).map(|index| u8::try_from((index * (plane + 3) / 5) % 251).unwrap()).collect();
        files.insert(format!("c.{plane}.0.0"), values);
    }
    made_of(&files, ChangeOptions { compress: Some(zstd(1)), ..ChangeOptions::default() })
}

/// Returns a rechunk in two passes, with the least possible memory.
pub(super) fn two_passes() -> (Files, TranscodeOptions) {
    let source = planes();
    let mut options = changing(ChangeOptions { chunk_shape: Some(shape(&[16, 32, 64])), ..ChangeOptions::default() });
    options.run.common.max_memory = Some(1);
    let refused = TestJob::new(Kind::Local, &source, &options, false).run(false).unwrap_err();
    let least = refused.help().unwrap().split_whitespace().find_map(|word| word.trim_matches('`').parse().ok());
    options.run.common.max_memory = Some(least.unwrap());
    (source, options)
}

#[test]
fn hierarchy_survives_every_failure() {
    let group = br#"{"zarr_format":3,"node_type":"group","attributes":{"title":1.0}}"#.to_vec();
    let mut files = Files::from([
        ("zarr.json".into(), group.clone()),
        ("deep/zarr.json".into(), group),
        ("README".into(), b"read me".to_vec()),
    ]);
    for name in ["one", "deep/two"] {
        files.extend(plain("").into_iter().map(|(key, bytes)| (format!("{name}/{key}"), bytes)));
    }
    try_all("hierarchy", &files, &TranscodeOptions::default());
    let change = changing(ChangeOptions { compress: Some(zstd(1)), ..ChangeOptions::default() });
    try_all("hierarchy", &files, &change);
}

#[test]
fn rechunk_in_two_passes_survives_every_failure() {
    let (source, change) = two_passes();
    let test_job = TestJob::new(Kind::Local, &source, &change, false);
    let mut plan = test_job.options.clone();
    plan.run.dry_run = true;
    let plan = transcode(&plan, &Silent, &Interrupt::default()).unwrap();
    assert_eq!(plan.nodes[0].passes, Some(2));
    for kind in KINDS {
        let (route, overwrites, always) = ("two passes", false, Vec::new());
        Trial { kind, route, source: &source, change: &change, overwrites, always }.run();
    }
}
