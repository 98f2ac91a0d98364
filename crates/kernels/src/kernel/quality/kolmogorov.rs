//! The p-value of the two-sample Kolmogorov-Smirnov test, of two samples that are as many: how often samples of one
//! distribution lie at least so far apart.
//!
//! Up to 10,000 values each it is exact, as a count of paths (Gnedenko and Korolyuk 1951). Above, it is that of one sample of half as
//! many values against its distribution, in the approximations that Simard and L'Ecuyer (2011, 10.18637/jss.v039.i11) recommend
//! for such numbers: that is the rule of `scipy.stats.ks_2samp`, too. What is left out is less than 1e-9.

use std::f64::consts::PI;

/// Values of each sample up to which the p-value is exact.
const MOST_EXACT: u64 = 10_000;

/// The p-value of samples of `count` values each, whose distribution functions are `distance` values apart.
pub fn p_value(count: u64, distance: u64) -> f64 {
    if distance == 0 {
        return 1.0;
    }
    let p = if count <= MOST_EXACT { exact(count, distance) } else { asymptotic(count, distance) };
    p.clamp(0.0, 1.0)
}

/// Of all orders of both samples, the share in which the functions are so far apart:
/// `2 (C(2n, n-h) - C(2n, n-2h) + C(2n, n-3h) - ...) / C(2n, n)`, each binomial as a multiple of the one before.
#[expect(clippy::cast_precision_loss, reason = "at most 20,001")]
fn exact(count: u64, distance: u64) -> f64 {
    let mut p = 0.0;
    for multiple in (0..=count / distance).rev() {
        let passed = multiple * distance;
        let factors = (0..distance).map(|step| {
            // Of the last binomial, which is 0, a factor may be below 0: it comes behind one that is 0.
            count.saturating_sub(passed + step) as f64 / (count + passed + step + 1) as f64
        });
        p = factors.product::<f64>() * (1.0 - p);
    }
    2.0 * p
}

/// The square of `z` from which on both sides of the distribution are never exceeded at once (Simard and L'Ecuyer, section
/// 3.4).
const TWO_SIDED: f64 = 2.2;

/// The square of `z` from which on the p-value is less than the least float64.
const NEVER: f64 = 370.0;

/// The `z` up to which the p-value is more than 1 - 1e-300.
const ALWAYS: f64 = 0.042;

/// That of one sample of half as many values.
#[expect(clippy::cast_precision_loss, reason = "a count rounded to 53 bits is within the error of the formulas")]
fn asymptotic(count: u64, distance: u64) -> f64 {
    let half = (count as f64 / 2.0).round_ties_even();
    let statistic = distance as f64 / count as f64;
    let z = statistic * half.sqrt();
    match z * z {
        square if square >= NEVER => 0.0,
        square if square >= TWO_SIDED => 2.0 * one_sided(half, z),
        _ if z < ALWAYS || statistic * half <= 1.0 => 1.0,
        _ => 1.0 - pelz_good(half, z),
    }
}

/// The p-value of the one-sided statistic `z / sqrt(n)` (Lauwerier 1963): the terms up to `n^(-3/2)`.
fn one_sided(n: f64, z: f64) -> f64 {
    let (root, square) = (n.sqrt(), z * z);
    let first = -2.0 * z / (3.0 * root);
    let second = 2.0 * square / (3.0 * n) * (1.0 - 2.0 * square / 3.0);
    let third = 4.0 * z / (9.0 * n * root) * (0.2 - 19.0 * square / 15.0 + 2.0 * square * square / 3.0);
    (-2.0 * square).exp() * (1.0 + first + second + third)
}

/// The distribution function of the statistic at `z / sqrt(n)` (Pelz and Good 1976): its limit and three terms in
/// `1 / sqrt(n)`, as sums over Jacobi's theta functions.
fn pelz_good(n: f64, z: f64) -> f64 {
    let power = |exponent: i32| z.powi(exponent);
    let (square, pi_square) = (z * z, PI * PI);
    let mut terms = [0.0; 4];
    // Terms beyond these are below the last bit.
    let most = (16.0 * z / PI).ceil();
    let mut number = most;
    while number >= 1.0 {
        let odd = (2.0 * number - 1.0).powi(2) * pi_square / 4.0;
        let weight = (-odd / (2.0 * square)).exp();
        let even = number * number * pi_square;
        let even_weight = (-even / (2.0 * square)).exp();
        terms[0] += weight / z;
        terms[1] += weight * (odd - square) / (6.0 * power(4));
        let second =
            6.0 * power(6) + 2.0 * power(4) + (2.0 * power(4) - 5.0 * square) * odd + (1.0 - 2.0 * square) * odd * odd;
        terms[2] += weight * second / (72.0 * power(7)) - even_weight * even / (36.0 * power(3));
        let third = (5.0 - 30.0 * square) * odd.powi(3)
            + (-60.0 * square + 212.0 * power(4)) * odd * odd
            + (135.0 * power(4) - 96.0 * power(6)) * odd
            - 30.0 * power(6)
            - 90.0 * power(8);
        terms[3] +=
            weight * third / (6480.0 * power(10)) + even_weight * even * (3.0 * square - even) / (216.0 * power(6));
        number -= 1.0;
    }
    let root = n.sqrt();
    let sum = terms[0] + terms[1] / root + terms[2] / n + terms[3] / (n * root);
    sum * (2.0 * PI).sqrt()
}
