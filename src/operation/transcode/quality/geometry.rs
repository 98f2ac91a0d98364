//! The pieces in which both sides of an array are measured. They cut few chunks, and have whole rows if there are
//! levels. A level is a slice of the last two dimensions, with its range and the similarity of both sides.

use std::ops::Range;

use crate::array::StoredArray;
use crate::codec::region::as_index;
use crate::engine::Transfer;
use crate::grid::{Region, lcm, ravel, unravel, volume};
use crate::kernel::quality::similarity::{LevelRange, RADIUS, Similarity, WINDOW};
use crate::operation::transcode::plan::reading_bytes;
use crate::operation::{Budget, Result, budget};

/// Target for the bytes of pieces in memory, if the budget allows and no more are needed.
const SLAB_BYTES: u64 = 64 << 20;

/// Number of rows of windows that are compared together.
pub(super) const BAND: u64 = 64;

/// The pieces of an array. They are in C order, so the pieces of a level are consecutive.
pub(super) struct Geometry {
    pub(super) shape: Vec<u64>,
    /// Shape of a piece in elements.
    pub(super) piece: Vec<u64>,
    /// Number of pieces along each dimension.
    pub(super) grid: Vec<u64>,
    /// Reason why there are no levels to compare.
    pub(super) no_levels: Option<&'static str>,
    /// Bytes of an element, both sides together.
    element_bytes: u64,
    /// Limit for the bytes of pieces in memory.
    slab_bytes: u64,
    /// Number of threads that may read and measure at the same time.
    pub(super) threads: usize,
}

/// Least number of pieces per thread, so that at the end no thread works long while others wait.
const TURNS: u64 = 4;

impl Geometry {
    /// Returns the pieces of arrays of `shape`. Fails if the budget is too small for any.
    pub(super) fn new(transfer: &Transfer, budget: Budget) -> Result<Self> {
        let arrays = [&transfer.source, &transfer.destination];
        let shape = &*transfer.destination.metadata.shape;
        let element_bytes: u64 = arrays.iter().map(|array| array.fill_value().len() as u64).sum();
        let rank = shape.len();
        let no_levels = match shape {
            [.., rows, columns] if *rows.min(columns) < WINDOW as u64 => {
                Some("the last two dimensions are shorter than 11")
            }
            [_, _, ..] => None,
            _ => Some("the array has fewer than two dimensions"),
        };
        let width = if no_levels.is_none() { shape.get(rank - 1).copied().unwrap_or(1) } else { 1 };
        // A thread reads one chunk of each side at a time. Its band of levels has three bytes per element and two rows
        // of floats.
        let band = width.saturating_mul((BAND + 2 * RADIUS as u64) * 3 + 16);
        let reading = arrays.iter().map(|array| reading_bytes(array, true));
        let unit = reading.fold(budget::BASE_BYTES.saturating_add(band), u64::saturating_add);
        // One half for pieces, the other half for the threads.
        let half = budget.bytes() / 2;
        // With levels, no row is cut. Windows then cross the borders of pieces in one direction only.
        let whole = |dimension: usize| no_levels.is_none() && dimension + 1 == rank;
        let bytes_of = |piece: &[u64]| element_bytes.saturating_mul(volume(piece));
        let length = |dimension| if whole(dimension) { shape[dimension] } else { aligned(arrays, shape, dimension) };
        let mut piece: Vec<u64> = (0..rank).map(length).collect();
        // A thread reads a piece into one buffer, and may cut it into another.
        let most = (half / 8).min(half.saturating_sub(unit) / 2);
        let cut_rows = rank.saturating_sub(if no_levels.is_none() { 2 } else { 1 });
        // The rows are cut last: a chunk that is cut is read once for each of its parts.
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
        let purpose = || "for measuring the quality, which keeps whole rows of SOURCE and DEST".to_owned();
        if least > half {
            return Err(budget.too_small(least.max(unit).saturating_mul(2), &purpose()));
        }
        // If possible, a slab has a whole level, because then one walk is enough.
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

    /// Returns the number of pieces of a level, from its first rows to its last.
    pub(super) fn pieces_per_level(&self) -> u64 {
        self.row_axis().map_or(1, |rows| self.grid[rows])
    }

    /// Returns the dimension of the rows of levels. `None` without levels.
    fn row_axis(&self) -> Option<usize> {
        if self.no_levels.is_some() { None } else { self.shape.len().checked_sub(2) }
    }

    /// Returns the rows and columns of a level, and the rows of a piece.
    pub(super) fn level(&self) -> Option<(u64, u64, u64)> {
        let rows = self.row_axis()?;
        Some((self.shape[rows], self.shape[rows + 1], self.piece[rows]))
    }

    /// Returns the bytes of all elements, of both sides.
    pub(super) fn bytes(&self) -> u64 {
        self.element_bytes.saturating_mul(volume(&self.shape))
    }

    fn piece_bytes(&self) -> u64 {
        self.element_bytes.saturating_mul(volume(&self.piece))
    }

    /// Returns the bytes of the pieces of whole levels.
    fn level_slab(&self) -> u64 {
        self.piece_bytes().saturating_mul(self.pieces_per_level())
    }

    /// Returns the number of pieces whose last rows belong to windows of the next piece.
    pub(super) fn overlap(&self) -> u64 {
        self.level().map_or(0, |(_, _, rows)| (2 * RADIUS as u64).div_ceil(rows))
    }

    /// Returns whether levels are too large for memory. Then one walk determines their range, and another compares
    /// their windows.
    pub(super) fn reads_twice(&self) -> bool {
        self.no_levels.is_none() && self.level_slab() > self.slab_bytes
    }

    /// Returns whether the thread that reads a piece also compares its levels. It has them whole, and still in its
    /// caches.
    pub(super) fn compares_pieces(&self) -> bool {
        let are_whole = self.no_levels.is_none() && !self.reads_twice() && self.pieces_per_level() == 1;
        are_whole && self.num_pieces() >= (self.threads as u64).saturating_mul(TURNS)
    }

    /// Returns the runs of pieces that are in memory at the same time: whole levels, or overlapping parts of them.
    pub(super) fn slabs(&self) -> Vec<Range<u64>> {
        let (per_level, most) = (self.pieces_per_level(), (self.slab_bytes / self.piece_bytes().max(1)).max(1));
        let all = self.num_pieces();
        let (span, overlap, forward) = if self.reads_twice() {
            (per_level, self.overlap(), most.saturating_sub(self.overlap()).max(1))
        } else {
            (all.max(1), 0, (most / per_level).max(1) * per_level)
        };
        let count = span.saturating_sub(overlap).div_ceil(forward).max(1);
        let mut slabs = Vec::new();
        for first in (0..all).step_by(as_index(span)) {
            let starts = (0..count).map(|run| first + run * forward);
            slabs.extend(starts.map(|start| start..(start + forward + overlap).min(first + span)));
        }
        slabs
    }

    /// Returns the elements of each level in a piece, by level. Without levels: all elements.
    pub(super) fn levels_of(&self, piece: &Region) -> impl Iterator<Item = Range<usize>> + use<> {
        let all = as_index(piece.num_elements());
        let of_level = match piece.shape.as_slice() {
            [.., rows, columns] if self.no_levels.is_none() => as_index(rows * columns),
            _ => all,
        };
        (0..all).step_by(of_level.max(1)).map(move |first| first..(first + of_level).min(all))
    }

    /// Returns the index of a piece.
    pub(super) fn number_of(&self, piece: &Region) -> u64 {
        let cell: Vec<u64> = piece.start.iter().zip(&self.piece).map(|(start, length)| start / length).collect();
        ravel(&cell, &self.grid)
    }

    /// Returns the region of a piece, cut at the edge of the array.
    pub(super) fn region(&self, index: u64) -> Region {
        Region::chunk(&unravel(index, &self.grid), &self.piece).common(&Region::whole(&self.shape))
    }

    /// Returns the index of a level, from a piece and the level's index in it.
    fn level_of(&self, piece: u64, index: u64) -> usize {
        let region = self.region(piece);
        let inside = unravel(index, leading(&region.shape));
        let at: Vec<u64> = inside.iter().zip(&region.start).map(|(inside, start)| inside + start).collect();
        as_index(ravel(&at, leading(&self.shape)))
    }

    /// Returns the bands of windows in a run of pieces that were not compared in the run before it. `range` has the
    /// index of a level, and its index in its pieces. Levels with an empty range are skipped.
    pub(super) fn bands(&self, run: &Range<u64>, range: impl Fn(usize, usize) -> Option<(f64, f64)>) -> Vec<LevelBand> {
        let Some((rows, _, piece_rows)) = self.level() else { return Vec::new() };
        let (per_level, radius) = (self.pieces_per_level(), RADIUS as u64);
        let mut bands = Vec::new();
        let mut piece = run.start;
        while piece < run.end {
            let number = piece % per_level;
            let first_piece = piece - number;
            let end = (first_piece + per_level).min(run.end);
            let last_row = ((end - first_piece) * piece_rows).min(rows);
            // A run that begins within levels skips the windows whose rows were all in the run before it, which also has
            // the pieces of the overlap.
            let skipped = if number == 0 { 0 } else { ((number + self.overlap()) * piece_rows).min(rows) - 2 * radius };
            let count = leading(&self.region(first_piece).shape).iter().product::<u64>();
            for index in 0..count {
                let level = self.level_of(first_piece, index);
                let Some((least, greatest)) = range(level, as_index(index)).filter(|(least, most)| least <= most)
                else {
                    continue;
                };
                let range = LevelRange { least, greatest };
                let firsts = (skipped + radius..last_row.saturating_sub(radius)).step_by(as_index(BAND));
                bands.extend(firsts.map(|first| {
                    let middles = first..(first + BAND).min(last_row - radius);
                    LevelBand { level, range, first_piece, index, middles }
                }));
            }
            piece = end;
        }
        bands
    }
}

/// Returns the length of a piece along a dimension. It has whole chunks of both sides, if at most four times the longer
/// chunk.
fn aligned(arrays: [&StoredArray; 2], shape: &[u64], dimension: usize) -> u64 {
    let [a, b] = arrays.map(|array| array.subchunk_shape()[dimension]);
    let greater = a.max(b).max(1);
    let joint = lcm(a.max(1), b.max(1)).filter(|length| *length <= greater.saturating_mul(4)).unwrap_or(greater);
    joint.min(shape[dimension]).max(1)
}

pub(super) struct Levels<'a> {
    geometry: &'a Geometry,
    /// The range of both sides for each level in C order. Empty for levels without values.
    pub(super) ranges: Vec<(f64, f64)>,
    similarities: Vec<Similarity>,
}

/// Rows of windows of a level.
pub(super) struct LevelBand {
    /// Index of the level in C order.
    pub level: usize,
    /// The range of its values, of both sides.
    pub range: LevelRange,
    /// Its first piece, and its index among the levels that begin there.
    pub first_piece: u64,
    pub index: u64,
    /// The middle rows of the windows.
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
        for (index, found) in ranges.iter().enumerate() {
            let level = self.geometry.level_of(piece, index as u64);
            if let Some(range) = self.ranges.get_mut(level) {
                *range = (range.0.min(found.0), range.1.max(found.1));
            }
        }
    }

    pub(super) fn add(&mut self, band: &LevelBand, similarity: Similarity) {
        if let Some(all) = self.similarities.get_mut(band.level) {
            all.merge(similarity);
        }
    }

    /// Returns the indices and DSSIM of the level with the least DSSIM, the first of several. `None` if no level has a
    /// DSSIM.
    pub(super) fn least(&self) -> Option<(Vec<u64>, f64)> {
        let means = self.similarities.iter().enumerate().filter_map(|(level, all)| Some((level, all.mean()?)));
        let least = means.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        Some((unravel(least.0 as u64, leading(&self.geometry.shape)), least.1))
    }
}

/// Returns the shape without the last two dimensions.
fn leading(shape: &[u64]) -> &[u64] {
    &shape[..shape.len().saturating_sub(2)]
}
