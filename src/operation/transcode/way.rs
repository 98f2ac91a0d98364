//! The cheapest way from one array to another: which route its chunks take, and the memory that it needs.

use super::budget::{BASE_BYTES, Budget, has_edges, reading_bytes, shard_bytes};
use crate::codec::Conversion;
use crate::codec::conversion::ValueChange;
use crate::engine::CellEncoder;
use crate::engine::object::{ObjectJob, ObjectWay, Side};
use crate::engine::plan::{Costs, Grids, RechunkPlan};
use crate::engine::rechunk::{Rechunk, Schedule};
use crate::operation::error::OperationError;
use crate::operation::transcode_result::Route;

/// What the choice depends on, beside the two arrays.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    /// What happens to the values.
    pub change: &'a ValueChange,
    /// Whether chunks of nothing but the fill value are written.
    pub write_empty: bool,
    /// SOURCE, as the user named it.
    pub store: &'a str,
    /// Threads and memory.
    pub budget: Budget,
    /// Whether DEST is read back.
    pub verifies: bool,
}

impl Choice<'_> {
    /// The way of the objects.
    pub(super) fn way(&self, from: &Side, to: &Side) -> Result<ObjectWay, OperationError> {
        let store = self.store;
        let unsupported = |error| {
            OperationError::data(format!("the chunks of `{store}` cannot be converted")).because(error)
        };
        let nested = |side: &Side| {
            side.layout.is_none() && side.chain.codecs().iter().any(|codec| codec.name == "sharding_indexed")
        };
        if nested(to) && matches!(self.change, ValueChange::Quantize { codecs: 1.., .. }) {
            return Err(OperationError::data(format!(
                "shards inside shards, or compressed shards, of `{store}` cannot be quantised"
            ))
            .with_help("give the array a simpler chain with --codecs first"));
        }
        let same_objects = from.metadata.chunk_shape == to.metadata.chunk_shape;
        let has_shards = from.layout.is_some() && to.layout.is_some();
        let (source, destination) = (from.cell_chain(), to.cell_chain());
        if from.cell_shape() == to.cell_shape() && (has_shards || !same_objects) {
            let conversion =
                Conversion::new(source.clone(), destination.clone(), self.change, self.write_empty);
            return Ok(ObjectWay::Cells(Box::new(conversion.map_err(unsupported)?)));
        }
        if same_objects && !has_shards {
            let (source, destination) = (from.chain.clone(), to.chain.clone());
            let conversion = Conversion::new(source, destination, self.change, self.write_empty);
            return Ok(ObjectWay::Convert(Box::new(conversion.map_err(unsupported)?)));
        }
        self.rechunk(from, to).map(|rechunk| ObjectWay::Rechunk(Box::new(rechunk)))
    }

    /// From the cells of one side to those of the other, in blocks.
    pub(super) fn rechunk(&self, from: &Side, to: &Side) -> Result<Rechunk, OperationError> {
        let store = self.store;
        let encoder = CellEncoder::new(from, to, self.change, self.write_empty).map_err(|error| {
            OperationError::data(format!("the chunks of `{store}` cannot be converted")).because(error)
        })?;
        self.planned(from, to, encoder)
    }

    fn planned(&self, from: &Side, to: &Side, encoder: CellEncoder) -> Result<Rechunk, OperationError> {
        let grids = Grids {
            shape: from.metadata.shape.clone(),
            source_cell: from.part_shape(),
            destination_cell: to.cell_shape().to_vec(),
            destination_object: to.metadata.chunk_shape.clone(),
            order: to.cell_order(),
        };
        let (reads, writes) = (from.cell_chain(), to.cell_chain());
        let conversion = encoder.conversion();
        // Encoded inner chunks wait for their place in the shard: two for each thread and the one being made.
        let waiting = if to.layout.is_some() { writes.encoded_bytes().saturating_mul(3) } else { 0 };
        let converting = if conversion.is_copy() { 0 } else { conversion.buffer_bytes(has_edges(to)) };
        // Of both sides, the values as they should be, and absent elements.
        let comparing = reading_bytes(to, true).saturating_add(writes.decoded_bytes().saturating_mul(3));
        let writing = converting.saturating_add(waiting);
        let writing = if self.verifies { writing.max(comparing) } else { writing };
        let worker = [BASE_BYTES, reads.reading_bytes(false), writing, shard_bytes(from, to)];
        let costs = Costs {
            element: encoder.element_size() as u64,
            cell: 128,
            worker: worker.into_iter().fold(0, u64::saturating_add),
        };
        let budget = self.budget.bytes();
        let plan = RechunkPlan::new(grids, costs, budget)
            .map_err(|small| self.budget.too_small(small.least, to.cell_shape()))?;
        let schedule = Schedule::new(&plan, self.budget.threads(), budget);
        Ok(Rechunk { plan, encoder, schedule })
    }
}

/// The name of a job's route.
pub(super) fn route(job: &ObjectJob) -> Route {
    match &job.way {
        ObjectWay::Copy => Route::Copy,
        ObjectWay::Convert(_) => Route::Recode,
        ObjectWay::Cells(conversion) if conversion.is_copy() => Route::Reshard,
        ObjectWay::Cells(_) if job.source.metadata.chunk_shape == job.destination.metadata.chunk_shape => {
            Route::Recode
        }
        ObjectWay::Cells(_) | ObjectWay::Rechunk(_) => Route::Rechunk,
    }
}
