//! The cheapest way from one array to another: which route its chunks take, and the memory that it needs.

use crate::codec::Conversion;
use crate::codec::conversion::ValueChange;
use crate::engine::CellEncoder;
use crate::engine::cells::MOST_OPEN_SHARDS;
use crate::engine::memory::{decode_bytes, encode_bytes};
use crate::engine::object::{ObjectJob, ObjectWay, Side};
use crate::engine::plan::{Costs, Grids, RechunkPlan};
use crate::engine::rechunk::{Rechunk, Schedule};
use crate::operation::error::OperationError;
use crate::operation::transcode_result::Route;
use crate::store::machine;

/// What the choice depends on, beside the two arrays.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    /// What happens to the values.
    pub change: &'a ValueChange,
    /// Whether chunks of nothing but the fill value are written.
    pub write_empty: bool,
    /// SOURCE, as the user named it.
    pub store: &'a str,
    /// Threads that may work.
    pub threads: usize,
    /// `--max-memory`.
    pub max_memory: Option<u64>,
}

/// A quarter of the memory that is available to the process, in bytes; 1 GiB where the machine does not tell.
fn default_budget() -> u64 {
    machine::available_memory().map_or(1 << 30, |bytes| bytes / 4)
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
            source_cell: from.cell_shape().to_vec(),
            destination_cell: to.cell_shape().to_vec(),
            destination_object: to.metadata.chunk_shape.clone(),
            order: to.cell_order(),
        };
        // Encoded inner chunks wait for their place in the shard, two for each thread and the one being made.
        let waiting = if to.layout.is_some() { 3 } else { 0 };
        let worker = [
            decode_bytes(from.cell_chain()),
            encoder.worker_bytes(),
            to.cell_chain().max_representation_bytes().saturating_mul(waiting),
            index_bytes(from, to),
        ];
        let costs = Costs {
            element: encoder.element_size() as u64,
            cell: 128,
            worker: worker.iter().fold(0, |sum, bytes| bytes.saturating_add(sum)),
        };
        let budget = self.max_memory.unwrap_or_else(default_budget);
        let plan = RechunkPlan::new(grids, costs, budget)
            .map_err(|small| too_small(self.max_memory, budget, small.least))?;
        let schedule = Schedule::new(&plan, self.threads, budget);
        Ok(Rechunk { plan, encoder, schedule })
    }
}

/// Indexes of shards in memory: those that are read stay open; one that is written is a list, then encoded.
fn index_bytes(from: &Side, to: &Side) -> u64 {
    let read = from.index_bytes().saturating_mul(MOST_OPEN_SHARDS as u64);
    read.saturating_add(to.index_bytes().saturating_mul(3))
}

/// A budget that does not hold a single unit.
pub(super) fn too_small(asked: Option<u64>, budget: u64, least: u64) -> OperationError {
    let what = match asked {
        Some(_) => format!("--max-memory of {budget} bytes"),
        None => format!("the memory of {budget} bytes, a quarter of what is available,"),
    };
    OperationError::environment(format!("{what} is too small: a single chunk needs {least} bytes"))
        .with_help(format!("give at least `--max-memory {least}`"))
}

/// Bytes that a thread holds for one unit of a job: encoded and decoded, on both sides.
pub(super) fn unit_bytes(job: &ObjectJob) -> u64 {
    let (from, to) = (&job.source, &job.destination);
    match &job.way {
        ObjectWay::Copy => 1 << 20,
        ObjectWay::Convert(conversion) => decode_bytes(&from.chain).saturating_add(encode_bytes(conversion)),
        ObjectWay::Cells(conversion) => {
            let encoded = from.cell_chain().max_representation_bytes();
            let waiting = to.cell_chain().max_representation_bytes().saturating_mul(3);
            let converted = if conversion.is_copy() {
                encoded
            } else {
                decode_bytes(from.cell_chain()).saturating_add(encode_bytes(conversion))
            };
            converted.saturating_add(waiting).saturating_add(index_bytes(from, to))
        }
        ObjectWay::Rechunk(rechunk) => rechunk.plan.unit_bytes(),
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
