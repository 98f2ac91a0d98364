//! A sample of chunks, and what is estimated from it, as text.

use super::quantity::{bytes, count, counted, percent, seconds, shape};
use crate::operation::sample_result::{CompressionResult, EstimateResult, SampleResult, TriedResult};

/// The bytes and the time: `~164 KiB, about 3.0 s`.
pub(super) fn estimated(estimate: &EstimateResult) -> String {
    format!("{}, about {}", about(estimate), seconds(estimate.seconds))
}

/// The same of several arrays together, one after the other.
pub(super) fn estimated_together(estimates: &[&EstimateResult]) -> String {
    let bytes_stored = estimates.iter().fold(0_u64, |all, one| all.saturating_add(one.bytes_stored));
    let seconds = estimates.iter().map(|one| one.seconds).sum();
    let is_exact = estimates.iter().all(|one| one.is_exact);
    let first = estimates.first().map(|one| one.sample.clone());
    let together = first.map(|sample| EstimateResult { bytes_stored, is_exact, seconds, sample });
    together.as_ref().map_or_else(String::new, estimated)
}

/// The bytes; of the whole, without the sign of what is not exact.
pub(super) fn about(estimate: &EstimateResult) -> String {
    approximately(estimate.bytes_stored, estimate.is_exact)
}

/// The same of bytes that are exact or not.
pub(super) fn approximately(bytes_stored: u64, is_exact: bool) -> String {
    let sign = if is_exact { "" } else { "~" };
    format!("{sign}{}", bytes(bytes_stored))
}

/// The number of chunks, and their choice.
pub(super) fn sample(sample: &SampleResult) -> String {
    let of = if sample.chunks == sample.of {
        format!("all {}", counted(sample.of, "chunk"))
    } else {
        let share = percent(sample.chunks, sample.of);
        format!("{} of {} chunks ({share}), spread evenly", count(sample.chunks), count(sample.of))
    };
    format!("{of}, of shape {}; {} read", shape(&sample.chunk_shape), bytes(sample.bytes_read))
}

/// The choice of `--compress auto`.
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
    let one = |tried: &TriedResult| {
        let predict = tried.predict.join(",");
        let way =
            if predict.is_empty() { tried.compress.clone() } else { format!("{} --predict {predict}", tried.compress) };
        match tried.bytes_stored {
            Some(stored) => format!("{way} {}", bytes(stored)),
            None => format!("{way} not for this type"),
        }
    };
    compression.tried.iter().map(one).collect::<Vec<_>>().join(", ")
}
