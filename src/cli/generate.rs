//! Shell completions and manual pages, generated from the definition of the command line.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;
use roff::{Roff, roman};

use super::{ExitStatus, NAME, session, suggested};
use crate::operation::error::OperationError;
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
        let text = completions(self.shell);
        session::print_as_it_is(|output| output.write_all(&text))?;
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
        let failed =
            || OperationError::environment(format!("no manual pages in {}", self.directory.display()));
        file::create_directory(&self.directory).map_err(|error| failed().because(error))?;
        for (name, page) in manual_pages()? {
            let path = self.directory.join(name);
            file::write(&path, &page).map_err(|error| failed().because(error))?;
        }
        Ok(ExitStatus::Done)
    }
}

fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    let mut command = suggested::with_values(super::command());
    clap_complete::generate(shell, &mut command, NAME, &mut text);
    text
}

/// The manual pages, by file name.
fn manual_pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut program = super::command().disable_help_subcommand(true);
    program.build();
    let mut pages = vec![page(&program, NAME)?];
    for command in program.get_subcommands() {
        pages.push(page(command, &format!("{NAME}-{}", command.get_name()))?);
    }
    Ok(pages)
}

/// A manual page by the conventions of man-pages(7). It has no date and no version: it changes when the command does.
fn page(command: &clap::Command, name: &str) -> std::io::Result<(String, Vec<u8>)> {
    let usage = command.clone().render_usage().to_string();
    let examples =
        command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let examples = examples.unwrap_or_default().replace("Examples:\n", "").replace("Example:\n", "");
    let mut others: Vec<String> =
        command.get_subcommands().map(|other| format!("{name}-{}", other.get_name())).collect();
    if others.is_empty() {
        others.push(NAME.to_owned());
    }
    // Options that `-h` leaves out have their text here.
    let whole =
        command.clone().mut_args(|argument| match (argument.get_long_help(), argument.get_help().cloned()) {
            (None, Some(help)) => argument.long_help(help),
            _ => argument,
        });
    let (man, mut text) = (Man::new(whole).title(name.to_uppercase()).source(NAME), Vec::new());
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    section("SYNOPSIS", usage.trim_start_matches("Usage: ")).to_writer(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    section("EXIT STATUS", EXIT_STATUSES).to_writer(&mut text)?;
    if !examples.is_empty() {
        section("EXAMPLES", &examples).to_writer(&mut text)?;
    }
    let others: Vec<String> = others.iter().map(|other| format!("{other}(1)")).collect();
    section("SEE ALSO", &others.join(", ")).to_writer(&mut text)?;
    Ok((format!("{name}.1"), text))
}

/// A section whose lines stay as they are.
fn section(heading: &str, text: &str) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [heading]).control("nf", []);
    for line in text.trim_end().lines() {
        section.text([roman(line)]);
    }
    section.control("fi", []);
    section
}

/// Every generated file, by name: what `completions/` of the repository holds.
pub fn generated_files() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut files: Vec<(String, Vec<u8>)> = Shell::value_variants()
        .iter()
        .map(|&shell| {
            let name = match shell {
                Shell::Bash => "zarrcast.bash",
                Shell::Zsh => "_zarrcast",
                Shell::Fish => "zarrcast.fish",
                Shell::Elvish => "zarrcast.elv",
                Shell::PowerShell => "_zarrcast.ps1",
                _ => "zarrcast.completion",
            };
            (name.to_owned(), completions(shell))
        })
        .collect();
    files.extend(manual_pages()?);
    for (_, text) in &mut files {
        text.flush()?;
    }
    Ok(files)
}
