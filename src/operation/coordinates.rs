//! Arrays of a hierarchy that are coordinates of others, or are used in computations with them.

use std::collections::HashSet;
use std::iter::successors;

use crate::metadata::{ArrayMetadata, Json, Object};

/// An array or group in the search for coordinates: its path with a leading slash, the array, and the attributes.
pub(super) type Member<'a> = (&'a str, Option<&'a ArrayMetadata>, &'a Object);

/// Attributes that name other variables (CF conventions 3.4, 5, 7 and 8.4).
const NAMING: &str =
    "coordinates bounds climatology cell_measures ancillary_variables grid_mapping formula_terms quantization";

/// Attributes of the form `key: name key: name`. The keys are not names.
const WITH_KEYS: [&str; 2] = ["cell_measures", "formula_terms"];

/// Returns the paths of the coordinates of a hierarchy, and of arrays for computations with others: 1-D arrays with the
/// name of their dimension, and arrays that attributes name. They are not quantised or rounded by default.
pub(super) fn find(members: &[Member<'_>]) -> HashSet<String> {
    let paths: HashSet<&str> = members.iter().map(|(path, ..)| *path).collect();
    let named = members.iter().flat_map(|member| named(member, |path| paths.contains(path)));
    let mut found: HashSet<String> = named.collect();
    let own = members.iter().filter(|(path, array, _)| {
        let name = path.rsplit_once('/').map_or(*path, |(_, name)| name);
        array.is_some_and(|array| is_of_its_own_dimension(array, name))
    });
    found.extend(own.map(|(path, ..)| (*path).to_owned()));
    found
}

/// Returns the existing paths that a member's attributes name. A name is searched in the group of the member, and then
/// in those above it (CF conventions 2.7).
pub(super) fn named((path, array, attributes): &Member<'_>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let group = if array.is_some() { parent } else { path.trim_end_matches('/') };
    let of = |attribute: &str| {
        let names = attributes.get(attribute).and_then(Json::as_str).unwrap_or_default();
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

fn is_of_its_own_dimension(array: &ArrayMetadata, name: &str) -> bool {
    let in_v2 = array.attributes.get("_ARRAY_DIMENSIONS").and_then(Json::as_array);
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
