//! One pass over the values of a chunk, between the codecs of two chains that run by themselves. Its steps are value
//! codecs of both chains, and the change of values.

use std::ops::Range;

use super::ValueConversion;
use crate::codec::fault::number_value;
use crate::codec::{
    BindError, BoundChain, BoundCodec, Effect, StepOrigin, Tiles, ValueProgram, ValueStep, element_bits,
};
use crate::data_type::DataType;
use crate::kernel::cast::Cast;
use crate::kernel::transpose::Transpose;
use crate::pipeline::ArrayRepresentation;

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
pub(super) struct Pass {
    pub(super) program: ValueProgram,
    /// The codecs of the source from this index on are decoded before the pass.
    pub(super) decoded_to: usize,
    /// The codecs of the destination from this index on encode the result of the pass.
    pub(super) encoded_from: usize,
    /// The number of leading codecs of both chains that do not run.
    pub(super) keep: usize,
    /// The shape of the elements before the pass.
    pub(super) shape: Vec<u64>,
    /// The dimension of that shape for each dimension of the array, to name an element.
    pub(super) to_array: Vec<usize>,
    /// Permutes the elements after the pass.
    pub(super) transpose: Option<Transpose>,
    /// The bytes of the destination's fill value after the pass.
    pub(super) fill: Option<Vec<u8>>,
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
    pub(super) fn whole(
        source: &BoundChain,
        destination: &BoundChain,
        change: &ValueConversion,
        rounded: usize,
    ) -> Self {
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
    pub(super) fn fused(
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
        let planned = is_turned.then(|| Transpose::new(&encoded.shape, &order, program.sizes().1)).transpose();
        let transpose = planned.map_err(|error| BindError::unsupported("transpose", format!(": {error}")))?;
        let shape = encoded.shape.clone();
        Ok(Some(Pass { program, decoded_to, encoded_from, keep, shape, to_array, transpose, fill }))
    }
}
