//! `delta`: the first element, then the difference of each to the one before it.
//!
//! Differences are computed in `dtype`, where integers wrap, and cast to `astype`. Decoding adds in the type that can
//! represent both, or in float64 if no integer can. It casts every sum to `dtype` last (run, numpy 2.4).

use super::{ElementFilter, Number, NumpyCast, OverflowRule};
use crate::element::{ElementType, NumberType};
use crate::kernel::{ElementFault, FaultKind};
use crate::with_element;

/// A `delta` filter bound to its two data types.
#[derive(Debug, Clone)]
pub struct Delta {
    decoded: NumberType,
    encoded: NumberType,
    /// The type of the sums.
    sum: NumberType,
    encode: NumpyCast,
    to_sum: NumpyCast,
    from_sum: NumpyCast,
}

/// Returns the least type that can represent two others, as numpy promotes them. It is float64 if there is none.
pub fn promoted(one: NumberType, other: NumberType) -> NumberType {
    let float = |bits: u32| match bits {
        ..=16 => NumberType::of(ElementType::Float16),
        17..=32 => NumberType::of(ElementType::Float32),
        _ => NumberType::of(ElementType::Float64),
    };
    let is_signed = |number: NumberType| number.element().is_signed_integer();
    // Bits of a float that can represent all integers of a type.
    let as_float = |number: NumberType| if number.is_float() { number.bits() } else { 2 * number.bits() };
    if one.is_float() || other.is_float() {
        return float(as_float(one).max(as_float(other)));
    }
    // An unsigned integer needs twice the bits with a sign.
    let as_signed = |number: NumberType| if is_signed(number) { number.bits() } else { 2 * number.bits() };
    let (signed, bits) = if is_signed(one) == is_signed(other) {
        (is_signed(one), one.bits().max(other.bits()))
    } else {
        (true, as_signed(one).max(as_signed(other)))
    };
    NumberType::integer(signed, bits).unwrap_or(NumberType::of(ElementType::Float64))
}

impl Delta {
    /// Binds it to `dtype` and `astype`.
    pub fn new(decoded: NumberType, encoded: NumberType) -> Self {
        let sum = promoted(decoded, encoded);
        Delta {
            decoded,
            encoded,
            sum,
            encode: NumpyCast::new(decoded, encoded, OverflowRule::Reversible),
            to_sum: NumpyCast::new(encoded, sum, OverflowRule::Numpy),
            from_sum: NumpyCast::new(sum, decoded, OverflowRule::Numpy),
        }
    }

    /// Returns true for integers of one type, whose differences wrap.
    pub fn wraps_in_place(&self) -> bool {
        self.decoded == self.encoded && !self.decoded.is_float()
    }

    /// Returns true if decoding returns every value exactly: integers whose sums are integers.
    pub fn is_exact(&self) -> bool {
        !self.decoded.is_float() && !self.sum.is_float()
    }

    /// Encodes as many native-endian elements as both slices have.
    pub fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        with_element!(self.decoded.element(), T => self.differences::<T>(decoded, encoded))
    }

    /// Decodes as many native-endian elements as both slices have.
    pub fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        with_element!(self.sum.element(), T => self.sums::<T>(encoded, decoded))
    }

    fn differences<T: Number>(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        // A sum that wraps corrects a difference that has wrapped. Floats do not wrap.
        let wraps = self.decoded.is_float() || !self.sum.is_float();
        let mut previous: Option<T> = None;
        let difference = |element: T| {
            let Some(last) = previous.replace(element) else { return Ok(element) };
            let exact = || element.to_i128().zip(last.to_i128()).map(|(one, other)| one - other);
            if wraps || exact().and_then(num_traits::cast::<i128, T>).is_some() {
                Ok(element.minus(last))
            } else {
                Err(FaultKind::Overflow)
            }
        };
        self.encode.after_each(decoded, encoded, difference)
    }

    fn sums<T: Number>(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        let mut sum: Option<T> = None;
        self.from_sum.after::<T>((encoded, self.encoded.size()), decoded, |source, sums| {
            self.to_sum.convert(source, sums)?;
            for element in bytemuck::try_cast_slice_mut::<u8, T>(sums).unwrap_or_default() {
                // The sum goes on over all tiles of the chunk.
                let next = sum.map_or(*element, |sum| sum.plus(*element));
                (*element, sum) = (next, Some(next));
            }
            Ok(())
        })
    }
}

/// Binds `delta` to `dtype` and `astype`.
pub fn delta(decoded: NumberType, encoded: NumberType) -> ElementFilter {
    let own = Delta::new(decoded, encoded);
    let (encoder, decoder) = (own.clone(), own.clone());
    let filter = ElementFilter::new(
        (decoded, encoded),
        move |elements, differences| encoder.encode(elements, differences),
        move |differences, elements| decoder.decode(differences, elements),
    );
    ElementFilter { delta: Some(own), ..filter }
}
