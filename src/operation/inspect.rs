//! `inspect`: what is in a store.

use super::error::OperationError;
use super::inspect_result::InspectResult;
use super::options::InspectOptions;

/// Reads an array's metadata and follows a chunk through its codecs.
pub fn inspect(_: &InspectOptions) -> Result<InspectResult, OperationError> {
    Err(OperationError::environment("inspect is not built yet"))
}
