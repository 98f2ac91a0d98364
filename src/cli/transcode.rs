//! `zarrcast transcode SOURCE DEST`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::arguments::CommonArguments;
use super::value::{self, Document};
use super::{ExitStatus, Session};
use crate::data_type::DataType;
use crate::element::NumberType;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::json::Json;
use crate::operation::options::{Compression, Missing, QuantizeForm, QuantizeOptions, TranscodeOptions};
use crate::operation::transcode::transcode;
use crate::report::{json, transcode_text};

const EXAMPLES: &str = "\
Examples:
  Quantise a float array to 8 bits over the range of its values; the array stays float for its readers:
      zarrcast transcode --quantize uint8 temperature.zarr small.zarr

  The narrowest integers that keep every value within 0.005, compressed anew, checked by reading back:
      zarrcast transcode --max-error 0.005 --compress zstd:5 --verify temperature.zarr small.zarr

  16-bit integers with CF attributes, -9999 counting as NaN:
      zarrcast transcode --quantize int16 --as cf --missing -9999 temperature.zarr packed.zarr

  What would be done, without doing it:
      zarrcast transcode --data-type float32 --dry-run values.zarr narrow.zarr

  Plain floats again:
      zarrcast transcode --unpack small.zarr plain.zarr";

/// Write an array anew: codecs, data type, fill value, quantised
///
/// With no option it copies: same format, chunks, codecs and attributes, the encoded chunks byte for byte. Each
/// option changes just its part. Nothing is written before the whole plan has been validated, and the metadata are
/// written last: a DEST that opens is complete.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TranscodeArguments {
    /// The array to read: a local directory
    #[arg(value_name = "SOURCE")]
    source: PathBuf,

    /// The array to write: a local directory that does not exist
    #[arg(value_name = "DEST")]
    destination: PathBuf,

    #[command(flatten)]
    change: ChangeArguments,

    #[command(flatten)]
    quantize: QuantizeArguments,

    #[command(flatten)]
    conversion: ConversionArguments,

    /// Read DEST back and compare
    ///
    /// Under quantisation: compare the error with its bound, and count the codes.
    #[arg(long)]
    verify: bool,

    /// Print the plan, reading no chunk
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    pub(super) common: CommonArguments,
}

/// What of the array changes.
#[derive(Debug, Args)]
#[command(next_help_heading = "What changes")]
struct ChangeArguments {
    /// The whole codec chain, as JSON or @FILE
    #[arg(long, value_name = "JSON|@FILE", value_parser = value::document)]
    codecs: Option<Document>,

    /// The whole list of bytes->bytes codecs of the innermost chain
    ///
    /// `zstd:3`, `gzip:6`, `blosc:lz4:5:shuffle`, or `none`. Checksums go, too.
    #[arg(long, value_name = "SPEC", value_parser = value::compression, conflicts_with = "codecs")]
    compress: Option<Compression>,

    /// The data type; values are converted
    #[arg(short, long, value_name = "TYPE", value_parser = value::data_type)]
    data_type: Option<DataType>,

    /// The fill value, as JSON; values are kept
    #[arg(short, long, value_name = "JSON", value_parser = value::scalar, allow_hyphen_values = true)]
    fill_value: Option<Json>,

    /// All attributes, as JSON or @FILE
    #[arg(long, value_name = "JSON|@FILE", value_parser = value::document)]
    attributes: Option<Document>,

    /// Attributes that are added or replaced, as JSON or @FILE
    #[arg(long, value_name = "JSON|@FILE", value_parser = value::document)]
    attributes_append: Option<Document>,

    /// The names of the dimensions
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    dimension_names: Option<Vec<String>>,

    /// Plain floats: drop scale_offset and cast_value, or apply the CF attributes
    #[arg(long, conflicts_with_all = ["quantize", "max_error"])]
    unpack: bool,

    /// Write chunks that hold only the fill value
    #[arg(long)]
    write_empty_chunks: bool,
}

/// Floats to integer codes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Quantising")]
struct QuantizeArguments {
    /// Store floats as integers of this type, by scale_offset and cast_value
    #[arg(long, value_name = "TYPE", value_parser = value::integer_type, conflicts_with = "data_type")]
    quantize: Option<NumberType>,

    /// The greatest error that is allowed; quantises to the narrowest type that keeps it
    #[arg(long, value_name = "E", value_parser = value::max_error, allow_hyphen_values = true,
          conflicts_with = "data_type")]
    max_error: Option<f64>,

    /// How the codes are written
    #[arg(long = "as", value_enum, value_name = "FORM")]
    form: Option<Form>,

    /// The values of the first and the last code; default: the least and the greatest finite value
    #[arg(long, value_name = "LO,HI", value_parser = value::range, allow_hyphen_values = true,
          conflicts_with_all = ["scale", "offset"])]
    range: Option<(Json, Json)>,

    /// The codec's own scale, in (x - offset) * scale
    #[arg(long, value_name = "S", value_parser = value::number, allow_hyphen_values = true)]
    scale: Option<Json>,

    /// The codec's own offset
    #[arg(long, value_name = "O", value_parser = value::number, allow_hyphen_values = true)]
    offset: Option<Json>,

    /// Values that count as NaN; `auto`: the attributes _FillValue and missing_value
    #[arg(long, value_name = "VALUE,...|auto", value_parser = value::missing, allow_hyphen_values = true)]
    missing: Option<Missing>,
}

/// How values are converted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Converting values")]
struct ConversionArguments {
    /// What NaN becomes: the code that stands for it (with --quantize), or a value (with --data-type)
    #[arg(long, value_name = "VALUE", value_parser = value::number, allow_hyphen_values = true)]
    nan_value: Option<Json>,

    /// How a value between two representable ones is rounded; default: nearest-even
    #[arg(long, value_enum, value_name = "MODE")]
    rounding: Option<RoundingMode>,

    /// What becomes of a value out of range; default: an error
    #[arg(long, value_enum, value_name = "BEHAVIOUR")]
    out_of_range: Option<Behaviour>,

    /// Write a cast from integers to floats that can lose bits
    #[arg(long)]
    allow_lossy_cast: bool,

    /// Accept a fill value that the codec chain does not bring back
    #[arg(long)]
    no_fill_check: bool,
}

/// `--as`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// The float array, with scale_offset and cast_value in its codec chain
    Codecs,
    /// An integer array with the CF attributes scale_factor and add_offset
    Cf,
    /// An integer array, attributes as they are
    Plain,
}

/// `--rounding`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoundingMode {
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
enum Behaviour {
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

impl TranscodeArguments {
    /// Runs the command and reports. What it does is done before the report is written: a closed pipe changes nothing.
    pub(super) fn run(self, session: &Session) -> anyhow::Result<ExitStatus> {
        let as_json = self.common.json;
        let options = self.into_options()?;
        let result = transcode(&options, session.progress())?;
        session.warn(&result.warnings);
        session.print(|output| {
            if as_json {
                json::write("transcode", &result, output)
            } else {
                transcode_text::write(&result, session.style(), output)
            }
        })?;
        let equal = result.nodes.iter().all(|node| node.verify.as_ref().is_none_or(|verify| verify.equal));
        Ok(if equal { ExitStatus::Done } else { ExitStatus::DataFault })
    }

    fn into_options(self) -> anyhow::Result<TranscodeOptions> {
        self.check_dependent_options()?;
        let change = self.change;
        let quantizes = self.quantize.quantize.is_some() || self.quantize.max_error.is_some();
        let nan_value = self.conversion.nan_value;
        Ok(TranscodeOptions {
            common: self.common.options(),
            source: self.source,
            destination: self.destination,
            codecs: change.codecs.map(|document| document.codecs("codecs")).transpose()?,
            compress: change.compress,
            data_type: change.data_type,
            fill_value: change.fill_value,
            attributes: change.attributes.map(|document| document.object("attributes")).transpose()?,
            attributes_append: change
                .attributes_append
                .map(|document| document.object("attributes-append"))
                .transpose()?,
            dimension_names: change.dimension_names,
            nan_value: if quantizes { None } else { nan_value.clone() },
            quantize: if quantizes { Some(self.quantize.into_options(nan_value)?) } else { None },
            rounding: self.conversion.rounding.map(Rounding::from),
            out_of_range: self.conversion.out_of_range.map(OutOfRange::from),
            unpack: change.unpack,
            verify: self.verify,
            dry_run: self.dry_run,
            allow_lossy_cast: self.conversion.allow_lossy_cast,
            no_fill_check: self.conversion.no_fill_check,
            write_empty_chunks: change.write_empty_chunks,
        })
    }

    /// Options that say how something is done, without the option that does it, are a mistake.
    fn check_dependent_options(&self) -> anyhow::Result<()> {
        let quantize = &self.quantize;
        let quantizes = quantize.quantize.is_some() || quantize.max_error.is_some();
        let converts = quantizes || self.change.data_type.is_some();
        let conversion = &self.conversion;
        let for_quantize = [
            ("as", quantize.form.is_some()),
            ("range", quantize.range.is_some()),
            ("scale", quantize.scale.is_some()),
            ("offset", quantize.offset.is_some()),
            ("missing", quantize.missing.is_some()),
        ];
        let for_conversion = [
            ("nan-value", conversion.nan_value.is_some()),
            ("rounding", conversion.rounding.is_some()),
            ("out-of-range", conversion.out_of_range.is_some()),
        ];
        super::require(quantizes, &for_quantize, "--quantize or --max-error")?;
        super::require(converts, &for_conversion, "--quantize, --max-error or --data-type")
    }
}

impl QuantizeArguments {
    fn into_options(self, nan_value: Option<Json>) -> anyhow::Result<QuantizeOptions> {
        Ok(QuantizeOptions {
            data_type: self.quantize,
            max_error: self.max_error,
            form: self.form.map(QuantizeForm::from).unwrap_or_default(),
            range: self.range,
            scale: self.scale,
            offset: self.offset,
            nan_value: nan_value.as_ref().map(value::code).transpose()?,
            missing: self.missing,
        })
    }
}
