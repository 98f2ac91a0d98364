//! Whether there is a terminal, and how text looks on it.

use std::io::{IsTerminal, stderr, stdout};

use super::defused::one_line;
use crate::diagnostic::Severity;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, RgbColor, Style as Ansi};

/// Text is not fitted to fewer columns than this.
const LEAST_WIDTH: usize = 40;

/// The two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// stdout.
    Result,
    /// stderr.
    Error,
}

impl Output {
    /// True if somebody watches.
    pub fn is_terminal(self) -> bool {
        match self {
            Output::Result => stdout().is_terminal(),
            Output::Error => stderr().is_terminal(),
        }
    }
}

/// The columns and lines of the terminal on stdout; `None` where there is none.
pub fn size() -> Option<(u16, u16)> {
    terminal_size::terminal_size_of(stdout()).map(|(width, height)| (width.0, height.0))
}

/// The columns of the terminal that a stream goes to; `None` where it goes elsewhere.
pub fn columns(output: Output) -> Option<usize> {
    let size = match output {
        Output::Result => terminal_size::terminal_size_of(stdout()),
        Output::Error => terminal_size::terminal_size_of(stderr()),
    };
    size.map(|(width, _)| usize::from(width.0)).filter(|columns| *columns > 0)
}

/// True if text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// By ANSI escapes.
    On,
    /// Plain text.
    Off,
}

impl Colour {
    /// On a terminal that knows escapes (`TERM`), unless `NO_COLOR` is set to something; wherever text goes with
    /// `CLICOLOR_FORCE`.
    pub fn detect(output: Output) -> Self {
        let choice = match output {
            Output::Result => AutoStream::choice(&stdout()),
            Output::Error => AutoStream::choice(&stderr()),
        };
        if choice == ColorChoice::Never { Colour::Off } else { Colour::On }
    }
}

/// The role of a piece of text, which decides its look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The name of the thing that follows.
    Heading,
    /// The name of a member.
    Label,
    /// Text of less interest.
    Faint,
    /// Well.
    Good,
    /// Worth a look.
    Warning,
    /// Wrong.
    Error,
}

/// Paints text, or leaves it plain, and fits it to a terminal, or leaves it whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    colour: Colour,
    width: Option<usize>,
    is_verbose: bool,
}

impl Role {
    /// The look of a finding.
    pub(super) fn of(severity: Severity) -> Self {
        match severity {
            Severity::Error => Role::Error,
            Severity::Warning => Role::Warning,
            Severity::Info => Role::Good,
        }
    }
}

impl Style {
    /// Plain text as it goes into pipes and files.
    pub const PLAIN: Style = Style { colour: Colour::Off, width: None, is_verbose: false };

    /// Coloured or plain, of lines of any length.
    pub fn new(colour: Colour) -> Self {
        Style { colour, ..Style::PLAIN }
    }

    /// For a terminal of so many columns; for a pipe or a file with `None`.
    #[must_use]
    pub fn within(self, width: Option<usize>) -> Self {
        Style { width: width.map(|columns| columns.max(LEAST_WIDTH)), ..self }
    }

    /// With what `--verbose` adds, or without.
    #[must_use]
    pub fn verbose(self, is_verbose: bool) -> Self {
        Style { is_verbose, ..self }
    }

    /// True if all of what is mostly summed up is said.
    pub fn is_verbose(self) -> bool {
        self.is_verbose
    }

    /// The columns that text is fitted to; `None` in pipes and files, where nothing is cut or wrapped.
    pub fn width(self) -> Option<usize> {
        self.width
    }

    /// True if escapes are written.
    pub fn is_coloured(self) -> bool {
        self.colour == Colour::On
    }

    /// Two pixels, one above the other, in the place of a letter; `None` leaves the terminal's own background.
    pub fn pixels(self, upper: Option<[u8; 3]>, lower: Option<[u8; 3]>) -> String {
        let colour = |[red, green, blue]: [u8; 3]| RgbColor(red, green, blue);
        let (ansi, letter) = match (upper, lower) {
            (None, None) => return " ".to_owned(),
            (Some(upper), None) => (Ansi::new().fg_color(Some(colour(upper).into())), '▀'),
            (None, Some(lower)) => (Ansi::new().fg_color(Some(colour(lower).into())), '▄'),
            (Some(upper), Some(lower)) => {
                (Ansi::new().fg_color(Some(colour(upper).into())).bg_color(Some(colour(lower).into())), '▀')
            }
        };
        if self.is_coloured() { format!("{ansi}{letter}{ansi:#}") } else { letter.to_string() }
    }

    /// The text, which is part of one line, in its role.
    pub fn paint(self, role: Role, text: &str) -> String {
        let text = one_line(text);
        if self.colour == Colour::Off {
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
