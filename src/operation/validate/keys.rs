//! Level `keys`: checks the content of a node's folder.

use std::ops::RangeInclusive;

use super::ValidateReport;
use crate::array::{Listing, Sizes, UnexpectedKey, UnexpectedKeyKind};
use crate::codec::{BoundChain, PerShape};
use crate::diagnostic::quantity::{count, counted};
use crate::diagnostic::{Diagnostic, code};
use crate::grid::Grid;
use crate::metadata::ArrayMetadata;
use crate::operation::coordinates::describes_others;
use crate::operation::hierarchy::HierarchyNode;
use crate::operation::{NodePath, OperationError};
use crate::pipeline::{BytesSize, Pipeline, Representation};
use crate::store::{Node, has_begun};

/// The maximum bytes of an array's object if its codecs set no limit: that of a file system.
const NO_BOUND: u64 = u64::MAX;

/// Returns the size limits of an array's objects, by chunk: in a rectilinear grid they depend on the shape. The pipeline
/// and the chain are those of the largest chunks.
pub(super) fn size_rules<'a>(
    grid: &'a Grid,
    pipeline: Option<&'a Pipeline>,
    chain: Option<&'a BoundChain>,
) -> impl Fn(&[u64]) -> RangeInclusive<u64> + Sync + 'a {
    let largest = size_rule(pipeline, chain);
    let of_shape = move |shape: &[u64]| {
        let pipeline = pipeline?;
        let pipeline = pipeline.for_shape(shape, &mut Vec::new());
        // A shape that cannot be bound has no limit of its chain.
        let chain = chain.and_then(|chain| chain.for_shape(shape).ok());
        Some(size_rule(Some(&pipeline), chain.as_deref()))
    };
    // Chunks of one shape share a rule. To make one, the chain is bound again.
    let by_shape = PerShape::default();
    move |chunk| {
        if grid.uniform().is_some() {
            return largest.clone();
        }
        let shape = grid.shape_of(chunk);
        let own = by_shape.get(&shape, || of_shape(&shape).ok_or(()));
        own.map_or_else(|()| largest.clone(), |rule| (*rule).clone())
    }
}

/// Returns the size limits of objects of this chain.
fn size_rule(pipeline: Option<&Pipeline>, chain: Option<&BoundChain>) -> RangeInclusive<u64> {
    if let Some(Representation::Bytes(BytesSize::Fixed(bytes))) = pipeline.and_then(Pipeline::output) {
        return bytes..=bytes;
    }
    // A chunk with elements has at least one byte, and a shard at least its index.
    let has_elements = pipeline.is_some_and(|pipeline| pipeline.input.num_elements() != Some(0));
    let least = pipeline.and_then(Pipeline::shard_index_bytes).unwrap_or(u64::from(has_elements));
    least..=chain.map_or(NO_BOUND, BoundChain::max_encoded_bytes)
}

/// Adds the findings about the keys of an array in their order, then those about absent chunks. `root` is the store.
pub(super) fn array(
    (node_path, root): (&NodePath, &Node),
    (metadata, unit, sizes): (&ArrayMetadata, &str, &Sizes<'_>),
    listing: &Listing,
    gathered: &mut ValidateReport,
) {
    for stray in &listing.strays {
        let key = node_path.key(&stray.key);
        if let UnexpectedKeyKind::Unread(chunk, why, Some(help)) = &stray.kind {
            let error = cannot_read(node_path, chunk, &key).because(why.as_str()).with_help(help);
            gathered.failures.push_chunk(node_path, key, error);
        } else if let Some(found) = stray_finding(stray, &key, root, Some(sizes)) {
            push(gathered, node_path.holds(found).at_key(key));
        }
    }
    gathered.failures.push_more_chunks(node_path);
    let total = metadata.num_chunks();
    gathered.note_absent(node_path, &listing.present, (metadata.grid.counts(), total));
    let absent = total.saturating_sub(listing.present.len());
    let is_expected = absent == total && describes_others(metadata);
    let found = if absent == 0 || is_expected {
        return;
    } else if absent == total {
        let none = match total {
            1 => format!("the only {unit} is not"),
            _ => format!("none of the {} {unit}s is", count(total)),
        };
        Diagnostic::new(code::CHUNKS_NONE, format!("{none} stored: every element reads as the fill value"))
            .with_help("if the array should have values, its chunks were lost or have other names")
    } else {
        let verbs = if absent == 1 { ["is", "reads"] } else { ["are", "read"] };
        let of = format!("{} of {} {unit}s", count(absent), count(total));
        let message = format!("{of} {} absent and {} as the fill value", verbs[0], verbs[1]);
        Diagnostic::new(code::CHUNKS_ABSENT, message)
    };
    gathered.findings.push(node_path.holds(found));
}

/// Returns the error for a chunk that cannot be read. Nothing is known of it.
pub(super) fn cannot_read(node_path: &NodePath, chunk: &[u64], key: &str) -> OperationError {
    OperationError::environment(format!("chunk {chunk:?} (`{key}`) of `{}` cannot be read", node_path.name()))
}

/// Adds a finding about a key. The content of a linked folder is not checked.
fn push(gathered: &mut ValidateReport, found: Diagnostic) {
    if found.is(code::LINK_TO_FOLDER) {
        gathered.leave_out("links to folders (not followed)", 1);
    }
    gathered.findings.push(found);
}

/// Adds the findings about entries of a group's folder that are not its members.
pub(super) fn group(node: &HierarchyNode, root: &Node, gathered: &mut ValidateReport) {
    let rest = &node.rest;
    let stray = |key: &String, kind| UnexpectedKey { key: key.clone(), kind };
    let mut strays: Vec<UnexpectedKey> = Vec::new();
    strays.extend(rest.files.iter().map(|key| stray(key, UnexpectedKeyKind::Unknown)));
    strays.extend(rest.folders.iter().map(|key| stray(key, UnexpectedKeyKind::Folder)));
    strays.extend(rest.links.iter().map(|key| stray(key, UnexpectedKeyKind::Link)));
    strays.extend(rest.others.iter().map(|(key, found)| stray(key, UnexpectedKeyKind::NotAFile(None, found))));
    strays.extend(rest.unnamed.iter().map(|key| stray(key, UnexpectedKeyKind::NotUtf8)));
    strays.sort_unstable();
    for stray in &strays {
        let link = || Diagnostic::new(code::KEY_UNKNOWN, "a link that belongs to no node");
        let found = stray_finding(stray, &stray.key, root, None).unwrap_or_else(link);
        push(gathered, node.node_path.holds(found).at_key(stray.key.clone()));
    }
}

/// Returns the finding about a key. `None` for a link to a file inside the store. `key` is relative to the store. Only
/// arrays have objects with sizes.
fn stray_finding(stray: &UnexpectedKey, key: &str, root: &Node, sizes: Option<&Sizes<'_>>) -> Option<Diagnostic> {
    let not_a_file;
    let (code, message, help) = match &stray.kind {
        UnexpectedKeyKind::Unknown if is_temporary(key) => {
            let message = "a temporary file of a writer that was interrupted";
            (code::KEY_TEMPORARY, message, "remove it when no program writes to the store")
        }
        UnexpectedKeyKind::Unknown => {
            let help = "readers ignore it: remove it, or correct the separator or shape of the array";
            (code::KEY_UNKNOWN, "the key belongs to no chunk and to no document", help)
        }
        UnexpectedKeyKind::Folder if is_temporary(key) => {
            let help = "its command with `--resume`, or `--finish` of a job in parts, removes it; or remove it by hand \
                when nobody writes there";
            (code::KEY_TEMPORARY, "a folder that a run of zarrcast left: readers ignore it", help)
        }
        UnexpectedKeyKind::Folder if root.child(key).is_ok_and(|node| matches!(has_begun(&node), Ok(true))) => {
            let help = "its command with `--resume`, or `--finish` of a job in parts, completes it";
            (code::KEY_TEMPORARY, "an unfinished run of zarrcast: readers ignore it", help)
        }
        UnexpectedKeyKind::Folder if sizes.is_some() => {
            let help = "move or remove it: an array contains no other nodes, and readers do not look there";
            (code::FOLDER_UNKNOWN, "a folder in an array that has none of its chunks", help)
        }
        UnexpectedKeyKind::Folder => {
            let help = "readers ignore it: remove it, or add the missing metadata";
            (code::FOLDER_UNKNOWN, "a folder without arrays, groups or chunks", help)
        }
        UnexpectedKeyKind::OutsideGrid(_) => {
            let help = "remove it, or correct the shape: readers will see it when the array grows";
            (code::KEY_OUTSIDE_GRID, "the chunk is outside of the grid: readers ignore it", help)
        }
        UnexpectedKeyKind::NotAFile(_, found) => {
            not_a_file = format!("expected a regular file, found {found}");
            (code::OBJECT_NOT_A_FILE, not_a_file.as_str(), "restore the object, or remove what was found")
        }
        UnexpectedKeyKind::NotUtf8 => {
            let message = "the name is not UTF-8 or not a path, so it is no key of a store";
            (code::KEY_NOT_UTF8, message, "rename or remove it")
        }
        UnexpectedKeyKind::Size(chunk, size) => {
            return Some(size_finding(*size, sizes?(chunk)).at_chunk(chunk.clone()));
        }
        UnexpectedKeyKind::Unread(_, why, _) => {
            (code::CHUNK_CORRUPT, why.as_str(), "restore the chunk from its source, or write it again")
        }
        UnexpectedKeyKind::Link => return link_finding(key, root),
    };
    let found = Diagnostic::new(code, message).with_help(help);
    Some(match &stray.kind {
        UnexpectedKeyKind::OutsideGrid(chunk)
        | UnexpectedKeyKind::NotAFile(Some(chunk), _)
        | UnexpectedKeyKind::Unread(chunk, ..) => found.at_chunk(chunk.clone()),
        _ => found,
    })
}

pub(super) fn size_finding(size: u64, sizes: RangeInclusive<u64>) -> Diagnostic {
    let (message, expected) = match sizes.into_inner() {
        (exact, most) if exact == most => {
            let what = if size < exact { "truncated" } else { "too long" };
            (format!("the object is {what}: expected {}, found {size}", counted(exact, "byte")), code::OBJECT_SIZE)
        }
        (least, _) if size < least && least > 1 => {
            (format!("the shard of {size} bytes is shorter than its index of {least}"), code::SHARD_TRUNCATED)
        }
        (least, _) if size < least => ("the object is empty: at least 1 byte expected".to_owned(), code::OBJECT_SIZE),
        (_, most) => {
            let message = format!("the object has {size} bytes; its codecs write at most {most}");
            (message, code::OBJECT_TOO_LARGE)
        }
    };
    Diagnostic::new(expected, message).with_help("restore the chunk from its source, or write it again")
}

/// Returns the finding about a link. `None` if it refers to a file inside the store.
fn link_finding(key: &str, root: &Node) -> Option<Diagnostic> {
    let target = root.link_target(key).ok().flatten();
    let (code, message) = match target {
        None => (code::LINK_LEADS_AWAY, "a broken link: readers treat the object as missing"),
        Some(target) if target.is_folder => {
            (code::LINK_TO_FOLDER, "a link to a folder is not followed: its content was not checked")
        }
        Some(target) if !target.is_inside => (
            code::LINK_LEADS_AWAY,
            "the target of the link is outside of the store: a copy of the store lacks the object",
        ),
        Some(_) => return None,
    };
    Some(Diagnostic::new(code, message).with_help("replace the link by its target"))
}

/// True if a name is one that writers use for unfinished files.
fn is_temporary(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    // zarr-python: NAME.UUID.partial; tensorstore: NAME.__lock; zarrcast: NAME.zarrcast-partial and .zarrcast.
    [".partial", ".__lock", ".zarrcast-partial", ".tmp"].iter().any(|end| name.ends_with(end))
        || name == ".zarrcast"
        || (name.starts_with('.') && name.ends_with(".zarrcast"))
}
