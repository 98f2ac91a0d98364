//! `--verify`: DEST read back and compared, unit by unit.
//!
//! A copy is compared byte by byte. Else each unit of SOURCE is converted in memory to what any reader must get of
//! DEST, and that is compared bit for bit with what DEST gives; the greatest difference from SOURCE's own values
//! is reported beside it, and under quantisation held to its bound. Without `--codecs` the two are the same: values are
//! to come back as they are (SEMANTICS: D15). What a compressor that was asked for rounds is held to its tolerance.

mod blocks;
mod subchunks;
mod variable_size;

use std::ops::AddAssign;
use std::sync::{Mutex, PoisonError};

use self::blocks::staged_values;
use self::variable_size::variable_size_values;
use super::plan::Plan;
use super::plan::lossy_filter::{self, kept};
use crate::array::ChunkSet;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::reader::{PIECE, ReadBuffers};
use crate::array::stored::StoredArray;
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
use crate::engine::progress::Progress;
use crate::engine::route::Route;
use crate::engine::route::copy::{CopyJob, SideOfCopy};
use crate::engine::transfer::Transfer;
use crate::kernel::quantize::QuantizeFigures;
use crate::operation::error::OperationError;
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

/// What a thread keeps from object to object.
#[derive(Debug, Default)]
struct Buffers {
    source: ReadBuffers,
    destination: ReadBuffers,
    scratch: Scratch,
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
    /// Those of some objects of DEST that are read back.
    fn of(self, objects: ChunkSet) -> ChunkSet {
        match self {
            Scope::Whole => objects,
            Scope::Between(part) | Scope::Objects(part) => objects.common(part),
        }
    }

    fn contains(self, object: u64) -> bool {
        match self {
            Scope::Whole => true,
            Scope::Between(part) | Scope::Objects(part) => part.contains(object),
        }
    }
}

/// Reads DEST back. A difference is an error, and leaves no DEST.
pub(super) fn verify(
    plan: &Plan,
    scope: Scope<'_>,
    driver: &Driver,
    progress: &dyn Progress,
) -> Result<Verification, OperationError> {
    let present = &plan.listing.present;
    let bytes = plan.source.pipeline.input.num_bytes();
    let bytes = bytes.map(|bytes| bytes.saturating_mul(plan.job.num_passes()));
    progress.start("verify", bytes.map(|bytes| bytes.saturating_mul(present.len())));
    let verified = match &plan.job {
        Job::Objects(job) => values(plan, job, scope, driver, progress),
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
            &scope.of(job.objects()),
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
    driver: &Driver,
    progress: &dyn Progress,
) -> Result<Verification, OperationError> {
    // What any reader gets: by the chain of DEST's own documents, not by that of the plan.
    let described = plan.described.as_ref().map(|described| described.job(job, &plan.source.store));
    let described = described.transpose()?;
    let job = described.as_ref().unwrap_or(job);
    let mut transfer = job.transfer.clone();
    if plan.comparison.is_none() && !job.moves_subchunks() {
        // Units that differ between the sides are compared by whole objects.
        (transfer.source.layout, transfer.destination.layout) = (None, None);
    }
    let comparison = Comparison { scope, ..Comparison::new(plan, kept(job), &transfer) };
    let compared = match (&job.route, &plan.comparison) {
        (Route::Staged(staged), _) => staged_values(plan, &job.transfer, staged, scope, driver, progress),
        (Route::VariableSize(variable_size), _) => {
            variable_size_values(&job.transfer, variable_size, scope, driver).map(|compared| (compared, None))
        }
        _ if job.moves_subchunks() => comparison
            .run_over_shared_subchunks(&job.transfer, driver, progress)
            .map(|compared| (compared, comparison.codes())),
        (_, Some(rechunk)) => comparison
            .run_over_subchunks(&job.transfer, rechunk, driver, progress)
            .map(|compared| (compared, comparison.codes())),
        (_, None) => comparison.run(driver, progress).map(|compared| (compared, comparison.codes())),
    };
    let (mut compared, codes) = compared.map_err(|fault| plan.explain(fault))?;
    let quantization = plan.quantization.as_ref();
    // What neither side stores is compared by its fill values.
    let all = crate::metadata::array::num_elements(&transfer.destination.metadata.shape).unwrap_or(u64::MAX);
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

/// A comparison of values.
struct Comparison<'a> {
    scope: Scope<'a>,
    source: &'a StoredArray,
    destination: &'a StoredArray,
    objects: ChunkSet,
    /// SOURCE's values to DEST's array.
    change: ValueProgram,
    /// DEST's array to what any reader gets of it; for quantised codes, from the codes.
    read_back: ValueProgram,
    /// Under quantisation to codecs, the codes come first and are read back.
    quantizes: bool,
    /// What absent elements of either side are, in DEST's array.
    source_absent: Vec<u8>,
    destination_fill: Vec<u8>,
    /// By how much DEST's compressor may change a number, where it rounds and was asked for.
    max_loss: Option<f64>,
    /// How far a quantisation moves absent elements.
    absent_error: f64,
    /// Which codes occur, up to 16 bits.
    codes: Option<Mutex<Vec<bool>>>,
}

impl<'a> Comparison<'a> {
    fn new(plan: &Plan, kept: usize, transfer: &'a Transfer) -> Self {
        let Transfer { source, destination, .. } = transfer;
        let mut change = ValueProgram::new(source.chain.decoded().data_type.size().unwrap_or(1));
        push_change(&mut change, &plan.change);
        let chain = destination.layout.as_ref().map_or(&destination.chain, |layout| &layout.subchunk);
        let (read_back, quantizes) = match (plan.change.of_floats(), &plan.quantization) {
            (ValueChange::Quantize { codecs: 1.., .. }, Some(quantization)) => (decode(quantization), true),
            (ValueChange::Quantize { .. } | ValueChange::KeepBits(_), _) => {
                (ValueProgram::new(change.sizes().1), true)
            }
            _ if plan.is_exact => (ValueProgram::new(change.sizes().1), false),
            _ => (round_trip(chain, kept), false),
        };
        let fill =
            destination.chain.decoded().fill_value.as_ref().map(|fill| fill.0.clone()).unwrap_or_default();
        let few = plan.quantization.as_ref().filter(|quantization| quantization.target.bits() <= 16);
        let objects = match transfer.absent_element {
            Some(_) => ChunkSet::full(source.metadata.num_chunks()),
            None => source.objects(),
        };
        Comparison {
            scope: Scope::Whole,
            source,
            destination,
            objects,
            change,
            read_back,
            quantizes,
            max_loss: chain.max_loss(kept).filter(|_| !plan.is_exact && !quantizes),
            source_absent: transfer
                .absent_element
                .as_ref()
                .map_or_else(|| fill.clone(), |absent| read_absent(plan, chain, absent)),
            destination_fill: fill,
            absent_error: plan.quantization.as_ref().and_then(Quantization::absent_error).unwrap_or(0.0),
            codes: few.map(|_| Mutex::new(vec![false; 1 << 16])),
        }
    }

    fn run(&self, driver: &Driver, progress: &dyn Progress) -> Result<Compared, ChunkFault> {
        let mut all = Compared::default();
        driver.run_ahead::<Buffers, Compared>(
            &self.scope.of(self.objects.clone()),
            &[self.source, self.destination],
            |buffers, index| {
                let compared = self.object(buffers, index)?;
                progress.advance(self.source.chunk_bytes());
                Ok(compared)
            },
            |_, compared| all += compared,
        )?;
        Ok(all)
    }

    fn codes(&self) -> Option<Vec<bool>> {
        let codes = self.codes.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        Some(codes.clone())
    }

    fn object(&self, buffers: &mut Buffers, index: u64) -> Result<Compared, Fault> {
        let mut compared = Compared::default();
        let Buffers { source: source_buffers, destination: destination_buffers, scratch } = buffers;
        let source = self.source.open(index, source_buffers)?;
        let destination = self.destination.open(index, destination_buffers)?;
        source.expect_all();
        destination.expect_all();
        source.each_place(|place| {
            let subchunk = source.subchunk(place);
            compared.elements += subchunk.num_elements();
            let count = crate::codec::region::as_index(subchunk.num_elements());
            let from = source.read(place, &subchunk, source_buffers)?;
            let to = destination.read(place, &subchunk, destination_buffers)?;
            self.unit((from, to), count, scratch, &mut compared)
        })?;
        Ok(compared)
    }

    /// Compares a unit of so many elements of both sides, each of which may be absent.
    fn unit(
        &self,
        (from, to): (Option<&[u8]>, Option<&[u8]>),
        count: usize,
        scratch: &mut Scratch,
        compared: &mut Compared,
    ) -> Result<(), Fault> {
        let filled;
        let to = if let Some(elements) = to {
            elements
        } else {
            filled = self.destination_fill.repeat(count);
            filled.as_slice()
        };
        let Some(from) = from else {
            compared.max_abs_error = compared.max_abs_error.max(self.absent_error);
            if self.source_absent != self.destination_fill || to != self.destination_fill.repeat(count) {
                compared.differing +=
                    differing(&self.source_absent.repeat(count), to, self.source_absent.len());
            }
            return Ok(());
        };
        self.subchunk(from, to, scratch, compared)
    }

    /// Compares the elements of a subchunk of both sides.
    fn subchunk(
        &self,
        from: &[u8],
        to: &[u8],
        scratch: &mut Scratch,
        compared: &mut Compared,
    ) -> Result<(), Fault> {
        let Scratch { changed, expected, workspace } = scratch;
        let mut figures = QuantizeFigures::default();
        let fault = |fault: crate::codec::value_program::ProgramFault| {
            Fault::Other(format!("the values cannot be converted again: {:?}", fault.fault.kind))
        };
        self.change.run(from, changed, &mut workspace.tiles, Some(&mut figures)).map_err(fault)?;
        self.read_back.run(changed, expected, &mut workspace.tiles, None).map_err(fault)?;
        let size = self.read_back.sizes().1;
        let number_type = self.destination.chain.decoded().data_type.real_number();
        compared.differing += match self.max_loss.zip(number_type) {
            Some((loss, number_type)) => differing_beyond(expected, to, number_type, loss),
            None => differing(expected, to, size),
        };
        let max =
            if self.quantizes { figures.max_abs_error } else { max_abs_difference(changed, to, number_type) };
        compared.max_abs_error = compared.max_abs_error.max(max);
        if let Some(codes) = self.codes.as_ref().filter(|_| self.quantizes) {
            let mut codes = codes.lock().unwrap_or_else(PoisonError::into_inner);
            for code in changed.chunks_exact(self.change.sizes().1) {
                if let Some(occurs) = codes.get_mut(crate::codec::region::as_index(element_bits(code))) {
                    *occurs = true;
                }
            }
        }
        Ok(())
    }
}

/// What any reader gets of an absent element that is written out.
fn read_absent(plan: &Plan, chain: &BoundChain, absent: &[u8]) -> Vec<u8> {
    let as_given = || absent.to_vec();
    match (plan.change.of_floats(), &plan.quantization) {
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

/// Elements whose bytes differ.
fn differing(expected: &[u8], found: &[u8], size: usize) -> u64 {
    if expected == found {
        return 0;
    }
    let pairs = expected.chunks_exact(size).zip(found.chunks_exact(size));
    pairs.filter(|(expected, found)| expected != found).count() as u64
}

/// Numbers that differ by more than a compressor may change them, which makes no number of a NaN, and none of a number.
fn differing_beyond(expected: &[u8], found: &[u8], number_type: NumberType, loss: f64) -> u64 {
    if expected == found {
        return 0;
    }
    let value = |bytes: &[u8]| number_value(number_type, element_bits(bytes));
    let size = number_type.size();
    let is_near = |(expected, found): &(&[u8], &[u8])| {
        let (one, other) = (value(expected), value(found));
        expected == found || (one.is_nan() && other.is_nan()) || (one - other).abs() <= loss
    };
    let pairs = expected.chunks_exact(size).zip(found.chunks_exact(size));
    pairs.filter(|pair| !is_near(pair)).count() as u64
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
