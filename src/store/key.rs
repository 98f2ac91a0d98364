//! Names of objects in a store.

use std::borrow::Cow;

use super::{Result, StoreError};

/// Maximum length of a key in bytes: that of a file path on Linux.
pub const MAX_KEY_BYTES: usize = 4096;

/// Key of an object or a folder in a store: names joined by `/`. The store itself has the empty key.
///
/// A key is checked once, when it is created. No name in it is empty, `.` or `..`, or contains a control character. So
/// a key never leaves the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key<'a>(Cow<'a, str>);

impl<'a> Key<'a> {
    /// Key of the store itself.
    pub const ROOT: Key<'static> = Key(Cow::Borrowed(""));

    /// Creates a key. Fails if the text is empty or not a valid key.
    pub fn new(text: &'a str) -> Result<Self> {
        if is_inside(text) { Ok(Key(Cow::Borrowed(text))) } else { Err(outside(text)) }
    }

    /// Creates a key without a check, from a text that is known at compile time.
    pub(crate) const fn known(text: &'static str) -> Key<'static> {
        Key(Cow::Borrowed(text))
    }

    /// Appends `text` to this key.
    pub fn join<'t>(&self, text: &'t str) -> Result<Key<'t>> {
        if self.is_root() {
            return Key::new(text);
        }
        // `>=` counts the slash between the two.
        if !is_inside(text) || self.0.len() + text.len() >= MAX_KEY_BYTES {
            return Err(outside(text));
        }
        Ok(Key(Cow::Owned([&*self.0, "/", text].concat())))
    }

    /// Appends another key to this one.
    #[must_use]
    pub fn below(&self, key: &Key<'_>) -> Key<'static> {
        let separator = if self.is_root() || key.is_root() { "" } else { "/" };
        Key(Cow::Owned([&*self.0, separator, &*key.0].concat()))
    }

    /// Returns the parent key and the last name, or `None` for the store itself.
    pub fn split_last(&self) -> Option<(Key<'_>, &str)> {
        if self.is_root() {
            return None;
        }
        Some(match self.0.rsplit_once('/') {
            Some((parent, name)) => (Key(Cow::Borrowed(parent)), name),
            None => (Key::ROOT, &self.0),
        })
    }

    /// Returns the prefix of the keys below this one.
    pub(super) fn prefix(&self) -> String {
        if self.is_root() { String::new() } else { format!("{}/", self.0) }
    }

    /// Returns true for the key of the store itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the key as an owned value.
    pub fn into_owned(self) -> Key<'static> {
        Key(Cow::Owned(self.0.into_owned()))
    }
}

fn is_inside(text: &str) -> bool {
    text.len() <= MAX_KEY_BYTES
        && !text.chars().any(char::is_control)
        && text.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

fn outside(text: &str) -> StoreError {
    StoreError::Key(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_never_leads_out_of_its_store() {
        for text in ["", "/", "a/", "/a", "a//b", ".", "..", "a/../b", "a/.", "a\0", &"a".repeat(5000)] {
            assert!(Key::new(text).is_err(), "{text}");
            assert!(Key::new("x").unwrap().join(text).is_err(), "{text}");
        }
        for text in ["a", "a/b", "...", ".a", "c/0/0", "a b"] {
            assert_eq!(Key::new(text).unwrap().as_str(), text);
        }
        let long = "a".repeat(4000);
        assert!(Key::new(&long).unwrap().join(&long).is_err());
    }

    #[test]
    fn keys_are_joined_and_taken_apart() {
        let (a, b) = (Key::new("a").unwrap(), Key::ROOT.join("a/b").unwrap());
        assert_eq!(a.join("b").unwrap(), b);
        assert_eq!(b.split_last(), Some((a.clone(), "b")));
        assert_eq!(a.split_last(), Some((Key::ROOT, "a")));
        assert_eq!(Key::ROOT.split_last(), None);
    }
}
