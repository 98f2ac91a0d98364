//! `--quality`: what a quantisation did to the values, from SOURCE and DEST read beside each other.
//!
//! DEST is read back after its chunks are written, and before it is published: of a run that was resumed all of it, and of all
//! kinds of stores what is really there. Both sides are streams of floats: which codec rounded them makes no difference.

mod geometry;
mod levels;
mod pieces;
mod reading;
mod values;

use std::sync::{Mutex, PoisonError};

use self::geometry::Geometry;
use self::levels::Levels;
use self::pieces::Pieces;
use self::reading::Reading;
use self::values::{ValueBuffers, Values};
use super::plan::Plan;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::stored::StoredArray;
use crate::codec::conversion::ValueChange;
use crate::engine::driver::Driver;
use crate::engine::job::ObjectJob;
use crate::engine::progress::Progress;
use crate::kernel::quality::distribution::{Request, Search, Tally};
use crate::kernel::quality::kolmogorov::p_value;
use crate::kernel::quality::sums::PairSums;
use crate::operation::block::BlockReader;
use crate::operation::budget::Budget;
use crate::operation::error::OperationError;
use crate::operation::new_driver;
use crate::operation::quantize::quantization::Quantization;
use crate::operation::transcode_result::QualityResult;

/// Both sides of an array, and what of it is measured.
struct Sides {
    source: StoredArray,
    destination: StoredArray,
    values: [Values; 2],
    geometry: Geometry,
}

/// Whether values are quantised, or rounded to bits.
pub(super) fn is_lossy(plan: &Plan) -> bool {
    plan.quantization.is_some() || plan.rounding.is_some()
}

/// An error where the budget has no room for measuring an array: before anything is written.
pub(super) fn check_room(plan: &Plan, budget: Budget) -> Result<(), OperationError> {
    let Some(job) = plan.job.objects().filter(|_| is_lossy(plan)) else { return Ok(()) };
    let transfer = &job.transfer;
    let first = [&transfer.source, &transfer.destination];
    Geometry::of(first, &transfer.destination.metadata.shape, budget).map(drop)
}

/// Measures an array; `None` where it is not quantised.
pub(super) fn measure(
    plan: &Plan,
    budget: Budget,
    driver: &Driver,
    progress: &dyn Progress,
) -> Result<Option<QualityResult>, OperationError> {
    let Some(job) = plan.job.objects().filter(|_| is_lossy(plan)) else { return Ok(None) };
    let quantization = plan.quantization.as_ref();
    // What any reader gets: by the chain of DEST's own documents, not by that of the plan.
    let described = plan.described.as_ref().map(|described| described.job(job, &plan.source.store));
    let described = described.transpose()?;
    let sides = Sides::new(described.as_ref().unwrap_or(job), &plan.change, quantization, budget)?;
    let narrower = (sides.geometry.threads < driver.num_threads())
        .then(|| new_driver(sides.geometry.threads, driver.interrupt()))
        .transpose()?;
    let driver = narrower.as_ref().unwrap_or(driver);
    sides.measure(quantization, driver, progress).map(Some).map_err(|fault| match fault.fault {
        Fault::Interrupted(_) => OperationError::interrupted(),
        cause if cause.is_of_data() => {
            OperationError::data(format!("what became of `{}` cannot be measured", plan.source.store))
                .because(cause)
        }
        cause => {
            OperationError::environment(format!("what became of `{}` cannot be measured", plan.source.store))
                .because(cause)
        }
    })
}

impl Sides {
    fn new(
        job: &ObjectJob,
        change: &ValueChange,
        quantization: Option<&Quantization>,
        budget: Budget,
    ) -> Result<Self, OperationError> {
        let source = job.transfer.source.clone();
        let destination = job.transfer.destination.clone();
        let geometry = Geometry::of([&source, &destination], &destination.metadata.shape, budget)?;
        let values = [Values::of_source(&source, change), Values::of(&destination, quantization)];
        Ok(Sides { source, destination, values, geometry })
    }

    fn measure(
        &self,
        quantization: Option<&Quantization>,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<QualityResult, ChunkFault> {
        let name = [self.source.node.name(), self.destination.node.name()];
        let readers = [
            BlockReader { side: &self.source, name: &name[0] },
            BlockReader { side: &self.destination, name: &name[1] },
        ];
        let mut absent = Vec::new();
        self.values[0].convert(&readers[0].fill_value(), &mut absent, &mut ValueBuffers::default());
        let reading = Reading {
            readers,
            is_void: absent.iter().all(|value| !value.is_finite()),
            values: &self.values,
            geometry: &self.geometry,
            skipped: &self.source.metadata.skipped,
            progress,
        };
        let pieces = Pieces::new(&reading, driver);
        let bytes = self.geometry.bytes();
        progress
            .start("quality", Some(bytes.saturating_mul(if self.geometry.reads_twice() { 2 } else { 1 })));
        let mut search = Search::new(first_request(quantization), self.geometry.gathered_values());
        let mut sums = PairSums::default();
        let tallies = Tallies::default();
        let mut levels = Levels::new(&self.geometry);
        let walked = search.request().map(|request| pieces.walk(request, &tallies, &mut sums, &mut levels));
        progress.finish();
        walked.transpose()?;
        search.fold(tallies.merged());
        while let Some(request) = search.request() {
            let tallies = Tallies::default();
            progress.start("quality", Some(bytes));
            let counted = pieces.count(request, &tallies);
            progress.finish();
            counted?;
            search.fold(tallies.merged());
        }
        Ok(result(&sums, &search, &levels, &self.geometry))
    }
}

/// The bins of the codes' values, where these are few enough and known.
fn first_request(quantization: Option<&Quantization>) -> Request {
    quantization.and_then(grid).unwrap_or_else(Request::of_any)
}

fn grid(quantization: &Quantization) -> Option<Request> {
    let mut values = values::of_codes(quantization)?;
    let (first, last) = (*values.first()?, *values.last()?);
    if first > last {
        values.reverse();
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 2^18")]
    let steps = (values.len() - 1).max(1) as f64;
    let step = if first == last { 1.0 } else { (last - first).abs() / steps };
    Request::of_grid(first.min(last), step, values)
}

/// The tallies of the threads: there are no more than these.
#[derive(Debug, Default)]
struct Tallies(Mutex<Vec<Tally>>);

impl Tallies {
    /// Lends one that no other thread has.
    fn with<R>(&self, work: impl FnOnce(&mut Tally) -> R) -> R {
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all().pop();
        let mut own = own.unwrap_or_default();
        let done = work(&mut own);
        all().push(own);
        done
    }

    fn merged(self) -> Tally {
        let all = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut merged = Tally::default();
        for tally in all {
            merged.merge(tally);
        }
        merged
    }
}

fn result(sums: &PairSums, search: &Search, levels: &Levels, geometry: &Geometry) -> QualityResult {
    let has_points = sums.points > 0;
    let least = levels.least();
    #[expect(clippy::cast_precision_loss, reason = "counts rounded to 53 bits: a ratio of 16 digits")]
    let statistic = has_points.then(|| search.distance() as f64 / sums.points as f64);
    QualityResult {
        points: sums.points,
        bias: sums.bias(),
        psnr: sums.psnr(),
        pearson: sums.pearson(),
        relative_error_share: sums.large_error_share(),
        ks_statistic: statistic,
        ks_p: has_points.then(|| p_value(sums.points, search.distance())),
        dssim: least.as_ref().map(|(_, dssim)| *dssim),
        dssim_level: least.as_ref().map(|(level, _)| level.clone()),
        zeros_kept: sums.zeros_kept_share(),
        signs_kept: sums.signs_kept_share(),
        no_dssim: least.is_none().then(|| geometry.no_levels().unwrap_or("no window of 11 x 11 has a value")),
    }
}
