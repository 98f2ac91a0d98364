//! Codec after codec, with the clock running.

use std::time::Instant;

use crate::codec::{BoundChain, ChainFault, Workspace};
use crate::diagnostic::quantity::approximate;
use crate::grid::unravel;
use crate::metadata::Json;
use crate::operation::against::value::{Compared, Comparer, Difference, Tolerance};
use crate::operation::apply_codec_result::{AppliedStage, RoundTrip};
use crate::pipeline::{ArrayRepresentation, CodecKind, Representation, codec_kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Encode,
    Decode,
}

impl Direction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Direction::Encode => "encode",
            Direction::Decode => "decode",
        }
    }

    /// The form of the data before the chain, and behind it.
    pub(super) fn ends(self, chain: &BoundChain) -> [Representation; 2] {
        let (decoded, encoded) = (Representation::Array(chain.decoded().clone()), chain.encoded());
        if self == Direction::Encode { [decoded, encoded] } else { [encoded, decoded] }
    }
}

/// The output of the chain, and times and sizes of its codecs.
pub(super) struct Passage {
    /// The result.
    pub(super) bytes: Vec<u8>,
    /// The input, then what each codec made of it.
    pub(super) stages: Vec<AppliedStage>,
}

impl Passage {
    /// Runs the chain over `input`, `repeat` times; times are medians.
    pub(super) fn run(
        chain: &BoundChain,
        direction: Direction,
        input: &[u8],
        repeat: Option<u32>,
    ) -> Result<Self, ChainFault> {
        let places: Vec<usize> = match direction {
            Direction::Encode => (0..chain.codecs().len()).collect(),
            Direction::Decode => (0..chain.codecs().len()).rev().collect(),
        };
        let mut workspace = Workspace::default();
        let mut seconds = vec![Vec::new(); places.len()];
        let mut sizes = Vec::new();
        let (mut current, mut spare) = (Vec::new(), Vec::new());
        for _ in 0..repeat.unwrap_or(1).max(1) {
            current.clear();
            current.extend_from_slice(input);
            sizes.clear();
            sizes.push(current.len() as u64);
            for (step, place) in places.iter().enumerate() {
                let start = Instant::now();
                match direction {
                    Direction::Encode => chain.encode_codec(*place, &current, &mut spare, &mut workspace)?,
                    Direction::Decode => chain.decode_codec(*place, &current, &mut spare, &mut workspace)?,
                }
                seconds[step].push(start.elapsed().as_secs_f64());
                std::mem::swap(&mut current, &mut spare);
                sizes.push(current.len() as u64);
            }
        }
        let stages = describe(chain, direction, &places, &sizes, seconds);
        Ok(Passage { bytes: current, stages })
    }
}

fn describe(
    chain: &BoundChain,
    direction: Direction,
    places: &[usize],
    sizes: &[u64],
    seconds: Vec<Vec<f64>>,
) -> Vec<AppliedStage> {
    let [input, _] = direction.ends(chain);
    let mut stages = vec![stage(None, &input, sizes[0])];
    for (step, (place, seconds)) in places.iter().zip(seconds).enumerate() {
        let codec = &chain.codecs()[*place];
        let (output, decoded_bytes) = match direction {
            Direction::Encode => (&codec.encoded, sizes[step]),
            Direction::Decode => (&codec.decoded, sizes[step + 1]),
        };
        let seconds = median(seconds);
        let rate = seconds.filter(|seconds| *seconds > 0.0).map(|seconds| approximate(decoded_bytes) / seconds);
        let described = stage(Some(&codec.name), output, sizes[step + 1]);
        stages.push(AppliedStage { seconds, bytes_per_second: rate, ..described });
    }
    stages
}

fn stage(codec: Option<&str>, representation: &Representation, bytes: u64) -> AppliedStage {
    let array = representation.array();
    AppliedStage {
        codec: codec.map(str::to_owned),
        kind: codec.and_then(codec_kind).map(CodecKind::name),
        data_type: array.map(|array| array.data_type.to_metadata()),
        shape: array.map(|array| array.shape.clone()),
        fill_value: array
            .and_then(|array| -> Option<Json> { array.data_type.fill_value_to_json(array.fill_value.as_ref()?).ok() }),
        bytes,
        seconds: None,
        bytes_per_second: None,
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[middle - 1], upper) })
}

/// Compares elements of the same array. NaN equals NaN and -0 equals 0 here; only `bit_identical` tells them apart.
pub(super) fn compare(array: &ArrayRepresentation, before: &[u8], after: &[u8]) -> RoundTrip {
    let comparer = Comparer::new(&array.data_type, &array.data_type, Tolerance::default());
    let found = comparer.map_or_else(|_| Compared::default(), |comparer| comparer.compare(before, after));
    let error = found.greatest.and_then(|greatest| greatest.difference).map_or(0.0, Difference::to_f64);
    RoundTrip {
        bit_identical: before == after,
        differing: found.differing,
        max_abs_error: array.data_type.components().map(|_| error),
        at: found.greatest.map(|greatest| unravel(greatest.index as u64, &array.shape)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_or_between_two() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }
}
