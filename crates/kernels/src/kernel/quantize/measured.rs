//! Operations of the fused loop on its types: codes from floats, and errors that vectorise.

use crate::kernel::round::{OfFloat, WideFloat};

/// A float type that errors are measured in.
pub(super) trait Measured: WideFloat {
    /// True if differences are already those of float64.
    const IS_FLOAT64: bool;
    /// One and a half times [`WideFloat::INTEGRAL`]. A sum with it rounds to an integer, ties to even, in the last
    /// bits.
    const SHIFT: Self;
    /// The range of errors whose squares are far from underflow and overflow.
    const SQUARED: (Self, Self);
    /// The bits as an integer. Magnitudes sort in the same way, and a maximum of integers vectorises.
    type Order: Copy + Ord;
    /// A count as wide as the float.
    type Count: Copy + Default;
    fn order(self) -> Self::Order;
    fn of_order(order: Self::Order) -> Self;
    fn add(count: &mut Self::Count, condition: bool);
    fn total(count: Self::Count) -> u64;
    /// # Safety
    ///
    /// `self` must be an integer in the range of the type or of its signed twin. It must be within ±2^24 (float32) or
    /// ±2^53 (float64).
    unsafe fn to_code<T: OfFloat>(self) -> T;
    /// Returns the reciprocal, and its rounding error.
    fn split_reciprocal(self) -> (Self, Self);
    /// Returns a code of at most 53 bits, which this type represents exactly.
    #[expect(clippy::cast_precision_loss, reason = "the codes of the loop are exact in its float type")]
    fn of_code(code: i64) -> Self {
        Self::of_f64(code as f64)
    }
    /// Returns the sum of the squares of `error * normalizer`. A negative error counts as 0. `greatest` is the greatest
    /// error.
    fn sum_of_squares(errors: &[Self], greatest: Self, normalizer: f64) -> f64;
}

impl Measured for f32 {
    const IS_FLOAT64: bool = false;
    const SHIFT: f32 = 12_582_912.0;
    const SQUARED: (f32, f32) = (1e-12, 1e12);
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
    fn total(count: u32) -> u64 {
        u64::from(count)
    }
    #[inline(always)]
    unsafe fn to_code<T: OfFloat>(self) -> T {
        // SAFETY: the caller guarantees that it is within ±2^24, and so within an i32.
        let integer = unsafe { self.to_int_unchecked::<i32>() };
        T::from_bits64(i64::from(integer).cast_unsigned())
    }

    #[inline(always)]
    fn sum_of_squares(errors: &[f32], greatest: f32, normalizer: f64) -> f64 {
        // 16 additions in float32, then float64. With the rounding of the square the error is below 1e-6 of the root.
        const LANES: usize = 64;
        // Smaller squares would lose bits to gradual underflow.
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
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const SQUARED: (f64, f64) = (1e-120, 1e120);
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
    fn total(count: u64) -> u64 {
        count
    }
    #[inline(always)]
    unsafe fn to_code<T: OfFloat>(self) -> T {
        // SAFETY: the intermediate integer has the range of the type and of its signed twin up to 2^53.
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
        let normalized = error.as_f64().max(0.0) * normalizer;
        sum += normalized * normalized;
    }
    sum
}
