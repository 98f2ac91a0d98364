//! An array that was opened, in the form in which plans take it.

use super::version_2::in_v3_form;
use crate::diagnostic::code;
use crate::metadata::edit::{set_chunk_shape, set_member};
use crate::operation::open::OpenedArray;

/// An array as plans take it.
pub(in crate::operation) fn as_source(opened: OpenedArray) -> OpenedArray {
    in_v3_form(with_chunks_of_one(opened))
}

/// An array as it is written where it is copied: a chunk length of 0 along a dimension of length 0 is 1 (SEMANTICS D9).
fn with_chunks_of_one(mut opened: OpenedArray) -> OpenedArray {
    if opened.warnings.iter().any(|known| known.is(code::CHUNK_SHAPE_ZERO_EMPTY)) {
        let chunk_shape = opened.metadata.largest_chunk();
        if opened.zarr_format == 2 {
            set_member(&mut opened.document, "chunks", chunk_shape.to_vec());
        } else {
            set_chunk_shape(&mut opened.document, chunk_shape);
        }
        opened.document_bytes = opened.document.to_document();
    }
    opened
}
