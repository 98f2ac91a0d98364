//! A quantisation settled from the data: a first pass for the range, and under `--max-error` a pass for each type
//! that is tried.

use super::budget::Budget;
use super::fault::explain;
use super::layout::side;
use super::quantization::Quantization;
use super::request::Request;
use super::survey::{Survey, Surveyor, scans};
use super::{measure, missing};
use crate::engine::driver::Driver;
use crate::engine::interrupt::Interrupt;
use crate::engine::listing::Listing;
use crate::engine::object::Side;
use crate::engine::progress::Progress;
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::new_driver;

/// What a first pass goes over, and with what.
pub(in crate::operation) struct FirstPass<'a> {
    /// What it may use.
    pub budget: Budget,
    /// What stops it.
    pub interrupt: &'a Interrupt,
    /// What is stored.
    pub listing: &'a Listing,
    /// Who wants to know how far it is.
    pub progress: &'a dyn Progress,
}

impl FirstPass<'_> {
    /// Surveys the data as far as needed and settles a quantisation, trying wider codes under `--max-error`.
    pub(in crate::operation) fn settle(&self, request: &Request<'_>) -> Result<Quantization, OperationError> {
        let source = request.source;
        let (metadata, pipeline) = (source.metadata.clone(), &source.pipeline);
        let side = side(source.node.clone(), metadata, pipeline, &source.store, 0, false)?;
        let driver = new_driver(self.budget.threads(), self.interrupt)?;
        let survey = self.survey(request, &side, &driver)?;
        let Some(max_error) = request.quantize.max_error else {
            return request.settle(request.candidates()[0], &survey);
        };
        let (mut least, mut refused) = (f64::INFINITY, None);
        let mut measured_any = false;
        for target in request.candidates() {
            let measured = request.settle(target, &survey).and_then(|quantization| {
                let error = self.measure(&side, &quantization, &driver)?;
                let absent = quantization.absent_error().filter(|_| survey.absent_elements);
                Ok((quantization, error.max(absent.unwrap_or(0.0))))
            });
            match measured {
                Ok((quantization, error)) if error <= max_error => return Ok(quantization),
                Ok((_, error)) => (least, measured_any) = (least.min(error), true),
                // A wider type may have room for what this one refuses.
                Err(error) if error.class() == FaultClass::Data => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        let tried: Vec<String> = request.candidates().iter().map(ToString::to_string).collect();
        Err(refused.filter(|_| !measured_any).unwrap_or_else(|| {
            let tried = tried.join(", ");
            OperationError::data(format!(
                "--max-error {max_error} cannot be kept with {tried}: the least error that was reached is {least}"
            ))
            .with_help("allow a larger error, or give a wider --quantize TYPE")
        }))
    }

    fn survey(&self, request: &Request<'_>, side: &Side, driver: &Driver) -> Result<Survey, OperationError> {
        let source = request.source;
        let declared = missing::declared(source, request.number_type);
        let (scan, declared) = scans(request.number_type, &request.missing, &declared);
        let reads_values = request.needs_first_pass();
        if !reads_values && request.fill_is_nan() {
            return Ok(Survey::default());
        }
        let present = &self.listing.present;
        let surveyor = Surveyor { source: side, present, reads_values, scan, declared };
        self.progress.start("first pass", Some(present.len().saturating_mul(side.chunk_bytes())));
        let survey = surveyor.run(driver, self.progress);
        self.progress.finish();
        survey.map_err(|fault| explain(fault, &side.metadata, &source.store, None))
    }

    /// The greatest error of a quantisation, measured over all stored data without writing anything.
    fn measure(
        &self,
        side: &Side,
        quantization: &Quantization,
        driver: &Driver,
    ) -> Result<f64, OperationError> {
        let present = &self.listing.present;
        self.progress.start("measuring", Some(present.len().saturating_mul(side.chunk_bytes())));
        let figures = measure::figures(side, present, quantization, driver, self.progress);
        self.progress.finish();
        let store = side.node.root().display().to_string();
        figures
            .map(|figures| figures.max_abs_error)
            .map_err(|fault| explain(fault, &side.metadata, &store, Some(quantization)))
    }
}
