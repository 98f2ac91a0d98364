//! `--stats`: figures over all values, absent chunks counted as what they stand for.

use super::values::{Found, Scan, Values};
use crate::array::fault::ChunkFault;
use crate::codec::fault::number_value;
use crate::data_type::value_to_json;
use crate::element::NumberType;
use crate::engine::progress::Progress;
use crate::kernel::missing::MissingCount;
use crate::kernel::summary::{Summary, SummaryScan};
use crate::metadata::json::{Json, Number};
use crate::operation::inspect_result::StatsResult;

impl Scan for SummaryScan {
    type Part = Summary;

    fn add(&self, part: &mut Summary, elements: &[u8]) {
        self.scan(elements, part);
    }

    fn merge(&self, part: &mut Summary, other: &Summary) {
        SummaryScan::merge(self, part, other);
    }
}

/// What was found over all elements.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    number_type: NumberType,
    scan: SummaryScan,
    /// Of everything that is not missing.
    all: Summary,
    /// Elements that are missing, and of them those that equal the fill value where it is missing.
    missing: MissingCount,
    fill_is_missing: bool,
    /// Elements that are not stored and do not count as missing.
    pub absent: u64,
}

/// A scan of some other kind that is made together with the summary.
pub(super) struct Together<'a, S>(pub &'a SummaryScan, pub &'a S);

impl<S: Scan> Scan for Together<'_, S> {
    type Part = (Summary, S::Part);

    fn add(&self, part: &mut Self::Part, elements: &[u8]) {
        self.0.scan(elements, &mut part.0);
        self.1.add(&mut part.1, elements);
    }

    fn merge(&self, part: &mut Self::Part, other: &Self::Part) {
        SummaryScan::merge(self.0, &mut part.0, &other.0);
        self.1.merge(&mut part.1, &other.1);
    }
}

impl Figures {
    /// Makes a pass, with another scan in it, and one more where squares leave the range of a float64.
    pub(super) fn of<S: Scan>(
        values: &Values<'_>,
        other: &S,
        progress: &dyn Progress,
    ) -> Result<(Figures, S::Part), ChunkFault> {
        let number_type = values.numbers.number_type();
        let (fill_value, fill_is_missing) = (values.numbers.fill_bits, values.numbers.fill_is_missing);
        let mut scan = SummaryScan::new(number_type, fill_value);
        let Found { part: (mut all, part), elements, mut missing } =
            values.scan(&Together(&scan, other), "values", progress)?;
        if let Some(rescaled) = scan.rescaled(&all) {
            all = values.scan(&rescaled, "values, scaled", progress)?.part;
            scan = rescaled;
        }
        let all_elements = values.num_elements().filter(|_| !values.is_sample);
        let mut absent = all_elements.unwrap_or(elements).saturating_sub(elements);
        if fill_is_missing {
            missing += MissingCount { all: absent, first: absent };
            absent = 0;
        }
        SummaryScan::merge(&scan, &mut all, &scan.of_constant(fill_value, absent));
        Ok((Figures { number_type, scan, all, missing, fill_is_missing, absent }, part))
    }

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
