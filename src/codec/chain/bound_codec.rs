//! One codec of a bound chain, either way, with the faults of its elements and sizes.

use super::{BoundCodec, Codec, Workspace};
use crate::codec::fault::{ChainFault, ChainFaultKind};
use crate::codec::kinds::CodecError;
use crate::grid::unravel;
use crate::pipeline::{BytesSize, Representation};

impl BoundCodec {
    /// A fault of this codec, which stands at `place` in its chain.
    pub fn fault(&self, place: usize, kind: ChainFaultKind) -> ChainFault {
        ChainFault::new(place.to_string(), self.name.as_str(), kind)
    }

    pub(super) fn encode(
        &self,
        decoded: &[u8],
        encoded: &mut Vec<u8>,
        ws: &mut Workspace,
    ) -> Result<(), ChainFaultKind> {
        Self::expect_fixed_size(&self.decoded, decoded)?;
        match &self.codec {
            Codec::Array(codec) => {
                codec.encode(decoded, &mut ws.output(encoded)).map_err(|error| in_frame(error, &self.decoded))
            }
            Codec::Sharding(codec) => codec.encode(decoded, encoded, ws),
            Codec::BytesToBytes(codec) => Ok(codec.encode(decoded, encoded, &mut ws.contexts)?),
            Codec::Unread => Err(not_run()),
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
            Codec::Array(codec) => {
                let frame = if self.encoded.array().is_some() { &self.encoded } else { &self.decoded };
                codec.decode(encoded, &mut ws.output(decoded)).map_err(|error| in_frame(error, frame))
            }
            Codec::Sharding(codec) => codec.decode(encoded, decoded, ws),
            Codec::BytesToBytes(codec) => {
                let size = match self.decoded {
                    // Then the room bounds what the chain does not.
                    Representation::Bytes(BytesSize::Unbounded) if ws.room.is_some() => BytesSize::Bounded(u64::MAX),
                    Representation::Bytes(size) => size,
                    Representation::Array(_) => BytesSize::Unbounded,
                };
                let room = ws.room.filter(|room| size.limit() as u64 > *room);
                let bound = room.map_or(size, BytesSize::Bounded);
                let result = codec.decode(encoded, decoded, bound, &mut ws.contexts);
                result.map_err(|error| match (room, error) {
                    (Some(room), CodecError::Length { found, .. }) => ChainFaultKind::Room { room, found },
                    (_, error) => error.into(),
                })
            }
            Codec::Unread => Err(not_run()),
        }
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

pub(in crate::codec) fn expect_size(representation: &Representation, found: usize) -> Result<(), ChainFaultKind> {
    let (expected, found) = (representation.max_bytes().unwrap_or(0), found as u64);
    if expected == found { Ok(()) } else { Err(ChainFaultKind::Size { expected, found }) }
}

fn not_run() -> ChainFaultKind {
    CodecError::Bytes("this program does not run the codec".to_owned()).into()
}

/// The fault with the place of its element in the chunk, where it is that of an element.
fn in_frame(mut error: CodecError, frame: &Representation) -> ChainFaultKind {
    if let CodecError::Element { fault, position, .. } = &mut error {
        let place = frame.array().map(|array| unravel(fault.index as u64, &array.shape));
        *position = place.map(Vec::into_boxed_slice);
    }
    error.into()
}
