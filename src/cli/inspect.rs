//! `zarrcast inspect STORE`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::ExitStatus;
use super::arguments::CommonArguments;
use super::session::Session;
use super::value;
use crate::diagnostic::Severity;
use crate::element::NumberType;
use crate::operation::error::OperationError;
use crate::operation::inspect::inspect;
use crate::operation::inspect_result::InspectResult;
use crate::operation::options::{
    CfOptions, ChunkOptions, HistogramOptions, InspectOptions, PictureSize, PreviewOptions,
};
use crate::report::{inspect_preview, inspect_text, inspect_tree, terminal};
use crate::store::file;

const EXAMPLES: &str = r"Examples:
  What is in an array, and what each codec makes of a chunk:
    zarrcast inspect temperature.zarr

  The nodes right below a group:
    zarrcast inspect --depth 1 ocean.zarr

  The values, and how they are spread over 20 bins:
    zarrcast inspect --stats --histogram 20 temperature.zarr

  The codecs that would store it in 8 bits, and their error:
    zarrcast inspect --suggest uint8 temperature.zarr

  A chunk, codec by codec:
    zarrcast inspect --chunk 0,1,1 temperature.zarr

  A picture of the fourth time step:
    zarrcast inspect --preview time=3 temperature.zarr

  The pipeline for a program:
    zarrcast inspect --json temperature.zarr | jq .pipeline";

/// Pixels of a `--preview-png`, either way.
const IMAGE: PictureSize = PictureSize { columns: 1024, rows: 1024, pixel_height: 1 };

/// Pixels of a picture in JSON.
const DOCUMENT: PictureSize = PictureSize { columns: 80, rows: 60, pixel_height: 1 };

/// Columns and lines where there is no terminal.
const PAGE: (u16, u16) = (80, 40);

/// Lines of the terminal that are not given to the picture: its heading, its legend, the prompt.
const OTHER_LINES: u64 = 5;

/// Show what is in a store: metadata, codec pipeline, storage, values
///
/// The pipeline of an array has a row for each codec, in encode order, with the data type, shape, fill value and size of
/// a chunk after it, also inside a shard. A group is shown as a tree, with a line for each array. What is damaged shows
/// what it can, and exits with 1.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "zarrcast inspect [OPTIONS] <STORE>")]
pub(super) struct InspectArguments {
    /// The array or group: a local folder, a zip file, a URL (http://, s3://, gs://, az://) or a kerchunk reference file; the path may go on inside a hierarchy
    #[arg(value_name = "STORE", required_unless_present = "preview")]
    store: Option<PathBuf>,

    /// The path of a node inside the store
    #[arg(long, value_name = "PATH")]
    node: Option<String>,

    /// Count what is stored: chunks, shards, bytes, and keys that belong to no chunk
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Storage::Auto)]
    storage: Storage,

    /// Of a group, show nodes at most this far below it
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    depth: Option<u64>,

    #[command(flatten)]
    values: ValueArguments,

    #[command(flatten)]
    pub(super) common: CommonArguments,
}

/// What is read of the chunks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Values")]
struct ValueArguments {
    /// Read all values: least, greatest, mean, standard deviation, and how many are NaN, infinite, missing, the fill value
    ///
    /// Absent chunks count as the fill value. Of a group, there is a row for each array.
    #[arg(long)]
    stats: bool,

    /// Count the values in bins of equal width; from the least to the greatest, unless a range is given
    ///
    /// The last bin has its upper edge.
    #[arg(long, value_name = "BINS[,MIN,MAX]", value_parser = value::histogram, allow_hyphen_values = true)]
    histogram: Option<HistogramOptions>,

    /// Suggest scale_offset and cast_value for integers of this type, with the step and the greatest error
    #[arg(long, value_name = "TYPE", value_parser = value::integer_type)]
    suggest: Option<NumberType>,

    /// Decode one object of the stored grid, codec by codec, with sizes, times and checksums
    #[arg(long, value_name = "I,J,...", value_parser = value::extents, allow_hyphen_values = true)]
    chunk: Option<value::Extents>,

    /// Let --chunk count inner chunks of shards
    #[arg(long, requires = "chunk")]
    inner_chunk: bool,

    /// Draw a slice: of the last two dimensions, at index 0 of the others, or where AXIS=INDEX says
    ///
    /// AXIS is a dimension's number or name. Slices of more than 64 Mi elements are drawn from their nearest values,
    /// others from means.
    #[arg(long, value_name = "AXIS=INDEX,...", num_args = 0..=1, default_missing_value = "")]
    preview: Option<String>,

    /// Values that count as missing, which no figure is over; `auto`: those that are declared
    ///
    /// The attributes _FillValue and missing_value declare them, and in Zarr v2 the fill value of an array with
    /// _ARRAY_DIMENSIONS, as xarray has it.
    #[arg(
        long, value_name = "VALUE,...|auto|none", value_parser = value::missing_or_none, default_value = "auto",
        allow_hyphen_values = true
    )]
    missing: value::MissingOrNone,

    /// Apply the attributes scale_factor, add_offset and _Unsigned first, as CF readers do
    #[arg(long)]
    cf: bool,

    /// Draw the slice of --preview into a PNG file of at most 1024 x 1024 pixels
    #[arg(long, value_name = "FILE")]
    preview_png: Option<PathBuf>,
}

/// When what is stored is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Storage {
    /// On stores that list quickly: local ones
    Auto,
    /// On every store
    Always,
    /// The metadata alone
    Never,
}

impl InspectArguments {
    /// Runs the command and reports.
    pub(super) fn run(self, session: &Session) -> anyhow::Result<ExitStatus> {
        let as_json = self.common.json;
        let image = self.values.preview_png.clone();
        let options = self.options(session)?;
        let result = inspect(&options, session.progress(), session.interrupt())?;
        session.progress().finish();
        session.warn(result.warnings());
        if let Some(path) = image {
            write_image(&result, &path)?;
        }
        session.report(("inspect", as_json), &result, |result, style, output| match result {
            InspectResult::Array(array) => inspect_text::write(array, style, output),
            InspectResult::Group(group) => inspect_tree::write(group, style, output),
        })?;
        let damaged = result.warnings().iter().any(|finding| finding.severity == Severity::Error);
        Ok(if damaged { ExitStatus::DataFault } else { ExitStatus::Done })
    }

    fn options(self, session: &Session) -> anyhow::Result<InspectOptions> {
        let ValueArguments {
            stats,
            histogram,
            suggest,
            chunk,
            inner_chunk,
            preview,
            missing,
            cf,
            preview_png,
        } = self.values;
        let (at, store) = slice_and_store(preview.as_deref(), self.store)?;
        let picture =
            preview.is_some().then(|| if self.common.json { DOCUMENT } else { picture_size(session) });
        let image = preview_png.is_some().then_some(IMAGE);
        let store = self.common.location("STORE", store)?;
        let storage = match self.storage {
            Storage::Auto => !store.is_remote(),
            Storage::Always => true,
            Storage::Never => false,
        };
        Ok(InspectOptions {
            common: self.common.options(),
            store,
            node: self.node,
            storage,
            stats,
            histogram,
            suggest,
            chunk: chunk.map(|chunk| ChunkOptions { indices: chunk.0, inner: inner_chunk }),
            cf: CfOptions { missing: missing.0, unpacks: cf },
            depth: self.depth,
            preview: (picture.is_some() || image.is_some()).then_some(PreviewOptions { at, picture, image }),
        })
    }
}

/// What `--preview` says, and STORE: what stands after `--preview` and is no slice is STORE.
fn slice_and_store(
    preview: Option<&str>,
    store: Option<PathBuf>,
) -> anyhow::Result<(Vec<(String, u64)>, PathBuf)> {
    match (preview.map(|text| (text, value::slice(text))), store) {
        (None, Some(store)) => Ok((Vec::new(), store)),
        (Some((_, Some(at))), Some(store)) => Ok((at, store)),
        (Some((text, None)), None) => Ok((Vec::new(), PathBuf::from(text))),
        (Some((text, None)), Some(_)) => {
            Err(OperationError::usage(format!("--preview takes AXIS=INDEX,...; found {text:?}"))
                .with_help(
                    "name dimensions by number or name, such as --preview 0=3 or --preview time=3,level=0",
                )
                .into())
        }
        (_, None) => {
            Err(OperationError::usage("STORE is missing").with_help("name the folder of an array").into())
        }
    }
}

/// What fits the terminal, or a page.
fn picture_size(session: &Session) -> PictureSize {
    let (columns, lines) = terminal::size().unwrap_or(PAGE);
    let lines = u64::from(lines).saturating_sub(OTHER_LINES).max(4);
    // With colours a letter is two pixels, each about as high as wide.
    let (rows, pixel_height) = if session.style().is_coloured() { (2 * lines, 1) } else { (lines, 2) };
    PictureSize { columns: u64::from(columns).max(16), rows, pixel_height }
}

fn write_image(result: &InspectResult, path: &Path) -> anyhow::Result<()> {
    let InspectResult::Array(array) = result else { return Ok(()) };
    let Some(image) = &array.image else { return Ok(()) };
    let bytes = inspect_preview::image(image).context("the image cannot be encoded")?;
    file::write(path, &bytes).map_err(|error| {
        OperationError::environment(format!("`{}` is not written", path.display())).because(error).into()
    })
}
