//! Reads an array as far as possible, and opens it only if it has no faults.

use super::absent::{arrays_help, no_node};
use super::document::{DocumentError, document_help, read_documents};
use super::{Documents, NodePath, OperationError, Result, xarray};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, Profile, code};
use crate::grid::Grid;
use crate::metadata::array::num_elements;
use crate::metadata::{ArrayDocument, ArrayMetadata, CodecMetadata, Json, NodeKind, v2};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use crate::store::{Location, Node};

/// The readable members of an array, and all its faults.
#[derive(Debug, Clone)]
pub struct ArrayReading {
    /// The root.
    pub node: Node,
    /// The name for messages.
    pub store: String,
    /// The store and path, for findings.
    pub node_path: NodePath,
    /// The documents as read. Their faults are in `diagnostics`.
    pub documents: Documents,
    /// The valid members, in v3 form.
    pub members: ArrayDocument,
    /// All members. `None` if one is missing.
    pub metadata: Option<ArrayMetadata>,
    /// The data type. `None` if it is missing or invalid.
    pub data_type: Option<DataType>,
    /// The pipeline of a stored object. `None` if the shape or the type is unknown.
    pub pipeline: Option<Pipeline>,
    /// All faults, and everything that some readers do not accept.
    pub diagnostics: Vec<Diagnostic>,
}

/// An array without faults.
#[derive(Debug, Clone)]
pub struct OpenedArray {
    /// The root.
    pub node: Node,
    /// The name for messages.
    pub store: String,
    /// The documents as read, except for changes of the form before a plan.
    pub documents: Documents,
    /// The members, in v3 form.
    pub metadata: ArrayMetadata,
    /// The data type.
    pub data_type: DataType,
    /// The fill value. `None` for a type that is not decoded.
    pub fill_value: Option<FillValue>,
    /// The pipeline of a stored object.
    pub pipeline: Pipeline,
    /// Findings about things that some readers do not accept.
    pub warnings: Vec<Diagnostic>,
}

impl ArrayReading {
    /// Returns the bytes of all elements. An element of variable length counts as one byte.
    pub fn decoded_bytes(&self) -> u64 {
        let size = self.data_type.as_ref().and_then(DataType::size).unwrap_or(1) as u64;
        self.members.shape.as_deref().and_then(num_elements).map_or(0, |count| count.saturating_mul(size))
    }

    /// Reads the members of an array from its documents.
    pub fn new(node_path: NodePath, node: Node, mut documents: Documents) -> Self {
        let of_documents = std::mem::take(&mut documents.diagnostics);
        let Documents { key, zarr_format, document, attributes, .. } = &documents;
        let is_v2 = *zarr_format == 2;
        let mut members = if is_v2 { v2::read_array(document) } else { ArrayDocument::read(document) };
        let mut diagnostics = std::mem::take(&mut members.diagnostics);
        // Findings from here on are about the v3 form. For a v2 array, `as_v2` converts them.
        let own = diagnostics.len();
        let mut about_attributes = Vec::new();
        if is_v2 {
            members.attributes = attributes.as_ref().and_then(|json| v2::read_attributes(json, &mut about_attributes));
            let found = members.attributes.as_ref().zip(members.shape.as_ref());
            let names = found.and_then(|(found, shape)| xarray::dimension_names(found, shape.len()));
            members.dimension_names =
                names.map(|names| names.iter().map(|name| name.as_str().map(str::to_owned)).collect());
        }
        let data_type = members.data_type.as_ref().and_then(|json| read_data_type(json, &mut diagnostics));
        let metadata = members.metadata();
        let pipeline = data_type.as_ref().and_then(|data_type| build_pipeline(&members, data_type, &mut diagnostics));
        if is_v2 {
            let about_form = diagnostics.split_off(own);
            // An invalid v2 `dtype` already has a finding, and gets no other.
            let is_about_dtype = |found: &Diagnostic| found.location.pointer.as_deref() == Some("/dtype");
            let is_unknown = diagnostics.iter().any(|found| found.is_error() && is_about_dtype(found));
            let is_read = |data_type: &DataType| data_type.size().is_some() || data_type.is_variable_length();
            let is_decoded = is_unknown || data_type.as_ref().is_some_and(is_read);
            let about_form = about_form.into_iter().filter(|found| !is_v3_alone(found, is_decoded));
            diagnostics.extend(about_form.map(|found| as_v2(document, found)));
        }
        diagnostics.extend(about_attributes.into_iter().map(|found| found.at_key(".zattrs")));
        diagnostics.extend(of_documents);
        node_path.locate(&mut diagnostics, key);
        let store = node_path.name();
        ArrayReading { node, store, node_path, documents, members, metadata, data_type, pipeline, diagnostics }
    }

    /// Returns the array, with all faults as warnings. An error if its grid is not known.
    pub fn into_array(self) -> Result<OpenedArray> {
        let ArrayReading { node, store, documents, diagnostics: warnings, .. } = self;
        let (Some(metadata), Some(data_type), Some(pipeline)) = (self.metadata, self.data_type, self.pipeline) else {
            return Err(OperationError::data(format!("the chunk grid of `{store}` is not known"))
                .with_help("the grids `regular` and `rectilinear` are read"));
        };
        let fill_value = pipeline.input.fill_value.clone();
        Ok(OpenedArray { node, store, documents, metadata, data_type, fill_value, pipeline, warnings })
    }

    /// Returns the `dtype` of a v2 array, as written. `None` for v3.
    pub fn data_type_v2(&self) -> Option<&Json> {
        if self.documents.zarr_format == 2 { self.documents.document.get("dtype") } else { None }
    }
}

/// True if a finding about the v3 form does not apply to a v2 array. Only v3 has registries of names. An id that
/// numcodecs does not have was reported when it was read.
fn is_v3_alone(found: &Diagnostic, is_decoded: bool) -> bool {
    found.is(code::CODEC_UNREGISTERED)
        || found.is(code::CODEC_UNKNOWN)
        || found.is(code::CODEC_MISNAMED)
        || (is_about_unknown_type(found) && is_decoded)
}

/// True if a finding is about the name of a data type that no registry has.
fn is_about_unknown_type(found: &Diagnostic) -> bool {
    found.is(code::DATA_TYPE_UNREGISTERED) || found.is(code::DATA_TYPE_MISNAMED)
}

/// Converts a finding about the v3 form of a v2 array. Its pointer then refers to `.zarray`.
fn as_v2(document: &Json, mut found: Diagnostic) -> Diagnostic {
    if is_about_unknown_type(&found) || found.is(code::DATA_TYPE_UNSUPPORTED) {
        let message = match document.get("dtype").and_then(Json::as_str) {
            Some(dtype) => format!("the dtype {dtype:?} is not decoded by this program"),
            None => "a `dtype` of named fields is not decoded by this program".to_owned(),
        };
        found = Diagnostic::new(code::DATA_TYPE_UNSUPPORTED, message).at_pointer("/dtype");
    }
    // v2 has no hexadecimal values.
    if found.is(code::FILL_VALUE_INVALID)
        && let Some((before, rest)) = found.message.split_once(" or \"0x\"")
        && let Some((_, after)) = rest.split_once(" for ")
    {
        found.message = format!("{before} for {after}");
    }
    found.location.pointer = found.location.pointer.map(|pointer| v2::pointer_into(document, &pointer));
    found
}

fn read_data_type(json: &Json, diagnostics: &mut Vec<Diagnostic>) -> Option<DataType> {
    match DataType::read(json) {
        Ok(read) => {
            diagnostics.extend(read.notes.into_iter().map(|note| note.at_pointer("/data_type")));
            // A type that no registry has gets a warning about its name, which says the same of its readers.
            if read.value.is_sub_byte() && read.value.is_registered() {
                let message = format!("{} has no whole number of bytes: zarr-python cannot open the array", read.value);
                diagnostics.push(Diagnostic::new(code::DATA_TYPE_SUB_BYTE, message).at_pointer("/data_type"));
            }
            Some(read.value)
        }
        Err(error) => {
            let found = Diagnostic::new(code::DATA_TYPE_INVALID, format!("`data_type` is not a data type: {error}"));
            diagnostics.push(found.at_pointer(format!("/data_type{}", error.pointer)));
            None
        }
    }
}

/// Reads an array's metadata as far as possible. An error only if there is no array to read. Findings are judged under
/// [`Profile::Read`].
pub fn read_array(store: &Location, node: Option<&str>) -> Result<ArrayReading> {
    let node_path = NodePath::new(store, node)?;
    let node = node_path.node(store)?;
    let documents = open_documents(&node, &node_path.name())?;
    if documents.kind == NodeKind::Group {
        let (name, help) = (node_path.name(), arrays_help(&node, &node_path.name()));
        return Err(OperationError::environment(format!("`{name}` is a group, not an array")).with_help(help));
    }
    Ok(read_array_of(node_path, node, documents))
}

/// Reads an array from its documents, which are already read.
pub fn read_array_of(node_path: NodePath, node: Node, documents: Documents) -> ArrayReading {
    let mut reading = ArrayReading::new(node_path, node, documents);
    Profile::Read.judge(&mut reading.diagnostics);
    reading
}

/// Reads the documents of a node. An error if there are none. `name` is for messages.
pub fn open_documents(node: &Node, name: &str) -> Result<Documents> {
    needed_documents(read_documents(node), node, name)
}

/// Returns documents that are already read. An error if there are none.
pub fn needed_documents(read: Result<Option<Documents>, DocumentError>, node: &Node, name: &str) -> Result<Documents> {
    let found = read.map_err(|error| match error {
        DocumentError::Json { key, format: Some(format), .. } => {
            OperationError::data(format!("`{name}/{key}` is {}", format.name)).with_help(document_help(format))
        }
        DocumentError::Json { key, error, .. } => OperationError::data(format!("`{name}/{key}` is not JSON"))
            .because(error)
            .with_help("correct the document there, or restore it from a copy"),
        DocumentError::Store(error) => {
            let help = error.is_data_fault().then_some("put the document in its place");
            let failed = OperationError::environment(format!("`{name}` cannot be read")).because(error);
            help.into_iter().fold(failed, OperationError::with_help)
        }
    })?;
    found.ok_or_else(|| no_node(node, name))
}

/// Builds the pipeline of a stored object (the largest, if they differ), with the fill value after each codec. `None`
/// if its shape or its codecs are unknown.
fn build_pipeline(members: &ArrayDocument, data_type: &DataType, faults: &mut Vec<Diagnostic>) -> Option<Pipeline> {
    // The function may return early below. A wrong fill value is reported all the same.
    let fill_value = read_fill_value(members, data_type, faults);
    let shape = members.chunk_grid.as_ref()?.greatest_chunk_shape(members.shape.as_deref())?;
    let codecs = members.codecs.as_ref()?;
    let input = ArrayRepresentation { data_type: data_type.clone(), shape, fill_value };
    let before = faults.len();
    let pipeline = Pipeline::build(input, codecs, Completeness::ToBytes, "/codecs", faults);
    // A codec that refuses the largest chunk would be reported again for other lengths.
    let is_sound = faults[before..].iter().all(|found| !found.is_error());
    if is_sound && let Some(metadata) = members.metadata() {
        check_lengths(&pipeline, &metadata.grid, faults);
    }
    Some(pipeline)
}

/// Checks that the codecs accept chunks of every length that a rectilinear grid has along a dimension. Only the first
/// error is reported. Only the first 1024 lengths are checked. Others fail when a chunk is read.
pub fn check_lengths(pipeline: &Pipeline, grid: &Grid, diagnostics: &mut Vec<Diagnostic>) {
    const MOST_TRIED: usize = 1 << 10;
    if grid.uniform().is_some() {
        return;
    }
    for (dimension, axis) in grid.axes().iter().enumerate() {
        for length in axis.distinct_lengths().into_iter().take(MOST_TRIED) {
            let mut shape = pipeline.input.shape.clone();
            shape[dimension] = length;
            let mut found = Vec::new();
            let _ = pipeline.for_shape(&shape, &mut found);
            if let Some(mut error) = found.into_iter().find(Diagnostic::is_error) {
                error.message = format!("of chunks of shape {shape:?}, {}", error.message);
                diagnostics.push(error);
                return;
            }
        }
    }
}

fn read_fill_value(members: &ArrayDocument, data_type: &DataType, faults: &mut Vec<Diagnostic>) -> Option<FillValue> {
    let json = members.fill_value.as_ref().filter(|_| !matches!(data_type, DataType::Other(_)))?;
    let is_big_endian = || members.codecs.as_deref().is_some_and(is_big_endian);
    match data_type.fill_value_from_json(json) {
        Ok(mut read) => {
            faults.extend(read.notes.into_iter().map(|note| note.at_pointer("/fill_value")));
            // A struct in base64 has the byte order of its chunks. It was read as little endian.
            if matches!((data_type, json), (DataType::Struct(_), Json::String(_))) && is_big_endian() {
                data_type.swap_elements(&mut read.value.0);
            }
            Some(read.value)
        }
        Err(error) => {
            faults.push(Diagnostic::new(code::FILL_VALUE_INVALID, error.to_string()).at_pointer("/fill_value"));
            None
        }
    }
}

/// True if elements are stored big endian, also inside shards.
pub fn is_big_endian(codecs: &[CodecMetadata]) -> bool {
    codecs.iter().any(|codec| match codec.name.as_str() {
        "bytes" => codec.member("endian").and_then(Json::as_str) == Some("big"),
        "sharding_indexed" => codec.inner_codecs().is_some_and(|inner| is_big_endian(&inner)),
        _ => false,
    })
}

/// Opens an array under a profile. The error lists all its faults.
pub fn open_array(store: &Location, node: Option<&str>, profile: Profile) -> Result<OpenedArray> {
    opened_as(profile, read_array(store, node)?)
}

/// Opens an array that is already read, under a profile.
pub fn opened_as(profile: Profile, mut reading: ArrayReading) -> Result<OpenedArray> {
    profile.judge(&mut reading.diagnostics);
    opened(reading)
}

/// Opens an array that is already read. The error lists all its faults.
pub fn opened(reading: ArrayReading) -> Result<OpenedArray> {
    let errors: Vec<_> = reading.diagnostics.iter().filter(|found| found.is_error()).cloned().collect();
    if !errors.is_empty() {
        return Err(refusal(&format!("the metadata of `{}` has errors", reading.store), &errors));
    }
    reading.into_array()
}

/// Returns an error that lists findings.
pub fn refusal(message: &str, errors: &[Diagnostic]) -> OperationError {
    let of_error = |error: &Diagnostic| match &error.location.pointer {
        Some(pointer) if !pointer.is_empty() => format!("{error} (at {pointer})"),
        _ => error.to_string(),
    };
    let list: Vec<String> = errors.iter().map(of_error).collect();
    let refused = OperationError::data(format!("{message}: {}", list.join("; ")));
    errors.iter().find_map(|error| error.help.clone()).into_iter().fold(refused, OperationError::with_help)
}
