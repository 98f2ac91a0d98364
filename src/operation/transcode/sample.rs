//! A sample of an array's chunks in memory, encoded as in SOURCE but with the grid of DEST. Changes of the array are
//! tried on it.
//!
//! The sample is an array with SOURCE's shape, chain and metadata that contains only the drawn chunks. So a trial uses
//! the plans and routes of a real run, with the same edges, absent chunks and fill values.

mod population;
mod search;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::plan::{self, BlockShapes, Planner, ResolvedPlan, keep_bits};
use super::{Plan, SourceArray, format::as_source};
use crate::array::{ArrayCache, ChunkCache, ChunkSet, Listing, position};
use crate::diagnostic::{Profile, quantity::approximate};
use crate::engine::{Assignment, Driver, Fingerprint, Journal, ObjectReport, Route, Silent, Transfer};
use crate::grid::{Grid, Region, volume};
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::{ArrayMetadata, Json};
use crate::operation::transcode_result::SampleResult;
use crate::operation::{
    Budget, ChangeOptions, FirstPass, KeepBits, OpenedArray, OperationError, Quantization, Request, Result, RunOptions,
    ShapeRequest, ShardRequest, new_driver, stored_array,
};
use crate::pipeline::{BytesSize, Pipeline, Representation};
use crate::store::Node;
pub(crate) use population::SampleSize;
use population::{Population, spread};
pub(super) use search::Search;

/// Name of the only array in the log of a sample.
const ARRAY: &str = "/";

/// Maximum number of decoded bytes of chunks that are read together, if each is a part of larger chunks of SOURCE.
const UNIT_BYTES: u64 = 32 << 20;

/// Maximum number of chunks that are read together.
const UNIT_CHUNKS: u64 = 256;

/// Draws samples and tries ways.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampler<'a> {
    pub budget: Budget,
    /// Lists and reads chunks, and has the interrupt.
    pub driver: &'a Driver,
}

/// Chunks of an array.
pub(crate) struct Sample {
    /// The array that contains them.
    pub array: OpenedArray,
    /// The chunks of its grid that the whole array would store.
    present: ChunkSet,
    /// The written chunks, including absent ones if they may not stay absent.
    written: ChunkSet,
    /// The chunks that were drawn.
    drawn: ChunkSet,
    /// Whether the sample has all chunks.
    is_whole: bool,
    lacks_chunks: bool,
    /// Bytes of SOURCE's chunks, if their sizes are known and useful, and the grid is the same.
    source_bytes: Option<u64>,
    bytes_read: u64,
    /// Bytes of the drawn chunks in memory. Zero if objects were copied: a copy of them needs no memory for chunks.
    bytes: u64,
    /// Wall time of reading in seconds.
    seconds: f64,
}

impl Sampler<'_> {
    /// Draws a sample of SOURCE's chunks.
    pub(crate) fn draw(&self, drawing: &SampleSpec<'_>, size: SampleSize) -> Result<Sample> {
        let SampleSpec { source, listing, .. } = *drawing;
        let (plan, unit_shape) = self.plan_of_sample(drawing)?;
        let metadata = &plan.destination.metadata;
        let transfer = plan.job.objects().map(|job| &job.transfer);
        let overlapped = |transfer: &Transfer| transfer.overlapped_among(&metadata.grid, None);
        let present = transfer.map_or_else(|| listing.present.clone(), overlapped);
        let written = if drawing.fills { ChunkSet::full(metadata.num_chunks()) } else { present.clone() };
        let all = match transfer.zip(unit_shape) {
            Some((transfer, shape)) if drawing.fills => ChunkSet::full(volume(&transfer.grid_of(&shape).counts())),
            Some((transfer, shape)) => transfer.overlapped_among(&transfer.grid_of(&shape), None),
            None => written.clone(),
        };
        let population = self.population(&plan, all.len(), size);
        let units = spread(&all, population.num_drawn(size));
        let drawn = match plan.job.objects().map(|job| &job.route) {
            Some(Route::Rechunk(rechunk)) => {
                let groups = rechunk.plan.groups();
                units.iter().flat_map(|unit| groups.objects(unit).flatten()).collect()
            }
            _ => units.clone(),
        };
        let is_decoded = plan.job.objects().is_some();
        let most_bytes = if is_decoded { population.unit_bytes.saturating_mul(units.len()) } else { 0 };
        let begun = Instant::now();
        let report = self.less(most_bytes).run(&plan, &drawn)?;
        let seconds = begun.elapsed().as_secs_f64();
        let array = Self::open(&plan)?;
        // Decoded chunks that contain only the fill value were not written.
        let left_out = drawn.without(&held(&drawn, &array)?);
        // Stored shards may lack inner chunks, and chunks that are only presumed may be absent.
        let may_lack = source.pipeline.sharding().is_some() || listing.is_presumed;
        let lacks_some = !left_out.is_empty() && may_lack;
        let tells_sizes = drawing.change.chunk_shape.is_none()
            && !drawing.fills
            && !source.metadata.skips()
            && !source.metadata.is_cut()
            && !has_fixed_size(&array.pipeline);
        let indexes = source.pipeline.shard_index_bytes().unwrap_or(0).saturating_mul(listing.present.len());
        let source_bytes = listing.present_bytes.checked_sub(indexes);
        Ok(Sample {
            present: present.without(&left_out),
            array,
            written,
            drawn,
            is_whole: units.len() >= all.len(),
            lacks_chunks: lacks_some || listing.present.len() < source.metadata.num_chunks(),
            source_bytes: source_bytes.filter(|bytes| *bytes > 0 && tells_sizes),
            bytes_read: report.bytes_read,
            bytes: if is_decoded { report.bytes_written } else { 0 },
            seconds,
        })
    }

    /// Returns the sampler that leaves out this many bytes of the budget.
    fn less(self, bytes: u64) -> Self {
        Sampler { budget: self.budget.less(bytes), ..self }
    }

    /// Returns the plan that reads SOURCE's chunks into memory, with another grid if requested. Also returns the shape
    /// of the chunks that are then read together.
    fn plan_of_sample(&self, drawing: &SampleSpec<'_>) -> Result<(Plan, Option<Vec<u64>>)> {
        let SampleSpec { source, listing, change, .. } = drawing;
        let array = source_array(source, change, listing);
        let plan = self.plan(array.clone())?;
        if BlockShapes::new(&plan.job).is_none() {
            return Ok((plan, None));
        }
        // Blocks are no larger than chunks that share chunks of SOURCE, in one pass: most of the array is not read.
        let shape = unit_shape(&source.pipeline.innermost_chunk_shape(), &plan);
        let blocks = Some(BlockShapes { shapes: vec![shape.clone()], staging: None });
        let resolved = Some(ResolvedPlan { quantization: None, blocks });
        Ok((self.plan(SourceArray { resolved, ..array })?, Some(shape)))
    }

    /// Returns the plan of a change of an array, with a destination in memory.
    fn plan(&self, array: SourceArray) -> Result<Plan> {
        let Sampler { budget, driver } = *self;
        // Passes over the sample are those of `Attempt::run`. The planner must not begin others.
        let run = &RunOptions { dry_run: true, ..RunOptions::default() };
        let target = plan::in_memory(&array.opened.store);
        let (is_in_tree, least_parts) = (false, None);
        let (cache, own_cache) = (&ChunkCache::default(), ArrayCache::default());
        let mut planner = Planner { array, target, is_in_tree, run, least_parts, budget, driver, cache, own_cache };
        planner.plan(&Silent)
    }

    /// Runs a plan for some chunks.
    fn run(&self, plan: &Plan, chunks: &ChunkSet) -> Result<ObjectReport> {
        let memory = plan.allot(self.budget, false)?;
        let driver = new_driver(memory.threads, self.driver.interrupt())?;
        // The assignment limits the job to these chunks. In a store in memory the journal keeps nothing.
        let assigned = Assignment::from([(ARRAY.to_owned(), chunks.clone())]);
        let log = Journal::open_part((&plan.target, &plan.target), &Fingerprint::new([]), assigned);
        let log = log.map_err(|error| OperationError::environment("a log in memory cannot be kept").because(error))?;
        let mut all = ObjectReport::default();
        let run = plan.job.run(None, (&driver, &log.pass(ARRAY), &Silent), &mut |report| all += report);
        run.map(|()| all).map_err(|fault| plan.explain(fault))
    }

    /// Opens the array that a plan has written in part.
    fn open(plan: &Plan) -> Result<OpenedArray> {
        let (target, store) = (plan.target.clone(), &plan.source.store);
        plan::read_back(&plan.documents, target, store, Profile::Read).map(as_source)
    }

    fn population(&self, plan: &Plan, units: u64, size: SampleSize) -> Population {
        let metadata = &plan.destination.metadata;
        let element = element_bytes(&plan.source);
        let bytes_of = |shape: &[u64]| volume(shape).saturating_mul(element);
        let chunk_bytes = bytes_of(metadata.grid.largest());
        // The trials need memory for their output in addition to the sample.
        let memory = if matches!(size, SampleSize::Always(_)) { u64::MAX } else { self.budget.bytes() / 4 };
        let shape = BlockShapes::new(&plan.job).and_then(|blocks| blocks.shapes.into_iter().next());
        let (unit_bytes, amplification) = shape.map_or((chunk_bytes, 1), |shape| {
            let read = bytes_of(&shape).max(1);
            (read, elements_read_for(&shape, &plan.source).saturating_mul(element).div_ceil(read))
        });
        let chunks_per_unit = (unit_bytes / chunk_bytes.max(1)).max(1);
        let array_bytes = bytes_of(&metadata.shape);
        Population { units, chunks_per_unit, unit_bytes, amplification, array_bytes, memory }
    }
}

/// A change that is tried on a sample.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub sampler: Sampler<'a>,
    pub sample: &'a Sample,
    pub options: &'a ChangeOptions,
    /// A quantisation whose range is not determined again.
    pub resolved: Option<&'a Quantization>,
}

impl Attempt<'_> {
    /// Applies the options to the sample as to the whole array.
    pub(crate) fn run(&self) -> Result<Trial> {
        let Attempt { sample, options, resolved, .. } = *self;
        // The sample stays in memory, and so does what the trial writes.
        let sampler = self.sampler.less(sample.bytes.saturating_mul(2));
        // The chunks of the sample have their final grid already, without shards.
        let (codecs, is_cut_off) = options.codecs.as_deref().map(without_shards).unzip();
        let (chunk_shape, shard_shape, select) = (None, None, Vec::new());
        let mut options = ChangeOptions { codecs, chunk_shape, shard_shape, select, ..options.clone() };
        let finds_bits = matches!(options.keep_bits, Some(KeepBits::Auto(_)));
        let there = sample.drawn.common(&sample.present);
        let using = (sampler.budget, sampler.driver.interrupt());
        // Some times grow with the array, others do not.
        let (mut passes, mut growing, mut fixed) = (1.0, Duration::ZERO, Duration::ZERO);
        let mut quantization = resolved.cloned();
        if let (Some(quantize), None) = (&options.quantize, resolved) {
            passes += 1.0;
            let request = Request::new(&sample.array, &options, quantize)?;
            let array = stored_array(&sample.array)?.with_present(Some(&there));
            let driver = new_driver(sampler.budget.threads(), sampler.driver.interrupt())?;
            let lacks_chunks = sample.lacks_chunks;
            let pass = FirstPass { request: &request, array, lacks_chunks, driver, progress: &Silent };
            let (survey, _) = timed(&mut growing, || pass.survey())?;
            quantization = Some(timed(&mut fixed, || pass.resolve(&survey))?);
        }
        if let Some(KeepBits::Auto(share)) = options.keep_bits {
            passes += 1.0;
            let chunks = (Some(&there), sample.is_whole);
            let find = || keep_bits::find_bits((&sample.array, options.unpack), chunks, share, using, &Silent);
            options.keep_bits = Some(timed(&mut growing, find)?);
        }
        let resolved = Some(ResolvedPlan { quantization: quantization.clone(), blocks: None });
        let listing = Listing { present: sample.present.clone(), ..Listing::default() };
        let plan = sampler.plan(SourceArray { resolved, ..source_array(&sample.array, &options, &listing) })?;
        let report = timed(&mut growing, || sampler.run(&plan, &sample.drawn))?;
        // The sample is in memory, but each pass of a run reads SOURCE. For the sample this took `sample.seconds`.
        let of_sample = sample.seconds.mul_add(passes, growing.as_secs_f64());
        let seconds = of_sample.mul_add(sample.times(), fixed.as_secs_f64());
        let (bytes, found, is_exact) = Self::estimate(sample, &plan)?;
        // The bits that a few chunks need are an estimate for all. Codecs after shards were not tried.
        let is_exact = is_exact && is_cut_off != Some(true) && (sample.is_whole || !finds_bits);
        let (array, figures) = (Sampler::open(&plan)?, report.figures);
        let bits = plan.changed.rounding.as_ref().and_then(|rounding| rounding.keep.bits());
        let fills = plan.job.objects().is_some_and(|job| job.transfer.absent_element.is_some());
        Ok(Trial { bytes, found, is_exact, seconds, quantization, bits, figures, fills, array })
    }

    /// Returns the estimated bytes of all chunks, those of the sample, and whether the estimate is exact. It scales the
    /// sample if all chunks have the same size. Otherwise it uses the bytes of the chunks of SOURCE, or their elements.
    fn estimate(sample: &Sample, plan: &Plan) -> Result<(f64, f64, bool)> {
        let Sample { array, drawn, is_whole, .. } = sample;
        let (metadata, pipeline) = (&array.metadata, &plan.destination.pipeline);
        let (mut sizes, mut inside, mut encoded) = (Vec::new(), 0_u64, 0_u64);
        for chunk in drawn.iter() {
            sizes.push(stored_bytes(&plan.target, &plan.destination.metadata, chunk)?);
            let region = metadata.grid.region_of(&position(chunk, metadata));
            inside += region.common(&Region::whole(&metadata.shape)).num_elements();
            encoded += stored_bytes(&array.node, metadata, chunk)?;
        }
        let found = approximate(sizes.iter().sum());
        let ratio = |known: u64| found / approximate(known.max(1));
        let elements = if sample.written.len() == metadata.num_chunks() {
            approximate(volume(&metadata.shape))
        } else {
            approximate(inside) * sample.times()
        };
        let is_fixed = has_fixed_size(pipeline);
        // No chain makes chunks much larger than their elements.
        let size = pipeline.input.data_type.size().map(|size| size as u64);
        let most = size.map_or(f64::INFINITY, |size| 2.0 * approximate(size) * elements);
        let by_bytes = sample.source_bytes.map(|bytes| ratio(encoded) * approximate(bytes));
        let bytes = match by_bytes.filter(|bytes| *bytes <= most) {
            _ if *is_whole || is_fixed => found * sample.times(),
            Some(bytes) => bytes,
            None => ratio(inside) * elements,
        };
        let are_alike = sizes.len() > 1 && sizes.iter().all(|size| *size > 0 && *size == sizes[0]);
        Ok((bytes, found, *is_whole || (is_fixed && are_alike)))
    }
}

/// The chunks from which a sample is drawn.
pub(crate) struct SampleSpec<'a> {
    source: &'a OpenedArray,
    listing: &'a Listing,
    /// The change of SOURCE's chunks for the sample: another grid, and no shards.
    change: ChangeOptions,
    /// Whether absent chunks are written, too.
    pub(super) fills: bool,
}

impl<'a> SampleSpec<'a> {
    /// Draws SOURCE's own chunks, and absent ones if they are written.
    pub(crate) fn as_it_is(source: &'a OpenedArray, listing: &'a Listing, fills: bool) -> Self {
        let shard_shape = source.pipeline.sharding().map(|_| ShardRequest::None);
        SampleSpec { source, listing, change: ChangeOptions { shard_shape, ..ChangeOptions::default() }, fills }
    }

    /// Draws chunks in the grid of a plan.
    pub(super) fn new(plan: &'a Plan, options: &ChangeOptions) -> Self {
        let Plan { source, listing, destination, .. } = plan;
        let input = &destination.pipeline.input;
        let keeps_fill = input.data_type == source.data_type && input.fill_value == source.fill_value;
        // Shards that are copied byte for byte need no memory for decoding.
        let Some(job) = plan.job.objects() else {
            return SampleSpec { source, listing, change: ChangeOptions::default(), fills: false };
        };
        let mut drawing = Self::as_it_is(source, listing, job.transfer.absent_element.is_some());
        if BlockShapes::new(&plan.job).is_some() || job.makes_elements() {
            let shape = destination.pipeline.innermost_chunk_shape();
            drawing.change.chunk_shape = Some(ShapeRequest::Lengths(shape));
        }
        // If the fill value changes, chunks that contain only the old one are like any others.
        drawing.change.write_empty_chunks = options.write_empty_chunks || !keeps_fill;
        drawing
    }
}

/// Returns an array with its listing and the options of its change.
fn source_array(source: &OpenedArray, change: &ChangeOptions, listing: &Listing) -> SourceArray {
    let array = SourceArray::new("/".to_owned(), source.clone(), change.clone());
    SourceArray { listing: Some(listing.clone()), ..array }
}

/// Returns the approximate memory of an element in bytes.
pub(super) fn element_bytes(source: &OpenedArray) -> u64 {
    source.data_type.size().map_or(16, |size| size as u64)
}

/// Returns whether all encoded chunks have the same size.
pub(crate) fn has_fixed_size(pipeline: &Pipeline) -> bool {
    matches!(pipeline.output(), Some(Representation::Bytes(BytesSize::Fixed(_))))
}

/// Returns the maximum number of elements of SOURCE that are decoded for a box of DEST.
fn elements_read_for(shape: &[u64], source: &OpenedArray) -> u64 {
    let inner = source.pipeline.innermost_chunk_shape();
    let lengths = shape.iter().zip(&inner).zip(&source.metadata.shape);
    let read = lengths.map(|((length, chunk), whole)| {
        let chunks = length.div_ceil((*chunk).max(1)).saturating_add(u64::from(length % (*chunk).max(1) != 0));
        chunks.saturating_mul(*chunk).min(whole.next_multiple_of((*chunk).max(1)))
    });
    read.fold(1, u64::saturating_mul)
}

/// Returns the shape of chunks that are read together: chunks of DEST in the same chunks of SOURCE, within limits.
fn unit_shape(source_chunk: &[u64], plan: &Plan) -> Vec<u64> {
    let metadata = &plan.destination.metadata;
    let element = element_bytes(&plan.source);
    let mut shape = metadata.grid.largest().to_vec();
    let mut chunks = 1;
    for dimension in (0..shape.len()).rev() {
        let own = shape[dimension].max(1);
        let others = volume(&shape) / own;
        let most = UNIT_BYTES / others.saturating_mul(element).saturating_mul(own).max(1);
        let wanted = (source_chunk[dimension] / own).max(1).min(most.max(1)).min(UNIT_CHUNKS / chunks);
        chunks *= wanted;
        shape[dimension] = own * wanted;
    }
    shape
}

/// Returns the chunks that are stored in an array in memory. Chunks of only the fill value are not written.
fn held(chunks: &ChunkSet, array: &OpenedArray) -> Result<ChunkSet> {
    let held = chunks.iter().filter_map(|chunk| match stored_bytes(&array.node, &array.metadata, chunk) {
        Ok(0) => None,
        found => Some(found.map(|_| chunk)),
    });
    held.collect()
}

/// Returns the bytes of a chunk in memory. 0 if it is absent.
fn stored_bytes(node: &Node, metadata: &ArrayMetadata, chunk: u64) -> Result<u64> {
    let key = metadata.chunk_key_encoding.key(&position(chunk, metadata));
    Ok(node.size(&key).map_err(|error| plan::unkept(error, &node.name()))?.unwrap_or(0))
}

/// The most places that a result lists.
const MOST_POSITIONS: usize = 100;

/// The sample after a change.
pub(crate) struct Trial {
    /// Estimated bytes of the chunks of the whole array, without shard indexes.
    pub bytes: f64,
    /// Bytes of the chunks of the sample.
    pub found: f64,
    /// Whether the size is exact: all chunks were tried, or all have the same size.
    pub is_exact: bool,
    /// Estimated wall time of the passes over SOURCE in seconds, including decoding and encoding.
    pub seconds: f64,
    /// The quantisation, with the range of the sample.
    pub quantization: Option<Quantization>,
    /// Number of significand bits that are kept.
    pub bits: Option<u32>,
    /// Errors in the sample.
    pub figures: QuantizeFigures,
    /// Whether absent chunks are written, too.
    pub fills: bool,
    /// The array with the written chunks.
    pub array: OpenedArray,
}

impl Trial {
    /// Returns the bytes of all objects: the chunks, and the indexes of `num_objects` shards.
    pub(crate) fn bytes_stored(&self, pipeline: &Pipeline, num_objects: u64) -> u64 {
        // Shards without any chunk are not written.
        let shards = if self.bytes > 0.0 { num_objects } else { 0 };
        let indexes = pipeline.shard_index_bytes().unwrap_or(0).saturating_mul(shards);
        indexes.saturating_add(whole_bytes(self.bytes))
    }
}

/// Rounds estimated bytes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of sizes times a ratio of counts: neither below 0 nor near the end of 64 bits"
)]
pub(crate) fn whole_bytes(bytes: f64) -> u64 {
    bytes.round() as u64
}

impl Sample {
    /// Returns the sample for results.
    pub(crate) fn result(&self) -> SampleResult {
        let (chunks, of, metadata) = (self.drawn.len(), self.written.len(), &self.array.metadata);
        let positions = self.drawn.iter().take(MOST_POSITIONS).map(|chunk| position(chunk, metadata)).collect();
        let chunk_shape = metadata.grid.largest().to_vec();
        SampleResult { chunks, of, chunk_shape, positions, bytes_read: self.bytes_read }
    }

    /// Returns the drawn chunks that are stored in an array. It is the array of the sample or of a trial.
    pub(crate) fn held_by(&self, array: &OpenedArray) -> Result<ChunkSet> {
        held(&self.drawn, array)
    }

    /// Returns the number of shards of a grid in which a trial stores a chunk. Only these are written. `None` if the
    /// sample is not the whole array.
    pub(crate) fn shards_held_by(&self, array: &OpenedArray, shards: &Grid) -> Result<Option<u64>> {
        if !self.is_whole {
            return Ok(None);
        }
        let metadata = &array.metadata;
        let shard_of = |chunk| -> Vec<u64> {
            let start = metadata.grid.start_of(&position(chunk, metadata));
            start.iter().enumerate().map(|(dimension, at)| shards.axes()[dimension].chunk_of(*at)).collect()
        };
        let held: BTreeSet<Vec<u64>> = self.held_by(array)?.iter().map(shard_of).collect();
        Ok(Some(held.len() as u64))
    }

    /// Returns the ratio of the chunks of the whole array to those of the sample.
    fn times(&self) -> f64 {
        if self.is_whole { 1.0 } else { approximate(self.written.len()) / approximate(self.drawn.len()) }
    }
}

/// Does some work, and adds its wall time to `total`.
fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    *total += begun.elapsed();
    done
}

/// Returns the codecs of an innermost chunk: those before shards, and those inside. Also returns whether some are after
/// shards, where they compress whole shards.
fn without_shards(codecs: &[Json]) -> (Vec<Json>, bool) {
    let mut chain = codecs.iter().enumerate();
    let shards = chain.find_map(|(index, codec)| Some((index, codec.pointer("/configuration/codecs")?.as_array()?)));
    let Some((index, inner)) = shards else { return (codecs.to_vec(), false) };
    let (inner, is_cut_off) = without_shards(inner);
    let chain = codecs[..index].iter().cloned().chain(inner).collect();
    (chain, is_cut_off || index + 1 < codecs.len())
}
