//! An array on a local store, read as far as it can be, and opened only if nothing about it is wrong.

use std::path::Path;

use super::error::OperationError;
use crate::codec::{BindError, BoundChain};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Code, Diagnostic, Severity, code};
use crate::metadata::array::{ArrayDocument, ArrayMetadata};
use crate::metadata::group::{NodeKind, node_kind};
use crate::metadata::json::Json;
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use crate::store::LocalNode;

/// What `validate` calls an error, but every command reads (SEMANTICS: C1, C2, C12, C16).
const READ_WITH_A_WARNING: [Code; 4] =
    [code::ENDIAN_MISSING, code::INTEGER_WITH_FRACTION, code::INTEGER_AS_STRING, code::RAW_AS_BASE64];

/// Whether a finding that is an error to `validate` is only a warning to the other commands.
pub fn is_read_with_a_warning(diagnostic: &Diagnostic) -> bool {
    READ_WITH_A_WARNING.iter().any(|code| diagnostic.is(*code))
}

/// What could be read of an array, and all that is wrong with it.
#[derive(Debug, Clone)]
pub struct ArrayReading {
    /// Where it lies.
    pub node: LocalNode,
    /// As the user named it.
    pub store: String,
    /// Its `zarr.json`, every literal as written.
    pub document: Json,
    /// The same, byte for byte.
    pub document_bytes: Vec<u8>,
    /// Its members, as far as they are right.
    pub members: ArrayDocument,
    /// All members, where none is missing.
    pub metadata: Option<ArrayMetadata>,
    /// Its data type, where it is one.
    pub data_type: Option<DataType>,
    /// The way of a stored object through the chain, where shape and type are known.
    pub pipeline: Option<Pipeline>,
    /// Every fault, and what not every reader accepts.
    pub diagnostics: Vec<Diagnostic>,
}

/// An array without faults.
#[derive(Debug, Clone)]
pub struct OpenedArray {
    /// Where it lies.
    pub node: LocalNode,
    /// As the user named it.
    pub store: String,
    /// Its `zarr.json`.
    pub document: Json,
    /// The same, byte for byte.
    pub document_bytes: Vec<u8>,
    /// Its members.
    pub metadata: ArrayMetadata,
    /// Its data type.
    pub data_type: DataType,
    /// Its fill value; `None` for a type that is not decoded.
    pub fill_value: Option<FillValue>,
    /// The way of a stored object through the chain.
    pub pipeline: Pipeline,
    /// What not every reader accepts.
    pub warnings: Vec<Diagnostic>,
}

/// The path of a STORE: `file://` is taken off.
pub fn local_path(store: &Path) -> &Path {
    store.to_str().and_then(|text| text.strip_prefix("file://")).map_or(store, Path::new)
}

/// Reads an array's metadata as far as it goes; an error only where there is no array to read.
pub fn read_array(store: &Path, node: Option<&str>) -> Result<ArrayReading, OperationError> {
    let root = local_path(store);
    let root = node.map_or_else(|| root.to_path_buf(), |node| root.join(node.trim_start_matches('/')));
    let name = root.display().to_string();
    let node = LocalNode::new(&root);
    let (document, document_bytes) = read_document(&node, &name)?;
    let mut members = ArrayDocument::read(&document);
    let mut diagnostics = std::mem::take(&mut members.diagnostics);
    let data_type = members.data_type.as_ref().and_then(|json| match DataType::read(json) {
        Ok(read) => {
            diagnostics.extend(read.notes.iter().map(|note| note.diagnostic().at_pointer("/data_type")));
            Some(read.value)
        }
        Err(error) => {
            let found = Diagnostic::new(code::DATA_TYPE_INVALID, format!("`data_type` is none: {error}"));
            diagnostics.push(found.at_pointer("/data_type"));
            None
        }
    });
    let metadata = members.metadata();
    let pipeline = match (&metadata, &data_type) {
        (Some(metadata), Some(data_type)) => Some(build_pipeline(metadata, data_type, &mut diagnostics)),
        _ => None,
    };
    for diagnostic in &mut diagnostics {
        diagnostic.location.store = Some(name.clone());
        diagnostic.location.node = Some("/".to_owned());
        diagnostic.location.key = Some("zarr.json".to_owned());
        if is_read_with_a_warning(diagnostic) {
            diagnostic.severity = Severity::Warning;
        }
    }
    Ok(ArrayReading {
        node,
        store: name,
        document,
        document_bytes,
        members,
        metadata,
        data_type,
        pipeline,
        diagnostics,
    })
}

/// The `zarr.json` of an array.
fn read_document(node: &LocalNode, name: &str) -> Result<(Json, Vec<u8>), OperationError> {
    let unreadable = |error| OperationError::environment(format!("`{name}` cannot be read")).because(error);
    let exists = |key: &str| node.open(key).is_ok_and(|found| found.is_some());
    let Some(bytes) = node.read_document("zarr.json").map_err(unreadable)? else {
        if !node.exists().map_err(unreadable)? {
            return Err(OperationError::environment(format!("`{name}` does not exist"))
                .with_help("check the path; an array is a folder that holds `zarr.json`"));
        }
        if exists(".zarray") || exists(".zgroup") {
            return Err(OperationError::environment(format!("`{name}` is Zarr v2, which is not read yet"))
                .with_help("convert it to Zarr v3 with zarr-python: `zarr migrate v3`"));
        }
        return Err(OperationError::environment(format!(
            "nothing Zarr at `{name}`: it holds no `zarr.json`"
        ))
        .with_help("name the folder of an array; it holds `zarr.json`"));
    };
    let document = Json::parse(&bytes)
        .map_err(|error| OperationError::data(format!("`{name}/zarr.json` is not JSON")).because(error))?;
    if node_kind(&document) == NodeKind::Group {
        return Err(OperationError::environment(format!("`{name}` is a group, not an array")).with_help(
            "name an array inside it: the path of a folder whose `zarr.json` has \"node_type\": \"array\"",
        ));
    }
    Ok((document, bytes))
}

/// The pipeline of a stored object, its fill value followed through the chain.
fn build_pipeline(
    metadata: &ArrayMetadata,
    data_type: &DataType,
    diagnostics: &mut Vec<Diagnostic>,
) -> Pipeline {
    let fill_value = match data_type {
        DataType::Other(_) => None,
        _ => match data_type.fill_value_from_json(&metadata.fill_value) {
            Ok(read) => {
                diagnostics.extend(read.notes.iter().map(|note| note.diagnostic().at_pointer("/fill_value")));
                Some(read.value)
            }
            Err(error) => {
                let found = Diagnostic::new(code::FILL_VALUE_INVALID, error.to_string());
                diagnostics.push(found.at_pointer("/fill_value"));
                None
            }
        },
    };
    let input =
        ArrayRepresentation { data_type: data_type.clone(), shape: metadata.chunk_shape.clone(), fill_value };
    Pipeline::build(input, &metadata.codecs, Completeness::ToBytes, "/codecs", diagnostics)
}

/// Opens an array; one with an error is refused, with every error named.
pub fn open_array(store: &Path, node: Option<&str>) -> Result<OpenedArray, OperationError> {
    let reading = read_array(store, node)?;
    let (errors, warnings): (Vec<_>, Vec<_>) =
        reading.diagnostics.into_iter().partition(Diagnostic::is_error);
    if !errors.is_empty() {
        return Err(refusal(&format!("the metadata of `{}` are in error", reading.store), &errors));
    }
    let (Some(metadata), Some(data_type), Some(pipeline)) =
        (reading.metadata, reading.data_type, reading.pipeline)
    else {
        return Err(OperationError::data(format!("the chunk grid of `{}` is not `regular`", reading.store))
            .with_help("only regular chunk grids are read"));
    };
    let fill_value = pipeline.input.fill_value.clone();
    Ok(OpenedArray {
        node: reading.node,
        store: reading.store,
        document: reading.document,
        document_bytes: reading.document_bytes,
        metadata,
        data_type,
        fill_value,
        pipeline,
        warnings,
    })
}

/// An error that lists findings.
pub fn refusal(message: &str, errors: &[Diagnostic]) -> OperationError {
    let list: Vec<String> = errors
        .iter()
        .map(|error| match &error.location.pointer {
            Some(pointer) if !pointer.is_empty() => format!("{error} (at {pointer})"),
            _ => error.to_string(),
        })
        .collect();
    let help = errors.iter().find_map(|error| error.help.clone());
    let refused = OperationError::data(format!("{message}: {}", list.join("; ")));
    match help {
        Some(help) => refused.with_help(help),
        None => refused,
    }
}

/// Binds a pipeline; what cannot be run is said with the store's name.
pub fn bind(pipeline: &Pipeline, store: &str) -> Result<BoundChain, OperationError> {
    BoundChain::bind(pipeline).map_err(|error| {
        let help = match &error {
            BindError::Unsupported { .. } => "copying without options keeps such chunks as they are",
            BindError::DataType(_) => "arrays of this type can be copied without options",
            BindError::TooLarge { .. } => "check `chunk_grid` in its metadata",
        };
        OperationError::data(format!("the chunks of `{store}` cannot be decoded"))
            .because(error)
            .with_help(help)
    })
}
