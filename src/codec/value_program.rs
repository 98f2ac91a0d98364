//! Neighbouring value codecs as one pass: byte order, `scale_offset`, `cast_value`, data type change, quantisation.
//!
//! The steps run over tiles that stay in the level 1 cache. The first step reads the source, the last writes the
//! target, and the others use two scratch tiles. So memory is read and written once, however many codecs there are.

use crate::element::{ElementType, NumberType, element_bits};
use crate::kernel::cast::Cast;
use crate::kernel::keep_bits::{BitRound, KeepBits};
use crate::kernel::numcodecs::ElementFilter;
use crate::kernel::quantize::{Quantize, QuantizeFigures};
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::transpose::swap;
use crate::kernel::unpack::Unpack;
use crate::kernel::{ElementFault, Rounding};

/// Elements of a tile. Two tiles of 8-byte elements fill 32 KiB of a level 1 cache of 48 KiB, or spill a little.
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
    /// A cast, in either direction of `cast_value`.
    Cast(Cast),
    /// A change of the data type, which counts values that it rounds to integers.
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

/// Steps that convert elements of one representation to another, one by one.
#[derive(Debug, Clone)]
pub struct ValueProgram {
    /// Each step with the codec that it runs, and the bytes of an element after it.
    steps: Vec<Step>,
    source_size: usize,
}

/// The codec or change of a step, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOrigin {
    /// The codec at this index in the source's chain, decoding.
    Source(usize),
    /// The codec at this index in the destination's chain, encoding.
    Destination(usize),
    /// The change of the array's data type.
    DataType,
}

/// The fault of a step at an element that it cannot convert.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgramFault {
    /// The reason, and the element's index in the buffer.
    pub fault: ElementFault,
    /// The step.
    pub origin: StepOrigin,
    /// The bits of the step's input value, zero-extended.
    pub bits: u64,
    /// The types on both sides of the step.
    pub types: Option<(NumberType, NumberType)>,
}

/// Two scratch tiles of a thread.
#[derive(Debug, Default)]
pub struct Tiles([Vec<u8>; 2]);

impl ValueStep {
    /// Returns the types on both sides, for messages. A byte swap has none.
    fn types(&self) -> Option<(NumberType, NumberType)> {
        match self {
            ValueStep::Swap(_) | ValueStep::BitRound(_) | ValueStep::KeepBits(_) => None,
            ValueStep::ScaleEncode(codec) | ValueStep::ScaleDecode(codec) => {
                Some((codec.number_type, codec.number_type))
            }
            ValueStep::Cast(cast) => Some((cast.options.source, cast.options.target)),
            ValueStep::Convert(cast) => Some((cast.options.source, cast.options.target)),
            ValueStep::FilterEncode(filter) => Some(filter.types),
            ValueStep::FilterDecode(filter) => Some((filter.types.1, filter.types.0)),
            ValueStep::Unpack(unpack) => Some((unpack.source, unpack.target)),
            ValueStep::Quantize(quantize) => Some((quantize.options.source, quantize.options.target)),
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
                cast.convert(source, target)?;
                if let Some(figures) = figures {
                    cast.count(source, target, figures);
                }
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
    /// Makes a program without steps for elements of `source_size` bytes.
    pub fn new(source_size: usize) -> Self {
        ValueProgram { steps: Vec::new(), source_size }
    }

    /// Appends a step.
    pub fn push(&mut self, step: ValueStep, origin: StepOrigin) {
        // Only steps that keep the element's size have no types.
        let size = step.types().map_or(self.sizes().1, |(_, target)| target.size());
        self.steps.push((step, origin, size));
    }

    /// Returns the program with a cast of its results, numbers of this type, to float64.
    #[must_use]
    pub fn to_float64(mut self, source: NumberType) -> Self {
        let target = NumberType::of(ElementType::Float64);
        if source != target {
            let cast = Cast::with_rounding(source, target, Rounding::NearestEven);
            self.push(ValueStep::Cast(cast), StepOrigin::DataType);
        }
        self
    }

    /// Replaces `numbers` with the results of a program of [`Self::to_float64`].
    pub fn numbers(&self, source: &[u8], numbers: &mut Vec<f64>, tiles: &mut Tiles) -> Result<(), ProgramFault> {
        numbers.resize(source.len() / self.source_size, 0.0);
        self.run_into(source, bytemuck::cast_slice_mut(numbers), tiles, None)
    }

    /// Returns true if a value can cause a fault, or counts in figures.
    pub fn is_fallible(&self) -> bool {
        let is_infallible = |step: &ValueStep| {
            // Figures count only elements, not padding.
            matches!(step, ValueStep::Swap(_) | ValueStep::BitRound(_) | ValueStep::Unpack(_))
        };
        self.steps.iter().any(|(step, ..)| !is_infallible(step))
    }

    /// Returns the bytes of an element before and after.
    pub fn sizes(&self) -> (usize, usize) {
        (self.source_size, self.steps.last().map_or(self.source_size, |step| step.2))
    }

    /// Runs the steps over a buffer of elements into `target` (resized to fit). A trailing part of an element is
    /// ignored.
    pub fn run(
        &self,
        source: &[u8],
        target: &mut Vec<u8>,
        tiles: &mut Tiles,
        figures: Option<&mut QuantizeFigures>,
    ) -> Result<(), ProgramFault> {
        target.resize(source.len() / self.source_size * self.sizes().1, 0);
        self.run_into(source, target, tiles, figures)
    }

    /// Returns the result of the steps for some elements. `None` if one of them has no result.
    pub fn run_alone(&self, elements: &[u8]) -> Option<Vec<u8>> {
        let mut target = Vec::new();
        self.run(elements, &mut target, &mut Tiles::default(), None).ok().map(|()| target)
    }

    /// Runs the steps into a slice that has the length of the result.
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
        // A single step needs no tiles, so it runs over all elements at once.
        let is_single = before.is_empty();
        // `chunks` does not accept a length of 0.
        let tile = if is_single { (source.len() / self.source_size).max(1) } else { TILE };
        let source_tiles = source.chunks(tile * self.source_size);
        let target_tiles = target.chunks_mut(tile * last.2);
        for (number, (source, target)) in source_tiles.zip(target_tiles).enumerate() {
            let count = source.len() / self.source_size;
            let [mut current, mut spare] = tiles.0.each_mut();
            for (place, step) in before.iter().enumerate() {
                let (kernel, _, after) = step;
                spare.resize(count * after, 0);
                let input: &[u8] = if place == 0 { source } else { current };
                let ran = kernel.run(input, spare, figures.as_deref_mut());
                ran.map_err(|fault| Self::fault(step, fault, input, number * TILE))?;
                std::mem::swap(&mut current, &mut spare);
            }
            let input: &[u8] = if is_single { source } else { current };
            let ran = last.0.run(input, target, figures.as_deref_mut());
            ran.map_err(|fault| Self::fault(last, fault, input, number * TILE))?;
        }
        Ok(())
    }

    fn fault((step, origin, _): &Step, fault: ElementFault, input: &[u8], first: usize) -> ProgramFault {
        // A step without types has no faults.
        let size = step.types().map_or(1, |(source, _)| source.size());
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
