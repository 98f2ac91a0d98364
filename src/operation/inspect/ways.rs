//! `--suggest`: a quantisation to TYPE, or ways to store an array of floats smaller, each tried on the same sample of its
//! chunks.

use super::Contents;
use crate::array::Listing;
use crate::data_type::value_to_json;
use crate::diagnostic::quantity::{approximate, exact};
use crate::element::{ElementType, NumberType};
use crate::engine::{Fold, Silent};
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::{CodecMetadata, Json, array::num_elements};
use crate::operation::inspect_result::{SuggestionResult, WayResult, WaysResult};
use crate::operation::quantize::{quantization, request::Request};
use crate::operation::transcode::{
    Attempt, Sample, SampleSize, SampleSpec, Sampler, Trial, as_source, has_fixed_size, unpack,
};
use crate::operation::{
    Budget, CfOptions, ChangeOptions, Compression, Draft, FaultClass, InspectOptions, KeepBits, Missing, Numbers,
    OpenedArray, OperationError, Predict, Quantization, QuantizeOptions, Result, Stats, StatsResult, cf, explain,
    new_driver, options, stored_array,
};

/// The types that cover the range of all values.
const TYPES: [ElementType; 2] = [ElementType::UInt8, ElementType::UInt16];

/// The bounds of the error as shares of the standard deviation, and what is tried with them.
const ERRORS: [(f64, &str); 4] = [(1e-2, ""), (1e-3, ""), (1e-3, ", predict auto"), (1e-4, "")];

/// The shares of the bitwise real information that rounded values keep.
const INFORMATION: [f64; 2] = [0.99, 0.999];

/// The compressor for arrays that have none. Without one, values without noise are as large as before.
const COMPRESSOR: &str = "zstd:3";

/// A name, and the change with its options, or the reason why the way is not possible.
type Candidate = (String, Result<(ChangeOptions, String), &'static str>);

impl Contents<'_> {
    /// Draws the sample and tries each way on it.
    pub(super) fn ways(
        &self,
        listing: &Listing,
        wanted: Option<u64>,
        (options, change): (&InspectOptions, &ChangeOptions),
    ) -> Result<WaysResult> {
        let sampler = Sampler { budget: Budget::new(&options.common), driver: self.fold.driver };
        let source = as_source(self.source.clone());
        let size = wanted.map_or(SampleSize::ByDefault, SampleSize::Chunks);
        let draw = |fills| sampler.draw(&SampleSpec::as_it_is(&source, listing, fills), size);
        let (sample, missing) = (draw(false)?, options.cf.missing.as_ref());
        let cf = CfOptions { missing: missing.cloned(), unpacks: change.unpack };
        let values = self.values_of(&sample, sampler.budget, &cf)?;
        let (sample_result, bytes_stored, compress) = (sample.result(), listing.present_bytes, self.compressor());
        let mut result = WaysResult { sample: sample_result, bytes_stored, compress, ways: Vec::new(), values };
        // Differences are tried on the codes of the previous way, which is the same without them.
        let mut before = None;
        let (candidates, bytes) = (self.candidates(&result.values, missing, change)?, result.sample.bytes_read);
        self.fold.progress.start("ways", Some(bytes.saturating_mul(candidates.len() as u64)));
        for (name, change) in candidates {
            self.fold.driver.interrupt().check()?;
            let tried = change.map_err(OperationError::data).and_then(|(mut change, words)| {
                // A way that fails leaves no codes to the next one.
                let (known, mut quantization) = (before.take(), None);
                if change.predict.take().is_some() {
                    quantization = known;
                    let attempt =
                        Attempt { sampler, sample: &sample, options: &change, resolved: quantization.as_ref() };
                    let found = attempt.best_dimensions(self.source)?;
                    if found.is_empty() {
                        return Ok(None);
                    }
                    change.predict = Some(Predict::Dimensions(found));
                }
                let attempt = Attempt { sampler, sample: &sample, options: &change, resolved: quantization.as_ref() };
                let trial = match attempt.run()? {
                    // Only the values show that absent chunks are written.
                    trial if trial.fills => Attempt { sample: &draw(true)?, ..attempt }.run()?,
                    trial => trial,
                };
                before.clone_from(&trial.quantization);
                Ok(Some((trial, words)))
            });
            self.fold.progress.advance(bytes);
            result.ways.push(match tried {
                Ok(Some((trial, words))) => WayResult {
                    command: Some(command(self.source, &options.access, &words)),
                    options: Some(words),
                    ..self.way_result(name, &trial, listing)
                },
                // No differences make the chunks smaller.
                Ok(None) => continue,
                Err(error) if error.class() == FaultClass::Data => {
                    WayResult { name, reason: Some(error.in_one_line()), ..WayResult::default() }
                }
                Err(error) => return Err(error),
            });
        }
        Ok(result)
    }

    /// Returns the change of each option, for an array with these values.
    fn candidates(
        &self,
        values: &StatsResult,
        missing: Option<&Missing>,
        change: &ChangeOptions,
    ) -> Result<Vec<Candidate>> {
        let compress = self.compressor();
        let missing = missing.filter(|missing| has_missing(self.source, missing, change));
        let compression = compress.map(options::compression).transpose();
        let compression = compression.map_err(OperationError::data)?.map(Compression::Codecs);
        let compressed = compress.map_or_else(String::new, |codecs| format!(" --compress {codecs}"));
        let change = ChangeOptions { compress: compression, ..change.clone() };
        let (unpack, format) = (unpack_option(&change), format_option(self.source));
        let quantising = |option: &str, quantize: QuantizeOptions| {
            let quantize = QuantizeOptions { missing: missing.cloned(), ..quantize };
            let zarr_format = (!format.is_empty()).then_some(3);
            let change = ChangeOptions { quantize: Some(quantize), zarr_format, ..change.clone() };
            let missing = missing_option(missing);
            (change, format!("{option}{unpack}{missing}{format}{compressed}"))
        };
        let of_types = TYPES.into_iter().map(|element_type| {
            let data_type = NumberType::of(element_type);
            let quantize = QuantizeOptions { data_type: Some(data_type), ..QuantizeOptions::default() };
            (data_type.to_string(), Ok(quantising(&format!("--quantize {data_type}"), quantize)))
        });
        let of_errors = ERRORS.into_iter().map(|(share, predict)| match error_of(share, values) {
            Ok(error) => {
                let quantize = QuantizeOptions { max_error: Some(error), ..QuantizeOptions::default() };
                let name = format!("max-error {}{predict}", exact(error));
                let (change, options) = quantising(&format!("--{}", name.replace(", ", " --")), quantize);
                let predict = (!predict.is_empty()).then_some(Predict::Auto);
                (name, Ok((ChangeOptions { predict, ..change }, options)))
            }
            Err(reason) => (format!("max-error, {} % of the deviation", share * 100.0), Err(reason)),
        });
        let of_bits = INFORMATION.into_iter().map(|share| {
            let change = ChangeOptions { keep_bits: Some(KeepBits::Auto(share)), ..change.clone() };
            let name = format!("keep-bits auto:{share}");
            let options = format!("--{name}{unpack}{compressed}");
            (name, Ok((change, options)))
        });
        Ok(of_types.chain(of_errors).chain(of_bits).collect())
    }

    fn way_result(&self, name: String, trial: &Trial, listing: &Listing) -> WayResult {
        let metadata = &self.source.metadata;
        let objects = if trial.fills { metadata.num_chunks() } else { listing.present.len() };
        let bytes = trial.bytes_stored(&self.source.pipeline, objects);
        let ratio = (bytes > 0).then(|| approximate(listing.present_bytes) / approximate(bytes));
        let codes = trial.quantization.as_ref().map(|quantization| quantization.target.to_string());
        WayResult {
            name,
            data_type: Some(codes.unwrap_or_else(|| trial.array.data_type.to_string())),
            keep_bits: trial.bits.map(u64::from),
            max_abs_error: Some(trial.figures.max_abs_error),
            rms_error: Some(trial.figures.rms_error()),
            bytes_stored: Some(bytes),
            is_exact: trial.is_exact,
            ratio,
            seconds: Some(trial.seconds),
            ..WayResult::default()
        }
    }

    /// Returns the compressor to add, unless the innermost chunks, or shards as a whole, are compressed.
    fn compressor(&self) -> Option<&'static str> {
        let outer = &self.source.pipeline;
        let is_compressed = match outer.sharding() {
            Some((index, sharding)) => index + 1 < outer.stages.len() || !has_fixed_size(&sharding.inner),
            None => !has_fixed_size(outer),
        };
        (!is_compressed).then_some(COMPRESSOR)
    }

    /// Returns the statistics of the sample.
    fn values_of(&self, sample: &Sample, budget: Budget, cf: &CfOptions) -> Result<StatsResult> {
        let (array, store) = (&sample.array, &self.source.store);
        let numbers = Numbers::as_cf(array, cf)?;
        let numbers = numbers.ok_or_else(|| OperationError::data(format!("`{store}` has no numbers")))?;
        let mut stored = stored_array(array)?;
        stored.present = Some(sample.held_by(array)?);
        let purpose = || format!("for the chunks of `{store}`");
        let threads = budget.threads_of(stored.reading_bytes_in_pieces(), purpose)?;
        let driver = new_driver(threads, self.fold.driver.interrupt())?;
        let fold = Fold { array: &stored, driver: &driver, progress: &Silent };
        let figures = Stats::of(&numbers, fold, true);
        figures.map_err(|fault| explain(fault, &stored.metadata, store, None))
    }
}

/// Returns the bound of the error as this share of the standard deviation, cut to two digits.
fn error_of(share: f64, values: &StatsResult) -> Result<f64, &'static str> {
    let Some(deviation) = values.standard_deviation.filter(|_| values.finite > 0) else {
        return Err("no value is finite: there is no standard deviation");
    };
    let error = two_digits_of(deviation * share);
    if error > 0.0 { Ok(error) } else { Err("all values that were read are equal: there is no standard deviation") }
}

/// Returns a positive number with its first two significant digits. Others are cut off.
fn two_digits_of(value: f64) -> f64 {
    // With fewer digits, the text could be rounded up, and the bound would be greater than the share.
    let text = format!("{value:.17e}");
    let Some((digits, exponent)) = text.split_once('e') else { return 0.0 };
    let two: String = digits.chars().take(3).collect();
    format!("{two}e{exponent}").parse().unwrap_or(0.0)
}

/// Returns the change without options, or `--unpack` for a packed array whose values are those of CF readers.
pub(super) fn unpacking(source: &OpenedArray, cf: &CfOptions) -> ChangeOptions {
    ChangeOptions { unpack: cf.unpacks && cf::has_packing(source), ..ChangeOptions::default() }
}

/// Returns a quantisation with its error over all values that are stored and not missing.
pub(super) fn suggestion(
    request: &Request<'_>,
    access: &[String],
    quantization: &Quantization,
    found: &QuantizeFigures,
) -> Result<SuggestionResult> {
    let source = request.source;
    let has_absent = num_elements(&source.metadata.shape).is_none_or(|elements| elements > found.count);
    // The pass measures only stored elements. Absent ones are read as the fill value of DEST, whose error may be
    // greater.
    let absent_error = quantization.absent_error().filter(|_| has_absent).unwrap_or(0.0);
    let to_json = |codecs: &[CodecMetadata]| codecs.iter().map(CodecMetadata::to_json).collect();
    let missing = missing_option(request.quantize.missing.as_ref());
    let options = [unpack_option(request.options), &missing, format_option(source)].concat();
    let mut draft = Draft::new(source);
    if request.unpack.is_some() {
        unpack(source, request.options, &mut draft)?;
    }
    Ok(SuggestionResult {
        codecs: to_json(&quantization.metadata()),
        chain: to_json(&quantization::chain(quantization, draft)?),
        range: quantization.range_literals(),
        step: quantization.step(),
        max_abs_error: found.max_abs_error.max(absent_error),
        fill_value: value_to_json(quantization.source, quantization.fill_value),
        command: command(source, access, &format!("--quantize {}{options}", quantization.target)),
    })
}

/// True if an option for missing values makes a difference to an array. `--unpack` masks the declared ones by itself.
pub(super) fn has_missing(source: &OpenedArray, missing: &Missing, change: &ChangeOptions) -> bool {
    match (missing, source.data_type.number()) {
        (Missing::Auto, _) if change.unpack => false,
        (Missing::Auto, Some(number_type)) => !cf::declared_missing(source, number_type).is_empty(),
        _ => true,
    }
}

/// Returns `--unpack` after a space, if it is needed.
fn unpack_option(change: &ChangeOptions) -> &'static str {
    if change.unpack { " --unpack" } else { "" }
}

/// Returns the option for missing values, after a space. Empty if there is none.
fn missing_option(missing: Option<&Missing>) -> String {
    match missing {
        None => String::new(),
        Some(Missing::Auto) => " --missing auto".to_owned(),
        Some(Missing::Values(values)) => {
            // `--missing` takes NaN and infinities without the quotes of JSON.
            let values: Vec<String> = values.iter().map(Json::to_string).collect();
            format!(" --missing={}", values.join(",").replace('"', ""))
        }
    }
}

/// Returns the option with which an array can be quantised, after a space: Zarr v2 has no codecs for it. Empty for v3.
fn format_option(source: &OpenedArray) -> &'static str {
    if source.documents.zarr_format == 2 { " --zarr-format 3" } else { "" }
}

/// Returns the command line that changes an array by these options, and opens it by those of `access`.
fn command(source: &OpenedArray, access: &[String], options: &str) -> String {
    let store = &source.store;
    let store = if store.starts_with('-') { format!("./{store}") } else { store.clone() };
    let words: Vec<&str> = access.iter().chain([&store]).map(String::as_str).collect();
    // Only a NUL cannot be quoted, and no argument of a program contains one.
    let words = shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "));
    format!("zarrcast transcode {options} {words} DEST")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_cut_to_two_digits_and_read_back_as_it_was_written() {
        let cases = [(0.117_952, "0.11"), (0.999, "0.99"), (1.0, "1"), (12_345.0, "12000"), (1.29e-7, "1.2e-7")];
        for (value, expected) in cases {
            let cut = two_digits_of(value);
            assert_eq!(exact(cut), expected);
            assert!(cut <= value);
            assert_eq!(exact(cut).parse::<f64>().unwrap(), cut);
        }
        assert_eq!(two_digits_of(0.0), 0.0);
        assert_eq!(two_digits_of(f64::INFINITY), 0.0);
    }
}
