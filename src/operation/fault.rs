//! The error about a chunk: the chunk, the element, the value, the bounds, and the help.

use crate::array::{ChunkFault, Fault, position};
use crate::codec::fault::element_help;
use crate::codec::{ChainFault, ChainFaultKind, CodecError};
use crate::diagnostic::quantity::bytes;
use crate::kernel::FaultKind;
use crate::metadata::ArrayMetadata;
use crate::operation::budget::memory_advice;
use crate::operation::{OperationError, Quantization};

/// Returns the error of an operation on `store`, an array with this metadata, that failed at a chunk.
pub(super) fn explain(
    mut fault: ChunkFault,
    metadata: &ArrayMetadata,
    store: &str,
    quantization: Option<&Quantization>,
) -> OperationError {
    let mut position = position(fault.index, metadata);
    // The key encoding of a part adds the first chunk itself, so it gets the position before it is moved.
    let key = metadata.chunk_key_encoding.key(&position);
    if let Some(part) = &metadata.part {
        // The position in a part of an array becomes that in the whole array.
        position.iter_mut().zip(&part.first_chunk).for_each(|(index, first)| *index += first);
        if let Fault::Chain(error) = fault.fault {
            fault.fault = Fault::Chain(error.moved_by(&part.start));
        }
    }
    let chunk = format!("chunk {position:?} (`{key}`) of `{store}`");
    match fault.fault {
        // This is an object of SOURCE. Others are handled before.
        Fault::At { index, fault, .. } => explain(ChunkFault { index, fault: *fault }, metadata, store, quantization),
        Fault::Store(error) if !error.is_data_fault() => {
            OperationError::environment(format!("{chunk} cannot be read or written")).because(error)
        }
        Fault::Store(error) => OperationError::data(format!("{chunk} cannot be read"))
            .because(error)
            .with_help("restore the chunk from its source, or write it again"),
        Fault::Chain(error) if error.missing_memory().is_some() => {
            // The chunk may be valid, so this is no fault of the data.
            OperationError::environment(format!("{chunk} was not {}", done(&error)))
                .because(error)
                .with_help("give fewer `--threads`, or run it where there is more memory")
        }
        Fault::Chain(error) => chain(&chunk, error, quantization),
        Fault::Interrupted(_) => OperationError::interrupted(),
        fault @ Fault::Panic(_) => OperationError::environment(format!("{chunk} cannot be converted"))
            .because(fault)
            .with_help("this is a bug; please report it with the array's zarr.json"),
        Fault::Memory { needed } => {
            OperationError::environment(format!("{chunk} needs {} of memory, more than there may be", bytes(needed)))
                .with_help(memory_advice(needed))
        }
        fault @ Fault::Other(_) => OperationError::data(format!("{chunk} cannot be converted")).because(fault),
    }
}

/// Returns what was to be done to the chunk.
fn done(error: &ChainFault) -> &'static str {
    if error.is_encoding { "encoded" } else { "decoded" }
}

fn chain(chunk: &str, error: ChainFault, quantization: Option<&Quantization>) -> OperationError {
    let ChainFaultKind::Codec(CodecError::Element { fault, position, bits, types }) = &error.kind else {
        let help = error
            .chunk_help()
            .unwrap_or("the chunk is damaged, or was not written by this chain; restore it and run again");
        return OperationError::data(format!("{chunk} cannot be {}", done(&error))).because(error).with_help(help);
    };
    let element = position.as_ref().map_or_else(String::new, |position| format!(", element {position:?}"));
    let general = error.filter_help().or_else(|| element_help(fault.kind));
    let help = quantization.and_then(|_| quantize_help(fault.kind)).or(general);
    let what = match (quantization, types) {
        (Some(quantization), Some((source, _))) => {
            quantize_text(quantization, fault.kind, &crate::codec::fault::number_text(*source, *bits))
        }
        _ => None,
    };
    let failed = OperationError::data(format!("{chunk}{element}"));
    let failed = if let Some(what) = what { failed.because(what) } else { failed.because(error) };
    help.into_iter().fold(failed, OperationError::with_help)
}

/// Returns the text about a value that a quantisation refuses, with the range of its values and codes.
fn quantize_text(quantization: &Quantization, kind: FaultKind, value: &str) -> Option<String> {
    let codes = quantization.codes;
    let bounds = format!("codes {} to {} of {}", codes.first, codes.last, quantization.target);
    let bounds = match (quantization.value_of(codes.first), quantization.value_of(codes.last)) {
        // A negative scale gives the first code the greatest value.
        (Some(lo), Some(hi)) => format!("{} to {}, {bounds}", lo.min(hi), lo.max(hi)),
        _ => bounds,
    };
    Some(match kind {
        FaultKind::OutOfRange => format!("{value} is out of the range {bounds}"),
        FaultKind::NotANumber => format!("the value is NaN, and no code is reserved for NaN ({bounds})"),
        FaultKind::Infinite => format!("{value} cannot be quantised to the range {bounds}"),
        FaultKind::ReservedCode => format!("{value} would get the code that is reserved for NaN ({bounds})"),
        FaultKind::Overflow => {
            format!("{value} overflows in {} before it reaches the range {bounds}", quantization.source)
        }
        FaultKind::Remainder | FaultKind::NotOfType | FaultKind::NotBool => return None,
    })
}

fn quantize_help(kind: FaultKind) -> Option<&'static str> {
    match kind {
        FaultKind::OutOfRange | FaultKind::ReservedCode => {
            Some("store the nearest bound with `--out-of-range clamp`, or give a wider `--range LO,HI`")
        }
        FaultKind::NotANumber => Some("reserve a code for NaN with `--nan-value CODE`"),
        FaultKind::Infinite => Some("count infinities as missing: `--missing Infinity,-Infinity`"),
        _ => None,
    }
}
