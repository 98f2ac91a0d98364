//! The command line: clap structs to options, results to output, and exit statuses.

#![expect(clippy::doc_markdown, reason = "doc comments of arguments are help texts, which show no markup")]

mod apply_codec;
mod arguments;
mod generate;
mod inspect;
mod session;
mod transcode;
mod validate;
mod value;

pub use generate::generated_files;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::operation::{FaultClass, OperationError};
use crate::report::terminal::{self, Output};
use arguments::CommonArguments;
use session::Session;

const NAME: &str = "zarrcast";

/// The width that the examples in help need, in columns.
const LEAST_COLUMNS: usize = 60;

/// The maximum width of help, in columns.
const MOST_COLUMNS: usize = 100;

/// Inspect, validate and transcode Zarr arrays
///
/// zarrcast quantises float arrays to integers with the codecs scale_offset and cast_value, and reports the error. Readers
/// that know these codecs still see floats. It says what is wrong with a store, shows what each codec does, and runs any codec chain on files.
#[derive(Debug, Parser)]
#[command(name = NAME, version, propagate_version = true, max_term_width = MOST_COLUMNS)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Inspect(inspect::InspectArguments),
    Validate(Box<validate::ValidateArguments>),
    Transcode(Box<transcode::TranscodeArguments>),
    ApplyCodec(apply_codec::ApplyCodecArguments),
    Completions(generate::CompletionsArguments),
    Man(generate::ManArguments),
}

/// Parses the arguments (the program's name first), runs the command, and prints its result and its error.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitStatus {
    let parsed = session::guard(|| Ok(parse(arguments)));
    let command = match parsed {
        Ok(Ok(arguments)) => arguments.command,
        Ok(Err(error)) => return session::report_parse_error(error),
        Err(error) => return Session::new(None).report_error(&error),
    };
    let session = Arc::new(Session::new(command.common().inspect(|common| common.save_memory())));
    session::attend(&session, |session| {
        let outcome = session::guard(|| command.run(session));
        session.progress.finish();
        outcome.unwrap_or_else(|error| session.report_error(&error))
    })
}

/// Returns the command line. The output options of `transcode` are in the section of its checks.
fn command() -> clap::Command {
    let check = |argument: clap::Arg| argument.help_heading("Check");
    Arguments::command()
        .mut_subcommands(|command| command.mut_args(common_settings))
        .mut_subcommand("transcode", |transcode| transcode.mut_arg("json", check).mut_arg("report", check))
}

/// Returns an argument whose long help has no blank line after its first sentence. A value of an option may begin with
/// a minus sign, and is refused for what it is.
fn common_settings(argument: clap::Arg) -> clap::Arg {
    let takes_number = argument.get_action().takes_values() && !argument.is_positional();
    let argument = if takes_number { argument.allow_negative_numbers(true) } else { argument };
    match argument.get_long_help().map(ToString::to_string) {
        Some(help) => argument.long_help(help.replace("\n\n", ". ")),
        None => argument,
    }
}

/// Parses the arguments. On a narrow terminal, help keeps its minimum width, and its examples are not broken. Text that
/// the terminal itself wraps is pasted unchanged.
fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let of_environment = || std::env::var("COLUMNS").ok()?.parse().ok();
    let columns = terminal::columns(Output::Result).or_else(of_environment);
    let mut command = command();
    if let Some(columns) = columns {
        command = command.term_width(columns.clamp(LEAST_COLUMNS, MOST_COLUMNS));
    }
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    // An error of this step does not know the command, and has no usage until it is formatted for it.
    Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

impl Command {
    fn run(self, session: &Session) -> anyhow::Result<ExitStatus> {
        match self {
            Command::Inspect(arguments) => arguments.run(session),
            Command::Validate(arguments) => arguments.run(session),
            Command::Transcode(arguments) => arguments.run(session),
            Command::ApplyCodec(arguments) => arguments.run(session),
            Command::Completions(arguments) => arguments.run(),
            Command::Man(arguments) => arguments.run(),
        }
    }

    fn common(&self) -> Option<&CommonArguments> {
        match self {
            Command::Inspect(arguments) => Some(&arguments.common),
            Command::Validate(arguments) => Some(&arguments.common),
            Command::Transcode(arguments) => Some(&arguments.common),
            Command::ApplyCodec(arguments) => Some(&arguments.common),
            Command::Completions(_) | Command::Man(_) => None,
        }
    }
}

/// Refuses several STOREs if an option is given that takes one of them.
fn require_one(stores: &[PathBuf], (option, is_given): (&str, bool), each: &str) -> Result<(), OperationError> {
    if !is_given || stores.len() <= 1 {
        return Ok(());
    }
    let message = format!("{option} takes one STORE, but several were given");
    Err(OperationError::usage(message).with_help(format!("run it once for each {each}")))
}

/// Refuses the given options if what they need is not given.
fn require(met: bool, options: &[(&str, bool)], needed: &str) -> Result<(), OperationError> {
    match options.iter().find(|(_, given)| *given && !met) {
        Some((option, _)) => Err(OperationError::usage(format!("--{option} needs {needed}"))
            .with_help(format!("add {needed}, or leave --{option} out"))),
        None => Ok(()),
    }
}

/// The exit statuses that scripts rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitStatus {
    /// Done.
    Done = 0,
    /// A fault of the data, or of a request that they do not allow.
    DataFault = 1,
    /// Unknown or contradictory options, or text that is not valid for its option.
    UsageFault = 2,
    /// The work could not be done.
    Failed = 3,
    /// An earlier pass of the job is not complete.
    TooEarly = 4,
    /// Stopped by SIGHUP.
    HungUp = 129,
    /// Stopped by SIGINT.
    Interrupted = 130,
    /// Stopped by SIGTERM.
    Terminated = 143,
}

/// Returns the status of an error: by the class of the operation's error, otherwise 3.
fn status_of_error(error: &anyhow::Error) -> ExitStatus {
    let class = error.chain().find_map(|cause| cause.downcast_ref::<OperationError>()).map(OperationError::class);
    match class {
        Some(FaultClass::Data) => ExitStatus::DataFault,
        Some(FaultClass::Usage) => ExitStatus::UsageFault,
        Some(FaultClass::TooEarly) => ExitStatus::TooEarly,
        Some(FaultClass::Interrupted) => ExitStatus::Interrupted,
        Some(FaultClass::Environment) | None => ExitStatus::Failed,
    }
}

#[cfg(test)]
mod tests {
    const HEADINGS: &str = "Check/Chunks/Codecs/Compare/Compress/Data/Data type, format, metadata/Groups of arrays/Measure/\
        Metadata/Output/Quantise/Remote stores/Rules/Run/Several machines/Values";

    #[test]
    fn negative_numbers_are_values_of_each_option() {
        for command in super::command().get_subcommands() {
            let takes_value = |option: &&clap::Arg| option.get_action().takes_values() && !option.is_positional();
            for option in command.get_arguments().filter(takes_value) {
                let takes = option.is_allow_negative_numbers_set() || option.is_allow_hyphen_values_set();
                assert!(takes, "{} of {}", option.get_id(), command.get_name());
            }
        }
    }

    #[test]
    fn each_argument_has_a_heading() {
        for command in super::command().get_subcommands().filter(|command| command.get_arguments().count() > 5) {
            for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
                let heading = argument.get_help_heading().unwrap_or_default();
                assert!(
                    HEADINGS.split('/').any(|known| known == heading),
                    "{} of {}: {heading:?}",
                    argument.get_id(),
                    command.get_name()
                );
            }
        }
    }
}
