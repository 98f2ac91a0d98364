//! Subchunks (inner chunks, or chunks without shards) that are the same on both sides: each is moved as it is encoded, or
//! converted by itself, into objects that may be others than those of the source.

use std::sync::Mutex;

use crate::array::fault::{ChunkFault, Fault};
use crate::array::stored::{at, filled};
use crate::array::subchunks::SubchunkSource;
use crate::codec::Conversion;
use crate::codec::conversion::{Converted, Undone};
use crate::codec::region::advance;
use crate::engine::ahead::{ReadAhead, Reads, reads_under};
use crate::engine::buffers::ObjectBuffers;
use crate::engine::driver::Driver;
use crate::engine::journal::PassProgress;
use crate::engine::progress::Progress;
use crate::engine::report::ObjectReport;
use crate::engine::subchunk_encoder::Encoded;
use crate::engine::subchunk_writer::SubchunkWriter;
use crate::engine::transfer::Transfer;
use crate::engine::workers::Workers;
use crate::store::{self, Node};

/// The work on the objects of the destination.
pub(in crate::engine) struct SubchunkMove<'a> {
    /// The job.
    pub(in crate::engine) transfer: &'a Transfer,
    /// From subchunk to subchunk.
    pub(in crate::engine) conversion: &'a Conversion,
    /// The subchunks that are there.
    pub(in crate::engine) source: &'a SubchunkSource<'a>,
    /// The objects of the destination that are done.
    pub(in crate::engine) part: &'a PassProgress<'a>,
    /// Who is told of each subchunk.
    pub(in crate::engine) progress: &'a dyn Progress,
}

impl Reads for SubchunkMove<'_> {
    fn source(&self) -> &Node {
        &self.transfer.source.node
    }

    fn object_bytes(&self) -> u64 {
        self.transfer.source.chunk_bytes()
    }

    fn reads(&self, object: u64, each: &mut dyn FnMut(&str, store::Part)) {
        if !self.part.is_done(object) {
            reads_under(self.transfer, object, each);
        }
    }
}

impl SubchunkMove<'_> {
    /// Writes every object of the destination.
    pub(in crate::engine) fn run(
        &self,
        driver: &Driver,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let destination = &self.transfer.destination;
        let objects = self.transfer.overlapped_among(&destination.metadata.grid, self.part.assigned());
        if objects.len() >= 2 * driver.num_threads() as u64 {
            let work = |buffers: &mut ObjectBuffers, object| {
                let workers = &mut Workers::One { buffers, interrupt: driver.interrupt() };
                self.part.do_once(object, || self.object(object, workers))
            };
            // What happened to no object in particular happened to the one that was written.
            let located =
                |ChunkFault { index, fault }| ChunkFault { index, fault: fault.of_destination(index) };
            return driver.run_ahead(&objects, &[self], work, |_, report| fold(report)).map_err(located);
        }
        // Too few objects to go round: the threads share the subchunks of each.
        let buffers: Vec<Mutex<ObjectBuffers>> = driver.workspaces();
        let ahead = ReadAhead::of(&[self], &objects);
        for (place, index) in (0..).zip(objects.iter()) {
            for ahead in &ahead {
                ahead.begin(place);
            }
            let report = self
                .part
                .do_once(index, || self.object(index, &mut Workers::All { driver, buffers: &buffers }))
                .map_err(|fault| ChunkFault { index, fault })?;
            fold(report);
        }
        Ok(())
    }

    fn object(&self, object: u64, workers: &mut Workers<'_>) -> Result<ObjectReport, Fault> {
        let destination = &self.transfer.destination;
        let (first, per_object) = destination.subchunks_of(object);
        let order = destination.subchunk_order();
        let shape: Vec<u64> = order.iter().map(|dimension| per_object[*dimension]).collect();
        let mut report = ObjectReport::default();
        let mut writer = SubchunkWriter::new(destination, object);
        let mut next = (!shape.contains(&0)).then(|| vec![0; shape.len()]);
        while next.is_some() {
            let mut batch = Vec::new();
            while let Some(position) = next.take_if(|_| batch.len() < workers.at_once()) {
                let mut inside = vec![0; position.len()];
                for (index, dimension) in position.iter().zip(&order) {
                    inside[*dimension] = *index;
                }
                let subchunk: Vec<u64> =
                    first.iter().zip(&inside).map(|(first, inside)| first + inside).collect();
                // Most inner chunks of a large shard may be absent: those take no turn of the threads.
                let may_be_there =
                    || self.source.may_hold_subchunk(&self.transfer.source_subchunk(&subchunk));
                if self.transfer.absent_element.is_some() || may_be_there() {
                    batch.push(inside);
                }
                let mut following = position;
                next = advance(&mut following, &shape).then_some(following);
            }
            self.write(&first, &batch, workers, &mut writer, &mut report)?;
        }
        let mut workspace = crate::codec::Workspace::default();
        writer.finish(&mut workspace, &mut report)?;
        Ok(report)
    }

    /// Converts a few subchunks and writes them in their order.
    fn write(
        &self,
        first: &[u64],
        batch: &[Vec<u64>],
        workers: &mut Workers<'_>,
        writer: &mut SubchunkWriter<'_>,
        report: &mut ObjectReport,
    ) -> Result<(), Fault> {
        // What is written is counted with the padding at the edge.
        let bytes = self.transfer.destination.subchunk_chain().decoded_bytes();
        let position =
            |inside: &[u64]| -> Vec<u64> { first.iter().zip(inside).map(|(a, b)| a + b).collect() };
        if let Workers::One { buffers, interrupt } = workers {
            for inside in batch {
                interrupt.check()?;
                if let Some(made) = self.subchunk(&position(inside), writer.object(), buffers, report)? {
                    writer.write(inside, Encoded::whole(made.of(buffers)), report)?;
                }
                self.progress.advance(bytes);
            }
            return Ok(());
        }
        let converted = workers.each(batch.len(), |buffers, item| {
            let mut of_subchunk = ObjectReport::default();
            let made = self.subchunk(&position(&batch[item]), writer.object(), buffers, &mut of_subchunk)?;
            Ok((made.map(|made| made.of(buffers).to_vec()), of_subchunk))
        })?;
        for (inside, (encoded, of_subchunk)) in batch.iter().zip(converted) {
            report.add(&of_subchunk);
            if let Some(encoded) = encoded {
                writer.write(inside, Encoded::whole(&encoded), report)?;
            }
            self.progress.advance(bytes);
        }
        Ok(())
    }

    /// Converts one subchunk; `None` where it is absent from the destination.
    fn subchunk(
        &self,
        subchunk: &[u64],
        object: u64,
        buffers: &mut ObjectBuffers,
        report: &mut ObjectReport,
    ) -> Result<Option<Made>, Fault> {
        let (place, subchunk) = (subchunk, &*self.transfer.source_subchunk(subchunk));
        let (source, chain) = (&self.transfer.source, self.conversion.source());
        let start = source.start_of_subchunk(subchunk);
        let valid = source.cropped(&start, source.subchunk_shape());
        if valid.as_ref().is_some_and(|valid| valid.contains(&0)) {
            return Ok(None); // All of it lies beyond the edge of the array.
        }
        let ObjectBuffers { read, written, conversion: work, workspace, .. } = buffers;
        let kept = if self.conversion.is_copy() { None } else { source.kept.take(subchunk) };
        if kept.is_some() {
            // The index of its shard counts as read, whether chunks are kept or not.
            self.source.holds(subchunk, read, workspace)?;
        } else if !self.source.read(subchunk, read, workspace)? {
            let Some(absent) = &self.transfer.absent_element else { return Ok(None) };
            let elements = filled(absent, self.transfer.destination.subchunk_chain());
            self.conversion.encode_elements(&elements, written, work).map_err(|fault| {
                at(fault, &self.transfer.destination.start_of_subchunk(place)).of_destination(object)
            })?;
            return Ok(Some(Made::Written));
        }
        let (chunk, bytes_read) = match &kept {
            Some(kept) => (Undone { bytes: &kept.bytes, place: chain.bytes_place() }, kept.stored),
            None => (Undone { bytes: read, place: chain.codecs().len() }, read.len() as u64),
        };
        report.bytes_read += bytes_read;
        let (conversion, figures) = (self.conversion, &mut report.figures);
        let converted = match &valid {
            Some(valid) if source.metadata.cuts(&start, source.subchunk_shape()) => {
                conversion.run_cut(chunk, valid, written, work, figures)
            }
            _ if conversion.is_copy() => return Ok(Some(Made::Moved)),
            _ => conversion.run_undone(chunk, valid.as_deref(), written, work, figures),
        };
        let converted =
            converted.map_err(|fault| at(fault, &start).of_source(source.object_of(subchunk).0))?;
        Ok((converted == Converted::Written).then_some(Made::Written))
    }
}

/// Where an encoded subchunk lies in the buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    /// It stays what was read.
    Moved,
    /// It was encoded anew.
    Written,
}

impl Made {
    fn of(self, buffers: &ObjectBuffers) -> &[u8] {
        match self {
            Made::Moved => &buffers.read,
            Made::Written => &buffers.written,
        }
    }
}
