//! The node, file or folder at the place of DEST, and the refusal to write there.

use crate::operation::OperationError;
use crate::operation::absent::nearest_existing;
use crate::operation::document::{NODE_KEYS, parse_document};
use crate::store::{Destination, EntryKind, JOURNAL, Location, Node, Relation, StoreError, has_run_folder};

/// The node, file or folder at the place of DEST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    Nothing,
    EmptyFolder,
    /// A run has left its journal, and no metadata.
    Unfinished,
    /// A node; `is_left` where its run did not come to remove its journal.
    Node {
        is_left: bool,
    },
    Other,
}

pub(super) fn unreadable(error: StoreError) -> OperationError {
    OperationError::environment("the destination cannot be looked at").because(error)
}

/// SOURCE and DEST are two places, neither inside the other, whatever names lead to them.
pub(super) fn check_apart(place: &Node, other: &Node, shown: &str) -> Result<(), OperationError> {
    match place.relation(other).map_err(unreadable)? {
        Relation::Apart => Ok(()),
        Relation::Same => Err(OperationError::environment(format!("`{shown}` is SOURCE itself"))
            .with_help("name another place for the result")),
        Relation::Nested => Err(OperationError::environment(format!(
            "SOURCE and DEST lie one inside the other: `{}` and `{}`",
            other.name(),
            place.name()
        ))
        .with_help("name a place for the result beside the source")),
    }
}

/// Refuses to write there, unless a run continues one that has left it.
pub(super) fn refuse_existing(existing: Existing, resumes: bool, shown: &str) -> Result<(), OperationError> {
    let (message, help) = match (existing, resumes) {
        (Existing::Nothing, _)
        | (Existing::EmptyFolder | Existing::Unfinished | Existing::Node { is_left: true }, true) => {
            return Ok(());
        }
        (Existing::Node { is_left: false }, true) => {
            ("is complete: there is nothing to resume", "`--overwrite` replaces it")
        }
        (Existing::Unfinished, false) => {
            ("is an unfinished run", "`--resume` goes on with it, `--overwrite` replaces it")
        }
        (Existing::EmptyFolder | Existing::Node { .. }, false) => {
            ("exists already", "name a place where nothing is; or `--overwrite` replaces it")
        }
        (Existing::Other, _) => ("exists already", "name a place where nothing is"),
    };
    Err(OperationError::environment(format!("`{shown}` {message}")).with_help(help))
}

/// Only nodes, unfinished runs and empty folders are replaced, and none that cannot be or that SOURCE needs.
pub(super) fn refuse_unreplaceable(
    existing: Existing,
    (place, source): (&Node, &Node),
    shown: &str,
) -> Result<(), OperationError> {
    let refused = |message: String, help| Err(OperationError::environment(message).with_help(help));
    if existing == Existing::Nothing {
        return Ok(());
    }
    if existing == Existing::Other {
        return refused(
            format!("`{shown}` is not a Zarr node, and is not replaced"),
            "`--overwrite` replaces arrays, groups, unfinished runs and empty folders; name another place",
        );
    }
    if place.is_mount_point() {
        let message = format!("`{shown}` is a mount point, and cannot be replaced");
        return refused(message, "name a folder inside it");
    }
    if let Some(link) = place.link_from(source).map_err(unreadable)? {
        let message = format!("`{link}` of SOURCE is a link into `{shown}`, which would be removed");
        return refused(message, "copy what the link leads to first");
    }
    Ok(())
}

/// Refuses a folder in the place of the run's own, unless it is one or empty.
pub(super) fn refuse_others(run: &Node, shown: &str) -> Result<(), OperationError> {
    let is_run = match run.kind().map_err(unreadable)? {
        None => true,
        Some(EntryKind::Folder) => {
            let journal = run.kind_of(JOURNAL.as_str()).map_err(unreadable)?;
            journal == Some(EntryKind::File) || run.is_empty().map_err(unreadable)?
        }
        Some(_) => false,
    };
    if is_run {
        return Ok(());
    }
    Err(OperationError::environment(format!(
        "`{}` stands where `{shown}` would be written before it has its place",
        run.name()
    ))
    .with_help("it is not an unfinished run: move it away"))
}

/// The error of a store in which no hierarchy can be written.
pub(super) fn no_destination(error: StoreError, shown: &str) -> OperationError {
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
pub(super) fn refuse_file_above(node: Option<&Node>, is_missing: bool, shown: &str) -> Result<(), OperationError> {
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
    Err(OperationError::environment(format!("`{shown}` cannot be made: {} is {what}, not a folder", existing.name()))
        .with_help("name a place in a folder"))
}

/// A zip file is written as a whole; but what is a folder already is a folder.
pub(super) fn refuse_inside_zip(destination: &Location) -> Result<(), OperationError> {
    if !destination.is_inside_zip() {
        return Ok(());
    }
    Err(OperationError::usage(format!("DEST `{destination}` lies in a zip file, which is written as a whole"))
        .with_help("name a zip file of its own, or a folder"))
}

/// Looks at the place of DEST.
pub(super) fn existing(destination: &Destination) -> Result<Existing, OperationError> {
    let node = destination.place();
    match node.kind() {
        Ok(Some(EntryKind::Folder)) => {}
        Ok(Some(_)) => return Ok(Existing::Other),
        Ok(None) => return Ok(Existing::Nothing),
        Err(error) if error.is_data_fault() => return Ok(Existing::Other),
        Err(error) => return Err(unreadable(error)),
    }
    let is_left = destination.keeps_unfinished() && has_run_folder(node);
    for key in NODE_KEYS {
        let document = match node.read_document(key) {
            Ok(Some(document)) => document,
            Ok(None) => continue,
            Err(error) if error.is_data_fault() => return Ok(Existing::Other),
            Err(error) => return Err(unreadable(error)),
        };
        let is_node = parse_document(key, &document).is_ok_and(|(json, _)| json.get("zarr_format").is_some());
        // In an object store a run that had not begun has left a lock alone.
        let has_begun = || destination.run().below(&JOURNAL).exists();
        let is_left = is_left && (!node.abilities().is_remote || has_begun().map_err(unreadable)?);
        return Ok(if is_node { Existing::Node { is_left } } else { Existing::Other });
    }
    if is_left {
        return Ok(Existing::Unfinished);
    }
    Ok(if node.is_empty().map_err(unreadable)? { Existing::EmptyFolder } else { Existing::Other })
}
