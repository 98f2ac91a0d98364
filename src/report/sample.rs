//! The estimated size and the chosen compressor, from a sample of chunks.

use super::quantity::{bytes, count, counted, percent, seconds, shape};
use crate::operation::transcode_result::{SampleResult, TriedResult};
use crate::operation::{CompressionResult, EstimateResult};

/// Returns the total bytes and time of arrays, one after the other: `~164 KiB, about 3.0 s`.
pub(super) fn estimated(estimates: &[&EstimateResult]) -> String {
    let bytes_stored = estimates.iter().fold(0_u64, |all, one| all.saturating_add(one.bytes_stored));
    let is_exact = estimates.iter().all(|one| one.is_exact);
    let time = estimates.iter().map(|one| one.seconds).sum();
    format!("{}, about {}", approximately(bytes_stored, is_exact), seconds(time))
}

/// Returns bytes, with a `~` unless they are exact.
pub(super) fn approximately(bytes_stored: u64, is_exact: bool) -> String {
    let sign = if is_exact { "" } else { "~" };
    format!("{sign}{}", bytes(bytes_stored))
}

/// Returns the number of chunks of a sample, and their choice.
pub(super) fn sample(sample: &SampleResult) -> String {
    let of = if sample.of == 1 {
        "the only chunk".to_owned()
    } else if sample.chunks == sample.of {
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
        (Some(chosen), Some(sample)) if sample.of == 0 => format!("{chosen}: there is no chunk to try"),
        (Some(chosen), Some(sample)) => {
            let (chunks, of) = (count(sample.chunks), counted(sample.of, "chunk"));
            format!("{chosen}, the best on {chunks} of {of}")
        }
        (None, Some(_)) => "none of those that were tried".to_owned(),
        _ => format!("chosen by `{}` when a run begins, or with --estimate", compression.goal),
    }
}

/// Returns the chains that were tried, with the estimated bytes of all chunks.
pub(super) fn tried(compression: &CompressionResult) -> String {
    let one = |tried: &TriedResult| {
        let predict = if tried.predict.is_empty() { "" } else { &*format!(" --predict {}", tried.predict.join(",")) };
        let stored = tried.bytes_stored.map_or_else(|| "not for this type".to_owned(), bytes);
        format!("{}{predict} {stored}", tried.compress)
    };
    compression.tried.iter().map(one).collect::<Vec<_>>().join(", ")
}
