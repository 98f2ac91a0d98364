//! Reads the chunks of an array once or twice, and answers the requests about them.

use std::borrow::Cow;

use super::chunk;
use crate::array::{ChunkFault, Listing, StoredArray, position};
use crate::data_type::{DataType, value_to_json};
use crate::diagnostic::{Code, Diagnostic, code};
use crate::element::NumberType;
use crate::engine::{Driver, Fold, Progress};
use crate::kernel::bit_pairs::{BitPatterns, Information, bit_names, leading_bits};
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::array::num_elements;
use crate::metadata::{CodecMetadata, Json};
use crate::operation::histogram::{Binning, absent, range_of};
use crate::operation::information::{BitSurvey, NumberedArray, codes};
use crate::operation::inspect_result::{DimensionInformation, KeptBits, SuggestionResult};
use crate::operation::quantize::first_pass::{FirstPassScan, FirstPassStats, Measure};
use crate::operation::quantize::quantization::Quantization;
use crate::operation::quantize::readers;
use crate::operation::quantize::request::Request;
use crate::operation::{
    ArrayResult, Budget, CfNumbers, ChangeOptions, FaultClass, Histogram, InformationResult, InspectOptions, Missing,
    Numbers, OpenedArray, OperationError, QuantizeOptions, Result, Stats, Suggest, cf, explain, narrowed,
};

/// An array whose chunks are read.
pub(super) struct Contents<'a> {
    pub source: &'a OpenedArray,
    pub side: &'a StoredArray,
    pub driver: &'a Driver,
    pub progress: &'a dyn Progress,
    /// The listing of the stored chunks, if an option needs it.
    pub listing: Option<&'a Listing>,
}

impl Contents<'_> {
    /// Answers the requests, one after the other.
    pub(super) fn all(&self, options: &InspectOptions, result: &mut ArrayResult) -> Result<()> {
        let numbers = CfNumbers::new(self.source, &options.cf)?;
        let is_asked = options.reads_all_values() || options.preview.is_some() || options.suggest.is_some();
        if numbers.is_none() && is_asked {
            result.warnings.push(no_statistics(&self.source.data_type));
        }
        let is_readable = match &numbers {
            Some(numbers) => self.values(numbers, options, result)?,
            None => false,
        };
        if let (Some(Suggest::Ways { sample }), true, Some(listing)) = (options.suggest, is_readable, self.listing) {
            self.progress.start("ways", None);
            let tried = self.ways(listing, sample, options);
            self.progress.finish();
            result.ways = Some(tried?);
        }
        if options.information && is_readable {
            result.information = self.information(options, result)?;
        }
        // Single chunks are requested by key, so that anything else with this key is reported.
        let side = &StoredArray { present: None, ..self.side.clone() };
        if let Some(chunk) = &options.chunk {
            let (found, finding) = chunk::inspect_chunk(side, &self.source.store, chunk)?;
            result.chunk = Some(found);
            result.warnings.extend(finding);
        }
        if let (Some(preview), Some(numbers)) = (&options.preview, &numbers) {
            self.preview(side, numbers, preview, result)?;
        }
        if options.draws {
            result.drawing = Some(self.drawing(side, numbers.as_ref(), result)?);
        }
        Ok(())
    }

    /// Adds a fault of a chunk as a finding.
    pub(super) fn found(&self, fault: ChunkFault, result: &mut ArrayResult) -> Result<()> {
        let chunk = position(fault.index, &self.source.metadata);
        let key = self.side.key(fault.index);
        let error = explain(fault, &self.side.metadata, &self.source.store, None);
        result.warnings.push(finding(error, code::CHUNK_CORRUPT)?.at_key(key).at_chunk(chunk));
        Ok(())
    }

    /// Makes the passes. Returns false if a chunk could not be read, which is a finding.
    fn values(&self, numbers: &CfNumbers, options: &InspectOptions, result: &mut ArrayResult) -> Result<bool> {
        let is_counted = options.stats || options.histogram.is_some();
        let metadata = &self.source.metadata;
        if is_counted && num_elements(&metadata.shape).is_none() {
            let (store, shape) = (&self.source.store, &metadata.shape);
            let message = format!("`{store}` has more elements than can be counted: its shape is {shape:?}");
            return Err(OperationError::data(message));
        }
        let (change, missing) = (ChangeOptions::default(), options.cf.missing.as_ref());
        let quantize = options.suggested_type().map(|target| quantizing(self.source, target, missing));
        let request = quantize.as_ref().map(|quantize| Request::new(self.source, &change, quantize));
        let request = request.transpose()?;
        if !is_counted && request.is_none() {
            return Ok(true);
        }
        match self.passes(numbers, options, request.as_ref(), result) {
            Err(Stop::Fault(fault)) if is_counted => self.found(fault, result).map(|()| false),
            Err(Stop::Fault(fault)) => Err(explain(fault, &self.side.metadata, &self.source.store, None)),
            Err(Stop::Error(error)) => Err(error),
            Ok(()) => Ok(true),
        }
    }

    fn passes(
        &self,
        numbers: &CfNumbers,
        options: &InspectOptions,
        request: Option<&Request<'_>>,
        result: &mut ArrayResult,
    ) -> Result<(), Stop> {
        let fold = Fold { array: self.side, driver: self.driver, progress: self.progress };
        let wanted = options.histogram;
        let stats = (options.stats || wanted.is_some()).then(|| Stats::new(numbers));
        let bins = |range| {
            let histogram = Histogram::new(numbers.number_type(), wanted?.bins, range);
            Some(Binning { numbers, histogram })
        };
        let given = wanted.and_then(|wanted| wanted.range).and_then(bins);
        let first = (stats, (given, request.and_then(FirstPassScan::new)));
        let found = fold.run("values", &first).map_err(Stop::Fault)?;
        let absent = absent(fold, &found);
        let (stats, (given, surveyor)) = first;
        let (summary, (counts, extents)) = found.part;
        let figures = stats.zip(summary).map(|(stats, summary)| stats.finish(summary, absent, fold));
        let figures = figures.transpose().map_err(Stop::Fault)?;

        let quantization = request.map(|request| {
            let lacks_chunks = self.side.objects().len() < self.side.metadata.num_chunks();
            let survey = surveyor.map_or_else(FirstPassStats::default, |surveyor| {
                surveyor.survey(extents, lacks_chunks || found.lacks_chunks)
            });
            request.first_fit(|target, fit| request.resolve(target, &survey, fit))
        });
        let quantization = quantization.transpose().map_err(Stop::Error)?;
        let range = figures.as_ref().and_then(range_of);
        let own = if given.is_none() { bins(range.unwrap_or((0.0, 1.0))) } else { None };
        let second = (own, quantization.as_ref().map(|quantization| Measure::new(None, quantization)));
        let (own_counts, error) = match &second {
            (None, None) => (None, None),
            (Some(_), _) => fold.run("histogram", &second).map_err(Stop::Fault)?.part,
            (None, Some(_)) => fold.run("measuring", &second).map_err(Stop::Fault)?.part,
        };
        let binned = given.zip(counts).or(second.0.zip(own_counts));
        result.histogram = binned.map(|(binning, counts)| binning.finish(counts, absent));
        result.stats = figures.filter(|_| options.stats);
        if let (Some(request), Some(quantization), Some(error)) = (request, &quantization, error) {
            result.suggestion = Some(suggestion(request, quantization, &error).map_err(Stop::Error)?);
            result.warnings.extend(quantization.warnings.iter().cloned());
        }
        Ok(())
    }

    /// Makes one pass over all chunks. A chunk that cannot be read is a finding.
    fn information(&self, options: &InspectOptions, result: &mut ArrayResult) -> Result<Option<InformationResult>> {
        let (of, numbered) = if let Some(codes) = codes(self.source)? {
            ("codes", codes)
        } else {
            let Some(numbers) = Numbers::new(&self.source.data_type) else { return Ok(None) };
            // No value of `bool` counts as missing.
            let missing = options.cf.missing.as_ref().filter(|_| self.source.data_type.number().is_some());
            let missing = cf::missing_values(self.source, numbers.number_type(), missing)?;
            let fill_bits = numbers.fill_bits(self.source);
            ("values", NumberedArray { array: self.side.clone(), numbers, missing, fill_bits })
        };
        let NumberedArray { array, numbers, missing, fill_bits } = numbered;
        let (side, number_type) = (&array.with_present(self.side.present.as_ref()), numbers.number_type());
        let patterns = BitPatterns::new(number_type, &missing);
        let threads = BitSurvey::threads_of(side, number_type.size(), Budget::new(&options.common))?;
        let driver = &narrowed(self.driver, threads)?;
        let survey = BitSurvey { side, numbers: &numbers, patterns: &patterns, fill_bits, is_sample: false };
        let found = match survey.run(driver, self.progress) {
            Ok(found) => found,
            Err(fault) => {
                self.found(fault, result)?;
                return Ok(None);
            }
        };
        Ok(Some(self.described(number_type, of, &found)))
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
            data_type: number_type.name(),
            of,
            bits: bit_names(number_type),
            leading_bits: leading as u64,
            kept: SHARES.into_iter().filter_map(most).collect(),
            dimensions,
        }
    }
}

/// Returns an error of the data as a finding. Any other error stays an error.
pub(super) fn finding(error: OperationError, code: Code) -> Result<Diagnostic> {
    if error.class() != FaultClass::Data {
        return Err(error);
    }
    let found = Diagnostic::new(code, error.in_one_line());
    Ok(error.help().into_iter().fold(found, Diagnostic::with_help))
}

/// Returns the warning for values that have no order or are not numbers.
pub(super) fn no_statistics(data_type: &DataType) -> Diagnostic {
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

/// Returns the options with which `--quantize` is tried.
fn quantizing(source: &OpenedArray, target: NumberType, missing: Option<&Missing>) -> QuantizeOptions {
    let missing = missing.filter(|missing| has_missing(source, missing)).cloned();
    QuantizeOptions { data_type: Some(target), missing, ..QuantizeOptions::default() }
}

/// Returns a quantisation with its error over all values that are stored and not missing.
fn suggestion(request: &Request<'_>, quantization: &Quantization, found: &QuantizeFigures) -> Result<SuggestionResult> {
    let source = request.source;
    let has_absent = num_elements(&source.metadata.shape).is_none_or(|elements| elements > found.count);
    let absent_error = quantization.absent_error().filter(|_| has_absent).unwrap_or(0.0);
    let to_json = |codecs: &[CodecMetadata]| codecs.iter().map(CodecMetadata::to_json).collect();
    let missing = missing_option(request.quantize.missing.as_ref());
    Ok(SuggestionResult {
        codecs: to_json(&quantization.metadata()),
        chain: to_json(&readers::chain(quantization, source)?),
        range: quantization.range_literals(),
        step: quantization.step(),
        max_abs_error: found.max_abs_error.max(absent_error),
        fill_value: value_to_json(quantization.source, quantization.fill_value),
        command: command(source, &format!("--quantize {}{missing}", quantization.target)),
    })
}

/// True if an option for missing values makes a difference to an array.
pub(super) fn has_missing(source: &OpenedArray, missing: &Missing) -> bool {
    match (missing, source.data_type.number()) {
        (Missing::Auto, Some(number_type)) => !cf::declared_missing(source, number_type).is_empty(),
        _ => true,
    }
}

/// Returns the option for missing values, after a space. Empty if there is none.
pub(super) fn missing_option(missing: Option<&Missing>) -> String {
    match missing {
        None => String::new(),
        Some(Missing::Auto) => " --missing auto".to_owned(),
        Some(Missing::Values(values)) => {
            let values: Vec<String> = values.iter().map(Json::to_string).collect();
            format!(" --missing={}", values.join(",").replace('"', ""))
        }
    }
}

/// Returns the command line that changes an array by these options.
pub(super) fn command(source: &OpenedArray, options: &str) -> String {
    let store = &source.store;
    let store = shlex::try_quote(store).map_or_else(|_| store.clone(), Cow::into_owned);
    format!("zarrcast transcode {options} {store} DEST")
}
