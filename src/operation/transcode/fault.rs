//! The fault of a job as one of the array in which it lies: of SOURCE, of DEST, or of the intermediate data.

use crate::array::fault::{ChunkFault, Fault, ObjectOf};
use crate::engine::job::ObjectJob;
use crate::operation::error::OperationError;
use crate::operation::fault::explain;
use crate::operation::quantize::quantization::Quantization;

/// The error of a job that ended at an object of either side.
pub(super) fn explain_job(
    fault: ChunkFault,
    job: &ObjectJob,
    store: &str,
    quantization: Option<&Quantization>,
) -> OperationError {
    match fault.fault {
        Fault::At { of: ObjectOf::Destination, index, fault } => {
            let destination = job.transfer.destination.node.name();
            let metadata = &job.transfer.destination.metadata;
            explain(ChunkFault { index, fault: *fault }, metadata, &destination, quantization)
        }
        Fault::At { of: ObjectOf::Staging, index, fault } => {
            let staging = job.staging();
            let side = staging.as_ref().unwrap_or(&job.transfer.source);
            let folder = side.node.name();
            explain(ChunkFault { index, fault: *fault }, &side.metadata, &folder, None)
        }
        _ => explain(fault, &job.transfer.source.metadata, store, quantization),
    }
}
