//! Forecast of a plan that is shown: its objects, with a warning of very many, and its size and time (`--estimate`). The
//! estimate is from a sample of its chunks.

use std::collections::{BTreeMap, HashSet};

use super::sample::{Attempt, SampleSize, SampleSpec};
use super::{JobPlan, Plan, Sampler, plan::regrid::as_option};
use crate::diagnostic::quantity::{approximate, bytes, counted};
use crate::diagnostic::{Diagnostic, code};
use crate::engine::Job;
use crate::grid::{volume, zip_with};
use crate::operation::transcode_result::PlannedObjects;
use crate::operation::{ChangeOptions, EstimateResult, Result, options::options_for};
use crate::store::UPLOAD_PART_BYTES;

/// Number of stored objects above which file systems and object stores become slow: larger shards are advised.
const MANY_OBJECTS: u64 = 100_000;

/// Least decoded bytes of an advised shard, if the array is that large. Smaller ones are hardly better than chunks.
const LEAST_SHARD_BYTES: u64 = 64 << 20;

impl JobPlan<'_> {
    /// Returns the maximum number of chunks that are written.
    pub(super) fn num_written(&self) -> u64 {
        self.arrays.iter().map(|array| array.job.num_written()).fold(0, u64::saturating_add)
    }

    /// Returns the maximum number of objects of a plan, including documents and other keys.
    pub(super) fn planned_objects(&self, keys: &[&str]) -> PlannedObjects {
        let (from, destination) = (&self.source.node, self.output.data());
        let mut planned = PlannedObjects { keys: keys.len() as u64, ..PlannedObjects::default() };
        let (mut requests_read, mut requests_write) = (0_u64, planned.keys);
        let above = |key: &&str| key.match_indices('/').map(|(end, _)| key[..end].to_owned()).collect::<Vec<_>>();
        // The first is that of the store.
        let mut folders = 1 + keys.iter().flat_map(above).collect::<HashSet<_>>().len() as u64;
        for array in &self.arrays {
            let written = array.job.num_written();
            planned.keys = planned.keys.saturating_add(written);
            folders = folders.saturating_add(chunk_folders(array, written));
            let is_moved = matches!(array.job, Job::Copy(_)) && destination.copies_server_side(from);
            // A copy at the server is one request, which counts as a write.
            let read = if is_moved { 0 } else { array.listing.present.len() };
            requests_read = requests_read.saturating_add(read);
            // The bytes of a stored object of DEST. If it is compressed, those of its elements.
            let bytes = match &array.job {
                Job::Copy(job) => array.listing.present_bytes / job.objects().len().max(1),
                Job::Objects(job) => job.transfer.destination.chunk_bytes(),
            };
            // One request, or one for each part, one before and one after them.
            let is_one = is_moved || bytes <= UPLOAD_PART_BYTES;
            let each = if is_one { 1 } else { bytes.div_ceil(UPLOAD_PART_BYTES).saturating_add(2) };
            requests_write = requests_write.saturating_add(written.saturating_mul(each));
        }
        planned.requests_read = from.capabilities().is_remote.then_some(requests_read);
        if destination.capabilities().is_remote {
            planned.requests_write = Some(requests_write);
        } else if self.output.keeps_unfinished() {
            (planned.files, planned.folders) = (Some(planned.keys), Some(folders));
        } else {
            // DEST is a zip file.
            (planned.files, planned.folders) = (Some(1), Some(0));
        }
        planned
    }

    /// Returns a warning of very many objects, with shards that would reduce their number.
    pub(super) fn many_objects(&self) -> Option<Diagnostic> {
        let JobPlan { arrays, output, .. } = self;
        let objects = self.num_written();
        if objects <= MANY_OBJECTS || !output.keeps_unfinished() {
            return None;
        }
        let what = if output.data().capabilities().is_remote { "objects: stores" } else { "files: file systems" };
        let message = format!("DEST will have {objects} {what} become slow with so many");
        let found = Diagnostic::new(code::MANY_OBJECTS, message);
        let array = arrays.iter().max_by_key(|array| array.job.num_written())?;
        Some(match advised_shard(array) {
            Some((shard, decoded, count)) => {
                let format = if array.destination.draft.zarr_format == 2 { "--zarr-format 3 " } else { "" };
                let option = format!("{format}--shard-shape {shard}");
                let option = if arrays.len() == 1 {
                    format!("`{option}`")
                } else {
                    let path = array.path.trim_start_matches('/');
                    format!("`{}`", options_for("--rule", &[path], &format!(": {option}")))
                };
                let shards = counted(count, "shard");
                found.with_help(format!("{option} puts the chunks of `{}` into {shards} of {decoded}", array.path))
            }
            None => found.with_help("larger chunks (`--chunk-shape`) make fewer"),
        })
    }

    /// Returns the estimates of all arrays, by path.
    pub(super) fn estimates(&self) -> Result<BTreeMap<String, EstimateResult>> {
        let JobPlan { arrays, budget, driver, progress, .. } = self;
        let sampler = Sampler { budget: *budget, driver };
        progress.start("estimate", None);
        let estimated = arrays.iter().map(|array| {
            driver.interrupt().check()?;
            let estimate = sampler.estimate_of(array).map_err(|error| self.named(error, &array.source.store))?;
            Ok((array.path.clone(), estimate))
        });
        let estimated = estimated.collect();
        progress.finish();
        estimated
    }
}

/// Returns the maximum number of folders of an array's chunks, without that of the array.
fn chunk_folders(array: &Plan, written: u64) -> u64 {
    let metadata = &array.destination.metadata;
    let grid = metadata.grid.counts();
    let depth = metadata.chunk_key_encoding.key(&grid).matches('/').count();
    // A key has one name for each dimension, and may have one before them.
    let before = (depth + 1).saturating_sub(grid.len().max(1));
    let above = |level: usize| volume(&grid[..(level + 1).saturating_sub(before)]);
    (0..depth).map(|level| above(level).min(written)).fold(0, u64::saturating_add)
}

/// Returns the shape of an advised shard for the option, its decoded size, and the number of such shards.
fn advised_shard(array: &Plan) -> Option<(String, String, u64)> {
    let metadata = &array.destination.metadata;
    let chunk = metadata.grid.uniform()?;
    let grid = metadata.grid.counts();
    let element = array.destination.pipeline.input.data_type.size().unwrap_or(1) as u64;
    let mut factors = vec![1_u64; grid.len()];
    loop {
        let counts = zip_with(&grid, &factors, u64::div_ceil);
        let shard = zip_with(chunk, &factors, u64::saturating_mul);
        let (count, decoded) = (volume(&counts), element.saturating_mul(volume(&shard)));
        // The dimension with the most shards is halved until they are few and large enough.
        let (dimension, most) = counts.iter().copied().enumerate().max_by_key(|(_, count)| *count)?;
        if most <= 1 || (count <= MANY_OBJECTS / 10 && decoded >= LEAST_SHARD_BYTES) {
            return Some((as_option(&shard), format!("{} (decoded)", bytes(decoded)), count));
        }
        factors[dimension] = factors[dimension].saturating_mul(2).min(grid[dimension]);
    }
}

impl Sampler<'_> {
    fn estimate_of(&self, plan: &Plan) -> Result<EstimateResult> {
        let (is_copy, plain) = (matches!(plan.job, Job::Copy(_)), ChangeOptions::default());
        let change = if is_copy { &plain } else { &plan.change };
        let mut drawing = SampleSpec::new(plan, change);
        let (sample, trial) = loop {
            let sample = self.draw(&drawing, SampleSize::ByDefault)?;
            let trial = Attempt { sampler: *self, sample: &sample, options: change, resolved: None }.run()?;
            if drawing.fills || !trial.fills {
                break (sample, trial);
            }
            // Only the values show that absent chunks are written.
            drawing.fills = true;
        };
        let destination = &plan.destination;
        let is_sharded = destination.pipeline.sharding().is_some() && !is_copy;
        let shards = is_sharded.then(|| sample.shards_held_by(&trial.array, &destination.metadata.grid));
        let shards = shards.transpose()?.flatten();
        let (bytes_stored, is_exact) = match plan.listing.present_bytes {
            // The size of a copy is known.
            bytes @ 1.. if is_copy => (bytes, true),
            // A copied shard includes its index.
            _ => {
                let objects = if is_copy { 0 } else { shards.unwrap_or_else(|| plan.job.num_written()) };
                (trial.bytes_stored(&destination.pipeline, objects), trial.is_exact)
            }
        };
        // SOURCE may be read more than once for each chunk.
        let times = approximate(plan.job.num_passes()) * plan.job.read_amplification().max(1.0);
        Ok(EstimateResult { bytes_stored, is_exact, seconds: trial.seconds * times, sample: sample.result() })
    }
}
