//! Text in columns.

use std::io::{self, Write};

use super::quantity;
use super::terminal::{Role, Style};

/// The width that text is fitted to, in columns.
pub const WIDTH: usize = 80;

/// The most characters of a cell, or of a label.
const MAX_CELL: usize = 200;

/// On which side a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows under a heading; a row may have a note on lines of its own.
#[derive(Debug)]
pub struct Table {
    sides: Vec<Side>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    cells: Vec<String>,
    note: Option<String>,
    is_heading: bool,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[(&str, Side)]) -> Self {
        let cells = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        Table {
            sides: columns.iter().map(|(_, side)| *side).collect(),
            rows: vec![Row { cells, note: None, is_heading: true }],
        }
    }

    /// Adds a row, and a note under it. A very long cell is cut: a document holds names of any length.
    pub fn push(&mut self, cells: Vec<String>, note: Option<String>) {
        let cells = cells.into_iter().map(|cell| quantity::shortened(cell, MAX_CELL)).collect();
        self.rows.push(Row { cells, note, is_heading: false });
    }

    /// Writes it, two columns of space before each line and between two columns.
    pub fn write(&self, style: Style, output: &mut dyn Write) -> io::Result<()> {
        let widths: Vec<usize> = (0..self.sides.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, side), width) in row.cells.iter().zip(&self.sides).zip(&widths) {
                let cell = match side {
                    Side::Left => format!("  {cell:<width$}"),
                    Side::Right => format!("  {cell:>width$}"),
                };
                line.push_str(&cell);
            }
            let line = line.trim_end();
            if row.is_heading {
                writeln!(output, "{}", style.paint(Role::Faint, line))?;
            } else {
                writeln!(output, "{line}")?;
            }
            if let Some(note) = &row.note {
                // Nested rows are indented; their notes stand under them.
                let indent = 4 + row.cells.first().map_or(0, |cell| cell.len() - cell.trim_start().len());
                for line in wrap(note, WIDTH - indent) {
                    writeln!(output, "{:indent$}{}", "", style.paint(Role::Faint, &line))?;
                }
            }
        }
        Ok(())
    }
}

/// Labels and values; a value that is too long goes on under itself.
pub fn write_members(members: &[(&str, String)], style: Style, output: &mut dyn Write) -> io::Result<()> {
    let width = members.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0).min(MAX_CELL);
    for (label, value) in members {
        let label = quantity::shortened((*label).to_owned(), MAX_CELL);
        let label = style.paint(Role::Label, &format!("{label:<width$}"));
        let indent = 2 + width + 2;
        let mut lines = wrap(value, WIDTH.saturating_sub(indent)).into_iter();
        writeln!(output, "  {label}  {}", lines.next().unwrap_or_default())?;
        for line in lines {
            writeln!(output, "{:indent$}{line}", "")?;
        }
    }
    Ok(())
}

/// Breaks text after spaces and commas; a piece without either stays whole.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in text.split_inclusive([' ', ',']) {
        let room = lines.last().map_or(0, |line| line.chars().count());
        let length = piece.trim_end().chars().count();
        match lines.last_mut() {
            Some(line) if room == 0 || room + length <= width => line.push_str(piece),
            _ => lines.push(piece.to_owned()),
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_aligns_its_columns_and_indents_notes() {
        let mut table = Table::new(&[("codec", Side::Left), ("bytes", Side::Right)]);
        table.push(vec!["bytes".to_owned(), "1,024".to_owned()], Some("{\"endian\":\"little\"}".to_owned()));
        table.push(vec!["zstd".to_owned(), "17".to_owned()], None);
        let mut text = Vec::new();
        table.write(Style::PLAIN, &mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "  codec  bytes\n  bytes  1,024\n    {\"endian\":\"little\"}\n  zstd      17\n"
        );
    }

    #[test]
    fn wrap_breaks_after_spaces_and_commas() {
        assert_eq!(wrap("one two,three four", 9), ["one two,", "three", "four"]);
        assert_eq!(wrap("", 9), [""]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
    }
}
