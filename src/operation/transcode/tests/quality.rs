//! `--quality` reads back what a store really contains. `--require` leaves nothing that does not meet it.

use std::collections::BTreeMap;

use super::{KINDS, Kind, TestJob, changing, plain, transcode, try_all, zstd};
use crate::array::Interrupt;
use crate::element::{ElementType, NumberType};
use crate::engine::Silent;
use crate::metadata::Json;
use crate::operation::open::open_documents;
use crate::operation::{ChangeOptions, FaultClass, QuantizeOptions, TranscodeOptions};
use crate::store::PrefetchLimit;
use crate::store::tests::faulty::{Faults, StoreCall};

fn measured(requirement: &str) -> TranscodeOptions {
    let quantize = QuantizeOptions { max_error: Some(1.0), ..QuantizeOptions::default() };
    let mut options = changing(ChangeOptions { quantize: Some(quantize), ..ChangeOptions::default() });
    options.run.quality = true;
    options.run.requirements = vec![requirement.parse().unwrap()];
    options
}

#[test]
fn measuring_survives_every_failure() {
    try_all("quality", &plain(""), &measured("max_abs_error<=1"));
}

#[test]
fn contract_that_is_not_kept_leaves_nothing_in_any_store() {
    for kind in KINDS {
        for overwrites in [false, true] {
            let test_job = TestJob::new(kind, &plain(""), &measured("max_abs_error<=0.1"), overwrites);
            let error = test_job.run(false).unwrap_err();
            assert_eq!(error.class(), FaultClass::Data, "{error}");
            assert!(error.to_string().contains("max_abs_error<=0.1: max_abs_error is "), "{error}");
            let is_kept = test_job.old.as_ref().is_some_and(|old| test_job.destination() == *old);
            if overwrites {
                assert!(is_kept, "{kind:?}");
            } else {
                assert!(test_job.destination().is_empty(), "{kind:?}: {:?}", test_job.destination().keys());
            }
            assert!(is_kept || open_documents(&test_job.node("b"), "b").is_err(), "{kind:?}");
        }
    }
}

#[test]
fn verified_and_measured_together_each_chunk_is_read_once_more() {
    let packing = changing(ChangeOptions { compress: Some(zstd(1)), ..ChangeOptions::default() });
    let packed = TestJob::new(Kind::Local, &plain(""), &packing, false);
    packed.run(false).unwrap();
    let quantize = QuantizeOptions {
        data_type: Some(NumberType::of(ElementType::UInt8)),
        range: Some((Json::from(0_u64), Json::from(20_u64))),
        ..QuantizeOptions::default()
    };
    let mut options = changing(ChangeOptions { quantize: Some(quantize), ..ChangeOptions::default() });
    (options.run.verify, options.run.quality) = (true, true);
    let test_job = TestJob::new(Kind::Local, &packed.destination(), &options, false);
    let hearing = Faults::hearing(PrefetchLimit { requests: 0, bytes: 0 });
    let result = transcode(&test_job.with(&hearing), &Silent, &Interrupt::default()).unwrap();
    let verified = result.nodes[0].verify.as_ref().unwrap();
    assert_eq!((verified.equal, verified.elements), (true, 16));
    let mut reads = BTreeMap::<String, usize>::new();
    for heard in hearing.heard() {
        if let StoreCall::Read(name, _) = heard
            && let Some((_, key)) = name.rsplit_once(".tmp").and_then(|(_, inside)| inside.split_once('/'))
            && key.contains("/c/")
        {
            *reads.entry(key.to_owned()).or_default() += 1;
        }
    }
    // It is not known which chunks DEST has.
    let (of_source, of_destination) = (["0/0", "0/1", "1/1"], ["0/0", "0/1", "1/0", "1/1"]);
    let expected = of_source.map(|chunk| (format!("a/c/{chunk}"), 2)).into_iter();
    let expected = expected.chain(of_destination.map(|chunk| (format!("b/c/{chunk}"), 1)));
    assert_eq!(reads, expected.collect());
}
