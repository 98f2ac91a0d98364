//! `--suggest TYPE`: the codecs that `transcode --quantize TYPE` would put in, and what they would cost.

use std::num::NonZeroUsize;

use crate::data_type::value_to_json;
use crate::diagnostic::Diagnostic;
use crate::element::NumberType;
use crate::engine::driver::Driver;
use crate::engine::interrupt::Interrupt;
use crate::engine::listing::Listing;
use crate::engine::object::Side;
use crate::engine::progress::Progress;
use crate::metadata::array::num_elements;
use crate::metadata::extension::CodecMetadata;
use crate::operation::error::OperationError;
use crate::operation::inspect_result::SuggestionResult;
use crate::operation::open::OpenedArray;
use crate::operation::options::{CommonOptions, QuantizeOptions, TranscodeOptions};
use crate::operation::transcode::budget::Budget;
use crate::operation::transcode::first_pass::FirstPass;
use crate::operation::transcode::request::Request;
use crate::operation::transcode::{fault, measure};

/// Settles the quantisation and measures its error over all values.
pub(super) fn suggest(
    source: &OpenedArray,
    (side, listing): (&Side, &Listing),
    target: NumberType,
    driver: &Driver,
    progress: &dyn Progress,
) -> Result<(SuggestionResult, Vec<Diagnostic>), OperationError> {
    let options = TranscodeOptions::default();
    let quantize = QuantizeOptions { data_type: Some(target), ..QuantizeOptions::default() };
    let request = Request::new(source, &options, &quantize)?;
    let threads = NonZeroUsize::new(driver.num_threads());
    let budget = Budget::of(&CommonOptions { threads, ..CommonOptions::default() });
    let interrupt = Interrupt::default();
    let quantization = FirstPass { budget, interrupt: &interrupt, listing, progress }.settle(&request)?;
    progress.start("measuring", Some(listing.present.len().saturating_mul(side.chunk_bytes())));
    let figures = measure::figures(side, &listing.present, &quantization, driver, progress);
    progress.finish();
    let figures =
        figures.map_err(|found| fault::explain(found, &side.metadata, &source.store, Some(&quantization)))?;
    let has_absent = num_elements(&source.metadata.shape).is_none_or(|elements| elements > figures.count);
    let absent_error = quantization.absent_error().filter(|_| has_absent).unwrap_or(0.0);
    let to_json = |codecs: &[CodecMetadata]| codecs.iter().map(CodecMetadata::to_json).collect();
    let suggestion = SuggestionResult {
        codecs: to_json(&quantization.metadata()),
        chain: to_json(&quantization.chain(source)?),
        range: quantization.range_literals(),
        step: quantization.step(),
        max_abs_error: figures.max_abs_error.max(absent_error),
        fill_value: value_to_json(quantization.source, quantization.fill_value),
    };
    Ok((suggestion, quantization.warnings))
}
