//! Counts of bits in neighbouring elements, from which the bitwise real information of an array is computed.
//!
//! M. Klöwer, M. Razinger, J. J. Dominguez, P. D. Düben, T. N. Palmer: "Compressing atmospheric data into its real
//! information content", Nature Computational Science 1, 713-724 (2021). The information of a bit position is the
//! mutual information of that bit in neighbours along a dimension. The exponent of floats is counted as sign and
//! magnitude. Else neighbours on both sides of a power of two would differ in all of its bits. Integers are counted
//! unchanged. NaN and missing elements form no pairs.

use super::dispatch::{TileKernel, TileLoop};
use super::double::approximate;
use super::missing::MissingFilter;
use crate::element::{Element, NumberType};
use crate::with_element;

/// The number of bits of the widest element.
pub const POSITIONS: usize = 64;

/// Counts of set bits, by position from the least significant.
pub type Ones = [u64; POSITIONS];

/// Counts over pairs of neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitPairs {
    /// Pairs without a missing element.
    pub pairs: u64,
    /// Ones in the first element of a pair.
    pub first: Ones,
    /// Ones in the second element.
    pub second: Ones,
    /// Ones in both.
    pub both: Ones,
}

impl Default for BitPairs {
    fn default() -> Self {
        let none = [0; POSITIONS];
        BitPairs { pairs: 0, first: none, second: none, both: none }
    }
}

impl BitPairs {
    /// Adds other counts. Counts are integers, so the order makes no difference.
    pub fn merge(&mut self, other: &BitPairs) {
        self.pairs += other.pairs;
        add(&mut self.first, &other.first);
        add(&mut self.second, &other.second);
        add(&mut self.both, &other.both);
    }

    /// Adds `count` pairs of two elements with the same pattern.
    pub fn add_constant(&mut self, pattern: u64, count: u64) {
        self.pairs += count;
        for position in (0..POSITIONS).filter(|position| pattern >> position & 1 == 1) {
            self.first[position] += count;
            self.second[position] += count;
            self.both[position] += count;
        }
    }
}

fn add(all: &mut Ones, part: &Ones) {
    all.iter_mut().zip(part).for_each(|(all, part)| *all += part);
}

/// Converts elements to the patterns whose bits are counted.
#[derive(Debug, Clone)]
pub struct BitPatterns {
    /// The type of the elements.
    pub number_type: NumberType,
    missing: MissingFilter,
}

impl BitPatterns {
    /// Makes the patterns of a type. `missing` are the bits of missing values in addition to NaN.
    pub fn new(number_type: NumberType, missing: &[u64]) -> Self {
        BitPatterns { number_type, missing: MissingFilter::new(number_type, missing) }
    }

    /// Returns the pattern of an element. `None` if it is missing.
    pub fn pattern(&self, bits: u64) -> Option<u64> {
        let mut block = Block::default();
        let mut element = [0; 8];
        super::tile::write_bits(&mut element, self.number_type.size(), 0, bits);
        self.fill(&element[..self.number_type.size()], &mut block);
        let pattern = super::tile::read_bits(&block.patterns, self.number_type.size(), 0);
        (!block.has_missing).then_some(pattern)
    }

    /// Writes the patterns of `elements` into `block`.
    pub fn fill(&self, elements: &[u8], block: &mut Block) {
        with_element!(self.number_type.element(), T => fill_as::<T>(elements, block));
        if self.missing.is_empty() {
            return;
        }
        let size = self.number_type.size();
        let Block { patterns, valid, has_missing } = block;
        self.missing.each_missing(elements, |index| {
            if !*has_missing {
                valid.clear();
                valid.resize(patterns.len(), u8::MAX);
                *has_missing = true;
            }
            let range = index * size..(index + 1) * size;
            valid[range.clone()].fill(0);
            patterns[range].fill(0);
        });
    }
}

/// Writes the patterns of elements. Only NaN counts as missing here.
fn fill_as<T: Pattern>(elements: &[u8], block: &mut Block) {
    let Block { patterns, valid, has_missing } = block;
    patterns.clear();
    patterns.resize(elements.len(), 0);
    let size = size_of::<T>();
    let mut is_any_nan = false;
    for (element, pattern) in elements.chunks_exact(size).zip(patterns.chunks_exact_mut(size)) {
        let element = bytemuck::pod_read_unaligned::<T>(element);
        pattern.copy_from_slice(bytemuck::bytes_of(&element.pattern()));
        is_any_nan |= element.is_nan();
    }
    *has_missing = is_any_nan;
    if !is_any_nan {
        return;
    }
    valid.clear();
    valid.resize(elements.len(), u8::MAX);
    let each = elements.chunks_exact(size).zip(patterns.chunks_exact_mut(size));
    for ((element, pattern), valid) in each.zip(valid.chunks_exact_mut(size)) {
        if bytemuck::pod_read_unaligned::<T>(element).is_nan() {
            pattern.fill(0);
            valid.fill(0);
        }
    }
}

/// An element whose bits are counted.
trait Pattern: Element {
    /// Returns its pattern, as the element that has these bits.
    #[inline(always)]
    fn pattern(self) -> Self {
        self
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
}

macro_rules! pattern_of_integer {
    ($($type:ty),*) => { $(impl Pattern for $type {})* };
}
pattern_of_integer!(i8, i16, i32, i64, u8, u16, u32, u64);

/// The exponent less its bias is written as a sign (the highest bit of the exponent) and a magnitude. Sign and
/// significand stay unchanged. The exponent of infinities is the greatest, whose magnitude sets the bit of that sign,
/// too.
macro_rules! pattern_of_float {
    ($type:ty as $bits:ty, $significand_bits:literal) => {
        impl Pattern for $type {
            #[inline(always)]
            fn pattern(self) -> Self {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                const EXPONENT: $bits = (SIGN - 1) & !((1 << $significand_bits) - 1);
                const BIAS: $bits = EXPONENT >> $significand_bits >> 1;
                let bits = self.to_bits();
                let exponent = ((bits & EXPONENT) >> $significand_bits).cast_signed() - BIAS.cast_signed();
                let sign = if exponent < 0 { SIGN >> 1 } else { 0 };
                let magnitude = exponent.unsigned_abs() << $significand_bits;
                Self::from_bits(bits & !EXPONENT | sign | magnitude)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }
        }
    };
}
pattern_of_float!(half::f16 as u16, 10);
pattern_of_float!(f32 as u32, 23);
pattern_of_float!(f64 as u64, 52);

/// The patterns of a box of elements, in C order.
#[derive(Debug, Clone, Default)]
pub struct Block {
    /// The patterns, in native byte order. 0 for a missing element.
    pub patterns: Vec<u8>,
    /// A mask of the same length: all bits are set for an element, none for a missing one.
    pub valid: Vec<u8>,
    /// True if any element is missing. Otherwise `valid` is not used.
    pub has_missing: bool,
}

impl Block {
    /// Makes a box with one pattern in all elements. `None` means that all are missing.
    pub fn constant(pattern: Option<u64>, size: usize, elements: usize) -> Self {
        let mut element = [0; 8];
        super::tile::write_bits(&mut element, size, 0, pattern.unwrap_or(0));
        let patterns = element[..size].repeat(elements);
        let valid = if pattern.is_none() { vec![0; patterns.len()] } else { Vec::new() };
        Block { patterns, valid, has_missing: pattern.is_none() }
    }

    /// Returns the bytes of the patterns.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    fn valid(&self) -> Option<&[u8]> {
        self.has_missing.then_some(self.valid.as_slice())
    }

    /// Returns the elements at `index` along an axis of the box.
    #[must_use]
    pub fn face(&self, axis: BlockAxis, index: usize) -> Block {
        let take = |bytes: &[u8]| {
            let mut face = Vec::with_capacity(axis.outer * axis.row);
            for outer in 0..axis.outer {
                let start = (outer * axis.length + index) * axis.row;
                face.extend_from_slice(&bytes[start..start + axis.row]);
            }
            face
        };
        let valid = self.valid().map(take).unwrap_or_default();
        // The missing elements may be outside the face.
        let has_missing = valid.contains(&0);
        Block { patterns: take(&self.patterns), valid, has_missing }
    }
}

/// A dimension of a box.
#[derive(Debug, Clone, Copy)]
pub struct BlockAxis {
    /// The number of elements of the dimensions before it.
    outer: usize,
    /// The number of elements along it.
    length: usize,
    /// The bytes of the dimensions after it.
    row: usize,
}

impl BlockAxis {
    /// Returns dimension `dimension` of a box of this shape, with elements of `size` bytes.
    pub fn new(shape: &[usize], dimension: usize, size: usize) -> Self {
        let length = shape.get(dimension).copied().unwrap_or(1);
        let outer = shape.iter().take(dimension).product();
        let row = shape.iter().skip(dimension + 1).product::<usize>() * size;
        BlockAxis { outer, length, row }
    }
}

/// Counts the set bits of pairs of elements.
#[derive(Debug, Clone)]
pub struct PairCounter {
    size: usize,
    kernel: TileKernel<TileOnes>,
    /// A buffer for elements to count next, from runs of any length.
    stage: Vec<u64>,
    /// The number of its bytes that are filled.
    filled: usize,
}

/// Bytes that are counted at a time. They stay in a level 1 cache.
const STAGE: usize = 1 << 14;

impl PairCounter {
    /// Makes a counter for elements of `size` bytes.
    pub fn new(size: usize) -> Self {
        let stage = vec![0; STAGE / size_of::<u64>()];
        PairCounter { size, kernel: TileKernel::new(CountLoop), stage, filled: 0 }
    }

    /// Counts the set bits of a box by position.
    pub fn ones(&mut self, block: &Block) -> [u64; 64] {
        let mut ones = [0; POSITIONS];
        self.gather([(block.patterns.as_slice(), None)].into_iter(), &mut ones);
        ones
    }

    /// Adds the pairs of neighbours along an axis inside a box. `ones` are the set bits of the box.
    pub fn add_inside(&mut self, block: &Block, ones: &[u64; 64], axis: BlockAxis, pairs: &mut BitPairs) {
        if axis.length < 2 || block.is_empty() {
            return;
        }
        let run = (axis.length - 1) * axis.row;
        let starts = move || (0..axis.outer).map(move |outer| outer * axis.length * axis.row);
        let lower = |bytes, start: usize| -> &[u8] { from(bytes, start, run) };
        let upper = |bytes, start: usize| -> &[u8] { from(bytes, start + axis.row, run) };
        let patterns = block.patterns.as_slice();
        let both = starts().map(|start| (lower(patterns, start), Some(upper(patterns, start))));
        self.gather(both, &mut pairs.both);
        let Some(valid) = block.valid() else {
            pairs.pairs += (axis.outer * run / self.size) as u64;
            // Every element but the last along the axis is the first of a pair, and every element but the first is the
            // second.
            let (first, last) = (block.face(axis, 0), block.face(axis, axis.length - 1));
            let (first, last) = (self.ones(&first), self.ones(&last));
            for position in 0..POSITIONS {
                pairs.first[position] += ones[position] - last[position];
                pairs.second[position] += ones[position] - first[position];
            }
            return;
        };
        let first = starts().map(|start| (lower(patterns, start), Some(upper(valid, start))));
        self.gather(first, &mut pairs.first);
        let second = starts().map(|start| (upper(patterns, start), Some(lower(valid, start))));
        self.gather(second, &mut pairs.second);
        let there = starts().map(|start| (lower(valid, start), Some(upper(valid, start))));
        pairs.pairs += self.elements(there);
    }

    /// Adds the pairs of two faces of neighbouring boxes: each element and the one at the same index of the other face.
    pub fn add_between(&mut self, first: &Block, second: &Block, pairs: &mut BitPairs) {
        let run = |one, other| std::iter::once::<(&[u8], Option<&[u8]>)>((one, other));
        self.gather(run(&first.patterns, Some(&second.patterns)), &mut pairs.both);
        self.gather(run(&first.patterns, second.valid()), &mut pairs.first);
        self.gather(run(&second.patterns, first.valid()), &mut pairs.second);
        pairs.pairs += match (first.valid(), second.valid()) {
            (None, None) => (first.len() / self.size) as u64,
            (Some(valid), other) | (other, Some(valid)) => self.elements(run(valid, other)),
        };
    }

    /// Returns the number of elements that are not missing on both sides.
    fn elements<'a>(&mut self, runs: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>) -> u64 {
        let mut ones = [0; POSITIONS];
        self.gather(runs, &mut ones);
        // A mask has all bits of an element or none, so one position counts the elements.
        ones[0]
    }

    /// Counts the bits of runs, or the bits that are set in both of two runs.
    fn gather<'a>(&mut self, runs: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>, ones: &mut Ones) {
        for (mut first, mut second) in runs {
            while !first.is_empty() {
                let stage = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut self.stage)[self.filled..];
                let count = stage.len().min(first.len());
                let (now, later) = first.split_at(count);
                first = later;
                match &mut second {
                    None => stage[..count].copy_from_slice(now),
                    Some(second) => {
                        let (also, rest) = second.split_at(count.min(second.len()));
                        *second = rest;
                        for ((staged, one), other) in stage.iter_mut().zip(now).zip(also) {
                            *staged = one & other;
                        }
                    }
                }
                self.filled += count;
                if self.filled == STAGE {
                    self.flush(ones);
                }
            }
        }
        self.flush(ones);
    }

    fn flush(&mut self, ones: &mut Ones) {
        let bytes = bytemuck::cast_slice_mut::<u64, u8>(&mut self.stage);
        let whole = self.filled.next_multiple_of(size_of::<u64>());
        bytes[self.filled..whole].fill(0);
        let counted = self.kernel.run(&bytes[..whole], &mut []);
        for (position, count) in counted.into_iter().enumerate() {
            // A word contains several elements if these are shorter.
            ones[position % (self.size * 8)] += u64::from(count);
        }
        self.filled = 0;
    }
}

/// Words in parallel, so that the compiler uses vectors.
const LANES: usize = 4;

/// Vectors that are added at a time.
const VECTORS: usize = 16;

/// The lowest bit of each byte.
const LOWEST: u64 = 0x0101_0101_0101_0101;

type Vector = [u64; LANES];

/// Counts by position in a 64-bit word, from the least significant.
type TileOnes = [u32; 64];

/// The loop over a tile of at most 255 blocks of words, aligned to blocks.
///
/// Words are added bit by bit, sixteen at a time (carry-save adders, after Harley and Seal). So only every sixteenth is
/// counted by position, eight positions at a time, as bytes that count.
struct CountLoop;

impl TileLoop for CountLoop {
    type Outcome = TileOnes;

    #[inline(always)]
    fn run<const ROUNDS: bool>(&self, source: &[u8], _target: &mut [u8], (): &()) -> TileOnes {
        let words: &[u64] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let mut all = [0_u32; 64];
        let (blocks, rest) = words.as_chunks::<{ LANES * VECTORS }>();
        debug_assert!(blocks.len() <= 255, "a byte counts them");
        let [mut ones, mut twos, mut fours, mut eights] = [[0; LANES]; 4];
        let mut bytes = [[0_u64; LANES]; 8];
        for block in blocks {
            let (vectors, _) = block.as_chunks::<LANES>();
            let mut eight = [[0; LANES]; 2];
            for (half, eight) in vectors.chunks_exact(8).zip(&mut eight) {
                let mut four = [[0; LANES]; 2];
                for (quarter, four) in half.chunks_exact(4).zip(&mut four) {
                    let mut two = [[0; LANES]; 2];
                    for (pair, two) in quarter.chunks_exact(2).zip(&mut two) {
                        (ones, *two) = added(ones, pair[0], pair[1]);
                    }
                    (twos, *four) = added(twos, two[0], two[1]);
                }
                (fours, *eight) = added(fours, four[0], four[1]);
            }
            let (low, sixteens) = added(eights, eight[0], eight[1]);
            eights = low;
            for (bit, bytes) in bytes.iter_mut().enumerate() {
                for (bytes, word) in bytes.iter_mut().zip(&sixteens) {
                    *bytes += (word >> bit) & LOWEST;
                }
            }
        }
        for (bit, bytes) in bytes.iter().enumerate() {
            spread(bytes, bit, 16, &mut all);
        }
        for (vector, weight) in [(ones, 1), (twos, 2), (fours, 4), (eights, 8)] {
            tally(&vector, weight, &mut all);
        }
        tally(rest, 1, &mut all);
        all
    }
}

/// Adds three words: returns the lower and the upper bit of the sum at each position.
#[inline(always)]
fn added(a: Vector, b: Vector, c: Vector) -> (Vector, Vector) {
    let (mut low, mut high) = ([0; LANES], [0; LANES]);
    for lane in 0..LANES {
        let differing = a[lane] ^ b[lane];
        low[lane] = differing ^ c[lane];
        high[lane] = (a[lane] & b[lane]) | (differing & c[lane]);
    }
    (low, high)
}

#[inline(always)]
fn tally(words: &[u64], weight: u32, all: &mut TileOnes) {
    for bit in 0..8 {
        for word in words {
            spread(&[(word >> bit) & LOWEST], bit, weight, all);
        }
    }
}

/// Adds the bytes of words. Each byte is a count of position `bit` of a byte.
#[inline(always)]
fn spread(words: &[u64], bit: usize, weight: u32, all: &mut TileOnes) {
    for word in words {
        for byte in 0..8 {
            let count = u32::from(word.to_le_bytes()[byte]);
            all[8 * byte + bit] += weight * count;
        }
    }
}

/// Returns `length` bytes from `start` on, or none if they are out of range.
fn from(bytes: &[u8], start: usize, length: usize) -> &[u8] {
    bytes.get(start..start + length).unwrap_or_default()
}

/// Returns the names of the bits of an element from the most significant on. They are `sign`, then `e1` and on for the
/// exponent, then `m1` and on for the significand. For integers they are `sign` if the type has one, then `m1` and on.
pub fn bit_names(number_type: NumberType) -> Vec<String> {
    let width = number_type.size() * 8;
    let leading = leading_bits(number_type);
    let has_sign = leading > 0;
    let name = |position: usize| match position {
        0 if has_sign => "sign".to_owned(),
        position if position < leading => format!("e{position}"),
        position => format!("m{}", position - leading + 1),
    };
    (0..width).map(name).collect()
}

/// Returns the number of bits before the significand: the sign and the exponent of a float, the sign of a signed
/// integer.
pub fn leading_bits(number_type: NumberType) -> usize {
    match number_type.fraction_bits() {
        Some(fraction) => number_type.size() * 8 - fraction as usize,
        None => usize::from(number_type.integer_bounds().is_some_and(|(least, _)| least < 0)),
    }
}

// Computes information in bits from counts.

/// The bitwise real information along a dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Information {
    /// The pairs from which it was computed.
    pub pairs: u64,
    /// Information in bits, from 0 to 1, by position from the most significant on.
    pub by_position: Vec<f64>,
    /// The information that random bits seem to have in this number of pairs, in one case of a hundred. No more than
    /// this counts as none.
    pub insignificant: f64,
}

/// The quantile of the standard normal distribution at 0.995: 99 % of it are within ±this value.
const QUANTILE_99: f64 = 2.575_829_303_548_900_4;

/// The number of last positions. Their information is assumed to be only chance and rounding.
const TAIL: usize = 4;

/// A position must have more than this factor times the information of the last ones.
const BEYOND_TAIL: f64 = 1.5;

impl BitPairs {
    /// Returns the information of elements of `width` bits. It is 0 if there is no pair.
    pub fn information(&self, width: usize) -> Information {
        let count = approximate(self.pairs);
        let of = |position: usize| {
            if self.pairs == 0 {
                return 0.0;
            }
            let (first, second, both) = (self.first[position], self.second[position], self.both[position]);
            let neither = self.pairs - first - (second - both);
            let share = |count_of: u64| approximate(count_of) / count;
            let (one, other) = (share(first), share(second));
            let term = |joint: u64, of_one: f64, of_other: f64| {
                let joint = share(joint);
                if joint == 0.0 { 0.0 } else { joint * (joint / (of_one * of_other)).ln() }
            };
            let sum = term(neither, 1.0 - one, 1.0 - other)
                + term(second - both, 1.0 - one, other)
                + term(first - both, one, 1.0 - other)
                + term(both, one, other);
            (sum / std::f64::consts::LN_2).clamp(0.0, 1.0)
        };
        Information {
            pairs: self.pairs,
            by_position: (0..width.min(POSITIONS)).rev().map(of).collect(),
            insignificant: free_entropy(count),
        }
    }
}

/// Returns the entropy that `count` coin tosses may seem to lack. The share of heads is the end of the interval with 99
/// of 100 such series. (The binomial distribution is approximated by a normal one.)
fn free_entropy(count: f64) -> f64 {
    if count == 0.0 {
        return 1.0;
    }
    let heads = (0.5 + QUANTILE_99 / (2.0 * count.sqrt())).min(1.0);
    let entropy = |share: f64| if share > 0.0 { -share * share.log2() } else { 0.0 };
    1.0 - entropy(heads) - entropy(1.0 - heads)
}

impl Information {
    /// Returns the information that chance does not explain. A position has none if it shows no more than random bits.
    /// Nor has it any if it shows no more than 1.5 times the most of the last four.
    pub fn real(&self) -> Vec<f64> {
        let tail = self.by_position.iter().rev().take(TAIL).copied().fold(0.0, f64::max);
        let least = self.insignificant.max(tail * BEYOND_TAIL);
        self.by_position.iter().map(|found| if *found > least { *found } else { 0.0 }).collect()
    }

    /// Returns the fewest positions from the most significant on that contain more than this share of the real
    /// information. `None` if there is none.
    pub fn kept(&self, share: f64) -> Option<usize> {
        let real = self.real();
        let total: f64 = real.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let mut sum = 0.0;
        let passed = real.iter().position(|found| {
            sum += found;
            sum / total > share
        });
        // Sums of the same numbers in the same order: the last reaches the total.
        let last = || real.iter().rposition(|found| *found > 0.0).unwrap_or(0);
        Some(passed.unwrap_or_else(last) + 1)
    }
}
