//! `astype`: numpy's cast, both ways.

use std::sync::Arc;

use super::cast::{Excess, NumpyCast, map_elements};
use super::number::Number;
use super::{ElementFilter, FilterElements, NumpyType};
use crate::element::NumberType;
use crate::kernel::ElementFault;
use crate::kernel::tile::for_each_tile;
use crate::with_element;

/// A bound `astype`.
#[derive(Debug)]
struct AsType {
    decoded: NumpyType,
    encoded: NumpyType,
    encode: NumpyCast,
    decode: NumpyCast,
}

/// Binds `astype` to `decode_dtype` and `encode_dtype`.
pub fn as_type(decoded: NumpyType, encoded: NumpyType) -> ElementFilter {
    let (from, to) = (decoded.number(), encoded.number());
    Arc::new(AsType {
        decoded,
        encoded,
        encode: NumpyCast::new(from, to, Excess::Reversible),
        decode: NumpyCast::new(to, from, Excess::Numpy),
    })
}

impl FilterElements for AsType {
    fn types(&self) -> (NumberType, NumberType) {
        (self.decoded.number(), self.encoded.number())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), ElementFault> {
        match self.encoded {
            NumpyType::Bool => truth(self.decoded.number(), decoded, encoded),
            NumpyType::Number(_) => self.encode.convert(decoded, encoded),
        }
    }

    fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), ElementFault> {
        match self.decoded {
            NumpyType::Bool => truth(self.encoded.number(), encoded, decoded),
            NumpyType::Number(_) => self.decode.convert(encoded, decoded),
        }
    }
}

/// Everything but zero is true, NaN as well.
fn truth(source_type: NumberType, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
    with_element!(source_type.element(), T => {
        for_each_tile((source, size_of::<T>()), (target, 1), |source, target, _| {
            map_elements::<T, u8>(source, target, |value| Ok(u8::from(value.to_f64() != 0.0)))
        })
    })
}
