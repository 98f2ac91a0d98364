//! The blocks in which both sides of an array are measured, and their pieces. A level is a slice of the last two
//! dimensions. A block has whole levels if memory allows, else some rows of them.

use std::ops::Range;

use crate::array::StoredArray;
use crate::codec::region::as_index;
use crate::engine::Transfer;
use crate::grid::{Region, lcm, volume};
use crate::kernel::quality::similarity::{RADIUS, WINDOW};
use crate::operation::transcode::plan::reading_bytes;
use crate::operation::{Budget, Result, budget};

/// Target for the bytes of a block, in total and per thread, if the budget allows and no more are needed.
const BLOCK_BYTES: u64 = 64 << 20;
const BLOCK_BYTES_OF_A_THREAD: u64 = 8 << 20;

/// Target for the bytes of a piece. Threads have several pieces each, and a piece stays in a level 2 cache.
const PIECE_BYTES: u64 = 1 << 19;

/// Number of rows of windows that are compared together.
const BAND: u64 = 64;

/// Rows of a level in a window beside those that it shares with the next window.
pub(super) const OVERLAP: u64 = 2 * RADIUS as u64;

/// The blocks of an array. The blocks of a level are consecutive, from its first rows to its last.
pub(super) struct Geometry {
    /// Shape of the array without the dimensions of levels.
    pub(super) leading: Vec<u64>,
    /// Rows and columns of a level.
    pub(super) level: Option<(u64, u64)>,
    /// Reason why there are no levels to compare.
    pub(super) no_levels: Option<&'static str>,
    /// Shape of a block in elements. It consists of whole pieces.
    pub(super) block: Vec<u64>,
    /// Shape of a piece in elements. Its elements are consecutive in C order.
    pub(super) piece: Vec<u64>,
    /// Whether levels are too large for memory. Then one walk determines their range, and another compares their
    /// windows.
    pub(super) reads_twice: bool,
    /// Bytes of all elements, of both sides.
    pub(super) bytes: u64,
    /// Number of threads that may read and measure at the same time.
    pub(super) threads: usize,
}

impl Geometry {
    /// Returns the blocks of arrays of `shape`. Fails if the budget is too small for any.
    pub(super) fn new(transfer: &Transfer, budget: Budget) -> Result<Self> {
        let arrays = [&transfer.source, &transfer.destination];
        let shape = &*transfer.destination.metadata.shape;
        let element_bytes: u64 = arrays.iter().map(|array| array.fill_value().len() as u64).sum();
        let bytes_of = |block: &[u64]| element_bytes.saturating_mul(volume(block));
        let (leading, level, no_levels) = match shape {
            [leading @ .., rows, columns] if *rows.min(columns) >= WINDOW as u64 => {
                (leading, Some((*rows, *columns)), None)
            }
            [_, _, ..] => (shape, None, Some("the last two dimensions are shorter than 11")),
            _ => (shape, None, Some("the array has fewer than two dimensions")),
        };
        let num_leading = leading.len();
        // One half of the budget is for a block, the other half for the threads.
        let half = budget.bytes() / 2;
        // Whole chunks, and whole rows of levels: windows then cross the borders of blocks in one direction only.
        let mut joint: Vec<u64> = (0..shape.len()).map(|dimension| aligned(arrays, shape, dimension)).collect();
        if let Some((rows, columns)) = level {
            // The last rows of a block are those that the windows of the next one need.
            joint[num_leading] = OVERLAP.next_multiple_of(joint[num_leading]).min(rows);
            joint[num_leading + 1] = columns;
        }
        let cut = |mut block: Vec<u64>| {
            while bytes_of(&block) > half {
                let longest = (0..num_leading).max_by_key(|dimension| block[*dimension]);
                let Some(dimension) = longest.filter(|dimension| block[*dimension] > 1) else { break };
                block[dimension] = block[dimension].div_ceil(2);
            }
            block
        };
        let reads =
            |block: &[u64]| joint.iter().zip(block).map(|(joint, block)| joint.div_ceil(*block)).product::<u64>();
        let (mut block, mut reads_twice) = (cut(joint.clone()), false);
        if let Some((rows, _)) = level {
            let with_rows = |block: &[u64], rows| [&block[..num_leading], &[rows], &block[num_leading + 1..]].concat();
            let whole = cut(with_rows(&joint, rows));
            // A chunk that is cut is read once for each of its parts.
            reads_twice = bytes_of(&whole) > half || reads(&whole) > 2 * reads(&block);
            if reads_twice {
                let count = (half / bytes_of(&block).max(1)).max(1);
                block = with_rows(&block, count.saturating_mul(joint[num_leading]));
            } else {
                block = whole;
            }
        }
        // A thread reads one chunk of each side at a time. Its band of levels has three bytes per element and two rows
        // of floats.
        let band = level.map_or(1, |(_, columns)| columns).saturating_mul((BAND + OVERLAP) * 3 + 16);
        let reading = arrays.iter().map(|array| reading_bytes(array, true));
        let unit = reading.fold(budget::BASE_BYTES.saturating_add(band), u64::saturating_add);
        let least = bytes_of(&block).max(unit);
        if least > half {
            let purpose = "for measuring the quality, which keeps whole rows of SOURCE and DEST";
            return Err(budget.too_small(least.saturating_mul(2), purpose));
        }
        let threads = budget.threads().min(usize::try_from(half / unit).unwrap_or(usize::MAX));
        // Many small chunks are read together, so that all threads have work.
        let target = BLOCK_BYTES.max(BLOCK_BYTES_OF_A_THREAD.saturating_mul(threads as u64)).min(half);
        for dimension in (0..num_leading).rev() {
            while block[dimension] < shape[dimension] && bytes_of(&block) <= target / 2 {
                block[dimension] = (block[dimension] * 2).min(shape[dimension]);
            }
        }
        let piece = piece(shape, &mut block, level, PIECE_BYTES / element_bytes.max(1));
        let (leading, bytes) = (if level.is_some() { leading.to_vec() } else { Vec::new() }, bytes_of(shape));
        Ok(Geometry { leading, level, no_levels, block, piece, reads_twice, bytes, threads })
    }

    /// Returns the start of each level of a block, or of its rows in the block.
    pub(super) fn levels_of(&self, block: &Region) -> impl Iterator<Item = Vec<u64>> + use<> {
        let mut levels = block.clone();
        levels.shape.iter_mut().skip(self.leading.len()).for_each(|length| *length = (*length).min(1));
        levels.cells()
    }

    /// Returns the middle rows of the windows in `rows` that were not in the block before, in bands.
    pub(super) fn bands(rows: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
        let middles = rows.start.saturating_sub(OVERLAP) + RADIUS as u64..rows.end.saturating_sub(RADIUS as u64);
        middles.clone().step_by(as_index(BAND)).map(move |first| first..(first + BAND).min(middles.end))
    }
}

/// Returns the shape of a piece of about `room` elements. Rows of levels in the block become whole pieces.
fn piece(shape: &[u64], block: &mut [u64], level: Option<(u64, u64)>, room: u64) -> Vec<u64> {
    let (mut piece, mut room) = (vec![1; shape.len()], room.max(1));
    for dimension in (0..shape.len()).rev() {
        let length = block[dimension];
        piece[dimension] = match level {
            Some((_, columns)) if dimension + 1 == shape.len() => columns,
            Some((rows, _)) if dimension + 2 == shape.len() && length == rows => {
                // Levels end with the array, so the last piece may reach beyond it.
                let count = rows.div_ceil(room.max(BAND));
                block[dimension] = rows.div_ceil(count) * count;
                rows.div_ceil(count)
            }
            _ => divisor(length, room),
        };
        if piece[dimension] < shape[dimension] {
            break;
        }
        room = (room / piece[dimension].max(1)).max(1);
    }
    piece
}

/// Returns a divisor of a length that is at most `most`, and not much less. If none is found, the length itself.
fn divisor(length: u64, most: u64) -> u64 {
    let least = length.div_ceil(most).max(1);
    (least..least.saturating_mul(4)).find(|count| length.is_multiple_of(*count)).map_or(length, |count| length / count)
}

/// Returns the length of a block along a dimension. It has whole chunks of both sides, if at most four times the longer
/// chunk.
fn aligned(arrays: [&StoredArray; 2], shape: &[u64], dimension: usize) -> u64 {
    let [a, b] = arrays.map(|array| array.subchunk_shape()[dimension]);
    let greater = a.max(b).max(1);
    let joint = lcm(a.max(1), b.max(1)).filter(|length| *length <= greater.saturating_mul(4)).unwrap_or(greater);
    joint.min(shape[dimension]).max(1)
}
