//! Operations of the fused loop on its types: codes from floats, and errors that vectorise.

use num_traits::AsPrimitive;

use crate::element::Element;
use crate::kernel::round::WideFloat;

/// An integer type that codes are written as.
pub(super) trait Code: Element {
    /// # Safety
    /// `value` is an integer within ±2^24, and within the range of the type or of its signed twin.
    unsafe fn of_f32(value: f32) -> Self;
    /// # Safety
    /// `value` is an integer within ±2^53, and within the range of the type or of its signed twin.
    unsafe fn of_f64(value: f64) -> Self;
}

macro_rules! code {
    ($($type:ty: $from_f64:ty),*) => {$(
        #[expect(clippy::allow_attributes, reason = "which lint applies depends on the type")]
        #[allow(
            clippy::cast_possible_truncation, clippy::cast_sign_loss, trivial_numeric_casts, clippy::cast_lossless,
            reason = "the value is in the type's range, or its low bits are the code"
        )]
        impl Code for $type {
            #[inline(always)]
            unsafe fn of_f32(value: f32) -> $type {
                // SAFETY: within ±2^24, says the caller, and so within an i32.
                unsafe { value.to_int_unchecked::<i32>() as $type }
            }
            #[inline(always)]
            unsafe fn of_f64(value: f64) -> $type {
                // SAFETY: the integer in between holds the range of the type and of its signed twin up to 2^53.
                unsafe { value.to_int_unchecked::<$from_f64>() as $type }
            }
        }
    )*};
}

// Codes of 8 and 16 bits are the low bits of an i32; those of u32 need their own conversion; 64 bits are ±2^53 at most.
code!(u8: i32, u16: i32, i32: i32, u32: u32, i64: i64);

/// A float that errors are measured in.
pub(super) trait Measured: WideFloat {
    /// Whether differences are already those of float64.
    const IS_FLOAT64: bool;
    /// The bits as an integer: of the same order for magnitudes, and a maximum of integers vectorises.
    type Order: Copy + Ord;
    /// A count as wide as the float.
    type Count: Copy + Default;
    fn order(self) -> Self::Order;
    fn of_order(order: Self::Order) -> Self;
    fn add(count: &mut Self::Count, condition: bool);
    fn total(count: Self::Count) -> usize;
    /// # Safety
    /// `self` is an integer that [`Code`] permits.
    unsafe fn to_code<T: Code>(self) -> T;
    /// The reciprocal, and what it lacks.
    fn split_reciprocal(self) -> (Self, Self);
    /// A code of at most 53 bits, which this type holds exactly.
    #[expect(clippy::cast_precision_loss, reason = "the codes of the loop are exact in its float type")]
    fn of_code(code: i64) -> Self {
        Self::of_f64(code as f64)
    }
    /// Sum of the squares of `error * normalizer`, where a negative error counts as 0; `greatest` is the greatest error.
    fn sum_of_squares(errors: &[Self], greatest: Self, normalizer: f64) -> f64;
}

impl Measured for f32 {
    const IS_FLOAT64: bool = false;
    type Order = i32;
    type Count = u32;

    fn split_reciprocal(self) -> (f32, f32) {
        let nearest = 1.0 / self;
        // The product is exact in float64, and so is the difference.
        let scale = f64::from(self);
        (nearest, f32::of_f64((1.0 - f64::from(nearest) * scale) / scale))
    }

    #[inline(always)]
    fn order(self) -> i32 {
        self.to_bits().cast_signed()
    }
    #[inline(always)]
    fn of_order(order: i32) -> f32 {
        f32::from_bits(order.cast_unsigned())
    }
    #[inline(always)]
    fn add(count: &mut u32, condition: bool) {
        *count += u32::from(condition);
    }
    #[inline(always)]
    fn total(count: u32) -> usize {
        count as usize
    }
    #[inline(always)]
    unsafe fn to_code<T: Code>(self) -> T {
        // SAFETY: the contract is the same.
        unsafe { T::of_f32(self) }
    }

    #[inline(always)]
    fn sum_of_squares(errors: &[f32], greatest: f32, normalizer: f64) -> f64 {
        // 16 additions in float32, then float64: together with the square's own rounding below 1e-6 of the root.
        const LANES: usize = 64;
        // Squares of less than this would lose bits to gradual underflow.
        const LEAST_NORMALIZED: f64 = 1.0 / 1_099_511_627_776.0;
        let mut total = 0_f64;
        let blocks = errors.chunks_exact(LANES * 16);
        let rest = blocks.remainder();
        let narrow = f32::of_f64(normalizer);
        for block in blocks {
            let mut sums = [0_f32; LANES];
            for row in block.chunks_exact(LANES) {
                for (sum, error) in sums.iter_mut().zip(row) {
                    let normalized = if *error > 0.0 { *error } else { 0.0 } * narrow;
                    *sum += normalized * normalized;
                }
            }
            let mut folded = [0_f64; 8];
            for part in sums.chunks_exact(8) {
                for (folded, sum) in folded.iter_mut().zip(part) {
                    *folded += f64::from(*sum);
                }
            }
            total += folded.iter().sum::<f64>();
        }
        if greatest > 0.0 && (f64::from(greatest) * normalizer < LEAST_NORMALIZED || !total.is_finite()) {
            return sum_in_float64(errors, normalizer);
        }
        total + sum_in_float64(rest, normalizer)
    }
}

impl Measured for f64 {
    const IS_FLOAT64: bool = true;
    type Order = i64;
    type Count = u64;

    fn split_reciprocal(self) -> (f64, f64) {
        let nearest = 1.0 / self;
        (nearest, (-nearest).mul_add(self, 1.0) / self)
    }

    #[inline(always)]
    fn order(self) -> i64 {
        self.to_bits().cast_signed()
    }
    #[inline(always)]
    fn of_order(order: i64) -> f64 {
        f64::from_bits(order.cast_unsigned())
    }
    #[inline(always)]
    fn add(count: &mut u64, condition: bool) {
        *count += u64::from(condition);
    }
    #[inline(always)]
    fn total(count: u64) -> usize {
        usize::try_from(count).unwrap_or(0)
    }
    #[inline(always)]
    unsafe fn to_code<T: Code>(self) -> T {
        // SAFETY: the contract is the same.
        unsafe { T::of_f64(self) }
    }

    #[inline(always)]
    fn sum_of_squares(errors: &[f64], _greatest: f64, normalizer: f64) -> f64 {
        const LANES: usize = 32;
        let mut sums = [0_f64; LANES];
        let rows = errors.chunks_exact(LANES);
        let rest = rows.remainder();
        for row in rows {
            for (sum, error) in sums.iter_mut().zip(row) {
                let normalized = if *error > 0.0 { *error } else { 0.0 } * normalizer;
                *sum += normalized * normalized;
            }
        }
        sums.iter().sum::<f64>() + sum_in_float64(rest, normalizer)
    }
}

fn sum_in_float64<W: WideFloat>(errors: &[W], normalizer: f64) -> f64 {
    let mut sum = 0.0;
    for error in errors {
        let normalized = error.to_f64().max(0.0) * normalizer;
        sum += normalized * normalized;
    }
    sum
}

/// A float whose last bits are those of an integer after an addition.
pub(super) trait Shifted: Measured {
    /// Its bits.
    type Bits: AsPrimitive<u8> + AsPrimitive<u16>;
    /// One and a half times [`WideFloat::INTEGRAL`]: a sum with it is rounded to an integer, ties to even.
    const SHIFT: Self;
    /// Errors between these have squares far from underflow and overflow.
    const SQUARED: (Self, Self);
    fn bits(self) -> Self::Bits;
}

macro_rules! shifted {
    ($($type:ty, $bits:ty, $shift:literal, $squared:expr);*) => {$(
        impl Shifted for $type {
            type Bits = $bits;
            const SHIFT: $type = $shift;
            const SQUARED: ($type, $type) = $squared;
            #[inline(always)]
            fn bits(self) -> $bits {
                self.to_bits()
            }
        }
    )*};
}

shifted!(f32, u32, 12_582_912.0, (1e-12, 1e12); f64, u64, 6_755_399_441_055_744.0, (1e-120, 1e120));
