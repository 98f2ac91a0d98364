//! Runs on a file system that has no locks.

use std::sync::Arc;

use rustix::io::Errno;

use super::{Kind, Scene, plain, transcode};
use crate::array::Interrupt;
use crate::engine::{Fingerprint, Journal, Silent};
use crate::operation::{FaultClass, OperationError, TranscodeOptions, TranscodeResult};
use crate::store::RUN_FOLDER;
use crate::store::tests::faulty::{Call, Failure, Faults};

const KINDS: [Kind; 1] = [Kind::Local];

fn scene(kind: Kind, overwrites: bool) -> Scene {
    Scene::new(kind, &plain(""), &TranscodeOptions::default(), overwrites)
}

fn run(mut options: TranscodeOptions, resume: bool) -> Result<TranscodeResult, OperationError> {
    options.run.resume = resume;
    transcode(&options, &Silent, &Interrupt::default())
}

/// A store that has no locks, as a file system may not.
fn unlocked() -> Arc<Faults> {
    Faults::of_kind(Call::Lock, Failure::Unsupported)
}

/// The codes of what a run warns of.
fn codes(result: &TranscodeResult) -> Vec<&'static str> {
    result.warnings.iter().map(|warning| warning.code).collect()
}

/// An unfinished run: it failed at its first document, after its chunks.
fn abandoned(kind: Kind, overwrites: bool) -> Scene {
    let (whole, counting) = (scene(kind, overwrites), Faults::new([]));
    run(whole.with(&counting), false).unwrap();
    let last = counting.calls().iter().rposition(|call| *call == Call::Publish).unwrap();
    let scene = scene(kind, overwrites);
    run(scene.with(&Faults::new([(last, Failure::Error(Errno::IO))])), false).unwrap_err();
    scene
}

#[test]
fn file_system_without_locks_is_a_warning() {
    for kind in KINDS {
        for overwrites in [false, true] {
            let result = run(scene(kind, overwrites).with(&unlocked()), false).unwrap();
            assert!(result.complete);
            assert_eq!(codes(&result), ["ZK208"], "{kind:?}, overwriting: {overwrites}");
            assert!(result.warnings[0].message.contains("has no locks"));
        }
        let locked = scene(kind, false);
        assert_eq!(codes(&run(locked.options.clone(), false).unwrap()), Vec::<&str>::new());
    }
}

#[test]
fn unfinished_run_is_resumed_without_locks() {
    for kind in KINDS {
        for overwrites in [false, true] {
            let scene = abandoned(kind, overwrites);
            let result = run(scene.with(&unlocked()), true).unwrap();
            assert_eq!(codes(&result), ["ZK208"], "{kind:?}, overwriting: {overwrites}");
            assert!(scene.is_whole(&scene.destination()));
        }
    }
}

#[test]
fn run_that_goes_on_is_told_by_its_journal_without_locks() {
    for kind in KINDS {
        let scene = abandoned(kind, false);
        let (destination, faults) = (scene.node("b"), unlocked());
        let other = Fingerprint::new([("options", vec![b"x".as_slice()])]);
        let data = faults.wrap(&destination);
        let journal = Journal::open((&data.below(&RUN_FOLDER), &data), &other, false).unwrap();
        journal.begin(true).unwrap();
        let lines = || destination.read_document(".zarrcast/journal").unwrap().unwrap();
        let journal_bytes = lines();
        let mut overwriting = scene.with(&faults);
        overwriting.run.overwrite = true;
        let refusals = [run(scene.with(&faults), true).unwrap_err(), run(overwriting.clone(), false).unwrap_err()];
        for refused in refusals {
            assert_eq!(refused.class(), FaultClass::Environment);
            let reason = std::error::Error::source(&refused).map(ToString::to_string);
            let text = format!("{refused}: {}", reason.unwrap_or_default());
            let process = format!("process {} on", std::process::id());
            assert!(text.contains("is locked") && text.contains(&process), "{kind:?}: {text}");
        }
        assert_eq!(lines(), journal_bytes);
        // A dead one blocks nobody.
        drop(journal);
        run(overwriting, false).unwrap();
    }
}
