//! Rechunking in two passes: the source is read once into intermediate data, which are read once into the
//! destination.
//!
//! The intermediate data are an array of the source's data type and fill value, its elements as they are in memory,
//! in shards of which an entry of the index can be read by itself. An element that the source does not store is one
//! of its fill value there; whether a subchunk of the destination is stored is asked of the source where the elements do
//! not tell.

use serde::{Deserialize, Serialize};

use super::rechunk::Rechunk;
use crate::array::{ChunkFault, Fault, ObjectOf, Result, StoredArray};
use crate::engine::{
    Driver, ObjectReport, Pass, PassProgress, Told, Transfer, bytes_of, digest, list_with_sizes, remove_unfinished,
};
use crate::metadata::Json;
use crate::store::{Key, Node, StoreError};

/// The folder of the intermediate data in a destination that keeps them itself.
const FOLDER: Key<'static> = Key::known(".zarrcast/staging");

/// The document of the intermediate data.
const DOCUMENT: &str = "zarr.json";

/// A job in two passes.
#[derive(Debug, Clone)]
pub struct Staged {
    /// The intermediate data.
    pub staging: StoredArray,
    /// True if they lie outside of the destination.
    pub is_outside: bool,
    /// Their document.
    pub document: Json,
    /// From the source into them.
    pub first: Rechunk,
    /// From them into the destination.
    pub second: Rechunk,
}

/// The first pass, whose units are the objects of the intermediate data, as it is named in a journal.
pub const FIRST_PASS: &str = "staging";

/// The intermediate data that a first pass has written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intermediate {
    /// Objects of the intermediate data.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Digits of the name of a folder: enough that no two destinations share one.
const DIGITS: usize = 32;

/// Where the intermediate data of a destination lie, and whether that is outside of it: where it lies behind a network. Each
/// run finds those of the one before.
pub fn folder(destination: &Node) -> (Node, bool) {
    let name = digest([&*destination.identity()]);
    let scratch = destination.scratch(&name[..DIGITS]);
    (scratch.unwrap_or_else(|| folder_inside(destination)), destination.abilities().is_remote)
}

/// Where the intermediate data of a destination lie that keeps them itself.
pub fn folder_inside(destination: &Node) -> Node {
    destination.below(&FOLDER)
}

/// The document of intermediate data, where a run has left some.
pub fn left_document(folder: &Node) -> Result<Option<Vec<u8>>, StoreError> {
    folder.read_document(DOCUMENT)
}

impl Staged {
    /// Bytes of the intermediate data of a job, at most.
    pub fn bytes(&self, transfer: &Transfer) -> u64 {
        let Some(layout) = &self.staging.layout else { return 0 };
        let (subchunk, shard) = (self.staging.subchunk_shape(), self.staging.metadata.grid.largest());
        let first = self.first_transfer(transfer);
        let overlapped = first.overlapped_among(&first.grid_of(shard), None);
        let shards = most_overlapped(transfer, shard).min(overlapped.len().into());
        let subchunks = most_overlapped(transfer, subchunk).min(self.second.plan.source_subchunks());
        let subchunks = subchunks.min(shards.saturating_mul(layout.sharding.num_inner_chunks().into()));
        let bytes = subchunks.saturating_mul(layout.subchunk.decoded_bytes().into());
        let indexes = shards.saturating_mul(layout.sharding.index_bytes().into());
        u64::try_from(bytes.saturating_add(indexes)).unwrap_or(u64::MAX)
    }

    /// True if two passes are worth the intermediate data, where one would read so much more than it needs: neither
    /// reads more than `most`, or all that they read and write is less.
    pub fn is_better_than(&self, once: f64, most: f64) -> bool {
        let (first, second) = (self.first.plan.read_amplification(), self.second.plan.read_amplification());
        first.max(second) <= most || first + second + 1.0 < once
    }

    /// Removes the intermediate data.
    pub fn remove(&self) -> Result<(), StoreError> {
        let folder = &self.staging.node;
        if folder.exists()? {
            // First the document: without it nothing that is left is taken for whole.
            folder.remove(DOCUMENT)?;
            folder.remove_root()?;
        }
        Ok(())
    }

    /// The first pass of a job.
    pub fn first_transfer(&self, transfer: &Transfer) -> Transfer {
        Transfer { destination: self.staging.clone(), absent_element: None, origin: None, ..transfer.clone() }
    }

    /// The second pass of a job, after the first. Where it is known what that wrote, it is counted: something
    /// else that removed any of it, as folders for temporary files are cleared, would make fill values of what it held.
    pub fn second_transfer(&self, job: &Transfer, between: Option<Intermediate>, driver: &Driver) -> Result<Transfer> {
        let source = self.staging.clone();
        let listing = list_with_sizes(&source.node, &source.metadata, driver)?;
        let found = Intermediate { objects: listing.present.len(), bytes: listing.present_bytes };
        if let Some(Intermediate { objects, bytes }) = between.filter(|between| *between != found) {
            let (name, Intermediate { objects: there, bytes: left }) = (source.node.name(), found);
            return Err(Fault::Other(format!(
                "{bytes} bytes of intermediate data were written to `{name}` in {objects} objects, but {left} in {there} are \
            there: another program deletes them"
            )));
        }
        let (source, origin) = (source.with_present(Some(&listing.present)), Some(job.source.clone()));
        Ok(Transfer { source, origin, ..job.clone() })
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
    let lengths = transfer.source.metadata.grid.largest().iter().zip(shape);
    let counts = lengths.map(|(length, of)| u128::from(length.div_ceil(*of)) + 1);
    counts.fold(transfer.source.objects().len().into(), u128::saturating_mul)
}

impl Staged {
    /// The first pass; what it and the runs that it goes on after have written, which is reported as temporary.
    pub(crate) fn run_first(
        &self,
        transfer: &Transfer,
        (part, progress): Told<'_>,
        driver: &Driver,
        fold: &mut dyn FnMut(ObjectReport),
    ) -> Result<Intermediate, ChunkFault> {
        let into = self.begin(part.other(FIRST_PASS), driver);
        let into = into.map_err(|fault| ChunkFault { index: 0, fault })?;
        let mut between = Intermediate::default();
        let mut count = |report: &ObjectReport| {
            between.objects += report.written;
            between.bytes += report.bytes_written;
            let (bytes_read, bytes_temporary) = (report.bytes_read, report.bytes_written);
            fold(ObjectReport { bytes_read, bytes_temporary, ..ObjectReport::default() });
        };
        count(&into.before);
        let first = self.first_transfer(transfer);
        let pass = Pass::new(&first, &self.first, (&into, progress));
        pass.run(driver, &mut |report| count(&report)).map_err(Staged::of_first)?;
        Ok(between)
    }

    /// The second pass, after the first, which wrote so much.
    pub(crate) fn run_second(
        &self,
        transfer: &Transfer,
        between: Intermediate,
        told: Told<'_>,
        driver: &Driver,
        fold: &mut dyn FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let second = self.second_transfer(transfer, Some(between), driver);
        let second = second.map_err(|fault| ChunkFault { index: 0, fault })?;
        Pass::new(&second, &self.second, told).run(driver, fold).map_err(Staged::of_second)
    }

    /// Writes the document of the intermediate data, by which another run knows their grid, and removes those that
    /// an earlier run has not finished. Where what it has finished is not all there, as on another machine, the pass begins
    /// anew, as far as it is this run's.
    fn begin<'p>(&self, part: PassProgress<'p>, driver: &Driver) -> Result<PassProgress<'p>> {
        let StoredArray { node, metadata, .. } = &self.staging;
        if self.is_outside {
            node.make_scratch()?;
        }
        let document = self.document.to_document();
        let is_known = left_document(node)?.as_ref() == Some(&document);
        if !is_known && part.assigned.is_none() {
            node.publish(DOCUMENT, &document)?;
        } else if !is_known && !node.publish_new(DOCUMENT, &document)? {
            // Another run may have made it meanwhile.
            if left_document(node)?.as_ref() != Some(&document) {
                let name = node.name();
                return Err(Fault::Other(format!(
                    "the intermediate data at `{name}` belong to another job: remove them"
                )));
            }
        }
        remove_unfinished(node, metadata, &part, driver)?;
        if part.done.is_empty() {
            return Ok(part);
        }
        let found = match &part.assigned {
            Some(_) => bytes_of(node, metadata, &part.done, driver)?,
            None => list_with_sizes(node, metadata, driver)?.present_bytes,
        };
        if is_known && found == part.before.bytes_written {
            return Ok(part);
        }
        let part = part.anew()?;
        remove_unfinished(node, metadata, &part, driver)?;
        Ok(part)
    }
}
