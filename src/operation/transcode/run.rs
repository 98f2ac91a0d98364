//! A plan carried out: the chunks, then the metadata, then what is reported.

use std::path::PathBuf;
use std::time::Instant;

use super::budget::Budget;
use super::fault::explain_job;
use super::outcome::{Outcome, Tally, dry_tally, result};
use super::plan::{Plan, Planner};
use super::room::{check_room, with_missing_space};
use super::site::{Claim, Site, cannot_write};
use super::verify::{Verification, verify};
use crate::engine::chunk_set;
use crate::engine::driver::{Driver, Fault};
use crate::engine::interrupt::Interrupt;
use crate::engine::journal::{Fingerprint, Part};
use crate::engine::listing;
use crate::engine::object::ObjectReport;
use crate::engine::progress::Progress;
use crate::engine::staged;
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::new_driver;
use crate::operation::open::open_array;
use crate::operation::options::{CommonOptions, TranscodeOptions};
use crate::operation::transcode_result::TranscodeResult;

/// The document of a v3 node.
const DOCUMENT: &str = "zarr.json";

/// Writes an array anew.
pub fn transcode(
    options: &TranscodeOptions,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<TranscodeResult, OperationError> {
    let begun = Instant::now();
    let source = open_array(&options.source, None)?;
    if source.zarr_format != 3 {
        let message =
            format!("`{}` is Zarr v{}, which is not transcoded yet", source.store, source.zarr_format);
        return Err(OperationError::environment(message)
            .with_help("convert it to Zarr v3 with zarr-python: `zarr migrate v3`"));
    }
    let site = Site::find(&source.node, options)?.with_permissions_of(&source.node, DOCUMENT);
    let budget = Budget::of(&options.common);
    let plan = Planner { options, budget, interrupt }.plan(source, site.work.clone(), progress)?;
    let memory = budget.allot(&plan, options.verify)?;
    check_room(&plan)?;
    if options.dry_run {
        let (tally, bytes_written) = dry_tally(&plan);
        return Ok(result(options, &plan, Outcome { tally, bytes_written, memory, verified: None }, begun));
    }
    let _unfinished =
        interrupt.begin(format!("`{}`", site.shown())).map_err(|_| OperationError::interrupted())?;
    let claim = site.claim(&fingerprint(options, &plan))?;
    let driver = match new_driver(memory.threads, interrupt) {
        Ok(driver) => driver,
        Err(error) => return Err(claim.abandon(error)),
    };
    let run = Run { plan: &plan, verifies: options.verify, driver: &driver, progress };
    let (tally, verified) = run.write(claim)?;
    let bytes_written = Some(tally.bytes_written);
    Ok(result(options, &plan, Outcome { tally, bytes_written, memory, verified }, begun))
}

/// What a plan is told apart by. Threads, memory, and what is only checked or shown are no part of it.
fn fingerprint(options: &TranscodeOptions, plan: &Plan) -> Fingerprint {
    let root = plan.source.node.resolved_root().unwrap_or_else(|_| plan.source.node.root().to_path_buf());
    let mut source = root.into_os_string().into_encoded_bytes();
    source.extend_from_slice(&plan.source.document_bytes);
    let asked = TranscodeOptions {
        common: CommonOptions::default(),
        source: PathBuf::new(),
        destination: PathBuf::new(),
        verify: false,
        dry_run: false,
        overwrite: false,
        resume: false,
        ..options.clone()
    };
    let asked = format!("{asked:?}");
    let document = document_bytes(plan);
    Fingerprint::new([
        ("SOURCE", source.as_slice()),
        ("the options", asked.as_bytes()),
        ("the metadata of DEST", document.as_slice()),
    ])
}

/// Why the chunks were not all written.
struct Ended {
    error: OperationError,
    /// Whether the same command cannot do better: then what it has done is of no use to another.
    is_for_good: bool,
}

impl From<OperationError> for Ended {
    fn from(error: OperationError) -> Self {
        Ended { error, is_for_good: false }
    }
}

/// A plan being carried out.
struct Run<'a> {
    plan: &'a Plan,
    verifies: bool,
    driver: &'a Driver,
    progress: &'a dyn Progress,
}

impl Run<'_> {
    /// The chunks, the sync, the comparison, and the metadata last.
    fn write(&self, claim: Claim) -> Result<(Tally, Option<Verification>), OperationError> {
        let tally = match self.write_chunks(&claim) {
            Ok(tally) => tally,
            Err(Ended { error, is_for_good: true }) => return Err(claim.discard(error)),
            Err(Ended { error, .. }) => {
                let error = with_missing_space(error, self.plan, &claim.journal);
                return Err(claim.abandon(error));
            }
        };
        let verified = self.verifies.then(|| verify(self.plan, &claim.site.work, self.driver, self.progress));
        let verified = match verified.transpose() {
            Ok(verified) => verified,
            Err(error) if error.class() == FaultClass::Data => return Err(claim.discard(error)),
            Err(error) => return Err(claim.abandon(error)),
        };
        if self.driver.interrupt().check().is_err() {
            return Err(claim.abandon(OperationError::interrupted()));
        }
        if self.plan.job.as_ref().is_some_and(|job| job.staging().is_some())
            && let Err(error) = staged::remove(&claim.site.work)
        {
            return Err(claim.abandon(cannot_write(error)));
        }
        claim.publish(DOCUMENT, &document_bytes(self.plan))?;
        Ok((tally, verified))
    }

    /// All chunks that are not written yet, until they are durable.
    fn write_chunks(&self, claim: &Claim) -> Result<Tally, Ended> {
        if claim.is_published {
            self.check_published(claim)?;
        }
        let part = claim.journal.part("/");
        let mut tally = Tally::default();
        tally.add(part.before());
        if claim.is_published {
            return Ok(tally);
        }
        if claim.is_resumed {
            self.remove_unfinished(&part)?;
        }
        self.run(&part, |report| tally.add(&report))?;
        claim.journal.checkpoint().map_err(|error| {
            OperationError::environment("the destination cannot be made durable").because(error)
        })?;
        Ok(tally)
    }

    fn run(&self, part: &Part<'_>, fold: impl FnMut(ObjectReport)) -> Result<(), Ended> {
        let Run { plan, driver, progress, .. } = self;
        let Some(job) = &plan.job else {
            progress.start("copy", None);
            let copied = self.copy_unread(part, fold);
            progress.finish();
            return Ok(copied?);
        };
        let once = plan.listing.present.len().saturating_mul(job.source.chunk_bytes());
        let passes = if job.staging().is_some() { 2 } else { 1 };
        progress.start("transcode", Some(once.saturating_mul(passes)));
        let run = job.run(driver, *progress, part, fold);
        progress.finish();
        run.map_err(|fault| {
            let is_for_good = fault.fault.is_of_value();
            let error = explain_job(fault, job, &plan.source.store, plan.quantization.as_ref());
            Ended { error, is_for_good }
        })
    }

    /// A run that was interrupted may have left objects that are not whole.
    fn remove_unfinished(&self, part: &Part<'_>) -> Result<(), OperationError> {
        let (node, metadata) = (&self.plan.target, &self.plan.destination.metadata);
        let left = listing::list(node, metadata, self.driver).map_err(cannot_write)?.present;
        let unfinished = left.without(part.done());
        let key = |index| metadata.chunk_key_encoding.key(&chunk_set::position(index, metadata));
        for index in (0..unfinished.len()).filter_map(|place| unfinished.nth(place)) {
            node.remove(&key(index)).map_err(cannot_write)?;
        }
        Ok(())
    }

    /// What stands in DEST is what this plan would publish.
    fn check_published(&self, claim: &Claim) -> Result<(), OperationError> {
        let found = claim.site.work.read_document(DOCUMENT).map_err(cannot_write)?;
        if found.as_deref() == Some(document_bytes(self.plan).as_slice()) {
            return Ok(());
        }
        Err(OperationError::environment(format!("`{}` is complete, and of another plan", claim.site.shown()))
            .with_help("`--overwrite` replaces it"))
    }

    /// Copies objects whose chain cannot be bound here.
    fn copy_unread(&self, part: &Part<'_>, mut fold: impl FnMut(ObjectReport)) -> Result<(), OperationError> {
        let plan = self.plan;
        let metadata = &plan.source.metadata;
        let key = |index| metadata.chunk_key_encoding.key(&chunk_set::position(index, metadata));
        // Of what an unknown codec wrote nothing is known; of others twice the bound, as for chains that are bound.
        let bound = plan.source.pipeline.output().and_then(|encoded| encoded.max_bytes());
        let bound = bound.map_or(u64::MAX, |bytes| bytes.saturating_mul(2).saturating_add(1 << 20));
        let work = |(): &mut (), index| {
            part.do_once(index, || {
                let bytes = plan.target.copy_from(&plan.source.node, &key(index), bound)?;
                self.progress.advance(bytes);
                Ok(ObjectReport { written: 1, bytes_read: bytes, bytes_written: bytes, ..Default::default() })
            })
        };
        self.driver.run(&plan.listing.present, work, |_, report| fold(report)).map_err(|fault| {
            match fault.fault {
                Fault::Interrupted(_) => OperationError::interrupted(),
                cause => {
                    let (key, store) = (key(fault.index), &plan.source.store);
                    OperationError::environment(format!("chunk `{key}` of `{store}` cannot be copied"))
                        .because(cause)
                }
            }
        })
    }
}

/// DEST's `zarr.json`: as it was written, where nothing changed.
fn document_bytes(plan: &Plan) -> Vec<u8> {
    if plan.destination.document == plan.source.document {
        return plan.source.document_bytes.clone();
    }
    let mut document = plan.destination.document.to_string_pretty();
    document.push('\n');
    document.into_bytes()
}
