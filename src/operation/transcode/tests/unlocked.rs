//! Runs on a file system that has no locks.

use std::fs;

use rustix::io::Errno;

use super::{Scene, plain, transcode};
use crate::engine::interrupt::Interrupt;
use crate::engine::journal::{Fingerprint, Journal};
use crate::engine::progress::Silent;
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::options::TranscodeOptions;
use crate::operation::transcode_result::TranscodeResult;
use crate::store::Node;
use crate::store::fault::Call;
use crate::store::fault::injection::{Failure, Injection};

/// What file systems without locks answer.
const REFUSALS: [Errno; 3] = [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP];

fn scene(overwrites: bool) -> Scene {
    Scene::new(&plain(""), &TranscodeOptions::default(), overwrites)
}

fn run(scene: &Scene, resume: bool) -> Result<TranscodeResult, OperationError> {
    let mut options = scene.options.clone();
    options.run.resume = resume;
    transcode(&options, &Silent, &Interrupt::default())
}

/// The codes of what a run warns of.
fn codes(result: &TranscodeResult) -> Vec<&'static str> {
    result.warnings.iter().map(|warning| warning.code).collect()
}

/// An unfinished run: it failed at its first document, after its chunks.
fn abandoned(overwrites: bool) -> Scene {
    let whole = scene(overwrites);
    let counting = Injection::new(whole.folder.path(), []);
    run(&whole, false).unwrap();
    let calls = counting.calls();
    drop(counting);
    let last = calls.iter().rposition(|call| *call == Call::Write).unwrap();
    let scene = scene(overwrites);
    let _injection = Injection::new(scene.folder.path(), [(last, Failure::Error(Errno::IO))]);
    run(&scene, false).unwrap_err();
    scene
}

#[test]
fn file_system_without_locks_is_a_warning() {
    for errno in REFUSALS {
        for overwrites in [false, true] {
            let scene = scene(overwrites);
            let _injection = Injection::of_kind(scene.folder.path(), Call::Lock, errno);
            let result = run(&scene, false).unwrap();
            assert!(result.complete);
            assert_eq!(codes(&result), ["ZK208"], "{errno}, overwriting: {overwrites}");
            assert!(result.warnings[0].message.contains("has no locks"));
        }
    }
    assert_eq!(codes(&run(&scene(false), false).unwrap()), Vec::<&str>::new());
}

#[test]
fn unfinished_run_is_resumed_without_locks() {
    for errno in REFUSALS {
        for overwrites in [false, true] {
            let scene = abandoned(overwrites);
            let _injection = Injection::of_kind(scene.folder.path(), Call::Lock, errno);
            let result = run(&scene, true).unwrap();
            assert_eq!(codes(&result), ["ZK208"], "{errno}, overwriting: {overwrites}");
            assert!(scene.is_whole(&scene.destination()));
        }
    }
}

#[test]
fn run_that_goes_on_is_told_by_its_journal_without_locks() {
    for errno in REFUSALS {
        let scene = abandoned(false);
        let destination = scene.path("b");
        let _injection = Injection::of_kind(scene.folder.path(), Call::Lock, errno);
        let node = Node::new(&destination);
        let other = Fingerprint::new([("options", vec![b"x".as_slice()])]);
        let journal = Journal::begin(&node, &other, false).unwrap();
        let journal_bytes = fs::read(destination.join(".zarrcast/journal")).unwrap();
        let mut overwriting = scene.options.clone();
        overwriting.run.overwrite = true;
        let refusals = [
            run(&scene, true).unwrap_err(),
            transcode(&overwriting, &Silent, &Interrupt::default()).unwrap_err(),
        ];
        for refused in refusals {
            assert_eq!(refused.class(), FaultClass::Environment);
            let reason = std::error::Error::source(&refused).map(ToString::to_string);
            let text = format!("{refused}: {}", reason.unwrap_or_default());
            let process = format!("process {} on", std::process::id());
            assert!(text.contains("is locked") && text.contains(&process), "{errno}: {text}");
        }
        assert_eq!(fs::read(destination.join(".zarrcast/journal")).unwrap(), journal_bytes);
        // A dead one blocks nobody.
        drop(journal);
        transcode(&overwriting, &Silent, &Interrupt::default()).unwrap();
    }
}
