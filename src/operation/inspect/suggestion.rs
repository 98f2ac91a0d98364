//! `--suggest TYPE`: the codecs that `transcode --quantize TYPE` would put in, and what they would cost.

use std::borrow::Cow;

use crate::array::chunk_cache::ArrayCache;
use crate::array::interrupt::Interrupt;
use crate::array::stored::StoredArray;
use crate::data_type::value_to_json;
use crate::diagnostic::Diagnostic;
use crate::element::NumberType;
use crate::engine::driver::Driver;
use crate::engine::progress::Progress;
use crate::metadata::array::num_elements;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Json;
use crate::operation::budget::Budget;
use crate::operation::error::OperationError;
use crate::operation::fault;
use crate::operation::inspect_result::SuggestionResult;
use crate::operation::missing;
use crate::operation::open::OpenedArray;
use crate::operation::options::{ChangeOptions, Missing, QuantizeOptions};
use crate::operation::quantize::first_pass::FirstPass;
use crate::operation::quantize::measure;
use crate::operation::quantize::readers;
use crate::operation::quantize::request::Request;

/// What a suggestion is made from.
pub(super) struct Suggesting<'a> {
    /// The array.
    pub source: &'a OpenedArray,
    /// It, with its chain bound.
    pub side: &'a StoredArray,
    /// Who reads it.
    pub driver: &'a Driver,
    /// Who wants to know how far that is.
    pub progress: &'a dyn Progress,
    /// What may be used for it.
    pub budget: Budget,
}

impl Suggesting<'_> {
    /// Settles the quantisation and measures its error over all values that are not missing.
    pub(super) fn suggest(
        &self,
        target: NumberType,
        missing: Option<&Missing>,
    ) -> Result<(SuggestionResult, Vec<Diagnostic>), OperationError> {
        let Suggesting { source, side, driver, progress, .. } = *self;
        let missing = missing.filter(|missing| has_missing(source, missing)).cloned();
        let options = ChangeOptions::default();
        let quantize = QuantizeOptions { data_type: Some(target), missing, ..QuantizeOptions::default() };
        let request = Request::new(source, &options, &quantize)?;
        let budget = self.budget.narrowed(driver.num_threads());
        let (interrupt, cache) = (Interrupt::default(), ArrayCache::default());
        let (present, lacks_chunks) =
            (side.present.as_ref(), side.objects().len() < side.metadata.num_chunks());
        let pass = FirstPass {
            budget,
            interrupt: &interrupt,
            present,
            lacks_chunks,
            surveyed: None,
            progress,
            cache: &cache,
        };
        let quantization = pass.settle(&request)?;
        progress.start("measuring", Some(side.objects().len().saturating_mul(side.chunk_bytes())));
        let figures = measure::figures(side, (None, &quantization), driver, progress);
        progress.finish();
        let figures = figures
            .map_err(|found| fault::explain(found, &side.metadata, &source.store, Some(&quantization)))?;
        let has_absent = num_elements(&source.metadata.shape).is_none_or(|elements| elements > figures.count);
        let absent_error = quantization.absent_error().filter(|_| has_absent).unwrap_or(0.0);
        let to_json = |codecs: &[CodecMetadata]| codecs.iter().map(CodecMetadata::to_json).collect();
        let suggestion = SuggestionResult {
            codecs: to_json(&quantization.metadata()),
            chain: to_json(&readers::chain(&quantization, source)?),
            range: quantization.range_literals(),
            step: quantization.step(),
            max_abs_error: figures.max_abs_error.max(absent_error),
            fill_value: value_to_json(quantization.source, quantization.fill_value),
            command: command(source, &format!("--quantize {target}{}", option(quantize.missing.as_ref()))),
        };
        Ok((suggestion, quantization.warnings))
    }
}

/// Whether an option for missing values makes a difference to an array.
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
