//! Both sides of an array, read piece by piece.

use std::ops::Range;

use super::geometry::Geometry;
use super::values::{ValueBuffers, Values};
use crate::array::fault::Fault;
use crate::array::reader::ReadBuffers;
use crate::codec::region::as_index;
use crate::engine::ahead::{Reads, reads_of_box};
use crate::engine::progress::Progress;
use crate::grid::Region;
use crate::operation::block::BlockReader;
use crate::store::{Node, Part};

/// Values that are converted and measured at a time: those of both sides stay in a first-level cache.
const STRETCH: usize = 1 << 10;

/// Both sides, ready to be read.
pub(super) struct Reading<'a> {
    pub readers: [BlockReader<'a>; 2],
    pub values: &'a [Values; 2],
    pub geometry: &'a Geometry,
    /// Whether absent elements of SOURCE do not count.
    pub is_void: bool,
    /// What of SOURCE lies before the part that is taken, along each dimension.
    pub skipped: &'a [u64],
    pub progress: &'a dyn Progress,
}

/// Numbers of both sides.
#[derive(Debug, Default)]
pub(super) struct NumberBuffers {
    numbers: [Vec<f64>; 2],
    values: ValueBuffers,
}

/// The elements of both sides of a piece.
#[derive(Debug, Default)]
pub(super) struct Piece([Vec<u8>; 2]);

/// What is read of a side for each piece.
pub(super) struct PieceReads<'a> {
    pub reading: &'a Reading<'a>,
    /// 0: SOURCE, 1: DEST.
    pub side: usize,
}

impl Piece {
    /// Whether no point of it counts.
    pub(super) fn is_void(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }
}

impl Reads for PieceReads<'_> {
    fn source(&self) -> (&Node, u64) {
        (&self.reading.readers[self.side].side.node, self.reading.readers[self.side].side.chunk_bytes())
    }

    fn reads(&self, piece: u64, each: &mut dyn FnMut(&str, Part)) {
        let side = self.reading.readers[self.side].side;
        reads_of_box(side, &self.reading.region(self.side, piece), false, each);
    }
}

impl Reading<'_> {
    /// A piece, as a box of a side.
    fn region(&self, side: usize, piece: u64) -> Region {
        let region = self.geometry.region(piece);
        if side == 0 { region.moved_by(self.skipped) } else { region }
    }

    /// Reads a piece. One of which SOURCE stores nothing, and whose fill value is NaN, is left empty: no point counts there.
    pub(super) fn read(&self, index: u64, piece: &mut Piece, buffers: &mut ReadBuffers) -> Result<(), Fault> {
        if self.is_void && !self.readers[0].has_objects(&self.region(0, index)) {
            piece.0.iter_mut().for_each(Vec::clear);
            return Ok(());
        }
        for (side, (reader, elements)) in self.readers.iter().zip(&mut piece.0).enumerate() {
            reader.read(&self.region(side, index), buffers, elements)?;
        }
        Ok(())
    }

    /// Gives the numbers of a stretch of a piece to `visit`, some at a time.
    pub(super) fn each_stretch(
        &self,
        piece: &Piece,
        elements: Range<usize>,
        buffers: &mut NumberBuffers,
        mut visit: impl FnMut(&[f64], &[f64]),
    ) {
        let NumberBuffers { numbers: [x, y], values } = buffers;
        let count = elements.len();
        let size = |side: usize| self.readers[side].side.chain.decoded().data_type.size().unwrap_or(1);
        let sizes = [size(0), size(1)];
        for first in (0..count).step_by(STRETCH) {
            let (start, end) = (elements.start + first, elements.start + (first + STRETCH).min(count));
            for ((side, elements), numbers) in piece.0.iter().enumerate().zip([&mut *x, &mut *y]) {
                let bytes = elements.get(start * sizes[side]..end * sizes[side]).unwrap_or_default();
                self.values[side].convert(bytes, numbers, values);
            }
            visit(x, y);
        }
    }

    /// The elements of each level in a piece, by level; all where there are no levels.
    pub(super) fn stretches(&self, index: u64) -> Vec<Range<usize>> {
        let region = self.geometry.region(index);
        let all = as_index(region.num_elements());
        let level = self.geometry.level().map_or(all, |_| {
            let rank = region.shape.len();
            as_index(region.shape[rank - 2..].iter().product::<u64>())
        });
        (0..all).step_by(level.max(1)).map(|first| first..(first + level).min(all)).collect()
    }
}
