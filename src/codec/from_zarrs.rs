//! Codecs of zarrs, or of a program that links both, for names that this program does not decode. zarrs runs them, one
//! chunk at a time.
//!
//! zarrs' own decompressors allocate any size that a header claims. So [`register`] is called first: a chain inside
//! such a codec then runs the codecs of this crate. A panic of the codec is an error of the chunk.

use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use zarrs::array::{
    ArrayBytes, ArrayToArrayCodecTraits, ArrayToBytesCodecTraits, BytesToBytesCodecTraits, Codec, CodecOptions,
    DataType as ZarrsType, FillValue as ZarrsFillValue,
};
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{ExtensionName, PluginCreateError, ZarrVersion};

use super::kinds::error::reserve;
use super::kinds::{ArrayRepresentation, CodecError, Coder, Output, Representation};
use super::kinds::{Made, copy};
use super::plugin::{bytes_size, from_zarrs, register, representation, to_zarrs};
use super::registry::{self, CodecKind, FindOther, Other, OtherCodec};
use crate::data_type::{DataType, FillValue};
use crate::metadata::{CodecMetadata, Json};

type Reason = String;

inventory::submit! {
    FindOther(find)
}

/// Finds the codec of this metadata, or the reason why zarrs rejects its configuration. `None` if zarrs has no codec of
/// this name. `None` also if it has a codec of this crate under another name, whose decoder might have no limit.
fn find(codec: &CodecMetadata) -> Option<Other> {
    // zarrs determines the size of a shard's index from the values in the configuration.
    if codec.configuration.as_ref().is_some_and(|members| Json::from(members.clone()).to_string().contains("sharding"))
    {
        return None;
    }
    register();
    let metadata = serde_json::from_str::<MetadataV3>(&codec.to_json().to_string()).ok()?;
    match guard(|| Codec::from_metadata(&metadata)) {
        Ok(Ok(found)) => {
            let name = found.name(ZarrVersion::V3).unwrap_or_default();
            let is_ours = registry::find(&name).is_some_and(|entry| entry.is_decoded);
            (!is_ours).then(|| Ok(Arc::new(ZarrsCodec(found)) as _))
        }
        Ok(Err(PluginCreateError::Unsupported(_))) => None,
        Ok(Err(error)) => Some(Err(error.to_string())),
        Err(reason) => Some(Err(reason)),
    }
}

/// A codec that is not bound to a chunk.
#[derive(Debug)]
struct ZarrsCodec(Codec);

impl OtherCodec for ZarrsCodec {
    fn kind(&self) -> CodecKind {
        match self.0 {
            Codec::ArrayToArray(_) => CodecKind::ArrayToArray,
            Codec::ArrayToBytes(_) => CodecKind::ArrayToBytes,
            Codec::BytesToBytes(_) => CodecKind::BytesToBytes,
        }
    }

    fn bind(&self, before: &Representation) -> Result<Made, Reason> {
        match (&self.0, before) {
            (Codec::ArrayToArray(codec), Representation::Array(array)) => {
                let decoded = ZarrsArray::new(array)?;
                let ZarrsArray { shape, data_type, fill_value, .. } = &decoded;
                let encoded = guard(|| codec.encoded_representation(shape, data_type, fill_value))?;
                let (shape, encoded_type, encoded_fill) = encoded.map_err(|error| error.to_string())?;
                let mut output = array.clone();
                output.shape = shape.into_iter().map(NonZeroU64::get).collect();
                // An unchanged type keeps the forms of this crate. Those of zarrs differ for optional types
                // (`fill_value_of`).
                if (&encoded_type, &encoded_fill) != (data_type, fill_value) {
                    output.data_type = from_zarrs(&encoded_type);
                    output.fill_value = Some(FillValue(encoded_fill.as_ne_bytes().to_vec()));
                }
                let encoded = ZarrsArray::new(&output)?;
                Ok(Made::to_array(Runner::ToArray(codec.clone(), decoded, encoded), output))
            }
            (Codec::ArrayToBytes(codec), Representation::Array(array)) => {
                let decoded = ZarrsArray::new(array)?;
                let ZarrsArray { shape, data_type, fill_value, .. } = &decoded;
                let size = guard(|| codec.encoded_representation(shape, data_type, fill_value))?;
                let size = bytes_size(size.map_err(|error| error.to_string())?);
                Ok(Made::to_bytes(Runner::ToBytes(codec.clone(), decoded), size))
            }
            (Codec::BytesToBytes(codec), Representation::Bytes(size)) => {
                let size = bytes_size(guard(|| codec.encoded_representation(&representation(*size)))?);
                Ok(Made::to_bytes(Runner::Bytes(codec.clone()), size))
            }
            _ => Ok(Made::default()),
        }
    }
}

/// Runs code of zarrs. A panic becomes an error.
fn guard<T>(work: impl FnOnce() -> T) -> Result<T, Reason> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| "zarrs stopped with a panic".to_owned())
}

/// A chunk in the types of zarrs.
#[derive(Debug)]
struct ZarrsArray {
    own: DataType,
    num_bytes: usize,
    shape: Vec<NonZeroU64>,
    data_type: ZarrsType,
    fill_value: ZarrsFillValue,
}

impl ZarrsArray {
    fn new(array: &ArrayRepresentation) -> Result<Self, Reason> {
        let refusal = || format!("it does not encode chunks of `{}` of shape {:?}", array.data_type, array.shape);
        let num_bytes = array.num_bytes().and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(refusal)?;
        let shape = array.shape.iter().map(|length| NonZeroU64::new(*length)).collect::<Option<_>>();
        let fill_value = array.fill_value.clone().or_else(|| array.data_type.default_fill_value());
        let fill_value = fill_value_of(&array.data_type, &fill_value.ok_or_else(refusal)?.0);
        Ok(ZarrsArray {
            own: array.data_type.clone(),
            num_bytes,
            shape: shape.ok_or_else(refusal)?,
            data_type: guard(|| to_zarrs(&array.data_type))??,
            fill_value: ZarrsFillValue::new(fill_value),
        })
    }

    /// Copies the elements that zarrs returned, if their size is right.
    fn accept(&self, bytes: ArrayBytes<'_>, out: &mut Output<'_>) -> Result<(), CodecError> {
        out.bytes.clear();
        reserve(out.bytes, self.num_bytes)?;
        elements_of(&self.own, bytes, out.bytes);
        if out.bytes.len() == self.num_bytes {
            return Ok(());
        }
        let message = format!("expected {} bytes of elements, found {}", self.num_bytes, out.bytes.len());
        Err(CodecError::Length { message, found: Some(out.bytes.len() as u64) })
    }
}

/// Converts elements to zarrs' form. For an optional type these are values and a mask.
fn zarrs_elements<'a>(data_type: &DataType, elements: &'a [u8]) -> ArrayBytes<'a> {
    let DataType::Optional(inner) = data_type else { return ArrayBytes::new_flen(elements) };
    let size = data_type.size().unwrap_or(1);
    let mask: Vec<u8> = elements.iter().step_by(size).copied().collect();
    let values: Vec<u8> = elements.chunks_exact(size).flat_map(|element| &element[1..]).copied().collect();
    zarrs_elements(inner, &values).into_owned().with_optional_mask(mask)
}

/// Converts elements back and appends them. Elements that zarrs did not return are missing at the end.
fn elements_of(data_type: &DataType, bytes: ArrayBytes<'_>, elements: &mut Vec<u8>) {
    match (data_type, bytes) {
        (DataType::Optional(inner), ArrayBytes::Optional(optional)) => {
            let (values, mask) = optional.into_parts();
            let mut dense = Vec::new();
            elements_of(inner, *values, &mut dense);
            for (is_there, value) in mask.iter().zip(dense.chunks_exact(inner.size().unwrap_or(1))) {
                elements.push(*is_there);
                elements.extend_from_slice(value);
            }
        }
        (_, ArrayBytes::Fixed(bytes)) => elements.extend_from_slice(&bytes),
        _ => {}
    }
}

/// Returns the bytes of a fill value in zarrs' form. For an optional type the mask byte follows the value.
fn fill_value_of(data_type: &DataType, bytes: &[u8]) -> Vec<u8> {
    match (data_type, bytes.split_first()) {
        (DataType::Optional(_), Some((0, _))) => vec![0],
        (DataType::Optional(inner), Some((_, value))) => [fill_value_of(inner, value), vec![1]].concat(),
        _ => bytes.to_vec(),
    }
}

/// A codec that is bound to chunks: the chunk before it, and the one after it if that is an array.
#[derive(Debug)]
enum Runner {
    ToArray(Arc<dyn ArrayToArrayCodecTraits>, ZarrsArray, ZarrsArray),
    ToBytes(Arc<dyn ArrayToBytesCodecTraits>, ZarrsArray),
    Bytes(Arc<dyn BytesToBytesCodecTraits>),
}

impl Coder for Runner {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        match self {
            Runner::ToArray(codec, ZarrsArray { own, shape, data_type, fill_value, .. }, encoded) => {
                let elements = zarrs_elements(own, decoded);
                encoded.accept(run(|options| codec.encode(elements, shape, data_type, fill_value, options))?, out)
            }
            Runner::ToBytes(codec, ZarrsArray { own, shape, data_type, fill_value, .. }) => {
                let elements = zarrs_elements(own, decoded);
                copy(&run(|options| codec.encode(elements, shape, data_type, fill_value, options))?, out.bytes)
            }
            Runner::Bytes(codec) => copy(&run(|options| codec.encode(decoded.into(), options))?, out.bytes),
        }
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        match self {
            Runner::ToArray(codec, array @ ZarrsArray { shape, data_type, fill_value, .. }, from) => {
                let elements = zarrs_elements(&from.own, encoded);
                array.accept(run(|options| codec.decode(elements, shape, data_type, fill_value, options))?, out)
            }
            Runner::ToBytes(codec, array @ ZarrsArray { shape, data_type, fill_value, .. }) => {
                array.accept(run(|options| codec.decode(encoded.into(), shape, data_type, fill_value, options))?, out)
            }
            Runner::Bytes(codec) => {
                let allowed = representation(out.allowed.limited());
                copy(&run(|options| codec.decode(encoded.into(), &allowed, options))?, out.bytes)
            }
        }
    }

    /// Counts the separate buffers in which zarrs returns its results.
    fn context_bytes(&self, decoded: u64) -> u64 {
        decoded.saturating_mul(if matches!(self, Runner::Bytes(_)) { 2 } else { 3 })
    }
}

/// Encodes or decodes with zarrs, on this thread.
fn run<T>(work: impl FnOnce(&CodecOptions) -> Result<T, zarrs::array::CodecError>) -> Result<T, CodecError> {
    let options = CodecOptions::default().with_concurrent_target(1);
    guard(|| work(&options)).map_err(CodecError::corrupt)?.map_err(CodecError::bytes)
}
