//! Objects (chunks or shards) that are copied byte for byte: nothing needs to be known of the codecs that wrote them.

use crate::array::chunk_set::{ChunkSet, position};
use crate::array::fault::Result;
use crate::array::stored::Missing;
use crate::engine::ahead::Reads;
use crate::engine::journal::PassProgress;
use crate::engine::pass::Units;
use crate::engine::progress::Progress;
use crate::engine::report::ObjectReport;
use crate::engine::workers::Workers;
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

    fn object_bytes(&self) -> u64 {
        self.decoded_bytes.unwrap_or(UNKNOWN_BYTES)
    }

    /// The keys of an object of the grid: in the source, and in the destination.
    pub fn keys(&self, index: u64) -> [String; 2] {
        self.metadata.each_ref().map(|metadata| metadata.chunk_key_encoding.key(&position(index, metadata)))
    }
}

/// A copy that is under way.
pub(in crate::engine) struct CopyPass<'a> {
    pub(in crate::engine) job: &'a CopyJob,
    /// The objects that are done.
    pub(in crate::engine) progress: &'a PassProgress<'a>,
    /// Who is told of each object.
    pub(in crate::engine) listener: &'a dyn Progress,
}

impl Reads for CopyPass<'_> {
    fn source(&self) -> (&Node, u64) {
        (&self.job.nodes[0], self.job.object_bytes())
    }

    fn reads(&self, object: u64, each: &mut dyn FnMut(&str, store::Part)) {
        let [source, destination] = &self.job.nodes;
        // What one store copies by itself is not read here.
        if !self.progress.is_done(object) && !destination.copies_by_itself(source) {
            each(&self.job.keys(object)[0], store::Part::Whole);
        }
    }
}

impl Units for CopyPass<'_> {
    fn units(&self) -> ChunkSet {
        self.progress.left(self.job.objects())
    }

    fn unit(&self, index: u64, _workers: &Workers<'_>) -> Result<ObjectReport> {
        self.progress.do_once(index, || {
            let job = self.job;
            let [source, destination] = &job.nodes;
            let [from, to] = job.keys(index);
            let copied = destination.copy_from(source, (&from, &to), job.most_bytes)?;
            let Some(bytes) = copied else {
                job.missing.absent(index, (source, &from), job.present.as_ref())?;
                self.listener.advance(job.decoded_bytes.unwrap_or(0));
                return Ok(ObjectReport::default());
            };
            self.listener.advance(job.decoded_bytes.unwrap_or(bytes));
            let mut report = ObjectReport { bytes_read: bytes, ..ObjectReport::default() };
            report.wrote(index, bytes);
            Ok(report)
        })
    }
}

/// The objects of a side of a copy, as they are read.
#[derive(Debug)]
pub struct SideOfCopy<'a> {
    /// The copy.
    pub job: &'a CopyJob,
    /// 0 for the source, 1 for the destination.
    pub side: usize,
}

impl Reads for SideOfCopy<'_> {
    fn source(&self) -> (&Node, u64) {
        (&self.job.nodes[self.side], self.job.object_bytes())
    }

    fn reads(&self, object: u64, each: &mut dyn FnMut(&str, store::Part)) {
        each(&self.job.keys(object)[self.side], store::Part::Whole);
    }
}
