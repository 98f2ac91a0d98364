//! What will be done, settled and proved before DEST is touched.

mod change;
mod described;
pub(in crate::operation) mod draft;
pub(in crate::operation) mod lossy_filter;
mod normalize;
mod opaque;
mod reader_support;
mod regrid;
pub(in crate::operation) mod route;
mod staging;
pub(in crate::operation) mod unpack;

use self::described::Described;
use self::draft::{Draft, compress, follow_data_type, read_chain};
use self::route::Choice;
use super::budget::{allot, first_pass_bytes, unit_bytes};
use super::format::consolidate::{NodeDocument, NodeDocuments};
use super::format::version_2;
use super::layout::side;
use super::quantize::first_pass::FirstPass;
use super::quantize::quantization::Quantization;
use super::quantize::readers;
use super::quantize::request::{Request, refuse_packed};
use super::verify::kept;
use crate::codec::conversion::{ValueChange, depends_on_one_element};
use crate::data_type::FillValue;
use crate::diagnostic::{Code, Diagnostic, Severity, code};
use crate::engine::chunk_set;
use crate::engine::driver::Driver;
use crate::engine::interrupt::Interrupt;
use crate::engine::job::ObjectJob;
use crate::engine::listing::{self, Listing};
use crate::engine::progress::Progress;
use crate::engine::route::Route;
use crate::engine::route::rechunk::Rechunk;
use crate::engine::transfer::Transfer;
use crate::metadata::array::{ArrayDocument, ArrayMetadata, num_elements};
use crate::metadata::json::Json;
use crate::operation::budget::{BASE_BYTES, Budget};
use crate::operation::codec_words::complete_typesize;
use crate::operation::error::OperationError;
use crate::operation::open::{OpenedArray, refusal};
use crate::operation::options::{QuantizeForm, TranscodeOptions};
use crate::operation::storage::dangling_links;
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use crate::store::Node;

/// A settled plan.
#[derive(Debug)]
pub(super) struct Plan {
    /// The array as it is.
    pub source: OpenedArray,
    /// Where it will be.
    pub target: Node,
    /// The array as it will be.
    pub destination: Planned,
    /// Its keys.
    pub listing: Listing,
    /// The work on the objects; `None` where they are copied as they are, which needs no chain.
    pub job: Option<ObjectJob>,
    /// How `--verify` reads SOURCE, where DEST's objects are others.
    pub comparison: Option<Rechunk>,
    /// What happens to the values.
    pub change: ValueChange,
    /// Whether no chain was given that may round: `--verify` then holds DEST to the very values that it is to have.
    pub is_exact: bool,
    /// The quantisation, where one is asked for and its range is known.
    pub quantization: Option<Quantization>,
    /// DEST's documents, in the order in which they are written: the one that makes it open is the last.
    pub documents: NodeDocuments,
    /// DEST as these describe it; `None` where they and the objects are copied as they are.
    pub described: Option<Described>,
    /// What the user should know.
    pub warnings: Vec<Diagnostic>,
}

/// What is said of names, which are others in v2.
const ABOUT_NAMES: [Code; 5] = [
    code::CODEC_MISNAMED,
    code::CODEC_UNREGISTERED,
    code::DATA_TYPE_MISNAMED,
    code::DATA_TYPE_UNREGISTERED,
    code::DATA_TYPE_UNSUPPORTED,
];

/// DEST's metadata.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    /// 2 or 3.
    pub zarr_format: u64,
    /// The document, in the form of v3.
    pub document: Json,
    /// Its members.
    pub metadata: ArrayMetadata,
    /// The way of a stored object through the chain.
    pub pipeline: Pipeline,
}

impl Plan {
    /// The keys of an object of the grid in SOURCE and, where DEST has the same grid, there.
    pub(super) fn keys(&self, index: u64) -> [String; 2] {
        [&self.source.metadata, &self.destination.metadata]
            .map(|metadata| metadata.chunk_key_encoding.key(&chunk_set::position(index, metadata)))
    }

    /// Bytes of a decoded object of SOURCE, which progress counts; `None` where its elements have no fixed size.
    pub(super) fn object_bytes(&self) -> Option<u64> {
        self.source.pipeline.input.num_bytes()
    }

    /// The passes over blocks, where the job goes from one grid to another, and the comparison after it.
    pub(super) fn rechunks(&self) -> impl Iterator<Item = &Rechunk> {
        let passes: [Option<&Rechunk>; 2] = match self.job.as_ref().map(|job| &job.route) {
            Some(Route::Rechunk(rechunk)) => [Some(rechunk), None],
            Some(Route::Staged(staged)) => [Some(&staged.first), Some(&staged.second)],
            _ => [None, None],
        };
        passes.into_iter().chain([self.comparison.as_ref()]).flatten()
    }

    /// How often source chunks are read, in the mean.
    pub(super) fn read_amplification(&self) -> f64 {
        match self.job.as_ref().map(|job| &job.route) {
            Some(Route::Rechunk(rechunk)) => rechunk.plan.read_amplification(),
            Some(Route::Staged(staged)) => staged.read_amplification(),
            Some(Route::Measured(measured)) => self.job.as_ref().map_or(1.0, |job| {
                measured.read_amplification(&job.transfer.source, &job.transfer.destination)
            }),
            _ => 1.0,
        }
    }

    /// Bytes of intermediate data, at most.
    pub(super) fn bytes_temporary(&self) -> u64 {
        match self.job.as_ref().map(|job| (job, &job.route)) {
            Some((job, Route::Staged(staged))) => staged.bytes(&job.transfer),
            _ => 0,
        }
    }
}

/// Makes plans.
#[derive(Debug)]
pub(in crate::operation) struct Planner<'a> {
    /// What was asked for.
    pub options: &'a TranscodeOptions,
    /// What a run may use.
    pub budget: Budget,
    /// What stops a first pass.
    pub interrupt: &'a Interrupt,
    /// Who lists the chunks.
    pub driver: &'a Driver,
}

/// What changes in the values.
pub(super) struct Changed {
    pub(super) change: ValueChange,
    pub(super) quantization: Option<Quantization>,
    /// What absent elements become, in DEST's data type.
    pub(super) absent: Option<FillValue>,
}

impl Planner<'_> {
    /// Settles the plan for an opened array.
    pub(super) fn plan(
        &self,
        source: OpenedArray,
        target: Node,
        progress: &dyn Progress,
    ) -> Result<Plan, OperationError> {
        version_2::refuse_codecs(&source, self.options)?;
        let unreadable = |error| {
            OperationError::environment(format!("`{}` cannot be listed", source.store)).because(error)
        };
        // Only a plan that is shown tells how much it would read.
        let list = if self.options.dry_run { listing::list_with_sizes } else { listing::list };
        let listing = list(&source.node, &source.metadata, self.driver).map_err(unreadable)?;
        if let Some(folder) = listing.folders.first() {
            return Err(OperationError::data(format!(
                "a folder stands where the chunk `{folder}` should be"
            )));
        }
        let quantization = match &self.options.quantize {
            Some(quantize) => {
                let request = Request::new(&source, self.options, quantize)?;
                Some(self.quantization(&request, &target, &listing, progress)?)
            }
            None => None,
        };
        self.assemble(source, target, listing, quantization)
    }

    /// The quantisation: of a plan that reads no chunk, without what only the data tell.
    fn quantization(
        &self,
        request: &Request<'_>,
        target: &Node,
        listing: &Listing,
        progress: &dyn Progress,
    ) -> Result<Quantization, OperationError> {
        if !request.reads_data() {
            return FirstPass { budget: self.budget, interrupt: self.interrupt, listing, progress }
                .settle(request);
        }
        let open = request.open(listing);
        if self.options.dry_run {
            return open;
        }
        // Too small a budget is found out before anything is read.
        let mut budget = self.budget;
        if let Ok(sketch) = open.and_then(|open| {
            self.assemble(request.source.clone(), target.clone(), listing.clone(), Some(open))
        }) {
            budget = budget.narrowed(allot(self.budget, &sketch, self.options.verify)?.threads);
        }
        FirstPass { budget, interrupt: self.interrupt, listing, progress }.settle(request)
    }

    /// Puts a plan together, and proves it.
    fn assemble(
        &self,
        source: OpenedArray,
        target: Node,
        listing: Listing,
        quantization: Option<Quantization>,
    ) -> Result<Plan, OperationError> {
        let mut warnings = source.warnings.clone();
        let num_chunks = num_elements(&source.metadata.chunk_grid_shape()).unwrap_or(u64::MAX);
        if listing.present.len() >= num_chunks && self.options.zarr_format.is_none() {
            // What absent chunks hold matters to none, and nothing is made of the null.
            warnings.retain(|found| !found.is(code::V2_FILL_VALUE_NULL));
        }
        if !listing.unknown_keys.is_empty() {
            warnings.push(unknown_keys(&source, &listing));
        }
        warnings.extend(dangling_links(&listing).map(|found| found.in_store(source.store.as_str())));
        let mut draft = Draft::of(&source);
        version_2::set_format(&mut draft, &source, self.options)?;
        let mut changed = self.change(&source, quantization, &mut draft)?;
        if let Some(compression) = &self.options.compress {
            let size = draft_element_size(&draft, &source, changed.quantization.as_ref());
            draft.edit_innermost(|chain| compress(chain, compression, size));
        } else if self.options.codecs.is_some() {
            let size = draft_element_size(&draft, &source, changed.quantization.as_ref());
            draft.edit_innermost(|chain| complete_typesize(chain, size));
        }
        regrid::apply(&mut draft, self.options, &source.metadata, &source.store)?;
        if let (Some(quantization), Some(asked)) = (&mut changed.quantization, &self.options.quantize) {
            warnings.extend(readers::work_around(quantization, &mut draft, !asked.no_workarounds));
            warnings.extend(readers::cf_warning(quantization));
        }
        if self.options.codecs.is_none() {
            version_2::set_byte_order(&mut draft);
        }
        self.set_fill_value(&mut draft)?;
        version_2::follow_fill_value(&mut draft, &source);
        let described = draft.attributes();
        draft.describe(self.options, source.metadata.shape.len())?;
        version_2::keep_described(&mut draft, &described, &source);
        if self.options.fill_value.is_none() {
            version_2::mask_by_fill_value(&mut draft)?;
        }
        warnings.extend(reader_support::raw_warning(&source, &draft));
        let destination = self.check(&mut draft, &source, &mut warnings)?;
        if let Some(quantization) = &changed.quantization {
            // Of a type that may not be taken nothing is said.
            warnings.retain(|known| quantization.is_target_settled || !known.is(code::CAST_VALUE_LOSSY));
            warnings.extend(quantization.warnings.iter().cloned());
            warnings.extend(packed_warning(quantization));
        } else if !warnings.iter().any(|known| known.is(code::DATA_TYPE_SUB_BYTE)) {
            warnings.extend(reader_support::warning(&source.pipeline, &destination.pipeline));
        }
        let (quantization, change) = (changed.quantization.clone(), changed.change.clone());
        let Work { job, comparison } = self.work(&source, &target, &destination, &listing, changed)?;
        let lossy = job.as_ref().and_then(lossy_filter::warning);
        warnings.extend(lossy.filter(|lossy| !warnings.iter().any(|known| known.code == lossy.code)));
        let documents = if draft.zarr_format == 2 {
            // A fill value that readers differ about is said as it was taken, once it is an element like others.
            let is_settled = job.as_ref().is_some_and(ObjectJob::makes_elements)
                && source.warnings.iter().any(|known| known.is(code::V2_FILL_VALUE_FORM));
            let is_fill_given = self.options.fill_value.is_some() || is_settled;
            let given = version_2::Given { options: self.options, is_fill_given };
            let (documents, found) = version_2::documents(&source, &draft, given)?;
            warnings.extend(found);
            documents
        } else {
            vec![document(&source, &destination)]
        };
        let is_copied =
            job.is_none() && documents.last().is_some_and(|(_, d)| d.bytes == source.document_bytes);
        let described =
            if is_copied { None } else { Some(Described::read(&documents, &destination, &target, &source)?) };
        Ok(Plan {
            source,
            target,
            destination,
            listing,
            job,
            comparison,
            change,
            is_exact: self.options.codecs.is_none(),
            quantization,
            documents,
            described,
            warnings,
        })
    }

    /// Applies the options that change values or the chain to the draft.
    fn change(
        &self,
        source: &OpenedArray,
        quantization: Option<Quantization>,
        draft: &mut Draft,
    ) -> Result<Changed, OperationError> {
        let plain = |change| Changed { change, quantization: None, absent: source.fill_value.clone() };
        if let Some(quantization) = quantization {
            if let Some(codecs) = &self.options.codecs {
                draft.set_codecs(read_chain(codecs, "--codecs")?);
                refuse_packed(&draft.codecs, "--codecs")?;
            }
            change::refuse_bound_codecs(self.options, draft, (quantization.source, quantization.target))?;
            return quantized(quantization, draft);
        }
        if self.options.unpack {
            let (change, absent) = unpack::apply(source, self.options, draft)?;
            return Ok(Changed { change, quantization: None, absent });
        }
        let mut changed = plain(ValueChange::None);
        if let Some(data_type) = &self.options.data_type {
            let (change, absent) = change::data_type(source, self.options, data_type, draft)?;
            changed = Changed { change, quantization: None, absent };
        }
        if let Some(codecs) = &self.options.codecs {
            draft.set_codecs(read_chain(codecs, "--codecs")?);
        }
        Ok(changed)
    }

    fn set_fill_value(&self, draft: &mut Draft) -> Result<(), OperationError> {
        let Some(json) = &self.options.fill_value else { return Ok(()) };
        let read = draft.data_type.fill_value_from_json(json).map_err(|error| {
            OperationError::data(format!(
                "--fill-value {} is not a value of {}",
                json.to_string_compact(),
                draft.data_type
            ))
            .because(error)
        })?;
        draft.new_chain = true;
        draft.set_fill_value(read.value)
    }

    /// What is said of errors in what would be written: the option that brought them in, where one did.
    fn culprit(&self, errors: &[Diagnostic], store: &str) -> String {
        let at = |part: &str| {
            let is_there = |error: &Diagnostic| {
                error.location.pointer.as_deref().is_some_and(|pointer| pointer.starts_with(part))
            };
            errors.iter().any(is_there)
        };
        let of_fill = |error: &Diagnostic| {
            error.is(code::SCALE_OFFSET_FILL_VALUE_LOST) || error.is(code::CAST_VALUE_FILL_VALUE_LOST)
        };
        let is_of_fill = at("/fill_value") || errors.iter().all(of_fill);
        let (is_of_chain, options) = (at("/codecs"), self.options);
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
            None => format!("the metadata of DEST, made from `{store}`, would be in error"),
        }
    }

    /// Proves the draft: the document, the chain, the fill value through it.
    fn check(
        &self,
        draft: &mut Draft,
        source: &OpenedArray,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Planned, OperationError> {
        let store = &source.store;
        if draft.is_as_read(source) {
            return Ok(Planned {
                zarr_format: draft.zarr_format,
                document: draft.document.clone(),
                metadata: source.metadata.clone(),
                pipeline: source.pipeline.clone(),
            });
        }
        let (metadata, pipeline, found) = build(draft, store)?;
        let (mut errors, mut lenient): (Vec<_>, Vec<_>) = found.into_iter().partition(Diagnostic::is_error);
        let about_names = |found: &Diagnostic| ABOUT_NAMES.iter().any(|code| found.is(*code));
        if draft.zarr_format == 2 {
            // Its own names are others.
            lenient.retain(|found| !about_names(found));
            errors.retain(|found| !about_names(found));
        }
        if self.options.no_fill_check {
            let (accepted, others): (Vec<_>, Vec<_>) =
                errors.into_iter().partition(|error| error.is(code::CAST_VALUE_FILL_VALUE_LOST));
            lenient.extend(accepted.into_iter().map(|accepted| accepted.with_severity(Severity::Warning)));
            errors = others;
        } else if draft.new_chain {
            let lost = |found: &Diagnostic| found.is(code::SCALE_OFFSET_FILL_VALUE_LOST);
            errors.extend(lenient.iter().filter(|found| lost(found)).cloned());
        }
        if !errors.is_empty() {
            return Err(refusal(&self.culprit(&errors, &source.store), &errors));
        }
        if draft.zarr_format == 3 && source.zarr_format == 2 {
            warnings.extend(lenient.iter().filter(|found| about_names(found)).cloned());
        }
        if !draft.new_chain {
            let (metadata, pipeline) = match explicit(draft, &pipeline, self.options, store)? {
                Some(built) => built,
                None => (metadata, pipeline),
            };
            let document = draft.document.clone();
            return Ok(Planned { zarr_format: draft.zarr_format, document, metadata, pipeline });
        }
        if !self.options.allow_lossy_cast {
            change::refuse_lossy_casts(&pipeline)?;
        }
        let known: Vec<String> = warnings.iter().map(|known| known.message.clone()).collect();
        warnings.extend(lenient.into_iter().filter(|found| !known.contains(&found.message)));
        // Written anew, the chain says what it means: permutations, byte orders, numbers in their own form.
        let codecs = normalize::codecs(&pipeline);
        draft.set_codecs(codecs);
        let (metadata, pipeline, _) = build(draft, store)?;
        Ok(Planned { zarr_format: draft.zarr_format, document: draft.document.clone(), metadata, pipeline })
    }

    /// The work on the objects.
    fn work(
        &self,
        source: &OpenedArray,
        target: &Node,
        destination: &Planned,
        listing: &Listing,
        changed: Changed,
    ) -> Result<Work, OperationError> {
        let options = self.options;
        let fill = &destination.pipeline.input.fill_value;
        let is_whole =
            listing.present.len() == source.metadata.num_chunks() && source.pipeline.sharding().is_none();
        let keeps_fill = changed.absent.is_none() || changed.absent == *fill;
        let writes_absent = changed.quantization.as_ref().is_some_and(|q| q.writes_absent);
        let same_chain = version_2::same_codecs(&source.metadata.codecs, &destination.metadata.codecs);
        let same_type = source.data_type == destination.pipeline.input.data_type;
        let unchanged = matches!(changed.change, ValueChange::None);
        let same_grid = source.metadata.largest_chunk() == destination.metadata.largest_chunk();
        let is_copy = same_grid && same_chain && same_type && unchanged && (keeps_fill || is_whole);
        if is_copy {
            return Ok(Work { job: None, comparison: None });
        }
        let hoisted = if let ValueChange::Quantize { codecs, .. } = &changed.change { *codecs } else { 0 };
        let sides =
            side(source.node.clone(), source.metadata.clone(), &source.pipeline, &source.store, 0, false)
                .and_then(|from| {
                    let node = target.clone();
                    let (metadata, empty) = (destination.metadata.clone(), options.write_empty_chunks);
                    let to = side(node, metadata, &destination.pipeline, &source.store, hoisted, empty)?;
                    Ok((from, to))
                });
        let (from, to) = match sides {
            // What the same codes stood for before gets the same codes again.
            Ok((from, mut to)) if unchanged && from.subchunk_chain().casts_like(to.subchunk_chain()) => {
                to.encode_to_nearest();
                (from, to)
            }
            Ok(sides) => sides,
            Err(error) => return self.opaque_job((source, target, destination), listing, changed, error),
        };
        let quantization = changed.quantization.as_ref();
        let mut choice = Choice {
            change: &changed.change,
            write_empty: options.write_empty_chunks,
            store: &source.store,
            budget: self.budget,
            elsewhere: quantization
                .map_or(0, |settled| BASE_BYTES.saturating_add(first_pass_bytes(&from, &to, settled))),
            verifies: options.verify,
            resumes: options.resume,
        };
        let route = choice.way(&from, &to)?;
        let absent_element = changed.absent.filter(|_| writes_absent || !keeps_fill).map(|fill| fill.0);
        let present = listing.present.clone();
        let transfer = Transfer { source: from, destination: to, present, absent_element, origin: None };
        let job = ObjectJob { transfer, route };
        choice.elsewhere = unit_bytes(&job, quantization, false);
        let is_told = depends_on_one_element(job.transfer.destination.subchunk_chain(), kept(&job));
        if options.verify && options.codecs.is_some() && !is_told {
            let message = "`--verify` compares element by element, but the destination's chain adds up rounded differences";
            return Err(OperationError::data(message).with_help(
                "leave `--verify` out, and compare with `zarrcast validate --against` and `--atol`",
            ));
        }
        let comparison = match &job.route {
            Route::Rechunk(rechunk) => Some((**rechunk).clone()),
            // Each pass is compared by itself, and chunks that stay as they are one by one.
            Route::Staged(_) | Route::Subchunks(_) => None,
            _ if same_grid || !options.verify => None,
            _ => Some(choice.rechunk(&job.transfer.source, &job.transfer.destination)?),
        };
        Ok(Work { job: Some(job), comparison })
    }
}

/// Of a chain whose codecs stay, while the grid becomes another: byte orders, permutations and the like said as a chain
/// is written that is new (SEMANTICS: D17). `None` where it says them already.
fn explicit(
    draft: &mut Draft,
    pipeline: &Pipeline,
    options: &TranscodeOptions,
    store: &str,
) -> Result<Option<(ArrayMetadata, Pipeline)>, OperationError> {
    let has_new_grid = options.chunk_shape.is_some() || options.shard_shape.is_some();
    if draft.zarr_format == 2 || !has_new_grid {
        return Ok(None);
    }
    let codecs = normalize::codecs(pipeline);
    if codecs == draft.codecs {
        return Ok(None);
    }
    draft.keep_codecs(codecs);
    let (metadata, pipeline, _) = build(draft, store)?;
    Ok(Some((metadata, pipeline)))
}

/// What is done with the objects.
pub(super) struct Work {
    pub(super) job: Option<ObjectJob>,
    pub(super) comparison: Option<Rechunk>,
}

/// Writes a quantisation into the draft.
fn quantized(quantization: Quantization, draft: &mut Draft) -> Result<Changed, OperationError> {
    quantization.apply(draft)?;
    let kernel = Box::new(quantization.bind());
    let change = ValueChange::Quantize { kernel, codecs: quantization.num_codecs() };
    // Of an open plan it is not known yet whether the fill value survives.
    let absent = (!quantization.is_open).then(|| quantization.absent_value());
    Ok(Changed { change, quantization: Some(quantization), absent })
}

/// DEST's `zarr.json`: as it was written, where nothing changed.
fn document(source: &OpenedArray, destination: &Planned) -> (String, NodeDocument) {
    let planned = &destination.document;
    let document = if source.zarr_format == 3 && *planned == source.document {
        NodeDocument { json: planned.clone(), bytes: source.document_bytes.clone() }
    } else {
        NodeDocument::new(planned.clone())
    };
    ("zarr.json".to_owned(), document)
}

/// Reads the draft as any reader would.
pub(super) fn build(
    draft: &Draft,
    store: &str,
) -> Result<(ArrayMetadata, Pipeline, Vec<Diagnostic>), OperationError> {
    let mut members = ArrayDocument::read(&draft.document);
    let mut found = std::mem::take(&mut members.diagnostics);
    let Some(mut metadata) = members.metadata() else {
        return Err(refusal(&format!("the metadata made from `{store}` are in error"), &found));
    };
    // No document of v3 says how a codec of v2 takes the bytes of an element.
    for (read, made) in metadata.codecs.iter_mut().zip(&draft.codecs) {
        read.view.clone_from(&made.view);
    }
    let input = ArrayRepresentation {
        data_type: draft.data_type.clone(),
        shape: metadata.largest_chunk().to_vec(),
        fill_value: draft.fill_value.clone(),
    };
    let pipeline = Pipeline::build(input, &metadata.codecs, Completeness::ToBytes, "/codecs", &mut found);
    for diagnostic in &mut found {
        if crate::operation::open::is_read_with_a_warning(diagnostic) {
            diagnostic.severity = Severity::Warning;
        }
    }
    Ok((metadata, pipeline, found))
}

/// Bytes of an element where the innermost compressor meets it.
fn draft_element_size(draft: &Draft, source: &OpenedArray, quantization: Option<&Quantization>) -> usize {
    if let Some(quantization) = quantization {
        return quantization.target.size();
    }
    let built = build(draft, &source.store).ok();
    let encoded = built.and_then(|(_, pipeline, _)| innermost_encoded_size(&pipeline));
    encoded.or_else(|| draft.data_type.size()).unwrap_or(1)
}

fn innermost_encoded_size(pipeline: &Pipeline) -> Option<usize> {
    if let Some((_, sharding)) = pipeline.sharding() {
        return innermost_encoded_size(&sharding.inner);
    }
    let mut arrays = pipeline.stages.iter().filter_map(|stage| stage.output.as_ref()?.array());
    arrays.next_back().unwrap_or(&pipeline.input).data_type.size()
}

fn unknown_keys(source: &OpenedArray, listing: &Listing) -> Diagnostic {
    let (first, count) = (&listing.unknown_keys[0], listing.unknown_keys.len());
    let message = if count == 1 {
        format!("the key `{first}` belongs to no chunk and is not copied")
    } else {
        format!("{count} keys belong to no chunk and are not copied, the first `{first}`")
    };
    Diagnostic::new(code::KEY_UNKNOWN, message).in_store(source.store.clone()).at_key(first.clone())
}

/// Few readers know `packbits` and the types that are stored by it.
fn packed_warning(quantization: &Quantization) -> Option<Diagnostic> {
    let target = quantization.target;
    let packed = quantization.is_packed() && quantization.is_target_settled;
    let form = if quantization.form == QuantizeForm::Codecs { "the codes are" } else { "the array is" };
    packed.then(|| {
        Diagnostic::new(
            code::DATA_TYPE_SUB_BYTE,
            format!("{form} {target}, stored by `packbits`, which few readers know"),
        )
        .with_help("uint8 and uint16 are read everywhere")
    })
}

/// Applies a data type change to the parts of the innermost chain that depend on the type.
pub(super) fn follow(draft: &mut Draft) {
    let data_type = draft.data_type.clone();
    draft.edit_innermost(|chain| follow_data_type(chain, &data_type));
}
