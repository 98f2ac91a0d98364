//! Arrays of a hierarchy that say where the others lie, or are computed with them.

use std::collections::HashSet;

use crate::metadata::{ArrayMetadata, Json, Object};

/// An array or group, as the search for coordinates sees it.
pub(super) struct Member<'a> {
    /// With its leading slash.
    pub path: &'a str,
    pub array: Option<&'a ArrayMetadata>,
    /// Its attributes.
    pub attributes: &'a Object,
}

/// Attributes that name other variables (CF conventions 3.4, 5 and 7).
const NAMING: [&str; 7] =
    ["coordinates", "bounds", "climatology", "cell_measures", "ancillary_variables", "grid_mapping", "formula_terms"];

/// Attributes of the form `key: name key: name`. The keys are not names.
const WITH_KEYS: [&str; 2] = ["cell_measures", "formula_terms"];

/// Arrays that say where others lie or are computed with them, by their paths: they are not quantised or rounded unasked.
pub(super) struct Coordinates(HashSet<String>);

impl Coordinates {
    /// Those of a hierarchy: arrays of one dimension of their own name, and what attributes name.
    pub(super) fn of(members: &[Member<'_>]) -> Self {
        let mut found: HashSet<String> = members.iter().flat_map(named).collect();
        let own = members.iter().filter(|member| {
            let name = member.path.rsplit_once('/').map_or(member.path, |(_, name)| name);
            member.array.is_some_and(|array| is_of_its_own_dimension(array, member.attributes, name))
        });
        found.extend(own.map(|member| member.path.to_owned()));
        Coordinates(found)
    }

    /// True if an array is one of them.
    pub(super) fn contains(&self, path: &str) -> bool {
        self.0.contains(path)
    }
}

/// The paths that a member's attributes name, in the group that it stands in.
pub(super) fn named(member: &Member<'_>) -> Vec<String> {
    let parent = member.path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let group = if member.array.is_some() { parent } else { member.path.trim_end_matches('/') };
    let of = |attribute: &&str| {
        let names = member.attributes.get(attribute).and_then(Json::as_str).unwrap_or_default();
        let has_keys = WITH_KEYS.contains(attribute);
        let names = names.split_whitespace().filter(move |name| !(has_keys && name.ends_with(':')));
        names.map(|name| format!("{group}/{}", name.trim_end_matches(':'))).collect::<Vec<_>>()
    };
    NAMING.iter().flat_map(of).collect()
}

fn is_of_its_own_dimension(array: &ArrayMetadata, attributes: &Object, name: &str) -> bool {
    let in_v2 = attributes.get("_ARRAY_DIMENSIONS").and_then(Json::as_array);
    let is_own = match (&array.dimension_names, in_v2) {
        (Some(names), _) => names.first().is_some_and(|first| first.as_deref() == Some(name)),
        (None, Some(names)) => names.first().and_then(Json::as_str) == Some(name),
        (None, None) => false,
    };
    array.shape.len() == 1 && is_own
}
