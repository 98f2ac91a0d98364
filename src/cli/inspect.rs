//! `zarrcast inspect STORE`.

use std::path::PathBuf;

use clap::Args;

use super::ExitStatus;
use super::arguments::CommonArguments;
use super::session::Session;
use crate::diagnostic::Severity;
use crate::operation::inspect::inspect;
use crate::operation::options::InspectOptions;
use crate::report::{inspect_text, json};

const EXAMPLES: &str = "\
Examples:
  What is in it, and what each codec makes of a chunk:
      zarrcast inspect temperature.zarr

  The same for a program:
      zarrcast inspect --json temperature.zarr | jq .pipeline";

/// Show what is in a store: metadata and codec pipeline
///
/// The pipeline has a row for each codec, in encode order, with the data type, shape, fill value and size of a chunk
/// after it, also inside a shard. A damaged array shows what it can, and exits with 1.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct InspectArguments {
    /// The array: a local directory; the path may go on inside a hierarchy
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// The path of a node inside the store
    #[arg(long, value_name = "PATH")]
    node: Option<String>,

    /// Count what is stored: chunks, shards, bytes, and keys that belong to no chunk
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Storage::Auto)]
    storage: Storage,

    #[command(flatten)]
    pub(super) common: CommonArguments,
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
        let options = InspectOptions {
            threads: self.common.options().threads,
            store: self.store,
            node: self.node,
            storage: self.storage != Storage::Never,
        };
        let result = inspect(&options)?;
        session.warn(&result.warnings);
        session.print(|output| {
            if as_json {
                json::write("inspect", &result, output)
            } else {
                inspect_text::write(&result, session.style(), output)
            }
        })?;
        let damaged = result.warnings.iter().any(|finding| finding.severity == Severity::Error);
        Ok(if damaged { ExitStatus::DataFault } else { ExitStatus::Done })
    }
}
