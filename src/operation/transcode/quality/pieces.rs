//! Walks over the pieces of both sides, with their elements as float64.

use std::ops::{AddAssign, Range};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ThreadCounts;
use super::geometry::{Geometry, LevelBand, Levels, bands};
use crate::array::{ChunkFault, ChunkSet, StoredArray};
use crate::codec::{Tiles, ValueChange, ValueProgram, Workspace, conversion, element_bits, fault, region};
use crate::element::{ElementType, NumberType};
use crate::engine::{Driver, Pair, Pairs, Progress};
use crate::kernel::quality::Widening;
use crate::kernel::quality::distribution::{MOST_VALUES, PossibleValues};
use crate::kernel::quality::similarity::{Band, RADIUS, Similarity, SimilarityScan};
use crate::kernel::quality::sums::{PairScan, PairSums};
use crate::operation::quantize::{Codes, push_element};
use crate::operation::transcode::Plan;
use crate::operation::transcode::verify::{Compared, Comparison, Scratch};
use crate::operation::{Quantization, QuantizeForm};

/// Number of values that are converted and measured at a time: both sides stay in a first-level cache.
const STRETCH: usize = 1 << 10;

/// The elements of both sides of a piece. Empty if no point of it counts.
pub(super) type BlockPair = [Vec<u8>; 2];

#[derive(Debug, Default)]
pub(super) struct NumberBuffers {
    numbers: [Vec<f64>; 2],
    values: ValueBuffers,
}

#[derive(Debug, Default)]
struct Buffers {
    /// Fill values of a piece that is stored on neither side.
    filled: BlockPair,
    numbers: NumberBuffers,
    band: Band,
    scratch: Scratch,
}

/// The next step for a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextStep {
    Forget,
    /// Keeps it, to compare its levels with those of its neighbours.
    Keep,
    /// Compares its levels, which are whole.
    Compare,
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

/// The inputs of the walks.
pub(super) struct QualityWalk<'a> {
    pub geometry: &'a Geometry,
    pub pairs: Pairs<'a>,
    pub values: [Values; 2],
    /// The values that DEST can contain, if they are few.
    pub possible: Option<PossibleValues>,
    /// With `--verify`: the expected values of DEST.
    pub comparison: Option<Comparison>,
    /// The fill value of either side, as one element.
    pub fills: BlockPair,
    /// Whether absent elements of SOURCE are not counted.
    pub is_void: bool,
    pub driver: &'a Driver,
    pub progress: &'a dyn Progress,
    pub scan: PairScan,
    pub similarity: SimilarityScan,
    /// Buffers of earlier pieces, for reuse.
    pub spare: Mutex<Vec<BlockPair>>,
}

impl QualityWalk<'_> {
    /// Measures all pieces.
    pub(super) fn walk(
        &self,
        counts: &ThreadCounts,
        sums: &mut (PairSums, Compared),
        levels: &mut Levels,
    ) -> Result<(), ChunkFault> {
        let geometry = self.geometry;
        let (has_levels, compares) = (geometry.no_levels.is_none(), geometry.compares_pieces());
        if !has_levels || compares || geometry.reads_twice() {
            let all = ChunkSet::full(geometry.num_pieces());
            let then = if has_levels && compares { NextStep::Compare } else { NextStep::Forget };
            self.measure(&all, Some(counts), then, sums, levels)?;
        }
        if !has_levels || compares {
            return Ok(());
        }
        let counts = (!geometry.reads_twice()).then_some(counts);
        for slab in geometry.slabs() {
            let mut kept = self.measure(&ChunkSet::of_range(slab.clone()), counts, NextStep::Keep, sums, levels)?;
            self.compare(&slab, &kept, levels)?;
            self.spare().append(&mut kept);
        }
        Ok(())
    }

    fn spare(&self) -> MutexGuard<'_, Vec<BlockPair>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads pieces, measures their points where that is asked for, and adds what they came to in their order; levels are
    /// compared where the points are measured. The pieces that are kept.
    fn measure(
        &self,
        pieces: &ChunkSet,
        counts: Option<&ThreadCounts>,
        then: NextStep,
        (sums, compared): &mut (PairSums, Compared),
        levels: &mut Levels,
    ) -> Result<Vec<BlockPair>, ChunkFault> {
        let visit = |buffers: &mut Buffers, pair: &Pair<'_>| {
            let Buffers { filled, numbers, band: rows, scratch } = buffers;
            let piece = self.elements(pair, filled);
            let mut measured = Measured::default();
            if let Some(comparison) = self.comparison.as_ref().filter(|_| counts.is_some()) {
                measured.verified = comparison.compare(pair, scratch)?;
            }
            if let Some(counts) = counts {
                counts.with(|counts| {
                    for elements in self.geometry.levels_of(pair.region) {
                        let mut level = PairSums::default();
                        self.each_stretch(piece, elements, numbers, |x, y| {
                            level.merge(&self.scan.run(x, y));
                            if let Some(possible) = &self.possible {
                                possible.count(x, y, counts);
                            }
                        });
                        measured.ranges.push(level.joint_range());
                        measured.sums.merge(&level);
                    }
                });
            }
            if then == NextStep::Compare {
                let index = self.geometry.number_of(pair.region);
                let own = bands(self.geometry, &(index..index + 1), |_, place| measured.ranges.get(place).copied());
                for band in own {
                    let similarity = compare(self, &band, (index, &[piece]), (rows, numbers));
                    measured.compared.push((band, similarity));
                }
            }
            if then == NextStep::Keep {
                let mut kept = self.spare().pop().unwrap_or_default();
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
        let fold = |index, measured: Measured| {
            sums.merge(&measured.sums);
            *compared += measured.verified;
            levels.widen(index, &measured.ranges);
            measured.compared.iter().for_each(|(band, similarity)| levels.add(band, *similarity));
            kept.extend(measured.piece);
        };
        self.pairs.fold(self.driver, (pieces, None), visit, fold)?;
        Ok(kept)
    }

    /// Compares the levels of pieces that are in memory.
    fn compare(&self, slab: &Range<u64>, kept: &[BlockPair], levels: &mut Levels) -> Result<(), ChunkFault> {
        let bands = levels.bands(slab);
        let kept: Vec<[&[u8]; 2]> = kept.iter().map(|piece| piece.each_ref().map(Vec::as_slice)).collect();
        let work = |(rows, numbers): &mut (Band, NumberBuffers), item| {
            Ok(compare(self, &bands[region::as_index(item)], (slab.start, &kept), (rows, numbers)))
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
    pub(super) fn each_stretch(
        &self,
        piece: [&[u8]; 2],
        elements: Range<usize>,
        buffers: &mut NumberBuffers,
        mut visit: impl FnMut(&[f64], &[f64]),
    ) {
        let NumberBuffers { numbers: [x, y], values } = buffers;
        for start in elements.clone().step_by(STRETCH) {
            let end = (start + STRETCH).min(elements.end);
            for (side, numbers) in [&mut *x, &mut *y].into_iter().enumerate() {
                let size = self.fills[side].len();
                let bytes = piece[side].get(start * size..end * size).unwrap_or_default();
                self.values[side].convert(bytes, numbers, values);
            }
            visit(x, y);
        }
    }
}

/// Returns the SSIM of the windows of a band. `first` is the index of the first piece in `kept`.
fn compare(
    pieces: &QualityWalk<'_>,
    band: &LevelBand,
    (first, kept): (u64, &[[&[u8]; 2]]),
    (rows, numbers): (&mut Band, &mut NumberBuffers),
) -> Similarity {
    let geometry = pieces.geometry;
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
        let element = |row: u64| region::as_index((band.place * own_rows + row - number * piece_rows) * width);
        let own = element(row)..element(until);
        match index.checked_sub(first).and_then(|place| kept.get(region::as_index(place))) {
            Some(piece) if !piece[0].is_empty() => {
                pieces.each_stretch(*piece, own, numbers, |x, y| {
                    rows.append(&pieces.similarity, x, y, band.range);
                });
            }
            _ => rows.append_gap(own.len()),
        }
        row = until;
    }
    pieces.similarity.run(rows)
}

/// The conversion of a side's elements to numbers.
#[derive(Debug)]
pub(super) struct Values {
    /// The decoding of packed integers.
    decoding: Option<ValueProgram>,
    number_type: Option<NumberType>,
    widening: Widening,
}

#[derive(Debug, Default)]
pub(super) struct ValueBuffers {
    decoded: Vec<u8>,
    workspace: Workspace,
}

impl Values {
    /// Returns the conversion of SOURCE, with the unpacking of a change.
    pub(super) fn of_source(side: &StoredArray, change: &ValueChange) -> Self {
        let Some(unpack) = change.unpacking() else { return Self::new(side, None) };
        let mut decoding = ValueProgram::new(unpack.source().size());
        conversion::push_change(&mut decoding, &ValueChange::Unpack(Box::new(unpack.clone()), Box::default()));
        Values { decoding: Some(decoding), number_type: Some(unpack.target()), widening: Widening::default() }
    }

    /// Returns the conversion of DEST, with or without a quantisation.
    pub(super) fn new(side: &StoredArray, quantization: Option<&Quantization>) -> Self {
        let packed = quantization.filter(|quantization| quantization.form != QuantizeForm::Codecs);
        let (decoding, float) = packed.map(Quantization::reader).unzip();
        let number_type = float.map(|float| float.0).or_else(|| side.chain.decoded().data_type.real_number());
        Values { decoding, number_type, widening: Widening::default() }
    }

    /// Replaces `numbers` with the values of elements. NaN for elements without a value.
    pub(super) fn convert(&self, elements: &[u8], numbers: &mut Vec<f64>, buffers: &mut ValueBuffers) {
        let mut elements = elements;
        if let Some(decoding) = &self.decoding {
            let ValueBuffers { decoded, workspace } = buffers;
            if decoding.run(elements, decoded, &mut workspace.tiles, None).is_err() {
                // A code without a value, which only damage can cause.
                numbers.clear();
                numbers.resize(elements.len() / decoding.sizes().0.max(1), f64::NAN);
                return;
            }
            elements = decoded;
        }
        if self.number_type == Some(NumberType::of(ElementType::Float32)) {
            numbers.resize(elements.len() / size_of::<f32>(), 0.0);
            return self.widening.run(elements, numbers);
        }
        numbers.clear();
        let Some(number_type) = self.number_type else { return };
        if let (None, ElementType::Float64) = (number_type.small_float(), number_type.element()) {
            numbers.extend(elements.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)));
        } else {
            let elements = elements.chunks_exact(number_type.size());
            numbers.extend(elements.map(|element| fault::number_value(number_type, element_bits(element))));
        }
    }
}

/// Returns the values that a quantised or rounded DEST can contain. `None` if there are more than [`MOST_VALUES`].
pub(super) fn possible_values(plan: &Plan) -> Option<PossibleValues> {
    if let Some(quantization) = &plan.changed.quantization {
        return PossibleValues::of_codes(of_codes(quantization)?);
    }
    let rounding = plan.changed.rounding.as_ref()?;
    PossibleValues::of_kept_bits(rounding.number_type.float_format()?, rounding.bits()?)
}

/// Returns the values of all codes of numbers. `None` if they are many, or one has no value.
fn of_codes(quantization: &Quantization) -> Option<Vec<f64>> {
    let Codes { first, last, .. } = quantization.codes;
    let count = usize::try_from(last.checked_sub(first)?).ok().filter(|count| *count < MOST_VALUES)?;
    let mut encoded = Vec::with_capacity((count + 1) * quantization.target.size());
    for code in first..=last {
        push_element(&mut encoded, quantization.target, code.cast_unsigned());
    }
    let (mut decoded, (reader, float)) = (Vec::new(), quantization.reader());
    reader.run(&encoded, &mut decoded, &mut Tiles::default(), None).ok()?;
    let values = Values { decoding: None, number_type: Some(float.0), widening: Widening::default() };
    let mut numbers = Vec::new();
    values.convert(&decoded, &mut numbers, &mut ValueBuffers::default());
    numbers.iter().all(|value| value.is_finite()).then_some(numbers)
}
