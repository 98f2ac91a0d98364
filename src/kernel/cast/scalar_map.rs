//! A scalar map in the fast path: matching elements are made harmless before the loop, and replaced after it.

use std::marker::PhantomData;

use crate::element::{Element, FloatFormat};
use crate::kernel::InstructionSet;
use crate::kernel::dispatch::{TileKernel, TileLoop};

/// Entries up to which testing all of them is faster than the exact path.
const MOST_ENTRIES: usize = 8;

/// One test of an element's bits, and what it becomes.
#[derive(Debug, Clone, Copy)]
struct Rule {
    /// The bits that are compared.
    mask: u64,
    /// What they are to be equal to; or greater than.
    key: u64,
    is_above: bool,
    value: u64,
}

/// The rules of a map, the first that matches last: they are applied in turn.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    in_turn: Vec<Rule>,
    disarm: TileKernel<Vec<Rule>, ()>,
    replace: TileKernel<Vec<Rule>, ()>,
}

impl Rules {
    /// `None` where the map is too long.
    pub(super) fn new(
        map: &[(u64, u64)],
        format: Option<FloatFormat>,
        (source_size, target_size): (usize, usize),
        instruction_set: InstructionSet,
    ) -> Option<Self> {
        if map.len() > MOST_ENTRIES {
            return None;
        }
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
        rules.extend(exact.map(|(key, value)| Rule {
            mask: u64::MAX,
            key: *key,
            is_above: false,
            value: *value,
        }));
        let (disarm, replace) = match source_size {
            1 => select::<u8>(target_size, instruction_set),
            2 => select::<u16>(target_size, instruction_set),
            4 => select::<u32>(target_size, instruction_set),
            _ => select::<u64>(target_size, instruction_set),
        };
        Some(Rules { in_turn: rules, disarm, replace })
    }

    /// Copies a tile with 0, which every type holds, for each element that matches.
    pub(super) fn disarm(&self, source: &[u8], copy: &mut [u8]) {
        copy.copy_from_slice(source);
        self.disarm.run(source, copy, &self.in_turn);
    }

    /// Replaces the results of the elements that match.
    pub(super) fn replace(&self, source: &[u8], target: &mut [u8]) {
        self.replace.run(source, target, &self.in_turn);
    }
}

type Kernels = (TileKernel<Vec<Rule>, ()>, TileKernel<Vec<Rule>, ()>);

fn select<S: Element + Bits>(target_size: usize, instruction_set: InstructionSet) -> Kernels {
    let replace = match target_size {
        1 => TileKernel::select::<Replace<S, u8, false>>(instruction_set),
        2 => TileKernel::select::<Replace<S, u16, false>>(instruction_set),
        4 => TileKernel::select::<Replace<S, u32, false>>(instruction_set),
        _ => TileKernel::select::<Replace<S, u64, false>>(instruction_set),
    };
    (TileKernel::select::<Replace<S, S, true>>(instruction_set), replace)
}

/// The bits of an element.
trait Bits: std::ops::BitAnd<Output = Self> + Sized {}

impl Bits for u8 {}
impl Bits for u16 {}
impl Bits for u32 {}
impl Bits for u64 {}

/// Writes the value of each rule, or 0, where it matches.
struct Replace<S, T, const DISARM: bool>(PhantomData<(S, T)>);

impl<S: Element + Bits, T: Element, const DISARM: bool> TileLoop for Replace<S, T, DISARM> {
    type Parameters = Vec<Rule>;
    type Outcome = ();

    #[inline(always)]
    fn run<const ROUNDS: bool>(source: &[u8], target: &mut [u8], rules: &Vec<Rule>) {
        let source: &[S] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let target: &mut [T] = bytemuck::try_cast_slice_mut(target).unwrap_or_default();
        for rule in rules {
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
