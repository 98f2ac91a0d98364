//! The variables that document how arrays were rounded. Each group of DEST with such arrays has one (CF conventions
//! 8.4.1, "Quantization variables").

use std::collections::{BTreeMap, HashMap};

use super::plan::CONTAINER;
use super::{NodeDocument, NodeDocuments, Plan, SourceArray};
use crate::metadata::{Json, Object, edit};
use crate::operation::GroupReading;

const ALGORITHM: &str = "algorithm";
const IMPLEMENTATION: &str = "implementation";

/// The name of the rounding method in the CF conventions.
const BITROUND: &str = "bitround";

/// Returns the software in the form of the conventions: "software-name version version-string".
const ZARRCAST: &str = concat!("zarrcast version ", env!("CARGO_PKG_VERSION"));

/// Sets the name of the variable for each rounded array. It is an existing one in its group with the same content, or a
/// new one.
pub(super) fn name(arrays: &mut [SourceArray], groups: &[GroupReading]) {
    let says_the_same = |array: &SourceArray| {
        let attributes = &array.opened.metadata.attributes;
        let says = |name: &str, text: &str| attributes.get(name).and_then(Json::as_str) == Some(text);
        says(ALGORITHM, BITROUND) && says(IMPLEMENTATION, ZARRCAST)
    };
    let of_arrays = arrays.iter().map(|array| (array.path.clone(), says_the_same(array)));
    let of_groups = groups.iter().map(|group| (group.place.path.clone(), false));
    let taken: HashMap<String, bool> = of_arrays.chain(of_groups).collect();
    for array in arrays.iter_mut().filter(|array| array.change.keep_bits.is_some()) {
        let group = group_of(&array.path);
        let is_free = |name: &str| taken.get(&format!("{group}/{name}")).is_none_or(|same| *same);
        if !is_free(CONTAINER) {
            let mut names = (2_u64..).map(|number| format!("{CONTAINER}_{number}"));
            array.container = names.find(|name| is_free(name)).unwrap_or_default();
        }
    }
}

/// Adds the documents of the variables that are not there yet to those of the nodes, by their paths.
pub(super) fn add_documents(arrays: &[Plan], nodes: &mut BTreeMap<String, NodeDocuments>) {
    for plan in arrays {
        let Some(rounding) = &plan.changed.rounding else { continue };
        let path = format!("{}/{}", group_of(&plan.path), rounding.container);
        nodes.entry(path).or_insert_with(|| document(plan.destination.draft.zarr_format));
    }
}

/// Returns a variable without dimensions and without data.
fn document(zarr_format: u64) -> NodeDocuments {
    const V2: &str = r#"{"zarr_format":2,"shape":[],"chunks":[],"dtype":"|i1","compressor":null,"fill_value":0,
        "order":"C","filters":null}"#;
    const V3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[],"data_type":"int8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},
        "fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{},"dimension_names":[]}"#;
    let attributes = Object::new().with(ALGORITHM, BITROUND).with(IMPLEMENTATION, ZARRCAST);
    let node = |key: &str, json: Json| (key.to_owned(), NodeDocument::new(json));
    let array = |text: &str| Json::parse_str(text).unwrap_or(Json::Null);
    if zarr_format == 2 {
        let attributes = attributes.with("_ARRAY_DIMENSIONS", Json::Array(Vec::new()));
        return vec![node(".zattrs", attributes.into()), node(".zarray", array(V2))];
    }
    let mut array = array(V3);
    edit::set_member(&mut array, "attributes", attributes);
    vec![node("zarr.json", array)]
}

/// Returns the path of the group of an array. Empty for the root.
pub(super) fn group_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(group, _)| group)
}
