//! The `zarr.json` of an array or a group, read member by member, so that a fault in one does not hide others.

pub use super::chunk_key::{ChunkGrid, MAX_RANK, num_elements};
use super::chunk_key::{read_chunk_grid, read_shape};
use super::extension::{Findings, MAX_FAULTS, read_codecs};
use super::json::{Json, Object, member_pointer};
use super::{ChunkKeyEncoding, CodecMetadata};
use crate::diagnostic::quantity::counted;
use crate::diagnostic::{Diagnostic, code};
use crate::grid::{Grid, PartOf, Region, zip_with};

/// The members of an array's document.
const MEMBERS: &str = "zarr_format node_type shape data_type chunk_grid chunk_key_encoding fill_value codecs \
    attributes dimension_names storage_transformers";

/// The readable members of an array's `zarr.json`, and all of its faults.
///
/// A member is `None` if it is missing or faulty, which a diagnostic reports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArrayDocument {
    /// Elements per dimension.
    pub shape: Option<Vec<u64>>,
    /// The data type, as written.
    pub data_type: Option<Json>,
    /// The grid. `None` also if the chunk shape does not fit the array.
    pub chunk_grid: Option<ChunkGrid>,
    pub chunk_key_encoding: Option<ChunkKeyEncoding>,
    /// The fill value, as written.
    pub fill_value: Option<Json>,
    /// The codecs that have a valid form. Their order and configurations are not checked.
    pub codecs: Option<Vec<CodecMetadata>>,
    /// The attributes, if there are any.
    pub attributes: Option<Object>,
    /// One name or null per dimension, if there are any.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The storage transformers. None is known, so each is an error unless it need not be understood.
    pub storage_transformers: Vec<Json>,
    /// Members that the specification does not define.
    pub unknown: Object,
    /// All faults, in the order of the specification's members.
    pub diagnostics: Vec<Diagnostic>,
}

/// The metadata of an array with no member missing and a grid that this program decodes.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayMetadata {
    /// Elements per dimension.
    pub shape: Vec<u64>,
    /// The data type, as written.
    pub data_type: Json,
    /// The chunk grid. Its chunks are the shards, if there are any.
    pub grid: Grid,
    pub chunk_key_encoding: ChunkKeyEncoding,
    /// The fill value, as written.
    pub fill_value: Json,
    /// Returns the codecs, in encode order.
    pub codecs: Vec<CodecMetadata>,
    /// The attributes. Empty if there are none.
    pub attributes: Object,
    /// One name or null per dimension, if there are any.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// Leading elements along each dimension that are skipped. All are 0, unless the array is part of another.
    pub skipped: Vec<u64>,
    /// The part of another array that this array is, for `--select`.
    pub part: Option<PartOf>,
}

impl ArrayDocument {
    /// Reads the members and collects faults in `diagnostics`.
    pub fn read(document: &Json) -> Self {
        let mut diagnostics = Vec::new();
        let found = &mut diagnostics;
        let Some(object) = read_object(document, found) else {
            return ArrayDocument { diagnostics, ..Self::default() };
        };
        read_head(object, "array", found);
        // The grid and the dimension names are checked against the shape, so it is read before them.
        let shape = required(object, "shape", found).and_then(|json| read_shape(json, found));
        let names = object.get("dimension_names");
        // The order of the faults is that of the members in the specification.
        ArrayDocument {
            data_type: required(object, "data_type", found).cloned(),
            chunk_grid: required(object, "chunk_grid", found)
                .and_then(|json| read_chunk_grid(json, shape.as_deref(), found)),
            chunk_key_encoding: required(object, "chunk_key_encoding", found)
                .and_then(|json| ChunkKeyEncoding::read(json, "/chunk_key_encoding", found)),
            fill_value: required(object, "fill_value", found).cloned(),
            codecs: required(object, "codecs", found).and_then(|json| read_codecs(json, "/codecs", found)),
            attributes: read_attributes(object, found),
            dimension_names: names.and_then(|json| read_names(json, shape.as_deref(), found)),
            storage_transformers: read_storage_transformers(object, found),
            unknown: read_unknown(document, MEMBERS, found),
            shape,
            diagnostics,
        }
    }

    /// Returns the metadata if no member is missing, although there may be other errors. `None` also for an unknown
    /// grid.
    pub fn metadata(&self) -> Option<ArrayMetadata> {
        let shape = self.shape.clone()?;
        Some(ArrayMetadata {
            grid: self.chunk_grid.as_ref()?.grid(&shape)?,
            skipped: vec![0; shape.len()],
            part: None,
            shape,
            data_type: self.data_type.clone()?,
            chunk_key_encoding: self.chunk_key_encoding.clone()?,
            fill_value: self.fill_value.clone()?,
            codecs: self.codecs.clone()?,
            attributes: self.attributes.clone().unwrap_or_default(),
            dimension_names: self.dimension_names.clone(),
        })
    }
}

fn read_names(json: &Json, shape: Option<&[u64]>, faults: &mut Vec<Diagnostic>) -> Option<Vec<Option<String>>> {
    let pointer = "/dimension_names";
    if json.is_null() {
        let message = "`dimension_names` is null; the specification requires that it is left out";
        return faults.refuse(code::DIMENSION_NAMES_NULL, pointer, message);
    }
    let Some(elements) = json.as_array() else {
        return faults.wrong_type(json, "an array of strings and nulls", pointer);
    };
    if let Some(shape) = shape
        && shape.len() != elements.len()
    {
        let message = format!("expected {}, found {}", counted(shape.len() as u64, "dimension name"), elements.len());
        return faults.refuse(code::DIMENSION_NAMES_LENGTH, pointer, message);
    }
    let name = |(index, element): (usize, &Json)| match element {
        Json::Null => Some(None),
        Json::String(name) => Some(Some(name.to_string())),
        other if faults.len() < MAX_FAULTS => {
            faults.wrong_type(other, "a string or null", &format!("{pointer}/{index}"))
        }
        _ => None,
    };
    // `collect` does not know how many elements pass the filter. It would grow the list step by step and need more
    // memory.
    let mut names = Vec::with_capacity(elements.len());
    names.extend(elements.iter().enumerate().filter_map(name));
    // A list with gaps would give names to the wrong dimensions.
    (names.len() == elements.len()).then_some(names)
}

fn read_storage_transformers(object: &Object, diagnostics: &mut Vec<Diagnostic>) -> Vec<Json> {
    let pointer = "/storage_transformers";
    match object.get("storage_transformers") {
        None => Vec::new(),
        Some(Json::Array(elements)) => {
            let is_optional = |element: &&Json| element.get("must_understand") == Some(&Json::Bool(false));
            let num_optional = elements.iter().filter(is_optional).count();
            let num_needed = elements.len() - num_optional;
            let optional = " with \"must_understand\": false, passed over since none is known";
            let found = [
                (code::STORAGE_TRANSFORMER, num_needed, "; none is known"),
                (code::STORAGE_TRANSFORMER_PASSED_OVER, num_optional, optional),
            ];
            for (code, count, what) in found.into_iter().filter(|(_, count, _)| *count > 0) {
                diagnostics.add(code, pointer, format!("{count} storage transformer(s){what}"));
            }
            elements.clone()
        }
        Some(other) => diagnostics.wrong_type(other, "an array", pointer).unwrap_or_default(),
    }
}

impl ArrayMetadata {
    /// Returns the number of chunks of the grid. There are no more than elements, whose number fits into 64 bits.
    pub fn num_chunks(&self) -> u64 {
        num_elements(&self.grid.counts()).unwrap_or(u64::MAX)
    }

    /// Returns the part of the array inside a box as an array. Its first elements are [`skipped`](Self::skipped) ones
    /// if a chunk begins before the box. The box has to be inside the array.
    #[must_use]
    pub fn part(&self, region: &Region) -> ArrayMetadata {
        let Region { start: first_chunk, shape: counts } = self.grid.chunks_in(region);
        let start = self.grid.start_of(&first_chunk);
        let skipped = region.offset_in(&start);
        let shape = zip_with(&skipped, &region.shape, |skipped, own| skipped + own);
        let grid = self.grid.part(&first_chunk, &counts, &shape);
        // A box without elements overlaps no chunk, so a count may be 0.
        let last = zip_with(&first_chunk, &counts, |first, count| first + count.saturating_sub(1));
        // The last chunk may end beyond the array. That padding belongs to no element, so it cuts nothing.
        let held = self.grid.region_of(&last).end().into_iter().zip(&self.shape);
        let cuts = held.zip(region.end()).map(|((end, whole), own)| own < end.min(*whole)).collect();
        let chunk_key_encoding = self.chunk_key_encoding.of_part(&first_chunk);
        let part = Some(PartOf { first_chunk, start, cuts });
        ArrayMetadata { shape, grid, chunk_key_encoding, skipped, part, ..self.clone() }
    }

    /// Returns the elements along each dimension, without skipped ones.
    pub fn taken_shape(&self) -> Vec<u64> {
        zip_with(&self.shape, &self.skipped, |length, skipped| length - skipped)
    }

    /// Returns the region of the whole array that is this part. `None` if this is a whole array.
    pub fn taken(&self) -> Option<Region> {
        let start = zip_with(&self.part.as_ref()?.start, &self.skipped, |start, skipped| start + skipped);
        Some(Region { start, shape: self.taken_shape() })
    }

    /// Returns the part as an array of its own, as after a copy of its chunks. Its grid is that of the chunks, whether
    /// elements are skipped or not.
    #[must_use]
    pub fn by_itself(&self) -> ArrayMetadata {
        let (counts, shape) = (self.grid.counts(), self.taken_shape());
        let grid = self.grid.part(&vec![0; shape.len()], &counts, &shape);
        let chunk_key_encoding = self.chunk_key_encoding.of_whole();
        ArrayMetadata { grid, chunk_key_encoding, skipped: vec![0; shape.len()], part: None, shape, ..self.clone() }
    }

    /// Returns true if elements are skipped. Its chunks are then not the chunks of the part by itself.
    pub fn skips(&self) -> bool {
        self.skipped.iter().any(|skipped| *skipped > 0)
    }

    /// Returns true if chunks contain elements of the whole array beyond the end of this part.
    pub fn is_cut(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.cuts.contains(&true))
    }

    /// Returns true if a box of chunks contains elements of the whole array beyond the end of this part.
    pub fn cuts(&self, region: &Region) -> bool {
        let Some(part) = &self.part else { return false };
        region.end().iter().zip(&self.shape).zip(&part.cuts).any(|((own, end), is_cut)| *is_cut && own > end)
    }
}

/// The members of a group's document, with zarr-python's `consolidated_metadata`.
const GROUP_MEMBERS: &str = "zarr_format node_type attributes consolidated_metadata";

/// The kind of a node, from its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// `"node_type": "array"`.
    Array,
    /// `"node_type": "group"`.
    Group,
    /// No `node_type`, or any other.
    Unknown,
}

/// Returns the kind of node in a v3 document.
pub fn node_kind(document: &Json) -> NodeKind {
    match document.get("node_type").and_then(Json::as_str) {
        Some("array") => NodeKind::Array,
        Some("group") => NodeKind::Group,
        _ => NodeKind::Unknown,
    }
}

/// The readable members of a group's `zarr.json`, and all of its faults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupDocument {
    /// The attributes, if there are any.
    pub attributes: Option<Object>,
    /// The consolidated metadata as written (zarr-python's convention), if there is any.
    pub consolidated_metadata: Option<Json>,
    /// Members that the specification does not define.
    pub unknown: Object,
    /// All faults.
    pub diagnostics: Vec<Diagnostic>,
}

impl GroupDocument {
    /// Reads the members and collects faults in `diagnostics`.
    pub fn read(document: &Json) -> Self {
        let mut diagnostics = Vec::new();
        let Some(object) = read_object(document, &mut diagnostics) else {
            return GroupDocument { diagnostics, ..Self::default() };
        };
        read_head(object, "group", &mut diagnostics);
        let attributes = read_attributes(object, &mut diagnostics);
        let consolidated_metadata = object.get("consolidated_metadata").cloned();
        let unknown = read_unknown(document, GROUP_MEMBERS, &mut diagnostics);
        GroupDocument { attributes, consolidated_metadata, unknown, diagnostics }
    }
}

/// Returns the members of a document. Reports it if it is not an object.
pub(super) fn read_object<'a>(document: &'a Json, diagnostics: &mut Vec<Diagnostic>) -> Option<&'a Object> {
    document.as_object().or_else(|| diagnostics.wrong_type(document, "an object", ""))
}

/// Checks `zarr_format` and `node_type`.
pub(super) fn read_head(object: &Object, node_type: &str, diagnostics: &mut Vec<Diagnostic>) {
    read_format(object, 3, diagnostics);
    if let Some(json) = required(object, "node_type", diagnostics)
        && json.as_str() != Some(node_type)
    {
        diagnostics.unexpected::<()>(code::NODE_TYPE, json, &format!("{node_type:?}"), "/node_type");
    }
}

/// Checks `zarr_format`.
pub(super) fn read_format(object: &Object, version: u64, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(json) = required(object, "zarr_format", diagnostics)
        && json.as_u64() != Some(version)
    {
        diagnostics.unexpected::<()>(code::ZARR_FORMAT, json, &version.to_string(), "/zarr_format");
    }
}

/// Returns a required member. Reports it if it is missing.
pub(super) fn required<'a>(object: &'a Object, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<&'a Json> {
    object.get(name).or_else(|| diagnostics.refuse(code::MEMBER_MISSING, "", format!("`{name}` is missing")))
}

/// Returns the attributes. Reports them if they are not an object.
pub(super) fn read_attributes(object: &Object, diagnostics: &mut Vec<Diagnostic>) -> Option<Object> {
    match object.get("attributes")? {
        Json::Object(attributes) => Some(attributes.clone()),
        other => diagnostics.wrong_type(other, "an object", "/attributes"),
    }
}

/// Returns at most `MAX_FAULTS` members that are not `known`, a list with spaces between. Each is a fault, unless it is
/// an object with `"must_understand": false`. Also reports repeated names anywhere in the document.
pub(super) fn read_unknown(document: &Json, known: &str, diagnostics: &mut Vec<Diagnostic>) -> Object {
    let unknown = document.as_object().into_iter().flat_map(Object::iter);
    let unknown = unknown.filter(|(name, _)| known.split(' ').all(|known| known != *name)).take(MAX_FAULTS);
    let unknown: Object = unknown.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    let must_understand = |value: &Json| value.get("must_understand") != Some(&Json::Bool(false));
    for (name, _) in unknown.iter().filter(|(_, value)| must_understand(value)) {
        let message = format!("unknown member {}", Json::from(name).excerpt());
        let help = "what may be ignored is an object with \"must_understand\": false; attributes go into `attributes`";
        diagnostics.advise(code::MEMBER_UNKNOWN, member_pointer("", name), message, help);
    }
    read_repeated(document, false, diagnostics);
    unknown
}

/// Reports repeated names anywhere in a document. The document may be attributes alone.
pub(super) fn read_repeated(document: &Json, is_attributes: bool, diagnostics: &mut Vec<Diagnostic>) {
    for pointer in document.duplicates(MAX_FAULTS) {
        let (code, message) = if is_attributes || pointer.starts_with("/attributes/") {
            (code::ATTRIBUTE_REPEATED, "a name is repeated in the attributes: readers keep only the last")
        } else {
            (code::MEMBER_REPEATED, "a member is given more than once: the last is taken")
        };
        diagnostics.add(code, pointer, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::array::ArrayDocument;
    use crate::metadata::json::Json;

    fn array(shape: &str, grid: &str) -> ArrayMetadata {
        let text = format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":{shape},"data_type":"uint8","chunk_grid":{grid},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
        );
        ArrayDocument::read(&Json::parse_str(&text).unwrap()).metadata().unwrap()
    }

    fn region(start: [u64; 2], shape: [u64; 2]) -> Region {
        Region { start: start.to_vec(), shape: shape.to_vec() }
    }

    #[test]
    fn part_has_the_chunks_that_overlap_it_under_their_own_keys() {
        let whole = array("[10,10]", r#"{"name":"regular","configuration":{"chunk_shape":[4,3]}}"#);
        assert!(!whole.skips() && !whole.is_cut() && whole.taken_shape() == [10, 10]);
        let part = whole.part(&region([5, 3], [5, 4]));
        assert_eq!((part.shape.as_slice(), part.skipped.as_slice()), ([6, 4].as_slice(), [1, 0].as_slice()));
        assert_eq!((part.taken_shape(), part.grid.counts()), (vec![5, 4], vec![2, 2]));
        let keys: Vec<String> = [[0, 0], [1, 1]].iter().map(|chunk| part.chunk_key_encoding.key(chunk)).collect();
        assert_eq!(keys, ["c/1/1", "c/2/2"]);
        assert_eq!(part.chunk_key_encoding.linear_index("c/2/2", &[2, 2]), Some(3));
        assert_eq!(part.chunk_key_encoding.chunk_indices("c/2/2", 2), Some(vec![1, 1]));
        let wide = [1 << 40, 1 << 40, 0];
        assert_eq!(part.chunk_key_encoding.linear_index("c/1099511627775/1099511627775/0", &wide), None);
        for outside in ["c/0/1", "c/1/0", "c/3/1", "c/1/3"] {
            assert_eq!(part.chunk_key_encoding.linear_index(outside, &[2, 2]), None, "{outside}");
        }
        let of = part.part.as_ref().unwrap();
        assert_eq!((of.start.as_slice(), of.cuts.as_slice()), ([4, 3].as_slice(), [false, true].as_slice()));
        // Along the first dimension the part ends at the end of the array. Along the second it cuts a chunk.
        assert!(part.skips() && part.is_cut());
        assert!(!part.cuts(&region([4, 0], [4, 3])) && part.cuts(&region([0, 3], [4, 3])));
    }

    #[test]
    fn part_of_whole_chunks_cuts_none() {
        let whole = array("[10,10]", r#"{"name":"regular","configuration":{"chunk_shape":[4,3]}}"#);
        let part = whole.part(&region([4, 6], [4, 4]));
        assert!(!part.skips() && !part.is_cut());
        assert_eq!(part.grid.counts(), [1, 2]);
    }

    #[test]
    fn part_of_chunks_of_several_lengths_has_those() {
        let grid = r#"{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[2,3,5],[[5,2]]]}}"#;
        let whole = array("[10,10]", grid);
        let part = whole.part(&region([3, 5], [5, 5]));
        assert_eq!(part.grid.counts(), [2, 1]);
        let shapes: Vec<Vec<u64>> =
            [[0, 0], [1, 0]].iter().map(|chunk| part.grid.shape_of(chunk).into_owned()).collect();
        assert_eq!(shapes, [[3, 5], [5, 5]]);
        assert_eq!((part.skipped.as_slice(), part.is_cut()), ([1, 0].as_slice(), true));
    }
}
