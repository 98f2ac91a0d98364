//! Shell completions and manual pages, generated from the definition of the command line.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use clap_complete::{Generator, Shell};
use clap_mangen::Man;
use roff::{Roff, roman};

use super::{ExitStatus, NAME, session};
use crate::codec::registry;
use crate::data_type::{DataType, registered_types};
use crate::diagnostic::code;
use crate::element::NumberType;
use crate::operation::OperationError;
use crate::store::file;

const EXIT_STATUSES: &str = "\
0  done
1  the data or the request is wrong, or there is a finding at error level
2  usage: unknown or contradictory options
3  the work could not be done
4  a part of a job started before the previous pass was complete
129, 130, 143  stopped by SIGHUP, SIGINT or SIGTERM";

/// Print the completions for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n    zarrcast completions bash \\\n      > ~/.local/share/bash-completion/completions/zarrcast"
)]
pub(super) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsArguments {
    /// Writes the completions to stdout.
    pub(super) fn run(&self) -> anyhow::Result<ExitStatus> {
        session::print_as_it_is(|output| output.write_all(&completions(self.shell)))?;
        Ok(ExitStatus::Done)
    }
}

/// Write the manual pages into a directory
#[derive(Debug, Args)]
#[command(after_help = "Example:\n    zarrcast man ~/.local/share/man/man1")]
pub(super) struct ManArguments {
    /// The directory; it is created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl ManArguments {
    /// Writes a page for the program and one for each command.
    pub(super) fn run(&self) -> anyhow::Result<ExitStatus> {
        let failed = || OperationError::environment(format!("no manual pages in {}", self.directory.display()));
        file::create_directory(&self.directory).map_err(|error| failed().because(error))?;
        for (name, page) in manual_pages()? {
            file::write(&self.directory.join(name), &page).map_err(|error| failed().because(error))?;
        }
        Ok(ExitStatus::Done)
    }
}

fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    // Only completions use these values: parsing and help must not change.
    let mut command = super::command().mut_subcommands(|subcommand| {
        let command = subcommand.get_name().to_owned();
        subcommand.mut_args(|argument| match values(&command, argument.get_id().as_str()) {
            Some(values) => argument.value_parser(PossibleValuesParser::new(values)),
            None => argument,
        })
    });
    clap_complete::generate(shell, &mut command, NAME, &mut text);
    text
}

/// Returns the manual pages by file name.
fn manual_pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut program = super::command().disable_help_subcommand(true);
    // Subcommands get the usage and the settings of the program only when it is built.
    program.build();
    let mut pages = vec![page(&program, NAME)?];
    for command in program.get_subcommands() {
        pages.push(page(command, &format!("{NAME}-{}", command.get_name()))?);
    }
    Ok(pages)
}

/// Returns a manual page by the conventions of man-pages(7). It has no date or version: it changes with the command.
fn page(command: &clap::Command, name: &str) -> std::io::Result<(String, Vec<u8>)> {
    let usage = command.clone().render_usage().to_string();
    let examples = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let examples = examples.unwrap_or_default().replace("Examples:\n", "").replace("Example:\n", "");
    let others: Vec<_> = command.get_subcommands().map(|other| format!("{name}-{}(1)", other.get_name())).collect();
    let others = if others.is_empty() { format!("{NAME}(1)") } else { others.join(", ") };
    // Options that `-h` omits have their text here.
    let whole = command.clone().mut_args(|argument| match (argument.get_long_help(), argument.get_help().cloned()) {
        (None, Some(help)) => argument.long_help(help),
        _ => argument,
    });
    let (man, mut text) = (Man::new(whole).title(name.to_uppercase()).source(NAME), Vec::new());
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    section("SYNOPSIS", &usage.trim_start_matches("Usage: ").replace("\n       ", "\n")).to_writer(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    section("EXIT STATUS", EXIT_STATUSES).to_writer(&mut text)?;
    if !examples.is_empty() {
        section("EXAMPLES", &examples).to_writer(&mut text)?;
    }
    section("SEE ALSO", &others).to_writer(&mut text)?;
    Ok((format!("{name}.1"), text))
}

/// Returns a section whose lines are not changed.
fn section(heading: &str, text: &str) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [heading]).control("nf", []);
    for line in text.trim_end().lines() {
        section.text([roman(line)]);
    }
    section.control("fi", []);
    section
}

/// Returns every generated file by name: the content of the repository's `completions/`.
pub fn generated_files() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let shells = Shell::value_variants().iter().map(|shell| (shell.file_name(NAME), completions(*shell)));
    Ok(shells.chain(manual_pages()?).collect())
}

/// Returns the values for an argument of a command, by its name in the program. `None` if nothing is added.
fn values(command: &str, argument: &str) -> Option<Vec<PossibleValue>> {
    let words = |words: &[&'static str]| words.iter().map(PossibleValue::new).collect();
    Some(match (command, argument) {
        (_, "data_type") => types(|data_type| data_type.size().is_some()),
        (_, "quantize" | "suggest") => {
            types(|data_type| data_type.number().is_some_and(|number: NumberType| !number.is_float()))
        }
        (_, "compress") => codecs(&["none"]),
        (_, "codecs") => codecs(&["bytes"]),
        (_, "shard_shape") | ("inspect", "missing") => words(&["auto", "none"]),
        (_, "chunk_shape" | "partition" | "missing") => words(&["auto"]),
        (_, "missing_status") => words(&["403"]),
        (_, "allow" | "explain") => codes(),
        (_, "deny") => [PossibleValue::new("warnings")].into_iter().chain(codes()).collect(),
        _ => return None,
    })
}

/// Returns the data types with a name of their own that an option accepts.
fn types(is_taken: impl Fn(&DataType) -> bool) -> Vec<PossibleValue> {
    let taken = registered_types().filter(|name| DataType::from_name(name).is_some_and(|known| is_taken(&known)));
    taken.map(PossibleValue::new).collect()
}

/// Returns the first part of each word of `--compress`, and other words.
fn codecs(others: &[&'static str]) -> Vec<PossibleValue> {
    let words = registry::shorthands().map(|(name, _)| name);
    words.chain(others.iter().copied()).map(PossibleValue::new).collect()
}

/// Returns the codes of the rules, with their names for shells that show them.
fn codes() -> Vec<PossibleValue> {
    code::ALL.iter().map(|code| PossibleValue::new(code.code).help(code.name())).collect()
}
