//! A job in parts: what a part checks, its progress, and how it resumes after it was killed.

use std::sync::Mutex;

use super::*;
use crate::engine::Progress;
use crate::operation::transcode::JobPlan;
use crate::operation::transcode::parts::{Finished, PartitionRequest, PassName, finish, init, partition};
use crate::store::FreeSpace;

fn of_part(options: &TranscodeOptions, destination: Node) -> TranscodeOptions {
    TranscodeOptions { source: options.source.clone(), destination: destination.into(), ..TranscodeOptions::default() }
}

fn part(index: u64) -> PartitionRequest {
    PartitionRequest { index, pass: None }
}

/// The progress: name and length of each piece of work, and the completed length.
#[derive(Default)]
struct RecordedProgress(Mutex<Vec<(String, Option<u64>, u64)>>);

impl Progress for RecordedProgress {
    fn start(&self, name: &str, length: Option<u64>) {
        self.0.lock().unwrap().push((name.to_owned(), length, 0));
    }
    fn advance(&self, bytes: u64) {
        self.0.lock().unwrap().last_mut().unwrap().2 += bytes;
    }
    fn finish(&self) {}
}

impl RecordedProgress {
    /// Returns the bytes of all work with a name. The completed length of each piece must equal its length.
    fn length(self, name: &str, case: &str) -> u64 {
        let recorded = self.0.into_inner().unwrap();
        let pieces = recorded.into_iter().filter(|(of, ..)| of == name);
        pieces.map(|(_, length, done)| (length == Some(done)).then_some(done).expect(case)).sum()
    }
}

#[test]
fn room_for_the_whole_job_is_asked_for_when_it_is_planned_alone() {
    let fill_value = Some(Json::parse_str("7").unwrap());
    let change = changing(ChangeOptions { fill_value, ..ChangeOptions::default() });
    let test_job = TestJob::new(Kind::Local, &plain(""), &change, false);
    let none = Faults::with_free_space(FreeSpace { blocks: 0, block_bytes: 512, files: 0 });
    let full = || none.wrap(&test_job.node("b"));
    let interrupt = Interrupt::default();
    let refused = TranscodeOptions { destination: full().into(), ..test_job.options.clone() };
    let error = init(&refused, 2, &Silent, &interrupt).unwrap_err();
    assert!(error.to_string().contains("1 absent chunk would be written"), "{error}");
    assert!(transcode(&refused, &Silent, &interrupt).is_err() && test_job.destination().is_empty());

    init(&test_job.options, 2, &Silent, &interrupt).unwrap();
    // A second `init`, the parts and the finish work, although others have filled the disk.
    assert!(init(&refused, 2, &Silent, &interrupt).unwrap().was_there);
    let options = of_part(&test_job.options, full());
    for index in [1, 0] {
        partition(&options, part(index), &Silent, &interrupt).unwrap();
    }
    let finished = finish(&options, &Silent, &interrupt).unwrap();
    assert!(matches!(finished, Finished::Now(_)) && test_job.destination().contains_key("c/1/0"));
}

/// Runs each part of a job, the last one first, after it was killed repeatedly at different calls.
fn try_killed(route: &str, source: &Files, change: &TranscodeOptions) {
    let (test_job, interrupt) = (TestJob::new(Kind::Local, source, change, false), Interrupt::default());
    let whole = TranscodeOptions { destination: test_job.node("whole").into(), ..test_job.options.clone() };
    let result = transcode(&whole, &Silent, &interrupt).unwrap();
    let options = of_part(&test_job.options, test_job.node("b"));
    for pass in init(&test_job.options, 3, &Silent, &interrupt).unwrap().passes {
        for index in (0..pass.partitions).rev() {
            let name = if pass.name == "staging" { PassName::Staging } else { PassName::Write };
            let wanted = PartitionRequest { index, pass: Some(name) };
            for at in (0..400).step_by(23) {
                let faults = Faults::new([(at, Failure::Kill)]);
                let faulty = of_part(&test_job.with(&faults), faults.wrap(&test_job.node("b")));
                let _ = partition(&faulty, wanted, &Silent, &interrupt);
                assert!(!faults.calls().is_empty());
            }
            partition(&options, wanted, &Silent, &interrupt).unwrap();
        }
    }
    let Finished::Now(finished) = finish(&options, &Silent, &interrupt).unwrap() else { panic!("{route}") };
    assert_eq!(finished.nodes[0].counts.bytes_written, result.nodes[0].counts.bytes_written, "{route}");
    assert!(test_job.destination() == files(&test_job.node("whole")), "{route}: {:?}", test_job.destination().keys());
}

#[test]
fn parts_that_are_killed_make_what_one_run_makes() {
    let text = ["recode of text", "rechunk of text"];
    let others =
        ["copy", "copy of v2", "recode", "recode inside shards", "into shards", "rechunk of shards", "fill value"];
    each_route(&[&text[..], &others].concat(), try_killed);
    let (source, change) = two_passes();
    try_killed("two passes", &source, &change);
}

/// Returns a 4 x 4 array without absent chunks.
fn full(codec: &str) -> Files {
    let mut files = plain(codec);
    files.insert("c/1/0".into(), vec![1; 16]);
    files
}

#[test]
fn progress_of_a_part_is_that_of_its_own_objects() {
    let recode = || ChangeOptions { compress: Some(zstd(1)), ..ChangeOptions::default() };
    let rechunk = ChangeOptions { chunk_shape: Some(shape(&[1, 4])), ..ChangeOptions::default() };
    let reshard = ChangeOptions { shard_shape: Some(ShardRequest::Shape(shape(&[2, 4]))), ..ChangeOptions::default() };
    for (route, change) in
        [("copy", ChangeOptions::default()), ("recode", recode()), ("rechunk", rechunk), ("reshard", reshard)]
    {
        let test_job = TestJob::new(Kind::Local, &full(""), &changing(change), false);
        let interrupt = Interrupt::default();
        let recorded = RecordedProgress::default();
        let options = TranscodeOptions { destination: test_job.node("whole").into(), ..test_job.options.clone() };
        transcode(&options, &recorded, &interrupt).unwrap();
        let whole = recorded.length("transcode", route);
        let planned = init(&verified(test_job.options.clone()), 2, &Silent, &interrupt).unwrap();
        assert_eq!((planned.partitions, whole), (2, 64), "{route}");
        let options = of_part(&test_job.options, test_job.node("b"));
        for index in 0..2 {
            let recorded = RecordedProgress::default();
            partition(&options, part(index), &recorded, &interrupt).unwrap();
            let pieces = recorded.0.lock().unwrap().clone();
            let lengths: Vec<_> = pieces.iter().map(|(name, length, _)| (name.as_str(), *length)).collect();
            assert_eq!(lengths, [("transcode", Some(32)), ("verify", Some(32))], "{route}");
            assert_eq!(recorded.length("transcode", route), 32, "{route}");
        }
        assert!(matches!(finish(&options, &Silent, &interrupt).unwrap(), Finished::Now(_)), "{route}");
    }
}

#[test]
fn some_arrays_of_a_hierarchy_are_resolved_as_among_all() {
    let group = br#"{"zarr_format":3,"node_type":"group","attributes":{}}"#;
    let mut source = Files::from([("zarr.json".into(), group.to_vec())]);
    for name in ["a", "b", "c"] {
        source.extend(plain("").into_iter().map(|(key, bytes)| (format!("{name}/{key}"), bytes)));
    }
    let change = changing(ChangeOptions { compress: Some(zstd(1)), ..ChangeOptions::default() });
    let test_job = TestJob::new(Kind::Local, &source, &change, false);
    let (options, interrupt) = (&test_job.options, Interrupt::default());
    let resolved =
        |is_wanted: &dyn Fn(usize) -> bool| JobPlan::new(options, |_| Ok(()), is_wanted, &Silent, &interrupt).unwrap();
    let all = resolved(&|_| true);
    let sealed = resolved(&|_| true).sealed;
    for number in 0..3 {
        let is_own = |other| other == number;
        let one = resolved(&is_own);
        assert_eq!(one.arrays.len(), 1);
        one.check_same(&sealed, is_own).unwrap();
        assert!(one.check_same(&sealed, |other| other != number).is_err());
        assert!(one.check_same(&sealed, |_| true).is_err());
        assert_eq!(one.arrays[0].memory, all.arrays[number].memory);
    }
    all.check_same(&sealed, |_| true).unwrap();
    let mut other = options.clone();
    other.change.compress = Some(zstd(2));
    let one = JobPlan::new(&other, |_| Ok(()), |number| number == 1, &Silent, &interrupt).unwrap();
    assert!(one.check_same(&sealed, |number| number == 1).is_err());
}
