//! Which arrays of a hierarchy say where the others lie, and with what they are computed.

use std::collections::HashSet;

use crate::metadata::array::ArrayMetadata;
use crate::metadata::json::{Json, Object};

/// What the search for coordinates looks at.
pub(super) struct Member<'a> {
    /// With its leading slash.
    pub path: &'a str,
    /// Of the array; of a group, none.
    pub array: Option<&'a ArrayMetadata>,
    /// Its attributes.
    pub attributes: &'a Object,
}

/// Arrays that say where the others lie, by their paths.
pub(super) struct Coordinates {
    /// Arrays of one dimension of their own name, and what the attributes `coordinates`, `bounds`, `climatology` and
    /// `grid_mapping` of a group and its arrays name (CF conventions 5 and 7.1).
    located: HashSet<String>,
    /// What `formula_terms` and `cell_measures` name: with the others, what must not be rounded (CF conventions 8.4).
    computed_with: HashSet<String>,
}

impl Coordinates {
    /// Those of a hierarchy.
    pub(super) fn of(members: &[Member<'_>]) -> Self {
        let mut located = named(members, &["coordinates", "bounds", "climatology", "grid_mapping"]);
        let own = members.iter().filter(|member| {
            let name = member.path.rsplit_once('/').map_or(member.path, |(_, name)| name);
            member.array.is_some_and(|array| is_of_its_own_dimension(array, member.attributes, name))
        });
        located.extend(own.map(|member| member.path.to_owned()));
        Coordinates { located, computed_with: named(members, &["formula_terms", "cell_measures"]) }
    }

    /// Whether an array says where others lie.
    pub(super) fn locates(&self, path: &str) -> bool {
        self.located.contains(path)
    }

    /// Whether the domain is described or computed with an array.
    pub(super) fn of_domain(&self, path: &str) -> bool {
        self.located.contains(path) || self.computed_with.contains(path)
    }
}

/// What attributes name in the group that they stand in.
fn named(members: &[Member<'_>], attributes: &[&str]) -> HashSet<String> {
    let mut found = HashSet::new();
    for member in members {
        let parent = member.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let group = if member.array.is_some() { parent } else { member.path.trim_end_matches('/') };
        for attribute in attributes {
            let named = member.attributes.get(attribute).and_then(Json::as_str).unwrap_or_default();
            found.extend(
                named.split_whitespace().map(|name| format!("{group}/{}", name.trim_end_matches(':'))),
            );
        }
    }
    found
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
