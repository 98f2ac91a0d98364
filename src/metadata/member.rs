//! Members that the documents of arrays and groups share.

use super::extension::{MAX_FAULTS, fault, type_fault};
use super::json::{Json, Object, push_token};
use crate::diagnostic::{Diagnostic, code};

const REPEATED_ATTRIBUTE: &str = "a name is repeated in the attributes: readers keep only the last";

/// `zarr_format` and `node_type`.
pub(super) fn read_head(object: &Object, node_type: &str, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(json) = required(object, "zarr_format", diagnostics)
        && json.as_u64() != Some(3)
    {
        diagnostics.push(fault(code::ZARR_FORMAT, json, "3", "/zarr_format"));
    }
    if let Some(json) = required(object, "node_type", diagnostics)
        && json.as_str() != Some(node_type)
    {
        diagnostics.push(fault(code::NODE_TYPE, json, &format!("{node_type:?}"), "/node_type"));
    }
}

/// A member that must be there.
pub(super) fn required<'a>(
    object: &'a Object,
    name: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<&'a Json> {
    let member = object.get(name);
    if member.is_none() {
        diagnostics
            .push(Diagnostic::new(code::MEMBER_MISSING, format!("`{name}` is missing")).at_pointer(""));
    }
    member
}

/// The attributes, where they are an object.
pub(super) fn read_attributes(object: &Object, diagnostics: &mut Vec<Diagnostic>) -> Option<Object> {
    match object.get("attributes")? {
        Json::Object(attributes) => Some(attributes.clone()),
        other => {
            diagnostics.push(type_fault(other, "an object", "/attributes"));
            None
        }
    }
}

/// The members beside `known`: each is a fault unless it is an object that says that it may be ignored.
pub(super) fn read_unknown(object: &Object, known: &[&str], diagnostics: &mut Vec<Diagnostic>) -> Object {
    let unknown = object.iter().filter(|(name, _)| !known.contains(name));
    let unknown: Object = unknown.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    let must_understand = |value: &Json| value.get("must_understand") != Some(&Json::Bool(false));
    for (name, _) in unknown.iter().filter(|(_, value)| must_understand(value)).take(MAX_FAULTS) {
        let mut pointer = String::new();
        push_token(&mut pointer, name);
        let message = format!("unknown member {}", Json::from(name).excerpt());
        diagnostics.push(
            Diagnostic::new(code::MEMBER_UNKNOWN, message)
                .with_help("what may be ignored is an object with \"must_understand\": false; attributes go into `attributes`")
                .at_pointer(pointer),
        );
    }
    unknown
}

/// Names that are given more than once in a document that is attributes.
pub(super) fn read_repeated_attributes(document: &Json, diagnostics: &mut Vec<Diagnostic>) {
    for pointer in document.duplicates().into_iter().take(MAX_FAULTS) {
        diagnostics.push(Diagnostic::new(code::ATTRIBUTE_REPEATED, REPEATED_ATTRIBUTE).at_pointer(pointer));
    }
}

/// Names that are given more than once, anywhere in the document.
pub(super) fn read_repeated(document: &Json, diagnostics: &mut Vec<Diagnostic>) {
    for pointer in document.duplicates().into_iter().take(MAX_FAULTS) {
        let (code, message) = if pointer.starts_with("/attributes/") {
            (code::ATTRIBUTE_REPEATED, REPEATED_ATTRIBUTE)
        } else {
            (code::MEMBER_REPEATED, "a member is given more than once: the last is taken")
        };
        diagnostics.push(Diagnostic::new(code, message).at_pointer(pointer));
    }
}
