//! The codecs and data types of this crate, for any program that links it and uses zarrs 0.23.
//!
//! [`register`] adds the codecs of the [`registry`] and the integers of odd widths (`uint10`) to zarrs. Codecs that are
//! registered at run time have priority over zarrs' own.
//!
//! zarrs makes a codec from its configuration alone. It then reports errors of the configuration, and the array does
//! not open. Errors of the data type or the fill value are reported by the first call with these. A faulty codec with
//! `"must_understand": false` is skipped by zarrs silently.

mod array;

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, Once};

use array::{EitherCodec, OurCodec};
use zarrs::array::codec::api::{CodecRuntimePluginV3, register_codec_v3};
use zarrs::array::codec::{BytesCodec, TransposeCodec};
use zarrs::array::data_type::api::{
    DataTypeFillValueError, DataTypeFillValueMetadataError, DataTypeRuntimePluginV3, register_data_type_v3,
};
use zarrs::array::{
    BytesRepresentation, Codec, CodecTraitsV3, DataType as ZarrsType, DataTypeTraits, FillValue as ZarrsFillValue,
};
use zarrs::metadata::v3::MetadataV3;
use zarrs::metadata::{Configuration, DataTypeSize, FillValueMetadata};
use zarrs::plugin::{ExtensionName, PluginCreateError, ZarrVersion};

use super::kinds::BytesSize;
use super::registry::{self, CodecKind, Entry};
use crate::data_type::{DataType, FillValue, value_from_json, value_to_json};
use crate::diagnostic::{Diagnostic, Profile};
use crate::element::{NumberType, element_bits, is_of_type};
use crate::metadata::{CodecMetadata, Json, Object};
use crate::with_element;

/// Codecs that are not registered. Either zarrs itself has them and reads parts of chunks, or its types cannot
/// represent their shape or elements.
const NOT_GIVEN: &str = "
    blosc crc32c numcodecs.adler32 numcodecs.blosc numcodecs.crc32c numcodecs.fletcher32 numcodecs.packbits
    reshape vlen-bytes vlen-utf8 zarrs.vlen_v2";

/// Registers the codecs and data types of this crate in zarrs. After the first call it does nothing.
pub fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        for entry in registry::all().filter(|entry| NOT_GIVEN.split_whitespace().all(|name| name != entry.name)) {
            if entry.codec.is_some() {
                let is_name = move |name: &str| name == entry.name;
                let plugin = CodecRuntimePluginV3::new(is_name, move |metadata| create(&entry, metadata));
                register_codec_v3(plugin);
            }
        }
        let plugin = DataTypeRuntimePluginV3::new(|name| of_name(name).is_some(), create_narrow_integer);
        register_data_type_v3(plugin);
    });
}

/// Makes a codec of zarrs from its metadata.
fn create(entry: &Entry, metadata: &MetadataV3) -> Result<Codec, PluginCreateError> {
    let own = CodecMetadata::new(entry.name, members(metadata.configuration()));
    match entry.codec.filter(|_| entry.kind != CodecKind::BytesToBytes) {
        Some(kind) => {
            let mut found = Vec::new();
            kind.bind(&own, None, &mut found);
            checked(found)?;
        }
        // It is made only for its errors: zarrs reports them now, and each call makes the codec again.
        None => drop(super::BytesCodec::new(entry.name, own.configuration.as_ref())?),
    }
    // zarrs accepts permutations as `order`, but not letters or the empty permutation.
    let order = own.member("order").and_then(Json::as_array);
    if entry.name == "transpose" && order.is_some_and(|order| !order.is_empty()) {
        return TransposeCodec::create(metadata);
    }
    let configuration = metadata.configuration().cloned().unwrap_or_default();
    let ours = Arc::new(OurCodec { entry: *entry, own, configuration, bound: Mutex::default() });
    Ok(match entry.kind {
        CodecKind::ArrayToArray => Codec::ArrayToArray(ours),
        CodecKind::ArrayToBytes if entry.name == "bytes" => match BytesCodec::create(metadata)? {
            Codec::ArrayToBytes(theirs) => Codec::ArrayToBytes(Arc::new(EitherCodec { ours, theirs })),
            theirs => theirs,
        },
        CodecKind::ArrayToBytes => Codec::ArrayToBytes(ours),
        CodecKind::BytesToBytes => Codec::BytesToBytes(ours),
    })
}

/// Converts a size to that of zarrs.
pub(super) fn representation(size: BytesSize) -> BytesRepresentation {
    match size {
        BytesSize::Fixed(bytes) => BytesRepresentation::FixedSize(bytes),
        BytesSize::Bounded(bytes) => BytesRepresentation::BoundedSize(bytes),
        BytesSize::Unbounded => BytesRepresentation::UnboundedSize,
    }
}

/// Converts a size of zarrs to that of this crate.
pub(super) fn bytes_size(representation: BytesRepresentation) -> BytesSize {
    match representation {
        BytesRepresentation::FixedSize(bytes) => BytesSize::Fixed(bytes),
        BytesRepresentation::BoundedSize(bytes) => BytesSize::Bounded(bytes),
        BytesRepresentation::UnboundedSize => BytesSize::Unbounded,
    }
}

/// Converts a data type to that of zarrs. The error is the reason why zarrs does not have it.
pub(super) fn to_zarrs(data_type: &DataType) -> Result<ZarrsType, String> {
    let metadata = serde_json::from_str::<MetadataV3>(&data_type.to_metadata().to_string());
    ZarrsType::from_metadata(&metadata.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// Converts a data type of zarrs to that of this crate. `Other` if there is none.
pub(super) fn from_zarrs(data_type: &ZarrsType) -> DataType {
    let name = data_type.name_v3().unwrap_or_default().into_owned();
    let configuration = members(Some(&data_type.configuration_v3())).unwrap_or_default();
    let metadata = if configuration.is_empty() {
        Json::from(name)
    } else {
        Json::from(Object::new().with("name", name).with("configuration", configuration))
    };
    DataType::from_metadata(&metadata).unwrap_or(DataType::Other(metadata))
}

/// Converts a configuration of zarrs to that of this crate.
fn members(configuration: Option<&zarrs::metadata::Configuration>) -> Option<Object> {
    let json = |value: &serde_json::Value| Json::parse_str(&value.to_string()).unwrap_or(Json::Null);
    configuration.map(|members| members.iter().map(|(name, value)| (name.clone(), json(value))).collect())
}

/// Fails if there are errors, with all of their messages.
fn checked(found: Vec<Diagnostic>) -> Result<(), String> {
    let errors: Vec<String> =
        found.into_iter().filter(|found| Profile::Read.forbids(found)).map(|found| found.message).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
}

// Integers of 2 to 31 bits as data types of zarrs. Their width is not a power of two, such as `uint10`.
//
// No registry has them. In memory they have the smallest primitive that fits, so `uint10` can be a `Vec<u16>`. A fill
// value out of range is an error, and the codecs of this crate check the elements. The `BytesCodec` of zarrs, which
// `ArrayBuilder` makes by default, does not take them: an array gets its `bytes` from metadata.

/// An integer type of an odd width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NarrowIntegerDataType {
    number_type: NumberType,
}

impl NarrowIntegerDataType {
    /// Returns the data type of integers that do not use all bits of their primitive. `None` for others and for floats.
    pub fn new(number_type: NumberType) -> Option<Self> {
        (!number_type.is_whole() && !number_type.is_float()).then_some(NarrowIntegerDataType { number_type })
    }
}

/// Returns the type of this name. `None` for any other name.
fn of_name(name: &str) -> Option<NarrowIntegerDataType> {
    DataType::from_name(name)?.number().and_then(NarrowIntegerDataType::new)
}

/// Makes the type that metadata name.
fn create_narrow_integer(metadata: &MetadataV3) -> Result<ZarrsType, PluginCreateError> {
    let name = metadata.name();
    if !metadata.configuration_is_none_or_empty() {
        return Err(PluginCreateError::from(format!("the data type `{name}` has no configuration")));
    }
    let data_type =
        of_name(name).ok_or_else(|| PluginCreateError::from(format!("`{name}` is not an integer of an odd width")))?;
    Ok(ZarrsType::new(data_type))
}

impl ExtensionName for NarrowIntegerDataType {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        (version == ZarrVersion::V3).then(|| Cow::Owned(self.number_type.name()))
    }
}

impl DataTypeTraits for NarrowIntegerDataType {
    fn configuration(&self, _version: ZarrVersion) -> Configuration {
        Configuration::default()
    }

    fn size(&self) -> DataTypeSize {
        DataTypeSize::Fixed(self.number_type.size())
    }

    fn fill_value(
        &self,
        fill_value_metadata: &FillValueMetadata,
        _version: ZarrVersion,
    ) -> Result<ZarrsFillValue, DataTypeFillValueMetadataError> {
        let text = serde_json::to_string(fill_value_metadata).map_err(|_| DataTypeFillValueMetadataError)?;
        let json = Json::parse_str(&text).map_err(|_| DataTypeFillValueMetadataError)?;
        let bits = value_from_json(self.number_type, &json).map_err(|_| DataTypeFillValueMetadataError)?.value;
        Ok(ZarrsFillValue::new(FillValue::from_bits(self.number_type, bits).0))
    }

    fn metadata_fill_value(&self, fill_value: &ZarrsFillValue) -> Result<FillValueMetadata, DataTypeFillValueError> {
        let bytes = fill_value.as_ne_bytes();
        if bytes.len() != self.number_type.size() || !is_of_type(element_bits(bytes), self.number_type) {
            return Err(DataTypeFillValueError);
        }
        let json = value_to_json(self.number_type, element_bits(bytes)).to_string();
        serde_json::from_str(&json).map_err(|_| DataTypeFillValueError)
    }

    fn eq(&self, other: &dyn DataTypeTraits) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn compatible_element_types(&self) -> &'static [TypeId] {
        with_element!(self.number_type.element(), T => const { &[TypeId::of::<T>()] })
    }
}
