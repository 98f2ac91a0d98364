//! How much a change of the values of an array shows: the measures of lossy compression of climate data, of two slices of
//! float64 that stand beside each other.
//!
//! [`sums`] are the measures that are sums over points, [`similarity`] is DSSIM of a 2-D level, [`distribution`] finds the
//! Kolmogorov-Smirnov statistic, and [`kolmogorov`] gives its p-value. The definitions are those of Baker et al. (2019, 10.1007/978-3-030-34356-9_30) and (2023, 10.1109/TVCG.2023.3332843), as the package ldcpy
//! calculates them on float64. A point counts where both values are finite.

pub mod distribution;
pub mod kolmogorov;
pub mod similarity;
pub mod sums;
mod windows;

#[cfg(test)]
mod tests;
