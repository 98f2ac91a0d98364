//! What is said of a job that will write very many stored objects.

use crate::diagnostic::quantity::bytes;
use crate::diagnostic::{Diagnostic, code};
use crate::operation::transcode::planning::PlannedArray;

/// With more stored objects than this, file systems and object stores become slow: larger shards are advised.
const MANY_OBJECTS: u64 = 100_000;

/// A warning of very many files, with the shards that would bring them down.
pub(super) fn many_objects(arrays: &[PlannedArray], objects: u64) -> Option<Diagnostic> {
    if objects <= MANY_OBJECTS {
        return None;
    }
    let array = arrays.iter().max_by_key(|array| array.plan.job.num_written())?;
    let pipeline = &array.plan.destination.pipeline;
    let shape = &array.plan.destination.metadata.shape;
    let mut shard: Vec<u64> = match array.plan.destination.metadata.grid.uniform() {
        Some(chunk) => chunk.to_vec(),
        None => return None,
    };
    let count = |shard: &[u64]| {
        let counts = shape.iter().zip(shard).map(|(length, of)| length.div_ceil((*of).max(1)));
        counts.fold(1_u64, u64::saturating_mul)
    };
    // The dimension with most shards is doubled until there are few enough.
    while count(&shard) > MANY_OBJECTS / 10 {
        let lengths = shape.iter().zip(&shard).map(|(length, of)| length.div_ceil((*of).max(1)));
        let (dimension, most) = lengths.enumerate().max_by_key(|(_, count)| *count)?;
        if most <= 1 {
            break;
        }
        shard[dimension] = shard[dimension].saturating_mul(2);
    }
    let element = pipeline.input.data_type.size().unwrap_or(1) as u64;
    let elements = shard.iter().copied().fold(1, u64::saturating_mul);
    let shard: Vec<String> = shard.iter().map(u64::to_string).collect();
    let message = format!("DEST will have {objects} files: file systems become slow with so many");
    let help = format!(
        "`-s {}` puts the chunks of `{}` into shards of {} (decoded), of which there are few",
        shard.join(","),
        array.path,
        bytes(elements.saturating_mul(element))
    );
    Some(Diagnostic::new(code::MANY_OBJECTS, message).with_help(help))
}
