//! Boxes of n-dimensional arrays in C order: copying one into another, and walking grids.

/// Copies a box of elements from one C-order array to another.
///
/// All slices have the rank of the arrays; `extent` is the box's shape, which must lie inside both arrays. Rows of
/// the last dimension move at once.
pub struct RegionCopy<'a> {
    /// Shape of the source, in elements.
    pub source_shape: &'a [u64],
    /// First element of the box in the source.
    pub source_start: &'a [u64],
    /// Shape of the target.
    pub target_shape: &'a [u64],
    /// First element of the box in the target.
    pub target_start: &'a [u64],
    /// Shape of the box.
    pub extent: &'a [u64],
    /// Bytes of an element.
    pub element_size: usize,
}

impl RegionCopy<'_> {
    /// Runs the copy.
    pub fn run(&self, source: &[u8], target: &mut [u8]) {
        let rank = self.extent.len();
        if self.extent.contains(&0) {
            return;
        }
        let row = as_index(self.extent.last().copied().unwrap_or(1)) * self.element_size;
        let mut indices = vec![0_u64; rank.saturating_sub(1)];
        loop {
            let from = self.offset(&indices, self.source_shape, self.source_start);
            let to = self.offset(&indices, self.target_shape, self.target_start);
            target[to..to + row].copy_from_slice(&source[from..from + row]);
            if !advance(&mut indices, self.extent) {
                return;
            }
        }
    }

    /// Byte offset in an array of the row at `indices` of the box.
    fn offset(&self, indices: &[u64], shape: &[u64], start: &[u64]) -> usize {
        let mut offset = 0;
        for (dimension, (length, first)) in shape.iter().zip(start).enumerate() {
            offset = offset * length + first + indices.get(dimension).copied().unwrap_or(0);
        }
        as_index(offset) * self.element_size
    }
}

/// A size that is known to be in memory already, as an index.
#[expect(clippy::cast_possible_truncation, reason = "sizes of buffers in memory fit usize")]
pub(crate) fn as_index(size: u64) -> usize {
    size as usize
}

/// Moves to the next position in C order over the leading dimensions of `shape`; false after the last.
pub fn advance(indices: &mut [u64], shape: &[u64]) -> bool {
    for dimension in (0..indices.len()).rev() {
        indices[dimension] += 1;
        if indices[dimension] < shape[dimension] {
            return true;
        }
        indices[dimension] = 0;
    }
    false
}

/// The position of a linear index in a C-order grid.
pub fn unravel(mut linear: u64, shape: &[u64]) -> Vec<u64> {
    let mut indices = vec![0; shape.len()];
    for (index, length) in indices.iter_mut().zip(shape).rev() {
        *index = linear % length.max(&1);
        linear /= length.max(&1);
    }
    indices
}

/// The linear index of a position in a C-order grid.
pub fn ravel(indices: &[u64], shape: &[u64]) -> u64 {
    indices.iter().zip(shape).fold(0, |linear, (index, length)| linear * length + index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn region_copy_moves_a_box_between_arrays() {
        let source: Vec<u8> = (0..12).collect();
        let mut target = vec![0; 6];
        RegionCopy {
            source_shape: &[3, 4],
            source_start: &[1, 2],
            target_shape: &[2, 3],
            target_start: &[0, 1],
            extent: &[2, 2],
            element_size: 1,
        }
        .run(&source, &mut target);
        assert_eq!(target, [0, 6, 7, 0, 10, 11]);
    }

    #[test]
    fn region_copy_of_rank_zero_is_one_element() {
        let mut target = [0; 2];
        RegionCopy {
            source_shape: &[],
            source_start: &[],
            target_shape: &[],
            target_start: &[],
            extent: &[],
            element_size: 2,
        }
        .run(&[7, 8], &mut target);
        assert_eq!(target, [7, 8]);
    }

    #[test]
    fn unravel_is_the_inverse_of_ravel() {
        for linear in 0..24 {
            assert_eq!(ravel(&unravel(linear, &[2, 3, 4]), &[2, 3, 4]), linear);
        }
    }
}
