//! `--suggest TYPE`: the codecs that `transcode --quantize TYPE` would put in, and what they would cost.

use std::borrow::Cow;

use crate::data_type::value_to_json;
use crate::element::NumberType;
use crate::kernel::quantize::QuantizeFigures;
use crate::metadata::array::num_elements;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Json;
use crate::operation::error::OperationError;
use crate::operation::inspect_result::SuggestionResult;
use crate::operation::missing;
use crate::operation::open::OpenedArray;
use crate::operation::options::{Missing, QuantizeOptions};
use crate::operation::quantize::quantization::Quantization;
use crate::operation::quantize::readers;
use crate::operation::quantize::request::Request;

/// The options with which `--quantize` is tried.
pub(super) fn quantizing(
    source: &OpenedArray,
    target: NumberType,
    missing: Option<&Missing>,
) -> QuantizeOptions {
    let missing = missing.filter(|missing| has_missing(source, missing)).cloned();
    QuantizeOptions { data_type: Some(target), missing, ..QuantizeOptions::default() }
}

/// A quantisation with its error over all values that are stored and not missing.
pub(super) fn suggestion(
    request: &Request<'_>,
    quantization: &Quantization,
    stored: &QuantizeFigures,
) -> Result<SuggestionResult, OperationError> {
    let source = request.source;
    let has_absent = num_elements(&source.metadata.shape).is_none_or(|elements| elements > stored.count);
    let absent_error = quantization.absent_error().filter(|_| has_absent).unwrap_or(0.0);
    let to_json = |codecs: &[CodecMetadata]| codecs.iter().map(CodecMetadata::to_json).collect();
    let missing = option(request.quantize.missing.as_ref());
    Ok(SuggestionResult {
        codecs: to_json(&quantization.metadata()),
        chain: to_json(&readers::chain(quantization, source)?),
        range: quantization.range_literals(),
        step: quantization.step(),
        max_abs_error: stored.max_abs_error.max(absent_error),
        fill_value: value_to_json(quantization.source, quantization.fill_value),
        command: command(source, &format!("--quantize {}{missing}", quantization.target)),
    })
}

/// True if an option for missing values makes a difference to an array.
pub(super) fn has_missing(source: &OpenedArray, missing: &Missing) -> bool {
    match (missing, source.data_type.number()) {
        (Missing::Auto, Some(number_type)) => !missing::declared(source, number_type).is_empty(),
        _ => true,
    }
}

/// The option for missing values, behind a space; nothing where there is none.
pub(super) fn option(missing: Option<&Missing>) -> String {
    match missing {
        None => String::new(),
        Some(Missing::Auto) => " --missing auto".to_owned(),
        Some(Missing::Values(values)) => {
            let values: Vec<String> = values.iter().map(Json::to_string_compact).collect();
            format!(" --missing={}", values.join(",").replace('"', ""))
        }
    }
}

/// The command line that changes an array by these options.
pub(super) fn command(source: &OpenedArray, options: &str) -> String {
    let store = &source.store;
    let store = shlex::try_quote(store).map_or_else(|_| store.clone(), Cow::into_owned);
    format!("zarrcast transcode {options} {store} DEST")
}
