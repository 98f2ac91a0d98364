//! One codec of a bound chain, either way, with the faults of its elements and sizes.

use super::{BoundCodec, Codec, Workspace};
use crate::codec::fault::{ChainFault, ChainFaultKind};
use crate::codec::kinds::{BytesCodecError, DecodedSize};
use crate::codec::pcodec::PcodecError;
use crate::codec::value_program::swap;
use crate::codec::vlen::Vlen;
use crate::codec::zfp::ZfpError;
use crate::element::NumberType;
use crate::kernel::ElementFault;
use crate::kernel::cast::Cast;
use crate::kernel::numcodecs::pack_bits;
use crate::pipeline::{ArrayRepresentation, BytesSize, Representation};

impl BoundCodec {
    /// A fault of this codec, which stands at `place` in its chain.
    pub fn fault(&self, place: usize, kind: ChainFaultKind) -> ChainFault {
        ChainFault { place: place.to_string().into(), codec: self.name.clone(), kind }
    }

    pub(super) fn encode(
        &self,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
        ws: &mut Workspace,
    ) -> Result<(), ChainFaultKind> {
        Self::expect_fixed_size(&self.decoded, decoded)?;
        match &self.codec {
            Codec::ScaleOffset(codec) => {
                zeroed(encoded, decoded.len())?;
                let types = Some((codec.number_type(), codec.number_type()));
                codec
                    .encode(decoded, encoded)
                    .map_err(|fault| element_fault(fault, types, decoded, &self.decoded))
            }
            Codec::Cast { encode, .. } => Self::cast(encode, decoded, encoded, &self.decoded),
            Codec::Transpose(codec) => {
                zeroed(encoded, decoded.len())?;
                codec.encode(decoded, encoded).map_err(|error| ChainFaultKind::Bytes(error.to_string()))
            }
            Codec::Bytes { swap: width, check } => {
                if let Some(check) = check {
                    Self::cast(check, decoded, encoded, &self.decoded)?;
                }
                copy_swapped(decoded, encoded, *width)?;
                Ok(())
            }
            Codec::ElementBytes(codec) => codec.encode(decoded, encoded).map_err(|fault| {
                let types = self.number_type().map(|number_type| (number_type, number_type));
                element_fault(fault, types, decoded, &self.decoded)
            }),
            Codec::BitRound(codec) => {
                copy_swapped(decoded, encoded, None)?;
                codec.encode(encoded);
                Ok(())
            }
            Codec::Filter { filter, swap } => {
                let size = self.encoded_bytes();
                let types = filter.types();
                before_filter(decoded, *swap, |decoded| {
                    zeroed(encoded, size)?;
                    filter
                        .encode(decoded, encoded)
                        .map_err(|fault| element_fault(fault, Some(types), decoded, &self.decoded))
                })
            }
            Codec::Delta { delta, swap } => {
                let size = self.encoded_bytes();
                before_filter(decoded, *swap, |decoded| {
                    zeroed(encoded, size)?;
                    delta
                        .encode(decoded, encoded)
                        .map_err(|fault| element_fault(fault, Some(delta.types()), decoded, &self.decoded))
                })
            }
            Codec::PackBooleans => {
                zeroed(encoded, pack_bits::encoded_size(decoded.len()))?;
                pack_bits::encode(decoded, encoded);
                Ok(())
            }
            Codec::Reshape => {
                copy_swapped(decoded, encoded, None)?;
                Ok(())
            }
            Codec::Vlen(codec) => Self::framing(*codec, decoded, encoded),
            Codec::Unread => Err(not_run()),
            Codec::PackBits(codec) => {
                codec.encode(decoded, encoded).map_err(|error| ChainFaultKind::Bytes(error.to_string()))
            }
            Codec::Pcodec(codec) => {
                codec.encode(decoded, encoded).map_err(|error| ChainFaultKind::Bytes(error.to_string()))
            }
            Codec::Zfp(codec) => codec.encode(decoded, encoded).map_err(zfp_fault),
            Codec::Sharding(codec) => codec.encode(decoded, encoded, ws),
            Codec::BytesToBytes(codec) => {
                codec.encode(decoded, encoded, &mut ws.contexts).map_err(|error| bytes_fault(&error))
            }
        }
    }

    pub(super) fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        ws: &mut Workspace,
    ) -> Result<(), ChainFaultKind> {
        Self::expect_fixed_size(&self.encoded, encoded)?;
        match &self.codec {
            Codec::ScaleOffset(codec) => {
                zeroed(decoded, encoded.len())?;
                let types = Some((codec.number_type(), codec.number_type()));
                codec
                    .decode(encoded, decoded)
                    .map_err(|fault| element_fault(fault, types, encoded, &self.encoded))
            }
            Codec::Cast { decode, .. } => Self::cast(decode, encoded, decoded, &self.encoded),
            Codec::Transpose(codec) => {
                zeroed(decoded, encoded.len())?;
                codec.decode(encoded, decoded).map_err(|error| ChainFaultKind::Bytes(error.to_string()))
            }
            Codec::Bytes { swap: width, check } => {
                expect_size(&self.decoded, encoded.len())?;
                copy_swapped(encoded, decoded, *width)?;
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
            Codec::Filter { filter, swap } => {
                zeroed(decoded, self.decoded_bytes())?;
                let (to, from) = filter.types();
                filter
                    .decode(encoded, decoded)
                    .map_err(|fault| element_fault(fault, Some((from, to)), encoded, &self.encoded))?;
                swap_back(decoded, *swap);
                Ok(())
            }
            Codec::Delta { delta, swap } => {
                zeroed(decoded, self.decoded_bytes())?;
                let (to, from) = delta.types();
                delta
                    .decode(encoded, decoded)
                    .map_err(|fault| element_fault(fault, Some((from, to)), encoded, &self.encoded))?;
                swap_back(decoded, *swap);
                Ok(())
            }
            Codec::PackBooleans => {
                zeroed(decoded, self.decoded_bytes())?;
                pack_bits::decode(encoded, decoded).map_err(|(expected, found)| {
                    ChainFaultKind::Bytes(format!(
                        "expected a first byte of {expected}, the bits of padding, found {found}"
                    ))
                })
            }
            Codec::BitRound(_) | Codec::Reshape => {
                copy_swapped(encoded, decoded, None)?;
                Ok(())
            }
            Codec::Vlen(codec) => Self::framing(*codec, encoded, decoded),
            Codec::Unread => Err(not_run()),
            Codec::PackBits(codec) => codec
                .decode(encoded, self.num_elements(), decoded)
                .map_err(|error| ChainFaultKind::Bytes(error.to_string())),
            Codec::Pcodec(codec) => {
                codec.decode(encoded, self.num_elements(), decoded).map_err(|error| match error {
                    PcodecError::Count { .. } => ChainFaultKind::Length(error.to_string()),
                    PcodecError::Memory { size } => ChainFaultKind::Memory { needed: size as u64 },
                    error => ChainFaultKind::Bytes(error.to_string()),
                })
            }
            Codec::Zfp(codec) => codec.decode(encoded, decoded).map_err(zfp_fault),
            Codec::Sharding(codec) => codec.decode(encoded, decoded, ws),
            Codec::BytesToBytes(codec) => {
                let size = decoded_size(&self.decoded, ws.room.is_some());
                let room = ws.room.and_then(|room| usize::try_from(room).ok());
                let room = room.filter(|room| size.limit() > *room);
                let bound = room.map_or(size, DecodedSize::AtMost);
                codec.decode(encoded, decoded, bound, &mut ws.contexts).map_err(|error| match room {
                    Some(room) if error.is_wrong_length() => {
                        ChainFaultKind::Room { room: room as u64, found: error.found_length() }
                    }
                    _ => bytes_fault(&error),
                })
            }
        }
    }

    /// Elements of the chunk before it.
    fn num_elements(&self) -> usize {
        let count = self.decoded.array().and_then(ArrayRepresentation::num_elements);
        crate::codec::region::as_index(count.unwrap_or(0))
    }

    /// Bytes of the chunk before it, which has a fixed size.
    fn decoded_bytes(&self) -> usize {
        crate::codec::region::as_index(self.decoded.max_bytes().unwrap_or(0))
    }

    /// Bytes of the chunk after it, which has a fixed size.
    fn encoded_bytes(&self) -> usize {
        crate::codec::region::as_index(self.encoded.max_bytes().unwrap_or(0))
    }

    /// Elements of any size pass as they are encoded.
    fn framing(codec: Vlen, source: &[u8], target: &mut Vec<u8>) -> Result<(), ChainFaultKind> {
        codec.check(source).map_err(|error| ChainFaultKind::Bytes(error.to_string()))?;
        copy_swapped(source, target, None)?;
        Ok(())
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
        zeroed(target, source.len() / from.size() * to.size())?;
        cast.convert(source, target).map_err(|fault| element_fault(fault, Some((from, to)), source, frame))
    }

    /// An array has one size, and anything else would be read past its end; so have bytes that nothing compressed,
    /// and anything else is a truncated chunk.
    fn expect_fixed_size(representation: &Representation, bytes: &[u8]) -> Result<(), ChainFaultKind> {
        match representation {
            Representation::Array(array) if array.data_type.is_variable_length() => Ok(()),
            Representation::Array(_) | Representation::Bytes(BytesSize::Fixed(_)) => {
                expect_size(representation, bytes.len())
            }
            Representation::Bytes(_) => Ok(()),
        }
    }
}

/// What a bytes->bytes codec could not encode or decode.
fn bytes_fault(error: &BytesCodecError) -> ChainFaultKind {
    if let Some(needed) = error.missing_memory() {
        ChainFaultKind::Memory { needed }
    } else if error.is_wrong_checksum() {
        ChainFaultKind::Checksum(error.to_string())
    } else if error.is_wrong_length() {
        ChainFaultKind::Length(error.to_string())
    } else {
        ChainFaultKind::Bytes(error.to_string())
    }
}

pub(super) fn expect_size(representation: &Representation, found: usize) -> Result<(), ChainFaultKind> {
    let (expected, found) = (representation.max_bytes().unwrap_or(0), found as u64);
    if expected == found { Ok(()) } else { Err(ChainFaultKind::Size { expected, found }) }
}

fn not_run() -> ChainFaultKind {
    ChainFaultKind::Bytes("this program does not run the codec".to_owned())
}

fn zfp_fault(error: ZfpError) -> ChainFaultKind {
    match error {
        ZfpError::Memory { size } => ChainFaultKind::Memory { needed: size as u64 },
        error => ChainFaultKind::Bytes(error.to_string()),
    }
}

/// The size that a bytes->bytes codec may decode to; `has_room` where something else bounds what the chain does not.
fn decoded_size(decoded: &Representation, has_room: bool) -> DecodedSize {
    match decoded {
        Representation::Bytes(BytesSize::Fixed(bytes)) => {
            DecodedSize::Exact(crate::codec::region::as_index(*bytes))
        }
        Representation::Bytes(BytesSize::Bounded(bytes)) => {
            DecodedSize::AtMost(crate::codec::region::as_index(*bytes))
        }
        _ if has_room => DecodedSize::AtMost(usize::MAX),
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
    let bits = source.get(fault.index * size..(fault.index + 1) * size).map_or(0, crate::codec::element_bits);
    let position = frame.array().map(|array| crate::codec::region::unravel(fault.index as u64, &array.shape));
    ChainFaultKind::Element { fault, position: position.map(Vec::into_boxed_slice), bits, types }
}

/// Runs a filter on elements whose bytes are swapped where v2 says so.
fn before_filter(
    decoded: &[u8],
    width: Option<usize>,
    filter: impl FnOnce(&[u8]) -> Result<(), ChainFaultKind>,
) -> Result<(), ChainFaultKind> {
    if width.is_none() {
        return filter(decoded);
    }
    let mut swapped = Vec::new();
    copy_swapped(decoded, &mut swapped, width)?;
    filter(&swapped)
}

/// Undoes the swap of [`before_filter`].
fn swap_back(decoded: &mut [u8], width: Option<usize>) {
    if let Some(width) = width {
        decoded.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
}

fn copy_swapped(source: &[u8], target: &mut Vec<u8>, width: Option<usize>) -> Result<(), ChainFaultKind> {
    if let Some(width) = width {
        zeroed(target, source.len())?;
        swap(source, target, width);
    } else {
        target.clear();
        reserve(target, source.len())?;
        target.extend_from_slice(source);
    }
    Ok(())
}

/// Makes a buffer so many bytes long; those that are new are zeros. What a document claims may be more than the machine
/// has: then that is an error.
pub(in crate::codec) fn zeroed(buffer: &mut Vec<u8>, size: usize) -> Result<(), ChainFaultKind> {
    reserve(buffer, size.saturating_sub(buffer.len()))?;
    buffer.resize(size, 0);
    Ok(())
}

fn reserve(buffer: &mut Vec<u8>, more: usize) -> Result<(), ChainFaultKind> {
    buffer.try_reserve_exact(more).map_err(|_| ChainFaultKind::Memory { needed: more as u64 })
}
