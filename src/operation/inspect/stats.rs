//! `--stats`: figures over all values, absent chunks counted as what they stand for.

use crate::array::fault::{ChunkFault, Fault};
use crate::codec::fault::number_value;
use crate::data_type::value_to_json;
use crate::element::NumberType;
use crate::engine::fold::{Accumulator, Chunk, Fold, Folded};
use crate::grid::Region;
use crate::kernel::missing::MissingCount;
use crate::kernel::summary::{Summary, SummaryScan};
use crate::metadata::array::num_elements;
use crate::metadata::json::{Json, Number};
use crate::operation::inspect_result::StatsResult;
use crate::operation::numbers::CfNumbers;

/// Adds up what is not missing.
#[derive(Debug)]
pub(super) struct Stats<'a> {
    numbers: &'a CfNumbers,
    scan: SummaryScan,
}

/// Figures over all elements.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    number_type: NumberType,
    scan: SummaryScan,
    /// Everything that is not missing.
    all: Summary,
    /// Elements that are missing, and of them those that equal the fill value where it is missing.
    missing: MissingCount,
    fill_is_missing: bool,
}

impl Accumulator for Stats<'_> {
    type Part = (Summary, MissingCount);
    type Buffers = ();

    fn start(&self, _: &Region) -> Self::Part {
        Self::Part::default()
    }

    fn add(&self, part: &mut Self::Part, chunk: Chunk<'_>, (): &mut ()) -> Result<(), Fault> {
        let (summary, missing) = part;
        let elements = chunk.elements.unwrap_or_default();
        *missing += self.numbers.each_piece(elements, |numbers| self.scan.scan(numbers, summary));
        Ok(())
    }

    fn merge(&self, all: &mut Self::Part, part: &Self::Part) {
        self.scan.merge(&mut all.0, &part.0);
        all.1 += part.1;
    }
}

impl<'a> Stats<'a> {
    pub(super) fn new(numbers: &'a CfNumbers) -> Self {
        Stats { numbers, scan: SummaryScan::new(numbers.number_type(), numbers.fill_bits) }
    }

    /// Makes a pass of figures alone; what is not stored counts, unless it is only a sample that is read.
    pub(super) fn of(numbers: &'a CfNumbers, fold: Fold<'_>, is_sample: bool) -> Result<Figures, ChunkFault> {
        let stats = Stats::new(numbers);
        let found = fold.run("values", &stats)?;
        let absent = if is_sample { 0 } else { absent(fold, &found) };
        stats.finish(found.part, absent, fold)
    }

    /// The figures over what a pass found and so many absent elements, after one more where squares leave the range of a
    /// float64.
    pub(super) fn finish(
        mut self,
        (mut all, mut missing): (Summary, MissingCount),
        mut absent: u64,
        fold: Fold<'_>,
    ) -> Result<Figures, ChunkFault> {
        if let Some(scan) = self.scan.rescaled(&all) {
            self.scan = scan;
            all = fold.run("values, scaled", &self)?.part.0;
        }
        let Stats { numbers, scan } = self;
        if numbers.fill_is_missing {
            missing += MissingCount { all: absent, first: absent };
            absent = 0;
        }
        scan.merge(&mut all, &scan.of_constant(numbers.fill_bits, absent));
        let (number_type, fill_is_missing) = (numbers.number_type(), numbers.fill_is_missing);
        Ok(Figures { number_type, scan, all, missing, fill_is_missing })
    }
}

/// Elements of an array that are not stored.
pub(super) fn absent<P>(fold: Fold<'_>, found: &Folded<P>) -> u64 {
    num_elements(&fold.array.metadata.shape).map_or(0, |all| all.saturating_sub(found.elements))
}

impl Figures {
    /// The least and greatest finite value as float64.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        let (least, greatest) = self.all.extremes?;
        Some((number_value(self.number_type, least), number_value(self.number_type, greatest)))
    }

    /// As they are shown.
    pub(super) fn result(&self) -> StatsResult {
        let extremes = self.all.extremes.map(|(least, greatest)| [least, greatest]);
        let [min, max] = extremes.map_or([None, None], |bits| bits.map(|bits| Some(self.exact(bits))));
        StatsResult {
            count: self.all.count + self.missing.all,
            finite: self.all.finite,
            nan: self.all.nan(),
            missing: self.missing.all,
            positive_infinity: self.all.positive_infinity,
            negative_infinity: self.all.negative_infinity,
            fill_value: if self.fill_is_missing { self.missing.first } else { self.all.equal },
            min,
            max,
            mean: self.scan.mean(&self.all),
            standard_deviation: self.scan.standard_deviation(&self.all),
        }
    }

    /// The value as a literal that a reader of float64 or of 64-bit integers gets back exactly.
    fn exact(&self, bits: u64) -> Json {
        if self.number_type.is_float() {
            let value = number_value(self.number_type, bits);
            return Number::from_f64_shortest(value).map_or(Json::Null, Json::Number);
        }
        value_to_json(self.number_type, bits)
    }
}
