//! The streams of a command, the output on them, errors in arguments, and signals.

use std::error::Error;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::error::{ContextKind, ContextValue};
use serde::Serialize;

use super::arguments::CommonArguments;
use super::value::When;
use super::{ExitStatus, status_of_error};
use crate::diagnostic::Diagnostic;
use crate::operation::progress::{Progress, Silent};
use crate::operation::{FaultClass, Interrupt, OperationError};
use crate::report::progress::{Log, ProgressBar};
use crate::report::terminal::{self, Defused, Output, Style, one_line};
use crate::report::{failure, formats};
use crate::store::machine;

/// The streams of a command, and the style of its output.
pub(super) struct Session {
    quiet: bool,
    /// Style of stdout, without a width.
    style: Style,
    error_style: Style,
    pub(super) progress: Box<dyn Progress>,
    pub(super) interrupt: Interrupt,
}

impl Session {
    /// Returns a session with the options of a command. Without them, colours depend on the terminal.
    pub(super) fn new(common: Option<&CommonArguments>) -> Self {
        let is_verbose = common.is_some_and(|common| common.verbose > 0);
        let colour = common.and_then(|common| common.color);
        let is_coloured = |output| When::is_now(colour, || terminal::has_colours(output));
        let style = |output| Style { is_coloured: is_coloured(output), is_verbose, width: None };
        let is_watched = |common: &CommonArguments| !common.quiet && io::stderr().is_terminal();
        let progress: Box<dyn Progress> = match common {
            Some(common) if When::is_now(common.progress, || is_watched(common)) => Box::new(ProgressBar::default()),
            _ if is_verbose => Box::new(Log::default()),
            _ => Box::new(Silent),
        };
        Session {
            quiet: common.is_some_and(|common| common.quiet),
            style: style(Output::Result),
            error_style: style(Output::Error),
            progress,
            interrupt: Interrupt::default(),
        }
    }

    /// Returns the style of text on stdout.
    pub(super) fn style(&self) -> Style {
        self.style.within(terminal::columns(Output::Result))
    }

    /// Returns the style of text on stderr.
    pub(super) fn error_style(&self) -> Style {
        self.error_style.within(terminal::columns(Output::Error))
    }

    /// Prints findings on stderr, unless `--quiet` was given.
    pub(super) fn warn(&self, findings: &[Diagnostic]) {
        if !self.quiet {
            self.note(|output| failure::write_findings(findings, self.error_style(), output));
        }
    }

    /// Prints the error with its causes and the next step, and returns its exit status. [`ReaderGone`] is not an error.
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
        text: impl FnOnce(Style, &mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let style = self.style();
        self.print(|output| if as_json { formats::write(command, result, output) } else { text(style, output) })
    }

    /// Writes the result to stdout in any form, without control characters that a terminal would act on.
    pub(super) fn print(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        print_as_it_is(|output| write(&mut Defused { output, has_colours: self.style.is_coloured }))
    }

    /// Writes to stderr in the same way. If it is closed, the text is lost.
    pub(super) fn note(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        // Otherwise the progress line would be before the message, or be drawn over it.
        self.progress.finish();
        let mut output = BufWriter::new(io::stderr().lock());
        let mut defused = Defused { output: &mut output, has_colours: self.error_style.is_coloured };
        let _ = write(&mut defused).and_then(|()| output.flush());
    }
}

/// Runs a part of the program. A panic, which is a bug, becomes an error, and prints nothing itself on stderr.
pub(super) fn guard<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    std::panic::set_hook(Box::new(|_| {}));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let message = payload.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(OperationError::environment("the program has a bug and stopped")
            .with_help("please report it with the command line")
            .because(anyhow!("{message}"))
            .into())
    })
}

/// The reader of stdout has closed it. It has read all that it wanted, and the program ends quietly.
#[derive(Debug, thiserror::Error)]
#[error("stdout was closed")]
struct ReaderGone;

/// Writes bytes to stdout unchanged. [`ReaderGone`] is the error of a closed pipe.
pub(super) fn print_as_it_is(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    match write(&mut output).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // When the writer is dropped, it would try again to write the rest of its buffer.
            drop(output.into_parts());
            Err(ReaderGone.into())
        }
        outcome => outcome.context("the result cannot be written to stdout"),
    }
}

/// Prints clap's own message. `--help` and `--version` are not errors.
pub(super) fn report_parse_error(mut error: clap::Error) -> ExitStatus {
    if !error.use_stderr() {
        // A closed stream cannot report an error.
        let _ = error.print();
        return ExitStatus::Done;
    }
    let escaped: Vec<_> = error.context().filter_map(|(kind, value)| Some((kind, escaped(value)?))).collect();
    if !escaped.is_empty() {
        // It repeats the argument with its control characters.
        error.remove(ContextKind::Suggested);
    }
    for (kind, value) in escaped {
        error.insert(kind, value);
    }
    let cause = error.source().map_or_else(String::new, ToString::to_string);
    // The cause of the error may repeat the argument, too. clap has no way to replace a cause.
    let text = error.render().ansi().to_string().replace(&cause, &one_line(&cause));
    let session = Session::new(None);
    session.note(|output| failure::write_usage_error(&text, session.error_style(), output));
    ExitStatus::UsageFault
}

/// Returns an argument of a message as part of one line. `None` if it is already that.
fn escaped(value: &ContextValue) -> Option<ContextValue> {
    let is_other = |text: &String| one_line(text) != *text;
    let line = |text: &String| one_line(text).into_owned();
    match value {
        ContextValue::String(text) if is_other(text) => Some(ContextValue::String(line(text))),
        ContextValue::Strings(texts) if texts.iter().any(is_other) => {
            Some(ContextValue::Strings(texts.iter().map(line).collect()))
        }
        _ => None,
    }
}

/// The time for unfinished work to stop and clean up.
const PATIENCE: Duration = Duration::from_millis(1500);

/// The stack size of a main thread, in bytes. Spawned threads have less by default.
const STACK_BYTES: usize = 8 << 20;

/// The event that the main thread waits for: the command has ended, or a signal has arrived.
type Event = Result<ExitStatus, Signal>;

/// A signal that ends the process: its name, and the exit status.
#[derive(Clone, Copy)]
struct Signal(&'static str, ExitStatus);

/// Runs a command in a separate thread, so that this one can end the process when a signal arrives.
pub(super) fn attend(session: &Arc<Session>, run: impl FnOnce(&Session) -> ExitStatus + Send + 'static) -> ExitStatus {
    let (sender, events) = mpsc::channel();
    // The handlers come before the command. Otherwise a signal could end the process without its clean-up.
    watch(sender.clone());
    let own = Arc::clone(session);
    let thread = Builder::new().name("run".to_owned()).stack_size(STACK_BYTES).spawn(move || {
        let status = catch_unwind(AssertUnwindSafe(|| run(&own))).unwrap_or(ExitStatus::Failed);
        // If a signal was first, nobody receives this.
        let _ = sender.send(Ok(status));
    });
    if let Err(error) = thread {
        let error = OperationError::environment("not enough memory to start a thread")
            .with_help("raise the limit of the process (`ulimit -v`)")
            .because(error);
        return session.report_error(&error.into());
    }
    match events.recv() {
        Ok(Ok(status)) => status,
        Ok(Err(signal)) => signal.end(session, &events),
        Err(_) => ExitStatus::Failed,
    }
}

impl Signal {
    /// Interrupts the command, waits a short time if it must clean up, and reports what remains.
    fn end(self, session: &Session, events: &Receiver<Event>) -> ExitStatus {
        let Signal(name, own) = self;
        let unfinished = session.interrupt.raise();
        let deadline = Instant::now() + PATIENCE;
        while unfinished.is_some()
            && let Ok(event) = events.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            // The command has reported itself what remains, or it was just finished. A repeated signal does not shorten
            // the wait: the terminal and the parent process may send one each.
            if let Ok(status) = event {
                return if status == ExitStatus::Interrupted { own } else { status };
            }
        }
        session.interrupt.clear();
        session.progress.finish();
        let nothing = || "this run leaves nothing unfinished; run the command again".to_owned();
        let help = unfinished.unwrap_or_else(nothing);
        let error = OperationError::new(FaultClass::Interrupted, format!("interrupted by {name}"));
        session.report_error(&error.with_help(help).into());
        own
    }
}

/// Sends the signals that arrive. If no handler can be set, they end the process, as by default.
#[cfg(unix)]
fn watch(sender: Sender<Event>) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    // A file that exceeds the limit of the process is then a write error, and does not end the process.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let mut wanted = vec![SIGINT, SIGTERM];
    // If `nohup` ignores it, it remains ignored.
    wanted.extend(machine::heeds_hang_up().then_some(SIGHUP));
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    // If this thread cannot start, the command's thread cannot start either.
    let _ = Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            let signal = match signal {
                SIGHUP => Signal("SIGHUP", ExitStatus::HungUp),
                SIGTERM => Signal("SIGTERM", ExitStatus::Terminated),
                _ => Signal("SIGINT", ExitStatus::Interrupted),
            };
            if sender.send(Err(signal)).is_err() {
                break;
            }
        }
    });
}

/// Other systems have no such signals.
#[cfg(not(unix))]
fn watch(_: Sender<Event>) {}
