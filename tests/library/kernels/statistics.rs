//! The extent of slices compared with the least and greatest of their exact values.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use zarrcast::kernel::statistics::{Extent, ExtentScan};

use crate::kernels::reference::Kind;
use crate::kernels::reference::number::{Number, number};
use crate::kernels::strategies::bits_of;
use crate::kernels::subject::{CORE, instruction_sets, number_type, pack};

/// Returns a key that orders finite elements by value. The negative zero is before the positive one.
fn order(bits: u64, kind: Kind) -> i128 {
    let (Kind::Float(_) | Kind::Int { signed: true, .. }) = kind else { return i128::from(bits) };
    let sign = 1_u64 << (kind.width() - 1);
    match (kind.is_float(), bits & sign != 0) {
        (_, false) => i128::from(bits),
        (true, true) => -1 - i128::from(bits & !sign),
        (false, true) => i128::from(bits) - 2 * i128::from(sign),
    }
}

fn expected(elements: &[u64], missing: &[u64], kind: Kind) -> Extent {
    let same = |one: u64, other: u64| match (number(one, kind), number(other, kind)) {
        (Number::Finite(one), Number::Finite(other)) if one.is_zero() && other.is_zero() => true,
        (Number::Nan, _) => false,
        (one, other) => one == other,
    };
    let is_missing = |bits: u64| missing.iter().any(|missing| same(*missing, bits));
    let mut extent =
        Extent { count: elements.len() as u64, nan: 0, positive_infinity: 0, negative_infinity: 0, finite: None };
    let mut finite = Vec::new();
    for &bits in elements {
        match number(bits, kind) {
            _ if is_missing(bits) => extent.nan += 1,
            Number::Nan => extent.nan += 1,
            Number::Infinite { negative: false } => extent.positive_infinity += 1,
            Number::Infinite { negative: true } => extent.negative_infinity += 1,
            Number::Finite(_) => finite.push(bits),
        }
    }
    let least = finite.iter().copied().min_by_key(|bits| order(*bits, kind));
    let greatest = finite.iter().copied().max_by_key(|bits| order(*bits, kind));
    extent.finite = least.zip(greatest);
    extent
}

#[test]
fn extent_equals_the_least_and_greatest_of_the_elements() {
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    for kind in CORE {
        let elements = prop::collection::vec(bits_of(kind), 0..200);
        let missing = prop::collection::vec(bits_of(kind), 0..3);
        let property = |(elements, mut missing, takes_one): (Vec<u64>, Vec<u64>, bool)| {
            missing.extend(elements.first().filter(|_| takes_one));
            for instruction_set in instruction_sets() {
                let scan = instruction_set.at_most(|| ExtentScan::new(number_type(kind), &missing));
                let mut whole = Extent::default();
                // From unaligned bytes.
                scan.scan(&[&[0], &pack(&elements, kind)[..]].concat()[1..], &mut whole);
                prop_assert_eq!(whole, expected(&elements, &missing, kind), "{:?} {:x?}", kind, elements);
                // The same in two parts.
                let (head, tail) = elements.split_at(elements.len() / 3);
                let (mut first, mut second) = (Extent::default(), Extent::default());
                scan.scan(&pack(head, kind), &mut first);
                scan.scan(&pack(tail, kind), &mut second);
                scan.merge(&mut first, &second);
                prop_assert_eq!(first, whole, "{:?} in two parts: {:x?}", kind, elements);
            }
            Ok(())
        };
        let mut runner = TestRunner::new(config.clone());
        runner.run(&(elements, missing, any::<bool>()), property).unwrap_or_else(|failure| panic!("{failure}"));
    }
}
