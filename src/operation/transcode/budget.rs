//! The memory that a run needs, held against the budget.

use crate::array::buffers::PIECE;
use crate::array::stored::MOST_OPEN_SHARDS;
use crate::array::stored::StoredArray;
use crate::codec::Conversion;
use crate::codec::sharding::IndexEntry;
use crate::data_type::DataType;
use crate::engine::job::ObjectJob;
use crate::engine::pairs::Pairs;
use crate::engine::route::Route;
use crate::engine::transfer::Transfer;
use crate::operation::budget::{BASE_BYTES, Budget, comparing_bytes, shard_bytes};
use crate::operation::error::OperationError;
use crate::operation::quantize::quantization::Quantization;

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
    if let Route::VariableSize(variable_size) = &job.route {
        return variable_size.memory_share.share;
    }
    let has_edges = job.transfer.source.has_edges();
    let converting = match &job.route {
        // Blocks have a plan of their own.
        Route::Rechunk(_) | Route::Staged(_) | Route::VariableSize(_) => 0,
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
    let cut = if job.transfer.source.metadata.is_cut() {
        let sides = [conversion.source(), conversion.destination()];
        sides.iter().map(|side| side.decoded_bytes().saturating_mul(2)).fold(0, u64::saturating_add)
    } else {
        0
    };
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
pub(super) fn compared_in(transfer: &Transfer, budget: Budget) -> Result<Pairs<'_>, OperationError> {
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
