//! Progress on stderr: a bar with rate and time left, or a line for each piece of work.

use super::quantity;
use super::table::{WIDTH, cut, width};
use super::terminal::{self, Output, one_line};
use crate::operation::progress::Progress;
use std::convert::Infallible;
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Progress bar on stderr. Its own thread draws it, so that workers do not wait.
#[derive(Debug, Default)]
pub struct ProgressBar {
    /// The number of bytes that are done.
    done: Arc<AtomicU64>,
    /// The thread, which ends when the sender is dropped.
    drawing: Mutex<Option<(Sender<Infallible>, JoinHandle<()>)>>,
}

impl Progress for ProgressBar {
    fn start(&self, name: &str, length: Option<u64>) {
        self.finish();
        self.done.store(0, Ordering::Relaxed);
        let (name, done) = (one_line(name).into_owned(), Arc::clone(&self.done));
        let (sender, end) = channel();
        let thread = Builder::new().spawn(move || draw(&name, (&done, length), &end));
        // A poisoned lock means that a worker panicked. The bar is still valid.
        let mut drawing = self.drawing.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a thread there is no bar, and the work goes on.
        *drawing = thread.ok().map(|thread| (sender, thread));
    }

    fn advance(&self, bytes: u64) {
        // The number is only displayed and guards no other data, so no order is needed.
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }

    fn finish(&self) {
        if let Some((sender, thread)) = self.drawing.lock().unwrap_or_else(PoisonError::into_inner).take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// Draws the line over itself until the work ends, then erases it.
fn draw(name: &str, (done, all): (&AtomicU64, Option<u64>), end: &Receiver<Infallible>) {
    /// Age in seconds at which the weight of past work in the rate is a tenth.
    const LATELY: f64 = 15.0;
    let is_terminal = stderr().is_terminal();
    let interval = Duration::from_millis(if is_terminal { 100 } else { 1000 });
    // In a file, an escape sequence would be text, so spaces erase the line there.
    let erase = |shown: usize| if is_terminal { "\r\x1b[2K".to_owned() } else { format!("\r{:shown$}\r", "") };
    let weight = |time: Duration| 0.1_f64.powf(time.as_secs_f64() / LATELY);
    let (begin, mut shown, mut before) = (Instant::now(), 0, (Duration::ZERO, 0));
    let mut pace = 0.0;
    loop {
        let (elapsed, done) = (begin.elapsed(), done.load(Ordering::Relaxed));
        let passed = elapsed.saturating_sub(before.0);
        let rate = quantity::approximate(done.saturating_sub(before.1)) / passed.as_secs_f64().max(1e-9);
        pace = pace * weight(passed) + rate * (1.0 - weight(passed));
        before = (elapsed, done);
        // In the last column some terminals go on to the next line.
        let available = terminal::columns(Output::Error).unwrap_or(WIDTH).saturating_sub(1);
        // The first instant has no rate.
        // The average begins at 0. The division by the weight of the time so far removes this bias.
        let rate = if elapsed < interval { 0.0 } else { pace / (1.0 - weight(elapsed)) };
        let state = State { name, done, all, elapsed, rate };
        let line = state.line(available);
        // A closed stderr cannot report an error.
        let _ = stderr().write_all((erase(shown) + &line).as_bytes());
        shown = width(&line);
        if end.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    let _ = stderr().write_all(erase(shown).as_bytes());
}

/// A log for `--verbose`, a line at the end of each piece of work. Contains its name, its start, and its bytes.
#[derive(Debug, Default)]
pub struct Log(Mutex<Option<(String, Instant, u64)>>);

impl Progress for Log {
    fn start(&self, name: &str, _length: Option<u64>) {
        self.finish();
        let work = (one_line(name).into_owned(), Instant::now(), 0);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
    }

    fn advance(&self, bytes: u64) {
        if let Some((.., all)) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            *all += bytes;
        }
    }

    fn finish(&self) {
        let ended = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((name, begin, bytes)) = ended {
            let time = quantity::seconds(begin.elapsed().as_secs_f64());
            // A closed stderr cannot report an error.
            let counted = if bytes > 0 { format!("{} in ", quantity::bytes(bytes)) } else { String::new() };
            let _ = writeln!(stderr(), "{name}: {counted}{time}");
        }
    }
}

/// The maximum and the minimum width of the bar.
const BAR: (usize, usize) = (24, 8);

/// The time before which the pace is unknown, so that no remaining time is shown.
const LEAST_TIME: Duration = Duration::from_secs(2);

/// A piece of work and its progress.
pub(super) struct State<'a> {
    pub name: &'a str,
    /// The number of bytes that are done.
    pub done: u64,
    /// The number of all bytes. `None` if it is unknown.
    pub all: Option<u64>,
    /// The time since it began.
    pub elapsed: Duration,
    /// The recent rate, in bytes per second.
    pub rate: f64,
}

impl State<'_> {
    /// Returns the line, of at most `columns` columns. First the bar is shortened, then the least important is omitted.
    pub(super) fn line(&self, columns: usize) -> String {
        let done = quantity::bytes(self.done);
        // There is no rate at the begin.
        let rate = if self.rate > 0.0 { format!(", {}", quantity::rate(self.rate)) } else { String::new() };
        // A total that is exceeded was wrong, so it is not shown.
        let Some(all) = self.all.filter(|all| *all >= self.done && *all > 0) else {
            // Some work counts no bytes.
            let counted = if self.done > 0 { format!(" {done}{rate}") } else { String::new() };
            let long = format!("{}{counted}", self.name);
            return if width(&long) <= columns { long } else { cut(&format!("{} {done}", self.name), columns) };
        };
        let of = format!("{done} of {}", quantity::bytes(all));
        let left = self.left(all).map_or_else(String::new, |left| format!(", {left} left"));
        for tail in [format!("{of}{rate}{left}"), format!("{of}{left}"), of] {
            let available = columns.saturating_sub(width(self.name) + width(&tail) + 4);
            if available >= BAR.1 {
                return format!("{} [{}] {tail}", self.name, bar(self.done, all, available.min(BAR.0)));
            }
            let plain = format!("{} {tail}", self.name);
            if width(&plain) <= columns {
                return plain;
            }
        }
        // A long name is cut, so that the percentage is visible.
        let percent = format!(" {} %", u128::from(self.done) * 100 / u128::from(all));
        format!("{}{percent}", cut(self.name, columns.saturating_sub(percent.len())))
    }

    /// Returns the remaining time. `None` until 2 s and 1 % of the work are done.
    fn left(&self, all: u64) -> Option<String> {
        let is_known = self.elapsed >= LEAST_TIME && u128::from(self.done) * 100 >= u128::from(all);
        if !is_known || self.rate <= 0.0 {
            return None;
        }
        let seconds = (quantity::approximate(all - self.done) / self.rate).ceil();
        Some(if seconds < 60.0 { format!("{seconds} s") } else { quantity::seconds(seconds) })
    }
}

fn bar(done: u64, all: u64, columns: usize) -> String {
    let filled = u128::from(done) * columns as u128 / u128::from(all);
    let filled = usize::try_from(filled).unwrap_or(columns).min(columns);
    let head = if filled > 0 && filled < columns { ">" } else { "" };
    format!("{:<columns$}", format!("{}{head}", "=".repeat(filled - head.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(name: &str, done: u64, seconds: u64) -> State<'_> {
        State { name, done, all: Some(1 << 30), elapsed: Duration::from_secs(seconds), rate: 1e8 }
    }

    #[test]
    fn line_is_never_wider_than_its_columns() {
        let long = "a/very/long/path/of/a/store/that/is/being/validated.zarr";
        for name in ["transcode", long, "\u{6e29}\u{5ea6}\u{6e29}\u{5ea6}\u{6e29}\u{5ea6}.zarr"] {
            for columns in 10..120 {
                for all in [Some(1 << 30), None] {
                    let line = State { all, ..state(name, 123_456_789, 60) }.line(columns);
                    assert!(width(&line) <= columns, "{columns}: {line}");
                }
            }
        }
        let line = state("transcode", 1 << 29, 60).line(81);
        assert_eq!(line, "transcode [===========>            ] 512 MiB of 1.00 GiB, 95.4 MiB/s, 6 s left");
        let line = state("transcode", 1 << 29, 60).line(59);
        assert_eq!(line, "transcode [=>   ] 512 MiB of 1.00 GiB, 95.4 MiB/s, 6 s left".replace("[=>   ] ", ""));
    }

    #[test]
    fn time_left_is_told_after_2_seconds_and_1_per_cent() {
        let is_told = |done, seconds| state("work", done, seconds).line(79).contains("left");
        let one_per_cent = (1 << 30) / 100 + 1;
        assert_eq!(
            [is_told(one_per_cent, 1), is_told(one_per_cent - 1, 60), is_told(one_per_cent, 2)],
            [false, false, true]
        );
    }

    #[test]
    fn more_than_was_expected_has_no_end() {
        let line = state("work", (1 << 30) + 1, 60).line(79);
        assert_eq!(line, "work 1.00 GiB, 95.4 MiB/s");
        assert_eq!(State { all: None, rate: 0.0, ..state("estimate", 0, 60) }.line(79), "estimate");
    }
}
