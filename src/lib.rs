//! A library to inspect, validate and transcode Zarr arrays. It also contains the codecs `scale_offset` and
//! `cast_value`, which store floats as integers of just the bits that they need.
//!
//! This is the library of the program `zarrcast`. Each command of the program is a module with a function of the same
//! name. Its arguments are options, and it returns a result or an error. It prints nothing and exits no process.
//! Results serialise to the program's `--json`.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`inspect`] | reads metadata of an array or a group, the data after each codec, the stored objects, the values |
//! | [`validate`] | checks the documents, keys and chunks of stores, and lists all faults |
//! | [`transcode`] | writes a changed copy of an array, or of a group and all nodes below it |
//! | [`parts`] | does the same as one job of many processes or machines |
//! | [`apply_codec`] | runs a codec chain on plain data |
//! | [`diagnostic`] | findings: their codes, their severities, the page of each code |
//! | [`types`] | the types of options and results |
//!
//! [`register`] adds the codecs of this library to programs that use the `zarrs` crate.
//!
//! # Example
//!
//! Quantises a field of sea surface temperatures to 8 bits, and checks the copy:
//!
//! ```
//! use zarrcast::transcode::{QuantizeOptions, TranscodeOptions, transcode};
//! use zarrcast::types::{ElementType, NumberType};
//! use zarrcast::validate::{ValidateOptions, validate};
//! use zarrcast::{Interrupt, Location, Silent};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let source = Location::parse("fixtures/valid/sea_surface_temperature")?;
//! let small = Location::parse(folder.path().join("small.zarr"))?;
//!
//! let mut options = TranscodeOptions::new(source, small.clone());
//! options.change.quantize = Some(QuantizeOptions::to(NumberType::of(ElementType::UInt8)));
//! let result = transcode(&options, &Silent, &Interrupt::default())?;
//! assert!(result.complete && result.totals.counts.bytes_written < result.totals.counts.bytes_read);
//!
//! let checked = validate(&ValidateOptions::new(small), &Silent, &Interrupt::default());
//! assert!(checked.failures.is_empty() && checked.result.findings.iter().all(|finding| !finding.is_error()));
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `cli` (default): the program and its dependencies.
//! - `zarrs` (default): [`register`]. zarrs runs the codecs that this library lacks, after a call of [`register`].
//!
//! # What may change
//!
//! Options and results may get new members in any version. Create options with `new`, then set the members that differ.
//! Only the items that are listed above are part of the interface.

pub mod diagnostic;

/// `inspect`: the metadata of an array or of all nodes of a group, the stored objects, and the values.
pub mod inspect {
    pub use crate::operation::inspect::inspect;
    pub use crate::operation::inspect_result::{
        ArrayResult, ChunkResult, ChunkStage, GroupResult, GroupTotals, HistogramResult, InspectResult, NodeMembers,
        NodeResult, PreviewAxis, PreviewIndex, PreviewResult, PreviewRow, RepresentationResult, StageRow, StatsResult,
        StorageResult, SuggestionResult, WayResult, WaysResult,
    };
    pub use crate::operation::options::{
        CfOptions, ChunkOptions, HistogramOptions, InspectOptions, PictureSize, PreviewOptions, Suggest,
    };
}

/// `validate`: checks stores against the specification, and compares values with those of another store.
pub mod validate {
    pub use crate::operation::options::{AgainstOptions, ValidateLevel, ValidateOptions};
    pub use crate::operation::validate::{ValidateOutcome, validate};
    pub use crate::operation::validate_result::{
        AbsentChunks, AgainstNode, AgainstResult, CheckedStore, Failure, Partition, Unchecked, ValidateResult,
    };
}

/// `transcode`: writes a changed copy of an array, or of a group and all nodes below it.
pub mod transcode {
    pub use crate::operation::options::{
        ChangeOptions, Compression, CompressionGoal, Missing, Predict, QuantizeForm, QuantizeOptions, Rule, RunOptions,
        ShapeRequest, ShardRequest, TranscodeOptions,
    };
    pub use crate::operation::options::{PathPattern, PatternError};
    pub use crate::operation::transcode::transcode;
    pub use crate::operation::transcode_result::{
        ArrayDescription, Counts, NodeResult, PlannedObjects, QuantizationResult, RouteName, Totals, TranscodeResult,
        VerifyResult,
    };
}

/// `transcode` in parts: one job of many processes, on one or many machines. They share only SOURCE and DEST.
///
/// [`init`](parts::init) plans the job once, and seals the plan in DEST. [`partition`](parts::partition) does one part
/// by its number. Parts run in any order, at the same time, with any number of threads, and again after they were
/// killed. No part waits for another. A pass begins after all parts of the pass before. [`status`](parts::status)
/// returns the missing parts. [`finish`](parts::finish) proves that all their objects exist, and publishes DEST, which
/// does not open before. DEST is then, byte for byte, what [`transcode`](transcode::transcode) writes.
///
/// ```
/// use zarrcast::parts::{Finished, PartitionRequest, finish, init, partition, status};
/// use zarrcast::transcode::TranscodeOptions;
/// use zarrcast::{Interrupt, Location, Silent};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (progress, interrupt) = (Silent, Interrupt::default());
/// let source = Location::parse("fixtures/valid/sea_surface_temperature")?;
/// let destination = Location::parse(folder.path().join("copy.zarr"))?;
///
/// // Once, with all options.
/// let mut options = TranscodeOptions::new(source.clone(), destination.clone());
/// options.run.verify = true;
/// let planned = init(&options, 3, &progress, &interrupt)?;
///
/// // In as many processes. The plan contains the changes.
/// let options = TranscodeOptions::new(source, destination);
/// for pass in &planned.passes {
///     for index in 0..pass.partitions {
///         partition(&options, PartitionRequest::new(index), &progress, &interrupt)?;
///     }
/// }
///
/// // Once, at the end.
/// assert!(!status(&options)?.is_missing_any());
/// let Finished::Now(result) = finish(&options, &progress, &interrupt)? else { panic!("parts are missing") };
/// assert!(result.complete);
/// # Ok(())
/// # }
/// ```
pub mod parts {
    pub use crate::operation::parts_result::{
        ChosenCompressor, InitResult, PartResult, PassStatus, PlannedPass, StatusResult,
    };
    pub use crate::operation::transcode::parts::{
        Engine, Finished, PartitionRequest, PassName, finish, init, partition, print_script, status,
    };
}

/// `apply-codec`: runs a codec chain, in either direction, on plain data or a stored chunk.
pub mod apply_codec {
    pub use crate::operation::apply_codec::apply_codec;
    pub use crate::operation::apply_codec::{AppliedStage, ApplyCodecResult, RoundTrip, StreamBytes};
    pub use crate::operation::options::{ApplyCodecOptions, Stream};
}

/// The types of options and results.
pub mod types {
    pub use crate::data_type::DataType;
    pub use crate::element::{ElementType, NumberType};
    pub use crate::kernel::{OutOfRange, Rounding};
    pub use crate::metadata::CodecMetadata;
    pub use crate::metadata::chunk_key::Separator;
    pub use crate::metadata::json::{Json, Object};
}

#[cfg(feature = "zarrs")]
pub use codec::plugin::register;
pub use operation::Interrupt;
pub use operation::error::{FaultClass, OperationError};
pub use operation::options::CommonOptions;
pub use operation::progress::{Progress, Silent};
pub use store::{Location, LocationError};

#[doc(hidden)]
pub use zarrcast_kernels::{element, kernel, with_element, with_float, with_integer};

// The rows of `docs/architecture.md`. They are public only for this package's own program, tests, benchmarks and fuzz
// targets, and change without notice. The public interface is above.
#[doc(hidden)]
pub mod array;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod codec;
#[doc(hidden)]
pub mod data_type;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod grid;
#[doc(hidden)]
pub mod memory;
#[doc(hidden)]
pub mod metadata;
#[doc(hidden)]
pub mod operation;
#[doc(hidden)]
pub mod pipeline;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod store;
