//! Whether two documents of a node say the same, however much of it they spell out: zarr-python writes the copies of
//! consolidated metadata in its own form, whatever form the document has (SEMANTICS D4).

use super::array::ArrayDocument;
use super::extension::{CodecMetadata, read_codecs};
use super::group::{GroupDocument, NodeKind, node_kind};
use super::json::{Json, Object};
use super::v2;
use crate::codec::registry;
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};

/// The member of a v3 group that holds copies of the documents below it.
pub const CONSOLIDATED_MEMBER: &str = "consolidated_metadata";

/// Whether a copy says what the document of a node says; the copies that either holds itself count for nothing.
pub fn is_copy_of(copy: &Json, document: &Json) -> bool {
    let has_copies = |json: &Json| json.get(CONSOLIDATED_MEMBER).is_some();
    if has_copies(copy) || has_copies(document) {
        return says_the_same(&without_copies(copy), &without_copies(document));
    }
    says_the_same(copy, document)
}

/// Whether a document of v2 need not be there: attributes of which there are none.
pub fn says_nothing(path: &str, document: &Json) -> bool {
    path.rsplit('/').next() == Some(".zattrs") && document.as_object().is_some_and(Object::is_empty)
}

/// A group's document without the copies that it holds.
pub fn without_copies(document: &Json) -> Json {
    let Some(object) = document.as_object().filter(|object| object.contains(CONSOLIDATED_MEMBER)) else {
        return document.clone();
    };
    let mut object = object.clone();
    object.remove(CONSOLIDATED_MEMBER);
    object.into()
}

fn says_the_same(a: &Json, b: &Json) -> bool {
    // Mostly they are spelt alike, too.
    if a.same_value(b) {
        return true;
    }
    let format = |json: &Json| json.get("zarr_format").and_then(Json::as_u64);
    match (format(a), format(b)) {
        (Some(2), Some(2)) if [a, b].iter().all(|json| json.get("chunks").is_some()) => {
            is_same_array(&v2::read_array(a), &v2::read_array(b))
        }
        (Some(3), Some(3)) => match (node_kind(a), node_kind(b)) {
            (NodeKind::Array, NodeKind::Array) => {
                is_same_array(&ArrayDocument::read(a), &ArrayDocument::read(b))
            }
            (NodeKind::Group, NodeKind::Group) => {
                is_same_group(&GroupDocument::read(a), &GroupDocument::read(b))
            }
            _ => false,
        },
        _ => false,
    }
}

fn is_same_group(a: &GroupDocument, b: &GroupDocument) -> bool {
    let is_sound = |group: &GroupDocument| !group.diagnostics.iter().any(Diagnostic::is_error);
    is_sound(a)
        && is_sound(b)
        && is_same_object(a.attributes.as_ref(), b.attributes.as_ref())
        && a.unknown.same_value(&b.unknown)
}

/// Of what cannot be read nobody knows what it means.
fn is_same_array(a: &ArrayDocument, b: &ArrayDocument) -> bool {
    let same_transformers = || {
        let (a, b) = (&a.storage_transformers, &b.storage_transformers);
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_value(b))
    };
    // Who reads the copy alone may refuse a chunk length of 0.
    let has_empty_chunks =
        |array: &ArrayDocument| array.diagnostics.iter().any(|found| found.is(code::CHUNK_SHAPE_ZERO_EMPTY));
    has_empty_chunks(a) == has_empty_chunks(b)
        && !a.has_errors()
        && !b.has_errors()
        && a.shape == b.shape
        && a.chunk_grid == b.chunk_grid
        && a.chunk_key_encoding == b.chunk_key_encoding
        && is_same_element(a, b)
        && is_same_chain(a.codecs.as_deref().unwrap_or_default(), b.codecs.as_deref().unwrap_or_default())
        && is_same_object(a.attributes.as_ref(), b.attributes.as_ref())
        && names(a) == names(b)
        && same_transformers()
        && a.unknown.same_value(&b.unknown)
}

/// Whether data type and fill value are the same.
fn is_same_element(a: &ArrayDocument, b: &ArrayDocument) -> bool {
    let (Some(a_type), Some(b_type)) = (&a.data_type, &b.data_type) else { return false };
    let (Some(a_fill), Some(b_fill)) = (&a.fill_value, &b.fill_value) else { return false };
    match (DataType::from_metadata(a_type), DataType::from_metadata(b_type)) {
        (Ok(a_type), Ok(b_type)) if a_type == b_type => {
            let bits = |json| a_type.fill_value_from_json(json).ok().map(|read| read.value);
            a_fill.same_value(b_fill) || bits(a_fill).is_some_and(|value| bits(b_fill) == Some(value))
        }
        (Err(_), Err(_)) => a_type.same_value(b_type) && a_fill.same_value(b_fill),
        _ => false,
    }
}

/// No attributes are none.
fn is_same_object(a: Option<&Object>, b: Option<&Object>) -> bool {
    let empty = Object::new();
    a.unwrap_or(&empty).same_value(b.unwrap_or(&empty))
}

/// The names of the dimensions; none where no dimension has one.
fn names(array: &ArrayDocument) -> Option<&Vec<Option<String>>> {
    array.dimension_names.as_ref().filter(|names| names.iter().any(Option::is_some))
}

fn is_same_chain(a: &[CodecMetadata], b: &[CodecMetadata]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_codec(a, b))
}

fn is_same_codec(a: &CodecMetadata, b: &CodecMetadata) -> bool {
    if a.same_value(b) && a.must_understand == b.must_understand {
        return true;
    }
    let (mut a_own, mut b_own) = (without_defaults(a), without_defaults(b));
    let chains = ["codecs", "index_codecs"].map(|member| [a_own.remove(member), b_own.remove(member)]);
    let is_same_list = |lists: [Option<Json>; 2]| match lists {
        [Some(a), Some(b)] => {
            let read = |json: &Json| read_codecs(json, "", &mut Vec::new());
            read(&a).zip(read(&b)).is_some_and(|(a, b)| is_same_chain(&a, &b))
        }
        [a, b] => a.is_none() && b.is_none(),
    };
    a.name == b.name
        && a.view == b.view
        && a.must_understand == b.must_understand
        && a_own.same_value(&b_own)
        && chains.into_iter().all(is_same_list)
}

/// The configuration without the members that say what their absence says.
fn without_defaults(codec: &CodecMetadata) -> Object {
    let mut configuration = codec.configuration.clone().unwrap_or_default();
    let defaults = registry::find(&codec.name).map_or(&[][..], |entry| entry.defaults);
    for (member, value) in defaults {
        let is_default = |json: &Json| Json::parse_str(value).is_ok_and(|value| value.same_value(json));
        if configuration.get(member).is_some_and(is_default) {
            configuration.remove(member);
        }
    }
    configuration
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"float32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},"chunk_key_encoding":{"name":"default"},
        "fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1}}]}"#;

    fn edited(edits: &[(&str, &str)]) -> Json {
        let mut json = Json::parse_str(ARRAY).unwrap();
        for (name, value) in edits {
            json.as_object_mut().unwrap().insert(*name, Json::parse_str(value).unwrap());
        }
        json
    }

    #[test]
    fn defaults_that_are_spelt_out_change_nothing() {
        for edit in [
            ("attributes", "{}"),
            ("storage_transformers", "[]"),
            ("dimension_names", "[null]"),
            ("chunk_key_encoding", r#"{"name":"default","configuration":{"separator":"/"}}"#),
            ("fill_value", "0.0"),
            ("fill_value", "\"0x00000000\""),
            ("data_type", r#"{"name":"float32"}"#),
            (
                "codecs",
                r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1,"checksum":false}}]"#,
            ),
        ] {
            assert!(is_copy_of(&edited(&[edit]), &edited(&[])), "{edit:?}");
        }
    }

    #[test]
    fn what_means_something_else_is_no_copy() {
        for edit in [
            ("attributes", r#"{"a":1}"#),
            ("storage_transformers", r#"[{"name":"x","must_understand":false}]"#),
            ("dimension_names", "[\"x\"]"),
            ("chunk_key_encoding", r#"{"name":"default","configuration":{"separator":"."}}"#),
            ("chunk_key_encoding", r#"{"name":"v2"}"#),
            ("fill_value", "-0.0"),
            ("shape", "[5]"),
            ("shape", "[-1]"),
            ("data_type", "\"int32\""),
            ("codecs", r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#),
            ("extra", r#"{"must_understand":false}"#),
            ("node_type", "\"group\""),
        ] {
            assert!(!is_copy_of(&edited(&[edit]), &edited(&[])), "{edit:?}");
        }
    }

    #[test]
    fn documents_of_v2_and_groups_are_compared_by_meaning() {
        let json = |text: &str| Json::parse_str(text).unwrap();
        let array = r#"{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":"<f4","fill_value":0.0,"order":"C","filters":null,"compressor":{"id":"zstd","level":1}}"#;
        let spelt = array
            .replace("\"zarr_format\"", "\"dimension_separator\":\".\",\"zarr_format\"")
            .replace("\"level\":1", "\"level\":1,\"checksum\":false")
            .replace("\"filters\":null", "\"filters\":[]");
        assert!(is_copy_of(&json(&spelt), &json(array)));
        assert!(!is_copy_of(&json(&array.replace("\"C\"", "\"F\"").replace("[4]", "[4,4]")), &json(array)));
        let group = r#"{"zarr_format":3,"node_type":"group"}"#;
        let with = |members: &str| json(&group.replace('}', members));
        assert!(is_copy_of(
            &with(r#","attributes":{},"consolidated_metadata":{"metadata":{}}}"#),
            &json(group)
        ));
        assert!(!is_copy_of(&with(r#","attributes":{"a":1}}"#), &json(group)));
    }
}
