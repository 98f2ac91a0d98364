//! `inspect` of an array: its metadata, the data after each codec, the stored objects, and the values. `inspect` of a
//! group: its members.

mod chunk;
mod group;
mod preview;
#[cfg(test)]
mod tests;
mod ways;

use self::ways::{has_missing, suggestion, unpacking};
use super::description::describe;
use super::histogram::{Binning, absent, range_of};
use super::information::{BitSurvey, codes};
use super::inspect_result::{DimensionInformation, KeptBits, StorageResult};
use super::open::open_documents;
use super::quantize::request::{FirstPassScan, FirstPassStats, Measure, Request};
use super::stored::{self, opaque_array, refuse_nested_shards, stored_array};
use super::{
    ArrayDrawing, ArrayReading, ArrayResult, Budget, FaultClass, Histogram, InformationResult, InspectOptions,
    InspectResult, Interrupt, NodePath, Numbers, OpenedArray, OperationError, QuantizeOptions, Result, Stats, Suggest,
    explain, narrowed, new_driver,
};
use crate::array::{ChunkFault, Listing, Purpose, StoredArray, position};
use crate::data_type::DataType;
use crate::diagnostic::{Code, Diagnostic, Profile, code};
use crate::element::NumberType;
use crate::engine::listing::{list, scan};
use crate::engine::{Driver, Fold, Progress};
use crate::kernel::bit_pairs::{Information, bit_names, leading_bits};
use crate::metadata::{NodeKind, array::num_elements};
use chunk::{chunk_bytes, inspect_chunk};

/// Reads an array, or a group and all nodes below it.
pub fn inspect(options: &InspectOptions, progress: &dyn Progress, interrupt: &Interrupt) -> Result<InspectResult> {
    let node_path = NodePath::new(&options.store, options.node.as_deref())?;
    let name = node_path.name();
    let node = node_path.node(&options.store)?;
    let documents = open_documents(&node, &name)?;
    if documents.kind != NodeKind::Group {
        let mut reading = ArrayReading::new(node_path, node, documents);
        Profile::Read.judge(&mut reading.diagnostics);
        return Ok(InspectResult::Array(Box::new(inspect_reading(reading, options, (progress, interrupt))?)));
    }
    if let Some(option) = options.needs_array() {
        let help = if options.suggested_type().is_some() {
            "name an array in it; `zarrcast inspect --suggest` of the group, without a type, has a table for each"
        } else {
            "name an array in it; `zarrcast inspect --stats` of the group has a row for each"
        };
        return Err(OperationError::data(format!("`{name}` is a group, and {option} needs an array")).with_help(help));
    }
    Ok(InspectResult::Group(Box::new(group::inspect_group(options, documents, (progress, interrupt))?)))
}

/// The progress of a command, and its interrupt.
type Run<'a> = (&'a dyn Progress, &'a Interrupt);

/// Reads the metadata of an array as far as possible, then answers the requests about its chunks. All faults are among
/// the findings.
fn inspect_reading(mut reading: ArrayReading, options: &InspectOptions, run: Run<'_>) -> Result<ArrayResult> {
    let mut result = describe(&mut reading, &options.store);
    if options.storage || options.asks_for_values() {
        let (node_path, of_metadata) = (reading.node_path.clone(), result.warnings.len());
        let (key, node) = (reading.documents.key, reading.node.clone());
        contents(reading, options, run, &mut result)?;
        // The findings about the metadata have their location already.
        node_path.locate(&mut result.warnings[of_metadata..], key);
        result.chunks_refused = Some(node.num_refused());
    }
    let lacks_chunks = |storage: &StorageResult| storage.chunks_present < storage.chunks;
    if !result.storage.as_ref().is_some_and(lacks_chunks) {
        // No absent chunk is known, so the value of its elements does not matter.
        result.warnings.retain(|found| !found.is(code::V2_FILL_VALUE_NULL));
    }
    Ok(result)
}

/// Answers the requests about the chunks, as far as the metadata allow.
fn contents(reading: ArrayReading, options: &InspectOptions, run: Run<'_>, result: &mut ArrayResult) -> Result<()> {
    let (progress, interrupt) = run;
    let has_errors = reading.diagnostics.iter().any(Diagnostic::is_error);
    let array = match reading.into_array() {
        Ok(array) => array,
        // Without a fault, the chunks of the grid are not supported. The error says so.
        Err(error) => return if has_errors || !options.asks_for_values() { Ok(()) } else { Err(error) },
    };
    let driver = new_driver(options.common.num_threads(), interrupt)?;
    // The indexes of shards are read for any content of the inner chunks. Text is shown as the bytes of a chunk.
    let opaque = || opaque_array((&array.node, &array.metadata, &array.pipeline), &array.store);
    let is_text = array.data_type.is_variable_length() && options.chunk.is_some();
    let stored = if is_text { opaque() } else { stored_array(&array) };
    let listing = listing(&array, options, &driver)?;
    if let Some(listing) = &listing {
        result.warnings.extend(stored::dangling_links(listing));
        result.warnings.extend(stored::not_keys(&listing.not_keys()));
        result.warnings.extend(stored::unread(listing));
    }
    if let (true, Some(listing)) = (options.storage, &listing) {
        let unread = if stored.is_err() { opaque().ok() } else { None };
        let (counts, damaged) = stored::census(&array, listing, stored.as_ref().ok().or(unread.as_ref()), &driver)?;
        result.storage = Some(counts);
        result.warnings.extend(damaged);
    }
    if !options.asks_for_values() || has_errors {
        return Ok(());
    }
    let bound = stored.and_then(|stored| {
        let stored = stored.with_present(listing.as_ref().and_then(Listing::known));
        let fold = Fold { array: &stored, driver: &driver, progress };
        let threads = Contents { source: &array, fold, listing: listing.as_ref() }.threads(options)?;
        Ok((stored, threads))
    });
    let (stored, threads) = match bound {
        Ok(bound) => bound,
        // `--report` alone draws what it can. Only an option that names values makes this a finding.
        Err(error) if !options.asks_for_values_by_name() => {
            result.drawing = Some(ArrayDrawing::noted(error.in_one_line()));
            return Ok(());
        }
        // Text has no statistics, in any decoder.
        Err(_) if array.data_type.is_variable_length() && options.chunk.is_none() => {
            result.warnings.push(no_statistics(&array.data_type));
            return Ok(());
        }
        Err(error) => {
            // For `validate` this is not a fault of the store. Here it prevents the requested answer.
            let mut found = finding(error, code::CODEC_UNSUPPORTED)?;
            // The location of the finding names the array. Without its name, many arrays have the same finding.
            found.message = found.message.replace(&format!(" of `{}`", array.store), "");
            result.warnings.extend(Profile::Values.judged(vec![found]));
            return Ok(());
        }
    };
    let fold = Fold { array: &stored, driver: &narrowed(&driver, threads)?, progress };
    Contents { source: &array, fold, listing: listing.as_ref() }.all(options, result)
}

/// Returns the listing of the stored chunks, if an option needs it.
fn listing(array: &OpenedArray, options: &InspectOptions, driver: &Driver) -> Result<Option<Listing>> {
    let listing = if options.storage || matches!(options.suggest, Some(Suggest::Ways { .. })) {
        scan(&array.node, &array.metadata, Purpose::Counting, driver)
    } else if options.reads_all_values() {
        list(&array.node, &array.metadata, driver)
    } else {
        return Ok(None);
    };
    listing.map(Some).map_err(|error| OperationError::cannot_list(&array.store, error))
}

/// An array whose chunks are read.
#[derive(Clone, Copy)]
struct Contents<'a> {
    source: &'a OpenedArray,
    /// The array with its chain bound, and the means to read it.
    fold: Fold<'a>,
    /// The listing of the stored chunks, if an option needs it.
    listing: Option<&'a Listing>,
}

impl Contents<'_> {
    /// Returns the number of threads for which there is memory. The error names enough for `--information`, too.
    fn threads(&self, options: &InspectOptions) -> Result<usize> {
        let (budget, purpose) = (Budget::new(&options.common), || format!("for the chunks of `{}`", self.source.store));
        budget.threads_of(self.needed_bytes(options), purpose).map_err(|error| {
            let survey = if options.information { self.survey(options).ok().flatten() } else { None };
            survey.and_then(|(_, survey)| survey.threads_of(budget).err()).unwrap_or(error)
        })
    }

    /// Returns the survey of `--information`, and what its bits are those of. `None` for a type without numbers.
    fn survey(&self, options: &InspectOptions) -> Result<Option<(&'static str, BitSurvey)>> {
        let array = self.source;
        if let Some(survey) = codes(array, self.fold.array.present.as_ref())? {
            return Ok(Some(("codes", survey)));
        }
        let Some(numbers) = Numbers::new(&array.data_type) else { return Ok(None) };
        let missing = numbers.missing_of(array, options.cf.missing.as_ref())?;
        let fill_bits = numbers.fill_of(array);
        Ok(Some(("values", BitSurvey::new(self.fold.array.clone(), numbers, &missing, fill_bits, false))))
    }

    /// Returns the bytes that a thread needs at a time.
    fn needed_bytes(&self, options: &InspectOptions) -> u64 {
        let (stored, draws) = (self.fold.array, options.draws || options.preview.is_some());
        let reads_chunks = draws || self.listing.is_some_and(|listing| !listing.present.is_empty());
        // A picture needs whole chunks, and codes are made of whole chunks.
        let suggests_codecs = options.suggested_type().is_some();
        let unit = match draws || suggests_codecs {
            _ if !reads_chunks => 0,
            true => stored.reading_bytes(),
            false => stored.reading_bytes_in_pieces(),
        };
        let codes = if suggests_codecs { stored.subchunk_chain().decoded_bytes().min(unit) } else { 0 };
        let chunk = options.chunk.as_ref().map_or(0, |chunk| chunk_bytes(stored, chunk));
        unit.saturating_add(codes).max(chunk)
    }

    /// Answers the requests, one after the other.
    fn all(&self, options: &InspectOptions, result: &mut ArrayResult) -> Result<()> {
        let numbers = Numbers::as_cf(self.source, &options.cf)?;
        let is_asked = options.reads_all_values() || options.preview.is_some() || options.suggest.is_some();
        if numbers.is_none() && is_asked {
            result.warnings.push(no_statistics(&self.source.data_type));
        }
        let is_readable = if let Some(numbers) = &numbers { self.values(numbers, options, result)? } else { false };
        if let (Some(Suggest::Ways { sample }), true, Some(listing)) = (options.suggest, is_readable, self.listing) {
            let change = unpacking(self.source, &options.cf);
            // Whether the array can be quantised at all is checked before anything is read.
            Request::new(self.source, &change, &QuantizeOptions::default())?;
            refuse_nested_shards(self.fold.array, &self.source.store)?;
            self.fold.progress.start("sample", None);
            let tried = self.ways(listing, sample, (options, &change));
            self.fold.progress.finish();
            match tried {
                Ok(ways) => result.ways = Some(ways),
                Err(error) => result.warnings.push(finding(error, code::CHUNK_CORRUPT)?),
            }
        }
        if options.information && is_readable {
            result.information = self.information(options, result)?;
        }
        // Single chunks are requested by key, so that anything else with this key is reported.
        let stored = &StoredArray { present: None, ..self.fold.array.clone() };
        let requested = Contents { fold: Fold { array: stored, ..self.fold }, ..*self };
        if let Some(chunk) = &options.chunk {
            let (found, finding) = inspect_chunk(stored, &self.source.store, chunk)?;
            result.chunk = Some(found);
            result.warnings.extend(finding);
        }
        if let (Some(preview), Some(numbers)) = (&options.preview, &numbers) {
            requested.preview(numbers, preview, result)?;
        }
        if options.draws {
            result.drawing = Some(requested.drawing(numbers.as_ref(), result)?);
        }
        Ok(())
    }

    /// Adds a fault of a chunk as a finding.
    fn found(&self, fault: ChunkFault, result: &mut ArrayResult) -> Result<()> {
        let chunk = position(fault.index, &self.source.metadata);
        let key = self.fold.array.key(fault.index);
        let error = explain(fault, &self.fold.array.metadata, &self.source.store, None);
        result.warnings.push(finding(error, code::CHUNK_CORRUPT)?.at_key(key).at_chunk(chunk));
        Ok(())
    }

    /// Makes the passes. Returns false if a chunk could not be read, which is a finding.
    fn values(&self, numbers: &Numbers, options: &InspectOptions, result: &mut ArrayResult) -> Result<bool> {
        let is_counted = options.stats || options.histogram.is_some();
        let metadata = &self.source.metadata;
        if is_counted && num_elements(&metadata.shape).is_none() {
            let (store, shape) = (&self.source.store, &metadata.shape);
            let message = format!("`{store}` has more elements than can be counted: its shape is {shape:?}");
            return Err(OperationError::data(message));
        }
        let (change, missing) = (unpacking(self.source, &options.cf), options.cf.missing.as_ref());
        let quantize = options.suggested_type().map(|target| QuantizeOptions {
            data_type: Some(target),
            missing: missing.filter(|missing| has_missing(self.source, missing, &change)).cloned(),
            ..QuantizeOptions::default()
        });
        let request = quantize.as_ref().map(|quantize| Request::new(self.source, &change, quantize));
        let request = request.transpose()?;
        if request.is_some() {
            refuse_nested_shards(self.fold.array, &self.source.store)?;
        }
        if !is_counted && request.is_none() {
            return Ok(true);
        }
        match self.passes(numbers, options, request.as_ref(), result) {
            Err(Stop::Fault(fault)) => self.found(fault, result).map(|()| false),
            Err(Stop::Error(error)) => Err(error),
            Ok(()) => Ok(true),
        }
    }

    fn passes(
        &self,
        numbers: &Numbers,
        options: &InspectOptions,
        request: Option<&Request<'_>>,
        result: &mut ArrayResult,
    ) -> Result<(), Stop> {
        let (fold, wanted) = (self.fold, options.histogram);
        let stats = (options.stats || wanted.is_some()).then(|| Stats::new(numbers));
        let bins = |range| {
            let histogram = Histogram::new(numbers.number_type(), wanted?.bins, range);
            Some(Binning { numbers, histogram })
        };
        let given = wanted.and_then(|wanted| wanted.range).and_then(bins);
        // A pass reads every chunk, so the first serves all that needs no result of another. Bins without a given range
        // do.
        let first = (stats, (given, request.and_then(FirstPassScan::new)));
        let found = fold.run("values", &first).map_err(Stop::Fault)?;
        let absent = absent(fold, &found);
        let (stats, (given, surveyor)) = first;
        let (summary, (counts, extents)) = found.part;
        let figures = stats.zip(summary).map(|(stats, summary)| stats.finish(summary, absent, fold));
        let figures = figures.transpose().map_err(Stop::Fault)?;

        let quantization = request.map(|request| {
            let lacks_chunks = self.fold.array.objects().len() < self.fold.array.metadata.num_chunks();
            let survey = surveyor.map_or_else(FirstPassStats::default, |surveyor| {
                surveyor.survey(extents, lacks_chunks || found.lacks_chunks)
            });
            request.first_fit(|candidate| request.resolve(candidate, &survey))
        });
        let quantization = quantization.transpose().map_err(Stop::Error)?;
        let range = figures.as_ref().and_then(range_of);
        // Without finite values the range is that of `numpy.histogram`.
        let own = if given.is_none() { bins(range.unwrap_or((0.0, 1.0))) } else { None };
        let unpack = request.and_then(|request| request.unpack.as_ref());
        let second = (own, quantization.as_ref().map(|quantization| Measure::new(unpack, quantization)));
        let (own_counts, error) = match &second {
            (None, None) => (None, None),
            (Some(_), _) => fold.run("histogram", &second).map_err(Stop::Fault)?.part,
            (None, Some(_)) => fold.run("measuring", &second).map_err(Stop::Fault)?.part,
        };
        let binned = given.zip(counts).or(second.0.zip(own_counts));
        result.histogram = binned.map(|(binning, counts)| binning.finish(counts, absent));
        result.stats = figures.filter(|_| options.stats);
        if let (Some(request), Some(quantization), Some(error)) = (request, &quantization, error) {
            result.suggestion = Some(suggestion(request, &options.access, quantization, &error).map_err(Stop::Error)?);
            result.warnings.extend(quantization.fill_value_warning());
        }
        Ok(())
    }

    /// Makes one pass over all chunks. A chunk that cannot be read is a finding.
    fn information(&self, options: &InspectOptions, result: &mut ArrayResult) -> Result<Option<InformationResult>> {
        let Some((of, survey)) = self.survey(options)? else { return Ok(None) };
        let driver = narrowed(self.fold.driver, survey.threads_of(Budget::new(&options.common))?)?;
        match survey.run(&driver, self.fold.progress) {
            Ok(found) => Ok(Some(self.described(survey.number_type(), of, &found))),
            Err(fault) => self.found(fault, result).map(|()| None),
        }
    }

    fn described(&self, number_type: NumberType, of: &'static str, found: &[Information]) -> InformationResult {
        let names = self.source.metadata.dimension_names.as_deref().unwrap_or_default();
        let leading = leading_bits(number_type);
        let kept = |information: &Information| -> Vec<KeptBits> {
            let of = |share| {
                let positions = information.kept(share)?;
                Some(KeptBits { share, bits: positions.saturating_sub(leading) as u64 })
            };
            SHARES.into_iter().filter_map(of).collect()
        };
        let dimension = |(axis, information): (usize, &Information)| DimensionInformation {
            axis: axis as u64,
            name: names.get(axis).cloned().flatten(),
            pairs: information.pairs,
            insignificant: information.insignificant,
            total: information.real().iter().sum(),
            real: information.real(),
            kept: kept(information),
            information: information.by_position.clone(),
        };
        let dimensions: Vec<DimensionInformation> = found.iter().enumerate().map(dimension).collect();
        let most = |share: f64| {
            let of_share = dimensions.iter().flat_map(|dimension| &dimension.kept);
            let bits = of_share.filter(|kept| kept.share == share).map(|kept| kept.bits).max()?;
            Some(KeptBits { share, bits })
        };
        InformationResult {
            data_type: if of == "values" { self.source.data_type.name() } else { number_type.name() },
            of,
            bits: bit_names(number_type),
            leading_bits: leading as u64,
            kept: SHARES.into_iter().filter_map(most).collect(),
            dimensions,
        }
    }
}

/// Returns an error of the data as a finding. Any other error stays an error.
fn finding(error: OperationError, code: Code) -> Result<Diagnostic> {
    if error.class() != FaultClass::Data {
        return Err(error);
    }
    let found = Diagnostic::new(code, error.in_one_line());
    Ok(error.help().into_iter().fold(found, Diagnostic::with_help))
}

/// Returns the warning for values that have no order or are not numbers.
fn no_statistics(data_type: &DataType) -> Diagnostic {
    let message = format!("values of type {data_type} are not real numbers: there are no statistics");
    Diagnostic::new(code::NO_STATISTICS, message)
}

/// The reason why there are no statistics.
enum Stop {
    Fault(ChunkFault),
    Error(OperationError),
}

/// The shares of the information whose bits are reported.
const SHARES: [f64; 2] = [0.99, 0.999];

impl InspectOptions {
    /// True if every value is read.
    fn reads_all_values(&self) -> bool {
        self.stats || self.histogram.is_some() || self.suggested_type().is_some() || self.information
    }

    /// `--suggest TYPE`.
    fn suggested_type(&self) -> Option<NumberType> {
        if let Some(Suggest::Codecs(target)) = self.suggest { Some(target) } else { None }
    }

    /// Returns the first option that needs a single array.
    fn needs_array(&self) -> Option<&'static str> {
        let options = [
            (self.histogram.is_some(), "--histogram"),
            (self.suggested_type().is_some(), "--suggest TYPE"),
            (self.information, "--information"),
            (self.chunk.is_some(), "--chunk"),
            (self.preview.is_some(), "--preview"),
        ];
        options.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// True if an option was given that needs the chunks.
    fn asks_for_values_by_name(&self) -> bool {
        self.stats || self.suggest.is_some() || self.needs_array().is_some()
    }

    /// True if chunks are decoded.
    fn asks_for_values(&self) -> bool {
        self.draws || self.asks_for_values_by_name()
    }
}
