//! The comparison of arrays of which only reading tells how large a chunk is.

use super::{Compared, Scope};
use crate::array::fault::{ChunkFault, Fault};
use crate::array::subchunks::SubchunkSource;
use crate::codec::Recoding;
use crate::engine::driver::Driver;
use crate::engine::route::variable_size::{
    ElementReader, Groups, SubchunkChange, VariableSize, VariableSizeBuffers, block_of, recoding_of,
    subchunks_inside,
};
use crate::engine::transfer::Transfer;
use crate::grid::Region;

/// Compares the subchunks of both sides.
pub(super) fn variable_size_values(
    transfer: &Transfer,
    variable_size: &VariableSize,
    scope: Scope<'_>,
    driver: &Driver,
) -> Result<Compared, ChunkFault> {
    let (source, written) =
        (SubchunkSource::new(&transfer.source), SubchunkSource::new(&transfer.destination));
    let readers = (ElementReader::new(&source, 0), ElementReader::new(&written, 1));
    let objects = scope.of(transfer.overlapped_by(&transfer.destination.metadata.grid));
    let mut all = Compared::default();
    let work = |buffers: &mut VariableSizeBuffers, object| {
        let mut compared = Compared::default();
        for subchunk in subchunks_inside(&transfer.destination, object) {
            let subchunk = &*subchunk;
            driver.interrupt().check()?;
            buffers.next();
            let block = block_of(&transfer.destination, subchunk);
            let count = block.num_elements();
            compared.elements += count;
            compared.differing += match (&readers, &variable_size.way) {
                ((Some(from), Some(to)), _) => differing(from, to, &block, buffers)?,
                (_, SubchunkChange::Recode(recoding)) => {
                    let is_same = is_same(recoding, [&source, &written], subchunk, buffers)?;
                    if is_same { 0 } else { count }
                }
                (_, SubchunkChange::Compose) => count,
            };
        }
        Ok(compared)
    };
    let groups = Groups::new(&transfer.destination, &transfer.source);
    variable_size.memory_share.run(driver, (&groups, &objects, &[]), work, |compared| all += compared)?;
    Ok(all)
}

/// How many elements of a box differ.
fn differing(
    from: &ElementReader<'_>,
    to: &ElementReader<'_>,
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
    let of_source = |fault: Fault| fault.in_object(true, source.side().object_of(subchunk).0);
    let of_written = |fault: Fault| fault.in_object(false, written.side().object_of(subchunk).0);
    let own = recoding_of([source.side(), written.side()], subchunk)?;
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
