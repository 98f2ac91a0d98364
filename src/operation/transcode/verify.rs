//! `--verify`: reads DEST back and compares it, unit by unit.
//!
//! A copy is compared byte by byte. Otherwise each piece of SOURCE is converted in memory to the values that readers
//! must get. They are compared with DEST bit for bit. The greatest difference from SOURCE's own values is reported,
//! too, and for quantised values it must be within the bound. Without `--codecs` both are the same: values must be read
//! back unchanged (SEMANTICS: D15). The rounding of a requested compressor must be within its tolerance.
//!
//! Two passes are compared separately: intermediate data with SOURCE, and DEST with intermediate data. So no chunk is
//! read more often than for writing.

mod comparison;

use self::comparison::variable_size_values;
pub(super) use self::comparison::{Compared, Comparison, Scratch};
use super::Plan;
use super::plan::{compared_in, losses};
use crate::array::{ChunkFault, ChunkSet, Fault, PIECE};
use crate::codec::ValueChange;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::route::copy::CopyJob;
use crate::engine::route::staged::Staged;
use crate::engine::{Driver, Job, ObjectJob, Pair, Progress, Route, Transfer};
use crate::metadata::array::num_elements;
use crate::operation::{Budget, OperationError, Quantization, Result, VerifyResult, narrowed};
use crate::store::ObjectReader;

#[derive(Debug, Clone)]
pub(super) struct Verification {
    pub result: VerifyResult,
    /// Returns the codes that occur, for types of up to 16 bits.
    pub codes: Option<Vec<bool>>,
    /// A finding, if something differs.
    pub warning: Option<Diagnostic>,
}

/// An array to read back.
pub(super) struct ReadBack<'a> {
    pub plan: &'a Plan,
    /// The objects of one pass, into intermediate data or DEST. `None`: everything.
    pub share: Option<(usize, &'a ChunkSet)>,
    pub budget: Budget,
    pub driver: &'a Driver,
    pub progress: &'a dyn Progress,
}

impl ReadBack<'_> {
    /// Reads DEST back. If it differs, this fails, and DEST is not kept.
    pub(super) fn verify(&self) -> Result<Verification> {
        let Plan { source, listing, job, .. } = self.plan;
        let bytes = source.pipeline.input.num_bytes();
        let bytes = bytes.map(|bytes| bytes.saturating_mul(job.num_passes()).saturating_mul(listing.present.len()));
        self.progress.start("verify", bytes);
        let verified = match job {
            Job::Objects(job) => self.values(job),
            Job::Copy(job) => self.copies(job),
        };
        self.progress.finish();
        verified
    }

    /// Compares copied objects byte by byte.
    fn copies(&self, job: &CopyJob) -> Result<Verification> {
        let ReadBack { plan, share, driver, progress, .. } = *self;
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
        let sides = [0, 1].map(|side| job.reads_of(side, |_| true));
        let objects = share.map_or_else(|| job.objects(), |(_, some)| job.objects().common(some));
        let fold = |_, equal: bool| differing += u64::from(!equal);
        driver.run_ahead(&objects, &sides, work, fold).map_err(|fault| match fault.fault {
            Fault::Interrupted(_) => OperationError::interrupted(),
            cause => {
                let [_, key] = job.keys(fault.index);
                OperationError::environment(format!("chunk `{key}` cannot be read back")).because(cause)
            }
        })?;
        let elements = num_elements(&plan.destination.metadata.shape).unwrap_or(u64::MAX);
        let (max_abs_error, bound) = of_codes(plan).unzip();
        let max_abs_error = max_abs_error.or(Some(0.0));
        let result = VerifyResult { equal: differing == 0, elements, differing, max_abs_error, bound };
        if result.equal { Ok(Verification { result, codes: None, warning: None }) } else { Err(differs(plan, &result)) }
    }

    /// Compares value by value.
    fn values(&self, job: &ObjectJob) -> Result<Verification> {
        let ReadBack { plan, share, budget, driver, progress } = *self;
        // Readers bind the chain of DEST's documents, so it is bound again here.
        let job = &plan.as_read(job)?;
        let (transfer, objects) = (&job.transfer, share.map(|(_, objects)| objects));
        let reads = |pass| share.is_none_or(|(own, _)| own == pass);
        let run = |comparison: &Comparison, transfer: &Transfer, mut all: Compared| {
            let pairs = compared_in(transfer, budget.narrowed(driver.num_threads()))?;
            let driver = &narrowed(driver, pairs.schedule.threads)?;
            let size = transfer.source.fill_value().len() as u64;
            let visit = |scratch: &mut Scratch, pair: &Pair<'_>| {
                let compared = comparison.compare(pair, scratch)?;
                progress.advance(compared.elements.saturating_mul(size));
                Ok(compared)
            };
            let run = pairs.fold(driver, (&pairs.units(objects), objects), visit, |_, compared| all += compared);
            Ok::<_, OperationError>(run.map(|()| all))
        };
        let comparison = Comparison::of(plan, job, matches!(job.route, Route::Staged(_)));
        let compared = match &job.route {
            Route::VariableSize(variable_size) => variable_size_values(transfer, variable_size, objects, driver),
            Route::Staged(staged) => {
                let mut between = Ok(Compared::default());
                if reads(0) {
                    let first = staged.first_transfer(transfer);
                    let same = Comparison::new(&first, &ValueChange::default(), None, (true, 0));
                    between = run(&same, &first, Compared::default())?.map_err(Staged::of_first);
                }
                match between {
                    Ok(between) if reads(1) => {
                        let second = staged.second_transfer(transfer, None, driver);
                        let second = second.map_err(|fault| plan.explain(ChunkFault { index: 0, fault }))?;
                        run(&comparison, &second, Compared { elements: 0, ..between })?.map_err(Staged::of_second)
                    }
                    between => between,
                }
            }
            Route::Move(_) | Route::Rechunk(_) => run(&comparison, transfer, Compared::default())?,
        };
        let compared = compared.map_err(|fault| plan.explain(fault))?;
        concluded(plan, compared, &comparison)
    }
}

/// Returns the error for a wrong DEST: a filter does not decode what it encoded, or else the storage is faulty.
fn differs(plan: &Plan, result: &VerifyResult) -> OperationError {
    let found = format!("{} of {} elements", result.differing, result.elements);
    let error = result.max_abs_error.unwrap_or(0.0);
    let differs = format!("the destination differs from the source in {found}, by up to {error}");
    let (message, help) = if let Some(codec) = plan.job.objects().and_then(losses::of) {
        let help = "give a chain without it by --codecs; or leave `--verify` out, and compare with `zarrcast validate \
            --against` and `--atol`; nothing was kept";
        (format!("{differs}: `{}` changes some numbers when it encodes them again", codec.name), help)
    } else if plan.job.objects().is_some_and(losses::loses_fill_value) {
        let help = "give a chain without these filters by --codecs; or leave `--verify` out; nothing was kept";
        let whose = "absent elements, because the filters of the chain change the fill value";
        (format!("{differs}: {whose}"), help)
    } else {
        let help = "the storage or its cache returned other bytes than were written; nothing was kept";
        let figures = format!("greatest error {error} (bound {})", result.bound.unwrap_or(0.0));
        (format!("the destination differs from the expected values: {found}, {figures}"), help)
    };
    OperationError::data(message).with_help(help)
}

/// Returns the greatest difference between the values of equal codes in SOURCE and DEST, and its limit. It was checked
/// for every code. `None` if DEST has the same form.
fn of_codes(plan: &Plan) -> Option<(f64, f64)> {
    let repacking = plan.changed.repacking.as_ref()?;
    Some((repacking.difference?, repacking.limit))
}

/// Returns whether two objects have the same bytes, and the number of bytes read. Reads them piece by piece.
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

/// Returns the verification from a comparison of values. Fails if something differs.
pub(super) fn concluded(plan: &Plan, mut compared: Compared, comparison: &Comparison) -> Result<Verification> {
    let quantization = plan.changed.quantization.as_ref();
    // Elements that neither side stores are compared by their fill values.
    let all = num_elements(&plan.destination.metadata.shape).unwrap_or(u64::MAX);
    if compared.elements < all {
        let error = quantization.and_then(Quantization::absent_error).unwrap_or(0.0);
        compared.max_abs_error = compared.max_abs_error.max(error);
        compared.elements = all;
    }
    let (difference, limit) = of_codes(plan).unzip();
    compared.max_abs_error = difference.unwrap_or(compared.max_abs_error);
    let bound = quantization.map(Quantization::bound).or(limit);
    let tolerance = comparison.max_loss.filter(|loss| loss.is_finite());
    let within = bound.is_none_or(|bound| compared.max_abs_error <= bound);
    let Compared { elements, differing, max_abs_error } = compared;
    let (equal, bound) = (differing == 0 && within, bound.or(tolerance));
    let result = VerifyResult { equal, elements, differing, max_abs_error: Some(max_abs_error), bound };
    if !equal {
        return Err(differs(plan, &result));
    }
    let rounds = quantization.is_some() || plan.changed.rounding.is_some() || difference.is_some();
    let message = format!("the destination's chain rounds values by up to {max_abs_error}");
    let warning = (!rounds && max_abs_error > 0.0).then(|| Diagnostic::new(code::CAST_VALUE_LOSSY, message));
    Ok(Verification { result, codes: comparison.codes(), warning })
}
