//! Options of the commands.
//!
//! JSON, numbers and type names are parsed here already: text that cannot be parsed is a usage error. The operation
//! checks whether the parsed values fit the data.

mod codecs;
mod pattern;
mod requirement;

use std::num::NonZeroUsize;

use serde::{Deserialize, Deserializer, Serialize};

use super::Partition;
use crate::data_type::DataType;
use crate::diagnostic::Code;
use crate::element::NumberType;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::{CodecMetadata, Json, Object, Separator};
use crate::store::Location;
pub use crate::store::file::Stream;
pub use codecs::{chain, complete_typesize, compression};
pub use pattern::{PathPattern, PatternError, options_for};
pub use requirement::Requirement;

/// Options of every command.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CommonOptions {
    /// Number of worker threads. `None`: the cores available to the process.
    pub threads: Option<NonZeroUsize>,
    /// Limit for the chunk data in flight, in bytes. `None`: a quarter of the memory available to the process.
    pub max_memory: Option<u64>,
}

impl CommonOptions {
    /// Returns the requested number of threads, or the number of cores that the process may use.
    pub fn num_threads(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(available, NonZeroUsize::get)
    }
}

/// The bytes->bytes codecs of the innermost chain, in encode order (`--compress`). An empty list: not compressed.
///
/// A `blosc` with shuffle may lack its `typesize`. It is then the size of the elements that the codec encodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// The listed codecs.
    Codecs(Vec<CodecMetadata>),
    /// `auto`: the best of several chains for the written data.
    Auto(CompressionGoal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum CompressionGoal {
    /// Few bytes at several hundred MB/s, with codecs that zarr-python reads by default.
    #[default]
    Balanced,
    /// Fewer bytes than without compression, as fast as possible, with codecs that zarr-python reads by default.
    Fast,
    /// The fewest bytes, at any speed, with codecs that zarr-python reads by default.
    Small,
    /// Like `Balanced`, with codecs that readers must install.
    Any,
}

impl CompressionGoal {
    /// All goals.
    pub const ALL: [CompressionGoal; 4] =
        [CompressionGoal::Balanced, CompressionGoal::Fast, CompressionGoal::Small, CompressionGoal::Any];

    /// Returns the name in `--compress`: `auto`, `auto:fast`.
    pub const fn name(self) -> &'static str {
        match self {
            CompressionGoal::Balanced => "auto",
            CompressionGoal::Fast => "auto:fast",
            CompressionGoal::Small => "auto:small",
            CompressionGoal::Any => "auto:any",
        }
    }
}

/// The form of quantised values in DEST (`--as`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum QuantizeForm {
    /// The float array, with `scale_offset` and `cast_value` in its chain.
    #[default]
    Codecs,
    /// An integer array with CF attributes.
    Cf,
    /// An integer array.
    Plain,
}

/// Values that are read as NaN (`--missing`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The values of the attributes `_FillValue` and `missing_value`.
    Auto,
    /// The listed values: JSON numbers or strings in the fill value encoding.
    Values(Vec<Json>),
}

/// Decoding by CF conventions: missing values, and packing.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CfOptions {
    /// `--missing`. `None`: `--missing none`.
    pub missing: Option<Missing>,
    /// `--cf`: the attributes `scale_factor`, `add_offset` and `_Unsigned` are applied.
    pub unpacks: bool,
}

/// `--quantize`, `--max-error`, `--step` and the options that belong to them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct QuantizeOptions {
    /// TYPE. `None`: the first type with enough codes for `max_error` or `step`.
    pub data_type: Option<NumberType>,
    pub max_error: Option<f64>,
    /// `--step`.
    pub step: Option<f64>,
    /// `--as`.
    pub form: QuantizeForm,
    /// `--range LO,HI`, as JSON literals. They are parsed in the array's type later.
    pub range: Option<(Json, Json)>,
    /// `--scale`: the `scale` of the codec.
    pub scale: Option<Json>,
    /// `--offset`: the `offset` of the codec.
    pub offset: Option<Json>,
    /// `--nan-value`.
    pub nan_value: Option<i64>,
    /// `--missing`.
    pub missing: Option<Missing>,
    /// `--no-workarounds`: the metadata get no entries for readers that cannot open some valid arrays.
    pub no_workarounds: bool,
}

impl QuantizeForm {
    /// The names in options and reports.
    pub const NAMES: [(&str, QuantizeForm); 3] =
        [("codecs", QuantizeForm::Codecs), ("cf", QuantizeForm::Cf), ("plain", QuantizeForm::Plain)];

    /// Returns the name in options and reports.
    pub fn name(self) -> &'static str {
        named(&Self::NAMES, self)
    }
}

/// Returns the name of a value. The table contains all values.
fn named<T: Copy + PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

impl QuantizeOptions {
    /// Quantises to integers of a type. The range is determined from the data.
    pub fn to(data_type: NumberType) -> Self {
        QuantizeOptions { data_type: Some(data_type), ..Self::default() }
    }

    /// Returns whether the range is determined from the data.
    pub fn finds_range(&self) -> bool {
        self.range.is_none() && self.scale.is_none() && self.offset.is_none()
    }

    /// Returns whether no value is left that attributes declare missing: they are read as NaN, or a first pass found
    /// none.
    pub fn knows_missing(&self) -> bool {
        self.missing == Some(Missing::Auto) || self.finds_range()
    }
}

/// `--keep-bits`: the number of explicit significand bits that floats keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepBits {
    /// The number of bits.
    Bits(u32),
    /// `auto`: the fewest bits that keep this share of the bitwise real information, along every dimension.
    Auto(f64),
    /// The bits that `auto` found, and the share of the information.
    Found(u32, f64),
}

impl KeepBits {
    /// Returns the number of bits. `None` if it depends on the data, in a plan that reads no chunk.
    pub(super) fn bits(self) -> Option<u32> {
        if let KeepBits::Bits(bits) | KeepBits::Found(bits, _) = self { Some(bits) } else { None }
    }
}

/// `--predict`: stores differences of the codes along dimensions, which compress better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Predict {
    /// `none`: no differences, also with `--compress auto:small` and `auto:any`.
    None,
    /// `auto`: the dimensions with which a sample is smallest.
    Auto,
    /// The names or numbers of the dimensions, in order.
    Dimensions(Vec<String>),
}

impl From<&str> for Predict {
    fn from(text: &str) -> Self {
        match text {
            "none" => Predict::None,
            "auto" => Predict::Auto,
            _ => Predict::Dimensions(text.split(',').map(|dimension| dimension.trim().to_owned()).collect()),
        }
    }
}

/// A shape in `--chunk-shape` and `--shard-shape`. A length of 0 means the whole axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum ShapeRequest {
    /// One length per dimension.
    Lengths(Vec<u64>),
    /// Lengths of some dimensions, by name.
    Named(Vec<(String, u64)>),
    /// `auto`: a shape of about this many decoded bytes.
    Auto(u64),
}

impl ShapeRequest {
    /// Chunk size of `auto` without a size, in bytes.
    pub const CHUNK_BYTES: u64 = 1 << 20;
    /// Shard size of `auto` without a size, in bytes.
    pub const SHARD_BYTES: u64 = 256 << 20;
}

/// `--shard-shape`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum ShardRequest {
    /// `none`: chunks without shards.
    None,
    /// The shape of the shards.
    Shape(ShapeRequest),
}

/// A slice of one dimension (`--select`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Name of the dimension. If no dimension of an array has this name: its number.
    pub dimension: String,
    /// Index of the first element. Negative: counted from the end. `None`: 0.
    pub start: Option<i64>,
    /// Index after the last element. Negative: counted from the end. `None`: the end.
    pub stop: Option<i64>,
}

/// Changes of an array: codecs, grid, values and metadata.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct ChangeOptions {
    /// `--codecs`: the whole chain.
    pub codecs: Option<Vec<Json>>,
    /// `--compress`.
    pub compress: Option<Compression>,
    /// `--predict`.
    pub predict: Option<Predict>,
    /// `--chunk-shape`.
    pub chunk_shape: Option<ShapeRequest>,
    /// `--shard-shape`.
    pub shard_shape: Option<ShardRequest>,
    /// `--select`: a slice per dimension. Other dimensions are copied whole.
    pub select: Vec<Slice>,
    /// `--data-type`.
    pub data_type: Option<DataType>,
    /// `--fill-value`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub fill_value: Option<Json>,
    /// `--zarr-format`: 2 or 3. `None`: the format of SOURCE.
    pub zarr_format: Option<u64>,
    /// `--separator` of chunk keys.
    pub separator: Option<Separator>,
    /// `--attributes`: replaces all attributes.
    pub attributes: Option<Object>,
    /// `--attributes-append`: replaces or adds top-level members.
    pub attributes_append: Option<Object>,
    /// `--dimension-names`.
    pub dimension_names: Option<Vec<String>>,
    /// `--quantize`, `--max-error` or `--step`.
    pub quantize: Option<QuantizeOptions>,
    /// `--as` without quantising: the new form of packed values.
    pub repack: Option<QuantizeForm>,
    /// `--keep-bits`.
    pub keep_bits: Option<KeepBits>,
    /// `--rounding` for `--data-type` and `--quantize`. `None`: nearest-even.
    pub rounding: Option<Rounding>,
    /// `--out-of-range`. `None`: an error.
    pub out_of_range: Option<OutOfRange>,
    /// `--nan-value` with `--data-type`: the value of NaN in an integer type.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub nan_value: Option<Json>,
    /// `--unpack`.
    pub unpack: bool,
    /// `--allow-lossy-cast`.
    pub allow_lossy_cast: bool,
    /// `--no-fill-check`.
    pub no_fill_check: bool,
    /// `--write-empty-chunks`.
    pub write_empty_chunks: bool,
}

/// Reads a member that may be `null`. A `null` is different from an absent member.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// Options of a job other than its changes: resources, start, checks.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct RunOptions {
    pub common: CommonOptions,
    /// `--verify`.
    pub verify: bool,
    /// `--quality`, or an option that implies it.
    pub quality: bool,
    /// `--require`: conditions that every quantised array must meet.
    pub requirements: Vec<Requirement>,
    /// `--dry-run`.
    pub dry_run: bool,
    /// `--estimate`: the plan includes an estimate of size and time, from a sample.
    pub estimate: bool,
    /// `--overwrite`.
    pub overwrite: bool,
    /// `--resume`.
    pub resume: bool,
    /// `--partitions`: the number of parts of the work. A job in parts sets it itself.
    pub partitions: Option<u64>,
}

/// `--rule`: changes of the arrays of a hierarchy that match a pattern.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Rule {
    /// The pattern of paths without their leading slash.
    pub pattern: PathPattern,
    /// The changes. Members that are not set are the same as without the rule.
    pub change: ChangeOptions,
}

/// `zarrcast transcode`.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct TranscodeOptions {
    /// SOURCE.
    pub source: Location,
    /// DEST.
    pub destination: Location,
    pub run: RunOptions,
    /// Changes of the arrays that `include` and `exclude` select.
    pub change: ChangeOptions,
    /// `--only`: the arrays of a hierarchy that are written, with the arrays they need. Empty: all.
    pub only: Vec<PathPattern>,
    /// `--include`: the arrays of a hierarchy that are changed. Empty: all.
    pub include: Vec<PathPattern>,
    /// `--exclude`: the arrays that are only copied.
    pub exclude: Vec<PathPattern>,
    /// `--rule`, in order.
    pub rules: Vec<Rule>,
    /// `--no-consolidate`: no consolidated metadata are written.
    pub no_consolidate: bool,
}

impl TranscodeOptions {
    /// Copies SOURCE to DEST.
    pub fn new(source: Location, destination: Location) -> Self {
        TranscodeOptions { source, destination, ..Self::default() }
    }
}

impl ChangeOptions {
    /// Returns the form of packed values: of a quantisation, or of an existing packing.
    pub(crate) fn form(&self) -> Option<QuantizeForm> {
        self.quantize.as_ref().map(|quantize| quantize.form).or(self.repack)
    }

    /// Returns the dimensions of `--predict`. Empty if they are not known, or there are none.
    pub(crate) fn predicted(&self) -> &[String] {
        if let Some(Predict::Dimensions(names)) = &self.predict { names } else { &[] }
    }

    /// Overrides options with those of a rule. Options that contradict the rule are removed.
    pub fn override_by(&mut self, rule: &ChangeOptions) {
        let is_of_floats = rule.quantize.is_some() || rule.keep_bits.is_some();
        if is_of_floats || rule.data_type.is_some() || rule.unpack || rule.repack.is_some() {
            (self.quantize, self.keep_bits, self.data_type) = (None, None, None);
            self.repack = None;
            // Unpacked values can be quantised or rounded.
            self.unpack &= is_of_floats;
        }
        // A whole chain has its own compressor. On one command line the two options exclude each other.
        if rule.codecs.is_some() {
            self.compress = None;
        }
        let rule = rule.clone();
        self.codecs = rule.codecs.or(self.codecs.take());
        self.compress = rule.compress.or(self.compress.take());
        self.predict = rule.predict.or(self.predict.take());
        self.chunk_shape = rule.chunk_shape.or(self.chunk_shape.take());
        self.shard_shape = rule.shard_shape.or(self.shard_shape.take());
        self.data_type = rule.data_type.or(self.data_type.take());
        self.fill_value = rule.fill_value.or(self.fill_value.take());
        self.separator = rule.separator.or(self.separator);
        self.attributes = rule.attributes.or(self.attributes.take());
        self.attributes_append = rule.attributes_append.or(self.attributes_append.take());
        self.dimension_names = rule.dimension_names.or(self.dimension_names.take());
        self.quantize = rule.quantize.or(self.quantize.take());
        self.repack = rule.repack.or(self.repack);
        self.keep_bits = rule.keep_bits.or(self.keep_bits);
        self.rounding = rule.rounding.or(self.rounding);
        self.out_of_range = rule.out_of_range.or(self.out_of_range);
        self.nan_value = rule.nan_value.or(self.nan_value.take());
        self.unpack |= rule.unpack;
        self.allow_lossy_cast |= rule.allow_lossy_cast;
        self.no_fill_check |= rule.no_fill_check;
        self.write_empty_chunks |= rule.write_empty_chunks;
    }
}

/// `zarrcast apply-codec`.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ApplyCodecOptions {
    pub common: CommonOptions,
    /// INPUT. `None` with `--chunk`.
    pub input: Option<Stream>,
    /// OUTPUT. Optional with `--round-trip` and `--repeat`.
    pub output: Option<Stream>,
    /// `--codecs`. `None` with `--like`.
    pub codecs: Option<Vec<Json>>,
    /// `--decode`.
    pub decode: bool,
    /// `--data-type` of the decoded array.
    pub data_type: Option<DataType>,
    /// `--shape` of the decoded array. Empty for 0-D.
    pub shape: Option<Vec<u64>>,
    /// `--fill-value`.
    pub fill_value: Option<Json>,
    /// `--no-fill-check`.
    pub no_fill_check: bool,
    /// `--like STORE`.
    pub like: Option<Location>,
    /// `--chunk I,J`.
    pub chunk: Option<Vec<u64>>,
    /// `--stages`.
    pub stages: bool,
    /// `--round-trip`.
    pub round_trip: bool,
    /// `--repeat N`.
    pub repeat: Option<u32>,
}

/// `zarrcast inspect`.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct InspectOptions {
    pub common: CommonOptions,
    /// STORE.
    pub store: Location,
    /// `--node`.
    pub node: Option<String>,
    /// Options that a command needs to access STORE, such as `--anonymous`, for commands that are printed.
    pub access: Vec<String>,
    /// `--storage`: stored chunks and bytes are counted.
    pub storage: bool,
    /// `--stats`.
    pub stats: bool,
    /// `--histogram`.
    pub histogram: Option<HistogramOptions>,
    /// `--suggest`.
    pub suggest: Option<Suggest>,
    /// `--information`.
    pub information: bool,
    /// `--chunk`.
    pub chunk: Option<ChunkOptions>,
    /// `--preview` and `--preview-png`.
    pub preview: Option<PreviewOptions>,
    pub cf: CfOptions,
    /// `--depth`: the number of levels of nodes that are shown below a group. `None`: all.
    pub depth: Option<u64>,
    /// `--report`: the numbers of the pictures of an array are read.
    pub draws: bool,
}

/// `--suggest [TYPE]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Suggest {
    /// TYPE: the codecs that encode to integers of this type.
    Codecs(NumberType),
    /// Without TYPE: ways to store the array in fewer bytes, tried on a sample.
    Ways {
        /// `--sample`: the number of chunks that are tried. `None`: as many as a few seconds allow.
        sample: Option<u64>,
    },
}

/// `--histogram BINS[,MIN,MAX]`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct HistogramOptions {
    /// Number of bins, at least 1.
    pub bins: usize,
    /// Outer edges of the bins. `None`: the least and greatest finite value.
    pub range: Option<(f64, f64)>,
}

/// `--chunk I,J,...`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkOptions {
    /// Index of the chunk in the grid.
    pub indices: Vec<u64>,
    /// `--inner-chunk`: the index is in the grid of inner chunks.
    pub inner: bool,
}

/// `--preview [AXIS=INDEX,...]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PreviewOptions {
    /// AXIS (number or dimension name), and the index along it.
    pub at: Vec<(String, u64)>,
    /// Size of the picture in text and JSON.
    pub picture: Option<PictureSize>,
    /// Size of the image of `--preview-png`.
    pub image: Option<PictureSize>,
}

/// The greatest size of a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PictureSize {
    /// Number of pixels from left to right.
    pub columns: u64,
    /// Number of pixels from top to bottom.
    pub rows: u64,
    /// Height of a pixel, in units of its width.
    pub pixel_height: u64,
}

/// Level of `validate` (`--level`). Each level includes the levels before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum ValidateLevel {
    /// Checks the metadata documents.
    Metadata,
    /// Also checks the keys: unknown, outside the grid, truncated, absent.
    #[default]
    Keys,
    /// Also checks the shard indexes.
    Index,
    /// Also decodes every chunk.
    Data,
}

impl ValidateLevel {
    /// The names on the command line.
    pub const NAMES: [(&str, ValidateLevel); 4] = [
        ("metadata", ValidateLevel::Metadata),
        ("keys", ValidateLevel::Keys),
        ("index", ValidateLevel::Index),
        ("data", ValidateLevel::Data),
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        named(&Self::NAMES, self)
    }
}

/// `--against OTHER`: `|a - b| <= atol + rtol * |b|`, with b from OTHER.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct AgainstOptions {
    /// OTHER.
    pub other: Location,
    /// `--rtol`.
    pub rtol: f64,
    /// `--atol`.
    pub atol: f64,
    /// `--cf`: both sides are decoded by CF conventions.
    pub cf: bool,
}

impl AgainstOptions {
    /// Requires equal stored values.
    pub fn new(other: Location) -> Self {
        AgainstOptions { other, rtol: 0.0, atol: 0.0, cf: false }
    }
}

/// `zarrcast validate`.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ValidateOptions {
    pub common: CommonOptions,
    /// STORE, one or more.
    pub stores: Vec<Location>,
    /// `--node`.
    pub node: Option<String>,
    /// `--level`.
    pub level: ValidateLevel,
    /// `--deny CODE`: findings that are errors, whatever their default level is.
    pub deny: Vec<Code>,
    /// `--deny warnings`.
    pub deny_warnings: bool,
    /// `--allow CODE`: findings that are neither reported nor counted.
    pub allow: Vec<Code>,
    /// `--max-findings`. 0: all.
    pub max_findings: usize,
    /// `--partition`, for the levels `index` and `data`.
    pub partition: Option<Partition>,
    /// `--against`.
    pub against: Option<AgainstOptions>,
    /// `--expect FILE`, parsed.
    pub expect: Option<Object>,
}

impl ValidateOptions {
    /// Validates STORE at the default level, with all findings.
    pub fn new(store: Location) -> Self {
        ValidateOptions { stores: vec![store], ..Self::default() }
    }
}

impl InspectOptions {
    /// Shows the metadata of STORE.
    pub fn new(store: Location) -> Self {
        InspectOptions { store, ..Self::default() }
    }
}
