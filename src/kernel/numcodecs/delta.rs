//! `delta`: the first element, then the difference of each to the one before it.
//!
//! Differences are taken in `dtype` and cast to `astype`; decoding casts to `dtype` first and adds up there, float16
//! and float32 rounded at each step.

use super::cast::{Excess, NumpyCast, map_elements};
use super::number::Number;
use crate::element::NumberType;
use crate::kernel::ElementFault;
use crate::kernel::tile::for_each_tile;
use crate::with_element;

/// A bound `delta`.
#[derive(Debug, Clone)]
pub struct Delta {
    decoded: NumberType,
    encoded: NumberType,
    encode: NumpyCast,
    decode: NumpyCast,
}

impl Delta {
    /// Binds it to `dtype` and `astype`.
    pub fn new(decoded: NumberType, encoded: NumberType) -> Self {
        let encode = NumpyCast::new(decoded, encoded, Excess::Reversible);
        let decode = NumpyCast::new(encoded, decoded, Excess::Numpy);
        Delta { decoded, encoded, encode, decode }
    }

    /// The types of decoded and encoded elements.
    pub fn types(&self) -> (NumberType, NumberType) {
        (self.decoded, self.encoded)
    }

    /// Encodes native-endian elements, as many as both slices hold.
    pub fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        with_element!(self.decoded.element(), T => self.differences::<T>(decoded, encoded))
    }

    /// Decodes native-endian elements, as many as both slices hold.
    pub fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        with_element!(self.decoded.element(), T => self.sums::<T>(encoded, decoded))
    }

    fn differences<T: Number>(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        let mut previous = None;
        let difference =
            |element: T| Ok(previous.replace(element).map_or(element, |last| element.minus(last)));
        let mut difference = difference;
        self.encode.after(
            (decoded, size_of::<T>()),
            (encoded, self.encoded.size()),
            size_of::<T>(),
            |source, target| map_elements::<T, T>(source, target, &mut difference),
        )
    }

    fn sums<T: Number>(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        let mut sum: Option<T> = None;
        for_each_tile((encoded, self.encoded.size()), (decoded, size_of::<T>()), |source, target, first| {
            self.decode
                .convert(source, target)
                .map_err(|fault| ElementFault { index: first + fault.index, ..fault })?;
            for element in bytemuck::try_cast_slice_mut::<u8, T>(target).unwrap_or_default() {
                let next = sum.map_or(*element, |sum| sum.plus(*element));
                (*element, sum) = (next, Some(next));
            }
            Ok(())
        })
    }
}
