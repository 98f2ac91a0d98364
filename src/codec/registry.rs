//! The list of codecs: name, id in v2, kind, registry, and whether this program decodes it. Registered names are those
//! of the `codecs` folder of zarr-extensions as of 2026-07-14. A file in `kinds`
//! contains the rest. Two codecs have no file there: `conditional` finds the codecs inside it in this list, and
//! `sharding_indexed` contains chains, so its code is with the pipelines.
//!
//! The `numcodecs.` names are those that zarr-python writes. No registry has them.

mod conditional;

use std::sync::Arc;

use super::kinds::{self, BytesCodec, Kind, Made, Representation, Shorthand};
use crate::diagnostic::{Profile, spelling};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Object;
use V2Id::{Compressor, Filter};

/// The kinds of a codec's input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodecKind {
    /// From an array to an array.
    ArrayToArray,
    /// From an array to bytes.
    ArrayToBytes,
    /// From bytes to bytes.
    BytesToBytes,
}

impl CodecKind {
    /// Returns the kind as the specification writes it: `array->bytes`.
    pub fn name(self) -> &'static str {
        match self {
            CodecKind::ArrayToArray => "array->array",
            CodecKind::ArrayToBytes => "array->bytes",
            CodecKind::BytesToBytes => "bytes->bytes",
        }
    }
}

/// The `id` of a codec in v2, and its position there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum V2Id {
    /// Another row has the id, or there is none.
    None,
    /// The codec is one of the filters.
    Filter(&'static str),
    /// The codec is the compressor if it is the last codec, else one of the filters.
    Compressor(&'static str),
}

impl V2Id {
    /// Returns the id, if there is one.
    pub const fn id(self) -> Option<&'static str> {
        if let V2Id::Filter(id) | V2Id::Compressor(id) = self { Some(id) } else { None }
    }
}

/// A row of the list: all that the name of a codec determines.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// The id in v2.
    pub v2: V2Id,
    /// Returns the kinds of its input and output.
    pub kind: CodecKind,
    /// True if the core specification or the registry has the name.
    pub is_registered: bool,
    /// True if this program decodes it.
    pub is_decoded: bool,
    /// The reason why this program does not decode it, if there is one to report.
    pub reason: Option<&'static str>,
    /// The codec itself, if it runs. A pipeline has `sharding_indexed`.
    pub codec: Option<&'static Kind>,
    /// The help for users who write v2, which has no such codec.
    pub without_v2: &'static str,
    /// The data type of v2 objects, if this codec as a filter determines it.
    pub v2_objects: Option<&'static str>,
    /// Members of the configuration whose value means the same as their absence, with that value in JSON.
    pub defaults: &'static [(&'static str, &'static str)],
}

impl Entry {
    /// The help for a codec that v2 does not have.
    pub const CHAIN_WITHOUT_IT: &str = "give a chain without it with --codecs";

    const fn new(name: &'static str, v2: V2Id, kind: CodecKind, is_registered: bool) -> Self {
        Entry {
            name,
            v2,
            kind,
            is_registered,
            is_decoded: true,
            reason: None,
            codec: None,
            without_v2: Self::CHAIN_WITHOUT_IT,
            v2_objects: None,
            defaults: &[],
        }
    }
}

const fn to_array(name: &'static str, v2: V2Id, is_registered: bool, kind: &'static Kind) -> Entry {
    Entry { codec: Some(kind), ..Entry::new(name, v2, CodecKind::ArrayToArray, is_registered) }
}

const fn to_bytes(name: &'static str, v2: V2Id, is_registered: bool, kind: Option<&'static Kind>) -> Entry {
    Entry { codec: kind, ..Entry::new(name, v2, CodecKind::ArrayToBytes, is_registered) }
}

const fn bytes(name: &'static str, v2: V2Id, is_registered: bool, kind: &'static Kind) -> Entry {
    Entry { codec: Some(kind), ..Entry::new(name, v2, CodecKind::BytesToBytes, is_registered) }
}

const NO_GDEFLATE: &str = "gdeflate is not supported: its library reads beyond the end of damaged chunks";

const V2_QUANTIZES: &str = "`--unpack` gives plain floats, `--as cf` integers with CF attributes";
const V2_TRANSPOSES: &str = "give a chain without it with --codecs: v2 transposes before its filters";
const V2_SHARDS: &str = "use `--zarr-format 3`, or store the inner chunks without shards with `--shard-shape none`";

/// All codecs, grouped by kind, each group in order. The arguments are name, v2, registered, the codec.
static CODECS: &[Entry] = &[
    // array->array
    to_array("bitround", V2Id::None, true, &kinds::filter::BITROUND),
    Entry {
        without_v2: V2_QUANTIZES,
        defaults: &[("rounding", "\"nearest-even\"")],
        ..to_array("cast_value", V2Id::None, true, &kinds::values::CAST_VALUE)
    },
    to_array("numcodecs.astype", Filter("astype"), false, &kinds::filter::ASTYPE),
    to_array("numcodecs.bitround", Filter("bitround"), false, &kinds::filter::BITROUND),
    to_array("numcodecs.delta", Filter("delta"), false, &kinds::filter::DELTA),
    to_array("numcodecs.fixedscaleoffset", Filter("fixedscaleoffset"), false, &kinds::filter::FIXED_SCALE_OFFSET),
    to_array("numcodecs.packbits", Filter("packbits"), false, &kinds::filter::PACK_BOOLEANS),
    to_array("numcodecs.quantize", Filter("quantize"), false, &kinds::filter::QUANTIZE),
    to_array("reshape", V2Id::None, true, &kinds::dimensions::RESHAPE),
    Entry {
        without_v2: V2_QUANTIZES,
        defaults: &[("offset", "0"), ("scale", "1")],
        ..to_array("scale_offset", V2Id::None, true, &kinds::values::SCALE_OFFSET)
    },
    Entry { without_v2: V2_TRANSPOSES, ..to_array("transpose", V2Id::None, true, &kinds::dimensions::TRANSPOSE) },
    // array->bytes
    to_bytes("bytes", V2Id::None, true, Some(&kinds::bytes::BYTES)),
    Entry { is_decoded: false, ..to_bytes("n5_default", V2Id::None, true, None) },
    to_bytes("numcodecs.pcodec", Compressor("pcodec"), false, Some(&kinds::pcodec::PCODEC)),
    to_bytes("numcodecs.zfpy", Compressor("zfpy"), false, Some(&kinds::zfp::ZFPY)),
    Entry {
        defaults: &[("padding_encoding", "\"none\"")],
        ..to_bytes("packbits", V2Id::None, true, Some(&kinds::packbits::PACKBITS))
    },
    Entry {
        without_v2: V2_SHARDS,
        defaults: &[("index_location", "\"end\"")],
        ..to_bytes("sharding_indexed", V2Id::None, true, None)
    },
    Entry { is_decoded: false, ..to_bytes("vlen-array", Filter("vlen-array"), false, None) },
    Entry { v2_objects: Some("bytes"), ..to_bytes("vlen-bytes", Filter("vlen-bytes"), true, Some(&kinds::vlen::VLEN)) },
    Entry { v2_objects: Some("string"), ..to_bytes("vlen-utf8", Filter("vlen-utf8"), true, Some(&kinds::vlen::VLEN)) },
    Entry { is_decoded: false, ..to_bytes("zarrs.vlen", V2Id::None, false, None) },
    to_bytes("zarrs.vlen_v2", V2Id::None, false, Some(&kinds::vlen::VLEN)),
    to_bytes("zfp", V2Id::None, true, Some(&kinds::zfp::ZFP)),
    // bytes->bytes
    bytes("blosc", Compressor("blosc"), true, &kinds::blosc::BLOSC),
    bytes("conditional", V2Id::None, true, &conditional::CONDITIONAL),
    bytes("crc32c", Filter("crc32c"), true, &kinds::checksum::CRC32C),
    bytes("gzip", Compressor("gzip"), true, &kinds::deflate::GZIP),
    bytes("numcodecs.adler32", Filter("adler32"), false, &kinds::checksum::ADLER32),
    // The row of the registered name has the id: `blosc` of v2 becomes `blosc`. The same holds for gzip, zstd and
    // crc32c.
    bytes("numcodecs.blosc", V2Id::None, false, &kinds::blosc::NUMCODECS),
    bytes("numcodecs.bz2", Compressor("bz2"), false, &kinds::numcodecs_bytes::BZ2),
    bytes("numcodecs.crc32", Filter("crc32"), false, &kinds::checksum::CRC32),
    bytes("numcodecs.crc32c", V2Id::None, false, &kinds::checksum::NUMCODECS_CRC32C),
    bytes("numcodecs.fletcher32", Filter("fletcher32"), false, &kinds::checksum::FLETCHER32),
    bytes("numcodecs.gzip", V2Id::None, false, &kinds::deflate::NUMCODECS_GZIP),
    bytes("numcodecs.jenkins_lookup3", Filter("jenkins_lookup3"), false, &kinds::checksum::JENKINS_LOOKUP3),
    bytes("numcodecs.lz4", Compressor("lz4"), false, &kinds::numcodecs_bytes::LZ4),
    bytes("numcodecs.lzma", Compressor("lzma"), false, &kinds::lzma::LZMA),
    bytes("numcodecs.shuffle", Filter("shuffle"), false, &kinds::numcodecs_bytes::SHUFFLE),
    bytes("numcodecs.zlib", Compressor("zlib"), false, &kinds::deflate::ZLIB),
    bytes("numcodecs.zstd", V2Id::None, false, &kinds::zstd::NUMCODECS),
    Entry {
        is_decoded: false,
        reason: Some(NO_GDEFLATE),
        ..Entry::new("zarrs.gdeflate", V2Id::None, CodecKind::BytesToBytes, false)
    },
    Entry { defaults: &[("checksum", "false")], ..bytes("zstd", Compressor("zstd"), true, &kinds::zstd::ZSTD) },
];

/// Returns the row of a codec. `None` for an unknown name.
pub fn find(name: &str) -> Option<Entry> {
    all().find(|entry| entry.name == name)
}

/// Returns the row of a codec with its configuration. zarrs writes `vlen-array` without members, and then it is like
/// `vlen-bytes`.
pub fn of(codec: &CodecMetadata) -> Option<Entry> {
    let mut entry = find(&codec.name)?;
    if entry.name == "vlen-array" && codec.configuration.as_ref().is_none_or(Object::is_empty) {
        (entry.codec, entry.is_decoded) = (Some(&kinds::vlen::VLEN), true);
    }
    Some(entry)
}

/// A codec that another program runs and that this list does not have.
pub trait OtherCodec: std::fmt::Debug + Send + Sync {
    /// Returns the kinds of its input and output.
    fn kind(&self) -> CodecKind;

    /// Returns the codec for chunks of fixed-size elements or of bytes, whichever its kind needs. The error is the
    /// reason why it does not support them.
    fn bind(&self, before: &Representation) -> Result<Made, String>;
}

/// An [`OtherCodec`], or the reason why the other program rejects the codec.
pub type Other = Result<Arc<dyn OtherCodec>, String>;

/// Finds a codec in another program. That code is in a layer above this list, so it submits itself.
#[derive(Debug)]
pub struct FindOther(pub fn(&CodecMetadata) -> Option<Other>);

#[cfg(feature = "zarrs")]
inventory::collect!(FindOther);

/// Returns a codec of another program, if one has it.
#[cfg(feature = "zarrs")]
pub fn other(codec: &CodecMetadata) -> Option<Other> {
    inventory::iter::<FindOther>.into_iter().find_map(|find| (find.0)(codec))
}

/// Returns `None`: no other program is linked.
#[cfg(not(feature = "zarrs"))]
pub fn other(_: &CodecMetadata) -> Option<Other> {
    None
}

/// Returns all codecs of the list, grouped by kind.
pub fn all() -> impl Iterator<Item = Entry> {
    CODECS.iter().copied()
}

/// Returns the codec that a misspelled name most likely means. Names of v2 are included: `zlib` is `numcodecs.zlib` in
/// v3.
pub fn meant(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let of_v2 = |entry: &Entry| entry.name.strip_prefix("numcodecs.");
    let known = all().map(|entry| entry.name).chain(all().filter_map(|entry| of_v2(&entry)));
    let meant = spelling::meant(&name, known)?;
    // A full name has priority: `gzip` is a codec of v3, and also the rest of `numcodecs.gzip`.
    let by_name = all().find(|entry| entry.name == meant);
    by_name.or_else(|| all().find(|entry| of_v2(entry) == Some(meant))).map(|entry| entry.name)
}

/// Returns the kinds of a codec's input and output. `None` for an unknown name.
pub fn codec_kind(name: &str) -> Option<CodecKind> {
    find(name).map(|entry| entry.kind)
}

/// Returns the row with this id of v2.
pub fn of_v2(id: &str) -> Option<Entry> {
    all().find(|entry| entry.v2.id() == Some(id))
}

/// Returns the words of the command line, each with its codec, in the order in which messages list them.
pub fn shorthands() -> impl Iterator<Item = (&'static str, Shorthand)> {
    const ORDER: [&str; 4] = ["zstd", "gzip", "blosc", "crc32c"];
    let rank = |name: &str| ORDER.iter().position(|first| *first == name).unwrap_or(ORDER.len());
    let mut words: Vec<_> =
        all().filter_map(|entry| entry.codec?.shorthand.map(|shorthand| (entry.name, shorthand))).collect();
    words.sort_by_key(|(name, _)| rank(name));
    words.into_iter()
}

impl BytesCodec {
    /// Makes a codec from its metadata. The error is the reason why it cannot run.
    pub fn new(name: &str, configuration: Option<&Object>) -> Result<Self, String> {
        let (codec, mut found) = (CodecMetadata::new(name, configuration.cloned()), Vec::new());
        let kind = find(name).filter(|entry| entry.kind == CodecKind::BytesToBytes).and_then(|entry| entry.codec);
        let kind = kind.ok_or_else(|| format!("`{name}`: this program does not run it"))?;
        let parsed = Self::parse(kind, &codec, &mut found);
        match found.into_iter().find(|found| Profile::Read.forbids(found)) {
            Some(error) => Err(format!("`{name}`: {}", error.message)),
            None => parsed.ok_or_else(|| format!("`{name}`: this program does not run a codec inside it")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_names_are_those_of_the_registry() {
        let mut names: Vec<&str> = all().filter(|entry| entry.is_registered).map(|entry| entry.name).collect();
        names.sort_unstable();
        let folder = "bitround blosc bytes cast_value conditional crc32c gzip n5_default packbits reshape \
            scale_offset sharding_indexed transpose vlen-bytes vlen-utf8 zfp zstd";
        assert_eq!(names, folder.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn page_of_codecs_has_each() {
        let page = include_str!("../../docs/codecs.md");
        for entry in all() {
            let runs = if entry.is_decoded { "| yes |\n" } else { "| no" };
            let row =
                page.lines().find(|row| row.starts_with(&format!("| `{}` | {} |", entry.name, entry.kind.name())));
            assert!(row.is_some_and(|row| format!("{row}\n").contains(runs)), "{}", entry.name);
        }
    }

    #[test]
    fn each_list_is_sorted() {
        let kinds: Vec<_> = CODECS.chunk_by(|one, next| one.kind == next.kind).collect();
        assert!(kinds.len() == 3 && kinds.iter().all(|codecs| codecs.is_sorted_by_key(|entry| entry.name)));
        assert_eq!(codec_kind("numcodecs.packbits"), Some(CodecKind::ArrayToArray));
        assert_eq!(codec_kind("mine"), None);
    }
}
