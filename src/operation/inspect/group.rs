//! `inspect` of a group: the nodes below it.

use std::collections::HashSet;

use super::{Run, finding, inspect_reading};
use crate::array::{Listing, Purpose};
use crate::data_type::{DataType, value_from_json};
use crate::diagnostic::{Diagnostic, Profile, Severity, code};
use crate::element::NumberType;
use crate::engine::{Driver, Progress, SubProgress, listing::scan};
use crate::metadata::{Object, array::num_elements};
use crate::operation::description::describe_members;
use crate::operation::hierarchy::{Hierarchy, HierarchyNode, NodeContent, read_hierarchy_by_copies};
use crate::operation::inspect_result::{GroupResult, GroupTotals, NodeMembers, NodeResult, Unread};
use crate::operation::stored::{not_keys, unread};
use crate::operation::{
    ArrayReading, CfOptions, Documents, FaultClass, InspectOptions, Missing, NodePath, OperationError, Result, cf,
    coordinates, document::below, error::help_of, new_driver, quantize::request::is_packed,
};

/// Reads a group and the nodes below it, down to the requested depth. With `--stats` it reads the values of each array.
/// Findings are those of the shown nodes.
pub(super) fn inspect_group(options: &InspectOptions, documents: Documents, run: Run<'_>) -> Result<GroupResult> {
    let driver = &new_driver(options.common.num_threads(), run.1)?;
    let root = NodePath::new(&options.store, options.node.as_deref())?;
    let hierarchy = read_hierarchy_by_copies(&root, options.store.node(), documents, driver);
    let Hierarchy { nodes: all, failures } = hierarchy.with_root(&root.path)?;
    let mut failures = failures.into_iter().map(|(_, error)| failure(error)).collect::<Result<_>>()?;
    let (mut own, mut nodes, mut warnings) = (NodeMembers::default(), Vec::new(), Vec::new());
    let (mut consolidated, mut arrays) = (false, Vec::new());
    let coordinates = coordinates(&all);
    for mut node in all {
        Profile::Read.judge(node.document_diagnostics_mut());
        let depth = depth(&root, &node.node_path);
        if options.depth.is_some_and(|deepest| depth > deepest) {
            continue;
        }
        // A null fill value matters only if a chunk is absent, which is not known here.
        let found = node.document_diagnostics().filter(|found| !found.is(code::V2_FILL_VALUE_NULL));
        warnings.extend(found.cloned());
        warnings.extend(not_keys(&node.rest.unnamed).map(|found| found.at_node(node.node_path.path.as_str())));
        let mut described = describe(&node);
        if let (NodeContent::Array(array), true) = (&node.content, options.storage) {
            describe_storage(array, &mut described, (&mut warnings, &mut failures), driver)?;
        }
        if depth == 0 {
            consolidated = node.group().is_some_and(|group| group.consolidated.is_some());
            own = described.members;
        } else {
            if let (NodeContent::Array(array), true) = (node.content, options.asks_for_values_by_name()) {
                arrays.push((nodes.len(), array));
            }
            nodes.push(described);
        }
    }
    // Only `validate` shows findings without consequence.
    warnings.retain(|found| found.severity > Severity::Info);
    let mut result = GroupResult {
        depth: options.depth,
        store: options.store.display().to_string(),
        node_type: "group",
        path: root.path.clone(),
        zarr_format: own.zarr_format,
        attributes: own.attributes.unwrap_or_else(|| Object::new().into()),
        consolidated,
        totals: totals(&nodes),
        nodes,
        warnings,
        failures,
    };
    let is_tried = |(_, array): &(usize, Box<ArrayReading>)| has_ways(array, &options.cf, &coordinates);
    if options.suggest.is_some() && !arrays.iter().any(is_tried) {
        return Err(OperationError::data(format!("`{}` has no float array for --suggest", root.name()))
            .with_help("coordinates and quantised arrays are left out; name one array to try it"));
    }
    figures(arrays, &coordinates, options, run, &mut result)?;
    Ok(result)
}

/// Returns the failure of one node. An interrupt stays an error.
fn failure(error: OperationError) -> Result<Unread> {
    let unread = (error.in_one_line(), help_of(&error).map(str::to_owned));
    if error.class() == FaultClass::Environment { Ok(unread) } else { Err(error) }
}

/// Describes what is stored of an array, and adds its findings. Chunks that cannot be listed are a failure.
fn describe_storage(
    array: &ArrayReading,
    described: &mut NodeResult,
    (warnings, failures): (&mut Vec<Diagnostic>, &mut Vec<Unread>),
    driver: &Driver,
) -> Result<()> {
    match listed(array, driver) {
        Ok(Some(listing)) => {
            described.bytes_stored = Some(listing.present_bytes);
            let mut found: Vec<_> = unread(&listing).collect();
            array.node_path.locate(&mut found, array.documents.key);
            warnings.append(&mut found);
        }
        Ok(None) => {}
        Err(error) => failures.push(failure(error)?),
    }
    described.chunks_refused = Some(array.node.num_refused());
    Ok(())
}

/// Adds the statistics of each array, which is given with its index among the nodes. All have one progress bar. An
/// array that cannot be read is a finding, and the others are read nevertheless.
fn figures(
    arrays: Vec<(usize, Box<ArrayReading>)>,
    coordinates: &HashSet<String>,
    options: &InspectOptions,
    (progress, interrupt): Run<'_>,
    result: &mut GroupResult,
) -> Result<()> {
    if arrays.is_empty() {
        return Ok(());
    }
    // `describe_storage` has counted the stored chunks already.
    let options = InspectOptions { storage: false, ..options.clone() };
    progress.start("values", Some(result.totals.bytes_logical));
    for (index, array) in arrays {
        let node = &mut result.nodes[index];
        let share = SubProgress::new(progress, node.bytes_logical.unwrap_or(0), 1);
        let suggest = options.suggest.filter(|_| has_ways(&array, &options.cf, coordinates));
        if !options.stats && suggest.is_none() {
            continue;
        }
        let options = InspectOptions { suggest, cf: possible(&options.cf, &array), ..options.clone() };
        let (node_path, key, is_decoded) = (array.node_path.clone(), array.documents.key, array.pipeline.is_some());
        // The findings of the documents are first, and are already among those of the group.
        let of_documents = array.diagnostics.iter().filter(|found| !found.is(code::V2_FILL_VALUE_NULL)).count();
        match inspect_reading(*array, &options, (&share, interrupt)) {
            Ok(mut read) => {
                result.warnings.extend(read.warnings.drain(of_documents..));
                (node.stats, node.ways, node.chunks_refused) = (read.stats, read.ways, read.chunks_refused);
            }
            Err(error) if error.class() != FaultClass::Data => result.failures.push(failure(error)?),
            Err(error) => {
                let code = if is_decoded { code::CHUNK_CORRUPT } else { code::GRID_FEW_READERS };
                let mut found = Profile::Values.judged(vec![finding(error, code)?.at_node(node_path.path.as_str())]);
                if !is_decoded {
                    node_path.locate(&mut found, key);
                }
                result.warnings.extend(found);
            }
        }
        share.finish();
    }
    progress.finish();
    Ok(())
}

/// Leaves out the numbers of `--missing` that the type of an array does not have. They are meant for other arrays.
fn possible(cf: &CfOptions, array: &ArrayReading) -> CfOptions {
    let mut cf = cf.clone();
    if let (Some(Missing::Values(values)), Some(number)) =
        (&mut cf.missing, array.data_type.as_ref().and_then(DataType::number))
    {
        values.retain(|json| json.as_number().is_none() || value_from_json(number, json).is_ok());
    }
    cf
}

/// Returns the coordinates of a hierarchy.
fn coordinates(nodes: &[HierarchyNode]) -> HashSet<String> {
    let members = nodes.iter().filter_map(|node| {
        let path = node.node_path.path.as_str();
        match &node.content {
            NodeContent::Array(array) => array.metadata.as_ref().map(|own| (path, Some(own), &own.attributes)),
            NodeContent::Group(group) => Some((path, None, &group.attributes)),
            NodeContent::Implicit | NodeContent::Broken => None,
        }
    });
    coordinates::find(&members.collect::<Vec<_>>())
}

/// True if an array contains floats that are not coordinates and not quantised. With `--cf`, packed integers are floats.
fn has_ways(array: &ArrayReading, cf: &CfOptions, coordinates: &HashSet<String>) -> bool {
    let (Some(data_type), Some(metadata)) = (&array.data_type, &array.metadata) else { return false };
    let is_float = data_type.number().is_some_and(NumberType::is_float);
    let is_unpacked = cf.unpacks && cf::are_packed(data_type, metadata);
    let is_quantised = is_packed(&metadata.codecs);
    (is_float || is_unpacked) && !is_quantised && !coordinates.contains(&array.node_path.path)
}

/// Returns the stored chunks of an array. `None` if the metadata do not define its keys.
fn listed(array: &ArrayReading, driver: &Driver) -> Result<Option<Listing>> {
    let scan = |metadata| scan(&array.node, metadata, Purpose::Counting, driver);
    let listing = array.metadata.as_ref().map(scan).transpose();
    listing.map_err(|error| OperationError::cannot_list(array.node_path.name(), error))
}

fn totals(nodes: &[NodeResult]) -> GroupTotals {
    let arrays = || nodes.iter().filter(|node| node.members.node_type == "array");
    let sum = |bytes: fn(&NodeResult) -> Option<u64>| arrays().filter_map(bytes).reduce(u64::saturating_add);
    GroupTotals {
        arrays: arrays().count() as u64,
        bytes_logical: sum(|node| node.bytes_logical).unwrap_or(0),
        bytes_stored: sum(|node| node.bytes_stored),
    }
}

/// Returns the number of levels from the root to a node.
fn depth(root: &NodePath, node: &NodePath) -> u64 {
    below(&node.path, &root.path).matches('/').count() as u64
}

fn describe(node: &HierarchyNode) -> NodeResult {
    let alone = |node_type| NodeMembers { node_type, path: node.node_path.path.clone(), ..NodeMembers::default() };
    let members = match &node.content {
        NodeContent::Array(array) => describe_members(array, array.members.clone()),
        NodeContent::Group(group) => {
            NodeMembers { attributes: Some(group.attributes.clone().into()), ..alone("group") }
        }
        NodeContent::Implicit => alone("group"),
        NodeContent::Broken => alone("unknown"),
    };
    let members = NodeMembers { zarr_format: node.content.zarr_format(), ..members };
    let element = node.array().and_then(|array| array.data_type.as_ref()?.size());
    let elements = members.shape.as_deref().and_then(num_elements);
    let bytes_logical = elements.zip(element).and_then(|(n, size)| n.checked_mul(size as u64));
    NodeResult { members, bytes_logical, ..NodeResult::default() }
}
