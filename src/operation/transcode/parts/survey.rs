//! The pass for the range of values: what its parts found, and put together.

use std::collections::BTreeMap;

use super::cut::{Boundary, units_between};
use crate::array::ChunkSet;
use crate::array::chunk_cache::ArrayCache;
use crate::array::interrupt::Interrupt;
use crate::element::NumberType;
use crate::engine::driver::Driver;
use crate::engine::listing;
use crate::engine::progress::Progress;
use crate::kernel::statistics::ExtentScan;
use crate::operation::budget::Budget;
use crate::operation::error::OperationError;
use crate::operation::quantize::first_pass::FirstPass;
use crate::operation::quantize::request::Request;
use crate::operation::quantize::survey::Survey;
use crate::operation::transcode::selection::SourceArray;

/// What a part of the pass may use.
pub(super) struct Looking<'a> {
    pub budget: Budget,
    pub interrupt: &'a Interrupt,
    pub driver: &'a Driver,
    pub progress: &'a dyn Progress,
}

impl Looking<'_> {
    /// Surveys the chunks of an array that are between two boundaries, and tells the encoded bytes that were read; `None`
    /// where there are none.
    pub(super) fn array(
        &self,
        array: &SourceArray,
        number: u64,
        bounds: (Boundary, Boundary),
    ) -> Result<Option<(Survey, u64)>, OperationError> {
        let units = units_between(bounds, number);
        let (Some(quantize), false) = (&array.change.quantize, units.is_empty()) else { return Ok(None) };
        let (opened, metadata) = (&array.opened, &array.opened.metadata);
        let unreadable = |error| {
            OperationError::environment(format!("`{}` cannot be listed", opened.store)).because(error)
        };
        let all = match &array.present {
            Some(present) => present.clone(),
            None => {
                listing::list_with_sizes(&opened.node, metadata, self.driver).map_err(unreadable)?.present
            }
        };
        let end = units.end.min(metadata.num_chunks());
        let part = all.common(&ChunkSet::of_range(units.start.min(end)..end));
        if part.is_empty() {
            return Ok(None);
        }
        let pass = FirstPass {
            budget: self.budget,
            interrupt: self.interrupt,
            present: Some(&part),
            lacks_chunks: all.len() < metadata.num_chunks(),
            surveyed: None,
            progress: self.progress,
            cache: &ArrayCache::default(),
        };
        pass.look(&Request::new(opened, &array.change, quantize)?).map(Some)
    }
}

/// What all parts found of the arrays, by their numbers. The order in which parts are put together does not matter.
pub(super) fn merged<'a>(
    found: impl IntoIterator<Item = &'a (u64, Survey)>,
    type_of: impl Fn(u64) -> Option<NumberType>,
) -> BTreeMap<u64, Survey> {
    let mut all: BTreeMap<u64, Survey> = BTreeMap::new();
    for (array, survey) in found {
        let Some(number_type) = type_of(*array) else { continue };
        match all.get_mut(array) {
            None => {
                all.insert(*array, survey.clone());
            }
            Some(sum) => add(sum, survey, number_type),
        }
    }
    all
}

fn add(sum: &mut Survey, other: &Survey, number_type: NumberType) {
    sum.declared_missing = sum.declared_missing.saturating_add(other.declared_missing);
    sum.absent_elements |= other.absent_elements;
    match (&mut sum.extent, &other.extent) {
        (Some(sum), Some(other)) => ExtentScan::new(number_type, &[]).merge(sum, other),
        (None, Some(other)) => sum.extent = Some(*other),
        (_, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;
    use crate::kernel::statistics::Extent;

    fn survey(finite: Option<(u64, u64)>) -> Survey {
        let extent = Extent { count: 300, nan: 2, positive_infinity: 1, negative_infinity: 0, finite };
        Survey { extent: Some(extent), declared_missing: 7, absent_elements: true }
    }

    #[test]
    fn what_was_found_comes_back_as_it_was_noted() {
        let bits = (f64::MIN.to_bits(), f64::MAX.to_bits());
        for survey in [Survey::default(), survey(None), survey(Some(bits)), survey(Some((0, u64::MAX)))] {
            let text = serde_json::to_string(&survey).unwrap();
            assert_eq!(serde_json::from_str::<Survey>(&text).unwrap(), survey, "{text}");
        }
    }

    #[test]
    fn parts_put_together_in_any_order_are_the_same() {
        let number_type = NumberType::of(ElementType::Float32);
        let of = |low: f32, high: f32| survey(Some((low.to_bits().into(), high.to_bits().into())));
        let found = [(0, of(-1.5, 2.0)), (0, survey(None)), (0, of(-0.5, 7.25)), (2, of(1.0, 1.0))];
        let mut orders = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]]
            .into_iter()
            .map(|order| merged(order.iter().map(|index: &usize| &found[*index]), |_| Some(number_type)));
        let first = orders.next().unwrap();
        let extent = first[&0].extent.unwrap();
        let bits = |value: f32| u64::from(value.to_bits());
        assert_eq!((extent.count, extent.finite), (900, Some((bits(-1.5), bits(7.25)))));
        assert!(first.len() == 2 && orders.all(|other| other == first));
    }
}
