//! `cast_value` over slices: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value>.
//!
//! [`Cast`] is one direction of the codec. Every rule is in the exact path, `convert_one`; the loops of the modules
//! below give the same results for the values that need no rule, and flag the tiles that hold others.

mod loops;
mod scalar_map;
mod select;

use std::sync::Arc;

use half::f16;

use self::loops::CastParameters;
use self::scalar_map::{MOST_TESTED, Replacing, Rules, ScalarMap};
use self::select::CastKernel;
use super::exact::{Outside, Value, integer_bits, integer_of};
use super::quantize::QuantizeFigures;
use super::result_table::ResultTable;
use super::tile::{TileBuffer, for_each_tile, read_bits, write_bits};
use super::{ElementFault, FaultKind, InstructionSet, OutOfRange, Rounding};
use crate::element::{ElementType, NumberType};

/// What one direction of `cast_value` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CastOptions {
    /// The type of the values that come in.
    pub source: NumberType,
    /// The type of the values that go out.
    pub target: NumberType,
    /// How inexact values are rounded.
    pub rounding: Rounding,
    /// What happens outside the target's range.
    pub out_of_range: OutOfRange,
    /// `(source bits, target bits)`, each zero-extended to 64 bits, in the order of the metadata; the first match wins.
    pub scalar_map: Vec<(u64, u64)>,
}

/// A bound cast.
#[derive(Debug, Clone)]
pub struct Cast {
    options: CastOptions,
    map: Arc<ScalarMap>,
    fast: Option<FastCast>,
}

/// What converts a tile that needs no exact path.
#[derive(Debug, Clone)]
enum FastCast {
    /// Of one byte from or to a small float, or of one or two with a long scalar map, which is included.
    Table(ResultTable),
    Loop(Box<CastLoop>),
}

/// The loop of a cast.
#[derive(Debug, Clone)]
struct CastLoop {
    kernel: CastKernel,
    parameters: CastParameters,
    /// What of the scalar map the loop does not do itself.
    replacing: Option<Replacing>,
    /// Bytes of an element of both types.
    sizes: (usize, usize),
    /// Makes `float32`, which the loop then starts from, of `bfloat16`.
    widen: Option<CastKernel>,
}

impl Cast {
    /// Counts the floats that it rounds to integers, among all that are no NaN.
    pub fn count_rounded(&self, source: &[u8], figures: &mut QuantizeFigures) {
        let CastOptions { source: from, target, .. } = self.options;
        if target.is_float() {
            return;
        }
        let (mut nan, mut rounded) = (0_u64, 0_u64);
        let mut count = |value: f64| {
            nan += u64::from(value.is_nan());
            // The difference of what is not finite is NaN.
            rounded += u64::from((value - value.trunc()).abs() > 0.0);
        };
        match (from.small_float(), from.element()) {
            (None, ElementType::Float16) => {
                source.as_chunks().0.iter().for_each(|bytes| count(f16::from_ne_bytes(*bytes).to_f64()));
            }
            (None, ElementType::Float32) => {
                source.as_chunks().0.iter().for_each(|bytes| count(f64::from(f32::from_ne_bytes(*bytes))));
            }
            (None, ElementType::Float64) => {
                source.as_chunks().0.iter().for_each(|bytes| count(f64::from_ne_bytes(*bytes)));
            }
            _ => return,
        }
        figures.count += (source.len() / from.size()) as u64;
        figures.nan += nan;
        figures.rounded += rounded;
    }

    /// Binds a cast to the best loop that this machine has.
    pub fn new(options: CastOptions) -> Self {
        Self::with_instruction_set(options, InstructionSet::detect())
    }

    /// Binds a cast to the loop of one instruction set (falls back to the baseline where the machine lacks it).
    pub fn with_instruction_set(options: CastOptions, instruction_set: InstructionSet) -> Self {
        let map = Arc::new(ScalarMap::new(&options.scalar_map, options.source.float_format()));
        let mut cast = Cast { options, map, fast: None };
        cast.fast = Some(FastCast::new(&cast, instruction_set));
        cast
    }

    /// The cast that passes each value of a type with unused bits and refuses the rest; `None` where all bits count.
    pub fn range_check(number_type: NumberType) -> Option<Self> {
        let options = || CastOptions {
            source: number_type,
            target: number_type,
            rounding: Rounding::NearestEven,
            out_of_range: OutOfRange::Error,
            scalar_map: Vec::new(),
        };
        (!number_type.is_whole()).then(|| Self::new(options()))
    }

    /// What was bound.
    pub fn options(&self) -> &CastOptions {
        &self.options
    }

    /// Converts the elements of `source` into `target` (native-endian elements, any alignment, equal counts).
    ///
    /// On a fault the contents of `target` are unspecified.
    pub fn convert(&self, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
        let (source_size, target_size) = (self.options.source.size(), self.options.target.size());
        for_each_tile((source, source_size), (target, target_size), |source, target, first| {
            if self.fast.as_ref().is_some_and(|fast| fast.convert(source, target)) {
                return Ok(());
            }
            self.convert_exactly(source, target, first)
        })
    }

    /// Walks a tile by the exact path; `first` is the index of its first element.
    fn convert_exactly(&self, source: &[u8], target: &mut [u8], first: usize) -> Result<(), ElementFault> {
        let (source_size, target_size) = (self.options.source.size(), self.options.target.size());
        for index in 0..source.len() / source_size {
            let bits = read_bits(source, source_size, index);
            let bits = self.convert_one(bits).map_err(|kind| ElementFault { kind, index: first + index })?;
            write_bits(target, target_size, index, bits);
        }
        Ok(())
    }

    /// Converts one value by the exact path; bits are zero-extended to 64.
    pub fn convert_one(&self, bits: u64) -> Result<u64, FaultKind> {
        let CastOptions { source, target, rounding, out_of_range, .. } = self.options;
        if let Some(mapped) = self.map.get(bits) {
            return Ok(mapped);
        }
        if !is_of_type(bits, source) {
            return Err(FaultKind::NotOfType);
        }
        if source == target {
            return Ok(bits);
        }
        let value = Value::of(bits, source);
        match target.float_format() {
            Some(format) => {
                let rounded = value.to_float(format, rounding);
                // `wrap` to a float is refused with the metadata, except as the inverse of a cast to an integer.
                let bounded = match rounded {
                    Err(outside) if out_of_range == OutOfRange::Clamp => format.clamped(outside),
                    rounded => rounded,
                };
                bounded.map_err(Outside::fault)
            }
            None => self.to_integer(value),
        }
    }

    /// Steps (ii) and (iii) of the codec for an integer target.
    fn to_integer(&self, value: Value) -> Result<u64, FaultKind> {
        let target = self.options.target;
        let rounded = match value {
            Value::NotANumber { .. } => return Err(FaultKind::NotANumber),
            Value::Infinite { .. } => return Err(FaultKind::Infinite),
            Value::Finite { .. } => value.to_integer(self.options.rounding).ok_or(FaultKind::OutOfRange)?,
        };
        let (least, greatest) = target.integer_bounds().unwrap_or_default();
        if rounded.value.is_some_and(|integer| (least..=greatest).contains(&integer)) {
            return Ok(integer_bits(rounded.low, target.element()));
        }
        match self.options.out_of_range {
            OutOfRange::Error => Err(FaultKind::OutOfRange),
            OutOfRange::Clamp => Ok(low_bits(if rounded.negative { least } else { greatest }, target)),
            OutOfRange::Wrap => Ok(wrapped(rounded.low, target)),
        }
    }
}

impl FastCast {
    fn new(cast: &Cast, instruction_set: InstructionSet) -> Self {
        let options = &cast.options;
        let is_small = |number_type: NumberType| number_type.small_float().is_some();
        let (source_size, is_long) = (options.source.size(), options.scalar_map.len() > MOST_TESTED);
        let is_tabled = is_long && source_size <= 2;
        if is_tabled || (source_size == 1 && (is_small(options.source) || is_small(options.target))) {
            let sizes = (source_size, options.target.size());
            return FastCast::Table(ResultTable::new(sizes, |bits| cast.convert_one(bits)));
        }
        FastCast::Loop(Box::new(CastLoop::new(options, &cast.map, instruction_set)))
    }

    /// Converts a tile; `false` where it holds what the loop does not know.
    fn convert(&self, source: &[u8], target: &mut [u8]) -> bool {
        match self {
            FastCast::Table(table) => table.convert(source, target),
            FastCast::Loop(cast) => cast.convert(source, target),
        }
    }
}

impl CastLoop {
    fn new(options: &CastOptions, map: &Arc<ScalarMap>, instruction_set: InstructionSet) -> Self {
        let format = options.source.float_format();
        let nan_bits = match (options.scalar_map.as_slice(), format) {
            ([(key, value)], Some(format))
                if Some(*key) == format.canonical_nan() && !options.target.is_float() =>
            {
                select::nan_bits(*value, options)
            }
            _ => None,
        };
        let sizes = (options.source.size(), options.target.size());
        let replacing = match options.scalar_map.len() {
            0 => None,
            _ if nan_bits.is_some() => None,
            1..=MOST_TESTED => {
                Some(Replacing::Rules(Rules::new(&options.scalar_map, format, sizes, instruction_set)))
            }
            _ => Some(Replacing::Lookup(map.clone())),
        };
        let widen = select::widening(options, instruction_set);
        let (kernel, parameters) = select::select(options, nan_bits, instruction_set);
        CastLoop { kernel, parameters, replacing, sizes, widen }
    }

    /// Converts a tile; `false` where it holds what the loop does not know.
    fn convert(&self, source: &[u8], target: &mut [u8]) -> bool {
        let Some(replacing) = &self.replacing else { return self.convert_values(source, target) };
        let mut buffer = TileBuffer::new();
        let harmless = buffer.bytes_mut(source.len());
        replacing.around((source, harmless), target, self.sizes, |source, target| {
            self.convert_values(source, target)
        })
    }

    /// The same without the scalar map.
    fn convert_values(&self, source: &[u8], target: &mut [u8]) -> bool {
        let Some(widen) = &self.widen else { return !self.kernel.run(source, target, &self.parameters) };
        let mut buffer = TileBuffer::new();
        let wide = buffer.bytes_mut(2 * source.len());
        !widen.run(source, wide, &self.parameters) && !self.kernel.run(wide, target, &self.parameters)
    }
}

/// Whether a stored value lies in the logical range of its type.
pub(crate) fn is_of_type(bits: u64, number_type: NumberType) -> bool {
    number_type.is_whole()
        || number_type.integer_bounds().map_or(bits >> number_type.bits() == 0, |(least, greatest)| {
            (least..=greatest).contains(&integer_of(bits, number_type.element()))
        })
}

/// The element bits of an integer in the target's range.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "two's complement is cut to the element"
)]
pub(crate) fn low_bits(integer: i128, number_type: NumberType) -> u64 {
    integer_bits(integer as u64, number_type.element())
}

/// The element bits of an integer modulo 2^bits of its logical type.
pub(crate) fn wrapped(low: u64, number_type: NumberType) -> u64 {
    let unused = 64 - number_type.bits();
    let logical = if number_type.element().is_signed_integer() {
        ((low << unused).cast_signed() >> unused).cast_unsigned()
    } else {
        low << unused >> unused
    };
    integer_bits(logical, number_type.element())
}

#[cfg(test)]
mod tests;
