//! `scale_offset`, then `cast_value` to an integer, in one pass with the error figures.
//!
//! Encoding equals that of [`ScaleOffset`](super::scale_offset::ScaleOffset) and [`Cast`](super::cast::Cast). Decoding
//! equals the real one, including true division. The differences are measured while a tile is in the cache. For readers
//! that decode by CF attributes, codes are measured afterwards, decoded as these readers do.

mod exact;
mod figures;
mod fused;
mod measured;
mod straight;

use bytemuck::pod_read_unaligned;
use num_traits::AsPrimitive;

pub use self::figures::{QuantizeFigures, float_bits};

use self::exact::ExactQuantize;
use self::fused::FusedKernel;
use self::straight::{Seen, StraightKernel};
use super::tile::{TILE, TileBuffer, convert_each, for_each_tile, num_elements, write_bits};
use super::{ElementFault, OutOfRange, Rounding};
use crate::element::{Element, FloatFormat, NumberType, low_bits};
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

/// Elements per call of the straight loop. It keeps only its input in the cache.
const SPAN: usize = 4 * TILE;

/// A bound quantisation.
#[derive(Debug, Clone)]
pub struct Quantize {
    exact: ExactQuantize,
    fused: Option<FusedKernel>,
    straight: Option<StraightKernel>,
}

impl Quantize {
    /// Binds it to the best loop for this machine.
    pub fn new(options: QuantizeOptions) -> Self {
        let exact = ExactQuantize::new(options);
        let fused = fused::bind(&exact.options, exact.normalizer);
        let straight = fused.as_ref().and_then(|_| straight::bind(&exact.options, exact.normalizer));
        Quantize { exact, fused, straight }
    }

    /// Returns the options.
    pub fn options(&self) -> &QuantizeOptions {
        &self.exact.options
    }

    /// Encodes `source` (native-endian floats) into codes and adds to `figures`.
    ///
    /// After a fault the contents of `target` and `figures` are unspecified.
    pub fn convert(&self, source: &[u8], target: &mut [u8], figures: &mut QuantizeFigures) -> Result<(), ElementFault> {
        let (source_size, target_size) = (self.options().source.size(), self.options().target.size());
        figures.normalizer = self.exact.normalizer;
        let count = num_elements(source, source_size, target, target_size);
        let mut expects_nan = false;
        let source_spans = source[..count * source_size].chunks(SPAN * source_size);
        let target_spans = target[..count * target_size].chunks_mut(SPAN * target_size);
        for (span, (source, target)) in source_spans.zip(target_spans).enumerate() {
            let before = *figures;
            if !self.convert_straight(source, target, (figures, &mut expects_nan)) {
                for_each_tile((source, source_size), (target, target_size), |source, target, first| {
                    if self.convert_fused(source, target, figures) {
                        return Ok(());
                    }
                    convert_each((source, source_size), (target, target_size), span * SPAN + first, |bits| {
                        self.exact.encode(bits, figures)
                    })
                })?;
            }
            // The clamped elements are not known any more.
            if let Some(attributes) = self.options().cf.filter(|_| figures.clamped == before.clamped) {
                let (greatest, squares) = self.errors_of_cf(source, target, attributes);
                figures.max_abs_error = before.max_abs_error.max(greatest);
                figures.sum_of_squares = before.sum_of_squares + squares;
            }
        }
        Ok(())
    }

    /// Returns the greatest error of codes as a reader of CF attributes decodes them, and the sum of the normalised
    /// squares.
    fn errors_of_cf(&self, source: &[u8], target: &[u8], (scale_factor, add_offset): (f64, f64)) -> (f64, f64) {
        // Parallel lanes, so that the compiler uses vectors.
        const LANES: usize = 8;
        let QuantizeOptions { source: from, target: to, nan_code, .. } = *self.options();
        let (mut greatest, mut squares) = ([0_f64; LANES], [0_f64; LANES]);
        with_float!(from.element(), S => with_integer!(to.element(), T => {
            let nan_code = nan_code.map(|code| T::from_bits64(low_bits(i128::from(code), to)));
            let (has_nan, nan_code) = (nan_code.is_some(), nan_code.unwrap_or_default());
            let mut add = |lane: usize, x: S, code: T| {
                let decoded = AsPrimitive::<f64>::as_(code) * scale_factor + add_offset;
                let error = (decoded - AsPrimitive::<f64>::as_(x)).abs();
                let error = if has_nan & (code == nan_code) { 0.0 } else { error };
                greatest[lane] = if error > greatest[lane] { error } else { greatest[lane] };
                let normalized = error * self.exact.normalizer;
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

    /// Runs the straight loop. Returns false with unchanged figures if the span contains unsupported values.
    fn convert_straight(
        &self,
        source: &[u8],
        target: &mut [u8],
        (figures, expects_nan): (&mut QuantizeFigures, &mut bool),
    ) -> bool {
        let Some(kernel) = self.straight.as_ref().filter(|_| self.exact.missing.is_empty()) else { return false };
        let before = Seen { greatest: figures.max_abs_error, expects_nan: *expects_nan };
        let tile = kernel.run_after(&before, source, target);
        *expects_nan = tile.is_some_and(|tile| tile.nan > 0);
        tile.is_some_and(|tile| self.accept(&tile, source.len(), figures))
    }

    /// Runs the fused loop. Returns false with unchanged figures if the tile contains unsupported values.
    fn convert_fused(&self, source: &[u8], target: &mut [u8], figures: &mut QuantizeFigures) -> bool {
        let Some(kernel) = &self.fused else { return false };
        let tile = if self.exact.missing.is_empty() {
            kernel.run_after(figures, source, target)
        } else {
            let mut buffer = TileBuffer::new();
            let source = self.without_missing(source, &mut buffer);
            let before = Seen { greatest: figures.max_abs_error, expects_nan: false };
            let straight = self.straight.as_ref().and_then(|kernel| kernel.run_after(&before, source, target));
            straight.unwrap_or_else(|| kernel.run_after(figures, source, target))
        };
        !self.has_reserved_code(target, tile.nan) && self.accept(&tile, source.len(), figures)
    }

    /// Adds a tile of `size` bytes to the figures if all of its elements have a code.
    fn accept(&self, tile: &QuantizeFigures, size: usize, figures: &mut QuantizeFigures) -> bool {
        let is_all = tile.count == (size / self.options().source.size()) as u64;
        let has_codes = tile.nan == 0 || self.options().nan_code.is_some();
        let is_measured = tile.max_abs_error.is_finite() && tile.max_abs_error_clamped.is_finite();
        let is_accepted = is_all && has_codes && is_measured;
        if is_accepted {
            figures.merge(tile);
        }
        is_accepted
    }

    /// Returns true if the NaN code is inside the range and a number got it.
    fn has_reserved_code(&self, target: &[u8], nan: u64) -> bool {
        let QuantizeOptions { target: number_type, codes, nan_code, .. } = *self.options();
        let Some(code) = nan_code.filter(|code| (codes.0..=codes.1).contains(code)) else { return false };
        let code = low_bits(i128::from(code), number_type);
        let found = with_element!(number_type.element(), T => {
            let code = T::from_bits64(code);
            let codes: &[T] = bytemuck::try_cast_slice(target).unwrap_or_default();
            codes.iter().map(|found| u64::from(*found == code)).sum::<u64>()
        });
        found != nan
    }

    /// Returns a copy of the tile with NaN for each missing value.
    fn without_missing<'b>(&self, source: &[u8], buffer: &'b mut TileBuffer) -> &'b [u8] {
        let number_type = self.options().source;
        let nan = number_type.float_format().and_then(FloatFormat::canonical_nan).unwrap_or(0);
        let copied = buffer.bytes_mut(source.len());
        copied.copy_from_slice(source);
        self.exact.missing.each_missing(source, |index| write_bits(copied, number_type.size(), index, nan));
        copied
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;
    use crate::kernel::FaultKind;

    #[test]
    fn negative_zero_with_a_code_of_its_own_has_no_error() {
        let kernel = Quantize::new(QuantizeOptions {
            source: NumberType::of(ElementType::Float32),
            target: NumberType::of(ElementType::UInt8),
            offset: None,
            scale: None,
            rounding: Rounding::NearestEven,
            out_of_range: OutOfRange::Error,
            codes: (1, 255),
            nan_code: Some(0),
            negative_zero_code: Some(7),
            missing: Vec::new(),
            cf: None,
        });
        let (mut codes, mut figures) = ([0; 3], QuantizeFigures::default());
        kernel.convert(bytemuck::cast_slice(&[-0.0_f32, f32::NAN, 3.25]), &mut codes, &mut figures).unwrap();
        assert_eq!((codes, figures.max_abs_error, figures.clamped), ([7, 0, 3], 0.25, 0));
        let fault = kernel.convert(bytemuck::cast_slice(&[0.0_f32]), &mut codes[..1], &mut figures).unwrap_err();
        assert_eq!(fault.kind, FaultKind::ReservedCode);
    }
}
