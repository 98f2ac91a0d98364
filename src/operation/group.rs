//! A group's documents, read as far as they go.

use super::document::{CONSOLIDATED_KEY, Documents, read_beside};
use super::place::Place;
use crate::diagnostic::Diagnostic;
use crate::metadata::consolidated::Consolidated;
use crate::metadata::group::GroupDocument;
use crate::metadata::json::Object;
use crate::metadata::v2;
use crate::store::{Node, StoreError};

/// A group as far as it could be read, and all faults of its documents.
#[derive(Debug, Clone)]
pub struct GroupReading {
    /// Where it lies.
    pub node: Node,
    /// As findings name it.
    pub place: Place,
    /// As they were read; what is wrong with them is among the findings.
    pub documents: Documents,
    /// Empty where there are none.
    pub attributes: Object,
    /// The copies of the documents below it, where there are any that can be read.
    pub consolidated: Option<Consolidated>,
    /// True if there are consolidated metadata, readable or not.
    pub has_copies: bool,
    /// Every fault of its documents.
    pub diagnostics: Vec<Diagnostic>,
}

impl GroupReading {
    /// Reads a group from its documents; the consolidated metadata of v2 are looked for.
    pub fn of(place: Place, node: Node, mut documents: Documents) -> Result<Self, StoreError> {
        let beside = std::mem::take(&mut documents.diagnostics);
        let Documents { key, document, attributes, .. } = &documents;
        let mut diagnostics = Vec::new();
        let (attributes, consolidated, has_copies) = if documents.zarr_format == 2 {
            v2::read_group(document, &mut diagnostics);
            let mut found = Vec::new();
            let attributes = attributes.as_ref().and_then(|json| v2::read_attributes(json, &mut found));
            diagnostics.extend(found.into_iter().map(|found| found.at_key(".zattrs")));
            let (consolidated, is_there) = read_consolidated(&node, &mut diagnostics)?;
            (attributes, consolidated, is_there)
        } else {
            let read = GroupDocument::read(document);
            diagnostics.extend(read.diagnostics);
            let member = read.consolidated_metadata.as_ref().filter(|member| !member.is_null());
            let consolidated = member.and_then(|json| Consolidated::read_v3(json, &mut diagnostics));
            (read.attributes, consolidated, member.is_some())
        };
        diagnostics.extend(beside);
        place.locate(&mut diagnostics, key);
        let attributes = attributes.unwrap_or_default();
        Ok(GroupReading { node, place, documents, attributes, consolidated, has_copies, diagnostics })
    }

    /// The key of the document that holds the copies.
    pub fn consolidated_key(&self) -> &'static str {
        if self.documents.zarr_format == 2 { CONSOLIDATED_KEY } else { "zarr.json" }
    }
}

/// The `.zmetadata` of a v2 group, and whether there is one, readable or not.
fn read_consolidated(
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(Option<Consolidated>, bool), StoreError> {
    let mut found = Vec::new();
    let (document, is_there) = match read_beside(node, CONSOLIDATED_KEY, &mut found) {
        // Some stores refuse what is not there; no node needs it.
        Err(error) if error.is_refused() => (None, false),
        read => read?,
    };
    let consolidated = document.and_then(|(document, _)| Consolidated::read_v2(&document, &mut found));
    diagnostics.extend(found.into_iter().map(|found| found.at_key(CONSOLIDATED_KEY)));
    Ok((consolidated, is_there))
}
