//! Keys in their order, as files have them that are stores: what stands at a key, and what lies below one.

use std::ops::ControlFlow;

use super::entry::EntryKind;
use super::{Depth, Entry, Key};

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
    fn unnamed(&self) -> &[String];

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
