//! Parsers of option texts: sizes, shapes, scalars, data types, compressors, JSON or a file that contains it.
//!
//! A parser here refuses text that is not valid for the option (exit status 2). The operation checks whether a value
//! fits the data.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::data_type::{DataType, meant_types};
use crate::diagnostic::spelling::alternatives;
use crate::element::NumberType;
use crate::metadata::{Json, Object};
use crate::operation::options::Slice;
use crate::operation::{
    Compression, CompressionGoal, HistogramOptions, KeepBits, Missing, NodePath, OperationError, PathPattern,
    ShapeRequest, ShardRequest, Stream, options,
};
use crate::store::location::without_secrets;
use crate::store::{Location, LocationError, file};

/// `auto`, `always` or `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

impl When {
    /// True if it is; for `auto`, or where nothing is said, `by_default` tells.
    pub(super) fn is_now(when: Option<When>, by_default: impl FnOnce() -> bool) -> bool {
        match when.unwrap_or_default() {
            When::Always => true,
            When::Never => false,
            When::Auto => by_default(),
        }
    }
}

/// Returns a parser of a fixed set of words, each with its value.
pub(super) fn one_of<T: Clone + Send + Sync>(words: &'static [(&'static str, T)]) -> impl TypedValueParser<Value = T> {
    // This parser of clap names the words in errors and completions. A plain function would not.
    PossibleValuesParser::new(words.iter().map(|(word, _)| *word)).try_map(|found| {
        let value = words.iter().find(|(word, _)| *word == found).map(|(_, value)| value.clone());
        value.ok_or("not one of these words")
    })
}

pub(super) fn pattern(text: &str) -> Result<PathPattern, String> {
    PathPattern::new(text).map_err(|error| error.to_string())
}

/// The maximum size of a document given by `@FILE`, in bytes.
const DOCUMENT_LIMIT: u64 = 64 << 20;

/// The suffixes of a size, after the base of their powers. Each suffix is the base times the one before it.
const SIZE_UNITS: [(u64, [&str; 4]); 4] = [
    (1 << 10, ["KiB", "MiB", "GiB", "TiB"]),
    (1000, ["kB", "MB", "GB", "TB"]),
    (1000, ["KB", "MB", "GB", "TB"]),
    (1 << 10, ["K", "M", "G", "T"]),
];

/// Parses a number of bytes above zero: `512MiB`, `2GB`, `1048576`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let refusal = || format!("expected a size above 0, such as 512MiB, 2GB or 1048576; found {text:?}");
    let of_base = |(base, suffixes): (u64, [_; 4])| suffixes.into_iter().zip((1..).map(move |n| base.pow(n)));
    let (digits, unit) = SIZE_UNITS
        .into_iter()
        .flat_map(of_base)
        // `B` ends the other units, too, so it is tried last.
        .chain([("B", 1)])
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?.trim_end(), unit)))
        .unwrap_or((text, 1));
    whole(digits).and_then(|count| count.checked_mul(unit)).filter(|bytes| *bytes > 0).ok_or_else(refusal)
}

/// A number of nothing but digits: `u64::from_str` takes a leading plus sign, which no length has.
fn whole(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Parses a whole number.
pub(super) fn whole_number<T: FromStr>(text: &str) -> Result<T, String> {
    let number = whole(text).and_then(|_| text.parse().ok());
    number.ok_or_else(|| format!("expected a whole number; found {text:?}"))
}

/// Parses a whole number above 0.
pub(super) fn above_zero<T: FromStr>(text: &str) -> Result<T, String> {
    let number = whole(text).filter(|number| *number > 0).and_then(|_| text.parse().ok());
    number.ok_or_else(|| format!("expected a whole number above 0; found {text:?}"))
}

/// Parses a whole number above 0 and at most `MOST`.
pub(super) fn up_to<const MOST: u32>(text: &str) -> Result<u32, String> {
    let number = above_zero(text)?;
    if number <= MOST { Ok(number) } else { Err(format!("expected at most {MOST}")) }
}

/// A shape or chunk indices: `A,B,...`. Empty text, or `scalar`, for 0-D. The alias makes clap read it as one value.
pub(super) type Extents = Vec<u64>;

/// Parses `A,B,...`.
pub(super) fn extents(text: &str) -> Result<Extents, String> {
    lengths(text).map_err(|fault| format!("expected whole numbers, such as 16,256,256, or `scalar`; {fault}"))
}

/// Parses `A,B,...`. The error names the item that is not a length.
fn lengths(text: &str) -> Result<Extents, String> {
    if text.is_empty() || text == "scalar" {
        return Ok(Vec::new());
    }
    let items = text.split(',').zip(1..);
    items.map(|(item, number)| whole(item.trim()).ok_or_else(|| wrong_item(text, item, number))).collect()
}

/// Describes an item of a list that cannot be read. The first item has number 1.
fn wrong_item(text: &str, item: &str, number: u64) -> String {
    match item.trim() {
        "" => format!("item {number} of {text:?} is empty"),
        item if item.parse::<i64>().is_ok_and(|length| length < 0) => {
            format!("item {number} of {text:?} is negative: {item}")
        }
        item => format!("found {item:?}"),
    }
}

/// Refuses names of dimensions in JSON: they are given as `A,B`.
pub(super) fn dimension_name(text: &str) -> Result<String, String> {
    let refusal = format!("expected names as A,B,... without brackets and quotes; found {text:?}");
    if text.starts_with('[') { Err(refusal) } else { Ok(text.to_owned()) }
}

/// Parses one value in the encoding of fill values (JSON). A bare NaN, Infinity, -Infinity or 0x... is the string.
pub(super) fn scalar(text: &str) -> Result<Json, String> {
    let bare = text.trim();
    // JSON needs quotes here, which would have to be protected from the shell.
    if matches!(bare, "NaN" | "Infinity" | "+Infinity" | "-Infinity") || bare.starts_with("0x") {
        return Ok(Json::from(bare));
    }
    Json::parse_str(text).map_err(|error| format!("{text:?} is not JSON: {error}"))
}

/// Parses one number, or a string that stands for one.
pub(super) fn number(text: &str) -> Result<Json, String> {
    match scalar(text)? {
        value @ (Json::Number(_) | Json::String(_)) => Ok(value),
        _ => Err(format!("expected a number, \"NaN\", \"Infinity\" or 0x and digits; found {text:?}")),
    }
}

/// Parses `LO,HI`.
pub(super) fn range(text: &str) -> Result<(Json, Json), String> {
    match text.split_once(',') {
        Some((low, high)) if !high.contains(',') => Ok((number(low)?, number(high)?)),
        _ => Err(format!("expected two numbers, LO,HI, such as -5,40; found {text:?}")),
    }
}

/// The maximum number of bins of a histogram.
const MOST_BINS: usize = 1_000_000;

/// Parses `BINS` or `BINS,MIN,MAX`.
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
    let range = range.map(|(min, max)| finite(min).zip(finite(max)).filter(|(a, b)| a <= b).ok_or_else(refusal));
    let range = range.transpose()?;
    Ok(HistogramOptions { bins, range })
}

/// Parses `AXIS=INDEX,...` or an empty text.
pub(super) fn indices(text: &str) -> Result<Vec<(String, u64)>, String> {
    if text.is_empty() { Ok(Vec::new()) } else { pairs(text, |index| whole(index.trim())) }
}

/// Values that count as missing. `None` is the word `none`. The alias makes clap read it as one value.
pub(super) type MissingOrNone = Option<Missing>;

/// Parses `auto`, or `VALUE,...`.
pub(super) fn missing(text: &str) -> Result<Missing, String> {
    if text == "auto" {
        return Ok(Missing::Auto);
    }
    text.split(',').map(number).collect::<Result<_, _>>().map(Missing::Values)
}

/// Parses `auto`, `none`, or `VALUE,...`.
pub(super) fn missing_or_none(text: &str) -> Result<MissingOrNone, String> {
    if text == "none" { Ok(None) } else { missing(text).map(Some) }
}

/// Parses a finite number of at least 0.
pub(super) fn max_error(text: &str) -> Result<f64, String> {
    finite(text, "of at least 0", |error| error >= 0.0)
}

/// Parses a finite number greater than 0.
pub(super) fn step(text: &str) -> Result<f64, String> {
    finite(text, "greater than 0", |step| step > 0.0)
}

/// Parses a finite number for which `is_right` is true.
fn finite(text: &str, expected: &str, is_right: fn(f64) -> bool) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && is_right(*number));
    number.ok_or_else(|| format!("expected a finite number {expected}; found {text:?}{}", respelt_number(text)))
}

/// Returns a hint for a number with a decimal comma, or in percent. Empty for other text.
fn respelt_number(text: &str) -> String {
    let number = text.replace(',', ".");
    let is_number = |text: &str| text.trim().parse::<f64>().is_ok();
    match number.strip_suffix('%') {
        Some(share) if is_number(share) => {
            "; errors and steps are in the units of the array, not in percent: such as 0.05".to_owned()
        }
        None if number != text && is_number(&number) => format!("; decimals have a point: {number}"),
        _ => String::new(),
    }
}

/// Parses `N`, `auto` or `auto:P`.
pub(super) fn keep_bits(text: &str) -> Result<KeepBits, String> {
    /// Explicit bits of a float64's significand.
    const MOST: u32 = 52;
    let share = |text: &str| text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share < 1.0);
    let found = match text.strip_prefix("auto") {
        Some("") => Some(KeepBits::Auto(0.99)),
        Some(rest) => rest.strip_prefix(':').and_then(share).map(KeepBits::Auto),
        None => text.parse().ok().filter(|bits| (1..=MOST).contains(bits)).map(KeepBits::Bits),
    };
    found.ok_or_else(|| {
        format!(
            "expected the bits, 1 to {MOST}, or `auto`, or `auto:P` with the share of the information that is kept, between 0 \
             and 1, such as auto:0.999; found {text:?}"
        )
    })
}

/// The data types that are only a name, for messages.
const TYPES: &str = "bool, int2 to int64, uint2 to uint64, float16, float32, float64, bfloat16, float8_e4m3 and its like, \
    complex64, complex128; others are given as JSON, with their configuration";

/// The integer types, for messages.
const INTEGER_TYPES: &str =
    "int8, int16, int32, int64, uint8, uint16, uint32, uint64, and others of 2 to 31 bits, such as uint12";

/// Parses the name of a data type, or its metadata as JSON.
pub(super) fn data_type(text: &str) -> Result<DataType, String> {
    match known_type(text, TYPES)? {
        data_type if data_type.size().is_some() => Ok(data_type),
        data_type => {
            Err(format!("elements of {data_type} have no fixed size: no values are converted to it. Known are {TYPES}"))
        }
    }
}

/// Parses the name of an integer type.
pub(super) fn integer_type(text: &str) -> Result<NumberType, String> {
    match known_type(text, INTEGER_TYPES)? {
        DataType::Number(number) if !number.is_float() => Ok(number),
        data_type => Err(format!("{data_type} is not an integer type. Known are {INTEGER_TYPES}")),
    }
}

/// True if the text looks like a data type, also a misspelt one: known, similar, or with letters and digits like one.
pub(super) fn looks_like_type(text: &str) -> bool {
    const WORDS: [&str; 5] = ["int", "uint", "float", "complex", "bfloat"];
    let is_numbered = || {
        let word = text.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_lowercase();
        word.len() < text.len() && WORDS.contains(&word.as_str())
    };
    let is_word = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_<>|=".contains(letter));
    let is_known =
        || matches!(DataType::from_metadata(&Json::from(text)), Ok(known) if !matches!(known, DataType::Other(_)));
    text.trim_start().starts_with(['{', '"'])
        || (is_word && (is_numbered() || is_known() || !meant_types(text).is_empty()))
}

/// Parses a data type that the program knows. The error names similar types, and lists `known`.
fn known_type(text: &str, known: &str) -> Result<DataType, String> {
    let metadata = if text.trim_start().starts_with(['{', '"']) {
        Json::parse_str(text).map_err(|error| format!("{text:?} is not JSON: {error}"))?
    } else {
        Json::from(text)
    };
    let error = match DataType::from_metadata(&metadata) {
        Ok(DataType::Other(_)) => format!("{text:?} is not a known data type"),
        Ok(data_type) => return Ok(data_type),
        Err(error) => error.to_string(),
    };
    let meant: Vec<_> = meant_types(text).into_iter().filter(|meant| *meant != text).collect();
    match meant.as_slice() {
        [] => Err(format!("{error}. Known are {known}")),
        meant => Err(format!("{error}. Did you mean {}? Known are {known}", alternatives(meant))),
    }
}

/// Parses `none`, short codecs (`zstd:3`, `gzip:6,crc32c`, `blosc:lz4:5:shuffle`), or `auto` with a goal (`auto:fast`).
pub(super) fn compression(text: &str) -> Result<Compression, String> {
    if let Some(goal) = CompressionGoal::ALL.into_iter().find(|goal| goal.name() == text) {
        return Ok(Compression::Auto(goal));
    }
    let is_auto = text.split([',', ':']).map(str::trim).any(|part| part == "auto");
    if is_auto {
        let goals: Vec<&str> = CompressionGoal::ALL.into_iter().map(CompressionGoal::name).collect();
        return Err(format!("`auto` cannot be combined with other codecs; known are {}", goals.join(", ")));
    }
    options::compression(text).map(Compression::Codecs)
}

/// Parses a codec chain: JSON, `@FILE`, or codecs in short form.
pub(super) fn codecs(text: &str) -> Result<Document, String> {
    if text.trim_start().starts_with(['[', '{', '"', '@']) {
        return document(text);
    }
    let read = options::chain(text).map(|codecs| Document::Text(Json::Array(codecs)));
    read.map_err(|error| meant_file(text, error))
}

/// Adds to an error that a file is written as `@FILE`, if the text names one.
fn meant_file(text: &str, error: String) -> String {
    let is_file = file::first_bytes(Path::new(text), 0).is_ok();
    if is_file { format!("{error}; the file of that name is given as `@{text}`") } else { error }
}

/// Parses a location that this build can open.
pub(super) fn location(argument: &str, text: PathBuf) -> Result<Location, OperationError> {
    let shown = without_secrets(&text.to_string_lossy());
    Location::parse(text).map_err(|error| {
        let help = match &error {
            LocationError::FileUrl(_) => "or give the path of a local folder",
            LocationError::Url(_) => "such as s3://bucket/prefix or https://example.org/a.zarr",
            LocationError::Scheme { .. } => {
                "give a local folder, by its path or as file:///path; copy what is elsewhere first. A local folder of \
                 such a name is given as ./NAME"
            }
            LocationError::Adapter { .. } => {
                "a zip file is opened by `|zip:path/in/it`; unpack other stores into a local folder first, and name that"
            }
            LocationError::Inside { .. } => "give the path of a node in it, such as a.zip|zip:group/temperature",
        };
        OperationError::usage(format!("{argument} `{shown}`: {error}")).with_help(help)
    })
}

/// Refuses to write a store whose name has the ending of a file of another format. Also refuses the ending of an
/// archive other than zip, unless the name is an existing folder.
pub(super) fn refuse_other_formats(argument: &str, text: &Path) -> Result<(), OperationError> {
    const ARCHIVES: [&str; 9] = [".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar", ".tgz", ".gz", ".7z", ".rar"];
    const FORMATS: [&str; 12] =
        [".json", ".nc", ".nc4", ".h5", ".hdf5", ".tif", ".tiff", ".grib", ".grib2", ".npy", ".csv", ".parquet"];
    let shown = without_secrets(&text.to_string_lossy());
    let name = shown.trim_end_matches('/');
    let lower = name.to_ascii_lowercase();
    let named = |endings: &[&'static str]| endings.iter().copied().find(|ending| lower.ends_with(ending));
    let archive = named(&ARCHIVES).filter(|_| !file::is_folder(text));
    let Some(ending) = archive.or_else(|| named(&FORMATS)) else { return Ok(()) };
    let stem = name.get(..name.len().saturating_sub(ending.len())).unwrap_or_default();
    let (reason, folder) = match archive {
        Some(_) => (format!("archives of the kind `{ending}` are not written"), stem.to_owned()),
        None => (format!("only Zarr is written, and `{ending}` is no name for it"), format!("{stem}.zarr")),
    };
    Err(OperationError::usage(format!("{argument} `{shown}`: {reason}"))
        .with_help(format!("name a folder ({folder}), or a zip file ({stem}.zip)")))
}

/// Returns the node of `--node` in a store, or the store itself.
pub(super) fn node_of(store: Location, node: Option<&str>) -> Result<Location, OperationError> {
    let node_path = NodePath::new(&store, node)?;
    if node_path.is_root() {
        return Ok(store);
    }
    store.child(node_path.relative()).map_err(|error| {
        OperationError::usage(format!("--node names no node of `{store}`"))
            .because(error)
            .with_help("give a path inside the store, such as group/temperature")
    })
}

/// Refuses a location whose text may contain a secret. Secrets are not written into a script, and it would not work
/// without them.
pub(super) fn refuse_secrets(argument: &str, text: &Path) -> Result<(), OperationError> {
    let text = text.to_string_lossy();
    let shown = without_secrets(&text);
    // In the address of a bucket, a `?` is part of a name.
    let is_shown_whole = || Location::parse(&*text).is_ok_and(|location| location.display().to_string() == text);
    if shown == text || is_shown_whole() {
        return Ok(());
    }
    let message = format!("{argument} `{shown}` has a query or a password, and secrets are not written into scripts");
    Err(OperationError::usage(message).with_help(
        "name a bucket as s3://, gs:// or az://, with credentials in the environment of the jobs; or run the parts by a \
         script of your own: `--partition I` for each part of each pass, then `--finish`",
    ))
}

/// Parses KEY=VALUE. Both are empty for other text, which is refused later: clap would repeat the text, which may be a
/// secret.
#[expect(clippy::unnecessary_wraps, reason = "clap needs a parser that returns a `Result`")]
pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or_default();
    Ok((name.to_owned(), value.to_owned()))
}

/// Parses the HTTP status that counts as an absent chunk: only 403.
pub(super) fn missing_status(text: &str) -> Result<u16, String> {
    if text == "403" { Ok(403) } else { Err("only 403 can be treated as missing; 404 always is".to_owned()) }
}

/// Returns the file of a path, or a standard stream for `-`.
pub(super) fn stream(path: PathBuf) -> Stream {
    if path == Path::new("-") { Stream::Standard } else { Stream::File(path) }
}

/// JSON on the command line, or the path of a file that contains it (`@FILE`).
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Document {
    Text(Json),
    File(PathBuf),
}

/// Parses JSON or `@FILE`. The file is not opened yet.
pub(super) fn document(text: &str) -> Result<Document, String> {
    match text.strip_prefix('@') {
        Some("") => Err("the name of a file follows @".to_owned()),
        Some(path) => Ok(Document::File(PathBuf::from(path))),
        None => {
            let read = Json::parse_str(text).map(Document::Text);
            read.map_err(|error| meant_file(text, format!("this is not JSON: {error}")))
        }
    }
}

impl Document {
    /// Returns the JSON. The exit status is 3 if the file cannot be read, and 2 if it contains no JSON.
    fn read(self, option: &str) -> Result<Json, OperationError> {
        let path = match self {
            Document::Text(json) => return Ok(json),
            Document::File(path) => path,
        };
        let refusal = || format!("the file `{}` of --{option} is not JSON", path.display());
        let bytes = file::read(&path, DOCUMENT_LIMIT).map_err(|error| {
            OperationError::environment(format!("the file of --{option} cannot be read"))
                .because(error)
                .with_help("check the path and its permissions")
        })?;
        let text =
            String::from_utf8(bytes).map_err(|error| OperationError::usage(refusal()).because(error.utf8_error()))?;
        Json::parse_str(&text).map_err(|error| OperationError::usage(refusal()).because(error))
    }

    /// Returns the list of codecs. An error if the JSON is not a list.
    pub(super) fn codecs(self, option: &str) -> Result<Vec<Json>, OperationError> {
        match self.read(option)? {
            Json::Array(codecs) => Ok(codecs),
            other => Err(not_a("list of codecs", option, &other)),
        }
    }

    /// Returns the object. An error if the JSON is not an object.
    pub(super) fn object(self, option: &str) -> Result<Object, OperationError> {
        let json = self.read(option)?;
        if let [twice, ..] = json.duplicates(1).as_slice() {
            return Err(OperationError::usage(format!("--{option} has the member `{twice}` twice"))
                .with_help("readers keep only the last: leave out the others"));
        }
        match json {
            Json::Object(object) => Ok(object),
            other => Err(not_a("JSON object", option, &other)),
        }
    }
}

fn not_a(expected: &str, option: &str, found: &Json) -> OperationError {
    let kind = if found.as_array().is_some() { "a list" } else { found.kind() };
    OperationError::usage(format!("--{option} takes a {expected}, not {kind}"))
}

/// Returns the code that stands for NaN. An error if it is not a whole number.
pub(super) fn code(value: &Json) -> Result<i64, OperationError> {
    value.as_number().map_or("", |number| number.literal()).parse().map_err(|_| {
        OperationError::usage("--nan-value with --quantize takes a whole number, the code that stands for NaN")
    })
}

/// Parses `--chunk-shape`: a shape, or `auto[:SIZE]`.
pub(super) fn chunks(text: &str) -> Result<ShapeRequest, String> {
    shape(text, ShapeRequest::CHUNK_BYTES)
}

/// Parses `--shard-shape`: a shape, `auto[:SIZE]`, or `none`.
pub(super) fn shards(text: &str) -> Result<ShardRequest, String> {
    let given = || shape(text, ShapeRequest::SHARD_BYTES).map(ShardRequest::Shape);
    if text == "none" { Ok(ShardRequest::None) } else { given() }
}

/// Parses `16,256,256`, `time=1,lat=256` by dimension name (0 is the whole dimension), or `auto[:SIZE]` in bytes.
fn shape(text: &str, default_bytes: u64) -> Result<ShapeRequest, String> {
    match text.strip_prefix("auto") {
        Some("") => return Ok(ShapeRequest::Auto(default_bytes)),
        Some(rest) if rest.starts_with(':') => return size(&rest[1..]).map(ShapeRequest::Auto),
        _ => {}
    }
    let expected =
        |fault| format!("expected lengths, such as 16,256,256, or all by name, such as time=1,lat=256; {fault}");
    if text.contains('=') {
        return pairs(text, whole).map(ShapeRequest::Named).map_err(expected);
    }
    lengths(text).map(ShapeRequest::Lengths).map_err(|fault| expected(fault) + &respelt_shape(text))
}

/// Parses `NAME=VALUE,...` without repeated names. The error names the item that is wrong.
fn pairs<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<(String, T)>, String> {
    let mut pairs: Vec<(String, T)> = Vec::new();
    for (item, number) in text.split(',').zip(1..) {
        // A name may contain the sign, a value does not.
        let pair = item.rsplit_once('=').and_then(|(name, value)| Some((name.trim(), read(value)?)));
        let pair = pair.filter(|(name, _)| !name.is_empty());
        let (name, value) = pair.ok_or_else(|| wrong_item(text, item, number))?;
        if pairs.iter().any(|(known, _)| known == name) {
            return Err(format!("the dimension {name:?} is given twice"));
        }
        pairs.push((name.to_owned(), value));
    }
    Ok(pairs)
}

/// Returns a hint for names and lengths with `:` instead of `=`. Empty for other text.
fn respelt_shape(text: &str) -> String {
    let meant = text.replace(':', "=");
    let are_pairs = text.split(',').all(|part| part.matches(':').count() == 1);
    let is_shape = are_pairs && shape(&meant, 0).is_ok();
    if is_shape { format!("; lengths by name are given as {meant}") } else { String::new() }
}

/// `--select`: at least one slice. The alias makes clap read it as one value.
pub(super) type Slices = Vec<Slice>;

/// Parses parts of dimensions: `time=0:100,lat=-90:`. An omitted index is the start or the end of the dimension.
pub(super) fn slices(text: &str) -> Result<Slices, String> {
    let index = |text: &str| match text.trim() {
        "" => Some(None),
        text if text.starts_with('+') => None,
        text => text.parse().ok().map(Some),
    };
    let slice = |slice: &str| {
        let (start, stop) = slice.split_once(':')?;
        Some((index(start)?, index(stop)?))
    };
    let slices = pairs(text, slice).map_err(|fault| {
        format!("expected DIM=START:STOP without a step, such as time=0:100 or time=5:6,lat=20:; {fault}")
    })?;
    Ok(slices.into_iter().map(|(dimension, (start, stop))| Slice { dimension, start, stop }).collect())
}

/// Schedulers' variables with the number of a task, and the first number of each scheduler.
const VARIABLES: [(&str, u64); 7] = [
    ("SLURM_ARRAY_TASK_ID", 0),
    ("JOB_COMPLETION_INDEX", 0),
    ("AWS_BATCH_JOB_ARRAY_INDEX", 0),
    ("BATCH_TASK_INDEX", 0),
    ("SGE_TASK_ID", 1),
    ("PBS_ARRAY_INDEX", 0),
    ("LSB_JOBINDEX", 1),
];

/// The number of a part, as given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartNumber {
    Number(u64),
    Auto,
}

/// Reads a number, or `auto`.
pub(super) fn part_number(text: &str) -> Result<PartNumber, String> {
    let number = || text.parse().map(PartNumber::Number).map_err(|_| "give a number from 0, or `auto`".to_owned());
    if text == "auto" { Ok(PartNumber::Auto) } else { number() }
}

impl PartNumber {
    /// Returns the number counted from 0. The scheduler or the user counts from `first_index`.
    pub(super) fn counted_from_zero(self, first_index: Option<u64>) -> Result<u64, OperationError> {
        let (of, given, first) = match self {
            PartNumber::Number(number) => ("--partition", number, 0),
            PartNumber::Auto => of_scheduler()?,
        };
        let first = first_index.unwrap_or(first);
        given.checked_sub(first).ok_or_else(|| {
            OperationError::usage(format!("{of} is {given}, but parts are counted from {first}"))
                .with_help("set the first number with `--first-index`")
        })
    }
}

/// Returns the variable of the present scheduler, its number, and the scheduler's first number.
fn of_scheduler() -> Result<(&'static str, u64, u64), OperationError> {
    for (variable, first) in VARIABLES {
        // Some schedulers set it also for a job that is not part of an array.
        let is_set = |text: &OsString| !text.is_empty() && text != "undefined";
        let Some(text) = std::env::var_os(variable).filter(is_set) else { continue };
        let text = text.into_string().unwrap_or_default();
        let number = text.parse().map_err(|_| {
            OperationError::usage(format!("{variable} is `{text}`, and should be a number"))
                .with_help("give the number of the part: `--partition 0`")
        })?;
        return Ok((variable, number, first));
    }
    let names: Vec<&str> = VARIABLES.iter().map(|(name, _)| *name).collect();
    Err(OperationError::usage("`--partition auto`: no scheduler gives the number of the part")
        .with_help(format!("run it in an array job, which sets one of {}; or give a number", names.join(", "))))
}
