//! `zarrcast transcode SOURCE DEST`.

mod arguments;
mod parts;

use std::path::PathBuf;

use clap::{Args, Parser};

use super::ExitStatus;
use super::arguments::{CommonArguments, ReportArguments, ReportFile};
use super::session::Session;
use super::value::{self, Document};
use crate::operation::options::Rule;
use crate::operation::requirement::Requirement;
use crate::operation::transcode::{comparisons, transcode};
use crate::operation::{
    ChangeOptions, OperationError, PathPattern, QuantizeForm, QuantizeOptions, RunOptions, TranscodeOptions,
    TranscodeResult,
};
use crate::report::{self, html};
use arguments::{Changes, HierarchyArguments};

const EXAMPLES: &str = include_str!("examples/transcode.short.txt");

const MORE_EXAMPLES: &str = include_str!("examples/transcode.txt");

/// Write a copy of an array or group: smaller, in other chunks or another format
///
/// Without options it makes an exact copy. Each option changes only its part. The whole plan is checked before anything is written.
/// Metadata is written last, so a DEST that opens is complete.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = MORE_EXAMPLES)]
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

    #[command(flatten)]
    hierarchy: HierarchyArguments,

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
        write_text(&result, as_json, session)?;
        let equal = result.nodes.iter().all(|node| node.verify.as_ref().is_none_or(|verify| verify.equal));
        Ok(if equal { ExitStatus::Done } else { ExitStatus::DataFault })
    }

    /// Options of remote stores for the commands of a script.
    fn words_of_script(&self) -> Result<Vec<String>, OperationError> {
        value::refuse_secrets("SOURCE", &self.source)?;
        value::refuse_secrets("DEST", &self.destination)?;
        self.common.words_of_access()
    }

    fn into_options(self) -> Result<(TranscodeOptions, parts::PartsArguments), OperationError> {
        let hierarchy = self.hierarchy;
        let mut rules: Vec<(PathPattern, Changes)> =
            hierarchy.rule.iter().map(|text| rule(text)).collect::<Result<_, _>>()?;
        let mut own = self.changes;
        for (_, changes) in &mut rules {
            changes.inherit(&own);
        }
        own.check_dependent_options(rules.iter().map(|(_, changes)| changes))?;
        if rules.iter().any(|(_, changes)| changes.quantizes()) && !own.quantizes() {
            // It says how the rules do it.
            own.form = None;
        }
        let change = own.into_options()?;
        let rule =
            |(pattern, changes): (PathPattern, Changes)| changes.into_options().map(|change| Rule { pattern, change });
        value::refuse_other_formats("DEST", &self.destination)?;
        let mut options = TranscodeOptions {
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
        // No reader opens a tree of both formats.
        let of_rules = options.rules.iter().find_map(|rule| rule.change.zarr_format);
        options.change.zarr_format = options.change.zarr_format.or(of_rules);
        Ok((options, self.parts))
    }
}

/// A usage error where quality is asked for that cannot be measured.
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
    let message = "`--quality` and `--require` need an option that quantises";
    Err(OperationError::usage(message)
        .with_help("give `--quantize`, `--max-error`, `--step` or `--keep-bits`, or leave them out"))
}

/// Writes the result to stdout.
fn write_text(result: &TranscodeResult, as_json: bool, session: &Session) -> anyhow::Result<()> {
    session.report(("transcode", as_json), result, |style, output| {
        report::transcode::report(result, &[], style.is_verbose).write(style, output)
    })
}

/// Writes the page of a job that is done, or of a plan. Whatever happens to the page, DEST is as it is.
fn write_report(
    report: &ReportFile,
    options: &TranscodeOptions,
    result: &TranscodeResult,
    session: &Session,
) -> anyhow::Result<()> {
    let written = comparisons(options, result, session.progress(), session.interrupt()).and_then(|compared| {
        report.write(&html::page("transcode", &[report::transcode::report(result, &compared, false)]))
    });
    session.progress().finish();
    written.map_err(|error| {
        if !result.complete {
            return error.into();
        }
        let help = format!("`{}` is complete, only the report is missing", result.destination);
        error.with_help(help).into()
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

    /// Takes, for a rule that quantises, how it is done from the options of all arrays where the rule does not say.
    fn inherit(&mut self, all: &Changes) {
        if self.quantizes() {
            self.form = self.form.or(all.form);
            self.missing = self.missing.take().or(all.missing.clone());
            self.no_workarounds |= all.no_workarounds;
            self.nan_value = self.nan_value.take().or(all.nan_value.clone());
        }
    }

    /// Options that say how something is done, without the option that does it here or in a rule, are a mistake.
    fn check_dependent_options<'a>(
        &'a self,
        rules: impl Iterator<Item = &'a Changes> + Clone,
    ) -> Result<(), OperationError> {
        let mut all = rules.chain([self]);
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

/// Reads `GLOB: OPTIONS`, the options as a shell would split them.
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
    let RuleArguments { changes } = RuleArguments::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        usage(first.trim_start_matches("error: ").to_owned())
    })?;
    let of_all = [("zarr-format", changes.zarr_format.is_some()), ("select", changes.select.is_some())];
    if let Some((option, _)) = of_all.iter().find(|(_, is_given)| *is_given) {
        let reason = format!("--{option} applies to the whole DEST: give it outside of --rule");
        return Err(usage(reason));
    }
    changes.check_dependent_options([].into_iter())?;
    Ok((pattern, changes))
}
