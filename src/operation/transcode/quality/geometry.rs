//! The pieces in which both sides of an array are measured: they cut few chunks, and have whole rows where there are
//! levels. And the levels, the last two dimensions at each index of the others: their ranges, and how similar both sides are.

use std::ops::Range;

use crate::array::StoredArray;
use crate::codec::region::as_index;
use crate::engine::Transfer;
use crate::grid::{Region, lcm, ravel, unravel};
use crate::kernel::quality::similarity::{LevelRange, RADIUS, Similarity, WINDOW};
use crate::operation::transcode::plan::reading_bytes;
use crate::operation::{Budget, Result, budget};

/// Bytes of pieces that are kept at a time, where memory allows and no more are needed.
const SLAB_BYTES: u64 = 64 << 20;

/// Rows of windows that are looked at together.
pub(super) const BAND: u64 = 64;

/// The cut of an array. Pieces follow one another in C order, so that those of a level do.
#[derive(Debug, Clone)]
pub(super) struct Geometry {
    pub(super) shape: Vec<u64>,
    /// Elements of a piece along each dimension.
    pub(super) piece: Vec<u64>,
    /// Pieces along each dimension.
    pub(super) grid: Vec<u64>,
    /// Why there are no levels to compare.
    pub(super) no_levels: Option<&'static str>,
    /// Bytes of an element, of both sides together.
    element_bytes: u64,
    /// Bytes of pieces that may be kept at a time.
    slab_bytes: u64,
    /// Threads that may read and measure at a time.
    pub(super) threads: usize,
}

/// So many pieces for each thread, at least: at the end none has much to do while another has nothing.
const TURNS: u64 = 4;

impl Geometry {
    /// The cut of arrays of `shape`; an error where the budget has no room for any.
    pub(super) fn of(transfer: &Transfer, budget: Budget) -> Result<Self> {
        let sides = [&transfer.source, &transfer.destination];
        let shape = &*transfer.destination.metadata.shape;
        let element_bytes: u64 = sides.iter().map(|side| side.fill_value().len() as u64).sum();
        let rank = shape.len();
        let no_levels = match shape {
            [.., rows, columns] if *rows.min(columns) < WINDOW as u64 => {
                Some("the last two dimensions are shorter than 11")
            }
            [_, _, ..] => None,
            _ => Some("the array has fewer than two dimensions"),
        };
        let width = if no_levels.is_none() { shape.get(rank - 1).copied().unwrap_or(1) } else { 1 };
        // A thread reads a chunk of either side at a time, and has a band of levels in three bytes and two rows of floats.
        let band = width.saturating_mul((BAND + 2 * RADIUS as u64) * 3 + 16);
        let reading = sides.iter().map(|side| reading_bytes(side, true));
        let unit = reading.fold(budget::BASE_BYTES.saturating_add(band), u64::saturating_add);
        // Half for pieces; half for the threads.
        let half = budget.bytes() / 2;
        let whole = |dimension: usize| no_levels.is_none() && dimension + 1 == rank;
        let bytes_of =
            |piece: &[u64]| piece.iter().fold(element_bytes, |bytes, length| bytes.saturating_mul((*length).max(1)));
        let length = |dimension| if whole(dimension) { shape[dimension] } else { aligned(sides, shape, dimension) };
        let mut piece: Vec<u64> = (0..rank).map(length).collect();
        // A thread reads a piece into one buffer, and may cut it into another.
        let most = (half / 8).min(half.saturating_sub(unit) / 2);
        let cut_rows = rank.saturating_sub(if no_levels.is_none() { 2 } else { 1 });
        // The rows last: a chunk that is cut is read once for each of its parts.
        while bytes_of(&piece) > most {
            let longest = (0..cut_rows).max_by_key(|dimension| piece[*dimension]).filter(|at| piece[*at] > 1);
            let cut = longest.or(piece.get(cut_rows).filter(|rows| **rows > 1).map(|_| cut_rows));
            let Some(dimension) = cut else { break };
            piece[dimension] = piece[dimension].div_ceil(2);
        }
        let grid: Vec<u64> = shape.iter().zip(&piece).map(|(length, piece)| length.div_ceil((*piece).max(1))).collect();
        let mut geometry =
            Geometry { shape: shape.to_vec(), piece, grid, no_levels, element_bytes, slab_bytes: 0, threads: 1 };
        // Bytes of pieces that must be there at a time.
        let least = geometry.piece_bytes().saturating_mul((geometry.overlap() + 1).min(geometry.pieces_per_level()));
        let purpose = || "for measuring the quality, of which both sides are kept in whole rows".to_owned();
        if least > half {
            return Err(budget.too_small(least.max(unit).saturating_mul(2), &purpose()));
        }
        geometry.slab_bytes = SLAB_BYTES.min(half).max(geometry.level_slab().min(half)).max(least);
        let unit = unit.saturating_add(geometry.piece_bytes().saturating_mul(2));
        geometry.threads = match usize::try_from(half / unit).unwrap_or(usize::MAX) {
            0 => return Err(budget.too_small(unit.saturating_mul(2), &purpose())),
            allowed => budget.threads().min(allowed),
        };
        Ok(geometry)
    }

    pub(super) fn num_pieces(&self) -> u64 {
        self.grid.iter().product()
    }

    /// Pieces of a level, from its first rows to the last.
    pub(super) fn pieces_per_level(&self) -> u64 {
        self.row_axis().map_or(1, |rows| self.grid[rows])
    }

    /// The dimension of the rows of levels.
    fn row_axis(&self) -> Option<usize> {
        if self.no_levels.is_some() { None } else { self.shape.len().checked_sub(2) }
    }

    /// Rows and columns of a level, and the rows of a piece.
    pub(super) fn level(&self) -> Option<(u64, u64, u64)> {
        let rows = self.row_axis()?;
        Some((self.shape[rows], self.shape[rows + 1], self.piece[rows]))
    }

    /// Bytes of all elements, of both sides.
    pub(super) fn bytes(&self) -> u64 {
        self.shape.iter().fold(self.element_bytes, |bytes, length| bytes.saturating_mul(*length))
    }

    fn piece_bytes(&self) -> u64 {
        self.piece.iter().fold(self.element_bytes, |bytes, length| bytes.saturating_mul(*length))
    }

    /// Bytes of the pieces of whole levels.
    fn level_slab(&self) -> u64 {
        self.piece_bytes().saturating_mul(self.pieces_per_level())
    }

    /// Pieces whose last rows belong to windows of the next.
    pub(super) fn overlap(&self) -> u64 {
        self.level().map_or(0, |(_, _, rows)| (2 * RADIUS as u64).div_ceil(rows))
    }

    /// Whether levels are too large to be kept: their range is found in one walk, and their windows in another.
    pub(super) fn reads_twice(&self) -> bool {
        self.no_levels.is_none() && self.level_slab() > self.slab_bytes
    }

    /// Whether the thread that reads a piece compares its levels, too: it has them whole, and they are still in its caches.
    pub(super) fn compares_pieces(&self) -> bool {
        let threads = self.threads as u64;
        !self.reads_twice() && self.pieces_per_level() == 1 && self.num_pieces() >= threads.saturating_mul(TURNS)
    }

    /// The runs of pieces that are kept at a time: of whole levels, or else of parts of them that overlap.
    pub(super) fn slabs(&self) -> Vec<Range<u64>> {
        let (per_level, most) = (self.pieces_per_level(), (self.slab_bytes / self.piece_bytes().max(1)).max(1));
        let all = self.num_pieces();
        if !self.reads_twice() {
            let run = (most / per_level).max(1) * per_level;
            return (0..all).step_by(as_index(run)).map(|first| first..(first + run).min(all)).collect();
        }
        let forward = most.saturating_sub(self.overlap()).max(1);
        let mut slabs = Vec::new();
        for first in (0..all).step_by(as_index(per_level)) {
            let end = first + per_level;
            let mut at = first;
            loop {
                slabs.push(at..(at + forward + self.overlap()).min(end));
                if at + forward + self.overlap() >= end {
                    break;
                }
                at += forward;
            }
        }
        slabs
    }

    /// The elements of each level in a piece, by level; all where there are no levels.
    pub(super) fn levels_of(&self, piece: &Region) -> impl Iterator<Item = Range<usize>> + use<> {
        let all = as_index(piece.num_elements());
        let of_level = match piece.shape.as_slice() {
            [.., rows, columns] if self.no_levels.is_none() => as_index(rows * columns),
            _ => all,
        };
        (0..all).step_by(of_level.max(1)).map(move |first| first..(first + of_level).min(all))
    }

    /// The number of a piece.
    pub(super) fn number_of(&self, piece: &Region) -> u64 {
        let place: Vec<u64> = piece.start.iter().zip(&self.piece).map(|(start, length)| start / length).collect();
        ravel(&place, &self.grid)
    }

    /// A piece, cut at the edge of the array.
    pub(super) fn region(&self, index: u64) -> Region {
        Region::chunk(&unravel(index, &self.grid), &self.piece).common(&Region::whole(&self.shape))
    }
}

/// Elements along a dimension that hold whole chunks of both sides, where that is not far more than one.
fn aligned(sides: [&StoredArray; 2], shape: &[u64], dimension: usize) -> u64 {
    let [a, b] = sides.map(|side| side.subchunk_shape()[dimension]);
    let greater = a.max(b).max(1);
    let joint = lcm(a.max(1), b.max(1)).filter(|length| *length <= greater.saturating_mul(4)).unwrap_or(greater);
    joint.min(shape[dimension]).max(1)
}

/// The levels and their ranges.
#[derive(Debug)]
pub(super) struct Levels<'a> {
    geometry: &'a Geometry,
    /// The range of both sides, by the levels in C order; empty for levels without values.
    ranges: Vec<(f64, f64)>,
    similarities: Vec<Similarity>,
}

/// Rows of windows of a level.
#[derive(Debug, Clone)]
pub(super) struct LevelBand {
    /// The level, in C order.
    pub level: usize,
    /// The range of its values, of both sides.
    pub range: LevelRange,
    /// Its first piece, and its place among the levels that begin there.
    pub first_piece: u64,
    pub place: u64,
    /// The rows in the middle of the windows.
    pub middles: Range<u64>,
}

impl<'a> Levels<'a> {
    pub(super) fn new(geometry: &'a Geometry) -> Self {
        let count = geometry.level().map_or(0, |_| as_index(leading(&geometry.shape).iter().product::<u64>()));
        let ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); count];
        Levels { geometry, ranges, similarities: vec![Similarity::default(); count] }
    }

    /// Widens the ranges by those of the levels in a piece.
    pub(super) fn widen(&mut self, piece: u64, ranges: &[(f64, f64)]) {
        if self.ranges.is_empty() {
            return;
        }
        for (place, found) in ranges.iter().enumerate() {
            let level = level_of(self.geometry, piece, place as u64);
            if let Some(range) = self.ranges.get_mut(level) {
                *range = (range.0.min(found.0), range.1.max(found.1));
            }
        }
    }

    /// The bands of windows that lie inside a run of pieces, and have not been compared in the run before it.
    pub(super) fn bands(&self, slab: &Range<u64>) -> Vec<LevelBand> {
        bands(self.geometry, slab, |level, _| self.ranges.get(level).copied())
    }

    /// Adds the windows of a band.
    pub(super) fn add(&mut self, band: &LevelBand, similarity: Similarity) {
        if let Some(all) = self.similarities.get_mut(band.level) {
            all.merge(similarity);
        }
    }

    /// The level with the least DSSIM, the first of several, by its indices; `None` where none has any.
    pub(super) fn least(&self) -> Option<(Vec<u64>, f64)> {
        let means = self.similarities.iter().enumerate().filter_map(|(level, all)| Some((level, all.mean()?)));
        let least = means.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        Some((unravel(least.0 as u64, leading(&self.geometry.shape)), least.1))
    }
}

/// The number of a level by a piece and its place there.
fn level_of(geometry: &Geometry, piece: u64, place: u64) -> usize {
    let region = geometry.region(piece);
    let inside = unravel(place, leading(&region.shape));
    let at: Vec<u64> = inside.iter().zip(&region.start).map(|(inside, start)| inside + start).collect();
    as_index(ravel(&at, leading(&geometry.shape)))
}

/// The bands of windows that lie inside a run of pieces, and have not been compared in the run before it. The range of a level
/// is found by its number, or its place in its pieces; it is empty where no value counts.
pub(super) fn bands(
    geometry: &Geometry,
    slab: &Range<u64>,
    range_of: impl Fn(usize, usize) -> Option<(f64, f64)>,
) -> Vec<LevelBand> {
    let Some((rows, _, piece_rows)) = geometry.level() else { return Vec::new() };
    let (per_level, radius) = (geometry.pieces_per_level(), RADIUS as u64);
    let mut bands = Vec::new();
    let mut piece = slab.start;
    while piece < slab.end {
        let number = piece % per_level;
        let first_piece = piece - number;
        let end = (first_piece + per_level).min(slab.end);
        // Where a run begins within levels, the one before it had the windows whose rows it had.
        let first_row = number * piece_rows;
        let last_row = ((end - first_piece) * piece_rows).min(rows);
        let from = if number == 0 { radius } else { compared_rows(geometry, first_row) };
        let count = leading(&geometry.region(first_piece).shape).iter().product::<u64>();
        for place in 0..count {
            let level = level_of(geometry, first_piece, place);
            let Some((least, greatest)) =
                range_of(level, as_index(place)).filter(|(least, greatest)| least <= greatest)
            else {
                continue;
            };
            let range = LevelRange { least, greatest };
            let mut first = from;
            while first + radius < last_row {
                let middles = first..(first + BAND).min(last_row - radius);
                first = middles.end;
                bands.push(LevelBand { level, range, first_piece, place, middles });
            }
        }
        piece = end;
    }
    bands
}

/// The first row in the middle of a window that a run of pieces, which begins at a row within levels, is the first to have
/// whole: the run before it reached as far as the pieces that both have.
fn compared_rows(geometry: &Geometry, first_row: u64) -> u64 {
    let (rows, _, piece_rows) = geometry.level().unwrap_or((0, 0, 1));
    (first_row + geometry.overlap() * piece_rows).min(rows) - RADIUS as u64
}

/// The lengths of the dimensions before the last two.
fn leading(shape: &[u64]) -> &[u64] {
    &shape[..shape.len().saturating_sub(2)]
}
