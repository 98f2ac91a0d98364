//! `--estimate`: what a plan would write, and how long that would take, from a sample of its chunks.

use std::collections::BTreeMap;

use super::plan::Plan;
use super::planning::PlannedArray;
use super::sample::{Drawing, SampleSize, Sampler};
use crate::diagnostic::quantity::approximate;
use crate::engine::job::Job;
use crate::engine::progress::Progress;
use crate::operation::error::OperationError;
use crate::operation::options::ChangeOptions;
use crate::operation::sample_result::EstimateResult;

impl Sampler<'_> {
    /// Estimates of all arrays, by their paths.
    pub(super) fn estimates(
        &self,
        arrays: &[PlannedArray],
        progress: &dyn Progress,
    ) -> Result<BTreeMap<String, EstimateResult>, OperationError> {
        progress.start("estimate", None);
        let is_tree = arrays.len() > 1;
        let estimated = arrays.iter().map(|array| {
            self.driver.interrupt().check()?;
            let estimate = self
                .estimate_of(array)
                .map_err(|error| if is_tree { error.about(&array.plan.source.store) } else { error })?;
            Ok((array.path.clone(), estimate))
        });
        let estimated = estimated.collect();
        progress.finish();
        estimated
    }

    /// The estimate of one array.
    fn estimate_of(&self, array: &PlannedArray) -> Result<EstimateResult, OperationError> {
        let PlannedArray { change, plan, .. } = array;
        let (is_copy, plain) = (matches!(plan.job, Job::Copy(_)), ChangeOptions::default());
        let change = if is_copy { &plain } else { change };
        let mut drawing = Drawing::of(plan, change);
        let (sample, trial) = loop {
            let sample = self.draw(&plan.source, &plan.listing, &drawing, SampleSize::ByDefault)?;
            let trial = self.try_way(&sample, change, None)?;
            if drawing.fills || !trial.fills {
                break (sample, trial);
            }
            // Only the values have told that absent chunks are written.
            drawing.fills = true;
        };
        let estimate = trial.estimate;
        let destination = &plan.destination;
        let shards = if destination.pipeline.sharding().is_some() && !is_copy {
            sample.shards_held_by(&trial.array, &destination.metadata.grid)?
        } else {
            None
        };
        let (bytes_stored, is_exact) = match plan.listing.present_bytes {
            // What is copied is known.
            bytes @ 1.. if is_copy => (bytes, true),
            // A shard that is copied has its index in it.
            _ => {
                let objects = if is_copy { 0 } else { shards.unwrap_or_else(|| plan.job.num_written()) };
                (estimate.bytes_stored(&destination.pipeline, objects), estimate.is_exact)
            }
        };
        let seconds = estimate.seconds * read_times(plan);
        Ok(EstimateResult { bytes_stored, is_exact, seconds, sample: sample.result() })
    }
}

/// The number of times that SOURCE is read, beyond once for each chunk.
fn read_times(plan: &Plan) -> f64 {
    approximate(plan.job.num_passes()) * plan.job.read_amplification().max(1.0)
}
