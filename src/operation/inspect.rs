//! `inspect` of an array: its metadata, the data after each codec, the stored objects, and the values. `inspect` of a
//! group: its members.
//!
//! `--chunk`: decodes one stored chunk to its elements, codec by codec.

mod group;
mod preview;
#[cfg(test)]
mod tests;
mod ways;

use std::time::Instant;

use self::ways::{has_missing, suggestion, unpacking};
use super::histogram::{Binning, BitSurvey, absent, codes, range_of};
use super::inspect_result::{ChunkResult, ChunkStage, DimensionInformation, KeptBits, StorageResult, describe};
use super::open::open_documents;
use super::quantize::request::{FirstPassScan, FirstPassStats, Measure, Request};
use super::stored::{self, opaque_array, refuse_nested_shards, stored_array};
use super::{
    ArrayDrawing, ArrayReading, ArrayResult, Budget, FaultClass, Histogram, InformationResult, InspectOptions,
    InspectResult, Interrupt, NodePath, Numbers, OpenedArray, OperationError, QuantizeOptions, Result, Stats, Suggest,
    cf, explain, narrowed, new_driver, options::ChunkOptions,
};
use crate::array::{ChunkFault, Fault, Listing, Purpose, ReadBuffers, ShardLayout, StoredArray, position};
use crate::codec::{BoundChain, BoundCodec, ChainFault, ChainFaultKind, Codec, CodecError, ForShape, Workspace};
use crate::data_type::DataType;
use crate::diagnostic::{Code, Diagnostic, Profile, code, quantity::counted};
use crate::element::NumberType;
use crate::engine::listing::{list, scan};
use crate::engine::{Driver, Fold, Progress};
use crate::grid::{Grid, Region, ravel};
use crate::kernel::bit_pairs::{Information, bit_names, leading_bits};
use crate::metadata::{NodeKind, array::num_elements};

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
        // No value of `bool` counts as missing.
        let missing = options.cf.missing.as_ref().filter(|_| array.data_type.number().is_some());
        let missing = cf::missing_values(array, numbers.number_type(), missing)?;
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
            self.fold.progress.start("sample", None);
            let tried = self.ways(listing, sample, options);
            self.fold.progress.finish();
            result.ways = Some(tried?);
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
            Err(Stop::Fault(fault)) if is_counted => self.found(fault, result).map(|()| false),
            Err(Stop::Fault(fault)) => Err(explain(fault, &self.fold.array.metadata, &self.source.store, None)),
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

/// The bytes of a chunk, and the offset of an inner chunk in its shard.
type Stored = (Vec<u8>, Option<u64>);

/// Reads a chunk and decodes it. A fault in it is a finding, next to the successful steps.
fn inspect_chunk(
    array: &StoredArray,
    store: &str,
    options: &ChunkOptions,
) -> Result<(ChunkResult, Option<Diagnostic>)> {
    let layout = array.layout.as_ref();
    let is_sharded = array.chain.codecs().iter().any(|codec| matches!(codec.codec, Codec::Sharding(_)));
    if options.inner && layout.is_none() && is_sharded {
        return Err(OperationError::data(format!("the inner chunks of `{store}` cannot be read alone"))
            .with_help("its shards hold shards, or are compressed whole: leave --inner-chunk out"));
    }
    // Without shards the chunks are the smallest units themselves, and `--inner-chunk` counts them.
    let layout = layout.filter(|_| options.inner);
    let (index, region) = find(array, layout, store, options)?;
    let key = array.key(index);
    let named = format!("`{key}` of `{store}`");
    let shape = array.cropped(&region).unwrap_or_else(|| region.shape.clone());
    let (indices, inner) = (options.indices.clone(), options.inner);
    let mut result = ChunkResult { indices, inner, key, shape, ..ChunkResult::default() };
    let chain = layout.map_or_else(|| array.chain_of(index), |layout| Ok(ForShape::Same(&layout.subchunk)));
    let chain = chain.map_err(|fault| OperationError::data(format!("{named} cannot be decoded")).because(fault))?;
    let finding = match read(array, index, layout.map(|_| &*options.indices)) {
        Ok(None) => None,
        Ok(Some((bytes, offset))) => {
            result.present = true;
            result.offset = offset;
            result.bytes_stored = Some(bytes.len() as u64);
            let fault = decode(&chain, bytes, &result.shape, &mut result.stages);
            // A lack of memory says nothing about the chunk, so it is no finding.
            if let Some(fault) = fault.as_ref().filter(|fault| fault.missing_memory().is_some()) {
                return Err(OperationError::environment(format!("{named} is not decoded: {fault}"))
                    .with_help("run it where there is more memory"));
            }
            fault.map(|fault| (code::CHUNK_CORRUPT, fault.sentence_at(&region.start), fault.chunk_help()))
        }
        Err(Fault::Store(error)) if !error.is_data_fault() => {
            return Err(OperationError::environment(format!("{named} cannot be read")).because(error));
        }
        Err(fault) => {
            result.present = true;
            Some((if layout.is_some() { code::SHARD_INDEX } else { code::CHUNK_CORRUPT }, fault.to_string(), None))
        }
    };
    let finding = finding.map(|(code, message, help)| {
        let kind = if result.inner { "inner chunk" } else { "chunk" };
        Diagnostic::new(code, format!("{kind} {:?} does not decode: {message}", result.indices))
            .with_help(help.unwrap_or("the chunk is damaged, or was not written by this chain; restore it from a copy"))
            .at_key(result.key.clone())
            .at_chunk(result.indices.clone())
    });
    Ok((result, finding))
}

/// Returns the index of a stored object, and the chunk's box. The box is in the coordinates of the array, with padding.
fn find(array: &StoredArray, layout: Option<&ShardLayout>, store: &str, asked: &ChunkOptions) -> Result<(u64, Region)> {
    let inner = layout.map(|layout| Grid::regular(&array.metadata.shape, &layout.subchunk.decoded().shape));
    let chunks = inner.as_ref().unwrap_or(&array.metadata.grid);
    let indices = &asked.indices;
    let grid = chunks.counts();
    if indices.len() != grid.len() || indices.iter().zip(&grid).any(|(index, length)| index >= length) {
        let kind = if asked.inner { "inner chunks" } else { "chunks" };
        let message = if indices.len() == grid.len() {
            format!("--chunk {indices:?} is outside of `{store}`, a grid of {grid:?} {kind}")
        } else {
            let given =
                if indices.len() == 1 { "1 index is".to_owned() } else { format!("{} indices are", indices.len()) };
            let dimensions = counted(grid.len() as u64, "dimension");
            format!("--chunk {indices:?} does not fit `{store}`: the array has {dimensions}, {given} given")
        };
        let last: Vec<String> = grid.iter().map(|length| length.saturating_sub(1).to_string()).collect();
        return Err(OperationError::data(message).with_help(if grid.contains(&0) {
            "an array without elements has no chunks".to_owned()
        } else if grid.is_empty() {
            "the array has no dimensions: give --chunk scalar".to_owned()
        } else {
            format!("the last of them is {}", last.join(","))
        }));
    }
    let region = chunks.region_of(indices);
    Ok((if layout.is_some() { array.object_of(indices) } else { ravel(indices, &grid) }, region))
}

fn read(array: &StoredArray, object: u64, subchunk: Option<&[u64]>) -> Result<Option<Stored>, Fault> {
    let mut buffers = ReadBuffers::default();
    let offset = match subchunk {
        None => array.read_object(object, &mut buffers)?.then_some(None),
        Some(subchunk) => array.open_subchunks(object, false, &mut buffers)?.fetch(subchunk, &mut buffers)?.map(Some),
    };
    Ok(offset.map(|offset| (buffers.bytes, offset)))
}

/// Decodes codec by codec, up to the first that fails, and measures the time. Checks the elements inside the array, a
/// box of shape `valid`, against their type.
fn decode(chain: &BoundChain, mut bytes: Vec<u8>, valid: &[u64], stages: &mut Vec<ChunkStage>) -> Option<ChainFault> {
    let mut workspace = Workspace::default();
    let mut decoded = Vec::new();
    for (number, codec) in chain.codecs().iter().enumerate().rev() {
        // The flag is read from the encoded bytes, so before they are replaced by the decoded ones.
        let has_checksum = holds_checksum(codec, &bytes);
        let begun = Instant::now();
        let outcome = chain.decode_codec(number, &bytes, &mut decoded, &mut workspace);
        let seconds = begun.elapsed().as_secs_f64();
        let error = outcome.as_ref().err().map(ToString::to_string);
        let is_wrong =
            outcome.as_ref().is_err_and(|fault| matches!(fault.kind, ChainFaultKind::Codec(CodecError::Checksum(_))));
        let array = codec.decoded.array().filter(|_| error.is_none());
        stages.push(ChunkStage {
            codec: codec.metadata.name.clone(),
            place: number as u64,
            bytes_encoded: bytes.len() as u64,
            bytes: error.is_none().then_some(decoded.len() as u64),
            data_type: array.map(|array| array.data_type.to_metadata()),
            shape: array.map(|array| array.shape.clone()),
            seconds,
            checksum: if is_wrong { Some("wrong") } else { (has_checksum && error.is_none()).then_some("ok") },
            error,
        });
        if let Err(fault) = outcome {
            return Some(fault);
        }
        std::mem::swap(&mut bytes, &mut decoded);
    }
    chain.check_values(&bytes, &chain.decoded().shape, valid).err()
}

/// True if the encoded data of a codec contain a checksum. It is then verified.
fn holds_checksum(codec: &BoundCodec, encoded: &[u8]) -> bool {
    match &codec.codec {
        Codec::Sharding(sharding) => sharding.index_holds_checksum(),
        Codec::BytesToBytes(codec) => codec.holds_checksum(encoded),
        _ => false,
    }
}

/// Returns the bytes that are needed at a time: the chunk on both sides of its largest codec.
fn chunk_bytes(array: &StoredArray, options: &ChunkOptions) -> u64 {
    let subchunk = array.layout.as_ref().filter(|_| options.inner).map(|layout| &layout.subchunk);
    let chain = subchunk.unwrap_or(&array.chain);
    chain.max_representation_bytes().saturating_mul(2).saturating_add(chain.context_bytes())
}
