//! From the least and greatest value to `offset` and `scale`: CLI.md, "Quantising", *Range* and *Special data*.
//!
//! Values of the array's type are held as `f64` here, which holds each exactly; what is computed is rounded to the
//! type before it is used, and both ends are proved through the real kernel.

use serde::{Deserialize, Serialize};

use crate::codec::element_bits;
use crate::codec::fault::number_value;
use crate::data_type::FillValue;
use crate::element::{ElementType, NumberType};
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::quantize::{Quantize, QuantizeFigures, QuantizeOptions};
use crate::kernel::{OutOfRange, Rounding};

/// Parameters of `scale_offset`, and of `cast_value` with it. `None` is the identity, which is left out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Scaling {
    /// Subtracted first.
    pub offset: Option<f64>,
    /// Multiplied then.
    pub scale: Option<f64>,
    /// The code that `scalar_map` gives to -0.0 and back, where arithmetic cannot bring it back.
    pub negative_zero_code: Option<i64>,
}

impl Scaling {
    /// The identities left out.
    pub(crate) fn of(offset: Option<f64>, scale: Option<f64>) -> Self {
        let (offset, scale) = (offset.filter(|offset| *offset != 0.0), scale.filter(|scale| *scale != 1.0));
        Scaling { offset, scale, negative_zero_code: None }
    }
}

/// The codes that numbers may get, and the one that stands for NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Codes {
    /// The least.
    pub first: i64,
    /// The greatest.
    pub last: i64,
    /// NaN's, where one is set aside.
    pub nan: Option<i64>,
}

impl Codes {
    /// All codes of `target` whose magnitude `source` holds exactly, less the NaN code; `None` where none is left.
    pub(crate) fn of(source: NumberType, target: NumberType, nan: Option<i64>) -> Option<Self> {
        let exact = 1_i128 << source.significand_bits()?;
        let (least, greatest) = target.integer_bounds()?;
        let mut first = i64::try_from(least.max(-exact)).ok()?;
        let mut last = i64::try_from(greatest.min(exact)).ok()?;
        if nan == Some(first) {
            first += 1;
        } else if nan == Some(last) {
            last -= 1;
        }
        (first < last).then_some(Codes { first, last, nan })
    }

    /// The lowest code of a type, which stands for NaN unless another is named.
    pub(crate) fn default_nan(target: NumberType) -> Option<i64> {
        i64::try_from(target.integer_bounds()?.0).ok()
    }
}

/// The rule by which the scaling of a type of codes is found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fit {
    /// As `--scale` and `--offset` say, else over all codes of the type.
    AllCodes,
    /// In the widest step whose error is at most this.
    Within(f64),
    /// In steps of this size, from 0.
    GridFromZero(f64),
    /// In steps of this size, from some multiple of it.
    Grid(f64),
}

/// A scaling that was found, and the codes that it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fitted {
    /// The scaling.
    pub scaling: Scaling,
    /// The codes that values get.
    pub codes: Codes,
    /// True if the greatest error was proved for every value of the range; else the data must be measured.
    pub is_proved: bool,
}

/// A float type's arithmetic, on values held as `f64`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FloatType(pub NumberType);

impl FloatType {
    /// Rounds to the type; infinite beyond its range, or the greatest finite value when rounding towards zero.
    pub(crate) fn round(self, value: f64, rounding: Rounding) -> f64 {
        if self.0.element() == ElementType::Float64 || !value.is_finite() {
            return value;
        }
        let (source, target, out_of_range) = (NumberType::of(ElementType::Float64), self.0, OutOfRange::Error);
        let cast = Cast::new(CastOptions { source, target, rounding, out_of_range, scalar_map: Vec::new() });
        match cast.convert_one(value.to_bits()) {
            Ok(bits) => self.value(bits),
            Err(_) if rounding == Rounding::TowardsZero => self.greatest().copysign(value),
            Err(_) => f64::INFINITY.copysign(value),
        }
    }

    /// The value of a bit pattern of the type.
    pub(crate) fn value(self, bits: u64) -> f64 {
        number_value(self.0, bits)
    }

    /// The bit pattern of a value that the type holds.
    #[expect(clippy::cast_possible_truncation, reason = "the value is one of the type, so nothing is lost")]
    pub(crate) fn bits(self, value: f64) -> u64 {
        match self.0.element() {
            ElementType::Float16 => u64::from(half::f16::from_f64(value).to_bits()),
            ElementType::Float32 => u64::from((value as f32).to_bits()),
            _ => value.to_bits(),
        }
    }

    /// The greatest finite value.
    pub(crate) fn greatest(self) -> f64 {
        self.0.float_format().map_or(f64::MAX, |format| self.value(format.greatest()))
    }

    /// The positive value `ulps` steps nearer to zero (never zero).
    fn towards_zero(self, value: f64, ulps: u64) -> f64 {
        self.value(self.bits(value).saturating_sub(ulps).max(1))
    }

    /// The position of a value in the order of all values of the type, counted from 0.0; -0.0 is -1.
    pub(crate) fn ordinal(self, value: f64) -> i64 {
        let sign = 1_u64 << (self.0.bits() - 1);
        let bits = self.bits(value);
        if bits & sign == 0 { bits.cast_signed() } else { !(bits & !sign).cast_signed() }
    }

    /// The bit pattern of the value at a position in the order of all values.
    pub(crate) fn of_ordinal(self, ordinal: i64) -> u64 {
        let sign = 1_u64 << (self.0.bits() - 1);
        if ordinal >= 0 { ordinal.cast_unsigned() } else { (!ordinal).cast_unsigned() | sign }
    }

    /// The value `steps` away in the order of all values (±0 are one step apart); `None` beyond the finite ones.
    pub(crate) fn neighbour(self, value: f64, steps: i64) -> Option<f64> {
        let ordinal = self.ordinal(value).checked_add(steps)?;
        let greatest = self.ordinal(self.greatest());
        (-greatest - 1..=greatest).contains(&ordinal).then(|| self.value(self.of_ordinal(ordinal)))
    }

    /// The smallest power of two, 2^-126 or more, that is at least a unit in the last place of `value`.
    pub(crate) fn unit_in_last_place(self, value: f64) -> f64 {
        let significand_bits = self.0.significand_bits().map_or(53, u32::cast_signed);
        let least_exponent = match self.0.element() {
            ElementType::Float16 => -14,
            ElementType::Float32 => -126,
            _ => -1022,
        };
        let exponent = if value == 0.0 { least_exponent } else { exponent_of(value) };
        2_f64.powi((exponent - (significand_bits - 1)).max(least_exponent))
    }
}

/// A code as a float.
#[expect(clippy::cast_precision_loss, reason = "codes are at most 2^53 in magnitude, which is exact")]
pub(crate) fn float_of(code: i64) -> f64 {
    code as f64
}

/// The exponent of the leading bit of a finite value that is not zero.
pub(crate) fn exponent_of(value: f64) -> i32 {
    let biased = i32::try_from((value.to_bits() >> 52) & 0x7ff).unwrap_or(0);
    if biased == 0 { -1022 } else { biased - 1023 }
}

/// Why there is no `offset` and `scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RangeFault {
    /// `hi - lo` and what follows from it leave the array's type.
    #[error("the range is too wide for the arithmetic of the array's data type")]
    TooWide,
    /// No scale brings both ends inside.
    #[error("no scale in the array's data type maps both ends of the range to valid codes")]
    NotFound,
    /// The steps from the least to the greatest value are more than the codes.
    #[error("the range needs more steps than the type has codes")]
    TooFewCodes,
    /// Arithmetic rounds by so much that the error is kept by no step for which there are codes.
    #[error("the array's data type rounds, so the steps must be smaller, which needs too many codes")]
    TooCoarse,
    /// One over the step is 0 or infinite in the array's type.
    #[error("1 / step does not fit into the array's data type")]
    NoScale,
}

/// The parts of a quantisation but its scaling.
#[derive(Debug, Clone)]
pub(crate) struct RangeFinder {
    /// The array's float type.
    pub float: FloatType,
    /// The integer type of the codes.
    pub target: NumberType,
    /// The codes.
    pub codes: Codes,
    /// `cast_value`'s rounding.
    pub rounding: Rounding,
    /// Whether the codes are decoded by `cast_value`, whose `scalar_map` may hold a value of its own.
    pub has_scalar_map: bool,
}

impl RangeFinder {
    /// The scaling that gives `lo` the first code and `hi` the last.
    pub(crate) fn find(&self, lo: f64, hi: f64) -> Result<Scaling, RangeFault> {
        if lo >= hi {
            // With a 0.0 beside it -0.0 is no constant.
            return self.constant(if hi == 0.0 { hi } else { lo });
        }
        // Halves first: the difference of two float64 may overflow.
        let span = (float_of(self.codes.last) - float_of(self.codes.first)) / 2.0;
        let ideal = self.float.round(span / (hi / 2.0 - lo / 2.0), Rounding::TowardsZero).min(self.float.greatest());
        if ideal.is_nan() || ideal <= 0.0 {
            return Err(RangeFault::TooWide);
        }
        let attempt = |ulps: u64| self.attempt(self.float.towards_zero(ideal, ulps), 0, lo, hi);
        let mut failed = 64;
        if let Some(scaling) = (0..=failed).find_map(attempt) {
            return Ok(scaling);
        }
        // The offset is too coarse for its codes: the scale must give way by more. Double, then halve the gap. The offset
        // below the nearest leaves `lo` a code inside, where the nearest may be `lo` itself, whose code is 0.
        let attempt = |ulps: u64| {
            let scale = self.float.towards_zero(ideal, ulps);
            self.attempt(scale, 0, lo, hi).or_else(|| self.attempt(scale, -1, lo, hi))
        };
        let mut ulps = failed * 2;
        while attempt(ulps).is_none() {
            failed = ulps;
            ulps = ulps.checked_mul(2).filter(|ulps| *ulps < self.float.bits(ideal)).ok_or(RangeFault::NotFound)?;
        }
        while ulps - failed > 1 {
            let middle = failed + (ulps - failed) / 2;
            if attempt(middle).is_some() { ulps = middle } else { failed = middle }
        }
        attempt(ulps).ok_or(RangeFault::NotFound)
    }

    /// The scaling with this scale, and the offset so many values of the type beside the nearest, if both ends land inside.
    fn attempt(&self, scale: f64, beside: i64, lo: f64, hi: f64) -> Option<Scaling> {
        let offset = match self.codes.first {
            0 => lo,
            first => self.float.round(lo - float_of(first) / scale, Rounding::NearestEven),
        };
        let offset = if beside == 0 { offset } else { self.float.neighbour(offset, beside)? };
        let scaling = Scaling::of(Some(offset), Some(scale));
        (offset.is_finite() && self.are_inside(scaling, (lo, hi))).then_some(scaling)
    }

    /// The code of a value through the real kernel; `None` where it is refused.
    pub(crate) fn encode(&self, scaling: Scaling, value: f64) -> Option<i64> {
        let quantize = Quantize::new(self.options(scaling));
        let (mut code, mut figures) = ([0_u8; 8], QuantizeFigures::default());
        let code = code.get_mut(..self.target.size())?;
        let value = FillValue::from_bits(self.float.0, self.float.bits(value));
        quantize.convert(&value.0, code, &mut figures).ok()?;
        Some(integer_of(self.target, code))
    }

    /// The options of the kernel for this scaling, with nothing out of range allowed.
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

    /// A scaling under which one value comes back bit for bit (-0.0 in all that reads `scalar_map`, or if code 0 is free).
    fn constant(&self, value: f64) -> Result<Scaling, RangeFault> {
        let usable = |code: i64| (self.codes.first..=self.codes.last).contains(&code) && self.codes.nan != Some(code);
        let is_negative_zero = value == 0.0 && value.is_sign_negative();
        let scaling = if usable(0) && is_negative_zero {
            // 0 / -1 is -0.0, and nothing is added to it.
            Scaling::of(None, Some(-1.0))
        } else if usable(0) {
            // (x - x) * 1 is code 0, and 0 / 1 + x is x.
            Scaling::of(Some(value), None)
        } else if is_negative_zero && self.has_scalar_map {
            Scaling { negative_zero_code: Some(self.codes.first), ..Scaling::default() }
        } else {
            // One step of a power of two nearer to zero than the value: code 1, and every operation is exact.
            let step = self.float.unit_in_last_place(value).copysign(value);
            Scaling::of(Some(value - step), Some(1.0 / step))
        };
        self.encode(scaling, value).map(|_| scaling).ok_or(RangeFault::NotFound)
    }
}

/// The integer that an element's bytes hold.
pub(crate) fn integer_of(number_type: NumberType, bytes: &[u8]) -> i64 {
    let bits = element_bits(bytes);
    let unused = 64 - u32::try_from(number_type.size() * 8).unwrap_or(64);
    if number_type.element().is_signed_integer() {
        (bits << unused).cast_signed() >> unused
    } else {
        bits.cast_signed()
    }
}

/// The multiples of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// S.
    step: f64,
    /// 1/S, where that is an integer: then a multiple divided by it is rounded once, as a decimal is that is read.
    per_unit: Option<f64>,
}

impl Grid {
    pub(crate) fn new(step: f64) -> Self {
        let per_unit = (1.0 / step).round();
        let is_whole = (1.0 / step - per_unit).abs() <= per_unit * f64::EPSILON;
        Grid { step, per_unit: Some(per_unit).filter(|per_unit| is_whole && *per_unit >= 1.0) }
    }

    /// The scale in an array's type.
    fn scale(self, float: FloatType) -> Option<f64> {
        let scale = float.round(self.per_unit.unwrap_or(1.0 / self.step), Rounding::NearestEven);
        Some(scale).filter(|scale| scale.is_finite() && *scale > 0.0)
    }

    /// The value of a multiple, in float64.
    fn value(self, multiple: f64) -> f64 {
        self.per_unit.map_or(multiple * self.step, |per_unit| multiple / per_unit)
    }

    /// The multiple that a value is rounded to.
    fn multiple(self, value: f64, rounding: Rounding) -> f64 {
        let steps = self.per_unit.map_or(value / self.step, |per_unit| value * per_unit);
        match rounding {
            Rounding::NearestEven => steps.round_ties_even(),
            Rounding::NearestAway => steps.round(),
            Rounding::TowardsPositive => steps.ceil(),
            // From an offset below all values, towards zero is down.
            Rounding::TowardsNegative | Rounding::TowardsZero => steps.floor(),
        }
    }
}

impl RangeFinder {
    /// The scaling of a grid with offset 0, if values from `lo` to `hi` have codes then.
    pub(crate) fn on_grid_from_zero(&self, grid: Grid, range: Option<(f64, f64)>) -> Result<Scaling, RangeFault> {
        let scale = grid.scale(self.float).ok_or(RangeFault::NoScale)?;
        let scaling = Scaling::of(None, Some(scale));
        let (lo, hi) = range.unwrap_or_default();
        let fits = range.is_none() || self.are_inside(scaling, (lo, hi));
        if fits { Ok(scaling) } else { Err(RangeFault::TooFewCodes) }
    }

    /// The scaling of a grid whose offset is the roundest multiple of the step that brings `lo` and `hi` inside.
    ///
    /// The roundest is divisible by the highest power of ten: the arithmetic is likely to hold it exactly, and other
    /// stores of the same kind to have the same. It follows from the codes of `lo` and `hi` alone, so that what was
    /// quantised gets the same again.
    pub(crate) fn on_grid(&self, grid: Grid, (lo, hi): (f64, f64)) -> Result<Scaling, RangeFault> {
        let scale = grid.scale(self.float).ok_or(RangeFault::NoScale)?;
        let (first, last) = (float_of(self.codes.first), float_of(self.codes.last));
        let least = grid.multiple(hi, self.rounding) - last;
        let greatest = grid.multiple(lo, self.rounding) - first;
        let powers = (0..=15).rev().map(|exponent| 10_f64.powi(exponent));
        // The next round multiple below 0 may lie far beyond the values, where the arithmetic is coarser than there.
        let powers = powers.filter(|power| greatest >= 0.0 || *power <= greatest.abs());
        let multiples = powers.map(|power| (greatest / power).floor() * power);
        // Where rounding in the array's type takes an end to the next code, the multiple beside it may do.
        let multiples = multiples.chain([greatest - 1.0, least + 1.0]);
        let multiples = multiples.filter(|multiple| (least..=greatest).contains(multiple));
        let offset = |multiple| self.float.round(grid.value(multiple), Rounding::NearestEven);
        let mut scalings = multiples.map(|multiple| Scaling::of(Some(offset(multiple)), Some(scale)));
        scalings.find(|scaling| self.are_inside(*scaling, (lo, hi))).ok_or(RangeFault::TooFewCodes)
    }

    fn are_inside(&self, scaling: Scaling, (lo, hi): (f64, f64)) -> bool {
        self.encode(scaling, lo).is_some() && self.encode(scaling, hi).is_some()
    }
}
