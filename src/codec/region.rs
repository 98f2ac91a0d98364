//! Boxes of n-dimensional arrays in C order: copies from one to another, and iteration over grids.

use crate::grid::{Region, ravel, zip_with};

/// A dimension along which the rows of a box repeat, in bytes.
#[derive(Debug, Clone, Copy)]
struct Step {
    count: usize,
    source: usize,
    target: usize,
}

/// Copies a box of elements from one C-order array to another. Each side is the bytes, the shape, and the position of
/// the box's first element.
///
/// All shapes have the rank of the arrays. `extent` is the shape of the box, which must be inside both arrays. Elements
/// that are contiguous in both are copied at once.
pub fn copy_box(
    (source, source_shape, source_start): (&[u8], &[u64], &[u64]),
    (target, target_shape, target_start): (&mut [u8], &[u64], &[u64]),
    extent: &[u64],
    element_size: usize,
) {
    if extent.contains(&0) {
        return;
    }
    // From the last dimension to the first: elements that are contiguous on both sides make the row longer.
    let mut row = element_size;
    let mut steps: Vec<Step> = Vec::with_capacity(extent.len());
    let (mut from, mut to) = (0, 0);
    let (mut source_stride, mut target_stride) = (element_size, element_size);
    for dimension in (0..extent.len()).rev() {
        let count = as_index(extent[dimension]);
        from += as_index(source_start[dimension]) * source_stride;
        to += as_index(target_start[dimension]) * target_stride;
        if count > 1 && steps.is_empty() && (source_stride, target_stride) == (row, row) {
            row *= count;
        } else if count > 1 {
            steps.push(Step { count, source: source_stride, target: target_stride });
        }
        source_stride *= as_index(source_shape[dimension]);
        target_stride *= as_index(target_shape[dimension]);
    }
    copy_rows(&source[from..], &mut target[to..], row, &steps);
}

/// Copies rows of `row` bytes. The last step is the outermost.
fn copy_rows(source: &[u8], target: &mut [u8], row: usize, steps: &[Step]) {
    match steps {
        [] => target[..row].copy_from_slice(&source[..row]),
        [step] => match row {
            1 => copy_elements::<1>(source, target, *step),
            2 => copy_elements::<2>(source, target, *step),
            4 => copy_elements::<4>(source, target, *step),
            8 => copy_elements::<8>(source, target, *step),
            16 => copy_elements::<16>(source, target, *step),
            _ => {
                for index in 0..step.count {
                    let (from, to) = (index * step.source, index * step.target);
                    target[to..to + row].copy_from_slice(&source[from..from + row]);
                }
            }
        },
        [inner @ .., step] => {
            for index in 0..step.count {
                copy_rows(&source[index * step.source..], &mut target[index * step.target..], row, inner);
            }
        }
    }
}

/// Copies rows of one element, for which one call each would cost more than the copy.
fn copy_elements<const SIZE: usize>(source: &[u8], target: &mut [u8], step: Step) {
    for index in 0..step.count {
        let (from, to) = (index * step.source, index * step.target);
        target[to..to + SIZE].copy_from_slice(&source[from..from + SIZE]);
    }
}

/// Fills a buffer with copies of some elements. The last copy is truncated if it does not fit.
pub fn repeat(target: &mut [u8], elements: &[u8]) {
    let mut filled = elements.len().min(target.len());
    target[..filled].copy_from_slice(&elements[..filled]);
    // Twice as much each time, since one call for each element would cost more than its copy.
    while 0 < filled && filled < target.len() {
        let more = filled.min(target.len() - filled);
        target.copy_within(..more, filled);
        filled += more;
    }
}

/// Fills a box at the origin of a C-order array of `shape` with an element. The box has the shape `extent`, and is
/// inside the array.
pub fn fill_box(target: &mut [u8], shape: &[u64], extent: &[u64], element: &[u8]) {
    if extent.contains(&0) {
        return;
    }
    // Trailing dimensions that are filled completely form rows, together with the dimension before them.
    let whole = extent.iter().zip(shape).rev().take_while(|(extent, length)| extent == length).count();
    let (outer, inner) = extent.split_at(shape.len().saturating_sub(whole + 1));
    let bytes_of = |lengths: &[u64]| as_index(lengths.iter().product::<u64>()) * element.len();
    let (row, step) = (bytes_of(inner), bytes_of(&shape[outer.len()..]));
    let mut offset = vec![0; outer.len()];
    loop {
        let first = as_index(ravel(&offset, shape)) * step;
        repeat(&mut target[first..first + row], element);
        if !advance(&mut offset, outer) {
            return;
        }
    }
}

/// Returns the number of elements of a C-order array of `shape` up to the last of a box at its origin.
pub fn elements_to_end(extent: &[u64], shape: &[u64]) -> u64 {
    if extent.contains(&0) {
        return 0;
    }
    extent.iter().zip(shape).fold(0, |last, (extent, length)| last * length + (extent - 1)) + 1
}

/// Returns the contiguous parts of a box in a C-order array, in order. They have as many elements as possible, but at
/// most `most`, or one. If there would be several parts of less than about `least` elements, whole rows are included,
/// also outside the box.
pub fn contiguous_runs(
    shape: &[u64],
    mut part: Region,
    [least, most]: [u64; 2],
) -> impl Iterator<Item = Region> + use<> {
    let mut extent = vec![1; shape.len()];
    // The number of contiguous elements in the trailing dimensions. `None` once a dimension is not complete.
    let mut together = (!part.is_empty()).then_some(1_u64);
    for dimension in (0..shape.len()).rev() {
        let Some(length) = together else { break };
        let has_several = part.shape[..dimension].iter().any(|outer| *outer > 1);
        if has_several && part.shape[dimension] < least / length.max(1) {
            (part.start[dimension], part.shape[dimension]) = (0, shape[dimension]);
        }
        extent[dimension] = (most / length).clamp(1, part.shape[dimension]);
        together = (extent[dimension] == shape[dimension]).then(|| length * shape[dimension]);
    }
    let counts = zip_with(&part.shape, &extent, u64::div_ceil);
    Region::whole(&counts).cells().map(move |mut start| {
        start.iter_mut().zip(&extent).for_each(|(index, length)| *index *= length);
        start.iter_mut().zip(&part.start).for_each(|(index, first)| *index += first);
        // The last piece along a dimension may reach beyond the box.
        Region { start, shape: extent.clone() }.common(&part)
    })
}

/// Returns the index of a size that is already in memory.
#[expect(clippy::cast_possible_truncation, reason = "sizes of buffers in memory fit usize")]
pub(crate) fn as_index(size: u64) -> usize {
    size as usize
}

/// Moves to the next position in C order over the leading dimensions of `shape`. Returns false after the last.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::unravel;

    #[test]
    fn filled_box_is_that_of_a_copy() {
        let boxes: [[&[u64]; 2]; 6] = [
            // The shape of the array, and the extent of the box.
            [&[3, 4, 5], &[3, 4, 5]],
            [&[3, 4, 5], &[2, 4, 5]],
            [&[3, 4, 5], &[2, 2, 5]],
            [&[3, 4, 5], &[1, 3, 2]],
            [&[3, 4, 5], &[0, 1, 2]],
            [&[], &[]],
        ];
        for [shape, extent] in boxes {
            for element in [&[7][..], &[1, 2, 3]] {
                let count = as_index(shape.iter().product());
                let (mut target, mut expected) = (vec![0; count * element.len()], vec![0; count * element.len()]);
                let (filled, origin) = (element.repeat(as_index(extent.iter().product())), vec![0; extent.len()]);
                copy_box((&filled, extent, &origin), (&mut expected, shape, &origin), extent, element.len());
                fill_box(&mut target, shape, extent, element);
                assert_eq!(target, expected, "{shape:?} {extent:?}");
            }
        }
        let mut cut = [0; 8];
        repeat(&mut cut, &[1, 2, 3]);
        assert_eq!(cut, [1, 2, 3, 1, 2, 3, 1, 2]);
    }

    #[test]
    fn region_copy_moves_every_element_of_a_box_whatever_is_contiguous() {
        let arrays: [[&[u64]; 5]; 5] = [
            // Shapes of both arrays, both starts, and the extent.
            [&[3, 4, 5], &[3, 4, 5], &[0, 0, 0], &[0, 0, 0], &[3, 4, 5]],
            [&[3, 4, 5], &[2, 4, 5], &[1, 0, 0], &[0, 0, 0], &[2, 4, 5]],
            [&[3, 4, 5], &[3, 2, 5], &[0, 1, 0], &[0, 0, 0], &[3, 2, 5]],
            [&[3, 4, 5], &[6, 1, 2], &[0, 2, 3], &[3, 0, 1], &[3, 1, 1]],
            [&[2, 3, 4], &[4, 4, 4], &[0, 1, 1], &[2, 2, 0], &[2, 2, 3]],
        ];
        for [source_shape, target_shape, source_start, target_start, extent] in arrays {
            for element_size in [1, 3, 4] {
                let length = |shape: &[u64]| as_index(shape.iter().product()) * element_size;
                let source: Vec<u8> = (0..=u8::MAX).cycle().take(length(source_shape)).collect();
                let mut target = vec![0; length(target_shape)];
                let mut expected = target.clone();
                for linear in 0..extent.iter().product() {
                    let cell = unravel(linear, extent);
                    let offset = |start: &[u64], shape: &[u64]| {
                        let position: Vec<u64> = cell.iter().zip(start).map(|(a, b)| a + b).collect();
                        as_index(ravel(&position, shape)) * element_size
                    };
                    let (from, to) = (offset(source_start, source_shape), offset(target_start, target_shape));
                    expected[to..to + element_size].copy_from_slice(&source[from..from + element_size]);
                }
                let from = (&source[..], source_shape, source_start);
                copy_box(from, (&mut target, target_shape, target_start), extent, element_size);
                assert_eq!(target, expected, "{extent:?} of {source_shape:?} in {target_shape:?}");
            }
        }
    }

    /// Returns all elements of the pieces, and checks that each piece is contiguous.
    fn elements_of(shape: &[u64], [start, end]: [&[u64]; 2], [least, most]: [u64; 2]) -> Vec<u64> {
        let mut elements = Vec::new();
        for piece in contiguous_runs(shape, Region::between(start.to_vec(), end), [least, most]) {
            let last: Vec<u64> = piece.end().iter().map(|end| end - 1).collect();
            let (begin, end) = (ravel(&piece.start, shape), ravel(&last, shape) + 1);
            assert_eq!(end - begin, piece.num_elements());
            assert!(end - begin <= most.max(1));
            elements.extend(begin..end);
        }
        elements
    }

    #[test]
    fn pieces_of_a_whole_array_follow_each_other() {
        let shapes: [&[u64]; 5] = [&[2, 3, 4], &[7], &[], &[1, 5, 1, 6], &[3, 0]];
        for shape in shapes {
            for most in [0, 1, 2, 4, 5, 12, 100] {
                let elements = elements_of(shape, [&vec![0; shape.len()], shape], [1, most]);
                assert!(elements.into_iter().eq(0..shape.iter().product::<u64>()));
            }
        }
    }

    #[test]
    fn box_of_whole_parts_is_read_without_what_lies_beside_it() {
        // A part of 68 rows of 240 has fewer than 2^14 elements. Blocks that are cut into such parts read no more.
        let (shape, least) = ([1, 200, 240], 1 << 14);
        let part = contiguous_runs(&shape, Region::whole(&shape), [1, least]).next().unwrap().shape;
        assert_eq!(part, [1, 68, 240]);
        let rows = elements_of(&shape, [&[0, 68, 0], &[1, 136, 240]], [least, 1 << 17]);
        assert!(rows.into_iter().eq(68 * 240..136 * 240));
        // The last block has fewer rows, and reads no more either.
        let rows = elements_of(&shape, [&[0, 136, 0], &[1, 200, 240]], [least, 1 << 17]);
        assert!(rows.into_iter().eq(136 * 240..200 * 240));
    }

    #[test]
    fn pieces_of_a_box_hold_what_lies_beside_it_only_to_be_long_enough() {
        let (shape, start, end) = ([3, 4, 5], [1, 1, 2], [3, 3, 4]);
        let box_alone: Vec<u64> = vec![27, 28, 32, 33, 47, 48, 52, 53];
        assert_eq!(elements_of(&shape, [&start, &end], [2, 100]), box_alone);
        let rows: Vec<u64> = (25..35).chain(45..55).collect();
        assert_eq!(elements_of(&shape, [&start, &end], [3, 100]), rows);
        assert_eq!(elements_of(&shape, [&start, &end], [3, 7]), rows);
        assert_eq!(elements_of(&shape, [&start, &end], [11, 100]), rows);
        assert!(elements_of(&shape, [&start, &end], [15, 100]).into_iter().eq(20..60));
        assert!(elements_of(&shape, [&start, &start], [11, 100]).is_empty());
    }

    #[test]
    fn elements_to_end_counts_what_stands_before_the_padding() {
        assert_eq!(elements_to_end(&[2, 4], &[3, 4]), 8);
        assert_eq!(elements_to_end(&[2, 3], &[3, 4]), 7);
        assert_eq!(elements_to_end(&[3, 0], &[3, 4]), 0);
        assert_eq!(elements_to_end(&[], &[]), 1);
    }
}
