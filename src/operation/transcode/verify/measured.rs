//! The comparison of arrays of which only reading tells how large a chunk is.

use super::Compared;
use crate::codec::Recoding;
use crate::engine::cells::CellSource;
use crate::engine::driver::{ChunkFault, Driver, Fault};
use crate::engine::measured::{CellWay, Measured, MeasuredBuffers, each_cell};
use crate::engine::object::{ObjectJob, Side};

/// Compares the cells of both sides.
pub(super) fn measured_values(
    job: &ObjectJob,
    measured: &Measured,
    driver: &Driver,
) -> Result<Compared, ChunkFault> {
    let (source, written) =
        (CellSource::new(&job.source, Some(&job.present)), CellSource::new(&job.destination, None));
    let objects = job.overlapped(&job.destination.metadata.chunk_shape);
    let mut all = Compared::default();
    let work = |buffers: &mut MeasuredBuffers, object| {
        let mut compared = Compared::default();
        each_cell(&job.destination, object, |_, cell| {
            driver.interrupt().check()?;
            let elements = elements_of(&job.destination, cell);
            compared.elements += elements;
            let CellWay::Recode(recoding) = &measured.way;
            if !is_same(recoding, [&source, &written], cell, buffers)? {
                compared.differing += elements;
            }
            Ok(())
        })?;
        Ok(compared)
    };
    measured.allowance.run(driver, &objects, work, |compared| all.add(compared))?;
    Ok(all)
}

/// Elements of a cell that lie inside the array.
fn elements_of(side: &Side, cell: &[u64]) -> u64 {
    let valid = side.cropped(&side.start_of_cell(cell), side.cell_shape());
    valid.as_deref().unwrap_or_else(|| side.cell_shape()).iter().product()
}

/// Whether what no codec has changed is the same on both sides.
fn is_same(
    recoding: &Recoding,
    [source, written]: [&CellSource<'_>; 2],
    cell: &[u64],
    buffers: &mut MeasuredBuffers,
) -> Result<bool, Fault> {
    let of_source = |fault: Fault| fault.in_object(true, source.side().object_of(cell).0);
    let of_written = |fault: Fault| fault.in_object(false, written.side().object_of(cell).0);
    buffers.next();
    let is_there = buffers.read(source, cell).map_err(of_source)?;
    if is_there {
        buffers.undo(recoding, true).map_err(of_source)?;
    }
    let expected = std::mem::take(&mut buffers.kept);
    let is_written = buffers.read(written, cell).map_err(of_written)?;
    if !is_there || !is_written {
        return Ok(is_there == is_written);
    }
    buffers.undo(recoding, false).map_err(of_written)?;
    Ok(expected == buffers.kept)
}
