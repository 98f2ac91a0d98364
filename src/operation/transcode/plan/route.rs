//! The cheapest route of an array's chunks, and the memory that it needs.

use std::borrow::Cow;

use super::staging::{Begun, begun, staging};
use super::{
    BlockShapes, ENTRY_BYTES, PlannedConversion, Planner, first_pass_bytes, keep_bits, least_bytes, of_chunks, warnings,
};
use crate::array::{ChunkSet, MOST_OPEN_SHARDS, Missing, StoredArray};
use crate::codec::{BindError, Conversion, Effect, Recoding, ValueConversion, ValueStep, VlenChain, conversion};
use crate::engine::plan::{BudgetTooSmall, Costs, Grids, MOST_AMPLIFICATION, StagedCosts, StagedPlan};
use crate::engine::route::copy::CopyJob;
use crate::engine::route::rechunk::{Rechunk, Schedule};
use crate::engine::route::staged::{Staged, folder, folder_inside};
use crate::engine::route::variable_size::{BETWEEN_SUBCHUNKS, SubchunkChange, VariableSize};
use crate::engine::{Job, ObjectJob, RechunkPlan, Route, StagingShape, SubchunkEncoder, Transfer};
use crate::grid::volume;
use crate::operation::budget::{BASE_BYTES, comparing_pieces, shard_bytes};
use crate::operation::stored::{bound_array, new_array, opaque_array, refuse_nested_shards};
use crate::operation::transcode::{DestinationMetadata, format, repack};
use crate::operation::transcode_result::RouteName;
use crate::operation::{OpenedArray, OperationError, QuantizeForm, Result, draft, stored_array};
use crate::pipeline::{Pipeline, Stage};

/// Memory of a subchunk in a block, in addition to its elements.
const SUBCHUNK_BYTES: u64 = 128;

/// Encoded inner chunks per thread that wait for their position in the shard.
const WAITING: u64 = 3;

/// The inputs of the choice of a route: the two arrays, and the conversion of the values.
pub(super) struct RouteChoice<'a> {
    /// The options and the budget.
    pub planner: &'a Planner<'a>,
    /// The stored chunks of SOURCE, if they are known.
    pub present: Option<&'a ChunkSet>,
    pub destination: &'a DestinationMetadata,
    pub changed: &'a PlannedConversion,
    /// Memory that a thread needs in other passes. A minimum budget in an error includes it.
    pub elsewhere: u64,
}

impl<'a> RouteChoice<'a> {
    pub(super) fn source(&self) -> &'a OpenedArray {
        &self.planner.array.opened
    }

    /// Returns the cheapest job that writes the requested values to DEST. Fails if there is none or the memory is too
    /// small.
    pub(super) fn job(mut self) -> Result<Job> {
        let (planner, destination, changed) = (self.planner, self.destination, self.changed);
        // Absent chunks can stay absent only if DEST has the value that they must have.
        let keeps_fill = changed.absent.is_none() || changed.absent == destination.pipeline.input.fill_value;
        if changed.repacking.as_ref().is_some_and(|repacking| repacking.absent.is_none()) && !self.is_whole() {
            let store = &self.source().store;
            let message = format!("chunks of `{store}` are missing, and no integer represents its fill value");
            let help = "`--unpack --quantize TYPE` quantises the values again";
            return Err(OperationError::data(message).with_help(help));
        }
        let is_lost = changed.absent.is_none() && planner.array.change.fill_value.is_some();
        if is_lost && !changed.change.is_none() && !self.is_whole() {
            let (store, to) = (&self.source().store, &destination.pipeline.input.data_type);
            let message = format!("chunks of `{store}` are missing, and their fill value cannot be converted to {to}");
            return Err(OperationError::data(message).with_help("choose a type that can store it"));
        }
        if self.is_copy(keeps_fill) {
            return Ok(Job::Copy(Box::new(self.copy())));
        }
        let (from, to) = match self.arrays() {
            Ok(arrays) => arrays,
            Err(error) => return self.opaque_work(error),
        };
        let quantization = changed.quantization.as_ref();
        let surveyed =
            quantization.map_or(0, |resolved| BASE_BYTES.saturating_add(first_pass_bytes(&from, &to, resolved)));
        let writes_absent = quantization.is_some_and(|quantization| quantization.writes_absent);
        let absent = changed.absent.as_ref().filter(|_| writes_absent || !keeps_fill);
        let decoded = from.chain.decoded();
        let are_codes = changed.repacking.is_some() || decoded.data_type != self.source().data_type;
        let code = decoded.fill_value.as_ref().filter(|_| are_codes);
        let absent_element = absent.map(|fill| code.unwrap_or(fill).0.clone());
        let source = from.with_present(self.present);
        let transfer = Transfer { source, destination: to, absent_element, origin: None };
        let compared = if planner.run.verify { least_bytes(&transfer) } else { 0 };
        self.elsewhere = surveyed.max(compared);
        let job = ObjectJob { route: self.route(&transfer.source, &transfer.destination)?, transfer };
        let is_told =
            conversion::depends_on_one_element(job.transfer.destination.subchunk_chain(), warnings::kept(&job));
        if planner.run.verify && planner.array.change.codecs.is_some() && !is_told {
            let message =
                "`--verify` compares element by element, but the destination's chain adds up rounded differences";
            let help = "leave `--verify` out, and compare with `zarrcast validate --against` and `--atol`";
            return Err(OperationError::data(message).with_help(help));
        }
        Ok(Job::Objects(Box::new(job)))
    }

    /// Returns the copy of stored chunks. It needs no chain.
    fn copy(&self) -> CopyJob {
        let source = self.source();
        let pipeline = &source.pipeline;
        CopyJob {
            nodes: [source.node.clone(), self.planner.target.clone()],
            metadata: [source.metadata.clone(), self.destination.metadata.clone()],
            present: self.present.cloned(),
            missing: Missing::default(),
            // The output size of an unknown codec is not known.
            most_bytes: pipeline.output().map_or(u64::MAX, |encoded| pipeline.input.max_encoded_bytes(&encoded)),
            decoded_bytes: pipeline.input.num_bytes(),
        }
    }

    /// Returns whether stored chunks stay the same byte for byte.
    fn is_copy(&self, keeps_fill: bool) -> bool {
        let (source, RouteChoice { destination, changed, .. }) = (self.source(), self);
        let [from, to] = match &changed.repacking {
            Some(repacking) => [
                repack::codecs_of_codes(&source.metadata.codecs, repacking.is_of_floats),
                repack::codecs_of_codes(&destination.draft.codecs, repacking.quantization.form == QuantizeForm::Codecs),
            ],
            None => [source.metadata.codecs.clone(), destination.draft.codecs.clone()],
        };
        !source.metadata.skips()
            && source.metadata.grid.has_chunks_of(&destination.metadata.grid)
            && format::same_codecs(&from, &to)
            && (changed.repacking.is_some() || source.data_type == destination.pipeline.input.data_type)
            && changed.change.is_none()
            && (keeps_fill || self.is_whole())
            && !source.metadata.is_cut()
    }

    /// Returns whether no element of SOURCE is absent, as far as is known.
    fn is_whole(&self) -> bool {
        self.has_all_chunks() && self.source().pipeline.sharding().is_none()
    }

    /// Returns whether no chunk of SOURCE is absent, as far as is known.
    fn has_all_chunks(&self) -> bool {
        self.present.is_some_and(|present| present.len() == self.source().metadata.num_chunks())
    }

    /// Returns the pipelines of the codes of both sides, if they have the same codes: these are moved, because a value is
    /// not always encoded to the code that it was decoded from.
    fn codes(&self) -> Option<[Pipeline; 2]> {
        let (source, RouteChoice { destination, changed, .. }) = (&self.source().pipeline, self);
        let stays = changed.change.is_none() && changed.repacking.is_none();
        let (made, codes) = draft::code_pipeline(source, is_of_codes).filter(|_| stays)?;
        let (written, to) = draft::code_pipeline(&destination.pipeline, is_of_codes)?;
        let are_same = made.len() == written.len()
            && made.iter().zip(&written).all(|(one, other)| one.metadata.same_value(&other.metadata));
        let fill = source.input.fill_value.as_ref()?.to_bits(&source.input.data_type)?;
        let decoded = decoded(&made, codes.input.fill_value.as_ref()?.to_bits(&codes.input.data_type)?)?;
        (are_same && decoded == fill).then_some([codes, to])
    }

    /// Returns both arrays with bound chains. Fails if elements have no fixed size.
    fn arrays(&self) -> Result<(StoredArray, StoredArray)> {
        let (source, RouteChoice { destination, changed, .. }) = (self.source(), self);
        let (target, metadata) = (&self.planner.target, &destination.metadata);
        let empty = self.planner.array.change.write_empty_chunks;
        let hoisted = changed.change.num_codecs;
        let (mut from, mut to) = if let Some([codes, written]) = self.codes() {
            let from = bound_array((&source.node, &source.metadata, &codes), &source.store, false)?;
            (from, new_array((target, metadata, &written), hoisted, empty)?)
        } else {
            let repacked = changed.repacking.as_ref().map(|repacking| repacking.source(source));
            let fill = destination.pipeline.input.fill_value.as_ref();
            let pipeline = match changed.change.steps.last() {
                _ if let Some(to) = &changed.repacking => Cow::Owned(to.codes(metadata, fill)),
                Some(ValueStep::KeepBits(_)) if destination.draft.zarr_format == 2 => {
                    Cow::Owned(keep_bits::rounding_first(&destination.pipeline))
                }
                _ => Cow::Borrowed(&destination.pipeline),
            };
            let from = repacked.unwrap_or_else(|| stored_array(source))?;
            (from, new_array((target, metadata, &pipeline), hoisted, empty)?)
        };
        if changed.change.is_none() && from.subchunk_chain().casts_like(to.subchunk_chain()) {
            // Both sides cast alike, so rounding to nearest encodes the decoded values to the same codes again.
            to.encode_to_nearest();
        }
        if !to.is_regular() && !from.has_subchunks_of(&to) {
            // Shards of several shapes are not composed of parts of others. Each shard is encoded as a whole.
            (from, to) = (from.without_layout(), to.without_layout());
        }
        Ok((from, to))
    }

    /// Fails if chunks of variable-length elements have too many elements. Such a chunk begins with its number of
    /// elements in 32 bits. No stored chunk can contain more, whatever its shape claims, and none can be written.
    fn check_counts(&self, arrays: [&StoredArray; 2]) -> Result<()> {
        let counts = arrays.map(|array| volume(array.subchunk_shape()));
        let store = &self.source().store;
        let is_too_many =
            |count: &u64| *count > u64::from(u32::MAX) && self.present.is_none_or(|present| !present.is_empty());
        let Some(side) = counts.iter().position(is_too_many) else { return Ok(()) };
        let (whose, help) = match side {
            0 => ("of", "a chunk that is stored has fewer: correct its chunk shape"),
            _ => ("to be written of", "give a smaller --chunk-shape"),
        };
        let message = format!(
            "the chunks {whose} `{store}` would have {} elements, but elements of variable length are counted in 32 bits: 4294967295 at most",
            counts[side]
        );
        Err(OperationError::data(message).with_help(help))
    }

    /// Returns the job of an array whose chunks have no known size in the metadata. They have variable-length elements,
    /// or the output of a codec that is not supported here. Fails with `refusal` if there is no route.
    fn opaque_work(&self, refusal: OperationError) -> Result<Job> {
        let (source, destination, budget) = (self.source(), self.destination, self.planner.budget);
        let from = opaque_array((&source.node, &source.metadata, &source.pipeline), &source.store)?;
        let to = opaque_array((&self.planner.target, &destination.metadata, &destination.pipeline), &source.store)?;
        if !self.changed.change.is_none() {
            return Err(refusal);
        }
        let (read, written) = (from.subchunk_chain(), to.subchunk_chain());
        // The part of a subchunk outside the selection must not be copied.
        let are_whole = from.has_subchunks_of(&to) && !from.metadata.skips() && !from.metadata.is_cut();
        let encoder = VlenChain::new(written);
        let is_taken_apart = encoder.is_some()
            && VlenChain::new(read).is_some()
            && read.decoded().data_type == written.decoded().data_type;
        let change = match Recoding::new(read, written).filter(|_| are_whole) {
            Some(recoding) => SubchunkChange::Recode(Box::new(recoding)),
            None if is_taken_apart => SubchunkChange::Compose,
            None => return Err(refusal),
        };
        let base = [BASE_BYTES, BETWEEN_SUBCHUNKS, shard_bytes(Some(&from), &to)];
        let memory_share = budget.memory_share(base.into_iter().fold(0, u64::saturating_add));
        let memory_share = memory_share.map_err(|least| self.too_small(least, &to))?;
        if matches!(change, SubchunkChange::Compose) {
            self.check_counts([&from, &to])?;
        }
        let fill = &destination.pipeline.input.fill_value;
        let absent_element =
            self.changed.absent.clone().filter(|absent| Some(absent) != fill.as_ref()).map(|fill| fill.0);
        let is_whole = self.has_all_chunks() && from.layout.is_none();
        // Absent chunks are written with the old fill value, if this program can encode them.
        if absent_element.is_some() && !is_whole && encoder.is_none() {
            return Err(refusal);
        }
        let write_empty = self.planner.array.change.write_empty_chunks;
        let route = VariableSize { change, destination: encoder, write_empty, memory_share };
        let source = from.with_present(self.present);
        let transfer = Transfer { source, destination: to, absent_element, origin: None };
        Ok(Job::Objects(Box::new(ObjectJob { transfer, route: Route::VariableSize(Box::new(route)) })))
    }

    /// Returns the blocks of an earlier plan.
    fn given(&self) -> Option<&BlockShapes> {
        self.planner.array.resolved.as_ref()?.blocks.as_ref()
    }

    /// Returns the route of the objects.
    pub(super) fn route(&self, from: &StoredArray, to: &StoredArray) -> Result<Route> {
        if self.changed.change.num_codecs > 0 {
            refuse_nested_shards(to, &self.source().store)?;
        }
        let same_objects = from.metadata.grid.has_chunks_of(&to.metadata.grid) && from.is_regular() == to.is_regular();
        // A shard is not a unit of values, whatever its shape is. The codecs of its inner chunks are not in its chain.
        let has_shards = from.layout.is_some() || to.layout.is_some();
        let has_same_subchunks = from.has_subchunks_of(to) && (has_shards || !same_objects);
        let are_kept = has_same_subchunks || (same_objects && !has_shards && !from.metadata.skips());
        if !are_kept || !from.skips_whole_subchunks() {
            return self.blocks(from, to);
        }
        let [source, destination] = [from, to].map(|array| array.subchunk_chain().clone());
        let write_empty = self.planner.array.change.write_empty_chunks;
        let conversion = Conversion::new(source, destination, &self.changed.change, write_empty);
        Ok(Route::Move(Box::new(conversion.map_err(|error| self.unsupported(error))?)))
    }

    /// Returns the route block by block: in one pass, or in two if one would read SOURCE too often. A resumed run
    /// continues with the passes of its start.
    fn blocks(&self, from: &StoredArray, to: &StoredArray) -> Result<Route> {
        // Finished units of a first pass are objects of the intermediate data, so a run that resumes needs the same
        // grid.
        let begun = match self.given() {
            Some(BlockShapes { staging: Some(shape), .. }) => Begun::InTwoPasses(shape.clone()),
            Some(_) => Begun::InOnePass,
            // A job in parts follows its plan, whatever was begun.
            None if self.planner.run.resume && self.planner.least_parts.is_none() => begun(&to.node, from)?,
            None => Begun::Nothing,
        };
        if let Begun::InTwoPasses(shape) = begun {
            return Ok(Route::Staged(Box::new(self.staged(from, to, &shape)?)));
        }
        let one = self.planned([from, to], self.encoder([from; 2], to)?, 0);
        let one = one.map_err(|small| self.too_small(small.least, to))?;
        let once = one.plan.read_amplification();
        if once > MOST_AMPLIFICATION && begun == Begun::Nothing {
            let costs = self.staged_costs(from, to, &one.encoder);
            let plan = StagedPlan::new(&one.plan.grids, costs, self.planner.budget.bytes());
            // One pass is possible, so it does not matter why two are not.
            let staged = plan.and_then(|plan| self.staged(from, to, &plan.shape).ok());
            if let Some(staged) = staged.filter(|staged| staged.is_better_than(once, MOST_AMPLIFICATION)) {
                return Ok(Route::Staged(Box::new(staged)));
            }
        }
        Ok(Route::Rechunk(Box::new(one)))
    }

    /// Returns both passes through intermediate data of a grid.
    fn staged(&self, from: &StoredArray, to: &StoredArray, shape: &StagingShape) -> Result<Staged> {
        let (folder, is_outside) = match self.planner.least_parts {
            // Parts read the output of other parts, on any machine.
            Some(_) => (folder_inside(&to.node), false),
            None => folder(&to.node),
        };
        let (staging, document) = staging(from, &folder, shape, &self.source().store)?;
        let stored = SubchunkEncoder::new([from; 2], &staging, &ValueConversion::default(), true);
        let first = self.planned([from, &staging], stored.map_err(|error| self.unsupported(error))?, 0);
        let second = self.planned([&staging, to], self.encoder([&staging, from], to)?, 1);
        let needed = |pass: &Result<Rechunk, BudgetTooSmall>| pass.as_ref().err().map_or(0, |small| small.least);
        match (first, second) {
            (Ok(first), Ok(second)) => Ok(Staged { staging, is_outside, document, first, second }),
            (first, second) => Err(self.too_small(needed(&first).max(needed(&second)), to)),
        }
    }

    /// Returns the encoder of DEST's subchunks. `from` contains the array that is read, and SOURCE.
    fn encoder(&self, from: [&StoredArray; 2], to: &StoredArray) -> Result<SubchunkEncoder> {
        let write_empty = self.planner.array.change.write_empty_chunks;
        SubchunkEncoder::new(from, to, &self.changed.change, write_empty).map_err(|error| self.unsupported(error))
    }

    fn too_small(&self, least: u64, to: &StoredArray) -> OperationError {
        self.planner.budget.too_small(least.max(self.elsewhere), &of_chunks(to.subchunk_shape()))
    }

    fn unsupported(&self, error: BindError) -> OperationError {
        OperationError::data(format!("the chunks of `{}` cannot be converted", &self.source().store)).because(error)
    }

    /// Plans a pass from the subchunks of one side to those of the other, in blocks. `pass` is its number: 0 reads
    /// SOURCE, 1 reads intermediate data.
    fn planned(
        &self,
        [from, to]: [&StoredArray; 2],
        encoder: SubchunkEncoder,
        pass: usize,
    ) -> Result<Rechunk, BudgetTooSmall> {
        let grids = Grids {
            shape: to.metadata.shape.clone(),
            skipped: from.metadata.skipped.clone(),
            source_subchunk: from.part_shape(),
            destination_subchunk: to.subchunk_shape().to_vec(),
            destination_object: to.metadata.grid.largest().to_vec(),
            order: to.subchunk_order(),
        };
        // Only single entries of the indexes of intermediate data are read.
        let indexes = shard_bytes(Some(from).filter(|_| pass == 0), to);
        let reading = from.subchunk_chain().reading_bytes(false);
        let writing = Self::writing_bytes(to, &encoder.conversion);
        let worker = [BASE_BYTES, reading, writing, indexes].into_iter().fold(0, u64::saturating_add);
        let costs = Costs { element: encoder.element_size() as u64, subchunk: SUBCHUNK_BYTES, worker };
        let budget = self.planner.budget.bytes();
        let shape = self.given().and_then(|blocks| blocks.shapes.get(pass).cloned());
        let given = shape.and_then(|shape| RechunkPlan::of_blocks(grids.clone(), costs, shape, budget));
        let plan = given
            .unwrap_or_else(|| RechunkPlan::in_groups(grids, costs, budget, self.planner.least_parts.unwrap_or(1)))?;
        Ok(Rechunk { schedule: Schedule::new(&plan, self.planner.budget.threads(), budget), plan, encoder })
    }

    /// Returns the memory that a thread needs to write subchunks.
    fn writing_bytes(to: &StoredArray, conversion: &Conversion) -> u64 {
        // Encoded inner chunks wait for their position in the shard: two per thread, and the one that is being encoded.
        let encoded = to.subchunk_chain().encoded_bytes();
        let waiting = if to.layout.is_some() { encoded.saturating_mul(WAITING) } else { 0 };
        let converting = if conversion.is_copy() { 0 } else { conversion.buffer_bytes(to.has_edges()) };
        converting.saturating_add(waiting)
    }

    /// Returns the costs of two passes without those that depend on the intermediate grid.
    fn staged_costs(&self, from: &StoredArray, to: &StoredArray, encoder: &SubchunkEncoder) -> StagedCosts {
        let sum = |parts: [u64; 3]| parts.into_iter().fold(0, u64::saturating_add);
        let open = from.index_bytes().saturating_mul(MOST_OPEN_SHARDS as u64);
        let writing = Self::writing_bytes(to, &encoder.conversion);
        // Comparing needs the subchunk as it is read, its part inside the array, and three copies of its elements.
        let first_subchunks = if self.planner.run.verify { 5 } else { WAITING };
        let comparing = if self.planner.run.verify { comparing_pieces(to) } else { 0 };
        StagedCosts {
            element: encoder.element_size() as u64,
            subchunk: SUBCHUNK_BYTES,
            workers: [
                sum([BASE_BYTES, from.subchunk_chain().reading_bytes(false), open]),
                sum([BASE_BYTES, writing.max(comparing), shard_bytes(None, to)]),
            ],
            subchunks: [first_subchunks, 1],
            entry: ENTRY_BYTES,
        }
    }
}

/// Returns whether a codec makes codes of floats.
pub(super) fn is_of_codes(stage: &Stage) -> bool {
    matches!(stage.configuration.effect(), Effect::ScaleOffset(_) | Effect::Cast { .. })
}

/// Returns the value of a code.
fn decoded(stages: &[&Stage], code: u64) -> Option<u64> {
    stages.iter().rev().try_fold(code, |bits, stage| match stage.configuration.effect() {
        Effect::ScaleOffset(codec) => codec.decode_one(bits).ok(),
        Effect::Cast { decode, .. } => decode.convert_one(bits).ok(),
        _ => None,
    })
}

pub(crate) fn name_of(job: &Job) -> RouteName {
    let Job::Objects(job) = job else { return RouteName::Copy };
    let [source, destination] = [&job.transfer.source, &job.transfer.destination].map(|array| &array.metadata);
    let has_same_grid = || !source.skips() && source.grid.has_chunks_of(&destination.grid);
    match &job.route {
        Route::Move(conversion) if conversion.is_copy() && job.moves_subchunks() => RouteName::Reshard,
        Route::Move(_) | Route::VariableSize(_) if has_same_grid() => RouteName::Recode,
        Route::VariableSize(variable_size) if variable_size.is_copy() => RouteName::Reshard,
        Route::Move(_) | Route::VariableSize(_) | Route::Rechunk(_) | Route::Staged(_) => RouteName::Rechunk,
    }
}
