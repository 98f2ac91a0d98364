//! A sample of an array's chunks, held in memory as SOURCE encodes them but cut as DEST will be: what any change of the
//! array would make of it is found out by making it of these.
//!
//! The sample is an array of its own with SOURCE's shape, chain and metadata, of which only the drawn chunks are there. So
//! ways are tried by the very plans and routes of a run, and edges, absent chunks and fill values are what they will be.

mod ratio;
mod spread;
mod trial;

use std::time::Instant;

use super::format::version_2::as_source;
use super::plan::metadata::{in_memory, read_back, unkept};
use super::plan::{Blocks, Plan, Planner, Settled};
use super::selection::SourceArray;
use crate::array::ChunkSet;
use crate::array::chunk_cache::{ArrayCache, ChunkCache};
use crate::array::chunk_set::position;
use crate::array::listing::Listing;
use crate::diagnostic::Profile;
use crate::engine::driver::Driver;
use crate::engine::job::ObjectJob;
use crate::engine::journal::{Assignment, Fingerprint, Journal};
use crate::engine::progress::{Progress, Silent};
use crate::engine::report::ObjectReport;
use crate::engine::route::Route;
use crate::grid::{Region, num_elements};
use crate::metadata::array::ArrayMetadata;
use crate::operation::budget::Budget;
use crate::operation::error::OperationError;
use crate::operation::new_driver;
use crate::operation::open::OpenedArray;
use crate::operation::options::{ChangeOptions, RunOptions, ShapeRequest, ShardRequest};
use crate::store::Node;
use spread::{Population, spread};
pub(in crate::operation) use trial::{Estimate, Trial};

/// The name of the one array in a sample's log.
const ARRAY: &str = "/";

/// The most bytes that chunks which are read together have decoded, where each is a part of larger ones of SOURCE.
const UNIT_BYTES: u64 = 32 << 20;

/// The most of them.
const UNIT_CHUNKS: u64 = 256;

/// Who draws samples and tries ways, and what may be used for it.
#[derive(Debug, Clone, Copy)]
pub(in crate::operation) struct Sampler<'a> {
    /// Threads and memory.
    pub budget: Budget,
    /// Who lists and reads, and is told what stops it.
    pub driver: &'a Driver,
}

/// Chunks of an array.
#[derive(Debug)]
pub(in crate::operation) struct Sample {
    /// The array that holds them.
    array: OpenedArray,
    /// The chunks of its grid that a whole one would have.
    present: ChunkSet,
    /// Those that are written: absent ones, too, where they may not stay so.
    written: ChunkSet,
    /// Those that are there.
    drawn: ChunkSet,
    /// The same by what was read together.
    units: Vec<Vec<u64>>,
    /// Units that it could have been drawn from.
    num_units: u64,
    /// Whether SOURCE lacks chunks.
    lacks_chunks: bool,
    /// Bytes of SOURCE's chunks, where their sizes are known and they are cut as they were.
    source_bytes: Option<u64>,
    /// Encoded bytes that were read.
    bytes_read: u64,
    /// Wall time of that.
    seconds: f64,
}

impl Sampler<'_> {
    /// Draws a sample of SOURCE's chunks, of so many.
    pub(in crate::operation) fn draw(
        &self,
        source: &OpenedArray,
        listing: &Listing,
        drawing: &Drawing,
        count: SampleSize,
    ) -> Result<Sample, OperationError> {
        let (plan, group_shape) = self.plan_of_sample(source, listing, drawing)?;
        let metadata = &plan.destination.metadata;
        let (present, units) = match plan.job.objects() {
            None => (listing.present.clone(), None),
            Some(job) => {
                let groups = group_shape.map(|shape| {
                    let counts =
                        job.transfer.grid_of(&shape).counts().iter().copied().fold(1, u64::saturating_mul);
                    let all = || ChunkSet::full(counts);
                    if drawing.fills { all() } else { job.transfer.overlapped(&shape) }
                });
                (job.transfer.overlapped_by(&metadata.grid), groups)
            }
        };
        let written = if drawing.fills { ChunkSet::full(metadata.num_chunks()) } else { present.clone() };
        let num_units = units.as_ref().unwrap_or(&written).len();
        let population = self.population(&plan, num_units);
        let count = match count {
            SampleSize::ByDefault => population.num_drawn(None),
            SampleSize::Chunks(count) => population.num_drawn(Some(count)),
            SampleSize::Always(count) => Population { memory: u64::MAX, ..population }.num_drawn(Some(count)),
        };
        let chosen = spread(units.as_ref().unwrap_or(&written), count);
        let units = chunks_of_units(&plan, &chosen);
        let drawn = ChunkSet::from_indices(units.iter().flatten().copied().collect());
        let begun = Instant::now();
        let report = self.run(&plan, &drawn)?;
        let seconds = begun.elapsed().as_secs_f64();
        let is_cut_as_it_was =
            drawing.cut.is_none() && !drawing.fills && !source.metadata.skips() && !source.metadata.is_cut();
        let array = Self::open(&plan)?;
        // Of what is decoded on the way, chunks of nothing but the fill value are not there any more.
        let mut left_out = Vec::new();
        for chunk in drawn.iter() {
            if stored_bytes(&array.node, metadata, chunk)? == 0 {
                left_out.push(chunk);
            }
        }
        // Shards that are there may lack inner chunks, and chunks may be absent that are only presumed to be there.
        let may_lack = source.pipeline.sharding().is_some() || listing.is_presumed;
        let lacks_some = !left_out.is_empty() && may_lack;
        let present = present.without(&ChunkSet::from_indices(left_out));
        let indexes = source.pipeline.shard_index_bytes().unwrap_or(0).saturating_mul(listing.present.len());
        Ok(Sample {
            array,
            present,
            written,
            drawn,
            units,
            num_units,
            lacks_chunks: lacks_some || listing.present.len() < source.metadata.num_chunks(),
            source_bytes: listing
                .present_bytes
                .checked_sub(indexes)
                .filter(|bytes| *bytes > 0 && is_cut_as_it_was),
            bytes_read: report.bytes_read,
            seconds,
        })
    }

    /// The plan that brings SOURCE's chunks into memory, cut anew where that is asked for; with the shape of what is then
    /// read together.
    fn plan_of_sample(
        &self,
        source: &OpenedArray,
        listing: &Listing,
        drawing: &Drawing,
    ) -> Result<(Plan, Option<Vec<u64>>), OperationError> {
        let shape = drawing.cut.clone().map(ShapeRequest::Lengths);
        let shard_shape =
            source.pipeline.sharding().filter(|_| !drawing.keeps_shards).map(|_| ShardRequest::None);
        let options = ChangeOptions {
            chunk_shape: shape,
            shard_shape,
            write_empty_chunks: drawing.writes_empty,
            ..ChangeOptions::default()
        };
        let plan = self.plan(source, &options, listing, None)?;
        if Blocks::of(&plan.job).is_none() {
            return Ok((plan, None));
        }
        // Blocks no larger than what shares chunks of SOURCE, in one pass: most of the array is not read.
        let shape = unit_shape(&source.pipeline.innermost_chunk_shape(), &plan);
        let blocks = Some(Blocks { shapes: vec![shape.clone()], staging: None });
        let settled = Settled { quantization: None, blocks };
        Ok((self.plan(source, &options, listing, Some(&settled))?, Some(shape)))
    }

    /// The plan of a change of an array, into memory.
    fn plan(
        &self,
        source: &OpenedArray,
        options: &ChangeOptions,
        listing: &Listing,
        settled: Option<&Settled>,
    ) -> Result<Plan, OperationError> {
        let run = RunOptions { dry_run: true, ..RunOptions::default() };
        let array = SourceArray {
            settled: settled.cloned(),
            listing: Some(listing.clone()),
            ..SourceArray::new("/".to_owned(), source.clone(), options.clone())
        };
        let mut planner = Planner {
            array,
            target: in_memory(&source.store),
            is_in_tree: false,
            run: &run,
            least_parts: 1,
            budget: self.budget,
            driver: self.driver,
            cache: &ChunkCache::default(),
            own_cache: ArrayCache::default(),
        };
        planner.plan(&Silent)
    }

    /// Carries out so much of a plan.
    fn run(&self, plan: &Plan, chunks: &ChunkSet) -> Result<ObjectReport, OperationError> {
        let memory = plan.allot(self.budget, false)?;
        let driver = new_driver(memory.threads, self.driver.interrupt())?;
        let assigned = Assignment::from([(ARRAY.to_owned(), chunks.clone())]);
        let journal = Journal::open_part((&plan.target, &plan.target), &Fingerprint::new([]), assigned);
        let journal = journal
            .map_err(|error| OperationError::environment("a log in memory cannot be kept").because(error))?;
        let mut all = ObjectReport::default();
        let progress: &dyn Progress = &Silent;
        plan.job
            .run(&driver, progress, &journal.pass(ARRAY), |report| all.add(&report))
            .map_err(|fault| plan.explain(fault))?;
        Ok(all)
    }

    /// The array that a plan has written some of.
    fn open(plan: &Plan) -> Result<OpenedArray, OperationError> {
        let (target, store) = (plan.target.clone(), &plan.source.store);
        read_back(&plan.documents, target, store, Profile::Read).map(as_source)
    }

    fn population(&self, plan: &Plan, units: u64) -> Population {
        let metadata = &plan.destination.metadata;
        let element = plan.source.data_type.size().map_or(16, |size| size as u64);
        let bytes_of = |shape: &[u64]| num_elements(shape).unwrap_or(u64::MAX).saturating_mul(element);
        let chunk_bytes = bytes_of(metadata.largest_chunk());
        let array_bytes = bytes_of(&metadata.shape);
        // What is kept lies beside what the trials make of it.
        let memory = self.budget.bytes() / 4;
        let shape = Blocks::of(&plan.job).and_then(|blocks| blocks.shapes.into_iter().next());
        let (unit_bytes, amplification) = shape.map_or((chunk_bytes, 1), |shape| {
            let read = bytes_of(&shape).max(1);
            (read, elements_read_for(&shape, &plan.source).saturating_mul(element).div_ceil(read))
        });
        let chunks_per_unit = (unit_bytes / chunk_bytes.max(1)).max(1);
        Population { units, chunks_per_unit, unit_bytes, amplification, array_bytes, memory }
    }
}

/// How many chunks a sample has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::operation) enum SampleSize {
    /// As many as there is reason for, and room.
    ByDefault,
    /// So many, or as there is room for.
    Chunks(u64),
    /// So many, whatever the room: what is found decides what a run writes, on any machine.
    Always(u64),
}

/// Which chunks a sample is of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::operation) struct Drawing {
    /// The shape of the smallest chunks of DEST, where they are cut anew.
    cut: Option<Vec<u64>>,
    /// Whether chunks of nothing but the fill value are written.
    writes_empty: bool,
    /// Whether absent chunks are written, too.
    pub(super) fills: bool,
    /// Whether shards are copied as they are: then nothing is decoded, and no memory is needed for that.
    keeps_shards: bool,
}

impl Drawing {
    /// Those that a plan makes.
    pub(super) fn of(plan: &Plan, options: &ChangeOptions) -> Self {
        let (input, source) = (&plan.destination.pipeline.input, &plan.source);
        let keeps_fill = input.data_type == source.data_type && input.fill_value == source.fill_value;
        let is_cut_anew =
            Blocks::of(&plan.job).is_some() || plan.job.objects().is_some_and(ObjectJob::makes_elements);
        Drawing {
            cut: is_cut_anew.then(|| plan.destination.pipeline.innermost_chunk_shape()),
            // What holds nothing but the old fill value is as other chunks where that changes.
            writes_empty: options.write_empty_chunks || !keeps_fill,
            fills: plan.job.objects().is_some_and(|job| job.transfer.absent_element.is_some()),
            keeps_shards: plan.job.objects().is_none(),
        }
    }
}

/// The elements of SOURCE that are decoded for a box of DEST, at most.
fn elements_read_for(shape: &[u64], source: &OpenedArray) -> u64 {
    let inner = source.pipeline.innermost_chunk_shape();
    let lengths = shape.iter().zip(&inner).zip(&source.metadata.shape);
    let read = lengths.map(|((length, chunk), whole)| {
        let chunks =
            length.div_ceil((*chunk).max(1)).saturating_add(u64::from(length % (*chunk).max(1) != 0));
        chunks.saturating_mul(*chunk).min(whole.next_multiple_of((*chunk).max(1)))
    });
    read.fold(1, u64::saturating_mul)
}

/// The shape of what is read together: chunks of DEST that lie in the same chunks of SOURCE, as many as are not too many.
fn unit_shape(source_chunk: &[u64], plan: &Plan) -> Vec<u64> {
    let metadata = &plan.destination.metadata;
    let element = plan.source.data_type.size().map_or(16, |size| size as u64);
    let mut shape = metadata.largest_chunk().to_vec();
    let mut chunks = 1;
    for dimension in (0..shape.len()).rev() {
        let own = shape[dimension].max(1);
        let others = num_elements(&shape).unwrap_or(u64::MAX) / own;
        let most = UNIT_BYTES / others.saturating_mul(element).saturating_mul(own).max(1);
        let wanted = (source_chunk[dimension] / own).max(1).min(most.max(1)).min(UNIT_CHUNKS / chunks);
        chunks *= wanted;
        shape[dimension] = own * wanted;
    }
    shape
}

/// The chunks of each unit.
fn chunks_of_units(plan: &Plan, units: &ChunkSet) -> Vec<Vec<u64>> {
    let rechunk = plan.job.objects().and_then(|job| match &job.route {
        Route::Rechunk(rechunk) => Some(rechunk),
        _ => None,
    });
    let Some(rechunk) = rechunk else { return units.iter().map(|chunk| vec![chunk]).collect() };
    let groups = rechunk.plan.groups();
    let chunks = |unit| groups.objects(unit).flatten().collect();
    units.iter().map(chunks).collect()
}

/// Bytes of a chunk in memory; 0 where it is absent.
fn stored_bytes(node: &Node, metadata: &ArrayMetadata, chunk: u64) -> Result<u64, OperationError> {
    let key = metadata.chunk_key_encoding.key(&position(chunk, metadata));
    let sizes = node.sizes("", &[&key]).map_err(|error| unkept(error, &node.name()))?;
    Ok(sizes.first().copied().flatten().unwrap_or(0))
}

/// Elements of a chunk that lie inside the array.
fn elements_inside(chunk: u64, metadata: &ArrayMetadata) -> u64 {
    let region = metadata.grid.region_of(&position(chunk, metadata));
    region.common(&Region::whole(&metadata.shape)).num_elements()
}
