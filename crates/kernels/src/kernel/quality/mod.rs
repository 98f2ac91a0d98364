//! Measures of a change of an array's values: those for lossy compression of climate data, of two slices of float64 in
//! pairs.
//!
//! [`sums`] has the measures that are sums over points, and [`similarity`] has DSSIM of a 2-D level. [`distribution`]
//! has the Kolmogorov-Smirnov statistic and its p-value. The definitions are those of Baker et al.
//! (2019, 10.1007/978-3-030-34356-9_30) and (2023, 10.1109/TVCG.2023.3332843), as the package ldcpy computes them on
//! float64. A point counts if both values are finite.

pub mod distribution;
pub mod similarity;
pub mod sums;
