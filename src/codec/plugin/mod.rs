//! The codecs and data types of this crate for any program that links it and uses zarrs 0.23.
//!
//! [`register`] gives zarrs `scale_offset` and `cast_value`, a `transpose` that reads "C", "F" and the empty
//! permutation, a `packbits` as the registry has it, and the integers of odd widths (`uint10`). What is registered
//! at run time goes before what zarrs brings.
//!
//! zarrs makes a codec from its configuration alone. What can be refused then is refused then, so that the array does
//! not open; the rest, which needs the data type or the fill value, is an error of the first call that has them. A
//! codec with `"must_understand": false` that is refused is skipped by zarrs without a word.

mod binding;
mod bytes;
mod cast_value;
mod data_type;
mod elementwise;
mod elementwise_partial;
mod odd_integer;
mod packbits;
mod scale_offset;
mod transpose;

use std::sync::Once;

use zarrs::array::CodecTraitsV3;
use zarrs::array::codec::api::{CodecRuntimePluginV3, register_codec_v3};
use zarrs::array::data_type::api::{DataTypeRuntimePluginV3, register_data_type_v3};

use crate::diagnostic::{Diagnostic, Profile};
use crate::metadata::json::{Json, Object};

pub use odd_integer::OddIntegerDataType;

/// Makes zarrs know the codecs and data types of this crate; after the first call it does nothing.
pub fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        register_codec::<scale_offset::ScaleOffsetCodec>("scale_offset");
        register_codec::<cast_value::CastValueCodec>("cast_value");
        register_codec::<transpose::TransposeCodec>("transpose");
        register_codec::<packbits::PackBitsCodec>("packbits");
        register_codec::<bytes::CheckedBytesCodec>("bytes");
        let plugin = DataTypeRuntimePluginV3::new(odd_integer::is_name, odd_integer::create);
        register_data_type_v3(plugin);
    });
}

fn register_codec<T: CodecTraitsV3 + 'static>(name: &'static str) {
    register_codec_v3(CodecRuntimePluginV3::new(move |candidate| candidate == name, T::create));
}

/// A configuration of zarrs as this crate has it.
fn members(configuration: Option<&zarrs::metadata::Configuration>) -> Option<Object> {
    let json = |value: &serde_json::Value| Json::parse_str(&value.to_string()).unwrap_or(Json::Null);
    configuration.map(|members| members.iter().map(|(name, value)| (name.clone(), json(value))).collect())
}

/// What was made without errors, or what is wrong.
fn checked<T>((made, diagnostics): (Option<T>, Vec<Diagnostic>)) -> Result<T, String> {
    let errors: Vec<String> = Profile::Read
        .judged(diagnostics)
        .into_iter()
        .filter(Diagnostic::is_error)
        .map(|found| found.message)
        .collect();
    if errors.is_empty() {
        made.ok_or_else(|| "the data type is not supported".to_owned())
    } else {
        Err(errors.join("; "))
    }
}
