//! Neighbouring value codecs as one pass: byte order, `scale_offset`, `cast_value`, data type change, quantisation.
//!
//! The steps run over tiles that stay in the level 1 cache, from one scratch tile to the other, the first from the
//! source and the last into the target: however many codecs there are, memory is read and written once.

use super::fault::ChainFault;
use crate::element::{NumberType, element_bits};
use crate::kernel::ElementFault;
use crate::kernel::bit_round::BitRound;
use crate::kernel::cast::Cast;
use crate::kernel::keep_bits::KeepBits;
use crate::kernel::numcodecs::ElementFilter;
use crate::kernel::quantize::{Quantize, QuantizeFigures};
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::transpose::swap;
use crate::kernel::unpack::Unpack;
use crate::memory::resize;

/// Elements of a tile: two tiles of 8-byte elements fill half of a level 1 cache of 48 KiB, or spill a little.
const TILE: usize = 2048;

/// One element-wise step.
#[derive(Debug, Clone)]
pub enum ValueStep {
    /// Reverses the bytes of each component of this size.
    Swap(usize),
    /// `scale_offset`, forward.
    ScaleEncode(ScaleOffset),
    /// `scale_offset`, backward.
    ScaleDecode(ScaleOffset),
    /// A cast, of either direction of `cast_value`.
    Cast(Cast),
    /// A change of the data type, with what it rounds to integers.
    Convert(Box<Cast>),
    /// `scale_offset` and `cast_value` forward, with error figures.
    Quantize(Box<Quantize>),
    /// `bitround`, forward.
    BitRound(BitRound),
    /// `bitround` of floats forward, with error figures.
    KeepBits(Box<KeepBits>),
    /// A filter of numcodecs, forward.
    FilterEncode(ElementFilter),
    /// A filter of numcodecs, backward.
    FilterDecode(ElementFilter),
    /// CF attributes applied to packed integers.
    Unpack(Box<Unpack>),
}

type Step = (ValueStep, StepOrigin, usize);

/// Steps from one representation to another, element by element.
#[derive(Debug, Clone)]
pub struct ValueProgram {
    /// Each with the place in the chains that it stands for, and the bytes of an element after it.
    steps: Vec<Step>,
    source_size: usize,
    target_size: usize,
}

/// The codec or change that a step stands for, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOrigin {
    /// The codec at this place in the source's chain, undone.
    Source(usize),
    /// The codec at this place in the destination's chain, applied.
    Destination(usize),
    /// The change of the array's data type.
    DataType,
}

/// A step met an element that it cannot convert.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgramFault {
    /// Why, and the element's index in the buffer.
    pub fault: ElementFault,
    /// The step.
    pub origin: StepOrigin,
    /// The bits of the value that came into the step, zero-extended.
    pub bits: u64,
    /// The types on both sides of the step.
    pub types: Option<(NumberType, NumberType)>,
}

/// Two tiles to work in; one for each thread.
#[derive(Debug, Default)]
pub struct Tiles([Vec<u8>; 2]);

impl ValueStep {
    /// The types on both sides, for messages; a byte swap has none.
    fn types(&self) -> Option<(NumberType, NumberType)> {
        match self {
            ValueStep::Swap(_) | ValueStep::BitRound(_) | ValueStep::KeepBits(_) => None,
            ValueStep::ScaleEncode(codec) | ValueStep::ScaleDecode(codec) => {
                Some((codec.number_type(), codec.number_type()))
            }
            ValueStep::Cast(cast) => Some((cast.options().source, cast.options().target)),
            ValueStep::Convert(cast) => Some((cast.options().source, cast.options().target)),
            ValueStep::FilterEncode(filter) => Some(filter.types()),
            ValueStep::FilterDecode(filter) => Some((filter.types().1, filter.types().0)),
            ValueStep::Unpack(unpack) => Some((unpack.source(), unpack.target())),
            ValueStep::Quantize(quantize) => Some((quantize.options().source, quantize.options().target)),
        }
    }

    fn run(&self, source: &[u8], target: &mut [u8], figures: Option<&mut QuantizeFigures>) -> Result<(), ElementFault> {
        let mut ignored = QuantizeFigures::default();
        match self {
            ValueStep::Swap(width) => swap(source, target, *width),
            ValueStep::BitRound(codec) => {
                target.copy_from_slice(&source[..target.len()]);
                codec.encode(target);
            }
            ValueStep::KeepBits(kernel) => kernel.convert(source, target, figures.unwrap_or(&mut ignored)),
            ValueStep::Cast(cast) => cast.convert(source, target)?,
            ValueStep::Convert(cast) => {
                if let Some(figures) = figures {
                    cast.count_rounded(source, figures);
                }
                cast.convert(source, target)?;
            }
            ValueStep::Unpack(unpack) => unpack.convert(source, target),
            ValueStep::FilterEncode(filter) => filter.encode(source, target)?,
            ValueStep::FilterDecode(filter) => filter.decode(source, target)?,
            ValueStep::ScaleEncode(codec) => codec.encode(source, target)?,
            ValueStep::ScaleDecode(codec) => codec.decode(source, target)?,
            ValueStep::Quantize(quantize) => quantize.convert(source, target, figures.unwrap_or(&mut ignored))?,
        }
        Ok(())
    }
}

impl ValueProgram {
    /// A program for elements of `source_size` bytes that does nothing yet.
    pub fn new(source_size: usize) -> Self {
        ValueProgram { steps: Vec::new(), source_size, target_size: source_size }
    }

    /// Appends a step.
    pub fn push(&mut self, step: ValueStep, origin: StepOrigin) {
        self.target_size = step.types().map_or(self.target_size, |(_, target)| target.size());
        self.steps.push((step, origin, self.target_size));
    }

    /// True if a value can be at fault, or counts in figures.
    pub fn is_fallible(&self) -> bool {
        let is_infallible = |step: &ValueStep| {
            // Figures are of elements, of which padding is none.
            matches!(step, ValueStep::Swap(_) | ValueStep::BitRound(_) | ValueStep::Unpack(_))
        };
        self.steps.iter().any(|(step, ..)| !is_infallible(step))
    }

    /// Bytes of an element before and after.
    pub fn sizes(&self) -> (usize, usize) {
        (self.source_size, self.target_size)
    }

    /// Makes room in `target` for what comes of a buffer of elements, so that [`ValueProgram::run`] asks for none.
    pub fn make_room(&self, source: &[u8], target: &mut Vec<u8>) -> Result<(), ChainFault> {
        resize(target, source.len() / self.source_size * self.target_size).map_err(ChainFault::memory)
    }

    /// Runs over a buffer of elements into `target` (resized to fit). A trailing part of an element is ignored.
    pub fn run(
        &self,
        source: &[u8],
        target: &mut Vec<u8>,
        tiles: &mut Tiles,
        figures: Option<&mut QuantizeFigures>,
    ) -> Result<(), ProgramFault> {
        let count = source.len() / self.source_size;
        target.resize(count * self.target_size, 0);
        self.run_into(source, target, tiles, figures)
    }

    /// The same into a slice that has room for as many elements.
    pub fn run_into(
        &self,
        source: &[u8],
        target: &mut [u8],
        tiles: &mut Tiles,
        mut figures: Option<&mut QuantizeFigures>,
    ) -> Result<(), ProgramFault> {
        let Some((last, before)) = self.steps.split_last() else {
            target.copy_from_slice(&source[..target.len()]);
            return Ok(());
        };
        // A single step goes from the source into the target at once.
        let is_single = before.is_empty();
        let tile = if is_single { (source.len() / self.source_size).max(1) } else { TILE };
        let source_tiles = source.chunks(tile * self.source_size);
        let target_tiles = target.chunks_mut(tile * self.target_size);
        for (number, (source, target)) in source_tiles.zip(target_tiles).enumerate() {
            let count = source.len() / self.source_size;
            let [mut current, mut spare] = tiles.0.each_mut();
            let mut size = self.source_size;
            for (place, step) in before.iter().enumerate() {
                let (kernel, _, after) = step;
                spare.resize(count * after, 0);
                let input: &[u8] = if place == 0 { source } else { current };
                let ran = kernel.run(input, spare, figures.as_deref_mut());
                ran.map_err(|fault| Self::fault(step, fault, input, size, number * TILE))?;
                size = *after;
                std::mem::swap(&mut current, &mut spare);
            }
            let input: &[u8] = if is_single { source } else { current };
            let ran = last.0.run(input, target, figures.as_deref_mut());
            ran.map_err(|fault| Self::fault(last, fault, input, size, number * TILE))?;
        }
        Ok(())
    }

    fn fault((step, origin, _): &Step, fault: ElementFault, input: &[u8], size: usize, first: usize) -> ProgramFault {
        let bytes = input.get(fault.index * size..(fault.index + 1) * size).unwrap_or_default();
        let bits = element_bits(bytes);
        let fault = ElementFault { index: first + fault.index, ..fault };
        ProgramFault { fault, origin: *origin, bits, types: step.types() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_of_two_swaps_is_the_identity_over_many_tiles() {
        let source: Vec<u8> = (0..TILE * 2 * 3 + 2).map(|i| u8::try_from(i % 251).unwrap()).collect();
        let mut program = ValueProgram::new(2);
        program.push(ValueStep::Swap(2), StepOrigin::DataType);
        program.push(ValueStep::Swap(2), StepOrigin::DataType);
        let mut target = Vec::new();
        program.run(&source, &mut target, &mut Tiles::default(), None).unwrap();
        assert_eq!(target, source);
    }
}
