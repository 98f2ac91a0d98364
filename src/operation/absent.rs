//! Why there is no node at a place: nothing is there, or something else, and what was probably meant.

use std::path::{Path, PathBuf};

use super::document::{NODE_KEYS, has_documents};
use super::error::OperationError;
use crate::diagnostic::spelling::{alternatives, near};
use crate::engine::journal::Journal;
use crate::metadata::json::Json;
use crate::store::file_format::{FIRST_BYTES, FileFormat};
use crate::store::{Node, StoreError, file, tree};

/// The most nodes of a folder that a message lists.
const MOST_LISTED: usize = 5;

/// The most entries of a folder that are looked at to find nodes.
const MOST_LOOKED_AT: usize = 1000;

/// The error that there is no node at `node`, which has no documents; `name` is for messages.
pub(super) fn no_node(node: &Node, name: &str) -> OperationError {
    let unreadable =
        |error: StoreError| OperationError::environment(format!("`{name}` cannot be read")).because(error);
    let root = &node.root();
    match tree::nearest_existing(root) {
        Err(error) => unreadable(error),
        Ok(existing) => match tree::kind(&existing) {
            Err(error) => unreadable(error),
            Ok(None) => OperationError::environment(format!(
                "`{name}` does not exist: {} is a link that leads nowhere",
                existing.display()
            ))
            .with_help("name the folder itself, or make the link anew"),
            Ok(Some(tree::Kind::Other(what))) => OperationError::environment(format!(
                "`{name}` is not a Zarr node: {} is {what}, not a folder",
                existing.display()
            ))
            .with_help(
                "name the folder of an array or group; it holds `zarr.json`, or `.zarray` or `.zgroup`",
            ),
            Ok(Some(tree::Kind::File)) => of_file(&existing, name),
            Ok(Some(tree::Kind::Folder)) if existing == *root => of_folder(node, name),
            Ok(Some(tree::Kind::Folder)) => of_nothing(root, &existing, name),
        },
    }
}

/// A file stands at the place, or above it.
fn of_file(path: &Path, name: &str) -> OperationError {
    let first = match file::first_bytes(path, FIRST_BYTES) {
        Ok(first) => first,
        Err(error) => {
            return OperationError::environment(format!("`{name}` cannot be read")).because(error);
        }
    };
    let format = FileFormat::of(&first);
    let refused = |what: &str, help: &str| {
        OperationError::environment(format!("`{name}` is not a Zarr store: {} is {what}", path.display()))
            .with_help(help)
    };
    if let Some(format) = format.filter(|format| format.is_stand_in) {
        return refused(format.name, format.help);
    }
    if let Some(owner) = node_above(path) {
        let what = if is_document(path) { "a document" } else { "a file" };
        return refused(
            &format!("{what} of the node `{}`", owner.display()),
            &format!("name the folder: {}", owner.display()),
        );
    }
    match format {
        Some(format) if format.name.starts_with("a zip file") => {
            OperationError::usage(format!("`{name}`: {} is {}", path.display(), format.name))
                .with_help(format.help)
        }
        Some(format) => refused(format.name, format.help),
        None if is_reference(path) => OperationError::usage(format!(
            "`{name}`: {} is a kerchunk reference file, which this build does not read",
            path.display()
        ))
        .with_help("copy what it refers to into a store first, such as by xarray and fsspec"),
        None => refused(
            "a file, not a folder",
            "name the folder of an array or group; it holds `zarr.json`, or `.zarray` or `.zgroup`",
        ),
    }
}

/// A folder without documents.
fn of_folder(node: &Node, name: &str) -> OperationError {
    if Journal::is_at(node) {
        return OperationError::environment(format!("`{name}` is the unfinished run of a `transcode`"))
            .with_help("the same command with `--resume` goes on with it");
    }
    let nothing = OperationError::environment(format!("nothing Zarr at `{name}`: it holds no `zarr.json`"));
    if let Some(owner) = node_above(&node.root()) {
        return nothing.with_help(format!(
            "it is a folder inside the node `{}`; `zarrcast inspect` of that shows what is in it",
            owner.display()
        ));
    }
    let inside = nodes_in(&node.root());
    match inside.as_slice() {
        [] => nothing.with_help("name the folder of an array; it holds `zarr.json`, or `.zarray` in Zarr v2"),
        inside => nothing.with_help(format!("there are nodes in it: {}", listed(name, inside))),
    }
}

/// Nothing is there; `existing` is the folder above that is.
fn of_nothing(root: &Path, existing: &Path, name: &str) -> OperationError {
    let missing = root.strip_prefix(existing).unwrap_or(root);
    let absent = OperationError::environment(format!("`{name}` does not exist"));
    let Some(wanted) = missing.components().next() else { return absent };
    let wanted = wanted.as_os_str().to_string_lossy().into_owned();
    // The user's own words for the folder that is there.
    let above = (0..missing.components().count())
        .fold(name.trim_end_matches('/'), |above, _| above.rsplit_once('/').map_or("", |(above, _)| above));
    let shown = |node: &str| if above.is_empty() { node.to_owned() } else { format!("{above}/{node}") };
    let names = tree::folders_in(existing, MOST_LOOKED_AT).unwrap_or_default();
    let mut meant = near(&wanted, names.iter().map(String::as_str));
    meant.retain(|name| has_documents(&Node::new(existing.join(name))));
    if !meant.is_empty() {
        let meant: Vec<String> = meant.into_iter().map(shown).collect();
        return absent.with_help(format!("did you mean {}?", alternatives(&meant)));
    }
    let is_node = has_documents(&Node::new(existing));
    match nodes_in(existing).as_slice() {
        [] if is_node => absent.with_help(format!("`{above}` is there, and has no node in it")),
        inside if is_node => absent.with_help(format!("in `{above}` there are {}", listed("", inside))),
        _ => absent.with_help("check the path; an array is a folder that holds `zarr.json`"),
    }
}

/// The next step where a group was named in place of an array.
pub(super) fn arrays_help(node: &Node, name: &str) -> String {
    match nodes_in(&node.root()).as_slice() {
        [] => "name an array: a folder that holds its `zarr.json` or `.zarray`".to_owned(),
        inside => format!("name an array in it; its members are {}", listed(name, inside)),
    }
}

/// Names of nodes as a message lists them: the first few, and how many more there are.
fn listed(above: &str, names: &[String]) -> String {
    let above = above.trim_end_matches('/');
    let shown = |name: &String| if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
    let first: Vec<String> =
        names.iter().take(MOST_LISTED).map(|name| format!("`{}`", shown(name))).collect();
    match names.len().saturating_sub(MOST_LISTED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The nodes right below a folder, in the order of their names.
fn nodes_in(folder: &Path) -> Vec<String> {
    let mut names = tree::folders_in(folder, MOST_LOOKED_AT).unwrap_or_default();
    names.retain(|name| has_documents(&Node::new(folder.join(name))));
    names.sort();
    names
}

/// The nearest folder above that is a node.
fn node_above(path: &Path) -> Option<PathBuf> {
    let folders = path.ancestors().skip(1);
    folders
        .map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
        .find(|folder| has_documents(&Node::new(*folder)))
        .map(Path::to_path_buf)
}

fn is_document(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    NODE_KEYS.contains(&name) || matches!(name, ".zattrs" | ".zmetadata")
}

/// Whether a file is a kerchunk reference file: JSON with `refs` (version 1), or of keys of documents (version 0).
fn is_reference(path: &Path) -> bool {
    let is_named_so = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let bytes = if is_named_so { file::read(path, MOST_REFERENCES).ok() } else { None };
    let Some(Json::Object(document)) = bytes.and_then(|bytes| Json::parse(&bytes).ok()) else { return false };
    document
        .iter()
        .any(|(key, _)| key == "refs" || NODE_KEYS.iter().any(|name| key.rsplit('/').next() == Some(name)))
}

/// The bytes of a reference file that are read to know it: 64 MiB.
const MOST_REFERENCES: u64 = 64 << 20;
