//! Reads an array as far as possible, and opens it only if it has no faults.
//!
//! The reason why there is no node: the path does not exist, or is something else. Also what the user probably meant.

use super::document::{DocumentError, document_help, has_documents, read_documents};
use super::error::COPY_AGAIN;
use super::{Documents, NodePath, OperationError, Result, xarray};
use crate::array::listing::is_document;
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::spelling::{alternatives, near};
use crate::diagnostic::{Diagnostic, Profile, code};
use crate::grid::Grid;
use crate::metadata::{ArrayDocument, ArrayMetadata, CodecMetadata, Json, NodeKind, array::num_elements, v2};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use crate::store::{EntryKind, FileFormat, Location, Node, StoreError, file::FIRST_BYTES, has_run_folder};

/// The readable members of an array, and all its faults.
#[derive(Debug, Clone)]
pub struct ArrayReading {
    /// The root.
    pub node: Node,
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
        ArrayReading { node, node_path, documents, members, metadata, data_type, pipeline, diagnostics }
    }

    /// Returns the array, with all faults as warnings. An error if its grid is not known.
    pub fn into_array(self) -> Result<OpenedArray> {
        let ArrayReading { node, documents, diagnostics: warnings, .. } = self;
        let store = self.node_path.name();
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
            let help = match node.container() {
                Some(_) => COPY_AGAIN,
                None => "put the document in its place",
            };
            let help = Some(help).filter(|_| error.is_data_fault());
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
    let node_path = NodePath::new(store, node)?;
    let node = node_path.node(store)?;
    let documents = open_documents(&node, &node_path.name())?;
    if documents.kind == NodeKind::Group {
        let (name, help) = (node_path.name(), arrays_help(&node, &node_path.name()));
        return Err(OperationError::environment(format!("`{name}` is a group, not an array")).with_help(help));
    }
    opened(profile, ArrayReading::new(node_path, node, documents))
}

/// Opens an array that is already read, under a profile. The error lists all its faults.
pub fn opened(profile: Profile, mut reading: ArrayReading) -> Result<OpenedArray> {
    profile.judge(&mut reading.diagnostics);
    let errors: Vec<_> = reading.diagnostics.iter().filter(|found| found.is_error()).cloned().collect();
    if !errors.is_empty() {
        return Err(refusal(&format!("the metadata of `{}` has errors", reading.node_path.name()), &errors));
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

/// The maximum number of nodes of a folder that a message lists.
const MOST_LISTED: usize = 5;

/// The maximum number of entries of a folder that are searched for nodes.
const MOST_LOOKED_AT: usize = 1000;

/// This maximum for a remote folder, where each entry costs requests.
const MOST_ASKED_FOR: usize = 16;

/// The help where a path is not a folder with documents.
const A_STORE: &str = "a Zarr store is a folder with `zarr.json`, `.zarray` or `.zgroup`";

/// Returns the error that there is no node at `node`, which has no documents. `name` is for messages.
pub(super) fn no_node(node: &Node, name: &str) -> OperationError {
    let unreadable = |error| OperationError::environment(format!("`{name}` cannot be read")).because(error);
    reason(node, name).unwrap_or_else(unreadable)
}

fn reason(node: &Node, name: &str) -> Result<OperationError, StoreError> {
    let (existing, missing) = nearest_existing(node)?;
    let found = existing.name();
    // A web server has no folders. It may answer for one with a page.
    let is_page = !missing.is_empty() && !existing.capabilities().lists;
    let kind = if is_page { None } else { existing.kind_behind_links()? };
    Ok(match kind {
        None if existing.capabilities().is_remote => {
            OperationError::environment(format!("nothing Zarr at `{name}`: the server has no metadata there"))
                .with_help(format!("check the address; {A_STORE}"))
        }
        // The root of a file system exists. So a local node without a kind is a link that `nearest_existing` took for a
        // node.
        None => OperationError::environment(format!("`{name}` does not exist: {found} is a broken link"))
            .with_help("name the folder itself, or repair the link"),
        Some(EntryKind::Other(what)) => {
            OperationError::environment(format!("`{name}` is not a Zarr node: {found} is {what}, not a folder"))
                .with_help(A_STORE)
        }
        Some(EntryKind::Folder) if missing.is_empty() => of_folder(node, name),
        Some(EntryKind::Folder) => of_nothing(&missing, &existing, name),
        Some(_) => of_file(&existing, name)?,
    })
}

/// Returns the nearest existing node among `node` and those above it. A broken link exists, too. Also returns the names
/// from there to `node`.
pub(super) fn nearest_existing(node: &Node) -> Result<(Node, Vec<String>), StoreError> {
    let (mut existing, mut missing) = (node.clone(), Vec::new());
    while !existing.exists()? {
        let Some(above) = existing.parent() else { break };
        missing.insert(0, existing.last_name());
        existing = above;
    }
    Ok((existing, missing))
}

/// Returns the error for a file at the path, or above it.
fn of_file(file: &Node, name: &str) -> Result<OperationError, StoreError> {
    let format = FileFormat::detect(&file.first_bytes(FIRST_BYTES)?);
    // A Git LFS pointer in the place of a chunk is named for what it is. "A chunk of the array" would hide the cause.
    let owner = if format.is_some_and(|format| format.is_stand_in) { None } else { node_above(file) };
    let (what, help) = if let Some(owner) = owner {
        let (owner_name, is_chunk) = (owner.name(), is_chunk(file, &owner));
        let what = if is_document(&file.last_name()) { "a document of the node" } else { "a file of the node" };
        let what = if is_chunk { "a chunk of the array" } else { what };
        let more = if is_chunk { "; `inspect --chunk I,J,...` shows one of its chunks" } else { "" };
        (format!("{what} `{owner_name}`"), format!("name the folder: {owner_name}{more}"))
    } else {
        let name = file.last_name();
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        let (what, help) = match (format, ending) {
            (Some(format), _) => (format.name, format.help),
            (None, Some("zip")) => ("no zip file", "copy it again, or name another one"),
            (None, _) if is_document(&name) => ("a document of a node", "name its folder"),
            (None, Some("json")) => ("no reference file", "name a kerchunk file, or a folder with `zarr.json`"),
            (None, _) => ("a file, not a folder", A_STORE),
        };
        (what.to_owned(), help.to_owned())
    };
    let message = format!("`{name}` is not a Zarr store: {} is {what}", file.name());
    Ok(OperationError::environment(message).with_help(help))
}

/// Returns the error for a folder without documents.
fn of_folder(node: &Node, name: &str) -> OperationError {
    // A job in parts has a run folder, too, but `--resume` does not continue it. So it is looked for first.
    if matches!(node.kind_of(".zarrcast/plan.json"), Ok(Some(_))) {
        return OperationError::environment(format!("`{name}` is a job in parts that is not finished"))
            .with_help("`zarrcast transcode SOURCE DEST --status` shows which parts are missing");
    }
    if has_run_folder(node) {
        return OperationError::environment(format!("`{name}` is an unfinished run of `transcode`"))
            .with_help("run the same command with `--resume` to continue it");
    }
    let nothing = OperationError::environment(format!("nothing Zarr at `{name}`: it has no `zarr.json`"));
    if let Some(owner) = node_above(node) {
        return nothing
            .with_help(format!("it is a folder inside `{}`, which `zarrcast inspect` can show", owner.name()));
    }
    let inside = nodes_in(node);
    match inside.as_slice() {
        [] => nothing.with_help(A_STORE),
        inside => nothing.with_help(format!("it contains {}", listed(name, inside))),
    }
}

/// Returns the error for a path that does not exist. `existing` is the folder above it, `missing` the names below that.
fn of_nothing(missing: &[String], existing: &Node, name: &str) -> OperationError {
    let absent = OperationError::environment(format!("`{name}` does not exist"));
    let Some(wanted) = missing.first() else { return absent };
    if let Some((scheme @ ("s3" | "gs" | "az" | "http" | "https"), rest)) = name.split_once(':')
        // Only `://` makes a text a URL. `s3:bucket/a.zarr` is a local path that does not exist.
        && !rest.starts_with("//")
    {
        return absent.with_help(format!("a URL has two slashes: `{scheme}://{}`", rest.trim_start_matches('/')));
    }
    // The user's own words for the existing folder.
    let end = |name: &str| name.rfind('/').max(name.rfind("|zip:")).unwrap_or(0);
    let above = (0..missing.len()).fold(name.trim_end_matches('/'), |above, _| &above[..end(above)]);
    let shown = |node: &str| if above.is_empty() { node.to_owned() } else { format!("{above}/{node}") };
    let names = existing.folders(most_looked_at(existing)).unwrap_or_default();
    let mut meant = near(wanted, names.iter().map(String::as_str));
    // Only the few near names are opened: on a remote store each costs requests.
    meant.retain(|name| is_node(existing, name));
    if !meant.is_empty() {
        let meant: Vec<String> = meant.into_iter().map(shown).collect();
        return absent.with_help(format!("did you mean {}?", alternatives(&meant)));
    }
    let is_node = has_documents(existing);
    match nodes_in(existing).as_slice() {
        [] if is_node => absent.with_help(format!("`{above}` exists, but it contains no array or group")),
        inside if is_node => absent.with_help(format!("`{above}` contains {}", listed("", inside))),
        _ => absent.with_help(format!("check the path; {A_STORE}")),
    }
}

/// Returns the help if a group was named instead of an array.
pub(super) fn arrays_help(node: &Node, name: &str) -> String {
    match nodes_in(node).as_slice() {
        [] => "name an array: a folder with `zarr.json` or `.zarray`".to_owned(),
        inside => format!("name an array in it; it contains {}", listed(name, inside)),
    }
}

/// Returns names of nodes for a message: the first few, and the number of others.
fn listed(above: &str, names: &[String]) -> String {
    let above = above.trim_end_matches('/');
    let shown = |name: &String| if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
    let first: Vec<String> = names.iter().take(MOST_LISTED).map(|name| format!("`{}`", shown(name))).collect();
    match names.len().saturating_sub(MOST_LISTED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Returns the nodes directly below a folder, sorted by name.
fn nodes_in(folder: &Node) -> Vec<String> {
    let mut names = folder.folders(most_looked_at(folder)).unwrap_or_default();
    names.retain(|name| is_node(folder, name));
    names.sort();
    names
}

fn most_looked_at(folder: &Node) -> usize {
    if folder.capabilities().is_remote { MOST_ASKED_FOR } else { MOST_LOOKED_AT }
}

fn is_node(folder: &Node, name: &str) -> bool {
    folder.child(name).is_ok_and(|node| has_documents(&node))
}

/// Returns the nearest folder above that is a node.
fn node_above(node: &Node) -> Option<Node> {
    let mut above = node.parent()?;
    while !has_documents(&above) {
        above = above.parent()?;
    }
    Some(above)
}

/// True if a file of a node has the key of a chunk: `c/0/1`, `0.1`.
fn is_chunk(file: &Node, owner: &Node) -> bool {
    let is_array = matches!(read_documents(owner), Ok(Some(found)) if found.kind == NodeKind::Array);
    let name = file.name();
    let key = name.strip_prefix(&owner.name()).unwrap_or_default();
    let parts = key.trim_start_matches('/').split(['/', '.']);
    let is_index = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    // A web server may answer for the folder `c` with a page. Elsewhere a file of this name is the chunk of a scalar.
    let is_page = key == "/c" && !file.capabilities().lists;
    is_array && !is_page && parts.enumerate().all(|(index, part)| is_index(part) || (index == 0 && part == "c"))
}
