//! `apply-codec`: runs a codec chain, in either direction, on raw or `.npy` data or a stored chunk.
//!
//! The result of `apply-codec`: the members of its `--json`, by their names.

mod data;

use std::time::Instant;

use serde::Serialize;

use self::data::{ChainSource, Input};
use super::against::value::{Compared, Comparer, Difference, Tolerance};
use super::description::representation;
use super::inspect_result::RepresentationResult;
use super::{Budget, OperationError, Result, Stream, figure, options::ApplyCodecOptions};
use crate::array::Interrupt;
use crate::codec::{BoundChain, ChainFault, ChainFaultKind, CodecError, Workspace};
use crate::diagnostic::{Diagnostic, quantity::approximate};
use crate::grid::unravel;
use crate::kernel::FaultKind;
use crate::pipeline::{ArrayRepresentation, CodecKind, Representation, codec_kind};
use crate::store::file;

/// Runs the chain. If OUTPUT is stdout, its bytes are in the result, and the caller writes them.
pub fn apply_codec(options: &ApplyCodecOptions, interrupt: &Interrupt) -> Result<ApplyCodecResult> {
    let early = data::read_early(options)?;
    let subject = ChainSource::new(options, early.as_ref())?;
    let direction = if options.decode || options.chunk.is_some() { Direction::Decode } else { Direction::Encode };
    let chain = &subject.chain;
    // The input, both sides of the largest codec, and what compressors keep.
    let needed = chain.max_representation_bytes().saturating_mul(3).saturating_add(chain.context_bytes());
    let purpose = || format!("for chunks of shape {:?}", chain.decoded().shape);
    Budget::new(&options.common).threads_of(needed, purpose)?;
    let read = || subject.read_input(options, direction);
    let Input { name, file_bytes, bytes, .. } = early.map_or_else(read, |early| early.fitting(chain, direction))?;
    let faulty = |fault: ChainFault| describe_fault(&name, direction, chain, fault);
    let passage = ChainRun::run(chain, direction, &bytes, options.repeat).map_err(faulty)?;
    let elements = if direction == Direction::Decode { &passage.bytes } else { &bytes };
    subject.check_values(options, elements).map_err(faulty)?;
    let round_trip = options.round_trip.then(|| round_trip(options.chunk.is_some(), chain, &bytes, &passage));
    let round_trip = round_trip.transpose().map_err(|(back, fault)| describe_fault(&name, back, chain, fault))?;
    let [_, made] = direction.ends(chain);
    let written = options.output.as_ref().map(|stream| write(stream, &made, &passage.bytes, interrupt)).transpose()?;
    let (output, standard_output) = written.unzip();
    Ok(ApplyCodecResult {
        direction: direction.name(),
        input: StreamBytes { path: name, bytes: file_bytes },
        output,
        stages: passage.stages,
        round_trip,
        repeat: options.repeat,
        warnings: subject.warnings,
        standard_output: standard_output.flatten(),
    })
}

/// Compares elements before and after a round trip: encoded and decoded, or for a stored chunk decoded, encoded and
/// decoded.
fn round_trip(
    is_chunk: bool,
    chain: &BoundChain,
    bytes: &[u8],
    passage: &ChainRun,
) -> Result<RoundTrip, (Direction, ChainFault)> {
    let run =
        |direction, bytes: &[u8]| ChainRun::run(chain, direction, bytes, None).map_err(|fault| (direction, fault));
    let again = is_chunk.then(|| run(Direction::Encode, &passage.bytes)).transpose()?;
    let (decoded, encoded) = again.as_ref().map_or((bytes, passage), |again| (passage.bytes.as_slice(), again));
    let back = run(Direction::Decode, &encoded.bytes)?;
    Ok(compare(chain.decoded(), decoded, &back.bytes))
}

/// Writes OUTPUT, or returns the bytes for stdout.
fn write(
    stream: &Stream,
    made: &Representation,
    bytes: &[u8],
    interrupt: &Interrupt,
) -> Result<(StreamBytes, Option<Vec<u8>>)> {
    let contents = data::to_file(stream, made, bytes)?;
    let written = |path: String| StreamBytes { path, bytes: contents.len() as u64 };
    match stream {
        Stream::Standard => Ok((written("-".to_owned()), Some(contents))),
        Stream::File(path) => {
            let unfinished = format!("a temporary file next to `{}` is left; run the command again", path.display());
            let _unfinished = interrupt.begin(unfinished, None)?;
            file::write(path, &contents).map_err(|error| {
                OperationError::environment(format!("OUTPUT `{}` is not written", path.display())).because(error)
            })?;
            Ok((written(path.display().to_string()), None))
        }
    }
}

/// Returns the error of a fault of the data: the codec, its index in the chain, the element, both bounds, and the help.
fn describe_fault(input: &str, direction: Direction, chain: &BoundChain, fault: ChainFault) -> OperationError {
    let element = match &fault.kind {
        ChainFaultKind::Codec(CodecError::Element { fault, position, .. }) => {
            let index = position.clone().unwrap_or_else(|| Box::from([fault.index as u64]));
            let of = if fault.kind == FaultKind::NotBool { "decoded array" } else { "codec's input" };
            format!(" at element {index:?} of the {of}")
        }
        _ => String::new(),
    };
    let verb = direction.name();
    let num_codecs = chain.codecs().len();
    let codecs = if num_codecs == 1 { "codec" } else { "codecs" };
    let message = format!("`{input}` cannot be {verb}d by the {num_codecs} {codecs} of the chain{element}");
    let help = match fault.element() {
        Some((FaultKind::OutOfRange, _)) => {
            "\"out_of_range\": \"clamp\" in cast_value maps such values to the nearest bound; or choose another scale and offset"
        }
        Some((FaultKind::NotANumber, _)) => "an entry [\"NaN\", CODE] in cast_value's \"scalar_map\" maps NaN",
        Some((FaultKind::Infinite, _)) => {
            "entries [\"Infinity\", CODE] and [\"-Infinity\", CODE] in cast_value's \"scalar_map\" map infinities"
        }
        Some((FaultKind::Overflow, _)) => "choose another scale and offset, or a wider data type",
        Some((FaultKind::Remainder, _)) => "these values were not made by this scale: check the configuration",
        Some((FaultKind::NotOfType | FaultKind::ReservedCode, _)) => "check --data-type",
        Some((FaultKind::NotBool, _)) => "check --data-type, and that the chunk is not damaged",
        None if direction == Direction::Decode => "use the chain, data type and shape with which the data were encoded",
        None => "check the codec's configuration, --data-type and --shape",
    };
    OperationError::data(message).with_help(fault.filter_help().unwrap_or(help)).because(fault)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Encode,
    Decode,
}

impl Direction {
    fn name(self) -> &'static str {
        if self == Direction::Encode { "encode" } else { "decode" }
    }

    /// Returns the form of the data before the chain, and after it.
    fn ends(self, chain: &BoundChain) -> [Representation; 2] {
        let (decoded, encoded) = (Representation::Array(chain.decoded().clone()), chain.encoded());
        if self == Direction::Encode { [decoded, encoded] } else { [encoded, decoded] }
    }
}

/// The output of the chain, and the times and sizes of its codecs.
struct ChainRun {
    /// The result.
    bytes: Vec<u8>,
    /// The input, then the output of each codec.
    stages: Vec<AppliedStage>,
}

impl ChainRun {
    /// Runs the chain over `input`, `repeat` times. The times are medians.
    fn run(chain: &BoundChain, direction: Direction, input: &[u8], repeat: Option<u32>) -> Result<Self, ChainFault> {
        let mut order: Vec<usize> = (0..chain.codecs().len()).collect();
        if direction == Direction::Decode {
            order.reverse();
        }
        let mut workspace = Workspace::default();
        let mut seconds = vec![Vec::new(); order.len()];
        let mut sizes = Vec::new();
        let (mut current, mut spare) = (Vec::new(), Vec::new());
        for _ in 0..repeat.unwrap_or(1).max(1) {
            current.clear();
            current.extend_from_slice(input);
            sizes.clear();
            sizes.push(current.len() as u64);
            for (index, seconds) in order.iter().zip(&mut seconds) {
                let start = Instant::now();
                match direction {
                    Direction::Encode => chain.encode_codec(*index, &current, &mut spare, &mut workspace)?,
                    Direction::Decode => chain.decode_codec(*index, &current, &mut spare, &mut workspace)?,
                }
                seconds.push(start.elapsed().as_secs_f64());
                std::mem::swap(&mut current, &mut spare);
                sizes.push(current.len() as u64);
            }
        }
        let [taken, _] = direction.ends(chain);
        let mut stages = vec![stage(None, &taken, sizes[0])];
        for (step, (index, seconds)) in order.into_iter().zip(seconds).enumerate() {
            let codec = &chain.codecs()[index];
            let (output, decoded_bytes) = match direction {
                Direction::Encode => (&codec.encoded, sizes[step]),
                Direction::Decode => (&codec.decoded, sizes[step + 1]),
            };
            let seconds = median(seconds);
            let rate = seconds.filter(|seconds| *seconds > 0.0).map(|seconds| approximate(decoded_bytes) / seconds);
            let described = stage(Some(&codec.metadata.name), output, sizes[step + 1]);
            stages.push(AppliedStage { seconds, bytes_per_second: rate, ..described });
        }
        Ok(ChainRun { bytes: current, stages })
    }
}

fn stage(codec: Option<&str>, output: &Representation, bytes: u64) -> AppliedStage {
    AppliedStage {
        codec: codec.map(str::to_owned),
        kind: codec.and_then(codec_kind).map(CodecKind::name),
        output: RepresentationResult { bytes: Some(bytes), ..representation(output, false) },
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

/// Compares elements of the same array. NaN equals NaN and -0 equals 0, except in `bit_identical`.
fn compare(array: &ArrayRepresentation, before: &[u8], after: &[u8]) -> RoundTrip {
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

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ApplyCodecResult {
    /// `encode` or `decode`.
    pub direction: &'static str,
    /// INPUT, or the stored chunk.
    pub input: StreamBytes,
    /// OUTPUT, if there is one.
    pub output: Option<StreamBytes>,
    /// Row 0 is the input. Each further row is a codec, in the order in which they ran.
    pub stages: Vec<AppliedStage>,
    /// With `--round-trip`.
    pub round_trip: Option<RoundTrip>,
    /// With `--repeat`: the number of runs.
    pub repeat: Option<u32>,
    /// Findings that did not stop the run.
    pub warnings: Vec<Diagnostic>,
    /// The bytes for stdout, if OUTPUT is `-`.
    #[serde(skip)]
    pub standard_output: Option<Vec<u8>>,
}

/// A file or standard stream, and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StreamBytes {
    /// `-` for a standard stream.
    pub path: String,
    /// Size in bytes, including a .npy header.
    pub bytes: u64,
}

/// The output of one codec.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AppliedStage {
    /// Name of the codec. `None` for the input.
    pub codec: Option<String>,
    /// `array->array`, `array->bytes` or `bytes->bytes`. `None` for the input.
    pub kind: Option<&'static str>,
    /// The input or the output of the codec, flattened in JSON. It has a fill value with `--fill-value`.
    #[serde(flatten)]
    pub output: RepresentationResult,
    /// Time of the codec in seconds, the median with `--repeat`. `None` for the input.
    pub seconds: Option<f64>,
    /// Size of the decoded side divided by `seconds`.
    pub bytes_per_second: Option<f64>,
}

/// The comparison of the decoded data with the encoded data.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RoundTrip {
    /// True if every bit is equal.
    pub bit_identical: bool,
    /// Number of elements that differ in value. NaN equals NaN, and -0 equals 0.
    pub differing: u64,
    /// The greatest difference of two finite numbers.
    #[serde(serialize_with = "figure::number")]
    pub max_abs_error: Option<f64>,
    /// Indices of the element with this difference, or else of the first element that differs.
    pub at: Option<Vec<u64>>,
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
