//! From any chunk grid to any other: blocks of the destination are read from the source subchunks that overlap them, held
//! decoded, and written subchunk by subchunk.

use std::ops::Range;

use crate::array::chunk_set::ChunkSet;
use crate::array::fault::Fault;
use crate::codec::region::as_index;
use crate::engine::ahead::{Reads, objects_in};
use crate::engine::block_reader::{BlockReader, JobSubchunks};
use crate::engine::buffers::ObjectBuffers;
use crate::engine::decoded_block::DecodedBlock;
use crate::engine::driver::guarded;
use crate::engine::journal::PassProgress;
use crate::engine::pass::Pass;
use crate::engine::plan::RechunkPlan;
use crate::engine::progress::{Progress, Share, Silent};
use crate::engine::report::ObjectReport;
use crate::engine::subchunk_encoder::SubchunkEncoder;
use crate::engine::subchunk_writer::{Put, SubchunkWriter, in_order};
use crate::engine::transfer::Transfer;
use crate::engine::workers::Workers;
use crate::grid::Region;
use crate::store::{self, Node};

/// How a job is rechunked.
#[derive(Debug, Clone)]
pub struct Rechunk {
    /// The blocks.
    pub plan: RechunkPlan,
    /// From elements to subchunks of the destination.
    pub encoder: SubchunkEncoder,
    /// Who does which.
    pub schedule: Schedule,
}

/// How many threads work, and on what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Threads that work.
    pub threads: usize,
    /// Whether they share each block, one after the other; else each has blocks of its own.
    pub shares_blocks: bool,
    /// Bytes in memory at most.
    pub bytes: u64,
}

impl Schedule {
    /// As many of `threads` as the budget allows; they share blocks where more of them can work so.
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

/// A pass over blocks.
pub(in crate::engine) struct RechunkPass<'a> {
    /// The job.
    pub(in crate::engine) transfer: &'a Transfer,
    /// Its plan.
    pub(in crate::engine) rechunk: &'a Rechunk,
    /// The subchunks that are there.
    pub(in crate::engine) subchunks: &'a JobSubchunks<'a>,
    /// The objects of the destination that are done.
    pub(in crate::engine) progress: &'a PassProgress<'a>,
    /// Who is told of each block, and of what is read of it.
    pub(in crate::engine) listener: &'a dyn Progress,
}

impl Reads for RechunkPass<'_> {
    fn source(&self) -> (&Node, u64) {
        (&self.transfer.source.node, self.transfer.source.chunk_bytes())
    }

    fn reads(&self, group: u64, each: &mut dyn FnMut(&str, store::Part)) {
        if self.objects_left(group).is_some() {
            let plan = &self.rechunk.plan;
            plan.blocks(group).iter().for_each(|block| self.reader(&Silent).reads(block, each));
        }
    }
}

impl Pass for RechunkPass<'_> {
    /// The groups that hold anything which is to be written.
    fn units(&self) -> ChunkSet {
        let (plan, destination) = (&self.rechunk.plan, &self.transfer.destination.metadata);
        let assigned = self.progress.assigned();
        let own = assigned.map(|units| plan.groups_of(units, &destination.chunk_grid_shape()));
        self.transfer.overlapped_among(&self.transfer.grid_of(&plan.group_shape()), own.as_ref())
    }

    fn shares_units(&self, _units: &ChunkSet, _threads: usize) -> bool {
        self.rechunk.schedule.shares_blocks
    }

    /// The first of the group.
    fn object_of(&self, group: u64) -> u64 {
        let grid = self.transfer.destination.metadata.chunk_grid_shape();
        self.rechunk.plan.first_object(group, &grid)
    }

    /// Writes the objects of a group.
    fn unit(&self, number: u64, workers: &mut Workers<'_>) -> Result<ObjectReport, Fault> {
        let plan = &self.rechunk.plan;
        let Some(objects) = self.objects_left(number) else { return Ok(ObjectReport::default()) };
        let mut report = ObjectReport::default();
        let mut decoded = std::mem::take(workers.block());
        // A shard that is larger than a block stays open from one to the next.
        let mut open = None;
        for block in plan.blocks(number) {
            let bytes = block.num_elements().saturating_mul(self.rechunk.encoder.element_size() as u64);
            // Half of a block is done once it is read: one may be all of the array.
            let share = Share::new(self.listener, bytes / 2, 1);
            let reader = self.reader(&share);
            if self.transfer.absent_element.is_none() && !reader.holds_any(&block) {
                continue;
            }
            let bytes_read = reader.read(&block, &self.transfer.destination, &mut decoded, workers)?;
            share.finish();
            // Of intermediate data nothing counts as read from the source.
            report.bytes_read += if self.transfer.origin.is_none() { bytes_read } else { 0 };
            if self.transfer.destination.layout.is_some() {
                self.write_shards(&block, &decoded, workers, &mut open, &mut report)?;
            } else {
                self.write_chunks(&decoded, workers, &mut report)?;
            }
            self.listener.advance(bytes - bytes / 2);
        }
        finish(open, &mut report)?;
        *workers.block() = decoded;
        self.note(objects, report)?;
        Ok(report)
    }
}

impl<'a> RechunkPass<'a> {
    fn reader<'p>(&self, progress: &'p dyn Progress) -> BlockReader<'a, 'p> {
        BlockReader { subchunks: self.subchunks, encoder: &self.rechunk.encoder, progress }
    }

    /// The objects of a group; `None` where all of them are done.
    fn objects_left(&self, number: u64) -> Option<Vec<Range<u64>>> {
        let plan = &self.rechunk.plan;
        let grid = self.transfer.destination.metadata.chunk_grid_shape();
        let objects = plan.objects(number, &grid);
        let is_done = |range: &Range<u64>| range.clone().all(|object| self.progress.is_done(object));
        (!objects.iter().all(is_done)).then_some(objects)
    }

    /// Notes the objects of a group; what was counted belongs to all of them together.
    fn note(&self, objects: Vec<Range<u64>>, mut counted: ObjectReport) -> Result<(), Fault> {
        for range in objects {
            if !range.clone().any(|object| self.progress.is_done(object)) {
                self.progress.finished(range, &std::mem::take(&mut counted))?;
                continue;
            }
            for object in range.filter(|object| !self.progress.is_done(*object)) {
                self.progress.finished(object..object + 1, &std::mem::take(&mut counted))?;
            }
        }
        Ok(())
    }

    /// Chunks without shards: each by whoever comes first.
    fn write_chunks(
        &self,
        decoded: &DecodedBlock,
        workers: &mut Workers<'_>,
        report: &mut ObjectReport,
    ) -> Result<(), Fault> {
        let reports = workers.each(decoded.num_subchunks(), |buffers, item| {
            let mut report = ObjectReport::default();
            let object = self.transfer.destination.object_of(&decoded.position(item)).0;
            // With another budget the groups of an earlier run were others.
            if self.progress.is_done(object) {
                return Ok(report);
            }
            let mut writer = SubchunkWriter::new(&self.transfer.destination, object);
            self.encoded(decoded, item, object, buffers, &mut report, &mut |encoded, report| {
                writer.write(&[], encoded, report)
            })?;
            Ok(report)
        })?;
        for of_subchunk in &reports {
            report.add(of_subchunk);
        }
        Ok(())
    }

    /// The subchunks of shards, shard by shard, in the order in which they lie there.
    fn write_shards(
        &self,
        block: &Region,
        decoded: &DecodedBlock,
        workers: &mut Workers<'_>,
        open: &mut Option<SubchunkWriter<'a>>,
        report: &mut ObjectReport,
    ) -> Result<(), Fault> {
        let destination = &self.transfer.destination;
        for object in objects_in(destination, block) {
            if self.progress.is_done(object) {
                continue;
            }
            if open.as_ref().is_none_or(|writer| writer.object() != object) {
                finish(open.replace(SubchunkWriter::new(destination, object)), report)?;
            }
            let Some(writer) = open else { continue };
            let subchunks =
                in_order(destination, decoded.subchunks.common(&destination.subchunks_of(object)));
            writer.write_each(subchunks, workers, report, &|subchunk, buffers, report, put| {
                self.encoded(decoded, decoded.item(subchunk), object, buffers, report, put)
            })?;
        }
        Ok(())
    }

    /// Encodes a subchunk of a block and gives it to `put`, unless it is left out.
    fn encoded(
        &self,
        decoded: &DecodedBlock,
        item: usize,
        object: u64,
        buffers: &mut ObjectBuffers,
        report: &mut ObjectReport,
        put: &mut Put<'_>,
    ) -> Result<(), Fault> {
        let destination = &self.transfer.destination;
        let region = destination.region_of_subchunk(&decoded.position(item));
        let valid = destination.cropped(&region);
        let mut subchunk = decoded.lock(item);
        if !subchunk.is_stored && self.transfer.absent_element.is_none() {
            return Ok(());
        }
        let encoder = &self.rechunk.encoder;
        let figures = &mut report.figures;
        let work = buffers.for_encoding();
        let elements = &mut subchunk.elements;
        let encoded =
            guarded(move || encoder.encode(elements, &region.start, valid.as_deref(), work, figures))
                .map_err(|fault| fault.of_destination(object))?;
        encoded.map_or(Ok(()), |encoded| put(encoded, report))
    }
}

fn finish(open: Option<SubchunkWriter<'_>>, report: &mut ObjectReport) -> Result<(), Fault> {
    open.map_or(Ok(()), |writer| writer.finish(report))
}
