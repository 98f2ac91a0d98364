//! A group: what lies below it, node by node.

use crate::data_type::DataType;
use crate::diagnostic::Diagnostic;
use crate::engine::driver::Driver;
use crate::metadata::array::{ChunkGrid, num_elements};
use crate::metadata::chunk_key::ChunkKeyEncoding;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Object};
use crate::operation::error::OperationError;
use crate::operation::hierarchy::{Node, NodeContent, read_hierarchy};
use crate::operation::inspect_result::{GroupResult, NodeResult};
use crate::operation::open::{ArrayReading, lower};
use crate::operation::options::InspectOptions;
use crate::operation::place::Place;
use crate::pipeline::Pipeline;

/// Reads a group and the nodes below it, as deep as was asked for. Findings are those of the nodes that are shown.
pub(super) fn inspect_group(
    options: &InspectOptions,
    driver: &Driver,
) -> Result<GroupResult, OperationError> {
    let hierarchy = read_hierarchy(&options.store, options.node.as_deref(), driver)?;
    if let Some(failure) = hierarchy.failures.into_iter().next() {
        return Err(failure);
    }
    let root = Place::new(&options.store, options.node.as_deref())?;
    let mut result = GroupResult {
        store: options.store.display().to_string(),
        node_type: "group",
        path: root.path.clone(),
        zarr_format: None,
        attributes: Object::new().into(),
        nodes: Vec::new(),
        warnings: Vec::new(),
    };
    for node in &hierarchy.nodes {
        let depth = depth(&root, &node.place);
        if options.depth.is_some_and(|deepest| depth > deepest) {
            continue;
        }
        result.warnings.extend(node.document_diagnostics().cloned());
        let described = describe(node);
        if depth == 0 {
            result.zarr_format = described.zarr_format;
            result.attributes = described.attributes.unwrap_or_else(|| Object::new().into());
        } else {
            result.nodes.push(described);
        }
    }
    lower(&mut result.warnings);
    result.warnings.retain(is_of_interest);
    Ok(result)
}

/// What only `validate` is asked for is left out: findings of no consequence.
fn is_of_interest(finding: &Diagnostic) -> bool {
    finding.severity > crate::diagnostic::Severity::Info
}

/// How far a node lies below the root.
fn depth(root: &Place, node: &Place) -> u64 {
    let below = node.path.strip_prefix(root.path.trim_end_matches('/')).unwrap_or(&node.path);
    below.split('/').filter(|name| !name.is_empty()).count() as u64
}

fn describe(node: &Node) -> NodeResult {
    let path = node.place.path.clone();
    match &node.content {
        NodeContent::Array(array) => describe_array(array, path),
        NodeContent::Group(group) => NodeResult {
            zarr_format: Some(group.zarr_format),
            attributes: Some(group.attributes.clone().into()),
            ..NodeResult::new("group", path)
        },
        NodeContent::Implicit => NodeResult::new("group", path),
        NodeContent::Broken => NodeResult::new("unknown", path),
    }
}

fn describe_array(array: &ArrayReading, path: String) -> NodeResult {
    let ArrayReading { members, pipeline, data_type, .. } = array;
    let stored_shape = match members.chunk_grid.as_ref() {
        Some(ChunkGrid::Regular { chunk_shape }) => Some(chunk_shape.clone()),
        _ => None,
    };
    let is_sharded = pipeline.as_ref().is_some_and(|pipeline| pipeline.sharding().is_some());
    let element = data_type.as_ref().and_then(DataType::size);
    let elements = members.shape.as_deref().and_then(num_elements);
    NodeResult {
        zarr_format: Some(array.zarr_format),
        attributes: Some(members.attributes.clone().unwrap_or_default().into()),
        shape: members.shape.clone(),
        data_type: data_type.as_ref().map(DataType::to_metadata).or_else(|| members.data_type.clone()),
        data_type_v2: array.data_type_v2().cloned(),
        fill_value: members.fill_value.clone(),
        chunk_shape: pipeline.as_ref().map(Pipeline::innermost_chunk_shape).or_else(|| stored_shape.clone()),
        shard_shape: stored_shape.filter(|_| is_sharded),
        chunk_key_encoding: members.chunk_key_encoding.as_ref().map(ChunkKeyEncoding::to_json),
        dimension_names: members.dimension_names.clone(),
        codecs: codecs(members.codecs.as_deref()),
        bytes_logical: elements.zip(element).and_then(|(n, size)| n.checked_mul(size as u64)),
        ..NodeResult::new("array", path)
    }
}

fn codecs(codecs: Option<&[CodecMetadata]>) -> Option<Vec<Json>> {
    codecs.map(|codecs| codecs.iter().map(CodecMetadata::to_json).collect())
}
