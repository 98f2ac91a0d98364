//! `--only`: some arrays of a hierarchy, with what they need.

use std::collections::HashSet;

use crate::operation::coordinates::{Member, named};
use crate::operation::open::OpenedArray;
use crate::operation::pattern::PathPattern;

/// The paths of the arrays that patterns take, of their coordinates, of what their CF attributes name, and of the groups
/// above.
pub(super) fn kept<'a>(
    patterns: &[PathPattern],
    arrays: impl Iterator<Item = (&'a str, &'a OpenedArray)>,
) -> HashSet<String> {
    let arrays: Vec<(&str, &OpenedArray)> = arrays.collect();
    let is_asked = |path: &str| patterns.iter().any(|pattern| pattern.matches(path));
    let mut waiting: Vec<&(&str, &OpenedArray)> = arrays.iter().filter(|(path, _)| is_asked(path)).collect();
    let mut kept = HashSet::from(["/".to_owned()]);
    while let Some((path, array)) = waiting.pop() {
        if !kept.insert((*path).to_owned()) {
            continue;
        }
        kept.extend(path.match_indices('/').skip(1).map(|(end, _)| path[..end].to_owned()));
        let needed = needed(path, array);
        waiting.extend(arrays.iter().filter(|(path, _)| needed.contains(*path)));
    }
    kept
}

/// The paths that an array's attributes name, and those that coordinates of its dimensions may have: beside it, or in a
/// group above.
fn needed(path: &str, array: &OpenedArray) -> HashSet<String> {
    let (metadata, attributes) = (&array.metadata, &array.metadata.attributes);
    let mut needed: HashSet<String> =
        named(&Member { path, array: Some(metadata), attributes }).into_iter().collect();
    let dimensions: Vec<&str> =
        metadata.dimension_names.iter().flatten().flatten().map(String::as_str).collect();
    for (end, _) in path.match_indices('/') {
        needed.extend(dimensions.iter().map(|name| format!("{}/{name}", &path[..end])));
    }
    needed
}
