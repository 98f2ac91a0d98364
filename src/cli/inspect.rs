//! `zarrcast inspect STORE`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::arguments::{CommonArguments, ReportArguments, write_file};
use super::session::Session;
use super::value::{self, When};
use super::{ExitStatus, require, require_one};
use crate::diagnostic::Diagnostic;
use crate::operation::inspect::inspect;
use crate::operation::inspect_result::{InspectedStores, Unread};
use crate::operation::options::{ChunkOptions, PictureSize, PreviewOptions};
use crate::operation::{
    CfOptions, Failure, FaultClass, HistogramOptions, InspectOptions, InspectResult, Missing, OperationError, Suggest,
};
use crate::report::terminal::{self, Output};
use crate::report::{self, formats, html, inspect_preview};
use crate::store::Location;

/// The maximum size of a `--preview-png`, in pixels.
const IMAGE: PictureSize = PictureSize { columns: 1024, rows: 1024, pixel_height: 1 };

/// The maximum size of a picture in JSON, in pixels.
const DOCUMENT: PictureSize = PictureSize { columns: 80, rows: 60, pixel_height: 1 };

/// Columns and lines if there is no terminal.
const PAGE: (u16, u16) = (80, 40);

/// Lines of the terminal that the picture does not use: its heading, its legend, the prompt.
const OTHER_LINES: u64 = 5;

/// Show what is in a store: metadata, codec pipeline, storage, values
///
/// The pipeline of an array has one row per codec, in encode order. A row shows the data type, shape, fill value and size
/// of a chunk after the codec. A shard also shows its inner pipeline. A group is shown as a tree with one line per array.
/// A narrow terminal hides some columns; piped output has all. For a damaged store, inspect shows what is readable and
/// exits with 1.
#[derive(Debug, Args)]
#[command(after_help = include_str!("examples/inspect.short.txt"))]
#[command(after_long_help = include_str!("examples/inspect.txt"), override_usage = "zarrcast inspect [OPTIONS] <STORE>...")]
pub(super) struct InspectArguments {
    /// Arrays or groups to show
    ///
    /// Local folders, zip files, URLs (http://, s3://, gs://, az://) or kerchunk reference files. A path may continue inside a group.
    #[arg(value_name = "STORE", required_unless_present_any = ["preview", "suggest"])]
    stores: Vec<PathBuf>,

    /// Path of a node inside each store
    #[arg(long, value_name = "PATH", help_heading = "Metadata")]
    node: Option<String>,

    /// Count stored chunks, bytes and unknown keys: auto (local stores), always or never [default: auto]
    #[arg(long, value_enum, value_name = "WHEN", hide_possible_values = true)]
    #[arg(help_heading = "Metadata")]
    storage: Option<When>,

    /// Show nodes at most N levels below a group
    #[arg(long, value_name = "N", value_parser = value::whole_number::<u64>, help_heading = "Metadata")]
    depth: Option<u64>,

    #[command(flatten)]
    values: ValueArguments,

    #[command(flatten)]
    report: ReportArguments,

    #[command(flatten)]
    pub(super) common: CommonArguments,
}

/// Options that read chunks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Values")]
struct ValueArguments {
    /// Minimum, maximum, mean, deviation, NaN count
    ///
    /// Missing chunks count as the fill value. A group has one row per array.
    #[arg(long)]
    stats: bool,

    /// Count the values in bins of equal width
    ///
    /// The default range is minimum to maximum. The last bin includes its upper edge.
    #[arg(long, value_name = "BINS", value_parser = value::histogram, allow_hyphen_values = true)]
    histogram: Option<HistogramOptions>,

    /// Try options that make floats smaller, and print the commands
    ///
    /// Errors and sizes are from a sample: at least 16 chunks, at most 1 % of a large array. With an integer TYPE it prints the codecs, the step and the maximum error for all values.
    #[arg(long, value_name = "TYPE", num_args = 0..=1, default_missing_value = "")]
    suggest: Option<String>,

    /// Approximate number of chunks that --suggest tries
    #[arg(long, value_name = "N", requires = "suggest", value_parser = value::above_zero::<u64>)]
    sample: Option<u64>,

    /// Show which bits of the values carry information
    ///
    /// The bitwise real information (Klöwer et al. 2021) along each dimension, and the number of bits that keep 99 and 99.9 % of it. All values are read.
    #[arg(long)]
    information: bool,

    /// Decode one chunk, codec by codec
    #[arg(long, value_name = "I,J", value_parser = value::extents, allow_hyphen_values = true)]
    chunk: Option<value::Extents>,

    /// Let --chunk name an inner chunk, not a shard
    #[arg(long, requires = "chunk")]
    inner_chunk: bool,

    /// Draw a slice of the last two dimensions
    ///
    /// AT is AXIS=INDEX,... for other dimensions, by number or name [default: index 0].
    #[arg(long, value_name = "AT", num_args = 0..=1, default_missing_value = "")]
    preview: Option<String>,

    /// Values that count as missing, `none`, or `auto` (as declared) [default: auto]
    ///
    /// VALUES are VALUE,... as in fill values. Attributes that declare them are _FillValue and missing_value.
    #[arg(long, value_name = "VALUES", value_parser = value::missing_or_none, allow_hyphen_values = true)]
    missing: Option<value::MissingOrNone>,

    /// Apply scale_factor, add_offset and _Unsigned first
    #[arg(long)]
    cf: bool,

    /// Write the slice as a PNG file of at most 1024 x 1024 pixels
    #[arg(long, value_name = "FILE")]
    preview_png: Option<PathBuf>,
}

impl InspectArguments {
    /// Runs the command and reports all STOREs, also if one of them fails. The status is the greatest of theirs. Text
    /// is written as soon as a STORE is read.
    pub(super) fn run(self, session: &Session) -> anyhow::Result<ExitStatus> {
        let as_json = self.common.json;
        let image = self.values.preview_png.clone();
        let report = self.report.clone();
        let options = self.options(session)?;
        report.check(options.iter().map(|options| &options.store))?;
        let is_alone = options.len() == 1;
        let mut status = ExitStatus::Done;
        // The outcome of each STORE, if JSON or a page needs it.
        let mut outcomes: Vec<Result<InspectResult, Failure>> = Vec::new();
        // If the reader of the text is gone, the page is still written.
        let (mut is_first, mut printed) = (true, Ok(()));
        for options in &options {
            let store = options.store.display().to_string();
            let result = match inspect(options, &*session.progress, &session.interrupt) {
                Ok(result) => result,
                Err(error) if is_alone || error.class() == FaultClass::Interrupted => return Err(error.into()),
                Err(error) => {
                    let message = error.in_one_line();
                    let node = options.node.as_ref().map(|node| format!("/{}", node.trim_matches('/')));
                    outcomes.push(Err(Failure { store: Some(store), node, key: None, message }));
                    status = status.max(session.report_error(&error.into()));
                    continue;
                }
            };
            session.progress.finish();
            session.warn(&if is_alone { result.warnings().to_vec() } else { in_store(&store, result.warnings()) });
            // A damaged node shows what it can.
            let is_damaged = result.warnings().iter().any(Diagnostic::is_error);
            status = status.max(if is_damaged { ExitStatus::DataFault } else { ExitStatus::Done });
            status = status.max(report_unread(&result, session));
            if let Some(path) = &image {
                write_image(&result, path)?;
            }
            if !as_json && printed.is_ok() {
                printed = session.print(|output| {
                    if !std::mem::take(&mut is_first) {
                        writeln!(output)?;
                    }
                    report::inspect::report(&result).write(session.style(), output)
                });
            }
            if printed.is_err() && report.report.is_none() {
                break;
            }
            if as_json || report.report.is_some() {
                outcomes.push(Ok(result));
            }
        }
        report.write(|| page(&outcomes))?;
        printed?;
        match outcomes.as_slice() {
            [Ok(result)] if is_alone && as_json => session.print(|output| formats::write("inspect", result, output))?,
            outcomes if as_json => session.print(|output| write_all(outcomes, output))?,
            _ => {}
        }
        Ok(status)
    }

    fn options(self, session: &Session) -> Result<Vec<InspectOptions>, OperationError> {
        let values = self.values;
        let mut stores = self.stores;
        let suggest = values.suggest.map(|text| suggest(text, values.sample, &mut stores)).transpose()?;
        let at = slice(values.preview.as_deref().unwrap_or_default(), &mut stores)?;
        require_one(&stores, ("--preview-png", values.preview_png.is_some()), "STORE")?;
        let looks = values.stats || values.histogram.is_some() || suggest.is_some() || values.information;
        let draws = values.preview.is_some() || values.preview_png.is_some() || self.report.report.is_some();
        let needed = "--stats, --histogram, --suggest, --information, --preview or --report";
        require(looks || draws, &[("cf", values.cf), ("missing", values.missing.is_some())], needed)?;
        let picture = values.preview.is_some().then(|| if self.common.json { DOCUMENT } else { picture_size(session) });
        let image = values.preview_png.is_some().then_some(IMAGE);
        let stores = stores.into_iter().map(|store| self.common.location("STORE", store));
        let stores = stores.collect::<Result<Vec<_>, _>>()?;
        self.common.check_settings(&stores, None)?;
        let options = InspectOptions {
            common: self.common.options(),
            node: self.node,
            access: self.common.open_words_of_access(),
            stats: values.stats,
            histogram: values.histogram,
            suggest,
            information: values.information,
            chunk: values.chunk.map(|indices| ChunkOptions { indices, inner: values.inner_chunk }),
            cf: CfOptions { missing: values.missing.unwrap_or(Some(Missing::Auto)), unpacks: values.cf },
            depth: self.depth,
            draws: self.report.report.is_some(),
            preview: (picture.is_some() || image.is_some()).then_some(PreviewOptions { at, picture, image }),
            ..InspectOptions::default()
        };
        let of = |store: Location| {
            let storage = When::is_now(self.storage, || !store.is_remote());
            InspectOptions { store, storage, ..options.clone() }
        };
        Ok(stores.into_iter().map(of).collect())
    }
}

/// The page of `--report`.
fn page(outcomes: &[Result<InspectResult, Failure>]) -> String {
    let reports = outcomes.iter().map(|outcome| match outcome {
        Ok(result) => report::inspect::report(result),
        Err(failure) => report::inspect::unread(failure),
    });
    html::page("inspect", &reports.collect::<Vec<_>>())
}

/// Writes the JSON document of several STOREs.
fn write_all(outcomes: &[Result<InspectResult, Failure>], output: &mut dyn Write) -> io::Result<()> {
    let results = || outcomes.iter().filter_map(|outcome| outcome.as_ref().ok());
    let stores = results().map(|result| formats::Document::new("inspect", result)).collect();
    let failures = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).cloned().collect();
    let warnings = results().flat_map(InspectResult::warnings).cloned().collect();
    formats::write("inspect", &InspectedStores { stores, failures, warnings }, output)
}

/// Reports the nodes that could not be read. Returns the exit status.
fn report_unread(result: &InspectResult, session: &Session) -> ExitStatus {
    let report = |(message, help): &Unread| {
        let error = OperationError::environment(message.as_str());
        let error = help.iter().fold(error, |error, help| error.with_help(help.as_str()));
        session.report_error(&error.into())
    };
    result.failures().iter().map(report).fold(ExitStatus::Done, ExitStatus::max)
}

/// Returns the findings with the store before the node, as stderr shows them for several STOREs.
fn in_store(store: &str, findings: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut findings = findings.to_vec();
    for finding in &mut findings {
        let node = finding.location.node.as_deref().unwrap_or_default();
        finding.location.node = Some(format!("{store}{}", node.trim_end_matches('/')));
    }
    findings
}

/// Parses the word after `--suggest`. One that does not look like a type is the first STORE.
fn suggest(text: String, sample: Option<u64>, stores: &mut Vec<PathBuf>) -> Result<Suggest, OperationError> {
    if text.is_empty() || !value::looks_like_type(&text) {
        stores.splice(..0, (!text.is_empty()).then(|| PathBuf::from(text)));
        return Ok(Suggest::Ways { sample });
    }
    let target = value::integer_type(&text).map_err(|error| {
        OperationError::usage(format!("--suggest {text}: {error}"))
            .with_help(format!("a STORE of this name is `./{text}`"))
    })?;
    if sample.is_some() {
        let message = format!("--sample needs --suggest without a type: --suggest {text} reads all values");
        return Err(OperationError::usage(message).with_help("leave out the type, or --sample"));
    }
    Ok(Suggest::Codecs(target))
}

/// Parses the word after `--preview`: the indices, each with the name or number of its dimension. One that is not a
/// slice is the STORE, if there is no other.
fn slice(text: &str, stores: &mut Vec<PathBuf>) -> Result<Vec<(String, u64)>, OperationError> {
    let at = value::indices(text);
    if stores.is_empty() {
        if at.is_ok() {
            return Err(OperationError::usage("STORE is missing").with_help("name the folder of an array"));
        }
        stores.push(PathBuf::from(text));
        return Ok(Vec::new());
    }
    at.map_err(|fault| {
        OperationError::usage(format!("--preview takes AXIS=INDEX,...; {fault}"))
            .with_help("name dimensions by number or name, such as --preview 0=3 or --preview time=3,level=0")
    })
}

/// Returns the size of a picture that fits the terminal, or a page if there is none.
fn picture_size(session: &Session) -> PictureSize {
    let (columns, lines) = terminal::size(Output::Result).unwrap_or(PAGE);
    let lines = u64::from(if lines == 0 { PAGE.1 } else { lines }).saturating_sub(OTHER_LINES).max(4);
    // With colours, a character is two pixels, each about as high as wide.
    let (rows, pixel_height) = if session.style().is_coloured { (2 * lines, 1) } else { (lines, 2) };
    PictureSize { columns: u64::from(columns).max(16), rows, pixel_height }
}

fn write_image(result: &InspectResult, path: &Path) -> anyhow::Result<()> {
    let InspectResult::Array(array) = result else { return Ok(()) };
    let Some(image) = &array.image else { return Ok(()) };
    let bytes = inspect_preview::image(image).context("the image cannot be encoded")?;
    Ok(write_file("preview-png", path, &bytes)?)
}
