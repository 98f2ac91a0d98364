//! Objects (chunks or shards) that are copied byte for byte: nothing needs to be known of the codecs that wrote them.

use crate::array::chunk_set::{ChunkSet, position};
use crate::array::fault::ChunkFault;
use crate::engine::driver::Driver;
use crate::engine::journal::Part;
use crate::engine::progress::Progress;
use crate::engine::report::ObjectReport;
use crate::metadata::array::ArrayMetadata;
use crate::store::Node;

/// The copy of every stored object of an array.
#[derive(Debug, Clone)]
pub struct CopyJob {
    /// Where they lie, and where they go.
    pub nodes: [Node; 2],
    /// The metadata of both: one grid, with keys that may be others.
    pub metadata: [ArrayMetadata; 2],
    /// The objects that are there.
    pub present: ChunkSet,
    /// Bytes that an object has at most: `u64::MAX` where a codec is unknown.
    pub most_bytes: u64,
    /// Bytes of a decoded object, by which progress is told; `None` where elements have no fixed size: then it is told by
    /// what is stored.
    pub decoded_bytes: Option<u64>,
}

impl CopyJob {
    /// The keys of an object of the grid: in the source, and in the destination.
    pub fn keys(&self, index: u64) -> [String; 2] {
        self.metadata.each_ref().map(|metadata| metadata.chunk_key_encoding.key(&position(index, metadata)))
    }

    /// Copies every object.
    pub(in crate::engine) fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
        part: &Part<'_>,
        fold: &mut dyn FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let [source, destination] = &self.nodes;
        let copy = |(): &mut (), index| {
            part.do_once(index, || {
                let [from, to] = self.keys(index);
                let bytes = destination.copy_from(source, (&from, &to), self.most_bytes)?;
                progress.advance(self.decoded_bytes.unwrap_or(bytes));
                Ok(ObjectReport { written: 1, bytes_read: bytes, bytes_written: bytes, ..Default::default() })
            })
        };
        driver.run(&self.present, copy, |_, report| fold(report))
    }
}
