//! The pass for the range of values that are quantised: what its parts find is put together, and decides the quantisation, the
//! same whoever does so.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use super::cut::{Boundary, units_between};
use super::done::DoneParts;
use super::init::{largest_part, memory, passes};
use super::plan_file::{PartsPlan, PassName};
use crate::array::{ChunkSet, Interrupt};
use crate::element::NumberType;
use crate::engine::{Progress, listing};
use crate::kernel::statistics::ExtentScan;
use crate::operation::transcode::{JobPlan, Source};
use crate::operation::{Budget, FirstPass, OperationError, Request, Survey, TranscodeOptions, new_driver};
use crate::store::Node;

/// Surveys the chunks of SOURCE between two boundaries: what was found, by the numbers of the arrays, and the encoded bytes that
/// were read.
pub(super) fn look(
    plan: &PartsPlan,
    bounds: (Boundary, Boundary),
    options: &TranscodeOptions,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<(Vec<(usize, Survey)>, u64), OperationError> {
    let options = plan.sealed.options(options);
    let budget = Budget::of(&options.run.common);
    let driver = new_driver(budget.threads(), interrupt)?;
    let source = Source::taken(&options, |source| plan.apply(source, BTreeMap::new()), &driver)?;
    let (mut found, mut bytes_read) = (Vec::new(), 0_u64);
    for number in plan.sealed.open_arrays() {
        let array = &source.arrays[number];
        let units = units_between(bounds, number);
        let (Some(quantize), false) = (&array.change.quantize, units.is_empty()) else { continue };
        let (opened, metadata) = (&array.opened, &array.opened.metadata);
        let all = if let Some(listing) = &array.listing {
            listing.present.clone()
        } else {
            let listing = listing::list_with_sizes(&opened.node, metadata, &driver);
            listing.map_err(|error| OperationError::cannot_list(&opened.store, error))?.present
        };
        let end = units.end.min(metadata.num_chunks());
        let part = all.common(&ChunkSet::of_range(units.start.min(end)..end));
        if part.is_empty() {
            continue;
        }
        let request = Request::new(opened, &array.change, quantize)?;
        let lacks_chunks = all.len() < metadata.num_chunks();
        let pass = FirstPass::new(&request, Some(&part), lacks_chunks, (budget, interrupt), progress)?;
        let (survey, read) = pass.survey()?;
        found.push((number, survey));
        bytes_read = bytes_read.saturating_add(read);
    }
    Ok((found, bytes_read))
}

/// The plan with what its first pass found, once all parts of that are done; the plan as it is before that, and where it has
/// no such pass.
pub(super) fn settled(
    plan: PartsPlan,
    (place, done): (&Node, &mut DoneParts<'_>),
    options: &TranscodeOptions,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<PartsPlan, OperationError> {
    let Some(range) = plan.passes.iter().find(|pass| pass.name == PassName::Range) else { return Ok(plan) };
    if let Some(settled) = plan.find_settled(place)? {
        return Ok(settled);
    }
    if (done.parts(range)?.len() as u64) < range.partitions() {
        return Ok(plan);
    }
    let found = done.noted(PassName::Range)?;
    let mut options = plan.options(options);
    // As the plan was made, whatever this process may use.
    options.run.common.max_memory = Some(plan.budget_bytes);
    options.run.common.threads = NonZeroUsize::new(plan.threads);
    let tell = |source: &mut Source| {
        let type_of = |array: usize| source.arrays.get(array)?.opened.data_type.number();
        let surveys = merged(found.values().flatten(), type_of);
        plan.apply(source, surveys)
    };
    let mut job = JobPlan::new(&options, tell, |_| true, progress, interrupt)?;
    job.check_room()?;
    let mut all = vec![range.clone()];
    all.extend(passes(&job.arrays, &[], plan.partitions));
    let settled = PartsPlan {
        passes: all,
        memory_bytes: memory(&job.arrays),
        bytes: largest_part(&job.arrays, plan.partitions),
        sealed: job.seal(),
        ..plan
    };
    settled.write(place, &settled.settled())?;
    Ok(settled)
}

/// Results of all parts for the arrays, by their numbers. The order in which parts are merged does not matter.
pub(super) fn merged<'a>(
    found: impl IntoIterator<Item = &'a (usize, Survey)>,
    type_of: impl Fn(usize) -> Option<NumberType>,
) -> BTreeMap<usize, Survey> {
    let mut all: BTreeMap<usize, Survey> = BTreeMap::new();
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
