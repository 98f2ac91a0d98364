//! Makes the plan of an array: the changes of its values and metadata, step by step, and then their check.

use super::{
    BlockShapes, Memory, Plan, PlannedConversion, Planner, SourceArray, keep_bits, metadata, predict, regrid,
    route::RouteChoice, staging::misfit, values, warnings,
};
use crate::array::{ArrayCache, Listing};
use crate::codec::{ValueConversion, ValueStep};
use crate::data_type::registered_types;
use crate::diagnostic::{Diagnostic, Profile, code};
use crate::element::NumberType;
use crate::engine::{Job, ObjectJob, Progress, Route, listing};
use crate::metadata::{CodecMetadata, Json, Object, edit::set_member};
use crate::operation::quantize::quantization::{self, changed_masks, mask_by_nan};
use crate::operation::quantize::request::refuse_packed;
use crate::operation::transcode::{
    DestinationMetadata, NodeDocument, NodeDocuments, Repacking, format, quality, repack,
};
use crate::operation::{
    Budget, ChangeOptions, Compression, Documents, Draft, FaultClass, FirstPass, KeepBits, OpenedArray, OperationError,
    Predict, Quantization, QuantizeForm, QuantizeOptions, Request, Result, draft, new_driver, options,
    options::options_for, stored, stored_array,
};
use crate::store::Node;

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
            let kept = keep_bits::find_bits((source, change.unpack), chunks, share, using, progress)?;
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
        metadata::check(&self.array, is_open, &mut draft, &mut warnings)?;
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
        let lossy = job.objects().and_then(warnings::warning);
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
        // A job in parts has listed the sizes, and its parts may read an object again that one run reads once.
        let reads_again = job.read_amplification() > 1.0 || job.objects().is_some_and(ObjectJob::moves_subchunks);
        let is_given = self.array.listing.is_some() && reads_again;
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
            warnings.extend(warnings::rare_type_warning(&source.pipeline, &to.pipeline));
        }
        if let Some(rounding) = &changed.rounding {
            // Elements equal to the fill value are not rounded.
            warnings.retain(|known| !known.is(code::BITROUND_FILL_VALUE_LOST) && !keep_bits::is_about_name(known));
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
        warnings.extend(values::unpacked_warning(&changed.change));
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
            predict::predict(&mut draft, source, options)?;
        }
        // A chain of `--codecs` is written as it was given. Any other can need a cast only if the chain or the chunk
        // shape is new.
        if options.codecs.is_none() && (draft.new_chain || options.chunk_shape.is_some()) {
            predict::keep_readable(&mut draft)?;
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
        warnings.extend(warnings::raw_warning(source, &draft));
        if changed.quantization.is_none() && changed.repacking.is_none() {
            warnings.extend(warnings::shards_warning(source, &draft));
        }
        // A repacking reports how far values differ.
        if options.repack.is_none() {
            warnings.extend(warnings::rescaled_warning(source, &draft));
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
            values::unpack(source, options, draft)?
        } else if keeps_type {
            (ValueConversion::default(), source.fill_value.clone())
        } else {
            values::convert(source, options, draft)?
        };
        if let Some(codecs) = &options.codecs {
            draft.set_codecs(draft::read_chain(codecs)?);
        }
        let mut changed = PlannedConversion { change, absent, ..PlannedConversion::default() };
        if let Some(quantization) = quantization {
            if options.codecs.is_some() {
                refuse_packed(&draft.codecs, "--codecs")?;
            }
            values::drop_filters(options, draft, &[draft::FIXED_SCALE_OFFSET]);
            values::refuse_bound_codecs(options, draft, [quantization.source, quantization.target])?;
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
            values::drop_filters(options, draft, &[draft::FIXED_SCALE_OFFSET, "numcodecs.quantize"]);
            keep_bits::keep_bits(&self.array, keep, &mut changed, draft)?;
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
