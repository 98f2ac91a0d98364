//! Integers of 2 to 31 bits as data types of zarrs. Their width is not a power of two, such as `uint10`.
//!
//! No registry has them. In memory they have the smallest primitive that fits, so `uint10` can be a `Vec<u16>`. A fill
//! value out of range is an error, and the codecs of this crate check the elements. The `BytesCodec` of zarrs, which
//! `ArrayBuilder` makes by default, does not take them: an array gets its `bytes` from metadata.

use std::any::{Any, TypeId};
use std::borrow::Cow;

use zarrs::array::data_type::api::{DataTypeFillValueError, DataTypeFillValueMetadataError};
use zarrs::array::{DataType as ZarrsDataType, DataTypeTraits, FillValue as ZarrsFillValue};
use zarrs::metadata::v3::MetadataV3;
use zarrs::metadata::{Configuration, DataTypeSize, FillValueMetadata};
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
