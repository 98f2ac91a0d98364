//! What `inspect` found in the chunks, as text: figures, histogram, suggestion, one chunk.

use std::io::{self, Write};

use super::defused::one_line;
use super::inspect_information;
use super::quantity::{self, bytes, count, figure, percent, seconds};
use super::table::{Align, Table, WIDTH, wrapped, write_members};
use super::terminal::{Role, Style};
use super::ways_text;
use crate::metadata::json::Json;
use crate::operation::inspect_result::{
    ArrayResult, ChunkResult, HistogramResult, StatsResult, SuggestionResult,
};

/// Writes what there is of it.
pub(super) fn write(result: &ArrayResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    if let Some(stats) = &result.stats {
        heading("values", style, output)?;
        write_members(&stats_members(stats), style, output)?;
    }
    if let Some(histogram) = &result.histogram {
        heading("histogram", style, output)?;
        write_histogram(histogram, style.width().unwrap_or(WIDTH), output)?;
    }
    if let Some(suggestion) = &result.suggestion {
        heading("suggestion", style, output)?;
        write_suggestion(suggestion, style, output)?;
    }
    if let Some(ways) = &result.ways {
        heading(ways_text::HEADING, style, output)?;
        ways_text::write(ways, style, output)?;
    }
    if let Some(information) = &result.information {
        heading(&inspect_information::heading(information), style, output)?;
        inspect_information::write(information, style, output)?;
    }
    if let Some(chunk) = &result.chunk {
        write_chunk(chunk, style, output)?;
    }
    Ok(())
}

fn heading(text: &str, style: Style, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "\n{}", style.paint(Role::Heading, text))
}

/// The figures, label by label.
pub(super) fn stats_members(stats: &StatsResult) -> Vec<(&'static str, String)> {
    let share = |part: u64| format!("{} ({})", count(part), percent(part, stats.count));
    let mut members = vec![("elements", count(stats.count)), ("finite", share(stats.finite))];
    let mut push = |label, part: u64| {
        if part > 0 {
            members.push((label, share(part)));
        }
    };
    push("NaN", stats.nan);
    push("missing", stats.missing);
    push("+Infinity", stats.positive_infinity);
    push("-Infinity", stats.negative_infinity);
    push("fill value", stats.fill_value);
    let mut push = |label, value: Option<String>| members.extend(value.map(|value| (label, value)));
    push("least", stats.min.as_ref().map(quantity::json));
    push("greatest", stats.max.as_ref().map(quantity::json));
    push("mean", stats.mean.map(|mean| mean.to_string()));
    push("standard deviation", stats.standard_deviation.map(|deviation| deviation.to_string()));
    members
}

/// The edges of the bins, one more than there are bins.
#[expect(clippy::cast_precision_loss, reason = "there are at most a million bins")]
fn edges(histogram: &HistogramResult) -> Vec<String> {
    let bins = histogram.counts.len();
    let scale = histogram.min.abs().max(histogram.max.abs());
    let edge = |bin: usize| {
        let share = bin as f64 / bins.max(1) as f64;
        let edge = histogram.min * (1.0 - share) + histogram.max * share;
        // What is left of a zero after roundings is shown as one.
        figure(if edge.abs() < 1e-12 * scale { 0.0 } else { edge })
    };
    (0..=bins).map(edge).collect()
}

/// Each bin by its edges, with its count.
pub(super) fn bins(histogram: &HistogramResult) -> Table {
    let mut table = Table::new(&[("bin", Align::Left), ("values", Align::Right)]);
    for (edges, part) in edges(histogram).windows(2).zip(&histogram.counts) {
        table.push(vec![format!("{} to {}", edges[0], edges[1]), count(*part)], None);
    }
    table
}

/// A bar for each bin, as long as its count against the greatest.
#[expect(clippy::cast_precision_loss, reason = "bars are drawn to an eighth of a letter")]
fn write_histogram(histogram: &HistogramResult, columns: usize, output: &mut dyn Write) -> io::Result<()> {
    let edges = edges(histogram);
    let counts: Vec<String> = histogram.counts.iter().map(|part| count(*part)).collect();
    let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
    let (edge_width, count_width) = (widest(&edges), widest(&counts));
    let room = columns.saturating_sub(2 * edge_width + count_width + 10).max(8);
    let greatest = histogram.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    for (bin, part) in histogram.counts.iter().enumerate() {
        let bar = bar(*part as f64 / greatest, room);
        let line = format!(
            "  {:>edge_width$} to {:>edge_width$}  {:>count_width$}  {bar}",
            edges[bin],
            edges[bin + 1],
            counts[bin]
        );
        writeln!(output, "{}", line.trim_end())?;
    }
    for (label, part) in [("below", histogram.below), ("above", histogram.above)] {
        if part > 0 {
            writeln!(output, "  {label}: {}", count(part))?;
        }
    }
    Ok(())
}

/// A bar of at most `room` letters; what is more than nothing is seen.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share from 0 to 1 of some dozen letters"
)]
fn bar(share: f64, room: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share * room as f64 * 8.0).round() as usize;
    let eighths = eighths.max(usize::from(share > 0.0));
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// What the suggested codecs do to the values, label by label.
pub(super) fn suggestion_members(suggestion: &SuggestionResult) -> [(&'static str, String); 4] {
    let range = suggestion.range.as_ref().map_or_else(
        || "no finite value".to_owned(),
        |[lo, hi]| format!("{} to {}", quantity::json(lo), quantity::json(hi)),
    );
    [
        ("range", range),
        ("step", figure(suggestion.step)),
        ("greatest error", figure(suggestion.max_abs_error)),
        ("fill value", quantity::json(&suggestion.fill_value)),
    ]
}

fn write_suggestion(suggestion: &SuggestionResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    write_members(&suggestion_members(suggestion), style, output)?;
    writeln!(output, "  {}", style.paint(Role::Label, "the command"))?;
    writeln!(output, "    {}", one_line(&suggestion.command))?;
    for (label, codecs) in [("the codecs", &suggestion.codecs), ("the whole chain", &suggestion.chain)] {
        writeln!(output, "  {}", style.paint(Role::Label, &format!("{label}, as JSON")))?;
        for line in wrapped(&Json::Array(codecs.clone()).to_string(), style, 4) {
            writeln!(output, "    {line}")?;
        }
    }
    Ok(())
}

fn write_chunk(chunk: &ChunkResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    heading(&chunk_heading(chunk), style, output)?;
    write_members(&chunk_members(chunk), style, output)?;
    if chunk.stages.is_empty() {
        return Ok(());
    }
    chunk_stages(chunk).write(style, output)
}

/// Which chunk it is.
pub(super) fn chunk_heading(chunk: &ChunkResult) -> String {
    let kind = if chunk.inner { "inner chunk" } else { "chunk" };
    format!("{kind} {}", quantity::shape(&chunk.indices))
}

/// A chunk as it is stored, label by label.
pub(super) fn chunk_members(chunk: &ChunkResult) -> Vec<(&'static str, String)> {
    let mut members = vec![("key", chunk.key.clone())];
    if !chunk.present {
        members.push(("stored", "no: its elements are the fill value".to_owned()));
    }
    if let Some(stored) = chunk.bytes_stored {
        let at = chunk.offset.map_or_else(String::new, |offset| format!(", from byte {}", count(offset)));
        members.push(("stored", format!("{} ({} bytes){at}", bytes(stored), count(stored))));
    }
    members.push(("shape", quantity::shape(&chunk.shape)));
    members
}

/// Its way back through the codecs.
pub(super) fn chunk_stages(chunk: &ChunkResult) -> Table {
    let mut table = Table::new(&[
        ("decoded by", Align::Left),
        ("data type", Align::Left),
        ("shape", Align::Left),
        ("bytes", Align::Right),
        ("time", Align::Right),
        ("checksum", Align::Left),
    ]);
    for stage in &chunk.stages {
        let row = vec![
            stage.codec.clone(),
            stage.data_type.as_ref().map_or_else(String::new, quantity::json),
            stage.shape.as_deref().map_or_else(String::new, quantity::shape),
            stage.bytes.map_or_else(|| "failed".to_owned(), count),
            seconds(stage.seconds),
            stage.checksum.unwrap_or_default().to_owned(),
        ];
        table.push(row, stage.error.clone());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_is_drawn_within_80_columns() {
        let histogram = HistogramResult {
            min: -1.5e-7,
            max: 2.25,
            counts: vec![0, 1, 1_000_000, 500_000],
            below: 3,
            above: 0,
        };
        let mut text = Vec::new();
        write_histogram(&histogram, 80, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        let bar = |line: &str| line.matches('█').count();
        // The half of an odd number of letters ends with a half letter.
        assert_eq!(bar(lines[2]) / 2, bar(lines[3]));
        assert!(lines[0].ends_with(" 0") && lines[1].ends_with('▏'), "{text}");
        assert_eq!(lines[4], "  below: 3");
    }
}
