//! Layouts of binary floats: fields, bias, and the patterns that are not finite numbers.

use super::ElementType;

/// A binary float. Its fields from the lowest bit are fraction, exponent and sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FloatFormat {
    /// The number of bits of the exponent.
    pub exponent_bits: u32,
    /// The number of bits of the significand, without the hidden one.
    pub fraction_bits: u32,
    /// The number that is subtracted from the exponent field.
    pub bias: i32,
    /// The patterns that are not finite numbers.
    pub special: SpecialValues,
}

/// The patterns that are not finite numbers, named by the suffix of the type's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpecialValues {
    /// As in IEEE 754: infinities and NaN have the greatest exponent.
    Ieee,
    /// `fn` of fewer than 8 bits: none, every pattern is a finite number.
    Finite,
    /// `fn` of 8 bits: no infinities. All ones apart from the sign is NaN.
    NanAsAllOnes,
    /// `fnuz`: one NaN with the pattern of -0.
    NanAsNegativeZero,
    /// `fnu`: no sign, no zero and no subnormal numbers. All ones is NaN.
    Unsigned,
}

impl FloatFormat {
    /// IEEE 754 binary64.
    pub const BINARY64: FloatFormat = FloatFormat::ieee(11, 52);

    /// Makes a format with the bias and the special values of IEEE 754.
    pub const fn ieee(exponent_bits: u32, fraction_bits: u32) -> Self {
        let bias = (1 << (exponent_bits - 1)) - 1;
        FloatFormat { exponent_bits, fraction_bits, bias, special: SpecialValues::Ieee }
    }

    /// Returns the format of a primitive. `None` for integers.
    pub const fn from_element(element: ElementType) -> Option<Self> {
        match element {
            ElementType::Float16 => Some(FloatFormat::ieee(5, 10)),
            ElementType::Float32 => Some(FloatFormat::ieee(8, 23)),
            ElementType::Float64 => Some(FloatFormat::BINARY64),
            _ => None,
        }
    }

    /// Returns the number of bits.
    pub const fn bits(self) -> u32 {
        let sign = if self.is_unsigned() { 0 } else { 1 };
        self.exponent_bits + self.fraction_bits + sign
    }

    /// Returns true if it has no sign, no zero and no subnormal numbers.
    pub const fn is_unsigned(self) -> bool {
        matches!(self.special, SpecialValues::Unsigned)
    }

    /// Returns true if it has infinities, -0.0 and NaN with a payload.
    pub const fn is_ieee(self) -> bool {
        matches!(self.special, SpecialValues::Ieee)
    }

    /// Returns true if it has -0.0.
    pub const fn has_negative_zero(self) -> bool {
        !matches!(self.special, SpecialValues::NanAsNegativeZero | SpecialValues::Unsigned)
    }

    /// Returns true if NaN has a sign.
    pub const fn has_signed_nan(self) -> bool {
        matches!(self.special, SpecialValues::Ieee | SpecialValues::NanAsAllOnes)
    }

    /// Returns the sign bit. In a format without a sign it is the bit above all others.
    pub const fn sign(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// Returns the pattern with all ones in the exponent: positive infinity, if the format has one.
    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// Returns the bits of the greatest finite value.
    pub const fn greatest(self) -> u64 {
        match self.special {
            SpecialValues::Ieee | SpecialValues::Unsigned => self.infinity() - 1,
            SpecialValues::Finite | SpecialValues::NanAsNegativeZero => self.sign() - 1,
            SpecialValues::NanAsAllOnes => self.sign() - 2,
        }
    }

    /// Returns the bits of the NaN that "NaN" means. In IEEE 754 it is the quiet one without sign and payload. `None`
    /// if there is no NaN.
    pub const fn canonical_nan(self) -> Option<u64> {
        match self.special {
            SpecialValues::Ieee => Some(self.infinity() | 1 << (self.fraction_bits - 1)),
            SpecialValues::Finite => None,
            SpecialValues::NanAsAllOnes => Some(self.sign() - 1),
            SpecialValues::NanAsNegativeZero => Some(self.sign()),
            SpecialValues::Unsigned => Some(self.infinity()),
        }
    }

    /// Returns true if bits of the format are NaN.
    pub const fn is_nan(self, bits: u64) -> bool {
        match self.special {
            SpecialValues::Ieee => bits & (self.sign() - 1) > self.infinity(),
            SpecialValues::Finite => false,
            SpecialValues::NanAsAllOnes => bits & (self.sign() - 1) == self.sign() - 1,
            SpecialValues::NanAsNegativeZero => bits == self.sign(),
            SpecialValues::Unsigned => bits == self.infinity(),
        }
    }

    /// Returns true if bits of the format are 0 or -0.
    pub const fn is_zero(self, bits: u64) -> bool {
        match self.special {
            SpecialValues::Ieee | SpecialValues::Finite | SpecialValues::NanAsAllOnes => bits & (self.sign() - 1) == 0,
            SpecialValues::NanAsNegativeZero => bits == 0,
            SpecialValues::Unsigned => false,
        }
    }

    /// Returns the exponent of the least normal number.
    pub const fn least_exponent(self) -> i32 {
        if self.is_unsigned() { -self.bias } else { 1 - self.bias }
    }
}

/// A float with fewer bits than `float16`, or with 16 bits and another range.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct SmallFloat {
    /// The Zarr v3 name.
    pub name: &'static str,
    /// The layout of its bits.
    pub format: FloatFormat,
}

const fn named(name: &'static str, bits: (u32, u32), bias: i32, special: SpecialValues) -> SmallFloat {
    SmallFloat { name, format: FloatFormat { exponent_bits: bits.0, fraction_bits: bits.1, bias, special } }
}

static LIST: [SmallFloat; 12] = [
    named("bfloat16", (8, 7), 127, SpecialValues::Ieee),
    named("float4_e2m1fn", (2, 1), 1, SpecialValues::Finite),
    named("float6_e2m3fn", (2, 3), 1, SpecialValues::Finite),
    named("float6_e3m2fn", (3, 2), 3, SpecialValues::Finite),
    named("float8_e3m4", (3, 4), 3, SpecialValues::Ieee),
    named("float8_e4m3", (4, 3), 7, SpecialValues::Ieee),
    named("float8_e4m3b11fnuz", (4, 3), 11, SpecialValues::NanAsNegativeZero),
    named("float8_e4m3fn", (4, 3), 7, SpecialValues::NanAsAllOnes),
    named("float8_e4m3fnuz", (4, 3), 8, SpecialValues::NanAsNegativeZero),
    named("float8_e5m2", (5, 2), 15, SpecialValues::Ieee),
    named("float8_e5m2fnuz", (5, 2), 16, SpecialValues::NanAsNegativeZero),
    named("float8_e8m0fnu", (8, 0), 127, SpecialValues::Unsigned),
];

impl SmallFloat {
    /// Returns all small floats, in the order of the list.
    pub fn all() -> impl Iterator<Item = &'static SmallFloat> {
        LIST.iter()
    }

    /// Returns the type of this name. `None` if there is none.
    pub fn from_name(name: &str) -> Option<&'static SmallFloat> {
        Self::all().find(|float| float.name == name)
    }

    /// Returns the number of bits that count: 4 for `float4_e2m1fn`.
    pub const fn bits(&self) -> u32 {
        self.format.bits()
    }

    /// Returns the bytes of one element in memory.
    pub const fn size(&self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// Returns the value of bits. `None` for NaN and for bits that the type does not have.
    pub fn to_f64(&self, bits: u64) -> Option<f64> {
        let is_number = bits >> self.bits() == 0 && !self.format.is_nan(bits);
        is_number.then(|| self.format.value(bits).to_f64())
    }
}
