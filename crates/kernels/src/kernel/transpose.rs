//! Permutation of the dimensions of an array of fixed-size elements, as the codec `transpose` does it.
//!
//! A permutation is planned once for a shape. Dimensions that stay neighbours are merged. A run of elements that stays
//! together becomes one larger element. The rest are two-dimensional transpositions, which run in tiles so that both
//! sides use whole cache lines.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/transpose/>

use thiserror::Error;

/// The error of a buffer whose length is not that of the shape.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected {expected} bytes, found {found}")]
pub struct TransposeError {
    /// Bytes of an array of the shape.
    pub expected: usize,
    /// Bytes of the buffer.
    pub found: usize,
}

/// A permutation of the dimensions of arrays of one shape and element size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transpose {
    length: usize,
    encode: Plan,
    decode: Plan,
}

impl Transpose {
    /// Plans `encoded[i] = decoded[order[i]]` for every dimension. `shape` is that of decoded arrays, with elements of
    /// `element_size` bytes. `None` if the order is not a permutation of the dimensions, or if the array does not fit
    /// into the address space.
    pub fn new(shape: &[u64], order: &[usize], element_size: usize) -> Option<Self> {
        let inverse = inverse(order).filter(|inverse| inverse.len() == shape.len())?;
        let extents: Vec<usize> = shape.iter().map(|&extent| usize::try_from(extent).ok()).collect::<Option<_>>()?;
        let length = extents.iter().try_fold(element_size, |product, &extent| product.checked_mul(extent));
        let length = length.filter(|&length| isize::try_from(length).is_ok())?;
        let encoded: Vec<usize> = order.iter().map(|&dimension| extents[dimension]).collect();
        Some(Transpose {
            length,
            encode: Plan::new(&extents, order, element_size),
            decode: Plan::new(&encoded, &inverse, element_size),
        })
    }

    /// Permutes the elements of `decoded` into `encoded`. Both must have the length of the shape.
    pub fn encode(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), TransposeError> {
        self.check(decoded, encoded)?;
        self.encode.run(decoded, encoded);
        Ok(())
    }

    /// Permutes the elements of `encoded` back into `decoded`. Both must have the length of the shape.
    pub fn decode(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), TransposeError> {
        self.check(encoded, decoded)?;
        self.decode.run(encoded, decoded);
        Ok(())
    }

    fn check(&self, source: &[u8], destination: &[u8]) -> Result<(), TransposeError> {
        for found in [source.len(), destination.len()] {
            if found != self.length {
                return Err(TransposeError { expected: self.length, found });
            }
        }
        Ok(())
    }
}

/// Returns the inverse of a permutation. `None` if `order` is not one.
fn inverse(order: &[usize]) -> Option<Vec<usize>> {
    let mut inverse = vec![usize::MAX; order.len()];
    for (position, &dimension) in order.iter().enumerate() {
        let entry = inverse.get_mut(dimension)?;
        if *entry != usize::MAX {
            return None;
        }
        *entry = position;
    }
    Some(inverse)
}

/// A dimension of the destination, outermost first. Strides are in elements of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dimension {
    extent: usize,
    source_stride: usize,
    destination_stride: usize,
}

/// The loops of a permutation after merging.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plan {
    /// Bytes of a run that moves as one.
    element_size: usize,
    /// The loops around the transpositions.
    outer: Vec<Dimension>,
    /// The dimension along which the source is contiguous, then the one for the destination. `None` if everything moves
    /// as one.
    dimensions: Option<[Dimension; 2]>,
}

impl Plan {
    fn new(source: &[usize], order: &[usize], element_size: usize) -> Self {
        let empty = Plan { element_size, outer: Vec::new(), dimensions: None };
        if source.contains(&0) || element_size == 0 {
            return empty;
        }
        let source_strides = strides(source);
        let mut merged: Vec<(usize, usize)> = Vec::with_capacity(order.len());
        // A dimension of length 1 moves nothing, and would only separate others that can be merged.
        for &dimension in order.iter().filter(|&&dimension| source[dimension] != 1) {
            let (extent, stride) = (source[dimension], source_strides[dimension]);
            match merged.last_mut() {
                // Dimensions that are neighbours on both sides become one.
                Some(last) if last.1 == stride * extent => *last = (last.0 * extent, stride),
                _ => merged.push((extent, stride)),
            }
        }
        let mut run = 1;
        if let Some(&(extent, 1)) = merged.last() {
            run = extent;
            merged.pop();
        }
        let extents: Vec<usize> = merged.iter().map(|dimension| dimension.0).collect();
        let mut outer: Vec<Dimension> = merged
            .iter()
            .zip(strides(&extents))
            .map(|(&(extent, stride), destination_stride)| Dimension {
                extent,
                source_stride: stride / run,
                destination_stride,
            })
            .collect();
        let Some(innermost) = outer.pop() else {
            return Plan { element_size: element_size * run, ..empty };
        };
        // The innermost dimension is not contiguous in the source, else it would be part of the run. So a dimension
        // outside it is.
        let contiguous = (0..outer.len()).min_by_key(|&index| outer[index].source_stride);
        let first = contiguous
            .map_or(Dimension { extent: 1, source_stride: 0, destination_stride: 0 }, |index| outer.remove(index));
        Plan { element_size: element_size * run, outer, dimensions: Some([first, innermost]) }
    }

    fn run(&self, source: &[u8], destination: &mut [u8]) {
        let Some(dimensions) = self.dimensions else { return destination.copy_from_slice(source) };
        let mut index = vec![0_usize; self.outer.len()];
        let (mut read, mut write) = (0, 0);
        loop {
            let sides = (&source[read * self.element_size..], &mut destination[write * self.element_size..]);
            self.transpose(dimensions, sides);
            let mut dimension = self.outer.len();
            loop {
                let Some(previous) = dimension.checked_sub(1) else { return };
                dimension = previous;
                let Dimension { extent, source_stride, destination_stride } = self.outer[dimension];
                index[dimension] += 1;
                read += source_stride;
                write += destination_stride;
                if index[dimension] < extent {
                    break;
                }
                index[dimension] = 0;
                read -= source_stride * extent;
                write -= destination_stride * extent;
            }
        }
    }

    /// Runs one two-dimensional transposition. Both `sides` begin at its first element.
    fn transpose(&self, dimensions: [Dimension; 2], sides: (&[u8], &mut [u8])) {
        match self.element_size {
            1 => transpose_fixed::<1, 16>(dimensions, sides),
            2 => transpose_fixed::<2, 16>(dimensions, sides),
            4 => transpose_fixed::<4, 16>(dimensions, sides),
            8 => transpose_fixed::<8, 8>(dimensions, sides),
            16 => transpose_fixed::<16, 4>(dimensions, sides),
            size => transpose_any(size, dimensions, sides),
        }
    }
}

/// Returns the strides of a C-contiguous array, in elements.
pub(super) fn strides(extents: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; extents.len()];
    for dimension in (1..extents.len()).rev() {
        strides[dimension - 1] = strides[dimension] * extents[dimension];
    }
    strides
}

/// Bytes of a cache line. A tile is at least this wide on both sides.
const LINE: usize = 64;

/// Transposes elements of `SIZE` bytes: `BLOCK` x `BLOCK` of them in registers, tiles of them in the nearest cache.
///
/// The rows are contiguous in the source, the columns in the destination.
fn transpose_fixed<const SIZE: usize, const BLOCK: usize>([rows, columns]: [Dimension; 2], sides: (&[u8], &mut [u8])) {
    let (source, destination) = sides;
    let (source, destination) = (source.as_chunks::<SIZE>().0, destination.as_chunks_mut::<SIZE>().0);
    let tile = (LINE / SIZE).max(BLOCK);
    for column_tile in (0..columns.extent).step_by(tile) {
        let column_end = (column_tile + tile).min(columns.extent);
        for row_tile in (0..rows.extent).step_by(tile) {
            let row_end = (row_tile + tile).min(rows.extent);
            for column in (column_tile..column_end).step_by(BLOCK) {
                for row in (row_tile..row_end).step_by(BLOCK) {
                    let read = column * columns.source_stride + row;
                    let write = row * rows.destination_stride + column;
                    let block = (&source[read..], &mut destination[write..]);
                    let strides = (columns.source_stride, rows.destination_stride);
                    let (width, height) = (BLOCK.min(column_end - column), BLOCK.min(row_end - row));
                    if width == BLOCK && height == BLOCK {
                        transpose_block::<SIZE, BLOCK>(block, strides);
                    } else {
                        transpose_part(block, strides, (width, height));
                    }
                }
            }
        }
    }
}

/// Elements of the source, and those of the destination.
type Sides<'a, const SIZE: usize> = (&'a [[u8; SIZE]], &'a mut [[u8; SIZE]]);

#[inline]
fn transpose_block<const SIZE: usize, const BLOCK: usize>(sides: Sides<'_, SIZE>, strides: (usize, usize)) {
    let (source, destination) = sides;
    let mut elements = [[[0_u8; SIZE]; BLOCK]; BLOCK];
    for (column, line) in elements.iter_mut().enumerate() {
        line.copy_from_slice(&source[column * strides.0..][..BLOCK]);
    }
    for row in 0..BLOCK {
        let line: [[u8; SIZE]; BLOCK] = std::array::from_fn(|column| elements[column][row]);
        destination[row * strides.1..][..BLOCK].copy_from_slice(&line);
    }
}

#[inline]
fn transpose_part<const SIZE: usize>(sides: Sides<'_, SIZE>, strides: (usize, usize), (width, height): (usize, usize)) {
    let (source, destination) = sides;
    for row in 0..height {
        let line = &mut destination[row * strides.1..][..width];
        for (column, element) in line.iter_mut().enumerate() {
            *element = source[column * strides.0 + row];
        }
    }
}

/// Transposes elements of any other size, such as runs that stay together.
fn transpose_any(size: usize, [rows, columns]: [Dimension; 2], (source, destination): (&[u8], &mut [u8])) {
    let tile = (LINE / size).max(1);
    for row_tile in (0..rows.extent).step_by(tile) {
        for column in 0..columns.extent {
            for row in row_tile..(row_tile + tile).min(rows.extent) {
                let read = (row * rows.source_stride + column * columns.source_stride) * size;
                let write = (row * rows.destination_stride + column * columns.destination_stride) * size;
                destination[write..write + size].copy_from_slice(&source[read..read + size]);
            }
        }
    }
}

/// Reverses the bytes of each component of `width` bytes.
pub fn swap(source: &[u8], target: &mut [u8], width: usize) {
    fn words<const N: usize>(source: &[u8], target: &mut [u8]) {
        let (source, target) = (source.as_chunks::<N>().0, target.as_chunks_mut::<N>().0);
        for (from, to) in source.iter().zip(target) {
            *to = *from;
            to.reverse();
        }
    }
    match width {
        2 => words::<2>(source, target),
        4 => words::<4>(source, target),
        8 => words::<8>(source, target),
        _ => {
            let length = source.len().min(target.len());
            target[..length].copy_from_slice(&source[..length]);
        }
    }
}
