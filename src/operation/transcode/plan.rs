//! The plan of a job, complete and checked before DEST is changed, and the memory that it needs within the budget.

pub(super) mod keep_bits;
pub(super) mod memory;
pub(super) mod metadata;
pub(super) mod planner;
pub(super) mod predict;
pub(super) mod regrid;
pub(super) mod route;
mod staging;
pub(super) mod values;
pub(super) mod warnings;

use serde::{Deserialize, Serialize};

use super::{BitRounding, NodeDocuments, Repacking};
use crate::array::{ArrayCache, ChunkCache, ChunkFault, Fault, Listing, ObjectOf, StoredArray};
use crate::codec::{Recoding, ValueConversion};
use crate::data_type::FillValue;
use crate::diagnostic::Diagnostic;
use crate::engine::route::variable_size::SubchunkChange;
use crate::engine::{Driver, Job, ObjectJob, Route, StagingShape, Transfer};
use crate::operation::budget::BASE_BYTES;
use crate::operation::stored::{bound_array, opaque_array};
use crate::operation::{
    Budget, ChangeOptions, CompressionResult, FirstPassStats, OpenedArray, OperationError, Quantization, Result,
    RunOptions, draft, explain,
};
use crate::store::Node;
pub(super) use memory::{
    ENTRY_BYTES, Memory, compared_in, first_pass_bytes, least_bytes, of_chunks, reading_bytes, transfers, unit_bytes,
};
pub(crate) use metadata::{DestinationMetadata, in_memory, read_back, unkept};
use route::is_of_codes;

/// The resolved plan of an array.
pub(super) struct Plan {
    /// Number of the array among those of SOURCE.
    pub number: usize,
    /// Path with its leading slash. `/` for SOURCE itself.
    pub path: String,
    pub change: ChangeOptions,
    /// The array in SOURCE.
    pub source: OpenedArray,
    /// Location of the array in DEST.
    pub target: Node,
    pub destination: DestinationMetadata,
    /// Keys of the stored chunks of SOURCE.
    pub listing: Listing,
    /// Bytes of the stored chunks of SOURCE, if they were listed with their sizes.
    pub source_bytes: Option<u64>,
    pub job: Job,
    pub changed: PlannedConversion,
    /// The choice of `--compress auto`, or the goal of a later choice.
    pub compression: Option<CompressionResult>,
    /// Memory of the run. Nothing until the plan is complete.
    pub memory: Memory,
    /// Whether one thread converts the array.
    pub is_small: bool,
    /// Documents of DEST in the order in which they are written. The last one makes DEST readable.
    pub documents: NodeDocuments,
    pub warnings: Vec<Diagnostic>,
}

/// The changes of an array's values.
#[derive(Default)]
pub(crate) struct PlannedConversion {
    pub change: ValueConversion,
    /// The quantisation, if it was requested. In a plan that reads no chunk, its range may still be open.
    pub quantization: Option<Quantization>,
    pub rounding: Option<BitRounding>,
    /// The packing in another form, with the same codes.
    pub repacking: Option<Repacking>,
    /// The value of absent elements, in the data type of DEST.
    pub absent: Option<FillValue>,
}

impl PlannedConversion {
    /// Returns the error of absent elements. `None` if they are NaN or missing, or if values do not change.
    pub(crate) fn absent_error(&self) -> Option<f64> {
        match &self.quantization {
            Some(quantization) => quantization.absent_error(),
            None => self.rounding.as_ref()?.absent_error(),
        }
    }
}

/// Name of the variable that documents rounding by `--keep-bits`, if no other node has this name.
pub(super) const CONTAINER: &str = "quantization_info";

#[derive(Debug, Clone)]
pub(super) struct SourceArray {
    /// Number among the arrays of SOURCE, once all are known.
    pub number: usize,
    /// Path with its leading slash. `/` for SOURCE itself.
    pub path: String,
    /// The array as it was read.
    pub opened: OpenedArray,
    pub change: ChangeOptions,
    /// The resolved part of a plan that was read again.
    pub resolved: Option<ResolvedPlan>,
    /// Results of a first pass by the parts of another run.
    pub surveyed: Option<FirstPassStats>,
    /// The compressor that was chosen at the start of a job in parts.
    pub compression: Option<CompressionResult>,
    /// Name of the variable in the array's group that documents rounding by `--keep-bits`.
    pub container: String,
    /// Its stored chunks, if they were listed before. They are not listed again.
    pub listing: Option<Listing>,
}

impl SourceArray {
    /// Creates an array with its options and nothing resolved.
    pub(super) fn new(path: String, opened: OpenedArray, change: ChangeOptions) -> Self {
        let (number, resolved, surveyed, compression, listing) = Default::default();
        let container = CONTAINER.to_owned();
        SourceArray { number, path, opened, change, resolved, surveyed, compression, container, listing }
    }
}

pub(super) struct Planner<'a> {
    /// The array, and its changes.
    pub array: SourceArray,
    /// Location of the array in DEST.
    pub target: Node,
    /// Whether the array is part of a hierarchy.
    pub is_in_tree: bool,
    pub run: &'a RunOptions,
    /// For a job in parts: the least number of parts into which the work can be cut.
    pub least_parts: Option<u64>,
    pub budget: Budget,
    /// Lists the chunks, and has the interrupt of a first pass.
    pub driver: &'a Driver,
    /// Chunks that first passes of all arrays keep.
    pub cache: &'a ChunkCache,
    /// Chunks that the first pass of this array keeps.
    pub own_cache: ArrayCache,
}

/// The resolved part of a sealed plan for one array. It needs no further pass over the data.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ResolvedPlan {
    /// The quantisation, if values are quantised.
    pub quantization: Option<Quantization>,
    pub blocks: Option<BlockShapes>,
}

/// The shapes of the blocks of an array that is rechunked block by block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockShapes {
    /// Shape of a block in elements, for each pass.
    pub shapes: Vec<Vec<u64>>,
    /// Grid of the intermediate data of two passes.
    pub staging: Option<StagingShape>,
}

impl BlockShapes {
    /// Returns the blocks of a job. `None` if the job has no blocks.
    pub(super) fn new(job: &Job) -> Option<Self> {
        let shapes: Vec<_> = job.rechunks().map(|rechunk| rechunk.plan.block_shape.clone()).collect();
        let staging = job.staged().map(|staged| StagingShape {
            subchunk: staged.staging.subchunk_shape().to_vec(),
            shard: staged.staging.metadata.grid.largest().to_vec(),
        });
        (!shapes.is_empty()).then_some(BlockShapes { shapes, staging })
    }
}

impl Plan {
    /// Returns as many threads as the budget allows, with their memory. Fails if it does not allow one.
    pub(super) fn allot(&self, budget: Budget, verifies: bool) -> Result<Memory> {
        let quantization = self.changed.quantization.as_ref();
        let job = self.job.objects();
        let unit = job.map_or(BASE_BYTES, |job| unit_bytes(job, quantization));
        let compared = job.filter(|_| verifies).map(transfers).unwrap_or_default();
        let least = compared.iter().map(least_bytes).fold(unit, u64::max);
        let purpose = || of_chunks(&self.destination.pipeline.innermost_chunk_shape());
        // Only the error matters here: the comparison may need more than writing. Writing still gets all threads that
        // fit.
        budget.threads_of(least, purpose)?;
        let allowed = budget.threads_of(unit, purpose)?;
        // Blocks have their own schedule, for as many threads as it allows.
        let schedules = || self.job.rechunks().map(|rechunk| rechunk.schedule);
        let threads = schedules().fold(allowed, |threads, s| threads.min(s.threads));
        let mut bytes = schedules().map(|schedule| schedule.bytes).fold(unit.saturating_mul(threads as u64), u64::max);
        // The comparison runs after writing, so the greater need counts.
        for transfer in &compared {
            bytes = bytes.max(compared_in(transfer, budget.narrowed(threads))?.schedule.bytes);
        }
        Ok(Memory { threads, bytes })
    }

    /// Returns a job of the plan with DEST bound as readers bind it.
    pub(super) fn as_read(&self, job: &ObjectJob) -> Result<ObjectJob> {
        let (store, mut route) = (&self.source.store, job.route.clone());
        let DestinationMetadata { metadata, pipeline, .. } = &self.destination;
        let node = &job.transfer.destination.node;
        let destination = if let Route::VariableSize(variable_size) = &mut route {
            let destination = opaque_array((node, metadata, pipeline), store)?;
            if let SubchunkChange::Recode(recoding) = &mut variable_size.change {
                let source = job.transfer.source.subchunk_chain();
                let lost = || OperationError::data(format!("the metadata written for `{store}` cannot be read back"));
                **recoding = Recoding::new(source, destination.subchunk_chain()).ok_or_else(lost)?;
            }
            destination
        } else {
            let repacking = self.changed.repacking.as_ref();
            let moves_codes = job.transfer.source.chain.decoded().data_type != self.source.data_type;
            let moved = || Some(draft::code_pipeline(pipeline, is_of_codes).filter(|_| moves_codes)?.1);
            let codes = repacking.map(|to| to.codes(metadata, pipeline.input.fill_value.as_ref())).or_else(moved);
            bound_array((node, metadata, codes.as_ref().unwrap_or(pipeline)), store, false)?
        };
        Ok(ObjectJob { transfer: Transfer { destination, ..job.transfer.clone() }, route })
    }

    /// Returns the error of a job, or of a comparison of its output, that failed at an object of either side.
    pub(super) fn explain(&self, fault: ChunkFault) -> OperationError {
        let (source, quantization) = (&self.source, self.changed.quantization.as_ref());
        let of = |index, fault: Box<Fault>, array: &StoredArray, quantization| {
            explain(ChunkFault { index, fault: *fault }, &array.metadata, &array.node.name(), quantization)
        };
        match (fault.fault, self.job.objects()) {
            (Fault::At { of: ObjectOf::Destination, index, fault }, Some(job)) => {
                of(index, fault, &job.transfer.destination, quantization)
            }
            (Fault::At { of: ObjectOf::Staging, index, fault }, Some(job)) => {
                of(index, fault, self.job.staged().map_or(&job.transfer.source, |staged| &staged.staging), None)
            }
            (cause, _) => explain(ChunkFault { fault: cause, ..fault }, &source.metadata, &source.store, quantization),
        }
    }
}
