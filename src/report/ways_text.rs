//! Ways to store an array smaller, as text: the sample, a row for each way, the commands.

use std::io::{self, Write};

use super::defused::one_line;
use super::quantity::{self, bytes, figure};
use super::sample_text;
use super::table::{Align, Table, WIDTH, wrap_prose, write_members};
use super::terminal::{Role, Style};
use crate::metadata::json::Json;
use crate::operation::inspect_result::{StatsResult, WayResult, WaysResult};

/// What it stands under.
pub(super) const HEADING: &str = "ways to store it, tried on a sample";

/// Writes it.
pub(super) fn write(ways: &WaysResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    write_members(&members(ways), style, output)?;
    table(ways).write(style, output)?;
    for note in notes(ways) {
        for line in wrap_prose(&note, style.width().unwrap_or(WIDTH).saturating_sub(2)) {
            writeln!(output, "  {line}")?;
        }
    }
    if commands(ways).next().is_some() {
        writeln!(output, "  {}", style.paint(Role::Label, "the commands"))?;
    }
    for command in commands(ways) {
        writeln!(output, "    {}", one_line(command))?;
    }
    Ok(())
}

/// What was tried, label by label.
pub(super) fn members(ways: &WaysResult) -> Vec<(&'static str, String)> {
    let mut members = vec![("sample", sample_text::sample(&ways.sample)), ("values", values(&ways.values))];
    if let Some(codecs) = ways.compress {
        members.push(("compressed", format!("by {codecs} in every way; as it is, it is not")));
    }
    members
}

/// `-2.05841 to 34.4533, deviation 11.7952, 45.13 % NaN`.
fn values(values: &StatsResult) -> String {
    let number = |json: &Json| match json {
        Json::Number(number) => figure(number.as_f64()),
        other => quantity::json(other),
    };
    let mut texts = match (&values.min, &values.max) {
        (Some(min), Some(max)) => vec![format!("{} to {}", number(min), number(max))],
        _ => vec!["none is finite".to_owned()],
    };
    texts.extend(values.standard_deviation.map(|deviation| format!("deviation {}", figure(deviation))));
    let infinite = values.positive_infinity + values.negative_infinity;
    for (part, name) in [(values.nan, "NaN"), (values.missing, "missing"), (infinite, "infinite")] {
        if part > 0 {
            texts.push(format!("{} {name}", quantity::percent(part, values.count)));
        }
    }
    texts.join(", ")
}

/// A row for the array as it is, and one for each way.
pub(super) fn table(ways: &WaysResult) -> Table {
    let mut table = Table::new(&[
        ("way", Align::Left),
        ("as", Align::Left),
        ("greatest error", Align::Right),
        ("stored", Align::Right),
        ("ratio", Align::Right),
    ]);
    let as_it_is = ["as it is", "", "0", &bytes(ways.bytes_stored), "1"];
    table.push(as_it_is.map(str::to_owned).to_vec(), None);
    for way in &ways.ways {
        let stored = way
            .bytes_stored
            .map_or_else(String::new, |bytes_stored| sample_text::approximately(bytes_stored, way.is_exact));
        let row = vec![
            way.name.clone(),
            kind(way),
            way.max_abs_error.map_or_else(String::new, figure),
            stored,
            way.ratio.map_or_else(String::new, |ratio| figure((ratio * 100.0).round() / 100.0)),
        ];
        table.push(row, way.reason.clone());
    }
    table
}

/// The type of the codes, or the bits that are kept.
fn kind(way: &WayResult) -> String {
    let bits = way.keep_bits.map(|bits| quantity::counted(bits, "bit"));
    bits.or_else(|| way.data_type.clone()).unwrap_or_default()
}

/// What is to be known of the rows.
pub(super) fn notes(ways: &WaysResult) -> Vec<String> {
    let mut notes = Vec::new();
    if ways.sample.chunks < ways.sample.of && !ways.ways.is_empty() {
        notes.push(
            "Errors, ranges and kept bits are those of the sample. The commands look at all values: the range of \
             uint8 and uint16 may be wider, and keep-bits may keep a bit more or less."
                .to_owned(),
        );
    }
    notes
}

/// The command of each way that can be gone, in the order of the rows.
pub(super) fn commands(ways: &WaysResult) -> impl Iterator<Item = &str> {
    ways.ways.iter().filter_map(|way| way.command.as_deref())
}
