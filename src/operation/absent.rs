//! The reason why there is no node: the path does not exist, or is something else. Also what the user probably meant.

use super::OperationError;
use super::document::{NODE_KEYS, has_documents, read_documents};
use crate::diagnostic::spelling::{alternatives, near};
use crate::metadata::NodeKind;
use crate::store::file::FIRST_BYTES;
use crate::store::{EntryKind, FileFormat, Node, StoreError, has_run_folder};

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

fn is_document(name: &str) -> bool {
    NODE_KEYS.contains(&name) || matches!(name, ".zattrs" | ".zmetadata")
}
