//! `blosc`: the compressor inside, its level, and the shuffle before it.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/blosc/>

use super::Parsed;
use super::members::Members;
use crate::diagnostic::code;
use crate::metadata::json::Object;

/// The compressor inside of a blosc chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BloscCompressor {
    /// `blosclz`
    BloscLz,
    /// `lz4`
    Lz4,
    /// `lz4hc`
    Lz4Hc,
    /// `snappy`
    Snappy,
    /// `zlib`
    Zlib,
    /// `zstd`
    Zstd,
}

/// What is done to the bytes before compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum BloscShuffle {
    /// Nothing.
    #[default]
    NoShuffle,
    /// The bytes of the elements are grouped by significance.
    Shuffle,
    /// The bits are.
    BitShuffle,
}

/// The configuration of `blosc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloscConfiguration {
    /// The compressor.
    pub cname: BloscCompressor,
    /// 0 (stored) to 9.
    pub clevel: u8,
    /// The filter before it.
    pub shuffle: BloscShuffle,
    /// Bytes of an element; only the shuffles need it.
    pub typesize: Option<usize>,
    /// Bytes of a block; 0 leaves the choice to blosc.
    pub blocksize: usize,
}

const MEMBERS: &[&str] = &["cname", "clevel", "shuffle", "typesize", "blocksize"];
const COMPRESSORS: &[(&str, BloscCompressor)] = &[
    ("blosclz", BloscCompressor::BloscLz),
    ("lz4", BloscCompressor::Lz4),
    ("lz4hc", BloscCompressor::Lz4Hc),
    ("snappy", BloscCompressor::Snappy),
    ("zlib", BloscCompressor::Zlib),
    ("zstd", BloscCompressor::Zstd),
];
const SHUFFLES: &[(&str, BloscShuffle)] = &[
    ("noshuffle", BloscShuffle::NoShuffle),
    ("shuffle", BloscShuffle::Shuffle),
    ("bitshuffle", BloscShuffle::BitShuffle),
];

impl BloscCompressor {
    /// By its name in metadata.
    pub fn of_name(name: &str) -> Option<Self> {
        COMPRESSORS.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
    }

    /// The name in metadata.
    pub fn name(self) -> &'static str {
        COMPRESSORS.iter().find(|entry| entry.1 == self).map_or("", |entry| entry.0)
    }
}

impl BloscShuffle {
    /// The name in metadata.
    pub fn name(self) -> &'static str {
        SHUFFLES.iter().find(|entry| entry.1 == self).map_or("", |entry| entry.0)
    }
}

/// Parses the configuration of the codec at `pointer`.
pub fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<BloscConfiguration> {
    let mut members = Members::of_codec("blosc", configuration, pointer, MEMBERS);
    let cname = members.require("cname").and_then(|json| members.choice("cname", json, COMPRESSORS));
    let clevel = members.require("clevel").and_then(|json| members.integer("clevel", json, 0..=9));
    let shuffle = members.require("shuffle").and_then(|json| members.choice("shuffle", json, SHUFFLES));
    let typesize = match members.get("typesize") {
        Some(json) => members.integer("typesize", json, 1..=u32::MAX).map(Some),
        None => Some(None),
    };
    let blocksize = members
        .require("blocksize")
        .and_then(|json| members.integer("blocksize", json, 0..=i32::MAX.cast_unsigned()));
    let is_shuffled = shuffle.is_some_and(|shuffle| shuffle != BloscShuffle::NoShuffle);
    if is_shuffled && typesize == Some(None) {
        let message = "`blosc` lacks `typesize`, which its `shuffle` needs";
        members.report(code::CONFIGURATION_MISSING, "shuffle", message);
        return members.finish(None);
    }
    let configuration = (|| {
        let typesize = typesize?.map(usize::try_from).transpose().ok()?;
        let blocksize = usize::try_from(blocksize?).ok()?;
        Some(BloscConfiguration { cname: cname?, clevel: clevel?, shuffle: shuffle?, typesize, blocksize })
    })();
    members.finish(configuration)
}
