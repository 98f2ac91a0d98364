//! Where the work of a pass is cut into parts. Pure: how many units of which size in, boundaries out.

use std::cmp::Ordering;
use std::ops::Range;

use crate::array::ChunkSet;

/// A place between units: before unit `unit` of array `array`, both by their numbers.
pub(super) type Boundary = (usize, u64);

/// The units of an array that have anything to do, and the bytes of each.
pub(super) struct Work {
    pub units: ChunkSet,
    pub bytes: u64,
}

/// Cuts the work into at most so many parts of about equal bytes, each of one unit at least: their boundaries, one more than
/// there are parts.
pub(super) fn cut(work: &[Work], parts: u64) -> Vec<Boundary> {
    let total: u64 = work.iter().map(|work| work.units.len()).fold(0, u64::saturating_add);
    let parts = parts.min(total).max(1);
    let bytes = |work: &Work| u128::from(work.units.len()) * u128::from(work.bytes);
    let all: u128 = work.iter().map(bytes).fold(0, u128::saturating_add);
    let mut boundaries = vec![(0, 0)];
    // Units before the array, bytes before it, and its number.
    let (mut units_before, mut bytes_before, mut array) = (0_u64, 0_u128, 0_usize);
    let mut before = 0;
    for part in 1..parts {
        let share =
            all / u128::from(parts) * u128::from(part) + all % u128::from(parts) * u128::from(part) / u128::from(parts);
        let least = before + 1;
        let most = total - (parts - part);
        while array + 1 < work.len() && bytes_before + bytes(&work[array]) <= share {
            units_before += work[array].units.len();
            bytes_before += bytes(&work[array]);
            array += 1;
        }
        let unit = u128::from(work[array].bytes.max(1));
        let inside = (share - bytes_before + unit / 2) / unit;
        let inside = u64::try_from(inside).unwrap_or(u64::MAX).min(work[array].units.len());
        before = units_before.saturating_add(inside).clamp(least, most);
        boundaries.push(at(work, before));
    }
    boundaries.push((work.len(), 0));
    boundaries
}

/// The boundary behind so many units of all arrays.
fn at(work: &[Work], mut units: u64) -> Boundary {
    for (number, of_array) in work.iter().enumerate() {
        if let Some(unit) = of_array.units.nth(units) {
            return (number, unit);
        }
        units -= of_array.units.len();
    }
    (work.len(), 0)
}

/// The units of an array between two boundaries; the last of all has no end.
pub(super) fn units_between((from, to): (Boundary, Boundary), array: usize) -> Range<u64> {
    let [start, end] = [from, to].map(|(of, unit)| match of.cmp(&array) {
        Ordering::Less => 0,
        Ordering::Equal => unit,
        Ordering::Greater => u64::MAX,
    });
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn work(arrays: &[(Vec<u64>, u64)]) -> Vec<Work> {
        let of =
            |(units, bytes): &(Vec<u64>, u64)| Work { units: ChunkSet::from_indices(units.clone()), bytes: *bytes };
        arrays.iter().map(of).collect()
    }

    /// The units of each part, by array.
    fn shares(work: &[Work], boundaries: &[Boundary]) -> Vec<Vec<(usize, u64)>> {
        let of = |pair: &[Boundary]| {
            (0..)
                .zip(work)
                .flat_map(|(number, work)| {
                    let range = units_between((pair[0], pair[1]), number);
                    let inside = work.units.iter().filter(move |unit| range.contains(unit));
                    inside.map(move |unit| (number, unit)).collect::<Vec<_>>()
                })
                .collect()
        };
        boundaries.windows(2).map(of).collect()
    }

    #[test]
    fn parts_of_one_array_are_alike() {
        let work = work(&[((0..10).collect(), 100)]);
        assert_eq!(cut(&work, 3), [(0, 0), (0, 3), (0, 7), (1, 0)]);
        assert_eq!(cut(&work, 1), [(0, 0), (1, 0)]);
    }

    #[test]
    fn small_arrays_share_a_part_and_a_large_one_has_many() {
        let work = work(&[(vec![0], 1), (vec![0], 1), ((0..8).collect(), 100), (vec![5], 1)]);
        assert_eq!(cut(&work, 4), [(0, 0), (2, 2), (2, 4), (2, 6), (4, 0)]);
    }

    #[test]
    fn work_of_nothing_is_one_part() {
        assert_eq!(cut(&[], 5), [(0, 0), (0, 0)]);
        assert_eq!(cut(&work(&[(vec![], 4)]), 5), [(0, 0), (1, 0)]);
    }

    proptest! {
        #[test]
        fn every_unit_is_in_one_part_and_no_part_is_empty(
            arrays in prop::collection::vec((prop::collection::btree_set(0..60_u64, 0..20), 1..1000_u64), 1..6),
            parts in 1..40_u64,
        ) {
            let arrays: Vec<(Vec<u64>, u64)> = arrays.into_iter().map(|(units, bytes)| (units.into_iter().collect(), bytes)).collect();
            let work = work(&arrays);
            let boundaries = cut(&work, parts);
            let total: usize = arrays.iter().map(|(units, _)| units.len()).sum();
            prop_assert_eq!(boundaries.len() as u64 - 1, parts.min(total as u64).max(1));
            let shares = shares(&work, &boundaries);
            prop_assert!(total == 0 || shares.iter().all(|share| !share.is_empty()));
            let all: Vec<(usize, u64)> = shares.concat();
            let wanted: Vec<(usize, u64)> = (0..).zip(&arrays).flat_map(|(n, (units, _))| units.iter().map(move |unit| (n, *unit))).collect();
            prop_assert_eq!(all, wanted);
        }
    }
}
