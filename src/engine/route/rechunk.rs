//! From any chunk grid to any other: blocks of the destination are read from the source subchunks that overlap them, held
//! decoded, and written subchunk by subchunk.

use std::ops::Range;
use std::sync::Mutex;

use crate::array::chunk_set::ChunkSet;
use crate::array::fault::{ChunkFault, Fault};
use crate::codec::region::{advance, as_index, unravel};
use crate::engine::ahead::{ReadAhead, Reads};
use crate::engine::block_reader::{BlockReader, JobSubchunks};
use crate::engine::buffers::ObjectBuffers;
use crate::engine::decoded_block::DecodedBlock;
use crate::engine::driver::{Driver, guarded};
use crate::engine::journal::PassProgress;
use crate::engine::plan::{Block, RechunkPlan};
use crate::engine::progress::{Progress, Share, Silent};
use crate::engine::report::ObjectReport;
use crate::engine::subchunk_encoder::{Encoded, SubchunkEncoder};
use crate::engine::subchunk_writer::SubchunkWriter;
use crate::engine::transfer::Transfer;
use crate::engine::workers::Workers;
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

/// What a thread that has blocks of its own keeps.
#[derive(Debug, Default)]
struct BlockBuffers {
    buffers: ObjectBuffers,
    block: DecodedBlock,
}

/// A run of a job.
#[derive(Debug)]
pub(in crate::engine) struct RechunkRun<'a> {
    /// The job.
    pub(in crate::engine) transfer: &'a Transfer,
    /// Its plan.
    pub(in crate::engine) rechunk: &'a Rechunk,
    /// The subchunks that are there.
    pub(in crate::engine) subchunks: &'a JobSubchunks<'a>,
    /// The objects of the destination that are done.
    pub(in crate::engine) part: &'a PassProgress<'a>,
}

impl Reads for RechunkRun<'_> {
    fn source(&self) -> &Node {
        &self.transfer.source.node
    }

    fn object_bytes(&self) -> u64 {
        self.transfer.source.chunk_bytes()
    }

    fn reads(&self, group: u64, each: &mut dyn FnMut(&str, store::Part)) {
        if self.objects_left(group).is_some() {
            let plan = &self.rechunk.plan;
            plan.blocks(&plan.group(group)).iter().for_each(|block| self.reader(&Silent).reads(block, each));
        }
    }
}

impl<'a> RechunkRun<'a> {
    /// Writes every object of the destination.
    pub(in crate::engine) fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        // What happened to no object in particular happened to the first of its group.
        let located = |ChunkFault { index, fault }: ChunkFault| {
            let first = self.rechunk.plan.group(index).first_object(&self.transfer.destination.metadata);
            ChunkFault { index: first, fault: fault.of_destination(first) }
        };
        let groups = self.groups();
        if !self.rechunk.schedule.shares_blocks {
            let work = |BlockBuffers { buffers, block }: &mut BlockBuffers, group| {
                let interrupt = driver.interrupt();
                self.group(group, block, &mut Workers::One { buffers, interrupt }, progress)
            };
            return driver.run_ahead(&groups, &[self], work, |_, report| fold(report)).map_err(located);
        }
        let buffers: Vec<Mutex<ObjectBuffers>> = driver.workspaces();
        let mut block = DecodedBlock::default();
        let ahead = ReadAhead::of(&[self], &groups);
        for (place, index) in (0..).zip(groups.iter()) {
            for ahead in &ahead {
                ahead.begin(place);
            }
            let mut workers = Workers::All { driver, buffers: &buffers };
            let report = guarded(|| self.group(index, &mut block, &mut workers, progress))
                .map_err(|fault| located(ChunkFault { index, fault }))?;
            fold(report);
        }
        Ok(())
    }

    /// The groups that hold anything which is to be written.
    fn groups(&self) -> ChunkSet {
        let (plan, destination) = (&self.rechunk.plan, &self.transfer.destination.metadata);
        let own = self.part.assigned().map(|units| plan.groups_of(units, &destination.chunk_grid_shape()));
        self.transfer.overlapped_among(&self.transfer.grid_of(&plan.group_shape()), own.as_ref())
    }

    /// Writes the objects of a group.
    fn group(
        &self,
        number: u64,
        decoded: &mut DecodedBlock,
        workers: &mut Workers<'_>,
        progress: &dyn Progress,
    ) -> Result<ObjectReport, Fault> {
        let plan = &self.rechunk.plan;
        let Some(objects) = self.objects_left(number) else { return Ok(ObjectReport::default()) };
        let mut report = ObjectReport::default();
        // A shard that is larger than a block stays open from one to the next.
        let mut open = None;
        for block in plan.blocks(&plan.group(number)) {
            let elements: u64 = block.end.iter().zip(&block.start).map(|(end, start)| end - start).product();
            let bytes = elements.saturating_mul(self.rechunk.encoder.element_size() as u64);
            // Half of a block is done once it is read: one may be all of the array.
            let share = Share::new(progress, bytes / 2, 1);
            let reader = self.reader(&share);
            if self.transfer.absent_element.is_none() && !reader.holds_any(&block) {
                continue;
            }
            let bytes_read = reader.read(&block, &self.transfer.destination, decoded, workers)?;
            share.finish();
            // Of intermediate data nothing counts as read from the source.
            report.bytes_read += if self.transfer.origin.is_none() { bytes_read } else { 0 };
            if self.transfer.destination.layout.is_some() {
                self.write_shards(&block, decoded, workers, &mut open, &mut report)?;
            } else {
                self.write_chunks(decoded, workers, &mut report)?;
            }
            progress.advance(bytes - bytes / 2);
        }
        finish(open, &mut report)?;
        self.note(objects, report)?;
        Ok(report)
    }

    fn reader<'p>(&self, progress: &'p dyn Progress) -> BlockReader<'a, 'p> {
        BlockReader { subchunks: self.subchunks, encoder: &self.rechunk.encoder, progress }
    }

    /// The objects of a group; `None` where all of them are done.
    fn objects_left(&self, number: u64) -> Option<Vec<Range<u64>>> {
        let plan = &self.rechunk.plan;
        let grid = self.transfer.destination.metadata.chunk_grid_shape();
        let objects = plan.objects(&plan.group(number), &grid);
        let is_done = |range: &Range<u64>| range.clone().all(|object| self.part.is_done(object));
        (!objects.iter().all(is_done)).then_some(objects)
    }

    /// Notes the objects of a group; what was counted belongs to all of them together.
    fn note(&self, objects: Vec<Range<u64>>, mut counted: ObjectReport) -> Result<(), Fault> {
        for range in objects {
            if !range.clone().any(|object| self.part.is_done(object)) {
                self.part.finished(range, &std::mem::take(&mut counted))?;
                continue;
            }
            for object in range.filter(|object| !self.part.is_done(*object)) {
                self.part.finished(object..object + 1, &std::mem::take(&mut counted))?;
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
            if self.part.is_done(object) {
                return Ok(report);
            }
            let mut writer = SubchunkWriter::new(&self.transfer.destination, object);
            self.encoded(decoded, item, writer.object(), buffers, &mut report, |encoded, report| {
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
        block: &Block,
        decoded: &DecodedBlock,
        workers: &mut Workers<'_>,
        open: &mut Option<SubchunkWriter<'a>>,
        report: &mut ObjectReport,
    ) -> Result<(), Fault> {
        let destination = &self.transfer.destination;
        let (first, counts) = block.subchunks(destination.metadata.largest_chunk());
        let grid = destination.metadata.chunk_grid_shape();
        let mut place = vec![0; counts.len()];
        loop {
            let position: Vec<u64> = place.iter().zip(&first).map(|(index, first)| index + first).collect();
            let object = crate::codec::region::ravel(&position, &grid);
            if !self.part.is_done(object) {
                if open.as_ref().is_none_or(|writer| writer.object() != object) {
                    finish(open.replace(SubchunkWriter::new(destination, object)), report)?;
                }
                if let Some(writer) = open {
                    self.write_shard(&position, decoded, workers, writer, report)?;
                }
            }
            if !advance(&mut place, &counts) {
                return Ok(());
            }
        }
    }

    fn write_shard(
        &self,
        position: &[u64],
        decoded: &DecodedBlock,
        workers: &mut Workers<'_>,
        writer: &mut SubchunkWriter<'a>,
        report: &mut ObjectReport,
    ) -> Result<(), Fault> {
        let destination = &self.transfer.destination;
        let order = destination.subchunk_order();
        let per_object = destination.subchunks_per_object();
        let (first, counts) = decoded.subchunks_of(position, &per_object);
        let shape: Vec<u64> = order.iter().map(|dimension| counts[*dimension]).collect();
        let total: u64 = shape.iter().product();
        let subchunk_of = |number: u64| -> Vec<u64> {
            let mut subchunk = first.clone();
            for (index, dimension) in unravel(number, &shape).iter().zip(&order) {
                subchunk[*dimension] += index;
            }
            subchunk
        };
        let object = writer.object();
        let at_once = workers.at_once() as u64;
        let mut begun = 0;
        while begun < total {
            let count = at_once.min(total - begun);
            let encoded = workers.each(as_index(count), |buffers, item| {
                let subchunk = subchunk_of(begun + item as u64);
                let mut of_subchunk = ObjectReport::default();
                let mut bytes = None;
                let item = decoded.item(&subchunk);
                self.encoded(decoded, item, object, buffers, &mut of_subchunk, |encoded, _| {
                    bytes = Some(encoded.to_vec());
                    Ok(())
                })?;
                Ok((subchunk, bytes, of_subchunk))
            })?;
            for (subchunk, bytes, of_subchunk) in encoded {
                report.add(&of_subchunk);
                if let Some(bytes) = bytes {
                    writer.write(&destination.object_of(&subchunk).1, Encoded::whole(&bytes), report)?;
                }
            }
            begun += count;
        }
        Ok(())
    }

    /// Encodes a subchunk of a block and gives it to `write`, unless it is left out.
    fn encoded(
        &self,
        decoded: &DecodedBlock,
        item: usize,
        object: u64,
        buffers: &mut ObjectBuffers,
        report: &mut ObjectReport,
        write: impl FnOnce(Encoded<'_>, &mut ObjectReport) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let destination = &self.transfer.destination;
        let start = destination.start_of_subchunk(&decoded.position(item));
        let valid = destination.cropped(&start, destination.subchunk_shape());
        let mut subchunk = decoded.lock(item);
        if !subchunk.is_stored && self.transfer.absent_element.is_none() {
            return Ok(());
        }
        let encoder = &self.rechunk.encoder;
        let figures = &mut report.figures;
        let work = buffers.for_encoding();
        let elements = &mut subchunk.elements;
        let encoded = guarded(move || encoder.encode(elements, &start, valid.as_deref(), work, figures))
            .map_err(|fault| fault.of_destination(object))?;
        encoded.map_or(Ok(()), |encoded| write(encoded, report))
    }
}

fn finish(open: Option<SubchunkWriter<'_>>, report: &mut ObjectReport) -> Result<(), Fault> {
    open.map_or(Ok(()), |writer| writer.finish(&mut crate::codec::Workspace::default(), report))
}
