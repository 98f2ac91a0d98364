//! `--report`: the numbers of an array's pictures, of a bounded number of chunks.

use super::contents::Contents;
use super::stats::{Stats, absent};
use crate::array::stored::StoredArray;
use crate::engine::fold::Fold;
use crate::metadata::array::num_elements;
use crate::operation::drawing::{ArrayDrawing, finite_range, histogram};
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::fault::explain;
use crate::operation::histogram::{Binning, Histogram};
use crate::operation::inspect_result::{ArrayResult, HistogramResult};
use crate::operation::level::Level;
use crate::operation::numbers::CfNumbers;

/// Pixels of a picture, either way.
const PIXELS: u64 = 512;

/// Bins of a histogram that was not asked for.
const BINS: usize = 60;

/// Arrays of no more elements than this are counted whole.
const MOST_ELEMENTS: u64 = 1 << 26;

/// If they have no more objects than this.
const MOST_OBJECTS: u64 = 1 << 12;

impl Contents<'_> {
    /// A level and a histogram: the one that was asked for, else of all values or, of a large array, of the level's. A chunk
    /// that cannot be read is a note.
    pub(super) fn drawing(
        &self,
        side: &StoredArray,
        numbers: Option<&CfNumbers>,
        result: &ArrayResult,
    ) -> Result<ArrayDrawing, OperationError> {
        let Some(numbers) = numbers else {
            let note =
                format!("values of type {} are not real numbers: they are not drawn", self.source.data_type);
            return Ok(ArrayDrawing { note: Some(note), ..ArrayDrawing::default() });
        };
        let metadata = &self.source.metadata;
        let Some(level) = Level::of(&metadata.shape, &[side], PIXELS) else {
            let note = Some("the array has no elements to draw".to_owned());
            return Ok(ArrayDrawing { note, ..ArrayDrawing::default() });
        };
        let mut drawing =
            ArrayDrawing { histogram: result.histogram.clone(), is_of_all: true, ..ArrayDrawing::default() };
        let read = level.read((self.source, side, numbers), self.driver, self.progress);
        match read {
            Ok(values) => {
                drawing.level =
                    Some(level.result(&metadata.shape, metadata.dimension_names.as_deref(), values));
            }
            Err(fault) => drawing.note = Some(self.note(fault)?),
        }
        if drawing.histogram.is_none() && is_small(side) {
            match self.counted(side, numbers) {
                Ok(counted) => drawing.histogram = counted,
                Err(fault) => drawing.note = Some(self.note(fault)?),
            }
        } else if let (None, Some(level)) = (&drawing.histogram, &drawing.level) {
            let range = finite_range(&level.values);
            drawing.histogram = range.map(|range| histogram(&level.values, BINS, range));
            drawing.is_of_all = false;
        }
        Ok(drawing)
    }

    /// All values in bins; `None` where none is finite.
    fn counted(
        &self,
        side: &StoredArray,
        numbers: &CfNumbers,
    ) -> Result<Option<HistogramResult>, crate::array::fault::ChunkFault> {
        let fold = Fold { array: side, driver: self.driver, progress: self.progress };
        let Some(range) = Stats::of(numbers, fold, false)?.range() else { return Ok(None) };
        let histogram = Histogram::new(numbers.number_type(), BINS, range);
        let binning = Binning { numbers, histogram };
        let found = fold.run("histogram", &binning)?;
        let absent = absent(fold, &found);
        Ok(Some(binning.finish(found.part, absent)))
    }

    /// Why a chunk cannot be read; an error where the run was interrupted.
    fn note(&self, fault: crate::array::fault::ChunkFault) -> Result<String, OperationError> {
        let error = explain(fault, &self.side.metadata, &self.source.store, None);
        if error.class() == FaultClass::Interrupted { Err(error) } else { Ok(error.in_one_line()) }
    }
}

/// Whether all of it is counted.
fn is_small(side: &StoredArray) -> bool {
    num_elements(&side.metadata.shape).is_some_and(|elements| elements <= MOST_ELEMENTS)
        && side.metadata.num_chunks() <= MOST_OBJECTS
}
