//! `--quality` reads back what a store really holds, and `--require` leaves nothing there that does not keep it.

use super::{KINDS, Kind, Scene, changing, plain, try_all};
use crate::operation::error::FaultClass;
use crate::operation::open::open_documents;
use crate::operation::options::{ChangeOptions, QuantizeOptions, TranscodeOptions};

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
            let scene = Scene::new(kind, &plain(""), &measured("max_abs_error<=0.1"), overwrites);
            let error = scene.run(false).unwrap_err();
            assert_eq!(error.class(), FaultClass::Data, "{error}");
            assert!(error.to_string().contains("max_abs_error<=0.1: max_abs_error is "), "{error}");
            let is_kept = scene.old.as_ref().is_some_and(|old| scene.destination() == *old);
            if overwrites {
                // Object stores exchange nothing at once: the old one went first, and nothing opens.
                assert!(is_kept || kind == Kind::Local, "{kind:?}");
            } else {
                assert!(scene.destination().is_empty(), "{kind:?}: {:?}", scene.destination().keys());
            }
            assert!(is_kept || open_documents(&scene.node("b"), "b").is_err(), "{kind:?}");
        }
    }
}
