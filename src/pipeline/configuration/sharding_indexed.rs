//! `sharding_indexed`: inner chunks in one shard, and their index.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/>

use crate::codec::kinds::Parsed;
use crate::codec::kinds::members::{Members, shown, wrong};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::CodecMetadata;
use crate::metadata::array::MAX_RANK;
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
pub struct ShardingIndexedConfiguration {
    /// The shape of an inner chunk.
    pub chunk_shape: Vec<u64>,
    /// The codecs of the inner chunks, as they stand.
    pub codecs: Vec<CodecMetadata>,
    /// The codecs of the index, as they stand.
    pub index_codecs: Vec<CodecMetadata>,
    /// Where the index is.
    pub index_location: IndexLocation,
}

/// Parses the configuration of the codec at `pointer`; the codecs inside are only taken apart.
pub fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<ShardingIndexedConfiguration> {
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
        Some(ShardingIndexedConfiguration {
            chunk_shape: chunk_shape?,
            codecs: codecs?,
            index_codecs: index_codecs?,
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
    pub fn bind(&self, shape: &[u64], pointer: &str) -> Parsed<Vec<u64>> {
        let fault = |message: String| {
            let pointer = format!("{pointer}/configuration/chunk_shape");
            (None, vec![Diagnostic::new(code::SHARDING_SHAPE, message).at_pointer(pointer)])
        };
        if self.chunk_shape.len() != shape.len() {
            return fault(format!(
                "the inner chunk shape {:?} has {} dimensions, but the shard has {}",
                self.chunk_shape,
                self.chunk_shape.len(),
                shape.len()
            ));
        }
        if shape.iter().zip(&self.chunk_shape).any(|(&extent, &inner)| extent % inner != 0) {
            return fault(format!(
                "the inner chunk shape {:?} does not divide the shape {shape:?} of the shard",
                self.chunk_shape
            ));
        }
        (
            Some(shape.iter().zip(&self.chunk_shape).map(|(&extent, &inner)| extent / inner).collect()),
            Vec::new(),
        )
    }
}
