//! Unpacking of CF packed data: `code * scale_factor + add_offset`, computed in float64 and rounded once to the target
//! (CF conventions, section 8.1). Codes of missing values become NaN. Packed floats are unpacked in the same way.

use num_traits::AsPrimitive;

use crate::element::{Element, ElementType, NumberType, integer_of, number_value};
use crate::with_element;

/// The unpacking of one variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Unpack {
    /// The type of the codes.
    pub source: NumberType,
    /// The float type of the values.
    pub target: NumberType,
    scale_factor: f64,
    add_offset: f64,
    missing: Vec<i128>,
}

impl Unpack {
    /// Binds it. `target` is float32 or float64, `missing` are the integer codes that become NaN.
    pub fn new(source: NumberType, target: NumberType, scale_factor: f64, add_offset: f64, missing: Vec<i128>) -> Self {
        Unpack { source, target, scale_factor, add_offset, missing }
    }

    /// Unpacks native-endian codes, as many as the shorter of both slices has.
    pub fn convert(&self, source: &[u8], target: &mut [u8]) {
        with_element!(self.source.element(), S => match self.target.element() {
            ElementType::Float32 => self.run::<S, f32>(source, target),
            _ => self.run::<S, f64>(source, target),
        });
    }

    fn run<S: Element + AsPrimitive<f64>, T: Element>(&self, source: &[u8], target: &mut [u8])
    where
        f64: AsPrimitive<T>,
    {
        let source = source.chunks_exact(size_of::<S>()).map(bytemuck::pod_read_unaligned::<S>);
        for (code, value) in source.zip(target.chunks_exact_mut(size_of::<T>())) {
            // This is the only rounding to the target.
            let unpacked: T = self.value(code).as_();
            value.copy_from_slice(bytemuck::bytes_of(&unpacked));
        }
    }

    fn value<S: Element + AsPrimitive<f64>>(&self, code: S) -> f64 {
        let is_missing = || self.missing.contains(&integer_of(code.to_bits64(), S::TYPE));
        if !self.missing.is_empty() && !S::TYPE.is_float() && is_missing() {
            return f64::NAN;
        }
        // The patterns of floats of up to 16 bits other than float16 are not numbers themselves.
        let is_pattern = self.source.is_float() && !S::TYPE.is_float();
        let number = if is_pattern { number_value(self.source, code.to_bits64()) } else { code.as_() };
        number * self.scale_factor + self.add_offset
    }

    /// Returns the value of one code, from its bits.
    pub fn value_of_bits(&self, bits: u64) -> f64 {
        with_element!(self.source.element(), T => self.value(T::from_bits64(bits)))
    }
}
