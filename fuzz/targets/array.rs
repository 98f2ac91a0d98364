//! What the targets share: from the bytes of a `zarr.json` to the chain of its chunks.

use zarrcast::codec::BoundChain;
use zarrcast::data_type::DataType;
use zarrcast::diagnostic::Profile;
use zarrcast::metadata::ArrayDocument;
use zarrcast::metadata::json::Json;
use zarrcast::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// The way of a chunk through its chain, and whether anything is wrong with either; `None` where too much is.
pub fn pipeline(document: &[u8]) -> Option<(Pipeline, bool)> {
    let document = Json::parse(document).ok()?;
    let members = ArrayDocument::read(&document);
    let metadata = members.metadata()?;
    let mut diagnostics = members.diagnostics;
    let data_type = DataType::from_metadata(&metadata.data_type).ok()?;
    let fill_value = data_type.fill_value_from_json(&metadata.fill_value).ok().map(|read| read.value);
    let input = ArrayRepresentation { data_type, shape: metadata.largest_chunk().to_vec(), fill_value };
    let pipeline =
        Pipeline::build(input, &metadata.codecs, Completeness::ToBytes, "/codecs", &mut diagnostics);
    Some((pipeline, diagnostics.iter().any(|found| Profile::Read.forbids(found))))
}

/// The chain of an array; `None` where anything is wrong with it.
pub fn chain(document: &[u8]) -> Option<BoundChain> {
    let (pipeline, is_faulty) = pipeline(document)?;
    if is_faulty { None } else { BoundChain::bind(&pipeline).ok() }
}
