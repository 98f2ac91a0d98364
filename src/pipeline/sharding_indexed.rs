//! `sharding_indexed`: inner chunks in one shard, and their index.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/>

use super::{
    ArrayRepresentation, BoundConfiguration, BytesSize, Completeness, Pipeline, Representation, ShardingStage,
};
use crate::codec::kinds::Parsed;
use crate::codec::kinds::array::keep;
use crate::codec::kinds::members::{Members, shown, wrong};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, NumberType};
use crate::grid::MAX_RANK;
use crate::metadata::CodecMetadata;
use crate::metadata::json::{Json, Object};

/// On which side of the inner chunks the index stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum IndexLocation {
    /// Before them.
    Start,
    /// After them.
    #[default]
    End,
}

/// The configuration of `sharding_indexed`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShardingIndexedConfiguration {
    /// The shape of an inner chunk.
    pub(super) chunk_shape: Vec<u64>,
    /// The codecs of the inner chunks, as they stand.
    pub(super) codecs: Vec<CodecMetadata>,
    /// The codecs of the index, as they stand.
    pub(super) index_codecs: Vec<CodecMetadata>,
    /// Where the index is.
    pub(super) index_location: IndexLocation,
}

/// Parses the configuration of the codec at `pointer`; the codecs inside are only taken apart.
pub(super) fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<ShardingIndexedConfiguration> {
    let known = &["chunk_shape", "codecs", "index_codecs", "index_location"];
    let mut members = Members::of_codec("sharding_indexed", configuration, pointer, known);
    let chunk_shape = members.require("chunk_shape").and_then(|json| shape(&mut members, json));
    let mut codecs = |name: &str| {
        let pointer = members.pointer_to(name);
        let json = members.require(name)?;
        crate::metadata::extension::read_codecs(json, &pointer, &mut members.diagnostics)
    };
    let (codecs, index_codecs) = (codecs("codecs"), codecs("index_codecs"));
    let choices = [("start", IndexLocation::Start), ("end", IndexLocation::End)];
    let index_location = match members.get("index_location") {
        Some(json) => members.choice("index_location", json, &choices),
        None => Some(IndexLocation::End),
    };
    let configuration = (|| {
        let (chunk_shape, codecs, index_codecs) = (chunk_shape?, codecs?, index_codecs?);
        Some(ShardingIndexedConfiguration {
            chunk_shape,
            codecs,
            index_codecs,
            index_location: index_location?,
        })
    })();
    members.finish(configuration)
}

fn shape(members: &mut Members<'_>, json: &Json) -> Option<Vec<u64>> {
    let Some(entries) = json.as_array() else {
        members.report_found(code::CONFIGURATION_TYPE, "chunk_shape", "an array of positive integers", json);
        return None;
    };
    if entries.len() > MAX_RANK {
        let message =
            format!("the inner chunk shape has {} dimensions, of which {MAX_RANK} are read", entries.len());
        members.report(code::SHARDING_SHAPE, "chunk_shape", message);
        return None;
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
        let pointer = format!("{}/{dimension}", members.pointer_to("chunk_shape"));
        let code = wrong(entry.as_number().is_some());
        members.diagnostics.push(Diagnostic::new(code, message).at_pointer(pointer));
    }
    (shape.len() == entries.len()).then_some(shape)
}

impl ShardingIndexedConfiguration {
    /// The number of inner chunks in each dimension of a shard of `shape`, for the codec at `pointer`.
    pub(super) fn grid_shape(&self, shape: &[u64], pointer: &str) -> Parsed<Vec<u64>> {
        let fault = |message: String| {
            let pointer = format!("{pointer}/configuration/chunk_shape");
            (None, vec![Diagnostic::new(code::SHARDING_SHAPE, message).at_pointer(pointer)])
        };
        let (inner, rank) = (&self.chunk_shape, self.chunk_shape.len());
        if rank != shape.len() {
            let shard = shape.len();
            return fault(format!(
                "the inner chunk shape {inner:?} has {rank} dimensions, but the shard has {shard}"
            ));
        }
        if shape.iter().zip(inner).any(|(extent, inner)| extent % inner != 0) {
            return fault(format!(
                "the inner chunk shape {inner:?} does not divide the shape {shape:?} of the shard"
            ));
        }
        (Some(shape.iter().zip(inner).map(|(extent, inner)| extent / inner).collect()), Vec::new())
    }
}

/// Binds the codec to the array that reaches it, where one does.
pub(super) fn bind(
    codec: &CodecMetadata,
    array: Option<&ArrayRepresentation>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (BoundConfiguration, Option<Representation>) {
    let configuration = keep(parse(codec.configuration.as_ref(), &codec.pointer), diagnostics);
    let stage = configuration.zip(array).and_then(|(configuration, array)| {
        let grid_shape = keep(configuration.grid_shape(&array.shape, &codec.pointer), diagnostics)?;
        Some(configuration.stage(codec, array, grid_shape, diagnostics))
    });
    let Some(stage) = stage else { return (BoundConfiguration::Other, None) };
    let size = shard_size(&stage.inner, &stage.index);
    (BoundConfiguration::Sharding(stage), Some(Representation::Bytes(size)))
}

impl ShardingIndexedConfiguration {
    /// The chains inside, of which there are inner chunks as `grid_shape` says.
    fn stage(
        &self,
        codec: &CodecMetadata,
        array: &ArrayRepresentation,
        mut grid_shape: Vec<u64>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> ShardingStage {
        let inner_pointer = format!("{}/configuration/codecs", codec.pointer);
        let index_pointer = format!("{}/configuration/index_codecs", codec.pointer);
        let inner = ArrayRepresentation { shape: self.chunk_shape.clone(), ..array.clone() };
        let complete = Completeness::ToBytes;
        let inner = Pipeline::build(inner, &self.codecs, complete, &inner_pointer, diagnostics);
        grid_shape.push(2);
        let index = ArrayRepresentation {
            data_type: DataType::Number(NumberType::of(ElementType::UInt64)),
            shape: grid_shape,
            fill_value: None,
        };
        let index = Pipeline::build(index, &self.index_codecs, complete, &index_pointer, diagnostics);
        if !matches!(index.output(), None | Some(Representation::Bytes(BytesSize::Fixed(_)))) {
            diagnostics.push(
                Diagnostic::new(
                    code::SHARDING_INDEX_CODECS,
                    format!("the index codecs of `{}` do not give a fixed size", codec.name),
                )
                .with_help("use [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, {\"name\": \"crc32c\"}]")
                .at_pointer(index_pointer),
            );
        }
        ShardingStage { inner, index, index_location: self.index_location }
    }
}

/// The most bytes of a shard: all inner chunks and the index.
fn shard_size(inner: &Pipeline, index: &Pipeline) -> BytesSize {
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
