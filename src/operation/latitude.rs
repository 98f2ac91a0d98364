//! The way up of pictures: rows of latitudes that rise are drawn from the bottom to the top.

use super::document::{Place, read_documents};
use super::numbers::CfNumbers;
use super::open::{OpenedArray, opened, read_array_of};
use super::options::CfOptions;
use super::slice::{Slice, SliceReader};
use super::stored::side;
use crate::engine::driver::Driver;
use crate::engine::fold::Fold;
use crate::engine::progress::Silent;
use crate::metadata::json::Json;

/// Bytes that may be needed to read a coordinate: of a larger one the order is not known.
const MOST_BYTES: u64 = 16 << 20;

/// Units of latitudes (CF conventions 4.1).
const UNITS: [&str; 6] = ["degrees_north", "degree_north", "degree_N", "degrees_N", "degreeN", "degreesN"];

/// True if the rows of a slice are latitudes from south to north, by the coordinate of their dimension.
pub(super) fn is_upside_down(source: &OpenedArray, slice: &Slice, driver: &Driver) -> bool {
    let rows = slice.sides[0].dimension.and_then(|dimension| latitudes(source, dimension, driver));
    rows.is_some_and(|rows| rows.is_sorted_by(|south, north| south < north))
}

/// Two latitudes along a dimension in its order; `None` if it has no coordinate array, or one of something else.
fn latitudes(source: &OpenedArray, dimension: usize, driver: &Driver) -> Option<Vec<f64>> {
    let name = source.metadata.dimension_names.as_ref()?.get(dimension)?.as_deref()?;
    let node = source.node.parent()?.child(name).ok()?;
    let documents = read_documents(&node).ok()??;
    let place = Place { store: node.name(), path: "/".to_owned() };
    let coordinate = opened(read_array_of(place, node, documents)).ok()?;
    let attribute = |name| coordinate.metadata.attributes.get(name).and_then(Json::as_str);
    let is_latitude = attribute("standard_name") == Some("latitude")
        || attribute("units").is_some_and(|units| UNITS.contains(&units));
    let (node, metadata) = (coordinate.node.clone(), coordinate.metadata.clone());
    let array = side(node, metadata, &coordinate.pipeline, &coordinate.store, 0, false).ok()?;
    let is_small = array.reading_bytes() <= MOST_BYTES;
    if !(is_latitude && is_small && array.metadata.shape.len() == 1 && array.metadata.shape[0] > 1) {
        return None;
    }
    let numbers = CfNumbers::of(&coordinate, &CfOptions { missing: None, unpacks: true }).ok()??;
    let slice = Slice::in_middle(&array.metadata.shape, &[&array], 2)?;
    let reader = SliceReader::new(&slice, &coordinate, &numbers);
    let fold = Fold { array: &array, driver, progress: &Silent };
    let read = fold.run_over(&slice.objects(&array), "latitudes", &reader).ok()?;
    Some(reader.values(&read.part))
}
