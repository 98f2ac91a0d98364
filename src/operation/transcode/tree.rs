//! SOURCE as the nodes that are written: a single array, or a group with all that lies below it.

use std::collections::HashSet;

use super::selection::{self, Member};
use super::version_2::in_v3_form;
use crate::diagnostic::{Diagnostic, Severity, code};
use crate::engine::driver::Driver;
use crate::metadata::group::NodeKind;
use crate::operation::document::Documents;
use crate::operation::error::OperationError;
use crate::operation::group::GroupReading;
use crate::operation::hierarchy::{NodeContent, read_hierarchy_below};
use crate::operation::open::{OpenedArray, lower, open_documents, opened, read_array_of, refusal};
use crate::operation::options::TranscodeOptions;
use crate::operation::place::{Place, local_path};
use crate::store::LocalNode;

/// The most errors that a refusal lists.
const MOST_ERRORS: usize = 10;

/// SOURCE.
#[derive(Debug)]
pub(super) struct Source {
    /// Where it lies.
    pub node: LocalNode,
    /// The document that makes it a node.
    pub document_key: &'static str,
    /// Its arrays, in the order of their paths; of a single array, itself.
    pub arrays: Vec<SourceArray>,
    /// Its groups, the root first.
    pub groups: Vec<GroupReading>,
    /// Keys that belong to no node.
    pub other_keys: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<Diagnostic>,
}

/// An array of SOURCE.
#[derive(Debug)]
pub(super) struct SourceArray {
    /// With its leading slash; `/` for SOURCE itself.
    pub path: String,
    /// As it was read.
    pub opened: OpenedArray,
    /// What applies to it.
    pub options: TranscodeOptions,
}

impl Source {
    /// Reads SOURCE. Errors in its metadata, anywhere in it, refuse it.
    pub(super) fn open(options: &TranscodeOptions, driver: &Driver) -> Result<Self, OperationError> {
        let place = Place::new(&options.source, None)?;
        let node = place.folder(local_path(&options.source));
        let documents = open_documents(&node, &place.name())?;
        let document_key = documents.key;
        if documents.kind == NodeKind::Group {
            return Self::open_group(options, node, documents, driver);
        }
        selection::check(options, &[""])?;
        let opened = in_v3_form(opened(read_array_of(place, node.clone(), documents))?);
        let array = SourceArray { path: "/".to_owned(), opened, options: options.of_every_array() };
        Ok(Source {
            node,
            document_key,
            arrays: vec![array],
            groups: Vec::new(),
            other_keys: Vec::new(),
            warnings: Vec::new(),
        })
    }

    fn open_group(
        options: &TranscodeOptions,
        node: LocalNode,
        documents: Documents,
        driver: &Driver,
    ) -> Result<Self, OperationError> {
        let store = options.source.display().to_string();
        let document_key = documents.key;
        let hierarchy = read_hierarchy_below(&options.source, documents, driver)?;
        if let Some(failure) = hierarchy.failures.into_iter().next() {
            return Err(failure);
        }
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        let (mut readings, mut groups, mut other_keys) = (Vec::new(), Vec::new(), Vec::new());
        let mut links = Vec::new();
        for mut node in hierarchy.nodes {
            lower(&mut node.diagnostics);
            if let NodeContent::Array(array) = &mut node.content {
                lower(&mut array.diagnostics);
            }
            let (bad, good): (Vec<_>, Vec<_>) =
                node.document_diagnostics().cloned().partition(Diagnostic::is_error);
            errors.extend(bad);
            warnings.extend(good.into_iter().filter(|found| found.severity == Severity::Warning));
            links.extend(node.rest.links.iter().chain(node.rest.others.iter().map(|(key, _)| key)).cloned());
            other_keys.extend(node.rest.files);
            for folder in node.rest.folders {
                collect_keys(
                    &LocalNode::new(local_path(&options.source)),
                    &folder,
                    &mut other_keys,
                    &mut links,
                )?;
            }
            match node.content {
                NodeContent::Array(array) => readings.push(*array),
                NodeContent::Group(group) => groups.push(*group),
                NodeContent::Implicit | NodeContent::Broken => {}
            }
        }
        if !errors.is_empty() {
            let first = errors[0].location.node.clone().unwrap_or_default();
            errors.truncate(MOST_ERRORS);
            let at =
                if first == "/" { store.clone() } else { format!("{}{first}", store.trim_end_matches('/')) };
            return Err(refusal(&format!("the metadata of `{at}` are in error"), &errors));
        }
        warnings.extend(uncopied_links(&store, &links));
        let paths: Vec<String> = readings.iter().map(|array| array.place.path.clone()).collect();
        selection::check(options, &paths.iter().map(String::as_str).collect::<Vec<_>>())?;
        let open = |reading| opened(reading).map(in_v3_form);
        let arrays: Vec<OpenedArray> = readings.into_iter().map(open).collect::<Result<_, _>>()?;
        let coordinates = coordinates(&paths, &arrays, &groups);
        let arrays: Vec<SourceArray> = paths
            .into_iter()
            .zip(arrays)
            .map(|(path, opened)| {
                let options = selection::options_for(options, &path, &opened, &coordinates);
                SourceArray { path, opened, options }
            })
            .collect();
        selection::check_applied(options, &arrays, &store)?;
        other_keys.sort_unstable();
        Ok(Source { node, document_key, arrays, groups, other_keys, warnings })
    }
}

fn coordinates(paths: &[String], arrays: &[OpenedArray], groups: &[GroupReading]) -> HashSet<String> {
    let of_arrays = paths.iter().zip(arrays).map(|(path, array)| Member {
        path,
        array: Some(array),
        attributes: &array.metadata.attributes,
    });
    let of_groups = groups.iter().map(|group| Member {
        path: &group.place.path,
        array: None,
        attributes: &group.attributes,
    });
    selection::coordinates(&of_arrays.chain(of_groups).collect::<Vec<_>>())
}

/// The keys below a folder that belongs to no node.
fn collect_keys(
    root: &LocalNode,
    folder: &str,
    keys: &mut Vec<String>,
    links: &mut Vec<String>,
) -> Result<(), OperationError> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let listing = root.list(&folder).map_err(|error| {
            OperationError::environment(format!("`{folder}` of SOURCE cannot be listed")).because(error)
        })?;
        keys.extend(listing.files);
        links.extend(listing.links);
        links.extend(listing.others.into_iter().map(|(key, _)| key));
        folders.extend(listing.folders);
    }
    Ok(())
}

/// Links may lead anywhere, out of a store that others have made too.
fn uncopied_links(store: &str, links: &[String]) -> Option<Diagnostic> {
    let first = links.first()?;
    let message = match links.len() {
        1 => format!("`{first}` is a link or no file, and is not copied"),
        count => format!("{count} links and what else is no file are not copied, the first `{first}`"),
    };
    Some(
        Diagnostic::new(code::KEY_UNKNOWN, message)
            .in_store(store)
            .at_key(first.as_str())
            .with_help("what a link leads to is copied by naming it as SOURCE"),
    )
}
