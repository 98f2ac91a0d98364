//! Value codecs as steps of a pass over elements.

use std::ops::Range;

use super::ValueChange;
use crate::codec::{BoundChain, BoundCodec, Role, StepOrigin, Tiles, ValueProgram, ValueStep};
use crate::kernel::swap::swap;
use crate::pipeline::Representation;

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

/// The element beyond the edge of an array, in front of codec `first`: the fill value or 0, or, where filters cannot
/// encode that, what they make of a code of 0. Nobody reads it, and so it should not keep a chunk from being written.
pub(super) fn padding(chain: &BoundChain, first: usize) -> Vec<u8> {
    let array = array_before(chain, first);
    let size = array.data_type.size().unwrap_or(1);
    let fill = array.fill_value.as_ref().map_or_else(|| vec![0; size], |fill| fill.0.clone());
    let is_filter = |place: usize| matches!(chain.codecs()[place].codec.role(), Role::Filter { .. });
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

/// Values through the value codecs of a chain and back: what any reader gets of them. Values that have passed the
/// first `kept` codecs before, and no other since, come as they are.
pub fn round_trip(chain: &BoundChain, kept: usize) -> ValueProgram {
    let mut program = ValueProgram::new(chain.decoded().data_type.size().unwrap_or(1));
    let moves = |codec: &BoundCodec| matches!(codec.codec.role(), Role::Transpose(_) | Role::Reshape);
    let is_array = |codec: &&BoundCodec| codec.encoded.array().is_some();
    if kept > 0 && chain.codecs().iter().skip(kept).take_while(is_array).all(moves) {
        return program;
    }
    let Some(places) = value_places(chain, 0) else { return program };
    places.clone().for_each(|place| apply_values(chain, place, &mut program));
    places.rev().for_each(|place| undo_values(chain, place, &mut program));
    program
}

/// The codecs of a chain up to the one at `last`, forward and backward; `None` where one of them does not take each element
/// by itself.
pub fn value_programs(chain: &BoundChain, last: usize) -> Option<[ValueProgram; 2]> {
    let places = value_places(chain, 0).filter(|places| places.contains(&last)).map(|_| 0..=last)?;
    let mut forward = ValueProgram::new(chain.decoded().data_type.size()?);
    places.clone().for_each(|place| apply_values(chain, place, &mut forward));
    let mut backward = ValueProgram::new(forward.sizes().1);
    places.rev().for_each(|place| undo_values(chain, place, &mut backward));
    Some([forward, backward])
}

/// True if what a reader gets of an element depends on that element alone, from codec `first` on: sums of floats
/// depend on all before it, and so does what is rounded after differences were taken.
pub fn depends_on_one_element(chain: &BoundChain, first: usize) -> bool {
    let is_array = |codec: &&BoundCodec| codec.encoded.array().is_some();
    let mut codecs = chain.codecs().iter().skip(first).take_while(is_array).map(|codec| codec.codec.role());
    let exact = |role: Role<'_>| match role {
        Role::Delta(delta) => delta.is_exact(),
        _ => true,
    };
    let keeps = |role: Role<'_>| match role {
        Role::Transpose(_) | Role::Reshape | Role::Packs => true,
        Role::Cast { encode, decode } => encode.is_identity() && decode.is_identity(),
        _ => false,
    };
    codecs.by_ref().find(|role| matches!(role, Role::Delta(_))).is_none_or(exact)
        && codecs.all(|role| keeps(role) || (matches!(role, Role::Delta(_)) && exact(role)))
}

/// The array->array codecs from `first` on, up to one that does not take each element by itself.
fn value_places(chain: &BoundChain, first: usize) -> Option<Range<usize>> {
    let goes_on = |codec: &&BoundCodec| {
        let is_by_element = !matches!(codec.codec.role(), Role::Delta(_) | Role::Packs);
        codec.encoded.array().is_some() && is_by_element
    };
    let count = chain.codecs().iter().skip(first).take_while(goes_on).count();
    (count > 0).then_some(first..first + count)
}

/// The array in front of the codec at `place`.
pub(super) fn array_before(chain: &BoundChain, place: usize) -> &crate::pipeline::ArrayRepresentation {
    match chain.codecs().get(place).map(|codec| &codec.decoded) {
        Some(Representation::Array(array)) => array,
        _ => chain.decoded(),
    }
}

/// Appends the inverse of an array->array codec.
pub(super) fn undo(chain: &BoundChain, place: usize, program: &mut ValueProgram, order: &mut [usize]) {
    if let Role::Transpose(permutation) = chain.codecs()[place].codec.role() {
        let encoded = order.to_vec();
        encoded.iter().zip(permutation).for_each(|(current, dimension)| order[*dimension] = *current);
    }
    undo_values(chain, place, program);
}

/// Appends what that does to values.
fn undo_values(chain: &BoundChain, place: usize, program: &mut ValueProgram) {
    let steps = value_steps(chain.codecs()[place].codec.role(), false);
    steps.into_iter().flatten().for_each(|step| program.push(step, StepOrigin::Source(place)));
}

/// Appends an array->array codec.
pub(super) fn apply(chain: &BoundChain, place: usize, program: &mut ValueProgram, order: &mut Vec<usize>) {
    if let Role::Transpose(permutation) = chain.codecs()[place].codec.role() {
        *order = permutation.iter().map(|dimension| order[*dimension]).collect();
    }
    apply_values(chain, place, program);
}

/// Appends what that does to values.
fn apply_values(chain: &BoundChain, place: usize, program: &mut ValueProgram) {
    let steps = value_steps(chain.codecs()[place].codec.role(), true);
    steps.into_iter().flatten().for_each(|step| program.push(step, StepOrigin::Destination(place)));
}

/// A codec as steps of a pass, in either direction.
fn value_steps(role: Role<'_>, encodes: bool) -> [Option<ValueStep>; 2] {
    match role {
        Role::ScaleOffset(codec) if encodes => [Some(ValueStep::ScaleEncode(codec.clone())), None],
        Role::ScaleOffset(codec) => [Some(ValueStep::ScaleDecode(codec.clone())), None],
        Role::Cast { encode, decode } => [Some(ValueStep::Cast(if encodes { encode } else { decode }.clone())), None],
        Role::Filter { filter, swap } if encodes => {
            [swap.map(ValueStep::Swap), Some(ValueStep::FilterEncode(filter.clone()))]
        }
        Role::Filter { filter, swap } => [Some(ValueStep::FilterDecode(filter.clone())), swap.map(ValueStep::Swap)],
        Role::BitRound(codec) if encodes => [Some(ValueStep::BitRound(codec)), None],
        _ => [None, None],
    }
}

/// The order of the array's own dimensions, from that of the representation in front of codec `keep`.
pub(super) fn array_order(source: &BoundChain, keep: usize, order: &[usize]) -> Vec<usize> {
    let mut order = order.to_vec();
    let mut ignored = ValueProgram::new(1);
    for place in (0..keep).rev() {
        undo(source, place, &mut ignored, &mut order);
    }
    order
}

/// Bytes with each component of `width` reversed.
pub(super) fn swapped(bytes: &[u8], width: usize) -> Vec<u8> {
    let mut reversed = vec![0; bytes.len()];
    swap(bytes, &mut reversed, width);
    reversed
}
