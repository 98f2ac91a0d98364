//! Keys in their order, as stores that are files or memory have them: what stands at a key, and what lies below one.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use super::entry::EntryKind;
use super::{Depth, Entry, Key, Tree, Visit};

/// The keys of a store.
pub(super) trait SortedKeys {
    /// The keys that are not less than a text, and whether each is that of a folder, which may be empty.
    fn keys_from<'s>(&'s self, text: &str) -> impl Iterator<Item = (&'s str, bool)> + use<'s, Self>;

    /// Names that are no keys, as well as they can be shown.
    fn unnamed(&self) -> &[String] {
        &[]
    }

    /// True if anything lies below a key; `""`: the root.
    fn holds_below(&self, folder: &str) -> bool {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        self.keys_from(&prefix).next().is_some_and(|(first, _)| first.starts_with(&prefix))
    }

    /// The kind of what stands at a key; at the root a folder, if there is any key.
    fn kind(&self, key: &Key<'_>) -> Option<EntryKind> {
        match self.keys_from(key.as_str()).next() {
            Some((first, false)) if first == key.as_str() => Some(EntryKind::File),
            Some((first, true)) if first == key.as_str() => Some(EntryKind::Folder),
            _ => self.holds_below(key.as_str()).then_some(EntryKind::Folder),
        }
    }

    /// Gives what lies below a key to `each`, until that breaks off.
    fn list(&self, below: &Key<'_>, depth: Depth, each: &mut Visit<'_>) {
        let prefix = below.prefix();
        for name in self.unnamed().iter().filter(|_| below.is_root()) {
            if each(Entry::new(name, EntryKind::Unnamed)).is_break() {
                return;
            }
        }
        let mut keys = self.keys_from(&prefix);
        while let Some((key, is_folder)) = keys.next() {
            let Some(name) = key.strip_prefix(&prefix) else { return };
            let entry = match name.split_once('/').filter(|_| depth == Depth::Folder) {
                Some((folder, _)) => {
                    // `0` follows `/`: behind all that lies in the folder.
                    keys = self.keys_from(&format!("{prefix}{folder}0"));
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

    /// A copy of the entries below a key, for stores that are not locked while others see them.
    fn entries(&self, below: &Key<'_>, depth: Depth) -> Vec<(String, EntryKind)> {
        let mut found = Vec::new();
        self.list(below, depth, &mut |entry| {
            found.push((entry.name.to_owned(), entry.kind));
            ControlFlow::Continue(())
        });
        found
    }
}

impl<V> SortedKeys for BTreeMap<String, V> {
    fn keys_from<'s>(&'s self, text: &str) -> impl Iterator<Item = (&'s str, bool)> + use<'s, V> {
        let from = (Bound::Included(text), Bound::Unbounded);
        self.range::<str, _>(from).map(|(key, _)| (key.as_str(), false))
    }
}

/// True if a key lies below another.
pub(super) fn is_below(key: &str, folder: &str) -> bool {
    folder.is_empty() || key.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
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
