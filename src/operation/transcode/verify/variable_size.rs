//! The comparison of arrays of which only reading tells how large a chunk is.

use super::Compared;
use crate::array::ChunkSet;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::subchunks::SubchunkSource;
use crate::codec::Recoding;
use crate::engine::driver::Driver;
use crate::engine::route::variable_size::{
    ElementReader, SubchunkChange, VariableSize, VariableSizeBuffers, fold_subchunks, recoding_of,
};
use crate::engine::transfer::Transfer;
use crate::grid::Region;

/// Compares the subchunks of both sides, of some objects of the destination or all.
pub(super) fn variable_size_values(
    transfer: &Transfer,
    variable_size: &VariableSize,
    among: Option<&ChunkSet>,
    driver: &Driver,
) -> Result<Compared, ChunkFault> {
    let (source, written) = (SubchunkSource::new(&transfer.source), SubchunkSource::new(&transfer.destination));
    let readers = ElementReader::new(&source, 0).zip(ElementReader::new(&written, 1));
    let objects = transfer.overlapped_among(&transfer.destination.metadata.grid, among);
    let mut all = Compared::default();
    let work = |buffers: &mut VariableSizeBuffers, subchunk: &[u64], block: &Region| {
        let elements = block.num_elements();
        let differing = match (&readers, &variable_size.way) {
            (Some((from, to)), _) => differing(from, to, block, buffers)?,
            (_, SubchunkChange::Recode(recoding)) => {
                let is_same = is_same(recoding, [&source, &written], subchunk, buffers)?;
                if is_same { 0 } else { elements }
            }
            (_, SubchunkChange::Compose) => elements,
        };
        Ok(Compared { elements, differing, ..Compared::default() })
    };
    fold_subchunks(transfer, &objects, (variable_size.memory_share, driver), work, |compared| {
        all += compared;
    })?;
    Ok(all)
}

/// How many elements of a box differ.
fn differing(
    from: &ElementReader<'_, '_>,
    to: &ElementReader<'_, '_>,
    block: &Region,
    buffers: &mut VariableSizeBuffers,
) -> Result<u64, Fault> {
    let (expected, _) = from.read(block, &block.start, buffers)?;
    let (found, _) = to.read(block, &block.start, buffers)?;
    let count = expected.places.len();
    Ok((0..count).filter(|index| expected.element(*index) != found.element(*index)).count() as u64)
}

/// Whether what no codec has changed is the same on both sides.
fn is_same(
    recoding: &Recoding,
    [source, written]: [&SubchunkSource<'_>; 2],
    subchunk: &[u64],
    buffers: &mut VariableSizeBuffers,
) -> Result<bool, Fault> {
    let of_source = |fault: Fault| fault.in_object(true, source.side.object_of(subchunk).0);
    let of_written = |fault: Fault| fault.in_object(false, written.side.object_of(subchunk).0);
    let own = recoding_of([source.side, written.side], subchunk)?;
    let recoding = own.as_ref().unwrap_or(recoding);
    let is_there = buffers.read(source, subchunk).map_err(of_source)?;
    if is_there {
        buffers.undo(recoding, true).map_err(of_source)?;
    }
    let expected = std::mem::take(&mut buffers.kept);
    let is_written = buffers.read(written, subchunk).map_err(of_written)?;
    if !is_there || !is_written {
        return Ok(is_there == is_written);
    }
    buffers.undo(recoding, false).map_err(of_written)?;
    Ok(expected == buffers.kept)
}
