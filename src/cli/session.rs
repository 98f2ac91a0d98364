//! One run of the program and its streams: the result on stdout, everything else on stderr.

use std::io::{self, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context, anyhow};
use serde::Serialize;

use super::arguments::CommonArguments;
use super::{ExitStatus, status_of_error};
use crate::diagnostic::Diagnostic;
use crate::operation::Interrupt;
use crate::operation::error::OperationError;
use crate::operation::progress::{Progress, Silent};
use crate::report::defused::Defused;
use crate::report::failure::{self, FindingsLook};
use crate::report::json;
use crate::report::progress::{Bar, Log};
use crate::report::terminal::{self, Colour, Output, Style};

/// The streams, and how to write on them.
pub(super) struct Session {
    quiet: bool,
    is_verbose: bool,
    output: Colour,
    error: Colour,
    progress: Box<dyn Progress>,
    interrupt: Interrupt,
}

impl Session {
    /// A session with the options of a command, if it takes them.
    pub(super) fn new(common: Option<&CommonArguments>) -> Self {
        let colour = |output| common.map_or(Colour::Off, |common| common.colour(output));
        let progress: Box<dyn Progress> = match common {
            Some(common) if common.shows_progress() => Box::new(Bar::default()),
            Some(common) if common.verbose > 0 => Box::new(Log::default()),
            _ => Box::new(Silent),
        };
        Session {
            quiet: common.is_some_and(|common| common.quiet),
            is_verbose: common.is_some_and(|common| common.verbose > 0),
            output: colour(Output::Result),
            error: colour(Output::Error),
            progress,
            interrupt: Interrupt::default(),
        }
    }

    /// A session without options of a command, in the colours that the streams take.
    pub(super) fn of_terminal() -> Self {
        let colour = Colour::detect;
        Session { output: colour(Output::Result), error: colour(Output::Error), ..Session::new(None) }
    }

    /// Receives the progress of the operation.
    pub(super) fn progress(&self) -> &dyn Progress {
        self.progress.as_ref()
    }

    /// Stops the operation.
    pub(super) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Style of text on stdout.
    pub(super) fn style(&self) -> Style {
        Style::new(self.output).within(terminal::columns(Output::Result)).verbose(self.is_verbose)
    }

    /// Style of text on stderr.
    pub(super) fn error_style(&self) -> Style {
        Style::new(self.error).within(terminal::columns(Output::Error))
    }

    /// Prints findings on stderr, unless `--quiet` was given.
    pub(super) fn warn(&self, findings: &[Diagnostic]) {
        if !self.quiet {
            let look = FindingsLook {
                style: self.error_style(),
                is_terminal: Output::Error.is_terminal(),
                is_verbose: self.is_verbose,
            };
            self.note(|output| failure::write_findings(findings, look, output));
        }
    }

    /// Prints the error with its causes and the next step, and gives its exit status. A reader that has gone is none.
    pub(super) fn report_error(&self, error: &anyhow::Error) -> ExitStatus {
        if error.is::<ReaderGone>() {
            return ExitStatus::Done;
        }
        self.note(|output| failure::write_error(error.as_ref(), self.error_style(), output));
        status_of_error(error)
    }

    /// Writes the result of a command to stdout: as JSON of the command's schema, or as text.
    pub(super) fn report<T: Serialize>(
        &self,
        (command, as_json): (&str, bool),
        result: &T,
        text: impl FnOnce(&T, Style, &mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        self.print(
            |output| {
                if as_json { json::write(command, result, output) } else { text(result, self.style(), output) }
            },
        )
    }

    /// Writes the result to stdout in whatever form, without what a terminal would act on.
    pub(super) fn print(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        print_as_it_is(|output| write(&mut Defused::new(output, self.output == Colour::On)))
    }

    /// Writes to stderr likewise; if it is closed, to nobody.
    pub(super) fn note(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        // The line of progress would stand before the message, or be drawn over it.
        self.progress.finish();
        let mut output = BufWriter::new(io::stderr().lock());
        let has_colours = self.error == Colour::On;
        let _ = write(&mut Defused::new(&mut output, has_colours)).and_then(|()| output.flush());
    }
}

/// Runs a piece of the program. A panic, which is a bug, becomes an error, without a word of its own on stderr.
pub(super) fn guard<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    std::panic::set_hook(Box::new(|_| {}));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let message = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(OperationError::environment("the program has a bug and stopped")
            .with_help("please report it with the command line")
            .because(anyhow!("{message}"))
            .into())
    })
}

/// Whoever read stdout has closed it: they have seen what they wanted, and the program ends quietly.
#[derive(Debug, thiserror::Error)]
#[error("stdout was closed")]
struct ReaderGone;

/// Writes to stdout whatever it is. [`ReaderGone`] is the error of a pipe that was closed.
pub(super) fn print_as_it_is(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    match write(&mut output).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // What is left in the buffer would be tried once more when it is dropped.
            drop(output.into_parts());
            Err(ReaderGone.into())
        }
        outcome => outcome.context("the result cannot be written to stdout"),
    }
}
