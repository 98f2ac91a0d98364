//! The commands, without a terminal: options in, a result or an error out.

pub mod against;
pub mod apply_codec;
mod budget;
mod cf;
mod coordinates;
mod description;
pub mod document;
mod draft;
pub mod drawing;
pub mod error;
pub mod expect;
mod fault;
pub mod figure;
pub mod hierarchy;
mod histogram;
mod information;
pub mod inspect;
pub mod inspect_result;
pub mod npy;
mod numbers;
pub mod open;
pub mod options;
pub mod parts_result;
pub use crate::array::fault::Interrupt;
mod quantize;
pub use crate::engine::progress;
mod slice;
mod stored;
pub mod transcode;
pub mod transcode_result;
pub mod validate;
pub mod validate_result;
mod xarray;

use budget::Budget;
pub use document::NodePath;
use draft::Draft;
pub use error::{FaultClass, OperationError, Result};
use fault::explain;
pub use open::OpenedArray;
pub use options::{
    CfOptions, ChangeOptions, Compression, CompressionGoal, HistogramOptions, InspectOptions, KeepBits, Missing,
    PathPattern, Predict, QuantizeForm, QuantizeOptions, RunOptions, ShapeRequest, ShardRequest, Stream, Suggest,
    TranscodeOptions, ValidateLevel, ValidateOptions,
};
use stored::stored_array;

use crate::engine::Driver;

use document::{Documents, GroupReading};
pub use drawing::{ArrayDrawing, ComparedArray, LevelResult};
use histogram::{Histogram, Stats};
pub use inspect_result::{ArrayResult, HistogramResult, InformationResult, InspectResult, PreviewResult, StatsResult};
use numbers::Numbers;
use open::ArrayReading;
pub use parts_result::StatusResult;
use quantize::{FirstPass, FirstPassStats, FloatType, Quantization, Request};
pub use transcode_result::{
    CompressionResult, EstimateResult, QualityResult, QuantizationResult, TranscodeResult, VerifyResult,
};
pub use validate_result::{Failure, Partition, ValidateResult};

/// Returns a driver with at most `threads` threads, or the same one if it has no more.
fn narrowed(driver: &Driver, threads: usize) -> Result<Driver> {
    if threads < driver.num_threads() { new_driver(threads, driver.interrupt()) } else { Ok(driver.clone()) }
}

/// Returns a pool of threads that stops between its units when it is interrupted.
fn new_driver(threads: usize, interrupt: &Interrupt) -> Result<Driver> {
    Driver::new(threads).map(|driver| driver.heeding(interrupt)).map_err(|error| {
        OperationError::environment("no thread can be started: the memory of the process, or their number, is limited")
            .with_help("raise the limit (`ulimit -v`, `ulimit -u`)")
            .because(error)
    })
}
