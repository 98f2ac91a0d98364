//! Grids against the chunks that they stand for, one by one.

use proptest::prelude::*;

use super::*;

/// The chunks that begin inside an array, as first element and length.
fn expanded(length: u64, runs: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut chunks = Vec::new();
    let mut start = 0;
    for (chunk, count) in runs {
        for _ in 0..*count {
            if start < length {
                chunks.push((start, *chunk));
            }
            start += chunk;
        }
    }
    chunks
}

/// Runs that cover an array, and its length.
fn covering() -> impl Strategy<Value = (u64, Vec<(u64, u64)>)> {
    proptest::collection::vec((1_u64..6, 1_u64..5), 1..7).prop_flat_map(|runs| {
        let total: u64 = runs.iter().map(|(chunk, count)| chunk * count).sum();
        (0..=total, Just(runs))
    })
}

proptest! {
    #[test]
    fn axis_knows_every_chunk((length, runs) in covering()) {
        let chunks = expanded(length, &runs);
        let axis = Axis::new(length, runs);
        prop_assert_eq!(axis.count(), chunks.len() as u64);
        for (index, (start, chunk)) in (0_u64..).zip(&chunks) {
            prop_assert_eq!((axis.start_of(index), axis.length_of(index)), (*start, *chunk));
            for element in *start..(start + chunk).min(length) {
                prop_assert_eq!(axis.chunk_of(element), index);
            }
        }
        let mut lengths: Vec<u64> = chunks.iter().map(|(_, chunk)| *chunk).collect();
        lengths.sort_unstable();
        lengths.dedup();
        if length > 0 {
            prop_assert_eq!(axis.longest(), *lengths.last().unwrap());
            prop_assert_eq!(axis.is_uniform(), lengths.len() == 1);
            prop_assert_eq!(axis.distinct_lengths(), lengths);
        }
        for start in 0..length {
            for end in start..=length {
                let overlapping = |(first, chunk): &&(u64, u64)| *first < end && first + chunk > start && start < end;
                let count = chunks.iter().filter(overlapping).count() as u64;
                prop_assert_eq!(axis.chunks_in(start, end), (axis.chunk_of(start), count));
            }
        }
    }

    #[test]
    fn grid_of_one_length_is_the_regular_one(length in 0_u64..40, chunk in 1_u64..9) {
        let count = length.div_ceil(chunk).max(1);
        for runs in [vec![(chunk, count)], vec![(chunk, 1); usize::try_from(count).unwrap()], vec![(chunk, count), (9, 9)]] {
            prop_assert_eq!(Grid::of_axes(vec![Axis::new(length, runs)]), Grid::regular(&[length], &[chunk]));
        }
    }
}

#[test]
fn grid_goes_by_its_axes() {
    let grid = Grid::of_axes(vec![Axis::new(10, [(3, 1), (7, 1)]), Axis::new(8, [(4, 1), (2, 3)])]);
    assert_eq!(grid.counts(), [2, 3]);
    assert_eq!((grid.largest(), grid.uniform()), ([7, 4].as_slice(), None));
    assert_eq!(grid.region_of(&[1, 2]), Region { start: vec![3, 6], shape: vec![7, 2] });
    assert_eq!(grid.chunks_in(&[2, 3], &[4, 7]), (vec![0, 0], vec![2, 3]));
    assert!(grid.has_chunks_of(&grid.clone()) && !grid.has_chunks_of(&Grid::regular(&[10, 8], &[7, 4])));
    let regular = Grid::regular(&[10, 8], &[3, 4]);
    assert_eq!(regular.counts(), [4, 2]);
    assert_eq!(regular.region_of(&[3, 1]), Region { start: vec![9, 4], shape: vec![3, 4] });
    assert_eq!(regular.chunks_in(&[2, 3], &[4, 7]), (vec![0, 0], vec![2, 2]));
}

#[test]
fn claims_of_any_size_are_cheap() {
    let axis = Axis::new(1 << 40, [(1, 1 << 39), (2, u64::MAX), (3, u64::MAX)]);
    assert_eq!((axis.count(), axis.runs()), ((1 << 39) + (1 << 38), 2));
    assert_eq!((axis.chunk_of((1 << 40) - 1), axis.start_of(1 << 39)), ((1 << 39) + (1 << 38) - 1, 1 << 39));
    let last = Axis::new(u64::MAX, [(u64::MAX - 1, 1), (u64::MAX, u64::MAX)]);
    assert_eq!((last.count(), last.start_of(1), last.length_of(1)), (2, u64::MAX - 1, u64::MAX));
    assert_eq!(last.start_of(2), u64::MAX);
    let short = Axis::new(10, [(4, 1)]);
    assert_eq!((short.count(), short.chunk_of(9)), (3, 2));
    let none = Axis::new(10, []);
    assert_eq!((none.count(), none.longest()), (10, 1));
}

#[test]
fn regions_have_their_overlap_in_common() {
    let region = Region { start: vec![2, 2], shape: vec![4, 4] };
    let other = Region { start: vec![4, 0], shape: vec![4, 3] };
    assert_eq!(region.common(&other), Some(Region { start: vec![4, 2], shape: vec![2, 1] }));
    assert_eq!(region.common(&Region { start: vec![6, 0], shape: vec![4, 3] }), None);
}
