//! The options of `transcode`, in the groups of its help.

use clap::{Args, ValueEnum};

use crate::cli::shape;
use crate::cli::value::{self, Document};
use crate::data_type::DataType;
use crate::element::NumberType;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::chunk_key::Separator;
use crate::metadata::json::Json;
use crate::operation::options::{Compression, KeepBits, Missing, QuantizeForm, ShapeRequest, ShardRequest};
use crate::operation::pattern::PathPattern;

/// What of the array changes.
#[derive(Debug, Args)]
#[command(next_help_heading = "What changes")]
pub(super) struct ChangeArguments {
    /// The whole codec chain: JSON, @FILE, or the words of --compress (`bytes` is put in front of them)
    ///
    /// JSON is a list of codecs as `codecs` of a zarr.json has it. By words: `--codecs zstd:5,crc32c`.
    #[arg(long, value_name = "WORDS|JSON|@FILE", value_parser = value::codecs)]
    pub(super) codecs: Option<Document>,

    /// The whole list of bytes->bytes codecs of the innermost chain
    ///
    /// `zstd:3`, `zstd:3:checksum`, `gzip:6`, `blosc:lz4:5:shuffle`, `crc32c`; several with commas (`zstd:3,crc32c`);
    /// or `none`. Checksums go, too; the report names what goes.
    /// `auto`: the best of a few for what is written, found by encoding a sample; `auto:fast`: of quick ones;
    /// `auto:small`: of slow ones. They are zstd and blosc, which zarr-python reads by default; `auto:any` also tries
    /// numcodecs.pcodec.
    #[arg(long, value_name = "SPEC|auto[:fast|small|any]", value_parser = value::compression, conflicts_with = "codecs")]
    pub(super) compress: Option<Compression>,

    /// The chunk shape; of a sharded array that of the inner chunks
    ///
    /// A length for each dimension (`16,256,256`), or some by their names (`time=1,lat=256`); 0 is the whole axis.
    /// `auto:SIZE`: chunks of about so many bytes decoded (default: 1MiB), whole dimensions first from the last;
    /// elements of text and of bytes of any length are taken for 16 bytes.
    #[arg(short, long, value_name = "SHAPE|auto[:SIZE]", value_parser = shape::chunks, allow_hyphen_values = true)]
    pub(super) chunk_shape: Option<ShapeRequest>,

    /// The shard shape: chunks are put into shards, or into other ones; `none` takes them out
    ///
    /// Whole inner chunks must fill a shard. 0 is the whole axis. `auto:SIZE`: as for chunks (default: 256MiB).
    #[arg(short, long, value_name = "SHAPE|auto[:SIZE]|none", value_parser = shape::shards, allow_hyphen_values = true)]
    pub(super) shard_shape: Option<ShardRequest>,

    /// A part of the array, by dimensions: `time=0:100,lat=20:`; of a hierarchy, of every array that has them
    ///
    /// START:STOP as in Python, without a step: an index that is left out is the end, a negative one counts from it; one
    /// outside of the array is refused. Where dimensions have no names, their numbers. Chunks that stay whole are moved as
    /// they are. Of a hierarchy, arrays that --include leaves out go along, so that dimensions fit; those that --exclude names
    /// are copied whole. Attributes stay as they are.
    #[arg(long, value_name = "DIM=START:STOP,...", value_parser = shape::slices)]
    pub(super) select: Option<shape::Slices>,

    /// The data type; values are converted
    #[arg(short, long, value_name = "TYPE", value_parser = value::data_type)]
    pub(super) data_type: Option<DataType>,

    /// The fill value, as JSON; values are kept
    #[arg(short, long, value_name = "JSON", value_parser = value::scalar, allow_hyphen_values = true)]
    pub(super) fill_value: Option<Json>,

    /// The version of the Zarr format; chunks are copied where they can stay
    ///
    /// From 2 to 3, filters and compressor become codecs, `_ARRAY_DIMENSIONS` becomes `dimension_names`, and chunk
    /// keys stay (`--separator` changes them). To 2, what v2 cannot express is refused.
    #[arg(long, value_enum, value_name = "2|3")]
    pub(super) zarr_format: Option<Format>,

    /// What stands between the indices in chunk keys
    #[arg(long, value_enum, value_name = ". | /")]
    pub(super) separator: Option<KeySeparator>,

    /// All attributes, as JSON or @FILE
    #[arg(long, value_name = "JSON|@FILE", value_parser = value::document)]
    pub(super) attributes: Option<Document>,

    /// Attributes that are added or replaced, as JSON or @FILE
    #[arg(long, value_name = "JSON|@FILE", value_parser = value::document)]
    pub(super) attributes_append: Option<Document>,

    /// The names of the dimensions
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub(super) dimension_names: Option<Vec<String>>,

    /// Plain floats: drop scale_offset and cast_value, or apply the CF attributes
    ///
    /// With --quantize, --max-error, --step or --keep-bits, values are unpacked first, in the same pass.
    #[arg(long)]
    pub(super) unpack: bool,

    /// Write chunks that hold only the fill value
    #[arg(long)]
    pub(super) write_empty_chunks: bool,
}

/// What of a hierarchy is changed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Hierarchies")]
pub(super) struct HierarchyArguments {
    /// Write only the arrays whose path matches
    ///
    /// Their coordinates, the variables that CF attributes of theirs name and the groups above them go along. Patterns are as
    /// for --include.
    #[arg(long, value_name = "GLOB", value_parser = value::pattern)]
    pub(super) only: Vec<PathPattern>,

    /// Change only the arrays whose path matches; the others are copied
    ///
    /// Paths are without the leading slash. `*` stays within a name, `**/` stands for any number of groups, `{a,b}` for
    /// either. The option may be repeated.
    #[arg(long, value_name = "GLOB", value_parser = value::pattern)]
    pub(super) include: Vec<PathPattern>,

    /// Copy the arrays whose path matches
    #[arg(long, value_name = "GLOB", value_parser = value::pattern)]
    pub(super) exclude: Vec<PathPattern>,

    /// Options for the arrays whose path matches; of several rules the later ones win
    #[arg(long, value_name = "GLOB: OPTIONS")]
    pub(super) rule: Vec<String>,

    /// Leave consolidated metadata out
    #[arg(long)]
    pub(super) no_consolidate: bool,
}

/// Floats to integer codes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Quantising")]
pub(super) struct QuantizeArguments {
    /// Store floats as integers of this type, by scale_offset and cast_value
    #[arg(long, value_name = "TYPE", value_parser = value::integer_type, conflicts_with = "data_type")]
    pub(super) quantize: Option<NumberType>,

    /// The greatest error that is allowed; quantises in the widest step that keeps it
    ///
    /// To the narrowest of uint8, uint16 and uint32 that has the codes, or to the type that --quantize gives.
    #[arg(long, value_name = "E", value_parser = value::max_error, allow_hyphen_values = true,
          conflicts_with = "data_type")]
    pub(super) max_error: Option<f64>,

    /// The step between codes; quantises to multiples of it
    ///
    /// Decimals come back as they were (0.1, 0.05), and what was quantised in a step is not changed by it again. To the
    /// first of uint8, int8, uint16, int16, uint32 and int32 that has the codes, or to the type that --quantize gives.
    #[arg(long, value_name = "S", value_parser = value::step, allow_hyphen_values = true,
          conflicts_with_all = ["data_type", "max_error", "range", "scale", "offset"])]
    pub(super) step: Option<f64>,

    /// Keep N bits of the significand of floats, or as many as keep P (0.99) of their information; they stay floats
    ///
    /// The codec bitround, which compressors thank for, and the attributes of CF 8.4. `auto` reads all values first and
    /// takes the bits that keep the share P of the bitwise real information along every dimension (Klöwer et al. 2021).
    #[arg(long, value_name = "N|auto[:P]", value_parser = value::keep_bits,
          conflicts_with_all = ["data_type", "quantize", "max_error", "step"])]
    pub(super) keep_bits: Option<KeepBits>,

    /// How the codes are written
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub(super) form: Option<Form>,

    /// The values of the first and the last code; default: the least and the greatest finite value
    #[arg(long, value_name = "LO,HI", value_parser = value::range, allow_hyphen_values = true,
          conflicts_with_all = ["scale", "offset"])]
    pub(super) range: Option<(Json, Json)>,

    /// The codec's own scale, in (x - offset) * scale
    #[arg(long, value_name = "S", value_parser = value::number, allow_hyphen_values = true)]
    pub(super) scale: Option<Json>,

    /// The codec's own offset
    #[arg(long, value_name = "O", value_parser = value::number, allow_hyphen_values = true)]
    pub(super) offset: Option<Json>,

    /// Values that count as NaN; `auto`: the attributes _FillValue and missing_value
    #[arg(long, value_name = "VALUE,...|auto", value_parser = value::missing, allow_hyphen_values = true)]
    pub(super) missing: Option<Missing>,

    /// Leave out what is only there for readers that do not open what is valid
    ///
    /// zarr-python 3.4.1 and 3.4.2 open no shards whose inner chain cannot encode 0; an entry of scalar_map helps them.
    #[arg(long)]
    pub(super) no_workarounds: bool,
}

/// How values are converted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Converting values")]
pub(super) struct ConversionArguments {
    /// What NaN becomes: the code that stands for it (with --quantize), or a value (with --data-type)
    #[arg(long, value_name = "VALUE", value_parser = value::number, allow_hyphen_values = true)]
    pub(super) nan_value: Option<Json>,

    /// How a value between two representable ones is rounded; default: nearest-even
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) rounding: Option<RoundingMode>,

    /// What becomes of a value out of range; default: an error
    #[arg(long, value_enum, value_name = "BEHAVIOUR")]
    pub(super) out_of_range: Option<Behaviour>,

    /// Write a cast from integers to floats that can lose bits
    #[arg(long)]
    pub(super) allow_lossy_cast: bool,

    /// Accept a fill value that the codec chain does not bring back
    #[arg(long)]
    pub(super) no_fill_check: bool,
}

/// `--zarr-format`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Format {
    /// `.zarray` and `.zattrs`
    #[value(name = "2")]
    Two,
    /// `zarr.json`
    #[value(name = "3")]
    Three,
}

impl Format {
    /// Of the format.
    pub(super) const fn number(self) -> u64 {
        match self {
            Format::Two => 2,
            Format::Three => 3,
        }
    }
}

/// `--separator`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum KeySeparator {
    /// All chunks in one folder
    #[value(name = ".")]
    Dot,
    /// A folder for each index but the last
    #[value(name = "/")]
    Slash,
}

impl From<KeySeparator> for Separator {
    fn from(separator: KeySeparator) -> Self {
        match separator {
            KeySeparator::Dot => Separator::Dot,
            KeySeparator::Slash => Separator::Slash,
        }
    }
}

/// `--as`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Form {
    /// The float array, with scale_offset and cast_value in its codec chain
    Codecs,
    /// An integer array with the CF attributes scale_factor and add_offset
    Cf,
    /// An integer array, attributes as they are
    Plain,
}

/// `--rounding`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum RoundingMode {
    /// To the nearest, ties to even
    NearestEven,
    /// To the nearest, ties away from zero
    NearestAway,
    /// Towards zero
    TowardsZero,
    /// Towards positive infinity
    TowardsPositive,
    /// Towards negative infinity
    TowardsNegative,
}

/// `--out-of-range`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Behaviour {
    /// The nearest bound
    Clamp,
    /// Modulo 2^N; integer targets only
    Wrap,
}

impl From<Form> for QuantizeForm {
    fn from(form: Form) -> Self {
        match form {
            Form::Codecs => QuantizeForm::Codecs,
            Form::Cf => QuantizeForm::Cf,
            Form::Plain => QuantizeForm::Plain,
        }
    }
}

impl From<RoundingMode> for Rounding {
    fn from(mode: RoundingMode) -> Self {
        match mode {
            RoundingMode::NearestEven => Rounding::NearestEven,
            RoundingMode::NearestAway => Rounding::NearestAway,
            RoundingMode::TowardsZero => Rounding::TowardsZero,
            RoundingMode::TowardsPositive => Rounding::TowardsPositive,
            RoundingMode::TowardsNegative => Rounding::TowardsNegative,
        }
    }
}

impl From<Behaviour> for OutOfRange {
    fn from(behaviour: Behaviour) -> Self {
        match behaviour {
            Behaviour::Clamp => OutOfRange::Clamp,
            Behaviour::Wrap => OutOfRange::Wrap,
        }
    }
}
