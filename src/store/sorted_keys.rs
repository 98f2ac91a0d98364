//! Common code for stores with sorted keys: kinds and listings of entries, and lazy opening of a file.

use std::collections::BTreeMap;
use std::iter::from_fn;
use std::ops::Bound;

use once_cell::sync::OnceCell;

use super::{Depth, Entry, EntryKind, Key, Result, Tree};

/// Sorted keys of a store.
pub(super) trait SortedKeys {
    /// Returns the keys from `text` on, each of a file or of a folder, which may be empty.
    fn keys_from<'s>(&'s self, text: &str) -> impl Iterator<Item = (&'s str, EntryKind)> + use<'s, Self>;

    /// Returns the names that are not keys, in a printable form.
    fn unnamed(&self) -> &[String] {
        &[]
    }

    /// Returns true if there is a key below `folder`. `""` is the root.
    fn holds_below(&self, folder: &str) -> bool {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        self.keys_from(&prefix).next().is_some_and(|(first, _)| first.starts_with(&prefix))
    }

    /// Returns the kind of the entry at a key. The root is a folder if there is any key.
    fn kind(&self, key: &Key<'_>) -> Option<EntryKind> {
        match self.keys_from(key.as_str()).next() {
            Some((first, kind)) if first == key.as_str() => Some(kind),
            // A key such as `a-b` sorts between `a` and `a/b`, so the first key does not show whether `a` is a folder.
            _ => self.holds_below(key.as_str()).then_some(EntryKind::Folder),
        }
    }

    /// Returns the entries below a key.
    fn entries<'s>(&'s self, below: &Key<'_>, depth: Depth) -> impl Iterator<Item = Entry<'s>> + use<'s, Self> {
        let prefix = below.prefix();
        // A name that is not a key belongs to no folder, so all of them are listed at the root.
        let unnamed = if below.is_root() { self.unnamed() } else { &[] };
        let mut keys = self.keys_from(&prefix);
        let named = from_fn(move || {
            loop {
                let (key, kind) = keys.next()?;
                let name = key.strip_prefix(&prefix)?;
                if let Some((folder, _)) = name.split_once('/').filter(|_| depth == Depth::Folder) {
                    // `0` is the character after `/`, so this skips everything in the folder.
                    keys = self.keys_from(&format!("{prefix}{folder}0"));
                    return Some(Entry::new(folder, EntryKind::Folder));
                }
                // A folder with contents is listed through them.
                if kind == EntryKind::File || (depth == Depth::Folder && !self.holds_below(key)) {
                    return Some(Entry::new(name, kind));
                }
            }
        });
        unnamed.iter().map(|name| Entry::new(name, EntryKind::Unnamed)).chain(named)
    }

    /// Returns a copy of the entries below a key. Callers with a lock can then release it before they use the entries.
    fn copied_entries(&self, below: &Key<'_>, depth: Depth) -> Vec<(String, EntryKind)> {
        self.entries(below, depth).map(|entry| (entry.name.to_owned(), entry.kind)).collect()
    }
}

impl<V> SortedKeys for BTreeMap<String, V> {
    fn keys_from<'s>(&'s self, text: &str) -> impl Iterator<Item = (&'s str, EntryKind)> + use<'s, V> {
        self.range::<str, _>((Bound::Included(text), Bound::Unbounded)).map(|(key, _)| (key.as_str(), EntryKind::File))
    }
}

/// Returns true if a key is below another one.
pub(super) fn is_below(key: &str, folder: &str) -> bool {
    folder.is_empty() || key.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Removes the objects of a map at or below a key. Returns false if there were none.
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

/// Returns the opened value, or opens it. Only one thread opens at a time. Errors and `None` are not cached.
pub(super) fn get_or_open<T>(opened: &OnceCell<T>, open: impl FnOnce() -> Result<Option<T>>) -> Result<Option<&T>> {
    match opened.get_or_try_init(|| open().map_err(Some)?.ok_or(None)) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) => error.map_or(Ok(None), Err),
    }
}
