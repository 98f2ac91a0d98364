//! The options of `transcode`, in the groups of its help.

use clap::Args;

use crate::cli::shape;
use crate::cli::value::{self, Document};
use crate::data_type::DataType;
use crate::element::NumberType;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::{Json, Separator};
use crate::operation::{
    Compression, KeepBits, Missing, PathPattern, Predict, QuantizeForm, ShapeRequest, ShardRequest,
};

const FORMATS: [(&str, u64); 2] = [("2", 2), ("3", 3)];
const SEPARATORS: [(&str, Separator); 2] = [(".", Separator::Dot), ("/", Separator::Slash)];
const ROUNDINGS: [(&str, Rounding); 5] = [
    ("nearest-even", Rounding::NearestEven),
    ("nearest-away", Rounding::NearestAway),
    ("towards-zero", Rounding::TowardsZero),
    ("towards-positive", Rounding::TowardsPositive),
    ("towards-negative", Rounding::TowardsNegative),
];
const OUT_OF_RANGE: [(&str, OutOfRange); 2] = [("clamp", OutOfRange::Clamp), ("wrap", OutOfRange::Wrap)];

/// Changes of all arrays, or of the arrays of a rule.
#[derive(Debug, Args)]
#[command(next_help_heading = "Quantise")]
pub(super) struct Changes {
    /// Store floats as this integer type
    #[arg(long, value_name = "TYPE", value_parser = value::integer_type, conflicts_with = "data_type")]
    pub(super) quantize: Option<NumberType>,

    /// Store floats as integers, each within E
    ///
    /// Uses the widest step that keeps E, and the first of uint8, uint16, uint32 that can hold all codes, or the type of --quantize.
    #[arg(long, value_name = "E", value_parser = value::max_error, allow_hyphen_values = true,
          conflicts_with = "data_type")]
    pub(super) max_error: Option<f64>,

    /// Store floats as integer multiples of S
    ///
    /// Decimals come back as they were. Uses the first of uint8, int8, uint16, int16, uint32, int32 that can hold all codes, or the type of --quantize.
    #[arg(long, value_name = "S", value_parser = value::step, allow_hyphen_values = true,
          conflicts_with_all = ["data_type", "max_error", "range", "scale", "offset"])]
    pub(super) step: Option<f64>,

    /// Keep N bits of the significand of floats
    ///
    /// The values stay floats (codec bitround). `auto` keeps the bits with 99 % of the information, `auto:P` the share P (bitwise real information, Klöwer et al. 2021).
    #[arg(long, value_name = "N|auto", value_parser = value::keep_bits,
          conflicts_with_all = ["data_type", "quantize", "max_error", "step"])]
    pub(super) keep_bits: Option<KeepBits>,

    /// Form of quantised arrays: codecs, cf or plain
    ///
    /// A float array with two codecs, integers with CF attributes, or plain integers. Without a quantising option it changes the form of existing integers.
    #[arg(long = "as", value_parser = value::one_of(&QuantizeForm::NAMES), value_name = "FORM", hide_possible_values = true)]
    pub(super) form: Option<QuantizeForm>,

    /// Smallest and largest value to store [default: minimum and maximum]
    #[arg(long, value_name = "LO,HI", value_parser = value::range, allow_hyphen_values = true,
          conflicts_with_all = ["scale", "offset"], hide_short_help = true)]
    pub(super) range: Option<(Json, Json)>,

    /// Scale of the codec, in (x - offset) * scale
    #[arg(long, value_name = "S", value_parser = value::number, allow_hyphen_values = true, hide_short_help = true)]
    pub(super) scale: Option<Json>,

    /// Offset of the codec
    #[arg(long, value_name = "O", value_parser = value::number, allow_hyphen_values = true, hide_short_help = true)]
    pub(super) offset: Option<Json>,

    /// Values that count as NaN; `auto`: _FillValue and missing_value
    #[arg(long, value_name = "VALUE,...|auto", value_parser = value::missing, allow_hyphen_values = true, hide_short_help = true)]
    pub(super) missing: Option<Missing>,

    /// Leave out the scalar_map entry that zarr-python 3.4.1 and 3.4.2 need
    #[arg(long, hide_short_help = true)]
    pub(super) no_workarounds: bool,

    /// Replace the whole codec chain
    ///
    /// CODECS is JSON as in zarr.json, @FILE, or words as for --compress.
    #[arg(long, value_name = "CODECS", value_parser = value::codecs, help_heading = "Compress")]
    pub(super) codecs: Option<Document>,

    /// Replace the compressor: zstd:5, none or auto
    ///
    /// Other examples: `zstd:3:checksum`, `gzip:6`, `blosc:lz4:5:shuffle`, `zstd:5,crc32c`. `auto`, `auto:fast`, `auto:small` choose on a sample; `auto:any` also tries pcodec.
    #[arg(long, value_name = "SPEC", value_parser = value::compression, conflicts_with = "codecs", help_heading = "Compress")]
    pub(super) compress: Option<Compression>,

    /// Store differences along dimensions: auto, none or time,lat
    ///
    /// Lossless, for integers and quantised floats. `auto` tries it, as do `--compress auto:small` and `auto:any`.
    #[arg(long, value_name = "DIM,...|auto", conflicts_with = "codecs")]
    #[arg(help_heading = "Compress", hide_short_help = true)]
    pub(super) predict: Option<Predict>,

    /// Chunk shape: 64,256 or time=1,lat=0 or auto
    ///
    /// 0 means the whole axis. `auto:SIZE` means about SIZE (default: 1MiB). In shards: inner chunks.
    #[arg(short, long, value_name = "SHAPE", value_parser = shape::chunks, allow_hyphen_values = true, help_heading = "Chunks")]
    pub(super) chunk_shape: Option<ShapeRequest>,

    /// Shard shape, auto, or none
    ///
    /// It must be a multiple of the chunk shape. Default of `auto`: 256MiB. `none` removes shards.
    #[arg(short, long, value_name = "SHAPE", value_parser = shape::shards, allow_hyphen_values = true, help_heading = "Chunks")]
    pub(super) shard_shape: Option<ShardRequest>,

    /// Copy only a part: time=0:100,lat=20:
    ///
    /// Slices are START:STOP as in Python, by name or number of a dimension. In a group they apply to every array that has it.
    #[arg(long, value_name = "SLICES", value_parser = shape::slices, help_heading = "Chunks")]
    pub(super) select: Option<shape::Slices>,

    /// Convert the values to this data type
    #[arg(short, long, value_name = "TYPE", value_parser = value::data_type, help_heading = "Data type, format, metadata")]
    pub(super) data_type: Option<DataType>,

    /// New fill value, as JSON; the values of the array stay the same
    #[arg(short, long, value_name = "JSON", value_parser = value::scalar, allow_hyphen_values = true, help_heading = "Data type, format, metadata", hide_short_help = true)]
    pub(super) fill_value: Option<Json>,

    /// Write this version of the Zarr format: 2 or 3
    ///
    /// Chunks are copied where possible. An array that v2 cannot express is refused.
    #[arg(long, value_parser = value::one_of(&FORMATS), value_name = "2|3", hide_possible_values = true, help_heading = "Data type, format, metadata")]
    pub(super) zarr_format: Option<u64>,

    /// Separator of the indices in chunk keys: `.` or `/`
    #[arg(long, value_parser = value::one_of(&SEPARATORS), value_name = "CHAR", hide_possible_values = true, help_heading = "Data type, format, metadata", hide_short_help = true)]
    pub(super) separator: Option<Separator>,

    /// Replace all attributes by JSON or @FILE
    #[arg(long, value_name = "JSON", value_parser = value::document, help_heading = "Data type, format, metadata", hide_short_help = true)]
    pub(super) attributes: Option<Document>,

    /// Add or replace the attributes in JSON or @FILE
    #[arg(long, value_name = "JSON", value_parser = value::document, help_heading = "Data type, format, metadata", hide_short_help = true)]
    pub(super) attributes_append: Option<Document>,

    /// New names of the dimensions
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    #[arg(help_heading = "Data type, format, metadata", hide_short_help = true)]
    pub(super) dimension_names: Option<Vec<String>>,

    /// Undo quantising or CF packing: write plain floats
    ///
    /// With --quantize, --max-error, --step or --keep-bits it unpacks first, in the same pass.
    #[arg(long)]
    pub(super) unpack: bool,

    /// Write chunks that hold only the fill value
    #[arg(long, help_heading = "Chunks", hide_short_help = true)]
    pub(super) write_empty_chunks: bool,

    /// Integer that stands for NaN
    #[arg(long, value_name = "VALUE", value_parser = value::number, allow_hyphen_values = true, hide_short_help = true)]
    pub(super) nan_value: Option<Json>,

    /// Rounding: nearest-even (default), nearest-away, towards-zero, towards-positive or towards-negative
    #[arg(long, value_parser = value::one_of(&ROUNDINGS), value_name = "MODE", hide_possible_values = true, hide_short_help = true)]
    pub(super) rounding: Option<Rounding>,

    /// `clamp` values out of range, or `wrap` them modulo 2^N [default: fail]
    #[arg(long, value_parser = value::one_of(&OUT_OF_RANGE), value_name = "HOW", hide_possible_values = true, hide_short_help = true)]
    pub(super) out_of_range: Option<OutOfRange>,

    /// Allow a cast from integers to floats that can lose bits
    #[arg(long, help_heading = "Data type, format, metadata", hide_short_help = true)]
    pub(super) allow_lossy_cast: bool,

    /// Do not stop if the codecs change the fill value
    #[arg(long, help_heading = "Data type, format, metadata", hide_short_help = true)]
    pub(super) no_fill_check: bool,
}

/// Arrays of a group that change.
#[derive(Debug, Args)]
#[command(next_help_heading = "Groups of arrays")]
pub(super) struct HierarchyArguments {
    /// Write only the arrays whose path matches, with their coordinates
    #[arg(long, value_name = "GLOB", value_parser = value::pattern, hide_short_help = true)]
    pub(super) only: Vec<PathPattern>,

    /// Change only the arrays whose path matches
    ///
    /// Paths have no leading slash. `*` matches within one name, `**/` matches any number of groups, `{a,b}` matches a or b.
    #[arg(long, value_name = "GLOB", value_parser = value::pattern)]
    pub(super) include: Vec<PathPattern>,

    /// Do not change the arrays whose path matches
    #[arg(long, value_name = "GLOB", value_parser = value::pattern)]
    pub(super) exclude: Vec<PathPattern>,

    /// Options for some arrays: 'GLOB: OPTIONS'
    ///
    /// Later rules win.
    #[arg(long, value_name = "RULE")]
    pub(super) rule: Vec<String>,

    /// Write no consolidated metadata
    #[arg(long, help_heading = "Data type, format, metadata", hide_short_help = true)]
    pub(super) no_consolidate: bool,
}
