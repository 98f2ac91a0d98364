//! Data types between zarrs and this crate.

use zarrs::array::DataType as ZarrsDataType;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::ExtensionName;

use super::odd_integer::OddIntegerDataType;
use crate::data_type::DataType;
use crate::element::NumberType;
use crate::metadata::json::{Json, Object};

/// A data type of zarrs as this crate has it; `Other` where it has none.
pub(super) fn from_zarrs(data_type: &ZarrsDataType) -> DataType {
    let name = data_type.name_v3().unwrap_or_default().into_owned();
    let configuration = super::members(Some(&data_type.configuration_v3())).unwrap_or_default();
    let metadata = if configuration.is_empty() {
        Json::from(name)
    } else {
        Json::from(Object::new().with("name", name).with("configuration", configuration))
    };
    DataType::from_metadata(&metadata).unwrap_or(DataType::Other(metadata))
}

/// A number type as zarrs has it.
pub(super) fn to_zarrs(number_type: NumberType) -> Result<ZarrsDataType, String> {
    match OddIntegerDataType::new(number_type) {
        Some(odd) => Ok(ZarrsDataType::new(odd)),
        None => ZarrsDataType::from_metadata(&MetadataV3::new(number_type.name()))
            .map_err(|error| error.to_string()),
    }
}
