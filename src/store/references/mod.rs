//! Reference files: stores whose objects are parts of other files. Kerchunk writes them for `NetCDF` and HDF5.

mod document;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use once_cell::sync::OnceCell;

use super::location::without_secrets;
use super::{
    Depth, EntryKind, Key, Location, MemoryReader, Node, ObjectReader, Part, PartReader, PrefetchLimit, RemoteError,
    RemoteOptions, Result, SortedKeys, Store, StoreError, Visit, file, get_or_open, part as slice,
};
use document::{Document, Reference, Refusal};

/// Most bytes of a reference file: about ten million references.
const MOST_BYTES: u64 = 1 << 30;

/// Reference file in another store. It is read at the first access.
///
/// A file of another kind has no objects. Its own bytes are at the root, so that its format can be reported.
pub struct ReferenceStore {
    file: Node,
    name: String,
    /// Options for the targets. They also allow local files outside of the folder of the reference file.
    options: RemoteOptions,
    opened: OnceCell<Option<Document>>,
}

impl SortedKeys for Document {
    fn keys_from<'s>(&'s self, text: &str) -> impl Iterator<Item = (&'s str, EntryKind)> + use<'s> {
        let first = self.references.partition_point(|(key, _)| &**key < text);
        self.references[first..].iter().map(|(key, _)| (&**key, EntryKind::File))
    }

    fn unnamed(&self) -> &[String] {
        &self.unnamed
    }
}

impl ReferenceStore {
    /// Creates the store of the reference file `file`.
    pub fn new(file: Node, options: RemoteOptions) -> Self {
        let name = file.name();
        ReferenceStore { file, name, options, opened: OnceCell::new() }
    }

    /// Returns the contents of the file, or `None` if it is missing or of another kind.
    fn opened(&self) -> Result<Option<&Document>> {
        let opened = get_or_open(&self.opened, || {
            let mut bytes = Vec::new();
            if !self.file.store.read(&self.file.prefix, Part::Whole, MOST_BYTES, &mut bytes)? {
                return Ok(None);
            }
            let damaged = |reason| StoreError::Damaged { object: self.name.clone(), reason };
            Document::parse(&bytes).map(Some).map_err(damaged)
        })?;
        Ok(opened.and_then(Option::as_ref))
    }

    /// Returns the reference of a key, and the contents of the file.
    fn find(&self, key: &Key<'_>) -> Result<Option<(&Reference, &Document)>> {
        let Some(document) = self.opened()? else { return Ok(None) };
        match document.references.binary_search_by(|(other, _)| (**other).cmp(key.as_str())) {
            Ok(index) => Ok(Some((&document.references[index].1, document))),
            Err(_) if key.is_root() || document.kind(key).is_some() => {
                Err(StoreError::NotAFile { object: self.shown(key), found: "a folder" })
            }
            Err(_) => Ok(None),
        }
    }

    fn damaged(&self, key: &Key<'_>, reason: String) -> StoreError {
        StoreError::Damaged { object: self.shown(key), reason }
    }

    /// Returns the error for a missing target. Its chunk is not absent but lost.
    fn lost(&self, key: &Key<'_>, target: &Node) -> StoreError {
        self.damaged(key, format!("it points at `{}`, which is not there", target.name()))
    }

    fn beyond_end(&self, key: &Key<'_>, target: &Node, found: u64, end: u64) -> StoreError {
        self.damaged(key, format!("it ends at byte {end} of `{}`, which has {found}", target.name()))
    }
}

/// Returns a part of a part of a target. The author of the file chooses the numbers. A sum that is too large ends beyond
/// every target, which is an error.
fn part_of(part: Part, (start, bytes): (u64, u64)) -> Part {
    let (offset, length) = part.within(bytes);
    Part::Range { offset: start.saturating_add(offset), length }
}

impl Store for ReferenceStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn read(&self, key: &Key<'_>, part: Part, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        into.clear();
        let name = || self.shown(key);
        let (target, wanted, end) = match self.find(key)? {
            None => return Ok(false),
            Some((Reference::Inline(bytes), _)) => {
                let (offset, length) = part.of(bytes.len() as u64, most, name)?;
                into.extend_from_slice(slice(bytes, offset, length).unwrap_or_default());
                return Ok(true);
            }
            Some((Reference::Target { index, part: None }, document)) => {
                (self.target(document, *index, key)?, part, None)
            }
            Some((Reference::Target { index, part: Some(range) }, document)) => {
                let target = self.target(document, *index, key)?;
                part.of(range.1, most, name)?;
                (target, part_of(part, *range), Some(range.0.saturating_add(range.1)))
            }
        };
        match (target.store.read(&target.prefix, wanted, most, into), end) {
            (Ok(true), _) => Ok(true),
            (Ok(false), _) => Err(self.lost(key, target)),
            (Err(error), None) => Err(error),
            (Err(error), Some(end)) => {
                // A truncated file is a fault of the data, not of the machine.
                let found = target.store.size(&target.prefix).ok().flatten().filter(|found| *found < end);
                Err(found.map_or(error, |found| self.beyond_end(key, target, found, end)))
            }
        }
    }

    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>> {
        if key.is_root() {
            // The bytes of the file itself, so that its format can be reported.
            return self.file.store.open(&self.file.prefix, most);
        }
        let (target, part) = match self.find(key)? {
            None => return Ok(None),
            Some((Reference::Inline(bytes), _)) => {
                let (bytes, name) = (Arc::new(bytes.to_vec()), self.shown(key));
                return Ok(Some(Box::new(MemoryReader { bytes, name })));
            }
            Some((Reference::Target { index, part }, document)) => (self.target(document, *index, key)?, *part),
        };
        // The limit of a chunk does not apply to its target, which is a whole file.
        let reader = target.store.open(&target.prefix, u64::MAX)?.ok_or_else(|| self.lost(key, target))?;
        let Some((offset, length)) = part else { return Ok(Some(reader)) };
        let end = offset.saturating_add(length);
        if reader.length() < end {
            return Err(self.beyond_end(key, target, reader.length(), end));
        }
        Ok(Some(Box::new(PartReader { reader, offset, length })))
    }

    /// Returns the size of an object. That of a part comes from the reference, without access to the target.
    fn size(&self, key: &Key<'_>) -> Result<Option<u64>> {
        Ok(match self.find(key)? {
            None => None,
            Some((Reference::Inline(bytes), _)) => Some(bytes.len() as u64),
            Some((Reference::Target { part: Some((_, length)), .. }, _)) => Some(*length),
            Some((Reference::Target { index, .. }, document)) => {
                let target = self.target(document, *index, key)?;
                Some(target.store.size(&target.prefix)?.ok_or_else(|| self.lost(key, target))?)
            }
        })
    }

    fn kind(&self, key: &Key<'_>) -> Result<Option<EntryKind>> {
        match self.opened()? {
            Some(_) if key.is_root() => Ok(Some(EntryKind::Folder)),
            Some(opened) => Ok(opened.kind(key)),
            None if key.is_root() => self.file.kind_behind_links(),
            None => Ok(None),
        }
    }

    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) -> Result<()> {
        if let Some(opened) = self.opened()? {
            let _ = opened.entries(below, depth).try_for_each(each);
        }
        Ok(())
    }

    fn prefetch_limit(&self) -> Option<PrefetchLimit> {
        // Most reference files point into few stores, so the store of the first target that is read decides.
        let document = self.opened().ok()??;
        let mut indices = 0..document.targets.len();
        indices.find_map(|index| self.target(document, index, &Key::ROOT).ok())?.store.prefetch_limit()
    }

    fn prefetch(&self, soon: &[(Key<'_>, Part)]) {
        for (key, wanted) in soon {
            let Ok(Some((Reference::Target { index, part }, document))) = self.find(key) else { continue };
            let Ok(target) = self.target(document, *index, key) else { continue };
            let wanted = part.map_or(*wanted, |part| part_of(*wanted, part));
            target.store.prefetch(&[(target.prefix.clone(), wanted)]);
        }
    }

    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        [&self.file.identity()[..], b"|reference:", below.as_str().as_bytes()].concat()
    }

    fn targets(&self) -> Result<Vec<Node>> {
        let Some(document) = self.opened()? else { return Ok(Vec::new()) };
        let indices = 0..document.targets.len();
        Ok(indices.filter_map(|index| self.target(document, index, &Key::ROOT).ok().cloned()).collect())
    }

    fn container(&self) -> Option<&Node> {
        Some(&self.file)
    }
}

/// Targets of the references. Each is opened once.
impl ReferenceStore {
    /// Returns the object of a target. `key` is that of its reference, for messages. A target that may not be read is an
    /// error of this key alone.
    fn target<'d>(&self, document: &'d Document, index: usize, key: &Key<'_>) -> Result<&'d Node> {
        let (text, node) = &document.targets[index];
        let open = || {
            // Many references name parts of one file. Parts of two versions must not be mixed.
            self.open_target(text).inspect(Node::keep_version)
        };
        node.get_or_init(open).as_ref().map_err(|(why, help)| {
            let (object, why, help) = (self.shown(key), why.clone(), (*help).to_owned());
            let refused = RemoteError { action: "read", object, why, help, is_refused: true, ..RemoteError::default() };
            StoreError::remote(refused)
        })
    }

    /// Opens the object of a path or URL.
    fn open_target(&self, text: &str) -> Result<Node, Refusal> {
        let path = if text.contains("://") {
            let no_location = |error| (format!("it points at `{}`: {error}", without_secrets(text)), CORRECT);
            let location = Location::parse(text).map_err(no_location)?;
            let object = location.with_options(&self.options).object();
            match object.local_path() {
                Some(path) => path,
                None => return Ok(object),
            }
        } else {
            PathBuf::from(text)
        };
        let folder = self.file.parent();
        if let Some(local) = folder.as_ref().and_then(Node::local_path) {
            return self.local(text, &local, &path);
        }
        match &folder {
            // Relative to the reference file, in a bucket or on a web server.
            Some(folder) if path.is_relative() => {
                let outside = || (format!("it points at `{text}`, which is outside of its store"), CORRECT);
                relative_to(folder, text).ok_or_else(outside)
            }
            _ if self.options.allows_file_references => Ok(Node::new(&path)),
            _ => Err(outside(text)),
        }
    }

    /// Returns a local file for a reference file in a local folder.
    fn local(&self, text: &str, folder: &Path, path: &Path) -> Result<Node, Refusal> {
        let path = folder.join(path);
        if self.options.allows_file_references {
            return Ok(Node::new(path));
        }
        // A name in the folder may be a link to the outside. A missing file is reported when it is read.
        let around = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        // `is_inside` does not resolve `..` after a missing name, so a missing path with `..` is refused.
        let goes_up = path.components().any(|part| part == std::path::Component::ParentDir);
        let is_inside = file::is_inside(&path, around) && (path.exists() || !goes_up);
        if is_inside { Ok(Node::new(path)) } else { Err(outside(text)) }
    }
}

/// Next step if no option allows a target.
const CORRECT: &str = "correct the reference file";

fn outside(text: &str) -> Refusal {
    let why = format!("it points at `{text}`, a local file outside the folder of the reference file");
    (why, "`--allow-file-references` reads such files, too")
}

/// Resolves a relative path with `..` from a folder. Returns `None` if it leaves the bucket, web server or archive.
fn relative_to(folder: &Node, path: &str) -> Option<Node> {
    path.split('/').try_fold(folder.clone(), |node, name| match name {
        "" | "." => Some(node),
        // An archive is not left. But each folder of a web server is a store.
        ".." if node.prefix == Key::ROOT && node.store.network().is_none() => None,
        ".." => node.parent(),
        name => node.child(name).ok(),
    })
}
