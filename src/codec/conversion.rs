//! Conversion of a chunk from one chain to another, in the cheapest way. The ways are to copy the encoded bytes, to run
//! only differing bytes->bytes codecs, to make one fused pass over the values, or to decode and encode everything.

use std::ops::Range;

use super::chain::{BindError, BoundChain, BoundCodec, Codec, ForShape, PerShape, Workspace};
use super::fault::{ChainFault, CodecError, number_value};
use super::kinds::Effect;
use super::region::{as_index, copy_box};
use super::value_program::{ProgramFault, StepOrigin, Tiles, ValueProgram, ValueStep};
use super::{element_bits, is_filled_with};
use crate::data_type::DataType;
use crate::grid::unravel;
use crate::kernel::cast::Cast;
use crate::kernel::quantize::QuantizeFigures;
use crate::kernel::transpose::Transpose;
use crate::kernel::unpack::Unpack;
use crate::memory::resize;
use crate::metadata::Object;
use crate::metadata::v2::with_little_endian_types;
use crate::pipeline::ArrayRepresentation;

/// The change of values between the two chains. By default there is none.
#[derive(Debug, Clone, Default)]
pub struct ValueConversion {
    /// The steps from values of the source to those of the destination: the unpacking of integers by CF attributes, and
    /// then a change of the data type, or a kernel with error figures.
    pub steps: Vec<ValueStep>,
    /// The number of leading codecs of the destination that the last step replaces: `scale_offset` and `cast_value`, or
    /// `bitround`. If a quantisation replaces none, the codes become the array itself.
    pub num_codecs: usize,
}

impl ValueConversion {
    /// Makes a change of one step that replaces no codec.
    pub fn of(step: ValueStep) -> Self {
        ValueConversion { steps: vec![step], num_codecs: 0 }
    }

    /// Returns true if no value changes.
    pub fn is_none(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the unpacking of this change, if there is one, and then a kernel that replaces codecs.
    #[must_use]
    pub fn then(mut self, kernel: ValueStep, num_codecs: usize) -> Self {
        self.steps.retain(|step| matches!(step, ValueStep::Unpack(_)));
        self.steps.push(kernel);
        ValueConversion { num_codecs, ..self }
    }

    /// Returns the unpacking of integers to floats, if there is one.
    pub fn unpacking(&self) -> Option<&Unpack> {
        if let Some(ValueStep::Unpack(unpack)) = self.steps.first() { Some(unpack) } else { None }
    }
}

/// The result of converting a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Converted {
    /// Encoded bytes were written.
    Written,
    /// The chunk contains only the destination's fill value, and is not written.
    Empty,
}

/// A source chunk that is decoded by the codecs from `index` on.
#[derive(Debug, Clone, Copy)]
pub struct PartlyDecoded<'a> {
    /// The representation of the chunk before codec `index`.
    pub bytes: &'a [u8],
    /// The number of codecs that still have to be decoded.
    pub index: usize,
}

/// A planned conversion from one chain to another.
#[derive(Debug, Clone)]
pub struct Conversion {
    /// The chain that is read.
    pub source: BoundChain,
    /// The chain that is written.
    pub destination: BoundChain,
    path: ConversionPath,
    /// The pass over values in the shape of the array. Chunks that are not whole may need it, whatever the path is.
    whole: Pass,
    /// The element beyond the edge of the array, before the destination's codecs that still run.
    padding: Vec<u8>,
    /// True if values beyond the edge are reset, not converted. They may be NaN, which would spoil elements inside, or
    /// values that cannot be converted.
    resets_padding: bool,
    write_empty: bool,
    /// The change of values, to make conversions for chunks of other shapes.
    change: ValueConversion,
    by_shape: PerShape<Conversion>,
}

#[derive(Debug, Clone)]
enum ConversionPath {
    /// The chains are equal up to codec `keep`. Only later codecs run.
    Bytes { keep: usize },
    /// One pass over the values, together with the value codecs of both chains.
    Fused(Box<Pass>),
    /// All codecs, one by one, with a change of values between the chains.
    Whole,
}

impl Conversion {
    /// Plans the conversion between chains for chunks of the same shape. A quantisation replaces the leading codecs of
    /// the destination. It fails if other codecs precede these, since they would be left out.
    pub fn new(
        source: BoundChain,
        destination: BoundChain,
        change: &ValueConversion,
        write_empty: bool,
    ) -> Result<Self, BindError> {
        check_applied(&destination, change)?;
        let is_same = change.is_none() && source.decoded().data_type == destination.decoded().data_type;
        let keep = if is_same { common_prefix(&source, &destination) } else { 0 };
        let rounded = if is_same { num_rounded(&source, &destination) } else { 0 };
        // With more equal codecs than the array->array ones, the array->bytes codec is equal, too. So there are equal
        // bytes, and no element has to be decoded.
        let path = if is_same && keep > source.num_array_to_array() {
            ConversionPath::Bytes { keep }
        } else if source.checks_values() {
            // Elements have to be in the shape of the array: only there can they be told from padding.
            ConversionPath::Whole
        } else if let Some(fused) = Pass::fused(&source, &destination, change, keep)? {
            ConversionPath::Fused(Box::new(fused))
        } else if keep > 0 && changes_no_value(&destination, keep) {
            ConversionPath::Bytes { keep }
        } else {
            ConversionPath::Whole
        };
        let whole = Pass::whole(&source, &destination, change, rounded);
        let padding = padding(&destination, whole.encoded_from);
        let (change, by_shape, resets_padding) = (change.clone(), PerShape::default(), false);
        let mut conversion =
            Conversion { source, destination, path, whole, padding, resets_padding, write_empty, change, by_shape };
        // `Whole` leaves padding out in any case, and `Bytes` converts no value.
        let is_fallible = matches!(&conversion.path, ConversionPath::Fused(pass) if pass.program.is_fallible());
        conversion.resets_padding = is_fallible || spreads(&conversion.destination, conversion.kept());
        Ok(conversion)
    }

    /// Returns the conversion for chunks of another shape.
    pub fn for_shape(&self, shape: &[u64]) -> Result<ForShape<'_, Conversion>, BindError> {
        if self.source.decoded().shape == shape {
            return Ok(ForShape::Same(self));
        }
        let make = || {
            let (source, destination) = (self.source.for_shape(shape)?, self.destination.for_shape(shape)?);
            Conversion::new(source.clone(), destination.clone(), &self.change, self.write_empty)
        };
        self.by_shape.get(shape, make).map(ForShape::Made)
    }

    /// Returns true if encoded chunks stay unchanged.
    pub fn is_copy(&self) -> bool {
        let kept = self.source.codecs().len();
        matches!(self.path, ConversionPath::Bytes { keep } if keep == kept && keep == self.destination.codecs().len())
    }

    /// Returns the number of leading codecs of both chains that do not run.
    pub fn kept(&self) -> usize {
        match &self.path {
            ConversionPath::Bytes { keep } => *keep,
            ConversionPath::Fused(pass) => pass.keep,
            ConversionPath::Whole => self.whole.keep,
        }
    }

    /// Returns the number of leading codecs of both chains that round. Values do not pass them again.
    pub fn num_rounded(&self) -> usize {
        self.whole.keep
    }

    /// Encodes elements that the change of values has converted. Their rounding replaces the codec that rounds.
    pub fn encode_changed(
        &self,
        elements: &[u8],
        encoded: &mut Vec<u8>,
        scratch: &mut Workspace,
    ) -> Result<(), ChainFault> {
        let is_rounded = matches!(self.change.steps.last(), Some(ValueStep::KeepBits(_)));
        self.destination.encode_from(if is_rounded { self.change.num_codecs } else { 0 }, elements, encoded, scratch)
    }

    /// Returns true if chunks are decoded to elements.
    pub fn decodes_elements(&self) -> bool {
        !matches!(self.path, ConversionPath::Bytes { .. })
    }

    /// Returns the path of a chunk, which may have elements beyond the edge of the array.
    fn path_of(&self, has_padding: bool) -> &ConversionPath {
        if has_padding && self.resets_padding { &ConversionPath::Whole } else { &self.path }
    }

    /// Returns the bytes needed to convert: both encoded chunks and all intermediate ones, more if the array has edges.
    pub fn buffer_bytes(&self, has_edges: bool) -> u64 {
        let (source, destination) = (&self.source, &self.destination);
        let (longest_source, longest_destination) = (source.codecs().len(), destination.codecs().len());
        let elements = source.decoded_bytes().max(destination.decoded_bytes());
        let buffers = |decoded_steps, done| source.buffer_bytes(decoded_steps).max(destination.buffer_bytes(done));
        let parts = match self.path_of(has_edges) {
            ConversionPath::Bytes { keep } => {
                let buffers = buffers(longest_source - keep, longest_destination - keep);
                [source.max_representation_bytes(), buffers, 0, 0]
            }
            ConversionPath::Fused(pass) => {
                let decoded_steps = longest_source - pass.decoded_to + 1;
                let done = longest_destination - pass.encoded_from + 1;
                let first = if decoded_steps > 1 { source.max_representation_bytes() } else { 0 };
                let permuted = if pass.transpose.is_some() { elements } else { 0 };
                let second = if done > 1 || pass.transpose.is_some() { elements } else { 0 };
                // `bytes` is part of the pass, so one codec less runs by itself.
                let buffers = if decoded_steps.max(done) > 2 { buffers(decoded_steps, done) } else { 0 };
                [first, second, permuted, buffers]
            }
            ConversionPath::Whole => {
                let cropped = if has_edges { elements } else { 0 };
                let buffers = buffers(longest_source, longest_destination);
                [source.decoded_bytes(), destination.decoded_bytes(), cropped, buffers]
            }
        };
        let sides = [source, destination].map(|chain| chain.encoded_bytes().saturating_add(chain.context_bytes()));
        parts.into_iter().chain(sides).fold(0, u64::saturating_add)
    }

    /// Converts a chunk into `target`. `valid` is the shape of the part inside the array, if not all is inside. Values
    /// beyond it become the fill value, and do not count in figures. They may be padding, which some paths convert. If
    /// the part `is_selected`, they are elements of the array outside a selection, and are not converted.
    pub fn run(
        &self,
        source: PartlyDecoded<'_>,
        (valid, is_selected): (Option<&[u64]>, bool),
        target: &mut Vec<u8>,
        buffers: &mut ConversionBuffers,
        figures: &mut QuantizeFigures,
    ) -> Result<Converted, ChainFault> {
        match self.path_of(valid.is_some()) {
            ConversionPath::Bytes { keep } if !is_selected => {
                let ConversionBuffers { first, workspace, .. } = buffers;
                // A chunk may be decoded further than necessary. The codecs up to `keep` are equal in both chains, so
                // the destination encodes with them again.
                if *keep >= source.index {
                    self.destination.encode_from(source.index, source.bytes, target, workspace)?;
                } else {
                    self.source.decode_between(*keep..source.index, source.bytes, first, workspace)?;
                    self.destination.encode_from(*keep, first, target, workspace)?;
                }
                Ok(Converted::Written)
            }
            ConversionPath::Fused(pass) if !is_selected => self.run_pass(pass, source, None, target, buffers, figures),
            _ => self.run_pass(&self.whole, source, valid, target, buffers, figures),
        }
    }

    /// Decodes, runs a pass over the values, and encodes. Only a pass in the shape of the array can leave out elements.
    fn run_pass(
        &self,
        pass: &Pass,
        source: PartlyDecoded<'_>,
        valid: Option<&[u64]>,
        target: &mut Vec<u8>,
        buffers: &mut ConversionBuffers,
        figures: &mut QuantizeFigures,
    ) -> Result<Converted, ChainFault> {
        let ConversionBuffers { first, second, third, workspace } = buffers;
        let mut elements = source.bytes;
        if pass.decoded_to != source.index {
            self.source.decode_between(pass.decoded_to..source.index, source.bytes, first, workspace)?;
            elements = first;
        }
        self.source.check_before(pass.decoded_to, elements.len())?;
        let (source_size, target_size) = pass.program.sizes();
        let (shape, count, origin) =
            (&pass.shape, elements.len() / source_size, vec![0; valid.map_or(0, <[u64]>::len)]);
        if let Some(valid) = valid {
            let size = as_index(valid.iter().product::<u64>()).saturating_mul(source_size);
            resize(third, size).map_err(ChainFault::memory)?;
            copy_box((elements, shape, &origin), (third, valid, &origin), valid, source_size);
            elements = third;
        }
        let present = valid.unwrap_or(shape);
        // The elements are cropped by now, so all of them are inside the array.
        self.source.check_values(elements, present, present)?;
        let is_last = pass.encoded_from == self.destination.codecs().len();
        let is_moved = valid.is_some() || pass.transpose.is_some();
        let values = if is_last && !is_moved { &mut *target } else { &mut *second };
        resize(values, elements.len() / source_size * target_size).map_err(ChainFault::memory)?;
        let ran = pass.program.run(elements, values, &mut workspace.tiles, Some(figures));
        ran.map_err(|fault| self.element_fault(&fault, present, &pass.to_array))?;
        // This comes before padding is added: a chunk is left out if its elements inside the array are all the fill
        // value.
        if self.is_left_out(pass, values) {
            return Ok(Converted::Empty);
        }
        let moved = if is_last { &mut *target } else { &mut *third };
        if let Some(valid) = valid {
            moved.clear();
            moved.extend(self.padding.iter().cycle().take(count * target_size));
            copy_box((second, valid, &origin), (moved, shape, &origin), valid, target_size);
        } else if let Some(transpose) = &pass.transpose {
            resize(moved, second.len()).map_err(ChainFault::memory)?;
            let permuting = transpose.encode(second, moved);
            permuting.map_err(|error| ChainFault::new("0", "transpose", CodecError::bytes(error)).of_encoding())?;
        }
        if !is_last {
            let elements: &[u8] = if is_moved { third } else { second };
            self.destination.encode_from(pass.encoded_from, elements, target, workspace)?;
        }
        Ok(Converted::Written)
    }

    /// Returns true if a chunk after the pass contains only the fill value, and is not written.
    fn is_left_out(&self, pass: &Pass, values: &[u8]) -> bool {
        let fill = pass.fill.as_ref().filter(|_| !self.write_empty);
        fill.is_some_and(|fill| is_filled_with(values, fill))
    }

    /// Returns the bytes of both elements if encoded chunks are elements that one pass converts to an encoded chunk.
    /// Such a chunk can be converted in pieces while it is read. `None` otherwise.
    pub fn streams(&self) -> Option<(usize, usize)> {
        let ConversionPath::Fused(pass) = &self.path else { return None };
        let ends = (self.source.codecs().len(), self.destination.codecs().len());
        let is_straight = (pass.decoded_to, pass.encoded_from) == ends && pass.transpose.is_none();
        // The number of bytes in a piece of the read is a power of two. So it never cuts an element of such a size.
        is_straight.then(|| pass.program.sizes()).filter(|(source, _)| source.is_power_of_two())
    }

    /// Converts a piece of a chunk that [`Conversion::streams`]. It begins at byte `offset` of the encoded chunk.
    pub fn run_piece(
        &self,
        piece: &[u8],
        offset: u64,
        target: &mut [u8],
        buffers: &mut ConversionBuffers,
        figures: &mut QuantizeFigures,
    ) -> Result<(), ChainFault> {
        let ConversionPath::Fused(pass) = &self.path else { return Ok(()) };
        let size = pass.program.sizes().0.max(1);
        pass.program.run_into(piece, target, &mut buffers.workspace.tiles, Some(figures)).map_err(|mut fault| {
            fault.fault.index += as_index(offset) / size;
            self.element_fault(&fault, &pass.shape, &pass.to_array)
        })
    }

    /// Returns true if an encoded chunk of a destination that [`Conversion::streams`] contains only the fill value.
    pub fn is_streamed_empty(&self, encoded: &[u8]) -> bool {
        matches!(&self.path, ConversionPath::Fused(pass) if self.is_left_out(pass, encoded))
    }

    /// Makes a codec fault from a fault of the program, with the element's position in the array's chunk.
    fn element_fault(&self, fault: &ProgramFault, shape: &[u64], to_array: &[usize]) -> ChainFault {
        let encoded = unravel(fault.fault.index as u64, shape);
        let kind = CodecError::Element {
            fault: fault.fault,
            position: Some(to_array.iter().map(|dimension| encoded[*dimension]).collect()),
            bits: fault.bits,
            types: fault.types,
        };
        match fault.origin {
            StepOrigin::Source(index) => self.source.codecs()[index].fault(index, kind.into()),
            StepOrigin::Destination(index) => self.destination.codecs()[index].fault(index, kind.into()).of_encoding(),
            StepOrigin::DataType => ChainFault::new("-", "change of data type", kind),
        }
    }
}

/// Buffers that a thread reuses for each chunk.
#[derive(Debug, Default)]
pub struct ConversionBuffers {
    first: Vec<u8>,
    second: Vec<u8>,
    third: Vec<u8>,
    /// Used by the codecs.
    pub workspace: Workspace,
}

/// Checks that a change's kernel can replace the leading codecs of a chain.
fn check_applied(chain: &BoundChain, change: &ValueConversion) -> Result<(), BindError> {
    let rounds = matches!(change.steps.last(), Some(ValueStep::KeepBits(_)));
    for index in 0..change.num_codecs {
        let codec = chain.codecs().get(index);
        let is_replaced = match codec.map(|codec| codec.codec.effect()) {
            Some(Effect::ScaleOffset(_) | Effect::Cast { .. }) => !rounds,
            Some(Effect::BitRound(_)) => rounds,
            _ => false,
        };
        if !is_replaced {
            let name = codec.map_or_else(|| "-".to_owned(), |codec| codec.metadata.name.clone());
            let leading = if rounds { "`bitround`" } else { "`scale_offset` and `cast_value`" };
            let because = format!(", but {leading} must come first in the chain");
            return Err(BindError::Unsupported { index, name, because });
        }
    }
    Ok(())
}

/// Returns true if the codecs from index `first` on accept any value, so that padding cannot fail.
fn changes_no_value(chain: &BoundChain, first: usize) -> bool {
    chain.codecs().iter().skip(first).all(|codec| match codec.codec.effect() {
        Effect::Bytes { check, .. } => check.is_none(),
        Effect::Transpose(_) | Effect::Reshape => true,
        _ => matches!(codec.codec, Codec::BytesToBytes(_)),
    })
}

/// Returns true for equal configurations of a numcodecs filter. The `view` decides the byte order, so the byte orders
/// in the configurations are ignored.
fn same_filter(name: &str, a: &Object, b: &Object) -> bool {
    name.starts_with("numcodecs.") && with_little_endian_types(a).same_value(&with_little_endian_types(b))
}

/// Returns the number of leading codecs of both chains that round values to the same bits. Rounded values pass them
/// unchanged, but missing values may not have been rounded.
pub fn num_rounded(source: &BoundChain, destination: &BoundChain) -> usize {
    let rounding = |codec: &BoundCodec| match codec.codec.effect() {
        Effect::BitRound(rounding) => Some(rounding),
        _ => None,
    };
    let is_same =
        |(one, other): &(&BoundCodec, &BoundCodec)| rounding(one).is_some() && rounding(one) == rounding(other);
    source.codecs().iter().zip(destination.codecs()).take_while(is_same).count()
}

/// Returns the number of equal leading codecs of both chains.
fn common_prefix(source: &BoundChain, destination: &BoundChain) -> usize {
    let alike = |(a, b): &(&BoundCodec, &BoundCodec)| {
        a.metadata.name == b.metadata.name
            && a.metadata.view == b.metadata.view
            // The fill value is part of it: absent inner chunks of a shard stand for the fill value.
            && a.decoded == b.decoded
            && match (&a.metadata.configuration, &b.metadata.configuration) {
                (Some(one), Some(other)) => one.same_value(other) || same_filter(&a.metadata.name, one, other),
                (a, b) => a.is_none() && b.is_none(),
            }
    };
    source.codecs().iter().zip(destination.codecs()).take_while(alike).count()
}

// One pass over the values of a chunk, between the codecs of two chains that run by themselves. Its steps are value
// codecs of both chains, and the change of values.

/// Appends the change of values between two chains.
pub fn push_change(program: &mut ValueProgram, change: &ValueConversion) {
    change.steps.iter().for_each(|step| program.push(step.clone(), StepOrigin::DataType));
}

/// Returns true if a codec does not return every number exactly: `delta` of floats, or a compressor that rounds.
pub fn rounds(codec: &BoundCodec) -> bool {
    matches!(codec.codec.effect(), Effect::Delta(delta) if !delta.is_exact()) || codec.codec.max_loss().is_some()
}

/// Returns true if a codec from index `first` on would spoil elements next to a non-finite one. `delta` of floats loses
/// all elements after a NaN in their chunk.
fn spreads(chain: &BoundChain, first: usize) -> bool {
    chain.codecs()[first..].iter().any(rounds)
}

/// Returns the fill value that is written beyond the edge of an array. An infinite or NaN fill value becomes 0 if a
/// codec of the chain would spoil its neighbours.
pub fn beyond_edge(chain: &BoundChain, data_type: &DataType, fill: &[u8]) -> Vec<u8> {
    let is_finite = data_type.number().is_none_or(|number| number_value(number, element_bits(fill)).is_finite());
    if !is_finite && spreads(chain, 0) { vec![0; fill.len()] } else { fill.to_vec() }
}

/// Returns the element beyond the edge of an array, before codec `first`: the fill value or 0. If filters cannot encode
/// that, it is the decoded value of code 0. Nobody reads the element, so it must not prevent writing a chunk.
fn padding(chain: &BoundChain, first: usize) -> Vec<u8> {
    let array = array_before(chain, first);
    let size = array.data_type.size().unwrap_or(1);
    let fill =
        array.fill_value.as_ref().map_or_else(|| vec![0; size], |fill| beyond_edge(chain, &array.data_type, &fill.0));
    let is_filter = |index: usize| matches!(chain.codecs()[index].codec.effect(), Effect::Filter { .. });
    let range = value_codecs(chain, first);
    if !range.clone().any(is_filter) {
        return fill;
    }
    let [forward, backward] = both_ways(chain, range);
    let (mut code, mut tiles) = (Vec::new(), Tiles::default());
    if forward.run(&fill, &mut code, &mut tiles, None).is_ok() {
        return fill;
    }
    let (zero, mut element) = (vec![0; forward.sizes().1], Vec::new());
    let decodes = backward.run(&zero, &mut element, &mut tiles, None).is_ok();
    if decodes && forward.run(&element, &mut code, &mut tiles, None).is_ok() { element } else { fill }
}

/// Returns a program that runs the value codecs of a chain forward and back, as any reader sees the values. It is empty
/// if the values have passed the first `kept` codecs and no other codec changes them.
pub fn round_trip(chain: &BoundChain, kept: usize) -> ValueProgram {
    let mut program = ValueProgram::new(chain.decoded().data_type.size().unwrap_or(1));
    let moves = |codec: &BoundCodec| matches!(codec.codec.effect(), Effect::Transpose(_) | Effect::Reshape);
    let is_array = |codec: &&BoundCodec| codec.encoded.array().is_some();
    if kept > 0 && chain.codecs().iter().skip(kept).take_while(is_array).all(moves) {
        return program;
    }
    let range = value_codecs(chain, 0);
    range.clone().for_each(|index| push_codec(&mut program, chain, index, true));
    range.rev().for_each(|index| push_codec(&mut program, chain, index, false));
    program
}

/// Returns programs for the codecs of a chain up to the one at index `last`, forward and backward. `None` if one of
/// them does not convert each element by itself.
pub fn value_programs(chain: &BoundChain, last: usize) -> Option<[ValueProgram; 2]> {
    chain.decoded().data_type.size()?;
    value_codecs(chain, 0).contains(&last).then(|| both_ways(chain, 0..last + 1))
}

/// Returns programs for the codecs in `range`, forward and backward.
fn both_ways(chain: &BoundChain, range: Range<usize>) -> [ValueProgram; 2] {
    let mut forward = ValueProgram::new(array_before(chain, range.start).data_type.size().unwrap_or(1));
    range.clone().for_each(|index| push_codec(&mut forward, chain, index, true));
    let mut backward = ValueProgram::new(forward.sizes().1);
    range.rev().for_each(|index| push_codec(&mut backward, chain, index, false));
    [forward, backward]
}

/// Returns true if what a reader gets for an element depends on that element of the array alone, from codec `first`
/// on. Sums of floats depend on all elements before. So do values that are rounded after the differences.
pub fn depends_on_one_element(chain: &BoundChain, first: usize) -> bool {
    let is_array = |codec: &&BoundCodec| codec.encoded.array().is_some();
    let mut effects = chain.codecs().iter().skip(first).take_while(is_array).map(|codec| codec.codec.effect());
    let keeps = |effect: Effect<'_>| match effect {
        Effect::Transpose(_) | Effect::Reshape | Effect::Packs => true,
        Effect::Cast { encode, decode } => encode.is_identity() && decode.is_identity(),
        Effect::Delta(delta) => delta.is_exact(),
        _ => false,
    };
    // Codecs before the first differences may round, because they see each element alone. `all` checks those after it.
    effects.by_ref().find(|effect| matches!(effect, Effect::Delta(_))).is_none_or(keeps) && effects.all(keeps)
}

/// Returns the range of array->array codecs from `first` on, up to one that does not convert each element by itself.
fn value_codecs(chain: &BoundChain, first: usize) -> Range<usize> {
    let goes_on = |codec: &&BoundCodec| {
        let is_by_element = !matches!(codec.codec.effect(), Effect::Delta(_) | Effect::Packs);
        codec.encoded.array().is_some() && is_by_element
    };
    first..first + chain.codecs().iter().skip(first).take_while(goes_on).count()
}

/// Returns the array before the codec at `index`.
fn array_before(chain: &BoundChain, index: usize) -> &ArrayRepresentation {
    chain.codecs().get(index).and_then(|codec| codec.decoded.array()).unwrap_or(chain.decoded())
}

/// Appends the effect on values of a codec that encodes or decodes.
fn push_codec(program: &mut ValueProgram, chain: &BoundChain, index: usize, encodes: bool) {
    let origin = if encodes { StepOrigin::Destination(index) } else { StepOrigin::Source(index) };
    let steps = match chain.codecs()[index].codec.effect() {
        Effect::ScaleOffset(codec) if encodes => [Some(ValueStep::ScaleEncode(codec.clone())), None],
        Effect::ScaleOffset(codec) => [Some(ValueStep::ScaleDecode(codec.clone())), None],
        Effect::Cast { encode, decode } => [Some(ValueStep::Cast(if encodes { encode } else { decode }.clone())), None],
        Effect::Filter { filter, swap } if encodes => {
            [swap.map(ValueStep::Swap), Some(ValueStep::FilterEncode(filter.clone()))]
        }
        Effect::Filter { filter, swap } => [Some(ValueStep::FilterDecode(filter.clone())), swap.map(ValueStep::Swap)],
        Effect::BitRound(codec) if encodes => [Some(ValueStep::BitRound(codec)), None],
        _ => [None, None],
    };
    steps.into_iter().flatten().for_each(|step| program.push(step, origin));
}

/// A pass over the values of a chunk, and its position in both chains.
#[derive(Debug, Clone)]
struct Pass {
    program: ValueProgram,
    /// The codecs of the source from this index on are decoded before the pass.
    decoded_to: usize,
    /// The codecs of the destination from this index on encode the result of the pass.
    encoded_from: usize,
    /// The number of leading codecs of both chains that do not run.
    keep: usize,
    /// The shape of the elements before the pass.
    shape: Vec<u64>,
    /// The dimension of that shape for each dimension of the array, to name an element.
    to_array: Vec<usize>,
    /// Permutes the elements after the pass.
    transpose: Option<Transpose>,
    /// The bytes of the destination's fill value after the pass.
    fill: Option<Vec<u8>>,
}

/// Returns the index of the first codec that runs by itself after the pass. `index` is the index of the codec after the
/// value codecs. If it is `bytes`, it is part of the pass, and the result is the next index. `None` if the codec cannot
/// follow a pass: it must be `bytes`, another codec of fixed-size elements, or compute differences.
fn pass_end(chain: &BoundChain, index: usize) -> Option<usize> {
    match chain.codecs().get(index)?.codec.effect() {
        Effect::Bytes { .. } => Some(index + 1),
        Effect::Compress => Some(index),
        _ => chain.takes_differences_at(index).then_some(index),
    }
}

impl Pass {
    /// Plans a pass in the shape of the array. Values do not pass the `rounded` leading codecs again.
    fn whole(source: &BoundChain, destination: &BoundChain, change: &ValueConversion, rounded: usize) -> Self {
        let ArrayRepresentation { data_type, shape, .. } = source.decoded();
        let mut program = ValueProgram::new(data_type.size().unwrap_or(1));
        push_change(&mut program, change);
        let fill = array_before(destination, change.num_codecs).fill_value.as_ref();
        Pass {
            program,
            decoded_to: 0,
            encoded_from: change.num_codecs.max(rounded),
            keep: rounded,
            shape: shape.clone(),
            to_array: (0..shape.len()).collect(),
            transpose: None,
            fill: fill.map(|fill| fill.0.clone()),
        }
    }

    /// Plans a fused pass. `None` unless both chains consist of value codecs, transposes, and `bytes` or another codec
    /// of fixed-size elements. `None` also if the destination has a filter that runs.
    fn fused(
        source: &BoundChain,
        destination: &BoundChain,
        change: &ValueConversion,
        keep: usize,
    ) -> Result<Option<Self>, BindError> {
        let (first, last) = (source.num_in_one_pass(), destination.num_in_one_pass());
        let (Some(decoded_to), Some(encoded_from)) = (pass_end(source, first), pass_end(destination, last)) else {
            return Ok(None);
        };
        // Equal codecs before differences are decoded together with these.
        let keep = keep.min(first).min(last);
        // A filter's codes may represent other values than the fill value, too. So chunks of only the fill value are
        // found before a filter.
        let is_filter = |codec: &BoundCodec| matches!(codec.codec.effect(), Effect::Filter { .. });
        if destination.codecs().iter().skip(keep).any(is_filter) {
            return Ok(None);
        }
        let encoded = array_before(source, first);
        let mut program = ValueProgram::new(encoded.data_type.size().unwrap_or(1));
        if let Effect::Bytes { swap, check } = source.codecs()[first].codec.effect() {
            let steps = swap.map(ValueStep::Swap).into_iter().chain(check.cloned().map(ValueStep::Cast));
            steps.for_each(|step| program.push(step, StepOrigin::Source(first)));
        }
        // Dimension i of the current shape is dimension order[i] of the source's encoded array.
        let straight: Vec<usize> = (0..encoded.shape.len()).collect();
        (keep..first).rev().for_each(|index| push_codec(&mut program, source, index, false));
        let before = |order, codec: &BoundCodec| codec.codec.effect().order_before(order);
        let mut order = source.codecs()[keep..first].iter().rev().fold(straight.clone(), before);
        // The kept codecs do not run, but a message names the element by its position in the array.
        let to_array = source.codecs()[..keep].iter().rev().fold(order.clone(), before);
        push_change(&mut program, change);
        for index in keep.max(change.num_codecs)..last {
            push_codec(&mut program, destination, index, true);
            order = destination.codecs()[index].codec.effect().order_after(order);
        }
        let written = array_before(destination, last);
        // The fill value is compared with the result of the pass. So it gets the byte order of `bytes`, too, see below.
        let mut fill = written.fill_value.as_ref().map(|fill| fill.0.clone());
        if let Effect::Bytes { swap, .. } = destination.codecs()[last].codec.effect() {
            // This is the reverse of the source's order: the range is checked before the bytes are swapped.
            let check = written.data_type.number().and_then(Cast::range_check).map(ValueStep::Cast);
            let steps = check.into_iter().chain(swap.map(ValueStep::Swap));
            steps.for_each(|step| program.push(step, StepOrigin::Destination(last)));
            let components = fill.iter_mut().zip(swap).flat_map(|(fill, width)| fill.chunks_exact_mut(width));
            components.for_each(<[u8]>::reverse);
        }
        let is_turned = order != straight;
        let planned = is_turned.then(|| Transpose::new(&encoded.shape, &order, program.sizes().1));
        // Both arrays have been found to fit when the chains were bound.
        let too_large = || BindError::TooLarge { shape: encoded.shape.clone() };
        let transpose = planned.map(|planned| planned.ok_or_else(too_large)).transpose()?;
        let shape = encoded.shape.clone();
        Ok(Some(Pass { program, decoded_to, encoded_from, keep, shape, to_array, transpose, fill }))
    }
}
