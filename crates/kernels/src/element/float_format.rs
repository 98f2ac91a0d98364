//! Layouts of binary floats: fields, bias, and the patterns that are not finite numbers.

use super::ElementType;

/// A binary float: from the lowest bit, fraction, exponent, sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FloatFormat {
    /// Bits of the exponent.
    pub exponent_bits: u32,
    /// Bits of the significand, without the hidden one.
    pub fraction_bits: u32,
    /// Subtracted from the exponent field.
    pub bias: i32,
    /// The patterns that are not finite numbers.
    pub special: SpecialValues,
}

/// The patterns that are not finite numbers, by the suffix of the type's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpecialValues {
    /// As IEEE 754: the greatest exponent holds infinities and NaN.
    Ieee,
    /// `fn` of fewer than 8 bits: none, every pattern is a finite number.
    Finite,
    /// `fn` of 8 bits: no infinities; all ones beside the sign is NaN.
    NanAsAllOnes,
    /// `fnuz`: one NaN in the place of -0.
    NanAsNegativeZero,
    /// `fnu`: no sign, no zero and no subnormal numbers; all ones is NaN.
    Unsigned,
}

impl FloatFormat {
    /// IEEE 754 binary64.
    pub const BINARY64: FloatFormat = FloatFormat::ieee(11, 52);

    /// A format with the bias and the special values of IEEE 754.
    pub const fn ieee(exponent_bits: u32, fraction_bits: u32) -> Self {
        let bias = (1 << (exponent_bits - 1)) - 1;
        FloatFormat { exponent_bits, fraction_bits, bias, special: SpecialValues::Ieee }
    }

    /// The format of a primitive; `None` for integers.
    pub const fn of(element: ElementType) -> Option<Self> {
        match element {
            ElementType::Float16 => Some(FloatFormat::ieee(5, 10)),
            ElementType::Float32 => Some(FloatFormat::ieee(8, 23)),
            ElementType::Float64 => Some(FloatFormat::BINARY64),
            _ => None,
        }
    }

    /// The bits that count.
    pub const fn bits(self) -> u32 {
        let sign = if self.is_unsigned() { 0 } else { 1 };
        self.exponent_bits + self.fraction_bits + sign
    }

    /// Whether it has no sign, no zero and no subnormal numbers.
    pub const fn is_unsigned(self) -> bool {
        matches!(self.special, SpecialValues::Unsigned)
    }

    /// Whether it has infinities, and -0.0 and NaN with a payload besides.
    pub const fn is_ieee(self) -> bool {
        matches!(self.special, SpecialValues::Ieee)
    }

    /// Whether it has -0.0.
    pub const fn has_negative_zero(self) -> bool {
        !matches!(self.special, SpecialValues::NanAsNegativeZero | SpecialValues::Unsigned)
    }

    /// Whether NaN has a sign of its own.
    pub const fn has_signed_nan(self) -> bool {
        matches!(self.special, SpecialValues::Ieee | SpecialValues::NanAsAllOnes)
    }

    /// The sign bit; beyond the bits of a format without one.
    pub const fn sign(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// All ones in the exponent: positive infinity, where the format has one.
    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// The bits of the greatest finite value.
    pub const fn greatest(self) -> u64 {
        match self.special {
            SpecialValues::Ieee | SpecialValues::Unsigned => self.infinity() - 1,
            SpecialValues::Finite | SpecialValues::NanAsNegativeZero => self.sign() - 1,
            SpecialValues::NanAsAllOnes => self.sign() - 2,
        }
    }

    /// The bits of the NaN that "NaN" stands for; of IEEE 754 the quiet one without sign and payload.
    pub const fn canonical_nan(self) -> Option<u64> {
        match self.special {
            SpecialValues::Ieee => Some(self.infinity() | 1 << (self.fraction_bits - 1)),
            SpecialValues::Finite => None,
            SpecialValues::NanAsAllOnes => Some(self.sign() - 1),
            SpecialValues::NanAsNegativeZero => Some(self.sign()),
            SpecialValues::Unsigned => Some(self.infinity()),
        }
    }

    /// Whether bits of the format are NaN.
    pub const fn is_nan(self, bits: u64) -> bool {
        match self.special {
            SpecialValues::Ieee => bits & (self.sign() - 1) > self.infinity(),
            SpecialValues::Finite => false,
            SpecialValues::NanAsAllOnes => bits & (self.sign() - 1) == self.sign() - 1,
            SpecialValues::NanAsNegativeZero => bits == self.sign(),
            SpecialValues::Unsigned => bits == self.infinity(),
        }
    }

    /// Whether bits of the format are 0 or -0.
    pub const fn is_zero(self, bits: u64) -> bool {
        match self.special {
            SpecialValues::Ieee | SpecialValues::Finite | SpecialValues::NanAsAllOnes => {
                bits & (self.sign() - 1) == 0
            }
            SpecialValues::NanAsNegativeZero => bits == 0,
            SpecialValues::Unsigned => false,
        }
    }

    /// The exponent of the least normal number.
    pub const fn least_exponent(self) -> i32 {
        if self.is_unsigned() { -self.bias } else { 1 - self.bias }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_core_types_are_those_of_ieee_754() {
        for (format, infinity, nan, least) in [
            (FloatFormat::ieee(5, 10), 0x7c00, 0x7e00, -14),
            (FloatFormat::ieee(8, 23), 0x7f80_0000, 0x7fc0_0000, -126),
            (FloatFormat::BINARY64, 0x7ff0_0000_0000_0000, 0x7ff8_0000_0000_0000, -1022),
        ] {
            assert_eq!((format.infinity(), format.canonical_nan()), (infinity, Some(nan)));
            assert_eq!(format.least_exponent(), least);
            assert!(format.is_nan(nan | format.sign()) && !format.is_nan(infinity));
            assert!(format.is_zero(format.sign()) && !format.is_zero(1));
        }
    }
}
