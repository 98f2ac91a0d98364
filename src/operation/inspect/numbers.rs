//! An array's elements as numbers that the kernels know: their own, 0 and 1 for `bool`, float32 for smaller floats.

use crate::codec::element_bits;
use crate::codec::fault::number_value;
use crate::data_type::DataType;
use crate::element::{ElementType, NumberType};

/// Elements that are looked up at a time: some tiles of the kernels.
const LOOKED_UP: usize = 1 << 13;

/// How elements are read.
#[derive(Debug, Clone)]
pub(super) enum Numbers {
    /// As they are.
    Own(NumberType),
    /// By a table of float32, which holds every value of the type: an entry for each pattern of this many bytes.
    Table(usize, Vec<f32>),
}

impl Numbers {
    /// The numbers of a type; `None` for a type whose values are no real numbers.
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Bool => Some(Numbers::Own(NumberType::of(ElementType::UInt8))),
            DataType::Number(number_type) => Some(Numbers::Own(*number_type)),
            DataType::SmallFloat(float) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "every value of these types is one of float32"
                )]
                let value = |bits: u64| float.to_f64(bits).map_or(f32::NAN, |value| value as f32);
                let patterns = 1_u64 << (8 * float.size());
                Some(Numbers::Table(float.size(), (0..patterns).map(value).collect()))
            }
            _ => None,
        }
    }

    /// What they are read as.
    pub(super) fn number_type(&self) -> NumberType {
        match self {
            Numbers::Own(number_type) => *number_type,
            Numbers::Table(..) => NumberType::of(ElementType::Float32),
        }
    }

    /// Bytes of a stored element.
    pub(super) fn size(&self) -> usize {
        match self {
            Numbers::Own(number_type) => number_type.size(),
            Numbers::Table(size, _) => *size,
        }
    }

    /// The bits of the number that an element is.
    pub(super) fn bits(&self, element: &[u8]) -> u64 {
        let bits = element_bits(element);
        match self {
            Numbers::Own(_) => bits,
            Numbers::Table(_, values) => u64::from(look_up(values, bits).to_bits()),
        }
    }

    /// The number that an element is.
    pub(super) fn value(&self, element: &[u8]) -> f64 {
        number_value(self.number_type(), self.bits(element))
    }

    /// Gives elements to `visit` as numbers, piece by piece.
    pub(super) fn each_piece(&self, elements: &[u8], mut visit: impl FnMut(&[u8])) {
        let Numbers::Table(size, values) = self else { return visit(elements) };
        let mut numbers = Vec::with_capacity(LOOKED_UP.min(elements.len() / size));
        for piece in elements.chunks(LOOKED_UP * size) {
            numbers.clear();
            numbers.extend(piece.chunks_exact(*size).map(|element| look_up(values, element_bits(element))));
            visit(bytemuck::cast_slice(&numbers));
        }
    }
}

fn look_up(values: &[f32], bits: u64) -> f32 {
    usize::try_from(bits).ok().and_then(|place| values.get(place)).copied().unwrap_or(f32::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::SmallFloat;

    #[test]
    fn small_floats_are_read_by_a_table() {
        let float = DataType::SmallFloat(SmallFloat::from_name("bfloat16").unwrap());
        let numbers = Numbers::of(&float).unwrap();
        let elements: Vec<u8> =
            [0x3f80_u16, 0xc040, 0x7fc0].iter().flat_map(|bits| bits.to_ne_bytes()).collect();
        assert_eq!(numbers.value(&elements[..2]), 1.0);
        let mut seen = Vec::new();
        numbers.each_piece(&elements, |piece| seen.extend_from_slice(bytemuck::cast_slice::<u8, f32>(piece)));
        assert_eq!(seen[..2], [1.0, -3.0]);
        assert!(seen[2].is_nan());
    }
}
