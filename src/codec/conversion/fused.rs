//! One pass over the values of a chunk, from the encoded array of one chain to that of the other.

use super::steps::{apply, array_before, array_order, push_change, swapped, undo};
use super::{Conversion, ConversionBuffers, Converted, Undone, ValueChange, Way};
use crate::codec::chain::expect_size;
use crate::codec::region::as_index;
use crate::codec::{
    BindError, BoundChain, BoundCodec, ChainFault, CodecError, Role, StepOrigin, ValueProgram, ValueStep,
    is_filled_with,
};
use crate::kernel::cast::Cast;
use crate::kernel::quantize::QuantizeFigures;
use crate::kernel::transpose::Transpose;
use crate::memory::resize;

/// The pass, and where it stands in both chains.
#[derive(Debug, Clone)]
pub(super) struct Fused {
    pub(super) program: ValueProgram,
    /// Where array dimension `i` stands in the source's encoded array: for naming an element.
    pub(super) to_array: Vec<usize>,
    pub(super) encoded_shape: Vec<u64>,
    pub(super) transpose: Option<Transpose>,
    /// The number of codecs of both chains that it leaves as they are.
    pub(super) keep: usize,
    /// Places of the array->bytes codecs.
    pub(super) source_bytes: usize,
    pub(super) destination_bytes: usize,
    /// The destination's fill value as the buffer holds it before its array->bytes codec.
    pub(super) fill: Option<Vec<u8>>,
}

/// The first codec of a chain that is run by itself: what stands behind its array->bytes codec at `place`, or this too
/// where it is not `bytes`, which alone is part of the pass.
pub(super) fn pass_end(chain: &BoundChain, place: usize) -> usize {
    place + usize::from(matches!(chain.codecs()[place].codec.role(), Role::Bytes { .. }))
}

impl Fused {
    /// A fused pass, where both chains are made of value codecs, transposes, and `bytes` or another codec that gives
    /// elements of a fixed size.
    pub(super) fn plan(
        source: &BoundChain,
        destination: &BoundChain,
        change: &ValueChange,
        keep: usize,
    ) -> Result<Option<Self>, BindError> {
        let (source_bytes, destination_bytes) = (source.num_in_one_pass(), destination.num_in_one_pass());
        // What both chains have in front of differences is undone with them.
        let keep = keep.min(source_bytes).min(destination_bytes);
        let fusible = |chain: &BoundChain, place: usize| {
            let role = chain.codecs().get(place).map(|codec| codec.codec.role());
            matches!(role, Some(Role::Bytes { .. } | Role::Compress)) || chain.takes_differences_at(place)
        };
        if !fusible(source, source_bytes) || !fusible(destination, destination_bytes) {
            return Ok(None);
        }
        // What holds nothing but the fill value is told before a filter: its codes may stand for other values too.
        let is_filter = |codec: &BoundCodec| matches!(codec.codec.role(), Role::Filter { .. });
        if destination.codecs().iter().skip(keep).any(is_filter) {
            return Ok(None);
        }
        let rank = source.decoded().shape.len();
        let encoded = array_before(source, source_bytes);
        let mut program = ValueProgram::new(encoded.data_type.size().unwrap_or(1));
        if let Role::Bytes { swap, check } = source.codecs()[source_bytes].codec.role() {
            let steps = swap.map(ValueStep::Swap).into_iter().chain(check.cloned().map(ValueStep::Check));
            steps.for_each(|step| program.push(step, StepOrigin::Source(source_bytes)));
        }
        // Dimension i of the current frame stands at order[i] of the source's encoded array.
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
        if let Role::Bytes { swap: width, .. } = destination.codecs()[destination_bytes].codec.role() {
            let check = written.data_type.number().and_then(Cast::range_check).map(ValueStep::Check);
            let steps = check.into_iter().chain(width.map(ValueStep::Swap));
            steps.for_each(|step| program.push(step, StepOrigin::Destination(destination_bytes)));
            fill = fill.map(|fill| width.map_or_else(|| fill.clone(), |width| swapped(&fill, width)));
        }
        let identity = order.iter().copied().eq(0..rank);
        let transpose = if identity {
            None
        } else {
            let planned = Transpose::new(&encoded.shape, &order, program.sizes().1);
            Some(planned.map_err(|error| BindError::unsupported("transpose", format!(": {error}")))?)
        };
        let encoded_shape = encoded.shape.clone();
        Ok(Some(Fused { program, to_array, encoded_shape, transpose, keep, source_bytes, destination_bytes, fill }))
    }
}

impl Conversion {
    /// True if encoded chunks are elements that one pass turns into an encoded chunk: such a chunk can be converted
    /// piece by piece while it is read. The bytes of both elements.
    pub fn streams(&self) -> Option<(usize, usize)> {
        let Way::Fused(fused) = &self.way else { return None };
        let plain = |chain: &BoundChain, place: usize| {
            let is_bytes = matches!(chain.codecs()[place].codec.role(), Role::Bytes { .. });
            is_bytes && place + 1 == chain.codecs().len()
        };
        let straight = plain(&self.source, fused.source_bytes) && plain(&self.destination, fused.destination_bytes);
        let straight = straight && fused.transpose.is_none();
        straight.then(|| fused.program.sizes()).filter(|(source, _)| source.is_power_of_two())
    }

    /// Converts a piece of a chunk that streams, from byte `offset` of the encoded chunk on.
    pub fn run_piece(
        &self,
        piece: &[u8],
        offset: u64,
        target: &mut [u8],
        buffers: &mut ConversionBuffers,
        figures: &mut QuantizeFigures,
    ) -> Result<(), ChainFault> {
        let Way::Fused(fused) = &self.way else { return Ok(()) };
        let size = fused.program.sizes().0.max(1);
        fused.program.run_into(piece, target, &mut buffers.workspace.tiles, Some(figures)).map_err(|mut fault| {
            fault.fault.index += as_index(offset) / size;
            self.element_fault(&fault, &fused.encoded_shape, Some(&fused.to_array))
        })
    }

    /// True if an encoded chunk of the destination that streams holds nothing but the fill value.
    pub fn is_streamed_empty(&self, encoded: &[u8]) -> bool {
        let Way::Fused(fused) = &self.way else { return false };
        let fill = fused.fill.as_ref().filter(|_| !self.write_empty);
        fill.is_some_and(|fill| is_filled_with(encoded, fill))
    }

    pub(super) fn run_fused(
        &self,
        fused: &Fused,
        source: Undone<'_>,
        target: &mut Vec<u8>,
        buffers: &mut ConversionBuffers,
        figures: &mut QuantizeFigures,
    ) -> Result<Converted, ChainFault> {
        let ConversionBuffers { first, second, third, workspace } = buffers;
        let at = fused.source_bytes;
        let plain = matches!(self.source.codecs()[at].codec.role(), Role::Bytes { .. });
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
        fused
            .program
            .run(encoded, values, &mut workspace.tiles, Some(figures))
            .map_err(|fault| self.element_fault(&fault, &fused.encoded_shape, Some(&fused.to_array)))?;
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
