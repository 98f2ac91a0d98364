//! A slow, exact reference of the element semantics of `cast_value` and `scale_offset`.
//!
//! It imports nothing of the crate, not even a limit. Every value is an integer times a power of two
//! ([`number::Exact`]). Every operation is exact, and each result is rounded once. The kernels are compared with it. So
//! it is written to be readable, not to be fast.
//!
//! Specifications: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value> and
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/scale_offset>. Elements are bit patterns in the
//! low bits of a `u64`: two's complement for integers, IEEE 754 for floats.

pub(crate) mod cast;
pub(crate) mod number;
pub(crate) mod scale_offset;

pub(crate) use cast::cast;
pub(crate) use scale_offset::{scale_offset_decode, scale_offset_encode};

/// A number type: an integer of any width up to 64 bits, or a binary float.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Int { signed: bool, bits: u32 },
    Float(Float),
}

/// A binary float, as the extension registry describes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Float {
    pub(crate) exponent_bits: u32,
    /// Without the hidden bit.
    pub(crate) mantissa_bits: u32,
    pub(crate) bias: i32,
    pub(crate) special: Special,
}

/// The special values of a float.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Special {
    /// IEEE 754: infinities and NaNs have the greatest exponent.
    Ieee,
    /// "No infinity or NaN values."
    Nothing,
    /// `ml_dtypes`: no infinities. In a NaN, all bits but the sign are ones.
    NanForAllOnes,
    /// "No infinity, NaN represented by `0b1000'0000`", and so no -0.
    NanForNegativeZero,
    /// "No sign bit", "no zero, no infinity, NaN represented by `0b1111'1111`", "no subnormal numbers".
    Unsigned,
}

impl Kind {
    pub(crate) const F16: Kind = Kind::float(5, 10, 15, Special::Ieee);
    pub(crate) const F32: Kind = Kind::float(8, 23, 127, Special::Ieee);
    pub(crate) const F64: Kind = Kind::float(11, 52, 1023, Special::Ieee);
    pub(crate) const BF16: Kind = Kind::float(8, 7, 127, Special::Ieee);

    /// The floats that only the registry defines, and `float8_e4m3fn` of `ml_dtypes`.
    pub(crate) const SMALL: [(&str, Kind); 12] = [
        ("bfloat16", Kind::BF16),
        ("float4_e2m1fn", Kind::float(2, 1, 1, Special::Nothing)),
        ("float6_e2m3fn", Kind::float(2, 3, 1, Special::Nothing)),
        ("float6_e3m2fn", Kind::float(3, 2, 3, Special::Nothing)),
        ("float8_e3m4", Kind::float(3, 4, 3, Special::Ieee)),
        ("float8_e4m3", Kind::float(4, 3, 7, Special::Ieee)),
        ("float8_e4m3b11fnuz", Kind::float(4, 3, 11, Special::NanForNegativeZero)),
        ("float8_e4m3fn", Kind::float(4, 3, 7, Special::NanForAllOnes)),
        ("float8_e4m3fnuz", Kind::float(4, 3, 8, Special::NanForNegativeZero)),
        ("float8_e5m2", Kind::float(5, 2, 15, Special::Ieee)),
        ("float8_e5m2fnuz", Kind::float(5, 2, 16, Special::NanForNegativeZero)),
        ("float8_e8m0fnu", Kind::float(8, 0, 127, Special::Unsigned)),
    ];

    const fn float(exponent_bits: u32, mantissa_bits: u32, bias: i32, special: Special) -> Kind {
        Kind::Float(Float { exponent_bits, mantissa_bits, bias, special })
    }

    pub(crate) const fn int(bits: u32) -> Kind {
        Kind::Int { signed: true, bits }
    }

    pub(crate) const fn uint(bits: u32) -> Kind {
        Kind::Int { signed: false, bits }
    }

    /// Returns the number of bits of an element.
    pub(crate) const fn width(self) -> u32 {
        match self {
            Kind::Int { bits, .. } => bits,
            Kind::Float(Float { exponent_bits, special: Special::Unsigned, .. }) => exponent_bits,
            Kind::Float(Float { exponent_bits, mantissa_bits, .. }) => 1 + exponent_bits + mantissa_bits,
        }
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Kind::Float(_))
    }
}

/// The `rounding` member of `cast_value`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Rounding {
    NearestEven,
    TowardsZero,
    TowardsPositive,
    TowardsNegative,
    NearestAway,
}

impl Rounding {
    pub(crate) const ALL: [Rounding; 5] = [
        Rounding::NearestEven,
        Rounding::TowardsZero,
        Rounding::TowardsPositive,
        Rounding::TowardsNegative,
        Rounding::NearestAway,
    ];
}

/// The `out_of_range` member of `cast_value`. `Error` is the default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum OutOfRange {
    Error,
    Clamp,
    Wrap,
}

impl OutOfRange {
    pub(crate) const ALL: [OutOfRange; 3] = [OutOfRange::Error, OutOfRange::Clamp, OutOfRange::Wrap];
}

/// The reason why an element cannot be converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// The rounded value is outside the target range, and `out_of_range` does not help.
    OutOfRange,
    /// NaN for a target that has none.
    NotANumber,
    /// An infinity for a target that has none.
    Infinite,
    /// An integer division with a remainder.
    Inexact,
    /// An intermediate or final value of `scale_offset` outside the range of its type.
    Overflow,
    /// Division by zero.
    ZeroScale,
}
