//! `--stats`, `--histogram` and `--suggest TYPE`: a pass over the values, and a second one for what hangs on their range.

use super::contents::Contents;
use super::stats::{Stats, absent};
use super::ways;
use crate::array::fault::ChunkFault;
use crate::engine::fold::Fold;
use crate::metadata::array::num_elements;
use crate::operation::error::OperationError;
use crate::operation::fault::explain;
use crate::operation::histogram::{Binning, Histogram};
use crate::operation::inspect_result::ArrayResult;
use crate::operation::numbers::CfNumbers;
use crate::operation::options::{ChangeOptions, InspectOptions};
use crate::operation::quantize::first_pass::Measure;
use crate::operation::quantize::first_pass::{Survey, Surveyor};
use crate::operation::quantize::request::Request;

impl Contents<'_> {
    /// Makes the passes; false where a chunk could not be read, which is a finding.
    pub(super) fn values(
        &self,
        numbers: &CfNumbers,
        options: &InspectOptions,
        result: &mut ArrayResult,
    ) -> Result<bool, OperationError> {
        let is_counted = options.stats || options.histogram.is_some();
        let metadata = &self.source.metadata;
        if is_counted && num_elements(&metadata.shape).is_none() {
            return Err(OperationError::data(format!(
                "`{}` has more elements than can be counted: its shape is {:?}",
                self.source.store, metadata.shape
            )));
        }
        let (change, missing) = (ChangeOptions::default(), options.cf.missing.as_ref());
        let quantize = options.suggested_type().map(|target| ways::quantizing(self.source, target, missing));
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
        let first = (stats, (given, request.and_then(Surveyor::of)));
        let found = fold.run("values", &first)?;
        let absent = absent(fold, &found);
        let (stats, (given, surveyor)) = first;
        let (summary, (counts, extents)) = found.part;
        let figures = stats.zip(summary).map(|(stats, summary)| stats.finish(summary, absent, fold));
        let figures = figures.transpose()?;

        let quantization = request.map(|request| {
            let lacks_chunks = self.side.objects().len() < self.side.metadata.num_chunks();
            let survey = surveyor
                .map_or_else(Survey::default, |surveyor| surveyor.survey(extents, lacks_chunks || found.lacks_chunks));
            request.first_fit(|target, fit| request.settle(target, &survey, fit))
        });
        let quantization = quantization.transpose()?;
        let range = figures.as_ref().and_then(super::stats::Figures::range);
        let own = if given.is_none() { bins(range.unwrap_or((0.0, 1.0))) } else { None };
        let second = (own, quantization.as_ref().map(|quantization| Measure::new(None, quantization)));
        let (own_counts, error) = match &second {
            (None, None) => (None, None),
            (Some(_), _) => fold.run("histogram", &second)?.part,
            (None, Some(_)) => fold.run("measuring", &second)?.part,
        };
        let binned = given.zip(counts).or(second.0.zip(own_counts));
        result.histogram = binned.map(|(binning, counts)| binning.finish(counts, absent));
        result.stats = figures.filter(|_| options.stats).map(|figures| figures.result());
        if let (Some(request), Some(quantization), Some(error)) = (request, &quantization, error) {
            result.suggestion = Some(ways::suggestion(request, quantization, &error)?);
            result.warnings.extend(quantization.warnings.iter().cloned());
        }
        Ok(())
    }
}

/// Why there are no figures.
enum Stop {
    Fault(ChunkFault),
    Error(OperationError),
}

impl From<ChunkFault> for Stop {
    fn from(fault: ChunkFault) -> Self {
        Stop::Fault(fault)
    }
}

impl From<OperationError> for Stop {
    fn from(error: OperationError) -> Self {
        Stop::Error(error)
    }
}
