//! Zarr documents, v2 and v3: a lenient parser that keeps every literal and its position, and edits that change
//! nothing else.
//!
//! It knows the form of documents, not what data types and codecs mean.
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/core/>.

pub mod array;
pub mod chunk_key;
pub mod consolidated;
pub mod edit;
pub mod extension;
pub mod json;
pub mod v2;

pub use array::{ArrayDocument, ArrayMetadata, ChunkGrid, GroupDocument, NodeKind, node_kind};
pub use chunk_key::{ChunkKeyEncoding, Separator};
pub use consolidated::Consolidated;
use extension::Findings;
pub use extension::{CodecMetadata, View};
pub use json::{Json, Number, Object};
