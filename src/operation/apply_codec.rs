//! `apply-codec`: a codec chain over files.

use super::apply_codec_result::ApplyCodecResult;
use super::error::OperationError;
use super::options::ApplyCodecOptions;

/// Runs the chain.
pub fn apply_codec(_: &ApplyCodecOptions) -> Result<ApplyCodecResult, OperationError> {
    Err(OperationError::environment("apply-codec is not built yet"))
}
