//! `zarrcast transcode SOURCE DEST`.

mod arguments;
mod parts;

use std::path::PathBuf;

use clap::{Args, Parser};

use super::ExitStatus;
use super::arguments::CommonArguments;
use super::report_file::{ReportArguments, ReportFile};
use super::session::Session;
use super::value;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::chunk_key::Separator;
use crate::metadata::json::Json;
use crate::operation::error::OperationError;
use crate::operation::options::{
    ChangeOptions, QuantizeForm, QuantizeOptions, Rule, RunOptions, TranscodeOptions,
};
use crate::operation::pattern::PathPattern;
use crate::operation::requirement::Requirement;
use crate::operation::transcode::{comparisons, transcode};
use crate::operation::transcode_result::TranscodeResult;
use crate::report::{html, transcode_text};
use arguments::{ChangeArguments, ConversionArguments, Format, HierarchyArguments, QuantizeArguments};

const EXAMPLES: &str = r"Examples:
  Floats as 8 bits over the range of the values; readers
  still see floats:
    zarrcast transcode --quantize uint8 \
      temperature.zarr small.zarr

  The narrowest integers that keep every value within
  0.005, compressed anew, checked by reading back:
    zarrcast transcode --max-error 0.005 \
      --compress zstd:5 --verify \
      temperature.zarr small.zarr

  Steps of 0.1 from 0, so that decimals come back as they
  were, and other stores of the collection are alike:
    zarrcast transcode --step 0.1 --compress zstd:5 \
      temperature.zarr small.zarr

  Only if nobody sees it: a contract of measures, else
  nothing is written:
    zarrcast transcode --max-error 0.005 \
      --require 'pearson>=0.99999,dssim>=0.995' \
      temperature.zarr small.zarr

  16-bit integers with CF attributes, -9999 being NaN:
    zarrcast transcode --quantize int16 --as cf \
      --missing -9999 temperature.zarr packed.zarr

  Other chunks, by dimension name, in shards:
    zarrcast transcode -c time=64,lat=64,lon=64 \
      -s 512,512,512 a.zarr b.zarr

  Another compressor, with a checksum behind it:
    zarrcast transcode --compress zstd:9,crc32c \
      a.zarr b.zarr

  A whole hierarchy: one variable quantised, the others
  compressed anew, station data as they are:
    zarrcast transcode --compress zstd:5 \
      --exclude 'stations/**' \
      --rule '**/temperature: --max-error 0.05' \
      climate.zarr small.zarr

  What became of the values, as a page with pictures:
    zarrcast transcode --quantize uint8 \
      --report small.html temperature.zarr small.zarr

  Go on after an interruption or a full disk:
    zarrcast transcode --compress zstd:9 --resume \
      big.zarr small.zarr

  In parts, by many machines: planned, done, proved:
    zarrcast transcode --compress zstd:9 \
      big.zarr small.zarr --init --partitions 100
    zarrcast transcode big.zarr small.zarr \
      --print-script slurm > job.sh
    zarrcast transcode big.zarr small.zarr --partition 7
    zarrcast transcode big.zarr small.zarr --status
    zarrcast transcode big.zarr small.zarr --finish

  From Zarr v2 to v3, chunks copied as they are:
    zarrcast transcode --zarr-format 3 old.zarr new.zarr

  What would be done, without doing it:
    zarrcast transcode --data-type float32 --dry-run \
      values.zarr narrow.zarr

  Plain floats again:
    zarrcast transcode --unpack small.zarr plain.zarr";

/// Write an array or a hierarchy anew: codecs, chunks, shards, data type, fill value, quantised
///
/// With no option it copies: same format, chunks, codecs and attributes, the encoded chunks byte for byte. Each
/// option changes just its part. Of a group all that lies below it is written, in one run; coordinate variables are
/// not quantised unless a pattern names them. Nothing is written before the whole plan has been validated, and the metadata are
/// written last: a DEST that opens is complete.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TranscodeArguments {
    /// The array or group to read: a local folder, a zip file, a URL (http://, s3://, gs://, az://) or a kerchunk reference file
    #[arg(value_name = "SOURCE")]
    source: PathBuf,

    /// The array or group to write: a local folder, a .zip file or a URL (s3://, gs://, az://) where nothing is, unless --overwrite or --resume is given
    #[arg(value_name = "DEST")]
    destination: PathBuf,

    /// The path of the node of SOURCE to read
    #[arg(long, value_name = "PATH")]
    node: Option<String>,

    #[command(flatten)]
    changes: Changes,

    #[command(flatten)]
    hierarchy: HierarchyArguments,

    /// Read DEST back and compare
    ///
    /// Under quantisation: compare the error with its bound, and count the codes.
    #[arg(long)]
    verify: bool,

    /// Measure what quantising did to the values, by what is read back of DEST
    ///
    /// Bias, PSNR, Pearson's r, the share of points with a relative error above 1e-4, the p-value of the
    /// Kolmogorov-Smirnov test, the least DSSIM of all 2-D levels (the last two dimensions), zeros and signs kept: the measures of
    /// Baker et al. for lossy compression of climate data.
    #[arg(long)]
    quality: bool,

    /// What each quantised array has to keep, else DEST is not published and the exit status is 1
    ///
    /// A measure, a relation (>=, <=, >, <, ==) and a number; several with commas. The measures: bias, psnr, pearson,
    /// relative_error_share, ks_p, dssim, zeros_kept, signs_kept, max_abs_error, rms_error. One that is not
    /// defined (dssim of an array without levels) is not kept. Implies --quality.
    #[arg(long, value_name = "MEASURE>=NUMBER,...", value_delimiter = ',')]
    require: Vec<Requirement>,

    /// Print the plan, reading no chunk but for an estimate
    #[arg(long)]
    dry_run: bool,

    /// Let the plan say how large DEST will be and how long it takes, from a sample of the chunks that is encoded
    ///
    /// Of a large array no more than a hundredth is read, and 16 chunks at least: the same ones each time. What a first pass
    /// would find is found in the sample.
    #[arg(long, requires = "dry_run")]
    estimate: bool,

    /// Replace DEST: an array, a group, an unfinished run or an empty folder
    ///
    /// The old one stays whole and readable until the new one is complete; both need room until then. Object stores exchange
    /// nothing at once: there the old one is removed first, and nothing opens until the new one is complete.
    #[arg(long)]
    overwrite: bool,

    /// Go on with an unfinished run of the same command; with no DEST, start
    ///
    /// The result is the same as that of a run that was not interrupted. The number of threads and the memory may
    /// be others. Of an unfinished zip file nothing is kept: it is begun anew.
    #[arg(long)]
    resume: bool,

    #[command(flatten)]
    parts: parts::PartsArguments,

    #[command(flatten)]
    report: ReportArguments,

    #[command(flatten)]
    pub(super) common: CommonArguments,
}

impl TranscodeArguments {
    /// Runs the command and reports. What it does is done before the report is written: a closed pipe changes nothing.
    pub(super) fn run(self, session: &Session) -> anyhow::Result<ExitStatus> {
        let as_json = self.common.json;
        let report = self.report.clone();
        let access = if self.parts.prints_script() { self.words_of_script()? } else { Vec::new() };
        let (options, parts) = self.into_options()?;
        check_quality(&options, parts.is_given())?;
        parts.check_report(report.report.is_some())?;
        let report = report.file([&options.source, &options.destination])?;
        if parts.is_given() {
            return parts.run(&options, access, (as_json, report.as_ref()), session);
        }
        let result = transcode(&options, session.progress(), session.interrupt())?;
        session.warn(&result.warnings);
        if let Some(report) = &report {
            write_report(report, &options, &result, session)?;
        }
        session.report(("transcode", as_json), &result, transcode_text::write)?;
        let equal = result.nodes.iter().all(|node| node.verify.as_ref().is_none_or(|verify| verify.equal));
        Ok(if equal { ExitStatus::Done } else { ExitStatus::DataFault })
    }

    /// How the commands of a script reach SOURCE and DEST, as options.
    fn words_of_script(&self) -> Result<Vec<String>, OperationError> {
        value::refuse_secrets("SOURCE", &self.source)?;
        value::refuse_secrets("DEST", &self.destination)?;
        self.common.words_of_access()
    }

    fn into_options(self) -> anyhow::Result<(TranscodeOptions, parts::PartsArguments)> {
        let hierarchy = self.hierarchy;
        let mut rules: Vec<(PathPattern, Changes)> =
            hierarchy.rule.iter().map(|text| rule(text)).collect::<Result<_, _>>()?;
        for (_, changes) in &mut rules {
            changes.inherit(&self.changes);
        }
        self.changes.check_dependent_options(rules.iter().map(|(_, changes)| changes))?;
        let change = self.changes.into_options()?;
        let rule = |(pattern, changes): (PathPattern, Changes)| -> anyhow::Result<Rule> {
            Ok(Rule { pattern, change: changes.into_options()? })
        };
        value::refuse_archive("DEST", &self.destination)?;
        value::refuse_format("DEST", &self.destination)?;
        let options = TranscodeOptions {
            source: value::node_of(self.common.location("SOURCE", self.source)?, self.node.as_deref())?,
            destination: self.common.location("DEST", self.destination)?,
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
            only: hierarchy.only,
            include: hierarchy.include,
            exclude: hierarchy.exclude,
            rules: rules.into_iter().map(rule).collect::<Result<_, _>>()?,
            no_consolidate: hierarchy.no_consolidate,
        };
        Ok((options, self.parts))
    }
}

/// A usage error where quality is asked for that cannot be measured.
fn check_quality(options: &TranscodeOptions, in_parts: bool) -> Result<(), OperationError> {
    if !options.run.quality {
        return Ok(());
    }
    if in_parts {
        let message = "`--quality` and `--require` are not for jobs in parts, each of which sees its share of the values alone";
        return Err(OperationError::usage(message)
            .with_help("quantise by one run to have them measured, or leave them out"));
    }
    let quantizes = |change: &ChangeOptions| change.quantize.is_some() || change.keep_bits.is_some();
    if quantizes(&options.change) || options.rules.iter().any(|rule| quantizes(&rule.change)) {
        return Ok(());
    }
    let message = "`--quality` and `--require` are of a quantisation, and none is asked for";
    Err(OperationError::usage(message)
        .with_help("give `--quantize`, `--max-error`, `--step` or `--keep-bits`, or leave them out"))
}

/// Writes the page of a job that is done, or of a plan. Whatever happens to the page, DEST is as it is.
fn write_report(
    report: &ReportFile,
    options: &TranscodeOptions,
    result: &TranscodeResult,
    session: &Session,
) -> anyhow::Result<()> {
    let written = comparisons(options, result, session.progress(), session.interrupt())
        .and_then(|compared| report.write(&html::transcode(result, &compared)));
    session.progress().finish();
    written.map_err(|error| {
        if !result.complete {
            return error.into();
        }
        let help = format!("`{}` is complete all the same: only the report is missing", result.destination);
        error.with_help(help).into()
    })
}

/// What is asked to change: of all arrays, or of those of a rule.
#[derive(Debug, Args)]
struct Changes {
    #[command(flatten)]
    change: ChangeArguments,

    #[command(flatten)]
    quantize: QuantizeArguments,

    #[command(flatten)]
    conversion: ConversionArguments,
}

impl Changes {
    fn into_options(self) -> anyhow::Result<ChangeOptions> {
        let Changes { change, quantize, conversion } = self;
        let quantizes = quantize.is_asked_for();
        let nan_value = conversion.nan_value;
        Ok(ChangeOptions {
            codecs: change.codecs.map(|document| document.codecs("codecs")).transpose()?,
            compress: change.compress,
            chunk_shape: change.chunk_shape,
            shard_shape: change.shard_shape,
            select: change.select.map_or_else(Vec::new, |slices| slices.0),
            data_type: change.data_type,
            fill_value: change.fill_value,
            zarr_format: change.zarr_format.map(Format::number),
            separator: change.separator.map(Separator::from),
            attributes: change.attributes.map(|document| document.object("attributes")).transpose()?,
            attributes_append: change
                .attributes_append
                .map(|document| document.object("attributes-append"))
                .transpose()?,
            dimension_names: change.dimension_names,
            nan_value: if quantizes { None } else { nan_value.clone() },
            keep_bits: quantize.keep_bits,
            quantize: if quantizes { Some(quantize.into_options(nan_value.as_ref())?) } else { None },
            rounding: conversion.rounding.map(Rounding::from),
            out_of_range: conversion.out_of_range.map(OutOfRange::from),
            unpack: change.unpack,
            allow_lossy_cast: conversion.allow_lossy_cast,
            no_fill_check: conversion.no_fill_check,
            write_empty_chunks: change.write_empty_chunks,
        })
    }

    /// Takes, for a rule that quantises, how it is done from the options of all arrays where the rule does not say.
    fn inherit(&mut self, all: &Changes) {
        if self.quantize.is_asked_for() {
            self.quantize.form = self.quantize.form.or(all.quantize.form);
            self.quantize.missing = self.quantize.missing.take().or(all.quantize.missing.clone());
            self.quantize.no_workarounds |= all.quantize.no_workarounds;
            self.conversion.nan_value = self.conversion.nan_value.take().or(all.conversion.nan_value.clone());
        }
    }

    /// Options that say how something is done, without the option that does it here or in a rule, are a mistake.
    fn check_dependent_options<'a>(&self, rules: impl Iterator<Item = &'a Changes>) -> anyhow::Result<()> {
        let Changes { change, quantize, conversion } = self;
        let (mut quantizes, mut converts) = (quantize.is_asked_for(), change.data_type.is_some());
        for rule in rules {
            quantizes |= rule.quantize.is_asked_for();
            converts |= rule.change.data_type.is_some();
        }
        converts |= quantizes;
        let for_quantize = [
            ("as", quantize.form.is_some()),
            ("missing", quantize.missing.is_some()),
            ("no-workarounds", quantize.no_workarounds),
        ];
        let for_own_quantize = [
            ("range", quantize.range.is_some()),
            ("scale", quantize.scale.is_some()),
            ("offset", quantize.offset.is_some()),
        ];
        let for_conversion = [
            ("nan-value", conversion.nan_value.is_some()),
            ("rounding", conversion.rounding.is_some()),
            ("out-of-range", conversion.out_of_range.is_some()),
        ];
        super::require(quantizes, &for_quantize, "--quantize, --max-error or --step")?;
        super::require(quantize.is_asked_for(), &for_own_quantize, "--quantize, --max-error or --step")?;
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

/// Reads `GLOB: OPTIONS`, the options as a shell would split them.
fn rule(text: &str) -> anyhow::Result<(PathPattern, Changes)> {
    let usage = |reason: String| {
        OperationError::usage(format!("--rule `{text}`: {reason}"))
            .with_help("give a pattern, a colon and options: '**/temperature: --quantize uint8'")
    };
    let Some((glob, words)) = text.split_once(": ") else {
        return Err(usage("there is no `: ` between a pattern and its options".to_owned()).into());
    };
    let pattern = value::pattern(glob).map_err(usage)?;
    let words = shlex::split(words).ok_or_else(|| usage("a quote is not closed".to_owned()))?;
    let RuleArguments { changes } = RuleArguments::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        usage(first.trim_start_matches("error: ").to_owned())
    })?;
    let of_all =
        [("zarr-format", changes.change.zarr_format.is_some()), ("select", changes.change.select.is_some())];
    if let Some((option, _)) = of_all.iter().find(|(_, is_given)| *is_given) {
        let reason = format!("--{option} is for the whole of DEST, not for some of its arrays");
        return Err(usage(reason).into());
    }
    changes.check_dependent_options([].into_iter())?;
    Ok((pattern, changes))
}

impl QuantizeArguments {
    /// Whether an option is given that quantises by itself.
    fn is_asked_for(&self) -> bool {
        self.quantize.is_some() || self.max_error.is_some() || self.step.is_some()
    }

    fn into_options(self, nan_value: Option<&Json>) -> anyhow::Result<QuantizeOptions> {
        Ok(QuantizeOptions {
            data_type: self.quantize,
            max_error: self.max_error,
            step: self.step,
            form: self.form.map(QuantizeForm::from).unwrap_or_default(),
            range: self.range,
            scale: self.scale,
            offset: self.offset,
            nan_value: nan_value.map(value::code).transpose()?,
            missing: self.missing,
            no_workarounds: self.no_workarounds,
        })
    }
}
