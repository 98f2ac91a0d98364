//! Shell completions and manual pages, generated from the definition of the command line.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::{ExitStatus, NAME, session, suggested};
use crate::operation::error::OperationError;
use crate::store::file;

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

fn page(command: &clap::Command, name: &str) -> std::io::Result<(String, Vec<u8>)> {
    let mut text = Vec::new();
    // No date and no version: the page changes when the command does.
    clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).source(NAME).render(&mut text)?;
    Ok((format!("{name}.1"), text))
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
