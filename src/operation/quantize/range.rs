//! `offset` and `scale` from the least and greatest value: CLI.md, "Quantising", *Range* and *Special data*.
//!
//! Values of the array's type are stored as `f64`, which is exact. Calculated values are rounded to the type before
//! use, and both ends are checked with the real kernel.

use serde::{Deserialize, Serialize};

use super::float_type::{FloatType, elements_of, float_of};
use crate::element::{NumberType, element_bits, integer_of};
use crate::kernel::quantize::{Quantize, QuantizeFigures, QuantizeOptions};
use crate::kernel::{OutOfRange, Rounding};

/// Parameters of `scale_offset`, and of `cast_value` with it. `None` is the identity and is left out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Scaling {
    /// Subtracted first.
    pub offset: Option<f64>,
    /// The factor after that.
    pub scale: Option<f64>,
    /// The code of -0.0 in `scalar_map`, if arithmetic does not decode -0.0.
    pub negative_zero_code: Option<i64>,
}

impl Scaling {
    /// Leaves out identities.
    pub(crate) fn new(offset: Option<f64>, scale: Option<f64>) -> Self {
        // Readers skip an absent operation, so -0.0 stays -0.0. The addition of an offset of 0 would make it 0.0
        // (SEMANTICS: A1.9, B30).
        let (offset, scale) = (offset.filter(|offset| *offset != 0.0), scale.filter(|scale| *scale != 1.0));
        Scaling { offset, scale, negative_zero_code: None }
    }

    /// Returns whether the type has no greater scale, so that a narrow range cannot use all codes.
    pub(crate) fn is_greatest(&self, float: FloatType) -> bool {
        self.scale == Some(float.greatest())
    }
}

/// The codes of numbers, and the code of NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Codes {
    /// The least code of a number.
    pub first: i64,
    /// The greatest code of a number.
    pub last: i64,
    /// The code of NaN, if one is reserved.
    pub nan: Option<i64>,
}

impl Codes {
    /// Returns all codes of `target` that `source` represents exactly, without the NaN code. `None` if none is left.
    pub(crate) fn new(source: NumberType, target: NumberType, nan: Option<i64>) -> Option<Self> {
        // Decoding casts a code to the float type. A code beyond this magnitude could become another one (SEMANTICS:
        // B1).
        let exact = 1_i128 << source.significand_bits()?;
        let (least, greatest) = target.integer_bounds()?;
        let mut first = i64::try_from(least.max(-exact)).ok()?;
        let mut last = i64::try_from(greatest.min(exact)).ok()?;
        // A NaN code inside does not shorten the codes: the kernel gives it to no number.
        if nan == Some(first) {
            first += 1;
        } else if nan == Some(last) {
            last -= 1;
        }
        (first < last).then_some(Codes { first, last, nan })
    }

    /// Whether NaN has one of the codes between the first and the last.
    fn contain_nan(self) -> bool {
        self.nan.is_some_and(|nan| (self.first..=self.last).contains(&nan))
    }

    /// Returns the longer run of codes on one side of the NaN code.
    pub(crate) fn beside_nan(self) -> Self {
        match self.nan.filter(|_| self.contain_nan()) {
            Some(nan) if nan.abs_diff(self.first) > nan.abs_diff(self.last) => Codes { last: nan - 1, ..self },
            Some(nan) => Codes { first: nan + 1, ..self },
            None => self,
        }
    }

    /// Returns the least code of a type, the default code of NaN.
    pub(crate) fn default_nan(target: NumberType) -> Option<i64> {
        i64::try_from(target.integer_bounds()?.0).ok()
    }
}

/// The rule for the scaling of a code type.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ScaleSearch {
    /// `--scale` and `--offset`, or else all codes of the type.
    AllCodes,
    /// The widest step whose error is at most this.
    Within(f64),
    /// Steps of this size, from 0.
    GridFromZero(f64),
    /// Steps of this size, from a multiple of it.
    Grid(f64),
}

/// A scaling, and the codes that it uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fitted {
    pub scaling: Scaling,
    pub codes: Codes,
    /// True if the greatest error is proved for every value of the range. Otherwise the data must be measured.
    pub is_proved: bool,
}

/// Returns the least number that fits, if all greater ones fit, too, and `failed` does not. Tries `base + gap`, doubles
/// the gap until a number fits, then bisects. `None` if no number below `end` fits.
pub(super) fn least_fitting(
    mut failed: u64,
    (base, mut gap): (u64, u64),
    end: u64,
    fits: impl Fn(u64) -> bool,
) -> Option<u64> {
    let mut next = base + gap;
    while !fits(next) {
        failed = next;
        gap = gap.checked_mul(2)?;
        next = base.checked_add(gap).filter(|next| *next < end)?;
    }
    while next - failed > 1 {
        let middle = failed + (next - failed) / 2;
        if fits(middle) { next = middle } else { failed = middle }
    }
    Some(next)
}

/// Reason why there is no `offset` and `scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RangeFault {
    /// `hi - lo` or a value calculated from it is outside the array's type.
    #[error("the range is too wide for the arithmetic of the array's data type")]
    TooWide,
    /// No scale maps both ends to valid codes.
    #[error("no scale in the array's data type maps both ends of the range to valid codes")]
    NotFound,
    /// There are more steps from the least to the greatest value than codes.
    #[error("the range needs more steps than the type has codes")]
    TooFewCodes,
    /// Arithmetic rounds so much that no step with enough codes keeps the error limit.
    #[error("the array's data type rounds, so the steps must be smaller, which needs too many codes")]
    TooCoarse,
    /// 1 / step is 0 or infinite in the array's type.
    #[error("1 / step does not fit into the array's data type")]
    NoScale,
}

/// The parameters of a quantisation other than its scaling.
#[derive(Debug, Clone)]
pub(crate) struct RangeFinder {
    pub float: FloatType,
    /// The integer type of the codes.
    pub target: NumberType,
    pub codes: Codes,
    pub rounding: Rounding,
    /// Whether `cast_value` decodes the codes, with a `scalar_map` that can contain a special value.
    pub has_scalar_map: bool,
}

impl RangeFinder {
    /// Returns the scaling that encodes `lo` to the first code and `hi` to the last.
    pub(crate) fn find(&self, lo: f64, hi: f64) -> Result<Scaling, RangeFault> {
        /// Number of scales that are tried one after the other.
        const FIRST: u64 = 64;
        if lo >= hi {
            // A range from -0.0 to 0.0 is not a constant -0.0.
            return self.constant(if hi == 0.0 { hi } else { lo });
        }
        // Halves first: the difference of two float64 may overflow.
        let span = (float_of(self.codes.last) - float_of(self.codes.first)) / 2.0;
        // Rounded up, the scale would move `hi` beyond the last code. For a very narrow range the quotient is infinite.
        let ideal = self.float.round(span / (hi / 2.0 - lo / 2.0), Rounding::TowardsZero).min(self.float.greatest());
        if ideal.is_nan() || ideal <= 0.0 {
            return Err(RangeFault::TooWide);
        }
        let attempt = |ulps: u64| self.attempt(self.float.towards_zero(ideal, ulps), 0, lo, hi);
        // So close to the ideal scale, roundings decide which scales fit. They fit irregularly, and bisection would
        // miss some.
        if let Some(scaling) = (0..=FIRST).find_map(attempt) {
            return Ok(scaling);
        }
        // The offset is too coarse for these codes, so the scale must be smaller. The nearest offset may be `lo` itself,
        // whose code is 0. With the offset below it, `lo` has a code inside.
        let attempt = |ulps: u64| {
            let scale = self.float.towards_zero(ideal, ulps);
            self.attempt(scale, 0, lo, hi).or_else(|| self.attempt(scale, -1, lo, hi))
        };
        let fits = |ulps| attempt(ulps).is_some();
        let ulps = least_fitting(FIRST, (0, 2 * FIRST), self.float.bits(ideal), fits);
        ulps.and_then(attempt).ok_or(RangeFault::NotFound)
    }

    /// Returns the scaling with this scale. Its offset is `shift` values of the type away from the nearest. `None` if
    /// an end has no valid code.
    fn attempt(&self, scale: f64, shift: i64, lo: f64, hi: f64) -> Option<Scaling> {
        // `lo - lo` is exactly 0 with any scale. Any other first code needs an offset that is rounded.
        let offset = match self.codes.first {
            0 => lo,
            first => self.float.round(lo - float_of(first) / scale, Rounding::NearestEven),
        };
        let offset = if shift == 0 { offset } else { self.float.neighbour(offset, shift)? };
        let scaling = Scaling::new(Some(offset), Some(scale));
        (offset.is_finite() && self.codes_of(scaling, (lo, hi)).is_some()).then_some(scaling)
    }

    /// Returns the code of a value with the real kernel. `None` if the kernel returns an error.
    pub(crate) fn encode(&self, scaling: Scaling, value: f64) -> Option<i64> {
        let kernel = Quantize::new(self.options(scaling));
        self.encode_with(&kernel, &[self.float.ordinal(value)])?.0.first().copied()
    }

    /// Returns the codes of values by ordinal, and the error figures. `None` if a value has no code.
    pub(super) fn encode_with(&self, kernel: &Quantize, ordinals: &[i64]) -> Option<(Vec<i64>, QuantizeFigures)> {
        let RangeFinder { float, target, .. } = *self;
        let elements = elements_of(float.0, ordinals.iter().map(|ordinal| float.of_ordinal(*ordinal)));
        let mut codes = vec![0; ordinals.len() * target.size()];
        let mut figures = QuantizeFigures::default();
        kernel.convert(&elements, &mut codes, &mut figures).ok()?;
        let integer = |code| i64::try_from(integer_of(element_bits(code), target.element())).ok();
        let codes = codes.chunks_exact(target.size()).map(integer).collect::<Option<_>>()?;
        Some((codes, figures))
    }

    /// Returns the options of the kernel for this scaling. Values out of range are errors.
    pub(crate) fn options(&self, scaling: Scaling) -> QuantizeOptions {
        QuantizeOptions {
            source: self.float.0,
            target: self.target,
            offset: scaling.offset.map(|value| self.float.bits(value)),
            scale: scaling.scale.map(|value| self.float.bits(value)),
            rounding: self.rounding,
            out_of_range: OutOfRange::Error,
            codes: (self.codes.first, self.codes.last),
            nan_code: self.codes.nan,
            negative_zero_code: scaling.negative_zero_code,
            missing: Vec::new(),
            cf: None,
        }
    }

    /// Returns a scaling that decodes one value bit for bit. For -0.0 this needs code 0 or readers of `scalar_map`.
    fn constant(&self, value: f64) -> Result<Scaling, RangeFault> {
        let usable = |code: i64| (self.codes.first..=self.codes.last).contains(&code) && self.codes.nan != Some(code);
        let is_negative_zero = value == 0.0 && value.is_sign_negative();
        let scaling = if usable(0) && is_negative_zero {
            // 0 / -1 is -0.0, and nothing is added to it.
            Scaling::new(None, Some(-1.0))
        } else if usable(0) {
            // (x - x) * 1 is code 0, and 0 / 1 + x is x.
            Scaling::new(Some(value), None)
        } else if is_negative_zero && self.has_scalar_map {
            Scaling { negative_zero_code: Some(self.codes.first), ..Scaling::default() }
        } else {
            // The offset is nearer to zero than the value by one step, which is a power of two. So the code is 1, and
            // every operation is exact.
            let step = self.float.unit_in_last_place(value).copysign(value);
            Scaling::new(Some(value - step), Some(1.0 / step))
        };
        self.encode(scaling, value).map(|_| scaling).ok_or(RangeFault::NotFound)
    }

    /// Returns the scaling of a grid with offset 0. Fails if an end of the range has no code.
    pub(crate) fn on_grid_from_zero(&self, grid: Grid, range: Option<(f64, f64)>) -> Result<Fitted, RangeFault> {
        let scaling = Scaling::new(None, Some(grid.scale(self.float).ok_or(RangeFault::NoScale)?));
        let codes = range.map_or(Some(self.codes), |range| self.codes_of(scaling, range));
        let codes = codes.filter(|codes| range.is_none() || !codes.contain_nan());
        Ok(Fitted { scaling, codes: codes.ok_or(RangeFault::TooFewCodes)?, is_proved: false })
    }

    /// Returns the scaling of a grid in which `lo` and `hi` have codes. The offset is the roundest such multiple of the
    /// step.
    ///
    /// The roundest is divisible by the highest power of ten. The arithmetic is likely to represent it exactly, and
    /// similar stores are likely to get the same. It depends only on the codes of `lo` and `hi`, so quantised values
    /// get the same offset again.
    pub(crate) fn on_grid(&self, grid: Grid, (lo, hi): (f64, f64)) -> Result<Fitted, RangeFault> {
        let scale = grid.scale(self.float).ok_or(RangeFault::NoScale)?;
        let (first, last) = (float_of(self.codes.first), float_of(self.codes.last));
        let least = grid.multiple(hi, self.rounding) - last;
        let greatest = grid.multiple(lo, self.rounding) - first;
        // 10^15 is the greatest power of ten at which float64 has all integers.
        let powers = (0..=15).rev().map(|exponent| 10_f64.powi(exponent));
        // The next round multiple below 0 may be far from the values, where the arithmetic is coarser than at the
        // values.
        let powers = powers.filter(|power| greatest >= 0.0 || *power <= greatest.abs());
        let multiples = powers.map(|power| (greatest / power).floor() * power);
        // If rounding in the array's type moves an end to the next code, the neighbouring multiple may work.
        let multiples = multiples.chain([greatest - 1.0, least + 1.0]);
        let multiples = multiples.filter(|multiple| (least..=greatest).contains(multiple));
        let offset = |multiple| self.float.round(grid.value(multiple), Rounding::NearestEven);
        let fitted = |scaling| Some(Fitted { scaling, codes: self.codes_of(scaling, (lo, hi))?, is_proved: false });
        let mut scalings = multiples.map(|multiple| Scaling::new(Some(offset(multiple)), Some(scale)));
        scalings.find_map(fitted).ok_or(RangeFault::TooFewCodes)
    }

    /// Returns the codes of a range, from its least value to its greatest. `None` if one of these has no code.
    pub(crate) fn codes_of(&self, scaling: Scaling, (lo, hi): (f64, f64)) -> Option<Codes> {
        Some(Codes { first: self.encode(scaling, lo)?, last: self.encode(scaling, hi)?, ..self.codes })
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    step: f64,
    /// 1/step if that is an integer. A multiple divided by it is rounded once, like a parsed decimal.
    per_unit: Option<f64>,
}

impl Grid {
    pub(crate) fn new(step: f64) -> Self {
        let per_unit = (1.0 / step).round();
        // The division may miss the integer by a rounding, as for the step 1/49.
        let is_whole = (1.0 / step - per_unit).abs() <= per_unit * f64::EPSILON;
        Grid { step, per_unit: Some(per_unit).filter(|per_unit| is_whole && *per_unit >= 1.0) }
    }

    /// Returns the scale in an array's type. `None` if it is 0 or infinite.
    fn scale(self, float: FloatType) -> Option<f64> {
        let scale = float.round(self.per_unit.unwrap_or(1.0 / self.step), Rounding::NearestEven);
        Some(scale).filter(|scale| scale.is_finite() && *scale > 0.0)
    }

    /// Returns the value of a multiple, in float64.
    fn value(self, multiple: f64) -> f64 {
        self.per_unit.map_or(multiple * self.step, |per_unit| multiple / per_unit)
    }

    /// Returns the multiple to which a value is rounded.
    fn multiple(self, value: f64, rounding: Rounding) -> f64 {
        let steps = self.per_unit.map_or(value / self.step, |per_unit| value * per_unit);
        match rounding {
            Rounding::NearestEven => steps.round_ties_even(),
            Rounding::NearestAway => steps.round(),
            Rounding::TowardsPositive => steps.ceil(),
            // The offset is below all values, so towards zero is down.
            Rounding::TowardsNegative | Rounding::TowardsZero => steps.floor(),
        }
    }
}
