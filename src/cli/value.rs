//! What the text of an option means: sizes, shapes, scalars, data types, compressors, JSON or a file that holds it.
//!
//! A parser here refuses text that is not what the option takes (exit status 2). Whether a value fits the data is
//! for the operation to find out.

use std::path::{Path, PathBuf};

use crate::data_type::DataType;
use crate::element::NumberType;
use crate::metadata::json::{Json, Object};
use crate::operation::error::OperationError;
use crate::operation::options::{Compression, HistogramOptions, Missing, Stream};
use crate::store::file;

/// A pattern of paths.
pub(super) fn pattern(text: &str) -> Result<glob::Pattern, String> {
    glob::Pattern::new(text).map_err(|error| format!("{}, at character {}", error.msg, error.pos + 1))
}

/// Bytes that a document given by `@FILE` may have.
const DOCUMENT_LIMIT: u64 = 64 << 20;

/// The suffixes of a size and what one of each is, in bytes.
const SIZE_UNITS: [(&str, u64); 14] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
    ("B", 1),
];

/// A number of bytes: `512MiB`, `2GB`, `1048576`; above zero.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let refusal = || format!("expected a size above 0, such as 512MiB, 2GB or 1048576; found {text:?}");
    let (digits, unit) = SIZE_UNITS
        .iter()
        .find_map(|&(suffix, unit)| text.strip_suffix(suffix).map(|digits| (digits.trim_end(), unit)))
        .unwrap_or((text, 1));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refusal());
    }
    let count: u64 = digits.parse().map_err(|_| refusal())?;
    match count.checked_mul(unit) {
        Some(0) | None => Err(refusal()),
        Some(bytes) => Ok(bytes),
    }
}

/// A shape or chunk indices: `A,B,...`; nothing, or `scalar`, for 0-D.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extents(pub(super) Vec<u64>);

/// Reads `A,B,...`.
pub(super) fn extents(text: &str) -> Result<Extents, String> {
    if text.is_empty() || text == "scalar" {
        return Ok(Extents(Vec::new()));
    }
    text.split(',')
        .map(|extent| {
            let extent = extent.trim();
            // `u64::from_str` takes a leading plus sign, which no shape has.
            (!extent.starts_with('+')).then(|| extent.parse().ok()).flatten()
        })
        .collect::<Option<Vec<u64>>>()
        .map(Extents)
        .ok_or_else(|| format!("expected whole numbers, such as 16,256,256, or `scalar`; found {text:?}"))
}

/// One value, in the encoding of fill values: JSON, or a bare NaN, Infinity, -Infinity or 0x... taken as the string.
pub(super) fn scalar(text: &str) -> Result<Json, String> {
    let bare = text.trim();
    if matches!(bare, "NaN" | "Infinity" | "+Infinity" | "-Infinity") || bare.starts_with("0x") {
        return Ok(Json::from(bare));
    }
    Json::parse_str(text).map_err(|error| format!("{text:?} is not JSON: {error}"))
}

/// One number, or a string that stands for one.
pub(super) fn number(text: &str) -> Result<Json, String> {
    match scalar(text)? {
        value @ (Json::Number(_) | Json::String(_)) => Ok(value),
        _ => Err(format!("expected a number, \"NaN\", \"Infinity\" or 0x and digits; found {text:?}")),
    }
}

/// `LO,HI`.
pub(super) fn range(text: &str) -> Result<(Json, Json), String> {
    match text.split_once(',') {
        Some((low, high)) if !high.contains(',') => Ok((number(low)?, number(high)?)),
        _ => Err(format!("expected two numbers, LO,HI, such as -5,40; found {text:?}")),
    }
}

/// The most bins of a histogram.
const MOST_BINS: usize = 1_000_000;

/// `BINS` or `BINS,MIN,MAX`.
pub(super) fn histogram(text: &str) -> Result<HistogramOptions, String> {
    let refusal = || {
        format!(
            "expected BINS or BINS,MIN,MAX, such as 20 or 20,-5,40: 1 to {MOST_BINS} bins, and two finite numbers of which \
             the first is not the greater; found {text:?}"
        )
    };
    let (bins, range) = match *text.split(',').map(str::trim).collect::<Vec<_>>().as_slice() {
        [bins] => (bins, None),
        [bins, min, max] => (bins, Some((min, max))),
        _ => return Err(refusal()),
    };
    let bins = bins.parse().ok().filter(|bins| (1..=MOST_BINS).contains(bins)).ok_or_else(refusal)?;
    let finite = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let range = match range {
        None => None,
        Some((min, max)) => {
            let range = finite(min).zip(finite(max)).filter(|(min, max)| min <= max);
            Some(range.ok_or_else(refusal)?)
        }
    };
    Ok(HistogramOptions { bins, range })
}

/// `AXIS=INDEX,...`, or nothing; `None` for anything else.
pub(super) fn slice(text: &str) -> Option<Vec<(String, u64)>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let piece = |piece: &str| {
        let (axis, index) = piece.rsplit_once('=')?;
        Some((axis.trim().to_owned(), index.trim().parse().ok()?))
    };
    text.split(',').map(piece).collect()
}

/// `auto`, or `VALUE,...`.
pub(super) fn missing(text: &str) -> Result<Missing, String> {
    if text == "auto" {
        return Ok(Missing::Auto);
    }
    text.split(',').map(number).collect::<Result<_, _>>().map(Missing::Values)
}

/// A finite number of at least 0.
pub(super) fn max_error(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(error) if error.is_finite() && error >= 0.0 => Ok(error),
        _ => Err(format!("expected a finite number of at least 0; found {text:?}")),
    }
}

/// A data type's name, or its metadata as JSON.
pub(super) fn data_type(text: &str) -> Result<DataType, String> {
    let metadata = if text.trim_start().starts_with(['{', '"']) {
        Json::parse_str(text).map_err(|error| format!("{text:?} is not JSON: {error}"))?
    } else {
        Json::from(text)
    };
    match DataType::from_metadata(&metadata) {
        Ok(data_type) if data_type.size().is_some() => Ok(data_type),
        Ok(_) => Err(format!("{text:?} is no data type that values can be converted to")),
        Err(error) => Err(error.to_string()),
    }
}

/// The name of an integer type.
pub(super) fn integer_type(text: &str) -> Result<NumberType, String> {
    match data_type(text)? {
        DataType::Number(number) if !number.is_float() => Ok(number),
        _ => Err(format!("expected an integer type, such as uint8 or int16; found {text:?}")),
    }
}

/// `none`, `zstd:3`, `gzip:6`, `blosc:lz4:5:shuffle`; what is left out has its usual value.
pub(super) fn compression(text: &str) -> Result<Compression, String> {
    let parts: Vec<&str> = text.split(':').collect();
    match parts.as_slice() {
        ["none"] => Ok(Compression::None),
        ["zstd"] => Ok(Compression::Zstd { level: 3 }),
        ["zstd", text] => Ok(Compression::Zstd { level: level(text, -131_072, 22)? }),
        ["gzip"] => Ok(Compression::Gzip { level: 6 }),
        ["gzip", text] => Ok(Compression::Gzip { level: small_level(text)? }),
        ["blosc", rest @ ..] if rest.len() <= 3 => blosc(rest),
        _ => Err(format!(
            "expected `none`, `zstd:LEVEL`, `gzip:LEVEL` or `blosc:COMPRESSOR:LEVEL:SHUFFLE`; found {text:?}"
        )),
    }
}

fn blosc(parts: &[&str]) -> Result<Compression, String> {
    const COMPRESSORS: [&str; 6] = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];
    const SHUFFLES: [&str; 3] = ["noshuffle", "shuffle", "bitshuffle"];
    let compressor = parts.first().copied().unwrap_or("lz4");
    let shuffle = parts.get(2).copied().unwrap_or("shuffle");
    if !COMPRESSORS.contains(&compressor) {
        return Err(format!("blosc has {}; found {compressor:?}", COMPRESSORS.join(", ")));
    }
    if !SHUFFLES.contains(&shuffle) {
        return Err(format!("expected {}; found {shuffle:?}", SHUFFLES.join(", ")));
    }
    Ok(Compression::Blosc {
        compressor: compressor.to_owned(),
        level: parts.get(1).map_or(Ok(5), |text| small_level(text))?,
        shuffle: shuffle.to_owned(),
    })
}

fn small_level(text: &str) -> Result<u32, String> {
    level(text, 0, 9).map(i32::unsigned_abs)
}

fn level(text: &str, least: i32, greatest: i32) -> Result<i32, String> {
    text.parse()
        .ok()
        .filter(|level| (least..=greatest).contains(level))
        .ok_or_else(|| format!("expected a level from {least} to {greatest}; found {text:?}"))
}

/// A file, or `-` for a standard stream.
pub(super) fn stream(path: PathBuf) -> Stream {
    if path == Path::new("-") { Stream::Standard } else { Stream::File(path) }
}

/// JSON on the command line, or `@` and the file that holds it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Document {
    Text(Json),
    File(PathBuf),
}

/// Reads JSON, or `@FILE`; the file is not opened yet.
pub(super) fn document(text: &str) -> Result<Document, String> {
    match text.strip_prefix('@') {
        Some(path) => Ok(Document::File(PathBuf::from(path))),
        None => {
            Json::parse_str(text).map(Document::Text).map_err(|error| format!("this is not JSON: {error}"))
        }
    }
}

impl Document {
    /// The JSON. A file that cannot be read is exit status 3, one that holds no JSON 2.
    fn read(self, option: &str) -> anyhow::Result<Json> {
        let path = match self {
            Document::Text(json) => return Ok(json),
            Document::File(path) => path,
        };
        let refusal = || format!("the file {} of --{option} is not JSON", path.display());
        let bytes = file::read(&path, DOCUMENT_LIMIT).map_err(|error| {
            OperationError::environment(format!("the file of --{option} cannot be read")).because(error)
        })?;
        let text = String::from_utf8(bytes)
            .map_err(|error| OperationError::usage(refusal()).because(error.utf8_error()))?;
        let json = Json::parse_str(&text).map_err(|error| OperationError::usage(refusal()).because(error))?;
        Ok(json)
    }

    /// A list of codecs.
    pub(super) fn codecs(self, option: &str) -> anyhow::Result<Vec<Json>> {
        match self.read(option)? {
            Json::Array(codecs) => Ok(codecs),
            other => Err(not_a("list of codecs", option, &other)),
        }
    }

    /// An object.
    pub(super) fn object(self, option: &str) -> anyhow::Result<Object> {
        match self.read(option)? {
            Json::Object(object) => Ok(object),
            other => Err(not_a("JSON object", option, &other)),
        }
    }
}

fn not_a(expected: &str, option: &str, found: &Json) -> anyhow::Error {
    let kind = match found {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    };
    OperationError::usage(format!("--{option} takes a {expected}, not {kind}")).into()
}

/// The code that stands for NaN: a whole number.
pub(super) fn code(value: &Json) -> anyhow::Result<i64> {
    let literal = match value {
        Json::Number(number) => number.literal(),
        _ => "",
    };
    literal.parse().map_err(|_| {
        OperationError::usage(
            "--nan-value with --quantize takes a whole number, the code that stands for NaN",
        )
        .into()
    })
}
