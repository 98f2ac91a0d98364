//! Differences of integers along a dimension of a chunk, in place, and their sums.
//!
//! The result equals that of `transpose` with that dimension last, `numcodecs.delta`, and `transpose` back. Elements
//! follow each other in the order of the other dimensions. Each but the first becomes its difference from the one
//! before it. Differences wrap, so sums return every element. Rows along the dimension are subtracted in memory order.
//! Only their first elements follow the order of the other dimensions.

use super::transpose::strides;
use crate::element::with_bits;

/// An integer in native byte order, without alignment. It is unsigned: wrapping is the same with a sign.
trait Code: Copy + Default {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

macro_rules! code {
    ($($integer:ty)*) => {
        $(impl Code for [u8; size_of::<$integer>()] {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                <$integer>::from_ne_bytes(self).wrapping_add(<$integer>::from_ne_bytes(other)).to_ne_bytes()
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                <$integer>::from_ne_bytes(self).wrapping_sub(<$integer>::from_ne_bytes(other)).to_ne_bytes()
            }
        })*
    };
}

code! { u8 u16 u32 u64 }

/// The number of neighbours in a row that are subtracted together.
const TILE: usize = 64;

/// Differences along one dimension of chunks of a shape.
#[derive(Debug, Clone)]
pub struct Differences {
    /// The number of blocks that contain the dimension, the length along it, and the elements of a row across it.
    outer: usize,
    length: usize,
    inner: usize,
    /// The other dimensions, the slowest first: their length, and the distance of neighbours in rows and in memory.
    walk: Vec<[usize; 3]>,
}

impl Differences {
    /// Plans chunks of this shape: along the last dimension of `order`, with the others in that order.
    pub fn new(shape: &[usize], order: &[usize]) -> Self {
        // Without elements, the product of the other lengths may overflow.
        let Some((along, others)) = order.split_last().filter(|_| !shape.contains(&0)) else {
            return Differences { outer: 1, length: 1, inner: 1, walk: Vec::new() };
        };
        let strides = strides(shape);
        let (length, inner) = (shape[*along], strides[*along]);
        let step = |dimension: &usize| {
            let in_memory = strides[*dimension];
            let among_rows = if dimension < along { in_memory / length.max(1) } else { in_memory };
            [shape[*dimension], among_rows, in_memory]
        };
        // The recursion is as deep as this list, however many dimensions there are.
        let walk = others.iter().filter(|dimension| shape[**dimension] > 1).map(step).collect();
        Differences { outer: shape[..*along].iter().product(), length, inner, walk }
    }

    /// Returns the number of rows along the dimension. The spare buffer needs this number of elements.
    pub fn num_rows(&self) -> usize {
        self.outer * self.inner
    }

    /// Computes the differences of elements of `size` bytes: 1, 2, 4 or 8. `spare` has [`num_rows`](Self::num_rows)
    /// elements.
    pub fn encode(&self, size: usize, bytes: &mut [u8], spare: &mut [u8]) {
        if bytes.is_empty() {
            return;
        }
        with_bits!(size, T => {
            const SIZE: usize = size_of::<T>();
            self.differences(bytes.as_chunks_mut::<SIZE>().0, spare.as_chunks_mut::<SIZE>().0);
        });
    }

    /// Computes the elements from their differences.
    pub fn decode(&self, size: usize, bytes: &mut [u8], spare: &mut [u8]) {
        if bytes.is_empty() {
            return;
        }
        with_bits!(size, T => {
            const SIZE: usize = size_of::<T>();
            self.sums(bytes.as_chunks_mut::<SIZE>().0, spare.as_chunks_mut::<SIZE>().0);
        });
    }

    fn differences<C: Code>(&self, elements: &mut [C], last: &mut [C]) {
        let block = self.length * self.inner;
        for (elements, last) in elements.chunks_exact_mut(block.max(1)).zip(last.chunks_exact_mut(self.inner.max(1))) {
            // The walk below needs the last elements of rows, which the differences overwrite.
            last.copy_from_slice(&elements[block - self.inner..]);
            if self.inner == 1 {
                neighbours(elements);
                continue;
            }
            // The rows go from the last to the first, so that the row before is still unchanged.
            for row in (1..self.length).rev() {
                let (before, row) = elements.split_at_mut(row * self.inner);
                let before = &before[before.len() - self.inner..];
                row.iter_mut().zip(before).for_each(|(element, before)| *element = element.minus(*before));
            }
        }
        let mut before = C::default();
        walk(&self.walk, [0, 0], &mut |[row, offset]| {
            elements[offset] = elements[offset].minus(before);
            before = last[row];
        });
    }

    fn sums<C: Code>(&self, elements: &mut [C], totals: &mut [C]) {
        let block = self.length * self.inner;
        let mut before = C::default();
        if self.inner == 1 {
            // Each row is summed as if it began at 0. The walk then adds the last element of the row before it to the
            // whole row.
            scan(elements, block);
            walk(&self.walk, [0, 0], &mut |[_, offset]| {
                let row = &mut elements[offset..offset + block];
                for element in &mut *row {
                    *element = element.plus(before);
                }
                before = row[block - 1];
            });
            return;
        }
        // The first element of a row continues from the last of another row. So the total of each row comes first, then
        // the first elements in the order of the walk, then the sums along the rows.
        for (elements, totals) in elements.chunks_exact(block.max(1)).zip(totals.chunks_exact_mut(self.inner.max(1))) {
            totals.fill(C::default());
            for row in elements.chunks_exact(self.inner).skip(1) {
                totals.iter_mut().zip(row).for_each(|(total, element)| *total = total.plus(*element));
            }
        }
        walk(&self.walk, [0, 0], &mut |[row, offset]| {
            elements[offset] = elements[offset].plus(before);
            before = elements[offset].plus(totals[row]);
        });
        for elements in elements.chunks_exact_mut(block.max(1)) {
            for row in 1..self.length {
                let (before, row) = elements.split_at_mut(row * self.inner);
                let before = &before[before.len() - self.inner..];
                row.iter_mut().zip(before).for_each(|(element, before)| *element = element.plus(*before));
            }
        }
    }
}

/// Computes differences of neighbours. The first element stays.
fn neighbours<C: Code>(elements: &mut [C]) {
    let mut last = C::default();
    for tile in elements.chunks_mut(TILE) {
        // A copy that begins one element earlier, so that the written memory is not the read memory.
        let mut before = [last; TILE];
        before[1..tile.len()].copy_from_slice(&tile[..tile.len() - 1]);
        last = tile[tile.len() - 1];
        tile.iter_mut().zip(before).for_each(|(element, before)| *element = element.minus(before));
    }
}

/// Computes sums along each row, from its first element on. Several rows run in parallel, since each sum waits for the
/// one before it.
fn scan<C: Code>(elements: &mut [C], length: usize) {
    const BESIDE: usize = 8;
    let mut groups = elements.chunks_exact_mut(BESIDE * length);
    for group in &mut groups {
        let mut each = group.chunks_exact_mut(length);
        let mut rows: [&mut [C]; BESIDE] = std::array::from_fn(|_| each.next().unwrap_or_default());
        let mut sums = [C::default(); BESIDE];
        for offset in 0..length {
            for (row, sum) in rows.iter_mut().zip(&mut sums) {
                *sum = sum.plus(row[offset]);
                row[offset] = *sum;
            }
        }
    }
    for row in groups.into_remainder().chunks_exact_mut(length) {
        let mut sum = C::default();
        for element in row {
            sum = sum.plus(*element);
            *element = sum;
        }
    }
}

/// Visits the rows in the order of their dimensions, with the number of each and the index of its first element.
fn walk(dimensions: &[[usize; 3]], [row, offset]: [usize; 2], visit: &mut impl FnMut([usize; 2])) {
    match dimensions {
        [] => visit([row, offset]),
        [[length, among_rows, in_memory], inside @ ..] => {
            for index in 0..*length {
                walk(inside, [row + index * among_rows, offset + index * in_memory], visit);
            }
        }
    }
}
