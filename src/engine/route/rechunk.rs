//! Conversion between any two chunk grids. Each block of the destination is read from the overlapping source subchunks.
//! It is kept decoded in memory, and written subchunk by subchunk.

use crate::array::{ChunkFault, ChunkSet, Result};
use crate::codec::as_index;
use crate::engine::{
    BlockReader, Buffers, DecodedBlock, Driver, Encoded, ObjectReport, Pass, PrefetchPlan, Progress, Put, RechunkPlan,
    Reports, Share, Silent, SubchunkEncoder, SubchunkWriter, Transfer, Workers, guarded, in_order,
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
        let (unit, worker) = (plan.unit_bytes(), plan.worker_bytes());
        let threads = threads.max(1) as u64;
        let apart = (budget / unit.max(1)).min(plan.num_groups()).clamp(1, threads);
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
    pub(crate) fn run(&self, driver: &Driver, fold: &mut Reports<'_>) -> Result<(), ChunkFault> {
        let Rechunk { plan, schedule, .. } = self.route;
        let groups = plan.groups_among(self.transfer, self.progress.assigned.as_ref());
        let reads = PrefetchPlan::of_array(&self.transfer.source, |group, each| {
            if !self.objects_left(group).is_empty() {
                plan.blocks(group).iter().for_each(|block| self.reader(&Silent).reads(block, each));
            }
        });
        let work = |workers: &Workers<'_>, group| self.group(group, workers);
        let run = driver.run_units(&groups, &[reads], schedule.shares_blocks, work, |_, report| fold(report));
        let first_object = |ChunkFault { index, fault }| {
            let index = plan.groups().objects(index).next().map_or(0, |objects| objects.start);
            ChunkFault { index, fault }
        };
        self.ended(run.map_err(first_object), fold)
    }

    fn group(&self, number: u64, workers: &Workers<'_>) -> Result<ObjectReport> {
        let plan = &self.route.plan;
        let left = self.objects_left(number);
        if left.is_empty() {
            return Ok(ObjectReport::default());
        }
        let mut report = ObjectReport::default();
        workers.with_blocks(|[decoded, _]| {
            // A shard that is larger than a block stays open for the next block.
            let mut open = None;
            for block in plan.blocks(number) {
                self.block(&block, decoded, workers, &mut open, &mut report)?;
            }
            finish(open, &mut report)
        })?;
        // The counts belong to all runs of objects together, so they are recorded with the first.
        let mut counted = report;
        for (first, end) in left.runs() {
            self.progress.finished(first..end, &std::mem::take(&mut counted))?;
        }
        Ok(report)
    }

    fn reader<'p>(&'p self, progress: &'p dyn Progress) -> BlockReader<'a, 'p> {
        let (origin, filling) = (self.origin.as_ref(), &self.route.encoder.filling);
        BlockReader { source: &self.source, origin, filling, progress }
    }

    /// Writes the part of a block in the objects of a group.
    fn block(
        &self,
        block: &Region,
        decoded: &mut DecodedBlock,
        workers: &Workers<'_>,
        open: &mut Option<SubchunkWriter<'a>>,
        report: &mut ObjectReport,
    ) -> Result<()> {
        let Transfer { destination, absent_element, origin, .. } = self.transfer;
        let bytes = block.num_elements().saturating_mul(self.route.encoder.element_size() as u64);
        // A read block counts as half done, as one block may be the whole array.
        let share = Share::new(self.listener, bytes / 2, 1);
        let reader = self.reader(&share);
        if absent_element.is_none() && !reader.has_object(block, true) {
            return Ok(());
        }
        let bytes_read = reader.read(block, destination.subchunk_shape(), decoded, workers)?;
        share.finish();
        // Bytes of intermediate data do not count as read from the source.
        report.bytes_read += if origin.is_none() { bytes_read } else { 0 };
        if destination.layout.is_some() {
            self.write_shards(block, decoded, workers, open, report)?;
        } else {
            self.write_chunks(decoded, workers, report)?;
        }
        self.listener.advance(bytes - bytes / 2);
        Ok(())
    }

    /// Returns the objects of a group that must be written.
    fn objects_left(&self, number: u64) -> ChunkSet {
        let objects = ChunkSet::from_ranges(self.route.plan.groups().objects(number).collect());
        self.progress.left(objects).without(&self.progress.done)
    }

    /// Writes chunks without shards. The threads share them.
    fn write_chunks(&self, decoded: &DecodedBlock, workers: &Workers<'_>, report: &mut ObjectReport) -> Result<()> {
        let write = |buffers: &mut Buffers, item| {
            let (mut report, item) = (ObjectReport::default(), as_index(item));
            let object = self.transfer.destination.object_of(&decoded.position(item));
            // With another budget the groups of an earlier run were different.
            if self.progress.is_done(object) {
                return Ok(report);
            }
            let mut writer = SubchunkWriter::new(&self.transfer.destination, object);
            let put = &mut |encoded: Encoded<'_>| writer.write(&[], encoded);
            self.encoded(decoded, item, object, buffers, &mut report, put)?;
            report.add(&writer.finish()?);
            Ok(report)
        };
        workers.each(decoded.num_subchunks() as u64, write, |_, of_subchunk| report.add(&of_subchunk))
    }

    /// Writes the subchunks of shards, shard by shard, in the order of each shard.
    fn write_shards(
        &self,
        block: &Region,
        decoded: &DecodedBlock,
        workers: &Workers<'_>,
        open: &mut Option<SubchunkWriter<'a>>,
        report: &mut ObjectReport,
    ) -> Result<()> {
        let destination = &self.transfer.destination;
        for object in destination.objects_in(block) {
            if self.progress.is_done(object) {
                continue;
            }
            if open.as_ref().is_none_or(|writer| writer.object != object) {
                finish(open.replace(SubchunkWriter::new(destination, object)), report)?;
            }
            let Some(writer) = open else { continue };
            let subchunks = in_order(destination, decoded.subchunks.common(&destination.subchunks_of(object)));
            writer.write_each(subchunks, workers, report, &|subchunk, buffers, report, put| {
                self.encoded(decoded, decoded.item(subchunk), object, buffers, report, put)
            })?;
        }
        Ok(())
    }

    /// Encodes a subchunk of a block and calls `put` with it, unless it stays absent.
    fn encoded(
        &self,
        decoded: &DecodedBlock,
        item: usize,
        object: u64,
        buffers: &mut Buffers,
        report: &mut ObjectReport,
        put: &mut Put<'_>,
    ) -> Result<()> {
        let destination = &self.transfer.destination;
        let region = destination.subchunk_grid.region_of(&decoded.position(item));
        let valid = destination.cropped(&region);
        let mut subchunk = decoded.lock(item);
        if !subchunk.is_stored && self.transfer.absent_element.is_none() {
            return Ok(());
        }
        let encoder = &self.route.encoder;
        let figures = &mut report.figures;
        let work = (&mut buffers.written, &mut buffers.conversion);
        let elements = &mut subchunk.elements;
        let encoded = guarded(move || encoder.encode(elements, &region.start, valid.as_deref(), work, figures))
            .map_err(|fault| fault.of_destination(object))?;
        encoded.map_or(Ok(()), put)
    }
}

fn finish(open: Option<SubchunkWriter<'_>>, report: &mut ObjectReport) -> Result<()> {
    if let Some(writer) = open {
        report.add(&writer.finish()?);
    }
    Ok(())
}
