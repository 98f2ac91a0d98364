//! What the targets share: from the bytes of a `zarr.json` to the chain of its chunks.

use zarrcast::codec::BoundChain;
use zarrcast::data_type::DataType;
use zarrcast::metadata::ArrayDocument;
use zarrcast::metadata::json::Json;
use zarrcast::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// The chain of an array; `None` where anything is wrong with it.
pub fn chain(document: &[u8]) -> Option<BoundChain> {
    let document = Json::parse(document).ok()?;
    let metadata = ArrayDocument::read(&document).metadata()?;
    let data_type = DataType::from_metadata(&metadata.data_type).ok()?;
    let fill_value = data_type.fill_value_from_json(&metadata.fill_value).ok().map(|read| read.value);
    let input = ArrayRepresentation { data_type, shape: metadata.chunk_shape, fill_value };
    let mut diagnostics = Vec::new();
    let pipeline =
        Pipeline::build(input, &metadata.codecs, Completeness::ToBytes, "/codecs", &mut diagnostics);
    BoundChain::bind(&pipeline).ok()
}
