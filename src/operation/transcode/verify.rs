//! `--verify`: DEST read back and compared, unit by unit.
//!
//! A copy is compared byte by byte. Else each piece of SOURCE is converted in memory to what any reader must get of
//! DEST, and that is compared bit for bit with what DEST gives; the greatest difference from SOURCE's own values
//! is reported beside it, and under quantisation held to its bound. Without `--codecs` the two are the same: values are
//! to come back as they are (SEMANTICS: D15). What a compressor that was asked for rounds is held to its tolerance.
//!
//! Of two passes each is compared by itself, what is staged with SOURCE and DEST with what is staged, so that no chunk is
//! read more often than it was for writing.

mod comparison;

use self::comparison::variable_size_values;
pub(super) use self::comparison::{Compared, Comparison, Scratch};
use super::Plan;
use super::plan::{compared_in, losses};
use crate::array::{ChunkFault, ChunkSet, Fault, PIECE};
use crate::codec::ValueChange;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::route::copy::{CopyJob, SideOfCopy};
use crate::engine::route::staged::Staged;
use crate::engine::{Driver, Job, ObjectJob, Pair, Progress, Route, Transfer};
use crate::metadata::array::num_elements;
use crate::operation::{Budget, OperationError, Quantization, VerifyResult, narrowed};
use crate::store::ObjectReader;

#[derive(Debug, Clone)]
pub(super) struct Verification {
    /// As it is reported.
    pub result: VerifyResult,
    /// The codes that occur, for types of up to 16 bits.
    pub codes: Option<Vec<bool>>,
    /// A finding, where something differs.
    pub warning: Option<Diagnostic>,
}

impl Verification {
    /// The number of codes that occur, for types of up to 16 bits.
    pub(super) fn distinct_codes(&self) -> Option<u64> {
        Some(self.codes.as_ref()?.iter().filter(|occurs| **occurs).count() as u64)
    }
}

/// What of an array is read back, where not all is: objects that a pass writes, of two passes the intermediate data or DEST.
pub(super) type PassObjects<'a> = Option<(usize, &'a ChunkSet)>;

/// Reads DEST back. A difference is an error, and leaves no DEST.
pub(super) fn verify(
    plan: &Plan,
    share: PassObjects<'_>,
    (budget, driver): (Budget, &Driver),
    progress: &dyn Progress,
) -> Result<Verification, OperationError> {
    let present = &plan.listing.present;
    let bytes = plan.source.pipeline.input.num_bytes();
    let bytes = bytes.map(|bytes| bytes.saturating_mul(plan.job.num_passes()));
    progress.start("verify", bytes.map(|bytes| bytes.saturating_mul(present.len())));
    let verified = match &plan.job {
        Job::Objects(job) => values(plan, job, share, (budget, driver), progress),
        Job::Copy(job) => copies(plan, job, share, driver, progress),
    };
    progress.finish();
    held(plan, verified?)
}

/// A difference is an error.
pub(super) fn held(plan: &Plan, verification: Verification) -> Result<Verification, OperationError> {
    let result = &verification.result;
    if result.equal { Ok(verification) } else { Err(differs(plan, result)) }
}

/// The error for a DEST that is not what was meant: because a filter does not give back what it encodes, or else
/// because the storage does not.
fn differs(plan: &Plan, result: &VerifyResult) -> OperationError {
    let (differing, elements) = (result.differing, result.elements);
    let error = result.max_abs_error.unwrap_or(0.0);
    if let Some(codec) = plan.job.objects().and_then(losses::of) {
        let name = &codec.name;
        return OperationError::data(format!(
            "the destination differs from the source in {differing} of {elements} elements, by up to {error}: `{name}` does not give back every number that it encodes anew"
        ))
        .with_help("give a chain without it by --codecs; or leave `--verify` out, and compare with `zarrcast validate --against` and `--atol`; nothing was kept");
    }
    if plan.job.objects().is_some_and(losses::loses_fill_value) {
        return OperationError::data(format!(
            "the destination differs from the source in {differing} of {elements} elements, by up to {error}: absent elements, whose fill value does not survive the filters of the chain"
        ))
        .with_help("give a chain without these filters by --codecs; or leave `--verify` out; nothing was kept");
    }
    let bound = result.bound.unwrap_or(0.0);
    OperationError::data(format!(
        "the destination differs from what was meant: {differing} of {elements} elements, greatest error {error} (bound {bound})"
    ))
    .with_help("the storage or its cache returned other bytes than were written; nothing was kept")
}

/// Byte by byte, for objects that were copied.
fn copies(
    plan: &Plan,
    job: &CopyJob,
    share: PassObjects<'_>,
    driver: &Driver,
    progress: &dyn Progress,
) -> Result<Verification, OperationError> {
    let [source, destination] = &job.nodes;
    let mut differing = 0;
    let work = |pieces: &mut [Vec<u8>; 2], index| {
        let [from, to] = job.keys(index);
        let (source, written) = (source.open(&from, job.most_bytes)?, destination.open(&to, job.most_bytes)?);
        match (source, written) {
            (Some(mut source), Some(mut written)) => {
                let (equal, bytes) = same_bytes(&mut source, &mut written, pieces)?;
                progress.advance(job.decoded_bytes.unwrap_or(bytes));
                Ok(equal)
            }
            (source, written) => Ok(source.is_none() && written.is_none()),
        }
    };
    let sides = [0, 1].map(|side| SideOfCopy { job, side });
    driver
        .run_ahead::<[Vec<u8>; 2], bool>(
            &share.map_or_else(|| job.objects(), |(_, some)| job.objects().common(some)),
            &[&sides[0], &sides[1]],
            work,
            |_, equal| {
                differing += u64::from(!equal);
            },
        )
        .map_err(|fault| match fault.fault {
            Fault::Interrupted(_) => OperationError::interrupted(),
            cause => {
                let [_, key] = job.keys(fault.index);
                OperationError::environment(format!("chunk `{key}` cannot be read back")).because(cause)
            }
        })?;
    let elements = num_elements(&plan.destination.metadata.shape).unwrap_or(u64::MAX);
    let (max_abs_error, bound) = of_codes(plan).unwrap_or((0.0, None));
    let max_abs_error = Some(max_abs_error);
    let result = VerifyResult { equal: differing == 0, elements, differing, max_abs_error, bound };
    Ok(Verification { result, codes: None, warning: None })
}

/// The greatest difference of the values that equal codes stand for, as readers of both see them, where DEST has them in another
/// form: it is proved for every code. And what it may be at most.
fn of_codes(plan: &Plan) -> Option<(f64, Option<f64>)> {
    let repacking = plan.repacking.as_ref()?;
    Some((repacking.difference?, Some(repacking.limit)))
}

/// Whether two objects hold the same bytes, read piece by piece; how many.
fn same_bytes(
    source: &mut ObjectReader,
    written: &mut ObjectReader,
    pieces: &mut [Vec<u8>; 2],
) -> Result<(bool, u64), Fault> {
    let [a, b] = pieces;
    a.resize(PIECE, 0);
    b.resize(PIECE, 0);
    let mut bytes = 0;
    loop {
        let (read, back) = (source.read_piece(bytes, a)?, written.read_piece(bytes, b)?);
        bytes += read as u64;
        if a[..read] != b[..back] {
            return Ok((false, bytes));
        }
        if read == 0 {
            return Ok((true, bytes));
        }
    }
}

/// Value by value.
fn values(
    plan: &Plan,
    job: &ObjectJob,
    share: PassObjects<'_>,
    (budget, driver): (Budget, &Driver),
    progress: &dyn Progress,
) -> Result<Verification, OperationError> {
    // What any reader gets: by the chain of DEST's documents, bound anew.
    let job = &plan.as_read(job)?;
    let (transfer, objects) = (&job.transfer, share.map(|(_, objects)| objects));
    let reads = |pass| share.is_none_or(|(own, _)| own == pass);
    let run = |comparison: &Comparison, transfer: &Transfer| {
        let pairs = compared_in(transfer, budget.narrowed(driver.num_threads()))?;
        let driver = &narrowed(driver, pairs.schedule.threads)?;
        let size = transfer.source.fill_value().len() as u64;
        let visit = |scratch: &mut Scratch, pair: &Pair<'_>| {
            let compared = comparison.compare(pair, scratch)?;
            progress.advance(compared.elements.saturating_mul(size));
            Ok(compared)
        };
        let (mut all, units) = (Compared::default(), (&pairs.units(objects), objects));
        let run = pairs.fold(driver, units, visit, |_, compared| all += compared);
        Ok::<_, OperationError>(run.map(|()| all))
    };
    let mut comparison = Comparison::of(plan, job);
    let compared = match &job.route {
        Route::VariableSize(variable_size) => variable_size_values(transfer, variable_size, objects, driver),
        Route::Staged(staged) => {
            let mut between = Ok(Compared::default());
            if reads(0) {
                let first = staged.first_transfer(transfer);
                let same = Comparison::new(&first, &ValueChange::None, None, (true, 0));
                between = run(&same, &first)?.map_err(Staged::of_first);
            }
            match between {
                Ok(between) if reads(1) => {
                    let second = staged.second_transfer(transfer, None, driver);
                    let second = second.map_err(|fault| plan.explain(ChunkFault { index: 0, fault }))?;
                    comparison.may_be_fill = true;
                    let written = run(&comparison, &second)?.map_err(Staged::of_second);
                    written.map(|mut written| {
                        written += Compared { elements: 0, ..between };
                        written
                    })
                }
                between => between,
            }
        }
        Route::Move(_) | Route::Rechunk(_) => run(&comparison, transfer)?,
    };
    let compared = compared.map_err(|fault| plan.explain(fault))?;
    Ok(concluded(plan, compared, &comparison))
}

/// The verification of a comparison of values.
pub(super) fn concluded(plan: &Plan, mut compared: Compared, comparison: &Comparison) -> Verification {
    let quantization = plan.quantization.as_ref();
    // What neither side stores is compared by its fill values.
    let all = num_elements(&plan.destination.metadata.shape).unwrap_or(u64::MAX);
    if compared.elements < all {
        let error = quantization.and_then(Quantization::absent_error).unwrap_or(0.0);
        compared.max_abs_error = compared.max_abs_error.max(error);
        compared.elements = all;
    }
    let of_codes = of_codes(plan);
    compared.max_abs_error = of_codes.map_or(compared.max_abs_error, |(difference, _)| difference);
    let bound = quantization.map(Quantization::bound).or(of_codes.and_then(|(_, limit)| limit));
    let tolerance = comparison.max_loss.filter(|loss| loss.is_finite());
    let within = bound.is_none_or(|bound| compared.max_abs_error <= bound);
    let result = VerifyResult {
        equal: compared.differing == 0 && within,
        elements: compared.elements,
        differing: compared.differing,
        max_abs_error: Some(compared.max_abs_error),
        bound: bound.or(tolerance),
    };
    let rounds = quantization.is_some() || plan.rounding.is_some() || of_codes.is_some();
    let warning = (!rounds && compared.max_abs_error > 0.0).then(|| {
        Diagnostic::new(
            code::CAST_VALUE_LOSSY,
            format!("the destination's chain rounds values: by up to {}", compared.max_abs_error),
        )
    });
    Verification { result, codes: comparison.codes(), warning }
}
