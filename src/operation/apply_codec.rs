//! `apply-codec`: a codec chain, either way, over raw or `.npy` data or a stored chunk.

mod data;
mod measure;

use super::apply_codec_result::{ApplyCodecResult, RoundTrip, StreamBytes};
use super::budget::Budget;
use super::error::OperationError;
use super::options::{ApplyCodecOptions, Stream};
use crate::array::Interrupt;
use crate::codec::{BoundChain, ChainFault, ChainFaultKind, CodecError};
use crate::kernel::FaultKind;
use crate::store::file;
use data::{Input, Subject};
use measure::{Direction, Passage};

/// Runs the chain. Where OUTPUT is stdout, its bytes are in the result: who called writes them.
pub fn apply_codec(options: &ApplyCodecOptions, interrupt: &Interrupt) -> Result<ApplyCodecResult, OperationError> {
    let early = data::read_early(options)?;
    let subject = Subject::new(options, early.as_ref())?;
    let direction = if options.decode || options.chunk.is_some() { Direction::Decode } else { Direction::Encode };
    check_memory(options, &subject.chain)?;
    let Input { name, file_bytes, bytes } = match early {
        Some(early) => early.into_input(&subject.chain, direction)?,
        None => subject.read_input(options, direction)?,
    };
    let faulty = |fault: ChainFault| describe_fault(&name, direction, &subject.chain, fault);
    let passage = Passage::run(&subject.chain, direction, &bytes, options.repeat).map_err(faulty)?;
    if direction == Direction::Decode {
        subject.check_values(&passage.bytes).map_err(faulty)?;
    }
    let round_trip = if options.round_trip { Some(round_trip(&subject, &bytes, &passage, faulty)?) } else { None };
    let (output, standard_output) = write(options, direction, &subject.chain, &passage.bytes, interrupt)?;
    Ok(ApplyCodecResult {
        direction: direction.name(),
        input: StreamBytes { path: name, bytes: file_bytes },
        output,
        stages: passage.stages,
        round_trip,
        repeat: options.repeat,
        warnings: subject.warnings,
        standard_output,
    })
}

/// The elements that went in against those that come back: encoded and decoded, or for a stored chunk decoded,
/// encoded and decoded.
fn round_trip(
    subject: &Subject,
    bytes: &[u8],
    passage: &Passage,
    faulty: impl Fn(ChainFault) -> OperationError,
) -> Result<RoundTrip, OperationError> {
    let run = |direction, bytes: &[u8]| Passage::run(&subject.chain, direction, bytes, None);
    let again = subject.is_stored_chunk().then(|| run(Direction::Encode, &passage.bytes)).transpose();
    let again = again.map_err(&faulty)?;
    let (decoded, encoded) = again.as_ref().map_or((bytes, passage), |again| (passage.bytes.as_slice(), again));
    let back = run(Direction::Decode, &encoded.bytes).map_err(&faulty)?;
    Ok(measure::compare(subject.chain.decoded(), decoded, &back.bytes))
}

/// Refuses a chain that needs more memory than there may be: for the input, both sides of the largest codec, and what
/// compressors keep.
fn check_memory(options: &ApplyCodecOptions, chain: &BoundChain) -> Result<(), OperationError> {
    let buffers = chain.max_representation_bytes().saturating_mul(3);
    let needed = buffers.saturating_add(chain.context_bytes());
    let budget = Budget::of(&options.common);
    budget.threads_of(needed, || format!("for chunks of shape {:?}", chain.decoded().shape)).map(drop)
}

/// Writes OUTPUT, or gives what belongs on stdout.
fn write(
    options: &ApplyCodecOptions,
    direction: Direction,
    chain: &BoundChain,
    bytes: &[u8],
    interrupt: &Interrupt,
) -> Result<(Option<StreamBytes>, Option<Vec<u8>>), OperationError> {
    let Some(stream) = &options.output else { return Ok((None, None)) };
    let [_, representation] = direction.ends(chain);
    let contents = data::to_file(stream, &representation, bytes)?;
    let written = |path: String| StreamBytes { path, bytes: contents.len() as u64 };
    match stream {
        Stream::Standard => Ok((Some(written("-".to_owned())), Some(contents))),
        Stream::File(path) => {
            let unfinished = format!("a temporary file next to `{}` is left; run the command again", path.display());
            let _unfinished = interrupt.begin(unfinished, None)?;
            file::write(path, &contents).map_err(|error| {
                OperationError::environment(format!("OUTPUT `{}` is not written", path.display())).because(error)
            })?;
            Ok((Some(written(path.display().to_string())), None))
        }
    }
}

/// A fault of the data: the codec and its place in the chain, the element, both bounds, and the way out.
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
