//! The documents of Zarr v2: `.zarray`, `.zgroup`, `.zattrs`, converted to the form of v3 and back.
//!
//! Codecs, data type, key encoding and fill value have the form of `zarr.json`. So no other module needs to know two
//! formats. Pointers are those of the v2 document. Specification:
//! <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html>.

mod chain;
mod dtype;

use super::array::{read_format, read_object, read_repeated, required};
use super::chunk_key::{read_chunk_shape, read_shape};
use super::extension::{Findings, MAX_FAULTS};
use super::json::{Json, Object, member_pointer};
use super::{ArrayDocument, ChunkKeyEncoding, CodecMetadata, Separator};
use crate::data_type::{ByteSwap, DataType};
use crate::diagnostic::{Diagnostic, code};
pub use chain::{V2Chain, with_little_endian_types, write_codecs};
use dtype::{Dtype, read_fill_value, tensorstore_finding};
pub use dtype::{read_type_string, write_dtype, write_fill_value};

/// A member that v2 cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Zarr v2 cannot express {what}")]
pub struct NotInV2 {
    /// The name of the member.
    pub what: String,
    /// The next step, if there is one.
    pub help: Option<&'static str>,
}

impl NotInV2 {
    fn new(what: impl Into<String>) -> Self {
        NotInV2 { what: what.into(), help: None }
    }

    fn with_help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }
}

/// The byte order of the components of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum V2ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
    /// A struct: true for each big-endian field. A nested struct is replaced by its fields.
    Fields(Vec<bool>),
}

impl V2ByteOrder {
    const fn whole(is_big: bool) -> Self {
        if is_big { V2ByteOrder::Big } else { V2ByteOrder::Little }
    }

    /// Returns true if all components are big-endian.
    pub fn is_big(&self) -> bool {
        *self == V2ByteOrder::Big
    }

    /// Swaps elements between this order and that of this machine.
    fn swap(&self, data_type: &DataType, bytes: &mut [u8]) {
        let is_swapped = |is_big: bool| is_big != cfg!(target_endian = "big");
        match self {
            V2ByteOrder::Fields(fields) => {
                let fields: Vec<bool> = fields.iter().map(|is_big| is_swapped(*is_big)).collect();
                ByteSwap::of_fields(data_type, &fields).apply(bytes);
            }
            whole if is_swapped(whole.is_big()) => data_type.swap_elements(bytes),
            _ => {}
        }
    }
}

/// Reads a `.zattrs`, which must be an object, else `None`. Faults are added to `diagnostics`.
pub fn read_attributes(document: &Json, diagnostics: &mut Vec<Diagnostic>) -> Option<Object> {
    read_repeated(document, true, diagnostics);
    read_object(document, diagnostics).cloned()
}

/// Reads a `.zgroup`, which contains only its format. Faults are added to `diagnostics`.
pub fn read_group(document: &Json, diagnostics: &mut Vec<Diagnostic>) {
    let Some(object) = read_object(document, diagnostics) else { return };
    read_format(object, 2, diagnostics);
    read_unknown(object, &["zarr_format"], diagnostics);
    read_repeated(document, false, diagnostics);
}

/// Returns the members of a `.zarray` or `.zgroup` that only netCDF-C writes (`_NCZARR_ARRAY`, `_NCZARR_SUPERBLOCK`),
/// the last of each name.
pub fn netcdf_members(document: &Json) -> Object {
    let members = document.as_object().into_iter().flat_map(Object::iter);
    let members = members.filter(|(name, _)| name.to_ascii_lowercase().starts_with("_nczarr_"));
    members.fold(Object::new(), |all, (name, value)| all.with(name, value.clone()))
}

/// Reports members that v2 does not define. Readers ignore them.
fn read_unknown(object: &Object, known: &[&str], diagnostics: &mut Vec<Diagnostic>) {
    for name in object.unknown_names(known).take(MAX_FAULTS) {
        let message = format!("v2 has no member {}, which readers ignore", Json::from(name).excerpt());
        diagnostics.add(code::V2_MEMBER_UNKNOWN, member_pointer("", name), message);
    }
}

/// The members of a `.zarray`. All but the last are required.
const MEMBERS: [&str; 9] =
    ["zarr_format", "shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters", "dimension_separator"];

const MAX_FILTERS: usize = 256;

/// Reads the members of a `.zarray`. The attributes are in another document. Faults are added to the document's
/// `diagnostics`.
pub fn read_array(document: &Json) -> ArrayDocument {
    let mut diagnostics = Vec::new();
    let found = &mut diagnostics;
    let Some(object) = read_object(document, found) else {
        return ArrayDocument { diagnostics, ..ArrayDocument::default() };
    };
    read_format(object, 2, found);
    let shape = required(object, "shape", found).and_then(|json| read_shape(json, found));
    let chunk_grid = required(object, "chunks", found)
        .and_then(|json| read_chunk_shape((json, "/chunks"), code::MEMBER_TYPE, shape.as_deref(), found));
    let dtype = required(object, "dtype", found).map(|json| read_dtype(json, found));
    let compressor = required(object, "compressor", found).filter(|json| !json.is_null());
    let written_fill_value = required(object, "fill_value", found);
    let fill_value = dtype.as_ref().zip(written_fill_value).map(|(dtype, json)| read_fill_value(dtype, json, found));
    let is_fortran = required(object, "order", found).and_then(|json| match json.as_str() {
        Some("C") => Some(false),
        Some("F") => Some(true),
        _ => found.unexpected(code::V2_ORDER, json, "\"C\" or \"F\"", "/order"),
    });
    let filters = required(object, "filters", found).and_then(|json| read_filters(json, found)).unwrap_or_default();
    let separator = object.get("dimension_separator");
    let separator = Separator::read(separator, Separator::Dot, "/dimension_separator", found);
    let transpose = is_fortran.zip(shape.as_ref().map(Vec::len)).and_then(|(f, rank)| transpose(f, rank));
    let chain = dtype.as_ref().map(|dtype| chain::read(dtype, transpose, &filters, compressor, found));
    let (data_type, codecs) = chain.unzip();
    read_unknown(object, &MEMBERS, found);
    read_repeated(document, false, found);
    ArrayDocument {
        shape,
        data_type,
        chunk_grid,
        chunk_key_encoding: separator.map(ChunkKeyEncoding::v2),
        fill_value,
        // Without an order the positions of the elements are unknown.
        codecs: codecs.filter(|_| is_fortran.is_some()),
        diagnostics,
        ..ArrayDocument::default()
    }
}

/// Returns the finding for a `dtype` of v2 that only tensorstore reads. `None` for any other.
pub fn extension_finding(dtype: &Json) -> Option<Diagnostic> {
    Dtype::read(dtype).ok()?.extension.map(tensorstore_finding)
}

/// Converts a pointer into the v3 form to one into a `.zarray`. Members of a codec's `configuration` are members of the
/// codec itself there, and the data type is `dtype`.
pub fn pointer_into(document: &Json, pointer: &str) -> String {
    let mut pointer = match pointer {
        "/data_type" => return "/dtype".to_owned(),
        "/codecs" => return "/filters".to_owned(),
        codec => codec.replacen("/configuration", "", 1),
    };
    // The v3 form has members that the `.zarray` lacks. The finding then points to the nearest part that exists.
    while document.pointer(&pointer).is_none() {
        let Some(parent) = pointer.rfind('/') else { break };
        pointer.truncate(parent);
    }
    pointer
}

/// Reads a `dtype`. An unreadable one becomes [`Dtype::unknown`]. If it has the form of a type, the chunks can be
/// copied.
fn read_dtype(json: &Json, diagnostics: &mut Vec<Diagnostic>) -> Dtype {
    let is_list = |json: &Json| json.as_array().is_some_and(|list| !list.is_empty());
    let is_of_fields = json.as_array().is_some_and(|fields| fields.iter().all(is_list)) && is_list(json);
    let dtype = Dtype::read(json).unwrap_or_else(|reason| {
        let has_form = json.as_str().is_some() || is_of_fields;
        let code = if has_form { code::V2_DTYPE } else { code::MEMBER_TYPE };
        diagnostics.add(code, "/dtype", format!("`dtype`: {reason}"));
        Dtype::unknown(json)
    });
    if !dtype.has_layout {
        let message = "`dtype` has fields that are arrays: v3 has no such type, and this program reads the \
                       elements as raw bytes";
        diagnostics.add(code::V2_DTYPE_LAYOUT, "/dtype", message);
    }
    diagnostics.extend(dtype.extension.map(|name| tensorstore_finding(name).at_pointer("/dtype")));
    dtype
}

fn read_filters<'a>(json: &'a Json, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<&'a Json>> {
    match json {
        Json::Null => None,
        Json::Array(filters) if filters.len() > MAX_FILTERS => {
            let message = format!("there are {} filters; at most {MAX_FILTERS} are supported", filters.len());
            diagnostics.refuse(code::JSON_LIMIT, "/filters", message)
        }
        Json::Array(filters) => Some(filters.iter().collect()),
        other => diagnostics.wrong_type(other, "an array of codecs or null", "/filters"),
    }
}

/// Returns the `transpose` of order F, which is C after the dimensions are reversed.
fn transpose(is_fortran: bool, rank: usize) -> Option<CodecMetadata> {
    // With fewer than two dimensions, both orders store the elements in the same sequence.
    if !is_fortran || rank < 2 {
        return None;
    }
    let order: Vec<u64> = (0..rank as u64).rev().collect();
    Some(CodecMetadata::new("transpose", Some(Object::new().with("order", order))).at("/order"))
}
