//! The documents of Zarr v2: `.zarray`, `.zgroup`, `.zattrs`, converted to the form of v3 and back.
//!
//! Codecs, data type, key encoding and fill value have the form of `zarr.json`. So no other module needs to know two
//! formats. Pointers are those of the v2 document. Specification:
//! <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html>.

mod array;
mod chain;
mod dtype;
mod fill_value;

pub use array::{extension_finding, pointer_into, read_array};
pub use chain::{V2Chain, with_little_endian_types, write_codecs};
pub use dtype::{read_type_string, write_dtype};
pub use fill_value::write_fill_value;

use super::extension::{Findings, MAX_FAULTS};
use super::group::{read_format, read_object, read_repeated};
use super::json::{Json, Object, member_pointer};
use crate::data_type::{ByteSwap, DataType};
use crate::diagnostic::{Diagnostic, code};

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
