//! The work on the stored chunks of an array: their route.

use std::borrow::Cow;

use super::change::Changed;
use super::keep_bits::rounding_first;
use super::losses::kept;
use super::metadata::DestinationMetadata;
use super::staging::misfit;
use super::{Blocks, Planner};
use crate::array::ChunkSet;
use crate::array::stored::{Missing, StoredArray};
use crate::codec::conversion::{ValueChange, depends_on_one_element};
use crate::engine::job::{Job, ObjectJob};
use crate::engine::route::Route;
use crate::engine::route::copy::CopyJob;
use crate::engine::route::variable_size::SubchunkChange;
use crate::engine::transfer::Transfer;
use crate::grid::num_elements;
use crate::operation::budget::BASE_BYTES;
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::operation::stored::{opaque_array, side, stored_array};
use crate::operation::transcode::budget::{first_pass_bytes, least_bytes};
use crate::operation::transcode::format::version_2;

/// What work depends on: the two arrays that it lies between, and what happens to the values.
pub(super) struct Choice<'a> {
    /// What was asked for, and what may be used.
    pub planner: &'a Planner<'a>,
    /// Its chunks that are stored, where that is known.
    pub present: Option<&'a ChunkSet>,
    /// DEST.
    pub destination: &'a DestinationMetadata,
    /// What happens to the values.
    pub changed: &'a Changed,
    /// What a thread needs in other passes, in bytes: a least budget that is named does for them, too.
    pub elsewhere: u64,
}

impl<'a> Choice<'a> {
    pub(super) fn source(&self) -> &'a OpenedArray {
        &self.planner.array.opened
    }

    /// The cheapest work that gives DEST the values it is to have; an error where there is none, or too little memory.
    pub(super) fn job(self) -> Result<Job, OperationError> {
        let (planner, store) = (self.planner, &self.source().store);
        let job = self.cheapest()?;
        check_settled(planner, store, &job)?;
        Ok(job)
    }

    fn cheapest(mut self) -> Result<Job, OperationError> {
        let (planner, destination, changed) = (self.planner, self.destination, self.changed);
        let keeps_fill = changed.absent.is_none() || changed.absent == destination.pipeline.input.fill_value;
        if self.is_copy(keeps_fill) {
            return Ok(Job::Copy(Box::new(self.copy())));
        }
        let (from, to) = match self.sides() {
            Ok(sides) => sides,
            Err(error) => return self.opaque_work(error),
        };
        let quantization = changed.quantization.as_ref();
        let surveyed = quantization
            .map_or(0, |settled| BASE_BYTES.saturating_add(first_pass_bytes(&from, &to, settled)));
        let writes_absent = quantization.is_some_and(|quantization| quantization.writes_absent);
        let absent = changed.absent.as_ref().filter(|_| writes_absent || !keeps_fill);
        let absent_element = absent.map(|fill| fill.0.clone());
        let source = from.with_present(self.present);
        let transfer = Transfer { source, destination: to, absent_element, origin: None };
        let compared = if planner.run.verify { least_bytes(&transfer) } else { 0 };
        self.elsewhere = surveyed.max(compared);
        let route = self.way(&transfer.source, &transfer.destination)?;
        let job = ObjectJob { transfer, route };
        let is_told = depends_on_one_element(job.transfer.destination.subchunk_chain(), kept(&job));
        if planner.run.verify && planner.array.change.codecs.is_some() && !is_told {
            let message = "`--verify` compares element by element, but the destination's chain adds up rounded differences";
            return Err(OperationError::data(message).with_help(
                "leave `--verify` out, and compare with `zarrcast validate --against` and `--atol`",
            ));
        }
        Ok(Job::Objects(Box::new(job)))
    }

    /// The copy of stored chunks, which needs no chain.
    fn copy(&self) -> CopyJob {
        let source = self.source();
        let pipeline = &source.pipeline;
        CopyJob {
            nodes: [source.node.clone(), self.planner.target.clone()],
            metadata: [source.metadata.clone(), self.destination.metadata.clone()],
            present: self.present.cloned(),
            missing: Missing::default(),
            // Of what an unknown codec wrote nothing is known.
            most_bytes: pipeline
                .output()
                .map_or(u64::MAX, |encoded| pipeline.input.max_encoded_bytes(&encoded)),
            decoded_bytes: pipeline.input.num_bytes(),
        }
    }

    /// Whether stored chunks are to be what they are.
    fn is_copy(&self, keeps_fill: bool) -> bool {
        let (source, Choice { destination, changed, .. }) = (self.source(), self);
        let is_whole = self.has_all_chunks() && source.pipeline.sharding().is_none();
        self.has_same_grid()
            && version_2::same_codecs(&source.metadata.codecs, &destination.draft.codecs)
            && source.data_type == destination.pipeline.input.data_type
            && matches!(changed.change, ValueChange::None)
            && (keeps_fill || is_whole)
            && !source.metadata.is_cut()
    }

    /// Whether no chunk of SOURCE is absent, as far as that is known.
    fn has_all_chunks(&self) -> bool {
        self.present.is_some_and(|present| present.len() == self.source().metadata.num_chunks())
    }

    fn has_same_grid(&self) -> bool {
        !self.source().metadata.skips()
            && self.source().metadata.grid.has_chunks_of(&self.destination.metadata.grid)
    }

    /// Both arrays with their chains bound; an error where elements have no fixed size.
    fn sides(&self) -> Result<(StoredArray, StoredArray), OperationError> {
        let (source, Choice { destination, changed, .. }) = (self.source(), self);
        let hoisted = changed.change.num_codecs();
        let mut from = stored_array(source)?;
        let (metadata, empty) = (destination.metadata.clone(), self.planner.array.change.write_empty_chunks);
        let pipeline = match changed.change.of_floats() {
            ValueChange::KeepBits(_) if destination.draft.zarr_format == 2 => {
                Cow::Owned(rounding_first(&destination.pipeline))
            }
            _ => Cow::Borrowed(&destination.pipeline),
        };
        let mut to = side(self.planner.target.clone(), metadata, &pipeline, &source.store, hoisted, empty)?;
        let unchanged = matches!(changed.change, ValueChange::None);
        if unchanged && from.subchunk_chain().casts_like(to.subchunk_chain()) {
            // What the same codes stood for before gets the same codes again.
            to.encode_to_nearest();
        }
        if !to.is_regular() && !from.has_subchunks_of(&to) {
            // Shards of several shapes are not put together from parts of others: each is made whole, of its own.
            (from.layout, to.layout) = (None, None);
        }
        Ok((from, to))
    }

    /// Chunks of elements of any length begin with their number, in 32 bits: none that is stored can hold more, whatever a
    /// shape claims, and none can be written.
    fn check_counts(&self, sides: [&StoredArray; 2]) -> Result<(), OperationError> {
        let counts = sides.map(|side| num_elements(side.subchunk_shape()).unwrap_or(u64::MAX));
        let store = &self.source().store;
        let is_too_many = |count: &u64| {
            *count > u64::from(u32::MAX) && self.present.is_none_or(|present| !present.is_empty())
        };
        let Some(side) = counts.iter().position(is_too_many) else { return Ok(()) };
        let (whose, help) = match side {
            0 => ("of", "a chunk that is stored has fewer: correct its chunk shape"),
            _ => ("to be written of", "give a smaller --chunk-shape"),
        };
        let message = format!(
            "the chunks {whose} `{store}` would have {} elements, but elements of any length are counted in 32 bits: 4294967295 at most",
            counts[side]
        );
        Err(OperationError::data(message).with_help(help))
    }

    /// The work on an array whose chunks have no size that the metadata tell: elements of any length, and what a codec
    /// that is not run here has encoded. `refusal` where there is no route for them.
    fn opaque_work(&self, refusal: OperationError) -> Result<Job, OperationError> {
        let (source, destination) = (self.source(), self.destination);
        let from =
            opaque_array(source.node.clone(), source.metadata.clone(), &source.pipeline, &source.store)?;
        let (node, metadata) = (self.planner.target.clone(), destination.metadata.clone());
        let to = opaque_array(node, metadata, &destination.pipeline, &source.store)?;
        let Some(route) = self.opaque_route(&from, &to)? else { return Err(refusal) };
        if matches!(&route, Route::VariableSize(variable_size) if matches!(variable_size.way, SubchunkChange::Compose))
        {
            self.check_counts([&from, &to])?;
        }
        let fill = &destination.pipeline.input.fill_value;
        let absent_element =
            self.changed.absent.clone().filter(|absent| Some(absent) != fill.as_ref()).map(|fill| fill.0);
        let is_whole = self.has_all_chunks() && from.layout.is_none();
        // Absent chunks become such as hold the old fill value, if anybody here can write them.
        let can_fill =
            matches!(&route, Route::VariableSize(variable_size) if variable_size.destination.is_some());
        if absent_element.is_some() && !is_whole && !can_fill {
            return Err(refusal);
        }
        let source = from.with_present(self.present);
        let transfer = Transfer { source, destination: to, absent_element, origin: None };
        Ok(Job::Objects(Box::new(ObjectJob { transfer, route })))
    }
}

/// An error where a plan that was made before cuts the array as its grids do not let it be cut, or in other passes.
fn check_settled(planner: &Planner<'_>, store: &str, job: &Job) -> Result<(), OperationError> {
    let Some(settled) = &planner.array.settled else { return Ok(()) };
    if Blocks::of(job) == settled.blocks {
        return Ok(());
    }
    let what = match &settled.blocks {
        Some(Blocks { shapes, staging: None }) => format!("blocks of {shapes:?}"),
        Some(Blocks { shapes, staging: Some(staging) }) => format!(
            "blocks of {shapes:?} through shards of {:?} with chunks of {:?}",
            staging.shard, staging.subchunk
        ),
        None => "no blocks".to_owned(),
    };
    Err(misfit(store, &what))
}
