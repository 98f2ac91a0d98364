//! The elements of an array as numbers for the kernels: unchanged, 0 and 1 for `bool`, float32 for smaller floats.

use crate::codec::element_bits;
use crate::codec::fault::number_value;
use crate::data_type::DataType;
use crate::element::{ElementType, NumberType};
use crate::kernel::Rounding;
use crate::kernel::missing::{MissingCount, MissingFilter};
use crate::kernel::unpack::Unpack;
use crate::operation::cf::unpacking;
use crate::operation::quantize::range::FloatType;
use crate::operation::{CfOptions, OpenedArray, Result, cf};

/// The number of elements that are looked up at a time: some tiles of the kernels.
const LOOKED_UP: usize = 1 << 13;

/// A conversion of an array's elements to the numbers that CF readers see.
#[derive(Debug, Clone)]
pub(super) struct CfNumbers {
    stored: Numbers,
    missing: MissingFilter,
    unpack: Option<Unpack>,
    /// The fill value as a number. It has no meaning if the fill value counts as missing.
    pub fill_bits: u64,
    /// True if the fill value counts as missing. It is then the first value of the filter.
    pub fill_is_missing: bool,
}

impl CfNumbers {
    /// Returns the numbers of an array. `None` for a type whose values are not real numbers.
    pub(super) fn new(source: &OpenedArray, options: &CfOptions) -> Result<Option<Self>> {
        let Some(stored) = Numbers::new(&source.data_type) else { return Ok(None) };
        let number_type = stored.number_type();
        let (mut missing, mut unpack) = (Vec::new(), None);
        if source.data_type != DataType::Bool {
            missing = cf::missing_values(source, number_type, options.missing.as_ref())?;
            if options.unpacks {
                unpack = unpacking(source, number_type, NumberType::of(ElementType::Float64))?;
            }
        }
        let fill = source.fill_value.as_ref().map_or(0, |fill| stored.bits(fill.as_bytes()));
        let fill_is_missing = MissingFilter::new(number_type, &missing).contains(fill);
        if fill_is_missing {
            missing.insert(0, fill);
        }
        let fill_bits = unpack.as_ref().map_or(fill, |unpack| unpack.value_of_bits(fill).to_bits());
        let missing = MissingFilter::new(number_type, &missing);
        Ok(Some(CfNumbers { stored, missing, unpack, fill_bits, fill_is_missing }))
    }

    pub(super) fn number_type(&self) -> NumberType {
        self.unpack.as_ref().map_or_else(|| self.stored.number_type(), Unpack::target)
    }

    /// Returns the size of a stored element, in bytes.
    pub(super) fn size(&self) -> usize {
        self.stored.size()
    }

    /// Returns the number of an element. NaN if it is missing.
    pub(super) fn value(&self, element: &[u8]) -> f64 {
        let bits = self.stored.bits(element);
        if self.missing.contains(bits) {
            return f64::NAN;
        }
        match &self.unpack {
            Some(unpack) => unpack.value_of_bits(bits),
            None => number_value(self.stored.number_type(), bits),
        }
    }

    /// Passes elements that are not missing to `visit` as numbers, piece by piece. Returns the number of missing ones.
    pub(super) fn each_piece(&self, elements: &[u8], mut visit: impl FnMut(&[u8])) -> MissingCount {
        let mut count = MissingCount::default();
        if self.missing.is_empty() {
            self.stored.each_piece(elements, |numbers| self.unpacked(numbers, &mut visit));
            return count;
        }
        self.stored.each_piece(elements, |numbers| {
            count += self.missing.each_present(numbers, |present| self.unpacked(present, &mut visit));
        });
        count
    }

    fn unpacked(&self, numbers: &[u8], visit: &mut impl FnMut(&[u8])) {
        match &self.unpack {
            Some(unpack) => unpacked(unpack, numbers, visit),
            None => visit(numbers),
        }
    }
}

fn unpacked(unpack: &Unpack, numbers: &[u8], visit: &mut impl FnMut(&[u8])) {
    let (size, target_size) = (unpack.source().size(), unpack.target().size());
    let mut values = vec![0.0_f64; (numbers.len() / size).min(LOOKED_UP)];
    for piece in numbers.chunks(LOOKED_UP * size) {
        let values = bytemuck::cast_slice_mut::<f64, u8>(&mut values);
        let length = piece.len() / size * target_size;
        unpack.convert(piece, &mut values[..length]);
        visit(&values[..length]);
    }
}

/// A conversion of stored elements to numbers.
#[derive(Debug, Clone)]
pub(super) enum Numbers {
    /// The stored numbers.
    Own(NumberType),
    /// The floats that CF attributes make of them.
    Unpacked(Box<Unpack>),
    /// A table of float32, which represents every value of the type. It has an entry per pattern of this many bytes.
    Table(usize, Vec<f32>),
}

impl Numbers {
    /// Returns the numbers of a type. `None` for a type whose values are not real numbers.
    pub(super) fn new(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Bool => Some(Numbers::Own(NumberType::of(ElementType::UInt8))),
            DataType::Number(number_type) => {
                let Some(float) = number_type.small_float() else {
                    return Some(Numbers::Own(*number_type));
                };
                #[expect(clippy::cast_possible_truncation, reason = "every value of these types is one of float32")]
                let value = |bits: u64| float.to_f64(bits).map_or(f32::NAN, |value| value as f32);
                let patterns = 1_u64 << (8 * float.size());
                Some(Numbers::Table(float.size(), (0..patterns).map(value).collect()))
            }
            _ => None,
        }
    }

    pub(super) fn number_type(&self) -> NumberType {
        match self {
            Numbers::Own(number_type) => *number_type,
            Numbers::Unpacked(unpack) => unpack.target(),
            Numbers::Table(..) => NumberType::of(ElementType::Float32),
        }
    }

    /// Returns the size of a stored element, in bytes.
    pub(super) fn size(&self) -> usize {
        match self {
            Numbers::Own(number_type) => number_type.size(),
            Numbers::Unpacked(unpack) => unpack.source().size(),
            Numbers::Table(size, _) => *size,
        }
    }

    /// Returns the bits of the number of an element.
    pub(super) fn bits(&self, element: &[u8]) -> u64 {
        let bits = element_bits(element);
        match self {
            Numbers::Own(_) => bits,
            Numbers::Unpacked(unpack) => {
                let float = FloatType(unpack.target());
                float.bits(float.round(unpack.value_of_bits(bits), Rounding::NearestEven))
            }
            Numbers::Table(_, values) => u64::from(look_up(values, bits).to_bits()),
        }
    }

    /// Passes elements to `visit` as numbers, piece by piece.
    pub(super) fn each_piece(&self, elements: &[u8], mut visit: impl FnMut(&[u8])) {
        let (size, values) = match self {
            Numbers::Own(_) => return visit(elements),
            Numbers::Unpacked(unpack) => return unpacked(unpack, elements, &mut visit),
            Numbers::Table(size, values) => (size, values),
        };
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
        let float = DataType::Number(NumberType::small(SmallFloat::from_name("bfloat16").unwrap()));
        let numbers = Numbers::new(&float).unwrap();
        let elements: Vec<u8> = [0x3f80_u16, 0xc040, 0x7fc0].iter().flat_map(|bits| bits.to_ne_bytes()).collect();
        assert_eq!(numbers.bits(&elements[..2]), u64::from(1_f32.to_bits()));
        let mut seen = Vec::new();
        numbers.each_piece(&elements, |piece| seen.extend_from_slice(bytemuck::cast_slice::<u8, f32>(piece)));
        assert_eq!(seen[..2], [1.0, -3.0]);
        assert!(seen[2].is_nan());
    }
}
