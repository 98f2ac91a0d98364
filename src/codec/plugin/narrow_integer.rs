//! Integers of 2 to 31 bits as data types of zarrs. Their width is not a power of two, such as `uint10`.
//!
//! No registry has them. In memory they have the smallest primitive that fits, so `uint10` can be a `Vec<u16>`. A fill
//! value out of range is an error, and the codecs of this crate check the elements. A program may make a
//! `zarrs::array::codec::BytesCodec` itself, as `ArrayBuilder` does by default. That codec asks only the data type,
//! which checks the elements, too. But its only error is that an endianness is missing.

use std::any::{Any, TypeId};
use std::borrow::Cow;

use zarrs::array::data_type::api::codec_traits::bytes::{
    BytesCodecEndiannessMissingError, BytesDataTypePlugin, BytesDataTypeTraits,
};
use zarrs::array::data_type::api::{DataTypeFillValueError, DataTypeFillValueMetadataError};
use zarrs::array::{DataType as ZarrsDataType, DataTypeTraits, FillValue as ZarrsFillValue};
use zarrs::metadata::v3::MetadataV3;
use zarrs::metadata::{Configuration, DataTypeSize, Endianness, FillValueMetadata};
use zarrs::plugin::{ExtensionName, PluginCreateError, ZarrVersion};

use crate::data_type::{DataType, FillValue, value_from_json, value_to_json};
use crate::element::{NumberType, element_bits, is_of_type};
use crate::metadata::Json;
use crate::with_element;

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

    /// Returns the elements. Fails if one is not a value of the type.
    fn checked<'a>(&self, bytes: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, BytesCodecEndiannessMissingError> {
        if are_values(&bytes, self.number_type) { Ok(bytes) } else { Err(BytesCodecEndiannessMissingError) }
    }
}

/// Returns the type of this name. `None` for any other name.
pub(super) fn of_name(name: &str) -> Option<NarrowIntegerDataType> {
    DataType::from_name(name)?.number().and_then(NarrowIntegerDataType::new)
}

/// Makes the type that metadata name.
pub(super) fn create(metadata: &MetadataV3) -> Result<ZarrsDataType, PluginCreateError> {
    let name = metadata.name();
    if !metadata.configuration_is_none_or_empty() {
        return Err(PluginCreateError::from(format!("the data type `{name}` has no configuration")));
    }
    let data_type =
        of_name(name).ok_or_else(|| PluginCreateError::from(format!("`{name}` is not an integer of an odd width")))?;
    Ok(ZarrsDataType::new(data_type))
}

/// Returns true if all native-endian elements are values of the type.
fn are_values(bytes: &[u8], number_type: NumberType) -> bool {
    bytes.chunks_exact(number_type.size()).all(|element| is_of_type(element_bits(element), number_type))
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
        if bytes.len() != self.number_type.size() || !are_values(bytes, self.number_type) {
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

impl BytesDataTypeTraits for NarrowIntegerDataType {
    fn encode<'a>(
        &self,
        bytes: Cow<'a, [u8]>,
        endianness: Option<Endianness>,
    ) -> Result<Cow<'a, [u8]>, BytesCodecEndiannessMissingError> {
        let endianness = endianness.ok_or(BytesCodecEndiannessMissingError)?;
        self.checked(bytes).map(|bytes| in_order(bytes, endianness, self.number_type.size()))
    }

    fn decode<'a>(
        &self,
        bytes: Cow<'a, [u8]>,
        endianness: Option<Endianness>,
    ) -> Result<Cow<'a, [u8]>, BytesCodecEndiannessMissingError> {
        let endianness = endianness.ok_or(BytesCodecEndiannessMissingError)?;
        self.checked(in_order(bytes, endianness, self.number_type.size()))
    }
}

/// Converts elements between the order of this machine and another.
fn in_order(bytes: Cow<'_, [u8]>, endianness: Endianness, size: usize) -> Cow<'_, [u8]> {
    if endianness == Endianness::native() {
        return bytes;
    }
    let mut bytes = bytes.into_owned();
    bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    Cow::Owned(bytes)
}

inventory::submit! {
    BytesDataTypePlugin {
        type_id: TypeId::of::<NarrowIntegerDataType>(),
        caster: |data_type| data_type.downcast_ref::<NarrowIntegerDataType>().map(|odd| odd as &dyn BytesDataTypeTraits),
    }
}
