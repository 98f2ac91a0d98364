//! `--init`: plans the job once, and seals the plan in DEST. Also the pass for the range of quantised values: the results
//! of its parts are merged, and resolve what the plan left open. The result is the same in every process.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use super::plan::{ArrayUnits, Boundary, KEY, PartsPlan, PassName, PassPlan, cut, present_of, units_between};
use super::{PartsJob, target};
use crate::array::{ChunkSet, Interrupt};
use crate::element::NumberType;
use crate::engine::{Progress, listing};
use crate::operation::parts_result::{ChosenCompressor, InitResult, PlannedPass};
use crate::operation::transcode::{JobPlan, Plan, SealedPlan, Source, SourceArray};
use crate::operation::{
    Budget, FirstPass, FirstPassStats, OperationError, Request, Result, TranscodeOptions, new_driver, stored_array,
};
use crate::store::machine;

/// Default memory of a part, which then has one thread. The cut of the work must not depend on the machine that plans
/// it.
const MEMORY: u64 = 1 << 30;

/// Plans a job in at most `partitions` parts, and stores the sealed plan in DEST. There are fewer parts if there are
/// fewer stored objects. Nothing else is written to DEST. The same call again changes nothing.
///
/// A range that depends on the data is not determined here, but in a separate pass of the parts. Without limits in the
/// options, a part is planned for 1 GiB and one thread, whatever this machine has.
///
/// # Errors
///
/// The errors of [`transcode`](crate::transcode::transcode) for what cannot be done. Also if another plan is in DEST,
/// or if DEST is written as a whole, like a zip file.
pub fn init(
    options: &TranscodeOptions,
    partitions: u64,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<InitResult> {
    let mut options = options.clone();
    options.run.common.max_memory.get_or_insert(MEMORY);
    options.run.common.threads.get_or_insert(NonZeroUsize::MIN);
    options.run.partitions = Some(partitions);
    // A separate pass determines the values that depend on the data.
    options.run.dry_run = true;
    let target = target(&options)?;
    let mut before = PartsPlan::find(&target, KEY)?;
    // An existing plan is checked like a resumed run: it stays as it is.
    options.run.resume = before.is_some();
    let job = JobPlan::new(&options, |_| Ok(()), |_| true, progress, interrupt)?;
    if !job.output.keeps_unfinished() {
        let message = format!("DEST `{}` is written as a whole, not in parts", options.destination);
        return Err(OperationError::usage(message).with_help("name a folder or a place in an object store"));
    }
    // The parts of an existing plan have used some of the space already.
    if before.is_none() {
        job.check_room()?;
    }
    let (objects, many_objects) = (job.num_written(), job.many_objects());
    let JobPlan { source, output, arrays, sealed, .. } = job;
    let mut warnings = source.warnings;
    warnings.extend(arrays.iter().flat_map(|array| array.warnings.iter().cloned()));
    let plan = parts_plan(&options, sealed, &arrays, partitions);
    if before.is_none() {
        output.make_root()?;
        // Another process may have been faster.
        before = if plan.write(output.data(), KEY)? { None } else { PartsPlan::find(&target, KEY)? };
    }
    if before.as_ref().is_some_and(|before| !before.is_same(&plan)) {
        let shown = options.destination.display();
        return Err(OperationError::environment(format!("`{shown}` has an unfinished job with another plan"))
            .with_help("give the options of that plan, or choose another DEST"));
    }
    let was_there = before.is_some();
    warnings.extend(many_objects);
    let planned = |pass: &PassPlan| PlannedPass { name: pass.name.name(), partitions: pass.partitions() };
    let compressors = arrays.iter().filter_map(|array| {
        let compress = array.compression.as_ref()?.chosen.clone()?;
        Some(ChosenCompressor { path: array.path.clone(), compress })
    });
    Ok(InitResult {
        source: options.source.display().to_string(),
        destination: options.destination.display().to_string(),
        partitions: plan.most_parts(),
        passes: plan.passes.iter().map(planned).collect(),
        memory_bytes: plan.memory_bytes,
        bytes: plan.bytes,
        objects,
        compressors: compressors.collect(),
        was_there,
        warnings,
    })
}

/// Returns the plan to be written, with the options' limits of memory and threads.
fn parts_plan(options: &TranscodeOptions, sealed: SealedPlan, arrays: &[Plan], partitions: u64) -> PartsPlan {
    PartsPlan {
        id: machine::unique_name(),
        verifies: options.run.verify,
        passes: passes(arrays, &sealed.open_arrays(), partitions),
        partitions,
        budget_bytes: options.run.common.max_memory.unwrap_or(MEMORY),
        threads: options.run.common.threads.map_or(1, NonZeroUsize::get),
        memory_bytes: memory(arrays),
        bytes: largest_part(arrays, partitions),
        present: present_of(arrays),
        sealed,
    }
}

/// Returns the passes, each cut into at most `partitions` parts. The quantisation of `open` arrays is left to the first
/// pass.
fn passes(arrays: &[Plan], open: &[usize], partitions: u64) -> Vec<PassPlan> {
    let is_staged = arrays.iter().any(|array| array.job.staged().is_some());
    let passes = [(PassName::Range, !open.is_empty()), (PassName::Staging, is_staged), (PassName::Write, true)];
    let passes = passes.into_iter().filter(|(_, is_there)| *is_there);
    let objects = arrays.iter().map(|array| array.job.num_written()).fold(0, u64::saturating_add);
    // The first pass reads SOURCE, which may have more chunks than DEST has objects. Other passes have no more parts
    // than objects.
    let at_most = |name| if name == PassName::Range { partitions } else { partitions.min(objects.max(1)) };
    passes.map(|(name, _)| PassPlan { name, boundaries: cut(&work(arrays, open, name), at_most(name)) }).collect()
}

/// Returns the work of a pass, array by array.
fn work(arrays: &[Plan], open: &[usize], pass: PassName) -> Vec<ArrayUnits> {
    let of = |array: &Plan| {
        let job = &array.job;
        match (pass, job.staged().is_some()) {
            (PassName::Range, _) if open.contains(&array.number) => {
                let bytes = job.objects().map_or(1, |job| job.transfer.source.chunk_bytes().max(1));
                ArrayUnits { units: array.listing.present.clone(), bytes }
            }
            (PassName::Range, _) | (PassName::Staging, false) => ArrayUnits { units: ChunkSet::default(), bytes: 1 },
            (PassName::Staging | PassName::Write, _) => {
                let number = pass.number_in(job);
                ArrayUnits { units: job.units_of(number, None), bytes: job.unit_bytes(number) }
            }
        }
    };
    arrays.iter().map(of).collect()
}

/// Returns the most bytes that a part has in memory.
fn memory(arrays: &[Plan]) -> u64 {
    arrays.iter().map(|array| array.memory.bytes).max().unwrap_or(0)
}

/// Returns the approximate bytes of the elements in the largest part: an equal share, but at least one unit.
fn largest_part(arrays: &[Plan], partitions: u64) -> u64 {
    let work = work(arrays, &[], PassName::Write);
    let bytes = |work: &ArrayUnits| work.units.len().saturating_mul(work.bytes);
    let all = work.iter().map(bytes).fold(0, u64::saturating_add);
    let units: u64 = work.iter().map(|work| work.units.len()).fold(0, u64::saturating_add);
    let largest = work.iter().filter(|work| !work.units.is_empty()).map(|work| work.bytes).max().unwrap_or(0);
    all.div_ceil(partitions.clamp(1, units.max(1))).max(largest)
}

impl PartsJob<'_> {
    /// Surveys the chunks of SOURCE between two boundaries. Returns the results by array number, and the number of
    /// encoded bytes that were read.
    pub(super) fn survey(&self, bounds: (Boundary, Boundary)) -> Result<(Vec<(usize, FirstPassStats)>, u64)> {
        let PartsJob { plan, options, interrupt, .. } = self;
        let budget = Budget::new(&options.run.common);
        let driver = new_driver(budget.threads(), interrupt)?;
        let source = Source::taken(options, |source| plan.apply(source), &driver)?;
        let (mut found, mut bytes_read) = (Vec::new(), 0_u64);
        for number in plan.sealed.open_arrays() {
            let array = &source.arrays[number];
            let units = units_between(bounds, number);
            let (Some(quantize), false) = (&array.change.quantize, units.is_empty()) else { continue };
            let (opened, metadata) = (&array.opened, &array.opened.metadata);
            // The plan lists no chunks if they are too scattered.
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
            let array = stored_array(opened)?.with_present(Some(&part));
            let pass =
                FirstPass { request: &request, array, lacks_chunks, driver: driver.clone(), progress: self.progress };
            let (survey, read) = pass.survey()?;
            found.push((number, survey));
            bytes_read = bytes_read.saturating_add(read);
        }
        Ok((found, bytes_read))
    }

    /// Resolves the plan with the results of its first pass, if all its parts are done.
    pub(super) fn resolved(mut self) -> Result<Self> {
        let Some(range) = self.plan.pass(PassName::Range).cloned() else { return Ok(self) };
        let (target, key) = (self.done.target, self.plan.resolved());
        if let Some(plan) = PartsPlan::find(target, &key)? {
            return Ok(PartsJob { plan, ..self });
        }
        if self.done.parts(&range)?.len() < range.partitions() {
            return Ok(self);
        }
        let found = self.done.noted(PassName::Range)?;
        let plan = &mut self.plan;
        let mut options = self.options.clone();
        // The limits of the plan, whatever the limits of this process are.
        options.run.common.max_memory = Some(plan.budget_bytes);
        options.run.common.threads = NonZeroUsize::new(plan.threads);
        let tell = |source: &mut Source| {
            plan.apply(source)?;
            // Packed integers are unpacked before their range is determined.
            let type_of = |array: usize| {
                let SourceArray { opened, change, .. } = source.arrays.get(array)?;
                Some(Request::new(opened, change, change.quantize.as_ref()?).ok()?.float.0)
            };
            for (array, survey) in merged(found.values().flatten(), type_of) {
                source.arrays[array].surveyed = Some(survey);
            }
            Ok(())
        };
        let job = JobPlan::new(&options, tell, |_| true, self.progress, self.interrupt)?;
        job.check_room()?;
        // Schedulers were given the number of parts at the start. Absent chunks that are written now add none.
        let partitions = plan.pass(PassName::Write).map_or(plan.partitions, PassPlan::partitions);
        plan.passes = vec![range];
        plan.passes.extend(passes(&job.arrays, &[], partitions));
        plan.memory_bytes = memory(&job.arrays);
        plan.bytes = largest_part(&job.arrays, partitions);
        plan.sealed = job.sealed;
        plan.write(target, &key)?;
        Ok(self)
    }
}

/// Returns the results of all parts by array number. The order in which parts are merged does not matter.
fn merged<'a>(
    found: impl IntoIterator<Item = &'a (usize, FirstPassStats)>,
    type_of: impl Fn(usize) -> Option<NumberType>,
) -> BTreeMap<usize, FirstPassStats> {
    let mut all: BTreeMap<usize, FirstPassStats> = BTreeMap::new();
    for (array, survey) in found {
        let Some(number_type) = type_of(*array) else { continue };
        let sum = all.entry(*array).or_default();
        sum.declared_missing = sum.declared_missing.saturating_add(survey.declared_missing);
        sum.absent_elements |= survey.absent_elements;
        if let Some(extent) = &survey.extent {
            sum.extent.get_or_insert_default().merge(extent, number_type);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;
    use crate::kernel::statistics::Extent;

    pub(super) fn survey(finite: Option<(u64, u64)>) -> FirstPassStats {
        let extent = Extent { count: 300, nan: 2, positive_infinity: 1, negative_infinity: 0, finite };
        FirstPassStats { extent: Some(extent), declared_missing: 7, absent_elements: true }
    }

    #[test]
    fn what_was_found_comes_back_as_it_was_noted() {
        let bits = (f64::MIN.to_bits(), f64::MAX.to_bits());
        for survey in [FirstPassStats::default(), survey(None), survey(Some(bits)), survey(Some((0, u64::MAX)))] {
            let text = serde_json::to_string(&survey).unwrap();
            assert_eq!(serde_json::from_str::<FirstPassStats>(&text).unwrap(), survey, "{text}");
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
