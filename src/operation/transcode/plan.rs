//! The plan of a job, complete and checked before DEST is changed, and the memory that it needs within the budget.
//!
//! DEST's metadata: checked, written as documents, and read from these as readers do. The plan uses what was read.

pub(super) mod change;
pub(super) mod planner;
pub(super) mod regrid;
pub(super) mod route;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{BitRounding, NodeDocument, NodeDocuments, Repacking};
use crate::array::{ArrayCache, ChunkCache, ChunkFault, Fault, Listing, ObjectOf, PIECE, StoredArray};
use crate::codec::{Conversion, IndexEntry, Recoding, ValueConversion};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Code, Diagnostic, Profile, code};
use crate::engine::route::variable_size::SubchunkChange;
use crate::engine::{Driver, Job, ObjectJob, Pairs, Route, StagingShape, Transfer};
use crate::metadata::{ArrayMetadata, CodecMetadata, Json, Object, edit::codecs_json, v2};
use crate::operation::budget::{BASE_BYTES, comparing_bytes, shard_bytes};
use crate::operation::open::{is_big_endian, open_documents, opened, refusal};
use crate::operation::stored::{bound_array, opaque_array};
use crate::operation::{
    ArrayReading, Budget, ChangeOptions, CompressionResult, Draft, FirstPassStats, NodePath, OpenedArray,
    OperationError, Quantization, Result, RunOptions, draft, explain,
};
use crate::pipeline::{BoundConfiguration, Pipeline, Stage};
use crate::store::{MemoryStore, Node, StoreError};

/// The resolved plan of an array.
pub(super) struct Plan {
    /// Number of the array among those of SOURCE.
    pub number: usize,
    /// Path with its leading slash. `/` for SOURCE itself.
    pub path: String,
    pub change: ChangeOptions,
    /// The array in SOURCE.
    pub source: OpenedArray,
    /// Location of the array in DEST.
    pub target: Node,
    pub destination: DestinationMetadata,
    /// Keys of the stored chunks of SOURCE.
    pub listing: Listing,
    /// Bytes of the stored chunks of SOURCE, if they were listed with their sizes.
    pub source_bytes: Option<u64>,
    pub job: Job,
    pub changed: PlannedConversion,
    /// The choice of `--compress auto`, or the goal of a later choice.
    pub compression: Option<CompressionResult>,
    /// Memory of the run. Nothing until the plan is complete.
    pub memory: Memory,
    /// Whether one thread converts the array.
    pub is_small: bool,
    /// Documents of DEST in the order in which they are written. The last one makes DEST readable.
    pub documents: NodeDocuments,
    pub warnings: Vec<Diagnostic>,
}

/// The changes of an array's values.
#[derive(Default)]
pub(crate) struct PlannedConversion {
    pub change: ValueConversion,
    /// The quantisation, if it was requested. In a plan that reads no chunk, its range may still be open.
    pub quantization: Option<Quantization>,
    pub rounding: Option<BitRounding>,
    /// The packing in another form, with the same codes.
    pub repacking: Option<Repacking>,
    /// The value of absent elements, in the data type of DEST.
    pub absent: Option<FillValue>,
}

impl PlannedConversion {
    /// Returns the error of absent elements. `None` if they are NaN or missing, or if values do not change.
    pub(crate) fn absent_error(&self) -> Option<f64> {
        match &self.quantization {
            Some(quantization) => quantization.absent_error(),
            None => self.rounding.as_ref()?.absent_error(),
        }
    }
}

/// Name of the variable that documents rounding by `--keep-bits`, if no other node has this name.
pub(super) const CONTAINER: &str = "quantization_info";

#[derive(Debug, Clone)]
pub(super) struct SourceArray {
    /// Number among the arrays of SOURCE, once all are known.
    pub number: usize,
    /// Path with its leading slash. `/` for SOURCE itself.
    pub path: String,
    /// The array as it was read.
    pub opened: OpenedArray,
    pub change: ChangeOptions,
    /// The resolved part of a plan that was read again.
    pub resolved: Option<ResolvedPlan>,
    /// Results of a first pass by the parts of another run.
    pub surveyed: Option<FirstPassStats>,
    /// The compressor that was chosen at the start of a job in parts.
    pub compression: Option<CompressionResult>,
    /// Name of the variable in the array's group that documents rounding by `--keep-bits`.
    pub container: String,
    /// Its stored chunks, if they were listed before. They are not listed again.
    pub listing: Option<Listing>,
}

impl SourceArray {
    /// Creates an array with its options and nothing resolved.
    pub(super) fn new(path: String, opened: OpenedArray, change: ChangeOptions) -> Self {
        let (number, resolved, surveyed, compression, listing) = Default::default();
        let container = CONTAINER.to_owned();
        SourceArray { number, path, opened, change, resolved, surveyed, compression, container, listing }
    }
}

pub(super) struct Planner<'a> {
    /// The array, and its changes.
    pub array: SourceArray,
    /// Location of the array in DEST.
    pub target: Node,
    /// Whether the array is part of a hierarchy.
    pub is_in_tree: bool,
    pub run: &'a RunOptions,
    /// For a job in parts: the least number of parts into which the work can be cut.
    pub least_parts: Option<u64>,
    pub budget: Budget,
    /// Lists the chunks, and has the interrupt of a first pass.
    pub driver: &'a Driver,
    /// Chunks that first passes of all arrays keep.
    pub cache: &'a ChunkCache,
    /// Chunks that the first pass of this array keeps.
    pub own_cache: ArrayCache,
}

/// The resolved part of a sealed plan for one array. It needs no further pass over the data.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ResolvedPlan {
    /// The quantisation, if values are quantised.
    pub quantization: Option<Quantization>,
    pub blocks: Option<BlockShapes>,
}

/// The shapes of the blocks of an array that is rechunked block by block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockShapes {
    /// Shape of a block in elements, for each pass.
    pub shapes: Vec<Vec<u64>>,
    /// Grid of the intermediate data of two passes.
    pub staging: Option<StagingShape>,
}

impl BlockShapes {
    /// Returns the blocks of a job. `None` if the job has no blocks.
    pub(super) fn new(job: &Job) -> Option<Self> {
        let shapes: Vec<_> = job.rechunks().map(|rechunk| rechunk.plan.block_shape.clone()).collect();
        let staging = job.staged().map(|staged| StagingShape {
            subchunk: staged.staging.subchunk_shape().to_vec(),
            shard: staged.staging.metadata.grid.largest().to_vec(),
        });
        (!shapes.is_empty()).then_some(BlockShapes { shapes, staging })
    }
}

impl Plan {
    /// Returns as many threads as the budget allows, with their memory. Fails if it does not allow one.
    pub(super) fn allot(&self, budget: Budget, verifies: bool) -> Result<Memory> {
        let quantization = self.changed.quantization.as_ref();
        let job = self.job.objects();
        let unit = job.map_or(BASE_BYTES, |job| unit_bytes(job, quantization));
        let compared = job.filter(|_| verifies).map(transfers).unwrap_or_default();
        let least = compared.iter().map(least_bytes).fold(unit, u64::max);
        let purpose = || of_chunks(&self.destination.pipeline.innermost_chunk_shape());
        // Only the error matters here: the comparison may need more than writing. Writing still gets all threads that
        // fit.
        budget.threads_of(least, purpose)?;
        let allowed = budget.threads_of(unit, purpose)?;
        // Blocks have their own schedule, for as many threads as it allows.
        let schedules = || self.job.rechunks().map(|rechunk| rechunk.schedule);
        let threads = schedules().fold(allowed, |threads, s| threads.min(s.threads));
        let mut bytes = schedules().map(|schedule| schedule.bytes).fold(unit.saturating_mul(threads as u64), u64::max);
        // The comparison runs after writing, so the greater need counts.
        for transfer in &compared {
            bytes = bytes.max(compared_in(transfer, budget.narrowed(threads))?.schedule.bytes);
        }
        Ok(Memory { threads, bytes })
    }

    /// Returns a job of the plan with DEST bound as readers bind it.
    pub(super) fn as_read(&self, job: &ObjectJob) -> Result<ObjectJob> {
        let (store, mut route) = (&self.source.store, job.route.clone());
        let DestinationMetadata { metadata, pipeline, .. } = &self.destination;
        let node = &job.transfer.destination.node;
        let destination = if let Route::VariableSize(variable_size) = &mut route {
            let destination = opaque_array((node, metadata, pipeline), store)?;
            if let SubchunkChange::Recode(recoding) = &mut variable_size.change {
                let source = job.transfer.source.subchunk_chain();
                let lost = || OperationError::data(format!("the metadata written for `{store}` cannot be read back"));
                **recoding = Recoding::new(source, destination.subchunk_chain()).ok_or_else(lost)?;
            }
            destination
        } else {
            let repacking = self.changed.repacking.as_ref();
            let codes = repacking.map(|to| to.codes(metadata, pipeline.input.fill_value.as_ref()));
            bound_array((node, metadata, codes.as_ref().unwrap_or(pipeline)), store, false)?
        };
        Ok(ObjectJob { transfer: Transfer { destination, ..job.transfer.clone() }, route })
    }

    /// Returns the error of a job, or of a comparison of its output, that failed at an object of either side.
    pub(super) fn explain(&self, fault: ChunkFault) -> OperationError {
        let (source, quantization) = (&self.source, self.changed.quantization.as_ref());
        let of = |index, fault: Box<Fault>, array: &StoredArray, quantization| {
            explain(ChunkFault { index, fault: *fault }, &array.metadata, &array.node.name(), quantization)
        };
        match (fault.fault, self.job.objects()) {
            (Fault::At { of: ObjectOf::Destination, index, fault }, Some(job)) => {
                of(index, fault, &job.transfer.destination, quantization)
            }
            (Fault::At { of: ObjectOf::Staging, index, fault }, Some(job)) => {
                of(index, fault, self.job.staged().map_or(&job.transfer.source, |staged| &staged.staging), None)
            }
            (cause, _) => explain(ChunkFault { fault: cause, ..fault }, &source.metadata, &source.store, quantization),
        }
    }
}

/// Bytes of an index entry without a checksum: as it is listed, and encoded three times.
pub(super) const ENTRY_BYTES: u64 = size_of::<IndexEntry>() as u64 + 3 * 16;

/// Memory of a run, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Memory {
    /// Number of threads that the budget allows.
    pub threads: usize,
    /// Bytes for all threads.
    pub bytes: u64,
}

/// Returns the purpose of the memory, for the message of [`Budget::too_small`].
pub(super) fn of_chunks(chunk_shape: &[u64]) -> String {
    format!("for chunks of shape {chunk_shape:?} and what their codecs keep")
}

/// Returns the peak memory of a thread in any pass, without passes over blocks.
pub(super) fn unit_bytes(job: &ObjectJob, quantization: Option<&Quantization>) -> u64 {
    let has_edges = job.transfer.source.has_edges();
    let converting = match &job.route {
        Route::VariableSize(variable_size) => return variable_size.memory_share.share,
        // Blocks have their own plan.
        Route::Rechunk(_) | Route::Staged(_) => 0,
        Route::Move(conversion) if !job.moves_subchunks() => convert_bytes(job, conversion, has_edges),
        Route::Move(conversion) => {
            let indices = shard_bytes(Some(&job.transfer.source), &job.transfer.destination);
            // Threads that share a shard keep their converted chunks until their turn: two each.
            let waiting = conversion.destination.encoded_bytes().saturating_mul(2);
            convert_bytes(job, conversion, has_edges).saturating_add(indices).saturating_add(waiting)
        }
    };
    let first_pass =
        quantization.map_or(0, |resolved| first_pass_bytes(&job.transfer.source, &job.transfer.destination, resolved));
    BASE_BYTES.saturating_add(converting.max(first_pass))
}

/// Returns the memory to determine the range of a quantisation and to measure its error.
pub(super) fn first_pass_bytes(source: &StoredArray, destination: &StoredArray, quantization: &Quantization) -> u64 {
    let surveying = reading_bytes(source, source.has_edges());
    // Measuring encodes everything that was read. The codes are no larger than the chunk.
    let codes = quantization.max_error.map_or(0, |_| destination.chain.decoded_bytes());
    // Packed values are unpacked first, and become at most four times as large: float32 from bytes.
    let is_packed = source.chain.decoded().data_type != DataType::Number(quantization.source);
    let floats = if is_packed { source.chain.decoded_bytes().saturating_mul(4) } else { 0 };
    surveying.saturating_add(codes).saturating_add(floats)
}

fn convert_bytes(job: &ObjectJob, conversion: &Conversion, has_edges: bool) -> u64 {
    let filled = if job.transfer.absent_element.is_some() { conversion.destination.decoded_bytes() } else { 0 };
    if conversion.streams().is_some() && !has_edges {
        // The chunk is read piece by piece.
        return (PIECE as u64).saturating_add(conversion.destination.encoded_bytes()).saturating_add(filled);
    }
    // A cut chunk is decoded to elements, whatever the route of the others is.
    let is_cut = job.transfer.source.metadata.is_cut();
    let cut = [&conversion.source, &conversion.destination].into_iter().filter(|_| is_cut);
    let cut = cut.map(|chain| chain.decoded_bytes().saturating_mul(2)).fold(0, u64::saturating_add);
    conversion.buffer_bytes(has_edges).saturating_add(filled).saturating_add(cut)
}

/// Returns the memory to read a chunk of one side.
pub(super) fn reading_bytes(array: &StoredArray, has_edges: bool) -> u64 {
    array.subchunk_chain().reading_bytes(has_edges).saturating_add(array.index_bytes())
}

/// Returns the pairs of both sides of a transfer within a budget. Fails if the budget is too small.
pub(super) fn compared_in(transfer: &Transfer, budget: Budget) -> Result<Pairs<'_>> {
    Pairs::new(transfer, comparing_bytes(transfer), budget.threads(), budget.bytes())
        .map_err(|small| budget.too_small(small.least, &of_chunks(transfer.destination.subchunk_shape())))
}

/// Returns the transfers of a job that are compared.
pub(super) fn transfers(job: &ObjectJob) -> Vec<Transfer> {
    match &job.route {
        Route::VariableSize(_) => Vec::new(),
        Route::Move(_) | Route::Rechunk(_) => vec![job.transfer.clone()],
        Route::Staged(staged) => {
            let origin = Some(job.transfer.source.clone());
            let second = Transfer { source: staged.staging.clone(), origin, ..job.transfer.clone() };
            vec![staged.first_transfer(&job.transfer), second]
        }
    }
}

/// Returns the least memory to compare both sides of a transfer.
pub(super) fn least_bytes(transfer: &Transfer) -> u64 {
    // A budget of 0 always fails, and the error has the least bytes.
    Pairs::new(transfer, comparing_bytes(transfer), 1, 0).err().map_or(0, |small| small.least)
}

/// Findings about names, which are different in v2.
const ABOUT_NAMES: [Code; 5] = [
    code::CODEC_MISNAMED,
    code::CODEC_UNREGISTERED,
    code::DATA_TYPE_MISNAMED,
    code::DATA_TYPE_UNREGISTERED,
    code::DATA_TYPE_UNSUPPORTED,
];

pub(crate) struct DestinationMetadata {
    /// The requested metadata, in v3 form.
    pub draft: Draft,
    /// The members as readers of the documents see them.
    pub metadata: ArrayMetadata,
    /// The chain that these readers decode.
    pub pipeline: Pipeline,
}

impl DestinationMetadata {
    /// Reads the documents that were made from a draft. Fails if they describe other elements than the draft.
    fn read(draft: Draft, documents: &NodeDocuments, source: &OpenedArray) -> Result<Self> {
        let is_copied = documents.last().is_some_and(|(_, made)| made.bytes == source.documents.bytes);
        if is_copied && draft.is_as_read(source) {
            let (metadata, pipeline) = (source.metadata.by_itself(), source.pipeline.clone());
            return Ok(DestinationMetadata { draft, metadata, pipeline });
        }
        let shortened = without_attributes(documents);
        let documents = shortened.as_ref().map_or(documents, |(documents, _)| documents);
        let OpenedArray { mut metadata, data_type, fill_value, mut pipeline, .. } =
            // The loss of the fill value was checked before: some options accept it.
            read_back(documents, in_memory(&source.store), &source.store, Profile::AnyFillValue)?;
        if let Some((_, attributes)) = shortened {
            metadata.attributes = attributes;
        }
        // Several v3 types can have one name in v2.
        let in_v2 = |data_type| v2::write_dtype(data_type, false).ok().filter(|_| draft.zarr_format == 2);
        let has_same_name = || in_v2(&data_type).is_some_and(|name| Some(name) == in_v2(&draft.data_type));
        let is_same = [
            ("another shape", metadata.shape == source.metadata.taken_shape()),
            ("another data type", data_type == draft.data_type || has_same_name()),
            ("another fill value", fill_value == draft.fill_value),
        ];
        if let Some((what, _)) = is_same.into_iter().find(|(_, is_same)| !is_same) {
            let message = format!("the metadata made from `{}` would describe {what}", source.store);
            let help = "nothing was written: this is a fault of zarrcast, please report it with the command line";
            return Err(OperationError::environment(message).with_help(help));
        }
        // v2 may have one name for several v3 types. The draft has the one that is meant.
        pipeline.input.data_type = draft.data_type.clone();
        Ok(DestinationMetadata { draft, metadata, pipeline })
    }
}

/// Returns a v3 document without its attributes, and the attributes. They may be large, and do not change.
fn without_attributes(documents: &NodeDocuments) -> Option<(NodeDocuments, Object)> {
    let [(key, document)] = documents.as_slice() else { return None };
    let mut members = document.json.as_object()?.clone();
    let attributes = members.remove("attributes")?.as_object()?.clone();
    Some((vec![(key.clone(), NodeDocument::new(Json::Object(members)))], attributes))
}

/// Writes documents to an empty node, and reads the array that they describe. Fails if the profile forbids anything in
/// them. `store` is for messages.
pub(crate) fn read_back(documents: &NodeDocuments, node: Node, store: &str, profile: Profile) -> Result<OpenedArray> {
    for (key, document) in documents {
        node.write(key, &document.bytes).map_err(|error| unkept(error, store))?;
    }
    let documents = open_documents(&node, store)?;
    let node_path = NodePath { store: store.to_owned(), path: "/".to_owned() };
    opened(profile, ArrayReading::new(node_path, node, documents))
}

/// Returns an empty node in memory.
pub(crate) fn in_memory(name: &str) -> Node {
    Node::of(Arc::new(MemoryStore::new(name)))
}

/// Returns the error of a node in memory.
pub(crate) fn unkept(error: StoreError, store: &str) -> OperationError {
    OperationError::environment(format!("a sample of `{store}` cannot be kept")).because(error)
}

/// Checks the draft: the document, the chain, and the fill value in it. A new chain is normalized. While the codes
/// are not resolved (`open`), it is not known whether the fill value survives.
fn check(array: &SourceArray, open: bool, draft: &mut Draft, warnings: &mut Vec<Diagnostic>) -> Result<()> {
    let SourceArray { opened: source, change: options, .. } = array;
    if draft.is_as_read(source) {
        return Ok(());
    }
    let (_, pipeline, mut found) = draft::build(draft)?;
    if draft.data_type != source.data_type && draft.data_type.number().is_some() {
        found.extend(DataType::read(&draft.data_type.to_metadata()).into_iter().flat_map(|read| read.notes));
    }
    let about_names = |found: &Diagnostic| ABOUT_NAMES.iter().any(|code| found.is(*code));
    // v2 has its own names.
    let is_v2 = draft.zarr_format == 2;
    found.retain(|found| !((open && is_of_fill(found)) || (is_v2 && about_names(found))));
    let profile = match (options.no_fill_check, draft.new_chain) {
        (true, _) => Profile::AnyFillValue,
        (false, true) => Profile::Write,
        // The chain has changed the fill value in SOURCE already.
        (false, false) => Profile::Read,
    };
    let (errors, accepted): (Vec<_>, Vec<_>) = profile.judged(found).into_iter().partition(Diagnostic::is_error);
    if !errors.is_empty() {
        return Err(refusal(&culprit(options, &errors, &source.store), &errors));
    }
    if draft.zarr_format == 3 && source.documents.zarr_format == 2 {
        warnings.extend(accepted.iter().filter(|found| about_names(found)).cloned());
    }
    let codecs = written(&pipeline);
    if !draft.new_chain {
        // Codecs stay, but the grid changes: they are written as in a new chain (SEMANTICS: D17).
        let has_new_grid = options.chunk_shape.is_some() || options.shard_shape.is_some();
        if draft.zarr_format == 3 && has_new_grid && codecs != draft.codecs {
            draft.keep_codecs(codecs);
        }
        return Ok(());
    }
    if !options.allow_lossy_cast {
        change::refuse_lossy_casts(&pipeline)?;
    }
    // The base64 of a struct has the byte order of its chunks.
    let is_base64 = draft.document.get("fill_value").is_some_and(|json| json.as_str().is_some());
    if let (DataType::Struct(_), true, Some(fill)) = (&draft.data_type, is_base64, draft.fill_value.clone())
        && is_big_endian(&codecs) != is_big_endian(&source.metadata.codecs)
    {
        draft.set_fill_value(fill)?;
    }
    for found in accepted {
        if !warnings.iter().any(|known| known.message == found.message) {
            warnings.push(found);
        }
    }
    draft.set_codecs(codecs);
    Ok(())
}

/// Returns a chain as it is written: explicit permutations and byte orders, scalars in the form of their type, no
/// defaults (SEMANTICS: A1.9, A2.12, B16, B29, B32, C16, C17).
fn written(pipeline: &Pipeline) -> Vec<CodecMetadata> {
    let codec = |stage: &Stage| {
        let mut codec = stage.metadata.clone();
        match &stage.configuration {
            BoundConfiguration::Array(array) => array.written().unwrap_or(codec),
            BoundConfiguration::Sharding(sharding) => {
                if let Some(configuration) = &mut codec.configuration {
                    configuration.insert("codecs", codecs_json(&written(&sharding.inner)));
                    configuration.insert("index_codecs", codecs_json(&written(&sharding.index)));
                }
                codec
            }
            BoundConfiguration::BytesToBytes(_) | BoundConfiguration::Other => codec,
        }
    };
    pipeline.stages.iter().map(codec).collect()
}

fn is_of_fill(found: &Diagnostic) -> bool {
    found.is(code::SCALE_OFFSET_FILL_VALUE_LOST) || found.is(code::CAST_VALUE_FILL_VALUE_LOST)
}

/// Returns the beginning of the message about errors in DEST's metadata. It names the option that caused them, if one
/// did.
fn culprit(options: &ChangeOptions, errors: &[Diagnostic], store: &str) -> String {
    let pointers = || errors.iter().filter_map(|error| error.location.pointer.as_deref());
    let at = |part: &str| pointers().any(|pointer| pointer.starts_with(part));
    let not_encoded = [code::CAST_VALUE_FILL_VALUE, code::SCALE_OFFSET_FILL_VALUE];
    let is_lost = |found: &Diagnostic| is_of_fill(found) || not_encoded.iter().any(|code| found.is(*code));
    let is_of_fill = at("/fill_value") || errors.iter().all(is_lost);
    let is_of_chain = at("/codecs");
    let candidates = [
        ("--fill-value", options.fill_value.is_some() && is_of_fill),
        ("--codecs", options.codecs.is_some() && is_of_chain),
        ("--compress", options.compress.is_some() && is_of_chain),
        ("--shard-shape", options.shard_shape.is_some()),
        ("--chunk-shape", options.chunk_shape.is_some()),
        ("--data-type", options.data_type.is_some()),
        ("--zarr-format", options.zarr_format.is_some()),
    ];
    match candidates.into_iter().find(|(_, is_at_fault)| *is_at_fault) {
        Some((option, _)) => format!("{option} does not fit `{store}`"),
        None => format!("the metadata of DEST, made from `{store}`, would have errors"),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;
    use crate::metadata::json::Json;
    use crate::operation::open::open_array;

    const V2: &str = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<f4","fill_value":0.0,"order":"C",
        "filters":[{"id":"shuffle","elementsize":4}],"compressor":{"id":"zlib","level":1}}"#;

    const V3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"float32","fill_value":0.0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default"},
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}"#;

    fn open(key: &str, document: &str) -> OpenedArray {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(key), document).unwrap();
        open_array(&folder.path().to_path_buf().into(), None, Profile::Read).unwrap()
    }

    /// Requests the array in `asked`, and reads `written` for it.
    fn read(key: &str, asked: &str, written: &str) -> Result<DestinationMetadata, String> {
        let source = open(key, asked);
        let document = NodeDocument { json: Json::Null, bytes: written.as_bytes().to_vec() };
        let documents = vec![(key.to_owned(), document)];
        DestinationMetadata::read(Draft::new(&source), &documents, &source).map_err(|error| error.to_string())
    }

    #[test]
    fn documents_of_other_elements_are_an_error_and_chunks_are_those_of_the_documents() {
        for (key, asked, replaced, by, fault) in [
            (".zarray", V2, r#"{"id":"zlib","level":1}"#, "null", ""),
            (".zarray", V2, r#"[{"id":"shuffle","elementsize":4}]"#, "null", ""),
            (".zarray", V2, r#""level":1"#, r#""level":2"#, ""),
            (".zarray", V2, "<f4", ">f4", ""),
            (".zarray", V2, "<f4", "<i4", "another data type"),
            (".zarray", V2, r#""chunks":[2]"#, r#""chunks":[4]"#, ""),
            (".zarray", V2, r#""shape":[4]"#, r#""shape":[5]"#, "another shape"),
            (".zarray", V2, r#""order""#, r#""dimension_separator":"/","order""#, ""),
            (".zarray", V2, "0.0", "1.0", "another fill value"),
            ("zarr.json", V3, r#",{"name":"crc32c"}"#, "", ""),
            ("zarr.json", V3, "little", "big", ""),
            ("zarr.json", V3, "0.0", "-0.0", "another fill value"),
            ("zarr.json", V3, "0.0", "0", ""),
            (".zarray", V2, "0.0", "null", ""),
        ] {
            assert!(asked.contains(replaced), "{replaced}");
            let written = asked.replace(replaced, by);
            match read(key, asked, &written) {
                Ok(read) => {
                    let opened = open(key, &written);
                    assert_eq!(fault, "", "{replaced} by {by}");
                    assert_eq!(read.metadata.codecs, opened.metadata.codecs);
                    assert_eq!(read.metadata.chunk_key_encoding, opened.metadata.chunk_key_encoding);
                    assert!(read.metadata.grid.has_chunks_of(&opened.metadata.grid));
                    let chains = [&read.pipeline, &opened.pipeline].map(|pipeline| format!("{pipeline:?}"));
                    assert_eq!(chains[0], chains[1], "{replaced} by {by}");
                }
                Err(error) => {
                    assert!(!fault.is_empty() && error.contains(fault), "{replaced} by {by}: {error}");
                }
            }
        }
    }

    #[test]
    fn compressor_that_stands_among_the_filters_is_the_same_chain() {
        let moved = V2.replace("}],\"compressor\":", "},").replace("1}}", "1}],\"compressor\":null}");
        let codecs = |written: &str| codecs_json(&read(".zarray", V2, written).unwrap().metadata.codecs);
        assert_eq!(codecs(V2), codecs(&moved), "{moved}");
    }
}
