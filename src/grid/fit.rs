//! The shape of a chunk, or of a shard, of about a number of elements (`--chunk-shape auto`, `--shard-shape auto`).

/// The lengths that a chunk may have along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// Any from 1 up to this one; at least 1 is taken.
    UpTo(u64),
    /// Those that divide this one, which is not 0.
    Dividing(u64),
}

/// Lengths of which the product is at most `limit`, or 1 each where that is 0: whole dimensions first from the last.
///
/// The first dimension that does not fit whole is cut into pieces as equal as may be. Where all lengths are `UpTo`, the
/// product is that of whole dimensions, or more than half of `limit`.
pub fn fit(dimensions: &[Lengths], limit: u64) -> Vec<u64> {
    let mut left = limit.max(1);
    let mut lengths: Vec<u64> = dimensions
        .iter()
        .rev()
        .map(|lengths| {
            let length = lengths.longest(left);
            left /= length;
            length
        })
        .collect();
    lengths.reverse();
    lengths
}

impl Lengths {
    /// The length to take where `most`, which is not 0, must not be exceeded.
    fn longest(self, most: u64) -> u64 {
        match self {
            Lengths::UpTo(whole) | Lengths::Dividing(whole) if whole <= most => whole.max(1),
            Lengths::UpTo(whole) => whole.div_ceil(whole.div_ceil(most)),
            Lengths::Dividing(whole) => greatest_divisor(whole, most),
        }
    }
}

/// The greatest divisor of `whole` that is at most `most`; of numbers above 2^40 the greatest that is soon found.
fn greatest_divisor(whole: u64, most: u64) -> u64 {
    const MOST_TRIED: u64 = 1 << 20;
    let small = (1..=MOST_TRIED).take_while(|small| *small <= whole / small);
    let pairs = small.filter(|small| whole.is_multiple_of(*small)).flat_map(|small| [small, whole / small]);
    pairs.filter(|divisor| *divisor <= most).max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

    use super::*;

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
        let of = |wholes: &[u64], limit| {
            fit(&wholes.iter().map(|whole| Lengths::Dividing(*whole)).collect::<Vec<_>>(), limit)
        };
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
            prop_assert_eq!(Some(greatest_divisor(whole, most)), expected);
        }
    }
}
