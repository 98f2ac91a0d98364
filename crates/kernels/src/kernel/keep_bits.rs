//! `bitround`: keeps the leading bits of a float's significand, or of an integer from its highest set bit. Also the
//! same for floats with the figures of the error, in one pass.
//!
//! Encoding rounds to nearest, ties to even. Decoding changes nothing. NaN stays unchanged, since its significand is
//! not a number. [`KeepBits`] also leaves a value unchanged that would become infinite, and missing values, which
//! readers have to recognise.

use std::marker::PhantomData;

use num_traits::AsPrimitive;

use super::dispatch::{TileKernel, TileLoop};
use super::missing::MissingFilter;
use super::quantize::QuantizeFigures;
use super::tile::for_each_tile;
use crate::element::{Element, NumberType, with_bits};
use crate::with_float;

/// `bitround` for one type of element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitRound {
    /// Bytes of a component: 1, 2, 4 or 8.
    pub size: usize,
    /// Stored bits of the significand of a binary float, without the hidden one. `None` for an integer, whose bits are
    /// rounded as if it had no sign.
    pub fraction_bits: Option<u32>,
    /// The number of bits that are kept.
    pub keepbits: u32,
}

impl BitRound {
    /// Rounds native-endian components in place. A partial component at the end stays unchanged.
    pub fn encode(self, bytes: &mut [u8]) {
        with_bits!(self.size, T => for component in bytes.chunks_exact_mut(size_of::<T>()) {
            let bits = bytemuck::pod_read_unaligned::<T>(component).to_bits64();
            component.copy_from_slice(bytemuck::bytes_of(&T::from_bits64(self.encode_bits(bits))));
        });
    }

    /// Rounds the bits of one component.
    pub fn encode_bits(self, bits: u64) -> u64 {
        let width = u32::try_from(self.size * 8).unwrap_or(64).min(64);
        if let Some(fraction_bits) = self.fraction_bits {
            let sign = 1_u64 << (width - 1);
            let infinity = (sign - 1) & !((1 << fraction_bits) - 1);
            if bits & (sign - 1) > infinity {
                return bits;
            }
        }
        let of = self.fraction_bits.unwrap_or(64 - bits.leading_zeros());
        let Some(dropped @ 1..) = of.checked_sub(self.keepbits) else { return bits };
        if dropped > 63 {
            return bits;
        }
        let all = u64::MAX >> (64 - width);
        let half = (1_u64 << (dropped - 1)) - 1;
        let rounded = bits.saturating_add(((bits >> dropped) & 1) + half).min(all);
        rounded & !((1 << dropped) - 1)
    }
}

/// A rounding for one type and number of bits.
#[derive(Debug, Clone)]
pub struct KeepBits {
    number_type: NumberType,
    missing: MissingFilter,
    codec: BitRound,
    kernel: TileKernel<QuantizeFigures>,
}

struct RoundLoop<T>(BitRound, PhantomData<T>);

/// Sums in parallel, so that the compiler can use vectors.
const LANES: usize = 8;

impl KeepBits {
    /// Rounds floats of a type to `bits` explicit bits of their significand. `missing` are the bits of values that stay
    /// unchanged.
    pub fn new(number_type: NumberType, bits: u32, missing: &[u64]) -> Self {
        let missing = MissingFilter::new(number_type, missing);
        let fraction_bits = number_type.fraction_bits().or(Some(52));
        let codec = BitRound { size: number_type.size(), fraction_bits, keepbits: bits };
        let kernel = with_float!(
            number_type.element(),
            T => TileKernel::new(RoundLoop::<T>(codec, PhantomData)),
            else TileKernel::new(RoundLoop::<f64>(codec, PhantomData))
        );
        KeepBits { number_type, missing, codec, kernel }
    }

    /// Rounds one value.
    pub fn round_one(&self, bits: u64) -> u64 {
        if self.missing.contains(bits) {
            return bits;
        }
        with_float!(self.number_type.element(), T => round::<T>(bits, self.codec), else bits)
    }

    /// Rounds `source` (native-endian floats) into `target`, and adds to `figures`.
    pub fn convert(&self, source: &[u8], target: &mut [u8], figures: &mut QuantizeFigures) {
        let size = self.number_type.size();
        let Ok(()) = for_each_tile((source, size), (target, size), |source, target, _| {
            let mut tile = self.kernel.run(source, target);
            let mut missing = 0;
            if !self.missing.is_empty() {
                self.missing.each_missing(source, |index| {
                    let place = index * size..(index + 1) * size;
                    target[place.clone()].copy_from_slice(&source[place]);
                    missing += 1;
                });
            }
            if missing > 0 {
                tile = self.measure(source, target, 1.0);
            }
            let normalizer = normalizer_of(tile.max_abs_error);
            if normalizer != 1.0 {
                tile = self.measure(source, target, normalizer);
            }
            tile.nan += missing;
            figures.merge(&tile);
            Ok::<(), std::convert::Infallible>(())
        });
    }

    /// Measures the error again, after values were restored, or if squares need a normalizer.
    fn measure(&self, source: &[u8], target: &[u8], normalizer: f64) -> QuantizeFigures {
        with_float!(
            self.number_type.element(),
            T => measure::<T>(source, target, normalizer),
            else QuantizeFigures::default()
        )
    }
}

/// Returns the power of two that keeps the squares of errors up to this one in the range of float64.
fn normalizer_of(greatest: f64) -> f64 {
    if greatest == 0.0 || (1e-130..1e130).contains(&greatest) {
        return 1.0;
    }
    let exponent = i32::try_from(greatest.to_bits() >> 52).unwrap_or(0) - 1023;
    2_f64.powi((-exponent).clamp(-1000, 1000))
}

trait Rounded: Element + AsPrimitive<f64> {}

impl<T: Element + AsPrimitive<f64>> Rounded for T {}

/// Rounds the bits of a value. A value that would become infinite stays unchanged.
#[inline(always)]
fn round<T: Rounded>(bits: u64, codec: BitRound) -> u64 {
    let rounded = codec.encode_bits(bits);
    if T::from_bits64(rounded).as_().is_infinite() { bits } else { rounded }
}

fn measure<T: Rounded>(source: &[u8], target: &[u8], normalizer: f64) -> QuantizeFigures {
    let count = (source.len() / size_of::<T>()) as u64;
    let mut figures = QuantizeFigures { count, normalizer, ..QuantizeFigures::default() };
    for (source, target) in source.chunks_exact(size_of::<T>()).zip(target.chunks_exact(size_of::<T>())) {
        let [value, rounded] = [source, target].map(|element| bytemuck::pod_read_unaligned::<T>(element).as_());
        let error = (rounded - value).abs();
        figures.nan += u64::from(value.is_nan());
        figures.infinite += u64::from(value.is_infinite());
        // For infinities and NaN the difference is NaN.
        if error > 0.0 {
            figures.max_abs_error = figures.max_abs_error.max(error);
            figures.sum_of_squares += (error * normalizer).powi(2);
        }
    }
    figures
}

impl<T: Rounded> TileLoop for RoundLoop<T> {
    type State = ();
    type Outcome = QuantizeFigures;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], target: &mut [u8], (): &()) -> QuantizeFigures {
        let source: &[T] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let target: &mut [T] = bytemuck::try_cast_slice_mut(target).unwrap_or_default();
        let dropped = self.0.fraction_bits.unwrap_or(0).saturating_sub(self.0.keepbits);
        // Half of the last kept bit, less one. With that bit added, ties go to even.
        let below_half = if dropped > 0 { (1_u64 << (dropped - 1)) - 1 } else { 0 };
        let kept = !((1_u64 << dropped) - 1);
        let (mut greatest, mut squares) = ([0.0_f64; LANES], [0.0_f64; LANES]);
        let (mut nan, mut infinite) = (0_u32, 0_u32);
        let (source_lanes, source_rest) = source.as_chunks::<LANES>();
        let (target_lanes, target_rest) = target.as_chunks_mut::<LANES>();
        let one = |value: T| {
            let bits = value.to_bits64();
            let odd = if dropped > 0 { (bits >> dropped) & 1 } else { 0 };
            let rounded = T::from_bits64(bits.wrapping_add(below_half + odd) & kept);
            let (from, to) = (value.as_(), rounded.as_());
            let is_kept = from.is_nan() | to.is_infinite() | to.is_nan();
            let rounded = if is_kept { value } else { rounded };
            let error = if is_kept { 0.0 } else { (to - from).abs() };
            (rounded, error, [from.is_nan(), from.is_infinite()])
        };
        let mut add = |lane: usize, source: T, target: &mut T| {
            let (rounded, error, [is_nan, is_infinite]) = one(source);
            *target = rounded;
            greatest[lane] = if error > greatest[lane] { error } else { greatest[lane] };
            squares[lane] += error * error;
            nan += u32::from(is_nan);
            infinite += u32::from(is_infinite);
        };
        for (source, target) in source_lanes.iter().zip(target_lanes) {
            for (lane, (source, target)) in source.iter().zip(target).enumerate() {
                add(lane, *source, target);
            }
        }
        source_rest.iter().zip(target_rest).for_each(|(source, target)| add(0, *source, target));
        QuantizeFigures {
            count: source.len() as u64,
            nan: u64::from(nan),
            infinite: u64::from(infinite),
            max_abs_error: greatest.into_iter().fold(0.0, f64::max),
            sum_of_squares: squares.into_iter().sum(),
            normalizer: 1.0,
            ..QuantizeFigures::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::element::ElementType;
    use crate::kernel::InstructionSet;

    /// Rounds values one by one.
    fn expected(number_type: NumberType, bits: u32, source: &[u64]) -> Vec<u64> {
        let kernel = KeepBits::new(number_type, bits, &[]);
        source.iter().map(|value| kernel.round_one(*value)).collect()
    }

    fn elements(number_type: NumberType, values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()[..number_type.size()].to_vec()).collect()
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn all_patterns_of_float16_are_rounded_as_one_by_one() {
        let number_type = NumberType::of(ElementType::Float16);
        let patterns: Vec<u64> = (0..=0xffff).collect();
        let source = elements(number_type, &patterns);
        for bits in 0..=10 {
            let expected = expected(number_type, bits, &patterns);
            for set in [InstructionSet::Baseline, InstructionSet::detect()] {
                let mut target = vec![0; source.len()];
                let mut figures = QuantizeFigures::default();
                let kernel = set.at_most(|| KeepBits::new(number_type, bits, &[]));
                kernel.convert(&source, &mut target, &mut figures);
                assert_eq!(target, elements(number_type, &expected), "{bits}");
                let value = |bits: u64| f16::from_bits64(bits).to_f64();
                let errors = patterns.iter().zip(&expected).map(|(x, r)| (value(*x) - value(*r)).abs());
                let greatest = errors.filter(|error| error.is_finite()).fold(0.0, f64::max);
                assert_eq!(figures.max_abs_error, greatest);
                assert_eq!((figures.count, figures.nan), (0x1_0000, 2 * 1023));
            }
        }
    }

    #[test]
    fn half_of_the_last_kept_bit_is_the_greatest_error() {
        let number_type = NumberType::of(ElementType::Float32);
        let values: Vec<f32> = (0..5000_u16).map(|index| 1.0 + f32::from(index) / 5000.0).collect();
        let source: &[u8] = bytemuck::cast_slice(&values);
        let mut target = vec![0.0_f32; values.len()];
        let mut figures = QuantizeFigures::default();
        KeepBits::new(number_type, 7, &[]).convert(source, bytemuck::cast_slice_mut(&mut target), &mut figures);
        assert!(figures.max_abs_error <= 1.0 / 256.0 && figures.max_abs_error > 0.99 / 256.0);
        // For a uniform distribution of errors: the bound divided by the square root of 3.
        assert!((figures.rms_error() * 3.0_f64.sqrt() * 256.0 - 1.0).abs() < 0.01);
        assert!(target.iter().all(|value| value.to_bits().trailing_zeros() >= 16));
    }

    #[test]
    fn missing_values_and_what_would_be_infinite_stay() {
        let number_type = NumberType::of(ElementType::Float32);
        let missing = 9.969_21e36_f32;
        let values = [f32::MAX, -f32::MAX, missing, f32::NAN, f32::INFINITY, 1.1, -0.0, 1e-45];
        let kernel = KeepBits::new(number_type, 2, &[u64::from(missing.to_bits())]);
        let mut target = [0.0_f32; 8];
        let mut figures = QuantizeFigures::default();
        kernel.convert(bytemuck::cast_slice(&values), bytemuck::cast_slice_mut(&mut target), &mut figures);
        let bits = |values: [f32; 8]| values.map(f32::to_bits);
        assert_eq!(bits(target)[..5], bits(values)[..5]);
        assert_eq!(target[5], 1.0);
        assert_eq!((figures.count, figures.nan), (8, 2));
        assert_eq!(figures.max_abs_error, f64::from(1.1_f32) - 1.0);
    }
}
