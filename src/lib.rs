//! Zarr arrays: shown, checked against the specification, and written anew with other codecs, chunks or types; and the
//! codecs `scale_offset` and `cast_value`, by which floats are stored as integers of just the bits that they need.
//!
//! It is the library under the program `zarrcast`. A command of the program is a module here, with a function of the same
//! name: options in, a result or an error out. Nothing is printed, and no process ends; results serialise to the
//! program's `--json`.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`inspect`] | metadata of an array or a group, what each codec makes of a chunk, what is stored, what the values are |
//! | [`validate`] | checks stores, every document, key and chunk of them, and lists all that is wrong |
//! | [`transcode`] | writes an array, or a group with all below it, anew |
//! | [`parts`] | does the same as one job over many processes or machines |
//! | [`apply_codec`] | runs a codec chain over plain data |
//! | [`diagnostic`] | findings: codes, severities, the page of each |
//! | [`types`] | what options and results are made of |
//!
//! [`register`] gives other programs that use the `zarrs` crate the codecs of this one.
//!
//! # Example
//!
//! A field of the sea surface's temperature is quantised to 8 bits, and the copy checked:
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
//! - `cli` (default): the program, and what only it needs.
//! - `zarrs` (default): [`register`]; and codecs that this library lacks are run by zarrs, which has [`register`] called then.
//!
//! # What may change
//!
//! Options and results may get new members with any version: make options by `new`, then set what differs. What is not
//! listed above is not part of the interface.

pub mod diagnostic;

/// `inspect`: the metadata of an array or of all that is in a group, what is stored, what the values are.
pub mod inspect {
    pub use crate::operation::inspect::inspect;
    pub use crate::operation::inspect_result::{
        ArrayResult, ChunkResult, ChunkStage, Decoded, GroupResult, GroupTotals, HistogramResult, InspectResult,
        NodeMembers, NodeResult, PreviewAxis, PreviewIndex, PreviewResult, PreviewRow, StageRow, StatsResult,
        StorageResult, SuggestionResult, WayResult, WaysResult,
    };
    pub use crate::operation::options::{
        CfOptions, ChunkOptions, HistogramOptions, InspectOptions, PictureSize, PreviewOptions, Suggest,
    };
}

/// `validate`: stores held against the specification, and values against those of another store.
pub mod validate {
    pub use crate::operation::options::{AgainstOptions, ValidateLevel, ValidateOptions};
    pub use crate::operation::validate::{ValidateOutcome, validate};
    pub use crate::operation::validate_result::{
        AbsentChunks, AgainstNode, AgainstResult, CheckedStore, Failure, Partition, Unchecked, ValidateResult,
    };
}

/// `transcode`: an array, or a group with all below it, written anew.
pub mod transcode {
    pub use crate::operation::options::{
        ChangeOptions, Compression, CompressionGoal, Missing, Predict, QuantizeForm, QuantizeOptions, Rule, RunOptions,
        ShapeRequest, ShardRequest, TranscodeOptions,
    };
    pub use crate::operation::pattern::{PathPattern, PatternError};
    pub use crate::operation::transcode::transcode;
    pub use crate::operation::transcode_result::{
        ArrayDescription, Counts, NodeResult, PlannedObjects, QuantizationResult, RouteName, Totals, TranscodeResult,
        VerifyResult,
    };
}

/// `transcode` in parts: one job over many processes, on one machine or on many, that share nothing but SOURCE and DEST.
///
/// [`init`](parts::init) plans the job once, and seals the plan in DEST. [`partition`](parts::partition) does one part of it, by
/// its number: parts run in any order, at the same time, again after they were killed, with any number of threads. No part waits
/// for another; a job of several passes does each of them in all its parts before the next begins. [`status`](parts::status) tells
/// which parts are missing, and [`finish`](parts::finish) proves that all that they wrote is there, and publishes DEST, which does
/// not open before that. DEST is then, byte for byte, what [`transcode`](transcode::transcode) writes.
///
/// ```
/// use zarrcast::parts::{Finished, Wanted, finish, init, partition, status};
/// use zarrcast::transcode::TranscodeOptions;
/// use zarrcast::{Interrupt, Location, Silent};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (progress, interrupt) = (Silent, Interrupt::default());
/// let source = Location::parse("fixtures/valid/sea_surface_temperature")?;
/// let destination = Location::parse(folder.path().join("copy.zarr"))?;
///
/// // Once, with all that is asked for.
/// let mut options = TranscodeOptions::new(source.clone(), destination.clone());
/// options.run.verify = true;
/// let planned = init(&options, 3, &progress, &interrupt)?;
///
/// // By as many processes; what is done is in the plan.
/// let options = TranscodeOptions::new(source, destination);
/// for pass in &planned.passes {
///     for index in 0..pass.partitions {
///         partition(&options, Wanted::new(index), &progress, &interrupt)?;
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
        Engine, Finished, PassName, Wanted, finish, init, partition, print_script, status,
    };
}

/// `apply-codec`: a codec chain, either way, over plain data or a stored chunk.
pub mod apply_codec {
    pub use crate::operation::apply_codec::apply_codec;
    pub use crate::operation::apply_codec_result::{AppliedStage, ApplyCodecResult, RoundTrip, StreamBytes};
    pub use crate::operation::options::{ApplyCodecOptions, Stream};
}

/// The types that options and results are made of.
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

// The rows (`docs/architecture.md`). They can be named from outside for this package's own program, tests, benchmarks and
// fuzz targets alone, and change without notice: what is meant for others is above.
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
