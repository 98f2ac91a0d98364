//! Arrays of a hierarchy that are coordinates of others, or are used in computations with them.

use std::collections::HashSet;
use std::iter::successors;

use crate::metadata::{ArrayMetadata, Json, Object};

/// An array or group in the search for coordinates.
pub(super) struct Member<'a> {
    /// The path, with its leading slash.
    pub path: &'a str,
    pub array: Option<&'a ArrayMetadata>,
    pub attributes: &'a Object,
}

/// Attributes that name other variables (CF conventions 3.4, 5, 7 and 8.4).
const NAMING: &str =
    "coordinates bounds climatology cell_measures ancillary_variables grid_mapping formula_terms quantization";

/// Attributes of the form `key: name key: name`. The keys are not names.
const WITH_KEYS: [&str; 2] = ["cell_measures", "formula_terms"];

/// Paths of coordinates, and of arrays for computations with others. They are not quantised or rounded by default.
pub(super) struct Coordinates(HashSet<String>);

impl Coordinates {
    /// Returns those of a hierarchy: 1-D arrays with the name of their dimension, and arrays that attributes name.
    pub(super) fn new(members: &[Member<'_>]) -> Self {
        let paths: HashSet<&str> = members.iter().map(|member| member.path).collect();
        let named = members.iter().flat_map(|member| named(member, |path| paths.contains(path)));
        let mut found: HashSet<String> = named.collect();
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

/// Returns the existing paths that a member's attributes name. A name is searched in the group of the member, and then
/// in those above it (CF conventions 2.7).
pub(super) fn named(member: &Member<'_>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let parent = member.path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let group = if member.array.is_some() { parent } else { member.path.trim_end_matches('/') };
    let of = |attribute: &str| {
        let names = member.attributes.get(attribute).and_then(Json::as_str).unwrap_or_default();
        let has_keys = WITH_KEYS.contains(&attribute);
        let names = names.split_whitespace().filter(move |name| !(has_keys && name.ends_with(':')));
        names.map(|name| name.trim_end_matches(':').to_owned()).collect::<Vec<_>>()
    };
    let find = |name: String| {
        let groups = successors(Some(group), |group| group.rsplit_once('/').map(|(above, _)| above));
        groups.map(|group| joined(group, &name)).find(|path| exists(path))
    };
    NAMING.split(' ').flat_map(of).filter_map(find).collect()
}

/// Returns the path of a name in a group. The name may be a path itself, from the root if it begins with a slash.
fn joined(group: &str, name: &str) -> String {
    let mut names: Vec<&str> = if name.starts_with('/') { Vec::new() } else { group.split('/').skip(1).collect() };
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(names.pop()),
            part => names.push(part),
        }
    }
    format!("/{}", names.join("/"))
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

/// True if an array is a scalar without data that describes other arrays: the map projection of a grid (CF conventions
/// 5.6), or how values were rounded. Writers omit its single chunk, which has the fill value.
pub(super) fn describes_others(array: &ArrayMetadata) -> bool {
    const GRID_MAPPING: [&str; 3] = ["grid_mapping_name", "crs_wkt", "spatial_ref"];
    let is_grid_mapping = GRID_MAPPING.iter().any(|name| array.attributes.contains(name));
    array.shape.is_empty() && (is_grid_mapping || describes_rounding(array))
}

/// True if an array is a scalar without data that describes how values were rounded (CF conventions 8.4).
pub(super) fn describes_rounding(array: &ArrayMetadata) -> bool {
    array.shape.is_empty() && ["algorithm", "implementation"].iter().all(|name| array.attributes.contains(name))
}
