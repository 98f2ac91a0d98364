//! Rechunking in two passes: the source is read once into intermediate data, which are read once into the
//! destination.
//!
//! The intermediate data are an array of the source's data type and fill value, its elements as they are in memory,
//! in shards of which an entry of the index can be read by itself. An element that the source does not store is one
//! of its fill value there; whether a cell of the destination is stored is asked of the source where the elements do
//! not tell.

use super::block_reader::JobCells;
use super::chunk_set::{self, ChunkSet};
use super::driver::{ChunkFault, Driver, Fault, ObjectOf};
use super::object::{ObjectJob, ObjectReport, ObjectWay, Side};
use super::progress::Progress;
use super::rechunk::{Rechunk, RechunkRun};
use crate::metadata::json::Json;
use crate::store::{LocalNode, StoreError};

/// The folder of the intermediate data in the destination.
pub const FOLDER: &str = ".zarrcast/staging";

/// The document of the intermediate data.
const DOCUMENT: &str = "zarr.json";

/// A job in two passes.
#[derive(Debug, Clone)]
pub struct Staged {
    /// The intermediate data, which lie in the destination's folder.
    pub staging: Side,
    /// Their document.
    pub document: Json,
    /// From the source into them.
    pub first: Rechunk,
    /// From them into the destination.
    pub second: Rechunk,
}

/// The array that intermediate data are made of.
#[derive(Debug, Clone)]
pub struct Origin {
    /// It.
    pub side: Side,
    /// Its objects that are there.
    pub present: ChunkSet,
}

/// The folder of the intermediate data of a destination.
pub fn folder(destination: &LocalNode) -> LocalNode {
    LocalNode::new(destination.root().join(FOLDER))
}

/// The document of intermediate data that a destination has: of a run that has not ended.
pub fn left_document(destination: &LocalNode) -> Result<Option<Vec<u8>>, StoreError> {
    folder(destination).read_document(DOCUMENT)
}

/// Removes intermediate data, and the folder around them if nothing else is there.
pub fn remove(destination: &LocalNode) -> Result<(), StoreError> {
    let folder = folder(destination);
    if folder.exists()? {
        folder.remove_root()?;
    }
    folder.remove_empty_parent()
}

impl Staged {
    /// Bytes of the intermediate data of a job, at most.
    pub fn bytes(&self, job: &ObjectJob) -> u64 {
        let Some(layout) = &self.staging.layout else { return 0 };
        let first = self.first_job(job);
        let shards = first.overlapped(&self.staging.metadata.chunk_shape).len();
        let cells = self.second.plan.source_cells();
        let cells = cells.min(u128::from(shards) * u128::from(layout.sharding.num_inner_chunks()));
        let bytes = cells.saturating_mul(layout.cell.decoded_bytes().into());
        let indexes = u128::from(shards).saturating_mul(layout.sharding.index_bytes().into());
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
    pub fn side(&self, job: &ObjectJob) -> Side {
        Side { node: folder(&job.destination.node), ..self.staging.clone() }
    }

    /// The first pass of a job.
    pub fn first_job(&self, job: &ObjectJob) -> ObjectJob {
        ObjectJob {
            source: job.source.clone(),
            destination: self.side(job),
            way: ObjectWay::Rechunk(Box::new(self.first.clone())),
            present: job.present.clone(),
            absent_element: None,
            origin: None,
        }
    }

    /// The second pass of a job, after the first.
    pub fn second_job(&self, job: &ObjectJob, driver: &Driver) -> Result<ObjectJob, Fault> {
        let source = self.side(job);
        let present = chunk_set::list(&source.node, &source.metadata, driver)?.present;
        Ok(ObjectJob {
            source,
            destination: job.destination.clone(),
            way: ObjectWay::Rechunk(Box::new(self.second.clone())),
            present,
            absent_element: job.absent_element.clone(),
            origin: Some(Origin { side: job.source.clone(), present: job.present.clone() }),
        })
    }

    /// Both passes. What is written and read between them is reported as temporary.
    pub(super) fn run(
        &self,
        job: &ObjectJob,
        driver: &Driver,
        progress: &dyn Progress,
        fold: &mut dyn FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let unlocated = |fault| ChunkFault { index: 0, fault };
        self.begin(job).map_err(|error| unlocated(error.into()))?;
        let first = self.first_job(job);
        let pass = run_pass(&first, &self.first, driver, progress, &mut |report| {
            let bytes_temporary = report.bytes_written;
            fold(ObjectReport { written: 0, bytes_written: 0, bytes_temporary, ..report });
        });
        pass.map_err(Self::of_first)?;
        let second = self.second_job(job, driver).map_err(unlocated)?;
        let pass = run_pass(&second, &self.second, driver, progress, &mut |report| {
            fold(ObjectReport { bytes_read: 0, ..report });
        });
        pass.map_err(Self::of_second)
    }

    /// A fault of the first pass as one of the job: what it writes are intermediate data.
    pub fn of_first(ChunkFault { index, fault }: ChunkFault) -> ChunkFault {
        ChunkFault { index, fault: fault.moved(ObjectOf::Destination, ObjectOf::Staging) }
    }

    /// A fault of the second pass as one of the job: what it reads are intermediate data.
    pub fn of_second(ChunkFault { index, fault }: ChunkFault) -> ChunkFault {
        ChunkFault { index, fault: fault.moved(ObjectOf::Source, ObjectOf::Staging) }
    }

    /// Writes the document of the intermediate data, by which another run knows their grid.
    fn begin(&self, job: &ObjectJob) -> Result<(), StoreError> {
        let mut document = self.document.to_string_pretty();
        document.push('\n');
        self.side(job).node.publish(DOCUMENT, document.as_bytes())
    }
}

fn run_pass(
    job: &ObjectJob,
    rechunk: &Rechunk,
    driver: &Driver,
    progress: &dyn Progress,
    fold: &mut dyn FnMut(ObjectReport),
) -> Result<(), ChunkFault> {
    let cells = JobCells::new(job);
    RechunkRun { job, rechunk, cells: &cells }.run(driver, progress, &mut *fold)?;
    let bytes_read = cells.index_bytes();
    fold(ObjectReport { bytes_read, ..ObjectReport::default() });
    Ok(())
}
