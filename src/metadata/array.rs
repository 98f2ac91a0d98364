//! The `zarr.json` of an array, read member by member: a fault in one hides none in another.

use super::chunk_key::ChunkKeyEncoding;
use super::extension::{CodecMetadata, Extension, MAX_FAULTS, fault, read_codecs, type_fault};
use super::json::{Json, Object, push_token};
use crate::diagnostic::{Code, Diagnostic, code};

/// The most dimensions of an array (as numpy has).
pub const MAX_RANK: usize = 64;

/// The members of an array's document.
const MEMBERS: [&str; 11] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "dimension_names",
    "storage_transformers",
];

/// The chunk grid.
#[derive(Debug, Clone, PartialEq)]
pub enum ChunkGrid {
    /// `regular`: every chunk has this shape.
    Regular {
        /// Elements per dimension, none of them 0.
        chunk_shape: Vec<u64>,
    },
    /// Any other, kept as written.
    Other(Json),
}

/// What could be read of an array's `zarr.json`, and all that is wrong with it.
///
/// A member is `None` where it is missing or faulty; a diagnostic then says so.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArrayDocument {
    /// Elements per dimension.
    pub shape: Option<Vec<u64>>,
    /// As written.
    pub data_type: Option<Json>,
    /// The grid; `None` also where the chunk shape does not fit the array.
    pub chunk_grid: Option<ChunkGrid>,
    /// How chunks are named.
    pub chunk_key_encoding: Option<ChunkKeyEncoding>,
    /// As written.
    pub fill_value: Option<Json>,
    /// The codecs whose form is right; their order and configurations are not looked at.
    pub codecs: Option<Vec<CodecMetadata>>,
    /// The attributes, if there are any.
    pub attributes: Option<Object>,
    /// One name or null per dimension, if there are any.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The storage transformers (each of them is an error).
    pub storage_transformers: Vec<Json>,
    /// Members that the specification does not have.
    pub unknown: Object,
    /// Every fault, in the order of the specification's members.
    pub diagnostics: Vec<Diagnostic>,
}

/// An array's metadata with every member there, for a grid that this program decodes.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayMetadata {
    /// Elements per dimension.
    pub shape: Vec<u64>,
    /// As written.
    pub data_type: Json,
    /// Elements per dimension of an object of the stored grid.
    pub chunk_shape: Vec<u64>,
    /// How chunks are named.
    pub chunk_key_encoding: ChunkKeyEncoding,
    /// As written.
    pub fill_value: Json,
    /// The codecs, in encode order.
    pub codecs: Vec<CodecMetadata>,
    /// Empty where there are none.
    pub attributes: Object,
    /// One name or null per dimension, if there are any.
    pub dimension_names: Option<Vec<Option<String>>>,
}

impl ArrayDocument {
    /// Reads what can be read; faults go to `diagnostics`.
    pub fn read(document: &Json) -> Self {
        let Some(object) = document.as_object() else {
            let diagnostics = vec![type_fault(document, "an object", "")];
            return ArrayDocument { diagnostics, ..Self::default() };
        };
        let mut diagnostics = Vec::new();
        let found = &mut diagnostics;
        read_head(object, "array", found);
        let shape = required(object, "shape", found).and_then(|json| read_shape(json, found));
        let data_type = required(object, "data_type", found).cloned();
        let chunk_grid = required(object, "chunk_grid", found)
            .and_then(|json| read_chunk_grid(json, shape.as_deref(), found));
        let chunk_key_encoding = required(object, "chunk_key_encoding", found)
            .and_then(|json| ChunkKeyEncoding::read(json, "/chunk_key_encoding", found));
        let fill_value = required(object, "fill_value", found).cloned();
        let codecs = required(object, "codecs", found).and_then(|json| read_codecs(json, "/codecs", found));
        let attributes = read_attributes(object, found);
        let dimension_names = object
            .get("dimension_names")
            .and_then(|json| read_dimension_names(json, shape.as_deref(), found));
        let storage_transformers = read_storage_transformers(object, found);
        let unknown = read_unknown(object, &MEMBERS, found);
        read_repeated(document, found);
        ArrayDocument {
            shape,
            data_type,
            chunk_grid,
            chunk_key_encoding,
            fill_value,
            codecs,
            attributes,
            dimension_names,
            storage_transformers,
            unknown,
            diagnostics,
        }
    }

    /// Whether a diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The metadata where nothing is missing (there may be errors elsewhere); `None` also for another grid than
    /// `regular`.
    pub fn metadata(&self) -> Option<ArrayMetadata> {
        let Some(ChunkGrid::Regular { chunk_shape }) = &self.chunk_grid else { return None };
        let shape = self.shape.clone()?;
        (shape.len() == chunk_shape.len()).then_some(ArrayMetadata {
            shape,
            data_type: self.data_type.clone()?,
            chunk_shape: chunk_shape.clone(),
            chunk_key_encoding: self.chunk_key_encoding.clone()?,
            fill_value: self.fill_value.clone()?,
            codecs: self.codecs.clone()?,
            attributes: self.attributes.clone().unwrap_or_default(),
            dimension_names: self.dimension_names.clone(),
        })
    }
}

impl ArrayMetadata {
    /// Chunks per dimension.
    pub fn chunk_grid_shape(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.chunk_shape).map(|(&size, &chunk)| size.div_ceil(chunk.max(1))).collect()
    }
}

/// The product of a shape; `None` where it does not fit into 64 bits (a zero anywhere makes it 0).
pub fn num_elements(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u64, |product, &size| product.checked_mul(size))
}

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

fn required<'a>(object: &'a Object, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<&'a Json> {
    let member = object.get(name);
    if member.is_none() {
        diagnostics
            .push(Diagnostic::new(code::MEMBER_MISSING, format!("`{name}` is missing")).at_pointer(""));
    }
    member
}

/// A list of integers from 0 to 2^64-1, at most [`MAX_RANK`] of them; a list that is no such one is of code `fault_code`.
fn read_sizes(
    json: &Json,
    pointer: &str,
    fault_code: Code,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<u64>> {
    let Some(elements) = json.as_array() else {
        diagnostics.push(fault(fault_code, json, "an array of integers", pointer));
        return None;
    };
    if elements.len() > MAX_RANK {
        let message = format!("{} dimensions, of which {MAX_RANK} are read", elements.len());
        diagnostics.push(Diagnostic::new(code::RANK_LIMIT, message).at_pointer(pointer));
        return None;
    }
    let mut sizes = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        match element.as_u64() {
            Some(size) => sizes.push(size),
            None => diagnostics.push(fault(
                fault_code,
                element,
                "an integer from 0 to 2^64-1",
                &format!("{pointer}/{index}"),
            )),
        }
    }
    (sizes.len() == elements.len()).then_some(sizes)
}

fn read_shape(json: &Json, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<u64>> {
    let shape = read_sizes(json, "/shape", code::MEMBER_TYPE, diagnostics)?;
    if num_elements(&shape).is_none() {
        let message = format!("the number of elements of {shape:?} does not fit into 64 bits");
        diagnostics.push(Diagnostic::new(code::SHAPE_OVERFLOW, message).at_pointer("/shape"));
        return None;
    }
    Some(shape)
}

fn read_chunk_grid(
    json: &Json,
    shape: Option<&[u64]>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<ChunkGrid> {
    let extension = Extension::read(json, "/chunk_grid", diagnostics)?;
    if extension.name != "regular" {
        let name = &extension.name;
        let (code, message) = if name == "rectilinear" {
            (code::GRID_UNSUPPORTED, format!("the chunk grid {name:?} is not decoded by this program"))
        } else {
            (code::GRID_UNREGISTERED, format!("the chunk grid {name:?} is in no registry"))
        };
        diagnostics.push(Diagnostic::new(code, message).at_pointer("/chunk_grid/name"));
        return Some(ChunkGrid::Other(json.clone()));
    }
    let configuration = extension.configuration.unwrap_or_default();
    for name in configuration.names().filter(|name| *name != "chunk_shape").take(MAX_FAULTS) {
        let message = format!("the regular grid has no member {}", Json::from(name).excerpt());
        diagnostics
            .push(Diagnostic::new(code::GRID_CONFIGURATION, message).at_pointer("/chunk_grid/configuration"));
    }
    let Some(json) = configuration.get("chunk_shape") else {
        diagnostics.push(
            Diagnostic::new(code::GRID_CONFIGURATION, "`chunk_shape` is missing")
                .at_pointer("/chunk_grid/configuration"),
        );
        return None;
    };
    let pointer = "/chunk_grid/configuration/chunk_shape";
    let chunk_shape = read_sizes(json, pointer, code::GRID_CONFIGURATION, diagnostics)?;
    let fits = check_chunk_shape(&chunk_shape, shape, pointer, diagnostics);
    fits.then_some(ChunkGrid::Regular { chunk_shape })
}

/// Whether a chunk shape has a rank, dimensions and a product that can be worked with.
fn check_chunk_shape(
    chunk_shape: &[u64],
    shape: Option<&[u64]>,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let before = diagnostics.len();
    let mut push = |code, message: String, pointer: String| {
        diagnostics.push(Diagnostic::new(code, message).at_pointer(pointer));
    };
    if let Some(shape) = shape
        && shape.len() != chunk_shape.len()
    {
        let message =
            format!("the chunk shape has {} dimensions, the array {}", chunk_shape.len(), shape.len());
        push(code::CHUNK_SHAPE_RANK, message, pointer.to_owned());
    }
    for (index, _) in chunk_shape.iter().enumerate().filter(|(_, size)| **size == 0) {
        let message = format!("the chunk shape is 0 in dimension {index}, expected at least 1");
        push(code::CHUNK_SHAPE_ZERO, message, format!("{pointer}/{index}"));
    }
    if num_elements(chunk_shape).is_none() {
        let message =
            format!("the number of elements of a chunk of {chunk_shape:?} does not fit into 64 bits");
        push(code::CHUNK_SHAPE_OVERFLOW, message, pointer.to_owned());
    }
    diagnostics.len() == before
}

pub(super) fn read_attributes(object: &Object, diagnostics: &mut Vec<Diagnostic>) -> Option<Object> {
    match object.get("attributes")? {
        Json::Object(attributes) => Some(attributes.clone()),
        other => {
            diagnostics.push(type_fault(other, "an object", "/attributes"));
            None
        }
    }
}

fn read_dimension_names(
    json: &Json,
    shape: Option<&[u64]>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<Option<String>>> {
    let pointer = "/dimension_names";
    if json.is_null() {
        let message = "`dimension_names` is null, which the specification wants left out";
        diagnostics.push(Diagnostic::new(code::DIMENSION_NAMES_NULL, message).at_pointer(pointer));
        return None;
    }
    let Some(elements) = json.as_array() else {
        diagnostics.push(type_fault(json, "an array of strings and nulls", pointer));
        return None;
    };
    if let Some(shape) = shape
        && shape.len() != elements.len()
    {
        let message = format!("{} dimension names for {} dimensions", elements.len(), shape.len());
        diagnostics.push(Diagnostic::new(code::DIMENSION_NAMES_LENGTH, message).at_pointer(pointer));
        return None;
    }
    let mut names = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        match element {
            Json::Null => names.push(None),
            Json::String(name) => names.push(Some(name.clone())),
            other if diagnostics.len() < MAX_FAULTS => {
                diagnostics.push(type_fault(other, "a string or null", &format!("{pointer}/{index}")));
            }
            _ => {}
        }
    }
    (names.len() == elements.len()).then_some(names)
}

fn read_storage_transformers(object: &Object, diagnostics: &mut Vec<Diagnostic>) -> Vec<Json> {
    let pointer = "/storage_transformers";
    match object.get("storage_transformers") {
        None => Vec::new(),
        Some(Json::Array(elements)) => {
            if !elements.is_empty() {
                let message = format!("{} storage transformer(s), of which none is known", elements.len());
                diagnostics.push(Diagnostic::new(code::STORAGE_TRANSFORMER, message).at_pointer(pointer));
            }
            elements.clone()
        }
        Some(other) => {
            diagnostics.push(type_fault(other, "an array", pointer));
            Vec::new()
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

/// Names that are given more than once, anywhere in the document.
pub(super) fn read_repeated(document: &Json, diagnostics: &mut Vec<Diagnostic>) {
    for pointer in document.duplicates().into_iter().take(MAX_FAULTS) {
        let (code, message) = if pointer.starts_with("/attributes/") {
            (code::ATTRIBUTE_REPEATED, "a name is repeated in the attributes: readers keep only the last")
        } else {
            (code::MEMBER_REPEATED, "a member is given more than once: the last is taken")
        };
        diagnostics.push(Diagnostic::new(code, message).at_pointer(pointer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = r#"{
        "zarr_format": 3, "node_type": "array", "shape": [10, 7], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 7]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {"a": 1.0}, "dimension_names": ["y", null], "storage_transformers": []
    }"#;

    fn read_with(name: &str, value: Option<&str>) -> (ArrayDocument, Vec<&'static str>) {
        let mut json = Json::parse_str(VALID).unwrap();
        let object = json.as_object_mut().unwrap();
        match value {
            Some(value) => object.insert(name, Json::parse_str(value).unwrap()),
            None => drop(object.remove(name)),
        }
        let document = ArrayDocument::read(&json);
        let codes = document.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
        (document, codes)
    }

    #[test]
    fn valid_document_is_read_whole() {
        let document = ArrayDocument::read(&Json::parse_str(VALID).unwrap());
        assert_eq!(document.diagnostics, []);
        let metadata = document.metadata().unwrap();
        assert_eq!(metadata.chunk_grid_shape(), [3, 1]);
        assert_eq!(metadata.dimension_names, Some(vec![Some("y".to_owned()), None]));
        assert_eq!(metadata.codecs.len(), 1);
    }

    #[test]
    fn each_required_member_is_missed() {
        for name in &MEMBERS[..8] {
            let (document, codes) = read_with(name, None);
            assert_eq!(codes, ["ZM101"], "{name}");
            assert_eq!(
                document.metadata().is_none(),
                !matches!(*name, "zarr_format" | "node_type"),
                "{name}"
            );
        }
        for name in &MEMBERS[8..] {
            assert!(read_with(name, None).1.is_empty(), "{name}");
        }
    }

    #[test]
    fn each_fault_has_its_code() {
        let grid = |shape: &str| format!(r#"{{"name":"regular","configuration":{{"chunk_shape":{shape}}}}}"#);
        let long = format!("[{}1]", "1,".repeat(64));
        let cases: Vec<(&str, &str, &[&str])> = vec![
            ("zarr_format", "2", &["ZM104"]),
            ("zarr_format", "3.0", &["ZM104"]),
            ("node_type", "\"group\"", &["ZM105"]),
            ("shape", "[10, -1]", &["ZM103"]),
            ("shape", "[10.0, true]", &["ZM103", "ZM103"]),
            ("shape", "10", &["ZM103"]),
            ("shape", "[4294967296, 4294967296]", &["ZM107"]),
            ("shape", &long, &["ZM106"]),
            ("shape", "[0, 18446744073709551615]", &[]),
            ("shape", "[1]", &["ZG104", "ZM108"]),
            ("chunk_grid", "{\"name\":\"rectilinear\"}", &["ZG102"]),
            ("chunk_grid", "{\"name\":\"mine\"}", &["ZG101"]),
            ("chunk_grid", "{\"name\":\"regular\"}", &["ZG103"]),
            ("chunk_grid", "[4]", &["ZM103"]),
            ("chunk_key_encoding", "{\"name\":\"x\"}", &["ZK101"]),
            ("codecs", "[]", &["ZC101"]),
            ("attributes", "null", &["ZM103"]),
            ("dimension_names", "null", &["ZM109"]),
            ("dimension_names", "[\"y\"]", &["ZM108"]),
            ("dimension_names", "[\"y\", 1]", &["ZM103"]),
            ("storage_transformers", "[{\"name\":\"x\"}]", &["ZM110"]),
            ("storage_transformers", "null", &["ZM103"]),
            ("extra", "{\"must_understand\":false}", &[]),
            ("extra", "{\"must_understand\":true}", &["ZM102"]),
            ("extra", "false", &["ZM102"]),
        ];
        for (name, value, expected) in cases {
            assert_eq!(read_with(name, Some(value)).1, expected, "{name} {value}");
        }
        for (shape, expected) in [
            ("[4]", "ZG104"),
            ("[0, 7]", "ZG105"),
            ("[4294967296, 4294967296]", "ZG106"),
            ("[4, 1.5]", "ZG103"),
        ] {
            let (document, codes) = read_with("chunk_grid", Some(&grid(shape)));
            assert_eq!(codes, [expected], "{shape}");
            assert!(document.chunk_grid.is_none());
        }
    }

    #[test]
    fn faults_do_not_hide_each_other() {
        let document = ArrayDocument::read(
            &Json::parse_str(r#"{"node_type":"array","shape":[1],"shape":"x","attributes":{"a":1,"a":2}}"#)
                .unwrap(),
        );
        let codes: Vec<_> = document.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
        assert_eq!(codes, ["ZM101", "ZM103", "ZM101", "ZM101", "ZM101", "ZM101", "ZM101", "ZM011", "ZM012"]);
        assert!(ArrayDocument::read(&Json::Null).has_errors());
    }
}
