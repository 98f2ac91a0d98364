//! `scale_offset`, then `cast_value` to an integer, in one pass with the error figures.
//!
//! Encoding equals that of [`ScaleOffset`](super::scale_offset::ScaleOffset) and [`Cast`](super::cast::Cast). Decoding
//! equals the real one, including true division. The differences are measured while a tile is in the cache. For readers
//! that decode by CF attributes, codes are measured afterwards, decoded as these readers do.

mod pass;

use bytemuck::pod_read_unaligned;
use num_traits::AsPrimitive;
use serde::{Deserialize, Serialize};

use self::pass::{PassKernel, PreviousTiles};
use super::double::approximate;
use super::exact::{RoundedInteger, Value, wrapped};
use super::missing::MissingFilter;
use super::scale_offset::ScaleOffset;
use super::tile::{TILE, TileBuffer, convert_each, for_each_tile, num_elements, write_bits};
use super::{ElementFault, FaultKind, OutOfRange, Rounding};
use crate::element::{Element, FloatFormat, NumberType, integer_of, low_bits};
use crate::{with_element, with_float, with_integer};

/// The steps of a quantisation.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantizeOptions {
    /// The float type of the source values.
    pub source: NumberType,
    /// The integer type of the codes.
    pub target: NumberType,
    /// Bits of `scale_offset`'s offset in the source type. `None` skips the operation.
    pub offset: Option<u64>,
    /// Bits of its scale. `None` skips the operation.
    pub scale: Option<u64>,
    /// `cast_value`'s rounding.
    pub rounding: Rounding,
    /// `cast_value`'s `out_of_range`.
    pub out_of_range: OutOfRange,
    /// The least and greatest code of a number. They exclude a NaN code at either end.
    pub codes: (i64, i64),
    /// The code of NaN. Without one NaN is a fault. A number with this code is a fault, or gets the next code inside
    /// under `Clamp`.
    pub nan_code: Option<i64>,
    /// The code of -0.0, if it has its own. It decodes to -0.0 directly.
    pub negative_zero_code: Option<i64>,
    /// Values that count as NaN, as bit patterns. They are compared as numbers.
    pub missing: Vec<u64>,
    /// `scale_factor` and `add_offset` of a reader that decodes by them in float64. `None` if the codecs decode.
    pub cf: Option<(f64, f64)>,
}

/// Elements per call of the loop, which keeps only its input in the cache.
const SPAN: usize = 4 * TILE;

/// A bound quantisation.
#[derive(Debug, Clone)]
pub struct Quantize {
    /// The options that it is bound to.
    pub options: QuantizeOptions,
    missing: MissingFilter,
    scale_offset: ScaleOffset,
    /// The format of the source values.
    format: FloatFormat,
    normalizer: f64,
    pass: Option<PassKernel>,
}

impl Quantize {
    /// Binds it to the best loop for this machine.
    pub fn new(options: QuantizeOptions) -> Self {
        let source = options.source;
        let scale = options.scale.map_or(1.0, |bits| Value::new(bits, source).to_f64());
        let normalizer = power_of_two_near(scale.abs());
        Quantize {
            missing: MissingFilter::new(source, &options.missing),
            scale_offset: ScaleOffset::new(source, options.offset, options.scale),
            format: source.float_format().unwrap_or(FloatFormat::BINARY64),
            normalizer,
            pass: pass::bind(&options, normalizer),
            options,
        }
    }

    /// Encodes `source` (native-endian floats) into codes and adds to `figures`.
    ///
    /// After a fault the contents of `target` and `figures` are unspecified.
    pub fn convert(&self, source: &[u8], target: &mut [u8], figures: &mut QuantizeFigures) -> Result<(), ElementFault> {
        let (source_size, target_size) = (self.options.source.size(), self.options.target.size());
        let mut seen = PreviousTiles {
            all: QuantizeFigures { normalizer: self.normalizer, ..*figures },
            ..PreviousTiles::default()
        };
        let count = num_elements(source, source_size, target, target_size);
        let source_spans = source[..count * source_size].chunks(SPAN * source_size);
        let target_spans = target[..count * target_size].chunks_mut(SPAN * target_size);
        for (span, (source, target)) in source_spans.zip(target_spans).enumerate() {
            let before = seen.all;
            // Missing values are replaced in a copy of a tile. So such a span is converted tile by tile.
            if !self.missing.is_empty() || !self.run_pass(source, target, &mut seen) {
                for_each_tile((source, source_size), (target, target_size), |source, target, first| {
                    if self.convert_tile(source, target, &mut seen) {
                        return Ok(());
                    }
                    convert_each((source, source_size), (target, target_size), span * SPAN + first, |bits| {
                        self.encode(bits, &mut seen.all)
                    })
                })?;
            }
            // The clamped elements are not known any more.
            if let Some(attributes) = self.options.cf.filter(|_| seen.all.clamped == before.clamped) {
                let (greatest, squares) = self.errors_of_cf(source, target, attributes);
                seen.all.max_abs_error = before.max_abs_error.max(greatest);
                seen.all.sum_of_squares = before.sum_of_squares + squares;
            }
        }
        *figures = seen.all;
        Ok(())
    }

    /// Returns the greatest error of codes as a reader of CF attributes decodes them, and the sum of the normalised
    /// squares.
    fn errors_of_cf(&self, source: &[u8], target: &[u8], (scale_factor, add_offset): (f64, f64)) -> (f64, f64) {
        // Parallel lanes, so that the compiler uses vectors.
        const LANES: usize = 8;
        let QuantizeOptions { source: from, target: to, nan_code, .. } = self.options;
        let (mut greatest, mut squares) = ([0_f64; LANES], [0_f64; LANES]);
        with_float!(from.element(), S => with_integer!(to.element(), T => {
            let nan_code = nan_code.map(|code| T::from_bits64(low_bits(i128::from(code), to)));
            let (has_nan, nan_code) = (nan_code.is_some(), nan_code.unwrap_or_default());
            let mut add = |lane: usize, x: S, code: T| {
                let decoded = AsPrimitive::<f64>::as_(code) * scale_factor + add_offset;
                let error = (decoded - AsPrimitive::<f64>::as_(x)).abs();
                let error = if has_nan & (code == nan_code) { 0.0 } else { error };
                greatest[lane] = if error > greatest[lane] { error } else { greatest[lane] };
                let normalized = error * self.normalizer;
                squares[lane] += normalized * normalized;
            };
            let rows = source.chunks(LANES * size_of::<S>()).zip(target.chunks(LANES * size_of::<T>()));
            for (xs, codes) in rows {
                if xs.len() == LANES * size_of::<S>() {
                    let (xs, codes): ([S; LANES], [T; LANES]) = (pod_read_unaligned(xs), pod_read_unaligned(codes));
                    (0..LANES).for_each(|lane| add(lane, xs[lane], codes[lane]));
                    continue;
                }
                let rest = xs.chunks_exact(size_of::<S>()).zip(codes.chunks_exact(size_of::<T>()));
                rest.enumerate().for_each(|(lane, (x, code))| add(lane, pod_read_unaligned(x), pod_read_unaligned(code)));
            }
        }, else ()), else ());
        (greatest.into_iter().fold(0.0, f64::max), squares.iter().sum())
    }

    /// Converts a tile with its missing values. Returns false with unchanged figures if it needs the exact path.
    fn convert_tile(&self, source: &[u8], target: &mut [u8], seen: &mut PreviousTiles) -> bool {
        if self.missing.is_empty() {
            return self.run_pass(source, target, seen);
        }
        let mut buffer = TileBuffer::new();
        self.run_pass(self.without_missing(source, &mut buffer), target, seen)
    }

    /// Runs the loop. Returns false with unchanged figures if the elements contain one that it cannot convert.
    fn run_pass(&self, source: &[u8], target: &mut [u8], seen: &mut PreviousTiles) -> bool {
        let Some(kernel) = &self.pass else { return false };
        let found = kernel.run_after(seen, source, target);
        seen.last = found.unwrap_or_default();
        let is_accepted = found.is_some_and(|found| self.is_accepted(&found, target));
        if is_accepted {
            seen.all.merge(&seen.last);
        }
        is_accepted
    }

    /// Returns true if all elements with these figures have a code and a finite error.
    fn is_accepted(&self, figures: &QuantizeFigures, target: &[u8]) -> bool {
        let has_codes = figures.nan == 0 || self.options.nan_code.is_some();
        let is_measured = figures.max_abs_error.is_finite() && figures.max_abs_error_clamped.is_finite();
        has_codes && is_measured && !self.has_reserved_code(target, figures.nan)
    }

    /// Returns true if the NaN code is inside the range and a number got it.
    fn has_reserved_code(&self, target: &[u8], nan: u64) -> bool {
        let QuantizeOptions { target: number_type, codes, nan_code, .. } = self.options;
        let Some(code) = nan_code.filter(|code| (codes.0..=codes.1).contains(code)) else { return false };
        let code = low_bits(i128::from(code), number_type);
        let found = with_element!(number_type.element(), T => {
            let code = T::from_bits64(code);
            let codes: &[T] = bytemuck::try_cast_slice(target).unwrap_or_default();
            codes.iter().map(|found| u64::from(*found == code)).sum::<u64>()
        });
        // Each NaN has the code. If more elements have it, some are numbers.
        found != nan
    }

    /// Returns a copy of the tile with NaN for each missing value.
    fn without_missing<'b>(&self, source: &[u8], buffer: &'b mut TileBuffer) -> &'b [u8] {
        let number_type = self.options.source;
        let nan = self.format.canonical_nan().unwrap_or(0);
        let copied = buffer.bytes_mut(source.len());
        copied.copy_from_slice(source);
        self.missing.each_missing(source, |index| write_bits(copied, number_type.size(), index, nan));
        copied
    }

    /// Encodes one element by the exact path, decodes it again, and adds it to the figures.
    fn encode(&self, bits: u64, figures: &mut QuantizeFigures) -> Result<u64, FaultKind> {
        let QuantizeOptions { source, target, nan_code, rounding, .. } = self.options;
        let x = Value::new(bits, source);
        figures.count += 1;
        if let Some(code) = self.options.negative_zero_code.filter(|_| bits == self.format.sign()) {
            return Ok(low_bits(i128::from(code), target));
        }
        if matches!(x, Value::NotANumber { .. }) || self.missing.contains(bits) {
            let code = nan_code.ok_or(FaultKind::NotANumber)?;
            figures.nan += 1;
            return Ok(low_bits(i128::from(code), target));
        }
        let scaled = Value::new(self.scale_offset.encode_one(bits)?, source);
        let rounded = scaled.to_integer(rounding)?;
        let (code, is_clamped) = self.code(scaled, rounded)?;
        // `rounding` applies to decoding, too (SEMANTICS: A2.4).
        let decoded = Value::from_integer(code).to_float(self.format, rounding);
        let decoded = self.scale_offset.decode_one(decoded.map_err(|_| FaultKind::Overflow)?)?;
        let error = (Value::new(decoded, source).to_f64() - x.to_f64()).abs();
        if !error.is_finite() {
            return Err(FaultKind::Overflow);
        }
        if is_clamped {
            figures.clamped += 1;
            figures.max_abs_error_clamped = figures.max_abs_error_clamped.max(error);
        } else {
            figures.max_abs_error = figures.max_abs_error.max(error);
            let normalized = error * self.normalizer;
            figures.sum_of_squares += normalized * normalized;
        }
        Ok(low_bits(code, target))
    }

    /// Returns the code of a rounded value, and true if the value was moved to have one.
    fn code(&self, scaled: Value, rounded: RoundedInteger) -> Result<(i128, bool), FaultKind> {
        let QuantizeOptions { target, out_of_range, codes, .. } = self.options;
        let (least, greatest) = (i128::from(codes.0), i128::from(codes.1));
        let nan_code = self.options.nan_code.map(i128::from);
        let value = rounded.value;
        if value.is_some() && value == nan_code {
            return if out_of_range == OutOfRange::Clamp {
                Ok((self.beside_nan_code(scaled, rounded), true))
            } else {
                Err(FaultKind::ReservedCode)
            };
        }
        if let Some(code) = value.filter(|code| (least..=greatest).contains(code)) {
            return Ok((code, false));
        }
        match out_of_range {
            OutOfRange::Error => Err(FaultKind::OutOfRange),
            OutOfRange::Clamp => {
                let is_below = value.map_or(rounded.negative, |value| value < least);
                Ok((if is_below { least } else { greatest }, true))
            }
            OutOfRange::Wrap => {
                let code = integer_of(wrapped(rounded.low, target), target.element());
                if Some(code) == nan_code { Err(FaultKind::ReservedCode) } else { Ok((code, value != Some(code))) }
            }
        }
    }

    /// Returns the code next to an inner NaN code, on the side of the value. At an end of the codes it is the one
    /// inside.
    fn beside_nan_code(&self, scaled: Value, rounded: RoundedInteger) -> i128 {
        let (least, greatest) = (i128::from(self.options.codes.0), i128::from(self.options.codes.1));
        let code = rounded.value.unwrap_or_default();
        // Near the code its float is exact, or the value is an integer itself.
        let is_below = scaled.to_f64() < Value::from_integer(code).to_f64();
        let next = if is_below { code - 1 } else { code + 1 };
        next.max(least).min(greatest)
    }
}

/// Returns the greatest power of two that is not above a positive number, but at least the least normal float64. It is
/// 1 for any other number.
fn power_of_two_near(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let exponent_bits = value.to_bits() & 0x7ff0_0000_0000_0000;
    if exponent_bits == 0 { f64::MIN_POSITIVE } else { f64::from_bits(exponent_bits) }
}

/// Counts and errors over quantised elements.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct QuantizeFigures {
    /// All elements.
    pub count: u64,
    /// NaN and missing values.
    pub nan: u64,
    /// Finite values out of range that were clamped or wrapped, and those that were moved off an inner NaN code.
    pub clamped: u64,
    /// The greatest `|decode(encode(x)) - x|` of finite values in range, exact in float64 from the decoded value.
    #[serde(with = "float_bits")]
    pub max_abs_error: f64,
    /// The greatest such error of the clamped values.
    #[serde(with = "float_bits")]
    pub max_abs_error_clamped: f64,
    /// The sum of `(error * normalizer)^2` over finite values in range.
    #[serde(with = "float_bits")]
    pub sum_of_squares: f64,
    /// A power of two near 1/error that keeps the squares in range (0 before any).
    #[serde(with = "float_bits")]
    pub normalizer: f64,
    /// Infinities that stay unchanged.
    pub infinite: u64,
    /// Values that a change of data type rounds to integers.
    pub rounded: u64,
    /// Numbers that a change of data type converts to the value that NaN has there.
    pub like_nan: u64,
}

/// Floats as the integers of their bits. JSON has no infinities, and this form is exact.
pub mod float_bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the bits.
    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.to_bits().serialize(to)
    }

    /// Reads the bits.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

impl QuantizeFigures {
    /// Adds the figures of other elements of the same job.
    pub fn merge(&mut self, other: &QuantizeFigures) {
        self.count = self.count.saturating_add(other.count);
        self.nan = self.nan.saturating_add(other.nan);
        self.clamped = self.clamped.saturating_add(other.clamped);
        self.max_abs_error = self.max_abs_error.max(other.max_abs_error);
        self.max_abs_error_clamped = self.max_abs_error_clamped.max(other.max_abs_error_clamped);
        let normalizers = [&*self, other].into_iter().filter(|figures| figures.sum_of_squares > 0.0);
        let least = normalizers.map(|figures| figures.normalizer).reduce(f64::min);
        let normalizer = least.unwrap_or(self.normalizer.max(other.normalizer));
        self.sum_of_squares = self.squares_in(normalizer) + other.squares_in(normalizer);
        self.normalizer = normalizer;
        self.infinite = self.infinite.saturating_add(other.infinite);
        self.rounded = self.rounded.saturating_add(other.rounded);
        self.like_nan = self.like_nan.saturating_add(other.like_nan);
    }

    /// Returns the sum of squares with another normalizer. Values that underflow are negligible next to the greater
    /// errors.
    fn squares_in(&self, normalizer: f64) -> f64 {
        if self.normalizer == normalizer || self.sum_of_squares <= 0.0 {
            return self.sum_of_squares;
        }
        let ratio = normalizer / self.normalizer;
        self.sum_of_squares * ratio * ratio
    }

    /// Returns the root of the mean square error over finite values in range. It is 0 if there are none.
    pub fn rms_error(&self) -> f64 {
        let others = [self.nan, self.clamped, self.infinite];
        let num_valid = others.into_iter().fold(self.count, u64::saturating_sub);
        if num_valid == 0 || self.sum_of_squares <= 0.0 {
            return 0.0;
        }
        let mean = self.sum_of_squares / approximate(num_valid);
        mean.sqrt() / self.normalizer
    }
}
