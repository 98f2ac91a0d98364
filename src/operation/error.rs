//! The reason why an operation has no result: a class, which decides the exit status, one clause, and the next step.
//!
//! Errors of the rows below (stores, codecs, metadata) are the cause. This row adds only what the operation knows: the
//! node, the option that would help, and the class.
//!
//! The error about a chunk: the chunk, the element, the value, the bounds, and the help.

use std::error::Error;
use std::fmt;

use super::budget::memory_advice;
use super::quantize::quantization::Quantization;
use crate::array::{ChunkFault, Fault, fault::Interrupted, position};
use crate::codec::{ChainFault, ChainFaultKind, CodecError, fault::element_help};
use crate::diagnostic::quantity::bytes;
use crate::kernel::FaultKind;
use crate::metadata::{ArrayMetadata, Json};
use crate::store::{RemoteError, StoreError};

/// The class of a fault. Each class has its own exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultClass {
    /// The data, or a request that does not fit them: a value that cannot be encoded, a corrupt chunk, a wrong shape.
    Data,
    /// Contradictory options, or text that is not valid for its option.
    Usage,
    /// The work could not be done: a missing object, no permission, no space, DEST exists.
    Environment,
    /// No fault: an earlier step is not complete yet.
    TooEarly,
    /// No fault: a signal stopped the work.
    Interrupted,
}

/// The outcome of an operation.
pub type Result<T, E = OperationError> = std::result::Result<T, E>;

/// The error of an operation.
///
/// `Display` writes the message alone. The cause is in [`Error::source`], the help in [`OperationError::help`].
#[derive(Debug, thiserror::Error)]
pub struct OperationError {
    class: FaultClass,
    message: String,
    help: Option<String>,
    #[source]
    cause: Option<Box<dyn Error + Send + Sync + 'static>>,
}

impl fmt::Display for OperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl OperationError {
    /// Returns an error of this class. `message` is one lower-case clause that names its subject.
    pub fn new(class: FaultClass, message: impl Into<String>) -> Self {
        OperationError { class, message: message.into(), help: None, cause: None }
    }

    /// [`FaultClass::Data`]: exit status 1.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(FaultClass::Data, message)
    }

    /// [`FaultClass::Usage`]: exit status 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FaultClass::Usage, message)
    }

    /// [`FaultClass::TooEarly`]: exit status 4.
    pub fn too_early(message: impl Into<String>) -> Self {
        Self::new(FaultClass::TooEarly, message)
    }

    /// [`FaultClass::Environment`]: exit status 3.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(FaultClass::Environment, message)
    }

    /// Returns the error for a name whose keys the store cannot list.
    pub fn cannot_list(name: impl fmt::Display, error: StoreError) -> Self {
        Self::environment(format!("`{name}` cannot be listed")).because(error)
    }

    /// Returns the error for a value of an option, `json`, that is not a value of `data_type`.
    pub fn not_a_value(
        option: &str,
        json: &Json,
        data_type: impl fmt::Display,
        error: impl Error + Send + Sync + 'static,
    ) -> Self {
        let json = json.to_string();
        Self::data(format!("{option} {json} is not a value of {data_type}")).because(error)
    }

    /// Returns the error of an interrupted run that leaves nothing unfinished.
    pub fn interrupted() -> Self {
        Self::new(FaultClass::Interrupted, "interrupted")
            .with_help("this run leaves nothing unfinished; run the command again")
    }

    /// Adds the next step, with the option in full.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds an alternative next step.
    #[must_use]
    pub fn or_help(mut self, help: &str) -> Self {
        self.help = Some(self.help.map_or_else(|| help.to_owned(), |known| format!("{known}; or {help}")));
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync + 'static>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Adds the name of the subject, unless the message contains it.
    #[must_use]
    pub fn about(mut self, name: &str) -> Self {
        if !self.message.contains(name) {
            self.message = format!("`{name}`: {}", self.message);
        }
        self
    }

    /// Returns the class of the fault.
    pub fn class(&self) -> FaultClass {
        self.class
    }

    /// Returns the message with its causes, in one line.
    pub fn in_one_line(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(next) = cause {
            let clause = next.to_string();
            if says_more(&text, &clause) {
                text.push_str(": ");
                text.push_str(&clause);
            }
            cause = next.source();
        }
        text
    }

    /// Returns the next step.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl From<Interrupted> for OperationError {
    fn from(_: Interrupted) -> Self {
        OperationError::interrupted()
    }
}

/// Returns the next step that an error or one of its causes names.
pub fn help_of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e str> {
    let causes = || std::iter::successors(Some(error), |error| (**error).source());
    // The store knows best what to do about its own response.
    let remote = causes().filter_map(|cause| cause.downcast_ref::<Box<RemoteError>>()).last();
    let mut operations = causes().filter_map(|cause| cause.downcast_ref::<OperationError>());
    remote.map(|remote| remote.help.as_str()).or_else(|| operations.find_map(OperationError::help))
}

/// True if a cause adds information to the text before it. A transparent wrapper repeats its content, and `cannot read
/// x` adds nothing to `x cannot be read`.
pub fn says_more(said: &str, cause: &str) -> bool {
    let object = cause.strip_prefix("cannot ").and_then(|clause| clause.split_once(' ')).map(|(_, object)| object);
    let is_named = object.is_some_and(|object| said.contains(&format!("`{object}` cannot be ")));
    !is_named && !said.ends_with(cause)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_with_cause_displays_its_own_clause_only() {
        let error = OperationError::environment("`a.zarr` cannot be opened")
            .with_help("check the path")
            .because(std::io::Error::other("permission denied"));
        assert_eq!(error.to_string(), "`a.zarr` cannot be opened");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("permission denied"));
        assert_eq!(error.help(), Some("check the path"));
        assert_eq!(error.class(), FaultClass::Environment);
    }
}
