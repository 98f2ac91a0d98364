//! The options of every command, and the file of `--report`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};

use super::value::{self, When};
use crate::operation::OperationError;
use crate::operation::options::CommonOptions;
use crate::store::{Location, RemoteOptions, StoreError, file, machine};

/// The most worker threads. More would only take memory and time to start.
const MOST_THREADS: u32 = 1024;

/// The memory of a thread below which huge pages are disabled, in bytes.
const LEAST_FOR_HUGE_PAGES: u64 = 64 << 20;

/// The options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Run")]
pub(super) struct CommonArguments {
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,

    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = value::up_to::<MOST_THREADS>)]
    threads: Option<u32>,

    /// Maximum memory for chunks, such as 512MiB or 2GB
    ///
    /// Default: a quarter of the memory available to the process.
    #[arg(long, value_name = "SIZE", value_parser = value::size)]
    max_memory: Option<u64>,

    /// Print no warnings and no progress
    #[arg(short, long, conflicts_with = "verbose")]
    pub(super) quiet: bool,

    /// Print details: each node and absent chunk, and times
    #[arg(short, long, action = ArgAction::Count)]
    pub(super) verbose: u8,

    /// Colour the output: auto, always or never (`auto` honours NO_COLOR)
    #[arg(long, value_enum, value_name = "WHEN", hide_possible_values = true, hide_short_help = true)]
    pub(super) color: Option<When>,

    /// Show progress on stderr: auto, always or never
    #[arg(long, value_enum, value_name = "WHEN", hide_possible_values = true, hide_short_help = true)]
    pub(super) progress: Option<When>,

    #[command(flatten)]
    remote: RemoteArguments,
}

/// The options of remote stores.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Remote stores")]
struct RemoteArguments {
    /// Option of the store, with the cloud's own name (repeatable)
    ///
    /// Example: `aws_region=eu-central-1`. It overrides the variables AWS_*, GOOGLE_*, AZURE_* and the files in ~/.aws.
    #[arg(long = "storage-option", value_name = "KEY=VALUE", value_parser = value::setting, hide_short_help = true)]
    storage_options: Vec<(String, String)>,

    /// Send no credentials (for public data)
    #[arg(long)]
    anonymous: bool,

    /// Maximum number of concurrent requests [default: 64]
    #[arg(long, value_name = "N", value_parser = value::above_zero::<NonZeroUsize>, hide_short_help = true)]
    requests: Option<NonZeroUsize>,

    /// Treat refused chunks (403) as missing
    #[arg(long, value_name = "403", value_parser = value::missing_status, hide_short_help = true)]
    missing_status: Option<u16>,

    /// Let a reference file point at local files outside its folder
    #[arg(long, hide_short_help = true)]
    allow_file_references: bool,
}

impl CommonArguments {
    pub(super) fn options(&self) -> CommonOptions {
        let threads = self.threads.and_then(|threads| NonZeroUsize::new(threads as usize));
        CommonOptions { threads, max_memory: self.max_memory }
    }

    /// Prepares the process for a small `--max-memory`. With huge pages each thread uses about 4 MiB more, which no budget
    /// knows of. Without them a job needs up to 7 % more time.
    pub(super) fn save_memory(&self) {
        let of_thread = |bytes: u64| bytes / self.options().num_threads() as u64;
        if self.max_memory.is_some_and(|bytes| of_thread(bytes) < LEAST_FOR_HUGE_PAGES) {
            machine::disable_huge_pages();
        }
    }

    /// Parses a location that this build can open.
    pub(super) fn location(&self, argument: &str, text: PathBuf) -> Result<Location, OperationError> {
        let settings = &self.remote.storage_options;
        settings.iter().try_for_each(check_setting)?;
        let default = RemoteOptions::default();
        let options = RemoteOptions {
            settings: settings.clone(),
            anonymous: self.remote.anonymous,
            requests: self.remote.requests.unwrap_or(default.requests),
            refused_is_absent: self.remote.missing_status.is_some(),
            allows_file_references: self.remote.allow_file_references,
        };
        Ok(value::location(argument, text)?.with_options(&options))
    }

    /// Refuses a setting that no store of the command uses. `written` is the store that it writes.
    pub(super) fn check_settings<'a>(
        &self,
        stores: impl IntoIterator<Item = &'a Location>,
        written: Option<&'a Location>,
    ) -> Result<(), OperationError> {
        let stores: Vec<_> = stores.into_iter().chain(written).collect();
        let is_used = |(name, value): &&(String, String)| {
            let is_sent = !self.remote.anonymous || !RemoteOptions::is_credential(name);
            let written = written.as_slice();
            let users = if RemoteOptions::is_of_writes(name, value) { written } else { &stores };
            is_sent && users.iter().any(|store| store.uses_setting(name, value))
        };
        let settings = &self.remote.storage_options;
        if let Some((name, _)) = settings.iter().find(|setting| !is_used(setting)) {
            let message = format!("`--storage-option {name}`: no store of this command uses it");
            return Err(OperationError::usage(message).with_help("leave it out"));
        }
        let idle = settings.iter().find_map(|(name, _)| Some((name, RemoteOptions::missing(name, settings)?)));
        idle.map_or(Ok(()), |(name, needed)| {
            let message = format!("`--storage-option {name}` has no effect without {needed}");
            Err(OperationError::usage(message).with_help(format!("leave it out, or set {needed} too")))
        })
    }

    /// Returns the options of remote stores as words of a script's commands. An error if one may be a secret.
    pub(super) fn words_of_access(&self) -> Result<Vec<String>, OperationError> {
        let mut settings = self.remote.storage_options.iter();
        match settings.find(|(name, value)| RemoteOptions::may_be_secret(name, value)) {
            Some((name, _)) => Err(secret_setting(name)),
            None => Ok(self.open_words_of_access()),
        }
    }

    /// Returns the same words, without the settings that may be secrets.
    pub(super) fn open_words_of_access(&self) -> Vec<String> {
        let RemoteArguments { storage_options, anonymous, requests, missing_status, allow_file_references } =
            &self.remote;
        let is_open = |(name, value): &&(String, String)| !RemoteOptions::may_be_secret(name, value);
        let setting = |(name, value): &(String, String)| format!("--storage-option={name}={value}");
        let mut words: Vec<String> = storage_options.iter().filter(is_open).map(setting).collect();
        words.extend(anonymous.then(|| "--anonymous".to_owned()));
        words.extend(requests.map(|requests| format!("--requests={requests}")));
        words.extend(missing_status.map(|status| format!("--missing-status={status}")));
        words.extend(allow_file_references.then(|| "--allow-file-references".to_owned()));
        words
    }
}

/// Refuses a setting that no store has.
fn check_setting((name, value): &(String, String)) -> Result<(), OperationError> {
    // The value may be a secret, and so may the text before it.
    let is_known = RemoteOptions::is_setting(name);
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let shown = if is_known || is_name { format!(" {name}") } else { String::new() };
    let (fault, help) = if name.is_empty() {
        (" expects KEY=VALUE", "such as `--storage-option aws_region=eu-central-1`".to_owned())
    } else if !is_known {
        let help = "use the name of a variable of the cloud, such as aws_region, google_service_account or \
            azure_storage_account_name";
        (": no store has an option of this name", help.to_owned())
    } else if RemoteOptions::is_bad_switch(name, value) {
        (" expects true or false", format!("such as `--storage-option {name}=true`"))
    } else {
        return Ok(());
    };
    Err(OperationError::usage(format!("`--storage-option{shown}`{fault}")).with_help(help))
}

/// Returns the error for a setting that is not written into a script.
fn secret_setting(name: &str) -> OperationError {
    let variable = name.to_ascii_uppercase();
    let has_variable = ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|prefix| variable.starts_with(prefix));
    let variable = if has_variable { variable } else { format!("AWS_{variable} (or GOOGLE_, AZURE_)") };
    let message = format!("`--storage-option {name}` may be a secret, and secrets are not written into scripts");
    OperationError::usage(message)
        .with_help(format!("leave it out, and set {variable} in the environment of this command and of the jobs"))
}

/// The option of the commands that have a report.
#[derive(Debug, Clone, Args)]
pub(super) struct ReportArguments {
    /// Write an HTML page with pictures
    ///
    /// The page is one file. An existing FILE is replaced.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Output")]
    pub(super) report: Option<PathBuf>,
}

impl ReportArguments {
    /// Refuses a file in one of the stores, or one that cannot be written, as far as that can be known.
    pub(super) fn check<'a>(&self, stores: impl IntoIterator<Item = &'a Location>) -> Result<(), OperationError> {
        let Some(path) = &self.report else { return Ok(()) };
        if path.as_os_str() == "-" || path.as_os_str().is_empty() {
            let message = "--report needs a file name: stdout already has the result";
            return Err(OperationError::usage(message).with_help("give one: `--report report.html`"));
        }
        let store = stores.into_iter().find(|store| store.holds_file(path));
        let store = store.map(|store| format!("`{}`", store.display()));
        let node = || file::node_above(path).map(|node| format!("the Zarr node `{}`", node.display()));
        if let Some(above) = store.or_else(node) {
            let message = format!("--report `{}` is inside {above}", path.display());
            return Err(OperationError::environment(message).with_help("choose a file outside of the store"));
        }
        file::check_writable(path).map_err(|error| cannot_write("report", path, error))
    }

    /// Writes the page, where one is asked for.
    pub(super) fn write(&self, page: impl FnOnce() -> String) -> Result<(), OperationError> {
        self.report.as_ref().map_or(Ok(()), |path| write_file("report", path, page().as_bytes()))
    }
}

/// Writes the file of an option.
pub(super) fn write_file(option: &str, path: &Path, bytes: &[u8]) -> Result<(), OperationError> {
    file::write(path, bytes).map_err(|error| cannot_write(option, path, error))
}

fn cannot_write(option: &str, path: &Path, error: StoreError) -> OperationError {
    OperationError::environment(format!("the file of --{option}, `{}`, cannot be written", path.display()))
        .because(error)
        .with_help("check the path and its permissions")
}
