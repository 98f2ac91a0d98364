//! `--max-error E`: the widest step whose error stays within E (CLI.md, "Quantising").
//!
//! With rounding to the nearest the error of exact arithmetic is half a step, with directed rounding up to a whole
//! one; the arithmetic of the array's type adds to it. So the scale begins at that of exact arithmetic and grows, an
//! ulp at a time where that is enough, until the error is kept at every code.
//!
//! This is proved without reading data. Encoding is monotone: a subtraction, a multiplication by a positive scale and a
//! rounding, each rounded correctly, never swap two values. So the values of one code are an interval of floats. All of
//! them are decoded to the same value, so the error is greatest at an end of the interval. The ends are found by
//! bisection over the bit patterns, for all codes together, with the kernel that quantises the data.

use super::float_type::{exponent_of, float_of};
use super::range::{Codes, Fitted, RangeFault, RangeFinder, Scaling, least_fitting};
use crate::kernel::Rounding;
use crate::kernel::quantize::Quantize;

/// Number of boundaries of codes that are checked during the search.
const FEW: i64 = 1 << 10;

/// Number of boundaries that are checked at the end: all of a type of up to 16 bits.
const ALL: i64 = 1 << 16;

impl RangeFinder {
    /// Returns the widest step from `lo` to `hi` whose error is at most `allowed`.
    pub(crate) fn widest(&self, (lo, hi): (f64, f64), allowed: f64) -> Result<Fitted, RangeFault> {
        if lo >= hi {
            let scaling = self.find(lo, hi)?;
            let codes = self.codes_of(scaling, (lo, lo)).ok_or(RangeFault::NotFound)?;
            return Ok(Fitted { scaling, codes, is_proved: true });
        }
        let share = if self.rounding.is_to_nearest() { 0.5 } else { 1.0 };
        let finest = share / allowed;
        if !finest.is_finite() {
            return Err(RangeFault::TooCoarse);
        }
        // All values of the range are multiples of this distance: a narrower step only adds codes.
        let least = if lo < 0.0 && hi > 0.0 { 0.0 } else { lo.abs().min(hi.abs()) };
        let distance = self.float.neighbour(least, 1).map_or(0.0, |next| next - least);
        let ideal = finest.min(distance.recip());
        // Halves: the difference of two float64 may overflow.
        let needed = 2.0 * (hi / 2.0 - lo / 2.0) * ideal;
        // This only saves the search where it is hopeless. The kernel checks the codes of both ends later.
        let has_room = needed < float_of(self.codes.last - self.codes.first) + 1.0;
        if !has_room {
            return Err(RangeFault::TooFewCodes);
        }
        // No scale of the type has such a narrow step, whatever the values are.
        if ideal > self.float.greatest() {
            return Err(RangeFault::TooCoarse);
        }
        // Rounded to 0, a scale could not be decoded.
        let begin = self.float.round(ideal, Rounding::TowardsZero).max(self.float.value(self.float.of_ordinal(1)));
        let search = WidestSearch { finder: self, ends: (lo, hi), allowed, begin };
        let narrowed = search.narrowed();
        let widest = narrowed.as_ref().ok().map_or(f64::INFINITY, |kept| kept.scaling.scale.unwrap_or(1.0));
        search.binary(widest).or_else(|| narrowed.ok()).or_else(|| search.finest()).ok_or(RangeFault::TooCoarse)
    }
}

struct WidestSearch<'a> {
    finder: &'a RangeFinder,
    ends: (f64, f64),
    allowed: f64,
    /// The least scale: that of exact arithmetic.
    begin: f64,
}

impl WidestSearch<'_> {
    /// Returns the least scale that keeps the error, assuming that all larger ones keep it too.
    fn narrowed(&self) -> Result<Fitted, RangeFault> {
        let few = self.first_kept(0, FEW)?;
        self.attempt(self.first_kept(few, ALL)?, ALL)
    }

    /// Returns the least power of two below `scale` that keeps the error. A product with a power of two is exact. If
    /// the limit is not much more than a unit in the last place, other scales round too much. They would have to be far
    /// greater.
    fn binary(&self, scale: f64) -> Option<Fitted> {
        let mut power = 2_f64.powi(exponent_of(self.begin));
        if power < self.begin {
            power *= 2.0;
        }
        while power < scale {
            match self.attempt_scale(power, FEW) {
                Err(RangeFault::TooFewCodes) => return None,
                Ok(_) if let Ok(widest) = self.attempt_scale(power, ALL) => return Some(widest),
                _ => power *= 2.0,
            }
        }
        None
    }

    /// Returns all codes of the type, if their step is no wider than exact arithmetic allows. If some value exceeds the
    /// error, the values of the data may keep it: they are often multiples of something.
    fn finest(&self) -> Option<Fitted> {
        let scaling = self.finder.find(self.ends.0, self.ends.1).ok()?;
        let codes = WorstError::new(self.finder, scaling, self.ends)?.codes;
        let is_fine = scaling.scale.unwrap_or(1.0) >= self.begin;
        match self.check(scaling, ALL) {
            Err(RangeFault::TooCoarse) if is_fine => Some(Fitted { scaling, codes, is_proved: false }),
            checked => checked.ok(),
        }
    }

    /// Returns the fewest ulps from `begin`, at least `from`, with which the error is kept at `most` boundaries.
    fn first_kept(&self, from: u64, most: i64) -> Result<u64, RangeFault> {
        // Too few codes end the search, too: every greater scale needs more.
        let fits = |ulps| self.attempt(ulps, most) != Err(RangeFault::TooCoarse);
        if fits(from) {
            return Ok(from);
        }
        least_fitting(from, (from, 1), u64::MAX, fits).ok_or(RangeFault::TooCoarse)
    }

    /// Tries the scale `ulps` above `begin`.
    fn attempt(&self, ulps: u64, most: i64) -> Result<Fitted, RangeFault> {
        let scale = i64::try_from(ulps).ok().and_then(|ulps| self.finder.float.neighbour(self.begin, ulps));
        self.attempt_scale(scale.ok_or(RangeFault::TooFewCodes)?, most)
    }

    fn attempt_scale(&self, scale: f64, most: i64) -> Result<Fitted, RangeFault> {
        self.check(self.anchored(scale).ok_or(RangeFault::TooCoarse)?, most)
    }

    /// Returns the codes of a scaling that keeps the error at `most` boundaries. [`RangeFault::TooCoarse`] if it does
    /// not.
    fn check(&self, scaling: Scaling, most: i64) -> Result<Fitted, RangeFault> {
        let worst = WorstError::new(self.finder, scaling, self.ends).ok_or(RangeFault::TooFewCodes)?;
        let codes = worst.codes;
        // With too many codes for a proof the data are measured, so fewer boundaries are enough.
        let steps = codes.last - codes.first;
        let looked_at = if steps > ALL { most.min(ALL / 8) } else { most };
        let fitted = Fitted { scaling, codes, is_proved: steps <= most };
        worst.keeps(self.allowed, looked_at).then_some(fitted).ok_or(RangeFault::TooCoarse)
    }

    /// Returns the scaling with this scale that encodes the least value to the first code.
    fn anchored(&self, scale: f64) -> Option<Scaling> {
        let (finder, lo) = (self.finder, self.ends.0);
        let (float, Codes { first, .. }) = (finder.float, finder.codes);
        if first == 0 {
            return Some(Scaling::new(Some(lo), Some(scale)));
        }
        let offset = float.round(lo - float_of(first) / scale, Rounding::NearestEven);
        // With the rounded offset, roundings may give `lo` a neighbouring code. Then an offset next to it is taken.
        let offsets = [0, -1, 1, -2, 2].into_iter().filter_map(|ulps| float.neighbour(offset, ulps));
        let offsets = offsets.filter(|offset| offset.is_finite());
        let mut scalings = offsets.map(|offset| Scaling::new(Some(offset), Some(scale)));
        scalings.find(|scaling| finder.encode(*scaling, lo) == Some(first))
    }
}

/// Number of boundaries that are searched together.
const BLOCK: usize = 1 << 11;

/// A quantisation that is checked, and the range of its values.
struct WorstError<'a> {
    finder: &'a RangeFinder,
    scaling: Scaling,
    kernel: Quantize,
    /// The codes of the least and the greatest value.
    codes: Codes,
    /// Ordinals of the least and the greatest value.
    ends: (i64, i64),
}

/// The boundary between two codes: the greatest value with `code` or less, and the least value with more.
struct Boundary {
    code: i64,
    /// Ordinal of a value whose code is `code` or less.
    below: i64,
    /// Ordinal of a value whose code is greater.
    above: i64,
    /// Ordinal that is tried next. The first is the boundary in exact arithmetic.
    next: i64,
    /// Distance to `next` from the ordinal before it, while the search goes in one direction with growing strides: 0 at
    /// the beginning. `None`: bisection between the two sides.
    stride: Option<i64>,
}

impl Boundary {
    /// Returns whether the two sides are neighbours.
    fn is_found(&self) -> bool {
        self.below.saturating_add(1) >= self.above
    }

    /// Updates the boundary with the code of the value that was tried, and chooses the next one.
    fn take(&mut self, code: i64) {
        let (tried, direction) = if code <= self.code { (&mut self.below, 1) } else { (&mut self.above, -1) };
        *tried = self.next;
        self.stride = match self.stride {
            Some(0) => Some(direction),
            Some(stride) if stride.signum() == direction => Some(stride.saturating_mul(8)),
            _ => None,
        };
        self.go(self.stride.map_or_else(|| self.below.midpoint(self.above), |stride| self.next.saturating_add(stride)));
    }

    /// Tries an ordinal next, or the nearest one between the two sides.
    fn go(&mut self, next: i64) {
        self.next = next.min(self.above.saturating_sub(1)).max(self.below.saturating_add(1));
    }
}

impl<'a> WorstError<'a> {
    /// Creates the check for values from `lo` to `hi`. `None` if an end has no code.
    ///
    /// A NaN code between the others counts as one of them. So the result also applies to a number that would get it.
    fn new(finder: &'a RangeFinder, scaling: Scaling, (lo, hi): (f64, f64)) -> Option<Self> {
        let with_all = RangeFinder { codes: Codes { nan: None, ..finder.codes }, ..finder.clone() };
        let kernel = Quantize::new(with_all.options(scaling));
        let ends = (finder.float.ordinal(lo), finder.float.ordinal(hi));
        let [first, last] = finder.encode_with(&kernel, &[ends.0, ends.1])?.0.try_into().ok()?;
        Some(WorstError { finder, scaling, kernel, codes: Codes { first, last, ..finder.codes }, ends })
    }

    /// Returns whether the error is at most `allowed` at the ends of the codes, for both the codecs and CF attributes.
    /// With more than `most` boundaries, it checks only that many, densest at the ends of the range.
    fn keeps(&self, allowed: f64, most: i64) -> bool {
        let codes: Vec<i64> = sample((self.codes.first, self.codes.last), most).collect();
        // An exceeded limit is exceeded at many codes, so the first blocks show it.
        self.keeps_at(&[self.ends.0, self.ends.1], allowed)
            && codes.rchunks(BLOCK).all(|codes| self.sides(codes).is_some_and(|sides| self.keeps_at(&sides, allowed)))
    }

    /// Returns both sides of the boundaries above some codes, as ordinals. `None` if a value has no code.
    fn sides(&self, codes: &[i64]) -> Option<Vec<i64>> {
        // The guess is near the boundary. Strides that grow from there need fewer conversions than bisection of the
        // whole range.
        let boundary = |code: &i64| {
            let (below, above) = self.ends;
            let mut boundary = Boundary { code: *code, below, above, next: 0, stride: Some(0) };
            boundary.go(self.guess(*code));
            boundary
        };
        let mut boundaries: Vec<Boundary> = codes.iter().map(boundary).collect();
        let mut open: Vec<&mut Boundary> = boundaries.iter_mut().filter(|one| !one.is_found()).collect();
        while !open.is_empty() {
            let tried: Vec<i64> = open.iter().map(|boundary| boundary.next).collect();
            let (codes, _) = self.finder.encode_with(&self.kernel, &tried)?;
            open.iter_mut().zip(codes).for_each(|(boundary, code)| boundary.take(code));
            open.retain(|boundary| !boundary.is_found());
        }
        Some(boundaries.iter().flat_map(|boundary| [boundary.below, boundary.above]).collect())
    }

    fn keeps_at(&self, ordinals: &[i64], allowed: f64) -> bool {
        self.finder.encode_with(&self.kernel, ordinals).is_some_and(|(codes, figures)| {
            let is_kept = |(ordinal, code): (&i64, i64)| self.cf_error(*ordinal, code) <= allowed;
            figures.max_abs_error <= allowed && ordinals.iter().zip(codes).all(is_kept)
        })
    }

    /// Returns the ordinal of the boundary above a code in exact arithmetic, from which the search starts.
    fn guess(&self, code: i64) -> i64 {
        let edge = match self.finder.rounding {
            Rounding::NearestEven | Rounding::NearestAway => 0.5,
            Rounding::TowardsNegative => 1.0,
            Rounding::TowardsZero if code >= 0 => 1.0,
            Rounding::TowardsPositive | Rounding::TowardsZero => 0.0,
        };
        let (scale, offset) = self.parameters();
        let value = self.finder.float.round((float_of(code) + edge) / scale + offset, Rounding::NearestEven);
        self.finder.float.ordinal(value)
    }

    fn parameters(&self) -> (f64, f64) {
        (self.scaling.scale.unwrap_or(1.0), self.scaling.offset.unwrap_or(0.0))
    }

    /// Returns the error for a reader of `scale_factor` and `add_offset`. It computes in float64, and may then round to
    /// the array's type.
    fn cf_error(&self, ordinal: i64, code: i64) -> f64 {
        let (float, (scale, offset)) = (self.finder.float, self.parameters());
        let value = float.value(float.of_ordinal(ordinal));
        let decoded = float_of(code) * (1.0 / scale) + offset;
        let rounded = float.value(float.bits(decoded));
        (decoded - value).abs().max((rounded - value).abs())
    }
}

/// Returns the codes from the first up to the last, which has no boundary above it, or `most` of them. A quarter is at
/// each end, where values are largest and arithmetic is coarsest. The others are spread evenly between.
fn sample((first, last): (i64, i64), most: i64) -> impl Iterator<Item = i64> {
    let count = last - first;
    let quarter = most / 4;
    let (head, tail, stride) =
        if count <= most { (count, 0, 1) } else { (quarter, quarter, (count / (most / 2)).max(1)) };
    let middle = (first + head..last - tail).step_by(usize::try_from(stride).unwrap_or(usize::MAX));
    (first..first + head).chain(middle).chain(last - tail..last)
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "codes are at most 2^53 in magnitude, which is exact")]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestCaseError, TestRunner};

    use super::*;
    use crate::element::{ElementType, NumberType};
    use crate::operation::quantize::FloatType;

    const ROUNDINGS: [Rounding; 5] = [
        Rounding::NearestEven,
        Rounding::NearestAway,
        Rounding::TowardsZero,
        Rounding::TowardsPositive,
        Rounding::TowardsNegative,
    ];

    const TARGETS: [ElementType; 5] =
        [ElementType::UInt8, ElementType::Int8, ElementType::UInt16, ElementType::Int16, ElementType::UInt32];

    #[derive(Debug, Clone)]
    struct Case {
        source: ElementType,
        target: ElementType,
        rounding: Rounding,
        has_nan: bool,
        lo: f64,
        hi: f64,
        allowed: f64,
    }

    /// Ranges of all magnitudes, near 0 and far from it. Errors from a unit in the last place to the whole range.
    fn case(source: ElementType) -> impl Strategy<Value = Case> {
        let float = FloatType(NumberType::of(source));
        let powers = if source == ElementType::Float16 { -3..3_i32 } else { -12..12_i32 };
        let numbers = (-1.0..1.0_f64, 0.0..1.0_f64, powers, 0.0..9.0_f64, prop::bool::ANY);
        let choices = (0..TARGETS.len(), 0..ROUNDINGS.len(), prop::bool::ANY);
        (numbers, choices).prop_map(move |((lo, width, power, fineness, is_far), (target, rounding, has_nan))| {
            let unit = 10_f64.powi(power);
            let begin = if is_far { lo * unit * 300.0 } else { lo * unit };
            let round = |value| float.round(value, Rounding::NearestEven);
            Case {
                source,
                target: TARGETS[target],
                rounding: ROUNDINGS[rounding],
                has_nan,
                lo: round(begin),
                hi: round(begin + width * unit),
                allowed: width * unit * 10_f64.powf(-fineness),
            }
        })
    }

    impl Case {
        fn finder(&self) -> RangeFinder {
            let (source, target) = (NumberType::of(self.source), NumberType::of(self.target));
            let nan = self.has_nan.then(|| Codes::default_nan(target)).flatten();
            let codes = Codes::new(source, target, nan).unwrap();
            RangeFinder { float: FloatType(source), target, codes, rounding: self.rounding, has_scalar_map: true }
        }

        /// Returns the code and its value, with the machine's own arithmetic, which the kernels' loops do not use.
        fn encode_and_decode(&self, scaling: Scaling, x: f64) -> (f64, f64) {
            let float = FloatType(NumberType::of(self.source));
            // Sums, products and quotients of two float32 or float16, rounded from float64, are rounded correctly.
            let rounded = |value: f64| float.round(value, Rounding::NearestEven);
            let (offset, scale) = (scaling.offset.unwrap_or(0.0), scaling.scale.unwrap_or(1.0));
            let scaled = rounded(rounded(x - offset) * scale);
            let code = match self.rounding {
                Rounding::NearestEven => scaled.round_ties_even(),
                Rounding::NearestAway => scaled.round(),
                Rounding::TowardsZero => scaled.trunc(),
                Rounding::TowardsPositive => scaled.ceil(),
                Rounding::TowardsNegative => scaled.floor(),
            };
            (code, rounded(rounded(code / scale) + offset))
        }

        /// Returns the maximum error of arithmetic: a few units in the last place of its operands.
        fn noise(&self) -> f64 {
            let bits = NumberType::of(self.source).significand_bits().unwrap().cast_signed();
            // The offset is as far below the least value as the first code is from 0.
            let first = (self.finder().codes.first as f64).abs().max(1.0) * self.allowed * 2.0;
            let met = self.lo.abs().max(self.hi.abs()) + first + (self.hi - self.lo);
            2_f64.powi(1 - bits) * 4.0 * met
        }

        /// Returns the error of exact arithmetic in steps.
        fn share(&self) -> f64 {
            if self.rounding.is_to_nearest() { 0.5 } else { 1.0 }
        }

        fn check(&self, fractions: &[f64]) -> Result<(), TestCaseError> {
            let finder = self.finder();
            let widest = match finder.widest((self.lo, self.hi), self.allowed) {
                Ok(widest) => widest,
                Err(fault) => {
                    // The codes are too few for the step that arithmetic allows.
                    let codes = (finder.codes.last - finder.codes.first) as f64;
                    let needed = (self.hi - self.lo) * self.share() / (self.allowed - self.noise()).max(1e-300);
                    // Or no scale of the type is that great.
                    let greatest = finder.float.greatest();
                    prop_assert!(
                        needed > codes - 2.0 || self.share() / self.allowed > greatest,
                        "{fault} of {self:?}: {needed} of {codes} codes"
                    );
                    return Ok(());
                }
            };
            let Codes { first, last, .. } = widest.codes;
            // All codes are used only if no other step keeps the error. Their offset may be too coarse for the first
            // code.
            let is_first = self.lo >= self.hi || first == finder.codes.first;
            prop_assert!(is_first || self.allowed < self.noise(), "{widest:?}");
            let step = 1.0 / widest.scaling.scale.unwrap_or(1.0);
            let least = (self.allowed - self.noise()) / self.share() * (1.0 - 1e-5);
            prop_assert!(self.lo >= self.hi || step > least, "the step {step} is less than {least}: {widest:?}");
            let float = finder.float;
            let mut values = vec![self.lo, self.hi];
            for fraction in fractions {
                let x = float.round(self.lo + (self.hi - self.lo) * fraction, Rounding::NearestEven);
                let (_, decoded) = self.encode_and_decode(widest.scaling, x);
                // Around the value, and around both ends of its code.
                for near in [x, decoded - self.share() * step, decoded + self.share() * step] {
                    let near = float.round(near, Rounding::NearestEven);
                    values.extend((-24..=24).filter_map(|ulps| float.neighbour(near, ulps)));
                }
            }
            values.retain(|value| (self.lo..=self.hi).contains(value));
            values.sort_by(f64::total_cmp);
            let mut before = first as f64;
            for x in values {
                let (code, decoded) = self.encode_and_decode(widest.scaling, x);
                prop_assert!(code >= before && code <= last as f64, "{x} gets {code} after {before}: {widest:?}");
                before = code;
                let error = (decoded - x).abs();
                prop_assert!(!widest.is_proved || error <= self.allowed, "{x} becomes {decoded}: {widest:?}");
                // With many codes, only some are checked. The others exceed the error by at most a few roundings.
                prop_assert!(error <= self.allowed + self.noise(), "{x} becomes {decoded}: {widest:?}");
            }
            Ok(())
        }
    }

    #[test]
    fn widest_step_keeps_the_error_and_encoding_is_monotone() {
        let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
        for source in [ElementType::Float16, ElementType::Float32, ElementType::Float64] {
            let fractions = prop::collection::vec(0.0..=1.0_f64, 8);
            let property = |(case, fractions): (Case, Vec<f64>)| case.check(&fractions);
            let mut runner = TestRunner::new(config.clone());
            runner.run(&(case(source), fractions), property).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }

    #[test]
    fn widest_step_of_a_temperature_is_twice_the_error_less_its_rounding() {
        let case = Case {
            source: ElementType::Float32,
            target: ElementType::UInt16,
            rounding: Rounding::NearestEven,
            has_nan: false,
            lo: 244.0,
            hi: 301.75,
            allowed: 0.05,
        };
        let widest = case.finder().widest((case.lo, case.hi), case.allowed).unwrap();
        let step = 1.0 / widest.scaling.scale.unwrap();
        // Values up to 301.75 are 3.1e-5 apart: half of that on either side of a code.
        assert!(step < 0.1 && step > 0.1 - 3.2e-5 * 2.0, "{step}");
        assert!(widest.is_proved);
        assert_eq!((widest.codes.first, widest.codes.last), (0, 578));
    }

    #[test]
    fn error_below_the_distance_of_values_needs_a_code_for_each_value() {
        for (allowed, lo) in [(1e-4, 1e6 + 0.1875), (1e-9, 1e6 + 0.1875), (1e-3, -1e6 - 99.25)] {
            let case = Case {
                source: ElementType::Float32,
                target: ElementType::UInt16,
                rounding: Rounding::NearestEven,
                has_nan: true,
                lo,
                hi: lo + 99.0625,
                allowed,
            };
            let widest = case.finder().widest((case.lo, case.hi), case.allowed).unwrap();
            // The values are sixteenths.
            assert_eq!((widest.scaling.scale, widest.is_proved), (Some(16.0), true), "{allowed}");
            assert_eq!((widest.codes.first, widest.codes.last), (1, 1586));
        }
    }

    #[test]
    fn widest_step_of_an_error_beyond_the_range_takes_one_code() {
        for target in [ElementType::UInt8, ElementType::Int16] {
            let case = Case {
                source: ElementType::Float32,
                target,
                rounding: Rounding::NearestEven,
                has_nan: true,
                lo: 0.5,
                hi: 3.0,
                allowed: 1e30,
            };
            let widest = case.finder().widest((case.lo, case.hi), case.allowed).unwrap();
            assert_eq!(widest.codes.first, widest.codes.last);
            let none = case.finder().widest((case.lo, case.hi), 0.0);
            assert_eq!(none, Err(RangeFault::TooCoarse), "no error at all");
            let constant = case.finder().widest((case.lo, case.lo), 0.0).unwrap();
            assert_eq!(case.encode_and_decode(constant.scaling, 0.5).1, 0.5);
        }
    }

    #[test]
    fn sample_holds_all_of_few_codes_and_both_ends_of_many() {
        assert_eq!(sample((3, 7), 8).collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert_eq!(sample((3, 3), 8).count(), 0);
        let many: Vec<i64> = sample((-1000, 5000), 100).collect();
        assert!(many.len() <= 130 && many.is_sorted_by(|a, b| a < b), "{many:?}");
        assert_eq!((many[0], many[24], many[many.len() - 1]), (-1000, -976, 4999));
    }
}
