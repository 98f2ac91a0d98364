//! The prefetch requests that a store receives.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{ChangeOptions, Files, Kind, TestJob, changing, each_route, plain, shape, transcode, two_passes, write};
use crate::array::Interrupt;
use crate::engine::{Progress, Silent};
use crate::operation::TranscodeOptions;
use crate::store::tests::faulty::{Faults, StoreCall};
use crate::store::{MemoryStore, Node, Part, PrefetchLimit};

/// Converts an array whose store records prefetch requests. Every read of a chunk must be requested before it begins.
/// For a shard that is split, its index must be requested. Absent chunks must not be requested.
fn try_hearing(route: &str, source: &Files, change: &TranscodeOptions) {
    for (requests, threads) in [(0, 1), (3, 1), (1000, 3)] {
        let case = format!("{route}, {requests} ahead, {threads} threads");
        let test_job = TestJob::new(Kind::Local, source, change, false);
        let hearing = Faults::hearing(PrefetchLimit { requests, bytes: u64::MAX });
        let mut options = test_job.options.clone();
        options.source = hearing.wrap(&in_memory(source)).into();
        options.run.common.threads = NonZeroUsize::new(threads);
        transcode(&options, &Silent, &Interrupt::default()).unwrap();
        check(source, &hearing.heard(), &case);
    }
}

/// Returns a store whose objects can only be copied by reading.
fn in_memory(source: &Files) -> Node {
    let node = Node::of(Arc::new(MemoryStore::new("memory"))).child("a").unwrap();
    write(&node, source);
    node
}

fn is_document(key: &str) -> bool {
    key.contains(".z") || key.contains("zarr.json")
}

fn check(source: &Files, heard: &[StoreCall], case: &str) {
    let mut expected: BTreeMap<&str, Vec<Part>> = BTreeMap::new();
    let mut begun = BTreeSet::new();
    for heard in heard {
        match heard {
            StoreCall::Expected(name, part) => {
                let key = name.strip_prefix("memory/a/").unwrap();
                if is_document(key) {
                    continue; // All possible documents of a node are requested together.
                }
                assert!(source.contains_key(key), "{case}: {name} is not there");
                expected.entry(key).or_default().push(*part);
            }
            StoreCall::Read(name, part) => {
                let key = name.strip_prefix("memory/a/").unwrap();
                if is_document(key) || !begun.insert(key) {
                    continue; // A document, or reads after the index of a shard.
                }
                let length = source[key].len() as u64;
                let is_it = |hinted: &Part| match (*hinted, *part) {
                    (Part::Last(last), Part::Range { offset, length: of }) => of == last && offset + of == length,
                    (hinted, part) => hinted == Part::Whole || hinted == part,
                };
                let hinted = expected.get(key).map(Vec::as_slice).unwrap_or_default();
                assert!(hinted.iter().any(is_it), "{case}: {part:?} of {name} was not announced: {hinted:?}");
            }
        }
    }
    assert!(!begun.is_empty(), "{case}: nothing was read");
    let unread: Vec<_> = expected.keys().filter(|key| !begun.contains(*key)).collect();
    assert!(unread.is_empty(), "{case}: {unread:?} were announced, and not read");
}

#[test]
fn what_every_route_reads_is_told_before() {
    let copies =
        ["copy", "copy of shards", "copy of v2", "recode", "recode inside shards", "fill value", "into shards"];
    let rechunks = ["rechunk to rows", "rechunk", "rechunk of compressed chunks", "rechunk of shards", "out of shards"];
    let text = ["recode of text", "recode of text inside shards", "rechunk of text", "rechunk of text in shards"];
    each_route(&[&copies[..], &rechunks, &text].concat(), try_hearing);
}

#[test]
fn first_of_two_passes_is_told_before() {
    let (source, change) = two_passes();
    let test_job = TestJob::new(Kind::Local, &source, &change, false);
    let hearing = Faults::hearing(PrefetchLimit { requests: 3, bytes: u64::MAX });
    let mut options = test_job.options.clone();
    options.source = hearing.wrap(&in_memory(&source)).into();
    transcode(&options, &Silent, &Interrupt::default()).unwrap();
    check(&source, &hearing.heard(), "two passes");
}

/// Counts the reported bytes, and the number of reports.
#[derive(Default)]
struct CountedProgress(AtomicU64, AtomicU64);

impl Progress for CountedProgress {
    fn start(&self, _name: &str, _length: Option<u64>) {}
    fn advance(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
        self.1.fetch_add(1, Ordering::Relaxed);
    }
    fn finish(&self) {}
}

#[test]
fn block_that_is_all_of_an_array_moves_the_bar_with_each_chunk_that_is_read() {
    let change = changing(ChangeOptions { chunk_shape: Some(shape(&[4, 4])), ..ChangeOptions::default() });
    let test_job = TestJob::new(Kind::Local, &plain(""), &change, false);
    let counted = CountedProgress::default();
    let result = transcode(&test_job.options, &counted, &Interrupt::default()).unwrap();
    assert_eq!(result.nodes[0].units, Some(1));
    let (bytes, times) = (counted.0.into_inner(), counted.1.into_inner());
    assert_eq!((bytes, times >= 5), (64, true), "{times} times");
}
