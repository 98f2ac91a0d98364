//! One pass over the values of a chunk, from the encoded array of one chain to that of the other. Its steps are value
//! codecs.

use std::ops::Range;

use super::{Conversion, ConversionBuffers, ConversionPath, Converted, PartlyDecoded, ValueChange};
use crate::codec::chain::expect_size;
use crate::codec::fault::number_value;
use crate::codec::region::as_index;
use crate::codec::{
    BindError, BoundChain, BoundCodec, ChainFault, CodecError, Effect, StepOrigin, Tiles, ValueProgram, ValueStep,
    element_bits, is_filled_with,
};
use crate::data_type::DataType;
use crate::kernel::cast::Cast;
use crate::kernel::quantize::QuantizeFigures;
use crate::kernel::transpose::{Transpose, swap};
use crate::memory::resize;

/// Appends the change of values between two chains.
pub fn push_change(program: &mut ValueProgram, change: &ValueChange) {
    let step = match change {
        ValueChange::None => return,
        ValueChange::DataType(cast) => ValueStep::Convert(cast.clone()),
        ValueChange::Quantize { kernel, .. } => ValueStep::Quantize(kernel.clone()),
        ValueChange::KeepBits(kernel) => ValueStep::KeepBits(kernel.clone()),
        ValueChange::Unpack(unpack, then) => {
            program.push(ValueStep::Unpack(unpack.clone()), StepOrigin::DataType);
            return push_change(program, then);
        }
    };
    program.push(step, StepOrigin::DataType);
}

/// Returns true if a codec does not return every number exactly: `delta` of floats, or a compressor that rounds.
pub fn rounds(codec: &BoundCodec) -> bool {
    let is_delta = |effect: Effect<'_>| matches!(effect, Effect::Delta(delta) if !delta.is_exact());
    is_delta(codec.codec.effect()) || codec.codec.max_loss().is_some()
}

/// Returns true if a codec from index `first` on would spoil elements next to a non-finite one. `delta` of floats loses
/// all elements after a NaN in their chunk.
pub(super) fn spreads(chain: &BoundChain, first: usize) -> bool {
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
pub(super) fn padding(chain: &BoundChain, first: usize) -> Vec<u8> {
    let array = array_before(chain, first);
    let size = array.data_type.size().unwrap_or(1);
    let fill =
        array.fill_value.as_ref().map_or_else(|| vec![0; size], |fill| beyond_edge(chain, &array.data_type, &fill.0));
    let is_filter = |place: usize| matches!(chain.codecs()[place].codec.effect(), Effect::Filter { .. });
    let Some(places) = value_places(chain, first).filter(|places| places.clone().any(is_filter)) else {
        return fill;
    };
    let mut forward = ValueProgram::new(size);
    places.clone().for_each(|place| apply_values(chain, place, &mut forward));
    let (mut code, mut tiles) = (Vec::new(), Tiles::default());
    if forward.run(&fill, &mut code, &mut tiles, None).is_ok() {
        return fill;
    }
    let mut backward = ValueProgram::new(forward.sizes().1);
    places.rev().for_each(|place| undo_values(chain, place, &mut backward));
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
    let Some(places) = value_places(chain, 0) else { return program };
    places.clone().for_each(|place| apply_values(chain, place, &mut program));
    places.rev().for_each(|place| undo_values(chain, place, &mut program));
    program
}

/// Returns programs for the codecs of a chain up to the one at index `last`, forward and backward. `None` if one of
/// them does not convert each element by itself.
pub fn value_programs(chain: &BoundChain, last: usize) -> Option<[ValueProgram; 2]> {
    let places = value_places(chain, 0).filter(|places| places.contains(&last)).map(|_| 0..=last)?;
    let mut forward = ValueProgram::new(chain.decoded().data_type.size()?);
    places.clone().for_each(|place| apply_values(chain, place, &mut forward));
    let mut backward = ValueProgram::new(forward.sizes().1);
    places.rev().for_each(|place| undo_values(chain, place, &mut backward));
    Some([forward, backward])
}

/// Returns true if what a reader gets for an element depends on that element of the array alone, from codec `first`
/// on. Sums of floats depend on all elements before. So do values that are rounded after the differences.
pub fn depends_on_one_element(chain: &BoundChain, first: usize) -> bool {
    let is_array = |codec: &&BoundCodec| codec.encoded.array().is_some();
    let mut codecs = chain.codecs().iter().skip(first).take_while(is_array).map(|codec| codec.codec.effect());
    let exact = |effect: Effect<'_>| if let Effect::Delta(delta) = effect { delta.is_exact() } else { true };
    let keeps = |effect: Effect<'_>| match effect {
        Effect::Transpose(_) | Effect::Reshape | Effect::Packs => true,
        Effect::Cast { encode, decode } => encode.is_identity() && decode.is_identity(),
        _ => false,
    };
    codecs.by_ref().find(|effect| matches!(effect, Effect::Delta(_))).is_none_or(exact)
        && codecs.all(|effect| keeps(effect) || (matches!(effect, Effect::Delta(_)) && exact(effect)))
}

/// Returns the range of array->array codecs from `first` on, up to one that does not convert each element by itself.
fn value_places(chain: &BoundChain, first: usize) -> Option<Range<usize>> {
    let goes_on = |codec: &&BoundCodec| {
        let is_by_element = !matches!(codec.codec.effect(), Effect::Delta(_) | Effect::Packs);
        codec.encoded.array().is_some() && is_by_element
    };
    let count = chain.codecs().iter().skip(first).take_while(goes_on).count();
    (count > 0).then_some(first..first + count)
}

/// Returns the array before the codec at index `place`.
pub(super) fn array_before(chain: &BoundChain, place: usize) -> &crate::pipeline::ArrayRepresentation {
    chain.codecs().get(place).and_then(|codec| codec.decoded.array()).unwrap_or(chain.decoded())
}

/// Appends the decoding of an array->array codec.
pub(super) fn undo(chain: &BoundChain, place: usize, program: &mut ValueProgram, order: &mut [usize]) {
    if let Effect::Transpose(permutation) = chain.codecs()[place].codec.effect() {
        let encoded = order.to_vec();
        encoded.iter().zip(permutation).for_each(|(current, dimension)| order[*dimension] = *current);
    }
    undo_values(chain, place, program);
}

/// Appends the effect of decoding on values.
fn undo_values(chain: &BoundChain, place: usize, program: &mut ValueProgram) {
    let steps = value_steps(chain.codecs()[place].codec.effect(), false);
    steps.into_iter().flatten().for_each(|step| program.push(step, StepOrigin::Source(place)));
}

/// Appends the encoding of an array->array codec.
pub(super) fn apply(chain: &BoundChain, place: usize, program: &mut ValueProgram, order: &mut Vec<usize>) {
    if let Effect::Transpose(permutation) = chain.codecs()[place].codec.effect() {
        *order = permutation.iter().map(|dimension| order[*dimension]).collect();
    }
    apply_values(chain, place, program);
}

/// Appends the effect of encoding on values.
fn apply_values(chain: &BoundChain, place: usize, program: &mut ValueProgram) {
    let steps = value_steps(chain.codecs()[place].codec.effect(), true);
    steps.into_iter().flatten().for_each(|step| program.push(step, StepOrigin::Destination(place)));
}

/// Returns the steps of a codec, in either direction.
fn value_steps(effect: Effect<'_>, encodes: bool) -> [Option<ValueStep>; 2] {
    match effect {
        Effect::ScaleOffset(codec) if encodes => [Some(ValueStep::ScaleEncode(codec.clone())), None],
        Effect::ScaleOffset(codec) => [Some(ValueStep::ScaleDecode(codec.clone())), None],
        Effect::Cast { encode, decode } => [Some(ValueStep::Cast(if encodes { encode } else { decode }.clone())), None],
        Effect::Filter { filter, swap } if encodes => {
            [swap.map(ValueStep::Swap), Some(ValueStep::FilterEncode(filter.clone()))]
        }
        Effect::Filter { filter, swap } => [Some(ValueStep::FilterDecode(filter.clone())), swap.map(ValueStep::Swap)],
        Effect::BitRound(codec) if encodes => [Some(ValueStep::BitRound(codec)), None],
        _ => [None, None],
    }
}

/// Returns the order of the array's own dimensions, from that of the representation before codec `keep`.
fn array_order(source: &BoundChain, keep: usize, order: &[usize]) -> Vec<usize> {
    let mut order = order.to_vec();
    let mut ignored = ValueProgram::new(1);
    for place in (0..keep).rev() {
        undo(source, place, &mut ignored, &mut order);
    }
    order
}

/// Returns bytes with the order in each component of `width` bytes reversed.
pub(super) fn swapped(bytes: &[u8], width: usize) -> Vec<u8> {
    let mut reversed = vec![0; bytes.len()];
    swap(bytes, &mut reversed, width);
    reversed
}

/// The pass, and its position in both chains.
#[derive(Debug, Clone)]
pub(super) struct Fused {
    pub(super) program: ValueProgram,
    /// The dimension of the source's encoded array for each dimension of the array, to name an element.
    pub(super) to_array: Vec<usize>,
    pub(super) encoded_shape: Vec<u64>,
    pub(super) transpose: Option<Transpose>,
    /// The number of leading codecs of both chains that do not run.
    pub(super) keep: usize,
    /// The indices of the array->bytes codecs.
    pub(super) source_bytes: usize,
    pub(super) destination_bytes: usize,
    /// The bytes of the destination's fill value in the buffer that its array->bytes codec writes or reads.
    pub(super) fill: Option<Vec<u8>>,
}

/// Returns the index of the first codec that runs by itself after the pass. `place` is the index of the array->bytes
/// codec. If it is `bytes`, it is part of the pass, and the result is the next index. Otherwise it is `place`.
pub(super) fn pass_end(chain: &BoundChain, place: usize) -> usize {
    place + usize::from(matches!(chain.codecs()[place].codec.effect(), Effect::Bytes { .. }))
}

impl Fused {
    /// Plans a fused pass. `None` unless both chains consist of value codecs, transposes, and `bytes` or another codec
    /// of fixed-size elements. `None` also if the destination has a filter that runs.
    pub(super) fn plan(
        source: &BoundChain,
        destination: &BoundChain,
        change: &ValueChange,
        keep: usize,
    ) -> Result<Option<Self>, BindError> {
        let (source_bytes, destination_bytes) = (source.num_in_one_pass(), destination.num_in_one_pass());
        // Equal codecs before differences are decoded together with these.
        let keep = keep.min(source_bytes).min(destination_bytes);
        let fusible = |chain: &BoundChain, place: usize| {
            let effect = chain.codecs().get(place).map(|codec| codec.codec.effect());
            matches!(effect, Some(Effect::Bytes { .. } | Effect::Compress)) || chain.takes_differences_at(place)
        };
        if !fusible(source, source_bytes) || !fusible(destination, destination_bytes) {
            return Ok(None);
        }
        // A filter's codes may represent other values than the fill value, too. So chunks of only the fill value are
        // found before a filter.
        let is_filter = |codec: &BoundCodec| matches!(codec.codec.effect(), Effect::Filter { .. });
        if destination.codecs().iter().skip(keep).any(is_filter) {
            return Ok(None);
        }
        let rank = source.decoded().shape.len();
        let encoded = array_before(source, source_bytes);
        let mut program = ValueProgram::new(encoded.data_type.size().unwrap_or(1));
        if let Effect::Bytes { swap, check } = source.codecs()[source_bytes].codec.effect() {
            let steps = swap.map(ValueStep::Swap).into_iter().chain(check.cloned().map(ValueStep::Cast));
            steps.for_each(|step| program.push(step, StepOrigin::Source(source_bytes)));
        }
        // Dimension i of the current shape is dimension order[i] of the source's encoded array.
        let mut order: Vec<usize> = (0..rank).collect();
        for place in (keep..source_bytes).rev() {
            undo(source, place, &mut program, &mut order);
        }
        push_change(&mut program, change);
        let to_array = array_order(source, keep, &order);
        let applied = change.num_codecs();
        for place in keep.max(applied)..destination_bytes {
            apply(destination, place, &mut program, &mut order);
        }
        let written = array_before(destination, destination_bytes);
        let mut fill = written.fill_value.as_ref().map(|fill| fill.0.clone());
        if let Effect::Bytes { swap: width, .. } = destination.codecs()[destination_bytes].codec.effect() {
            let check = written.data_type.number().and_then(Cast::range_check).map(ValueStep::Cast);
            let steps = check.into_iter().chain(width.map(ValueStep::Swap));
            steps.for_each(|step| program.push(step, StepOrigin::Destination(destination_bytes)));
            fill = fill.map(|fill| width.map_or_else(|| fill.clone(), |width| swapped(&fill, width)));
        }
        let identity = order.iter().copied().eq(0..rank);
        let planned = (!identity).then(|| Transpose::new(&encoded.shape, &order, program.sizes().1)).transpose();
        let transpose = planned.map_err(|error| BindError::unsupported("transpose", format!(": {error}")))?;
        let encoded_shape = encoded.shape.clone();
        Ok(Some(Fused { program, to_array, encoded_shape, transpose, keep, source_bytes, destination_bytes, fill }))
    }
}

impl Conversion {
    /// Returns the bytes of both elements if encoded chunks are elements that one pass converts to an encoded chunk.
    /// Such a chunk can be converted in pieces while it is read. `None` otherwise.
    pub fn streams(&self) -> Option<(usize, usize)> {
        let ConversionPath::Fused(fused) = &self.way else { return None };
        let plain = |chain: &BoundChain, place: usize| {
            let is_bytes = matches!(chain.codecs()[place].codec.effect(), Effect::Bytes { .. });
            is_bytes && place + 1 == chain.codecs().len()
        };
        let straight = plain(&self.source, fused.source_bytes) && plain(&self.destination, fused.destination_bytes);
        let straight = straight && fused.transpose.is_none();
        straight.then(|| fused.program.sizes()).filter(|(source, _)| source.is_power_of_two())
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
        let ConversionPath::Fused(fused) = &self.way else { return Ok(()) };
        let size = fused.program.sizes().0.max(1);
        fused.program.run_into(piece, target, &mut buffers.workspace.tiles, Some(figures)).map_err(|mut fault| {
            fault.fault.index += as_index(offset) / size;
            self.element_fault(&fault, &fused.encoded_shape, Some(&fused.to_array))
        })
    }

    /// Returns true if an encoded chunk of a destination that [`Conversion::streams`] contains only the fill value.
    pub fn is_streamed_empty(&self, encoded: &[u8]) -> bool {
        let ConversionPath::Fused(fused) = &self.way else { return false };
        let fill = fused.fill.as_ref().filter(|_| !self.write_empty);
        fill.is_some_and(|fill| is_filled_with(encoded, fill))
    }

    pub(super) fn run_fused(
        &self,
        fused: &Fused,
        source: PartlyDecoded<'_>,
        target: &mut Vec<u8>,
        buffers: &mut ConversionBuffers,
        figures: &mut QuantizeFigures,
    ) -> Result<Converted, ChainFault> {
        let ConversionBuffers { first, second, third, workspace } = buffers;
        let at = fused.source_bytes;
        let plain = matches!(self.source.codecs()[at].codec.effect(), Effect::Bytes { .. });
        let undone_to = pass_end(&self.source, at);
        let encoded: &[u8] = if undone_to == source.place {
            source.bytes
        } else {
            self.source.decode_between(undone_to..source.place, source.bytes, first, workspace)?;
            first
        };
        if plain {
            let codec = &self.source.codecs()[at];
            expect_size(&codec.encoded, encoded.len()).map_err(|kind| codec.fault(at, kind))?;
        }
        let done_from = pass_end(&self.destination, fused.destination_bytes);
        let is_last = done_from == self.destination.codecs().len();
        let values = if is_last && fused.transpose.is_none() { &mut *target } else { &mut *second };
        fused.program.make_room(encoded, values)?;
        let ran = fused.program.run(encoded, values, &mut workspace.tiles, Some(figures));
        ran.map_err(|fault| self.element_fault(&fault, &fused.encoded_shape, Some(&fused.to_array)))?;
        let fill = fused.fill.as_ref().filter(|_| !self.write_empty);
        if fill.is_some_and(|fill| is_filled_with(values, fill)) {
            return Ok(Converted::Empty);
        }
        if let Some(transpose) = &fused.transpose {
            let permuted = if is_last { &mut *target } else { &mut *third };
            resize(permuted, second.len()).map_err(ChainFault::memory)?;
            let permuting = transpose.encode(second, permuted);
            permuting.map_err(|error| ChainFault::new("0", "transpose", CodecError::Bytes(error.to_string())))?;
        }
        if !is_last {
            let elements: &[u8] = if fused.transpose.is_some() { third } else { second };
            self.destination.encode_from(done_from, elements, target, workspace)?;
        }
        Ok(Converted::Written)
    }
}
