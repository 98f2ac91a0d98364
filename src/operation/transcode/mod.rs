//! `transcode`: being wired.
mod destination;
mod missing;
mod quantization;
mod range;
mod survey;
use super::error::OperationError;
use super::options::TranscodeOptions;
use super::progress::Progress;
use super::transcode_result::TranscodeResult;

/// Writes an array anew.
pub fn transcode(_: &TranscodeOptions, _: &dyn Progress) -> Result<TranscodeResult, OperationError> {
    Err(OperationError::environment("transcode is not built yet"))
}
