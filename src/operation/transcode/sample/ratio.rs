//! What a sample says of the whole: estimates by ratio, and how far off they may be (Cochran, "Sampling Techniques", 1977,
//! chapters 5, 6 and 8).

use crate::diagnostic::quantity::approximate;

/// A unit of a sample: what it came to, beside something of which the sum over all units is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Observed {
    /// What is estimated.
    pub found: f64,
    /// What is known of all.
    pub known: f64,
}

/// An estimate of a sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sum {
    /// The sum over all units.
    pub value: f64,
    /// The standard error, as a share of the estimate: of two ways to estimate the better has the smaller one. 0 of all units,
    /// and `None` where those of the sample cannot tell: there is one, or they are all alike.
    pub error: Option<f64>,
}

/// Shares that are no more come of rounding.
const ALIKE: f64 = 1e-9;

/// The sum over `total` units from a sample of them in their order, one of each stretch, where what is known of all comes to
/// `known`. The variance is that of successive differences, which a slow change along the units does not add to.
pub(super) fn estimate(sample: &[Observed], total: u64, known: f64) -> Sum {
    let (found, beside) =
        sample.iter().fold((0.0, 0.0), |(found, beside), one| (found + one.found, beside + one.known));
    let ratio = if beside > 0.0 { found / beside } else { 0.0 };
    let value = ratio * known;
    let count = sample.len() as u64;
    if count >= total {
        return Sum { value, error: Some(0.0) };
    }
    if count < 2 || value == 0.0 {
        return Sum { value, error: None };
    }
    let residual = |one: &Observed| one.found - ratio * one.known;
    let squares: f64 = sample.windows(2).map(|two| (residual(&two[0]) - residual(&two[1])).powi(2)).sum();
    let freedom = sample.len() - 1;
    let variance = squares / approximate(2 * freedom as u64);
    let left = 1.0 - approximate(count) / approximate(total);
    let error = approximate(total) * (left * variance / approximate(count)).sqrt();
    // Where all are alike, nothing is known of those that are not.
    Sum { value, error: Some(error / value).filter(|share| *share > ALIKE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(found: &[f64], known: &[f64]) -> Vec<Observed> {
        found.iter().zip(known).map(|(found, known)| Observed { found: *found, known: *known }).collect()
    }

    #[test]
    fn estimate_of_the_whole_is_the_whole() {
        let all = observed(&[3.0, 5.0, 1.0], &[1.0, 1.0, 0.5]);
        assert_eq!(estimate(&all, 3, 2.5), Sum { value: 9.0, error: Some(0.0) });
    }

    #[test]
    fn units_that_are_alike_tell_no_error() {
        let some = observed(&[2.0, 6.0, 4.0], &[1.0, 3.0, 2.0]);
        assert_eq!(estimate(&some, 100, 170.0), Sum { value: 340.0, error: None });
        let close = observed(&[0.1, 0.3, 0.7], &[0.1, 0.3, 0.7]);
        assert_eq!(estimate(&close, 100, 170.0).error, None);
    }

    #[test]
    fn error_is_that_of_successive_differences() {
        let some = observed(&[10.0, 12.0, 10.0, 12.0], &[1.0; 4]);
        let sum = estimate(&some, 400, 400.0);
        assert_eq!(sum.value, 4400.0);
        // Three differences of 2: a variance of 12 / 6, and one of 100 units.
        let expected = 400.0 * (0.99 * 2.0 / 4.0_f64).sqrt() / 4400.0;
        assert!((sum.error.unwrap() - expected).abs() < 1e-12);
    }

    #[test]
    fn one_unit_of_several_tells_no_error() {
        let one = observed(&[10.0], &[1.0]);
        assert_eq!(estimate(&one, 2, 2.0), Sum { value: 20.0, error: None });
        assert_eq!(estimate(&[], 0, 0.0), Sum { value: 0.0, error: Some(0.0) });
        assert_eq!(estimate(&observed(&[0.0, 0.0], &[1.0, 1.0]), 9, 9.0).error, None);
        assert_eq!(estimate(&observed(&[0.0, 0.0], &[1.0, 1.0]), 2, 2.0).error, Some(0.0));
    }
}
