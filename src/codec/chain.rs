//! A codec chain bound to a chunk's data type, shape and fill value: everything about it has been proved, and what is
//! left can only fail on the data.

use super::bytes_to_bytes::{BytesCodec, Contexts, DecodedSize};
use super::element_bytes::ElementBytes;
use super::fault::{ChainFault, ChainFaultKind};
use super::packbits::PackBits;
use super::sharding::BoundSharding;
use super::transpose::Transpose;
use super::value_program::{Tiles, swap};
use crate::data_type::DataType;
use crate::element::NumberType;
use crate::kernel::bit_round::BitRound;
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::{ElementFault, OutOfRange, Rounding};
use crate::metadata::extension::CodecMetadata;
use crate::pipeline::{
    ArrayRepresentation, BoundConfiguration, BytesSize, CodecKind, Pipeline, Representation, Stage,
};

/// What a codec does to a chunk.
#[derive(Debug, Clone)]
pub enum Codec {
    /// `scale_offset`.
    ScaleOffset(ScaleOffset),
    /// `cast_value`, both directions.
    Cast {
        /// Array to encoded type.
        encode: Box<Cast>,
        /// And back.
        decode: Box<Cast>,
    },
    /// `transpose`.
    Transpose(Transpose),
    /// `bytes`.
    Bytes {
        /// Component size, where the byte order is not this machine's.
        swap: Option<usize>,
        /// Holds the values of types with unused bits to their range.
        check: Option<Box<Cast>>,
    },
    /// `bytes` of structs, and of types of less than a byte.
    ElementBytes(ElementBytes),
    /// `bitround`.
    BitRound(BitRound),
    /// `reshape`, which moves nothing.
    Reshape,
    /// `packbits`.
    PackBits(PackBits),
    /// `sharding_indexed`.
    Sharding(Box<BoundSharding>),
    /// A bytes->bytes codec.
    BytesToBytes(BytesCodec),
}

/// A codec in its place.
#[derive(Debug, Clone)]
pub struct BoundCodec {
    /// Its name.
    pub name: String,
    /// As the document has it.
    pub metadata: CodecMetadata,
    /// What it does.
    pub codec: Codec,
    /// The chunk before it.
    pub decoded: Representation,
    /// The chunk after it.
    pub encoded: Representation,
}

/// A bound chain. It may stop at array->array codecs.
#[derive(Debug, Clone)]
pub struct BoundChain {
    decoded: ArrayRepresentation,
    codecs: Vec<BoundCodec>,
}

/// Buffers and compressor contexts that a thread uses again for each chunk.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(super) buffers: [Vec<u8>; 2],
    /// For value programs.
    pub tiles: Tiles,
    /// Compressor contexts.
    pub contexts: Contexts,
    pub(super) inner: Option<Box<Workspace>>,
}

impl Workspace {
    /// The workspace of the chain inside a shard.
    pub(super) fn inner(&mut self) -> &mut Workspace {
        self.inner.get_or_insert_default()
    }
}

/// A chain that cannot be bound.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BindError {
    /// A codec that is known, or not, but cannot be run here.
    #[error("codec {place} ({name}) is not supported{because}")]
    Unsupported {
        /// Its place in the chain.
        place: usize,
        /// Its name.
        name: String,
        /// `: reason`, or nothing.
        because: String,
    },
    /// The array's data type has no elements that can be decoded here.
    #[error("data type {0} is not decoded to elements")]
    DataType(String),
    /// A chunk whose size overflows, or does not fit this machine's memory.
    #[error("a chunk of shape {shape:?} is too large for this machine")]
    TooLarge {
        /// Its shape.
        shape: Vec<u64>,
    },
}

impl BoundChain {
    /// Binds a pipeline without faults.
    pub fn bind(pipeline: &Pipeline) -> Result<Self, BindError> {
        let decoded = pipeline.input.clone();
        check_size(&decoded)?;
        let mut before = Representation::Array(decoded.clone());
        let mut codecs = Vec::with_capacity(pipeline.stages.len());
        for (place, stage) in pipeline.stages.iter().enumerate() {
            let unsupported =
                |because: String| BindError::Unsupported { place, name: stage.name.clone(), because };
            let encoded = stage.output.clone().ok_or_else(|| unsupported(String::new()))?;
            if let Representation::Array(array) = &encoded {
                check_size(array)?;
            }
            let codec = bind_codec(stage, &before).map_err(|error| match error {
                BindError::Unsupported { because, .. } => unsupported(because),
                other => other,
            })?;
            codecs.push(BoundCodec {
                name: stage.name.clone(),
                metadata: stage.metadata.clone(),
                codec,
                decoded: before,
                encoded: encoded.clone(),
            });
            before = encoded;
        }
        Ok(BoundChain { decoded, codecs })
    }

    /// The chunk as an array.
    pub fn decoded(&self) -> &ArrayRepresentation {
        &self.decoded
    }

    /// The codecs, in encode order.
    pub fn codecs(&self) -> &[BoundCodec] {
        &self.codecs
    }

    /// The chunk after the last codec.
    pub fn encoded(&self) -> Representation {
        self.codecs
            .last()
            .map_or_else(|| Representation::Array(self.decoded.clone()), |codec| codec.encoded.clone())
    }

    /// Writes inner chunks that hold only the fill value from now on.
    pub fn write_empty_chunks(&mut self) {
        for codec in &mut self.codecs {
            if let Codec::Sharding(sharding) = &mut codec.codec {
                sharding.set_write_empty();
            }
        }
    }

    /// How many array->array codecs lead the chain that keep the dimensions and can be undone value by value.
    pub fn num_array_to_array(&self) -> usize {
        self.codecs
            .iter()
            .take_while(|c| {
                matches!(c.codec, Codec::ScaleOffset(_) | Codec::Cast { .. } | Codec::Transpose(_))
            })
            .count()
    }

    /// The most bytes that an encoded chunk can have; more is a fault.
    pub fn max_encoded_bytes(&self) -> u64 {
        // A compressor that gives no bound is allowed twice the decoded chunk and a mebibyte.
        let decoded = self.decoded.num_bytes().unwrap_or(u64::MAX);
        let allowance = decoded.saturating_mul(2).saturating_add(1 << 20);
        self.encoded().max_bytes().map_or(allowance, |bytes| bytes.max(allowance))
    }

    /// Whether an encoded chunk of `length` bytes is the elements themselves, as `bytes` alone leaves them.
    pub fn stores_elements(&self, length: usize) -> bool {
        let is_plain = self.codecs.len() == 1 && self.num_moot() == 1;
        is_plain && self.decoded.num_bytes() == Some(length as u64)
    }

    /// How many codecs at the front change nothing: 1 where that is a `bytes` in the byte order of this machine, else 0.
    /// What they are given to decode is the elements, if it has the right size.
    pub fn num_moot(&self) -> usize {
        let is_moot = |codec: &BoundCodec| matches!(codec.codec, Codec::Bytes { swap: None, check: None });
        usize::from(self.codecs.first().is_some_and(is_moot))
    }

    /// Refuses bytes that are not as many as the elements of a decoded chunk have.
    pub fn check_decoded(&self, length: usize) -> Result<(), ChainFault> {
        let decoded = Representation::Array(self.decoded.clone());
        let fault = |kind| match self.codecs.first() {
            Some(codec) => codec.fault(0, kind),
            None => ChainFault { place: "-".to_owned(), codec: String::new(), kind },
        };
        expect_size(&decoded, length).map_err(fault)
    }

    /// Bytes of the largest representation between two codecs.
    pub fn max_representation_bytes(&self) -> u64 {
        let of = |representation: &Representation| representation.max_bytes().unwrap_or(0);
        let whole = self.decoded.num_bytes().unwrap_or(u64::MAX);
        self.codecs.iter().map(|codec| of(&codec.encoded)).fold(whole, u64::max)
    }

    /// Runs codec `place` forward.
    pub fn encode_codec(
        &self,
        place: usize,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), ChainFault> {
        let codec = &self.codecs[place];
        codec.encode(decoded, encoded, workspace).map_err(|kind| codec.fault(place, kind))
    }

    /// Runs codec `place` backward.
    pub fn decode_codec(
        &self,
        place: usize,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), ChainFault> {
        let codec = &self.codecs[place];
        codec.decode(encoded, decoded, workspace).map_err(|kind| codec.fault(place, kind))
    }

    /// Encodes with the codecs from `first` on.
    pub fn encode_from(
        &self,
        first: usize,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), ChainFault> {
        self.through(first..self.codecs.len(), decoded, encoded, workspace, Self::encode_codec)
    }

    /// Decodes back to the representation in front of codec `last`.
    pub fn decode_to(
        &self,
        last: usize,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), ChainFault> {
        self.through((last..self.codecs.len()).rev(), encoded, decoded, workspace, Self::decode_codec)
    }

    /// Encodes a chunk of native-endian elements in C order.
    pub fn encode(
        &self,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), ChainFault> {
        self.encode_from(0, decoded, encoded, workspace)
    }

    /// Decodes a chunk to native-endian elements in C order.
    pub fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), ChainFault> {
        self.decode_to(0, encoded, decoded, workspace)
    }

    /// Passes bytes through codecs by one direction, from buffer to buffer, the last into `target`.
    fn through(
        &self,
        places: impl ExactSizeIterator<Item = usize>,
        source: &[u8],
        target: &mut Vec<u8>,
        workspace: &mut Workspace,
        direction: impl Fn(&Self, usize, &[u8], &mut Vec<u8>, &mut Workspace) -> Result<(), ChainFault>,
    ) -> Result<(), ChainFault> {
        let last = places.len().checked_sub(1);
        let [mut current, mut spare] = std::mem::take(&mut workspace.buffers);
        let mut result = Ok(());
        for (step, place) in places.enumerate() {
            let input: &[u8] = if step == 0 { source } else { &current };
            let output = if Some(step) == last { &mut *target } else { &mut spare };
            result = direction(self, place, input, output, workspace);
            if result.is_err() {
                break;
            }
            std::mem::swap(&mut current, &mut spare);
        }
        workspace.buffers = [current, spare];
        if last.is_none() {
            target.clear();
            target.extend_from_slice(source);
        }
        result
    }
}

impl BoundCodec {
    fn fault(&self, place: usize, kind: ChainFaultKind) -> ChainFault {
        ChainFault { place: place.to_string(), codec: self.name.clone(), kind }
    }

    fn encode(
        &self,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
        ws: &mut Workspace,
    ) -> Result<(), ChainFaultKind> {
        Self::expect_fixed_size(&self.decoded, decoded)?;
        match &self.codec {
            Codec::ScaleOffset(codec) => {
                encoded.resize(decoded.len(), 0);
                let types = Some((codec.number_type(), codec.number_type()));
                codec
                    .encode(decoded, encoded)
                    .map_err(|fault| element_fault(fault, types, decoded, &self.decoded))
            }
            Codec::Cast { encode, .. } => Self::cast(encode, decoded, encoded, &self.decoded),
            Codec::Transpose(codec) => {
                encoded.resize(decoded.len(), 0);
                codec.encode(decoded, encoded).map_err(|error| ChainFaultKind::Bytes(error.to_string()))
            }
            Codec::Bytes { swap: width, check } => {
                if let Some(check) = check {
                    Self::cast(check, decoded, encoded, &self.decoded)?;
                }
                copy_swapped(decoded, encoded, *width);
                Ok(())
            }
            Codec::ElementBytes(codec) => codec.encode(decoded, encoded).map_err(|fault| {
                let types = self.number_type().map(|number_type| (number_type, number_type));
                element_fault(fault, types, decoded, &self.decoded)
            }),
            Codec::BitRound(codec) => {
                copy_swapped(decoded, encoded, None);
                codec.encode(encoded);
                Ok(())
            }
            Codec::Reshape => {
                copy_swapped(decoded, encoded, None);
                Ok(())
            }
            Codec::PackBits(codec) => {
                codec.encode(decoded, encoded).map_err(|error| ChainFaultKind::Bytes(error.to_string()))
            }
            Codec::Sharding(codec) => codec.encode(decoded, encoded, ws),
            Codec::BytesToBytes(codec) => codec
                .encode(decoded, encoded, &mut ws.contexts)
                .map_err(|error| ChainFaultKind::Bytes(error.to_string())),
        }
    }

    fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        ws: &mut Workspace,
    ) -> Result<(), ChainFaultKind> {
        Self::expect_fixed_size(&self.encoded, encoded)?;
        match &self.codec {
            Codec::ScaleOffset(codec) => {
                decoded.resize(encoded.len(), 0);
                let types = Some((codec.number_type(), codec.number_type()));
                codec
                    .decode(encoded, decoded)
                    .map_err(|fault| element_fault(fault, types, encoded, &self.encoded))
            }
            Codec::Cast { decode, .. } => Self::cast(decode, encoded, decoded, &self.encoded),
            Codec::Transpose(codec) => {
                decoded.resize(encoded.len(), 0);
                codec.decode(encoded, decoded).map_err(|error| ChainFaultKind::Bytes(error.to_string()))
            }
            Codec::Bytes { swap: width, check } => {
                expect_size(&self.decoded, encoded.len())?;
                copy_swapped(encoded, decoded, *width);
                let Some(check) = check else { return Ok(()) };
                let elements = std::mem::take(decoded);
                let checked = Self::cast(check, &elements, decoded, &self.decoded);
                *decoded = elements;
                checked
            }
            Codec::ElementBytes(codec) => {
                expect_size(&self.decoded, encoded.len())?;
                codec.decode(encoded, decoded);
                Ok(())
            }
            Codec::BitRound(_) | Codec::Reshape => {
                copy_swapped(encoded, decoded, None);
                Ok(())
            }
            Codec::PackBits(codec) => {
                let count = self.decoded.array().and_then(ArrayRepresentation::num_elements).unwrap_or(0);
                codec
                    .decode(encoded, super::region::as_index(count), decoded)
                    .map_err(|error| ChainFaultKind::Bytes(error.to_string()))
            }
            Codec::Sharding(codec) => codec.decode(encoded, decoded, ws),
            Codec::BytesToBytes(codec) => codec
                .decode(encoded, decoded, decoded_size(&self.decoded), &mut ws.contexts)
                .map_err(|error| ChainFaultKind::Bytes(error.to_string())),
        }
    }

    /// The number type of the elements before the codec.
    fn number_type(&self) -> Option<NumberType> {
        self.decoded.array().and_then(|array| array.data_type.number())
    }

    fn cast(
        cast: &Cast,
        source: &[u8],
        target: &mut Vec<u8>,
        frame: &Representation,
    ) -> Result<(), ChainFaultKind> {
        let (from, to) = (cast.options().source, cast.options().target);
        target.resize(source.len() / from.size() * to.size(), 0);
        cast.convert(source, target).map_err(|fault| element_fault(fault, Some((from, to)), source, frame))
    }

    /// An array has one size, and anything else would be read past its end; so have bytes that nothing compressed,
    /// and anything else is a truncated chunk.
    fn expect_fixed_size(representation: &Representation, bytes: &[u8]) -> Result<(), ChainFaultKind> {
        match representation {
            Representation::Array(_) | Representation::Bytes(BytesSize::Fixed(_)) => {
                expect_size(representation, bytes.len())
            }
            Representation::Bytes(_) => Ok(()),
        }
    }
}

fn expect_size(representation: &Representation, found: usize) -> Result<(), ChainFaultKind> {
    let (expected, found) = (representation.max_bytes().unwrap_or(0), found as u64);
    if expected == found { Ok(()) } else { Err(ChainFaultKind::Size { expected, found }) }
}

/// The size that a bytes->bytes codec may decode to.
pub(super) fn decoded_size(decoded: &Representation) -> DecodedSize {
    match decoded {
        Representation::Bytes(BytesSize::Fixed(bytes)) => DecodedSize::Exact(super::region::as_index(*bytes)),
        Representation::Bytes(BytesSize::Bounded(bytes)) => {
            DecodedSize::AtMost(super::region::as_index(*bytes))
        }
        _ => DecodedSize::AtMost(MAX_UNBOUNDED_BYTES),
    }
}

/// The most that a chunk may decode to where the chain tells no bound: 1 GiB.
const MAX_UNBOUNDED_BYTES: usize = 1 << 30;

/// The fault of one element, with its value and its place in the chunk.
fn element_fault(
    fault: ElementFault,
    types: Option<(NumberType, NumberType)>,
    source: &[u8],
    frame: &Representation,
) -> ChainFaultKind {
    let size = types.map_or(1, |(source, _)| source.size());
    let bits = source.get(fault.index * size..(fault.index + 1) * size).map_or(0, super::element_bits);
    let position = frame.array().map(|array| super::region::unravel(fault.index as u64, &array.shape));
    ChainFaultKind::Element { fault, position, bits, types }
}

fn copy_swapped(source: &[u8], target: &mut Vec<u8>, width: Option<usize>) {
    if let Some(width) = width {
        target.resize(source.len(), 0);
        swap(source, target, width);
    } else {
        target.clear();
        target.extend_from_slice(source);
    }
}

fn check_size(array: &ArrayRepresentation) -> Result<(), BindError> {
    let Some(bytes) = array.data_type.size() else {
        return Err(BindError::DataType(array.data_type.to_string()));
    };
    let total = array.num_elements().and_then(|count| count.checked_mul(bytes as u64));
    // Half of the address space is more than any machine gives one chunk.
    match total.map(usize::try_from) {
        Some(Ok(total)) if total <= usize::MAX / 4 => Ok(()),
        _ => Err(BindError::TooLarge { shape: array.shape.clone() }),
    }
}

/// The cast that passes each value of a type with unused bits and refuses the rest; `None` where all bits count.
pub(super) fn range_check(data_type: &DataType) -> Option<Cast> {
    let number_type = data_type.number().filter(|number_type| !number_type.is_whole())?;
    Some(Cast::new(CastOptions {
        source: number_type,
        target: number_type,
        rounding: Rounding::NearestEven,
        out_of_range: OutOfRange::Error,
        scalar_map: Vec::new(),
    }))
}

fn bind_codec(stage: &Stage, before: &Representation) -> Result<Codec, BindError> {
    let unsupported = |because: String| BindError::Unsupported { place: 0, name: String::new(), because };
    let array =
        || before.array().ok_or_else(|| unsupported(": it stands after the array->bytes codec".to_owned()));
    Ok(match &stage.configuration {
        BoundConfiguration::ScaleOffset { number_type, offset, scale } => {
            Codec::ScaleOffset(ScaleOffset::new(*number_type, *offset, *scale))
        }
        BoundConfiguration::CastValue { encode, decode } => Codec::Cast {
            encode: Box::new(Cast::new(encode.clone())),
            decode: Box::new(Cast::new(decode.clone())),
        },
        BoundConfiguration::Transpose { order } => {
            let array = array()?;
            let size = array.data_type.size().unwrap_or(1);
            let bound = Transpose::new(&array.shape, order, size);
            Codec::Transpose(bound.map_err(|error| unsupported(format!(": {error}")))?)
        }
        BoundConfiguration::Bytes { big_endian } => {
            let data_type = &array()?.data_type;
            match ElementBytes::of(data_type, *big_endian) {
                Some(codec) => Codec::ElementBytes(codec),
                None => Codec::Bytes {
                    swap: data_type.component_size().filter(|_| *big_endian != cfg!(target_endian = "big")),
                    check: range_check(data_type).map(Box::new),
                },
            }
        }
        BoundConfiguration::BitRound(codec) => Codec::BitRound(*codec),
        BoundConfiguration::Reshape => Codec::Reshape,
        BoundConfiguration::PackBits(configuration) => {
            array()?;
            Codec::PackBits(PackBits::new(*configuration))
        }
        BoundConfiguration::Sharding(configuration) => {
            Codec::Sharding(Box::new(BoundSharding::bind(configuration, array()?)?))
        }
        BoundConfiguration::Other if stage.kind == Some(CodecKind::BytesToBytes) => {
            let bound = BytesCodec::new(&stage.name, stage.metadata.configuration.as_ref());
            Codec::BytesToBytes(bound.map_err(|error| unsupported(format!(": {error}")))?)
        }
        BoundConfiguration::Vlen(_) | BoundConfiguration::Other => return Err(unsupported(String::new())),
    })
}
