//! `--report FILE.html`: where the page goes, found out before the work begins.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::operation::error::OperationError;
use crate::store::{Location, StoreError, file};

/// The option of the commands that have a report.
#[derive(Debug, Clone, Args)]
pub(super) struct ReportArguments {
    /// Write an HTML page with pictures
    ///
    /// One file that loads nothing. A file of this name is replaced.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Output")]
    pub(super) report: Option<PathBuf>,
}

/// A file that can be written, as far as that can be known.
#[derive(Debug)]
pub(super) struct ReportFile(PathBuf);

impl ReportArguments {
    /// The file, where one is asked for; it lies in none of the stores.
    pub(super) fn file<'a>(
        &self,
        stores: impl IntoIterator<Item = &'a Location>,
    ) -> Result<Option<ReportFile>, OperationError> {
        let Some(path) = &self.report else { return Ok(None) };
        if path.as_os_str() == "-" || path.as_os_str().is_empty() {
            let message = "--report needs the name of a file: stdout has the result already";
            return Err(OperationError::usage(message).with_help("give one: `--report report.html`"));
        }
        if let Some(store) = stores.into_iter().find(|store| store.holds_file(path)) {
            let message = format!("--report `{}` lies in `{}`", path.display(), store.display());
            return Err(OperationError::environment(message).with_help("name a file outside of the store"));
        }
        if let Some(node) = file::node_above(path) {
            let message = format!("--report `{}` lies in the Zarr node `{}`", path.display(), node.display());
            return Err(OperationError::environment(message).with_help("name a file outside of the store"));
        }
        file::check_writable(path).map_err(|error| cannot_write(path, error))?;
        Ok(Some(ReportFile(path.clone())))
    }
}

impl ReportFile {
    /// Writes the page.
    pub(super) fn write(&self, page: &str) -> Result<(), OperationError> {
        file::write(&self.0, page.as_bytes()).map_err(|error| cannot_write(&self.0, error))
    }
}

fn cannot_write(path: &Path, error: StoreError) -> OperationError {
    OperationError::environment(format!("the file of --report, `{}`, cannot be written", path.display()))
        .because(error)
        .with_help("check the path and its permissions")
}
