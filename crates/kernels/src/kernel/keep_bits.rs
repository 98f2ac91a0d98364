//! `bitround`: keeps the leading bits of a float's significand, or of an integer from its highest set bit. Also the
//! same for floats with the figures of the error, in one pass.
//!
//! Encoding rounds to nearest, ties to even. Decoding changes nothing. NaN stays unchanged, since its significand is
//! not a number. [`KeepBits`] also leaves a value unchanged that would become infinite or a missing value, and missing
//! values themselves, which readers have to recognise.

use std::marker::PhantomData;

use num_traits::AsPrimitive;

use super::dispatch::{TileKernel, TileLoop};
use super::missing::MissingFilter;
use super::quantize::QuantizeFigures;
use super::tile::for_each_tile;
use crate::element::{Element, NumberType, number_value, with_bits};
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
        // An integer near the greatest has no greater one to round to. Without the limits it would wrap to a small
        // number.
        let rounded = bits.saturating_add(((bits >> dropped) & 1) + half).min(all);
        rounded & !((1 << dropped) - 1)
    }
}

/// A rounding for one type and number of bits.
#[derive(Debug, Clone)]
pub struct KeepBits {
    number_type: NumberType,
    /// Missing values, which count as NaN.
    missing: MissingFilter,
    /// The fill value, if it would be rounded and is not a missing value.
    fill: MissingFilter,
    /// Those of all these that other values may be rounded to.
    targets: MissingFilter,
    kernel: TileKernel<QuantizeFigures>,
}

struct RoundLoop<T>(BitRound, PhantomData<T>);

/// Elements of a row.
const LANES: usize = 16;

impl KeepBits {
    /// Rounds floats of a type to `bits` explicit bits of their significand. `missing` and `fill` are the bits of values
    /// that stay unchanged, and that no other value becomes. Missing values count as NaN.
    pub fn new(number_type: NumberType, bits: u32, missing: &[u64], fill: Option<u64>) -> Self {
        let fraction_bits = number_type.fraction_bits().or(Some(52));
        let codec = BitRound { size: number_type.size(), fraction_bits, keepbits: bits };
        let is_rounded = |bits: &u64| codec.encode_bits(*bits) != *bits;
        // NaN is no rounded value, and only the least numbers become 0.
        let is_target = |bits: &u64| number_value(number_type, *bits).abs() > 0.0 && !is_rounded(bits);
        let targets: Vec<u64> = missing.iter().copied().chain(fill).filter(is_target).collect();
        let [missing, targets] = [missing, &targets].map(|values| MissingFilter::new(number_type, values));
        let fill = fill.filter(|bits| is_rounded(bits) && !missing.contains(*bits));
        let fill = MissingFilter::new(number_type, fill.as_slice());
        let kernel = with_float!(
            number_type.element(),
            T => TileKernel::new(RoundLoop::<T>(codec, PhantomData)),
            else TileKernel::new(RoundLoop::<f64>(codec, PhantomData))
        );
        KeepBits { number_type, missing, fill, targets, kernel }
    }

    /// Rounds `source` (native-endian floats) into `target`, and adds to `figures`.
    pub fn convert(&self, source: &[u8], target: &mut [u8], figures: &mut QuantizeFigures) {
        let size = self.number_type.size();
        let Ok(()) = for_each_tile((source, size), (target, size), |source, target, _| {
            let mut tile = self.kernel.run(source, target);
            let mut unchanged = Vec::new();
            self.missing.each_missing(source, |index| unchanged.push(index));
            let missing = unchanged.len() as u64;
            self.fill.each_missing(source, |index| unchanged.push(index));
            self.targets.each_missing(target, |index| unchanged.push(index));
            for range in unchanged.iter().map(|index| index * size..(index + 1) * size) {
                target[range.clone()].copy_from_slice(&source[range]);
            }
            if !unchanged.is_empty() {
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

/// The figures of a tile, by lane, so that the compiler can use vectors.
struct Lanes {
    greatest: [f64; LANES],
    squares: [f64; LANES],
    nan: [u32; LANES],
    infinite: [u32; LANES],
}

/// The constants of a loop.
#[derive(Clone, Copy)]
struct Constants {
    dropped: u32,
    /// 1 if bits are dropped. With the last kept bit added, ties go to even.
    odd: u64,
    /// Half of the last kept bit, less one.
    below_half: u64,
    kept: u64,
}

impl Constants {
    /// Rounds a row, or a part of one.
    #[inline(always)]
    fn round<T: Rounded, const N: usize>(self, source: &[T; N], target: &mut [T; N], lanes: &mut Lanes) {
        for lane in 0..N {
            let bits = source[lane].to_bits64();
            let odd = (bits >> self.dropped) & self.odd;
            let rounded = T::from_bits64(bits.wrapping_add(self.below_half + odd) & self.kept);
            let (from, to) = (source[lane].as_(), rounded.as_());
            let is_kept = from.is_nan() | to.is_infinite() | to.is_nan();
            target[lane] = if is_kept { source[lane] } else { rounded };
            let error = if is_kept { 0.0 } else { (to - from).abs() };
            lanes.greatest[lane] = if error > lanes.greatest[lane] { error } else { lanes.greatest[lane] };
            lanes.squares[lane] += error * error;
            lanes.nan[lane] += u32::from(from.is_nan());
            lanes.infinite[lane] += u32::from(from.is_infinite());
        }
    }
}

impl<T: Rounded> TileLoop for RoundLoop<T> {
    type Outcome = QuantizeFigures;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], target: &mut [u8], (): &()) -> QuantizeFigures {
        let source: &[T] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let target: &mut [T] = bytemuck::try_cast_slice_mut(target).unwrap_or_default();
        let dropped = self.0.fraction_bits.unwrap_or(0).saturating_sub(self.0.keepbits);
        let last_kept = 1_u64 << dropped;
        let constants = Constants {
            dropped,
            odd: (dropped > 0).into(),
            below_half: (last_kept / 2).saturating_sub(1),
            kept: !(last_kept - 1),
        };
        let mut lanes = Lanes { greatest: [0.0; LANES], squares: [0.0; LANES], nan: [0; LANES], infinite: [0; LANES] };
        let (source_rows, source_rest) = source.as_chunks::<LANES>();
        let (target_rows, target_rest) = target.as_chunks_mut::<LANES>();
        for (source, target) in source_rows.iter().zip(target_rows) {
            constants.round(source, target, &mut lanes);
        }
        for (source, target) in source_rest.as_chunks::<1>().0.iter().zip(target_rest.as_chunks_mut::<1>().0) {
            constants.round(source, target, &mut lanes);
        }
        QuantizeFigures {
            count: source.len() as u64,
            nan: lanes.nan.into_iter().map(u64::from).sum(),
            infinite: lanes.infinite.into_iter().map(u64::from).sum(),
            max_abs_error: lanes.greatest.into_iter().fold(0.0, f64::max),
            sum_of_squares: lanes.squares.into_iter().sum(),
            normalizer: 1.0,
            ..QuantizeFigures::default()
        }
    }
}
