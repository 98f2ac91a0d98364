//! What stands where DEST is to be, and what keeps it from being there.

use crate::engine::journal::Journal;
use crate::operation::absent::nearest_existing;
use crate::operation::document::{NODE_KEYS, parse_document};
use crate::operation::error::OperationError;
use crate::store::{EntryKind, Location, Node, Relation, Site, Spot, StoreError};

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Nothing,
    EmptyFolder,
    /// A run has left its journal, and no metadata.
    Unfinished,
    /// A node; `is_left` where its run did not come to remove its journal.
    HierarchyNode {
        is_left: bool,
    },
    Other,
}

pub(super) fn unreadable(error: StoreError) -> OperationError {
    OperationError::environment("the destination cannot be looked at").because(error)
}

/// SOURCE and DEST are two places, neither inside the other, whatever names lead to them.
pub(super) fn check_apart(relation: Relation, shown: &str) -> Result<(), OperationError> {
    match relation {
        Relation::Apart => Ok(()),
        Relation::Same => Err(OperationError::environment(format!("`{shown}` is SOURCE itself"))
            .with_help("name another place for the result")),
        Relation::Nested { other, place } => Err(OperationError::environment(format!(
            "SOURCE and DEST lie one inside the other: `{other}` and `{place}`"
        ))
        .with_help("name a place for the result beside the source")),
    }
}

/// Where two renames replace DEST, a process that dies between them leaves neither.
pub(super) fn refuse_half_exchanged(site: &dyn Site, shown: &str) -> Result<(), OperationError> {
    let old = site.node(Spot::Aside);
    if !matches!(old.kind(), Ok(Some(EntryKind::Folder))) {
        return Ok(());
    }
    Err(OperationError::environment(format!(
        "`{shown}` was being replaced when a run died; the old one is `{}`",
        old.name()
    ))
    .with_help("the command of that run with `--overwrite --resume` goes on; or move the old one back"))
}

/// The error of a store in which no hierarchy can be written.
pub(super) fn no_site(error: StoreError, shown: &str) -> OperationError {
    match error {
        StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::Unsupported => {
            OperationError::usage(format!("DEST `{shown}` lies where this build writes nothing of its kind"))
                .with_help("name a local folder or a local .zip file, and copy that there")
        }
        error => unreadable(error),
    }
}

/// Nothing can be made below what is not a folder: looks from a node upwards, DEST itself or, where DEST is known to be
/// missing, what it is to lie in.
pub(super) fn refuse_file_above(
    node: Option<&Node>,
    is_missing: bool,
    shown: &str,
) -> Result<(), OperationError> {
    let Some(node) = node else { return Ok(()) };
    let (existing, missing) = match nearest_existing(node) {
        // A zip file that is none stands at the place itself.
        Err(error) if error.is_data_fault() => return Ok(()),
        found => found.map_err(unreadable)?,
    };
    let what = match existing.kind_behind_links().map_err(unreadable)? {
        Some(EntryKind::Folder) | None => return Ok(()),
        Some(EntryKind::Other(what)) => what,
        Some(_) => "a file",
    };
    if missing.is_empty() && !is_missing {
        return Ok(());
    }
    Err(OperationError::environment(format!(
        "`{shown}` cannot be made: {} is {what}, not a folder",
        existing.name()
    ))
    .with_help("name a place in a folder"))
}

/// A zip file is written as a whole; but what is a folder already is a folder.
pub(super) fn refuse_inside_zip(destination: &Location) -> Result<(), OperationError> {
    if !destination.is_inside_zip() {
        return Ok(());
    }
    Err(OperationError::usage(format!(
        "DEST `{destination}` lies in a zip file, which is written as a whole"
    ))
    .with_help("name a zip file of its own, or a folder"))
}

/// What stands at a node.
pub(super) fn standing(node: &Node) -> Result<Standing, OperationError> {
    match node.kind() {
        Ok(Some(EntryKind::Folder)) => {}
        Ok(Some(_)) => return Ok(Standing::Other),
        Ok(None) => return Ok(Standing::Nothing),
        Err(error) if error.is_data_fault() => return Ok(Standing::Other),
        Err(error) => return Err(unreadable(error)),
    }
    let is_left = Journal::is_at(node);
    for key in NODE_KEYS {
        let document = match node.read_document(key) {
            Ok(Some(document)) => document,
            Ok(None) => continue,
            Err(error) if error.is_data_fault() => return Ok(Standing::Other),
            Err(error) => return Err(unreadable(error)),
        };
        let is_node = parse_document(key, &document).is_ok_and(|(json, _)| json.get("zarr_format").is_some());
        return Ok(if is_node { Standing::HierarchyNode { is_left } } else { Standing::Other });
    }
    if is_left {
        return Ok(Standing::Unfinished);
    }
    Ok(if node.is_empty().map_err(unreadable)? { Standing::EmptyFolder } else { Standing::Other })
}
