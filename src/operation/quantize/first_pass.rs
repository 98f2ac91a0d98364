//! A quantisation settled from the data: a first pass for the range, and under `--max-error` a second one where a type
//! has so many codes that its error is measured rather than proved.

use super::quantization::Quantization;
use super::request::Request;
use super::settle::Fit;
use super::survey::{Measure, Survey, Surveyor};
use crate::array::ChunkSet;
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

/// The passes over an array that settle a quantisation.
pub(in crate::operation) struct FirstPass<'a> {
    request: &'a Request<'a>,
    /// The objects that are gone over, and where chunks that were read are kept.
    pub array: StoredArray,
    /// Whether objects of the whole array are known to be absent.
    lacks_chunks: bool,
    driver: Driver,
    progress: &'a dyn Progress,
}

impl<'a> FirstPass<'a> {
    /// Over the objects that are `present`, where that is known.
    pub(in crate::operation) fn new(
        request: &'a Request<'a>,
        present: Option<&ChunkSet>,
        lacks_chunks: bool,
        (budget, interrupt): (Budget, &Interrupt),
        progress: &'a dyn Progress,
    ) -> Result<Self, OperationError> {
        let mut array = stored_array(request.source)?;
        array.present = present.cloned();
        let driver = new_driver(budget.threads(), interrupt)?;
        Ok(FirstPass { request, array, lacks_chunks, driver, progress })
    }

    /// Looks for what the quantisation wants to know of the data; with the encoded bytes that were read.
    pub(in crate::operation) fn survey(&self) -> Result<(Survey, u64), OperationError> {
        let Some(surveyor) = Surveyor::of(self.request) else { return Ok((Survey::default(), 0)) };
        if !surveyor.wants_pass(&self.array, self.lacks_chunks) {
            return Ok((surveyor.survey(None, self.lacks_chunks), 0));
        }
        let fold = Fold { array: &self.array, driver: &self.driver, progress: self.progress };
        let found = fold.run("first pass", &surveyor);
        let store = &self.request.source.store;
        let found = found.map_err(|fault| explain(fault, &self.array.metadata, store, None))?;
        let absent_elements = self.lacks_chunks || found.lacks_chunks;
        Ok((surveyor.survey(Some(found.part), absent_elements), found.bytes_read))
    }

    /// The quantisation, with the first type that has the codes.
    pub(in crate::operation) fn settle(&self, survey: &Survey) -> Result<Quantization, OperationError> {
        let request = self.request;
        request.first_fit(|target, fit| {
            let Some(max_error) = request.quantize.max_error else {
                return request.settle(target, survey, fit);
            };
            let error = |quantization: &Quantization| {
                let absent = quantization.absent_error().filter(|_| survey.absent_elements).unwrap_or(0.0);
                if quantization.is_proved {
                    return Ok(absent);
                }
                Ok(absent.max(self.measure(quantization)? + quantization.cf_rounding()))
            };
            keep(max_error, fit, |fit| request.settle(target, survey, fit), error)
        })
    }

    /// The greatest error of a quantisation, measured over all stored data without writing anything.
    fn measure(&self, quantization: &Quantization) -> Result<f64, OperationError> {
        let measure = Measure::new(self.request.unpack.as_ref(), quantization);
        let fold = Fold { array: &self.array, driver: &self.driver, progress: self.progress };
        let found = fold.run("measuring", &measure);
        let store = self.array.node.name();
        found
            .map(|found| found.part.max_abs_error)
            .map_err(|fault| explain(fault, &self.array.metadata, &store, Some(quantization)))
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
