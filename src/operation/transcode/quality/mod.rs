//! `--quality`: the effect of a quantisation on the values, from SOURCE and DEST read together.
//!
//! DEST is read back after its chunks are written and before it is published. After a resumed run all of it is read,
//! and from every kind of store what is really stored. Both sides are read as floats: it does not matter which codec
//! rounded them.

mod geometry;
mod pieces;

use std::sync::{Mutex, PoisonError};

use self::geometry::{Geometry, Levels};
use self::pieces::{QualityWalk, ValueBuffers, Values, possible_values};
use super::verify::{Compared, Comparison, concluded, held};
use super::{Plan, Verification};
use crate::array::{ChunkFault, Fault, StoredArray};
use crate::engine::{Driver, Pairs, Progress};
use crate::kernel::quality::distribution::{PairCounts, p_value};
use crate::kernel::quality::similarity::SimilarityScan;
use crate::kernel::quality::sums::{PairScan, PairSums};
use crate::operation::{Budget, OperationError, QualityResult, Result, narrowed};

/// Returns whether values are quantised, or rounded to bits.
pub(super) fn is_lossy(plan: &Plan) -> bool {
    plan.changed.quantization.is_some() || plan.changed.rounding.is_some()
}

/// Fails if the budget is too small to measure an array, before anything is written.
pub(super) fn check_room(plan: &Plan, budget: Budget) -> Result<()> {
    let Some(job) = plan.job.objects().filter(|_| is_lossy(plan)) else { return Ok(()) };
    Geometry::new(&job.transfer, budget).map(drop)
}

/// Measures an array, and compares it in the same walk if requested. `None` if it is not quantised.
pub(super) fn measure(
    plan: &Plan,
    verifies: bool,
    (budget, driver): (Budget, &Driver),
    progress: &dyn Progress,
) -> Result<Option<(QualityResult, Option<Verification>)>> {
    let Some(job) = plan.job.objects().filter(|_| is_lossy(plan)) else { return Ok(None) };
    let quantization = plan.changed.quantization.as_ref();
    // Readers bind the chain of DEST's documents, so it is bound again here.
    let job = &plan.as_read(job)?;
    let transfer = &job.transfer;
    let geometry = &Geometry::new(transfer, budget)?;
    let driver = &narrowed(driver, geometry.threads)?;
    let sides = [&transfer.source, &transfer.destination];
    let values = [Values::of_source(sides[0], &plan.changed.change), Values::new(sides[1], quantization)];
    let fills = sides.map(StoredArray::fill_value);
    let mut absent = Vec::new();
    values[0].convert(&fills[0], &mut absent, &mut ValueBuffers::default());
    // The pieces are not the chunks of DEST.
    let comparison = verifies.then(|| Comparison::of(plan, job, true));
    let Some(pairs) = Pairs::in_pieces(transfer, &geometry.piece) else { return Ok(None) };
    let pieces = QualityWalk {
        geometry,
        pairs,
        values,
        possible: possible_values(plan),
        comparison,
        fills,
        is_void: absent.iter().all(|value| !value.is_finite()),
        driver,
        progress,
        scan: PairScan::default(),
        similarity: SimilarityScan::default(),
        spare: Mutex::default(),
    };
    let (result, compared) = measured(&pieces).map_err(|ChunkFault { fault, .. }| {
        let message = format!("the quality of `{}` cannot be measured", plan.source.store);
        match fault {
            Fault::Interrupted(_) => OperationError::interrupted(),
            cause if cause.is_of_data() => OperationError::data(message).because(cause),
            cause => OperationError::environment(message).because(cause),
        }
    })?;
    let concluded = pieces.comparison.as_ref().map(|comparison| concluded(plan, compared, comparison));
    Ok(Some((result, concluded.map(|concluded| held(plan, concluded)).transpose()?)))
}

fn measured(pieces: &QualityWalk<'_>) -> Result<(QualityResult, Compared), ChunkFault> {
    let (geometry, progress) = (pieces.geometry, pieces.progress);
    progress.start("quality", Some(geometry.bytes().saturating_mul(if geometry.reads_twice() { 2 } else { 1 })));
    let mut sums = (PairSums::default(), Compared::default());
    let counts = ThreadCounts::default();
    let mut levels = Levels::new(geometry);
    let walked = pieces.walk(&counts, &mut sums, &mut levels);
    progress.finish();
    walked?;
    let distance = pieces.possible.as_ref().map(|possible| possible.distance(counts.merged()));
    Ok((result(&sums.0, distance, &levels, geometry), sums.1))
}

/// Counts, one set for each thread.
#[derive(Debug, Default)]
struct ThreadCounts(Mutex<Vec<PairCounts>>);

impl ThreadCounts {
    /// Calls `work` with counts that no other thread uses.
    fn with<R>(&self, work: impl FnOnce(&mut PairCounts) -> R) -> R {
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all().pop();
        let mut own = own.unwrap_or_default();
        let done = work(&mut own);
        all().push(own);
        done
    }

    fn merged(self) -> PairCounts {
        let mut all = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut merged = all.pop().unwrap_or_default();
        for counts in &all {
            merged.merge(counts);
        }
        merged
    }
}

fn result(sums: &PairSums, distance: Option<u64>, levels: &Levels, geometry: &Geometry) -> QualityResult {
    let least = levels.least();
    let distance = distance.filter(|_| sums.points > 0);
    QualityResult {
        points: sums.points,
        bias: sums.bias(),
        psnr: sums.psnr(),
        pearson: sums.pearson(),
        relative_error_share: sums.large_error_share(),
        #[expect(clippy::cast_precision_loss, reason = "counts rounded to 53 bits: a ratio of 16 digits")]
        ks_statistic: distance.map(|distance| distance as f64 / sums.points as f64),
        ks_p: distance.map(|distance| p_value(sums.points, distance)),
        dssim: least.as_ref().map(|(_, dssim)| *dssim),
        dssim_level: least.as_ref().map(|(level, _)| level.clone()),
        zeros_kept: sums.zeros_kept_share(),
        signs_kept: sums.signs_kept_share(),
        no_dssim: least.is_none().then(|| geometry.no_levels.unwrap_or("no window of 11 x 11 has a value")),
    }
}
