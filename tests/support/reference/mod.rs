//! A slow, exact reference of the element semantics of `cast_value` and `scale_offset`.
//!
//! It imports nothing of the crate, not even a bound: every value is an integer times a power of two
//! ([`number::Exact`]), every operation is done without loss, and each result is rounded once. It is what
//! the kernels are compared with, so it is written to be read, not to be fast.
//!
//! Specifications:
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value> and
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/scale_offset>.
//! Elements are bit patterns in the low bits of a `u64`: two's complement for integers, IEEE 754 for floats.

pub(crate) mod cast;
pub(crate) mod number;
pub(crate) mod scale_offset;

pub(crate) use cast::cast;
pub(crate) use scale_offset::{scale_offset_decode, scale_offset_encode};

/// A number type: an integer of any width up to 64 bits, or an IEEE 754 binary interchange format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Int {
        signed: bool,
        bits: u32,
    },
    /// `mantissa_bits` does not count the hidden bit.
    Float {
        exponent_bits: u32,
        mantissa_bits: u32,
    },
}

impl Kind {
    pub(crate) const F16: Kind = Kind::Float { exponent_bits: 5, mantissa_bits: 10 };
    pub(crate) const F32: Kind = Kind::Float { exponent_bits: 8, mantissa_bits: 23 };
    pub(crate) const F64: Kind = Kind::Float { exponent_bits: 11, mantissa_bits: 52 };

    pub(crate) const fn int(bits: u32) -> Kind {
        Kind::Int { signed: true, bits }
    }

    pub(crate) const fn uint(bits: u32) -> Kind {
        Kind::Int { signed: false, bits }
    }

    /// The bits that an element has.
    pub(crate) const fn width(self) -> u32 {
        match self {
            Kind::Int { bits, .. } => bits,
            Kind::Float { exponent_bits, mantissa_bits } => 1 + exponent_bits + mantissa_bits,
        }
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Kind::Float { .. })
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

/// The `out_of_range` member of `cast_value`; `Error` where it is absent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum OutOfRange {
    Error,
    Clamp,
    Wrap,
}

impl OutOfRange {
    pub(crate) const ALL: [OutOfRange; 3] = [OutOfRange::Error, OutOfRange::Clamp, OutOfRange::Wrap];
}

/// Why an element cannot be converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// Beyond the target after rounding, and `out_of_range` does not help.
    OutOfRange,
    /// NaN for a target that has none.
    NotANumber,
    /// An infinity for a target that has none.
    Infinite,
    /// An integer division with a remainder.
    Inexact,
    /// An intermediate or final value of `scale_offset` that its type cannot hold.
    Overflow,
    /// Division by zero.
    ZeroScale,
}
