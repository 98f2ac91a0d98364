//! Runs on a file system without locks.

use std::sync::Arc;

use rustix::io::Errno;

use super::{Kind, TestJob, plain, transcode};
use crate::array::Interrupt;
use crate::engine::{Fingerprint, Journal, Silent};
use crate::operation::{FaultClass, OperationError, TranscodeOptions, TranscodeResult};
use crate::store::RUN_FOLDER;
use crate::store::tests::faulty::{Call, Failure, Faults};

fn test_job(overwrites: bool) -> TestJob {
    TestJob::new(Kind::Local, &plain(""), &TranscodeOptions::default(), overwrites)
}

fn run(mut options: TranscodeOptions, resume: bool) -> Result<TranscodeResult, OperationError> {
    options.run.resume = resume;
    transcode(&options, &Silent, &Interrupt::default())
}

/// Returns a store without locks, like some file systems.
fn unlocked() -> Arc<Faults> {
    Faults::of_kind(Call::Lock, Failure::Unsupported)
}

fn codes(result: &TranscodeResult) -> Vec<&'static str> {
    result.warnings.iter().map(|warning| warning.code).collect()
}

/// Returns an unfinished run: it failed at its first document, after its chunks.
fn abandoned(overwrites: bool) -> TestJob {
    let (whole, counting) = (test_job(overwrites), Faults::new([]));
    run(whole.with(&counting), false).unwrap();
    let last = counting.calls().iter().rposition(|call| *call == Call::Publish).unwrap();
    let test_job = test_job(overwrites);
    run(test_job.with(&Faults::new([(last, Failure::Error(Errno::IO))])), false).unwrap_err();
    test_job
}

#[test]
fn file_system_without_locks_is_a_warning() {
    for overwrites in [false, true] {
        let result = run(test_job(overwrites).with(&unlocked()), false).unwrap();
        assert!(result.complete);
        assert_eq!(codes(&result), ["ZK208"], "overwriting: {overwrites}");
        assert!(result.warnings[0].message.contains("has no locks"));
        // An unfinished run can still be resumed.
        let test_job = abandoned(overwrites);
        assert_eq!(codes(&run(test_job.with(&unlocked()), true).unwrap()), ["ZK208"], "overwriting: {overwrites}");
        assert!(test_job.is_whole(&test_job.destination()));
    }
    let locked = test_job(false);
    assert_eq!(codes(&run(locked.options.clone(), false).unwrap()), Vec::<&str>::new());
}

#[test]
fn run_that_goes_on_is_told_by_its_journal_without_locks() {
    let test_job = abandoned(false);
    let (destination, faults) = (test_job.node("b"), unlocked());
    let other = Fingerprint::new([("options", vec![b"x".as_slice()])]);
    let data = faults.wrap(&destination);
    let journal = Journal::open((&data.below(&RUN_FOLDER), &data), &other, false).unwrap();
    journal.begin(true).unwrap();
    let lines = || destination.read_document(".zarrcast/journal").unwrap().unwrap();
    let journal_bytes = lines();
    let mut overwriting = test_job.with(&faults);
    overwriting.run.overwrite = true;
    for refused in [run(test_job.with(&faults), true).unwrap_err(), run(overwriting.clone(), false).unwrap_err()] {
        assert_eq!(refused.class(), FaultClass::Environment);
        let reason = std::error::Error::source(&refused).map(ToString::to_string);
        let text = format!("{refused}: {}", reason.unwrap_or_default());
        let process = format!("process {} on", std::process::id());
        assert!(text.contains("is locked") && text.contains(&process), "{text}");
    }
    assert_eq!(lines(), journal_bytes);
    // A process that has ended blocks nobody.
    drop(journal);
    run(overwriting, false).unwrap();
}
