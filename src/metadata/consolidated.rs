//! Consolidated metadata: copies of the documents below a group, in one place.
//!
//! For v3 a convention of zarr-python (`consolidated_metadata` in a group's `zarr.json`), for v2 the `.zmetadata` of
//! zarr-python and all that follow it. No specification has them; readers that use them never look at the originals.

use super::extension::{Findings, MAX_FAULTS};
use super::json::{Json, Object, member_pointer};
use crate::diagnostic::{Diagnostic, code};

/// The copies.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Consolidated {
    /// Where the copies stand in their document, as an RFC 6901 pointer.
    pub pointer: &'static str,
    /// A copy by its path relative to the group: of a node in v3 (`a/b`), of a document in v2 (`a/b/.zarray`).
    pub copies: Vec<(String, Json)>,
}

impl Consolidated {
    /// Reads the member of a v3 group; `None` where there is nothing to be read. Faults go to `diagnostics`.
    pub fn read_v3(member: &Json, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let pointer = "/consolidated_metadata";
        if member.is_null() {
            return None;
        }
        let Some(object) = member.as_object() else {
            return diagnostics.unexpected(code::CONSOLIDATED_FORM, member, "an object", pointer);
        };
        if object.get("kind").and_then(Json::as_str) != Some("inline") {
            let found = object.excerpt("kind");
            let message = format!("expected the kind \"inline\" of consolidated metadata, found {found}");
            diagnostics.add(code::CONSOLIDATED_FORM, pointer, message);
        }
        if object.get("must_understand") != Some(&Json::Bool(false)) {
            let message = "consolidated metadata without \"must_understand\": false, which makes the group unreadable \
                           to who does not know them";
            diagnostics.add(code::CONSOLIDATED_FORM, pointer, message);
        }
        copies(object, "/consolidated_metadata/metadata", diagnostics)
    }

    /// Reads a `.zmetadata`.
    pub fn read_v2(document: &Json, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let Some(object) = document.as_object() else {
            return diagnostics.unexpected(code::CONSOLIDATED_FORM, document, "an object", "");
        };
        if object.get("zarr_consolidated_format").and_then(Json::as_u64) != Some(1) {
            let found = object.excerpt("zarr_consolidated_format");
            let message = format!("`zarr_consolidated_format`: expected 1, found {found}");
            diagnostics.add(code::CONSOLIDATED_FORM, "", message);
        }
        copies(object, "/metadata", diagnostics)
    }

    /// Where a copy stands in its document.
    pub fn pointer_of(&self, path: &str) -> String {
        member_pointer(self.pointer, path)
    }
}

fn copies(object: &Object, pointer: &'static str, diagnostics: &mut Vec<Diagnostic>) -> Option<Consolidated> {
    let Some(Json::Object(metadata)) = object.get("metadata") else {
        let found = object.excerpt("metadata");
        let message = format!("`metadata`: expected an object of the copies, found {found}");
        return diagnostics.refuse(code::CONSOLIDATED_FORM, pointer, message);
    };
    let mut consolidated = Consolidated { pointer, copies: Vec::with_capacity(metadata.len()) };
    let mut num_faults = 0;
    for (path, copy) in metadata.iter() {
        if is_path(path) {
            consolidated.copies.push((path.to_owned(), copy.clone()));
        } else if num_faults < MAX_FAULTS {
            num_faults += 1;
            let message = format!("{} is not a path below the group", Json::from(path).excerpt());
            let help = "a path is made of names with `/` between them, none of them empty, `.` or `..`";
            let found = Diagnostic::new(code::CONSOLIDATED_PATH, message).with_help(help);
            diagnostics.push(found.at_pointer(consolidated.pointer_of(path)));
        }
    }
    Some(consolidated)
}

/// Whether a path leads to something below the group, and nowhere else.
fn is_path(path: &str) -> bool {
    path.split('/').all(|name| !matches!(name, "" | "." | "..")) && !path.contains('\0')
}
