//! From any chunk grid to any other: blocks of the destination are read from the source subchunks that overlap them, held
//! decoded, and written subchunk by subchunk.

use crate::array::{ChunkSet, Result};
use crate::codec::as_index;
use crate::engine::{
    BlockReader, Buffers, DecodedBlock, Driver, Encoded, ObjectReport, Pass, Progress, Put, Reads, RechunkPlan, Share,
    Silent, SubchunkEncoder, SubchunkWriter, Transfer, Units, Workers, guarded, in_order,
};
use crate::grid::Region;
use crate::store::{self, Node};

/// The plan, encoder and schedule of a rechunked job.
#[derive(Debug, Clone)]
pub struct Rechunk {
    /// The blocks.
    pub plan: RechunkPlan,
    /// From elements to subchunks of the destination.
    pub encoder: SubchunkEncoder,
    /// Who does which.
    pub schedule: Schedule,
}

impl Rechunk {
    /// The groups of objects that hold anything which is to be written, or those that hold some of these objects.
    pub fn units(&self, transfer: &Transfer, objects: Option<&ChunkSet>) -> ChunkSet {
        let groups = objects.map(|objects| self.plan.groups().of(objects));
        transfer.overlapped_among(&transfer.grid_of(&self.plan.group_shape()), groups.as_ref())
    }
}

/// The number of threads, and their share of the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Threads that work.
    pub threads: usize,
    /// True if they share each block, one after the other; else each has blocks of its own.
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

impl Reads for Pass<'_, Rechunk> {
    fn source(&self) -> (&Node, u64) {
        (&self.transfer.source.node, self.transfer.source.chunk_bytes())
    }

    fn reads(&self, group: u64, each: &mut dyn FnMut(&str, store::Part)) {
        if !self.objects_left(group).is_empty() {
            let plan = &self.route.plan;
            plan.blocks(group).iter().for_each(|block| self.reader(&Silent).reads(block, each));
        }
    }
}

impl Units for Pass<'_, Rechunk> {
    /// The groups that hold anything which is to be written.
    fn units(&self) -> ChunkSet {
        self.route.units(self.transfer, self.progress.assigned.as_ref())
    }

    fn shares_units(&self, _units: &ChunkSet, _driver: &Driver) -> bool {
        self.route.schedule.shares_blocks
    }

    /// The first of the group.
    fn object_of(&self, group: u64) -> u64 {
        self.route.plan.groups().objects(group).next().map_or(0, |objects| objects.start)
    }

    /// Writes the objects of a group.
    fn unit(&self, number: u64, workers: &Workers<'_>) -> Result<ObjectReport> {
        let plan = &self.route.plan;
        let left = self.objects_left(number);
        if left.is_empty() {
            return Ok(ObjectReport::default());
        }
        let mut report = ObjectReport::default();
        workers.with_blocks(|[decoded, _]| {
            // A shard that is larger than a block stays open from one to the next.
            let mut open = None;
            for block in plan.blocks(number) {
                self.block(&block, decoded, workers, &mut open, &mut report)?;
            }
            finish(open, &mut report)
        })?;
        // What was counted belongs to all of them together.
        let mut counted = report;
        for (first, end) in left.runs() {
            self.progress.finished(first..end, &std::mem::take(&mut counted))?;
        }
        Ok(report)
    }
}

impl<'a> Pass<'a, Rechunk> {
    fn reader<'p>(&'p self, progress: &'p dyn Progress) -> BlockReader<'a, 'p> {
        let (origin, filling) = (self.origin.as_ref(), &self.route.encoder.filling);
        BlockReader { source: &self.source, origin, filling, progress }
    }

    /// Writes what the objects of a group have of a block.
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
        // Half of a block is done once it is read: one may be all of the array.
        let share = Share::new(self.listener, bytes / 2, 1);
        let reader = self.reader(&share);
        if absent_element.is_none() && !reader.has_object(block, true) {
            return Ok(());
        }
        let bytes_read = reader.read(block, destination.subchunk_shape(), decoded, workers)?;
        share.finish();
        // Of intermediate data nothing counts as read from the source.
        report.bytes_read += if origin.is_none() { bytes_read } else { 0 };
        if destination.layout.is_some() {
            self.write_shards(block, decoded, workers, open, report)?;
        } else {
            self.write_chunks(decoded, workers, report)?;
        }
        self.listener.advance(bytes - bytes / 2);
        Ok(())
    }

    /// The objects of a group that are to be done.
    fn objects_left(&self, number: u64) -> ChunkSet {
        let objects = ChunkSet::from_ranges(self.route.plan.groups().objects(number).collect());
        self.progress.left(objects).without(&self.progress.done)
    }

    /// Chunks without shards: each by whoever comes first.
    fn write_chunks(&self, decoded: &DecodedBlock, workers: &Workers<'_>, report: &mut ObjectReport) -> Result<()> {
        let write = |buffers: &mut Buffers, item| {
            let (mut report, item) = (ObjectReport::default(), as_index(item));
            let object = self.transfer.destination.object_of(&decoded.position(item)).0;
            // With another budget the groups of an earlier run were others.
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

    /// The subchunks of shards, shard by shard, in the order in which they lie there.
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

    /// Encodes a subchunk of a block and gives it to `put`, unless it is left out.
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
        let region = destination.region_of_subchunk(&decoded.position(item));
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
