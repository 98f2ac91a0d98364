//! Conversion between any two chunk grids. Each block of the destination is read from the overlapping source subchunks.
//! It is kept decoded in memory, and written subchunk by subchunk.

use std::mem::take;

use crate::array::{ChunkFault, ChunkSet, Result, at};
use crate::codec::as_index;
use crate::engine::{
    BlockReader, Buffers, ChunkResult, DecodedBlock, ObjectReport, Pass, PrefetchPlan, Progress, Put, RechunkPlan,
    Reports, Silent, SubProgress, SubchunkEncoder, SubchunkWriter, Workers, guarded, in_order,
};
use crate::grid::Region;

/// Plan, encoder and schedule of a rechunking job.
#[derive(Debug, Clone)]
pub struct Rechunk {
    /// The blocks.
    pub plan: RechunkPlan,
    /// Encoder of the destination's subchunks.
    pub encoder: SubchunkEncoder,
    /// Distribution of the blocks to threads.
    pub schedule: Schedule,
}

/// Number of threads, and distribution of the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Number of threads.
    pub threads: usize,
    /// True if all threads share one block at a time. Otherwise each thread has its own blocks.
    pub shares_blocks: bool,
    /// Most bytes of memory.
    pub bytes: u64,
}

impl Schedule {
    /// Returns the schedule with the most threads that the budget allows, up to `threads`. Shared blocks are preferred
    /// only if they allow more threads.
    pub fn new(plan: &RechunkPlan, threads: usize, budget: u64) -> Self {
        let (unit, worker) = (plan.unit_bytes(), plan.costs.worker);
        let threads = threads.max(1) as u64;
        let apart = (budget / unit.max(1)).min(plan.num_groups()).clamp(1, threads);
        // `unit` already contains the memory of one thread.
        let shared = (budget.saturating_sub(unit) / worker.max(1)).saturating_add(1).min(threads);
        let shares_blocks = shared > apart;
        let (threads, bytes) = if shares_blocks {
            (shared, unit.saturating_add(worker.saturating_mul(shared - 1)))
        } else {
            (apart, unit.saturating_mul(apart))
        };
        Schedule { threads: as_index(threads), shares_blocks, bytes }
    }
}

impl<'a> Pass<'a, Rechunk> {
    /// Writes every group of objects.
    pub(crate) fn run(&self, fold: &mut Reports<'_>) -> ChunkResult {
        let Rechunk { plan, schedule, .. } = self.route;
        let groups = plan.groups_among(self.transfer, self.progress.assigned.as_ref());
        let reads = PrefetchPlan::of_array(&self.transfer.source, |group, each| {
            if !self.objects_left(group).is_empty() {
                plan.blocks(group).iter().for_each(|block| self.reader(&Silent).reads(block, each));
            }
        });
        let work = |workers: &Workers<'_>, group| self.group(group, workers);
        let run = self.driver.run_units(&groups, &[reads], schedule.shares_blocks, work, |_, report| fold(report));
        let first_object = |ChunkFault { index, fault }| {
            let index = plan.groups().objects(index).next().map_or(0, |objects| objects.start);
            ChunkFault { index, fault }
        };
        self.ended(run.map_err(first_object), fold)
    }

    fn group(&self, number: u64, workers: &Workers<'_>) -> Result<ObjectReport> {
        let left = self.objects_left(number);
        if left.is_empty() {
            return Ok(ObjectReport::default());
        }
        let mut group = Group { pass: self, workers, open: None, report: ObjectReport::default() };
        workers.with_blocks(|[decoded, _]| {
            let blocks = self.route.plan.blocks(number);
            blocks.iter().try_for_each(|block| group.block(block, decoded))?;
            group.close_shard()
        })?;
        group.report += take(&mut workers.first().report);
        // The counts belong to all runs of objects together, so they are recorded with the first.
        let mut counted = group.report;
        for (first, end) in left.runs() {
            self.progress.finished(first..end, &take(&mut counted))?;
        }
        Ok(group.report)
    }

    fn reader<'p>(&'p self, progress: &'p dyn Progress) -> BlockReader<'a, 'p> {
        let (origin, filling) = (self.origin.as_ref(), &self.route.encoder.filling);
        BlockReader { source: &self.source, origin, filling, progress }
    }

    /// Returns the objects of a group that must be written.
    fn objects_left(&self, number: u64) -> ChunkSet {
        let objects = ChunkSet::from_ranges(self.route.plan.groups().objects(number).collect());
        self.progress.left(objects).without(&self.progress.done)
    }

    /// Encodes a subchunk of a block and calls `put` with it, unless it stays absent.
    fn encoded(&self, decoded: &DecodedBlock, item: usize, buffers: &mut Buffers, put: &mut Put<'_>) -> Result<()> {
        let destination = &self.transfer.destination;
        let position = decoded.position(item);
        let region = destination.subchunk_grid.region_of(&position);
        let valid = destination.cropped(&region);
        let mut subchunk = decoded.lock(item);
        if !subchunk.is_stored && self.transfer.absent_element.is_none() {
            return Ok(());
        }
        let (encoder, elements) = (&self.route.encoder, &mut subchunk.elements);
        let encoded = guarded(move || {
            let encoded = encoder.encode(elements, valid.as_deref(), buffers);
            encoded.map_err(|fault| at(fault, &region.start))
        });
        encoded.map_err(|fault| fault.of_destination(destination.object_of(&position)))?.map_or(Ok(()), put)
    }
}

/// Group of objects that is being written.
struct Group<'p, 'a> {
    pass: &'p Pass<'a, Rechunk>,
    workers: &'p Workers<'p>,
    /// A shard that is larger than a block stays open for the next block.
    open: Option<SubchunkWriter<'p>>,
    report: ObjectReport,
}

impl Group<'_, '_> {
    /// Reads a block, and writes its part of the objects.
    fn block(&mut self, block: &Region, decoded: &mut DecodedBlock) -> Result<()> {
        let Pass { transfer, route, listener, .. } = self.pass;
        let bytes = block.num_elements().saturating_mul(route.encoder.element_size() as u64);
        // A read block counts as half done, as one block may be the whole array.
        let share = SubProgress::new(*listener, bytes / 2, 1);
        let reader = self.pass.reader(&share);
        if transfer.absent_element.is_none() && !reader.has_object(block, true) {
            return Ok(());
        }
        let decoded = decoded.begin(block, transfer.destination.subchunk_shape(), &transfer.source.metadata.skipped);
        let bytes_read = reader.read(decoded, self.workers)?;
        share.finish();
        // Bytes of intermediate data do not count as read from the source.
        self.report.bytes_read += if transfer.origin.is_none() { bytes_read } else { 0 };
        if transfer.destination.layout.is_some() {
            self.write_shards(block, decoded)?;
        } else {
            self.write_chunks(decoded)?;
        }
        listener.advance(bytes - bytes / 2);
        Ok(())
    }

    /// Writes chunks without shards. The threads share them.
    fn write_chunks(&mut self, decoded: &DecodedBlock) -> Result<()> {
        let (pass, destination) = (self.pass, &self.pass.transfer.destination);
        let write = |buffers: &mut Buffers, item| {
            let item = as_index(item);
            let object = destination.object_of(&decoded.position(item));
            // With another budget the groups of an earlier run were different.
            if pass.progress.is_done(object) {
                return Ok(ObjectReport::default());
            }
            let mut writer = SubchunkWriter::new(destination, object);
            pass.encoded(decoded, item, buffers, &mut |encoded| writer.write(&[], encoded))?;
            writer.report += take(&mut buffers.report);
            writer.finish()
        };
        self.workers.each(decoded.num_subchunks() as u64, write, |_, report| self.report += report)
    }

    /// Writes the subchunks of shards, shard by shard, in the order of each shard.
    fn write_shards(&mut self, block: &Region, decoded: &DecodedBlock) -> Result<()> {
        let (pass, destination) = (self.pass, &self.pass.transfer.destination);
        for object in destination.objects_in(block).filter(|object| !pass.progress.is_done(*object)) {
            if self.open.as_ref().is_none_or(|writer| writer.object != object) {
                self.close_shard()?;
            }
            let writer = self.open.get_or_insert_with(|| SubchunkWriter::new(destination, object));
            // Errors are added up in the order of the subchunks, whatever their shards are.
            writer.report += take(&mut self.report);
            let subchunks = in_order(destination, decoded.subchunks.common(&destination.subchunks_of(object)));
            writer.write_each(subchunks, self.workers, &|subchunk, buffers, put| {
                pass.encoded(decoded, decoded.item(subchunk), buffers, put)
            })?;
        }
        Ok(())
    }

    /// Completes the open shard.
    fn close_shard(&mut self) -> Result<()> {
        if let Some(writer) = self.open.take() {
            self.report += writer.finish()?;
        }
        Ok(())
    }
}
