//! The levels of an array, the last two dimensions at each index of the others: their ranges, and how similar both sides are.

use std::ops::Range;

use super::geometry::{BAND, Geometry};
use crate::codec::region::as_index;
use crate::grid::{ravel, unravel};
use crate::kernel::quality::similarity::{LevelRange, RADIUS, Similarity};

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
        Levels {
            geometry,
            ranges: vec![(f64::INFINITY, f64::NEG_INFINITY); count],
            similarities: vec![Similarity::default(); count],
        }
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
