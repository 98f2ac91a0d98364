//! The exact path of a quantisation: one value, its code, and the decoded value.

use super::{QuantizeFigures, QuantizeOptions};
use crate::element::{FloatFormat, integer_of, low_bits};
use crate::kernel::cast::wrapped;
use crate::kernel::exact::{RoundedInteger, Value};
use crate::kernel::missing::MissingFilter;
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::{FaultKind, OutOfRange};

/// A quantisation without loops.
#[derive(Debug, Clone)]
pub(super) struct ExactQuantize {
    pub(super) options: QuantizeOptions,
    pub(super) missing: MissingFilter,
    scale_offset: ScaleOffset,
    format: FloatFormat,
    pub(super) normalizer: f64,
}

impl ExactQuantize {
    pub(super) fn new(options: QuantizeOptions) -> Self {
        let source = options.source;
        let scale_offset = ScaleOffset::new(source, options.offset, options.scale);
        let format = source.float_format().unwrap_or(FloatFormat::BINARY64);
        let scale = options.scale.map_or(1.0, |bits| Value::new(bits, source).to_f64());
        let missing = MissingFilter::new(source, &options.missing);
        ExactQuantize { options, missing, scale_offset, format, normalizer: power_of_two_near(scale.abs()) }
    }

    /// Encodes one element, decodes it again, and adds it to the figures.
    pub(super) fn encode(&self, bits: u64, figures: &mut QuantizeFigures) -> Result<u64, FaultKind> {
        let QuantizeOptions { source, target, nan_code, rounding, .. } = self.options;
        let x = Value::new(bits, source);
        figures.count += 1;
        if let Some(code) = self.options.negative_zero_code.filter(|_| bits == self.format.sign()) {
            return Ok(low_bits(i128::from(code), target));
        }
        if matches!(x, Value::NotANumber { .. }) || self.missing.contains(bits) {
            let code = nan_code.ok_or(FaultKind::NotANumber)?;
            figures.nan += 1;
            return Ok(low_bits(i128::from(code), target));
        }
        let scaled = Value::new(self.scale_offset.encode_one(bits)?, source);
        let rounded = match scaled {
            Value::NotANumber { .. } => return Err(FaultKind::NotANumber),
            Value::Infinite { .. } => return Err(FaultKind::Infinite),
            Value::Finite { .. } => scaled.to_integer(rounding).ok_or(FaultKind::OutOfRange)?,
        };
        let (code, is_clamped) = self.code(scaled, rounded)?;
        let decoded = Value::from_integer(code).to_float(self.format, rounding);
        let decoded = self.scale_offset.decode_one(decoded.map_err(|_| FaultKind::Overflow)?)?;
        let error = (Value::new(decoded, source).to_f64() - x.to_f64()).abs();
        if !error.is_finite() {
            return Err(FaultKind::Overflow);
        }
        if is_clamped {
            figures.clamped += 1;
            figures.max_abs_error_clamped = figures.max_abs_error_clamped.max(error);
        } else {
            figures.max_abs_error = figures.max_abs_error.max(error);
            let normalized = error * self.normalizer;
            figures.sum_of_squares += normalized * normalized;
        }
        Ok(low_bits(code, target))
    }

    /// Returns the code of a rounded value, and true if the value was moved to have one.
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
            OutOfRange::Clamp => {
                let is_below = value.map_or(rounded.negative, |value| value < least);
                Ok((if is_below { least } else { greatest }, true))
            }
            OutOfRange::Wrap => {
                let code = integer_of(wrapped(rounded.low, target), target.element());
                if Some(code) == nan_code { Err(FaultKind::ReservedCode) } else { Ok((code, value != Some(code))) }
            }
        }
    }

    /// Returns the code next to an inner NaN code, on the side of the value. At an end of the codes it is the one
    /// inside.
    fn beside_nan_code(&self, scaled: Value, rounded: RoundedInteger) -> i128 {
        let (least, greatest) = (i128::from(self.options.codes.0), i128::from(self.options.codes.1));
        let code = rounded.value.unwrap_or_default();
        // Near the code its float is exact, or the value is an integer itself.
        let is_below = scaled.to_f64() < Value::from_integer(code).to_f64();
        let beside = if is_below { code - 1 } else { code + 1 };
        beside.max(least).min(greatest)
    }
}

/// Returns the greatest power of two that is not above a positive number, but at least the least normal float64. It is
/// 1 for any other number.
fn power_of_two_near(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let exponent_bits = value.to_bits() & 0x7ff0_0000_0000_0000;
    if exponent_bits == 0 { f64::MIN_POSITIVE } else { f64::from_bits(exponent_bits) }
}
