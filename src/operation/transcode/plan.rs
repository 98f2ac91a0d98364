//! What will be done, settled and proved before DEST is touched.

mod change;
mod check;
mod described;
pub(super) mod lossy_filter;
mod normalize;
pub(super) mod planner;
mod reader_support;
mod regrid;
pub(super) mod route;
mod staging;
pub(super) mod unpack;
mod work;

use self::described::Described;
use super::budget::{Memory, of_chunks, unit_bytes};
use super::format::consolidate::NodeDocuments;
use crate::array::chunk_set;
use crate::codec::conversion::ValueChange;
use crate::diagnostic::Diagnostic;
use crate::engine::job::ObjectJob;
use crate::engine::listing::Listing;
use crate::engine::plan::StagingShape;
use crate::engine::route::Route;
use crate::engine::route::rechunk::Rechunk;
use crate::operation::budget::{BASE_BYTES, Budget};
use crate::operation::draft::Planned;
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::operation::quantize::quantization::Quantization;
use crate::operation::transcode_result::RouteName;
use crate::store::Node;

/// A settled plan.
#[derive(Debug)]
pub(super) struct Plan {
    /// The array as it is.
    pub source: OpenedArray,
    /// Where it will be.
    pub target: Node,
    /// The array as it will be.
    pub destination: Planned,
    /// Its keys.
    pub listing: Listing,
    /// The work on the objects; `None` where they are copied as they are, which needs no chain.
    pub job: Option<ObjectJob>,
    /// How `--verify` reads SOURCE, where DEST's objects are others.
    pub comparison: Option<Rechunk>,
    /// What happens to the values.
    pub change: ValueChange,
    /// Whether no chain was given that may round: `--verify` then holds DEST to the very values that it is to have.
    pub is_exact: bool,
    /// The quantisation, where one is asked for and its range is known.
    pub quantization: Option<Quantization>,
    /// DEST's documents, in the order in which they are written: the one that makes it open is the last.
    pub documents: NodeDocuments,
    /// DEST as these describe it; `None` where they and the objects are copied as they are.
    pub described: Option<Described>,
    /// What the user should know.
    pub warnings: Vec<Diagnostic>,
}

/// What a plan that was sealed says of an array, so that it is settled again without a pass over the data.
#[derive(Debug, Clone)]
pub(in crate::operation) struct Settled {
    /// The quantisation, where its values are quantised.
    pub quantization: Option<Quantization>,
    /// How it is cut, where it is done block by block.
    pub blocks: Option<Blocks>,
}

/// How an array is cut where it is done block by block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::operation) struct Blocks {
    /// Elements of a block along each dimension, for each pass.
    pub shapes: Vec<Vec<u64>>,
    /// The grid of the intermediate data of two passes.
    pub staging: Option<StagingShape>,
}

impl Plan {
    /// As many threads as the budget has room for; an error where there is none for a single one.
    pub(super) fn allot(&self, budget: Budget, verifies: bool) -> Result<Memory, OperationError> {
        // Where blocks are compared their plan has what that takes.
        let verifies = verifies && self.rechunks().next().is_none();
        let quantization = self.quantization.as_ref();
        let unit = self.job.as_ref().map_or(BASE_BYTES, |job| unit_bytes(job, quantization, verifies));
        let allowed =
            budget.threads_of(unit, || of_chunks(&self.destination.pipeline.innermost_chunk_shape()))?;
        // Blocks are scheduled by their plan, for as many threads as it has room for.
        let schedules = || self.rechunks().map(|rechunk| rechunk.schedule);
        let threads = schedules().fold(allowed, |threads, s| threads.min(s.threads));
        let blocks = schedules().map(|schedule| schedule.bytes).max().unwrap_or(0);
        Ok(Memory { threads, bytes: unit.saturating_mul(threads as u64).max(blocks) })
    }

    /// How the array is cut, where it is done block by block.
    pub(super) fn blocks(&self) -> Option<Blocks> {
        let shape = |rechunk: &Rechunk| rechunk.plan.block_shape().to_vec();
        match &self.job.as_ref()?.route {
            Route::Rechunk(rechunk) => Some(Blocks { shapes: vec![shape(rechunk)], staging: None }),
            Route::Staged(staged) => Some(Blocks {
                shapes: vec![shape(&staged.first), shape(&staged.second)],
                staging: Some(StagingShape {
                    subchunk: staged.staging.subchunk_shape().to_vec(),
                    shard: staged.staging.metadata.largest_chunk().to_vec(),
                }),
            }),
            Route::Convert(_) | Route::Subchunks(_) | Route::Measured(_) => None,
        }
    }

    /// The name of its route.
    pub(super) fn route(&self) -> RouteName {
        self.job.as_ref().map_or(RouteName::Copy, route::route)
    }

    /// The keys of an object of the grid in SOURCE and, where DEST has the same grid, there.
    pub(super) fn keys(&self, index: u64) -> [String; 2] {
        [&self.source.metadata, &self.destination.metadata]
            .map(|metadata| metadata.chunk_key_encoding.key(&chunk_set::position(index, metadata)))
    }

    /// Bytes of a decoded object of SOURCE, which progress counts; `None` where its elements have no fixed size.
    pub(super) fn object_bytes(&self) -> Option<u64> {
        self.source.pipeline.input.num_bytes()
    }

    /// The passes over blocks, where the job goes from one grid to another, and the comparison after it.
    pub(super) fn rechunks(&self) -> impl Iterator<Item = &Rechunk> {
        let passes: [Option<&Rechunk>; 2] = match self.job.as_ref().map(|job| &job.route) {
            Some(Route::Rechunk(rechunk)) => [Some(rechunk), None],
            Some(Route::Staged(staged)) => [Some(&staged.first), Some(&staged.second)],
            _ => [None, None],
        };
        passes.into_iter().chain([self.comparison.as_ref()]).flatten()
    }

    /// How often source chunks are read, in the mean.
    pub(super) fn read_amplification(&self) -> f64 {
        match self.job.as_ref().map(|job| &job.route) {
            Some(Route::Rechunk(rechunk)) => rechunk.plan.read_amplification(),
            Some(Route::Staged(staged)) => staged.read_amplification(),
            Some(Route::Measured(measured)) => self.job.as_ref().map_or(1.0, |job| {
                measured.read_amplification(&job.transfer.source, &job.transfer.destination)
            }),
            _ => 1.0,
        }
    }

    /// Bytes of intermediate data, at most.
    pub(super) fn bytes_temporary(&self) -> u64 {
        match self.job.as_ref().map(|job| (job, &job.route)) {
            Some((job, Route::Staged(staged))) => staged.bytes(&job.transfer),
            _ => 0,
        }
    }
}
