//! CF packing undone: `code * scale_factor + add_offset`, computed in float64 and rounded once to the target
//! (CF conventions, section 8.1). Codes that stand for missing values become NaN. Packed floats are unpacked likewise.

use crate::element::{Element, ElementType, NumberType};
use crate::with_element;

/// A bound unpacking.
#[derive(Debug, Clone, PartialEq)]
pub struct Unpack {
    source: NumberType,
    target: NumberType,
    scale_factor: f64,
    add_offset: f64,
    missing: Vec<i128>,
}

/// A packed element as a float64, and as an integer where it is of an integer type.
trait Code: Element {
    fn to_f64(self) -> f64;
    fn to_i128(self) -> Option<i128>;
}

macro_rules! code {
    ($($type:ty),*) => {
        $(impl Code for $type {
            #[allow(
                clippy::cast_precision_loss,
                clippy::cast_lossless,
                reason = "CF packing is defined in float64; integers beyond 2^53 are rounded once"
            )]
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn to_i128(self) -> Option<i128> {
                Some(i128::from(self))
            }
        })*
    };
}

code!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! float_code {
    ($($type:ty),*) => {
        $(impl Code for $type {
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn to_i128(self) -> Option<i128> {
                None
            }
        })*
    };
}

float_code!(half::f16, f32, f64);

impl Unpack {
    /// Binds it: `target` is float32 or float64, `missing` are the integer codes that stand for NaN.
    pub fn new(
        source: NumberType,
        target: NumberType,
        scale_factor: f64,
        add_offset: f64,
        missing: Vec<i128>,
    ) -> Self {
        Unpack { source, target, scale_factor, add_offset, missing }
    }

    /// The type of the codes.
    pub fn source(&self) -> NumberType {
        self.source
    }

    /// The float type of the values.
    pub fn target(&self) -> NumberType {
        self.target
    }

    /// Unpacks native-endian codes; the shorter of both slices decides how many.
    pub fn convert(&self, source: &[u8], target: &mut [u8]) {
        match self.source.element() {
            ElementType::Int8 => self.run::<i8>(source, target),
            ElementType::Int16 => self.run::<i16>(source, target),
            ElementType::Int32 => self.run::<i32>(source, target),
            ElementType::Int64 => self.run::<i64>(source, target),
            ElementType::UInt8 => self.run::<u8>(source, target),
            ElementType::UInt16 => self.run::<u16>(source, target),
            ElementType::UInt32 => self.run::<u32>(source, target),
            ElementType::UInt64 => self.run::<u64>(source, target),
            ElementType::Float16 => self.run::<half::f16>(source, target),
            ElementType::Float32 => self.run::<f32>(source, target),
            ElementType::Float64 => self.run::<f64>(source, target),
        }
    }

    fn run<S: Code>(&self, source: &[u8], target: &mut [u8]) {
        let source = source.chunks_exact(size_of::<S>()).map(bytemuck::pod_read_unaligned::<S>);
        if self.target.element() == ElementType::Float32 {
            for (code, value) in source.zip(target.chunks_exact_mut(4)) {
                #[expect(clippy::cast_possible_truncation, reason = "the one rounding to the target")]
                let unpacked = self.value(code) as f32;
                value.copy_from_slice(&unpacked.to_ne_bytes());
            }
        } else {
            for (code, value) in source.zip(target.chunks_exact_mut(8)) {
                value.copy_from_slice(&self.value(code).to_ne_bytes());
            }
        }
    }

    fn value<S: Code>(&self, code: S) -> f64 {
        if !self.missing.is_empty() && code.to_i128().is_some_and(|code| self.missing.contains(&code)) {
            return f64::NAN;
        }
        code.to_f64() * self.scale_factor + self.add_offset
    }

    /// The value of one code, by its bits.
    pub fn value_of_bits(&self, bits: u64) -> f64 {
        let mut value = [0; 8];
        let wide = Unpack { target: NumberType::of(ElementType::Float64), ..self.clone() };
        with_element!(self.source.element(), T => {
            let code = T::from_bits64(bits);
            wide.convert(bytemuck::bytes_of(&code), &mut value);
        });
        f64::from_ne_bytes(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpack_scales_adds_and_maps_missing_codes() {
        let int16 = NumberType::of(ElementType::Int16);
        let unpack = Unpack::new(int16, NumberType::of(ElementType::Float32), 0.01, 273.15, vec![-32768]);
        let codes: Vec<u8> = [0_i16, 100, -32768].iter().flat_map(|code| code.to_ne_bytes()).collect();
        let mut values = [0; 12];
        unpack.convert(&codes, &mut values);
        let values: Vec<f32> =
            values.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
        assert_eq!(values[..2], [273.15, 274.15]);
        assert!(values[2].is_nan());
    }
}
