//! Objects: members in their order, repeated names included.

use std::collections::HashSet;

use super::Json;

/// The members of an object in their order, repeated names included.
///
/// Where a name is repeated, the last member counts, as for every reader.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object {
    members: Vec<(String, Json)>,
}

impl Object {
    /// No members.
    pub const fn new() -> Self {
        Object { members: Vec::new() }
    }

    /// Members, repeated ones included.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members in their order, repeated ones included.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.members.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The names in their order, repeated ones included.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(name, _)| name.as_str())
    }

    /// The last member of this name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.members.iter().rev().find(|member| member.0 == name).map(|member| &member.1)
    }

    /// The last member of this name, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        self.members.iter_mut().rev().find(|member| member.0 == name).map(|member| &mut member.1)
    }

    /// Whether there is a member of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Replaces the last member of this name in its place and drops the others; appends where there is none.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        let name = name.into();
        let Some(last) = self.members.iter().rposition(|member| member.0 == name) else {
            self.members.push((name, value.into()));
            return;
        };
        self.members[last].1 = value.into();
        let mut index = 0;
        self.members.retain(|member| {
            let keep = member.0 != name || index == last;
            index += 1;
            keep
        });
    }

    /// Appends a member, whether or not the name is there: for what was read.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        self.members.push((name.into(), value.into()));
    }

    /// The same object with one more member: `Object::new().with("endian", "little")`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Json>) -> Self {
        self.insert(name, value);
        self
    }

    /// Removes every member of this name; the last of them.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let mut removed = None;
        let mut kept = Vec::with_capacity(self.members.len());
        for (member, value) in std::mem::take(&mut self.members) {
            if member == name {
                removed = Some(value);
            } else {
                kept.push((member, value));
            }
        }
        self.members = kept;
        removed
    }

    /// The names that are given more than once, each once.
    pub fn duplicates(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let mut reported = HashSet::new();
        self.names().filter(|name| !seen.insert(*name) && reported.insert(*name)).collect()
    }

    /// Whether two objects mean the same: see [`Json::same_value`].
    pub fn same_value(&self, other: &Object) -> bool {
        let contains = |a: &Object, b: &Object| {
            let last: std::collections::HashMap<&str, &Json> = b.iter().collect();
            let own: std::collections::HashMap<&str, &Json> = a.iter().collect();
            own.iter().all(|(name, value)| last.get(name).is_some_and(|other| value.same_value(other)))
                && own.len() == last.len()
        };
        contains(self, other)
    }
}

impl FromIterator<(String, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Self {
        Object { members: members.into_iter().collect() }
    }
}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<(String, Json)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}
