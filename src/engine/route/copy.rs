//! Two kinds of copies. Objects are copied byte for byte, whatever their codecs. Subchunks that are the same on both
//! sides are copied encoded, or converted one by one. They are inner chunks, or chunks without shards. They may be in
//! different objects than in the source.

use std::mem::take;

use crate::array::{
    ChunkFault, ChunkSet, Fault, Missing, ReadBuffers, Result, at, each_piece_of, filled, position, unbound,
};
use crate::codec::{ChainFault, Conversion, Converted, ForShape, PartlyDecoded, as_index};
use crate::engine::{
    Buffers, ChunkResult, Encoded, ObjectReport, Pass, PassContext, PrefetchPlan, Progress, Put, Reports,
    SubchunkWriter, Transfer, Workers, all_in_order, reads_in,
};
use crate::metadata::ArrayMetadata;
use crate::store::{Node, Part};

impl Pass<'_, Conversion> {
    /// Converts every object, including absent ones if they must not stay absent.
    pub(crate) fn run(&self, fold: &mut Reports<'_>) -> ChunkResult {
        let Transfer { source, destination, .. } = self.transfer;
        let objects = self.transfer.overlapped_among(&destination.metadata.grid, self.progress.assigned.as_ref());
        let reads = PrefetchPlan::of_array(source, |object, each| {
            if !self.progress.is_done(object) {
                reads_in(self.transfer, &destination.region_of(object), each);
            }
        });
        // If there are too few shards for all threads, they share the subchunks of each.
        let are_few = destination.layout.is_some() && self.driver.outnumbers(&objects);
        let work = |workers: &Workers<'_>, object| self.progress.do_once(object, || self.object(object, workers));
        self.ended(self.driver.run_units(&objects, &[reads], are_few, work, |_, report| fold(report)), fold)
    }

    fn object(&self, object: u64, workers: &Workers<'_>) -> Result<ObjectReport> {
        let Transfer { source, destination, absent_element, .. } = self.transfer;
        let mut writer = SubchunkWriter::new(destination, object);
        // Most inner chunks of a large shard may be absent. Those are not distributed to the threads.
        let may_be_there = |subchunk: &[u64]| {
            destination.layout.is_none()
                || absent_element.is_some()
                || source.may_hold(source.object_of(&self.transfer.source_subchunk(subchunk)))
        };
        let subchunks = all_in_order(destination, object).filter(|subchunk| may_be_there(subchunk));
        let bytes = source.subchunk_chain().decoded_bytes();
        writer.write_each(subchunks, workers, &|subchunk, buffers, put| {
            self.subchunk(subchunk, buffers, put)?;
            self.listener.advance(bytes);
            Ok(())
        })?;
        writer.report += take(&mut workers.first().report);
        writer.finish()
    }

    /// Converts one subchunk and calls `put` with it, unless it is absent from the destination.
    fn subchunk(&self, position: &[u64], buffers: &mut Buffers, put: &mut Put<'_>) -> Result<()> {
        let source = &self.transfer.source;
        let subchunk = &*self.transfer.source_subchunk(position);
        let region = source.subchunk_grid.region_of(subchunk);
        let has_one_shape = source.layout.is_some() || source.is_regular();
        let own = || self.route.for_shape(&region.shape).map_err(|error| unbound(&error));
        let conversion = &*if has_one_shape { ForShape::Same(self.route) } else { own()? };
        let valid = source.cropped(&region);
        if valid.as_ref().is_some_and(|valid| valid.contains(&0)) {
            return Ok(()); // The whole subchunk is beyond the edge of the array.
        }
        // The cache contains decoded bytes, but a copy needs the encoded ones.
        let kept = if conversion.is_copy() { None } else { source.cache.take(subchunk) };
        // A chunk at the edge has elements beyond the array, which must not count in the figures.
        let can_stream = kept.is_none() && source.layout.is_none() && valid.is_none();
        let converted = if let Some(sizes) = conversion.streams().filter(|_| can_stream) {
            let streamed = self.stream(conversion, sizes, subchunk, buffers);
            streamed.map_err(|fault| fault.of_source(source.object_of(subchunk)))?
        } else if self.is_stored(subchunk, kept.is_some(), &mut buffers.source)? {
            let Buffers { source: ReadBuffers { bytes: read, .. }, written, conversion: work, report, .. } = buffers;
            let chain = &conversion.source;
            let (chunk, bytes_read) = match &kept {
                Some(kept) => (PartlyDecoded { bytes: &kept.bytes, index: chain.bytes_index() }, kept.stored),
                None => (PartlyDecoded { bytes: read, index: chain.codecs().len() }, read.len() as u64),
            };
            report.bytes_read += bytes_read;
            let figures = &mut report.figures;
            let is_selected = valid.is_some() && source.metadata.cuts(&region);
            if conversion.is_copy() && !is_selected {
                return put(Encoded::whole(read));
            }
            let converted = conversion.run(chunk, (valid.as_deref(), is_selected), written, work, figures);
            Some(converted.map_err(|fault| at(fault, &region.start).of_source(source.object_of(subchunk)))?)
        } else {
            None
        };
        match converted.map_or_else(|| self.fill(conversion, position, buffers), Ok)? {
            Converted::Written => put(Encoded::whole(&buffers.written)),
            Converted::Empty => Ok(()),
        }
    }

    /// Reads an encoded subchunk unless it is cached. Returns false if it is absent.
    fn is_stored(&self, subchunk: &[u64], is_kept: bool, read: &mut ReadBuffers) -> Result<bool> {
        if !is_kept {
            return self.source.read(subchunk, read);
        }
        // The index of its shard counts as read, cached or not.
        self.source.holds(subchunk, read).map(|_| true)
    }

    /// Encodes a subchunk full of `absent_element`, if absent subchunks must not stay absent.
    fn fill(&self, conversion: &Conversion, position: &[u64], buffers: &mut Buffers) -> Result<Converted> {
        let Some(absent) = &self.transfer.absent_element else { return Ok(Converted::Empty) };
        let (destination, chain) = (&self.transfer.destination, &conversion.destination);
        let Buffers { written, conversion: work, .. } = buffers;
        let encoded = conversion.encode_changed(&filled(absent, chain), written, &mut work.workspace);
        encoded.map(|()| Converted::Written).map_err(|fault| {
            at(fault, &destination.subchunk_grid.start_of(position)).of_destination(destination.object_of(position))
        })
    }

    /// Converts an object in pieces during the read, so that each piece stays in the level 2 cache. Returns `None` if
    /// it is absent.
    fn stream(
        &self,
        conversion: &Conversion,
        (source_size, target_size): (usize, usize),
        subchunk: &[u64],
        buffers: &mut Buffers,
    ) -> Result<Option<Converted>> {
        let source = &self.transfer.source;
        let Some(mut reader) = source.open_object(source.object_of(subchunk))? else { return Ok(None) };
        let (expected, found) = (conversion.source.encoded_bytes(), reader.length());
        if expected != found {
            return Err(Fault::Chain(ChainFault::of_stored_size(&reader, expected)));
        }
        let Buffers { source: ReadBuffers { bytes: read, .. }, written, conversion: work, report, .. } = buffers;
        written.resize(as_index(expected) / source_size * target_size, 0);
        each_piece_of(&mut reader, expected, read, |offset, piece| {
            let target = as_index(offset) / source_size * target_size;
            let target = &mut written[target..target + piece.len() / source_size * target_size];
            let converted = conversion.run_piece(piece, offset, target, work, &mut report.figures);
            converted.map_err(|fault| at(fault, &source.subchunk_grid.start_of(subchunk)))
        })?;
        report.bytes_read += expected;
        Ok(Some(if conversion.is_streamed_empty(written) { Converted::Empty } else { Converted::Written }))
    }
}

/// Assumed size of an object if nothing is known, in bytes.
const UNKNOWN_BYTES: u64 = 1 << 20;

/// Copy of every stored object of an array.
#[derive(Debug, Clone)]
pub struct CopyJob {
    /// Source and destination.
    pub nodes: [Node; 2],
    /// Metadata of both. They have the same grid, but their keys may differ.
    pub metadata: [ArrayMetadata; 2],
    /// Existing objects. `None` means that they are not known, and each key is tried.
    pub present: Option<ChunkSet>,
    /// Objects that reads found absent, if `present` is `None`.
    pub missing: Missing,
    /// Largest size of an object in bytes. It is `u64::MAX` if a codec is unknown.
    pub most_bytes: u64,
    /// Size of a decoded object in bytes, the unit of progress. `None` means that elements have variable size. Progress
    /// is then counted in stored bytes.
    pub decoded_bytes: Option<u64>,
}

impl CopyJob {
    /// Returns the existing objects, or the whole grid if they are not known.
    pub fn objects(&self) -> ChunkSet {
        self.present.clone().unwrap_or_else(|| ChunkSet::full(self.metadata[0].num_chunks()))
    }

    /// Returns the reads of the objects of one side, 0 for the source, except those that `is_read` is false for.
    pub fn reads_of<'a>(&'a self, side: usize, is_read: impl Fn(u64) -> bool + Sync + 'a) -> PrefetchPlan<'a> {
        PrefetchPlan::new(&self.nodes[side], self.decoded_bytes.unwrap_or(UNKNOWN_BYTES), move |object, each| {
            if is_read(object) {
                each(&self.keys(object)[side], Part::Whole);
            }
        })
    }

    /// Returns the keys of an object of the grid in the source and in the destination.
    pub fn keys(&self, index: u64) -> [String; 2] {
        self.metadata.each_ref().map(|metadata| metadata.chunk_key_encoding.key(&position(index, metadata)))
    }

    /// Copies every object. Reports the progress per object.
    pub(crate) fn run(&self, (driver, progress, listener): PassContext<'_>, fold: &mut Reports<'_>) -> ChunkResult {
        let [source, destination] = &self.nodes;
        // Objects that the store copies itself are not read here.
        let reads = self.reads_of(0, |object| !progress.is_done(object) && !destination.copies_server_side(source));
        let work = |(): &mut (), index| progress.do_once(index, || self.copy(index, listener));
        let run = driver.run_ahead(&progress.left(self.objects()), &[reads], work, |_, report| fold(report));
        run.map_err(ChunkFault::of_destination)
    }

    fn copy(&self, index: u64, listener: &dyn Progress) -> Result<ObjectReport> {
        let [source, destination] = &self.nodes;
        let [from, to] = self.keys(index);
        let copied = destination.copy_from(source, (&from, &to), self.most_bytes)?;
        let Some(bytes) = copied else {
            self.missing.absent(index, (source, &from), self.present.as_ref())?;
            listener.advance(self.decoded_bytes.unwrap_or(0));
            return Ok(ObjectReport::default());
        };
        listener.advance(self.decoded_bytes.unwrap_or(bytes));
        let mut report = ObjectReport { bytes_read: bytes, ..ObjectReport::default() };
        report.wrote(index, bytes);
        Ok(report)
    }
}
