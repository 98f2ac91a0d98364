//! Terminals: their size, the style of text, and safe output. Names and texts from a store may contain control
//! characters, and a terminal would act on them. They are escaped.
//!
//! Progress on stderr: a bar with rate and time left, or a line for each piece of work.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io::{self, IsTerminal, Write, stderr, stdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, RgbColor, Style as Ansi};

use super::quantity;
use super::table::{WIDTH, cut, width};
use crate::diagnostic::Severity;
use crate::operation::progress::Progress;
use crate::store::machine;

/// The minimum width that text is fitted to, in columns.
const LEAST_WIDTH: usize = 40;

/// The two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// stdout.
    Result,
    /// stderr.
    Error,
}

impl Output {
    /// True if the stream is a terminal.
    pub fn is_terminal(self) -> bool {
        match self {
            Output::Result => stdout().is_terminal(),
            Output::Error => stderr().is_terminal(),
        }
    }
}

/// Returns the columns and lines of the terminal of a stream. `None` if it is not a terminal, or its columns are
/// unknown. Unknown lines are 0.
pub fn size(output: Output) -> Option<(u16, u16)> {
    let size = match output {
        Output::Result => machine::terminal_size(stdout()),
        Output::Error => machine::terminal_size(stderr()),
    };
    size.filter(|(columns, _)| *columns > 0)
}

/// Returns the columns of the terminal of a stream. `None` if it is not a terminal.
pub fn columns(output: Output) -> Option<usize> {
    size(output).map(|(columns, _)| usize::from(columns))
}

/// True if text on a stream is coloured by ANSI escapes. It is on a terminal that supports escapes (`TERM`), unless
/// `NO_COLOR` is set and not empty. With `CLICOLOR_FORCE` it is on any stream.
pub fn has_colours(output: Output) -> bool {
    let choice = match output {
        Output::Result => AutoStream::choice(&stdout()),
        Output::Error => AutoStream::choice(&stderr()),
    };
    choice != ColorChoice::Never
}

/// The role of a piece of text, which decides its look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A heading.
    Heading,
    /// The name of a member.
    Label,
    /// Less important text.
    Faint,
    /// A good result.
    Good,
    /// A warning.
    Warning,
    /// An error.
    Error,
}

/// The style of text: coloured or plain, fitted to a terminal or whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// True if escapes are written.
    pub is_coloured: bool,
    /// The columns that text is fitted to. `None` in pipes and files, where nothing is cut or wrapped.
    pub width: Option<usize>,
    /// True if details are written that otherwise are only summed up.
    pub is_verbose: bool,
}

impl Role {
    pub(super) fn from_severity(severity: Severity) -> Self {
        match severity {
            Severity::Error => Role::Error,
            Severity::Warning => Role::Warning,
            Severity::Info => Role::Good,
        }
    }
}

impl Style {
    /// Plain text for pipes and files.
    pub const PLAIN: Style = Style { is_coloured: false, width: None, is_verbose: false };

    /// Returns the style for a terminal of `width` columns. `None` is for a pipe or a file.
    #[must_use]
    pub fn within(self, width: Option<usize>) -> Self {
        Style { width: width.map(|columns| columns.max(LEAST_WIDTH)), ..self }
    }

    /// Returns two pixels, one above the other, as one character. `None` leaves the terminal's own background.
    pub fn pixels(self, upper: Option<[u8; 3]>, lower: Option<[u8; 3]>) -> String {
        let colour = |[red, green, blue]: [u8; 3]| RgbColor(red, green, blue).into();
        let letter = match (upper, lower) {
            (None, None) => return " ".to_owned(),
            (None, Some(_)) => '▄',
            (Some(_), _) => '▀',
        };
        let ansi = Ansi::new().fg_color(upper.or(lower).map(colour)).bg_color(upper.and(lower).map(colour));
        if self.is_coloured { format!("{ansi}{letter}{ansi:#}") } else { letter.to_string() }
    }

    /// Returns the text in the look of its role. It is part of one line.
    pub fn paint(self, role: Role, text: &str) -> String {
        let text = one_line(text);
        if !self.is_coloured || text.is_empty() {
            return text.into_owned();
        }
        let ansi = match role {
            Role::Heading => Ansi::new().bold(),
            Role::Label => AnsiColor::Cyan.on_default(),
            Role::Faint => Ansi::new().dimmed(),
            Role::Good => AnsiColor::Green.on_default(),
            Role::Warning => AnsiColor::Yellow.on_default().bold(),
            Role::Error => AnsiColor::Red.on_default().bold(),
        };
        format!("{ansi}{text}{ansi:#}")
    }
}

/// A writer that escapes control characters like JSON (`\u001b`): text shows them, and JSON readers read them.
///
/// Line ends pass, and the colours of [`Style`](super::terminal::Style) if there are any. Characters that change the
/// direction of writing are escaped, too. A character must not be divided between two writes.
pub struct Defused<'a> {
    output: &'a mut dyn Write,
    has_colours: bool,
}

impl<'a> Defused<'a> {
    /// Returns a writer to `output`. If `has_colours`, escape sequences for colours pass, and no others.
    pub fn new(output: &'a mut dyn Write, has_colours: bool) -> Self {
        Defused { output, has_colours }
    }
}

impl Write for Defused<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        // Most text contains no byte of a control character.
        if text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
            self.output.write_all(text)?;
            return Ok(text.len());
        }
        let (mut written, mut position) = (0, 0);
        while position < text.len() {
            let rest = &text[position..];
            if self.has_colours
                && let Some(length) = colour(rest)
            {
                position += length;
            } else if let Some((length, character)) = control(rest) {
                self.output.write_all(&text[written..position])?;
                write!(self.output, "\\u{character:04x}")?;
                position += length;
                written = position;
            } else {
                position += 1;
            }
        }
        self.output.write_all(&text[written..])?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Returns text from a store as part of one line: escaped like in [`Defused`], and line ends as `\n`.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut line = Vec::with_capacity(text.len());
    // Writing to a vector never fails.
    let _ = Defused::new(&mut line, false).write_all(text.as_bytes());
    Cow::Owned(String::from_utf8_lossy(&line).replace('\n', "\\n"))
}

/// Returns the length of an escape sequence for a colour at the start of the text.
fn colour(text: &[u8]) -> Option<usize> {
    let parameters = text.strip_prefix(b"\x1b[")?;
    let length = parameters.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    (parameters.get(length) == Some(&b'm')).then_some(length + 3)
}

/// Returns the length and the number of a control character at the start of the text.
fn control(text: &[u8]) -> Option<(usize, u32)> {
    match *text {
        [b'\n', ..] => None,
        [byte @ (..0x20 | 0x7f), ..] => Some((1, u32::from(byte))),
        // U+0080 to U+009F. U+009B begins sequences like ESC [.
        [0xc2, byte @ 0x80..0xa0, ..] => Some((2, u32::from(byte))),
        // U+2028 and U+2029, which end a line in some programs, U+202A to U+202E, and U+2066 to U+2069.
        [0xe2, 0x80, byte @ 0xa8..=0xae, ..] => Some((3, 0x2000 + u32::from(byte - 0x80))),
        [0xe2, 0x81, byte @ 0xa6..=0xa9, ..] => Some((3, 0x2040 + u32::from(byte - 0x80))),
        _ => None,
    }
}

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
    let is_terminal = Output::Error.is_terminal();
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
        let available = columns(Output::Error).unwrap_or(WIDTH).saturating_sub(1);
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

    fn defused(text: &str, has_colours: bool) -> String {
        let mut output = Vec::new();
        Defused::new(&mut output, has_colours).write_all(text.as_bytes()).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn control_characters_become_escapes_and_all_else_stays() {
        assert_eq!(defused("a\u{e9}\u{a0}\u{2067}b\n", false), "a\u{e9}\u{a0}\\u2067b\n");
        assert_eq!(defused("\x1b[2J\r\0\x7f\u{9b}\u{202e}", false), "\\u001b[2J\\u000d\\u0000\\u007f\\u009b\\u202e");
    }

    #[test]
    fn one_line_holds_no_line_end() {
        assert_eq!(one_line("plain"), "plain");
        assert_eq!(one_line("\u{e9}a\r\nb\u{2028}\x1b[31m"), "\u{e9}a\\u000d\\nb\\u2028\\u001b[31m");
    }

    #[test]
    fn colours_pass_where_there_are_any() {
        assert_eq!(defused("\x1b[1;31mred\x1b[0m", true), "\x1b[1;31mred\x1b[0m");
        assert_eq!(defused("\x1b[31mred", false), "\\u001b[31mred");
        assert_eq!(defused("\x1b[2J\x1b]0;title\x07\x1b[31", true), "\\u001b[2J\\u001b]0;title\\u0007\\u001b[31");
    }

    #[test]
    fn json_stays_json() {
        let text = defused("\"\u{7f}\u{9b}\u{202e}\"", false);
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), "\u{7f}\u{9b}\u{202e}");
    }
}

#[cfg(test)]
mod progress_tests {
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
