//! Arrays of which only reading tells how large a chunk is: of elements of any length, or behind a codec that is not
//! run here. Their cells (inner chunks, or chunks without shards) are done one by one, each held to what memory there
//! is; those that do not fit a thread's share are done at the end, one after the other, with all of it.

mod room;

use std::sync::{Mutex, PoisonError};

use super::cell_encoder::Encoded;
use super::cell_writer::CellWriter;
use super::cells::CellSource;
use super::chunk_set::ChunkSet;
use super::driver::{ChunkFault, Driver, Fault};
use super::interrupt::Interrupt;
use super::journal::Part;
use super::object::{ObjectJob, ObjectReport, Side};
use crate::codec::Recoding;
use crate::codec::region::advance;

pub use room::{BETWEEN_CELLS, MeasuredBuffers};

/// How the cells of an array are made.
#[derive(Debug, Clone)]
pub struct Measured {
    /// From cell to cell.
    pub way: CellWay,
    /// What memory there is.
    pub allowance: Allowance,
}

impl Measured {
    /// Whether encoded cells stay what they are.
    pub fn is_copy(&self) -> bool {
        matches!(&self.way, CellWay::Recode(recoding) if recoding.is_copy())
    }
}

/// What becomes of a cell.
#[derive(Debug, Clone)]
pub enum CellWay {
    /// Only bytes->bytes codecs differ.
    Recode(Box<Recoding>),
}

/// The memory of a run, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// For each thread.
    pub share: u64,
    /// For a cell that is done alone.
    pub whole: u64,
    /// How much of either is held whatever the cell.
    pub beside: u64,
}

impl Allowance {
    /// Does `work` for each object with what a thread may hold; the results, in no order.
    pub fn run<R: Send>(
        self,
        driver: &Driver,
        objects: &ChunkSet,
        work: impl Fn(&mut MeasuredBuffers, u64) -> Result<R, Fault> + Sync,
        mut fold: impl FnMut(R),
    ) -> Result<(), ChunkFault> {
        let too_large = Mutex::new(Vec::new());
        let in_share = |buffers: &mut MeasuredBuffers, index| {
            buffers.begin(self.share, self.beside);
            match work(buffers, index) {
                Err(fault) if fault.is_of_memory() && self.share < self.whole => {
                    too_large.lock().unwrap_or_else(PoisonError::into_inner).push(index);
                    Ok(None)
                }
                done => done.map(Some),
            }
        };
        driver.run::<MeasuredBuffers, Option<R>>(objects, in_share, |_, done| {
            done.into_iter().for_each(&mut fold)
        })?;
        let too_large = too_large.into_inner().unwrap_or_else(PoisonError::into_inner);
        let alone = |buffers: &mut MeasuredBuffers, index| {
            buffers.begin(self.whole, self.beside);
            work(buffers, index)
        };
        let too_large = ChunkSet::from_indices(too_large);
        driver.alone().run::<MeasuredBuffers, R>(&too_large, alone, |_, done| fold(done))
    }
}

/// The work on the objects of the destination.
#[derive(Debug)]
pub(super) struct MeasuredRun<'a> {
    pub(super) job: &'a ObjectJob,
    pub(super) measured: &'a Measured,
    /// The cells that are there.
    pub(super) source: &'a CellSource<'a>,
    /// The objects that are done.
    pub(super) part: &'a Part<'a>,
}

impl MeasuredRun<'_> {
    /// Writes every object of the destination.
    pub(super) fn run(&self, driver: &Driver, fold: impl FnMut(ObjectReport)) -> Result<(), ChunkFault> {
        let objects = self.job.overlapped(&self.job.destination.metadata.chunk_shape);
        let work = |buffers: &mut MeasuredBuffers, object| {
            self.part.do_once(object, || self.object(object, buffers, driver.interrupt()))
        };
        // What happened to no object in particular happened to the one that was written.
        let located = |ChunkFault { index, fault }| ChunkFault { index, fault: fault.of_destination(index) };
        self.measured.allowance.run(driver, &objects, work, fold).map_err(located)
    }

    fn object(
        &self,
        object: u64,
        buffers: &mut MeasuredBuffers,
        interrupt: &Interrupt,
    ) -> Result<ObjectReport, Fault> {
        let destination = &self.job.destination;
        let mut report = ObjectReport::default();
        let mut writer = CellWriter::new(destination, object);
        each_cell(destination, object, |inside, cell| {
            interrupt.check()?;
            buffers.next();
            let encoded = match &self.measured.way {
                CellWay::Recode(recoding) => self.recode(recoding, cell, buffers, &mut report)?,
            };
            encoded.map_or(Ok(()), |encoded| writer.write(inside, Encoded::whole(encoded), &mut report))
        })?;
        writer.finish(&mut buffers.workspace, &mut report)?;
        Ok(report)
    }

    /// A cell with other bytes->bytes codecs; `None` where it is absent.
    fn recode<'b>(
        &self,
        recoding: &Recoding,
        cell: &[u64],
        buffers: &'b mut MeasuredBuffers,
        report: &mut ObjectReport,
    ) -> Result<Option<&'b [u8]>, Fault> {
        let source = &self.job.source;
        let located = |fault: Fault| fault.of_source(source.object_of(cell).0);
        if !buffers.read(self.source, cell)? {
            return Ok(None);
        }
        report.bytes_read += buffers.encoded.len() as u64;
        if recoding.is_copy() {
            return Ok(Some(&buffers.encoded));
        }
        buffers.undo(recoding, true).map_err(located)?;
        buffers.redo(recoding).map_err(located)?;
        Ok(Some(&buffers.written))
    }
}

/// Calls `visit` with the position of each cell of an object that lies inside the array, at least in part: in the
/// object, and in the array. They come in the order in which they lie in the object.
pub fn each_cell(
    side: &Side,
    object: u64,
    mut visit: impl FnMut(&[u64], &[u64]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (start, order) = (side.start_of(object), side.cell_order());
    let first: Vec<u64> =
        start.iter().zip(side.cell_shape()).map(|(start, length)| start / length.max(&1)).collect();
    let counts = side.cells_per_object();
    let counts: Vec<u64> = order.iter().map(|dimension| counts[*dimension]).collect();
    if counts.contains(&0) {
        return Ok(());
    }
    let mut place = vec![0; counts.len()];
    loop {
        let mut inside = vec![0; place.len()];
        for (index, dimension) in place.iter().zip(&order) {
            inside[*dimension] = *index;
        }
        let cell: Vec<u64> = first.iter().zip(&inside).map(|(first, index)| first + index).collect();
        let valid = side.cropped(&side.start_of_cell(&cell), side.cell_shape());
        if valid.is_none_or(|valid| !valid.contains(&0)) {
            visit(&inside, &cell)?;
        }
        if !advance(&mut place, &counts) {
            return Ok(());
        }
    }
}
