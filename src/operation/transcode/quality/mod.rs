//! `--quality`: the effect of a quantisation on the values, from SOURCE and DEST read together.
//!
//! DEST is read back after its chunks are written and before it is published. After a resumed run all of it is read,
//! and from every kind of store what is really stored. Both sides are read as floats: it does not matter which codec
//! rounded them. The elements are converted to float64, piece by piece.

mod geometry;

use std::mem::take;
use std::ops::{AddAssign, Range};
use std::sync::Mutex;

use self::geometry::{Geometry, LevelBand, Levels};
use super::verify::{Compared, Comparison, Scratch, concluded};
use super::{Plan, Verification};
use crate::array::{ChunkFault, ChunkSet, Fault, StoredArray};
use crate::codec::{StepOrigin, Tiles, ValueConversion, ValueProgram, ValueStep, region};
use crate::element::{ElementType, NumberType};
use crate::engine::{Driver, Pair, Pairs, Progress};
use crate::kernel::quality::distribution::{MOST_VALUES, PairCounts, PossibleValues, p_value};
use crate::kernel::quality::similarity::{Band, RADIUS, Similarity, SimilarityScan};
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
    let Some(pairs) = Pairs::in_pieces(transfer, &geometry.piece) else { return Ok(None) };
    let arrays = [&transfer.source, &transfer.destination];
    let quantization = plan.changed.quantization.as_ref();
    let values = [numbers_of_source(arrays[0], &plan.changed.change), numbers_of_destination(arrays[1], quantization)];
    let fills = arrays.map(StoredArray::fill_value);
    let mut absent = Vec::new();
    convert(&values[0], &fills[0], &mut absent, &mut Tiles::default());
    let walk = QualityWalk {
        geometry,
        pairs,
        values,
        possible: possible_values(plan),
        // The pieces are not the chunks of DEST.
        comparison: verifies.then(|| Comparison::of(plan, job, true)),
        fills,
        is_void: absent.iter().all(|value| !value.is_finite()),
        driver: &narrowed(driver, geometry.threads)?,
        progress,
        scan: PairScan::default(),
        similarity: SimilarityScan::default(),
        counts: Mutex::default(),
        spare: Mutex::default(),
    };
    progress.start("quality", Some(geometry.bytes().saturating_mul(if geometry.reads_twice() { 2 } else { 1 })));
    let found = walk.run();
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

/// The elements of both sides of a piece. Empty if no point of it counts.
type BlockPair = [Vec<u8>; 2];

/// The numbers of both sides, and the buffers of the programs that return them.
type NumberBuffers = ([Vec<f64>; 2], Tiles);

#[derive(Debug, Default)]
struct Buffers {
    /// Fill values of a piece that is stored on neither side.
    filled: BlockPair,
    numbers: NumberBuffers,
    rows: Band,
    scratch: Scratch,
}

#[derive(Default)]
struct Measured {
    sums: PairSums,
    verified: Compared,
    /// The least and greatest value of both sides in each level.
    ranges: Vec<(f64, f64)>,
    /// The piece itself, if it is kept.
    piece: Option<BlockPair>,
    /// Its levels, if they are compared.
    compared: Vec<(LevelBand, Similarity)>,
}

/// A unit is one piece.
impl AddAssign for Measured {
    fn add_assign(&mut self, other: Measured) {
        *self = other;
    }
}

/// The sums of all pieces, and their levels.
struct Found<'a> {
    sums: PairSums,
    compared: Compared,
    levels: Levels<'a>,
}

/// The inputs of the walks.
struct QualityWalk<'a> {
    geometry: &'a Geometry,
    pairs: Pairs<'a>,
    /// The conversion of the elements of both sides to float64.
    values: [ValueProgram; 2],
    /// The values that DEST can contain, if they are few.
    possible: Option<PossibleValues>,
    /// With `--verify`: the expected values of DEST.
    comparison: Option<Comparison>,
    /// The fill value of either side, as one element.
    fills: BlockPair,
    /// Whether absent elements of SOURCE are not counted.
    is_void: bool,
    driver: &'a Driver,
    progress: &'a dyn Progress,
    scan: PairScan,
    similarity: SimilarityScan,
    /// Counts of the possible values. A thread takes a set, uses it alone, and gives it back.
    counts: Mutex<Vec<PairCounts>>,
    /// Buffers of earlier pieces, for reuse.
    spare: Mutex<Vec<BlockPair>>,
}

impl<'a> QualityWalk<'a> {
    /// Measures all pieces.
    fn run(&self) -> Result<Found<'a>, ChunkFault> {
        let geometry = self.geometry;
        let mut found =
            Found { sums: PairSums::default(), compared: Compared::default(), levels: Levels::new(geometry) };
        let keeps = geometry.no_levels.is_none() && !geometry.compares_pieces();
        if !keeps || geometry.reads_twice() {
            self.measure(&ChunkSet::full(geometry.num_pieces()), false, &mut found)?;
        }
        for slab in if keeps { geometry.slabs() } else { Vec::new() } {
            let pieces = ChunkSet::of_range(slab.clone());
            let mut kept = self.measure(&pieces, true, &mut found)?;
            self.compare(&slab, &kept, &mut found.levels)?;
            held(&self.spare).append(&mut kept);
        }
        Ok(found)
    }

    fn result(&self, Found { sums, levels, .. }: &Found<'_>) -> QualityResult {
        let least = levels.least();
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
            no_dssim: least.is_none().then(|| self.geometry.no_levels.unwrap_or("no window of 11 x 11 has a value")),
            dssim: least.as_ref().map(|(_, dssim)| *dssim),
            dssim_level: least.map(|(level, _)| level),
        }
    }

    /// Reads pieces, measures their points unless another walk does, and adds the results in order. With `keeps`,
    /// returns the pieces, to compare their levels with those of their neighbours.
    fn measure(&self, pieces: &ChunkSet, keeps: bool, all: &mut Found<'_>) -> Result<Vec<BlockPair>, ChunkFault> {
        // If levels are too large for memory, the first walk has measured all points, and the second only compares
        // levels.
        let is_measured = !keeps || !self.geometry.reads_twice();
        let visit = |buffers: &mut Buffers, pair: &Pair<'_>| {
            let Buffers { filled, numbers, rows, scratch } = buffers;
            let piece = self.elements(pair, filled);
            let mut measured = Measured::default();
            if let Some(comparison) = self.comparison.as_ref().filter(|_| is_measured) {
                measured.verified = comparison.compare(pair, scratch)?;
            }
            if is_measured {
                let mut counts = held(&self.counts).pop().unwrap_or_default();
                for elements in self.geometry.levels_of(pair.region) {
                    let mut level = PairSums::default();
                    self.each_stretch(piece, elements, numbers, |x, y| {
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
            if self.geometry.compares_pieces() {
                let index = self.geometry.number_of(pair.region);
                let own = self.geometry.bands(&(index..index + 1), |_, level| measured.ranges.get(level).copied());
                for band in own {
                    let similarity = self.similarity(&band, (index, &[piece]), (rows, numbers));
                    measured.compared.push((band, similarity));
                }
            }
            if keeps {
                let mut kept = held(&self.spare).pop().unwrap_or_default();
                for (kept, elements) in kept.iter_mut().zip(piece) {
                    kept.clear();
                    kept.extend_from_slice(elements);
                }
                measured.piece = Some(kept);
            }
            let size: usize = self.fills.iter().map(Vec::len).sum();
            self.progress.advance(pair.region.num_elements().saturating_mul(size as u64));
            Ok(measured)
        };
        let mut kept = Vec::new();
        // Sums of floats depend on their order. That of the pieces is the same for any number of threads.
        let fold = |index, measured: Measured| {
            all.sums.merge(&measured.sums);
            all.compared += measured.verified;
            all.levels.widen(index, &measured.ranges);
            measured.compared.iter().for_each(|(band, similarity)| all.levels.add(band, *similarity));
            kept.extend(measured.piece);
        };
        self.pairs.fold(self.driver, (pieces, None), visit, fold)?;
        Ok(kept)
    }

    /// Compares the levels of pieces that are in memory.
    fn compare(&self, slab: &Range<u64>, kept: &[BlockPair], levels: &mut Levels) -> Result<(), ChunkFault> {
        let bands = self.geometry.bands(slab, |level, _| levels.ranges.get(level).copied());
        let kept: Vec<[&[u8]; 2]> = kept.iter().map(|piece| piece.each_ref().map(Vec::as_slice)).collect();
        let work = |(rows, numbers): &mut (Band, NumberBuffers), item| {
            Ok(self.similarity(&bands[region::as_index(item)], (slab.start, &kept), (rows, numbers)))
        };
        let numbers = ChunkSet::full(bands.len() as u64);
        let fold = |item, similarity| levels.add(&bands[region::as_index(item)], similarity);
        let compared = self.driver.run_ahead(&numbers, &[], work, fold);
        compared.map_err(|fault| ChunkFault { index: slab.start, ..fault })
    }

    /// Returns the elements of a piece. Empty if SOURCE stores nothing of it and the fill value is NaN: no point
    /// counts.
    fn elements<'p>(&self, pair: &Pair<'p>, filled: &'p mut BlockPair) -> [&'p [u8]; 2] {
        match pair.is_stored {
            [false, _] if self.is_void => [&[]; 2],
            [false, false] => {
                let count = region::as_index(pair.region.num_elements());
                *filled = self.fills.each_ref().map(|fill| fill.repeat(count));
                filled.each_ref().map(Vec::as_slice)
            }
            _ => pair.elements,
        }
    }

    /// Passes the numbers of some elements of a piece to `visit`, a stretch at a time.
    fn each_stretch(
        &self,
        piece: [&[u8]; 2],
        elements: Range<usize>,
        buffers: &mut NumberBuffers,
        mut visit: impl FnMut(&[f64], &[f64]),
    ) {
        let ([x, y], tiles) = buffers;
        for start in elements.clone().step_by(STRETCH) {
            let end = (start + STRETCH).min(elements.end);
            for (side, numbers) in [&mut *x, &mut *y].into_iter().enumerate() {
                let size = self.fills[side].len();
                let bytes = piece[side].get(start * size..end * size).unwrap_or_default();
                convert(&self.values[side], bytes, numbers, tiles);
            }
            visit(x, y);
        }
    }

    /// Returns the SSIM of the windows of a band. `first` is the index of the first piece in `kept`.
    fn similarity(
        &self,
        band: &LevelBand,
        (first, kept): (u64, &[[&[u8]; 2]]),
        (rows, numbers): (&mut Band, &mut NumberBuffers),
    ) -> Similarity {
        let geometry = self.geometry;
        let Some((_, width, piece_rows)) = geometry.level() else { return Similarity::default() };
        rows.begin(region::as_index(width));
        let radius = RADIUS as u64;
        let (mut row, end) = (band.middles.start - radius, band.middles.end + radius);
        while row < end {
            let number = row / piece_rows;
            let index = band.first_piece + number;
            let until = end.min((number + 1) * piece_rows);
            let shape = geometry.region(index).shape;
            let own_rows = shape[shape.len() - 2];
            let element = |row: u64| region::as_index((band.index * own_rows + row - number * piece_rows) * width);
            let own = element(row)..element(until);
            match index.checked_sub(first).and_then(|nth| kept.get(region::as_index(nth))) {
                Some(piece) if !piece[0].is_empty() => {
                    self.each_stretch(*piece, own, numbers, |x, y| {
                        rows.append(&self.similarity, x, y, band.range);
                    });
                }
                _ => rows.append_gap(own.len()),
            }
            row = until;
        }
        self.similarity.run(rows)
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
