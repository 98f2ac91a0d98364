//! The memory that a plan needs within the budget.

use crate::array::{PIECE, StoredArray};
use crate::codec::{Conversion, IndexEntry};
use crate::data_type::DataType;
use crate::engine::{ObjectJob, Pairs, Route, Transfer};
use crate::operation::budget::{BASE_BYTES, comparing_bytes, shard_bytes};
use crate::operation::{Budget, Quantization, Result};

/// Bytes of an index entry without a checksum: as it is listed, and encoded three times.
pub(crate) const ENTRY_BYTES: u64 = size_of::<IndexEntry>() as u64 + 3 * 16;

/// Memory of a run, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Memory {
    /// Number of threads that the budget allows.
    pub threads: usize,
    /// Bytes for all threads.
    pub bytes: u64,
}

/// Returns the purpose of the memory, for the message of [`Budget::too_small`].
pub(crate) fn of_chunks(chunk_shape: &[u64]) -> String {
    format!("for chunks of shape {chunk_shape:?} and what their codecs keep")
}

/// Returns the peak memory of a thread in any pass, without passes over blocks.
pub(crate) fn unit_bytes(job: &ObjectJob, quantization: Option<&Quantization>) -> u64 {
    let has_edges = job.transfer.source.has_edges();
    let converting = match &job.route {
        Route::VariableSize(variable_size) => return variable_size.memory_share.share,
        // Blocks have their own plan.
        Route::Rechunk(_) | Route::Staged(_) => 0,
        Route::Move(conversion) if !job.moves_subchunks() => convert_bytes(job, conversion, has_edges),
        Route::Move(conversion) => {
            let indices = shard_bytes(Some(&job.transfer.source), &job.transfer.destination);
            // Threads that share a shard keep their converted chunks until their turn: two each.
            let waiting = conversion.destination.encoded_bytes().saturating_mul(2);
            convert_bytes(job, conversion, has_edges).saturating_add(indices).saturating_add(waiting)
        }
    };
    let first_pass =
        quantization.map_or(0, |resolved| first_pass_bytes(&job.transfer.source, &job.transfer.destination, resolved));
    BASE_BYTES.saturating_add(converting.max(first_pass))
}

/// Returns the memory to determine the range of a quantisation and to measure its error.
pub(crate) fn first_pass_bytes(source: &StoredArray, destination: &StoredArray, quantization: &Quantization) -> u64 {
    let surveying = reading_bytes(source, source.has_edges());
    // Measuring encodes everything that was read. The codes are no larger than the chunk.
    let codes = quantization.max_error.map_or(0, |_| destination.chain.decoded_bytes());
    // Packed values are unpacked first, and become at most four times as large: float32 from bytes.
    let is_packed = source.chain.decoded().data_type != DataType::Number(quantization.source);
    let floats = if is_packed { source.chain.decoded_bytes().saturating_mul(4) } else { 0 };
    surveying.saturating_add(codes).saturating_add(floats)
}

fn convert_bytes(job: &ObjectJob, conversion: &Conversion, has_edges: bool) -> u64 {
    let filled = if job.transfer.absent_element.is_some() { conversion.destination.decoded_bytes() } else { 0 };
    if conversion.streams().is_some() && !has_edges {
        // The chunk is read piece by piece.
        return (PIECE as u64).saturating_add(conversion.destination.encoded_bytes()).saturating_add(filled);
    }
    // A cut chunk is decoded to elements, whatever the route of the others is.
    let is_cut = job.transfer.source.metadata.is_cut();
    let cut = [&conversion.source, &conversion.destination].into_iter().filter(|_| is_cut);
    let cut = cut.map(|chain| chain.decoded_bytes().saturating_mul(2)).fold(0, u64::saturating_add);
    conversion.buffer_bytes(has_edges).saturating_add(filled).saturating_add(cut)
}

/// Returns the memory to read a chunk of one side.
pub(crate) fn reading_bytes(array: &StoredArray, has_edges: bool) -> u64 {
    array.subchunk_chain().reading_bytes(has_edges).saturating_add(array.index_bytes())
}

/// Returns the pairs of both sides of a transfer within a budget. Fails if the budget is too small.
pub(crate) fn compared_in(transfer: &Transfer, budget: Budget) -> Result<Pairs<'_>> {
    Pairs::new(transfer, comparing_bytes(transfer), budget.threads(), budget.bytes())
        .map_err(|small| budget.too_small(small.least, &of_chunks(transfer.destination.subchunk_shape())))
}

/// Returns the transfers of a job that are compared.
pub(crate) fn transfers(job: &ObjectJob) -> Vec<Transfer> {
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
pub(crate) fn least_bytes(transfer: &Transfer) -> u64 {
    // A budget of 0 always fails, and the error has the least bytes.
    Pairs::new(transfer, comparing_bytes(transfer), 1, 0).err().map_or(0, |small| small.least)
}
