//! Rechunking in two passes. The first pass reads the source once and writes intermediate data. The second pass reads
//! these once and writes the destination.
//!
//! The intermediate data are an array with the source's data type and fill value, without encoding. They are in shards
//! whose index entries can be read one by one. Absent elements of the source become fill values there. If the elements
//! do not show whether a subchunk of the destination is stored, the source is checked.

use serde::{Deserialize, Serialize};

use super::rechunk::Rechunk;
use crate::array::{ChunkFault, Fault, ObjectOf, Result, StoredArray};
use crate::engine::{Driver, PassProgress, Transfer, bytes_of, digest, list_with_sizes, remove_unfinished};
use crate::metadata::Json;
use crate::store::{Key, Node, StoreError};

/// Folder of the intermediate data inside a destination.
const FOLDER: Key<'static> = Key::known(".zarrcast/staging");

/// Metadata document of the intermediate data.
const DOCUMENT: &str = "zarr.json";

/// Job in two passes.
#[derive(Debug, Clone)]
pub struct Staged {
    /// The intermediate data.
    pub staging: StoredArray,
    /// True if they are outside of the destination.
    pub is_outside: bool,
    /// Their metadata document.
    pub document: Json,
    /// First pass: from the source to the intermediate data.
    pub first: Rechunk,
    /// Second pass: from the intermediate data to the destination.
    pub second: Rechunk,
}

/// Name of the first pass in a journal. Its units are the objects of the intermediate data.
pub const FIRST_PASS: &str = "staging";

/// Amount of intermediate data after the first pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intermediate {
    /// Number of objects.
    pub objects: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Number of digits in the name of a folder. They are enough to make it unique for each destination.
const DIGITS: usize = 32;

/// Returns the folder for intermediate data, and true if it is outside of the destination. That is so for remote
/// destinations. The folder is the same for each run.
pub fn folder(destination: &Node) -> (Node, bool) {
    let name = digest([&*destination.identity()]);
    let scratch = destination.scratch(&name[..DIGITS]);
    (scratch.unwrap_or_else(|| folder_inside(destination)), destination.capabilities().is_remote)
}

/// Returns the folder for intermediate data inside a destination.
pub fn folder_inside(destination: &Node) -> Node {
    destination.below(&FOLDER)
}

/// Returns the metadata document of existing intermediate data, or `None` if there are none.
pub fn left_document(folder: &Node) -> Result<Option<Vec<u8>>, StoreError> {
    folder.read_document(DOCUMENT)
}

impl Staged {
    /// Returns the largest possible size of the intermediate data in bytes.
    pub fn bytes(&self, transfer: &Transfer) -> u64 {
        let Some(layout) = &self.staging.layout else { return 0 };
        let (subchunk, shard) = (self.staging.subchunk_shape(), self.staging.metadata.grid.largest());
        let first = self.first_transfer(transfer);
        let overlapped = first.overlapped_among(&self.staging.metadata.grid, None);
        let shards = most_overlapped(transfer, shard).min(overlapped.len().into());
        let subchunks = most_overlapped(transfer, subchunk).min(self.second.plan.source_subchunks());
        let subchunks = subchunks.min(shards.saturating_mul(layout.sharding.num_inner_chunks().into()));
        let bytes = subchunks.saturating_mul(layout.subchunk.decoded_bytes().into());
        let indexes = shards.saturating_mul(layout.sharding.index_bytes.into());
        u64::try_from(bytes.saturating_add(indexes)).unwrap_or(u64::MAX)
    }

    /// Returns true if two passes are better than one pass that reads `once` times the source. Either neither pass
    /// reads more than `most` times its input, or both together move fewer bytes.
    pub fn is_better_than(&self, once: f64, most: f64) -> bool {
        let (first, second) = (self.first.plan.read_amplification(), self.second.plan.read_amplification());
        first.max(second) <= most || first + second + 1.0 < once
    }

    /// Removes the intermediate data.
    pub fn remove(&self) -> Result<(), StoreError> {
        let folder = &self.staging.node;
        if folder.exists()? {
            // The document is removed first. Without it the rest does not count as complete.
            folder.remove(DOCUMENT)?;
            folder.remove_root()?;
        }
        Ok(())
    }

    /// Returns the transfer of the first pass.
    pub fn first_transfer(&self, transfer: &Transfer) -> Transfer {
        Transfer { destination: self.staging.clone(), absent_element: None, origin: None, ..transfer.clone() }
    }

    /// Returns the transfer of the second pass, after the first. With `between`, fails if intermediate data are
    /// missing. Programs that clean temporary folders may have removed some, which would become fill values.
    pub fn second_transfer(&self, job: &Transfer, between: Option<Intermediate>, driver: &Driver) -> Result<Transfer> {
        let source = self.staging.clone();
        let listing = list_with_sizes(&source.node, &source.metadata, driver)?;
        let found = Intermediate { objects: listing.present.len(), bytes: listing.present_bytes };
        if let Some(Intermediate { objects, bytes }) = between.filter(|between| *between != found) {
            let (name, Intermediate { objects: there, bytes: left }) = (source.node.name(), found);
            return Err(Fault::Other(format!(
                "{bytes} bytes of intermediate data were written to `{name}` in {objects} objects, but {left} in {there} \
                exist: another program deletes them"
            )));
        }
        let (source, origin) = (source.with_present(Some(&listing.present)), Some(job.source.clone()));
        Ok(Transfer { source, origin, ..job.clone() })
    }

    /// Converts a fault of the first pass to one of the job. Its destination is the intermediate data.
    pub fn of_first(ChunkFault { index, fault }: ChunkFault) -> ChunkFault {
        ChunkFault { index, fault: fault.moved(ObjectOf::Destination, ObjectOf::Staging) }
    }

    /// Converts a fault of the second pass to one of the job. Its source is the intermediate data.
    pub fn of_second(ChunkFault { index, fault }: ChunkFault) -> ChunkFault {
        ChunkFault { index, fault: fault.moved(ObjectOf::Source, ObjectOf::Staging) }
    }

    /// Writes the document of the intermediate data, which another run needs for their grid. Removes unfinished
    /// objects. If finished ones are missing, as on another machine, restarts this run's part of the pass.
    pub(in crate::engine) fn begin<'p>(&self, part: PassProgress<'p>, driver: &Driver) -> Result<PassProgress<'p>> {
        let StoredArray { node, metadata, .. } = &self.staging;
        if self.is_outside {
            node.make_scratch()?;
        }
        let document = self.document.to_document();
        let is_known = left_document(node)?.as_ref() == Some(&document);
        if !is_known && part.assigned.is_none() {
            node.publish(DOCUMENT, &document)?;
        } else if !is_known
            && !node.publish_new(DOCUMENT, &document)?
            // Another run may have created it meanwhile.
            && left_document(node)?.as_ref() != Some(&document)
        {
            let name = node.name();
            return Err(Fault::Other(format!("the intermediate data at `{name}` belong to another job: remove them")));
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
        // No object of this run counts as finished any more, so this removes all of them.
        remove_unfinished(node, metadata, &part, driver)?;
        Ok(part)
    }
}

/// Returns the largest number of boxes of `shape` elements that can overlap existing source objects. The grid may be
/// far larger than the stored data.
fn most_overlapped(transfer: &Transfer, shape: &[u64]) -> u128 {
    let lengths = transfer.source.metadata.grid.largest().iter().zip(shape);
    // A box need not begin where an object begins, which then overlaps one box more.
    let counts = lengths.map(|(length, of)| u128::from(length.div_ceil(*of)) + 1);
    counts.fold(transfer.source.objects().len().into(), u128::saturating_mul)
}
