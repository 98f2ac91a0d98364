//! Arithmetic over slices of elements: casts, scale and offset, fused quantisation, statistics.
//!
//! A kernel is bound once (types, rounding, scalars) and then runs over bytes of native-endian elements. The fast loops
//! have no branch on a value: a fault sets a flag. Only then does the exact path read the slice again to find the
//! element. Nothing here allocates per call or knows Zarr metadata.

#![expect(
    clippy::inline_always,
    clippy::needless_bitwise_bool,
    clippy::float_cmp,
    clippy::eq_op,
    clippy::manual_range_contains,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::similar_names,
    clippy::match_same_arms,
    reason = "a loop vectorises if all of it is inlined, without branches, and NaN compares as the hardware does"
)]

pub mod bit_pairs;
pub mod cast;
pub mod differences;
mod dispatch;
mod double;
mod exact;
pub mod keep_bits;
pub mod missing;
mod narrow;
pub mod numcodecs;
pub mod quality;
pub mod quantize;
mod round;
pub mod scale_offset;
pub mod statistics;
mod tile;
pub mod transpose;
pub mod unpack;

use std::cell::Cell;

use serde::{Deserialize, Serialize};

/// The rounding of a value between two representable ones (`cast_value`'s `rounding`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// To the nearest, ties to even.
    #[default]
    NearestEven,
    /// Towards zero.
    TowardsZero,
    /// Towards positive infinity.
    TowardsPositive,
    /// Towards negative infinity.
    TowardsNegative,
    /// To the nearest, ties away from zero.
    NearestAway,
}

impl Rounding {
    /// Returns true if rounding changes a value by at most half a step, not by up to a whole one.
    pub const fn is_to_nearest(self) -> bool {
        matches!(self, Rounding::NearestEven | Rounding::NearestAway)
    }
}

/// The treatment of a value outside the target's range (`cast_value`'s `out_of_range`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfRange {
    /// An error. The member is absent.
    #[default]
    Error,
    /// The nearest bound, or ±Infinity in a float target.
    Clamp,
    /// The value modulo 2^N, only for integer targets.
    Wrap,
}

/// The reason why an element cannot be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// Outside the target's range after rounding.
    OutOfRange,
    /// NaN, and the target type has none.
    NotANumber,
    /// An infinity, and the target type has none.
    Infinite,
    /// An intermediate or the final value exceeds the range of the type.
    Overflow,
    /// An integer division that leaves a remainder.
    Remainder,
    /// A stored value outside the logical range of its type (1024 in `uint10`).
    NotOfType,
    /// A byte other than 0 and 1 as a bool.
    NotBool,
    /// A value other than NaN has the code of NaN.
    ReservedCode,
}

/// The first element of a slice that cannot be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementFault {
    /// The reason.
    pub kind: FaultKind,
    /// Its index in the slice, in elements.
    pub index: usize,
}

/// The instruction sets that the fast loops are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstructionSet {
    /// The instructions of all machines of the target architecture.
    Baseline,
    /// AVX2 and FMA (x86-64).
    Avx2,
    /// AVX-512 F, BW, VL and DQ, and FMA (x86-64).
    Avx512,
}

thread_local! {
    static WIDEST: Cell<InstructionSet> = const { Cell::new(InstructionSet::Avx512) };
}

impl InstructionSet {
    /// Runs `bind`. Kernels that it binds use at most the loops of this set.
    pub fn at_most<R>(self, bind: impl FnOnce() -> R) -> R {
        let before = WIDEST.replace(self);
        let bound = bind();
        WIDEST.set(before);
        bound
    }

    /// Returns the widest set that this machine has and [`Self::at_most`] allows.
    pub fn detect() -> Self {
        Self::of_machine().min(WIDEST.get())
    }

    fn of_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("fma") {
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq");
            if has_avx512 {
                return InstructionSet::Avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return InstructionSet::Avx2;
            }
        }
        InstructionSet::Baseline
    }
}
