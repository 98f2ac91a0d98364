//! `sharding_indexed`: inner chunks in one shard, and their index.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/>

use super::{ArrayRepresentation, BytesSize, Completeness, Pipeline, Representation, ShardingStage};
use crate::codec::kinds::members::{ConfigurationReader, Member, MemberDefault, MemberType, shown, wrong};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::grid::MAX_RANK;
use crate::metadata::extension::{CodecMetadata, Findings, read_codecs};
use crate::metadata::json::Json;

/// The location of the index in a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum IndexLocation {
    /// Before the inner chunks.
    Start,
    /// After the inner chunks.
    #[default]
    End,
}

const MEMBERS: &[Member] = &[
    Member::required("chunk_shape", MemberType::Any),
    Member::required("codecs", MemberType::Any),
    Member::required("index_codecs", MemberType::Any),
    Member::new("index_location", MemberType::Choice(&["start", "end"]), MemberDefault::Text("end")),
];

/// Reads the configuration, and the chains inside if the input is an array. `None` after a fault.
pub(super) fn bind(
    codec: &CodecMetadata,
    array: Option<&ArrayRepresentation>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<ShardingStage> {
    let mut members = ConfigurationReader::of_codec(codec, MEMBERS);
    let chunk_shape = members.get("chunk_shape").and_then(|json| shape(&mut members, json));
    let [codecs, index_codecs] = ["codecs", "index_codecs"].map(|name| {
        let pointer = members.pointer_to(name);
        read_codecs(members.get(name)?, &pointer, &mut members.diagnostics)
    });
    let is_first = members.text_value("index_location") == "start";
    let index_location = if is_first { IndexLocation::Start } else { IndexLocation::End };
    let pointer_to = |name: &str| members.pointer_to(name);
    let [shape_pointer, inner_pointer, index_pointer] = ["chunk_shape", "codecs", "index_codecs"].map(pointer_to);
    diagnostics.append(&mut members.diagnostics);
    let (chunk_shape, codecs, index_codecs) = (chunk_shape?, codecs?, index_codecs?);
    let array = array.filter(|_| members.is_valid)?;
    let grid_shape = grid_shape(&array.shape, &chunk_shape).map_err(|message| {
        diagnostics.add(code::SHARDING_SHAPE, shape_pointer, message);
    });
    let mut index_shape = grid_shape.ok()?;
    // The last dimension contains the offset and the length of an inner chunk.
    index_shape.push(2);
    let inner = ArrayRepresentation { shape: chunk_shape, ..array.clone() };
    let inner = Pipeline::build(inner, &codecs, Completeness::ToBytes, &inner_pointer, diagnostics);
    let data_type = DataType::Number(NumberType::of(ElementType::UInt64));
    let index = ArrayRepresentation { data_type, shape: index_shape, fill_value: None };
    let index = Pipeline::build(index, &index_codecs, Completeness::ToBytes, &index_pointer, diagnostics);
    if !matches!(index.output(), None | Some(Representation::Bytes(BytesSize::Fixed(_)))) {
        let message = format!("the index codecs of `{}` do not give a fixed size", codec.name);
        let help = "use [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"crc32c\"}]";
        diagnostics.advise(code::SHARDING_INDEX_CODECS, index_pointer, message, help);
    }
    Some(ShardingStage { inner, index, index_location })
}

/// Returns the number of inner chunks in each dimension of a shard. The error is the reason why there is none.
fn grid_shape(shard: &[u64], inner: &[u64]) -> Result<Vec<u64>, String> {
    let (rank, expected) = (inner.len(), shard.len());
    if rank != expected {
        return Err(format!("the inner chunk shape {inner:?} has {rank} dimensions, but the shard has {expected}"));
    }
    if shard.iter().zip(inner).any(|(extent, inner)| extent % inner != 0) {
        return Err(format!("the inner chunk shape {inner:?} does not divide the shape {shard:?} of the shard"));
    }
    Ok(shard.iter().zip(inner).map(|(extent, inner)| extent / inner).collect())
}

fn shape(members: &mut ConfigurationReader<'_>, json: &Json) -> Option<Vec<u64>> {
    let Some(entries) = json.as_array() else {
        return members.unexpected(code::CONFIGURATION_TYPE, "chunk_shape", "an array of positive integers", json);
    };
    if entries.len() > MAX_RANK {
        let message =
            format!("the inner chunk shape has {} dimensions; at most {MAX_RANK} are supported", entries.len());
        return members.refuse(code::SHARDING_SHAPE, "chunk_shape", message);
    }
    let mut shape = Vec::with_capacity(entries.len());
    for (dimension, entry) in entries.iter().enumerate() {
        if let Some(extent) = entry.as_u64().filter(|&extent| extent > 0) {
            shape.push(extent);
            continue;
        }
        let message = format!(
            "`chunk_shape` of `sharding_indexed` in dimension {dimension}: expected a positive integer, found {}",
            shown(entry)
        );
        members.report_entry(wrong(entry.as_number().is_some()), "chunk_shape", dimension, message);
    }
    (shape.len() == entries.len()).then_some(shape)
}

/// Returns the most bytes of a shard: all inner chunks and the index.
pub(super) fn shard_size(ShardingStage { inner, index, .. }: &ShardingStage) -> BytesSize {
    let bound = |pipeline: &Pipeline| match pipeline.output() {
        Some(Representation::Bytes(size)) => size.bound(),
        _ => None,
    };
    // The index array has two entries for each inner chunk.
    let count = index.input.num_elements().map(|entries| entries / 2);
    let total = count.zip(bound(inner)).and_then(|(count, bytes)| count.checked_mul(bytes));
    let total = total.zip(bound(index)).and_then(|(chunks, index)| chunks.checked_add(index));
    BytesSize::at_most(total)
}
