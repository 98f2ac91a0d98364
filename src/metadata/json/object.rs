//! Objects: members in order, including repeated names.

use std::collections::HashMap;
use std::sync::Arc;

use super::Json;

/// The members of an object in order, including repeated names.
///
/// The last member of a repeated name counts, as for every reader. A clone shares the members until either side
/// changes. So parts of a document are passed on without a second copy.
#[derive(Debug, Clone, Default)]
pub struct Object {
    /// `None` if there are no members.
    members: Option<Arc<Vec<(String, Json)>>>,
}

impl Object {
    /// Makes an object without members.
    pub const fn new() -> Self {
        Object { members: None }
    }

    fn members(&self) -> &[(String, Json)] {
        self.members.as_ref().map_or(&[], |members| members.as_slice())
    }

    fn members_mut(&mut self) -> &mut Vec<(String, Json)> {
        Arc::make_mut(self.members.get_or_insert_default())
    }

    /// Returns the number of members, including repeated ones.
    pub fn len(&self) -> usize {
        self.members().len()
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.members().is_empty()
    }

    /// Returns the members in order, including repeated ones.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.members().iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the names in order, including repeated ones.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members().iter().map(|(name, _)| name.as_str())
    }

    /// Returns the last member of this name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.members().iter().rev().find(|member| member.0 == name).map(|member| &member.1)
    }

    /// Returns the last member of this name, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        let last = self.members().iter().rposition(|member| member.0 == name)?;
        Some(&mut self.members_mut()[last].1)
    }

    /// Returns a member for messages, or "nothing" if there is none of this name.
    pub(crate) fn excerpt(&self, name: &str) -> String {
        self.get(name).map_or_else(|| "nothing".to_owned(), Json::excerpt)
    }

    /// Returns the names that are not `known`, including repeated ones.
    pub(crate) fn unknown_names(&self, known: &[&str]) -> impl Iterator<Item = &str> {
        self.names().filter(|name| !known.contains(name))
    }

    /// Returns true if there is a member of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Replaces the last member of this name at its position and removes the others. Appends it if there is none.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        let name = name.into();
        let members = self.members_mut();
        let Some(last) = members.iter().rposition(|member| member.0 == name) else {
            members.push((name, value.into()));
            return;
        };
        let kept = members.split_off(last + 1);
        members.retain(|member| member.0 != name);
        members.push((name, value.into()));
        members.extend(kept);
    }

    /// Appends a member even if the name exists, for parsed documents.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        self.members_mut().push((name.into(), value.into()));
    }

    /// Returns the object with one more member: `Object::new().with("endian", "little")`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Json>) -> Self {
        self.insert(name, value);
        self
    }

    /// Removes all members of this name, and returns the last of them.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let removed = self.get(name).cloned()?;
        self.members_mut().retain(|member| member.0 != name);
        Some(removed)
    }

    /// Returns the repeated names, each once, sorted.
    pub fn duplicates(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.names().collect();
        names.sort_unstable();
        names.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).map(|same| same[0]).collect()
    }

    /// Returns true if two objects mean the same, see [`Json::same_value`].
    pub fn same_value(&self, other: &Object) -> bool {
        // Copies are mostly equal literally.
        if self == other {
            return true;
        }
        // The maps keep the last member of a repeated name. They also keep the comparison linear in time.
        let [own, others] = [self, other].map(|object| object.iter().collect::<HashMap<_, _>>());
        let is_same = |(name, value): (&&str, &&Json)| others.get(name).is_some_and(|it| value.same_value(it));
        own.len() == others.len() && own.iter().all(is_same)
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        // Clones share their members. Equality is then known without a visit of the whole tree.
        let are_shared = |(a, b): (&Arc<_>, &Arc<_>)| Arc::ptr_eq(a, b);
        self.members.as_ref().zip(other.members.as_ref()).is_some_and(are_shared) || self.members() == other.members()
    }
}

impl FromIterator<(String, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Self {
        let mut members: Vec<_> = members.into_iter().collect();
        // `collect` may reuse the memory of its source with all the capacity, and members live as long as the document.
        members.shrink_to_fit();
        Object { members: (!members.is_empty()).then(|| Arc::new(members)) }
    }
}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<(String, Json)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.map(Arc::unwrap_or_clone).unwrap_or_default().into_iter()
    }
}
