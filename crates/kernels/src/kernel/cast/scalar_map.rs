//! Scalar maps. A single value is looked up. In the fast path, matching elements are set to 0 before the loop and
//! replaced after it.

use std::marker::PhantomData;
use std::ops::BitAnd;
use std::sync::Arc;

use crate::element::{Element, FloatFormat, with_bits};
use crate::kernel::dispatch::{TileKernel, TileLoop};
use crate::kernel::tile::{TILE, read_bits, write_bits};

/// The most entries for which it is faster to test all, many elements at a time, than to look up each element.
pub(super) const MOST_TESTED: usize = 24;

/// A scalar map as a hash table, so that the number of entries does not matter.
#[derive(Debug)]
pub(super) struct ScalarMap {
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
    pub(super) fn new(entries: &[(u64, u64)], format: Option<FloatFormat>) -> Self {
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
    pub(super) fn get(&self, bits: u64) -> Option<u64> {
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
pub(super) enum Replacing {
    /// All entries are tested.
    Rules { disarm: TileKernel<()>, replace: TileKernel<()> },
    /// Each element is looked up.
    Lookup(Arc<ScalarMap>),
}

/// The matching elements of a tile, one bit each.
type Matches = [u64; TILE / 64];

impl Replacing {
    /// Makes the rules of a map for elements of these sizes.
    pub(super) fn by_rules(
        map: &[(u64, u64)],
        format: Option<FloatFormat>,
        (source_size, target_size): (usize, usize),
    ) -> Self {
        let rules = rules(map, format);
        with_bits!(source_size, S => Replacing::Rules {
            disarm: TileKernel::new(Replace::<S, S, true>(rules.clone(), PhantomData)),
            replace: with_bits!(target_size, T => TileKernel::new(Replace::<S, T, false>(rules, PhantomData))),
        })
    }

    /// Converts a tile of elements of these sizes. `convert` reads `copy`, in which each matching element is 0, a value
    /// of every type.
    pub(super) fn around(
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
    type State = ();
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
