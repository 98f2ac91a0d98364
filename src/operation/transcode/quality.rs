//! `--quality`: the effect of a quantisation on the values, from SOURCE and DEST read together.
//!
//! DEST is read back after its chunks are written and before it is published. After a resumed run all of it is read,
//! and from every kind of store what is really stored. Both sides are read as floats: it does not matter which codec
//! rounded them. The elements are converted to float64, piece by piece.
//!
//! Both sides are measured in blocks. A level is a slice of the last two dimensions. A block has whole levels if memory
//! allows, else some rows of them.

use std::mem::take;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::verify::{Compared, Comparison, ReadBack, Scratch, concluded};
use super::{Plan, Verification, plan::reading_bytes};
use crate::array::{self, ChunkFault, Fault, StoredArray};
use crate::codec::{StepOrigin, Tiles, ValueConversion, ValueProgram, ValueStep, region::as_index};
use crate::element::{ElementType, NumberType};
use crate::engine::{ChunkResult, Driver, Pair, PairBlock, Pairs, Progress, Transfer};
use crate::grid::{Region, lcm, ravel, unravel, volume};
use crate::kernel::quality::distribution::{MOST_VALUES, PairCounts, PossibleValues, p_value};
use crate::kernel::quality::similarity::{Band, LevelRange, RADIUS, Similarity, SimilarityScan, WINDOW};
use crate::kernel::quality::sums::{PairScan, PairSums};
use crate::operation::quantize::{Codes, elements_of};
use crate::operation::{Budget, OperationError, QualityResult, Quantization, QuantizeForm, Result, budget, narrowed};
use crate::store::held;

/// Number of values that are converted and measured at a time: both sides stay in a first-level cache.
const STRETCH: usize = 1 << 10;

/// Returns whether values are quantised, or rounded to bits.
pub(super) fn is_lossy(plan: &Plan) -> bool {
    plan.changed.quantization.is_some() || plan.changed.rounding.is_some()
}

/// Fails if the budget is too small to measure an array, before anything is written.
pub(super) fn check_room(plan: &Plan, budget: Budget) -> Result<()> {
    let Some(job) = plan.job.objects().filter(|_| is_lossy(plan)) else { return Ok(()) };
    Geometry::new(&job.transfer, budget).map(drop)
}

/// Measures an array, and compares it in the same walk if requested. `None` if it is not quantised.
pub(super) fn measure(of: &ReadBack<'_>, verifies: bool) -> Result<Option<(QualityResult, Option<Verification>)>> {
    let ReadBack { plan, budget, driver, progress, .. } = *of;
    let Some(job) = plan.job.objects().filter(|_| is_lossy(plan)) else { return Ok(None) };
    // Readers bind the chain of DEST's documents, so it is bound again here.
    let job = &plan.as_read(job)?;
    let transfer = &job.transfer;
    let geometry = &Geometry::new(transfer, budget)?;
    let Some(pairs) = Pairs::in_blocks(transfer, &geometry.piece, geometry.block.clone()) else { return Ok(None) };
    let arrays = [&transfer.source, &transfer.destination];
    let quantization = plan.changed.quantization.as_ref();
    let values = [numbers_of_source(arrays[0], &plan.changed.change), numbers_of_destination(arrays[1], quantization)];
    let mut absent = Vec::new();
    convert(&values[0], &arrays[0].fill_value(), &mut absent, &mut Tiles::default());
    let walk = QualityWalk {
        geometry,
        element_sizes: arrays.map(|array| array.fill_value().len()),
        values,
        possible: possible_values(plan),
        // The pieces are not the chunks of DEST.
        comparison: verifies.then(|| Comparison::of(plan, job, true)),
        is_void: absent.iter().all(|value| !value.is_finite()),
        progress,
        scan: PairScan::default(),
        similarity: SimilarityScan::default(),
        counts: Mutex::default(),
    };
    progress.start("quality", Some(geometry.bytes.saturating_mul(if geometry.reads_twice { 2 } else { 1 })));
    let found = walk.run(&pairs, &narrowed(driver, geometry.threads)?);
    progress.finish();
    let found = found.map_err(|ChunkFault { fault, .. }| {
        let message = format!("the quality of `{}` cannot be measured", plan.source.store);
        match fault {
            Fault::Interrupted(_) => OperationError::interrupted(),
            cause if cause.is_of_data() => OperationError::data(message).because(cause),
            cause => OperationError::environment(message).because(cause),
        }
    })?;
    let verified = walk.comparison.as_ref().map(|comparison| concluded(plan, found.compared, comparison));
    Ok(Some((walk.result(&found), verified.transpose()?)))
}

/// The numbers of both sides, and the buffers of the programs that return them.
type NumberBuffers = ([Vec<f64>; 2], Tiles);

#[derive(Debug, Default)]
struct Buffers {
    numbers: NumberBuffers,
    band: Band,
    scratch: Scratch,
}

/// The result of a piece.
#[derive(Default)]
struct Measured {
    sums: PairSums,
    verified: Compared,
    /// The least and greatest value of both sides in each level.
    ranges: Vec<(f64, f64)>,
}

/// The results of all blocks so far.
struct Found {
    sums: PairSums,
    compared: Compared,
    /// The range of both sides for each level in C order. Empty for levels without values.
    ranges: Vec<(f64, f64)>,
    similarities: Vec<Similarity>,
    /// For each level in a block, the rows that the windows of the next block need.
    last_rows: Vec<Band>,
}

/// A level of a block.
struct Level {
    /// Index in C order, in the array.
    index: usize,
    /// First element in the block.
    start: Vec<u64>,
    /// `None` without values.
    range: Option<LevelRange>,
    /// The rows before the block that windows in it need.
    rows_before: Band,
}

/// The inputs of the walks.
struct QualityWalk<'a> {
    geometry: &'a Geometry,
    /// Bytes of an element of both sides.
    element_sizes: [usize; 2],
    /// The conversion of the elements of both sides to float64.
    values: [ValueProgram; 2],
    /// The values that DEST can contain, if they are few.
    possible: Option<PossibleValues>,
    /// With `--verify`: the expected values of DEST.
    comparison: Option<Comparison>,
    /// Whether absent elements of SOURCE are not counted.
    is_void: bool,
    progress: &'a dyn Progress,
    scan: PairScan,
    similarity: SimilarityScan,
    /// Counts of the possible values. A thread takes a set, uses it alone, and gives it back.
    counts: Mutex<Vec<PairCounts>>,
}

impl QualityWalk<'_> {
    /// Measures all pieces, and compares all levels. Sums of floats depend on their order. That of the blocks, and of
    /// the pieces in a block, is the same for any number of threads.
    fn run(&self, pairs: &Pairs<'_>, driver: &Driver) -> ChunkResult<Found> {
        let num_levels = self.geometry.level.map_or(0, |_| as_index(self.geometry.leading.iter().product()));
        let found = Mutex::new(Found {
            sums: PairSums::default(),
            compared: Compared::default(),
            ranges: vec![(f64::INFINITY, f64::NEG_INFINITY); num_levels],
            similarities: vec![Similarity::default(); num_levels],
            last_rows: Vec::new(),
        });
        let has_levels = self.geometry.level.is_some();
        let walks: &[[bool; 2]] =
            if self.geometry.reads_twice { &[[true, false], [false, true]] } else { &[[true, has_levels]] };
        for [measures, compares] in walks {
            pairs.each_block(driver, |block| {
                let found = &mut held(&found);
                if *measures {
                    self.measure(block, found)?;
                }
                if *compares {
                    self.compare(block, found)?;
                }
                Ok(())
            })?;
        }
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn result(&self, Found { sums, similarities, .. }: &Found) -> QualityResult {
        let Geometry { leading, no_levels, .. } = self.geometry;
        let means = similarities.iter().enumerate().filter_map(|(level, all)| Some((level, all.mean()?)));
        // The first of several.
        let least = means.min_by(|(_, one), (_, other)| one.total_cmp(other));
        let counts = take(&mut *held(&self.counts)).into_iter().reduce(|mut all, counts| {
            all.merge(&counts);
            all
        });
        let distance = self.possible.as_ref().map(|possible| possible.distance(counts.unwrap_or_default()));
        let distance = distance.filter(|_| sums.points > 0);
        QualityResult {
            points: sums.points,
            bias: sums.bias(),
            psnr: sums.psnr(),
            pearson: sums.pearson(),
            relative_error_share: sums.large_error_share(),
            #[expect(clippy::cast_precision_loss, reason = "counts rounded to 53 bits: a ratio of 16 digits")]
            ks_statistic: distance.map(|distance| distance as f64 / sums.points as f64),
            ks_p: distance.map(|distance| p_value(sums.points, distance)),
            zeros_kept: sums.zeros_kept_share(),
            signs_kept: sums.signs_kept_share(),
            no_dssim: least.is_none().then(|| no_levels.unwrap_or("no window of 11 x 11 has a value")),
            dssim: least.map(|(_, dssim)| dssim),
            dssim_level: least.map(|(level, _)| unravel(level as u64, leading)),
        }
    }

    /// Measures the points of a block.
    fn measure(&self, block: &PairBlock<'_, Buffers>, found: &mut Found) -> array::Result<()> {
        let piece = |buffers: &mut Buffers, pair: &Pair<'_>| {
            let mut measured = Measured::default();
            if let Some(comparison) = &self.comparison {
                measured.verified = comparison.compare(pair, &mut buffers.scratch)?;
            }
            if !self.is_empty(pair.is_stored) {
                self.measure_points(pair, &mut buffers.numbers, &mut measured);
            }
            self.advance(pair.region.num_elements());
            Ok(measured)
        };
        block.each_piece(piece, |region, measured| {
            found.sums.merge(&measured.sums);
            found.compared += measured.verified;
            for (level, range) in self.geometry.levels_of(region).zip(measured.ranges) {
                if let Some(all) = found.ranges.get_mut(self.index_of(&level)) {
                    *all = (all.0.min(range.0), all.1.max(range.1));
                }
            }
        })
    }

    fn measure_points(&self, pair: &Pair<'_>, numbers: &mut NumberBuffers, measured: &mut Measured) {
        let mut counts = held(&self.counts).pop().unwrap_or_default();
        let all = as_index(pair.region.num_elements());
        let of_level = match *pair.region.shape {
            [.., rows, columns] if self.geometry.level.is_some() => as_index(rows * columns),
            _ => all,
        };
        for first in (0..all).step_by(of_level) {
            let mut level = PairSums::default();
            self.each_stretch(pair.elements, first..first + of_level, numbers, |x, y| {
                level.merge(&self.scan.run(x, y));
                if let Some(possible) = &self.possible {
                    possible.count(x, y, &mut counts);
                }
            });
            measured.ranges.push(level.joint_range());
            measured.sums.merge(&level);
        }
        held(&self.counts).push(counts);
    }

    /// Compares the windows whose last row is in a block.
    fn compare(&self, block: &PairBlock<'_, Buffers>, found: &mut Found) -> array::Result<()> {
        let Found { ranges, similarities, last_rows, .. } = found;
        let [.., rows, columns] = *block.region.shape else { return Ok(()) };
        let first_row = block.region.start[self.geometry.leading.len()];
        let rows = first_row..first_row + rows;
        // The block before had the same levels, or was the last one of its levels.
        let mut before = take(last_rows).into_iter();
        let levels = self.geometry.levels_of(block.region).map(|start| {
            let (index, rows_before) = (self.index_of(&start), before.next().unwrap_or_default());
            let (least, greatest) = ranges[index];
            let range = (least <= greatest).then_some(LevelRange { least, greatest });
            Level { index, start, range, rows_before }
        });
        let levels: Vec<Level> = levels.collect();
        let with_values = levels.iter().filter(|level| level.range.is_some());
        let bands: Vec<(&Level, Range<u64>)> =
            with_values.flat_map(|level| Geometry::bands(&rows).map(move |middles| (level, middles))).collect();
        let compare = |buffers: &mut Buffers, item| {
            let (level, middles) = &bands[as_index(item)];
            let radius = RADIUS as u64;
            let first = middles.start - radius;
            buffers.band.begin(as_index(columns));
            if first < rows.start {
                buffers.band.append_band(&level.rows_before);
            }
            self.append_rows(block, level, first.max(rows.start)..middles.end + radius, buffers);
            Ok(self.similarity.run(&buffers.band))
        };
        block.each(bands.len() as u64, compare, |item, similarity| {
            similarities[bands[as_index(item)].0.index].merge(similarity);
        })?;
        if self.geometry.reads_twice {
            self.advance(block.region.num_elements());
            let keep = |buffers: &mut Buffers, item| {
                buffers.band.begin(as_index(columns));
                self.append_rows(block, &levels[as_index(item)], rows.end - OVERLAP..rows.end, buffers);
                Ok(take(&mut buffers.band))
            };
            let is_last = self.geometry.level.is_none_or(|(all, _)| rows.end >= all);
            let count = if is_last { 0 } else { levels.len() as u64 };
            block.each(count, keep, |_, band| last_rows.push(band))?;
        }
        Ok(())
    }

    /// Appends rows of a level to the band of a thread.
    fn append_rows(&self, block: &PairBlock<'_, Buffers>, level: &Level, rows: Range<u64>, buffers: &mut Buffers) {
        let Buffers { numbers, band, .. } = buffers;
        let (mut element, row) = (level.start.clone(), self.geometry.leading.len());
        let width = block.region.shape[row + 1];
        let mut left = as_index((rows.end - rows.start) * width);
        element[row] = rows.start;
        while left > 0 {
            let (elements, is_stored) = block.elements_from(&element);
            let count = (elements[0].len() / self.element_sizes[0]).min(left);
            if let Some(range) = level.range.filter(|_| !self.is_empty(is_stored)) {
                self.each_stretch(elements, 0..count, numbers, |x, y| band.append(&self.similarity, x, y, range));
            } else {
                band.append_gap(count);
            }
            left -= count;
            element[row] += count as u64 / width;
        }
    }

    /// Returns whether no point of a piece counts: SOURCE stores nothing of it, and its fill value is NaN.
    fn is_empty(&self, is_stored: [bool; 2]) -> bool {
        self.is_void && !is_stored[0]
    }

    /// Passes the numbers of some elements of a piece to `visit`, a stretch at a time.
    fn each_stretch(
        &self,
        piece: [&[u8]; 2],
        elements: Range<usize>,
        ([x, y], tiles): &mut NumberBuffers,
        mut visit: impl FnMut(&[f64], &[f64]),
    ) {
        for start in elements.clone().step_by(STRETCH) {
            let end = (start + STRETCH).min(elements.end);
            for (side, numbers) in [&mut *x, &mut *y].into_iter().enumerate() {
                let size = self.element_sizes[side];
                convert(&self.values[side], &piece[side][start * size..end * size], numbers, tiles);
            }
            visit(x, y);
        }
    }

    /// Returns the index of the level that contains an element.
    fn index_of(&self, element: &[u64]) -> usize {
        let leading = &self.geometry.leading;
        as_index(ravel(&element[..leading.len()], leading))
    }

    fn advance(&self, elements: u64) {
        let size: usize = self.element_sizes.iter().sum();
        self.progress.advance(elements.saturating_mul(size as u64));
    }
}

/// Returns the conversion of SOURCE's elements to float64, with the unpacking of a change.
fn numbers_of_source(array: &StoredArray, change: &ValueConversion) -> ValueProgram {
    let Some(unpack) = change.unpacking() else { return numbers_of_destination(array, None) };
    let mut decoding = ValueProgram::new(unpack.source.size());
    decoding.push(ValueStep::Unpack(Box::new(unpack.clone())), StepOrigin::DataType);
    decoding.to_float64(unpack.target)
}

/// Returns the conversion of DEST's elements to float64, with or without a quantisation.
fn numbers_of_destination(array: &StoredArray, quantization: Option<&Quantization>) -> ValueProgram {
    let packed = quantization.filter(|quantization| quantization.form != QuantizeForm::Codecs);
    if let Some(quantization) = packed {
        return quantization.number_reader();
    }
    // Arrays that are quantised or rounded have numbers.
    let number_type = array.chain.decoded().data_type.real_number().unwrap_or(NumberType::of(ElementType::Float64));
    ValueProgram::new(number_type.size()).to_float64(number_type)
}

/// Replaces `numbers` with the values of elements. They are NaN if an element has no value, which only damage can cause.
fn convert(values: &ValueProgram, elements: &[u8], numbers: &mut Vec<f64>, tiles: &mut Tiles) {
    if values.numbers(elements, numbers, tiles).is_err() {
        numbers.fill(f64::NAN);
    }
}

/// Returns the values that a quantised or rounded DEST can contain: those of all codes of numbers, or all floats with the
/// kept bits. `None` if there are more than [`MOST_VALUES`], or if a code has no value.
fn possible_values(plan: &Plan) -> Option<PossibleValues> {
    let Some(quantization) = &plan.changed.quantization else {
        let rounding = plan.changed.rounding.as_ref()?;
        return PossibleValues::of_kept_bits(rounding.number_type.float_format()?, rounding.keep.bits()?);
    };
    let Codes { first, last, .. } = quantization.codes;
    usize::try_from(last.checked_sub(first)?).ok().filter(|count| *count < MOST_VALUES)?;
    let encoded = elements_of(quantization.target, (first..=last).map(i64::cast_unsigned));
    let mut numbers = Vec::new();
    convert(&quantization.number_reader(), &encoded, &mut numbers, &mut Tiles::default());
    if numbers.iter().all(|value| value.is_finite()) { PossibleValues::of_codes(numbers) } else { None }
}

/// Target for the bytes of a block, in total and per thread, if the budget allows and no more are needed.
const BLOCK_BYTES: u64 = 64 << 20;
const BLOCK_BYTES_OF_A_THREAD: u64 = 8 << 20;

/// Target for the bytes of a piece. Threads have several pieces each, and a piece stays in a level 2 cache.
const PIECE_BYTES: u64 = 1 << 19;

/// Number of rows of windows that are compared together.
const BAND: u64 = 64;

/// Rows of a level in a window beside those that it shares with the next window.
const OVERLAP: u64 = 2 * RADIUS as u64;

/// The blocks of an array. The blocks of a level are consecutive, from its first rows to its last.
struct Geometry {
    /// Shape of the array without the dimensions of levels.
    leading: Vec<u64>,
    /// Rows and columns of a level.
    level: Option<(u64, u64)>,
    /// Reason why there are no levels to compare.
    no_levels: Option<&'static str>,
    /// Shape of a block in elements. It consists of whole pieces.
    block: Vec<u64>,
    /// Shape of a piece in elements. Its elements are consecutive in C order.
    piece: Vec<u64>,
    /// Whether levels are too large for memory. Then one walk determines their range, and another compares their
    /// windows.
    reads_twice: bool,
    /// Bytes of all elements, of both sides.
    bytes: u64,
    /// Number of threads that may read and measure at the same time.
    threads: usize,
}

impl Geometry {
    /// Returns the blocks of arrays of `shape`. Fails if the budget is too small for any.
    fn new(transfer: &Transfer, budget: Budget) -> Result<Self> {
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
    fn levels_of(&self, block: &Region) -> impl Iterator<Item = Vec<u64>> + use<> {
        let mut levels = block.clone();
        levels.shape.iter_mut().skip(self.leading.len()).for_each(|length| *length = (*length).min(1));
        levels.cells()
    }

    /// Returns the middle rows of the windows in `rows` that were not in the block before, in bands.
    fn bands(rows: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
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
