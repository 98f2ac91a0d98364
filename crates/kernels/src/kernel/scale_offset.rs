//! `scale_offset` over slices: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/scale_offset>.
//!
//! Encoding is `(x - offset) * scale`, decoding is `x / scale + offset`. These are two operations in the element's own
//! arithmetic, each rounded once, never fused. A result of either outside the range of the type is a fault.

mod loops;

use std::ops::{Add, Div, Mul, Sub};

use num_traits::AsPrimitive;

use super::dispatch::TileConversion;
use super::exact::Value;
use super::result_table::ResultTable;
use super::tile::{convert_each, for_each_tile};
use super::{ElementFault, FaultKind, Rounding};
use crate::element::{Element, ElementType, FloatFormat, NumberType, integer_of, is_of_type, low_bits};
use crate::with_float;

/// A bound `scale_offset`. Absent parameters skip their operation.
#[derive(Debug, Clone)]
pub struct ScaleOffset {
    number_type: NumberType,
    offset: Option<u64>,
    scale: Option<u64>,
    encode: Option<TileConversion>,
    decode: Option<TileConversion>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Encode,
    Decode,
}

impl ScaleOffset {
    /// Binds the codec. Bits are zero-extended to 64. The caller must have rejected a zero `scale`.
    pub fn new(number_type: NumberType, offset: Option<u64>, scale: Option<u64>) -> Self {
        let mut bound = ScaleOffset { number_type, offset, scale, encode: None, decode: None };
        let select = |direction| bound.select(direction);
        (bound.encode, bound.decode) = (select(Direction::Encode), select(Direction::Decode));
        bound
    }

    /// Returns the type of the elements, on both sides.
    pub fn number_type(&self) -> NumberType {
        self.number_type
    }

    /// Returns the bits of the offset, if there is one.
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Returns the bits of the scale, if there is one.
    pub fn scale(&self) -> Option<u64> {
        self.scale
    }

    /// Computes `(x - offset) * scale`, each operation rounded once in the type.
    pub fn encode(&self, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
        self.convert(Direction::Encode, source, target)
    }

    /// Computes `x / scale + offset`, each operation rounded once in the type.
    pub fn decode(&self, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
        self.convert(Direction::Decode, source, target)
    }

    /// Encodes one value by the exact path.
    pub fn encode_one(&self, bits: u64) -> Result<u64, FaultKind> {
        self.convert_one(Direction::Encode, bits)
    }

    /// Decodes one value by the exact path.
    pub fn decode_one(&self, bits: u64) -> Result<u64, FaultKind> {
        self.convert_one(Direction::Decode, bits)
    }

    /// Returns the conversion of tiles that do not need the exact path.
    fn select(&self, direction: Direction) -> Option<TileConversion> {
        if self.number_type.small_float().is_some() && self.number_type.size() == 1 {
            let own = self.clone();
            return Some(ResultTable::conversion((1, 1), move |bits| own.convert_one(direction, bits)));
        }
        loops::select(self.number_type, (self.offset, self.scale), direction)
    }

    fn convert(&self, direction: Direction, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
        let size = self.number_type.size();
        let fast = if direction == Direction::Encode { &self.encode } else { &self.decode };
        for_each_tile((source, size), (target, size), |source, target, first| {
            if fast.as_ref().is_some_and(|fast| !fast.run(source, target)) {
                return Ok(());
            }
            convert_each((source, size), (target, size), first, |bits| self.convert_one(direction, bits))
        })
    }

    fn convert_one(&self, direction: Direction, bits: u64) -> Result<u64, FaultKind> {
        if !is_of_type(bits, self.number_type) {
            return Err(FaultKind::NotOfType);
        }
        if !self.number_type.is_float() {
            return self.integer(direction, bits);
        }
        match direction {
            Direction::Encode => {
                let shifted = self.operation(bits, self.offset, f64::sub)?;
                self.operation(shifted, self.scale, f64::mul)
            }
            Direction::Decode => {
                let divided = self.operation(bits, self.scale, f64::div)?;
                self.operation(divided, self.offset, f64::add)
            }
        }
    }

    /// Runs one float operation, rounded once. Without its parameter it is skipped.
    fn operation(&self, bits: u64, parameter: Option<u64>, apply: Operation) -> Result<u64, FaultKind> {
        let Some(parameter) = parameter else { return Ok(bits) };
        if let Some(float) = self.number_type.small_float() {
            return self.small_operation(float.format(), [bits, parameter], apply);
        }
        with_float!(self.number_type.element(), T => {
            // The float64 of a result can be rounded to 24 bits of significand or fewer without rounding twice.
            let [x, parameter]: [f64; 2] = [bits, parameter].map(|bits| T::from_bits64(bits).as_());
            let result: T = apply(x, parameter).as_();
            let became_infinite = x.is_finite() && AsPrimitive::<f64>::as_(result).is_infinite();
            if became_infinite { Err(FaultKind::Overflow) } else { Ok(result.to_bits64()) }
        }, else Ok(bits))
    }

    /// Runs one operation of a small float. NaN keeps its bits, but becomes quiet.
    ///
    /// The precision of float64 is more than twice that of a small float (at most 8 bits) plus two bits. So rounding to
    /// 53 bits and then to the small float equals one rounding, even for subnormal numbers.
    fn small_operation(&self, format: FloatFormat, operands: [u64; 2], apply: Operation) -> Result<u64, FaultKind> {
        let quiet = if format.is_ieee() { 1 << (format.fraction_bits - 1) } else { 0 };
        if let Some(nan) = operands.into_iter().find(|bits| format.is_nan(*bits)) {
            return Ok(nan | quiet);
        }
        let [x, parameter] = operands.map(|bits| Value::new(bits, self.number_type).to_f64());
        let result = apply(x, parameter);
        if result.is_nan() {
            // From infinities alone, which only types with NaN have.
            return format.canonical_nan().ok_or(FaultKind::Overflow);
        }
        if x.is_finite() && result.is_infinite() {
            return Err(FaultKind::Overflow);
        }
        let result = Value::new(result.to_bits(), NumberType::of(ElementType::Float64));
        result.to_float(format, Rounding::NearestEven).map_err(|_| FaultKind::Overflow)
    }

    /// Runs both steps in integers, each in the range of the type.
    fn integer(&self, direction: Direction, bits: u64) -> Result<u64, FaultKind> {
        let (least, greatest) = self.number_type.integer_bounds().unwrap_or_default();
        let in_range =
            |value: Option<i128>| value.filter(|value| (least..=greatest).contains(value)).ok_or(FaultKind::Overflow);
        let element = self.number_type.element();
        let x = integer_of(bits, element);
        let offset = self.offset.map_or(0, |bits| integer_of(bits, element));
        let scale = self.scale.map_or(1, |bits| integer_of(bits, element));
        let result = match direction {
            Direction::Encode => {
                let shifted = in_range(x.checked_sub(offset))?;
                in_range(shifted.checked_mul(scale))?
            }
            Direction::Decode => {
                if x.checked_rem(scale) != Some(0) {
                    return Err(FaultKind::Remainder);
                }
                let divided = in_range(x.checked_div(scale))?;
                in_range(divided.checked_add(offset))?
            }
        };
        Ok(low_bits(result, self.number_type))
    }
}

/// One of the four operations of the codec, on an element and its parameter.
type Operation = fn(f64, f64) -> f64;
