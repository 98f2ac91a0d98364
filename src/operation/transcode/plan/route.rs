//! The cheapest way from one array to another: which route its chunks take, and the memory that it needs.

use super::Blocks;
use super::staging::{Begun, begun, staging};
use super::work::Choice;
use crate::array::stored::StoredArray;
use crate::codec::conversion::ValueChange;
use crate::codec::elements::VlenChain;
use crate::codec::{BindError, Conversion, Recoding};
use crate::engine::SubchunkEncoder;
use crate::engine::job::Job;
use crate::engine::plan::{
    BudgetTooSmall, Costs, Grids, MOST_AMPLIFICATION, RechunkPlan, StagedCosts, StagedPlan, StagingShape,
};
use crate::engine::route::Route;
use crate::engine::route::rechunk::{Rechunk, Schedule};
use crate::engine::route::staged::{Staged, folder, folder_inside};
use crate::engine::route::variable_size::{BETWEEN_SUBCHUNKS, SubchunkChange, VariableSize};
use crate::operation::budget::{BASE_BYTES, comparing_pieces, shard_bytes};
use crate::operation::error::OperationError;
use crate::operation::transcode::budget::{ENTRY_BYTES, of_chunks, open_bytes};
use crate::operation::transcode_result::RouteName;

/// What a subchunk of a block takes beside its elements.
const SUBCHUNK_BYTES: u64 = 128;

/// Encoded inner chunks that wait for their place, for each thread.
const WAITING: u64 = 3;

impl Choice<'_> {
    /// The blocks of a plan that was made before.
    fn given(&self) -> Option<&Blocks> {
        self.planner.array.settled.as_ref()?.blocks.as_ref()
    }

    /// Of a job in parts: into how many the work can be cut at least.
    fn parts(&self) -> Option<u64> {
        self.planner.run.partitions.map(|_| self.planner.least_parts)
    }

    /// The way of the objects.
    pub(super) fn way(&self, from: &StoredArray, to: &StoredArray) -> Result<Route, OperationError> {
        let store = &self.source().store;
        let nested = |side: &StoredArray| {
            side.layout.is_none() && side.chain.codecs().iter().any(|codec| codec.name == "sharding_indexed")
        };
        if nested(to) && self.changed.change.num_codecs() > 0 {
            return Err(OperationError::data(format!(
                "shards inside shards, or compressed shards, of `{store}` cannot be quantised"
            ))
            .with_help("give the array a simpler chain with --codecs first"));
        }
        if !from.skips_whole_subchunks() {
            return self.blocks(from, to);
        }
        let same_objects =
            from.metadata.grid.has_chunks_of(&to.metadata.grid) && from.is_regular() == to.is_regular();
        // A shard is not a unit of values, whatever its shape: the codecs of its inner chunks are no part of its chain.
        let has_shards = from.layout.is_some() || to.layout.is_some();
        let has_same_subchunks = from.has_subchunks_of(to) && (has_shards || !same_objects);
        if has_same_subchunks || (same_objects && !has_shards && !from.metadata.skips()) {
            let [source, destination] = [from, to].map(|side| side.subchunk_chain().clone());
            let write_empty = self.planner.array.change.write_empty_chunks;
            let conversion = Conversion::new(source, destination, &self.changed.change, write_empty);
            return Ok(Route::Move(Box::new(conversion.map_err(|error| self.unsupported(error))?)));
        }
        self.blocks(from, to)
    }

    /// The way of objects that are not decoded to elements of one size; `None` where there is none.
    pub(super) fn opaque_route(
        &self,
        from: &StoredArray,
        to: &StoredArray,
    ) -> Result<Option<Route>, OperationError> {
        if !matches!(self.changed.change, ValueChange::None) {
            return Ok(None);
        }
        let (source, written) = (from.subchunk_chain(), to.subchunk_chain());
        // What of a subchunk lies behind a part that is taken does not go along.
        let are_whole = from.has_subchunks_of(to) && !from.metadata.skips() && !from.metadata.is_cut();
        let recoding = Recoding::new(source, written).filter(|_| are_whole);
        let destination = VlenChain::of(written);
        let is_taken_apart = destination.is_some()
            && VlenChain::of(source).is_some()
            && source.decoded().data_type == written.decoded().data_type;
        let way = match recoding {
            Some(recoding) => SubchunkChange::Recode(Box::new(recoding)),
            None if is_taken_apart => SubchunkChange::Compose,
            None => return Ok(None),
        };
        let beside = [BASE_BYTES, BETWEEN_SUBCHUNKS, shard_bytes(Some(from), to)];
        let memory_share = self.planner.budget.memory_share(beside.into_iter().fold(0, u64::saturating_add));
        let memory_share = memory_share.map_err(|least| self.too_small(least, to))?;
        let write_empty = self.planner.array.change.write_empty_chunks;
        Ok(Some(Route::VariableSize(Box::new(VariableSize { way, destination, write_empty, memory_share }))))
    }

    /// Block by block: in one pass, or in two where one would read the source too often. A run that is taken up again
    /// goes on as it was begun.
    fn blocks(&self, from: &StoredArray, to: &StoredArray) -> Result<Route, OperationError> {
        let begun = match self.given() {
            Some(Blocks { staging: Some(shape), .. }) => Begun::InTwoPasses(shape.clone()),
            Some(_) => Begun::InOnePass,
            // A job in parts goes by its plan, whatever was begun.
            None if self.planner.run.resume && self.parts().is_none() => begun(&to.node, from)?,
            None => Begun::Nothing,
        };
        if let Begun::InTwoPasses(shape) = begun {
            return Ok(Route::Staged(Box::new(self.staged(from, to, &shape)?)));
        }
        let one = self.rechunk(from, to)?;
        let once = one.plan.read_amplification();
        if once > MOST_AMPLIFICATION && begun == Begun::Nothing {
            let costs = self.staged_costs(from, to, &one.encoder);
            let plan = StagedPlan::new(one.plan.grids(), costs, self.planner.budget.bytes());
            let staged = plan.and_then(|plan| self.staged(from, to, &plan.shape).ok());
            if let Some(staged) = staged.filter(|staged| staged.is_better_than(once, MOST_AMPLIFICATION)) {
                return Ok(Route::Staged(Box::new(staged)));
            }
        }
        Ok(Route::Rechunk(Box::new(one)))
    }

    /// Both passes through intermediate data of a grid.
    fn staged(
        &self,
        from: &StoredArray,
        to: &StoredArray,
        shape: &StagingShape,
    ) -> Result<Staged, OperationError> {
        let (folder, is_outside) = match self.parts() {
            // What one part writes another reads, wherever it runs.
            Some(_) => (folder_inside(&to.node), false),
            None => folder(&to.node),
        };
        let (staging, document) = staging(from, folder, shape, &self.source().store)?;
        let stored = SubchunkEncoder::new(from, &staging, &ValueChange::None, true);
        let stored = stored.map_err(|error| self.unsupported(error))?;
        let first = self.planned(from, &staging, stored, Pass::First);
        let second = self.planned(&staging, to, self.encoder(&staging, to)?, Pass::Second);
        let needed =
            |pass: &Result<Rechunk, BudgetTooSmall>| pass.as_ref().err().map_or(0, |small| small.least);
        match (first, second) {
            (Ok(first), Ok(second)) => Ok(Staged { staging, is_outside, document, first, second }),
            (first, second) => Err(self.too_small(needed(&first).max(needed(&second)), to)),
        }
    }

    /// From the subchunks of one side to those of the other, in blocks.
    pub(super) fn rechunk(&self, from: &StoredArray, to: &StoredArray) -> Result<Rechunk, OperationError> {
        let planned = self.planned(from, to, self.encoder(from, to)?, Pass::Only);
        planned.map_err(|small| self.too_small(small.least, to))
    }

    /// What makes the subchunks of DEST.
    fn encoder(&self, from: &StoredArray, to: &StoredArray) -> Result<SubchunkEncoder, OperationError> {
        let write_empty = self.planner.array.change.write_empty_chunks;
        SubchunkEncoder::new(from, to, &self.changed.change, write_empty)
            .map_err(|error| self.unsupported(error))
    }

    fn too_small(&self, least: u64, to: &StoredArray) -> OperationError {
        self.planner.budget.too_small(least.max(self.elsewhere), &of_chunks(to.subchunk_shape()))
    }

    fn unsupported(&self, error: BindError) -> OperationError {
        OperationError::data(format!("the chunks of `{}` cannot be converted", &self.source().store))
            .because(error)
    }

    fn planned(
        &self,
        from: &StoredArray,
        to: &StoredArray,
        encoder: SubchunkEncoder,
        pass: Pass,
    ) -> Result<Rechunk, BudgetTooSmall> {
        let grids = Grids {
            shape: to.metadata.shape.clone(),
            skipped: from.metadata.skipped.clone(),
            source_subchunk: from.part_shape(),
            destination_subchunk: to.subchunk_shape().to_vec(),
            destination_object: to.metadata.largest_chunk().to_vec(),
            order: to.subchunk_order(),
        };
        // Of the indexes of intermediate data single entries are read.
        let indexes = if pass == Pass::Second { shard_bytes(None, to) } else { shard_bytes(Some(from), to) };
        let worker = [
            BASE_BYTES,
            from.subchunk_chain().reading_bytes(false),
            Self::writing_bytes(to, encoder.conversion()),
            indexes,
        ];
        let costs = Costs {
            element: encoder.element_size() as u64,
            subchunk: SUBCHUNK_BYTES,
            worker: worker.into_iter().fold(0, u64::saturating_add),
        };
        let budget = self.planner.budget.bytes();
        let shapes = self.given().map(|blocks| blocks.shapes.as_slice()).unwrap_or_default();
        let shape = match pass {
            Pass::Only | Pass::First => shapes.first(),
            Pass::Second => shapes.get(1),
        };
        let given = shape.cloned();
        let given = given.and_then(|shape| RechunkPlan::of_blocks(grids.clone(), costs, shape, budget));
        let plan = given
            .unwrap_or_else(|| RechunkPlan::in_groups(grids, costs, budget, self.parts().unwrap_or(1)))?;
        let schedule = Schedule::new(&plan, self.planner.budget.threads(), budget);
        Ok(Rechunk { plan, encoder, schedule })
    }

    /// What a thread needs to write subchunks.
    fn writing_bytes(to: &StoredArray, conversion: &Conversion) -> u64 {
        // Encoded inner chunks wait for their place in the shard: two for each thread and the one being made.
        let encoded = to.subchunk_chain().encoded_bytes();
        let waiting = if to.layout.is_some() { encoded.saturating_mul(WAITING) } else { 0 };
        let converting = if conversion.is_copy() { 0 } else { conversion.buffer_bytes(to.has_edges()) };
        converting.saturating_add(waiting)
    }

    /// The costs of two passes without what depends on the grid between them.
    fn staged_costs(&self, from: &StoredArray, to: &StoredArray, encoder: &SubchunkEncoder) -> StagedCosts {
        let sum = |parts: [u64; 3]| parts.into_iter().fold(0, u64::saturating_add);
        let writing = Self::writing_bytes(to, encoder.conversion());
        // Comparing takes the subchunk as it is read, its part inside the array, and three of its elements.
        let first_subchunks = if self.planner.run.verify { 5 } else { WAITING };
        let comparing = if self.planner.run.verify { comparing_pieces(to) } else { 0 };
        StagedCosts {
            element: encoder.element_size() as u64,
            subchunk: SUBCHUNK_BYTES,
            first_worker: sum([BASE_BYTES, from.subchunk_chain().reading_bytes(false), open_bytes(from)]),
            first_subchunks,
            second_worker: sum([BASE_BYTES, writing.max(comparing), shard_bytes(None, to)]),
            second_subchunks: 1,
            entry: ENTRY_BYTES,
        }
    }
}

/// Which pass over blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// From SOURCE into DEST.
    Only,
    /// From SOURCE into intermediate data.
    First,
    /// From these into DEST.
    Second,
}

/// The name of a job's route.
pub(in crate::operation) fn name_of(job: &Job) -> RouteName {
    let Job::Objects(job) = job else { return RouteName::Copy };
    let [source, destination] = [&job.transfer.source, &job.transfer.destination].map(|side| &side.metadata);
    let has_same_grid = || !source.skips() && source.grid.has_chunks_of(&destination.grid);
    match &job.route {
        Route::Move(conversion) if conversion.is_copy() && job.moves_subchunks() => RouteName::Reshard,
        Route::Move(_) | Route::VariableSize(_) if has_same_grid() => RouteName::Recode,
        Route::VariableSize(variable_size) if variable_size.is_copy() => RouteName::Reshard,
        Route::Move(_) | Route::VariableSize(_) | Route::Rechunk(_) | Route::Staged(_) => RouteName::Rechunk,
    }
}
