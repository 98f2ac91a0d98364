//! What is read of an array's chunks, and what becomes of faults in them.

use super::chunk;
use super::histogram::Histogram;
use super::preview::{Drawn, Slice};
use super::stats::Figures;
use super::suggestion;
use super::values::Values;
use super::ways::Trying;
use crate::array::chunk_set::position;
use crate::array::fault::ChunkFault;
use crate::array::listing::Listing;
use crate::array::stored::StoredArray;
use crate::data_type::DataType;
use crate::diagnostic::{Code, Diagnostic, code};
use crate::element::NumberType;
use crate::engine::driver::Driver;
use crate::engine::progress::Progress;
use crate::operation::budget::Budget;
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::fault::explain;
use crate::operation::inspect_result::{ArrayResult, HistogramResult, SuggestionResult, WaysResult};
use crate::operation::numbers::CfNumbers;
use crate::operation::open::OpenedArray;
use crate::operation::options::{InspectOptions, PreviewOptions, Suggest};

/// An array whose chunks are read.
pub(super) struct Contents<'a> {
    pub source: &'a OpenedArray,
    pub side: &'a StoredArray,
    pub driver: &'a Driver,
    pub progress: &'a dyn Progress,
    /// What is stored, where that was looked for.
    pub listing: Option<&'a Listing>,
}

impl Contents<'_> {
    /// Does what was asked for, one after the other.
    pub(super) fn all(
        &self,
        options: &InspectOptions,
        result: &mut ArrayResult,
    ) -> Result<(), OperationError> {
        let numbers = CfNumbers::of(self.source, &options.cf)?;
        let is_asked = options.reads_all_values() || options.preview.is_some() || options.suggest.is_some();
        if numbers.is_none() && is_asked {
            result.warnings.push(no_statistics(&self.source.data_type));
        }
        let mut is_readable = numbers.is_some();
        if let Some(numbers) = numbers.as_ref().filter(|_| options.stats || options.histogram.is_some()) {
            is_readable = self.figures(numbers, options, result)?;
        }
        match options.suggest.filter(|_| is_readable) {
            Some(Suggest::Codecs(target)) => {
                let suggested = self.suggest(target, options)?;
                result.suggestion = Some(suggested.0);
                result.warnings.extend(suggested.1);
            }
            Some(Suggest::Ways { sample }) => result.ways = self.ways(sample, options)?,
            None => {}
        }
        if options.information && is_readable && numbers.is_some() {
            result.information = self.information(options, result)?;
        }
        // Single chunks are looked for by their keys: what stands in the place of one is told of.
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
            result.drawing = Some(self.drawing(side, numbers.as_ref(), result.histogram.as_ref())?);
        }
        Ok(())
    }

    fn preview(
        &self,
        side: &StoredArray,
        numbers: &CfNumbers,
        options: &PreviewOptions,
        result: &mut ArrayResult,
    ) -> Result<(), OperationError> {
        let (source, store) = (self.source, &self.source.store);
        let slice = Slice::of(&source.metadata, store, &options.at)?;
        let array = Drawn { source, side, numbers, slice: &slice };
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

    fn suggest(
        &self,
        target: NumberType,
        options: &InspectOptions,
    ) -> Result<(SuggestionResult, Vec<Diagnostic>), OperationError> {
        let suggesting = suggestion::Suggesting {
            source: self.source,
            side: self.side,
            driver: self.driver,
            progress: self.progress,
            budget: Budget::of(&options.common),
        };
        suggesting.suggest(target, options.cf.missing.as_ref())
    }

    /// `--suggest` without TYPE.
    fn ways(
        &self,
        num_chunks: Option<u64>,
        options: &InspectOptions,
    ) -> Result<Option<WaysResult>, OperationError> {
        let Some(listing) = self.listing else { return Ok(None) };
        let trying = Trying {
            source: self.source,
            listing,
            driver: self.driver,
            budget: Budget::of(&options.common),
            missing: options.cf.missing.as_ref(),
            num_chunks,
        };
        self.progress.start("ways", None);
        let tried = trying.all();
        self.progress.finish();
        tried.map(Some)
    }

    /// `--stats` and `--histogram`; false where a chunk could not be read, which is a finding.
    fn figures(
        &self,
        numbers: &CfNumbers,
        options: &InspectOptions,
        result: &mut ArrayResult,
    ) -> Result<bool, OperationError> {
        let values = Values { side: self.side, numbers, driver: self.driver, is_sample: false };
        if values.num_elements().is_none() {
            return Err(OperationError::data(format!(
                "`{}` has more elements than can be counted: its shape is {:?}",
                self.source.store, self.source.metadata.shape
            )));
        }
        match histogram_and_stats(&values, options, self.progress) {
            Ok((figures, histogram)) => {
                result.stats = options.stats.then(|| figures.result());
                result.histogram = histogram;
                Ok(true)
            }
            Err(fault) => {
                self.found(fault, result)?;
                Ok(false)
            }
        }
    }

    /// A fault of a chunk as a finding.
    pub(super) fn found(&self, fault: ChunkFault, result: &mut ArrayResult) -> Result<(), OperationError> {
        let chunk = position(fault.index, &self.source.metadata);
        let key = self.side.key(fault.index);
        let error = explain(fault, &self.side.metadata, &self.source.store, None);
        result.warnings.push(finding(error, code::CHUNK_CORRUPT)?.at_key(key).at_chunk(chunk));
        Ok(())
    }
}

/// One pass where the range of the histogram is given, or none is wanted; else two.
fn histogram_and_stats(
    values: &Values<'_>,
    options: &InspectOptions,
    progress: &dyn Progress,
) -> Result<(Figures, Option<HistogramResult>), ChunkFault> {
    let number_type = values.numbers.number_type();
    let Some(wanted) = options.histogram else {
        return Ok((Figures::of(values, &(), progress)?.0, None));
    };
    let (figures, histogram, mut counts);
    if let Some(range) = wanted.range {
        histogram = Histogram::new(number_type, wanted.bins, range);
        (figures, counts) = Figures::of(values, &histogram, progress)?;
    } else {
        (figures, ()) = Figures::of(values, &(), progress)?;
        histogram = Histogram::new(number_type, wanted.bins, figures.range().unwrap_or((0.0, 1.0)));
        counts = values.scan(&histogram, "histogram", progress)?.part;
    }
    histogram.add_constant(values.numbers.fill_bits, figures.absent, &mut counts);
    Ok((figures, Some(histogram.result(counts))))
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

/// Values that have no order or are no numbers.
pub(super) fn no_statistics(data_type: &DataType) -> Diagnostic {
    let message = format!("values of type {data_type} are not real numbers: there are no statistics");
    Diagnostic::new(code::NO_STATISTICS, message)
}
