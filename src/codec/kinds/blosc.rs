//! `blosc` and `numcodecs.blosc`: the format of c-blosc 1, by the library of that name.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/blosc/>

use std::sync::Arc;

use super::c_blosc::{self, Settings};
use super::error::Fault;
use super::members::Members;
use super::numcodecs::{self, Absent, Form, Member};
use super::{
    BytesKind, BytesTransform, CodecSource, Contexts, DecodedSize, InV3, ParsedTransform, Shorthand,
    ShorthandRead, SizeRule, V2Form, shorthand_level,
};
use crate::diagnostic::code;
use crate::diagnostic::spelling::{alternatives, near};
use crate::metadata::json::{Json, Object};

/// `blosc`.
pub(crate) static BLOSC: BytesKind = BytesKind::new(parse, SizeRule::AtMost(bound))
    .with_v2(V2Form { read: read_v2, write: write_v2 })
    .with_shorthand(Shorthand {
        usage: "blosc[:COMPRESSOR[:LEVEL[:SHUFFLE]]]",
        aliases: &[("lz4", "blosc:lz4"), ("snappy", "blosc:snappy")],
        read: read_shorthand,
    });

/// `numcodecs.blosc`.
pub(crate) static NUMCODECS: BytesKind =
    BytesKind { parse: parse_numcodecs, v2: V2Form::SAME, shorthand: None, ..BLOSC };

/// Bytes of the header, and so the most that blosc adds.
const HEADER: usize = 16;

fn bound(decoded: u64) -> Option<u64> {
    decoded.checked_add(HEADER as u64)
}

/// The compressor inside of a blosc chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Compressor {
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
enum Shuffle {
    /// Nothing.
    #[default]
    None,
    /// The bytes of the elements are grouped by significance.
    Bytes,
    /// The bits are.
    Bits,
}

/// A configured `blosc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Blosc {
    /// The compressor.
    cname: Compressor,
    /// 0 (stored) to 9.
    clevel: u8,
    /// The filter before it.
    shuffle: Shuffle,
    /// Bytes of an element; only the shuffles need it.
    typesize: Option<usize>,
    /// Bytes of a block; 0 leaves the choice to blosc.
    blocksize: usize,
}

const MEMBERS: &[&str] = &["cname", "clevel", "shuffle", "typesize", "blocksize"];
const COMPRESSORS: &[(&str, Compressor)] = &[
    ("blosclz", Compressor::BloscLz),
    ("lz4", Compressor::Lz4),
    ("lz4hc", Compressor::Lz4Hc),
    ("snappy", Compressor::Snappy),
    ("zlib", Compressor::Zlib),
    ("zstd", Compressor::Zstd),
];
const SHUFFLES: &[(&str, Shuffle)] =
    &[("noshuffle", Shuffle::None), ("shuffle", Shuffle::Bytes), ("bitshuffle", Shuffle::Bits)];

/// Of `numcodecs.blosc`: the shuffles are numbered, and -1 chooses by the size of an element.
const NUMCODECS_MEMBERS: &[Member] = &[
    Member::new(
        "cname",
        Form::Choice(&["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"]),
        Absent::Text("lz4"),
    ),
    Member::new("clevel", Form::Integer(0, 9), Absent::Integer(5)),
    Member::new("shuffle", Form::Integer(-1, 2), Absent::Integer(1)),
    Member::new("blocksize", Form::Integer(0, i32::MAX as i64), Absent::Integer(0)),
    Member::new("typesize", Form::Integer(1, i32::MAX as i64), Absent::Nothing),
];

fn named<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    names.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
}

fn parse(source: &CodecSource<'_>) -> ParsedTransform {
    let mut members = Members::of_codec("blosc", source.configuration, source.pointer, MEMBERS);
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
    let is_shuffled = shuffle.is_some_and(|shuffle| shuffle != Shuffle::None);
    if is_shuffled && typesize == Some(None) {
        let message = "`blosc` lacks `typesize`, which its `shuffle` needs";
        members.report(code::CONFIGURATION_MISSING, "shuffle", message);
        return members.finish(None);
    }
    let configuration = (|| {
        let typesize = typesize?.map(usize::try_from).transpose().ok()?;
        let blocksize = usize::try_from(blocksize?).ok()?;
        let (cname, clevel, shuffle) = (cname?, clevel?, shuffle?);
        Some(Arc::new(Blosc { cname, clevel, shuffle, typesize, blocksize }) as _)
    })();
    members.finish(configuration)
}

fn parse_numcodecs(source: &CodecSource<'_>) -> ParsedTransform {
    numcodecs::parse("numcodecs.blosc", source, NUMCODECS_MEMBERS, |values| Blosc {
        cname: named(COMPRESSORS, values.text("cname")).unwrap_or(Compressor::Lz4),
        clevel: u8::try_from(values.integer("clevel")).unwrap_or(5),
        // -1 chooses by the size of an element, which bytes do not have.
        shuffle: match values.integer("shuffle") {
            0 => Shuffle::None,
            2 => Shuffle::Bits,
            _ => Shuffle::Bytes,
        },
        typesize: Some(usize::try_from(values.integer("typesize")).unwrap_or(1).max(1)),
        blocksize: usize::try_from(values.integer("blocksize")).unwrap_or(0),
    })
}

/// numcodecs numbers the shuffles and takes the element size from the array.
fn read_v2(mut members: Object, item_size: u64) -> InV3 {
    numcodecs::fill(&mut members, NUMCODECS_MEMBERS);
    let shuffle = match members.get("shuffle").and_then(Json::as_i128) {
        Some(0) => Some("noshuffle"),
        Some(1) => Some("shuffle"),
        Some(2) => Some("bitshuffle"),
        // Automatic: by the size of an element.
        Some(-1) => Some(if item_size == 1 { "bitshuffle" } else { "shuffle" }),
        _ => None,
    };
    if let Some(shuffle) = shuffle {
        members.insert("shuffle", shuffle);
    }
    if members.get("typesize").is_none_or(Json::is_null) {
        // Blosc's header has a byte for it, and takes larger elements as bytes.
        members.insert("typesize", if item_size <= 255 { item_size.max(1) } else { 1 });
    }
    (None, Some(members))
}

/// numcodecs numbers the shuffles, and takes the size of an element from the array.
fn write_v2(mut configuration: Object) -> Object {
    configuration.remove("typesize");
    let shuffle = match configuration.get("shuffle").and_then(Json::as_str) {
        Some("noshuffle") => Some(0_u64),
        Some("shuffle") => Some(1),
        Some("bitshuffle") => Some(2),
        _ => None,
    };
    if let Some(shuffle) = shuffle {
        configuration.insert("shuffle", shuffle);
    }
    configuration
}

fn read_shorthand(parts: &[&str], _: &str) -> ShorthandRead {
    if parts.len() > 3 {
        return Err(None);
    }
    let one_of = |what: &str, known: &[&'static str], text: &str| {
        let question = match near(text, known.iter().copied()).as_slice() {
            [] => String::new(),
            near => format!(" Did you mean {}?", alternatives(near)),
        };
        format!("blosc has no {what} `{text}`.{question} Known are {}", known.join(", "))
    };
    let compressor = parts.first().copied().unwrap_or("lz4");
    let shuffle = parts.get(2).copied().unwrap_or("shuffle");
    if named(COMPRESSORS, compressor).is_none() {
        return Err(Some(one_of("compressor", &names(COMPRESSORS), compressor)));
    }
    if named(SHUFFLES, shuffle).is_none() {
        return Err(Some(one_of("shuffle", &names(SHUFFLES), shuffle)));
    }
    let level = parts.get(1).map_or(Ok(5), |text| shorthand_level(text, 0, 9))?;
    let configuration = Object::new()
        .with("cname", compressor)
        .with("clevel", level)
        .with("shuffle", shuffle)
        .with("blocksize", 0_u64);
    Ok(Some(configuration))
}

fn names<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
    choices.iter().map(|choice| choice.0).collect()
}

impl BytesTransform for Blosc {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, _: &mut Contexts) -> Result<(), Fault> {
        let settings = Settings {
            compressor: match self.cname {
                Compressor::BloscLz => c"blosclz",
                Compressor::Lz4 => c"lz4",
                Compressor::Lz4Hc => c"lz4hc",
                Compressor::Snappy => c"snappy",
                Compressor::Zlib => c"zlib",
                Compressor::Zstd => c"zstd",
            },
            level: self.clevel,
            shuffle: match self.shuffle {
                Shuffle::None => 0,
                Shuffle::Bytes => 1,
                Shuffle::Bits => 2,
            },
            element_bytes: self.typesize.unwrap_or(1),
            block_bytes: self.blocksize,
        };
        c_blosc::compress(settings, decoded, encoded)
    }

    fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
        _: &mut Contexts,
    ) -> Result<(), Fault> {
        let Some(header) = encoded.first_chunk::<HEADER>() else {
            return Err(Fault::Short { expected: HEADER as u64, found: encoded.len() as u64 });
        };
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (content, stored) = (word(4), word(12));
        let size = usize::try_from(content).unwrap_or(usize::MAX);
        bound.check(size)?;
        match usize::try_from(stored).ok().and_then(|stored| encoded.len().checked_sub(stored)) {
            None => return Err(Fault::Short { expected: u64::from(stored), found: encoded.len() as u64 }),
            Some(0) => {}
            Some(count) => return Err(Fault::Trailing { count }),
        }
        if size == 0 {
            return Ok(());
        }
        c_blosc::decompress(encoded, size, decoded)
    }

    fn context_bytes(&self, decoded: u64) -> u64 {
        context_bytes(*self, decoded)
    }
}

/// What the library holds: buffers of a block, and the context of the compressor inside. A block is at most the
/// chunk, and where the library chooses its size, at most 8 MiB.
fn context_bytes(configuration: Blosc, decoded: u64) -> u64 {
    const GREATEST_BLOCK: u64 = 8 << 20;
    const SMALL_CONTEXT: u64 = 512 << 10;
    let chosen = u64::try_from(configuration.blocksize).unwrap_or(u64::MAX);
    let block = decoded.min(if chosen == 0 { GREATEST_BLOCK } else { chosen });
    let context = match configuration.cname {
        // Its levels, as blosc maps its own.
        Compressor::Zstd if configuration.clevel >= 9 => super::zstd::context_bytes(22, block),
        Compressor::Zstd => super::zstd::context_bytes(i32::from(configuration.clevel) * 2 - 1, block),
        _ => SMALL_CONTEXT,
    };
    // Encoding allocates the chunk anew, and three blocks.
    decoded.saturating_add(block.saturating_mul(3)).saturating_add(context)
}
