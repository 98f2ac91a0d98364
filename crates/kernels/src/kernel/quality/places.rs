//! The places of pairs of values on a grid, found once for both where they are neighbours.

use crate::kernel::dispatch::BlockLoop;

/// Pairs whose places on a grid are found at a time: they stay in a first-level cache.
pub(super) const PAIRS: usize = 512;

/// Pairs of a grid of so few values are counted by their value of DEST, so many times side by side: neighbouring pairs, which
/// often are of one value, do not have to wait for each other.
pub(super) const MOST_SPREAD: usize = 1 << 10;
pub(super) const COPIES: usize = 4;

/// Steps that both values of a pair may be apart at most, to be counted as one; and the least distance of a grid's values.
const NEAR: f64 = 0.999;
pub(super) const LEAST_STEP: f64 = 0.9995;

/// Pairs whose places are to be found.
pub(super) struct Pairs<'a> {
    pub(super) x: &'a [f64],
    pub(super) y: &'a [f64],
    /// The origin, the inverse of the step, and the number of values.
    pub(super) grid: (f64, f64, usize),
    pub(super) places: &'a mut [u32; PAIRS],
}

/// Where the value of SOURCE lies: below that of DEST, above, or the same, which is 1. Or the pair does not count.
pub(super) const BELOW: u32 = 0;
pub(super) const ABOVE: u32 = 2;
const NOT_COUNTED: u32 = 3;

/// The loop that finds for each pair four times the number of the grid's value that is nearest to that of DEST, and where that of
/// SOURCE lies. Whether a pair is so far apart that another value of the grid may lie between.
pub(super) struct PlaceLoop;

impl BlockLoop for PlaceLoop {
    type Work<'a> = Pairs<'a>;
    type Outcome = bool;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the integer is in the last bits")]
    #[expect(clippy::cast_precision_loss, reason = "at most 2^18")]
    fn run<const ROUNDS: bool>(Pairs { x, y, grid, places }: Pairs<'_>) -> bool {
        // A float64 so large that it has no fraction: adding it rounds to an integer, in the last bits.
        const ROUNDER: f64 = 6_755_399_441_055_744.0;
        let (origin, inverse, count) = grid;
        let last = (count - 1) as f64;
        let mut is_far = false;
        for ((x, y), place) in x.iter().zip(y).zip(places.iter_mut()) {
            let at = (y - origin) * inverse;
            let at = if at > 0.0 { at } else { 0.0 };
            let at = if at < last { at } else { last };
            let is_counted = (x - x == 0.0) & (y - y == 0.0);
            // Beyond the ends of the grid no other value follows.
            let is_near = ((x - y).abs() * inverse < NEAR)
                | ((at == 0.0) & (x < y))
                | ((at == last) & (x > y))
                | !is_counted;
            is_far |= !is_near;
            let side = u32::from(x >= y) + u32::from(x > y);
            let side = if is_counted { side } else { NOT_COUNTED };
            *place = (at + ROUNDER).to_bits() as u32 * 4 + side;
        }
        is_far
    }
}

/// Counts pairs by their places on a grid; those whose value of DEST is not one of its values are `others`.
pub(super) fn count_near(
    values: &[f64],
    destination: &[f64],
    places: &[u32; PAIRS],
    near: &mut [[u64; 4]],
    others: &mut Vec<usize>,
) {
    let mut count = |copy: usize, number: usize, y: f64, place: u32| {
        let (at, side) = ((place >> 2) as usize, (place & 3) as usize);
        match (values.get(at), near.get_mut(at * COPIES + copy)) {
            (Some(value), Some(counts)) if is_own(*value, y, place) => counts[side] += 1,
            _ => others.push(number),
        }
    };
    let (whole, rest) = destination.as_chunks::<COPIES>();
    let mut first = 0;
    for (y, place) in whole.iter().zip(places.as_chunks::<COPIES>().0) {
        for copy in 0..COPIES {
            count(copy, first + copy, y[copy], place[copy]);
        }
        first += COPIES;
    }
    for (number, y) in (first..).zip(rest) {
        count(0, number, *y, places[number]);
    }
}

/// Whether a value of DEST is that of the grid, or the pair does not count. As integers they are compared in one instruction.
pub(super) fn is_own(value: f64, y: f64, place: u32) -> bool {
    (value.to_bits() == y.to_bits()) | (place & 3 == NOT_COUNTED)
}
