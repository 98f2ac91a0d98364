//! Editing of a document: what is not named stays as it was written, in its place.

use super::extension::CodecMetadata;
use super::json::{Json, Object};

/// The codecs as JSON, in the object form.
pub fn codecs_json(_codecs: &[CodecMetadata]) -> Json {
    unimplemented!()
}

/// Replaces a top-level member in its place, or appends it; a document that is no object becomes one.
pub fn set_member(_document: &mut Json, _name: &str, _value: Json) {
    unimplemented!()
}

/// Removes a top-level member; true if it was there.
pub fn remove_member(_document: &mut Json, _name: &str) -> bool {
    unimplemented!()
}

/// Puts these attributes beside those that are there; those of the same name are replaced in their place.
pub fn append_attributes(_document: &mut Json, _attributes: &Object) {
    unimplemented!()
}
