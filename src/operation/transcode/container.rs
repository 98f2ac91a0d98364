//! The variables that tell how arrays were rounded: one in each group of DEST that holds such arrays (CF conventions 8.4.1,
//! "Quantization variables").

use std::collections::HashMap;

use super::format::consolidate::{NodeDocument, NodeDocuments};
use super::planning::PlannedArray;
use super::selection::SourceArray;
use crate::metadata::json::{Json, Object};

/// Its name, where nothing else has it.
const NAME: &str = "quantization_info";

const ALGORITHM: &str = "algorithm";
const IMPLEMENTATION: &str = "implementation";

/// How values are rounded: a word of the conventions.
const BITROUND: &str = "bitround";

/// Who does it, in the form that the conventions give: "software-name version version-string".
fn implementation() -> String {
    format!("zarrcast version {}", env!("CARGO_PKG_VERSION"))
}

/// The name for an array that has no group.
pub(super) fn default_name() -> String {
    NAME.to_owned()
}

/// Gives each array that is rounded the name of the variable in its group: one that says the same, else a new one.
pub(super) fn name(arrays: &mut [SourceArray], groups: &[String]) {
    let says_the_same = |array: &SourceArray| {
        let attributes = &array.opened.metadata.attributes;
        let says = |name: &str, text: &str| attributes.get(name).and_then(Json::as_str) == Some(text);
        says(ALGORITHM, BITROUND) && says(IMPLEMENTATION, &implementation())
    };
    let taken: HashMap<String, bool> = arrays
        .iter()
        .map(|array| (array.path.clone(), says_the_same(array)))
        .chain(groups.iter().map(|path| (path.clone(), false)))
        .collect();
    for array in arrays.iter_mut().filter(|array| array.change.keep_bits.is_some()) {
        let group = group_of(&array.path);
        let names = (1_u64..).map(|number| match number {
            1 => NAME.to_owned(),
            _ => format!("{NAME}_{number}"),
        });
        let is_free = |name: &String| taken.get(&format!("{group}/{name}")).is_none_or(|same| *same);
        array.container = names.into_iter().find(is_free).unwrap_or_else(default_name);
    }
}

/// The documents of the variables that are not there yet, by their paths.
pub(super) fn documents(
    arrays: &[PlannedArray],
    written: &HashMap<&str, NodeDocuments>,
) -> HashMap<String, NodeDocuments> {
    let mut found = HashMap::new();
    for array in arrays {
        let Some(rounding) = &array.plan.rounding else { continue };
        let path = format!("{}/{}", group_of(&array.path), rounding.container);
        if !written.contains_key(path.as_str()) {
            found.entry(path).or_insert_with(|| document(array.plan.destination.zarr_format));
        }
    }
    found
}

/// A variable without dimensions and without data.
fn document(zarr_format: u64) -> NodeDocuments {
    let empty = || Json::Array(Vec::new());
    let attributes = Object::new().with(ALGORITHM, BITROUND).with(IMPLEMENTATION, implementation().as_str());
    let node = |key: &str, json: Object| (key.to_owned(), NodeDocument::new(json.into()));
    if zarr_format == 2 {
        let array = Object::new()
            .with("zarr_format", 2_u64)
            .with("shape", empty())
            .with("chunks", empty())
            .with("dtype", "|i1")
            .with("compressor", Json::Null)
            .with("fill_value", 0_u64)
            .with("order", "C")
            .with("filters", Json::Null);
        return vec![node(".zattrs", attributes.with("_ARRAY_DIMENSIONS", empty())), node(".zarray", array)];
    }
    let named = |name: &str, configuration: Object| {
        Json::Object(Object::new().with("name", name).with("configuration", configuration))
    };
    let array = Object::new()
        .with("zarr_format", 3_u64)
        .with("node_type", "array")
        .with("shape", empty())
        .with("data_type", "int8")
        .with("chunk_grid", named("regular", Object::new().with("chunk_shape", empty())))
        .with("chunk_key_encoding", named("default", Object::new().with("separator", "/")))
        .with("fill_value", 0_u64)
        .with("codecs", Json::Array(vec![Json::Object(Object::new().with("name", "bytes"))]))
        .with("attributes", attributes)
        .with("dimension_names", empty());
    vec![node("zarr.json", array)]
}

/// The path of the group that an array is in; nothing for the root.
fn group_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(group, _)| group)
}
