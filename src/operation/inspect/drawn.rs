//! `--report`: the numbers of an array's pictures, of a bounded number of chunks.

use super::contents::Contents;
use super::stats::{Stats, absent};
use crate::array::fault::ChunkFault;
use crate::array::stored::StoredArray;
use crate::engine::fold::Fold;
use crate::metadata::array::num_elements;
use crate::metadata::json::Json;
use crate::operation::drawing::{ArrayDrawing, LevelResult, finite_range};
use crate::operation::error::{FaultClass, OperationError};
use crate::operation::fault::explain;
use crate::operation::histogram::{Binning, Histogram};
use crate::operation::inspect_result::{ArrayResult, StatsResult};
use crate::operation::latitude::is_upside_down;
use crate::operation::numbers::CfNumbers;
use crate::operation::slice::{Slice, SliceReader};

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
        array: &StoredArray,
        numbers: Option<&CfNumbers>,
        result: &ArrayResult,
    ) -> Result<ArrayDrawing, OperationError> {
        let Some(numbers) = numbers else {
            let data_type = &self.source.data_type;
            let note = format!("values of type {data_type} are not real numbers: they are not drawn");
            return Ok(ArrayDrawing::noted(note));
        };
        let metadata = &self.source.metadata;
        let Some(slice) = Slice::in_middle(&metadata.shape, &[array], PIXELS) else {
            return Ok(ArrayDrawing::noted("the array has no elements to draw"));
        };
        let fold = Fold { array, driver: self.driver, progress: self.progress };
        let histogram = result.histogram.clone();
        let mut drawing = ArrayDrawing { histogram, is_of_all: true, ..ArrayDrawing::default() };
        let counts_all = drawing.histogram.is_none() && is_small(array);
        let range = match &result.stats {
            _ if !counts_all => Ok(None),
            Some(stats) => Ok(range_of(stats)),
            None => Stats::of(numbers, fold, false).map(|figures| figures.range()),
        };
        let range = match range {
            Ok(range) => range,
            Err(fault) => {
                drawing.note = Some(self.note(fault)?);
                None
            }
        };
        let reader = SliceReader::new(&slice, self.source, numbers);
        let picture = if let Some(range) = range {
            let histogram = Histogram::new(numbers.number_type(), BINS, range);
            let both = (Binning { numbers, histogram }, reader);
            fold.run("picture", &both).map(|found| {
                let absent = absent(fold, &found);
                drawing.histogram = Some(both.0.finish(found.part.0, absent));
                both.1.values(&found.part.1)
            })
        } else {
            let found = fold.run_over(&slice.objects(array), "picture", &reader);
            found.map(|found| reader.values(&found.part))
        };
        match picture {
            Ok(values) => {
                let is_upside_down = is_upside_down(self.source, &slice, self.driver);
                drawing.level = Some(LevelResult { is_upside_down, ..slice.level(metadata, values) });
            }
            Err(fault) => drawing.note = Some(self.note(fault)?),
        }
        if let (None, false, Some(level)) = (&drawing.histogram, counts_all, &drawing.level) {
            let range = finite_range(&level.values);
            drawing.histogram = range.map(|range| Histogram::of(&level.values, BINS, range));
            drawing.is_of_all = false;
        }
        Ok(drawing)
    }

    /// Why a chunk cannot be read; an error where the run was interrupted.
    fn note(&self, fault: ChunkFault) -> Result<String, OperationError> {
        let error = explain(fault, &self.side.metadata, &self.source.store, None);
        if error.class() == FaultClass::Interrupted { Err(error) } else { Ok(error.in_one_line()) }
    }
}

/// The least and greatest finite value.
fn range_of(stats: &StatsResult) -> Option<(f64, f64)> {
    let number = |value: &Option<Json>| Some(value.as_ref()?.as_number()?.as_f64());
    Some((number(&stats.min)?, number(&stats.max)?))
}

/// True if all of it is counted.
fn is_small(side: &StoredArray) -> bool {
    num_elements(&side.metadata.shape).is_some_and(|elements| elements <= MOST_ELEMENTS)
        && side.metadata.num_chunks() <= MOST_OBJECTS
}
