//! `--partition`: one part of a job, by its number.

use std::sync::Weak;
use std::time::Instant;

use super::cut::{Boundary, units_between};
use super::done::{self, DoneParts};
use super::part_report::PartReport;
use super::pass::PassName;
use super::plan_file::{PartsPlan, PassPlan};
use super::settle::settled;
use super::survey::Looking;
use super::{Standing, standing};
use crate::array::ChunkSet;
use crate::array::interrupt::Interrupt;
use crate::engine::journal::name_of_pass;
use crate::engine::progress::Progress;
use crate::engine::report::ObjectReport;
use crate::engine::route::staged::FIRST_PASS;
use crate::operation::budget::Budget;
use crate::operation::error::OperationError;
use crate::operation::new_driver;
use crate::operation::options::TranscodeOptions;
use crate::operation::parts_result::PartResult;
use crate::operation::quantize::survey::Survey;
use crate::operation::transcode::destination::cannot_write;
use crate::operation::transcode::planning::PlannedArray;
use crate::operation::transcode::run::Prepared;
use crate::operation::transcode::tree::Source;
use crate::operation::transcode::writing::{Extent, Writing};
use crate::store::Node;

/// Which part is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wanted {
    /// Its number, from 0.
    pub index: u64,
    /// The pass; `None`: the first that is not complete.
    pub pass: Option<PassName>,
}

impl Wanted {
    /// The part of a number, from 0, of the first pass that is not complete.
    pub fn new(index: u64) -> Self {
        Wanted { index, pass: None }
    }
}

/// Does a part of the job that [`init`](fn@super::init) planned in DEST, or what is left of it: of one that is done nothing
/// is done again.
///
/// Of the options, SOURCE, DEST and what the process may use are taken; all else is the plan's. When this returns, what the part
/// wrote is durable, and DEST knows that it is done.
///
/// # Errors
///
/// Where no job was begun in DEST, where SOURCE has changed since, where another process does the same part, and where the
/// data cannot be read or written: the part is then unfinished, and the same again goes on with it. A pass that is wanted before
/// the one before it is complete is [`FaultClass::TooEarly`](crate::FaultClass::TooEarly), and nothing was done.
pub fn partition(
    options: &TranscodeOptions,
    wanted: Wanted,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<PartResult, OperationError> {
    let begun = Instant::now();
    let (place, standing) = standing(options)?;
    let mut result = PartResult {
        source: options.source.display().to_string(),
        destination: options.destination.display().to_string(),
        complete: true,
        pass: None,
        partition: wanted.index,
        partitions: 0,
        was_done: true,
        chunks_written: 0,
        bytes_read: 0,
        bytes_written: 0,
        seconds: 0.0,
        warnings: Vec::new(),
    };
    let Standing::UnderWay(plan) = standing else { return Ok(result) };
    let mut done_parts = DoneParts::at(&place, &plan);
    let plan = settled(*plan, (&place, &mut done_parts), options, progress, interrupt)?;
    check_index(&plan, wanted)?;
    let pass = pass_of(&mut done_parts, &plan, wanted)?;
    (result.complete, result.pass) = (false, Some(pass.name.name()));
    result.partitions = pass.partitions();
    // Another pass may have more parts than this one.
    let Some(bounds) = pass.part(wanted.index) else { return Ok(result) };
    if done_parts.parts(pass)?.binary_search(&wanted.index).is_ok() {
        return Ok(result);
    }
    let part = Part { plan: &plan, pass: pass.name, index: wanted.index, bounds };
    result.was_done = false;
    if pass.name == PassName::Range {
        let (found, bytes_read) = part.look(options, progress, interrupt)?;
        result.bytes_read = bytes_read;
        done::note(&place, &plan.done_of(pass.name), wanted.index, &found)?;
        result.seconds = begun.elapsed().as_secs_f64();
        return Ok(result);
    }
    let Some(counted) = part.run(options, &mut result, progress, interrupt)? else {
        part.clear(&place)?;
        return Ok(PartResult { was_done: true, ..result });
    };
    done::note(&place, &plan.done_of(pass.name), wanted.index, &counted)?;
    part.clear(&place)?;
    let mut all = ObjectReport::default();
    for (_, report) in &counted {
        all.add(&report.counted);
    }
    (result.chunks_written, result.bytes_read, result.bytes_written) =
        (all.written, all.bytes_read, all.bytes_written);
    result.seconds = begun.elapsed().as_secs_f64();
    Ok(result)
}

fn check_index(plan: &PartsPlan, wanted: Wanted) -> Result<(), OperationError> {
    let partitions = plan.most_parts();
    if wanted.index < partitions {
        return Ok(());
    }
    Err(OperationError::usage(format!("there is no part {}: there are {partitions}", wanted.index))
        .with_help(format!("parts are counted from 0: the last is {}", partitions.saturating_sub(1))))
}

/// The pass that is wanted, all before which must be complete; else the first that is not complete, or the last.
fn pass_of<'p>(
    done: &mut DoneParts<'_>,
    plan: &'p PartsPlan,
    wanted: Wanted,
) -> Result<&'p PassPlan, OperationError> {
    let names: Vec<&str> = plan.passes.iter().map(|pass| pass.name.name()).collect();
    let no_pass = |name: &str| {
        OperationError::usage(format!("the job has no pass `{name}`"))
            .with_help(format!("its passes are: {}", names.join(", ")))
    };
    let (last, before) = match wanted.pass {
        Some(wanted) => {
            let place = plan.passes.iter().position(|pass| pass.name == wanted);
            let (before, rest) = plan.passes.split_at(place.ok_or_else(|| no_pass(wanted.name()))?);
            (rest.first(), before)
        }
        None => plan.passes.split_last().map_or((None, &[][..]), |(last, before)| (Some(last), before)),
    };
    let last = last.ok_or_else(|| no_pass(""))?;
    for pass in before {
        let missing = pass.partitions().saturating_sub(done.parts(pass)?.len() as u64);
        match (missing, wanted.pass) {
            (0, _) => {}
            (_, None) => return Ok(pass),
            (missing, Some(later)) => {
                return Err(OperationError::too_early(format!(
                    "`{later}` cannot begin: {missing} of {} parts of `{}` are not done",
                    pass.partitions(),
                    pass.name
                ))
                .with_help("`--status` says which; run them first"));
            }
        }
    }
    Ok(last)
}

/// A part that is being done.
struct Part<'a> {
    plan: &'a PartsPlan,
    pass: PassName,
    index: u64,
    bounds: (Boundary, Boundary),
}

impl Part<'_> {
    /// Where its log lies.
    fn folder(&self) -> String {
        self.plan.log(self.pass, self.index)
    }

    /// Surveys its chunks of SOURCE: what was found, by the numbers of the arrays, and the encoded bytes that were read.
    fn look(
        &self,
        options: &TranscodeOptions,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<(Vec<(u64, Survey)>, u64), OperationError> {
        let sealed = &self.plan.sealed;
        let options = sealed.options(options);
        let budget = Budget::of(&options.run.common);
        let driver = new_driver(budget.threads(), interrupt)?;
        let source = Source::taken(&options, |source| self.plan.apply(source), &driver)?;
        let looking = Looking { budget, interrupt, driver: &driver, progress };
        let (mut found, mut bytes_read) = (Vec::new(), 0_u64);
        for number in sealed.open_arrays() {
            let array = usize::try_from(number).ok().and_then(|number| source.arrays.get(number));
            let survey = array.map(|array| looking.array(array, number, self.bounds)).transpose()?;
            if let Some((survey, read)) = survey.flatten() {
                found.push((number, survey));
                bytes_read = bytes_read.saturating_add(read);
            }
        }
        Ok((found, bytes_read))
    }

    /// Writes what is not written yet, and makes it durable; what was counted, by the numbers of the arrays.
    fn run(
        &self,
        options: &TranscodeOptions,
        result: &mut PartResult,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<(u64, PartReport)>>, OperationError> {
        let options = self.plan.options(options);
        let given = |source: &mut Source| self.plan.apply(source);
        // Of a hierarchy's arrays most are others' work.
        let is_own = |number| !units_between(self.bounds, number).is_empty();
        let prepared = Prepared::of_some(&options, given, is_own, progress, interrupt)?;
        prepared.check_same_of_some(&options, &self.plan.sealed, is_own)?;
        let numbers = || (0..self.plan.sealed.num_arrays()).filter(|number| is_own(*number));
        let Prepared { budget, driver, output, arrays, .. } = prepared;
        let command = format!("`--partition {}`", self.index);
        let left = format!("part {} is unfinished: {command} again goes on with it", self.index);
        let unfinished = interrupt
            .begin(left.clone(), Some(output.clearing(Weak::new())))
            .map_err(|_| OperationError::interrupted())?;
        let assigned = arrays.iter().zip(numbers()).map(|(array, number)| {
            let name = match self.pass {
                PassName::Staging => name_of_pass(&array.path, FIRST_PASS),
                PassName::Range | PassName::Write => array.path.clone(),
            };
            (name, self.objects(array, number))
        });
        let claim = output.claim_part(&self.folder(), &self.plan.fingerprint(), assigned.collect())?;
        unfinished.cleared_by(claim.clearing());
        result.warnings.extend(claim.unlocked_warning());
        // It may have been removed while this process did not run, and planned anew.
        if PartsPlan::find(claim.data())?.is_none_or(|now| now.id != self.plan.id) {
            self.clear(claim.data())?;
            let message = format!("the job of part {} is not planned in DEST any more", self.index);
            return Err(OperationError::environment(message)
                .with_help("run the part again where it is of the job that is planned there now"));
        }
        // Another run of the same part may have ended just before.
        if done::is_done(claim.data(), &self.plan.done_of(self.pass), self.index)? {
            return Ok(None);
        }
        let verifies = self.plan.verifies;
        let extent = self.extent(numbers().zip(&arrays), claim.data())?;
        let writing = Writing {
            arrays: &arrays,
            claim: &claim,
            driver: &driver,
            budget,
            progress,
            verifies,
            measures: false,
            extent,
        };
        let written = writing.chunks().map_err(|ended| ended.error).and_then(|tallies| {
            let verified = writing.verify()?;
            claim.checkpoint()?;
            Ok(tallies.into_iter().zip(verified))
        });
        let reports = match written {
            Ok(reports) => reports.map(|(counted, verified)| PartReport::of(counted, verified)),
            Err(error) => return Err(claim.leave(error, &left)),
        };
        let reports = numbers().zip(reports).filter(|(_, report)| *report != PartReport::default());
        Ok(Some(reports.collect()))
    }

    /// The objects of an array that are this part's.
    fn objects(&self, array: &PlannedArray, number: u64) -> ChunkSet {
        let units = units_between(self.bounds, number);
        if units.is_empty() {
            return ChunkSet::default();
        }
        array.plan.job.objects_of(self.pass.number_in(&array.plan.job), &units)
    }

    /// Which passes over the arrays are done here.
    fn extent<'p>(
        &self,
        arrays: impl Iterator<Item = (u64, &'p PlannedArray)>,
        place: &Node,
    ) -> Result<Extent, OperationError> {
        if self.pass == PassName::Staging {
            return Ok(Extent::FirstPasses);
        }
        let between = DoneParts::at(place, self.plan).between(self.plan)?;
        let all = arrays
            .map(|(number, array)| (array.path.clone(), between.get(&number).copied().unwrap_or_default()));
        Ok(Extent::AfterThem(all.collect()))
    }

    /// Removes its log: that it is done is noted.
    fn clear(&self, place: &Node) -> Result<(), OperationError> {
        place.child(&self.folder()).and_then(|folder| folder.remove_root()).map_err(cannot_write)
    }
}
