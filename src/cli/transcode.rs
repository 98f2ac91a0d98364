//! `zarrcast transcode SOURCE DEST`.

mod parts;

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser};

use super::ExitStatus;
use super::arguments::{CommonArguments, ReportArguments};
use super::session::Session;
use super::value::{self, Document};
use crate::codec::kinds::values;
use crate::data_type::DataType;
use crate::element::NumberType;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::{Json, Separator};
use crate::operation::options::{Requirement, Rule};
use crate::operation::transcode::{comparisons, transcode};
use crate::operation::{
    ChangeOptions, Compression, KeepBits, Missing, OperationError, PathPattern, Predict, QuantizeForm, QuantizeOptions,
    RunOptions, ShapeRequest, ShardRequest, TranscodeOptions, TranscodeResult,
};
use crate::report::{self, html};

const FORMATS: [(&str, u64); 2] = [("2", 2), ("3", 3)];
const SEPARATORS: [(&str, Separator); 2] = [(".", Separator::Dot), ("/", Separator::Slash)];

/// Write a copy of an array or group: smaller, in other chunks or another format
///
/// Without options it makes an exact copy. Each option changes only its part. The whole plan is checked before anything is written.
/// Metadata is written last, so a DEST that opens is complete.
#[derive(Debug, Args)]
#[command(after_help = include_str!("examples/transcode.short.txt"))]
#[command(after_long_help = include_str!("examples/transcode.txt"))]
pub(super) struct TranscodeArguments {
    /// Array or group to read
    ///
    /// A local folder, a zip file, a URL (http://, s3://, gs://, az://) or a kerchunk reference file.
    #[arg(value_name = "SOURCE")]
    source: PathBuf,

    /// Where to write it
    ///
    /// A local folder, a .zip file or a URL (s3://, gs://, az://). It must not exist, unless --overwrite or --resume is given.
    #[arg(value_name = "DEST")]
    destination: PathBuf,

    #[command(flatten)]
    changes: Changes,

    /// Write only the arrays whose path matches, with their coordinates
    #[arg(long, value_name = "GLOB", value_parser = value::pattern, help_heading = "Groups of arrays", hide_short_help = true)]
    only: Vec<PathPattern>,

    /// Change only the arrays whose path matches
    ///
    /// Paths have no leading slash. `*` matches within one name, `**/` matches any number of groups, `{a,b}` matches a or b.
    #[arg(long, value_name = "GLOB", value_parser = value::pattern, help_heading = "Groups of arrays")]
    include: Vec<PathPattern>,

    /// Do not change the arrays whose path matches
    #[arg(long, value_name = "GLOB", value_parser = value::pattern, help_heading = "Groups of arrays")]
    exclude: Vec<PathPattern>,

    /// Options for some arrays: 'GLOB: OPTIONS'
    ///
    /// Later rules win.
    #[arg(long, value_name = "RULE", help_heading = "Groups of arrays")]
    rule: Vec<String>,

    /// Write no consolidated metadata
    #[arg(long, help_heading = "Data type, format, metadata", hide_short_help = true)]
    no_consolidate: bool,

    /// Read DEST back and compare
    ///
    /// Quantised arrays may differ by the bound.
    #[arg(long, help_heading = "Check")]
    verify: bool,

    /// Measure what quantising did to the values
    ///
    /// Reports bias, PSNR, Pearson's r, share of relative errors above 1e-4, Kolmogorov-Smirnov test, minimum DSSIM, zeros and signs kept (Baker et al.).
    #[arg(long, help_heading = "Check", hide_short_help = true)]
    quality: bool,

    /// Write DEST only if quality measures are met
    ///
    /// Example: `pearson>=0.99999,dssim>=0.995`. The measures are bias, psnr, pearson, relative_error_share, ks_p, dssim, zeros_kept, signs_kept, max_abs_error, rms_error. Implies --quality.
    #[arg(long, value_name = "EXPR,...", value_delimiter = ',', help_heading = "Check", hide_short_help = true)]
    require: Vec<Requirement>,

    /// Print the plan and write nothing
    #[arg(long, help_heading = "Check")]
    dry_run: bool,

    /// Estimate size and time from a sample (with --dry-run)
    #[arg(long, requires = "dry_run", help_heading = "Check", hide_short_help = true)]
    estimate: bool,

    /// Replace DEST
    ///
    /// The old DEST stays readable until the new one is complete. In object stores the old one is removed first.
    #[arg(long, help_heading = "Run")]
    overwrite: bool,

    /// Continue an unfinished run of the same command
    ///
    /// If DEST does not exist, it starts a new run. An unfinished zip file is started again.
    #[arg(long, help_heading = "Run")]
    resume: bool,

    #[command(flatten)]
    parts: parts::PartsArguments,

    /// Path of the node inside SOURCE
    #[arg(long, value_name = "PATH", help_heading = "Remote stores", hide_short_help = true)]
    node: Option<String>,

    #[command(flatten)]
    report: ReportArguments,

    #[command(flatten)]
    pub(super) common: CommonArguments,
}

impl TranscodeArguments {
    /// Runs the command and reports. The work is complete before the report, so a closed pipe changes nothing.
    pub(super) fn run(self, session: &Session) -> anyhow::Result<ExitStatus> {
        let as_json = self.common.json;
        let report = self.report.clone();
        let access = if self.parts.print_script.is_some() { self.words_of_script()? } else { Vec::new() };
        // The parser asks for nothing where another option conflicts with what is missing.
        super::require(self.dry_run, &[("estimate", self.estimate)], "--dry-run")?;
        let (options, parts) = self.into_options()?;
        check_quality(&options, parts.is_given())?;
        parts.check_report(report.report.is_some())?;
        // A report that cannot be written is refused now, not after hours of work.
        report.check([&options.source, &options.destination])?;
        if parts.is_given() {
            return parts.run(&options, access, (as_json, &report), session);
        }
        let result = transcode(&options, &*session.progress, &session.interrupt)?;
        session.warn(&result.warnings);
        write_report(&report, &options, &result, session)?;
        write_text(&result, as_json, session)?;
        Ok(ExitStatus::Done)
    }

    /// Returns the options of remote stores for the commands of a script. An error if a location may contain a secret.
    fn words_of_script(&self) -> Result<Vec<String>, OperationError> {
        value::refuse_secrets("SOURCE", &self.source)?;
        value::refuse_secrets("DEST", &self.destination)?;
        self.common.words_of_access()
    }

    fn into_options(self) -> Result<(TranscodeOptions, parts::PartsArguments), OperationError> {
        let mut rules = self.rule.iter().map(|text| rule(text)).collect::<Result<Vec<_>, _>>()?;
        let mut own = self.changes;
        for (_, changes) in &mut rules {
            changes.inherit(&own);
            changes.check_dependent_options(&[])?;
        }
        own.check_dependent_options(&rules)?;
        if rules.iter().any(|(_, changes)| changes.quantizes()) && !own.quantizes() {
            // The form applies to the rules, which have inherited it.
            own.form = None;
        }
        let change = own.into_options()?;
        let rule =
            |(pattern, changes): (PathPattern, Changes)| changes.into_options().map(|change| Rule { pattern, change });
        value::refuse_other_formats("DEST", &self.destination)?;
        let source = self.common.location("SOURCE", self.source)?;
        let destination = self.common.location("DEST", self.destination)?;
        self.common.check_settings([&source], Some(&destination))?;
        let mut options = TranscodeOptions {
            source: value::node_of(source, self.node.as_deref())?,
            destination,
            run: RunOptions {
                common: self.common.options(),
                verify: self.verify,
                quality: self.quality || !self.require.is_empty(),
                requirements: self.require,
                dry_run: self.dry_run,
                estimate: self.estimate,
                overwrite: self.overwrite,
                resume: self.resume,
                partitions: None,
            },
            change,
            only: self.only,
            include: self.include,
            exclude: self.exclude,
            rules: rules.into_iter().map(rule).collect::<Result<_, _>>()?,
            no_consolidate: self.no_consolidate,
        };
        // No reader opens a hierarchy with both formats.
        let of_rules = options.rules.iter().find_map(|rule| rule.change.zarr_format);
        options.change.zarr_format = options.change.zarr_format.or(of_rules);
        Ok((options, self.parts))
    }
}

/// Returns a usage error if quality measures are requested that cannot be measured.
fn check_quality(options: &TranscodeOptions, in_parts: bool) -> Result<(), OperationError> {
    if !options.run.quality {
        return Ok(());
    }
    if in_parts {
        let message = "`--quality` and `--require` do not work for jobs in parts: each part sees only its own values";
        return Err(OperationError::usage(message).with_help("use one run without parts, or leave them out"));
    }
    let quantizes = |change: &ChangeOptions| change.quantize.is_some() || change.keep_bits.is_some();
    if quantizes(&options.change) || options.rules.iter().any(|rule| quantizes(&rule.change)) {
        return Ok(());
    }
    Err(OperationError::usage("`--quality` and `--require` need an option that quantises")
        .with_help("give `--quantize`, `--max-error`, `--step` or `--keep-bits`, or leave them out"))
}

fn write_text(result: &TranscodeResult, as_json: bool, session: &Session) -> anyhow::Result<()> {
    session.report(("transcode", as_json), result, |style, output| {
        report::transcode::report(result, &[], style.is_verbose).write(style, output)
    })
}

/// Writes the page of a finished job, or of a plan. A page that fails does not change DEST.
fn write_report(
    report: &ReportArguments,
    options: &TranscodeOptions,
    result: &TranscodeResult,
    session: &Session,
) -> anyhow::Result<()> {
    if report.report.is_none() {
        return Ok(());
    }
    // After a run, DEST is complete here. The pictures read both stores again, and a fault in them is one of the page
    // alone.
    let written = comparisons(options, result, &*session.progress, &session.interrupt).and_then(|compared| {
        report.write(|| html::page("transcode", &[report::transcode::report(result, &compared, false)]))
    });
    session.progress.finish();
    written.map_err(|error| {
        if !result.complete {
            return error.into();
        }
        error.with_help(format!("`{}` is complete, only the report is missing", result.destination)).into()
    })
}

impl Changes {
    fn into_options(self) -> Result<ChangeOptions, OperationError> {
        let quantize = self.quantizes().then(|| self.quantize_options()).transpose()?;
        let repack = self.form.filter(|_| quantize.is_none());
        let object = |document: Option<Document>, name| document.map(|document| document.object(name)).transpose();
        Ok(ChangeOptions {
            codecs: self.codecs.map(|document| document.codecs("codecs")).transpose()?,
            compress: self.compress,
            predict: self.predict,
            chunk_shape: self.chunk_shape,
            shard_shape: self.shard_shape,
            select: self.select.unwrap_or_default(),
            data_type: self.data_type,
            fill_value: self.fill_value,
            separator: self.separator,
            attributes: object(self.attributes, "attributes")?,
            attributes_append: object(self.attributes_append, "attributes-append")?,
            dimension_names: self.dimension_names,
            // With a quantising option it is the code of NaN, which `quantize` has.
            nan_value: self.nan_value.filter(|_| quantize.is_none()),
            keep_bits: self.keep_bits,
            quantize,
            repack,
            // Zarr v2 has no codecs for it.
            zarr_format: self.zarr_format.or((repack == Some(QuantizeForm::Codecs)).then_some(3)),
            rounding: self.rounding,
            out_of_range: self.out_of_range,
            unpack: self.unpack,
            allow_lossy_cast: self.allow_lossy_cast,
            no_fill_check: self.no_fill_check,
            write_empty_chunks: self.write_empty_chunks,
        })
    }

    fn quantize_options(&self) -> Result<QuantizeOptions, OperationError> {
        Ok(QuantizeOptions {
            data_type: self.quantize,
            max_error: self.max_error,
            step: self.step,
            form: self.form.unwrap_or_default(),
            range: self.range.clone(),
            scale: self.scale.clone(),
            offset: self.offset.clone(),
            nan_value: self.nan_value.as_ref().map(value::code).transpose()?,
            missing: self.missing.clone(),
            no_workarounds: self.no_workarounds,
        })
    }

    /// True if an option is given that quantises by itself.
    fn quantizes(&self) -> bool {
        self.quantize.is_some() || self.max_error.is_some() || self.step.is_some()
    }

    /// For a rule that quantises, adds the options of all arrays that the rule does not set itself. A rule that only
    /// refines how all arrays are quantised takes over what quantises them.
    fn inherit(&mut self, all: &Changes) {
        let has_scaling = self.range.is_some() || self.scale.is_some() || self.offset.is_some();
        let has_mapping = self.rounding.is_some() || self.out_of_range.is_some() || self.nan_value.is_some();
        let refines =
            has_scaling || has_mapping || self.missing.is_some() || self.form.is_some() || self.no_workarounds;
        let makes_others = self.data_type.is_some() || self.codecs.is_some() || self.keep_bits.is_some() || self.unpack;
        if refines && !makes_others && !self.quantizes() {
            (self.quantize, self.max_error, self.unpack) = (all.quantize, all.max_error, all.unpack);
            self.step = all.step.filter(|_| !has_scaling);
            if !has_scaling {
                (self.range, self.scale, self.offset) = (all.range.clone(), all.scale.clone(), all.offset.clone());
            }
        }
        if self.quantizes() {
            self.form = self.form.or(all.form);
            self.missing = self.missing.take().or(all.missing.clone());
            self.no_workarounds |= all.no_workarounds;
            self.nan_value = self.nan_value.take().or(all.nan_value.clone());
        }
    }

    /// Refuses options that only refine another option, if that one is missing here and in the rules.
    fn check_dependent_options(&self, rules: &[(PathPattern, Changes)]) -> Result<(), OperationError> {
        let mut all = rules.iter().map(|(_, changes)| changes).chain([self]);
        let quantizes = all.clone().any(Changes::quantizes);
        let converts = quantizes || all.any(|changes| changes.data_type.is_some());
        let for_quantize = [("missing", self.missing.is_some()), ("no-workarounds", self.no_workarounds)];
        let for_own_quantize =
            [("range", self.range.is_some()), ("scale", self.scale.is_some()), ("offset", self.offset.is_some())];
        let for_conversion = [
            ("nan-value", self.nan_value.is_some()),
            ("rounding", self.rounding.is_some()),
            ("out-of-range", self.out_of_range.is_some()),
        ];
        let makes_others = self.unpack
            || self.codecs.is_some()
            || self.keep_bits.is_some()
            || self.fill_value.is_some()
            || self.predict.is_some();
        let casts = self.data_type.is_some() && self.form != Some(QuantizeForm::Codecs);
        if self.form.is_some() && !quantizes && (makes_others || casts) {
            let message = "`--as` alone copies existing integers: it does not work with --unpack, --codecs, \
                --keep-bits, --fill-value or --predict, and --data-type only works with `--as codecs`";
            let help = "add `--quantize`, `--max-error` or `--step`, or do it in a second run";
            return Err(OperationError::usage(message).with_help(help));
        }
        super::require(quantizes, &for_quantize, "--quantize, --max-error or --step")?;
        super::require(self.quantizes(), &for_own_quantize, "--quantize, --max-error or --step")?;
        super::require(converts, &for_conversion, "--quantize, --max-error, --step or --data-type")
    }
}

/// The options of a `--rule`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct RuleArguments {
    #[command(flatten)]
    changes: Changes,
}

/// Parses `GLOB: OPTIONS`. The options are split like in a shell.
fn rule(text: &str) -> Result<(PathPattern, Changes), OperationError> {
    let usage = |reason: String| {
        OperationError::usage(format!("--rule `{text}`: {reason}"))
            .with_help("give a pattern, a colon and options: '**/temperature: --quantize uint8'")
    };
    let Some((glob, words)) = text.split_once(": ") else {
        return Err(usage("there is no `: ` between a pattern and its options".to_owned()));
    };
    let pattern = value::pattern(glob).map_err(usage)?;
    let words = shlex::split(words).ok_or_else(|| usage("a quote is not closed".to_owned()))?;
    let parsed = RuleArguments::command().mut_args(super::common_settings).try_get_matches_from(words);
    let parsed = parsed.and_then(|matches| RuleArguments::from_arg_matches(&matches));
    let RuleArguments { changes } = parsed.map_err(|error| {
        // The rest of the message is the usage of `RuleArguments`, which is no command.
        let text = error.to_string();
        usage(text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
    })?;
    let of_all = [("zarr-format", changes.zarr_format.is_some()), ("select", changes.select.is_some())];
    if let Some((option, _)) = of_all.iter().find(|(_, is_given)| *is_given) {
        return Err(usage(format!("--{option} applies to the whole DEST: give it outside of --rule")));
    }
    Ok((pattern, changes))
}

/// Changes of all arrays, or of the arrays of a rule.
#[derive(Debug, Args)]
#[command(next_help_heading = "Quantise")]
struct Changes {
    /// Fit the range of floats to this integer type
    #[arg(long, value_name = "TYPE", value_parser = value::integer_type, conflicts_with = "data_type")]
    quantize: Option<NumberType>,

    /// Store floats as integers, each within E (data units)
    ///
    /// Uses the widest step that keeps E, and the first of uint8, uint16, uint32 that can hold all codes, or the type of --quantize.
    #[arg(long, value_name = "E", value_parser = value::max_error, allow_hyphen_values = true,
          conflicts_with = "data_type")]
    max_error: Option<f64>,

    /// Store floats as integer multiples of S
    ///
    /// With S = 0.01, 12.34 stays 12.34. Uses the first of uint8, int8, uint16, int16, uint32, int32 that can hold all codes, or the type of --quantize.
    #[arg(long, value_name = "S", value_parser = value::step, allow_hyphen_values = true,
          conflicts_with_all = ["data_type", "max_error", "range", "scale", "offset"])]
    step: Option<f64>,

    /// Keep N bits of the significand of floats
    ///
    /// The values stay floats (codec bitround). `auto` keeps the bits with 99 % of the information, `auto:P` the share P (bitwise real information, Klöwer et al. 2021).
    #[arg(long, value_name = "N|auto", value_parser = value::keep_bits,
          conflicts_with_all = ["data_type", "quantize", "max_error", "step"])]
    keep_bits: Option<KeepBits>,

    /// How to write the integers: codecs, cf or plain
    ///
    /// A float array with two codecs, integers with CF attributes, or plain integers. Without a quantising option it changes the form of existing integers.
    #[arg(long = "as", value_parser = value::one_of(&QuantizeForm::NAMES), value_name = "FORM", hide_possible_values = true)]
    form: Option<QuantizeForm>,

    /// Smallest and largest value to store [default: minimum and maximum]
    #[arg(long, value_name = "LO,HI", value_parser = value::range, allow_hyphen_values = true,
          conflicts_with_all = ["scale", "offset"], hide_short_help = true)]
    range: Option<(Json, Json)>,

    /// Scale of the codec, in (x - offset) * scale
    #[arg(long, value_name = "S", value_parser = value::number, allow_hyphen_values = true, hide_short_help = true)]
    scale: Option<Json>,

    /// Offset of the codec
    #[arg(long, value_name = "O", value_parser = value::number, allow_hyphen_values = true, hide_short_help = true)]
    offset: Option<Json>,

    /// Values that count as NaN; `auto`: _FillValue and missing_value
    #[arg(long, value_name = "VALUE,...|auto", value_parser = value::missing, allow_hyphen_values = true, hide_short_help = true)]
    missing: Option<Missing>,

    /// Leave out the scalar_map entry that zarr-python 3.4.1 and 3.4.2 need
    #[arg(long, hide_short_help = true)]
    no_workarounds: bool,

    /// Replace the whole codec chain
    ///
    /// CODECS is JSON as in zarr.json, @FILE, or words as for --compress.
    #[arg(long, value_name = "CODECS", value_parser = value::codecs, help_heading = "Compress")]
    codecs: Option<Document>,

    /// Replace the compressor: zstd:5, none or auto
    ///
    /// Other examples: `zstd:3:checksum`, `gzip:6`, `blosc:lz4:5:shuffle`, `zstd:5,crc32c`. `auto`, `auto:fast`, `auto:small` choose on a sample; `auto:any` also tries pcodec.
    #[arg(long, value_name = "SPEC", value_parser = value::compression, conflicts_with = "codecs", help_heading = "Compress")]
    compress: Option<Compression>,

    /// Store differences along dimensions: auto, none or time,lat
    ///
    /// Lossless, for integers and quantised floats. `auto` tries it, as do `--compress auto:small` and `auto:any`.
    #[arg(long, value_name = "DIM,...|auto", conflicts_with = "codecs")]
    #[arg(help_heading = "Compress", hide_short_help = true)]
    predict: Option<Predict>,

    /// Chunk shape: 64,256 or time=1,lat=0 or auto
    ///
    /// 0 means the whole axis. `auto:SIZE` means about SIZE (default: 1MiB). In shards: inner chunks.
    #[arg(short, long, value_name = "SHAPE", value_parser = value::chunks, allow_hyphen_values = true, help_heading = "Chunks")]
    chunk_shape: Option<ShapeRequest>,

    /// Shard shape (Zarr v3), auto, or none
    ///
    /// It must be a multiple of the chunk shape. Default of `auto`: 256MiB. `none` removes shards.
    #[arg(short, long, value_name = "SHAPE", value_parser = value::shards, allow_hyphen_values = true, help_heading = "Chunks")]
    shard_shape: Option<ShardRequest>,

    /// Copy only a part: time=0:100,lat=20:
    ///
    /// Slices are START:STOP as in Python, by name or number of a dimension. In a group they apply to every array that has it.
    #[arg(long, value_name = "SLICES", value_parser = value::slices, help_heading = "Chunks")]
    select: Option<value::Slices>,

    /// Convert the values; floats to integers are rounded
    #[arg(short, long, value_name = "TYPE", value_parser = value::data_type, help_heading = "Data type, format, metadata")]
    data_type: Option<DataType>,

    /// New fill value, as JSON; the values of the array stay the same
    #[arg(short, long, value_name = "JSON", value_parser = value::scalar, allow_hyphen_values = true, help_heading = "Data type, format, metadata", hide_short_help = true)]
    fill_value: Option<Json>,

    /// Write this version of the Zarr format: 2 or 3
    ///
    /// Chunks are copied where possible. An array that v2 cannot express is refused.
    #[arg(long, value_parser = value::one_of(&FORMATS), value_name = "2|3", hide_possible_values = true, help_heading = "Data type, format, metadata")]
    zarr_format: Option<u64>,

    /// Separator of the indices in chunk keys: `.` or `/`
    #[arg(long, value_parser = value::one_of(&SEPARATORS), value_name = "CHAR", hide_possible_values = true, help_heading = "Data type, format, metadata", hide_short_help = true)]
    separator: Option<Separator>,

    /// Replace all attributes of arrays by JSON or @FILE
    #[arg(long, value_name = "JSON", value_parser = value::document, help_heading = "Data type, format, metadata", hide_short_help = true)]
    attributes: Option<Document>,

    /// Add to arrays the attributes in JSON or @FILE, or replace them
    #[arg(long, value_name = "JSON", value_parser = value::document, help_heading = "Data type, format, metadata", hide_short_help = true)]
    attributes_append: Option<Document>,

    /// New names of the dimensions
    #[arg(long, value_name = "A,B,...", value_parser = value::dimension_name, value_delimiter = ',')]
    #[arg(help_heading = "Data type, format, metadata", hide_short_help = true)]
    dimension_names: Option<Vec<String>>,

    /// Undo quantising or CF packing: write floats again
    ///
    /// With --quantize, --max-error, --step or --keep-bits it unpacks first, in the same pass.
    #[arg(long)]
    unpack: bool,

    /// Write chunks that hold only the fill value
    #[arg(long, help_heading = "Chunks", hide_short_help = true)]
    write_empty_chunks: bool,

    /// Integer that stands for NaN
    #[arg(long, value_name = "VALUE", value_parser = value::number, allow_hyphen_values = true, hide_short_help = true)]
    nan_value: Option<Json>,

    /// Rounding: nearest-even (default), nearest-away, towards-zero, towards-positive or towards-negative
    #[arg(long, value_parser = value::one_of(&values::ROUNDINGS), value_name = "MODE", hide_possible_values = true, hide_short_help = true)]
    rounding: Option<Rounding>,

    /// `clamp` values out of range, or `wrap` them modulo 2^N [default: fail]
    #[arg(long, value_parser = value::one_of(&values::OUT_OF_RANGE), value_name = "HOW", hide_possible_values = true, hide_short_help = true)]
    out_of_range: Option<OutOfRange>,

    /// Allow a cast from integers to floats that can lose bits
    #[arg(long, help_heading = "Data type, format, metadata", hide_short_help = true)]
    allow_lossy_cast: bool,

    /// Do not stop if the codecs change the fill value
    #[arg(long, help_heading = "Data type, format, metadata", hide_short_help = true)]
    no_fill_check: bool,
}
