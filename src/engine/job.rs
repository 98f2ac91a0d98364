//! The objects (chunks or shards) of an array from SOURCE to DEST, by whichever route.

use super::block_reader::JobSubchunks;
use super::driver::Driver;
use super::journal::Part;
use super::progress::Progress;
use super::report::ObjectReport;
use super::route::measured::SubchunkWay;
use super::route::{ConvertRun, MeasuredRun, RechunkRun, Route, StagedRun, SubchunkMove};
use super::transfer::Transfer;
use crate::array::fault::ChunkFault;
use crate::array::stored::StoredArray;

/// The work on the objects of an array.
#[derive(Debug)]
pub struct ObjectJob {
    /// What is read, and what is written.
    pub transfer: Transfer,
    /// How.
    pub route: Route,
}

impl ObjectJob {
    /// Converts every object, those that are absent too where they may not stay so; reports are given to `fold` in
    /// their order. Objects of the destination are the units of `part`: those that are done are left out.
    pub fn run(
        &self,
        driver: &Driver,
        progress: &dyn Progress,
        part: &Part<'_>,
        mut fold: impl FnMut(ObjectReport),
    ) -> Result<(), ChunkFault> {
        let ObjectJob { transfer, route } = self;
        let subchunks = JobSubchunks::new(transfer);
        let run = match route {
            Route::Subchunks(conversion) => {
                SubchunkMove { transfer, conversion, source: &subchunks.source, part, progress }
                    .run(driver, &mut fold)
            }
            Route::Rechunk(rechunk) => {
                RechunkRun { transfer, rechunk, subchunks: &subchunks, part }.run(driver, progress, &mut fold)
            }
            Route::Staged(staged) => StagedRun { transfer, staged, part }.run(driver, progress, &mut fold),
            Route::Measured(measured) => {
                MeasuredRun { transfer, measured, source: &subchunks.source, part, progress }
                    .run(driver, &mut fold)
            }
            Route::Convert(conversion) => {
                ConvertRun { transfer, conversion, part, progress }.run(driver, &mut fold)
            }
        };
        let indexes = ObjectReport { bytes_read: subchunks.index_bytes(), ..ObjectReport::default() };
        let noted = part.finished(0..0, &indexes);
        fold(indexes);
        run.and(noted.map_err(|fault| ChunkFault { index: 0, fault }))
    }

    /// Whether each subchunk of the source is read by itself, and once: then those that an earlier pass kept are used.
    pub fn reads_subchunks_once(&self) -> bool {
        matches!(self.route, Route::Convert(_) | Route::Subchunks(_))
    }

    /// Whether elements of any length are put together anew.
    pub fn makes_elements(&self) -> bool {
        matches!(&self.route, Route::Measured(measured) if matches!(measured.way, SubchunkWay::Elements))
    }

    /// The intermediate data of a job in two passes.
    pub fn staging(&self) -> Option<StoredArray> {
        match &self.route {
            Route::Staged(staged) => Some(staged.side(&self.transfer)),
            _ => None,
        }
    }
}
