//! Compares DEST with the elements of SOURCE, converted to the values that readers must get. Also compares arrays whose
//! chunk sizes are only known after reading.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::array::{ChunkFault, ChunkSet, Fault, SubchunkSource};
use crate::codec::value_program::ProgramFault;
use crate::codec::{
    BoundChain, Recoding, ValueChange, ValueProgram, ValueStep, Workspace, conversion, element_bits, fault, region,
};
use crate::element::NumberType;
use crate::engine::route::variable_size::{
    ElementReader, SubchunkChange, VariableSize, VariableSizeBuffers, fold_subchunks, recoding_of,
};
use crate::engine::{Driver, ObjectJob, Pair, Transfer};
use crate::grid::Region;
use crate::kernel::quantize::QuantizeFigures;
use crate::operation::Quantization;
use crate::operation::against::differences;
use crate::operation::transcode::Plan;
use crate::operation::transcode::plan::losses::kept;

/// Number of elements that are converted and compared at a time: they stay in a level 2 cache.
const STRETCH: usize = 1 << 13;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Compared {
    pub(super) elements: u64,
    pub(super) differing: u64,
    pub(super) max_abs_error: f64,
}

#[derive(Debug, Default)]
pub(crate) struct Scratch {
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

pub(crate) struct Comparison {
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
    pub(super) max_loss: Option<f64>,
    /// The error of absent elements in a quantisation.
    absent_error: f64,
    /// The codes that occur, for types of up to 16 bits.
    codes: Option<Vec<AtomicBool>>,
}

impl Comparison {
    /// Compares the objects that a job writes. With `may_be_fill`, elements that are not stored may be fill values of SOURCE.
    pub(crate) fn of(plan: &Plan, job: &ObjectJob, may_be_fill: bool) -> Self {
        let rounding = (plan.is_exact, kept(job));
        let own = Self::new(&job.transfer, &plan.changed.change, plan.changed.quantization.as_ref(), rounding);
        Comparison { may_be_fill, ..own }
    }

    pub(super) fn new(
        transfer: &Transfer,
        change: &ValueChange,
        quantization: Option<&Quantization>,
        (is_exact, kept): (bool, usize),
    ) -> Self {
        let Transfer { source, destination, .. } = transfer;
        let mut program = ValueProgram::new(source.chain.decoded().data_type.size().unwrap_or(1));
        conversion::push_change(&mut program, change);
        let chain = destination.subchunk_chain();
        let (read_back, quantizes) = match (change.steps.last(), quantization) {
            (Some(ValueStep::Quantize(_)), Some(quantization)) if change.num_codecs > 0 => {
                (quantization.reader().0, true)
            }
            (Some(ValueStep::Quantize(_) | ValueStep::KeepBits(_)), _) => (ValueProgram::new(program.sizes().1), true),
            _ if is_exact => (ValueProgram::new(program.sizes().1), false),
            _ => (conversion::round_trip(chain, kept), false),
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
            absent: absent.map_or_else(|| fill.clone(), |absent| read_absent((change, quantization), chain, absent)),
            fill,
            may_be_fill: false,
            max_loss: chain.max_loss(kept).filter(|_| !is_exact && !quantizes),
            absent_error: quantization.and_then(Quantization::absent_error).unwrap_or(0.0),
            codes: few.map(|_| (0..1 << 16).map(|_| AtomicBool::new(false)).collect()),
        }
    }

    pub(crate) fn compare(&self, pair: &Pair<'_>, scratch: &mut Scratch) -> Result<Compared, Fault> {
        let elements = pair.region.num_elements();
        let is_converted = pair.is_stored[0] || (self.may_be_fill && pair.is_stored[1]);
        if !is_converted {
            let size = self.absent.len();
            let differing = match pair.is_stored[1] {
                true => pair.elements[1].chunks_exact(size).filter(|found| *found != self.absent).count() as u64,
                false if self.absent == self.fill => 0,
                false => elements,
            };
            return Ok(Compared { elements, differing, max_abs_error: self.absent_error });
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
        let Scratch { changed, expected, workspace } = scratch;
        let mut figures = QuantizeFigures::default();
        let fault =
            |fault: ProgramFault| Fault::Other(format!("the values cannot be converted again: {:?}", fault.fault.kind));
        self.change.run(from, changed, &mut workspace.tiles, Some(&mut figures)).map_err(fault)?;
        self.read_back.run(changed, expected, &mut workspace.tiles, None).map_err(fault)?;
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
        Ok(Compared { elements, differing: self.differing(from, expected, to), max_abs_error })
    }

    /// Returns the codes that occur, for types of up to 16 bits.
    pub(super) fn codes(&self) -> Option<Vec<bool>> {
        Some(self.codes.as_ref()?.iter().map(|occurs| occurs.load(Ordering::Relaxed)).collect())
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
        let is_absent =
            |from: &[u8], found: &[u8]| self.may_be_fill && from == self.source_fill && found == self.absent;
        let pairs = expected.chunks_exact(size).zip(found.chunks_exact(size));
        from.chunks_exact(self.source_fill.len())
            .zip(pairs)
            .filter(|(_, (expected, found))| expected != found)
            .filter(|(from, (expected, found))| !is_near(expected, found) && !is_absent(from, found))
            .count() as u64
    }
}

/// Returns the value that readers get from an absent element that is written.
fn read_absent((change, settled): (&ValueChange, Option<&Quantization>), chain: &BoundChain, absent: &[u8]) -> Vec<u8> {
    let as_given = || absent.to_vec();
    match (change.steps.last(), settled) {
        (Some(ValueStep::Quantize(_)), Some(quantization)) if change.num_codecs > 0 && quantization.writes_absent => {
            quantization.absent_read_back().map_or_else(as_given, |value| value.0)
        }
        (Some(ValueStep::Quantize(_) | ValueStep::KeepBits(_)), _) => as_given(),
        _ => {
            let mut read = Vec::new();
            let run = conversion::round_trip(chain, 0).run(absent, &mut read, &mut Workspace::default().tiles, None);
            run.map_or_else(|_| as_given(), |()| read)
        }
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

/// Compares the subchunks of both sides, in some objects of the destination or in all.
pub(super) fn variable_size_values(
    transfer: &Transfer,
    variable_size: &VariableSize,
    among: Option<&ChunkSet>,
    driver: &Driver,
) -> Result<Compared, ChunkFault> {
    let (source, written) = (SubchunkSource::new(&transfer.source), SubchunkSource::new(&transfer.destination));
    let readers = ElementReader::new(&source, 0).zip(ElementReader::new(&written, 1));
    let objects = transfer.overlapped_among(&transfer.destination.metadata.grid, among);
    let mut all = Compared::default();
    let work = |buffers: &mut VariableSizeBuffers, subchunk: &[u64], block: &Region| {
        let elements = block.num_elements();
        let differing = match (&readers, &variable_size.way) {
            (Some((from, to)), _) => differences([from, to], block, buffers)?.differing,
            (_, SubchunkChange::Recode(recoding)) => {
                let is_same = is_same(recoding, [&source, &written], subchunk, buffers)?;
                if is_same { 0 } else { elements }
            }
            (_, SubchunkChange::Compose) => elements,
        };
        Ok(Compared { elements, differing, ..Compared::default() })
    };
    fold_subchunks(transfer, &objects, (variable_size.memory_share, driver), work, |compared| all += compared)?;
    Ok(all)
}

/// Returns whether both sides are the same after decoding the codecs that differ.
fn is_same(
    recoding: &Recoding,
    [source, written]: [&SubchunkSource<'_>; 2],
    subchunk: &[u64],
    buffers: &mut VariableSizeBuffers,
) -> Result<bool, Fault> {
    let of_source = |fault: Fault| fault.of_source(source.side.object_of(subchunk));
    let of_written = |fault: Fault| fault.of_destination(written.side.object_of(subchunk));
    let own = recoding_of([source.side, written.side], subchunk)?;
    let recoding = own.as_ref().unwrap_or(recoding);
    let is_there = buffers.read(source, subchunk).map_err(of_source)?;
    if is_there {
        buffers.undo(recoding, true).map_err(of_source)?;
    }
    let expected = std::mem::take(&mut buffers.kept);
    let is_written = buffers.read(written, subchunk).map_err(of_written)?;
    if !is_there || !is_written {
        return Ok(is_there == is_written);
    }
    buffers.undo(recoding, false).map_err(of_written)?;
    Ok(expected == buffers.kept)
}
