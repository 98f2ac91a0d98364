//! Values of a float type as float64, which is exact. Calculated values are rounded to the type.

use crate::codec::fault::number_value;
use crate::element::{ElementType, FloatFormat, NumberType};
use crate::kernel::{Rounding, cast::Cast};

/// Arithmetic of a float type, on values stored as `f64`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FloatType(pub NumberType);

impl FloatType {
    /// Rounds to the type. Outside its range: infinite, or the greatest finite value with rounding towards zero.
    pub(crate) fn round(self, value: f64, rounding: Rounding) -> f64 {
        if self.0.element() == ElementType::Float64 || !value.is_finite() {
            return value;
        }
        // The kernel rounds once, also to float16 (SEMANTICS: B9), and in every mode.
        let cast = Cast::with_rounding(NumberType::of(ElementType::Float64), self.0, rounding);
        match cast.convert_one(value.to_bits()) {
            Ok(bits) => self.value(bits),
            Err(_) if rounding == Rounding::TowardsZero => self.greatest().copysign(value),
            Err(_) => f64::INFINITY.copysign(value),
        }
    }

    pub(crate) fn value(self, bits: u64) -> f64 {
        number_value(self.0, bits)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the value is one of the type, so nothing is lost")]
    pub(crate) fn bits(self, value: f64) -> u64 {
        match self.0.element() {
            ElementType::Float16 => u64::from(half::f16::from_f64(value).to_bits()),
            ElementType::Float32 => u64::from((value as f32).to_bits()),
            _ => value.to_bits(),
        }
    }

    pub(crate) fn greatest(self) -> f64 {
        self.0.float_format().map_or(f64::MAX, |format| self.value(format.greatest()))
    }

    /// Returns the positive value `ulps` steps nearer to zero, but never zero.
    pub(super) fn towards_zero(self, value: f64, ulps: u64) -> f64 {
        // The bit patterns of positive floats have the order of their values. Pattern 1 is the least positive value.
        self.value(self.bits(value).saturating_sub(ulps).max(1))
    }

    /// Returns the position of a value in the order of all values of the type. It is 0 for 0.0, and -1 for -0.0.
    pub(crate) fn ordinal(self, value: f64) -> i64 {
        let sign = 1_u64 << (self.0.bits() - 1);
        let bits = self.bits(value);
        // The patterns of negative floats have the reverse order, so the complement is taken.
        if bits & sign == 0 { bits.cast_signed() } else { !(bits & !sign).cast_signed() }
    }

    /// Returns the bit pattern of the value at a position in the order of all values.
    pub(crate) fn of_ordinal(self, ordinal: i64) -> u64 {
        let sign = 1_u64 << (self.0.bits() - 1);
        if ordinal >= 0 { ordinal.cast_unsigned() } else { (!ordinal).cast_unsigned() | sign }
    }

    /// Returns the value `steps` away in the order of all values (±0 are one step apart). `None` if it is not finite.
    pub(crate) fn neighbour(self, value: f64, steps: i64) -> Option<f64> {
        // The negative side has one position more, because -0.0 is not at the position of 0.0.
        let ordinal = self.ordinal(value).checked_add(steps)?;
        let greatest = self.ordinal(self.greatest());
        (-greatest - 1..=greatest).contains(&ordinal).then(|| self.value(self.of_ordinal(ordinal)))
    }

    /// Returns the smallest power of two that is at least a unit in the last place of `value`, and is a normal number.
    pub(crate) fn unit_in_last_place(self, value: f64) -> f64 {
        let significand_bits = self.0.significand_bits().map_or(53, u32::cast_signed);
        // The result is at least the least normal number, because `constant` divides by it. 1 / subnormal may be
        // infinite.
        let least_exponent = self.0.float_format().map_or(-1022, FloatFormat::least_exponent);
        let exponent = if value == 0.0 { least_exponent } else { exponent_of(value) };
        2_f64.powi((exponent - (significand_bits - 1)).max(least_exponent))
    }
}

#[expect(clippy::cast_precision_loss, reason = "codes are at most 2^53 in magnitude, which is exact")]
pub(crate) fn float_of(code: i64) -> f64 {
    code as f64
}

/// Returns the exponent of the leading bit of a finite value other than zero.
pub(crate) fn exponent_of(value: f64) -> i32 {
    let biased = i32::try_from((value.to_bits() >> 52) & 0x7ff).unwrap_or(0);
    // Subnormal numbers have the unit in the last place of the least normal ones.
    if biased == 0 { -1022 } else { biased - 1023 }
}

/// Returns elements in native byte order, from their bits.
pub(crate) fn elements_of(number_type: NumberType, values: impl Iterator<Item = u64>) -> Vec<u8> {
    let size = number_type.size();
    let mut elements = Vec::with_capacity(values.size_hint().0.saturating_mul(size));
    for bits in values {
        if cfg!(target_endian = "big") {
            elements.extend_from_slice(bits.to_be_bytes().get(8 - size..).unwrap_or_default());
        } else {
            elements.extend_from_slice(bits.to_le_bytes().get(..size).unwrap_or_default());
        }
    }
    elements
}
