//! The exact path of a quantisation: one value, its code, and what decoding gives back.

use super::{QuantizeFigures, QuantizeOptions};
use crate::element::{Element, FloatFormat, NumberType};
use crate::kernel::cast::{low_bits, wrapped};
use crate::kernel::exact::{RoundedInteger, Value, integer_of};
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::{FaultKind, OutOfRange};
use crate::with_element;

/// A quantisation without loops.
#[derive(Debug, Clone)]
pub(super) struct ExactQuantize {
    options: QuantizeOptions,
    scale_offset: ScaleOffset,
    format: FloatFormat,
    normalizer: f64,
}

/// The code of one element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coded {
    /// Its element bits.
    pub(super) bits: u64,
    /// The element's share of the figures.
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy)]
enum Outcome {
    NotANumber,
    InRange { error: f64, normalized: f64 },
    Clamped { error: f64 },
}

impl Coded {
    /// Adds the element to the figures.
    pub(super) fn add_to(self, figures: &mut QuantizeFigures) {
        figures.count += 1;
        match self.outcome {
            Outcome::NotANumber => figures.nan += 1,
            Outcome::InRange { error, normalized } => {
                figures.max_abs_error = figures.max_abs_error.max(error);
                figures.sum_of_squares += normalized * normalized;
            }
            Outcome::Clamped { error } => {
                figures.clamped += 1;
                figures.max_abs_error_clamped = figures.max_abs_error_clamped.max(error);
            }
        }
    }
}

impl ExactQuantize {
    pub(super) fn new(options: QuantizeOptions) -> Self {
        let source = options.source;
        let scale_offset = ScaleOffset::new(source, options.offset, options.scale);
        let format = source.float_format().unwrap_or(FloatFormat::BINARY64);
        let scale = options.scale.map_or(1.0, |bits| Value::of(bits, source).to_f64());
        ExactQuantize { options, scale_offset, format, normalizer: power_of_two_near(scale.abs()) }
    }

    pub(super) fn options(&self) -> &QuantizeOptions {
        &self.options
    }

    pub(super) fn normalizer(&self) -> f64 {
        self.normalizer
    }

    /// Encodes one element and decodes it again.
    pub(super) fn encode(&self, bits: u64) -> Result<Coded, FaultKind> {
        let QuantizeOptions { source, target, nan_code, rounding, .. } = self.options;
        let x = Value::of(bits, source);
        if let Some(code) = self.options.negative_zero_code.filter(|_| bits == self.format.sign()) {
            let outcome = Outcome::InRange { error: 0.0, normalized: 0.0 };
            return Ok(Coded { bits: low_bits(i128::from(code), target), outcome });
        }
        if matches!(x, Value::NotANumber { .. }) || self.is_missing(bits) {
            let code = nan_code.ok_or(FaultKind::NotANumber)?;
            return Ok(Coded { bits: low_bits(i128::from(code), target), outcome: Outcome::NotANumber });
        }
        let scaled = Value::of(self.scale_offset.encode_one(bits)?, source);
        let rounded = match scaled {
            Value::NotANumber { .. } => return Err(FaultKind::NotANumber),
            Value::Infinite { .. } => return Err(FaultKind::Infinite),
            Value::Finite { .. } => scaled.to_integer(rounding).ok_or(FaultKind::OutOfRange)?,
        };
        let (code, is_clamped) = self.code(scaled, rounded)?;
        let decoded = Value::from_integer(code).to_float(self.format, rounding);
        let decoded = self.scale_offset.decode_one(decoded.map_err(|_| FaultKind::Overflow)?)?;
        let error = (Value::of(decoded, source).to_f64() - x.to_f64()).abs();
        if !error.is_finite() {
            return Err(FaultKind::Overflow);
        }
        let outcome = if is_clamped {
            Outcome::Clamped { error }
        } else {
            Outcome::InRange { error, normalized: error * self.normalizer }
        };
        Ok(Coded { bits: low_bits(code, target), outcome })
    }

    /// The code of a rounded value, and whether it had to be moved to get one.
    fn code(&self, scaled: Value, rounded: RoundedInteger) -> Result<(i128, bool), FaultKind> {
        let QuantizeOptions { target, out_of_range, codes, .. } = self.options;
        let (least, greatest) = (i128::from(codes.0), i128::from(codes.1));
        let nan_code = self.options.nan_code.map(i128::from);
        let value = rounded.value;
        if value.is_some() && value == nan_code {
            return if out_of_range == OutOfRange::Clamp {
                Ok((self.beside_nan_code(scaled, rounded), true))
            } else {
                Err(FaultKind::ReservedCode)
            };
        }
        if let Some(code) = value.filter(|code| (least..=greatest).contains(code)) {
            return Ok((code, false));
        }
        match out_of_range {
            OutOfRange::Error => Err(FaultKind::OutOfRange),
            OutOfRange::Clamp => Ok((if rounded.negative_of(least) { least } else { greatest }, true)),
            OutOfRange::Wrap => {
                let code = integer_of(wrapped(rounded.low, target), target.element());
                if Some(code) == nan_code {
                    return Err(FaultKind::ReservedCode);
                }
                Ok((code, value != Some(code)))
            }
        }
    }

    /// The code next to an inner NaN code on the side of the value; at an end of the codes, the one inside.
    fn beside_nan_code(&self, scaled: Value, rounded: RoundedInteger) -> i128 {
        let (least, greatest) = (i128::from(self.options.codes.0), i128::from(self.options.codes.1));
        let code = rounded.value.unwrap_or_default();
        let is_below = Self::is_below(scaled, code);
        let beside = if is_below { code - 1 } else { code + 1 };
        beside.max(least).min(greatest)
    }

    /// Whether a value is less than the integer that it was rounded to.
    fn is_below(scaled: Value, code: i128) -> bool {
        // Near the code its float is exact, or the value is an integer itself.
        scaled.to_f64() < Value::from_integer(code).to_f64()
    }

    fn is_missing(&self, bits: u64) -> bool {
        is_missing(bits, &self.options.missing, self.options.source)
    }
}

impl RoundedInteger {
    /// Whether a value out of range lies below it.
    fn negative_of(self, least: i128) -> bool {
        self.value.map_or(self.negative, |value| value < least)
    }
}

/// Whether an element equals a missing value as a number.
pub(super) fn is_missing(bits: u64, missing: &[u64], number_type: NumberType) -> bool {
    !missing.is_empty()
        && with_element!(number_type.element(), T => {
            let element = T::from_bits64(bits);
            missing.iter().any(|missing| T::from_bits64(*missing) == element)
        })
}

/// The power of two next below a positive number (or itself); 1 for what has none.
fn power_of_two_near(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let exponent_bits = value.to_bits() & 0x7ff0_0000_0000_0000;
    if exponent_bits == 0 { f64::MIN_POSITIVE } else { f64::from_bits(exponent_bits) }
}
