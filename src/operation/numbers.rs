//! The elements of an array as numbers for the kernels: unchanged, 0 and 1 for `bool`, float32 for smaller floats.

use super::cf::{missing_values, unpacking};
use super::{CfOptions, Missing, OpenedArray, Result, quantize::FloatType};
use crate::codec::{element_bits, fault::number_value};
use crate::data_type::DataType;
use crate::element::{ElementType, NumberType};
use crate::kernel::missing::{MissingCount, MissingFilter};
use crate::kernel::{Rounding, unpack::Unpack};

/// The number of elements that are looked up at a time: some tiles of the kernels.
const LOOKED_UP: usize = 1 << 13;

/// A conversion of stored elements to numbers, as they are or as CF readers see them.
#[derive(Debug, Clone)]
pub(super) struct Numbers {
    /// The type of the stored numbers, or of those in the table.
    stored: NumberType,
    /// The value of each pattern of a small float, after its size in bytes. float32 represents them all.
    table: Option<(usize, Vec<f32>)>,
    /// The floats that CF attributes make of the stored numbers.
    unpack: Option<Unpack>,
    /// The stored numbers that count as missing for CF readers.
    missing: MissingFilter,
    /// The fill value as CF readers see it. It has no meaning if the fill value counts as missing.
    pub fill_bits: u64,
    /// True if the fill value counts as missing. It is then the first value of the filter.
    pub fill_is_missing: bool,
}

impl Numbers {
    /// Returns the numbers of a type. `None` for a type whose values are not real numbers.
    pub(super) fn new(data_type: &DataType) -> Option<Self> {
        let byte = NumberType::of(ElementType::UInt8);
        let stored = if *data_type == DataType::Bool { byte } else { data_type.real_number()? };
        let Some(float) = stored.small_float() else { return Some(Numbers::of(stored, None)) };
        #[expect(clippy::cast_possible_truncation, reason = "every value of these types is one of float32")]
        let value = |bits: u64| float.to_f64(bits).map_or(f32::NAN, |value| value as f32);
        let patterns = 1_u64 << (8 * float.size());
        let table = Some((float.size(), (0..patterns).map(value).collect()));
        Some(Numbers { table, ..Numbers::of(NumberType::of(ElementType::Float32), None) })
    }

    /// Returns stored numbers of a type as they are, or those that `unpack` makes of its codes.
    pub(super) fn of(number_type: NumberType, unpack: Option<Unpack>) -> Self {
        let stored = unpack.as_ref().map_or(number_type, |unpack| unpack.source);
        let missing = MissingFilter::new(stored, &[]);
        Numbers { stored, table: None, unpack, missing, fill_bits: 0, fill_is_missing: false }
    }

    /// Returns the numbers of an array as CF readers see them. `None` for a type whose values are not real numbers.
    pub(super) fn as_cf(source: &OpenedArray, options: &CfOptions) -> Result<Option<Self>> {
        let Some(mut numbers) = Numbers::new(&source.data_type) else { return Ok(None) };
        let stored = numbers.stored;
        let mut missing = numbers.missing_of(source, options.missing.as_ref())?;
        if options.unpacks && source.data_type != DataType::Bool {
            numbers.unpack = unpacking(source, stored, NumberType::of(ElementType::Float64))?;
        }
        let fill = numbers.stored_fill(source);
        let fill_is_missing = MissingFilter::new(stored, &missing).contains(fill);
        if fill_is_missing {
            // `MissingCount::first` counts the first value. Statistics report it as the number of fill values.
            missing.insert(0, fill);
        }
        let missing = MissingFilter::new(stored, &missing);
        Ok(Some(Numbers { fill_bits: numbers.fill_of(source), missing, fill_is_missing, ..numbers }))
    }

    /// Returns the bits of the stored numbers that count as missing. Of `bool`, only listed values do.
    pub(super) fn missing_of(&self, source: &OpenedArray, missing: Option<&Missing>) -> Result<Vec<u64>> {
        let is_bool = source.data_type == DataType::Bool;
        let missing = missing.filter(|missing| !is_bool || **missing != Missing::Auto);
        let missing = missing_values(source, source.data_type.real_number().unwrap_or(self.stored), missing)?;
        Ok(missing.into_iter().map(|bits| self.of_bits(bits)).collect())
    }

    /// Returns the numbers of a type as float64. `None` if it does not represent every value: integers of 64 bits.
    pub(super) fn as_f64(data_type: &DataType) -> Option<Self> {
        let numbers = Numbers::new(data_type)?;
        let is_exact = numbers.stored.is_float() || numbers.stored.size() < 8;
        let wide = NumberType::of(ElementType::Float64);
        let unpack = Some(Unpack::new(numbers.stored, wide, 1.0, 0.0, Vec::new()));
        is_exact.then_some(Numbers { unpack, ..numbers })
    }

    /// Converts elements to float64, for numbers of [`Self::as_f64`].
    pub(super) fn convert(&self, elements: &[u8], values: &mut [f64]) {
        if let Some((size, table)) = &self.table {
            let elements = elements.chunks_exact(*size).map(element_bits);
            values.iter_mut().zip(elements).for_each(|(value, bits)| *value = look_up(table, bits).into());
        } else if let Some(unpack) = &self.unpack {
            unpack.convert(elements, bytemuck::cast_slice_mut(values));
        }
    }

    pub(super) fn number_type(&self) -> NumberType {
        self.unpack.as_ref().map_or(self.stored, |unpack| unpack.target)
    }

    /// True if elements are the numbers.
    pub(super) fn are_stored(&self) -> bool {
        self.table.is_none() && self.unpack.is_none()
    }

    /// Returns the size of a stored element, in bytes.
    pub(super) fn size(&self) -> usize {
        self.table.as_ref().map_or(self.stored.size(), |(size, _)| *size)
    }

    /// Returns the bits of the number of absent elements. An array without a fill value has zeros.
    pub(super) fn fill_of(&self, source: &OpenedArray) -> u64 {
        let stored = self.stored_fill(source);
        self.unpack.as_ref().map_or(stored, |unpack| {
            let float = FloatType(unpack.target);
            float.bits(float.round(unpack.value_of_bits(stored), Rounding::NearestEven))
        })
    }

    fn stored_fill(&self, source: &OpenedArray) -> u64 {
        source.fill_value.as_ref().map_or(0, |fill| self.stored_bits(&fill.0))
    }

    /// Returns the bits of the stored number of an element.
    fn stored_bits(&self, element: &[u8]) -> u64 {
        self.of_bits(element_bits(element))
    }

    /// Returns the bits of the stored number of an element with these bits.
    fn of_bits(&self, bits: u64) -> u64 {
        self.table.as_ref().map_or(bits, |(_, values)| look_up(values, bits).to_bits().into())
    }

    /// Returns the number of an element. NaN if it is missing.
    pub(super) fn value(&self, element: &[u8]) -> f64 {
        let bits = self.stored_bits(element);
        match &self.unpack {
            _ if self.missing.contains(bits) => f64::NAN,
            Some(unpack) => unpack.value_of_bits(bits),
            None => number_value(self.stored, bits),
        }
    }

    /// Passes elements that are not missing to `visit` as numbers, piece by piece. Returns the number of missing ones.
    pub(super) fn each_piece(&self, elements: &[u8], mut visit: impl FnMut(&[u8])) -> MissingCount {
        let mut count = MissingCount::default();
        self.each_stored(elements, |stored| {
            if self.missing.is_empty() {
                return self.each_unpacked(stored, &mut visit);
            }
            count += self.missing.each_present(stored, |present| self.each_unpacked(present, &mut visit));
        });
        count
    }

    fn each_stored(&self, elements: &[u8], mut visit: impl FnMut(&[u8])) {
        let Some((size, values)) = &self.table else { return visit(elements) };
        let mut numbers = Vec::with_capacity(LOOKED_UP.min(elements.len() / size));
        for piece in elements.chunks(LOOKED_UP * size) {
            numbers.clear();
            numbers.extend(piece.chunks_exact(*size).map(|element| look_up(values, element_bits(element))));
            visit(bytemuck::cast_slice(&numbers));
        }
    }

    fn each_unpacked(&self, stored: &[u8], visit: &mut impl FnMut(&[u8])) {
        let Some(unpack) = &self.unpack else { return visit(stored) };
        let (size, target_size) = (unpack.source.size(), unpack.target.size());
        // The buffer is of `f64` for its alignment. The target may be float32, which then uses half of it.
        let mut values = vec![0.0_f64; (stored.len() / size).min(LOOKED_UP)];
        for piece in stored.chunks(LOOKED_UP * size) {
            let values = bytemuck::cast_slice_mut::<f64, u8>(&mut values);
            let length = piece.len() / size * target_size;
            unpack.convert(piece, &mut values[..length]);
            visit(&values[..length]);
        }
    }
}

fn look_up(values: &[f32], bits: u64) -> f32 {
    usize::try_from(bits).ok().and_then(|index| values.get(index)).copied().unwrap_or(f32::NAN)
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
        assert_eq!(numbers.stored_bits(&elements[..2]), u64::from(1_f32.to_bits()));
        let mut seen = Vec::new();
        numbers.each_piece(&elements, |piece| seen.extend_from_slice(bytemuck::cast_slice::<u8, f32>(piece)));
        assert_eq!(seen[..2], [1.0, -3.0]);
        assert!(seen[2].is_nan());
    }
}
