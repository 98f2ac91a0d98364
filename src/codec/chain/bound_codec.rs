//! One codec of a chain. It is made from a stage of a pipeline, runs in both directions, and reports faults of elements
//! and sizes. Also how a chain encodes values that have been quantised before.

use super::{BindError, BoundChain, BoundCodec, Codec, Workspace};
use crate::codec::fault::{ChainFault, CodecError, Outcome};
use crate::codec::kinds::with_allowance;
use crate::codec::{BoundSharding, BytesCodec, ChainFaultKind, Effect};
use crate::data_type::DataType;
use crate::element::{element_bits, is_of_type};
use crate::grid::unravel;
use crate::kernel::{ElementFault, FaultKind};
use crate::pipeline::{ArrayRepresentation, BoundConfiguration, BytesSize, CodecKind, Representation, Stage};

impl BoundCodec {
    /// Makes a fault of this codec, whose index in its chain is `index`.
    pub fn fault(&self, index: usize, kind: ChainFaultKind) -> ChainFault {
        ChainFault::new(index.to_string(), self.metadata.name.as_str(), kind)
    }

    pub(super) fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, ws: &mut Workspace) -> Outcome {
        Self::expect_fixed_size(&self.decoded, decoded)?;
        match &self.codec {
            Codec::Array(codec) => {
                codec.encode(decoded, &mut ws.output(encoded)).map_err(|error| in_frame(error, &self.decoded))
            }
            Codec::Sharding(codec) => codec.encode(decoded, encoded, ws),
            Codec::BytesToBytes(codec) => Ok(codec.encode(decoded, encoded, &mut ws.contexts)?),
            Codec::Other => Err(not_run()),
        }
    }

    pub(super) fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>, ws: &mut Workspace) -> Outcome {
        Self::expect_fixed_size(&self.encoded, encoded)?;
        match &self.codec {
            Codec::Array(codec) => {
                // A codec that decodes from an array counts its elements. Bytes have no positions, so `bytes` counts
                // decoded elements.
                let frame = if self.encoded.array().is_some() { &self.encoded } else { &self.decoded };
                codec.decode(encoded, &mut ws.output(decoded)).map_err(|error| in_frame(error, frame))
            }
            Codec::Sharding(codec) => codec.decode(encoded, decoded, ws),
            Codec::BytesToBytes(codec) => {
                let size = match self.decoded {
                    // The memory limit then replaces the missing limit of the chain.
                    Representation::Bytes(BytesSize::Unbounded) if ws.limit.is_some() => BytesSize::Bounded(u64::MAX),
                    // The bound is that of a writer without gaps. Others leave gaps in a shard.
                    Representation::Bytes(BytesSize::Bounded(most)) => BytesSize::Bounded(with_allowance(most)),
                    Representation::Bytes(size) => size,
                    Representation::Array(_) => BytesSize::Unbounded,
                };
                // A chunk that is longer than its chain allows is faulty, however much memory there is. So the smaller
                // limit decides which of the two faults is reported.
                let limit = ws.limit.filter(|limit| size.limit() as u64 > *limit);
                let bound = limit.map_or(size, BytesSize::Bounded);
                codec.decode(encoded, decoded, bound, &mut ws.contexts).map_err(|error| match (limit, error) {
                    (Some(limit), CodecError::Length { found, .. }) => ChainFaultKind::Limit { limit, found },
                    (_, error) => error.into(),
                })
            }
            Codec::Other => Err(not_run()),
        }
    }

    /// Checks the size of a representation that has only one. An array would otherwise be read beyond its end. Bytes
    /// that no codec compressed are otherwise a truncated chunk.
    fn expect_fixed_size(representation: &Representation, bytes: &[u8]) -> Outcome {
        match representation {
            Representation::Array(array) if array.data_type.is_variable_length() => Ok(()),
            Representation::Array(_) | Representation::Bytes(BytesSize::Fixed(_)) => {
                expect_size(representation.max_bytes(), bytes.len())
            }
            Representation::Bytes(_) => Ok(()),
        }
    }
}

/// Fails for another number of bytes than the only one of a representation.
pub(super) fn expect_size(expected: Option<u64>, found: usize) -> Outcome {
    let (expected, found) = (expected.unwrap_or(0), found as u64);
    if expected == found { Ok(()) } else { Err(ChainFaultKind::Size { expected, found }) }
}

fn not_run() -> ChainFaultKind {
    CodecError::Bytes("this program does not run the codec".to_owned()).into()
}

/// Adds the position in the chunk to a fault of an element.
fn in_frame(mut error: CodecError, frame: &Representation) -> ChainFaultKind {
    if let CodecError::Element { fault, position, .. } = &mut error {
        let inside = frame.array().map(|array| unravel(fault.index as u64, &array.shape));
        *position = inside.map(Vec::into_boxed_slice);
    }
    error.into()
}

/// The size of the elements that a chain is bound for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementSize {
    /// A fixed size.
    Fixed,
    /// Any size, to validate chunks. Decoded chunks of variable-length types are not elements.
    Any,
    /// Elements are not decoded, so any data type is valid. Codecs that cannot run become [`Codec::Other`], to keep their
    /// results unchanged.
    Unread,
}

pub(super) fn check_size(array: &ArrayRepresentation, elements: ElementSize) -> Result<(), BindError> {
    let Some(bytes) = array.data_type.size() else {
        return match array.num_elements() {
            _ if elements == ElementSize::Unread => Ok(()),
            Some(_) if elements == ElementSize::Any && array.data_type.is_variable_length() => Ok(()),
            _ => Err(BindError::DataType(array.data_type.to_string())),
        };
    };
    let total = array.num_elements().and_then(|count| count.checked_mul(bytes as u64));
    // A limit of a quarter of the address space is more than any machine has for one chunk.
    match total.map(usize::try_from) {
        Some(Ok(total)) if total <= usize::MAX / 4 => Ok(()),
        _ => Err(BindError::TooLarge { shape: array.shape.clone() }),
    }
}

pub(super) fn bind_codec(stage: &Stage, before: &Representation, elements: ElementSize) -> Result<Codec, BindError> {
    let unsupported = |because: String| BindError::unsupported(&stage.metadata.name, because);
    let array = || before.array().ok_or_else(|| unsupported(": it comes after the array->bytes codec".to_owned()));
    Ok(match &stage.configuration {
        BoundConfiguration::Array(codec) => {
            array()?;
            Codec::Array(codec.clone())
        }
        BoundConfiguration::Sharding(configuration) => {
            Codec::Sharding(Box::new(BoundSharding::bind(configuration, array()?, elements)?))
        }
        BoundConfiguration::BytesToBytes(codec) => Codec::BytesToBytes(codec.clone()),
        // It is made again to find the reason why it cannot run.
        BoundConfiguration::Other if stage.kind == Some(CodecKind::BytesToBytes) => {
            let bound = BytesCodec::new(&stage.metadata.name, stage.metadata.configuration.as_ref());
            Codec::BytesToBytes(bound.map_err(|error| unsupported(format!(": {error}")))?)
        }
        BoundConfiguration::Other => return Err(unsupported(String::new())),
    })
}

impl BoundChain {
    /// Returns true if both chains have the same `scale_offset` and `cast_value`. Values that one decodes then have a
    /// code in the other.
    pub fn casts_like(&self, other: &Self) -> bool {
        let is_value =
            |codec: &&BoundCodec| matches!(codec.codec.effect(), Effect::ScaleOffset(_) | Effect::Cast { .. });
        let [one, two] = [self, other].map(|chain| chain.codecs.iter().filter(is_value).collect::<Vec<_>>());
        one.len() == two.len() && one.iter().zip(two).all(|(a, b)| a.metadata.same_value(&b.metadata))
    }
}

// Checks of elements whose bytes may not be values, and that no codec checks: `bool`, and structs with fields of it. Also
// numbers that do not use all bits of their primitive, if the chain has no codec that gives bytes and checks them.
// Elements beyond the edge of the array are padding, with any bytes.

impl BoundChain {
    /// Returns true if decoded elements may be invalid although no codec has failed.
    pub fn checks_values(&self) -> bool {
        bool_offsets(&self.decoded().data_type).is_some()
    }

    /// Fails for the first byte of a decoded bool other than 0 and 1, or the first number that is not of its type if no
    /// codec checks it. `elements` are those of an array of `shape` in C order. Only those in the box of shape `valid`
    /// at the origin are checked. The position in the error is relative to that origin.
    pub fn check_values(&self, elements: &[u8], shape: &[u64], valid: &[u64]) -> Result<(), ChainFault> {
        let fault = |name: String, kind, index, bits, types| {
            let position = Some(unravel(index as u64, shape).into_boxed_slice());
            ChainFault::new(
                "-",
                name,
                CodecError::Element { fault: ElementFault { kind, index }, position, bits, types },
            )
        };
        if let (DataType::Number(number_type), Representation::Array(_)) = (&self.decoded().data_type, self.encoded()) {
            let mut all = elements.chunks_exact(number_type.size()).map(element_bits).enumerate();
            let Some((index, bits)) = all.find(|(_, bits)| !is_of_type(*bits, *number_type)) else { return Ok(()) };
            let types = Some((*number_type, *number_type));
            return Err(fault(number_type.name(), FaultKind::NotOfType, index, bits, types));
        }
        let Some((offsets, size)) = bool_offsets(&self.decoded().data_type) else { return Ok(()) };
        // The bitwise OR of all bytes is at most 1 only if each byte is.
        if size == 1 && elements.iter().fold(0, |joined, byte| joined | byte) <= 1 {
            return Ok(());
        }
        for (index, element) in elements.chunks_exact(size).enumerate() {
            let mut bytes = offsets.iter().filter_map(|offset| element.get(*offset));
            let Some(byte) = bytes.find(|byte| **byte > 1) else { continue };
            if unravel(index as u64, shape).iter().zip(valid).all(|(index, end)| index < end) {
                return Err(fault("bool".to_owned(), FaultKind::NotBool, index, u64::from(*byte), None));
            }
        }
        Ok(())
    }
}

/// Returns the offsets of the `bool` bytes in an element, and its size. `None` if every byte is a value, or if codecs
/// already check the values.
fn bool_offsets(data_type: &DataType) -> Option<(Vec<usize>, usize)> {
    let mut offsets = Vec::new();
    gather(data_type, 0, &mut offsets);
    let size = data_type.size().filter(|size| *size > 0 && !offsets.is_empty())?;
    Some((offsets, size))
}

/// Adds the offsets of `bool` in an element of `data_type` that begins at `start`.
fn gather(data_type: &DataType, start: usize, offsets: &mut Vec<usize>) {
    match data_type {
        DataType::Bool => offsets.push(start),
        DataType::Struct(structure) => {
            let mut start = start;
            for field in &structure.fields {
                gather(&field.data_type, start, offsets);
                start += field.data_type.size().unwrap_or(0);
            }
        }
        DataType::Optional(inner) => {
            // The first byte of an optional element is a bool: 1 if there is a value.
            offsets.push(start);
            gather(inner, start + 1, offsets);
        }
        _ => {}
    }
}
