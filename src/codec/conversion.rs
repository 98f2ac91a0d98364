//! Conversion of a chunk from one chain to another, in the cheapest way. The ways are to copy the encoded bytes, to run
//! only differing bytes->bytes codecs, to make one fused pass over the values, or to decode and encode everything.

mod steps;

use super::chain::{BindError, BoundChain, BoundCodec, ByShape, Codec, OfShape, Workspace};
use super::fault::{ChainFault, CodecError};
use super::is_filled_with;
use super::kinds::Effect;
use super::region::{as_index, copy_box};
use super::value_program::{ProgramFault, StepOrigin, ValueProgram};
use crate::grid::unravel;
use crate::kernel::cast::Cast;
use crate::kernel::keep_bits::KeepBits;
use crate::kernel::quantize::{Quantize, QuantizeFigures};
use crate::kernel::unpack::Unpack;
use crate::memory::resize;
use crate::metadata::Object;
use crate::metadata::v2::with_little_endian_types;
use steps::{Fused, array_before, padding, spreads};

pub use steps::{beyond_edge, depends_on_one_element, push_change, round_trip, rounds, value_programs};

/// The change of values between the two chains.
#[derive(Debug, Clone, Default)]
pub enum ValueChange {
    /// No change.
    #[default]
    None,
    /// The array's data type changes.
    DataType(Box<Cast>),
    /// One kernel with error figures replaces the first `codecs` codecs of the destination (`scale_offset`,
    /// `cast_value`). With 0, the codes become the array itself.
    Quantize {
        /// The kernel.
        kernel: Box<Quantize>,
        /// The number of codecs of the destination that the kernel replaces.
        codecs: usize,
    },
    /// One kernel with error figures replaces `bitround`, the first codec of the destination.
    KeepBits(Box<KeepBits>),
    /// CF attributes unpack integers to floats. The second change is applied to the floats.
    Unpack(Box<Unpack>, Box<ValueChange>),
}

impl ValueChange {
    /// Returns the number of codecs of the destination that the change replaces.
    pub fn num_codecs(&self) -> usize {
        match self {
            ValueChange::Quantize { codecs, .. } => *codecs,
            ValueChange::KeepBits(_) => 1,
            ValueChange::Unpack(_, then) => then.num_codecs(),
            ValueChange::None | ValueChange::DataType(_) => 0,
        }
    }

    /// Returns the change of floats, after they are unpacked.
    pub fn of_floats(&self) -> &ValueChange {
        match self {
            ValueChange::Unpack(_, then) => then,
            own => own,
        }
    }

    /// Returns this change, followed by another.
    #[must_use]
    pub fn then(self, next: ValueChange) -> ValueChange {
        if let ValueChange::Unpack(unpack, _) = self { ValueChange::Unpack(unpack, Box::new(next)) } else { next }
    }

    /// Returns the unpacking of integers to floats, if there is one.
    pub fn unpacking(&self) -> Option<&Unpack> {
        if let ValueChange::Unpack(unpack, _) = self { Some(unpack) } else { None }
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

/// A source chunk that is decoded by the codecs from index `place` on.
#[derive(Debug, Clone, Copy)]
pub struct PartlyDecoded<'a> {
    /// The representation of the chunk before codec `place`.
    pub bytes: &'a [u8],
    /// The number of codecs that still have to be decoded.
    pub place: usize,
}

/// A planned conversion from one chain to another.
#[derive(Debug, Clone)]
pub struct Conversion {
    source: BoundChain,
    destination: BoundChain,
    change: ValueProgram,
    /// The element beyond the edge of the array, before the destination's codecs that still run.
    padding: Vec<u8>,
    /// True if values beyond the edge are reset, not converted. They may be NaN, which would spoil elements inside.
    resets_padding: bool,
    way: ConversionPath,
    /// The number of rounding codecs at the start of both chains. Values do not pass them again.
    rounded: usize,
    write_empty: bool,
    /// The change of values, to make conversions for chunks of other shapes.
    asked: ValueChange,
    by_shape: ByShape<Conversion>,
}

#[derive(Debug, Clone)]
enum ConversionPath {
    /// The chains are equal up to codec `keep`. Only later codecs run.
    Bytes { keep: usize },
    /// One pass over the values.
    Fused(Box<Fused>),
    /// All codecs, one by one, with a change of values between the chains.
    Whole,
}

impl Conversion {
    /// Plans the conversion between chains for chunks of the same shape. A quantisation replaces the leading codecs of
    /// the destination. It fails if other codecs precede these, since they would be left out.
    pub fn new(
        source: BoundChain,
        destination: BoundChain,
        change: &ValueChange,
        write_empty: bool,
    ) -> Result<Self, BindError> {
        check_applied(&destination, change)?;
        let same = matches!(change, ValueChange::None) && source.decoded().data_type == destination.decoded().data_type;
        let keep = if same { common_prefix(&source, &destination) } else { 0 };
        let rounded = if same { num_rounded(&source, &destination) } else { 0 };
        let way = if same && keep > source.num_array_to_array() {
            ConversionPath::Bytes { keep }
        } else if source.checks_values() {
            // Elements have to be in the shape of the array: only there can they be told from padding.
            ConversionPath::Whole
        } else if let Some(fused) = Fused::plan(&source, &destination, change, keep)? {
            ConversionPath::Fused(Box::new(fused))
        } else if keep > 0 && changes_no_value(&destination, keep) {
            ConversionPath::Bytes { keep }
        } else {
            ConversionPath::Whole
        };
        let mut program = ValueProgram::new(source.decoded().data_type.size().unwrap_or(1));
        push_change(&mut program, change);
        let padding = padding(&destination, change.num_codecs().max(rounded));
        let (asked, by_shape, change) = (change.clone(), ByShape::default(), program);
        let mut conversion = Conversion {
            source,
            destination,
            change,
            padding,
            way,
            rounded,
            write_empty,
            asked,
            by_shape,
            resets_padding: false,
        };
        conversion.resets_padding = spreads(&conversion.destination, conversion.kept());
        Ok(conversion)
    }

    /// Returns the conversion for chunks of another shape.
    pub fn for_shape(&self, shape: &[u64]) -> Result<OfShape<'_, Conversion>, BindError> {
        if self.source.decoded().shape == shape {
            return Ok(OfShape::Same(self));
        }
        let make = || {
            let (source, destination) = (self.source.for_shape(shape)?, self.destination.for_shape(shape)?);
            Conversion::new(source.clone(), destination.clone(), &self.asked, self.write_empty)
        };
        self.by_shape.get(shape, make).map(OfShape::Made)
    }

    /// Returns true if encoded chunks stay unchanged.
    pub fn is_copy(&self) -> bool {
        let kept = self.source.codecs().len();
        matches!(self.way, ConversionPath::Bytes { keep } if keep == kept && keep == self.destination.codecs().len())
    }

    /// Returns the number of leading codecs of both chains that do not run.
    pub fn kept(&self) -> usize {
        match &self.way {
            ConversionPath::Bytes { keep } => *keep,
            ConversionPath::Fused(fused) => fused.keep,
            ConversionPath::Whole => self.rounded,
        }
    }

    /// Returns the number of leading codecs of both chains that round.
    pub fn num_rounded(&self) -> usize {
        self.rounded
    }

    /// Returns true if chunks are decoded to elements.
    pub fn decodes_elements(&self) -> bool {
        !matches!(self.way, ConversionPath::Bytes { .. })
    }

    /// Returns the bytes of the buffers that it fills, in addition to the encoded chunks.
    pub(super) fn working_bytes(&self, has_edges: bool) -> u64 {
        let (source, destination) = (&self.source, &self.destination);
        let (longest_source, longest_destination) = (source.codecs().len(), destination.codecs().len());
        let elements = source.decoded_bytes().max(destination.decoded_bytes());
        let whole = || {
            let cropped = if has_edges { elements } else { 0 };
            let passage = source.passage_bytes(longest_source).max(destination.passage_bytes(longest_destination));
            [source.decoded_bytes(), destination.decoded_bytes(), cropped, passage]
        };
        let parts = match &self.way {
            ConversionPath::Bytes { .. } | ConversionPath::Fused(_) if has_edges && self.resets_padding => whole(),
            ConversionPath::Bytes { keep } => {
                let undone = source.passage_bytes(longest_source - keep);
                let done = destination.passage_bytes(longest_destination - keep);
                [source.max_representation_bytes(), undone.max(done), 0, 0]
            }
            ConversionPath::Fused(fused) if has_edges && fused.program.is_fallible() => whole(),
            ConversionPath::Fused(fused) => {
                let undone = longest_source - steps::pass_end(source, fused.source_bytes) + 1;
                let done = longest_destination - steps::pass_end(destination, fused.destination_bytes) + 1;
                let first = if undone > 1 { source.max_representation_bytes() } else { 0 };
                let permuted = if fused.transpose.is_some() { elements } else { 0 };
                let second = if done > 1 || fused.transpose.is_some() { elements } else { 0 };
                let passage = source.passage_bytes(undone).max(destination.passage_bytes(done));
                // `bytes` is part of the pass, so one codec less runs by itself.
                let passage = if undone.max(done) > 2 { passage } else { 0 };
                [first, second, permuted, passage]
            }
            ConversionPath::Whole => whole(),
        };
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Returns the chain that is read.
    pub fn source(&self) -> &BoundChain {
        &self.source
    }

    /// Returns the chain that is written.
    pub fn destination(&self) -> &BoundChain {
        &self.destination
    }

    /// Converts a chunk into `target`. `valid` is the shape of the part inside the array, if not all is inside. Values
    /// beyond the edge may be anything, do not count in figures, and become the fill value.
    pub fn run(
        &self,
        source: PartlyDecoded<'_>,
        valid: Option<&[u64]>,
        target: &mut Vec<u8>,
        buffers: &mut ConversionBuffers,
        figures: &mut QuantizeFigures,
    ) -> Result<Converted, ChainFault> {
        match (&self.way, valid) {
            (_, Some(valid)) if self.resets_padding => self.run_whole(source, Some(valid), target, buffers, figures),
            (ConversionPath::Bytes { keep }, _) => {
                let ConversionBuffers { first, workspace, .. } = buffers;
                if *keep >= source.place {
                    self.destination.encode_from(source.place, source.bytes, target, workspace)?;
                } else {
                    self.source.decode_between(*keep..source.place, source.bytes, first, workspace)?;
                    self.destination.encode_from(*keep, first, target, workspace)?;
                }
                Ok(Converted::Written)
            }
            (ConversionPath::Fused(fused), Some(valid)) if fused.program.is_fallible() => {
                self.run_whole(source, Some(valid), target, buffers, figures)
            }
            (ConversionPath::Fused(fused), _) => self.run_fused(fused, source, target, buffers, figures),
            (ConversionPath::Whole, valid) => self.run_whole(source, valid, target, buffers, figures),
        }
    }

    /// Converts with each codec of both chains, in the shape of the array. Elements outside `valid` are not converted,
    /// and become the fill value. They may be padding, or elements of the array outside a selection. (Other paths may
    /// convert padding, but must not get chunks that a selection cuts.)
    pub fn run_whole(
        &self,
        source: PartlyDecoded<'_>,
        valid: Option<&[u64]>,
        target: &mut Vec<u8>,
        buffers: &mut ConversionBuffers,
        figures: &mut QuantizeFigures,
    ) -> Result<Converted, ChainFault> {
        let ConversionBuffers { first, second, third, workspace } = buffers;
        self.source.decode_between(0..source.place, source.bytes, first, workspace)?;
        self.source.check_decoded(first.len())?;
        let shape = &self.source.decoded().shape;
        let (source_size, target_size) = self.change.sizes();
        let origin = vec![0; shape.len()];
        let elements: &[u8] = if let Some(valid) = valid {
            let size = as_index(valid.iter().product::<u64>()).saturating_mul(source_size);
            resize(third, size).map_err(ChainFault::memory)?;
            copy_box((first, shape, &origin), (third, valid, &origin), valid, source_size);
            third
        } else {
            first
        };
        let present = valid.unwrap_or(shape);
        self.source.check_values(elements, present, present)?;
        self.change.make_room(elements, second)?;
        let ran = self.change.run(elements, second, &mut workspace.tiles, Some(figures));
        ran.map_err(|fault| self.element_fault(&fault, present, None))?;
        let applied = self.asked.num_codecs();
        let fill = array_before(&self.destination, applied).fill_value.as_ref();
        if !self.write_empty && fill.is_some_and(|fill| is_filled_with(second, &fill.0)) {
            return Ok(Converted::Empty);
        }
        let changed: &[u8] = if let Some(valid) = valid {
            third.clear();
            third.extend(self.padding.iter().cycle().take(first.len() / source_size * target_size));
            copy_box((second, valid, &origin), (third, shape, &origin), valid, target_size);
            third
        } else {
            second
        };
        self.destination.encode_from(applied.max(self.rounded), changed, target, workspace)?;
        Ok(Converted::Written)
    }

    /// Makes a codec fault from a fault of the program, with the element's position in the array's chunk.
    fn element_fault(&self, fault: &ProgramFault, shape: &[u64], to_array: Option<&[usize]>) -> ChainFault {
        let encoded = unravel(fault.fault.index as u64, shape);
        let position = match to_array {
            Some(order) => order.iter().map(|dimension| encoded[*dimension]).collect(),
            None => encoded,
        };
        let kind = CodecError::Element {
            fault: fault.fault,
            position: Some(position.into_boxed_slice()),
            bits: fault.bits,
            types: fault.types,
        };
        match fault.origin {
            StepOrigin::Source(place) => self.source.codecs()[place].fault(place, kind.into()),
            StepOrigin::Destination(place) => self.destination.codecs()[place].fault(place, kind.into()),
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
fn check_applied(chain: &BoundChain, change: &ValueChange) -> Result<(), BindError> {
    let mut places = (0..change.num_codecs()).map(|place| (place, chain.codecs().get(place)));
    let rounds = matches!(change.of_floats(), ValueChange::KeepBits(_));
    let is_other = |(_, codec): &(usize, Option<&BoundCodec>)| {
        let is_one = match codec.map(|codec| codec.codec.effect()) {
            Some(Effect::ScaleOffset(_) | Effect::Cast { .. }) => !rounds,
            Some(Effect::BitRound(_)) => rounds,
            _ => false,
        };
        !is_one
    };
    places.find(is_other).map_or(Ok(()), |(place, codec)| {
        let name = codec.map_or_else(|| "-".to_owned(), |codec| codec.name.clone());
        let leading = if rounds { "`bitround`" } else { "`scale_offset` and `cast_value`" };
        let because = format!(", but {leading} must come first in the chain");
        Err(BindError::Unsupported { place, name, because })
    })
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
            && a.decoded == b.decoded
            && match (&a.metadata.configuration, &b.metadata.configuration) {
                (Some(one), Some(other)) => one.same_value(other) || same_filter(&a.metadata.name, one, other),
                (a, b) => a.is_none() && b.is_none(),
            }
    };
    source.codecs().iter().zip(destination.codecs()).take_while(alike).count()
}
