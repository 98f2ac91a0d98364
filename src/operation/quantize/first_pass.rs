//! A quantisation settled from the data: a first pass for the range, and under `--max-error` a second one where a type
//! has so many codes that its error is measured rather than proved.

use super::quantization::Quantization;
use super::request::Request;
use super::settle::Fit;
use super::survey::{Measure, Survey, Surveyor};
use crate::array::ChunkSet;
use crate::array::chunk_cache::ArrayCache;
use crate::array::interrupt::Interrupt;
use crate::array::stored::StoredArray;
use crate::engine::driver::Driver;
use crate::engine::fold::Fold;
use crate::engine::progress::Progress;
use crate::operation::budget::Budget;
use crate::operation::error::OperationError;
use crate::operation::fault::explain;
use crate::operation::new_driver;
use crate::operation::stored::stored_array;

/// What a first pass goes over, and with what.
pub(in crate::operation) struct FirstPass<'a> {
    /// What it may use.
    pub budget: Budget,
    /// What stops it.
    pub interrupt: &'a Interrupt,
    /// The objects that are there, where that is known; of a part of the pass, those of the part.
    pub present: Option<&'a ChunkSet>,
    /// Whether some of the array are known to be absent.
    pub lacks_chunks: bool,
    /// What the pass found, where it was made before.
    pub surveyed: Option<&'a Survey>,
    /// Who wants to know how far it is.
    pub progress: &'a dyn Progress,
    /// Where chunks that it read are kept.
    pub cache: ArrayCache,
}

impl FirstPass<'_> {
    /// Surveys the data as far as needed and settles a quantisation, with the first type that has the codes.
    pub(in crate::operation) fn settle(&self, request: &Request<'_>) -> Result<Quantization, OperationError> {
        let (side, driver) = self.begin(request)?;
        let survey = match self.surveyed {
            Some(survey) => survey.clone(),
            None => self.survey(request, &side, &driver)?.0,
        };
        request.first_fit(|target, fit| {
            let Some(max_error) = request.quantize.max_error else {
                return request.settle(target, &survey, fit);
            };
            let error = |quantization: &Quantization| {
                let absent = quantization.absent_error().filter(|_| survey.absent_elements).unwrap_or(0.0);
                if quantization.is_proved {
                    return Ok(absent);
                }
                let stored = self.measure(&side, request, quantization, &driver)?;
                Ok(absent.max(stored + quantization.cf_rounding()))
            };
            keep(max_error, fit, |fit| request.settle(target, &survey, fit), error)
        })
    }

    /// Surveys the objects that are there, and settles nothing; with the encoded bytes that were read.
    pub(in crate::operation) fn look(&self, request: &Request<'_>) -> Result<(Survey, u64), OperationError> {
        let (side, driver) = self.begin(request)?;
        self.survey(request, &side, &driver)
    }

    fn begin(&self, request: &Request<'_>) -> Result<(StoredArray, Driver), OperationError> {
        let mut array = stored_array(request.source)?;
        (array.present, array.cache) = (self.present.cloned(), self.cache.clone());
        Ok((array, new_driver(self.budget.threads(), self.interrupt)?))
    }

    fn survey(
        &self,
        request: &Request<'_>,
        array: &StoredArray,
        driver: &Driver,
    ) -> Result<(Survey, u64), OperationError> {
        let Some(surveyor) = Surveyor::of(request) else { return Ok((Survey::default(), 0)) };
        if !surveyor.wants_pass(array, self.lacks_chunks) {
            return Ok((surveyor.survey(None, self.lacks_chunks), 0));
        }
        let found = Fold { array, driver, progress: self.progress }.run("first pass", &surveyor);
        let found = found.map_err(|fault| explain(fault, &array.metadata, &request.source.store, None))?;
        let absent_elements = self.lacks_chunks || found.lacks_chunks;
        Ok((surveyor.survey(Some(found.part), absent_elements), found.bytes_read))
    }

    /// The greatest error of a quantisation, measured over all stored data without writing anything.
    fn measure(
        &self,
        array: &StoredArray,
        request: &Request<'_>,
        quantization: &Quantization,
        driver: &Driver,
    ) -> Result<f64, OperationError> {
        let measure = Measure::new(request.unpack.as_ref(), quantization);
        let found = Fold { array, driver, progress: self.progress }.run("measuring", &measure);
        let store = array.node.name();
        found
            .map(|found| found.part.max_abs_error)
            .map_err(|fault| explain(fault, &array.metadata, &store, Some(quantization)))
    }
}

/// Times that a step is narrowed because the data showed an error that is too great.
const MOST_ROUNDS: i32 = 8;

/// Settles one type of codes so that the error that `error` finds is at most `max_error`.
///
/// A step is narrowed by twice the excess, and tried again: whoever `fit`s within an error has looked at so many codes
/// that the excess is a few roundings. Where no fill value survives the codes, so that absent chunks would be written
/// out, steps that are narrower by slivers are tried first.
fn keep(
    max_error: f64,
    fit: Fit,
    settle: impl Fn(Fit) -> Result<Quantization, OperationError>,
    error: impl Fn(&Quantization) -> Result<f64, OperationError>,
) -> Result<Quantization, OperationError> {
    let (mut fit, mut least, mut writing_absent) = (fit, f64::INFINITY, None);
    for round in 0..MOST_ROUNDS {
        let settled = match settle(fit) {
            Err(_) if writing_absent.is_some() => break,
            settled => settled?,
        };
        let found = error(&settled)?;
        least = least.min(found);
        let is_kept = found <= max_error;
        let Fit::Within(allowed) = fit else {
            if is_kept {
                return Ok(settled);
            }
            break;
        };
        if is_kept && !(settled.writes_absent && settled.is_proved) {
            return Ok(settled);
        }
        let sliver = allowed * 2_f64.powi(4 * round - 32);
        let excess = if is_kept { sliver } else { (found - max_error).max(sliver) };
        if is_kept {
            writing_absent.get_or_insert(settled);
        }
        fit = Fit::Within(allowed - 2.0 * excess);
        if allowed <= 2.0 * excess {
            break;
        }
    }
    writing_absent.ok_or_else(|| {
        OperationError::data(format!(
            "--max-error {max_error} cannot be kept: the least error that was reached is {least}"
        ))
        .with_help("allow a larger error, or give a wider --quantize TYPE")
    })
}
