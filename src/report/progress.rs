//! Progress on stderr: a bar with rate and time left, or a line for each piece of work.

use std::io::{self, Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike};

use super::defused::one_line;
use super::progress_line::State;
use super::quantity;
use super::table::WIDTH;
use super::terminal::{self, Output};
use crate::operation::progress::Progress;

/// Ten times a second is enough.
const REDRAWS_PER_SECOND: u8 = 10;

/// A bar for the work that is being done.
#[derive(Debug, Default)]
pub struct Bar {
    current: Mutex<Option<ProgressBar>>,
    /// Bytes that the bar does not show yet: threads do not wait for each other to tell what they have done.
    untold: AtomicU64,
}

impl Bar {
    fn replace(&self, bar: Option<ProgressBar>) {
        // A poisoned lock means that a worker panicked: the bar is still only a bar.
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(finished) = std::mem::replace(&mut *current, bar) {
            finished.inc(self.untold.swap(0, Ordering::Relaxed));
            finished.finish_and_clear();
        }
    }
}

impl Progress for Bar {
    fn start(&self, name: &str, length: Option<u64>) {
        let target = if Output::Error.is_terminal() {
            ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND)
        } else {
            ProgressDrawTarget::term_like_with_hz(Box::new(Stream), 1)
        };
        let bar = ProgressBar::with_draw_target(length, target);
        bar.set_style(style(name));
        bar.tick();
        bar.enable_steady_tick(Duration::from_millis(200));
        self.replace(Some(bar));
    }

    fn advance(&self, bytes: u64) {
        self.untold.fetch_add(bytes, Ordering::Relaxed);
        if let Ok(current) = self.current.try_lock()
            && let Some(bar) = &*current
        {
            bar.inc(self.untold.swap(0, Ordering::Relaxed));
        }
    }

    fn finish(&self) {
        self.replace(None);
    }
}

/// A line for each piece of work when it ends, for `--verbose`.
#[derive(Debug, Default)]
pub struct Log {
    current: Mutex<Option<Work>>,
}

#[derive(Debug)]
struct Work {
    name: String,
    begin: Instant,
    bytes: u64,
}

impl Progress for Log {
    fn start(&self, name: &str, _length: Option<u64>) {
        self.finish();
        let work = Work { name: one_line(name).into_owned(), begin: Instant::now(), bytes: 0 };
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
    }

    fn advance(&self, bytes: u64) {
        if let Some(work) = &mut *self.current.lock().unwrap_or_else(PoisonError::into_inner) {
            work.bytes += bytes;
        }
    }

    fn finish(&self) {
        let ended = self.current.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Work { name, begin, bytes }) = ended {
            let time = quantity::seconds(begin.elapsed().as_secs_f64());
            // A closed stderr cannot be told about.
            let _ = writeln!(stderr(), "{name}: {} in {time}", quantity::bytes(bytes));
        }
    }
}

/// The one line, made anew for each drawing: the terminal may have another width by then.
fn style(name: &str) -> ProgressStyle {
    let name = one_line(name).into_owned();
    let style = ProgressStyle::with_template("{line}").unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("line", move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let columns = terminal::columns(Output::Error).unwrap_or(WIDTH);
        let state = State {
            name: &name,
            done: state.pos(),
            all: state.len(),
            elapsed: state.elapsed(),
            rate: state.per_sec(),
        };
        // In the last column some terminals go on to the next line. The bar writes into a string, which takes everything.
        let _ = out.write_str(&state.line(columns.saturating_sub(1)));
    })
}

/// stderr where it is no terminal, for `--progress always`: the bar is written over itself.
#[derive(Debug)]
struct Stream;

impl TermLike for Stream {
    fn width(&self) -> u16 {
        u16::try_from(WIDTH).unwrap_or(80)
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        writeln!(stderr(), "{text}")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        stderr().write_all(text.as_bytes())
    }

    fn clear_line(&self) -> io::Result<()> {
        write!(stderr(), "\r{:width$}\r", "", width = WIDTH - 1)
    }

    fn flush(&self) -> io::Result<()> {
        stderr().flush()
    }
}
