//! The existing content of DEST, and errors before writing. The claim of a run to DEST, which is made durable,
//! published or given up.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{Output, cannot_write};
use crate::array::fault::Clearing;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::{Driver, Journal};
use crate::metadata::NodeKind;
use crate::operation::{FaultClass, OperationError, Result, absent, document, hierarchy};
use crate::store::{Destination, EntryKind, JOURNAL, Location, Node, Relation, StoreError, has_run_folder};

/// A destination that only this run may write.
#[derive(Debug)]
pub(crate) struct LockedDestination {
    pub output: Output,
    pub journal: Arc<Journal>,
    /// Whether an earlier run began.
    pub is_resumed: bool,
    /// Whether the metadata are published already.
    pub is_published: bool,
    /// The remains of a run that does not finish, and the next step.
    pub left: String,
}

impl LockedDestination {
    /// Returns the clean-up for a process that exits before the run ends.
    pub(crate) fn clearing(&self) -> Clearing {
        self.output.clearing(Arc::downgrade(&self.journal))
    }

    /// Makes the written data and their journal entries durable.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        let durable = self.journal.checkpoint();
        durable
            .map_err(|error| OperationError::environment("the destination cannot be made durable").because(error))?;
        self.journal.confirm().map_err(|error| self.output.refused(error))
    }

    /// Returns a warning if no lock excludes runs on other machines.
    pub(crate) fn unlocked_warning(&self) -> Option<Diagnostic> {
        let shown = &self.output.shown;
        let before = self.journal.holder_before();
        let before = before.map(|holder| format!("; {holder} has written there before, and has probably ended"));
        let before = before.unwrap_or_default();
        let message =
            format!("the storage of `{shown}` has no locks: a run on another machine could write there, too{before}");
        let found = Diagnostic::new(code::NOT_LOCKED, message);
        (!self.journal.is_locked()).then(|| found.with_help("make sure that no two machines write there at once"))
    }

    /// Writes the documents, publishes the complete DEST, and removes the files of the run.
    pub(crate) fn publish(self, documents: &[(String, String)], driver: &Driver) -> Result<()> {
        let LockedDestination { output, journal, is_published, left, .. } = self;
        journal.confirm().map_err(|error| output.refused(error))?;
        let keeps = output.keeps_unfinished();
        let ended = |error| if keeps { with_next_step(error, &left) } else { output.give_up(error, true) };
        if !is_published {
            output.write_documents(documents, driver).map_err(|error| ended(cannot_write(error)))?;
            output.destination.take_place(output.overwrites).map_err(|error| {
                let done = if output.overwrites { "replaced" } else { "put into its place" };
                ended(OperationError::environment(format!("`{}` cannot be {done}", output.shown)).because(error))
            })?;
        }
        output.destination.clear().map_err(|error| {
            let message = format!("`{}` is complete, but temporary files cannot be removed", output.shown);
            let help = if keeps {
                "run the same command with `--resume` to try again".to_owned()
            } else {
                format!("remove `{}` by hand", output.destination.run().name())
            };
            OperationError::environment(message).because(error).with_help(help)
        })
    }

    /// Ends a run that failed. Its output is kept for another run, unless the output is wrong (`is_for_good`). The
    /// output of a part is always kept. Without any output, DEST is removed.
    pub(crate) fn fail(self, error: OperationError, is_for_good: bool) -> OperationError {
        let LockedDestination { output, journal, is_published, left, .. } = self;
        let is_whole = journal.is_whole_run();
        if is_whole && is_for_good {
            return if is_published || journal.is_lost() { error } else { output.give_up(error, false) };
        }
        // Objects without a journal entry are written again.
        let _ = journal.flush();
        if !is_whole {
            return with_next_step(error, &left);
        }
        if journal.is_lost() {
            return error;
        }
        if (journal.num_units() == 0 && !is_published) || !output.keeps_unfinished() {
            return output.give_up(error, true);
        }
        if error.class() == FaultClass::Interrupted {
            return error.with_help(left);
        }
        with_next_step(error, &left)
    }
}

impl Output {
    /// Writes the documents. The last one makes DEST a node.
    fn write_documents(&self, documents: &[(String, String)], driver: &Driver) -> Result<(), StoreError> {
        let Some(((key, document), others)) = documents.split_last() else { return Ok(()) };
        // Each document below the root is written atomically, and parents after their children.
        let depth = |(key, _): &&(String, String)| key.matches('/').count();
        let mut deepest_first: Vec<&(String, String)> = others.iter().collect();
        deepest_first.sort_by_key(|document| Reverse(depth(document)));
        for level in deepest_first.chunk_by(|one, other| depth(one) == depth(other)) {
            let written = driver.map_plain(level, |(key, document)| self.data().replace(key, document.as_bytes()));
            written.into_iter().collect::<Result<(), _>>()?;
        }
        if !others.is_empty() {
            self.data().sync()?;
        }
        self.data().publish(key, document.as_bytes())
    }

    /// Removes the output. If that fails and `is_sound`, another run can continue.
    fn give_up(&self, error: OperationError, is_sound: bool) -> OperationError {
        match self.destination.remove() {
            Ok(()) => error,
            Err(_) if is_sound && self.keeps_unfinished() => with_next_step(error, &self.next_to_resume()),
            Err(_) => {
                let left = self.data().name();
                with_next_step(error, &format!("`{left}` is left without metadata: remove it by hand"))
            }
        }
    }
}

/// Returns an error with a further next step.
pub(super) fn with_next_step(error: OperationError, next: &str) -> OperationError {
    let help = error.help().map_or_else(|| next.to_owned(), |help| format!("{help}; {next}"));
    error.with_help(help)
}

/// The existing node, file or folder at the path of DEST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    Nothing,
    EmptyFolder,
    /// A run has left its journal, but no metadata.
    Unfinished,
    /// A node. `is_left`: its run did not remove its journal.
    Node {
        is_left: bool,
    },
    Other,
}

pub(super) fn unreadable(error: StoreError) -> OperationError {
    OperationError::environment("DEST cannot be read").because(error)
}

/// Fails unless SOURCE and DEST are separate, neither inside the other, with all links resolved.
pub(super) fn check_apart(place: &Node, other: &Node, shown: &str) -> Result<()> {
    let (message, help) = match place.relation(other).map_err(unreadable)? {
        Relation::Apart => return Ok(()),
        Relation::Same => (format!("`{shown}` is SOURCE itself"), "choose another path for DEST"),
        Relation::Nested => {
            let names = format!("`{}` and `{}`", other.name(), place.name());
            let help = "choose a DEST outside SOURCE that does not contain it";
            (format!("one of SOURCE and DEST is inside the other: {names}"), help)
        }
    };
    Err(OperationError::environment(message).with_help(help))
}

/// Fails if DEST exists, unless a run continues an unfinished one.
pub(super) fn refuse_existing(existing: Existing, resumes: bool, shown: &str) -> Result<()> {
    let (message, help) = match (existing, resumes) {
        (Existing::Nothing, _)
        | (Existing::EmptyFolder | Existing::Unfinished | Existing::Node { is_left: true }, true) => {
            return Ok(());
        }
        (Existing::Node { is_left: false }, true) => {
            ("is complete: there is nothing to resume", "replace it with `--overwrite`")
        }
        (Existing::Unfinished, false) => {
            ("is an unfinished run", "continue it with `--resume`, or replace it with `--overwrite`")
        }
        (Existing::EmptyFolder | Existing::Node { .. }, false) => {
            ("exists already", "choose a new path, or replace it with `--overwrite`")
        }
        (Existing::Other, _) => ("exists already", "choose a new path"),
    };
    Err(OperationError::environment(format!("`{shown}` {message}")).with_help(help))
}

/// Fails unless DEST is a node, an unfinished run or an empty folder. Also fails if it cannot be replaced or SOURCE
/// needs it.
pub(super) fn refuse_unreplaceable(existing: Existing, (place, source): (&Node, &Node), shown: &str) -> Result<()> {
    let refused = |message: String, help| Err(OperationError::environment(message).with_help(help));
    if existing == Existing::Nothing {
        return Ok(());
    }
    if existing == Existing::Other {
        let help = "`--overwrite` replaces only arrays, groups, unfinished runs and empty folders; choose another path";
        return refused(format!("`{shown}` is not a Zarr store and is not replaced"), help);
    }
    if place.is_mount_point() {
        return refused(format!("`{shown}` is a mount point and cannot be replaced"), "name a folder inside it");
    }
    if let Some(link) = place.link_from(source).map_err(unreadable)? {
        let message = format!("`{link}` of SOURCE is a link into `{shown}`, which would be removed");
        return refused(message, "copy the target of the link first");
    }
    Ok(())
}

/// Fails if the folder of the run exists, unless it is an unfinished run or empty.
pub(super) fn refuse_others(run: &Node, shown: &str) -> Result<()> {
    let is_run = match run.kind().map_err(unreadable)? {
        None => true,
        Some(EntryKind::Folder) => {
            let journal = run.kind_of(JOURNAL.as_str()).map_err(unreadable)?;
            journal == Some(EntryKind::File) || run.is_empty().map_err(unreadable)?
        }
        Some(_) => false,
    };
    let message = format!("`{}` is in the way: `{shown}` is written there first", run.name());
    let help = "it is not an unfinished run: move it elsewhere";
    if is_run { Ok(()) } else { Err(OperationError::environment(message).with_help(help)) }
}

/// Returns the error of a store to which no hierarchy can be written.
pub(super) fn no_destination(error: StoreError, shown: &str) -> OperationError {
    match error {
        StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::Unsupported => {
            OperationError::usage(format!("this build cannot write to DEST `{shown}`"))
                .with_help("write a local folder or a local .zip file, and copy that there")
        }
        error => unreadable(error),
    }
}

/// Fails if DEST is below something that is not a folder. Searches upwards from a node: DEST itself, or its parent if
/// DEST is known to be missing.
pub(super) fn refuse_file_above(node: Option<&Node>, is_missing: bool, shown: &str) -> Result<()> {
    let Some(node) = node else { return Ok(()) };
    let (existing, missing) = match absent::nearest_existing(node) {
        // An invalid zip file is at the path itself.
        Err(error) if error.is_data_fault() => return Ok(()),
        found => found.map_err(unreadable)?,
    };
    let what = match existing.kind_behind_links().map_err(unreadable)? {
        Some(EntryKind::Folder) | None => return Ok(()),
        Some(EntryKind::Other(what)) => what,
        Some(_) => "a file",
    };
    let message = format!("`{shown}` cannot be created: {} is {what}, not a folder", existing.name());
    let error = OperationError::environment(message).with_help("choose a path inside a folder");
    if missing.is_empty() && !is_missing { Ok(()) } else { Err(error) }
}

/// Returns warnings about the hierarchy that contains DEST. Fails inside an array, where readers find no nodes.
pub(super) fn check_hierarchy_above(node: &Node, shown: &str) -> Result<Vec<Diagnostic>> {
    let (mut warnings, mut between) = (Vec::new(), Vec::new());
    for folder in std::iter::successors(node.parent(), Node::parent) {
        let name = folder.name();
        let Ok(Some(found)) = document::read_documents(&folder) else {
            between.push(name);
            continue;
        };
        // The folder before `..` does not contain it.
        if node.relation(&folder).map_err(unreadable)? != Relation::Nested {
            continue;
        }
        if found.kind == NodeKind::Array {
            return Err(OperationError::environment(format!("`{shown}` would be inside the array `{name}`"))
                .with_help("choose a path inside a group, or outside of any store"));
        }
        for missing in between.drain(..) {
            let message = format!("`{missing}` is not a Zarr group: readers of `{name}` do not find its contents");
            let help = "make a group of it (zarr-python: `zarr.open_group`)";
            warnings.push(Diagnostic::new(code::GROUP_IMPLICIT, message).with_help(help));
        }
        let has_copies = match found.zarr_format {
            2 => matches!(folder.kind_of(document::CONSOLIDATED_KEY), Ok(Some(_))),
            _ => found.document.get("consolidated_metadata").is_some_and(|copies| !copies.is_null()),
        };
        if has_copies {
            let message = format!("the consolidated metadata of `{name}` were made before this `{shown}`");
            warnings.push(Diagnostic::new(code::CONSOLIDATED_INCOMPLETE, message).with_help(hierarchy::RENEW_COPIES));
        }
    }
    Ok(warnings)
}

/// Fails if DEST is inside a zip file, which is written as a whole. An existing folder with such a name is a folder.
pub(super) fn refuse_inside_zip(destination: &Location) -> Result<()> {
    let message = format!("DEST `{destination}` is inside a zip file, which is written as a whole");
    let error = OperationError::usage(message).with_help("choose a new zip file or a folder");
    if destination.is_inside_zip() { Err(error) } else { Ok(()) }
}

/// Returns what exists at the path of DEST.
pub(super) fn existing(destination: &Destination) -> Result<Existing> {
    let node = destination.place();
    match node.kind() {
        Ok(Some(EntryKind::Folder)) => {}
        Ok(Some(_)) => return Ok(Existing::Other),
        Ok(None) => return Ok(Existing::Nothing),
        Err(error) if error.is_data_fault() => return Ok(Existing::Other),
        Err(error) => return Err(unreadable(error)),
    }
    let is_left = destination.keeps_unfinished() && has_run_folder(node);
    for key in document::NODE_KEYS {
        let document = match node.read_document(key) {
            Ok(Some(document)) => document,
            Ok(None) => continue,
            Err(error) if error.is_data_fault() => return Ok(Existing::Other),
            Err(error) => return Err(unreadable(error)),
        };
        let is_node = document::parse_document(key, &document).is_ok_and(|(json, _)| json.get("zarr_format").is_some());
        // In an object store, a run that had not begun has left only a lock.
        let has_begun = || destination.run().below(&JOURNAL).exists();
        let is_left = is_left && (!node.capabilities().is_remote || has_begun().map_err(unreadable)?);
        return Ok(if is_node { Existing::Node { is_left } } else { Existing::Other });
    }
    if is_left {
        return Ok(Existing::Unfinished);
    }
    Ok(if node.is_empty().map_err(unreadable)? { Existing::EmptyFolder } else { Existing::Other })
}
