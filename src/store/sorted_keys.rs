//! Keys in their order, as files have them that are stores: what stands at a key, and what lies below one.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::entry::EntryKind;
use super::{Depth, Entry, Key, Tree};

/// The keys of a file that is a store.
pub(super) trait SortedKeys {
    /// The key at a place; `None` behind the last.
    fn key(&self, place: usize) -> Option<&str>;

    /// The place of the first key that is not less than a text.
    fn first_from(&self, text: &str) -> usize;

    /// Whether the key at a place is that of a folder, which may be empty.
    fn is_folder(&self, _place: usize) -> bool {
        false
    }

    /// Names that are no keys, as well as they can be shown.
    fn unnamed(&self) -> &[String] {
        &[]
    }

    /// The place of a key.
    fn place_of(&self, key: &str) -> Option<usize> {
        Some(self.first_from(key)).filter(|place| self.key(*place) == Some(key))
    }

    /// Whether anything lies below a key.
    fn holds_below(&self, folder: &str) -> bool {
        let prefix = format!("{folder}/");
        self.key(self.first_from(&prefix)).is_some_and(|first| first.starts_with(&prefix))
    }

    /// What stands at a key.
    fn kind(&self, key: &Key<'_>) -> Option<EntryKind> {
        if key.is_root() {
            return Some(EntryKind::Folder);
        }
        match self.place_of(key.as_str()) {
            Some(place) if !self.is_folder(place) => Some(EntryKind::File),
            Some(_) => Some(EntryKind::Folder),
            None => self.holds_below(key.as_str()).then_some(EntryKind::Folder),
        }
    }

    /// Gives what lies below a key to `each`, until that breaks off.
    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) {
        let prefix = if below.is_root() { String::new() } else { format!("{}/", below.as_str()) };
        if below.is_root() {
            for name in self.unnamed() {
                if each(Entry::new(name, EntryKind::Unnamed)).is_break() {
                    return;
                }
            }
        }
        let mut place = self.first_from(&prefix);
        while let Some(key) = self.key(place) {
            let Some(name) = key.strip_prefix(&prefix) else { return };
            let is_folder = self.is_folder(place);
            place += 1;
            let entry = match name.split_once('/').filter(|_| depth == Depth::Folder) {
                Some((folder, _)) => {
                    // `0` follows `/`: behind all that lies in the folder.
                    place = self.first_from(&format!("{prefix}{folder}0"));
                    Entry::new(folder, EntryKind::Folder)
                }
                // One that holds something is found by that.
                None if is_folder && (depth == Depth::All || self.holds_below(key)) => continue,
                None if is_folder => Entry::new(name, EntryKind::Folder),
                None => Entry::new(name, EntryKind::File),
            };
            if each(entry).is_break() {
                return;
            }
        }
    }
}

impl<T: AsRef<str>> SortedKeys for Vec<T> {
    fn key(&self, place: usize) -> Option<&str> {
        self.get(place).map(AsRef::as_ref)
    }

    fn first_from(&self, text: &str) -> usize {
        self.partition_point(|key| key.as_ref() < text)
    }
}

/// Whether a key lies below another.
pub(super) fn is_below(key: &str, folder: &str) -> bool {
    folder.is_empty() || key.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The keys of a map below another key, without it.
pub(super) fn keys_below<V>(map: &BTreeMap<String, V>, folder: &Key<'_>) -> Vec<String> {
    let start = if folder.is_root() { 0 } else { folder.as_str().len() + 1 };
    let below = map.range(folder.as_str().to_owned()..).map(|(key, _)| key);
    // Between a folder and what lies in it there may be others: `a`, `a.b`, `a/b`.
    let below = below.take_while(|key| key.starts_with(folder.as_str()));
    below.filter(|key| is_below(key, folder.as_str())).map(|key| key[start..].to_owned()).collect()
}

/// What stands at a key of a map.
pub(super) fn kind_in<V>(map: &BTreeMap<String, V>, key: &Key<'_>) -> Option<EntryKind> {
    if map.contains_key(key.as_str()) {
        return Some(EntryKind::File);
    }
    let prefix = if key.is_root() { String::new() } else { format!("{}/", key.as_str()) };
    let first = map.range(prefix.clone()..).next();
    first.is_some_and(|(first, _)| first.starts_with(&prefix)).then_some(EntryKind::Folder)
}

/// Removes the objects of a map at or below a key; whether there were any.
pub(super) fn remove_from<V>(map: &mut BTreeMap<String, V>, key: &Key<'_>, what: Tree<'_>) -> bool {
    let key = key.as_str();
    if what == Tree::Object {
        return map.remove(key).is_some();
    }
    let before = map.len();
    let is_kept = |name: &str| matches!(what, Tree::AllBut(kept) if is_below(name, kept.as_str()));
    map.retain(|name, _| is_kept(name) || !is_below(name, key));
    map.len() < before
}
