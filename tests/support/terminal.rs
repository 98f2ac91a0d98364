//! A pseudo-terminal with a given width and the contents of its screen.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};

use super::CliTest;

/// The streams of the program that are the terminal. The other streams are null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnTerminal {
    /// stdout and stderr.
    Both,
    /// stderr.
    Error,
}

/// A run of the program in a terminal.
pub(crate) struct TerminalRun {
    child: Child,
    side: File,
    columns: usize,
}

/// The screen after a run.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) status: Option<i32>,
    /// The lines on the screen at the end, without trailing spaces.
    pub(crate) lines: Vec<String>,
    /// The maximum number of lines in use at once before the end.
    pub(crate) height: usize,
    /// The maximum number of columns of a line at any time.
    pub(crate) width: usize,
    /// All bytes that were written.
    pub(crate) written: String,
}

impl CliTest {
    /// Starts the program in a pseudo-terminal with this number of columns.
    pub(crate) fn start_in_terminal(&self, columns: u16, on_terminal: OnTerminal, arguments: &[&str]) -> TerminalRun {
        let (side, program) = open(columns);
        let output = match on_terminal {
            OnTerminal::Both => Stdio::from(program.try_clone().unwrap()),
            OnTerminal::Error => Stdio::null(),
        };
        let child = Command::new(env!("CARGO_BIN_EXE_zarrcast"))
            .args(arguments)
            .current_dir(self.path(""))
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR")
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(program)
            .spawn()
            .unwrap();
        TerminalRun { child, side, columns: columns.into() }
    }

    /// Runs the program in a pseudo-terminal with this number of columns.
    pub(crate) fn run_in_terminal(&self, columns: u16, on_terminal: OnTerminal, arguments: &[&str]) -> Shown {
        self.start_in_terminal(columns, on_terminal, arguments).end()
    }
}

impl TerminalRun {
    /// Sends a signal, such as `-INT`.
    pub(crate) fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
    }

    pub(crate) fn end(mut self) -> Shown {
        let (mut written, mut piece) = (Vec::new(), [0; 4096]);
        // After the program closes its side, a read fails on Linux and returns nothing elsewhere.
        while let Ok(count @ 1..) = self.side.read(&mut piece) {
            written.extend_from_slice(&piece[..count]);
        }
        let status = self.child.wait().unwrap().code();
        let written = String::from_utf8(written).unwrap();
        let mut screen = Screen { columns: self.columns, lines: vec![Vec::new()], ..Screen::default() };
        screen.write(&written);
        let mut lines: Vec<String> =
            screen.lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Shown { status, lines, height: screen.height, width: screen.width, written }
    }
}

/// Opens both sides of a pseudo-terminal.
fn open(columns: u16) -> (File, OwnedFd) {
    // Some terminals do not know their rows.
    let size = libc::winsize { ws_row: 0, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut side, mut program) = (0, 0);
    // SAFETY: both descriptors and the size outlive the call, and null asks for no name and the usual settings.
    let status = unsafe {
        libc::openpty(&raw mut side, &raw mut program, std::ptr::null_mut(), std::ptr::null(), &raw const size)
    };
    assert_eq!(status, 0, "no pseudo-terminal: {}", std::io::Error::last_os_error());
    // SAFETY: the call has opened both, and nobody else has them.
    unsafe { (File::from_raw_fd(side), OwnedFd::from_raw_fd(program)) }
}

/// An endless screen as a terminal draws it: letters, colours, cursor moves, erased lines.
#[derive(Default)]
struct Screen {
    columns: usize,
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    height: usize,
    width: usize,
}

impl Screen {
    fn write(&mut self, text: &str) {
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\r' => self.column = 0,
                '\n' => self.down(),
                '\x1b' => {
                    assert_eq!(letters.next(), Some('['));
                    let mut parameters = String::new();
                    let command = letters.by_ref().find(|letter| {
                        let ends = letter.is_ascii_alphabetic();
                        if !ends {
                            parameters.push(*letter);
                        }
                        ends
                    });
                    self.command(command.unwrap(), &parameters);
                }
                letter => self.put(letter),
            }
        }
    }

    fn put(&mut self, letter: char) {
        if self.column == self.columns {
            self.column = 0;
            self.down();
        }
        let line = &mut self.lines[self.row];
        if line.len() <= self.column {
            line.resize(self.column + 1, ' ');
        }
        line[self.column] = letter;
        self.column += 1;
        if letter != ' ' {
            self.width = self.width.max(self.column);
            self.height = self.height.max(self.row + 1);
        }
    }

    fn down(&mut self) {
        self.row += 1;
        if self.lines.len() <= self.row {
            self.lines.resize(self.row + 1, Vec::new());
        }
    }

    fn command(&mut self, command: char, parameters: &str) {
        let number = parameters.parse().unwrap_or(1);
        match (command, parameters) {
            ('K', "2") => self.lines[self.row].clear(),
            ('K', _) => self.lines[self.row].truncate(self.column),
            ('A', _) => self.row = self.row.saturating_sub(number),
            ('B', _) => (0..number).for_each(|_| self.down()),
            ('C', _) => self.column += number,
            ('D', _) => self.column = self.column.saturating_sub(number),
            ('m' | 'h' | 'l', _) => {}
            other => panic!("the terminal does not know {other:?}"),
        }
    }
}
