//! Makes the plan of an array: the changes of its values and metadata, step by step, and then their check.
//!
//! The cheapest route of an array's chunks, and the memory that it needs. For a rechunk in two passes also the metadata
//! of the intermediate data, and of those that an unfinished run left.

use std::borrow::Cow;

use super::{
    BlockShapes, ENTRY_BYTES, Memory, Plan, PlannedConversion, Planner, SourceArray, change, first_pass_bytes,
    least_bytes, of_chunks, regrid,
};
use crate::array::{ArrayCache, ChunkSet, Listing, MOST_OPEN_SHARDS, Missing, StoredArray};
use crate::codec::{BindError, Conversion, Recoding, ValueConversion, ValueStep, VlenChain, conversion};
use crate::data_type::registered_types;
use crate::diagnostic::{Diagnostic, Profile, code};
use crate::element::NumberType;
use crate::engine::plan::{BudgetTooSmall, Costs, Grids, MOST_AMPLIFICATION, StagedCosts, StagedPlan};
use crate::engine::route::copy::CopyJob;
use crate::engine::route::rechunk::{Rechunk, Schedule};
use crate::engine::route::staged::{Staged, folder, folder_inside, left_document};
use crate::engine::route::variable_size::{BETWEEN_SUBCHUNKS, SubchunkChange, VariableSize};
use crate::engine::{Job, ObjectJob, Progress, RechunkPlan, Route, StagingShape, SubchunkEncoder, Transfer, listing};
use crate::grid::volume;
use crate::metadata::{ArrayDocument, ArrayMetadata, CodecMetadata, Json, Object, edit::set_member};
use crate::operation::budget::{BASE_BYTES, comparing_pieces, shard_bytes};
use crate::operation::quantize::quantization::{self, changed_masks, mask_by_nan};
use crate::operation::quantize::request::refuse_packed;
use crate::operation::stored::{bound_array, new_array, opaque_array, refuse_nested_shards};
use crate::operation::transcode::{
    DestinationMetadata, NodeDocument, NodeDocuments, Repacking, format, quality, repack,
};
use crate::operation::{
    Budget, ChangeOptions, Compression, Documents, Draft, FaultClass, FirstPass, KeepBits, OpenedArray, OperationError,
    Predict, Quantization, QuantizeForm, QuantizeOptions, Request, Result, draft, new_driver, options,
    options::options_for, stored, stored_array, transcode_result::RouteName,
};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use crate::store::{Node, RUN_FOLDER, StoreError};

/// Returns the bytes that a store prefetches, in addition to those of the work.
pub(crate) fn ahead_bytes(source: &Node) -> u64 {
    source.prefetch_limit().map_or(0, |ahead| ahead.bytes)
}

impl Planner<'_> {
    pub(crate) fn plan(&mut self, progress: &dyn Progress) -> Result<Plan> {
        format::refuse_codecs(&self.array.opened, &self.array.change)?;
        let listing = self.list()?;
        if let Some(folder) = listing.misplaced_folder() {
            return Err(OperationError::data(format!("there is a folder where the chunk `{folder}` should be"))
                .with_help("restore the chunk, or remove the folder"));
        }
        let quantization = self.quantization(&listing, progress)?;
        // A job in parts has no pass for this: its bits are determined when it begins.
        let finds = !self.run.dry_run || self.run.partitions.is_some();
        if let Some(KeepBits::Auto(share)) = self.array.change.keep_bits.filter(|_| finds) {
            let SourceArray { opened: source, change, .. } = &self.array;
            // Values that cannot be rounded are an error before anything is read.
            self.change(None, &mut Draft::new(source))?;
            if self.run.quality {
                quality::check_room(&self.assemble(listing.clone(), None)?, self.budget)?;
            }
            let (chunks, using) = ((listing.known(), true), (self.budget, self.driver.interrupt()));
            let kept = change::find_bits((source, change.unpack), chunks, share, using, progress)?;
            self.array.change.keep_bits = Some(kept);
        }
        let mut plan = self.assemble(listing, quantization)?;
        if let Some(repacking) = plan.changed.repacking.as_mut().filter(|_| finds && self.array.resolved.is_none()) {
            let driver = new_driver(self.budget.threads(), self.driver.interrupt())?;
            repacking.measure(&plan.source, plan.listing.known(), &driver, progress)?;
        }
        Ok(plan)
    }

    fn list(&self) -> Result<Listing> {
        if let Some(listing) = &self.array.listing {
            return Ok(listing.clone());
        }
        let source = &self.array.opened;
        let list = if self.asks_for_sizes()? { listing::list_with_sizes } else { listing::list };
        list(&source.node, &source.metadata, self.driver)
            .map_err(|error| OperationError::cannot_list(&source.store, error))
    }

    /// Returns whether chunks are listed with their sizes. A store that cannot list keys then needs a request per
    /// chunk.
    fn asks_for_sizes(&self) -> Result<bool> {
        let SourceArray { opened: source, change, .. } = &self.array;
        // A plan that is shown reports how much it would read. A rechunk may read chunks again, and a selection reads
        // parts of chunks, so the bytes that they read are not their size.
        if self.run.dry_run || source.node.tells_keys() {
            return Ok(self.run.dry_run || change.chunk_shape.is_some() || source.metadata.part.is_some());
        }
        // Work in several runs is divided and counted by the stored chunks.
        if self.run.resume || self.run.partitions.is_some() {
            return Ok(true);
        }
        // With a given range or scale there is no first pass to determine whether the fill value is an element.
        let Some(quantize) = change.quantize.as_ref().filter(|_| self.array.resolved.is_none()) else {
            return Ok(false);
        };
        let request = Request::new(source, change, quantize)?;
        Ok(!quantize.finds_range() && !request.fill_is_nan())
    }

    /// Returns the quantisation, if it was requested. In a plan that reads no chunk, it lacks what depends on the data.
    fn quantization(&self, listing: &Listing, progress: &dyn Progress) -> Result<Option<Quantization>> {
        let SourceArray { opened: source, change, resolved, surveyed, .. } = &self.array;
        let Some(quantize) = &change.quantize else { return Ok(None) };
        if let Some(resolved) = resolved {
            return Ok(resolved.quantization.clone());
        }
        let request = Request::new(source, change, quantize)?;
        let lacks_chunks = listing.present.len() < source.metadata.num_chunks();
        let resolve = |budget: Budget, cache: ArrayCache| {
            let mut array = stored_array(source)?.with_present(listing.known());
            array.cache = cache;
            let driver = new_driver(budget.threads(), self.driver.interrupt())?;
            let pass = FirstPass { request: &request, array, lacks_chunks, driver, progress };
            let survey = if let Some(survey) = surveyed { survey.clone() } else { pass.survey()?.0 };
            pass.resolve(&survey).map(Some)
        };
        if !quantize.finds_range() && quantize.max_error.is_none() {
            return resolve(self.budget, ArrayCache::default());
        }
        let open = request.open(lacks_chunks);
        if self.run.dry_run {
            return open.map(Some);
        }
        // A budget that is too small is an error before anything is read.
        let sketch = match open.and_then(|open| self.assemble(listing.clone(), Some(open))) {
            Ok(sketch) => sketch,
            Err(error) if error.class() == FaultClass::Environment => return Err(error),
            Err(_) => {
                // Without the sketch it is not known what the passes leave of the budget, so no chunk is kept.
                self.cache.limit(0);
                return resolve(self.budget, ArrayCache::default());
            }
        };
        let memory = sketch.allot(self.budget, self.run.verify)?;
        if self.run.quality {
            quality::check_room(&sketch, self.budget)?;
        }
        // Kept chunks of this and other arrays use only memory that neither the passes nor the prefetch need.
        self.cache.limit(self.budget.left_by(memory.bytes.saturating_add(ahead_bytes(&source.node))));
        // Subchunks of the source that are read by themselves, and once.
        let keeps = |job: &ObjectJob| matches!(job.route, Route::Move(_)) && job.transfer.source.is_regular();
        let is_kept = sketch.job.objects().is_some_and(keeps);
        let cache = if is_kept { self.own_cache.clone() } else { ArrayCache::default() };
        // The memory of the sketch's threads includes that of the first pass (`unit_bytes`).
        resolve(self.budget.narrowed(memory.threads), cache)
    }

    /// Makes a plan from the results of passes over the data, and checks it.
    pub(crate) fn assemble(&self, listing: Listing, quantization: Option<Quantization>) -> Result<Plan> {
        let SourceArray { opened: source, change: options, .. } = &self.array;
        let mut warnings = known_warnings(source, &listing);
        let (mut draft, changed) = self.draft(quantization, &mut warnings)?;
        let is_open = changed.quantization.as_ref().is_some_and(|quantization| quantization.is_open);
        super::check(&self.array, is_open, &mut draft, &mut warnings)?;
        let (mut documents, mut found) = self.documents(&draft, false)?;
        let written = documents.last().and_then(|(_, document)| document.json.get("fill_value"));
        if source.documents.zarr_format == 3 && written.is_some_and(Json::is_null) {
            // The report shows the fill value of the draft.
            set_member(&mut draft.document, "fill_value", Json::Null);
            if listing.known().is_none_or(|present| present.len() < source.metadata.num_chunks()) {
                let message = "the fill value 0 becomes null, so that xarray does not take zeros for missing; zarr-python 2 \
                    reads absent chunks as undefined values, all others as 0";
                let help = "`--fill-value 0` keeps it, and `--zarr-format 3` needs no such choice";
                warnings.push(Diagnostic::new(code::V2_FILL_VALUE_NULL, message).with_help(help));
            }
        }
        let destination = DestinationMetadata::read(draft, &documents, source)?;
        self.warn_of_values(&changed, &destination, &mut warnings);
        let (planner, present) = (self, listing.known());
        let mut job =
            RouteChoice { planner, present, destination: &destination, changed: &changed, elsewhere: 0 }.job()?;
        self.check_blocks(&job)?;
        let lossy = job.objects().and_then(change::warning);
        warnings.extend(lossy.filter(|lossy| !warnings.iter().any(|known| known.code == lossy.code)));
        // If readers disagree about a fill value, its interpretation is written once it is an element like others.
        let is_resolved = job.objects().is_some_and(ObjectJob::makes_elements)
            && source.warnings.iter().any(|known| known.is(code::V2_FILL_VALUE_FORM));
        if is_resolved {
            (documents, found) = self.documents(&destination.draft, true)?;
        }
        warnings.extend(found);
        if let Job::Objects(job) = &mut job {
            // The first pass may have left chunks here, which the job need not read again.
            job.transfer.source.cache = self.own_cache.clone();
        }
        // A job in parts has listed the sizes, and its parts may read a chunk again that one run reads once.
        let is_given = self.array.listing.is_some() && job.read_amplification() > 1.0;
        let has_sizes = is_given || self.asks_for_sizes()?;
        Ok(Plan {
            number: self.array.number,
            path: self.array.path.clone(),
            change: options.clone(),
            source: source.clone(),
            target: self.target.clone(),
            destination,
            source_bytes: has_sizes.then_some(listing.present_bytes),
            listing,
            job,
            changed,
            compression: None,
            memory: Memory::default(),
            is_small: false,
            documents,
            warnings,
        })
    }

    /// Adds warnings about changed values, and removes those that they make redundant.
    fn warn_of_values(&self, changed: &PlannedConversion, to: &DestinationMetadata, warnings: &mut Vec<Diagnostic>) {
        let SourceArray { opened: source, change: options, .. } = &self.array;
        if changed.repacking.is_some() || changed.quantization.is_some() || options.unpack {
            let attributes = to.draft.attributes();
            warnings.extend(changed_masks(&source.metadata.attributes, &attributes, options.unpack));
        }
        if let Some(quantization) = &changed.quantization {
            // A type that may not be chosen needs no warning.
            warnings.retain(|known| !quantization.is_target_open || !known.is(code::CAST_VALUE_LOSSY));
            warnings.extend(quantization.fill_value_warning());
            warnings.extend(quantization.few_codes_warning(self.is_in_tree));
            if let Some(packed) = packed_warning(quantization) {
                // `packed` also says that the codes' type is not registered.
                warnings.retain(|known| !known.is(code::DATA_TYPE_UNREGISTERED));
                warnings.push(packed);
            }
        } else if !warnings.iter().any(|known| known.is(code::DATA_TYPE_SUB_BYTE)) {
            warnings.extend(change::rare_type_warning(&source.pipeline, &to.pipeline));
        }
        if let Some(rounding) = &changed.rounding {
            // Elements equal to the fill value are not rounded.
            warnings.retain(|known| !known.is(code::BITROUND_FILL_VALUE_LOST) && !change::is_about_name(known));
            warnings.extend(rounding.warning());
        }
        if !options.predicted().is_empty() {
            // It was requested, and the report names its readers.
            warnings.retain(|known| !known.is(code::CODEC_UNREGISTERED) || !known.message.contains(draft::DELTA));
        }
    }

    /// Fails if the blocks or passes of an earlier plan do not fit the grids of the array.
    fn check_blocks(&self, job: &Job) -> Result<()> {
        let SourceArray { opened, resolved, .. } = &self.array;
        let Some(resolved) = resolved.as_ref().filter(|resolved| resolved.blocks != BlockShapes::new(job)) else {
            return Ok(());
        };
        let what = match &resolved.blocks {
            Some(BlockShapes { shapes, staging: None }) => format!("blocks of {shapes:?}"),
            Some(BlockShapes { shapes, staging: Some(staging) }) => format!(
                "blocks of {shapes:?} through shards of {:?} with chunks of {:?}",
                staging.shard, staging.subchunk
            ),
            None => "no blocks".to_owned(),
        };
        Err(misfit(&opened.store, &what))
    }

    /// Returns the unchecked metadata of DEST, and the changes of the values. The order of the steps matters. Values
    /// come before compressors, which depend on the element size. The grid comes after the chain, which shards contain.
    /// The fill value comes after its data type. Attributes come last, because they describe values and fill value.
    fn draft(&self, codes: Option<Quantization>, warnings: &mut Vec<Diagnostic>) -> Result<(Draft, PlannedConversion)> {
        let SourceArray { opened: source, change: options, path, .. } = &self.array;
        let mut draft = Draft::new(source);
        format::set_format(&mut draft, source, options)?;
        let mut changed = self.change(codes, &mut draft)?;
        warnings.extend(change::unpacked_warning(&changed.change));
        self.complete_chain(&mut draft, &changed);
        let element_bytes = self.element_bytes(&draft);
        let regridded = regrid::apply(&mut draft, options, &source.metadata, element_bytes);
        regridded.map_err(|error| match path.trim_start_matches('/') {
            path if self.is_in_tree => {
                let exclude = options_for("--exclude", &[path], "");
                error.or_help(&format!("leave this array as it is with `{exclude}`"))
            }
            _ => error,
        })?;
        // The options may have made the grid regular, so the check is after them.
        format::set_grid(&mut draft, source)?;
        if options.predict.as_ref().is_some_and(|predict| *predict != Predict::None) {
            // Until the dimensions are found, this checks that there may be some.
            regrid::predict(&mut draft, source, options)?;
        }
        // A chain of `--codecs` is written as it was given. Any other can need a cast only if the chain or the chunk
        // shape is new.
        if options.codecs.is_none() && (draft.new_chain || options.chunk_shape.is_some()) {
            regrid::keep_readable(&mut draft)?;
        }
        if let Some(Repacking { quantization, .. }) = &mut changed.repacking {
            warnings.extend(quantization::work_around(quantization, &mut draft, true));
            warnings.extend(quantization::plain_warning(quantization, &draft));
        }
        if let (Some(quantization), Some(asked)) = (&mut changed.quantization, &options.quantize) {
            warnings.extend(quantization::work_around(quantization, &mut draft, !asked.no_workarounds));
            warnings.extend(quantization::cf_warning(quantization));
            warnings.extend(quantization::plain_warning(quantization, &draft));
        }
        if options.codecs.is_none() {
            format::set_byte_order(&mut draft);
        }
        self.set_fill_value(&mut draft, warnings)?;
        format::follow_fill_value(&mut draft, source);
        // `--attributes` may remove the attribute that masks values in v3. It is restored from this copy.
        let described = draft.attributes();
        draft.describe(options, source.metadata.shape.len())?;
        format::keep_described(&mut draft, &described, source, options)?;
        if options.form() == Some(QuantizeForm::Cf) {
            quantization::keep_packing(&mut draft, &described);
        }
        if options.fill_value.is_none() {
            format::mask_by_fill_value(&mut draft)?;
        }
        warnings.extend(change::raw_warning(source, &draft));
        // A repacking reports how far values differ.
        if options.repack.is_none() {
            warnings.extend(change::rescaled_warning(source, &draft));
        }
        Ok((draft, changed))
    }

    /// Returns the bytes of a decoded element of DEST, as far as known before chunks are read. Shapes must not depend
    /// on the data, because the parts of a job are cut earlier. Variable-length elements count as 16 bytes, as in
    /// numpy.
    fn element_bytes(&self, draft: &Draft) -> u64 {
        const OF_ANY_LENGTH: u64 = 16;
        let SourceArray { opened: source, change, .. } = &self.array;
        let quantize = change.quantize.as_ref();
        let is_open = quantize.is_some_and(|asked| asked.form != QuantizeForm::Codecs && asked.data_type.is_none());
        let data_type = if is_open { &source.data_type } else { &draft.data_type };
        data_type.size().map_or(OF_ANY_LENGTH, |bytes| (bytes as u64).max(1))
    }

    /// Applies `--compress`, or completes `--codecs`: both depend on the element size. Without `--codecs`, codes of 8
    /// bits become 16 bits for pcodec, which encodes no narrower ones.
    fn complete_chain(&self, draft: &mut Draft, changed: &PlannedConversion) {
        let ChangeOptions { compress: compressor, codecs, .. } = &self.array.change;
        let target = changed.quantization.as_ref().map(|quantization| quantization.target);
        if compressor.is_some() || codecs.is_some() {
            let size = target.map_or_else(|| draft::innermost_element_size(draft), NumberType::size);
            draft.edit_innermost(|chain| match compressor {
                Some(Compression::Codecs(codecs)) => draft::compress(chain, codecs, size),
                // It is chosen before: the chain is as it was.
                Some(Compression::Auto(_)) | None => options::complete_typesize(chain, size),
            });
        }
        let sizes = (self.array.opened.data_type.size(), target.map(NumberType::size).or(draft.data_type.size()));
        if let ((Some(old), Some(new)), None, None) = (sizes, codecs, &changed.repacking)
            && !new.is_multiple_of(old)
        {
            // The codec encodes whole elements, and there may be too few bytes for one now.
            draft.edit_innermost(|chain| {
                let shuffles = chain.iter_mut().filter(|codec| codec.name == "numcodecs.shuffle");
                let sizes = shuffles.filter_map(|codec| codec.configuration.as_mut()?.get_mut("elementsize"));
                sizes.filter(|size| **size == Json::from(old as u64)).for_each(|size| *size = Json::from(new as u64));
            });
        }
        if let Some(narrow) = target.filter(|target| target.size() == 1 && codecs.is_none()) {
            let wide = if narrow.element().is_signed_integer() { "int16" } else { "uint16" };
            let cast = CodecMetadata::new("cast_value", Some(Object::new().with("data_type", wide)));
            draft.edit_innermost(|chain| {
                if let Some(index) = chain.iter().position(|codec| codec.name == draft::PCODEC) {
                    chain.insert(index, cast);
                }
            });
        }
    }

    /// Returns the documents of DEST, and warnings about them. `zarr.json` keeps its bytes if nothing changed.
    fn documents(&self, draft: &Draft, is_resolved: bool) -> Result<(NodeDocuments, Vec<Diagnostic>)> {
        let SourceArray { opened: source, change: options, .. } = &self.array;
        if draft.zarr_format == 2 {
            let is_fill_given = options.fill_value.is_some() || is_resolved;
            return format::documents(source, draft, options, is_fill_given);
        }
        let Documents { zarr_format, document: read, bytes, .. } = &source.documents;
        let document =
            NodeDocument::or_as_read(draft.document.clone(), Some(read).filter(|_| *zarr_format == 3), bytes);
        Ok((vec![("zarr.json".to_owned(), document)], Vec::new()))
    }

    /// Applies the options that change values or the chain to the draft.
    fn change(&self, quantization: Option<Quantization>, draft: &mut Draft) -> Result<PlannedConversion> {
        let SourceArray { opened: source, change: options, .. } = &self.array;
        if let Some(form) = options.repack {
            let (repacking, absent) = repack::repack(source, form, options.data_type.as_ref(), draft)?;
            return Ok(PlannedConversion { absent, repacking: Some(repacking), ..PlannedConversion::default() });
        }
        let keeps_type = quantization.is_some() || options.keep_bits.is_some();
        let (change, absent) = if options.unpack {
            // Unpacking comes first: everything else changes the floats.
            change::unpack(source, options, draft)?
        } else if keeps_type {
            (ValueConversion::default(), source.fill_value.clone())
        } else {
            change::convert(source, options, draft)?
        };
        if let Some(codecs) = &options.codecs {
            draft.set_codecs(draft::read_chain(codecs)?);
        }
        let mut changed = PlannedConversion { change, absent, ..PlannedConversion::default() };
        if let Some(quantization) = quantization {
            if options.codecs.is_some() {
                refuse_packed(&draft.codecs, "--codecs")?;
            }
            change::drop_filters(options, draft, &[draft::FIXED_SCALE_OFFSET]);
            change::refuse_lossy_filters(options, draft)?;
            change::refuse_bound_codecs(options, draft, [quantization.source, quantization.target])?;
            let asked = options.quantize.as_ref().filter(|asked| asked.form == QuantizeForm::Codecs);
            if asked.is_some_and(QuantizeOptions::knows_missing) {
                mask_by_nan(draft);
            }
            quantization.apply(draft)?;
            let kernel = ValueStep::Quantize(Box::new(quantization.bind()));
            changed.change = changed.change.then(kernel, quantization.num_codecs());
            // In an open plan it is not known yet whether the fill value survives, unless another one is given.
            let is_known = !quantization.is_open || options.fill_value.is_some();
            changed.absent = is_known.then(|| quantization.absent_value());
            changed.quantization = Some(quantization);
        } else if let Some(keep) = options.keep_bits {
            change::drop_filters(options, draft, &[draft::FIXED_SCALE_OFFSET, "numcodecs.quantize"]);
            change::refuse_lossy_filters(options, draft)?;
            change::keep_bits(&self.array, keep, &mut changed, draft)?;
        }
        Ok(changed)
    }

    /// Sets the fill value of the option. Also warns of unusual forms of this one and of `--nan-value`.
    fn set_fill_value(&self, draft: &mut Draft, warnings: &mut Vec<Diagnostic>) -> Result<()> {
        let ChangeOptions { nan_value, fill_value, .. } = &self.array.change;
        let data_type = &draft.data_type;
        let nan_value = nan_value.as_ref().and_then(|json| data_type.fill_value_from_json(json).ok());
        warnings.extend(nan_value.into_iter().flat_map(|read| Profile::Read.judged(read.notes)));
        let Some(json) = fill_value else { return Ok(()) };
        let read = data_type.fill_value_from_json(json);
        let read = read.map_err(|error| OperationError::not_a_value("--fill-value", json, data_type, error))?;
        // Like that of a new chain, a new fill value must survive the chain bit for bit.
        draft.new_chain = true;
        warnings.extend(Profile::Read.judged(read.notes));
        draft.set_fill_value(read.value)
    }
}

/// Returns the warnings about SOURCE that apply to every change.
fn known_warnings(source: &OpenedArray, listing: &Listing) -> Vec<Diagnostic> {
    let mut warnings = source.warnings.clone();
    if listing.known().is_some_and(|present| present.len() >= source.metadata.num_chunks()) {
        // Without absent chunks, their value does not matter.
        warnings.retain(|found| !found.is(code::V2_FILL_VALUE_NULL));
    }
    warnings.extend(unknown_keys(source, listing));
    let of_names = [stored::dangling_links(listing), stored::not_keys(&listing.not_keys())];
    warnings.extend(of_names.into_iter().flatten().map(|found| found.in_store(source.store.as_str())));
    warnings
}

fn unknown_keys(source: &OpenedArray, listing: &Listing) -> Option<Diagnostic> {
    let unknown = listing.unknown_keys();
    let first = unknown.first()?;
    let message = match listing.num_unknown {
        1 => format!("the key `{first}` belongs to no chunk and is not copied"),
        count => format!("{count} keys belong to no chunk and are not copied, the first `{first}`"),
    };
    Some(Diagnostic::new(code::KEY_UNKNOWN, message).in_store(source.store.clone()).at_key(first.as_str()))
}

/// Returns a warning that few readers know `packbits` and the types that it stores.
fn packed_warning(quantization: &Quantization) -> Option<Diagnostic> {
    let target = quantization.target;
    let packed = quantization.is_packed() && !quantization.is_target_open;
    let form = if quantization.form == QuantizeForm::Codecs { "the codes are" } else { "the array is" };
    packed.then(|| {
        let is_registered = registered_types().any(|name| name == target.name());
        let standing = if is_registered { "," } else { ", a type of no registry," };
        let message = format!("{form} {target}{standing} stored by `packbits`, which few readers know");
        let kind = if target.element().is_signed_integer() { "int" } else { "uint" };
        let help = match target.bits() {
            ..8 => format!("{kind}8 is read everywhere"),
            8..16 => format!("{kind}8 and {kind}16 are read everywhere"),
            _ => format!("{kind}16 and {kind}32 are read everywhere"),
        };
        Diagnostic::new(code::DATA_TYPE_SUB_BYTE, message).with_help(help)
    })
}

/// Memory of a subchunk in a block, in addition to its elements.
const SUBCHUNK_BYTES: u64 = 128;

/// Encoded inner chunks per thread that wait for their position in the shard.
const WAITING: u64 = 3;

/// The inputs of the choice of a route: the two arrays, and the conversion of the values.
struct RouteChoice<'a> {
    /// The options and the budget.
    planner: &'a Planner<'a>,
    /// The stored chunks of SOURCE, if they are known.
    present: Option<&'a ChunkSet>,
    destination: &'a DestinationMetadata,
    changed: &'a PlannedConversion,
    /// Memory that a thread needs in other passes. A minimum budget in an error includes it.
    elsewhere: u64,
}

impl<'a> RouteChoice<'a> {
    fn source(&self) -> &'a OpenedArray {
        &self.planner.array.opened
    }

    /// Returns the cheapest job that writes the requested values to DEST. Fails if there is none or the memory is too
    /// small.
    fn job(mut self) -> Result<Job> {
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
        let code = changed.repacking.as_ref().and_then(|repacking| repacking.absent.as_ref());
        let absent_element = absent.map(|fill| code.unwrap_or(fill).0.clone());
        let source = from.with_present(self.present);
        let transfer = Transfer { source, destination: to, absent_element, origin: None };
        let compared = if planner.run.verify { least_bytes(&transfer) } else { 0 };
        self.elsewhere = surveyed.max(compared);
        let job = ObjectJob { route: self.route(&transfer.source, &transfer.destination)?, transfer };
        let is_told = conversion::depends_on_one_element(job.transfer.destination.subchunk_chain(), change::kept(&job));
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

    /// Returns both arrays with bound chains. Fails if elements have no fixed size.
    fn arrays(&self) -> Result<(StoredArray, StoredArray)> {
        let (source, RouteChoice { destination, changed, .. }) = (self.source(), self);
        let hoisted = changed.change.num_codecs;
        let repacked = changed.repacking.as_ref().map(|repacking| repacking.source(source));
        let mut from = repacked.unwrap_or_else(|| stored_array(source))?;
        let (metadata, empty) = (&destination.metadata, self.planner.array.change.write_empty_chunks);
        let fill = destination.pipeline.input.fill_value.as_ref();
        let pipeline = match changed.change.steps.last() {
            _ if let Some(to) = &changed.repacking => Cow::Owned(to.codes(metadata, fill)),
            Some(ValueStep::KeepBits(_)) if destination.draft.zarr_format == 2 => {
                Cow::Owned(change::rounding_first(&destination.pipeline))
            }
            _ => Cow::Borrowed(&destination.pipeline),
        };
        let mut to = new_array((&self.planner.target, metadata, &pipeline), hoisted, empty)?;
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
    fn route(&self, from: &StoredArray, to: &StoredArray) -> Result<Route> {
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
            Some(blocks) => Some(blocks.clone()),
            // A job in parts follows its plan, whatever was begun.
            None if self.planner.run.resume && self.planner.least_parts.is_none() => begun(&to.node, from)?,
            None => None,
        };
        if let Some(BlockShapes { staging: Some(shape), .. }) = &begun {
            return Ok(Route::Staged(Box::new(self.staged(from, to, shape)?)));
        }
        let one = self.planned([from, to], self.encoder([from; 2], to)?, 0);
        let one = one.map_err(|small| self.too_small(small.least, to))?;
        let once = one.plan.read_amplification();
        if once > MOST_AMPLIFICATION && begun.is_none() {
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

/// Returns what the destination's unfinished run has begun, for an array that `from` reads: one pass or two. The shapes
/// of its blocks are not known. `None` if there is no such run.
fn begun(destination: &Node, from: &StoredArray) -> Result<Option<BlockShapes>> {
    let blocks = |staging| BlockShapes { shapes: Vec::new(), staging };
    let unreadable =
        |error: StoreError| OperationError::environment("the unfinished DEST cannot be read").because(error);
    let (left, is_outside) = folder(destination);
    if !is_outside && !destination.is_local() {
        // A zip file is written from the beginning.
        return Ok(None);
    }
    let Some(text) = left_document(&left).map_err(unreadable)? else {
        // Outside, they may be on another machine: this counts as not begun.
        let is_begun = !is_outside && destination.below(&RUN_FOLDER).exists().map_err(unreadable)?;
        return Ok(is_begun.then(|| blocks(None)));
    };
    let shape = Json::parse(&text).ok().and_then(|document| shape_of(&document, &from.metadata));
    shape.map(|shape| Some(blocks(Some(shape)))).ok_or_else(|| {
        OperationError::environment(format!("the intermediate data at `{}` are not of this array", left.name()))
            .with_help("remove the unfinished destination, and begin again")
    })
}

/// Returns the grid of intermediate data. `None` if they are not of this array.
fn shape_of(document: &Json, array: &ArrayMetadata) -> Option<StagingShape> {
    let metadata = ArrayDocument::read(document).metadata()?;
    let inner = metadata.codecs.first()?.member("chunk_shape")?.as_array()?;
    let shard = metadata.grid.largest();
    let shape = StagingShape { subchunk: inner.iter().filter_map(Json::as_u64).collect(), shard: shard.to_vec() };
    let taken = array.taken_shape();
    let is_of_array = metadata.shape == taken && metadata.data_type.same_value(&array.data_type);
    (shape.fits(&taken) && is_of_array).then_some(shape)
}

/// Returns the intermediate data with a grid, in a folder, for the array that is read, and their document.
fn staging(from: &StoredArray, folder: &Node, shape: &StagingShape, store: &str) -> Result<(StoredArray, Json)> {
    if !shape.fits(&from.metadata.taken_shape()) {
        let what = format!("intermediate data of shards of {:?} with chunks of {:?}", shape.shard, shape.subchunk);
        return Err(misfit(store, &what));
    }
    let found = document(from, shape).and_then(|document| Some((ArrayDocument::read(&document).metadata()?, document)));
    let (metadata, document) = found.ok_or_else(|| OperationError::data("the array cannot be held in between"))?;
    let input = ArrayRepresentation { shape: shape.shard.clone(), ..from.chain.decoded().clone() };
    let pipeline = Pipeline::build(input, &metadata.codecs, Completeness::ToBytes, "/codecs", &mut Vec::new());
    Ok((bound_array((folder, &metadata, &pipeline), store, true)?, document))
}

/// Returns the error for an earlier plan of `store` with something that does not fit its grids.
fn misfit(store: &str, what: &str) -> OperationError {
    OperationError::data(format!("the plan of `{store}` has {what}, which do not fit its grids"))
        .with_help("remove DEST, and run `--init` again")
}

/// Returns the document of intermediate data: one folder with one file per shard. Elements are as in memory, and the
/// index has no checksum, so that one entry of it can be read.
fn document(from: &StoredArray, shape: &StagingShape) -> Option<Json> {
    let StagingShape { subchunk, shard } = shape;
    let endian = if cfg!(target_endian = "big") { "big" } else { "little" };
    let bytes = format!(r#"[{{"name":"bytes","configuration":{{"endian":"{endian}"}}}}]"#);
    let [data_type, fill_value] = [&from.metadata.data_type, &from.metadata.fill_value].map(Json::to_string);
    let text = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":{:?},"data_type":{data_type},
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{shard:?}}}}},
        "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"."}}}},"fill_value":{fill_value},
        "codecs":[{{"name":"sharding_indexed","configuration":{{"chunk_shape":{subchunk:?},"codecs":{bytes},
        "index_codecs":{bytes},"index_location":"end"}}}}],"attributes":{{}}}}"#,
        from.metadata.taken_shape()
    );
    Json::parse_str(&text).ok()
}
