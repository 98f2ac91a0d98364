//! Rechunking in two passes: the source is read once into intermediate data, which are read once into the
//! destination.
//!
//! The intermediate data are an array of the source's data type and fill value, its elements as they are in memory,
//! in shards of which an entry of the index can be read by itself. An element that the source does not store is one
//! of its fill value there; whether a subchunk of the destination is stored is asked of the source where the elements do
//! not tell.

use super::rechunk::{Rechunk, RechunkRun};
use crate::array::fault::{ChunkFault, Fault, ObjectOf};
use crate::array::stored::StoredArray;
use crate::engine::block_reader::JobSubchunks;
use crate::engine::driver::Driver;
use crate::engine::journal::Part;
use crate::engine::listing::{list, remove_others};
use crate::engine::progress::Progress;
use crate::engine::report::ObjectReport;
use crate::engine::transfer::Transfer;
use crate::metadata::json::Json;
use crate::store::{Key, Node, StoreError};

/// The folder of the intermediate data in the destination.
pub const FOLDER: Key<'static> = Key::known(".zarrcast/staging");

/// The document of the intermediate data.
const DOCUMENT: &str = "zarr.json";

/// A job in two passes.
#[derive(Debug, Clone)]
pub struct Staged {
    /// The intermediate data, which lie in the destination's folder.
    pub staging: StoredArray,
    /// Their document.
    pub document: Json,
    /// From the source into them.
    pub first: Rechunk,
    /// From them into the destination.
    pub second: Rechunk,
}

/// The folder of the intermediate data of a destination.
pub fn folder(destination: &Node) -> Node {
    destination.below(&FOLDER)
}

/// The document of intermediate data that a destination has: of a run that has not ended.
pub fn left_document(destination: &Node) -> Result<Option<Vec<u8>>, StoreError> {
    folder(destination).read_document(DOCUMENT)
}

/// Removes intermediate data.
pub fn remove(destination: &Node) -> Result<(), StoreError> {
    let folder = folder(destination);
    if folder.exists()? {
        // First the document: without it nothing that is left is taken for whole.
        folder.remove(DOCUMENT)?;
        folder.remove_root()?;
    }
    Ok(())
}

impl Staged {
    /// Bytes of the intermediate data of a job, at most.
    pub fn bytes(&self, transfer: &Transfer) -> u64 {
        let Some(layout) = &self.staging.layout else { return 0 };
        let (subchunk, shard) = (self.staging.subchunk_shape(), self.staging.metadata.largest_chunk());
        let shards = most_overlapped(transfer, shard)
            .min(self.first_transfer(transfer).overlapped(shard).len().into());
        let subchunks = most_overlapped(transfer, subchunk).min(self.second.plan.source_subchunks());
        let subchunks = subchunks.min(shards.saturating_mul(layout.sharding.num_inner_chunks().into()));
        let bytes = subchunks.saturating_mul(layout.subchunk.decoded_bytes().into());
        let indexes = shards.saturating_mul(layout.sharding.index_bytes().into());
        u64::try_from(bytes.saturating_add(indexes)).unwrap_or(u64::MAX)
    }

    /// The amplification of whichever pass reads more than it needs.
    pub fn read_amplification(&self) -> f64 {
        self.first.plan.read_amplification().max(self.second.plan.read_amplification())
    }

    /// Whether two passes are worth the intermediate data, where one would read so much more than it needs: neither
    /// reads more than `most`, or all that they read and write is less.
    pub fn is_better_than(&self, once: f64, most: f64) -> bool {
        let (first, second) = (self.first.plan.read_amplification(), self.second.plan.read_amplification());
        self.read_amplification() <= most || first + second + 1.0 < once
    }

    /// The intermediate data in the folder of a job's destination.
    pub fn side(&self, transfer: &Transfer) -> StoredArray {
        StoredArray { node: folder(&transfer.destination.node), ..self.staging.clone() }
    }

    /// The first pass of a job.
    pub fn first_transfer(&self, transfer: &Transfer) -> Transfer {
        Transfer {
            source: transfer.source.clone(),
            destination: self.side(transfer),
            absent_element: None,
            origin: None,
        }
    }

    /// The second pass of a job, after the first.
    pub fn second_transfer(&self, transfer: &Transfer, driver: &Driver) -> Result<Transfer, Fault> {
        let source = self.side(transfer);
        let present = list(&source.node, &source.metadata, driver)?.present;
        Ok(Transfer {
            source: source.with_present(present),
            destination: transfer.destination.clone(),
            absent_element: transfer.absent_element.clone(),
            origin: Some(transfer.source.clone()),
        })
    }

    /// A fault of the first pass as one of the job: what it writes are intermediate data.
    pub fn of_first(ChunkFault { index, fault }: ChunkFault) -> ChunkFault {
        ChunkFault { index, fault: fault.moved(ObjectOf::Destination, ObjectOf::Staging) }
    }

    /// A fault of the second pass as one of the job: what it reads are intermediate data.
    pub fn of_second(ChunkFault { index, fault }: ChunkFault) -> ChunkFault {
        ChunkFault { index, fault: fault.moved(ObjectOf::Source, ObjectOf::Staging) }
    }
}

/// Boxes of `shape` elements that overlap an object of a job's source that is there, at most: a grid may be far larger
/// than what is stored.
fn most_overlapped(transfer: &Transfer, shape: &[u64]) -> u128 {
    let lengths = transfer.source.metadata.largest_chunk().iter().zip(shape);
    let counts = lengths.map(|(length, of)| u128::from(length.div_ceil(*of)) + 1);
    counts.fold(transfer.source.objects().len().into(), u128::saturating_mul)
}

/// A run of a job in two passes.
#[derive(Debug)]
pub(in crate::engine) struct StagedRun<'a> {
    /// The job.
    pub(in crate::engine) transfer: &'a Transfer,
    /// Its passes.
    pub(in crate::engine) staged: &'a Staged,
    /// The objects of the destination that are done.
    pub(in crate::engine) part: &'a Part<'a>,
}

impl StagedRun<'_> {
    /// Both passes. What is written between them is reported as temporary.
    pub(in crate::engine) fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
        fold: &mut dyn FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let StagedRun { transfer, staged, part } = self;
        let temporary = |report: &ObjectReport| ObjectReport {
            bytes_read: report.bytes_read,
            bytes_temporary: report.bytes_written,
            ..ObjectReport::default()
        };
        let (first, into) = (staged.first_transfer(transfer), part.pass("staging"));
        let begun = self.begin(&first.destination, &into, driver);
        begun.map_err(|fault| ChunkFault { index: 0, fault })?;
        fold(temporary(into.before()));
        let mut pass = Pass { transfer: &first, rechunk: &staged.first, part: &into };
        pass.run(driver, progress, &mut |report| fold(temporary(&report))).map_err(Staged::of_first)?;
        let second =
            staged.second_transfer(transfer, driver).map_err(|fault| ChunkFault { index: 0, fault })?;
        pass = Pass { transfer: &second, rechunk: &staged.second, part };
        pass.run(driver, progress, fold).map_err(Staged::of_second)
    }

    /// Writes the document of the intermediate data, by which another run knows their grid, and removes those that
    /// an earlier run has not finished.
    fn begin(&self, staging: &StoredArray, part: &Part<'_>, driver: &Driver) -> Result<(), Fault> {
        let document = self.staged.document.to_document();
        if staging.node.read_document(DOCUMENT)?.as_ref() != Some(&document) {
            staging.node.publish(DOCUMENT, &document)?;
        }
        Ok(remove_others(&staging.node, &staging.metadata, part.done(), driver)?)
    }
}

/// One of two passes.
struct Pass<'a> {
    transfer: &'a Transfer,
    rechunk: &'a Rechunk,
    part: &'a Part<'a>,
}

impl Pass<'_> {
    fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
        fold: &mut dyn FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let Pass { transfer, rechunk, part } = self;
        let subchunks = JobSubchunks::new(transfer);
        RechunkRun { transfer, rechunk, subchunks: &subchunks, part }.run(driver, progress, &mut *fold)?;
        let indexes = ObjectReport { bytes_read: subchunks.index_bytes(), ..ObjectReport::default() };
        part.finished(0..0, &indexes).map_err(|fault| ChunkFault { index: 0, fault })?;
        fold(indexes);
        Ok(())
    }
}
