//! What is read of an array's chunks, and what becomes of faults in them.

use super::chunk;
use super::histogram::Histogram;
use super::numbers::Numbers;
use super::preview::{Drawn, Slice};
use super::stats::Figures;
use super::suggestion;
use super::values::Values;
use crate::diagnostic::{Code, Diagnostic, code};
use crate::engine::chunk_set::position;
use crate::engine::driver::{ChunkFault, Driver};
use crate::engine::listing::Listing;
use crate::engine::object::Side;
use crate::engine::progress::Progress;
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::inspect_result::ArrayResult;
use crate::operation::open::OpenedArray;
use crate::operation::options::{InspectOptions, PreviewOptions};
use crate::operation::transcode::fault::explain;

/// An array whose chunks are read.
pub(super) struct Contents<'a> {
    pub source: &'a OpenedArray,
    pub side: &'a Side,
    pub listing: &'a Listing,
    pub driver: &'a Driver,
    pub progress: &'a dyn Progress,
}

impl Contents<'_> {
    /// Does what was asked for, one after the other.
    pub(super) fn all(
        &self,
        options: &InspectOptions,
        result: &mut ArrayResult,
    ) -> Result<(), OperationError> {
        let mut is_readable = true;
        if options.stats || options.histogram.is_some() {
            is_readable = self.figures(options, result)?;
        }
        if let Some(target) = options.suggest.filter(|_| is_readable) {
            let array = (self.side, self.listing);
            let suggested = suggestion::suggest(self.source, array, target, self.driver, self.progress)?;
            result.suggestion = Some(suggested.0);
            result.warnings.extend(suggested.1);
        }
        if let Some(chunk) = &options.chunk {
            let (found, finding) = chunk::inspect_chunk(self.side, &self.source.store, chunk)?;
            result.chunk = Some(found);
            result.warnings.extend(finding);
        }
        match &options.preview {
            Some(preview) => self.preview(preview, result),
            None => Ok(()),
        }
    }

    fn preview(&self, options: &PreviewOptions, result: &mut ArrayResult) -> Result<(), OperationError> {
        let (source, store) = (self.source, &self.source.store);
        let Some(numbers) = Numbers::of(&source.data_type) else {
            let data_type = &source.data_type;
            return Err(OperationError::data(format!("`{store}` holds {data_type}, which has no colours"))
                .with_help("a preview shows real numbers and bool"));
        };
        let slice = Slice::of(&source.metadata, store, &options.at)?;
        let array = Drawn { source, side: self.side, numbers: &numbers, slice: &slice };
        let draw = |size| array.draw(size, self.driver, self.progress);
        for (size, drawn) in [(options.picture, &mut result.preview), (options.image, &mut result.image)] {
            match size.map(draw).transpose() {
                Ok(picture) => *drawn = picture,
                Err(error) => {
                    result.warnings.push(finding(error, code::CHUNK_CORRUPT)?);
                    break;
                }
            }
        }
        Ok(())
    }

    /// `--stats` and `--histogram`; false where a chunk could not be read, which is a finding.
    fn figures(&self, options: &InspectOptions, result: &mut ArrayResult) -> Result<bool, OperationError> {
        let Some(numbers) = Numbers::of(&self.source.data_type) else {
            let data_type = &self.source.data_type;
            let message = format!("values of type {data_type} are no real numbers: there are no statistics");
            result.warnings.push(Diagnostic::new(code::NO_STATISTICS, message));
            return Ok(true);
        };
        let (present, driver) = (&self.listing.present, self.driver);
        let values = Values { side: self.side, numbers: &numbers, present, driver };
        if values.num_elements().is_none() {
            return Err(OperationError::data(format!(
                "`{}` has more elements than can be counted: its shape is {:?}",
                self.source.store, self.source.metadata.shape
            )));
        }
        let fill_value = self.source.fill_value.as_ref().map_or(0, |fill| numbers.bits(fill.as_bytes()));
        match histogram_and_stats(&values, fill_value, options, self.progress) {
            Ok((figures, histogram)) => {
                result.stats = options.stats.then(|| figures.result());
                result.histogram = histogram.map(|histogram| histogram.result());
                Ok(true)
            }
            Err(fault) => {
                let chunk = position(fault.index, &self.source.metadata);
                let key = self.side.key(fault.index);
                let error = explain(fault, &self.side.metadata, &self.source.store, None);
                result.warnings.push(finding(error, code::CHUNK_CORRUPT)?.at_key(key).at_chunk(chunk));
                Ok(false)
            }
        }
    }
}

/// One pass where the range of the histogram is given, or none is wanted; else two.
fn histogram_and_stats(
    values: &Values<'_>,
    fill_value: u64,
    options: &InspectOptions,
    progress: &dyn Progress,
) -> Result<(Figures, Option<Histogram>), ChunkFault> {
    let number_type = values.numbers.number_type();
    let Some(wanted) = options.histogram else {
        return Ok((Figures::of(values, fill_value, &(), progress)?.0, None));
    };
    if let Some(range) = wanted.range {
        let histogram = Histogram::new(number_type, wanted.bins, range);
        let (figures, ()) = Figures::of(values, fill_value, &histogram, progress)?;
        histogram.add_constant(fill_value, figures.absent);
        return Ok((figures, Some(histogram)));
    }
    let (figures, ()) = Figures::of(values, fill_value, &(), progress)?;
    let histogram = Histogram::new(number_type, wanted.bins, figures.range().unwrap_or((0.0, 1.0)));
    values.scan(&histogram, "histogram", progress)?;
    histogram.add_constant(fill_value, figures.absent);
    Ok((figures, Some(histogram)))
}

/// An error of the data as a finding; any other as it is.
pub(super) fn finding(error: OperationError, code: Code) -> Result<Diagnostic, OperationError> {
    if error.class() != FaultClass::Data {
        return Err(error);
    }
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(found) = cause {
        message = format!("{message}: {found}");
        cause = found.source();
    }
    let found = Diagnostic::new(code, message);
    Ok(match error.help() {
        Some(help) => found.with_help(help),
        None => found,
    })
}
