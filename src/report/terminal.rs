//! Terminals: their size, the style of text, and safe output. Names and texts from a store may contain control
//! characters, and a terminal would act on them. They are escaped.

use std::borrow::Cow;

use crate::diagnostic::Severity;
use crate::store::machine;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, RgbColor, Style as Ansi};
use std::io::{self, Write, stderr, stdout};

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
    pub output: &'a mut dyn Write,
    /// True if escape sequences for colours pass. No others do.
    pub has_colours: bool,
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
    let _ = Defused { output: &mut line, has_colours: false }.write_all(text.as_bytes());
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

#[cfg(test)]
mod tests {
    use super::*;

    fn defused(text: &str, has_colours: bool) -> String {
        let mut output = Vec::new();
        Defused { output: &mut output, has_colours }.write_all(text.as_bytes()).unwrap();
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
