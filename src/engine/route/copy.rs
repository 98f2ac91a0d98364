//! Objects (chunks or shards) that are copied byte for byte: nothing needs to be known of the codecs that wrote them.

use crate::array::chunk_set::{ChunkSet, position};
use crate::array::fault::ChunkFault;
use crate::array::stored::Missing;
use crate::engine::ahead::Reads;
use crate::engine::driver::Driver;
use crate::engine::journal::PassProgress;
use crate::engine::progress::Progress;
use crate::engine::report::ObjectReport;
use crate::metadata::array::ArrayMetadata;
use crate::store::{self, Node};

/// Bytes that an object is taken to have where nothing is known of it.
const UNKNOWN_BYTES: u64 = 1 << 20;

/// The copy of every stored object of an array.
#[derive(Debug, Clone)]
pub struct CopyJob {
    /// Where they lie, and where they go.
    pub nodes: [Node; 2],
    /// The metadata of both: one grid, with keys that may be others.
    pub metadata: [ArrayMetadata; 2],
    /// The objects that are there; `None` where that is not known, and each is looked for by its key.
    pub present: Option<ChunkSet>,
    /// Those that were found absent, where it was not known.
    pub missing: Missing,
    /// Bytes that an object has at most: `u64::MAX` where a codec is unknown.
    pub most_bytes: u64,
    /// Bytes of a decoded object, by which progress is told; `None` where elements have no fixed size: then it is told by
    /// what is stored.
    pub decoded_bytes: Option<u64>,
}

impl CopyJob {
    /// The objects that are there; all of the grid where that is not known.
    pub fn objects(&self) -> ChunkSet {
        self.present.clone().unwrap_or_else(|| ChunkSet::full(self.metadata[0].num_chunks()))
    }

    /// The keys of an object of the grid: in the source, and in the destination.
    pub fn keys(&self, index: u64) -> [String; 2] {
        self.metadata.each_ref().map(|metadata| metadata.chunk_key_encoding.key(&position(index, metadata)))
    }

    /// Copies every object.
    pub(in crate::engine) fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
        part: &PassProgress<'_>,
        fold: &mut dyn FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let [source, destination] = &self.nodes;
        let copy = |(): &mut (), index| {
            part.do_once(index, || {
                let [from, to] = self.keys(index);
                let copied = destination.copy_from(source, (&from, &to), self.most_bytes)?;
                let Some(bytes) = copied else {
                    // What the store refuses counts as absent where that is asked for.
                    if self.present.is_some() && !source.takes_refused_for_absent() {
                        return Err(source.vanished(&from).into());
                    }
                    if self.present.is_none() {
                        self.missing.note(index);
                    }
                    progress.advance(self.decoded_bytes.unwrap_or(0));
                    return Ok(ObjectReport::default());
                };
                progress.advance(self.decoded_bytes.unwrap_or(bytes));
                let mut report = ObjectReport { bytes_read: bytes, ..ObjectReport::default() };
                report.wrote(index, bytes);
                Ok(report)
            })
        };
        // What one store copies by itself is not read here.
        let reads = SideOfCopy { job: self, side: 0, part: Some(part) };
        let reads = [&reads as &dyn Reads];
        let reads = if destination.copies_by_itself(source) { &[][..] } else { &reads };
        driver.run_ahead(&part.left(self.objects()), reads, copy, |_, report| fold(report))
    }
}

/// The objects of a side of a copy, as they are read.
#[derive(Debug)]
pub struct SideOfCopy<'a> {
    /// The copy.
    pub job: &'a CopyJob,
    /// 0 for the source, 1 for the destination.
    pub side: usize,
    /// The objects that are not read, since they are done.
    pub part: Option<&'a PassProgress<'a>>,
}

impl Reads for SideOfCopy<'_> {
    fn source(&self) -> &Node {
        &self.job.nodes[self.side]
    }

    fn object_bytes(&self) -> u64 {
        self.job.decoded_bytes.unwrap_or(UNKNOWN_BYTES)
    }

    fn reads(&self, object: u64, each: &mut dyn FnMut(&str, store::Part)) {
        if !self.part.is_some_and(|part| part.is_done(object)) {
            each(&self.job.keys(object)[self.side], store::Part::Whole);
        }
    }
}
