//! Reference files: stores whose objects are parts of other files, as kerchunk writes them for `NetCDF` and HDF5.

mod document;
mod target;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use once_cell::sync::OnceCell;

use document::{Document, Reference};
use target::Targets;

use super::entry::EntryKind;
use super::memory::MemoryReader;
use super::object::{PartReader, part as slice};
use super::opened_once::get_or_open;
use super::sorted_keys::SortedKeys;
use super::{Depth, Key, Node, ObjectReader, Part, PrefetchLimit, RemoteOptions, Result, Store, StoreError, Visit};

/// Bytes that a reference file holds at most: about ten million references.
const MOST_BYTES: u64 = 1 << 30;

/// A reference file, which is an object of another store. Nothing is read before it is asked for.
///
/// A file that is something else has no objects; its own bytes are what stands at the root, so that it can be named for
/// what it is.
#[derive(Debug)]
pub struct ReferenceStore {
    /// The file.
    file: Node,
    name: String,
    /// The options by which its targets are reached.
    options: RemoteOptions,
    opened: OnceCell<Option<References>>,
}

#[derive(Debug)]
struct References {
    by_key: Vec<(Box<str>, Reference)>,
    unnamed: Vec<String>,
    targets: Targets,
}

impl References {
    fn find(&self, key: &str) -> Option<&Reference> {
        let place = self.by_key.binary_search_by(|(other, _)| (**other).cmp(key)).ok()?;
        self.by_key.get(place).map(|(_, reference)| reference)
    }
}

impl SortedKeys for References {
    fn keys_from<'s>(&'s self, text: &str) -> impl Iterator<Item = (&'s str, bool)> + use<'s> {
        let first = self.by_key.partition_point(|(key, _)| &**key < text);
        self.by_key[first..].iter().map(|(key, _)| (&**key, false))
    }

    fn unnamed(&self) -> &[String] {
        &self.unnamed
    }
}

impl ReferenceStore {
    /// The store that the reference file at a node's own place makes.
    pub fn new(file: Node, options: RemoteOptions) -> Self {
        let name = file.name();
        ReferenceStore { file, name, options, opened: OnceCell::new() }
    }

    /// The contents of the file; `None` where it is not there, or something else.
    fn opened(&self) -> Result<Option<&References>> {
        let opened = get_or_open(&self.opened, || {
            let mut bytes = Vec::new();
            if !self.file.store.read(&self.file.prefix, Part::Whole, MOST_BYTES, &mut bytes)? {
                return Ok(None);
            }
            let damaged = |reason| StoreError::Damaged { object: self.name.clone(), reason };
            let document = Document::parse(&bytes).map_err(damaged)?;
            Ok(Some(document.map(|Document { references, targets, unnamed }| {
                let targets = Targets::new(&self.file, targets, self.options.clone());
                References { by_key: references, unnamed, targets }
            })))
        })?;
        Ok(opened.and_then(Option::as_ref))
    }

    /// The reference of a key, and what opens targets.
    fn find(&self, key: &Key<'_>) -> Result<Option<(&Reference, &Targets)>> {
        let Some(opened) = self.opened()? else { return Ok(None) };
        match opened.find(key.as_str()) {
            Some(reference) => Ok(Some((reference, &opened.targets))),
            None if key.is_root() || opened.kind(key).is_some() => {
                Err(StoreError::NotAFile { object: self.shown(key), found: "a folder" })
            }
            None => Ok(None),
        }
    }

    /// The error of a target that is not there: its chunk is not absent, but lost.
    fn lost(&self, key: &Key<'_>, target: &Node) -> StoreError {
        let reason = format!("it points at `{}`, which is not there", target.name());
        StoreError::Damaged { object: self.shown(key), reason }
    }

    fn beyond_end(&self, key: &Key<'_>, target: &Node, found: u64, end: u64) -> StoreError {
        let reason = format!("it ends at byte {end} of `{}`, which has {found}", target.name());
        StoreError::Damaged { object: self.shown(key), reason }
    }
}

impl Store for ReferenceStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn read(&self, key: &Key<'_>, part: Part, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        into.clear();
        let name = || self.shown(key);
        let Some((reference, targets)) = self.find(key)? else { return Ok(false) };
        let (target, start, object_bytes) = match reference {
            Reference::Inline(bytes) => {
                let (offset, length) = part.of(bytes.len() as u64, most, name)?;
                into.extend_from_slice(slice(bytes, offset, length).unwrap_or_default());
                return Ok(true);
            }
            Reference::Target { place, part: None } => {
                let target = targets.get(*place, name)?;
                let is_there = target.store.read(&target.prefix, part, most, into)?;
                return if is_there { Ok(true) } else { Err(self.lost(key, target)) };
            }
            Reference::Target { place, part: Some((start, length)) } => (targets.get(*place, name)?, *start, *length),
        };
        let (offset, length) = part.of(object_bytes, most, name)?;
        let part = Part::Range { offset: start.saturating_add(offset), length };
        match target.store.read(&target.prefix, part, most, into) {
            Ok(true) => Ok(true),
            Ok(false) => Err(self.lost(key, target)),
            Err(error) => {
                // A file that was cut short is at fault itself, not the machine.
                let end = start.saturating_add(object_bytes);
                let found = target.store.size(&target.prefix).ok().flatten().filter(|found| *found < end);
                Err(found.map_or(error, |found| self.beyond_end(key, target, found, end)))
            }
        }
    }

    fn open(&self, key: &Key<'_>, most: u64) -> Result<Option<ObjectReader>> {
        if key.is_root() {
            // The file itself, so that it can be named for what it is.
            return self.file.store.open(&self.file.prefix, most);
        }
        let (target, part) = match self.find(key)? {
            None => return Ok(None),
            Some((Reference::Inline(bytes), _)) => {
                let (bytes, name) = (Arc::new(bytes.to_vec()), self.shown(key));
                return Ok(Some(Box::new(MemoryReader { bytes, name })));
            }
            Some((Reference::Target { place, part }, targets)) => (targets.get(*place, || self.shown(key))?, *part),
        };
        let reader = target.store.open(&target.prefix, u64::MAX)?.ok_or_else(|| self.lost(key, target))?;
        let Some((offset, length)) = part else { return Ok(Some(reader)) };
        let end = offset.saturating_add(length);
        if reader.length() < end {
            return Err(self.beyond_end(key, target, reader.length(), end));
        }
        Ok(Some(Box::new(PartReader { reader, offset, length })))
    }

    /// The size of a part is that in the file: its target is not looked at.
    fn size(&self, key: &Key<'_>) -> Result<Option<u64>> {
        let Some((reference, targets)) = self.find(key)? else { return Ok(None) };
        Ok(Some(match reference {
            Reference::Inline(bytes) => bytes.len() as u64,
            Reference::Target { part: Some((_, length)), .. } => *length,
            Reference::Target { place, part: None } => {
                let target = targets.get(*place, || self.shown(key))?;
                target.store.size(&target.prefix)?.ok_or_else(|| self.lost(key, target))?
            }
        }))
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
            opened.list(below, depth, each);
        }
        Ok(())
    }

    fn prefetch_limit(&self) -> Option<PrefetchLimit> {
        // Most files point at few stores.
        self.opened().ok()??.targets.get(0, String::new).ok()?.store.prefetch_limit()
    }

    fn prefetch(&self, soon: &[(Key<'_>, Part)]) {
        for (key, wanted) in soon {
            let Ok(Some((Reference::Target { place, part }, targets))) = self.find(key) else { continue };
            let Ok(target) = targets.get(*place, || self.shown(key)) else { continue };
            let wanted = part.map_or(*wanted, |(start, length)| {
                let (offset, length) = wanted.within(length);
                Part::Range { offset: start.saturating_add(offset), length }
            });
            target.store.prefetch(&[(target.prefix.clone(), wanted)]);
        }
    }

    fn identity(&self, below: &Key<'_>) -> Vec<u8> {
        [&self.file.identity()[..], b"|reference:", below.as_str().as_bytes()].concat()
    }

    fn targets(&self) -> Result<Vec<Node>> {
        Ok(self.opened()?.map(|opened| opened.targets.all()).unwrap_or_default())
    }

    fn container(&self) -> Option<&Node> {
        Some(&self.file)
    }
}
