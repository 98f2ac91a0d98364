//! From a chunk of one chain to a chunk of another, by the cheapest way: encoded bytes as they are, only the
//! bytes->bytes codecs that differ, one fused pass over the values, or everything undone and done anew.

use super::chain::{BindError, BoundChain, Codec, Workspace, range_check};
use super::fault::{ChainFault, ChainFaultKind};
use super::is_filled_with;
use super::region::{RegionCopy, as_index, unravel};
use super::transpose::Transpose;
use super::value_program::{ProgramFault, StepOrigin, ValueProgram, ValueStep, swap};
use crate::kernel::cast::Cast;
use crate::kernel::quantize::{Quantize, QuantizeFigures};
use crate::kernel::unpack::Unpack;
use crate::pipeline::Representation;

/// What is done to the values between the two chains.
#[derive(Debug, Clone, Default)]
pub enum ValueChange {
    /// Nothing.
    #[default]
    None,
    /// The array's data type changes.
    DataType(Box<Cast>),
    /// The first `codecs` codecs of the destination (`scale_offset`, `cast_value`) are replaced by one kernel with
    /// error figures; with 0, the codes become the array itself.
    Quantize {
        /// The kernel.
        kernel: Box<Quantize>,
        /// How many codecs of the destination it stands for.
        codecs: usize,
    },
    /// Packed integers become floats by CF attributes.
    Unpack(Box<Unpack>),
}

/// What became of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Converted {
    /// Encoded bytes.
    Written,
    /// It holds only the destination's fill value, and is left out.
    Empty,
}

/// A way from one chain to another.
#[derive(Debug, Clone)]
pub struct Conversion {
    source: BoundChain,
    destination: BoundChain,
    change: ValueProgram,
    /// How many codecs of the destination the change stands for.
    applied: usize,
    way: Way,
    write_empty: bool,
}

#[derive(Debug, Clone)]
enum Way {
    /// The chains are the same up to codec `keep`: only what follows is undone and done.
    Bytes { keep: usize },
    /// One pass over the values.
    Fused(Box<Fused>),
    /// All codecs, one by one, with a change of values between.
    Whole,
}

#[derive(Debug, Clone)]
struct Fused {
    program: ValueProgram,
    /// Where array dimension `i` stands in the source's encoded array: for naming an element.
    to_array: Vec<usize>,
    encoded_shape: Vec<u64>,
    transpose: Option<Transpose>,
    /// Places of the array->bytes codecs.
    source_bytes: usize,
    destination_bytes: usize,
    /// The destination's fill value as the buffer holds it before its array->bytes codec.
    fill: Option<Vec<u8>>,
}

impl Conversion {
    /// Plans the conversion between chains for chunks of the same shape.
    pub fn new(
        source: BoundChain,
        destination: BoundChain,
        change: &ValueChange,
        write_empty: bool,
    ) -> Result<Self, BindError> {
        let same = matches!(change, ValueChange::None)
            && source.decoded().data_type == destination.decoded().data_type;
        let keep = if same { common_prefix(&source, &destination) } else { 0 };
        let way = if same && keep > source.num_array_to_array() {
            Way::Bytes { keep }
        } else if let Some(fused) = Fused::plan(&source, &destination, change, keep)? {
            Way::Fused(Box::new(fused))
        } else {
            Way::Whole
        };
        let mut program = ValueProgram::new(source.decoded().data_type.size().unwrap_or(1));
        push_change(&mut program, change);
        let applied = if let ValueChange::Quantize { codecs, .. } = change { *codecs } else { 0 };
        Ok(Conversion { source, destination, change: program, applied, way, write_empty })
    }

    /// Whether encoded chunks stay what they are.
    pub fn is_copy(&self) -> bool {
        let kept = self.source.codecs().len();
        matches!(self.way, Way::Bytes { keep } if keep == kept && keep == self.destination.codecs().len())
    }

    /// Whether chunks are decoded to elements.
    pub fn decodes_elements(&self) -> bool {
        !matches!(self.way, Way::Bytes { .. })
    }

    /// Bytes of the buffers that it fills beside the encoded chunks.
    pub(super) fn working_bytes(&self, has_edges: bool) -> u64 {
        let (source, destination) = (&self.source, &self.destination);
        let (longest_source, longest_destination) = (source.codecs().len(), destination.codecs().len());
        let elements = source.decoded_bytes().max(destination.decoded_bytes());
        let whole = || {
            let cropped = if has_edges { elements } else { 0 };
            let passage =
                source.passage_bytes(longest_source).max(destination.passage_bytes(longest_destination));
            [source.decoded_bytes(), destination.decoded_bytes(), cropped, passage]
        };
        let parts = match &self.way {
            Way::Bytes { keep } => {
                let undone = source.passage_bytes(longest_source - keep);
                let done = destination.passage_bytes(longest_destination - keep);
                [source.max_representation_bytes(), undone.max(done), 0, 0]
            }
            Way::Fused(fused) if has_edges && fused.program.is_fallible() => whole(),
            Way::Fused(fused) => {
                let undone = longest_source - fused.source_bytes;
                let done = longest_destination - fused.destination_bytes;
                let first = if undone > 1 { source.max_representation_bytes() } else { 0 };
                let permuted = if fused.transpose.is_some() { elements } else { 0 };
                let second = if done > 1 || fused.transpose.is_some() { elements } else { 0 };
                let passage = source.passage_bytes(undone).max(destination.passage_bytes(done));
                // `bytes` is part of the pass, so that there is a codec less to run by itself.
                let passage = if undone.max(done) > 2 { passage } else { 0 };
                [first, second, permuted, passage]
            }
            Way::Whole => whole(),
        };
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// The chain that is read.
    pub fn source(&self) -> &BoundChain {
        &self.source
    }

    /// The chain that is written.
    pub fn destination(&self) -> &BoundChain {
        &self.destination
    }

    /// Converts an encoded chunk into `target`. `valid` is the part of it that lies inside the array, where not all
    /// does: what is beyond the edge may hold anything, counts for nothing, and becomes the fill value.
    pub fn run(
        &self,
        source: &[u8],
        valid: Option<&[u64]>,
        target: &mut Vec<u8>,
        buffers: &mut ConversionBuffers,
        figures: &mut QuantizeFigures,
    ) -> Result<Converted, ChainFault> {
        match (&self.way, valid) {
            (Way::Bytes { keep }, _) => {
                let ConversionBuffers { first, workspace, .. } = buffers;
                if *keep == self.source.codecs().len() {
                    self.destination.encode_from(*keep, source, target, workspace)?;
                } else {
                    self.source.decode_to(*keep, source, first, workspace)?;
                    self.destination.encode_from(*keep, first, target, workspace)?;
                }
                Ok(Converted::Written)
            }
            (Way::Fused(fused), Some(valid)) if fused.program.is_fallible() => {
                self.run_whole(source, Some(valid), target, buffers, figures)
            }
            (Way::Fused(fused), _) => self.run_fused(fused, source, target, buffers, figures),
            (Way::Whole, valid) => self.run_whole(source, valid, target, buffers, figures),
        }
    }

    /// Whether encoded chunks are elements that one pass turns into an encoded chunk: such a chunk can be converted
    /// piece by piece while it is read. The bytes of both elements.
    pub fn streams(&self) -> Option<(usize, usize)> {
        let Way::Fused(fused) = &self.way else { return None };
        let plain = |chain: &BoundChain| {
            chain.codecs().last().is_some_and(|codec| matches!(codec.codec, Codec::Bytes { .. }))
        };
        let straight = fused.transpose.is_none() && plain(&self.source) && plain(&self.destination);
        straight.then(|| fused.program.sizes()).filter(|(source, _)| source.is_power_of_two())
    }

    /// Bytes of an encoded chunk of the source that streams.
    pub fn streamed_bytes(&self) -> u64 {
        self.source.encoded().max_bytes().unwrap_or(0)
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
        fused.program.run_into(piece, target, &mut buffers.workspace.tiles, Some(figures)).map_err(
            |mut fault| {
                fault.fault.index += as_index(offset) / size;
                self.element_fault(&fault, &fused.encoded_shape, Some(&fused.to_array))
            },
        )
    }

    /// Whether an encoded chunk of the destination that streams holds nothing but the fill value.
    pub fn is_streamed_empty(&self, encoded: &[u8]) -> bool {
        let Way::Fused(fused) = &self.way else { return false };
        let fill = fused.fill.as_ref().filter(|_| !self.write_empty);
        fill.is_some_and(|fill| is_filled_with(encoded, fill))
    }

    /// Every codec by itself, in the array's frame.
    fn run_whole(
        &self,
        source: &[u8],
        valid: Option<&[u64]>,
        target: &mut Vec<u8>,
        buffers: &mut ConversionBuffers,
        figures: &mut QuantizeFigures,
    ) -> Result<Converted, ChainFault> {
        let ConversionBuffers { first, second, third, workspace } = buffers;
        self.source.decode(source, first, workspace)?;
        let shape = &self.source.decoded().shape;
        let (source_size, target_size) = self.change.sizes();
        let origin = vec![0; shape.len()];
        let elements: &[u8] = if let Some(valid) = valid {
            third.resize(as_index(valid.iter().product::<u64>()) * source_size, 0);
            crop(shape, valid, &origin, source_size).run(first, third);
            third
        } else {
            first
        };
        self.change
            .run(elements, second, &mut workspace.tiles, Some(figures))
            .map_err(|fault| self.element_fault(&fault, valid.unwrap_or(shape), None))?;
        let fill = array_before(&self.destination, self.applied).fill_value.as_ref();
        let changed: &[u8] = if let Some(valid) = valid {
            let zero = vec![0; target_size];
            let padding = fill.map_or(zero.as_slice(), |fill| &fill.0);
            third.clear();
            third.extend(padding.iter().cycle().take(first.len() / source_size * target_size));
            RegionCopy {
                source_shape: valid,
                target_shape: shape,
                ..crop(shape, valid, &origin, target_size)
            }
            .run(second, third);
            third
        } else {
            second
        };
        if !self.write_empty && fill.is_some_and(|fill| is_filled_with(changed, &fill.0)) {
            return Ok(Converted::Empty);
        }
        self.destination.encode_from(self.applied, changed, target, workspace)?;
        Ok(Converted::Written)
    }

    /// Encodes elements of the array as the destination has it, whatever they are.
    pub fn encode_elements(
        &self,
        elements: &[u8],
        target: &mut Vec<u8>,
        buffers: &mut ConversionBuffers,
    ) -> Result<(), ChainFault> {
        self.destination.encode(elements, target, &mut buffers.workspace)
    }

    fn run_fused(
        &self,
        fused: &Fused,
        source: &[u8],
        target: &mut Vec<u8>,
        buffers: &mut ConversionBuffers,
        figures: &mut QuantizeFigures,
    ) -> Result<Converted, ChainFault> {
        let ConversionBuffers { first, second, third, workspace } = buffers;
        let at = fused.source_bytes;
        let plain = matches!(self.source.codecs()[at].codec, Codec::Bytes { .. });
        // `bytes` is part of the program: only what follows it is undone by itself.
        let undone_to = if plain { at + 1 } else { at };
        let encoded: &[u8] = if undone_to == self.source.codecs().len() {
            source
        } else {
            self.source.decode_to(undone_to, source, first, workspace)?;
            first
        };
        if plain {
            self.expect_encoded_size(at, encoded.len())?;
        }
        let writes_elements =
            matches!(self.destination.codecs()[fused.destination_bytes].codec, Codec::Bytes { .. });
        let done_from = if writes_elements { fused.destination_bytes + 1 } else { fused.destination_bytes };
        let is_last = done_from == self.destination.codecs().len();
        let values = if is_last && fused.transpose.is_none() { &mut *target } else { &mut *second };
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
            permuted.resize(second.len(), 0);
            transpose.encode(second, permuted).map_err(|error| ChainFault {
                place: "0".to_owned(),
                codec: "transpose".to_owned(),
                kind: ChainFaultKind::Bytes(error.to_string()),
            })?;
        }
        if !is_last {
            let elements: &[u8] = if fused.transpose.is_some() { third } else { second };
            self.destination.encode_from(done_from, elements, target, workspace)?;
        }
        Ok(Converted::Written)
    }

    fn expect_encoded_size(&self, place: usize, found: usize) -> Result<(), ChainFault> {
        let codec = &self.source.codecs()[place];
        let (expected, found) = (codec.encoded.max_bytes().unwrap_or(0), found as u64);
        if expected == found {
            return Ok(());
        }
        let kind = ChainFaultKind::Size { expected, found };
        Err(ChainFault { place: place.to_string(), codec: codec.name.clone(), kind })
    }

    /// A fault of the program as a fault of a codec, with the element's position in the array's chunk.
    fn element_fault(&self, fault: &ProgramFault, shape: &[u64], to_array: Option<&[usize]>) -> ChainFault {
        let (place, codec) = match fault.origin {
            StepOrigin::Source(place) => (place.to_string(), self.source.codecs()[place].name.clone()),
            StepOrigin::Destination(place) => {
                (place.to_string(), self.destination.codecs()[place].name.clone())
            }
            StepOrigin::DataType => ("-".to_owned(), "change of data type".to_owned()),
        };
        let encoded = unravel(fault.fault.index as u64, shape);
        let position = match to_array {
            Some(order) => order.iter().map(|dimension| encoded[*dimension]).collect(),
            None => encoded,
        };
        let kind = ChainFaultKind::Element {
            fault: fault.fault,
            position: Some(position),
            bits: fault.bits,
            types: fault.types,
        };
        ChainFault { place, codec, kind }
    }
}

/// Buffers that a thread uses again for each chunk.
#[derive(Debug, Default)]
pub struct ConversionBuffers {
    first: Vec<u8>,
    second: Vec<u8>,
    third: Vec<u8>,
    /// For the codecs.
    pub workspace: Workspace,
}

/// How many codecs lead both chains alike.
fn common_prefix(source: &BoundChain, destination: &BoundChain) -> usize {
    let alike = |(a, b): &(&super::BoundCodec, &super::BoundCodec)| {
        a.metadata.name == b.metadata.name
            && a.decoded == b.decoded
            && match (&a.metadata.configuration, &b.metadata.configuration) {
                (Some(a), Some(b)) => a.same_value(b),
                (a, b) => a.is_none() && b.is_none(),
            }
    };
    source.codecs().iter().zip(destination.codecs()).take_while(alike).count()
}

/// The copy of the part of an array that starts at its origin.
fn crop<'a>(shape: &'a [u64], valid: &'a [u64], origin: &'a [u64], element_size: usize) -> RegionCopy<'a> {
    RegionCopy {
        source_shape: shape,
        source_start: origin,
        target_shape: valid,
        target_start: origin,
        extent: valid,
        element_size,
    }
}

/// Appends the change of values between two chains.
pub fn push_change(program: &mut ValueProgram, change: &ValueChange) {
    match change {
        ValueChange::None => {}
        ValueChange::DataType(cast) => {
            let size = cast.options().target.size();
            program.push(ValueStep::Cast((**cast).clone()), StepOrigin::DataType, size);
        }
        ValueChange::Quantize { kernel, .. } => {
            let size = kernel.options().target.size();
            program.push(ValueStep::Quantize(kernel.clone()), StepOrigin::DataType, size);
        }
        ValueChange::Unpack(unpack) => {
            program.push(ValueStep::Unpack(unpack.clone()), StepOrigin::DataType, unpack.target().size());
        }
    }
}

impl Fused {
    /// A fused pass, where both chains are made of value codecs, transposes and `bytes` or `packbits`.
    fn plan(
        source: &BoundChain,
        destination: &BoundChain,
        change: &ValueChange,
        keep: usize,
    ) -> Result<Option<Self>, BindError> {
        let (source_bytes, destination_bytes) =
            (source.num_array_to_array(), destination.num_array_to_array());
        let fusible = |chain: &BoundChain, place: usize| {
            matches!(
                chain.codecs().get(place).map(|c| &c.codec),
                Some(Codec::Bytes { .. } | Codec::PackBits(_))
            )
        };
        if !fusible(source, source_bytes) || !fusible(destination, destination_bytes) {
            return Ok(None);
        }
        let rank = source.decoded().shape.len();
        let encoded = array_before(source, source_bytes);
        let mut program = ValueProgram::new(encoded.data_type.size().unwrap_or(1));
        if let Codec::Bytes { swap, check } = &source.codecs()[source_bytes].codec {
            let size = encoded.data_type.size().unwrap_or(1);
            if let Some(width) = swap {
                program.push(ValueStep::Swap(*width), StepOrigin::Source(source_bytes), size);
            }
            if let Some(check) = check {
                program.push(ValueStep::Check((**check).clone()), StepOrigin::Source(source_bytes), size);
            }
        }
        // Dimension i of the current frame stands at order[i] of the source's encoded array.
        let mut order: Vec<usize> = (0..rank).collect();
        for place in (keep..source_bytes).rev() {
            undo(source, place, &mut program, &mut order);
        }
        push_change(&mut program, change);
        let to_array = array_order(source, keep, &order);
        let applied = if let ValueChange::Quantize { codecs, .. } = change { *codecs } else { 0 };
        for place in keep.max(applied)..destination_bytes {
            apply(destination, place, &mut program, &mut order);
        }
        let written = array_before(destination, destination_bytes);
        let size = written.data_type.size().unwrap_or(1);
        let mut fill = written.fill_value.as_ref().map(|fill| fill.0.clone());
        if let Codec::Bytes { swap: width, .. } = &destination.codecs()[destination_bytes].codec {
            if let Some(check) = range_check(&written.data_type) {
                program.push(ValueStep::Check(check), StepOrigin::Destination(destination_bytes), size);
            }
            if let Some(width) = width {
                program.push(ValueStep::Swap(*width), StepOrigin::Destination(destination_bytes), size);
                fill = fill.map(|fill| swapped(&fill, *width));
            }
        }
        let identity = order.iter().copied().eq(0..rank);
        let transpose = if identity {
            None
        } else {
            let planned = Transpose::new(&encoded.shape, &order, size);
            Some(planned.map_err(|error| BindError::Unsupported {
                place: 0,
                name: "transpose".to_owned(),
                because: format!(": {error}"),
            })?)
        };
        let encoded_shape = encoded.shape.clone();
        Ok(Some(Fused { program, to_array, encoded_shape, transpose, source_bytes, destination_bytes, fill }))
    }
}

/// Values through the value codecs of a chain and back: what any reader gets of them.
pub fn round_trip(chain: &BoundChain) -> ValueProgram {
    let mut program = ValueProgram::new(chain.decoded().data_type.size().unwrap_or(1));
    let is_array = |codec: &&super::BoundCodec| codec.encoded.array().is_some();
    let count = chain.codecs().iter().take_while(is_array).count();
    for place in 0..count {
        apply_values(chain, place, &mut program);
    }
    for place in (0..count).rev() {
        undo_values(chain, place, &mut program);
    }
    program
}

/// The array in front of the codec at `place`.
fn array_before(chain: &BoundChain, place: usize) -> &crate::pipeline::ArrayRepresentation {
    match chain.codecs().get(place).map(|codec| &codec.decoded) {
        Some(Representation::Array(array)) => array,
        _ => chain.decoded(),
    }
}

/// Appends the inverse of an array->array codec.
fn undo(chain: &BoundChain, place: usize, program: &mut ValueProgram, order: &mut Vec<usize>) {
    if let Codec::Transpose(codec) = &chain.codecs()[place].codec {
        let mut decoded = order.clone();
        for (current, dimension) in order.iter().zip(codec.order()) {
            decoded[*dimension] = *current;
        }
        *order = decoded;
    }
    undo_values(chain, place, program);
}

/// What it does to values.
fn undo_values(chain: &BoundChain, place: usize, program: &mut ValueProgram) {
    let origin = StepOrigin::Source(place);
    match &chain.codecs()[place].codec {
        Codec::ScaleOffset(codec) => {
            program.push(ValueStep::ScaleDecode(codec.clone()), origin, codec.number_type().size());
        }
        Codec::Cast { decode, .. } => {
            program.push(ValueStep::Cast((**decode).clone()), origin, decode.options().target.size());
        }
        _ => {}
    }
}

/// Appends an array->array codec.
fn apply(chain: &BoundChain, place: usize, program: &mut ValueProgram, order: &mut Vec<usize>) {
    if let Codec::Transpose(codec) = &chain.codecs()[place].codec {
        *order = codec.order().iter().map(|dimension| order[*dimension]).collect();
    }
    apply_values(chain, place, program);
}

/// What it does to values.
fn apply_values(chain: &BoundChain, place: usize, program: &mut ValueProgram) {
    let origin = StepOrigin::Destination(place);
    match &chain.codecs()[place].codec {
        Codec::ScaleOffset(codec) => {
            program.push(ValueStep::ScaleEncode(codec.clone()), origin, codec.number_type().size());
        }
        Codec::Cast { encode, .. } => {
            program.push(ValueStep::Cast((**encode).clone()), origin, encode.options().target.size());
        }
        Codec::BitRound(codec) => {
            let size = program.sizes().1;
            program.push(ValueStep::BitRound(*codec), origin, size);
        }
        _ => {}
    }
}

/// The order of the array's own dimensions, from that of the representation in front of codec `keep`.
fn array_order(source: &BoundChain, keep: usize, order: &[usize]) -> Vec<usize> {
    let mut order = order.to_vec();
    let mut ignored = ValueProgram::new(1);
    for place in (0..keep).rev() {
        undo(source, place, &mut ignored, &mut order);
    }
    order
}

fn swapped(bytes: &[u8], width: usize) -> Vec<u8> {
    let mut reversed = vec![0; bytes.len()];
    swap(bytes, &mut reversed, width);
    reversed
}
