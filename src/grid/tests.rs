//! Grids compared with their chunks, one by one.

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
            prop_assert!(axis.distinct_lengths().into_iter().eq(lengths));
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
    let some = Region::between(vec![2, 3], &[4, 7]);
    assert_eq!(grid.counts(), [2, 3]);
    assert_eq!((grid.largest(), grid.uniform()), ([7, 4].as_slice(), None));
    assert_eq!(grid.region_of(&[1, 2]), Region { start: vec![3, 6], shape: vec![7, 2] });
    assert_eq!(grid.chunks_in(&some), Region { start: vec![0, 0], shape: vec![2, 3] });
    assert!(grid.has_chunks_of(&grid.clone()) && !grid.has_chunks_of(&Grid::regular(&[10, 8], &[7, 4])));
    let regular = Grid::regular(&[10, 8], &[3, 4]);
    assert_eq!(regular.counts(), [4, 2]);
    assert_eq!(regular.region_of(&[3, 1]), Region { start: vec![9, 4], shape: vec![3, 4] });
    assert_eq!(regular.chunks_in(&some), Region { start: vec![0, 0], shape: vec![2, 2] });
}

#[test]
fn cells_are_all_positions_of_a_box_in_order() {
    let of = |start: &[u64], shape: &[u64]| {
        Region { start: start.to_vec(), shape: shape.to_vec() }.cells().collect::<Vec<_>>()
    };
    assert_eq!(of(&[3, 5], &[2, 2]), [[3, 5], [3, 6], [4, 5], [4, 6]]);
    assert_eq!(of(&[], &[]), [Vec::<u64>::new()]);
    assert!(of(&[3, 5, 7], &[2, 0, 1]).is_empty());
    assert_eq!(of(&[7], &[1]), [[7]]);
}

#[test]
fn part_of_a_grid_begins_where_its_first_chunk_does() {
    let regular = Grid::regular(&[10, 8], &[3, 4]);
    assert_eq!(regular.part(&[1, 0], &[2, 1], &[5, 4]), Grid::regular(&[5, 4], &[3, 4]));
    let grid = Grid::of_axes(vec![Axis::new(10, [(3, 1), (7, 1)])]);
    let part = grid.part(&[0], &[1], &[3]);
    assert_eq!((part.counts(), part.largest(), part.uniform()), (vec![1], [7].as_slice(), None));
    assert!(part.has_chunks_of(&Grid::regular(&[3], &[3])) && !part.has_chunks_of(&grid));
}

#[test]
fn claims_of_any_size_are_cheap() {
    let axis = Axis::new(1 << 40, [(1, 1 << 39), (2, u64::MAX), (3, u64::MAX)]);
    assert_eq!((axis.count(), axis.runs.len()), ((1 << 39) + (1 << 38), 2));
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
    assert_eq!(region.common(&other), Region { start: vec![4, 2], shape: vec![2, 1] });
    assert!(region.common(&Region { start: vec![6, 0], shape: vec![4, 3] }).is_empty());
    assert_eq!(region.chunks(&[3, 6]), Region { start: vec![0, 0], shape: vec![2, 1] });
    assert_eq!(region.moved_by(&[1, 0]).relative_to(&[3, 1]), Region { start: vec![0, 1], shape: vec![4, 4] });
    assert_eq!((region.position(6), region.end()), (vec![3, 4], vec![6, 6]));
}

#[test]
fn region_touches_the_chunks_that_it_overlaps() {
    let region = Region { start: vec![3, 0], shape: vec![2, 5] };
    assert!(region.chunks(&[2, 5]).cells().eq([[1, 0], [2, 0]]));
    assert_eq!(Region::whole(&[]).chunks(&[]).cells().count(), 1);
}

fn up_to(shape: &[u64]) -> Vec<Lengths> {
    shape.iter().map(|length| Lengths::UpTo(*length)).collect()
}

#[test]
fn whole_dimensions_come_first_from_the_last() {
    let cases: [(&[u64], u64, &[u64]); 8] = [
        (&[365, 721, 1440], 262_144, &[1, 181, 1440]),
        (&[365, 721, 1440], 1000, &[1, 1, 720]),
        (&[10, 20], 1000, &[10, 20]),
        (&[10, 20], 0, &[1, 1]),
        (&[0, 180, 360], 1 << 20, &[1, 180, 360]),
        (&[], 7, &[]),
        (&[u64::MAX, u64::MAX], 1 << 20, &[1, 1 << 20]),
        (&[3, u64::MAX], u64::MAX, &[1, u64::MAX]),
    ];
    for (shape, limit, expected) in cases {
        assert_eq!(fit(&up_to(shape), limit), expected, "{shape:?} {limit}");
    }
}

#[test]
fn divisors_are_taken_where_they_must_be() {
    let of =
        |wholes: &[u64], limit| fit(&wholes.iter().map(|whole| Lengths::Dividing(*whole)).collect::<Vec<_>>(), limit);
    assert_eq!(of(&[64, 64, 1801], 1000), [8, 64, 1]);
    assert_eq!(of(&[512, 512], 1000), [1, 512]);
    assert_eq!(of(&[1000], 600), [500]);
    assert_eq!(of(&[u64::MAX], 10), [5]);
    assert_eq!(of(&[18_446_744_073_709_551_557], 1 << 40), [1]);
}

fn any_length() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..40, 0_u64..5000, any::<u64>()]
}

proptest! {
    #[test]
    fn product_is_near_the_limit_and_never_above(
        shape in proptest::collection::vec(any_length(), 0..6),
        limit in any_length(),
    ) {
        let found = fit(&up_to(&shape), limit);
        prop_assert_eq!(found.len(), shape.len());
        prop_assert!(found.iter().all(|length| *length > 0));
        prop_assert!(found.iter().zip(&shape).all(|(length, axis)| *length <= (*axis).max(1)));
        let product = found.iter().map(|length| u128::from(*length)).product::<u128>();
        let limit = u128::from(limit.max(1));
        prop_assert!(product <= limit);
        let is_whole = found.iter().zip(&shape).all(|(length, axis)| *length == (*axis).max(1));
        prop_assert!(is_whole || product * 2 > limit, "{:?} {:?} {}", found, shape, limit);
        prop_assert_eq!(fit(&up_to(&shape), limit.try_into().unwrap()), found);
    }

    #[test]
    fn divisors_divide(
        wholes in proptest::collection::vec(prop_oneof![1_u64..5000, 1_u64..1 << 38], 0..5),
        limit in any_length(),
    ) {
        let dimensions: Vec<Lengths> = wholes.iter().map(|whole| Lengths::Dividing(*whole)).collect();
        let found = fit(&dimensions, limit);
        prop_assert!(found.iter().zip(&wholes).all(|(length, whole)| *length > 0 && whole % length == 0));
        let product = found.iter().map(|length| u128::from(*length)).product::<u128>();
        prop_assert!(product <= u128::from(limit.max(1)));
    }

    #[test]
    fn divisor_is_the_greatest(whole in 1_u64..3000, most in 1_u64..3000) {
        let expected = (1..=most).rev().find(|length| whole % length == 0);
        prop_assert_eq!(fit(&[Lengths::Dividing(whole)], most), Vec::from_iter(expected));
    }
}
