//! The variables that tell how arrays were rounded: one in each group of DEST that holds such arrays (CF conventions 8.4.1,
//! "Quantization variables").

use std::collections::HashMap;

use super::plan::CONTAINER;
use super::{NodeDocument, NodeDocuments, PlannedArray, SourceArray};
use crate::metadata::edit::set_member;
use crate::metadata::{Json, Object};

const ALGORITHM: &str = "algorithm";
const IMPLEMENTATION: &str = "implementation";

/// The method of rounding, in the word of the CF conventions.
const BITROUND: &str = "bitround";

/// Who does it, in the form that the conventions give: "software-name version version-string".
fn implementation() -> String {
    format!("zarrcast version {}", env!("CARGO_PKG_VERSION"))
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
        let is_free = |name: &str| taken.get(&format!("{group}/{name}")).is_none_or(|same| *same);
        if !is_free(CONTAINER) {
            let mut names = (2_u64..).map(|number| format!("{CONTAINER}_{number}"));
            array.container = names.find(|name| is_free(name)).unwrap_or_default();
        }
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
            found.entry(path).or_insert_with(|| document(array.plan.destination.draft.zarr_format));
        }
    }
    found
}

/// A variable without dimensions and without data.
fn document(zarr_format: u64) -> NodeDocuments {
    const V2: &str = r#"{"zarr_format":2,"shape":[],"chunks":[],"dtype":"|i1","compressor":null,"fill_value":0,
        "order":"C","filters":null}"#;
    const V3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[],"data_type":"int8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},
        "fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{},"dimension_names":[]}"#;
    let attributes = Object::new().with(ALGORITHM, BITROUND).with(IMPLEMENTATION, implementation().as_str());
    let node = |key: &str, json: Json| (key.to_owned(), NodeDocument::new(json));
    let array = |text: &str| Json::parse_str(text).unwrap_or(Json::Null);
    if zarr_format == 2 {
        let attributes = attributes.with("_ARRAY_DIMENSIONS", Json::Array(Vec::new()));
        return vec![node(".zattrs", attributes.into()), node(".zarray", array(V2))];
    }
    let mut array = array(V3);
    set_member(&mut array, "attributes", attributes);
    vec![node("zarr.json", array)]
}

/// The path of the group that an array is in; nothing for the root.
fn group_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(group, _)| group)
}
