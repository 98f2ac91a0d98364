//! `zarrcast apply-codec INPUT OUTPUT`.

use std::path::PathBuf;

use clap::Args;

use super::ExitStatus;
use super::arguments::CommonArguments;
use super::session::{self, Session};
use super::value::{self, Document, Extents};
use crate::data_type::DataType;
use crate::metadata::Json;
use crate::operation::apply_codec::apply_codec;
use crate::operation::options::ApplyCodecOptions;
use crate::operation::{OperationError, Stream};
use crate::report::text;

/// Encode or decode raw or .npy data with a codec chain
///
/// Raw data are little-endian elements in C order. A .npy file contains its data type and shape. The chain may end with an
/// array->array codec or with a codec that gives bytes. `-` is stdin or stdout. OUTPUT is written only after success.
#[derive(Debug, Args)]
#[command(after_help = include_str!("examples/apply-codec.short.txt"))]
#[command(after_long_help = include_str!("examples/apply-codec.txt"))]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct ApplyCodecArguments {
    /// Data to read: a file or `-` (left out with --chunk)
    #[arg(value_name = "INPUT")]
    first: Option<PathBuf>,

    /// Where to write the result: a file or `-`
    ///
    /// It may be left out with --stages, --round-trip and --repeat. An existing file is replaced.
    #[arg(value_name = "OUTPUT")]
    second: Option<PathBuf>,

    /// Codec chain: JSON, @FILE, or words: zstd:5,crc32c
    #[arg(long, value_name = "CODECS", value_parser = value::codecs, required_unless_present = "like",
          conflicts_with = "like", help_heading = "Codecs")]
    codecs: Option<Document>,

    /// Decode INPUT: run the chain backwards
    #[arg(long, help_heading = "Codecs")]
    decode: bool,

    /// Data type of the decoded array
    #[arg(short, long, value_name = "TYPE", value_parser = value::data_type, conflicts_with = "like", help_heading = "Data")]
    data_type: Option<DataType>,

    /// Shape of the decoded array; `scalar` for 0-D
    #[arg(long, value_name = "A,B,...", value_parser = value::extents, allow_hyphen_values = true, conflicts_with = "like", help_heading = "Data")]
    shape: Option<Extents>,

    /// Fill value of the decoded array, as JSON
    #[arg(short, long, value_name = "JSON", value_parser = value::scalar, allow_hyphen_values = true,
          conflicts_with = "chunk", help_heading = "Data")]
    fill_value: Option<Json>,

    /// Do not stop if the chain changes the fill value
    #[arg(long, help_heading = "Data")]
    no_fill_check: bool,

    /// Use the codec chain, data type and chunk shape of this array
    #[arg(long, value_name = "STORE", help_heading = "Codecs")]
    like: Option<PathBuf>,

    /// Path of the node inside the store of --like
    #[arg(long, value_name = "PATH", requires = "like", help_heading = "Codecs")]
    node: Option<String>,

    /// Decode this stored chunk instead of INPUT
    #[arg(long, value_name = "I,J", value_parser = value::extents, allow_hyphen_values = true, requires = "like", help_heading = "Data")]
    chunk: Option<Extents>,

    /// Print a row for each codec on stderr
    #[arg(long, help_heading = "Measure")]
    stages: bool,

    /// Encode, decode and compare
    #[arg(long, conflicts_with = "decode", help_heading = "Measure")]
    round_trip: bool,

    /// Run N times and report the median speed of each codec
    #[arg(long, value_name = "N", value_parser = value::up_to::<1_000_000>, help_heading = "Measure")]
    repeat: Option<u32>,

    #[command(flatten)]
    pub(super) common: CommonArguments,
}

impl ApplyCodecArguments {
    pub(super) fn run(self, session: &Session) -> anyhow::Result<ExitStatus> {
        let as_json = self.common.json;
        let options = self.into_options()?;
        let result = apply_codec(&options, &session.interrupt)?;
        session.warn(&result.warnings);
        if options.stages {
            session.note(|output| text::write_stages(&result, session.error_style(), output));
        }
        if let Some(bytes) = &result.standard_output {
            session::print_as_it_is(|output| output.write_all(bytes))?;
            // stdout contains the data, so the report is on stderr.
            session.note(|output| text::write_applied(&result, !options.stages, session.error_style(), output));
        } else {
            session.report(("apply-codec", as_json), &result, |style, output| {
                text::write_applied(&result, !options.stages, style, output)
            })?;
        }
        Ok(ExitStatus::Done)
    }

    fn into_options(self) -> Result<ApplyCodecOptions, OperationError> {
        // The parser asks for nothing where another option conflicts with what is missing.
        let of_array = [("chunk", self.chunk.is_some()), ("node", self.node.is_some())];
        super::require(self.like.is_some(), &of_array, "--like")?;
        let (input, output) = match (&self.chunk, self.first, self.second) {
            (Some(_), Some(_), Some(_)) => {
                return Err(OperationError::usage("--chunk replaces INPUT: give only OUTPUT"));
            }
            (Some(_), output, None) => (None, output),
            (_, input, output) => (input, output),
        };
        if self.chunk.is_none() && input.is_none() {
            return Err(OperationError::usage("INPUT is missing").with_help("name a file, or `-` for stdin"));
        }
        let has_other_result = self.stages || self.round_trip || self.repeat.is_some();
        if output.is_none() && !has_other_result {
            return Err(OperationError::usage("OUTPUT is missing").with_help(
                "name a file, or `-` for stdout; it may be left out with --stages, --round-trip or --repeat",
            ));
        }
        let output = output.map(value::stream);
        if self.common.json && output == Some(Stream::Standard) {
            return Err(OperationError::usage("--json and OUTPUT `-` both want stdout"));
        }
        let node = self.node.as_deref();
        let like = self.like.map(|store| self.common.location("--like", store)).transpose()?;
        self.common.check_settings(&like, None)?;
        let like = like.map(|store| value::node_of(store, node));
        Ok(ApplyCodecOptions {
            common: self.common.options(),
            input: input.map(value::stream),
            output,
            codecs: self.codecs.map(|document| document.codecs("codecs")).transpose()?,
            decode: self.decode,
            data_type: self.data_type,
            shape: self.shape,
            fill_value: self.fill_value,
            no_fill_check: self.no_fill_check,
            like: like.transpose()?,
            chunk: self.chunk,
            stages: self.stages,
            round_trip: self.round_trip,
            repeat: self.repeat,
        })
    }
}
