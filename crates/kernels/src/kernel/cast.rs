//! `cast_value` over slices: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value>.
//!
//! [`Cast`] is one direction of the codec. All rules are in the exact path, `convert_one`. The loops of the module
//! below return the same results for ordinary values, and flag tiles with any others.

mod loops;

use std::marker::PhantomData;
use std::ops::BitAnd;
use std::sync::Arc;

use num_traits::AsPrimitive;

use super::dispatch::ResultTable;
use super::dispatch::{TileConversion, TileKernel, TileLoop};
use super::exact::{RangeError, Value, wrapped};
use super::quantize::QuantizeFigures;
use super::tile::{TILE, TileBuffer, convert_each, for_each_tile, read_bits, write_bits};
use super::{ElementFault, FaultKind, OutOfRange, Rounding};
use crate::element::{
    Element, ElementType, FloatFormat, NumberType, element_bits, integer_bits, is_of_type, low_bits, number_value,
    with_bits,
};
use crate::{with_element, with_float};

/// One direction of `cast_value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CastOptions {
    /// The type of the source values.
    pub source: NumberType,
    /// The type of the results.
    pub target: NumberType,
    /// The rounding of inexact values.
    pub rounding: Rounding,
    /// The treatment of values outside the target's range.
    pub out_of_range: OutOfRange,
    /// `(source bits, target bits)`, each zero-extended to 64 bits, in the order of the metadata. The first match is
    /// used.
    pub scalar_map: Vec<(u64, u64)>,
}

/// A bound cast.
#[derive(Debug, Clone)]
pub struct Cast {
    /// The options that it is bound to.
    pub options: CastOptions,
    map: Arc<ScalarMap>,
    fast: Option<FastCast>,
}

/// The conversion of tiles that do not need the exact path.
#[derive(Debug, Clone)]
struct FastCast {
    /// The step before the conversion, and the bytes of an element after it.
    first_step: Option<(TileConversion, usize)>,
    conversion: TileConversion,
    /// The entries of the scalar map that the conversion does not handle itself.
    replacing: Option<Replacing>,
    /// Bytes of an element of both types.
    sizes: (usize, usize),
}

impl Cast {
    /// Counts the converted floats, NaN, those that were rounded to integers, and those that became what NaN became.
    pub fn count(&self, source: &[u8], converted: &[u8], figures: &mut QuantizeFigures) {
        let CastOptions { source: from, target, scalar_map, .. } = &self.options;
        if target.is_float() && scalar_map.is_empty() {
            return;
        }
        if !from.is_float() {
            return;
        }
        let (mut nan, mut rounded) = (0_u64, 0_u64);
        let mut count = |value: f64| {
            nan += u64::from(value.is_nan());
            // For infinities and NaN the difference is NaN.
            rounded += u64::from((value - value.trunc()).abs() > 0.0);
        };
        with_float!(from.element(), S => {
            source.chunks_exact(size_of::<S>()).for_each(|element| count(bytemuck::pod_read_unaligned::<S>(element).as_()));
        }, else {
            source.chunks_exact(from.size()).for_each(|element| count(number_value(*from, element_bits(element))));
        });
        figures.count += (source.len() / from.size()) as u64;
        figures.nan += nan;
        figures.rounded += if target.is_float() { 0 } else { rounded };
        // A change of data type has no entry but that of NaN (`--nan-value`).
        let Some((_, of_nan)) = scalar_map.first() else { return };
        let same = with_element!(target.element(), T => {
            let is_same = |element: &&[u8]| bytemuck::pod_read_unaligned::<T>(element) == T::from_bits64(*of_nan);
            converted.chunks_exact(size_of::<T>()).filter(is_same).count()
        });
        figures.like_nan += (same as u64).saturating_sub(nan);
    }

    /// Binds a cast to the best loop for this machine.
    pub fn new(options: CastOptions) -> Self {
        let map = Arc::new(ScalarMap::new(&options.scalar_map, options.source.float_format()));
        let mut cast = Cast { options, map, fast: None };
        cast.fast = Some(FastCast::new(&cast));
        cast
    }

    /// Returns a cast without a map. Values outside the range of `target` are faults.
    pub fn with_rounding(source: NumberType, target: NumberType, rounding: Rounding) -> Self {
        let (out_of_range, scalar_map) = (OutOfRange::Error, Vec::new());
        Self::new(CastOptions { source, target, rounding, out_of_range, scalar_map })
    }

    /// Returns a cast that fails for values outside the range of a type with unused bits. `None` if all bits count.
    pub fn range_check(number_type: NumberType) -> Option<Self> {
        (!number_type.is_whole()).then(|| Self::with_rounding(number_type, number_type, Rounding::NearestEven))
    }

    /// Returns true if it is a cast of integers that changes no value.
    pub fn is_identity(&self) -> bool {
        let CastOptions { source, target, scalar_map, .. } = &self.options;
        source == target && source.is_whole() && !source.is_float() && scalar_map.is_empty()
    }

    /// Converts the elements of `source` into `target` (native-endian elements, any alignment, equal counts).
    ///
    /// After a fault the contents of `target` are unspecified.
    pub fn convert(&self, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
        let (source_size, target_size) = (self.options.source.size(), self.options.target.size());
        for_each_tile((source, source_size), (target, target_size), |source, target, first| {
            if self.fast.as_ref().is_some_and(|fast| fast.convert(source, target)) {
                return Ok(());
            }
            convert_each((source, source_size), (target, target_size), first, |bits| self.convert_one(bits))
        })
    }

    /// Converts one value by the exact path. Bits are zero-extended to 64.
    pub fn convert_one(&self, bits: u64) -> Result<u64, FaultKind> {
        let CastOptions { source, target, .. } = self.options;
        // The map comes before every other check, so a mapped value may be out of range (SEMANTICS: A2.10).
        if let Some(mapped) = self.map.get(bits) {
            return Ok(mapped);
        }
        if !is_of_type(bits, source) {
            return Err(FaultKind::NotOfType);
        }
        // An equal type keeps all bits, those of a NaN, too (SEMANTICS: B11).
        if source == target { Ok(bits) } else { self.convert_value(Value::new(bits, source)) }
    }

    /// Converts a value of any type, without the scalar map.
    fn convert_value(&self, value: Value) -> Result<u64, FaultKind> {
        let CastOptions { target, rounding, out_of_range, .. } = self.options;
        match target.float_format() {
            Some(format) => {
                let rounded = value.to_float(format, rounding);
                // `wrap` to a float is an error in the metadata, except as the inverse of a cast to an integer.
                let bounded = match rounded {
                    Err(outside) if out_of_range == OutOfRange::Clamp => format.clamped(outside),
                    rounded => rounded,
                };
                bounded.map_err(RangeError::fault)
            }
            None => self.to_integer(value),
        }
    }

    /// Runs steps (ii) and (iii) of the codec for an integer target.
    fn to_integer(&self, value: Value) -> Result<u64, FaultKind> {
        let target = self.options.target;
        let rounded = value.to_integer(self.options.rounding)?;
        // The range is tested after rounding: 255.4 becomes 255 as uint8, not a fault (SEMANTICS: A2.6).
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

    /// Returns the scalar map's value for NaN, as bits of the float of the calculation. `None` if the map has other
    /// entries.
    fn nan_bits(&self) -> Option<u64> {
        let [(key, value)] = self.options.scalar_map.as_slice() else { return None };
        let is_nan = Some(*key) == self.options.source.float_format()?.canonical_nan();
        (is_nan && !self.options.target.is_float()).then(|| loops::nan_bits(*value, &self.options))?
    }
}

impl FastCast {
    fn new(cast: &Cast) -> Self {
        let (options, own) = (&cast.options, cast.clone());
        let sizes = (options.source.size(), options.target.size());
        let is_small = |number_type: NumberType| number_type.small_float().is_some() && number_type.size() == 1;
        let to_small = is_small(options.target);
        // No loop reads or writes small floats of one byte. A table has their results for each source of one or two
        // bytes.
        let is_tabled = match sizes.0 {
            1 => options.source.small_float().is_some() || options.target.small_float().is_some(),
            2 => to_small,
            _ => false,
        };
        if is_tabled || (sizes.0 <= 2 && options.scalar_map.len() > MOST_TESTED) {
            let conversion = ResultTable::conversion(sizes, move |bits| own.convert_one(bits));
            return FastCast { first_step: None, conversion, replacing: None, sizes };
        }
        let nan_bits = cast.nan_bits();
        let conversion = if to_small {
            let float32 = NumberType::of(ElementType::Float32);
            ResultTable::conversion((2, 1), move |key| own.convert_value(Value::new(key << 16, float32)))
        } else {
            loops::select(options, nan_bits)
        };
        let format = options.source.float_format();
        let replacing = match options.scalar_map.len() {
            0 => None,
            _ if nan_bits.is_some() => None,
            1..=MOST_TESTED => Some(Replacing::by_rules(&options.scalar_map, format, sizes)),
            _ => Some(Replacing::Lookup(cast.map.clone())),
        };
        FastCast { first_step: loops::first_step(options), conversion, replacing, sizes }
    }

    /// Converts a tile. Returns false if it needs the exact path.
    fn convert(&self, source: &[u8], target: &mut [u8]) -> bool {
        let Some(replacing) = &self.replacing else { return self.convert_values(source, target) };
        let mut buffer = TileBuffer::new();
        let harmless = buffer.bytes_mut(source.len());
        replacing.around((source, harmless), target, self.sizes, |source, target| self.convert_values(source, target))
    }

    /// Converts a tile without the scalar map. Returns false if it needs the exact path.
    fn convert_values(&self, source: &[u8], target: &mut [u8]) -> bool {
        let Some((first_step, size)) = &self.first_step else { return !self.conversion.run(source, target) };
        let mut buffer = TileBuffer::new();
        let between = buffer.bytes_mut(source.len() / self.sizes.0 * size);
        !first_step.run(source, between) && !self.conversion.run(between, target)
    }
}

// Scalar maps. A single value is looked up. In the fast path, matching elements are set to 0 before the loop and
// replaced after it.

/// The most entries for which it is faster to test all, many elements at a time, than to look up each element.
const MOST_TESTED: usize = 24;

/// A scalar map as a hash table, so that the number of entries does not matter.
#[derive(Debug)]
struct ScalarMap {
    entries: Vec<(u64, u64)>,
    /// One more than the index of an entry, or 0 for none. At most a quarter of the slots is used.
    slots: Vec<u32>,
    /// The number of bits of a key's hash that are not its slot.
    shift: u32,
    format: Option<FloatFormat>,
    /// The result for the canonical NaN, which is used for every other NaN.
    nan: Option<u64>,
    /// The result for a zero, which is used for the other zero.
    zero: Option<u64>,
}

impl ScalarMap {
    fn new(entries: &[(u64, u64)], format: Option<FloatFormat>) -> Self {
        let value_of = |is_meant: &dyn Fn(FloatFormat, u64) -> bool| {
            let of_kind = entries.iter().find(|entry| format.is_some_and(|format| is_meant(format, entry.0)));
            of_kind.map(|entry| entry.1)
        };
        let nan = value_of(&|format, key| Some(key) == format.canonical_nan());
        let zero = value_of(&|format, key| format.is_zero(key));
        // With no bit at all `shift` would be 64, which is too much for a u64.
        let bits = (4 * entries.len()).next_power_of_two().ilog2().max(1);
        let mut map = ScalarMap {
            entries: entries.to_vec(),
            slots: vec![0; 1 << bits],
            shift: u64::BITS - bits,
            format,
            nan,
            zero,
        };
        for (number, (key, _)) in (1..).zip(entries) {
            let mut slot = map.slot(*key);
            while map.slots[slot] != 0 && map.entry(slot).0 != *key {
                slot = map.next(slot);
            }
            // The first entry of a key counts.
            if map.slots[slot] == 0 {
                map.slots[slot] = number;
            }
        }
        map
    }

    /// Returns the result of the matching entry. An entry of exactly these bits has priority.
    #[inline]
    fn get(&self, bits: u64) -> Option<u64> {
        let mut slot = self.slot(bits);
        while self.slots[slot] != 0 {
            let (key, value) = self.entry(slot);
            if key == bits {
                return Some(value);
            }
            slot = self.next(slot);
        }
        // Other patterns of NaN and zero match by value (SEMANTICS: B12, B14).
        let format = self.format?;
        if self.nan.is_some() && format.is_nan(bits) { self.nan } else { self.zero.filter(|_| format.is_zero(bits)) }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the upper bits of the hash, as many as slots need")]
    fn slot(&self, key: u64) -> usize {
        // The factor is 2^64 divided by the golden ratio (Fibonacci hashing). Its products differ most in their upper
        // bits.
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    fn entry(&self, slot: usize) -> (u64, u64) {
        self.entries[self.slots[slot] as usize - 1]
    }

    fn take_out<S: Element + Into<u64>>(&self, source: &[u8], copy: &mut [u8]) -> Matches {
        let mut matches = [0; TILE / 64];
        let source: &[S] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let copy: &mut [S] = bytemuck::try_cast_slice_mut(copy).unwrap_or_default();
        for ((source, copy), word) in source.chunks(64).zip(copy.chunks_mut(64)).zip(&mut matches) {
            for (bit, (x, harmless)) in source.iter().zip(copy).enumerate() {
                let is_match = self.get((*x).into()).is_some();
                *harmless = if is_match { S::from_bits64(0) } else { *x };
                *word |= u64::from(is_match) << bit;
            }
        }
        matches
    }
}

/// A map that removes the matching elements of a tile, and inserts their results afterwards.
#[derive(Debug, Clone)]
enum Replacing {
    /// All entries are tested.
    Rules { disarm: TileKernel<()>, replace: TileKernel<()> },
    /// Each element is looked up.
    Lookup(Arc<ScalarMap>),
}

/// The matching elements of a tile, one bit each.
type Matches = [u64; TILE / 64];

impl Replacing {
    /// Makes the rules of a map for elements of these sizes.
    fn by_rules(map: &[(u64, u64)], format: Option<FloatFormat>, (source_size, target_size): (usize, usize)) -> Self {
        let rules = rules(map, format);
        with_bits!(source_size, S => Replacing::Rules {
            disarm: TileKernel::new(Replace::<S, S, true>(rules.clone(), PhantomData)),
            replace: with_bits!(target_size, T => TileKernel::new(Replace::<S, T, false>(rules, PhantomData))),
        })
    }

    /// Converts a tile of elements of these sizes. `convert` reads `copy`, in which each matching element is 0, a value
    /// of every type.
    fn around(
        &self,
        (source, copy): (&[u8], &mut [u8]),
        target: &mut [u8],
        (source_size, target_size): (usize, usize),
        convert: impl FnOnce(&[u8], &mut [u8]) -> bool,
    ) -> bool {
        match self {
            Replacing::Rules { disarm, replace } => {
                copy.copy_from_slice(source);
                disarm.run(source, copy);
                let is_known = convert(copy, target);
                replace.run(source, target);
                is_known
            }
            Replacing::Lookup(map) => {
                // Only elements of 4 and 8 bytes are looked up. `FastCast::new` makes a table for smaller ones.
                let matches = match source_size {
                    4 => map.take_out::<u32>(source, copy),
                    _ => map.take_out::<u64>(source, copy),
                };
                let is_known = convert(copy, target);
                for (word, mut bits) in matches.into_iter().enumerate() {
                    while bits != 0 {
                        let index = 64 * word + bits.trailing_zeros() as usize;
                        let value = map.get(read_bits(source, source_size, index)).unwrap_or_default();
                        write_bits(target, target_size, index, value);
                        bits &= bits - 1;
                    }
                }
                is_known
            }
        }
    }
}

/// One test of an element's bits, and the result.
#[derive(Debug, Clone, Copy)]
struct Rule {
    /// The bits that are compared.
    mask: u64,
    /// The key: values equal to it match, or values greater than it.
    key: u64,
    is_above: bool,
    value: u64,
}

/// Returns the rules of a map, in the order in which they are applied. The first entry is the last, so it wins.
fn rules(map: &[(u64, u64)], format: Option<FloatFormat>) -> Vec<Rule> {
    let mut rules = Vec::with_capacity(2 * map.len());
    if let Some(format) = format {
        let magnitude = !format.sign();
        for (key, value) in map.iter().rev().copied() {
            if Some(key) == format.canonical_nan() {
                rules.push(Rule { mask: magnitude, key: format.infinity(), is_above: true, value });
            } else if key & magnitude == 0 {
                rules.push(Rule { mask: magnitude, key: 0, is_above: false, value });
            }
        }
    }
    let exact = map.iter().rev();
    rules.extend(exact.map(|(key, value)| Rule { mask: u64::MAX, key: *key, is_above: false, value: *value }));
    rules
}

/// Writes the value of each rule, or 0, to the matching elements.
struct Replace<S, T, const DISARM: bool>(Vec<Rule>, PhantomData<(S, T)>);

impl<S: Element + BitAnd<Output = S>, T: Element, const DISARM: bool> TileLoop for Replace<S, T, DISARM> {
    type Outcome = ();

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], target: &mut [u8], (): &()) {
        let source: &[S] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let target: &mut [T] = bytemuck::try_cast_slice_mut(target).unwrap_or_default();
        for rule in &self.0 {
            let (mask, key) = (S::from_bits64(rule.mask), S::from_bits64(rule.key));
            let value = T::from_bits64(if DISARM { 0 } else { rule.value });
            if rule.is_above {
                for (x, result) in source.iter().zip(&mut *target) {
                    *result = if *x & mask > key { value } else { *result };
                }
            } else {
                for (x, result) in source.iter().zip(&mut *target) {
                    *result = if *x & mask == key { value } else { *result };
                }
            }
        }
    }
}
