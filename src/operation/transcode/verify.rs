//! `--verify`: reads DEST back and compares it, unit by unit.
//!
//! A copy is compared byte by byte. Otherwise each piece of SOURCE is converted in memory to the values that readers
//! must get. They are compared with DEST bit for bit. The greatest difference from SOURCE's own values is reported,
//! too, and for quantised values it must be within the bound. Without `--codecs` both are the same: values must be read
//! back unchanged (SEMANTICS: D15). The rounding of a requested compressor must be within its tolerance.
//!
//! Two passes are compared separately: intermediate data with SOURCE, and DEST with intermediate data. So no chunk is
//! read more often than for writing.

use std::mem::take;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Plan;
use super::plan::{PlannedConversion, compared_in, warnings};
use crate::array::{ChunkFault, ChunkSet, Fault, PIECE, SubchunkSource};
use crate::codec::{
    Tiles, ValueProgram, ValueStep, conversion, element_bits, fault, region, value_program::ProgramFault,
};
use crate::diagnostic::{Diagnostic, code, quantity::counted};
use crate::element::NumberType;
use crate::engine::route::variable_size::{
    ElementReader, SubchunkChange, VariableSize, VariableSizeBuffers, fold_subchunks, recoding_of,
};
use crate::engine::{
    Driver, Job, ObjectJob, Pair, Progress, Route, Transfer, route::copy::CopyJob, route::staged::Staged,
};
use crate::grid::{Region, volume};
use crate::kernel::quantize::QuantizeFigures;
use crate::operation::{
    Budget, OperationError, Quantization, Result, VerifyResult, against::differences, narrowed, xarray,
};
use crate::store::ObjectReader;

/// Number of elements that are converted and compared at a time: they stay in a level 2 cache.
const STRETCH: usize = 1 << 13;

pub(super) struct Verification {
    pub result: VerifyResult,
    /// A bit for each code of up to 16 bits, as in [`packed`].
    pub codes: Option<Vec<u8>>,
}

/// An array to read back.
pub(super) struct ReadBack<'a> {
    pub plan: &'a Plan,
    /// The objects of one pass, into intermediate data or DEST. `None`: everything.
    pub share: Option<(usize, ChunkSet)>,
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
        let ReadBack { plan, share, driver, progress, .. } = self;
        let [source, destination] = &job.nodes;
        let mut differing = 0;
        let work = |pieces: &mut [Vec<u8>; 2], index| {
            let [from, to] = job.keys(index);
            let (source, written) = (source.open(&from, job.most_bytes)?, destination.open(&to, job.most_bytes)?);
            match (source, written) {
                (Some(mut source), Some(mut written)) => {
                    let (equal, bytes) = same_bytes([&mut source, &mut written], pieces)?;
                    progress.advance(job.decoded_bytes.unwrap_or(bytes));
                    Ok(equal)
                }
                (source, written) => Ok(source.is_none() && written.is_none()),
            }
        };
        let sides = [0, 1].map(|side| job.reads_of(side, |_| true));
        let objects = share.as_ref().map_or_else(|| job.objects(), |(_, some)| job.objects().common(some));
        let fold = |_, equal: bool| differing += u64::from(!equal);
        driver.run_ahead(&objects, &sides, work, fold).map_err(|fault| match fault.fault {
            Fault::Interrupted(_) => OperationError::interrupted(),
            cause => {
                let [_, key] = job.keys(fault.index);
                OperationError::environment(format!("chunk `{key}` cannot be read back")).because(cause)
            }
        })?;
        let elements = volume(&plan.destination.metadata.shape);
        let (max_abs_error, bound) = of_codes(plan).unzip();
        let max_abs_error = max_abs_error.or(Some(0.0));
        let result = VerifyResult { equal: differing == 0, elements, differing, max_abs_error, bound };
        if result.equal { Ok(Verification { result, codes: None }) } else { Err(differs(plan, &result)) }
    }

    /// Compares value by value.
    fn values(&self, job: &ObjectJob) -> Result<Verification> {
        let ReadBack { plan, share, budget, driver, progress } = self;
        // Readers bind the chain of DEST's documents, so it is bound again here.
        let job = &plan.as_read(job)?;
        let (transfer, objects) = (&job.transfer, share.as_ref().map(|(_, objects)| objects));
        let reads = |pass| share.as_ref().is_none_or(|(own, _)| *own == pass);
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
            Route::VariableSize(route) => self.variable_size(transfer, route),
            Route::Staged(staged) => {
                let mut between = Ok(Compared::default());
                if reads(0) {
                    let first = staged.first_transfer(transfer);
                    let same = Comparison::new(&first, &PlannedConversion::default(), (true, 0), false);
                    between = run(&same, &first, Compared::default())?.map_err(Staged::of_first);
                }
                match between {
                    Ok(between) if reads(1) => {
                        let second = staged.second_transfer(transfer, None, driver);
                        let second = second.map_err(|fault| plan.explain(ChunkFault { index: 0, fault }))?;
                        // Both passes compare the same elements. They count once.
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

    /// Compares the subchunks of both sides, in some objects of the destination or in all.
    fn variable_size(&self, transfer: &Transfer, route: &VariableSize) -> Result<Compared, ChunkFault> {
        let among = self.share.as_ref().map(|(_, objects)| objects);
        let Transfer { source, destination, .. } = transfer;
        let (source, written) = (SubchunkSource::new(source), SubchunkSource::of_destination(destination));
        let readers = ElementReader::new(&source, 0).zip(ElementReader::new(&written, 1));
        let objects = transfer.overlapped_among(&destination.metadata.grid, among);
        let mut all = Compared::default();
        let work = |buffers: &mut VariableSizeBuffers, subchunk: &[u64], block: &Region| {
            let elements = block.num_elements();
            let differing = match (&readers, &route.change) {
                (Some((from, to)), _) => differences([from, to], block, buffers)?.differing,
                // Both sides are the same after decoding the codecs that differ.
                (_, SubchunkChange::Recode(recoding)) => {
                    let of_source = |fault: Fault| source.located(fault, subchunk);
                    let of_written = |fault: Fault| written.located(fault, subchunk);
                    let own = recoding_of([source.array, written.array], subchunk)?;
                    let recoding = own.as_ref().unwrap_or(recoding);
                    let is_there = buffers.read(&source, subchunk).map_err(of_source)?;
                    if is_there {
                        buffers.decode_recoded(recoding, true).map_err(of_source)?;
                    }
                    // The buffers are used for DEST next.
                    let expected = take(&mut buffers.kept);
                    let mut is_same = buffers.read(&written, subchunk).map_err(of_written)? == is_there;
                    if is_same && is_there {
                        buffers.decode_recoded(recoding, false).map_err(of_written)?;
                        is_same = expected == buffers.kept;
                    }
                    if is_same { 0 } else { elements }
                }
                (_, SubchunkChange::Compose) => elements,
            };
            Ok(Compared { elements, differing, ..Compared::default() })
        };
        fold_subchunks(transfer, &objects, (route.memory_share, self.driver), work, |compared| all += compared)?;
        Ok(all)
    }
}

/// Returns the error for a wrong DEST: a filter does not decode what it encoded, or else the storage is faulty.
fn differs(plan: &Plan, result: &VerifyResult) -> OperationError {
    let found = format!("{} of {} elements", result.differing, result.elements);
    let error = result.max_abs_error.unwrap_or(0.0);
    let differs = format!("the destination differs from the source in {found}, by up to {error}");
    let (message, help) = if let Some(codec) = plan.job.objects().and_then(warnings::of) {
        let help = "give a chain without it by --codecs; or leave `--verify` out, and compare with `zarrcast validate \
            --against` and `--atol`; nothing was kept";
        (format!("{differs}: `{}` changes some numbers when it encodes them again", codec.metadata.name), help)
    } else if plan.job.objects().is_some_and(warnings::loses_fill_value) {
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

/// Returns a bit for each code, set if it occurs, from the lowest bit of the first byte, without zero bytes at the end.
pub(super) fn packed(codes: &[AtomicBool]) -> Vec<u8> {
    let bit = |occurs: &AtomicBool| u8::from(occurs.load(Ordering::Relaxed));
    let byte = |bits: &[AtomicBool]| bits.iter().rev().fold(0, |byte, occurs| byte << 1 | bit(occurs));
    let mut bytes: Vec<u8> = codes.chunks(8).map(byte).collect();
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    bytes
}

/// Returns whether two objects have the same bytes, and the number of bytes read. Reads them piece by piece.
fn same_bytes([a, b]: [&mut ObjectReader; 2], pieces: &mut [Vec<u8>; 2]) -> Result<(bool, u64), Fault> {
    let [source, written] = pieces;
    source.resize(PIECE, 0);
    written.resize(PIECE, 0);
    let mut bytes = 0;
    loop {
        let (read, back) = (a.read_piece(bytes, source)?, b.read_piece(bytes, written)?);
        bytes += read as u64;
        if source[..read] != written[..back] {
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
    let all = volume(&plan.destination.metadata.shape);
    if compared.elements < all {
        let error = plan.changed.absent_error().unwrap_or(0.0);
        compared.max_abs_error = compared.max_abs_error.max(error);
        compared.elements = all;
    }
    let (difference, limit) = of_codes(plan).unzip();
    // A repacking compares codes. The values of equal codes differ as the two decoders do, which was measured before.
    compared.max_abs_error = difference.unwrap_or(compared.max_abs_error);
    let bound = quantization.map(Quantization::bound).or(limit);
    let tolerance = comparison.max_loss.filter(|loss| loss.is_finite());
    let within = bound.is_none_or(|bound| compared.max_abs_error <= bound);
    let Compared { elements, differing, max_abs_error, nan, like_nan } = compared;
    if let Some(merged) = like_nan_text(plan, like_nan, nan) {
        let help = "give a `--nan-value` that no other value becomes, or leave `--verify` out; nothing was kept";
        return Err(OperationError::data(format!("the destination differs from the source: {merged}")).with_help(help));
    }
    let (equal, bound) = (differing == 0 && within, bound.or(tolerance));
    let result = VerifyResult { equal, elements, differing, max_abs_error: Some(max_abs_error), bound };
    if !equal {
        return Err(differs(plan, &result));
    }
    Ok(Verification { result, codes: comparison.codes.as_deref().map(packed) })
}

/// Returns the number of stored values that became the value of `--nan-value`, if there is a NaN as well.
pub(super) fn like_nan_text(plan: &Plan, like_nan: u64, nan: u64) -> Option<String> {
    let value = plan.change.nan_value.as_ref().filter(|_| like_nan > 0)?;
    let fill = plan.source.fill_value.as_ref();
    let has_nan = nan > 0 || fill.is_some_and(|fill| xarray::is_nan(&plan.source.data_type, fill));
    let values = counted(like_nan, "stored value");
    has_nan.then(|| format!("{values} became {}, as NaN did: readers cannot tell them apart", value.excerpt()))
}

/// Returns a warning if only the chain of DEST changes values: no option asked for it.
pub(super) fn rounding_warning(plan: &Plan, verified: &VerifyResult) -> Option<Diagnostic> {
    let max_abs_error = verified.max_abs_error.unwrap_or(0.0);
    let rounds = plan.changed.quantization.is_some() || plan.changed.rounding.is_some() || of_codes(plan).is_some();
    let message = format!("the destination's chain rounds values by up to {max_abs_error}");
    (!rounds && max_abs_error > 0.0).then(|| Diagnostic::new(code::CAST_VALUE_LOSSY, message))
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Compared {
    elements: u64,
    differing: u64,
    max_abs_error: f64,
    /// NaN in SOURCE, and other numbers that became the same value.
    nan: u64,
    like_nan: u64,
}

#[derive(Debug, Default)]
pub(super) struct Scratch {
    changed: Vec<u8>,
    expected: Vec<u8>,
    tiles: Tiles,
}

impl AddAssign for Compared {
    fn add_assign(&mut self, other: Compared) {
        self.elements += other.elements;
        self.differing += other.differing;
        self.max_abs_error = self.max_abs_error.max(other.max_abs_error);
        self.nan += other.nan;
        self.like_nan += other.like_nan;
    }
}

pub(super) struct Comparison {
    /// Converts values of SOURCE to elements of DEST.
    change: ValueProgram,
    /// Converts elements of DEST to the values that readers get. Quantised values are converted from the codes.
    read_back: ValueProgram,
    /// Whether values are quantised to codecs: then the codes come first and are read back.
    quantizes: bool,
    number_type: Option<NumberType>,
    source_fill: Vec<u8>,
    fill: Vec<u8>,
    /// The value that readers get from DEST where SOURCE stores nothing.
    absent: Vec<u8>,
    /// Whether fill values of SOURCE may be elements that are not stored. This is so for intermediate data, and if
    /// pieces differ from the chunks of DEST.
    may_be_fill: bool,
    /// Maximum change of a number by DEST's compressor, if a compressor that rounds was requested.
    max_loss: Option<f64>,
    /// The error of absent elements in a quantisation.
    absent_error: f64,
    /// The codes that occur, for types of up to 16 bits.
    codes: Option<Vec<AtomicBool>>,
}

impl Comparison {
    /// Compares the objects that a job writes. With `may_be_fill`, elements that are not stored may be fill values of SOURCE.
    pub(super) fn of(plan: &Plan, job: &ObjectJob, may_be_fill: bool) -> Self {
        Self::new(&job.transfer, &plan.changed, (plan.change.codecs.is_none(), warnings::kept(job)), may_be_fill)
    }

    fn new(of: &Transfer, changed: &PlannedConversion, (is_exact, kept): (bool, usize), may_be_fill: bool) -> Self {
        let (change, quantization) = (&changed.change, changed.quantization.as_ref());
        let Transfer { source, destination, absent_element, .. } = of;
        let mut program = ValueProgram::new(source.chain.decoded().data_type.size().unwrap_or(1));
        conversion::push_change(&mut program, change);
        let (chain, fill) = (destination.subchunk_chain(), destination.fill_value());
        let (unchanged, absent) = (ValueProgram::new(program.sizes().1), absent_element.as_ref());
        let (read_back, quantizes, absent_read) = match (change.steps.last(), quantization) {
            (Some(ValueStep::Quantize(_)), Some(quantization)) if change.num_codecs > 0 => {
                let absent = absent.filter(|_| quantization.writes_absent);
                let read = absent.and_then(|_| quantization.absent_read_back());
                (quantization.reader(), true, read.map(|value| value.0))
            }
            (Some(ValueStep::Quantize(_) | ValueStep::KeepBits(_)), _) => (unchanged, true, None),
            _ => {
                let read_back = if is_exact { unchanged } else { conversion::round_trip(chain, kept) };
                let absent = absent.filter(|_| !is_exact);
                (read_back, false, absent.and_then(|absent| conversion::round_trip(chain, 0).run_alone(absent)))
            }
        };
        let few = quantization.filter(|quantization| quantization.target.bits() <= 16);
        Comparison {
            change: program,
            read_back,
            quantizes,
            number_type: destination.chain.decoded().data_type.real_number(),
            source_fill: source.fill_value(),
            absent: absent_read.or_else(|| absent.cloned()).unwrap_or_else(|| fill.clone()),
            fill,
            may_be_fill,
            max_loss: chain.max_loss(kept).filter(|_| !is_exact && !quantizes),
            absent_error: changed.absent_error().unwrap_or(0.0),
            codes: few.map(|_| (0..1 << 16).map(|_| AtomicBool::new(false)).collect()),
        }
    }

    pub(super) fn compare(&self, pair: &Pair<'_>, scratch: &mut Scratch) -> Result<Compared, Fault> {
        let elements = pair.region.num_elements();
        let is_converted = pair.is_stored[0] || (self.may_be_fill && pair.is_stored[1]);
        if !is_converted {
            let size = self.absent.len();
            // What DEST does not store is read as its fill value.
            let differing = match pair.is_stored[1] {
                true => pair.elements[1].chunks_exact(size).filter(|found| *found != self.absent).count() as u64,
                false if self.absent == self.fill => 0,
                false => elements,
            };
            return Ok(Compared { elements, differing, max_abs_error: self.absent_error, ..Compared::default() });
        }
        let mut all = Compared::default();
        let (count, sizes) = (region::as_index(elements), [self.source_fill.len(), self.fill.len()]);
        for start in (0..count).step_by(STRETCH) {
            let end = (start + STRETCH).min(count);
            let stretch = |side: usize| &pair.elements[side][start * sizes[side]..end * sizes[side]];
            all += self.stretch(stretch(0), stretch(1), scratch)?;
        }
        Ok(all)
    }

    fn stretch(&self, from: &[u8], to: &[u8], scratch: &mut Scratch) -> Result<Compared, Fault> {
        let Scratch { changed, expected, tiles } = scratch;
        let mut figures = QuantizeFigures::default();
        let fault =
            |fault: ProgramFault| Fault::Other(format!("the values cannot be converted again: {:?}", fault.fault.kind));
        self.change.run(from, changed, tiles, Some(&mut figures)).map_err(fault)?;
        self.read_back.run(changed, expected, tiles, None).map_err(fault)?;
        // Relaxed ordering is enough: threads only set flags, and nobody reads them before all threads have ended.
        if let Some(codes) = self.codes.as_ref().filter(|_| self.quantizes) {
            for code in changed.chunks_exact(self.change.sizes().1) {
                let occurs = codes.get(region::as_index(element_bits(code)));
                // A write would remove the cache line from the other threads.
                if let Some(occurs) = occurs.filter(|occurs| !occurs.load(Ordering::Relaxed)) {
                    occurs.store(true, Ordering::Relaxed);
                }
            }
        }
        let max_abs_error =
            if self.quantizes { figures.max_abs_error } else { max_abs_difference(changed, to, self.number_type) };
        let elements = (from.len() / self.source_fill.len()) as u64;
        let QuantizeFigures { nan, like_nan, .. } = figures;
        Ok(Compared { elements, differing: self.differing(from, expected, to), max_abs_error, nan, like_nan })
    }

    /// Returns the number of wrong elements: not equal bit for bit, and not within the change that the compressor may
    /// make.
    fn differing(&self, from: &[u8], expected: &[u8], found: &[u8]) -> u64 {
        if expected == found {
            return 0;
        }
        let size = self.read_back.sizes().1;
        let loss = self.max_loss.zip(self.number_type);
        let is_near = |expected: &[u8], found: &[u8]| {
            loss.is_some_and(|(loss, number_type)| {
                let [one, other] = [expected, found].map(|bytes| fault::number_value(number_type, element_bits(bytes)));
                // NaN must not become a number, nor a number NaN.
                (one.is_nan() && other.is_nan()) || (one - other).abs() <= loss
            })
        };
        let is_absent = |from: &[u8], to: &[u8]| self.may_be_fill && from == self.source_fill && to == self.absent;
        let pairs = expected.chunks_exact(size).zip(found.chunks_exact(size));
        from.chunks_exact(self.source_fill.len())
            .zip(pairs)
            .filter(|(_, (expected, found))| expected != found)
            .filter(|(from, (expected, found))| !is_near(expected, found) && !is_absent(from, found))
            .count() as u64
    }
}

/// Returns the greatest difference of numbers. 0 if the type is not a number. NaN is ignored.
fn max_abs_difference(a: &[u8], b: &[u8], number_type: Option<NumberType>) -> f64 {
    if a == b {
        return 0.0;
    }
    let Some(number_type) = number_type else { return 0.0 };
    let value = |bytes: &[u8]| fault::number_value(number_type, element_bits(bytes));
    let size = number_type.size();
    let pairs = a.chunks_exact(size).zip(b.chunks_exact(size));
    pairs.map(|(a, b)| (value(a) - value(b)).abs()).filter(|d| !d.is_nan()).fold(0.0, f64::max)
}
