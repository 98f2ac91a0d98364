//! Options of the commands, after parsing and before anything is opened.
//!
//! Text that is JSON, a number or a type name has been parsed here already: what cannot be parsed is a usage error.
//! What parses but does not fit the data is found out by the operation.

use std::num::NonZeroUsize;

use serde::{Deserialize, Deserializer, Serialize};

use crate::data_type::DataType;
use crate::diagnostic::Code;
use crate::element::NumberType;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::{CodecMetadata, Json, Object, Separator};
use crate::operation::{Partition, PathPattern, requirement::Requirement};
use crate::store::Location;
pub use crate::store::file::Stream;

/// Options of every command.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CommonOptions {
    /// Worker threads; `None`: the cores available to the process.
    pub threads: Option<NonZeroUsize>,
    /// Bytes of chunk data in flight; `None`: a quarter of the memory available to the process.
    pub max_memory: Option<u64>,
}

impl CommonOptions {
    /// The threads that were asked for; else the cores that the process may use.
    pub fn num_threads(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(available, NonZeroUsize::get)
    }
}

/// The bytes->bytes codecs of the innermost chain, in encode order, as `--compress` gives them; none: not compressed.
///
/// A `blosc` that shuffles may lack its `typesize`, which is that of the elements it is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// These.
    Codecs(Vec<CodecMetadata>),
    /// `auto`: the best of a few for what is written.
    Auto(CompressionGoal),
}

/// The goal of `--compress auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum CompressionGoal {
    /// Few bytes at a few hundred MB/s, by codecs that zarr-python reads by default.
    #[default]
    Balanced,
    /// Fewer bytes than none, as quick as may be; likewise.
    Fast,
    /// The fewest bytes, however long it takes; likewise.
    Small,
    /// As balanced, with codecs that readers must install.
    Any,
}

impl CompressionGoal {
    /// All of them.
    pub const ALL: [CompressionGoal; 4] =
        [CompressionGoal::Balanced, CompressionGoal::Fast, CompressionGoal::Small, CompressionGoal::Any];

    /// As `--compress` has it: `auto`, `auto:fast`.
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

/// Values that count as NaN (`--missing`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The attributes `_FillValue` and `missing_value`.
    Auto,
    /// These: JSON numbers or strings in the fill value encoding.
    Values(Vec<Json>),
}

/// The view of CF readers: missing values, and packing.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CfOptions {
    /// `--missing`; `None` is the option's `none`.
    pub missing: Option<Missing>,
    /// `--cf`: the attributes `scale_factor`, `add_offset` and `_Unsigned` are applied.
    pub unpacks: bool,
}

/// `--quantize`, `--max-error`, `--step` and what belongs to them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct QuantizeOptions {
    /// TYPE; `None`: the first that has the codes for `max_error` or `step`.
    pub data_type: Option<NumberType>,
    /// `--max-error`.
    pub max_error: Option<f64>,
    /// `--step`.
    pub step: Option<f64>,
    /// `--as`.
    pub form: QuantizeForm,
    /// `--range LO,HI`, as JSON literals: parsed in the array's type.
    pub range: Option<(Json, Json)>,
    /// `--scale`, the codec's own.
    pub scale: Option<Json>,
    /// `--offset`, the codec's own.
    pub offset: Option<Json>,
    /// `--nan-value`.
    pub nan_value: Option<i64>,
    /// `--missing`.
    pub missing: Option<Missing>,
    /// `--no-workarounds`: nothing is put into the metadata for readers that do not open what is valid.
    pub no_workarounds: bool,
}

impl QuantizeForm {
    /// As options and reports have them.
    pub const NAMES: [(&str, QuantizeForm); 3] =
        [("codecs", QuantizeForm::Codecs), ("cf", QuantizeForm::Cf), ("plain", QuantizeForm::Plain)];

    /// Its name.
    pub fn name(self) -> &'static str {
        named(&Self::NAMES, self)
    }
}

/// The name of a value in a table of names that has all.
fn named<T: Copy + PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

impl QuantizeOptions {
    /// Integers of a type, of the range that is found in the data.
    pub fn to(data_type: NumberType) -> Self {
        QuantizeOptions { data_type: Some(data_type), ..Self::default() }
    }

    /// Whether the range is looked for in the data.
    pub fn finds_range(&self) -> bool {
        self.range.is_none() && self.scale.is_none() && self.offset.is_none()
    }

    /// Whether no value is a code that attributes declare missing: all count as NaN, or a first pass met none.
    pub fn knows_missing(&self) -> bool {
        self.missing == Some(Missing::Auto) || self.finds_range()
    }
}

/// `--keep-bits`: how many explicit bits of their significand floats keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum KeepBits {
    /// So many.
    Bits(u32),
    /// `auto`: the fewest that keep this share of the bitwise real information, along every dimension.
    Auto(f64),
    /// The bits that `auto` found, and the share of information.
    Found(u32, f64),
}

/// `--predict`: differences along dimensions, which compress better than the codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Predict {
    /// `none`: also under `--compress auto:small` and `auto:any`.
    None,
    /// `auto`: those that make a sample smallest.
    Auto,
    /// Along these, by name or number, in their order.
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

/// A shape as `--chunk-shape` gives it; a length of 0 is the whole axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum ShapeRequest {
    /// A length for each dimension.
    Lengths(Vec<u64>),
    /// Lengths for some dimensions, by their names.
    Named(Vec<(String, u64)>),
    /// `auto`: of about this many bytes, decoded.
    Auto(u64),
}

impl ShapeRequest {
    /// Bytes of a chunk where `auto` gives no size.
    pub const CHUNK_BYTES: u64 = 1 << 20;
    /// Bytes of a shard where `auto` gives no size.
    pub const SHARD_BYTES: u64 = 256 << 20;
}

/// `--shard-shape`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum ShardRequest {
    /// `none`: chunks without shards.
    None,
    /// Shards of this shape.
    Shape(ShapeRequest),
}

/// A part of one dimension, as `--select` gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// The name of the dimension; of an array where none has this name, its number.
    pub dimension: String,
    /// The index of the first element; negative: counted from the end. `None`: the first there is.
    pub start: Option<i64>,
    /// The index after the last element; the same. `None`: the end.
    pub stop: Option<i64>,
}

/// Changes of an array: its codecs, grid, values and metadata.
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
    /// `--select`: the part of the array that is taken, by dimensions; the others are taken whole.
    pub select: Vec<Slice>,
    /// `--data-type`.
    pub data_type: Option<DataType>,
    /// `--fill-value`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub fill_value: Option<Json>,
    /// `--zarr-format`: 2 or 3; `None`: SOURCE's.
    pub zarr_format: Option<u64>,
    /// `--separator`, of chunk keys.
    pub separator: Option<Separator>,
    /// `--attributes`: all of them, anew.
    pub attributes: Option<Object>,
    /// `--attributes-append`: top-level members.
    pub attributes_append: Option<Object>,
    /// `--dimension-names`.
    pub dimension_names: Option<Vec<String>>,
    /// `--quantize`, `--max-error` or `--step`.
    pub quantize: Option<QuantizeOptions>,
    /// `--as` alone: the form that a packing gets which is there.
    pub repack: Option<QuantizeForm>,
    /// `--keep-bits`.
    pub keep_bits: Option<KeepBits>,
    /// `--rounding`, for `--data-type` and `--quantize`; `None`: nearest-even.
    pub rounding: Option<Rounding>,
    /// `--out-of-range`; `None`: an error.
    pub out_of_range: Option<OutOfRange>,
    /// `--nan-value` with `--data-type`: what NaN becomes in an integer type.
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

/// A value that may be `null`, which is no missing one.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// Conduct of a job, apart from its changes: resources, beginning, checks.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct RunOptions {
    pub common: CommonOptions,
    /// `--verify`.
    pub verify: bool,
    /// `--quality`, or what implies it.
    pub quality: bool,
    /// `--require`: what each quantised array has to keep.
    pub requirements: Vec<Requirement>,
    /// `--dry-run`.
    pub dry_run: bool,
    /// `--estimate`: whether a plan that is shown says what it comes to, from a sample.
    pub estimate: bool,
    /// `--overwrite`.
    pub overwrite: bool,
    /// `--resume`.
    pub resume: bool,
    /// `--partitions`: into how many parts the work is to be cut; those that do a job in parts set it themselves.
    pub partitions: Option<u64>,
}

/// `--rule`: changes to the arrays of a hierarchy that a pattern takes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Rule {
    /// Matches paths without their leading slash.
    pub pattern: PathPattern,
    /// Members that are not set stay as without the rule.
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
    /// Changes of the arrays that `include` and `exclude` leave.
    pub change: ChangeOptions,
    /// `--only`: of the arrays of a hierarchy, those that are written, with what they need; empty: all.
    pub only: Vec<PathPattern>,
    /// `--include`: of the arrays of a hierarchy, those that are changed; empty: all.
    pub include: Vec<PathPattern>,
    /// `--exclude`: those that are copied.
    pub exclude: Vec<PathPattern>,
    /// `--rule`, in their order.
    pub rules: Vec<Rule>,
    /// `--no-consolidate`: consolidated metadata are left out.
    pub no_consolidate: bool,
}

impl TranscodeOptions {
    /// A copy of SOURCE in DEST.
    pub fn new(source: Location, destination: Location) -> Self {
        TranscodeOptions { source, destination, ..Self::default() }
    }

    /// The changes that hold also for arrays that are only copied: no reader opens a tree of both formats.
    #[must_use]
    pub fn change_of_a_copied_array(&self) -> ChangeOptions {
        ChangeOptions {
            zarr_format: self.change.zarr_format,
            // Arrays of a hierarchy share dimensions: what has one goes along.
            select: self.change.select.clone(),
            ..ChangeOptions::default()
        }
    }
}

impl ChangeOptions {
    /// The form in which packed values are written: of a quantisation, or of a packing that is there.
    pub(crate) fn form(&self) -> Option<QuantizeForm> {
        self.quantize.as_ref().map(|quantize| quantize.form).or(self.repack)
    }

    /// Takes what a rule says instead of what was said before; what contradicts it goes.
    pub fn override_by(&mut self, rule: &ChangeOptions) {
        let is_of_floats = rule.quantize.is_some() || rule.keep_bits.is_some();
        if is_of_floats || rule.data_type.is_some() || rule.unpack || rule.repack.is_some() {
            (self.quantize, self.keep_bits, self.data_type) = (None, None, None);
            self.repack = None;
            // What is unpacked may be quantised or rounded.
            self.unpack &= is_of_floats;
        }
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
    /// INPUT; `None` with `--chunk`.
    pub input: Option<Stream>,
    /// OUTPUT; may be left out with `--round-trip` and `--repeat`.
    pub output: Option<Stream>,
    /// `--codecs`; `None` with `--like`.
    pub codecs: Option<Vec<Json>>,
    /// `--decode`.
    pub decode: bool,
    /// `--data-type`, of the decoded array.
    pub data_type: Option<DataType>,
    /// `--shape`, of the decoded array; empty for 0-D.
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
    /// Whether what is stored is counted (`--storage`).
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
    /// `--depth`: how far below a group nodes are shown; `None`: all.
    pub depth: Option<u64>,
    /// `--report`: whether the numbers of an array's pictures are read.
    pub draws: bool,
}

/// `--suggest [TYPE]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Suggest {
    /// TYPE: the codecs that make integers of this type.
    Codecs(NumberType),
    /// Without it: ways to store the array smaller, tried on a sample.
    Ways {
        /// `--sample`: how many chunks are tried; `None`: as many as take seconds.
        sample: Option<u64>,
    },
}

/// `--histogram BINS[,MIN,MAX]`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct HistogramOptions {
    /// Bins, at least 1.
    pub bins: usize,
    /// The edges of all; `None`: the least and greatest finite value.
    pub range: Option<(f64, f64)>,
}

/// `--chunk I,J,...`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkOptions {
    /// Its place in the grid.
    pub indices: Vec<u64>,
    /// `--inner-chunk`: the grid is that of inner chunks.
    pub inner: bool,
}

/// `--preview [AXIS=INDEX,...]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PreviewOptions {
    /// AXIS, a number or a dimension's name, and the index along it.
    pub at: Vec<(String, u64)>,
    /// For the result's text and JSON.
    pub picture: Option<PictureSize>,
    /// For `--preview-png`.
    pub image: Option<PictureSize>,
}

/// The greatest size of a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PictureSize {
    /// Pixels from left to right.
    pub columns: u64,
    /// Pixels from top to bottom.
    pub rows: u64,
    /// Height of a pixel, in units of its width.
    pub pixel_height: u64,
}

/// Depth of `validate` (`--level`); each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum ValidateLevel {
    /// The documents.
    Metadata,
    /// And the keys: unknown, out of the grid, truncated, absent.
    #[default]
    Keys,
    /// And the shard indexes.
    Index,
    /// And every chunk, decoded whole.
    Data,
}

impl ValidateLevel {
    /// As the command line has them.
    pub const NAMES: [(&str, ValidateLevel); 4] = [
        ("metadata", ValidateLevel::Metadata),
        ("keys", ValidateLevel::Keys),
        ("index", ValidateLevel::Index),
        ("data", ValidateLevel::Data),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        named(&Self::NAMES, self)
    }
}

/// `--against OTHER`: `|a - b| <= atol + rtol * |b|`, b from OTHER.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct AgainstOptions {
    /// OTHER.
    pub other: Location,
    /// `--rtol`.
    pub rtol: f64,
    /// `--atol`.
    pub atol: f64,
    /// `--cf`: both sides as CF readers see them.
    pub cf: bool,
}

impl AgainstOptions {
    /// Values must be equal to those of `other`, as they are stored.
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
    /// `--deny CODE`: errors, whatever the table says.
    pub deny: Vec<Code>,
    /// `--deny warnings`.
    pub deny_warnings: bool,
    /// `--allow CODE`: not reported, not counted.
    pub allow: Vec<Code>,
    /// `--max-findings`; 0: all.
    pub max_findings: usize,
    /// `--partition`; of the levels `index` and `data`.
    pub partition: Option<Partition>,
    /// `--against`.
    pub against: Option<AgainstOptions>,
    /// `--expect FILE`, parsed.
    pub expect: Option<Object>,
}

impl ValidateOptions {
    /// The metadata of STORE, and all that is wrong with them.
    pub fn new(store: Location) -> Self {
        ValidateOptions { stores: vec![store], ..Self::default() }
    }

    /// OTHER of `--against`, as the user named it.
    pub fn other_name(&self) -> Option<String> {
        self.against.as_ref().map(|against| against.other.display().to_string())
    }
}

impl InspectOptions {
    /// The metadata of STORE.
    pub fn new(store: Location) -> Self {
        InspectOptions { store, ..Self::default() }
    }
}
