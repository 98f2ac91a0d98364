//! The existing content of DEST, and what is refused before anything is written.

use std::ops::ControlFlow;

use super::Output;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::NodeKind;
use crate::operation::{OperationError, Result, TranscodeOptions, document, hierarchy, open};
use crate::store::{
    Depth, Destination, Entry, EntryKind, JOURNAL, Node, PLAN, RUN_FOLDER, Relation, StoreError, has_begun,
    has_run_folder,
};

/// The existing node, file or folder at the path of DEST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Nothing,
    EmptyFolder,
    /// A run has left its journal, but no metadata.
    Unfinished,
    Node,
    /// A node whose run did not remove its journal.
    LeftNode,
    Other,
}

impl Output {
    /// Finds out what a run would do with a node of SOURCE that has this document. Nothing is touched.
    pub(crate) fn find(source: &Node, document: &str, options: &TranscodeOptions) -> Result<Self> {
        let (shown, run) = (options.destination.display().to_string(), &options.run);
        if options.destination.is_inside_zip() {
            // A zip file is written as a whole. An existing folder with such a name is a folder.
            let message = format!("DEST `{}` is inside a zip file, which is written as a whole", options.destination);
            return Err(OperationError::usage(message).with_help("choose a new zip file or a folder"));
        }
        let node = options.destination.node();
        // In a remote store each check costs a request, and no link can have the name.
        let is_remote = node.capabilities().is_remote;
        if !is_remote {
            refuse_file_above(Some(&node), false, &shown)?;
        }
        let destination = node.destination(run.overwrite).map_err(|error| no_destination(error, &shown))?;
        // Only `--overwrite` removes what SOURCE may still need: objects elsewhere that a reference file names.
        let targets = if run.overwrite { source.targets().map_err(unreadable)? } else { Vec::new() };
        for other in std::iter::once(source).chain(&targets) {
            check_apart(&destination.target, other, &shown)?;
        }
        let format = options.change.zarr_format.unwrap_or(if document == "zarr.json" { 3 } else { 2 });
        let warnings = if is_remote { Vec::new() } else { check_hierarchy_above(&node, format, &shown)? };
        let mut existing = existing(&destination)?;
        if existing == Existing::Nothing {
            // The name may be a link whose target does not exist.
            if is_remote {
                refuse_file_above(node.parent().as_ref(), true, &shown)?;
            } else if node.exists().map_err(unreadable)? {
                existing = Existing::Other;
            }
        }
        let mut resumes = run.resume && destination.keeps_unfinished();
        if run.overwrite {
            refuse_unreplaceable(existing, (&destination.target, source), &shown)?;
        } else if run.partitions.is_some() {
            if existing == Existing::Unfinished && !has_begun(&destination.target).map_err(unreadable)? {
                // There is only the folder of a plan that was not sealed, or of late parts: it counts as empty.
                existing = Existing::EmptyFolder;
            }
            resumes |= existing == Existing::EmptyFolder;
            // `--init` takes no `--overwrite`, so the help must not name that option.
            refuse_existing(existing, resumes, &shown)
                .map_err(|error| error.with_help("choose a new path, or remove it first"))?;
        } else {
            let plan = || destination.target.below(&RUN_FOLDER).kind_of(PLAN);
            if existing == Existing::Unfinished && matches!(plan(), Ok(Some(EntryKind::File))) {
                let help = "`--status` shows what is missing, `--finish` publishes it, `--overwrite` replaces it";
                let message = format!("`{shown}` is an unfinished job in parts");
                return Err(OperationError::environment(message).with_help(help));
            }
            refuse_existing(existing, run.resume, &shown)?;
        }
        if let Some(run) = &destination.beside {
            refuse_others(run, &shown)?;
        }
        let has_taken_place = resumes && destination.has_taken_place().map_err(unreadable)?;
        let data = if has_taken_place { destination.target.clone() } else { destination.data.clone() };
        let destination = Destination { data, ..destination };
        // Files and folders get the permissions that `cp` would give them.
        let (destination, overwrites) = (destination.with_permissions_of(source, document), run.overwrite);
        let source = (source.clone(), targets);
        Ok(Output { shown, destination, existing, overwrites, source, resumes, has_taken_place, warnings })
    }
}

pub(super) fn unreadable(error: StoreError) -> OperationError {
    OperationError::environment("DEST cannot be read").because(error)
}

/// Fails unless SOURCE and DEST are separate, neither inside the other, with all links resolved.
pub(crate) fn check_apart(target: &Node, other: &Node, shown: &str) -> Result<()> {
    let (message, help) = match target.relation(other).map_err(unreadable)? {
        Relation::Apart => return Ok(()),
        Relation::Same => (format!("`{shown}` is SOURCE itself"), "choose another path for DEST"),
        Relation::Nested => {
            let names = format!("`{}` and `{}`", other.name(), target.name());
            let help = "choose a DEST outside SOURCE that does not contain it";
            (format!("one of SOURCE and DEST is inside the other: {names}"), help)
        }
    };
    Err(OperationError::environment(message).with_help(help))
}

/// Fails if DEST exists, unless a run continues an unfinished one.
fn refuse_existing(existing: Existing, resumes: bool, shown: &str) -> Result<()> {
    let (message, help) = match (existing, resumes) {
        (Existing::Nothing, _) | (Existing::EmptyFolder | Existing::Unfinished | Existing::LeftNode, true) => {
            return Ok(());
        }
        (Existing::Node, true) => ("is complete: there is nothing to resume", "replace it with `--overwrite`"),
        (Existing::Unfinished, false) => {
            ("is an unfinished run", "continue it with `--resume`, or replace it with `--overwrite`")
        }
        (Existing::EmptyFolder | Existing::Node | Existing::LeftNode, false) => {
            ("exists already", "choose a new path, or replace it with `--overwrite`")
        }
        (Existing::Other, _) => ("exists already", "choose a new path"),
    };
    Err(OperationError::environment(format!("`{shown}` {message}")).with_help(help))
}

/// Fails unless DEST is a node, an unfinished run or an empty folder. Also fails if it cannot be replaced or SOURCE
/// needs it.
fn refuse_unreplaceable(existing: Existing, (target, source): (&Node, &Node), shown: &str) -> Result<()> {
    let refused = |message: String, help| Err(OperationError::environment(message).with_help(help));
    if existing == Existing::Nothing {
        return Ok(());
    }
    if existing == Existing::Other {
        let help = "`--overwrite` replaces only arrays, groups, unfinished runs and empty folders; choose another path";
        return refused(format!("`{shown}` is not a Zarr store and is not replaced"), help);
    }
    if target.is_mount_point() {
        return refused(format!("`{shown}` is a mount point and cannot be replaced"), "name a folder inside it");
    }
    if let Some(link) = target.link_from(source).map_err(unreadable)? {
        let message = format!("`{link}` of SOURCE is a link into `{shown}`, which would be removed");
        return refused(message, "copy the target of the link first");
    }
    Ok(())
}

/// Fails if the folder of the run exists, unless it is an unfinished run or empty.
fn refuse_others(run: &Node, shown: &str) -> Result<()> {
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
fn no_destination(error: StoreError, shown: &str) -> OperationError {
    match error {
        StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::Unsupported => {
            OperationError::usage(format!("this build cannot write to DEST `{shown}`"))
                .with_help("write a local folder or a local .zip file, and copy that there")
        }
        error => OperationError::environment("DEST cannot be written").because(error),
    }
}

/// Fails if DEST is below something that is not a folder. Searches upwards from a node: DEST itself, or its parent if
/// DEST is known to be missing.
fn refuse_file_above(node: Option<&Node>, is_missing: bool, shown: &str) -> Result<()> {
    let Some(node) = node else { return Ok(()) };
    let (existing, missing) = match open::nearest_existing(node) {
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
fn check_hierarchy_above(node: &Node, format: u64, shown: &str) -> Result<Vec<Diagnostic>> {
    let (mut warnings, mut between) = (Vec::new(), Vec::new());
    for folder in std::iter::successors(node.parent(), Node::parent) {
        let name = folder.name();
        let found = document::read_documents(&folder);
        let is_run = !matches!(found, Ok(Some(_))) && matches!(has_begun(&folder), Ok(true));
        // The folder before `..` does not contain it.
        if is_run && node.relation(&folder).map_err(unreadable)? == Relation::Nested {
            return Err(OperationError::environment(format!("`{shown}` would be inside the unfinished run `{name}`"))
                .with_help("complete that run first, or choose another path"));
        }
        let Ok(Some(found)) = found else {
            between.push(name);
            continue;
        };
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
        if found.zarr_format != format {
            let is_said = warnings.iter().any(|known: &Diagnostic| known.is(code::FORMATS_MIXED));
            warnings.extend((!is_said).then(|| hierarchy::formats_mixed(format, found.zarr_format)));
            continue;
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

/// Returns what exists at the path of DEST.
fn existing(destination: &Destination) -> Result<Existing> {
    let node = &destination.target;
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
        // A file of this name can belong to another program. `--overwrite` must not remove it.
        let is_node = document::parse_document(key, &document).is_ok_and(|(json, _)| json.get("zarr_format").is_some());
        // In an object store, a run that had not begun has left only a lock.
        let has_begun = || destination.run().below(&JOURNAL).exists();
        let is_left = is_left && (!node.capabilities().is_remote || has_begun().map_err(unreadable)?);
        let node = if is_left { Existing::LeftNode } else { Existing::Node };
        return Ok(if is_node { node } else { Existing::Other });
    }
    if is_left && has_begun(node).map_err(unreadable)? {
        return Ok(Existing::Unfinished);
    }
    // A folder of this name alone is no run: `--overwrite` would remove the files beside it.
    let mut has_others = false;
    let look = |entry: Entry<'_>| {
        has_others |= !(is_left && entry.name == RUN_FOLDER.as_str());
        if has_others { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    node.walk("", Depth::Folder, look).map_err(unreadable)?;
    Ok(match (has_others, is_left) {
        (true, _) => Existing::Other,
        (false, true) => Existing::Unfinished,
        (false, false) => Existing::EmptyFolder,
    })
}
