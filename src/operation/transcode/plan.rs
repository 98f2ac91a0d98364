//! The plan of a job, complete and proved before DEST is touched; and the memory that it needs, held against the budget.

pub(super) mod change;
pub(super) mod keep_bits;
pub(super) mod losses;
pub(super) mod metadata;
pub(super) mod planner;
pub(super) mod predict;
pub(super) mod regrid;
pub(super) mod route;
mod staging;

use serde::{Deserialize, Serialize};

use self::change::Changed;
use self::metadata::DestinationMetadata;
use super::NodeDocuments;
use crate::array::{
    ArrayCache, ChunkCache, ChunkFault, Fault, Listing, MOST_OPEN_SHARDS, ObjectOf, PIECE, StoredArray,
};
use crate::codec::{Conversion, IndexEntry, Recoding};
use crate::data_type::DataType;
use crate::diagnostic::Diagnostic;
use crate::engine::route::rechunk::Rechunk;
use crate::engine::route::variable_size::SubchunkChange;
use crate::engine::{Driver, Job, ObjectJob, Pairs, Route, StagingShape, Transfer};
use crate::operation::budget::{BASE_BYTES, comparing_bytes, shard_bytes};
use crate::operation::stored::{opaque_array, side};
use crate::operation::{
    Budget, ChangeOptions, CompressionResult, OpenedArray, OperationError, Predict, Quantization, Result, RunOptions,
    Survey, explain,
};
use crate::store::Node;

/// A settled plan.
#[derive(Debug)]
pub(super) struct Plan {
    /// The array as it is.
    pub source: OpenedArray,
    /// Where it will be.
    pub target: Node,
    /// The array as it will be.
    pub destination: DestinationMetadata,
    /// Its keys.
    pub listing: Listing,
    /// Bytes of its chunks, where they were listed with their sizes.
    pub source_bytes: Option<u64>,
    /// The work on the objects.
    pub job: Job,
    /// Conversion of the values.
    pub changed: Changed,
    /// Whether no chain was given that may round: `--verify` then holds DEST to the very values that it is to have.
    pub is_exact: bool,
    /// The choice of `--compress auto`, or the goal of a choice to come.
    pub compression: Option<CompressionResult>,
    /// Differences along dimensions.
    pub predict: Option<Predict>,
    /// DEST's documents, in the order in which they are written: the one that makes it open is the last.
    pub documents: NodeDocuments,
    pub warnings: Vec<Diagnostic>,
}

/// The name of the variable that tells of a rounding by `--keep-bits`, where nothing else has it.
pub(super) const CONTAINER: &str = "quantization_info";

/// An array of SOURCE.
#[derive(Debug, Clone)]
pub(super) struct SourceArray {
    /// With its leading slash; `/` for SOURCE itself.
    pub path: String,
    /// As it was read.
    pub opened: OpenedArray,
    pub change: ChangeOptions,
    /// The resolved part of a plan that is read again.
    pub settled: Option<Settled>,
    /// Results of a first pass that parts of another run made.
    pub surveyed: Option<Survey>,
    /// The compressor that was chosen when a job in parts was begun.
    pub compression: Option<CompressionResult>,
    /// The variable that tells of a rounding by `--keep-bits`, in the array's group.
    pub container: String,
    /// Its chunks that are there, where they were listed before: they are not listed again.
    pub listing: Option<Listing>,
}

impl SourceArray {
    /// An array to which options apply, of which nothing is settled.
    pub(super) fn new(path: String, opened: OpenedArray, change: ChangeOptions) -> Self {
        let container = CONTAINER.to_owned();
        let (settled, surveyed, compression, listing) = Default::default();
        SourceArray { path, opened, change, settled, surveyed, compression, container, listing }
    }
}

/// Makes the plan of an array.
#[derive(Debug)]
pub(super) struct Planner<'a> {
    /// The array, and what changes in it.
    pub array: SourceArray,
    /// Where it will be.
    pub target: Node,
    /// Whether it is one of a hierarchy.
    pub is_in_tree: bool,
    pub run: &'a RunOptions,
    /// Into how many parts the work can be cut at least, of a job in parts.
    pub least_parts: u64,
    pub budget: Budget,
    /// Who lists the chunks, and is told what stops a first pass.
    pub driver: &'a Driver,
    /// Where first passes of all arrays keep chunks.
    pub cache: &'a ChunkCache,
    /// Where those of this one do.
    pub own_cache: ArrayCache,
}

/// The resolved part of a sealed plan for one array, which needs no pass over the data again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Settled {
    /// The quantisation, where its values are quantised.
    pub quantization: Option<Quantization>,
    pub blocks: Option<Blocks>,
}

/// The shapes of an array's blocks, where it is rechunked block by block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Blocks {
    /// Elements of a block along each dimension, for each pass.
    pub shapes: Vec<Vec<u64>>,
    /// The grid of the intermediate data of two passes.
    pub staging: Option<StagingShape>,
}

impl Blocks {
    /// Those of a job; `None` where it is not done block by block.
    pub(super) fn of(job: &Job) -> Option<Self> {
        let shape = |rechunk: &Rechunk| rechunk.plan.block_shape.clone();
        match &job.objects()?.route {
            Route::Rechunk(rechunk) => Some(Blocks { shapes: vec![shape(rechunk)], staging: None }),
            Route::Staged(staged) => Some(Blocks {
                shapes: vec![shape(&staged.first), shape(&staged.second)],
                staging: Some(StagingShape {
                    subchunk: staged.staging.subchunk_shape().to_vec(),
                    shard: staged.staging.metadata.largest_chunk().to_vec(),
                }),
            }),
            Route::Move(_) | Route::VariableSize(_) => None,
        }
    }
}

impl Plan {
    /// As many threads as the budget has room for; an error where there is none for a single one.
    pub(super) fn allot(&self, budget: Budget, verifies: bool) -> Result<Memory> {
        let quantization = self.changed.quantization.as_ref();
        let job = self.job.objects();
        let unit = job.map_or(BASE_BYTES, |job| unit_bytes(job, quantization));
        let compared = job.filter(|_| verifies).map(transfers).unwrap_or_default();
        let least = compared.iter().map(least_bytes).fold(unit, u64::max);
        let purpose = || of_chunks(&self.destination.pipeline.innermost_chunk_shape());
        budget.threads_of(least, purpose)?;
        let allowed = budget.threads_of(unit, purpose)?;
        // Blocks are scheduled by their plan, for as many threads as it has room for.
        let schedules = || self.job.rechunks().map(|rechunk| rechunk.schedule);
        let threads = schedules().fold(allowed, |threads, s| threads.min(s.threads));
        let mut bytes = unit.saturating_mul(threads as u64);
        for schedule in schedules() {
            bytes = bytes.max(schedule.bytes);
        }
        for transfer in &compared {
            bytes = bytes.max(compared_in(transfer, budget.narrowed(threads))?.schedule.bytes);
        }
        Ok(Memory { threads, bytes })
    }

    /// A job of the plan with DEST bound as any reader binds it.
    pub(super) fn as_read(&self, job: &ObjectJob) -> Result<ObjectJob> {
        let (store, mut route) = (&self.source.store, job.route.clone());
        let DestinationMetadata { metadata, pipeline, .. } = &self.destination;
        let (node, metadata) = (job.transfer.destination.node.clone(), metadata.clone());
        let destination = match &mut route {
            Route::VariableSize(variable_size) => {
                let destination = opaque_array(node, metadata, pipeline, store)?;
                if let SubchunkChange::Recode(recoding) = &mut variable_size.way {
                    let source = job.transfer.source.subchunk_chain();
                    let lost = || OperationError::data(format!("what is written of `{store}` cannot be read back"));
                    **recoding = Recoding::new(source, destination.subchunk_chain()).ok_or_else(lost)?;
                }
                destination
            }
            _ => {
                match self.changed.repacking.as_ref().map(|to| to.codes(&metadata, pipeline.input.fill_value.as_ref()))
                {
                    Some(codes) => side(node, metadata, &codes, store, 0, false)?,
                    None => side(node, metadata, pipeline, store, 0, false)?,
                }
            }
        };
        Ok(ObjectJob { transfer: Transfer { destination, ..job.transfer.clone() }, route })
    }

    /// The error of the job, or of a comparison of what it has written, that ended at an object of either side.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory {
    /// Threads that the budget has room for.
    pub threads: usize,
    /// Bytes for all of them.
    pub bytes: u64,
}

/// The purpose of the memory, as [`Budget::too_small`] goes on.
pub(super) fn of_chunks(chunk_shape: &[u64]) -> String {
    format!("for chunks of shape {chunk_shape:?} and what their codecs keep")
}

/// The most bytes that a thread holds at once, in whatever pass takes most, but for those over blocks.
pub(super) fn unit_bytes(job: &ObjectJob, quantization: Option<&Quantization>) -> u64 {
    let has_edges = job.transfer.source.has_edges();
    let converting = match &job.route {
        Route::VariableSize(variable_size) => return variable_size.memory_share.share,
        // Blocks have a plan of their own.
        Route::Rechunk(_) | Route::Staged(_) => 0,
        Route::Move(conversion) if !job.moves_subchunks() => convert_bytes(job, conversion, has_edges),
        Route::Move(conversion) => {
            let indices = shard_bytes(Some(&job.transfer.source), &job.transfer.destination);
            // Threads that share a shard hold what they converted until it is its turn: twice.
            let waiting = conversion.destination().encoded_bytes().saturating_mul(2);
            convert_bytes(job, conversion, has_edges).saturating_add(indices).saturating_add(waiting)
        }
    };
    let first_pass =
        quantization.map_or(0, |settled| first_pass_bytes(&job.transfer.source, &job.transfer.destination, settled));
    BASE_BYTES.saturating_add(converting.max(first_pass))
}

/// Bytes for finding the range of a quantisation, and measuring its error.
pub(super) fn first_pass_bytes(source: &StoredArray, destination: &StoredArray, quantization: &Quantization) -> u64 {
    let surveying = reading_bytes(source, source.has_edges());
    // Measuring makes codes of all that was read; they are no larger than the chunk.
    let codes = quantization.max_error.map_or(0, |_| destination.chain.decoded_bytes());
    // What is unpacked first is four times as large at most: floats of 32 bits from bytes.
    let is_packed = source.chain.decoded().data_type != DataType::Number(quantization.source);
    let floats = if is_packed { source.chain.decoded_bytes().saturating_mul(4) } else { 0 };
    surveying.saturating_add(codes).saturating_add(floats)
}

fn convert_bytes(job: &ObjectJob, conversion: &Conversion, has_edges: bool) -> u64 {
    let filled = if job.transfer.absent_element.is_some() { conversion.destination().decoded_bytes() } else { 0 };
    if conversion.streams().is_some() && !has_edges {
        // Read piece by piece.
        let written = conversion.destination().encoded_bytes();
        return (PIECE as u64).saturating_add(written).saturating_add(filled);
    }
    // What is cut is decoded to elements, whatever the way of the others.
    let is_cut = job.transfer.source.metadata.is_cut();
    let cut = [conversion.source(), conversion.destination()].into_iter().filter(|_| is_cut);
    let cut = cut.map(|side| side.decoded_bytes().saturating_mul(2)).fold(0, u64::saturating_add);
    conversion.buffer_bytes(has_edges).saturating_add(filled).saturating_add(cut)
}

/// The indices of as many shards as are ever kept open.
pub(super) fn open_bytes(source: &StoredArray) -> u64 {
    source.index_bytes().saturating_mul(MOST_OPEN_SHARDS as u64)
}

/// Bytes for reading a chunk of one side.
pub(super) fn reading_bytes(side: &StoredArray, has_edges: bool) -> u64 {
    side.subchunk_chain().reading_bytes(has_edges).saturating_add(side.index_bytes())
}

/// The reading of both sides of a transfer within a budget; an error where it has no room.
pub(super) fn compared_in(transfer: &Transfer, budget: Budget) -> Result<Pairs<'_>> {
    let worker = comparing_bytes(transfer);
    Pairs::new(transfer, worker, budget.threads(), budget.bytes())
        .map_err(|small| budget.too_small(small.least, &of_chunks(transfer.destination.subchunk_shape())))
}

/// The transfers of a job that are compared.
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

/// The least bytes in which both sides of a transfer can be compared.
pub(super) fn least_bytes(transfer: &Transfer) -> u64 {
    let worker = comparing_bytes(transfer);
    Pairs::new(transfer, worker, 1, 0).err().map_or(0, |small| small.least)
}
