//! `--quality`: the effect of a quantisation on the values, from SOURCE and DEST read together.
//!
//! DEST is read back after its chunks are written and before it is published. After a resumed run all of it is read,
//! and from every kind of store what is really stored. Both sides are read as floats: it does not matter which codec
//! rounded them. The elements are converted to float64, piece by piece.

mod geometry;

use std::mem::take;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use self::geometry::{Geometry, OVERLAP};
use super::verify::{Compared, Comparison, Scratch, concluded};
use super::{Plan, Verification};
use crate::array::{self, ChunkFault, Fault, StoredArray};
use crate::codec::{StepOrigin, Tiles, ValueConversion, ValueProgram, ValueStep, region::as_index};
use crate::element::{ElementType, NumberType};
use crate::engine::{ChunkResult, Driver, Pair, PairBlock, Pairs, Progress};
use crate::grid::{ravel, unravel};
use crate::kernel::quality::distribution::{MOST_VALUES, PairCounts, PossibleValues, p_value};
use crate::kernel::quality::similarity::{Band, LevelRange, RADIUS, Similarity, SimilarityScan};
use crate::kernel::quality::sums::{PairScan, PairSums};
use crate::operation::quantize::{Codes, elements_of};
use crate::operation::{Budget, OperationError, QualityResult, Quantization, QuantizeForm, Result, narrowed};
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
pub(super) fn measure(
    plan: &Plan,
    verifies: bool,
    (budget, driver): (Budget, &Driver),
    progress: &dyn Progress,
) -> Result<Option<(QualityResult, Option<Verification>)>> {
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
    range: LevelRange,
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
        let [.., rows, _] = *block.region.shape else { return Ok(()) };
        let first_row = block.region.start[self.geometry.leading.len()];
        let rows = first_row..first_row + rows;
        // The block before had the same levels, or was the last one of its levels.
        let mut before = take(last_rows).into_iter();
        let levels = self.geometry.levels_of(block.region).map(|start| {
            let (index, rows_before) = (self.index_of(&start), before.next().unwrap_or_default());
            let (least, greatest) = ranges[index];
            Level { index, start, range: LevelRange { least, greatest }, rows_before }
        });
        let levels: Vec<Level> = levels.collect();
        let with_values = levels.iter().filter(|level| level.has_values());
        let bands: Vec<(&Level, Range<u64>)> =
            with_values.flat_map(|level| Geometry::bands(&rows).map(move |middles| (level, middles))).collect();
        let compare = |buffers: &mut Buffers, item| {
            let (level, middles) = &bands[as_index(item)];
            let radius = RADIUS as u64;
            let first = middles.start - radius;
            buffers.begin(block);
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
                buffers.begin(block);
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
            if self.is_empty(is_stored) || !level.has_values() {
                band.append_gap(count);
            } else {
                self.each_stretch(elements, 0..count, numbers, |x, y| {
                    band.append(&self.similarity, x, y, level.range);
                });
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

impl Level {
    fn has_values(&self) -> bool {
        self.range.least <= self.range.greatest
    }
}

impl Buffers {
    /// Begins a band of rows of a block.
    fn begin(&mut self, block: &PairBlock<'_, Buffers>) {
        self.band.begin(block.region.shape.last().map_or(0, |columns| as_index(*columns)));
    }
}

/// Returns the conversion of SOURCE's elements to float64, with the unpacking of a change.
fn numbers_of_source(array: &StoredArray, change: &ValueConversion) -> ValueProgram {
    let Some(unpack) = change.unpacking() else { return numbers_of_destination(array, None) };
    let mut decoding = ValueProgram::new(unpack.source().size());
    decoding.push(ValueStep::Unpack(Box::new(unpack.clone())), StepOrigin::DataType);
    decoding.to_float64(unpack.target())
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
        return PossibleValues::of_kept_bits(rounding.number_type.float_format()?, rounding.bits()?);
    };
    let Codes { first, last, .. } = quantization.codes;
    usize::try_from(last.checked_sub(first)?).ok().filter(|count| *count < MOST_VALUES)?;
    let encoded = elements_of(quantization.target, (first..=last).map(i64::cast_unsigned));
    let mut numbers = Vec::new();
    convert(&quantization.number_reader(), &encoded, &mut numbers, &mut Tiles::default());
    if numbers.iter().all(|value| value.is_finite()) { PossibleValues::of_codes(numbers) } else { None }
}
