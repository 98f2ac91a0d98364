//! A group's documents, read as far as they go.

use super::document::Documents;
use super::place::Place;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::consolidated::Consolidated;
use crate::metadata::group::GroupDocument;
use crate::metadata::json::{Json, Object};
use crate::metadata::v2;
use crate::store::{LocalNode, StoreError};

/// The key of consolidated metadata of v2.
pub const CONSOLIDATED_KEY: &str = ".zmetadata";

/// What could be read of a group, and all that is wrong with its documents.
#[derive(Debug, Clone)]
pub struct GroupReading {
    /// Where it lies.
    pub node: LocalNode,
    /// As findings name it.
    pub place: Place,
    /// 2 or 3.
    pub zarr_format: u64,
    /// Its `zarr.json` or `.zgroup`, every literal as written.
    pub document: Json,
    /// The `.zattrs` of a v2 group, where there is one.
    pub attributes_document: Option<Json>,
    /// Empty where there are none.
    pub attributes: Object,
    /// The copies of the documents below it, where there are any.
    pub consolidated: Option<Consolidated>,
    /// Every fault of its documents.
    pub diagnostics: Vec<Diagnostic>,
}

impl GroupReading {
    /// Reads a group from its documents; the consolidated metadata of v2 are looked for.
    pub fn of(place: Place, node: LocalNode, documents: Documents) -> Result<Self, StoreError> {
        let Documents {
            key,
            zarr_format,
            document,
            attributes: attributes_document,
            diagnostics: beside,
            ..
        } = documents;
        let mut diagnostics = Vec::new();
        let (attributes, consolidated) = if zarr_format == 2 {
            v2::read_group(&document, &mut diagnostics);
            let mut found = Vec::new();
            let attributes =
                attributes_document.as_ref().and_then(|json| v2::read_attributes(json, &mut found));
            diagnostics.extend(found.into_iter().map(|found| found.at_key(".zattrs")));
            (attributes, read_consolidated(&node, &mut diagnostics)?)
        } else {
            let read = GroupDocument::read(&document);
            diagnostics.extend(read.diagnostics);
            let consolidated = read.consolidated_metadata.as_ref();
            let consolidated = consolidated.and_then(|json| Consolidated::read_v3(json, &mut diagnostics));
            (read.attributes, consolidated)
        };
        diagnostics.extend(beside);
        place.locate(&mut diagnostics, key);
        let attributes = attributes.unwrap_or_default();
        Ok(GroupReading {
            node,
            place,
            zarr_format,
            document,
            attributes_document,
            attributes,
            consolidated,
            diagnostics,
        })
    }

    /// The key of the document that holds the copies.
    pub fn consolidated_key(&self) -> &'static str {
        if self.zarr_format == 2 { CONSOLIDATED_KEY } else { "zarr.json" }
    }
}

/// The `.zmetadata` of a v2 group.
fn read_consolidated(
    node: &LocalNode,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Consolidated>, StoreError> {
    let mut found = Vec::new();
    let consolidated = match node.read_document(CONSOLIDATED_KEY) {
        Ok(None) => None,
        Ok(Some(bytes)) => match Json::parse(&bytes) {
            Ok(document) => Consolidated::read_v2(&document, &mut found),
            Err(error) => {
                found.push(error.diagnostic());
                None
            }
        },
        Err(error) if error.is_data_fault() => {
            found.push(Diagnostic::new(code::OBJECT_NOT_A_FILE, error.to_string()));
            None
        }
        Err(error) => return Err(error),
    };
    diagnostics.extend(found.into_iter().map(|found| found.at_key(CONSOLIDATED_KEY)));
    Ok(consolidated)
}
