//! Codecs of zarrs, or of a program that links both, for names that this program does not decode. zarrs runs them, one
//! chunk at a time.
//!
//! zarrs' own decompressors allocate any size that a header claims. So [`register`] is called first: a chain inside
//! such a codec then runs the codecs of this crate. A panic of the codec is an error of the chunk.

use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use zarrs::array::{
    ArrayBytes, BytesRepresentation, Codec, CodecOptions, DataType as ZarrsType, FillValue as ZarrsFillValue,
};
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::{ExtensionName, PluginCreateError, ZarrVersion};

use super::kinds::array::{BoundArray, copy};
use super::kinds::error::reserve;
use super::kinds::{
    ArrayRepresentation, BytesCodec, BytesKind, BytesSize, CodecError, Coder, Output, Representation, SizeRule,
};
use super::plugin::{bytes_size, from_zarrs, register, representation};
use super::registry::{self, CodecKind, FindOther, Other, OtherCodec};
use crate::data_type::{DataType, FillValue};
use crate::metadata::{CodecMetadata, Json};

#[derive(Debug, Clone)]
struct ZarrsCodec {
    codec: Arc<Codec>,
    /// The chunk before it, and the one after it if that is an array. `None` until the codec is bound.
    arrays: Option<(ZarrsArray, Option<ZarrsArray>)>,
}

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
            (!is_ours).then(|| Ok(Arc::new(ZarrsCodec { codec: Arc::new(found), arrays: None }) as _))
        }
        Ok(Err(PluginCreateError::Unsupported(_))) => None,
        Ok(Err(error)) => Some(Err(error.to_string())),
        Err(reason) => Some(Err(reason)),
    }
}

impl OtherCodec for ZarrsCodec {
    fn kind(&self) -> CodecKind {
        match *self.codec {
            Codec::ArrayToArray(_) => CodecKind::ArrayToArray,
            Codec::ArrayToBytes(_) => CodecKind::ArrayToBytes,
            Codec::BytesToBytes(_) => CodecKind::BytesToBytes,
        }
    }

    /// Binds the codec to chunks of an array with fixed-size elements.
    fn bind(&self, array: &ArrayRepresentation) -> Result<BoundArray, Reason> {
        let decoded = ZarrsArray::new(array)?;
        let ZarrsArray { shape, data_type, fill_value, .. } = &decoded;
        let output = guard(|| match &*self.codec {
            Codec::ArrayToArray(codec) => {
                let encoded_type = codec.encoded_data_type(data_type)?;
                let encoded_fill = codec.encoded_fill_value(data_type, fill_value)?;
                let shape = codec.encoded_shape(shape)?.iter().map(|length| length.get()).collect();
                let is_same = (&encoded_type, &encoded_fill) == (data_type, fill_value);
                let (data_type, fill_value) = if is_same {
                    (array.data_type.clone(), array.fill_value.clone())
                } else {
                    (from_zarrs(&encoded_type), Some(FillValue(encoded_fill.as_ne_bytes().to_vec())))
                };
                Ok(Representation::Array(ArrayRepresentation { data_type, shape, fill_value }))
            }
            Codec::ArrayToBytes(codec) => {
                let size = codec.encoded_representation(shape, data_type, fill_value)?;
                Ok(Representation::Bytes(bytes_size(size)))
            }
            Codec::BytesToBytes(_) => Ok(Representation::Bytes(BytesSize::Unbounded)),
        });
        let output = output?.map_err(|error: zarrs::array::CodecError| error.to_string())?;
        let encoded = output.array().map(ZarrsArray::new).transpose()?;
        let codec = Arc::new(ZarrsCodec { codec: self.codec.clone(), arrays: Some((decoded, encoded)) });
        Ok(BoundArray { codec: Some(codec), output: Some(output) })
    }

    /// Makes the bytes->bytes codec, if that is its kind.
    fn bytes_codec(&self, codec: &CodecMetadata) -> BytesCodec {
        static KIND: BytesKind = BytesKind::new(&[], |_, _| None, SizeRule::Unbounded);
        BytesCodec::with_kind(codec, &KIND, Arc::new(self.clone()))
    }
}

/// Runs code of zarrs. A panic becomes an error.
fn guard<T>(work: impl FnOnce() -> T) -> Result<T, Reason> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| "zarrs stopped with a panic".to_owned())
}

fn options() -> CodecOptions {
    CodecOptions::default().with_concurrent_target(1)
}

/// A chunk in the types of zarrs.
#[derive(Debug, Clone)]
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
        let metadata = match array.data_type.to_metadata() {
            Json::String(name) => MetadataV3::new(&*name),
            metadata => serde_json::from_str(&metadata.to_string()).map_err(|_| refusal())?,
        };
        let data_type = guard(|| ZarrsType::from_metadata(&metadata))?.map_err(|error| error.to_string())?;
        let fill_value = array.fill_value.clone().or_else(|| array.data_type.default_fill_value());
        let fill_value = fill_value_of(&array.data_type, &fill_value.ok_or_else(refusal)?.0);
        Ok(ZarrsArray {
            own: array.data_type.clone(),
            num_bytes,
            shape: shape.ok_or_else(refusal)?,
            data_type,
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
fn to_zarrs<'a>(data_type: &DataType, elements: &'a [u8]) -> ArrayBytes<'a> {
    let DataType::Optional(inner) = data_type else { return ArrayBytes::new_flen(elements) };
    let size = data_type.size().unwrap_or(1);
    let (mut mask, mut values) = (Vec::new(), Vec::new());
    for element in elements.chunks_exact(size) {
        mask.push(element[0]);
        values.extend_from_slice(&element[1..]);
    }
    to_zarrs(inner, &values).into_owned().with_optional_mask(mask)
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

impl Coder for ZarrsCodec {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        match (&*self.codec, &self.arrays) {
            (Codec::BytesToBytes(codec), _) => copy(&run(|| codec.encode(decoded.into(), &options()))?, out.bytes),
            (Codec::ArrayToBytes(codec), Some((ZarrsArray { own, shape, data_type, fill_value, .. }, _))) => {
                let encode = || codec.encode(to_zarrs(own, decoded), shape, data_type, fill_value, &options());
                copy(&run(encode)?, out.bytes)
            }
            (Codec::ArrayToArray(codec), Some((array, Some(encoded)))) => {
                let ZarrsArray { own, shape, data_type, fill_value, .. } = array;
                let encode = || codec.encode(to_zarrs(own, decoded), shape, data_type, fill_value, &options());
                encoded.accept(run(encode)?, out)
            }
            _ => Err(CodecError::bytes("it is not bound to a chunk")),
        }
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        match (&*self.codec, &self.arrays) {
            (Codec::BytesToBytes(codec), _) => {
                let allowed = representation(out.allowed.limited());
                copy(&run(|| codec.decode(encoded.into(), &allowed, &options()))?, out.bytes)
            }
            (Codec::ArrayToBytes(codec), Some((array @ ZarrsArray { shape, data_type, fill_value, .. }, _))) => {
                array.accept(run(|| codec.decode(encoded.into(), shape, data_type, fill_value, &options()))?, out)
            }
            (Codec::ArrayToArray(codec), Some((array, Some(from)))) => {
                let ZarrsArray { shape, data_type, fill_value, .. } = array;
                let elements = || to_zarrs(&from.own, encoded);
                array.accept(run(|| codec.decode(elements(), shape, data_type, fill_value, &options()))?, out)
            }
            _ => Err(CodecError::bytes("it is not bound to a chunk")),
        }
    }

    /// Counts the separate buffers in which zarrs returns its results.
    fn context_bytes(&self, decoded: u64) -> u64 {
        decoded.saturating_mul(if self.arrays.is_some() { 3 } else { 2 })
    }

    fn encoded_size(&self, _: SizeRule, decoded: BytesSize) -> BytesSize {
        let Codec::BytesToBytes(codec) = &*self.codec else { return BytesSize::Unbounded };
        let encoded = guard(|| codec.encoded_representation(&representation(decoded)));
        bytes_size(encoded.unwrap_or(BytesRepresentation::UnboundedSize))
    }
}

fn run<T>(work: impl FnOnce() -> Result<T, zarrs::array::CodecError>) -> Result<T, CodecError> {
    guard(work).map_err(CodecError::corrupt)?.map_err(CodecError::bytes)
}
