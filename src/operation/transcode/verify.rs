//! `--verify`: DEST read back and compared, unit by unit.
//!
//! A copy is compared byte by byte. Else each piece of SOURCE is converted in memory to what any reader must get of
//! DEST, and that is compared bit for bit with what DEST gives; the greatest difference from SOURCE's own values
//! is reported beside it, and under quantisation held to its bound. Without `--codecs` the two are the same: values are
//! to come back as they are (SEMANTICS: D15). What a compressor that was asked for rounds is held to its tolerance.
//!
//! Of two passes each is compared by itself, what is staged with SOURCE and DEST with what is staged, so that no chunk is
//! read more often than it was for writing.

mod variable_size;

use std::ops::AddAssign;
use std::sync::{Mutex, PoisonError};

use self::variable_size::variable_size_values;
use super::budget::{comparing_bytes, of_chunks};
use super::plan::Plan;
use super::plan::lossy_filter::{self, kept};
use crate::array::ChunkSet;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::reader::PIECE;
use crate::codec::BoundChain;
use crate::codec::chain::Workspace;
use crate::codec::conversion::{ValueChange, push_change, round_trip};
use crate::codec::element_bits;
use crate::codec::fault::number_value;
use crate::codec::value_program::{StepOrigin, ValueProgram, ValueStep};
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::engine::driver::Driver;
use crate::engine::job::{Job, ObjectJob};
use crate::engine::pairs::{Pair, Pairs};
use crate::engine::progress::Progress;
use crate::engine::route::Route;
use crate::engine::route::copy::{CopyJob, SideOfCopy};
use crate::engine::route::staged::Staged;
use crate::engine::transfer::Transfer;
use crate::kernel::quantize::QuantizeFigures;
use crate::operation::budget::Budget;
use crate::operation::error::OperationError;
use crate::operation::new_driver;
use crate::operation::quantize::quantization::Quantization;
use crate::operation::transcode_result::VerifyResult;
use crate::store::ObjectReader;

/// What `--verify` found.
#[derive(Debug, Clone)]
pub(super) struct Verification {
    /// As it is reported.
    pub result: VerifyResult,
    /// Which codes occur, of types up to 16 bits.
    pub codes: Option<Vec<bool>>,
    /// A finding, where something differs.
    pub warning: Option<Diagnostic>,
}

impl Verification {
    /// How many codes occur, of types up to 16 bits.
    pub(super) fn distinct_codes(&self) -> Option<u64> {
        Some(self.codes.as_ref()?.iter().filter(|occurs| **occurs).count() as u64)
    }
}

/// What was compared.
#[derive(Debug, Clone, Copy, Default)]
struct Compared {
    elements: u64,
    differing: u64,
    max_abs_error: f64,
}

/// What a comparison of values writes to.
#[derive(Debug, Default)]
struct Scratch {
    changed: Vec<u8>,
    expected: Vec<u8>,
    workspace: Workspace,
}

impl AddAssign for Compared {
    fn add_assign(&mut self, other: Compared) {
        self.elements += other.elements;
        self.differing += other.differing;
        self.max_abs_error = self.max_abs_error.max(other.max_abs_error);
    }
}

/// What of an array is read back.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scope<'a> {
    /// All of it.
    Whole,
    /// Objects of the intermediate data of two passes.
    Between(&'a ChunkSet),
    /// Objects of DEST; of two passes, held against the intermediate data.
    Objects(&'a ChunkSet),
}

impl Scope<'_> {
    /// The objects, where not all are read back.
    fn objects(&self) -> Option<&ChunkSet> {
        match self {
            Scope::Whole => None,
            Scope::Between(objects) | Scope::Objects(objects) => Some(objects),
        }
    }
}

/// Reads DEST back. A difference is an error, and leaves no DEST.
pub(super) fn verify(
    plan: &Plan,
    scope: Scope<'_>,
    (budget, driver): (Budget, &Driver),
    progress: &dyn Progress,
) -> Result<Verification, OperationError> {
    let present = &plan.listing.present;
    let bytes = plan.source.pipeline.input.num_bytes();
    let bytes = bytes.map(|bytes| bytes.saturating_mul(plan.job.num_passes()));
    progress.start("verify", bytes.map(|bytes| bytes.saturating_mul(present.len())));
    let verified = match &plan.job {
        Job::Objects(job) => values(plan, job, scope, (budget, driver), progress),
        Job::Copy(job) => copies(plan, job, scope, driver, progress),
    };
    progress.finish();
    let verification = verified?;
    let result = &verification.result;
    if result.equal {
        return Ok(verification);
    }
    Err(differs(plan, result))
}

/// The error for a DEST that is not what was meant: because a filter does not give back what it encodes, or else
/// because the storage does not.
fn differs(plan: &Plan, result: &VerifyResult) -> OperationError {
    let (differing, elements) = (result.differing, result.elements);
    let error = result.max_abs_error.unwrap_or(0.0);
    if let Some(codec) = plan.job.objects().and_then(lossy_filter::of) {
        let name = &codec.name;
        return OperationError::data(format!(
            "the destination differs from the source in {differing} of {elements} elements, by up to {error}: `{name}` does not give back every number that it encodes anew"
        ))
        .with_help("give a chain without it by --codecs; or leave `--verify` out, and compare with `zarrcast validate --against` and `--atol`; nothing was kept");
    }
    if plan.job.objects().is_some_and(lossy_filter::loses_fill_value) {
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
    scope: Scope<'_>,
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
            &scope.objects().map_or_else(|| job.objects(), |some| job.objects().common(some)),
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
    let elements = crate::metadata::array::num_elements(&plan.destination.metadata.shape).unwrap_or(u64::MAX);
    let result =
        VerifyResult { equal: differing == 0, elements, differing, max_abs_error: Some(0.0), bound: None };
    Ok(Verification { result, codes: None, warning: None })
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
    scope: Scope<'_>,
    (budget, driver): (Budget, &Driver),
    progress: &dyn Progress,
) -> Result<Verification, OperationError> {
    // What any reader gets: by the chain of DEST's own documents, not by that of the plan.
    let described = plan.described.as_ref().map(|described| described.job(job, &plan.source.store));
    let described = described.transpose()?;
    let job = described.as_ref().unwrap_or(job);
    let transfer = &job.transfer;
    let run = |comparison: &Comparison, transfer: &Transfer| {
        let pairs = compared_in(transfer, budget.narrowed(driver.num_threads()))?;
        let threads = pairs.schedule.threads;
        let own =
            (threads < driver.num_threads()).then(|| new_driver(threads, driver.interrupt())).transpose()?;
        Ok::<_, OperationError>(comparison.run(&pairs, scope, own.as_ref().unwrap_or(driver), progress))
    };
    let mut comparison =
        Comparison::new(transfer, &plan.change, plan.quantization.as_ref(), (plan.is_exact, kept(job)));
    let compared = match &job.route {
        Route::VariableSize(variable_size) => {
            variable_size_values(transfer, variable_size, scope.objects(), driver)
        }
        Route::Staged(staged) => {
            let mut between = Ok(Compared::default());
            if !matches!(scope, Scope::Objects(_)) {
                let first = staged.first_transfer(transfer);
                let same = Comparison::new(&first, &ValueChange::None, None, (true, 0));
                between = run(&same, &first)?.map_err(Staged::of_first);
            }
            match between {
                Ok(between) if !matches!(scope, Scope::Between(_)) => {
                    let second = staged.second_transfer(transfer, None, driver);
                    let second = second.map_err(|fault| plan.explain(ChunkFault { index: 0, fault }))?;
                    comparison.is_staged = true;
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
    let codes =
        comparison.codes.take().map(|codes| codes.into_inner().unwrap_or_else(PoisonError::into_inner));
    let mut compared = compared.map_err(|fault| plan.explain(fault))?;
    let quantization = plan.quantization.as_ref();
    // What neither side stores is compared by its fill values.
    let all =
        crate::metadata::array::num_elements(&job.transfer.destination.metadata.shape).unwrap_or(u64::MAX);
    if compared.elements < all {
        let error = quantization.and_then(Quantization::absent_error).unwrap_or(0.0);
        compared.max_abs_error = compared.max_abs_error.max(error);
        compared.elements = all;
    }
    let bound = quantization.map(Quantization::bound);
    let tolerance = comparison.max_loss.filter(|loss| loss.is_finite());
    let within = bound.is_none_or(|bound| compared.max_abs_error <= bound);
    let result = VerifyResult {
        equal: compared.differing == 0 && within,
        elements: compared.elements,
        differing: compared.differing,
        max_abs_error: Some(compared.max_abs_error),
        bound: bound.or(tolerance),
    };
    let rounds = quantization.is_some() || plan.rounding.is_some();
    let warning = (!rounds && compared.max_abs_error > 0.0).then(|| {
        Diagnostic::new(
            code::CAST_VALUE_LOSSY,
            format!("the destination's chain rounds values: by up to {}", compared.max_abs_error),
        )
    });
    Ok(Verification { result, codes, warning })
}

/// How both sides of a transfer are read within a budget; an error where it has no room for it.
pub(super) fn compared_in(transfer: &Transfer, budget: Budget) -> Result<Pairs<'_>, OperationError> {
    let worker = comparing_bytes(transfer);
    Pairs::new(transfer, worker, budget.threads(), budget.bytes())
        .map_err(|small| budget.too_small(small.least, &of_chunks(transfer.destination.subchunk_shape())))
}

/// What of a job is compared.
pub(super) fn transfers(job: &ObjectJob) -> Vec<Transfer> {
    match &job.route {
        Route::VariableSize(_) => Vec::new(),
        Route::Move(_) | Route::Rechunk(_) => vec![job.transfer.clone()],
        Route::Staged(staged) => {
            let origin = Some(job.transfer.source.clone());
            let second = Transfer { source: staged.staging.clone(), origin, ..job.transfer.clone() };
            vec![staged.first_transfer(&job.transfer), second]
        }
    }
}

/// The least bytes in which both sides of a transfer can be compared.
pub(super) fn least_bytes(transfer: &Transfer) -> u64 {
    let worker = comparing_bytes(transfer);
    Pairs::new(transfer, worker, 1, 0).err().map_or(0, |small| small.least)
}

/// A comparison of values.
struct Comparison {
    /// SOURCE's values to DEST's array.
    change: ValueProgram,
    /// DEST's array to what any reader gets of it; for quantised codes, from the codes.
    read_back: ValueProgram,
    /// Under quantisation to codecs, the codes come first and are read back.
    quantizes: bool,
    /// DEST's numbers.
    number_type: Option<NumberType>,
    source_fill: Vec<u8>,
    fill: Vec<u8>,
    /// What a reader gets of DEST where SOURCE stores nothing.
    absent: Vec<u8>,
    /// Whether fill values of SOURCE, which are intermediate data, may stand for elements that are not stored.
    is_staged: bool,
    /// By how much DEST's compressor may change a number, where it rounds and was asked for.
    max_loss: Option<f64>,
    /// How far a quantisation moves absent elements.
    absent_error: f64,
    /// Which codes occur, up to 16 bits.
    codes: Option<Mutex<Vec<bool>>>,
}

impl Comparison {
    fn new(
        transfer: &Transfer,
        change: &ValueChange,
        quantization: Option<&Quantization>,
        (is_exact, kept): (bool, usize),
    ) -> Self {
        let Transfer { source, destination, .. } = transfer;
        let mut program = ValueProgram::new(source.chain.decoded().data_type.size().unwrap_or(1));
        push_change(&mut program, change);
        let chain = destination.subchunk_chain();
        let (read_back, quantizes) = match (change.of_floats(), quantization) {
            (ValueChange::Quantize { codecs: 1.., .. }, Some(quantization)) => (decode(quantization), true),
            (ValueChange::Quantize { .. } | ValueChange::KeepBits(_), _) => {
                (ValueProgram::new(program.sizes().1), true)
            }
            _ if is_exact => (ValueProgram::new(program.sizes().1), false),
            _ => (round_trip(chain, kept), false),
        };
        let few = quantization.filter(|quantization| quantization.target.bits() <= 16);
        let fill = destination.fill_value();
        let absent = transfer.absent_element.as_ref();
        Comparison {
            change: program,
            read_back,
            quantizes,
            number_type: destination.chain.decoded().data_type.real_number(),
            source_fill: source.fill_value(),
            absent: absent
                .map_or_else(|| fill.clone(), |absent| read_absent((change, quantization), chain, absent)),
            fill,
            is_staged: false,
            max_loss: chain.max_loss(kept).filter(|_| !is_exact && !quantizes),
            absent_error: quantization.and_then(Quantization::absent_error).unwrap_or(0.0),
            codes: few.map(|_| Mutex::new(vec![false; 1 << 16])),
        }
    }

    fn run(
        &self,
        pairs: &Pairs<'_>,
        scope: Scope<'_>,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<Compared, ChunkFault> {
        let mut all = Compared::default();
        let units = pairs.units(scope.objects());
        let visit = |scratch: &mut Scratch, pair: &Pair<'_>| {
            let compared = self.compare(pair, scratch)?;
            progress.advance(compared.elements.saturating_mul(self.source_fill.len() as u64));
            Ok(compared)
        };
        pairs.fold(driver, (&units, scope.objects()), visit, |_, compared: Compared| all += compared)?;
        Ok(all)
    }

    fn compare(&self, pair: &Pair<'_>, scratch: &mut Scratch) -> Result<Compared, Fault> {
        let [from, to] = pair.elements;
        let mut compared = Compared { elements: pair.region.num_elements(), ..Compared::default() };
        if !pair.is_stored[0] {
            compared.max_abs_error = self.absent_error;
            let size = self.absent.len();
            compared.differing = match pair.is_stored[1] {
                true => to.chunks_exact(size).filter(|found| *found != self.absent).count() as u64,
                false if self.absent == self.fill => 0,
                false => compared.elements,
            };
            return Ok(compared);
        }
        let Scratch { changed, expected, workspace } = scratch;
        let mut figures = QuantizeFigures::default();
        let fault = |fault: crate::codec::value_program::ProgramFault| {
            Fault::Other(format!("the values cannot be converted again: {:?}", fault.fault.kind))
        };
        self.change.run(from, changed, &mut workspace.tiles, Some(&mut figures)).map_err(fault)?;
        self.read_back.run(changed, expected, &mut workspace.tiles, None).map_err(fault)?;
        compared.differing = self.differing(from, expected, to);
        compared.max_abs_error = if self.quantizes {
            figures.max_abs_error
        } else {
            max_abs_difference(changed, to, self.number_type)
        };
        if let Some(codes) = self.codes.as_ref().filter(|_| self.quantizes) {
            let mut codes = codes.lock().unwrap_or_else(PoisonError::into_inner);
            for code in changed.chunks_exact(self.change.sizes().1) {
                if let Some(occurs) = codes.get_mut(crate::codec::region::as_index(element_bits(code))) {
                    *occurs = true;
                }
            }
        }
        Ok(compared)
    }

    /// Elements that are not what they should be: bit for bit, or but for what the compressor may change of a number.
    fn differing(&self, from: &[u8], expected: &[u8], found: &[u8]) -> u64 {
        if expected == found {
            return 0;
        }
        let size = self.read_back.sizes().1;
        let loss = self.max_loss.zip(self.number_type);
        let is_near = |expected: &[u8], found: &[u8]| {
            loss.is_some_and(|(loss, number_type)| {
                let [one, other] =
                    [expected, found].map(|bytes| number_value(number_type, element_bits(bytes)));
                // No NaN becomes a number, and no number a NaN.
                (one.is_nan() && other.is_nan()) || (one - other).abs() <= loss
            })
        };
        let is_absent =
            |from: &[u8], found: &[u8]| self.is_staged && from == self.source_fill && found == self.absent;
        let pairs = expected.chunks_exact(size).zip(found.chunks_exact(size));
        from.chunks_exact(self.source_fill.len())
            .zip(pairs)
            .filter(|(_, (expected, found))| expected != found)
            .filter(|(from, (expected, found))| !is_near(expected, found) && !is_absent(from, found))
            .count() as u64
    }
}

/// What any reader gets of an absent element that is written out.
fn read_absent(
    (change, quantization): (&ValueChange, Option<&Quantization>),
    chain: &BoundChain,
    absent: &[u8],
) -> Vec<u8> {
    let as_given = || absent.to_vec();
    match (change.of_floats(), quantization) {
        (ValueChange::Quantize { codecs: 1.., .. }, Some(quantization)) if quantization.writes_absent => {
            quantization.absent_read_back().map_or_else(as_given, |value| value.0)
        }
        (ValueChange::Quantize { .. } | ValueChange::KeepBits(_), _) => as_given(),
        _ => {
            let mut read = Vec::new();
            let run = round_trip(chain, 0).run(absent, &mut read, &mut Workspace::default().tiles, None);
            run.map_or_else(|_| as_given(), |()| read)
        }
    }
}

/// From codes to values, as any reader decodes them.
pub(super) fn decode(quantization: &Quantization) -> ValueProgram {
    let (cast, scale_offset) = quantization.decoders();
    let mut program = ValueProgram::new(quantization.target.size());
    let size = quantization.source.size();
    program.push(ValueStep::Cast(cast), StepOrigin::DataType, size);
    program.push(ValueStep::ScaleDecode(scale_offset), StepOrigin::DataType, size);
    program
}

/// The greatest difference of numbers; 0 where the type is no number, and between NaN.
fn max_abs_difference(a: &[u8], b: &[u8], number_type: Option<NumberType>) -> f64 {
    if a == b {
        return 0.0;
    }
    let Some(number_type) = number_type else { return 0.0 };
    let value = |bytes: &[u8]| number_value(number_type, element_bits(bytes));
    let size = number_type.size();
    let pairs = a.chunks_exact(size).zip(b.chunks_exact(size));
    pairs.map(|(a, b)| (value(a) - value(b)).abs()).filter(|d| !d.is_nan()).fold(0.0, f64::max)
}
