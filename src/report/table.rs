//! Text in columns.

use std::io::{self, Write};

use unicode_width::UnicodeWidthChar;

use super::terminal::{Role, Style, one_line};

/// The width that text is fitted to, in columns.
pub const WIDTH: usize = 80;

/// The maximum width of an aligned column. Names in a document have any length.
const MAX_ALIGNED: usize = 200;

/// The minimum width of a column that is cut.
const LEAST_COLUMN: usize = 5;

/// The width at which a cell is readable, if the whole cell does not fit.
const READABLE: usize = 24;

/// Rows under a heading. A row may have a note on separate lines.
#[derive(Debug)]
pub struct Table {
    /// True for each column of numbers. They are right-aligned.
    numbers: Vec<bool>,
    rows: Vec<Row>,
    /// Columns that a narrow terminal omits, in this order.
    spare: &'static [&'static str],
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) cells: Vec<String>,
    /// The note on separate lines below the row.
    pub(super) note: Option<String>,
    /// A column, and shorter texts of its cell.
    short: Option<(usize, Vec<String>)>,
    /// Sizes that pages draw as bars. `None` for an unknown size.
    pub(super) sizes: Vec<Option<u64>>,
}

impl Row {
    /// Returns the text of a column that is `columns` wide.
    fn fitted(&self, column: usize, columns: usize) -> String {
        let short = self.short.iter().filter(|(of, _)| *of == column).flat_map(|(_, texts)| texts);
        let texts = || self.cells.get(column).into_iter().chain(short.clone());
        let text = texts().find(|text| width(text) <= columns).or_else(|| texts().last());
        cut(text.map_or("", String::as_str), columns)
    }
}

impl Table {
    /// Returns a table with these columns. A `>` before a name means a column of numbers, which are right-aligned.
    pub fn new(columns: &[&str]) -> Self {
        let cells = columns.iter().map(|name| name.trim_start_matches('>').to_owned()).collect();
        Table {
            numbers: columns.iter().map(|name| name.starts_with('>')).collect(),
            rows: vec![Row { cells, note: None, short: None, sizes: Vec::new() }],
            spare: &[],
        }
    }

    /// Sets the columns that a narrow terminal omits, in this order.
    #[must_use]
    pub(super) fn with_spare(self, spare: &'static [&'static str]) -> Self {
        Table { spare, ..self }
    }

    /// Adds a row, and a note below it.
    pub fn push(&mut self, cells: impl IntoIterator<Item: Into<String>>, note: Option<String>) {
        let line = |text: String| one_line(&text).into_owned();
        let (cells, note) = (cells.into_iter().map(Into::into).map(line).collect(), note.map(line));
        self.rows.push(Row { cells, note, short: None, sizes: Vec::new() });
    }

    /// Adds a row with sizes, which pages draw as bars.
    pub fn push_sizes(&mut self, cells: impl IntoIterator<Item: Into<String>>, sizes: Vec<Option<u64>>) {
        self.push(cells, None);
        if let Some(row) = self.rows.last_mut() {
            row.sizes = sizes;
        }
    }

    /// Sets shorter texts of a cell of the last row. The first that fits, or the last, replaces one that is too wide.
    pub(super) fn shorten(&mut self, column: usize, texts: impl IntoIterator<Item = String>) {
        if let Some(row) = self.rows.last_mut() {
            row.short = Some((column, texts.into_iter().map(|text| one_line(&text).into_owned()).collect()));
        }
    }

    /// Returns the names of the columns, and whether each contains numbers.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&str, bool)> {
        let names = self.rows.first().map_or(&[][..], |heading| &heading.cells);
        names.iter().map(String::as_str).zip(self.numbers.iter().copied())
    }

    /// Returns the rows below the heading.
    pub(super) fn body(&self) -> &[Row] {
        self.rows.get(1..).unwrap_or_default()
    }

    /// Writes the table with two spaces before each line and between two columns. Text wider than the terminal is cut.
    pub fn write(&self, style: Style, output: &mut dyn Write) -> io::Result<()> {
        let widths = self.widths(style.width);
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, columns) in &widths {
                let cell = row.cells.get(*column).map_or("", String::as_str);
                let cell = if style.width.is_some() { row.fitted(*column, *columns) } else { cell.to_owned() };
                line.push_str("  ");
                let pad = if self.numbers[*column] { pad_left } else { pad };
                line.push_str(&pad(&cell, *columns));
            }
            // If the columns of numbers alone are wider than the terminal, the line is cut.
            let line = style.width.map_or_else(|| line.clone(), |columns| cut(line.trim_end(), columns));
            let line = line.trim_end();
            let line = if number == 0 { style.paint(Role::Faint, line) } else { line.to_owned() };
            writeln!(output, "{line}")?;
            if let Some(note) = &row.note {
                // Nested rows are indented, and their notes with them.
                let indent = 4 + row.cells.first().map_or(0, |cell| cell.len() - cell.trim_start().len());
                for line in wrapped(note, style, indent) {
                    writeln!(output, "{:indent$}{}", "", style.paint(Role::Faint, &line))?;
                }
            }
        }
        let names = self.columns().map(|(name, _)| name).enumerate();
        let names = names.filter(|(column, _)| widths.iter().all(|(shown, _)| shown != column));
        let left_out = names.map(|(_, name)| name).collect::<Vec<_>>().join(", ");
        if !left_out.is_empty() {
            let note = format!("left out: {left_out}; a wider terminal or `--json` shows them");
            write_hanging("  ", 2, &wrapped(&note, style, 2), output)?;
        }
        Ok(())
    }

    /// Returns the shown columns with their widths. Each has the width that it needs, and the widest text columns are
    /// cut until all fit. Spare columns are omitted until the readable part of all columns fits. The first column names
    /// the row, and keeps twice the width of the others.
    fn widths(&self, available: Option<usize>) -> Vec<(usize, usize)> {
        let needed = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
            (column, cells.map(|cell| width(cell)).max().unwrap_or(0).min(MAX_ALIGNED))
        };
        let mut widths: Vec<(usize, usize)> = (0..self.numbers.len()).map(needed).collect();
        let Some(available) = available else { return widths };
        for name in self.spare {
            if widths.iter().map(|(_, needed)| (*needed).min(READABLE) + 2).sum::<usize>() <= available {
                break;
            }
            widths.retain(|(column, _)| self.rows[0].cells.get(*column).is_none_or(|cell| cell != name));
        }
        let available = available.saturating_sub(2 * widths.len());
        while widths.iter().map(|(_, width)| width).sum::<usize>() > available {
            let of_text = widths.iter_mut().filter(|(column, _)| !self.numbers[*column]);
            let by_need = |(column, width): &&mut (usize, usize)| width / (1 + usize::from(*column == 0));
            match of_text.max_by_key(by_need) {
                Some((_, widest)) if *widest > LEAST_COLUMN => *widest -= 1,
                _ => break,
            }
        }
        widths
    }
}

/// Writes labels and values. A value that is wider than the terminal continues below itself.
pub fn write_members(members: &[(&str, String)], style: Style, output: &mut dyn Write) -> io::Result<()> {
    let most = style.width.map_or(MAX_ALIGNED, |columns| columns / 2);
    let members: Vec<_> = members.iter().map(|(label, value)| (one_line(label), one_line(value))).collect();
    let columns = members.iter().map(|(label, _)| width(label)).max().unwrap_or(0).min(most);
    for (label, value) in &members {
        let label = if style.width.is_some() { cut(label, columns) } else { label.to_string() };
        let label = style.paint(Role::Label, &pad(&label, columns));
        let indent = 2 + columns + 2;
        write_hanging(&format!("  {label}  "), indent, &wrapped(value, style, indent), output)?;
    }
    Ok(())
}

/// Writes lines: the first after `first`, the others after `indent` spaces.
pub(super) fn write_hanging(first: &str, indent: usize, lines: &[String], output: &mut dyn Write) -> io::Result<()> {
    let spaces = " ".repeat(indent);
    let before = std::iter::once(first).chain(std::iter::repeat(&*spaces));
    before.zip(lines).try_for_each(|(before, line)| writeln!(output, "{before}{line}"))
}

/// Returns the lines of text after an indent: wrapped at the width of the terminal, whole in pipes and files.
pub fn wrapped(text: &str, style: Style, indent: usize) -> Vec<String> {
    style.width.map_or_else(|| vec![text.to_owned()], |columns| wrap(text, columns.saturating_sub(indent)))
}

/// Wraps sentences after spaces. A piece is wrapped inside backticks or after commas only if it is wider than a line: a
/// command is copied and pasted.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut is_quoted = false;
    let pieces = text.split_inclusive(|letter| {
        is_quoted ^= letter == '`';
        letter == ' ' && !is_quoted
    });
    let fitting = pieces.flat_map(|piece| {
        let is_wide = width(piece.trim_end()) > columns;
        piece.split_inclusive(move |letter| is_wide && matches!(letter, ' ' | ','))
    });
    filled(fitting, columns)
}

/// Returns lines of as many pieces as fit into `columns`. A wider piece has a line of its own.
fn filled<'a>(pieces: impl Iterator<Item = &'a str>, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if used == 0 || used + width(piece.trim_end()) <= columns => line.push_str(piece),
            _ => {
                lines.push(piece.to_owned());
                used = 0;
            }
        }
        used += width(piece);
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// Returns the width of text in columns: two for wide characters, none for combining ones.
pub(super) fn width(text: &str) -> usize {
    // Most text is ASCII, with one column per character.
    if text.is_ascii() { text.len() } else { text.chars().map(width_of).sum() }
}

/// Returns the width of one character, so that a text and its pieces agree. Control characters have none.
fn width_of(letter: char) -> usize {
    letter.width().unwrap_or(0)
}

/// Returns text of at most `columns` columns. An ellipsis replaces the rest.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut available = columns.saturating_sub(1);
    let fits = |letter: &char| {
        let left = available.checked_sub(width_of(*letter));
        available = left.unwrap_or(available);
        left.is_some()
    };
    text.chars().take_while(fits).chain((columns > 0).then_some('\u{2026}')).collect()
}

/// Returns text with spaces after it, up to `columns` columns.
pub(super) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Returns text with spaces before it, up to `columns` columns.
pub(super) fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_aligns_its_columns_and_indents_notes() {
        let mut table = Table::new(&["codec", ">bytes"]);
        table.push(vec!["bytes".to_owned(), "1,024".to_owned()], Some("{\"endian\":\"little\"}".to_owned()));
        table.push(vec!["zstd".to_owned(), "17".to_owned()], None);
        let mut text = Vec::new();
        table.write(Style::PLAIN, &mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "  codec  bytes\n  bytes  1,024\n    {\"endian\":\"little\"}\n  zstd      17\n"
        );
    }

    fn written(table: &Table, width: Option<usize>) -> Vec<String> {
        let mut text = Vec::new();
        table.write(Style::PLAIN.within(width), &mut text).unwrap();
        String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn table_is_cut_to_the_terminal_and_whole_in_a_pipe() {
        let mut table = Table::new(&["name", "type", ">bytes"]);
        let (long, note) = ("x".repeat(70), "one, two ".repeat(20));
        table.push(vec![long.clone(), "float32".to_owned(), "1,024".to_owned()], Some(note.clone()));
        let wide = "\u{6e29}\u{5ea6}".to_owned();
        table.push(vec![wide, "e\u{301}".to_owned(), "17".to_owned()], None);
        let lines = written(&table, Some(60));
        assert!(lines.iter().all(|line| width(line) <= 60), "{lines:?}");
        assert!(lines[1].contains('\u{2026}') && lines[1].ends_with("  float32  1,024"), "{lines:?}");
        assert!(lines.last().is_some_and(|line| width(line) == 60), "{lines:?}");
        let lines = written(&table, None);
        assert_eq!(lines.len(), 4);
        assert!(lines[1].contains(&long) && lines[2].contains(note.trim_end()), "{lines:?}");
        assert_eq!(width(&lines[3]), width(&lines[1]));
    }

    #[test]
    fn columns_are_left_out_in_order_until_the_others_can_be_read() {
        let headings_at = |columns: Option<usize>| {
            let mut table =
                Table::new(&["name", "codecs", ">bytes", ">ratio"]).with_spare(&["codecs", "none", "ratio"]);
            table.push(vec!["n".repeat(40), "c".repeat(20), "1,024 KiB".to_owned(), "2.00".to_owned()], None);
            table.push(vec!["group".to_owned()], None);
            assert!(written(&table, columns).iter().all(|line| columns.is_none_or(|most| width(line) <= most)));
            written(&table, columns)[0].split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(headings_at(None), ["name", "codecs", "bytes", "ratio"]);
        assert_eq!(headings_at(Some(66)), ["name", "codecs", "bytes", "ratio"]);
        assert_eq!(headings_at(Some(60)), ["name", "bytes", "ratio"]);
        assert_eq!(headings_at(Some(40)), ["name", "bytes"]);
    }

    #[test]
    fn members_go_on_under_themselves_on_a_terminal_alone() {
        let members = [("shape", "1, 2".to_owned()), ("attribute", "word ".repeat(30).trim().to_owned())];
        let written = |width| {
            let mut text = Vec::new();
            write_members(&members, Style::PLAIN.within(width), &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(written(None).lines().count(), 2);
        let lines = written(Some(60));
        assert!(lines.lines().count() > 3 && lines.lines().all(|line| width(line) <= 60), "{lines}");
    }

    #[test]
    fn wrap_breaks_after_spaces_and_in_a_wide_piece_after_commas() {
        assert_eq!(wrap("one two,three four", 9), ["one", "two,three", "four"]);
        assert_eq!(wrap("one two,three four", 8), ["one two,", "three", "four"]);
        assert_eq!(wrap("", 9), [""]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
    }

    #[test]
    fn prose_is_broken_inside_of_backticks_only_where_it_must_be() {
        assert_eq!(wrap("run `a b c` or 1,000 times", 9), ["run", "`a b c`", "or 1,000", "times"]);
        assert_eq!(wrap("an odd ` breaks at all", 9), ["an odd `", "breaks at", "all"]);
        assert_eq!(wrap("of [1,2,3,4,5,6]", 9), ["of [1,2,", "3,4,5,6]"]);
    }
}

#[cfg(test)]
mod width_tests {
    use super::*;

    #[test]
    fn wide_and_combining_characters_take_the_columns_that_a_terminal_gives_them() {
        assert_eq!([width("abc"), width("\u{6e29}\u{5ea6}"), width("e\u{301}")], [3, 4, 1]);
        assert_eq!([pad("\u{6e29}", 4), pad_left("e\u{301}", 3)], ["\u{6e29}  ", "  e\u{301}"]);
    }

    #[test]
    fn cut_text_fits() {
        assert_eq!([cut("abcdef", 6), cut("abcdef", 5), cut("abc", 0)], ["abcdef", "abcd\u{2026}", ""]);
        assert_eq!(cut("\u{6e29}\u{5ea6}\u{6e29}", 4), "\u{6e29}\u{2026}");
    }
}
