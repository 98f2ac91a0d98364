//! A sample of chunks, and what is estimated from it, as text.

use super::quantity::{bytes, count, counted, figure, percent, seconds, shape};
use crate::diagnostic::quantity::approximate;
use crate::operation::sample_result::{CompressionResult, EstimateResult, SampleResult, TriedResult};

/// The bytes and the time: `~164 KiB +- 1.2 %, about 3.0 s`.
pub(super) fn estimated(estimate: &EstimateResult) -> String {
    format!("{}{}, about {}", about(estimate), width(estimate.uncertainty), seconds(estimate.seconds))
}

/// The same of several arrays together, one after the other.
pub(super) fn estimated_together(estimates: &[&EstimateResult]) -> String {
    let bytes_stored = estimates.iter().fold(0_u64, |all, one| all.saturating_add(one.bytes_stored));
    let seconds = estimates.iter().map(|one| one.seconds).sum();
    let squares = estimates.iter().try_fold(0.0, |all, one| {
        one.uncertainty.map(|share| all + (share * approximate(one.bytes_stored)).powi(2))
    });
    let uncertainty = squares.map(|squares: f64| squares.sqrt() / approximate(bytes_stored).max(1.0));
    let first = estimates.first().map(|one| one.sample.clone());
    let together = first.map(|sample| EstimateResult { bytes_stored, uncertainty, seconds, sample });
    together.as_ref().map_or_else(String::new, estimated)
}

/// The bytes; of the whole, without the sign of what is not exact.
pub(super) fn about(estimate: &EstimateResult) -> String {
    approximately(estimate.bytes_stored, estimate.uncertainty)
}

/// The same of bytes and how far off they may be.
pub(super) fn approximately(bytes_stored: u64, uncertainty: Option<f64>) -> String {
    let sign = if uncertainty == Some(0.0) { "" } else { "~" };
    format!("{sign}{}", bytes(bytes_stored))
}

/// How far off it may be.
pub(super) fn width(uncertainty: Option<f64>) -> String {
    match uncertainty {
        Some(0.0) => String::new(),
        Some(share) => format!(" \u{b1} {} %", figure(two_digits(share * 100.0))),
        None => ", by how much is not known".to_owned(),
    }
}

/// Two significant digits, as far as the unit.
fn two_digits(value: f64) -> f64 {
    if value >= 10.0 { value.round() } else { (value * 10.0).ceil() / 10.0 }
}

/// Which chunks.
pub(super) fn sample(sample: &SampleResult) -> String {
    let of = if sample.chunks == sample.of {
        format!("all {} chunks", count(sample.of))
    } else {
        let share = percent(sample.chunks, sample.of);
        format!("{} of {} chunks ({share}), spread evenly", count(sample.chunks), count(sample.of))
    };
    format!("{of}, of shape {}; {} read", shape(&sample.chunk_shape), bytes(sample.bytes_read))
}

/// What `--compress auto` chose.
pub(super) fn chosen(compression: &CompressionResult) -> String {
    match (&compression.chosen, &compression.sample) {
        (Some(chosen), Some(sample)) => {
            let (chunks, of) = (count(sample.chunks), counted(sample.of, "chunk"));
            format!("{chosen}, the best on {chunks} of {of}")
        }
        (None, Some(_)) => "none of those that were tried".to_owned(),
        _ => format!("chosen by `{}` when a run begins, or with --estimate", compression.goal),
    }
}

/// The chains that were tried, with what each would give: of all chunks, estimated.
pub(super) fn tried(compression: &CompressionResult) -> String {
    let one = |tried: &TriedResult| match tried.bytes_stored {
        Some(stored) => format!("{} {}", tried.compress, bytes(stored)),
        None => format!("{} not for this type", tried.compress),
    };
    compression.tried.iter().map(one).collect::<Vec<_>>().join(", ")
}
