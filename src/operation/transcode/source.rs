//! SOURCE as the nodes that are written: a single array, or a group with everything below it.

use std::collections::HashSet;

use super::SourceArray;
use super::format::{self, as_source};
use super::images::{check_levels, left_out};
use super::plan::keep_bits::{group_of, name_containers};
use super::selection::{check_applied, check_patterns, kept, set_change, take};
use crate::diagnostic::{Diagnostic, Profile, Severity, code};
use crate::engine::Driver;
use crate::metadata::{Json, NodeKind, edit};
use crate::operation::hierarchy::{HierarchyNode, NodeContent, check_name, read_from};
use crate::operation::open::{open_documents, opened, refusal};
use crate::operation::{
    ArrayReading, ChangeOptions, Documents, GroupReading, NodePath, OperationError, Result, TranscodeOptions,
    coordinates, stored,
};
use crate::store::{FolderListing, Node};

/// Maximum number of errors in a message.
const MOST_ERRORS: usize = 10;

pub(super) struct Source {
    /// The root.
    pub node: Node,
    /// Key of the document that makes it a node.
    pub document_key: &'static str,
    /// Its arrays, sorted by path. For a single array: the array itself.
    pub arrays: Vec<SourceArray>,
    /// Its groups, the root first.
    pub groups: Vec<GroupReading>,
    /// Copies the keys that belong to no node.
    pub other_keys: Vec<String>,
    /// Arrays that are not quantised or rounded, because other arrays need their exact values.
    pub spared: Vec<String>,
    pub warnings: Vec<Diagnostic>,
}

impl Source {
    /// Reads the selected part of SOURCE. `given` sets what is resolved already in its arrays.
    pub(super) fn taken(
        options: &TranscodeOptions,
        given: impl FnOnce(&mut Source) -> Result<()>,
        driver: &Driver,
    ) -> Result<Self> {
        let mut source = Self::open(options, driver)?;
        // It may replace the options of the arrays, and with them the selection that is taken next.
        given(&mut source)?;
        source.arrays.iter_mut().try_for_each(take)?;
        Ok(source)
    }

    /// Reads SOURCE. Fails if its metadata contain an error anywhere.
    pub(super) fn open(options: &TranscodeOptions, driver: &Driver) -> Result<Self> {
        let node_path = NodePath::new(&options.source, None)?;
        let node = node_path.node(&options.source)?;
        let documents = open_documents(&node, &node_path.name())?;
        let document_key = documents.key;
        if documents.kind == NodeKind::Group {
            return Self::open_group(options, node, documents, driver);
        }
        check_patterns(options, &[""])?;
        let mut reading = ArrayReading::new(node_path, node.clone(), documents);
        tell_of_array_members(options, &mut reading);
        let opened = as_source(opened(profile(options, ""), reading)?);
        let mut change = options.change.clone();
        // The pattern of each rule matches the single array.
        options.rules.iter().for_each(|rule| change.override_by(&rule.change));
        let arrays = vec![SourceArray::new("/".to_owned(), opened, change)];
        let (groups, other_keys, spared, warnings) = Default::default();
        Ok(Source { node, document_key, arrays, groups, other_keys, spared, warnings })
    }

    fn open_group(options: &TranscodeOptions, node: Node, documents: Documents, driver: &Driver) -> Result<Self> {
        let store = options.source.display().to_string();
        let document_key = documents.key;
        let start = NodePath::new(&options.source, None)?;
        // DEST would lack what is below a folder that cannot be read.
        let nodes = read_from(&start, options.source.node(), Some(documents), driver).complete()?;
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        let (mut readings, mut groups, mut rest) = (Vec::new(), Vec::new(), FolderListing::default());
        for mut node in nodes {
            judge_node(options, &mut node, &store);
            let (bad, good): (Vec<_>, Vec<_>) = node.document_diagnostics().cloned().partition(Diagnostic::is_error);
            errors.extend(bad);
            // Warnings about an array are reported with its plan.
            let of_array = node.array().map_or(&[][..], |array| &array.diagnostics);
            let is_said = |found: &Diagnostic| of_array.contains(found);
            warnings.extend(good.into_iter().filter(|found| found.severity == Severity::Warning && !is_said(found)));
            collect_keys(&options.source.node(), node.rest, &mut rest)?;
            match node.content {
                NodeContent::Array(array) => readings.push(*array),
                NodeContent::Group(group) => groups.push(*group),
                NodeContent::Implicit | NodeContent::Broken => {}
            }
        }
        // All nodes are judged before any is opened, so that the message has the errors of all.
        if !errors.is_empty() {
            let first = errors[0].location.node.clone().unwrap_or_default();
            errors.truncate(MOST_ERRORS);
            let at = if first == "/" { store.clone() } else { format!("{}{first}", store.trim_end_matches('/')) };
            return Err(refusal(&format!("the metadata of `{at}` has errors"), &errors));
        }
        let FolderListing { files: mut other_keys, folders: runs, links, unnamed, .. } = rest;
        warnings.extend(uncopied_run(&store, &runs));
        warnings.extend(uncopied_links(&store, &links));
        warnings.extend(stored::not_keys(&unnamed).map(|found| found.in_store(store.as_str())));
        let to_be_written = |reading: ArrayReading| {
            Ok(SourceArray::new(
                reading.node_path.path.clone(),
                as_source(reading.into_array()?),
                ChangeOptions::default(),
            ))
        };
        let mut arrays: Vec<SourceArray> = readings.into_iter().map(to_be_written).collect::<Result<_>>()?;
        if !options.only.is_empty() {
            let kept = kept(&options.only, &arrays);
            arrays.retain(|array| kept.contains(&array.path));
            groups.retain(|group| kept.contains(&group.node_path.path));
            other_keys.clear();
            warnings.extend(left_out(&arrays, &groups).into_iter().map(|found| found.in_store(store.as_str())));
        }
        check_patterns(options, &arrays.iter().map(|array| array.path.as_str()).collect::<Vec<_>>())?;
        let coordinates = coordinates(&arrays, &groups);
        let mut spared = Vec::new();
        for array in &mut arrays {
            if set_change(options, array, &coordinates) {
                spared.push(array.path.clone());
            }
        }
        // Both depend on the changes of the arrays, so these are set first.
        name_points(&mut arrays);
        name_containers(&mut arrays, &groups);
        check_applied(options, &arrays, &spared)?;
        check_levels(&arrays, &groups)?;
        other_keys.sort_unstable();
        Ok(Source { node, document_key, arrays, groups, other_keys, spared, warnings })
    }
}

/// Adds findings about what DEST does not keep of a node, or reserves, and decides which findings are errors.
fn judge_node(options: &TranscodeOptions, node: &mut HierarchyNode, store: &str) {
    let leaves_v2 = options.change.zarr_format == Some(3) && node.content.zarr_format() == Some(2);
    match &mut node.content {
        NodeContent::Array(array) => tell_of_array_members(options, array),
        NodeContent::Group(group) if leaves_v2 => {
            let GroupReading { node_path, documents, attributes, diagnostics, .. } = &mut **group;
            format::tell_of_members(node_path, documents, attributes, diagnostics);
            let mut old = format::tell_of_ome(attributes);
            node_path.locate(old.as_mut_slice(), ".zattrs");
            diagnostics.extend(old);
        }
        NodeContent::Group(_) | NodeContent::Implicit | NodeContent::Broken => {}
    }
    if leaves_v2 {
        let found = check_name(&node.node_path, Some(3));
        let reserved = found.filter(|_| check_name(&node.node_path, Some(2)).is_none());
        node.diagnostics.extend(reserved.map(|found| {
            let found = found.with_help("v3 reserves such names: some readers may refuse the node");
            found.in_store(store).at_node(node.node_path.path.as_str())
        }));
    }
    profile(options, &node.node_path.path).judge(node.document_diagnostics_mut());
    forgive_copies(node.document_diagnostics_mut(), options.no_consolidate);
}

/// Returns the profile under which a node of SOURCE is read.
fn profile(options: &TranscodeOptions, path: &str) -> Profile {
    let mut rules = options.rules.iter().filter(|rule| rule.pattern.matches(path));
    let accepts = options.change.no_fill_check || rules.any(|rule| rule.change.no_fill_check);
    if accepts { Profile::AnyFillValue } else { Profile::Read }
}

fn tell_of_array_members(options: &TranscodeOptions, array: &mut ArrayReading) {
    if options.change.zarr_format == Some(3) && array.documents.zarr_format == 2 {
        let attributes = array.members.attributes.clone().unwrap_or_default();
        format::tell_of_members(&array.node_path, &array.documents, &attributes, &mut array.diagnostics);
    }
}

/// Sets empty dimension names for v3 arrays without dimensions, as xarray needs them in v2. It needs an array in the
/// same group that has dimension names. Others were not written by xarray (SEMANTICS D14).
pub(super) fn name_points(arrays: &mut [SourceArray]) {
    let is_named = |array: &&SourceArray| {
        let names = array.opened.metadata.dimension_names.as_deref().unwrap_or_default();
        !names.is_empty() && names.iter().all(Option::is_some)
    };
    let groups = arrays.iter().filter(is_named).map(|array| group_of(&array.path).to_owned());
    let named: HashSet<String> = groups.collect();
    for array in arrays {
        let metadata = &mut array.opened.metadata;
        if array.opened.documents.zarr_format == 3
            && metadata.shape.is_empty()
            && metadata.dimension_names.is_none()
            && array.change.zarr_format == Some(2)
            && named.contains(group_of(&array.path))
        {
            metadata.dimension_names = Some(Vec::new());
            edit::set_member(&mut array.opened.documents.document, "dimension_names", Json::Array(Vec::new()));
        }
    }
}

/// Sets the help of errors in copies of consolidated metadata: the copies are written again, or left out.
fn forgive_copies<'a>(found: impl Iterator<Item = &'a mut Diagnostic>, are_left_out: bool) {
    let help = if are_left_out {
        "`--no-consolidate` leaves the copies out of DEST"
    } else {
        "DEST gets new copies; `--no-consolidate` leaves them out"
    };
    for found in found.filter(|found| found.is_error() && !Profile::Source.forbids(found)) {
        found.help = Some(help.to_owned());
        Profile::Source.judge([found]);
    }
}

fn coordinates(arrays: &[SourceArray], groups: &[GroupReading]) -> HashSet<String> {
    let of_arrays = arrays.iter().map(|array| (&*array.path, &array.opened.metadata));
    let of_arrays = of_arrays.map(|(path, metadata)| (path, Some(metadata), &metadata.attributes));
    let of_groups = groups.iter().map(|group| (group.node_path.path.as_str(), None, &group.attributes));
    coordinates::find(&of_arrays.chain(of_groups).collect::<Vec<_>>())
}

/// Adds keys that belong to no node: of a listing, and of the folders in it. Entries that are not files are listed as
/// links. Folders of runs are listed as folders: a copy of one would be a second run.
fn collect_keys(root: &Node, mut listing: FolderListing, all: &mut FolderListing) -> Result<()> {
    let mut folders = Vec::new();
    listing.folders.reverse();
    loop {
        all.folders.extend(listing.folders.extract_if(.., |key| is_run_folder(key)));
        folders.append(&mut listing.folders);
        all.files.append(&mut listing.files);
        all.links.append(&mut listing.links);
        all.links.extend(listing.others.into_iter().map(|(key, _)| key));
        all.unnamed.append(&mut listing.unnamed);
        let Some(folder) = folders.pop() else { return Ok(()) };
        let failed = || OperationError::environment(format!("`{folder}` of SOURCE cannot be listed"));
        listing = root.list(&folder).map_err(|error| failed().because(error))?;
    }
}

/// Returns whether a folder is that of a run: `.zarrcast`, or `.NAME.zarrcast` next to a hierarchy.
fn is_run_folder(key: &str) -> bool {
    key.rsplit('/').next().is_some_and(|name| name.starts_with('.') && name.ends_with(".zarrcast"))
}

fn uncopied_run(store: &str, runs: &[String]) -> Option<Diagnostic> {
    let first = runs.first()?;
    let message = format!("`{first}` belongs to an unfinished run, and is not copied");
    let found = Diagnostic::new(code::KEY_TEMPORARY, message).in_store(store).at_key(first.as_str());
    Some(found.with_help("complete the run first, or remove its folder"))
}

/// Links may point anywhere, also out of a store that other people have written.
fn uncopied_links(store: &str, links: &[String]) -> Option<Diagnostic> {
    let first = links.first()?;
    let message = match links.len() {
        1 => format!("`{first}` is a link or not a file, and is not copied"),
        count => format!("{count} links and other things that are not files are not copied, the first `{first}`"),
    };
    let found = Diagnostic::new(code::KEY_UNKNOWN, message).in_store(store).at_key(first.as_str());
    Some(found.with_help("to copy the target of a link, give it as SOURCE"))
}
