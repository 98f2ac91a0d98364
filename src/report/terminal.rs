//! Whether there is a terminal, and how text looks on it.

use std::io::{IsTerminal, stderr, stdout};

use anstyle::{AnsiColor, RgbColor, Style as Ansi};

/// The two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// stdout.
    Result,
    /// stderr.
    Error,
}

impl Output {
    /// Whether somebody watches.
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

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// By ANSI escapes.
    On,
    /// Plain text.
    Off,
}

impl Colour {
    /// On a terminal that knows escapes, unless `NO_COLOR` is set to something.
    pub fn detect(output: Output) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if output.is_terminal() && !refused { Colour::On } else { Colour::Off }
    }
}

/// What a piece of text is, which decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The name of the thing that follows.
    Heading,
    /// The name of a member.
    Label,
    /// Of less interest.
    Faint,
    /// Well.
    Good,
    /// Worth a look.
    Warning,
    /// Wrong.
    Error,
}

/// Paints text, or leaves it plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style(Colour);

impl Style {
    /// Plain text.
    pub const PLAIN: Style = Style(Colour::Off);

    /// Coloured or plain.
    pub fn new(colour: Colour) -> Self {
        Style(colour)
    }

    /// Whether escapes are written.
    pub fn is_coloured(self) -> bool {
        self.0 == Colour::On
    }

    /// Two pixels, one above the other, in the place of a letter; `None` leaves the terminal's own background.
    pub fn pixels(self, upper: Option<[u8; 3]>, lower: Option<[u8; 3]>) -> String {
        let colour = |[red, green, blue]: [u8; 3]| RgbColor(red, green, blue);
        let (ansi, letter) = match (upper, lower) {
            (None, None) => return " ".to_owned(),
            (Some(upper), None) => (Ansi::new().fg_color(Some(colour(upper).into())), '▀'),
            (None, Some(lower)) => (Ansi::new().fg_color(Some(colour(lower).into())), '▄'),
            (Some(upper), Some(lower)) => (
                Ansi::new().fg_color(Some(colour(upper).into())).bg_color(Some(colour(lower).into())),
                '▀',
            ),
        };
        if self.is_coloured() { format!("{ansi}{letter}{ansi:#}") } else { letter.to_string() }
    }

    /// The text in its role.
    pub fn paint(self, role: Role, text: &str) -> String {
        if self.0 == Colour::Off {
            return text.to_owned();
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
