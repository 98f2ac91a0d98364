//! The library as a program uses it. Nothing else of it is public.

#![expect(clippy::disallowed_methods, reason = "tests read the repository's files")]
#![expect(clippy::unwrap_used, reason = "a failed test reports the line")]

use std::fs;
use std::path::Path;

use zarrcast::diagnostic::{Profile, Severity, code};
use zarrcast::inspect::{InspectOptions, InspectResult, inspect};
use zarrcast::parts::{Engine, Finished, PartitionRequest, PassName, finish, init, partition, print_script, status};
use zarrcast::transcode::{PathPattern, QuantizeOptions, TranscodeOptions, transcode};
use zarrcast::types::{ElementType, NumberType};
use zarrcast::validate::{ValidateLevel, ValidateOptions, validate};
use zarrcast::{FaultClass, Interrupt, Location, Silent};

/// The public modules. The hidden ones are the rows of `tests/layers`.
const MODULES: [&str; 7] = ["diagnostic", "inspect", "validate", "transcode", "parts", "apply_codec", "types"];

/// The other public items.
const ITEMS: [&str; 6] = [
    "codec::plugin::register",
    "operation::Interrupt",
    "operation::error::{FaultClass, OperationError}",
    "operation::options::CommonOptions",
    "operation::progress::{Progress, Silent}",
    "store::{Location, LocationError}",
];

fn fixture() -> Location {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/valid/sea_surface_temperature");
    Location::parse(folder).unwrap()
}

#[test]
fn array_is_inspected_quantised_and_validated() {
    let folder = tempfile::tempdir().unwrap();
    let destination = Location::parse(folder.path().join("small.zarr")).unwrap();
    let (progress, interrupt) = (Silent, Interrupt::default());

    let InspectResult::Array(array) = inspect(&InspectOptions::new(fixture()), &progress, &interrupt).unwrap() else {
        panic!("no array");
    };
    assert!(array.warnings.is_empty() && array.members.shape.is_some());

    let mut options = TranscodeOptions::new(fixture(), destination.clone());
    options.change.quantize = Some(QuantizeOptions::to(NumberType::of(ElementType::UInt8)));
    options.run.verify = true;
    let result = transcode(&options, &progress, &interrupt).unwrap();
    assert!(result.complete);
    let counts = result.totals.counts;
    assert!(counts.bytes_written.unwrap() < counts.bytes_read.unwrap());

    let mut options = ValidateOptions::new(destination);
    options.level = ValidateLevel::Data;
    let outcome = validate(&options, &progress, &interrupt);
    assert!(outcome.failures.is_empty() && outcome.result.valid);
}

#[test]
fn job_in_parts_is_planned_done_and_finished() {
    let folder = tempfile::tempdir().unwrap();
    let destination = Location::parse(folder.path().join("small.zarr")).unwrap();
    let (progress, interrupt) = (Silent, Interrupt::default());
    let mut options = TranscodeOptions::new(fixture(), destination.clone());
    let error = status(&options).unwrap_err();
    assert_eq!(error.class(), FaultClass::Environment);

    options.change.quantize = Some(QuantizeOptions::to(NumberType::of(ElementType::UInt8)));
    let planned = init(&options, 3, &progress, &interrupt).unwrap();
    let names: Vec<&str> = planned.passes.iter().map(|pass| pass.name).collect();
    assert_eq!(names, ["range", "write"]);

    let options = TranscodeOptions::new(fixture(), destination);
    let script = print_script(&options, Engine::Slurm, 0, vec!["--requests=8".to_owned()]).unwrap();
    assert!(script.starts_with("#!/bin/bash") && script.contains("--requests=8"));
    let mut early = PartitionRequest::new(0);
    early.pass = Some(PassName::Write);
    let error = partition(&options, early, &progress, &interrupt).unwrap_err();
    assert_eq!(error.class(), FaultClass::TooEarly);
    assert!(matches!(finish(&options, &progress, &interrupt).unwrap(), Finished::Missing(_)));
    for pass in &planned.passes {
        for index in 0..pass.partitions {
            let done = partition(&options, PartitionRequest::new(index), &progress, &interrupt).unwrap();
            assert!(done.pass == Some(pass.name) && !done.was_done);
        }
    }
    assert!(!status(&options).unwrap().is_missing_any());
    let Finished::Now(result) = finish(&options, &progress, &interrupt).unwrap() else {
        panic!("parts are missing");
    };
    assert!(result.complete && status(&options).unwrap().complete);
}

#[test]
fn error_tells_who_is_at_fault_and_what_to_do() {
    let nothing = Location::parse("/nothing/here").unwrap();
    let error = inspect(&InspectOptions::new(nothing), &Silent, &Interrupt::default()).unwrap_err();
    assert_eq!(error.class(), FaultClass::Environment);
    assert!(error.to_string().contains("/nothing/here"));
}

#[test]
fn codes_have_pages_and_severities_by_profile() {
    let missing = code::find("endian-missing").unwrap();
    assert_eq!((missing.code, missing.severity), ("ZC201", Severity::Error));
    assert_eq!(Profile::Read.severity_of(missing), Severity::Warning);
    assert!(missing.page().starts_with("# ZC201 endian-missing: "));
    assert!(PathPattern::new("**/{a,b}").unwrap().matches("x/a"));
}

#[test]
fn nothing_else_is_public() {
    let library = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let (mut modules, mut items, mut is_hidden) = (Vec::new(), Vec::new(), false);
    for line in library.lines() {
        if let Some(module) = line.strip_prefix("pub mod ") {
            if !is_hidden {
                modules.push(module.trim_end_matches([' ', '{', ';']));
            }
        } else if let Some(item) = line.strip_prefix("pub use ") {
            if !is_hidden {
                items.push(item.trim_end_matches(';'));
            }
        } else {
            assert!(!line.starts_with("pub "), "{line}");
        }
        is_hidden = line == "#[doc(hidden)]";
    }
    assert_eq!(modules, MODULES);
    assert_eq!(items, ITEMS);
}
