//! The plan of a job, complete and checked before DEST is changed, and the memory that it needs within the budget.

pub(super) mod change;
pub(super) mod keep_bits;
pub(super) mod metadata;
pub(super) mod planner;
pub(super) mod regrid;
pub(super) mod route;

use serde::{Deserialize, Serialize};

use self::change::PlannedConversion;
use self::metadata::DestinationMetadata;
use super::NodeDocuments;
use crate::array::{ArrayCache, ChunkCache, ChunkFault, Fault, Listing, ObjectOf, PIECE, StoredArray};
use crate::codec::{Conversion, IndexEntry, Recoding};
use crate::data_type::DataType;
use crate::diagnostic::Diagnostic;
use crate::engine::{
    Driver, Job, ObjectJob, Pairs, Route, StagingShape, Transfer, route::rechunk::Rechunk,
    route::variable_size::SubchunkChange,
};
use crate::operation::budget::{BASE_BYTES, comparing_bytes, shard_bytes};
use crate::operation::stored::{bound_array, opaque_array};
use crate::operation::{
    Budget, ChangeOptions, CompressionResult, FirstPassStats, OpenedArray, OperationError, Quantization, Result,
    RunOptions, explain,
};
use crate::store::Node;

/// The resolved plan of an array.
#[derive(Debug)]
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

#[derive(Debug)]
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
        let shape = |rechunk: &Rechunk| rechunk.plan.block_shape.clone();
        match &job.objects()?.route {
            Route::Rechunk(rechunk) => Some(BlockShapes { shapes: vec![shape(rechunk)], staging: None }),
            Route::Staged(staged) => Some(BlockShapes {
                shapes: vec![shape(&staged.first), shape(&staged.second)],
                staging: Some(StagingShape {
                    subchunk: staged.staging.subchunk_shape().to_vec(),
                    shard: staged.staging.metadata.grid.largest().to_vec(),
                }),
            }),
            Route::Move(_) | Route::VariableSize(_) => None,
        }
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
            let codes = repacking.map(|to| to.codes(metadata, pipeline.input.fill_value.as_ref()));
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

/// Bytes of an index entry without a checksum: as it is listed, and encoded three times.
pub(super) const ENTRY_BYTES: u64 = size_of::<IndexEntry>() as u64 + 3 * 16;

/// Memory of a run, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Memory {
    /// Number of threads that the budget allows.
    pub threads: usize,
    /// Bytes for all threads.
    pub bytes: u64,
}

/// Returns the purpose of the memory, for the message of [`Budget::too_small`].
pub(super) fn of_chunks(chunk_shape: &[u64]) -> String {
    format!("for chunks of shape {chunk_shape:?} and what their codecs keep")
}

/// Returns the peak memory of a thread in any pass, without passes over blocks.
pub(super) fn unit_bytes(job: &ObjectJob, quantization: Option<&Quantization>) -> u64 {
    let has_edges = job.transfer.source.has_edges();
    let converting = match &job.route {
        Route::VariableSize(variable_size) => return variable_size.memory_share.share,
        // Blocks have their own plan.
        Route::Rechunk(_) | Route::Staged(_) => 0,
        Route::Move(conversion) if !job.moves_subchunks() => convert_bytes(job, conversion, has_edges),
        Route::Move(conversion) => {
            let indices = shard_bytes(Some(&job.transfer.source), &job.transfer.destination);
            // Threads that share a shard keep their converted chunks until their turn: two each.
            let waiting = conversion.destination().encoded_bytes().saturating_mul(2);
            convert_bytes(job, conversion, has_edges).saturating_add(indices).saturating_add(waiting)
        }
    };
    let first_pass =
        quantization.map_or(0, |resolved| first_pass_bytes(&job.transfer.source, &job.transfer.destination, resolved));
    BASE_BYTES.saturating_add(converting.max(first_pass))
}

/// Returns the memory to determine the range of a quantisation and to measure its error.
pub(super) fn first_pass_bytes(source: &StoredArray, destination: &StoredArray, quantization: &Quantization) -> u64 {
    let surveying = reading_bytes(source, source.has_edges());
    // Measuring encodes everything that was read. The codes are no larger than the chunk.
    let codes = quantization.max_error.map_or(0, |_| destination.chain.decoded_bytes());
    // Packed values are unpacked first, and become at most four times as large: float32 from bytes.
    let is_packed = source.chain.decoded().data_type != DataType::Number(quantization.source);
    let floats = if is_packed { source.chain.decoded_bytes().saturating_mul(4) } else { 0 };
    surveying.saturating_add(codes).saturating_add(floats)
}

fn convert_bytes(job: &ObjectJob, conversion: &Conversion, has_edges: bool) -> u64 {
    let filled = if job.transfer.absent_element.is_some() { conversion.destination().decoded_bytes() } else { 0 };
    if conversion.streams().is_some() && !has_edges {
        // The chunk is read piece by piece.
        return (PIECE as u64).saturating_add(conversion.destination().encoded_bytes()).saturating_add(filled);
    }
    // A cut chunk is decoded to elements, whatever the route of the others is.
    let is_cut = job.transfer.source.metadata.is_cut();
    let cut = [conversion.source(), conversion.destination()].into_iter().filter(|_| is_cut);
    let cut = cut.map(|chain| chain.decoded_bytes().saturating_mul(2)).fold(0, u64::saturating_add);
    conversion.buffer_bytes(has_edges).saturating_add(filled).saturating_add(cut)
}

/// Returns the memory to read a chunk of one side.
pub(super) fn reading_bytes(array: &StoredArray, has_edges: bool) -> u64 {
    array.subchunk_chain().reading_bytes(has_edges).saturating_add(array.index_bytes())
}

/// Returns the pairs of both sides of a transfer within a budget. Fails if the budget is too small.
pub(super) fn compared_in(transfer: &Transfer, budget: Budget) -> Result<Pairs<'_>> {
    Pairs::new(transfer, comparing_bytes(transfer), budget.threads(), budget.bytes())
        .map_err(|small| budget.too_small(small.least, &of_chunks(transfer.destination.subchunk_shape())))
}

/// Returns the transfers of a job that are compared.
pub(super) fn transfers(job: &ObjectJob) -> Vec<Transfer> {
    match &job.route {
        Route::VariableSize(_) => Vec::new(),
        Route::Move(_) | Route::Rechunk(_) => vec![job.transfer.clone()],
        Route::Staged(staged) => {
            let origin = Some(job.transfer.source.clone());
            let second = Transfer { source: staged.staging.clone(), origin, ..job.transfer.clone() };
            vec![staged.first_transfer(&job.transfer), second]
        }
    }
}

/// Returns the least memory to compare both sides of a transfer.
pub(super) fn least_bytes(transfer: &Transfer) -> u64 {
    // A budget of 0 always fails, and the error has the least bytes.
    Pairs::new(transfer, comparing_bytes(transfer), 1, 0).err().map_or(0, |small| small.least)
}
