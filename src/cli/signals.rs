//! SIGHUP, SIGINT and SIGTERM: the process exits with 129, 130 or 143 by itself, within some seconds, and says what it leaves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::ExitStatus;
use super::session::Session;
use crate::operation::error::{FaultClass, OperationError};
use crate::store::machine;

/// Time for unfinished work to stop and clean up.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Stack size of a main thread; spawned threads have less by default.
const STACK_BYTES: usize = 8 << 20;

/// Events that the main thread waits for.
enum Event {
    /// The command ended by itself.
    Ended(ExitStatus),
    /// A signal came.
    Signal(Signal),
}

/// A signal that ends the process: its name, and the exit status.
#[derive(Clone, Copy)]
struct Signal(&'static str, ExitStatus);

/// Runs a command in a thread of its own, so that this one can end the process when a signal comes.
pub(super) fn attend(
    session: &Arc<Session>,
    command: impl FnOnce(&Session) -> ExitStatus + Send + 'static,
) -> ExitStatus {
    let (sender, events) = mpsc::channel();
    watch(sender.clone());
    let own = Arc::clone(session);
    let thread = Builder::new().name("command".to_owned()).stack_size(STACK_BYTES).spawn(move || {
        let status = catch_unwind(AssertUnwindSafe(|| command(&own))).unwrap_or(ExitStatus::Failed);
        // Nobody listens any more where a signal came first.
        let _ = sender.send(Event::Ended(status));
    });
    if let Err(error) = thread {
        let error = OperationError::environment("the memory for the command's thread cannot be had")
            .with_help("raise the limit of the process (`ulimit -v`)")
            .because(error);
        return session.report_error(&error.into());
    }
    match events.recv() {
        Ok(Event::Ended(status)) => status,
        Ok(Event::Signal(signal)) => signal.end(session, &events),
        Err(_) => ExitStatus::Failed,
    }
}

impl Signal {
    /// Asks the command to stop, waits a little where it has something to clear away, and tells what is left.
    fn end(self, session: &Session, events: &Receiver<Event>) -> ExitStatus {
        let Signal(name, own) = self;
        let unfinished = session.interrupt().raise();
        let deadline = Instant::now() + PATIENCE;
        while unfinished.is_some()
            && let Ok(event) = events.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            // It has said itself what it leaves; or it was done just then. A signal that comes again, as where a terminal
            // and whoever started the program send one each, takes no time from it.
            if let Event::Ended(status) = event {
                return if status == ExitStatus::Interrupted { own } else { status };
            }
        }
        session.interrupt().clear();
        session.progress().finish();
        let nothing = || "nothing unfinished is left; run the command again".to_owned();
        let help = unfinished.unwrap_or_else(nothing);
        let error = OperationError::new(FaultClass::Interrupted, format!("interrupted by {name}"));
        session.report_error(&error.with_help(help).into());
        own
    }
}

/// Sends the signals that come. Where no handler can be set they end the process, as they do by default.
#[cfg(unix)]
fn watch(sender: Sender<Event>) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    // A file that outgrows the limit of the process is an error of the write then, not the process's end.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let mut wanted = vec![SIGINT, SIGTERM];
    // Where `nohup` has it ignored, it stays so.
    wanted.extend(machine::heeds_hang_up().then_some(SIGHUP));
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    // If this thread cannot be started, neither can the command's.
    let _ = Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            let signal = match signal {
                SIGHUP => Signal("SIGHUP", ExitStatus::HungUp),
                SIGTERM => Signal("SIGTERM", ExitStatus::Terminated),
                _ => Signal("SIGINT", ExitStatus::Interrupted),
            };
            if sender.send(Event::Signal(signal)).is_err() {
                break;
            }
        }
    });
}

/// Other systems have no such signals.
#[cfg(not(unix))]
fn watch(_: Sender<Event>) {}
