//! The blocks of a result as text. For `apply-codec`, a row for each codec and the result of a round trip.

use std::io::{self, Write};

use super::block::{Block, Report};
use super::quantity::{self, approximate, count, figure, whole};
use super::table::{Table, WIDTH, width, wrap, wrapped, write_hanging, write_members};
use super::terminal::{Role, Style, one_line};
use super::{failure, information, inspect_preview};
use crate::metadata::Json;
use crate::operation::HistogramResult;
use crate::operation::apply_codec::ApplyCodecResult;

/// The maximum number of attributes on a terminal.
const MAX_ATTRIBUTES: usize = 1000;

impl Report<'_> {
    /// Writes the report as text.
    pub fn write(&self, style: Style, output: &mut dyn Write) -> io::Result<()> {
        let painted = |state: &str| self.role.map_or_else(|| state.to_owned(), |role| style.paint(role, state));
        if !self.ends_with_state {
            writeln!(output, "{}: {}", style.paint(Role::Heading, &self.title), painted(&self.state))?;
            return write_blocks(&self.blocks, style, output);
        }
        write_blocks(&self.blocks, style, output)?;
        let lines = wrap(&self.state, style.width.unwrap_or(usize::MAX));
        lines.iter().try_for_each(|line| writeln!(output, "{}", painted(line)))
    }
}

fn write_blocks(blocks: &[Block], style: Style, output: &mut dyn Write) -> io::Result<()> {
    blocks.iter().try_for_each(|block| write_block(block, style, output))
}

fn write_block(block: &Block, style: Style, output: &mut dyn Write) -> io::Result<()> {
    match block {
        Block::Heading(level, name, words) => {
            if *level == 2 {
                writeln!(output)?;
            }
            let name = name.as_ref().map_or_else(String::new, |name| format!("{name}: "));
            writeln!(output, "{}", style.paint(Role::Heading, &(name + words)))
        }
        Block::Members(members) => write_members(members, style, output),
        Block::Attributes(attributes) => write_attributes(attributes, style, output),
        Block::Table(_, table) => table.write(style, output),
        Block::Code(label, lines) => write_code(label, lines, style, output),
        Block::Json(label, json) => {
            write_code(&format!("{label}, as JSON"), &wrapped(&json.to_string(), style, 4), style, output)
        }
        Block::Note(text) => {
            let lines = wrap(text, style.width.unwrap_or(WIDTH).saturating_sub(2));
            lines.iter().try_for_each(|line| writeln!(output, "  {line}"))
        }
        Block::Blank => writeln!(output),
        Block::Verified(name, outcome, rest) => {
            const LABEL: &str = "verified:";
            let name = if name.is_empty() { String::new() } else { format!("{} ", one_line(name)) };
            let mut lines = wrapped(&format!("{outcome}{rest}"), style, width(&name) + LABEL.len() + 1);
            if let Some(rest) = lines[0].strip_prefix(outcome) {
                lines[0] = style.paint(Role::Good, outcome) + rest;
            }
            write_hanging(&format!("{name}{} ", style.paint(Role::Heading, LABEL)), 4, &lines, output)
        }
        Block::Histogram(histogram) => write_histogram(histogram, style.width.unwrap_or(WIDTH), output),
        Block::Bits(information) => information::write_bits(information, style, output),
        Block::Preview(preview) => inspect_preview::write(preview, style, output),
        Block::Text(blocks) => write_blocks(blocks, style, output),
        Block::Findings(found, is_truncated) => failure::write_found(found, *is_truncated, style, output),
        Block::Remarks(remarks) => remarks.iter().try_for_each(|(role, label, text)| {
            let lines = wrapped(&one_line(text), style, label.len() + 1);
            let label = role.map_or_else(|| (*label).to_owned(), |role| style.paint(role, label));
            write_hanging(&format!("{label} "), 4, &lines, output)
        }),
        Block::Drawing(_) | Block::Comparison(..) | Block::Page(_) => Ok(()),
    }
}

fn write_attributes(attributes: &Json, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let Some(attributes) = attributes.as_object().filter(|attributes| !attributes.is_empty()) else {
        return Ok(());
    };
    writeln!(output, "\n{}", style.paint(Role::Heading, "attributes"))?;
    let is_whole = style.width.is_none();
    let shown = if is_whole { usize::MAX } else { MAX_ATTRIBUTES };
    let text = |value: &Json| if is_whole { value.to_string() } else { quantity::json_text(value) };
    let members: Vec<_> = attributes.iter().take(shown).map(|(name, value)| (name, text(value))).collect();
    write_members(&members, style, output)?;
    match attributes.len().saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(output, "  ... and {} more", count(more as u64)),
    }
}

/// Writes lines to copy, under their label.
fn write_code(label: &str, lines: &[String], style: Style, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "  {}", style.paint(Role::Label, label))?;
    lines.iter().try_for_each(|line| writeln!(output, "    {}", one_line(line)))
}

/// Writes the result of `apply-codec`. A plain run is a filter, and writes nothing. The rows of `--repeat` are part of
/// the result, unless they are already on stderr.
pub fn write_applied(result: &ApplyCodecResult, stages: bool, style: Style, output: &mut dyn Write) -> io::Result<()> {
    if stages && result.repeat.is_some() {
        write_stages(result, style, output)?;
    }
    let Some(round_trip) = &result.round_trip else { return Ok(()) };
    if round_trip.bit_identical {
        return writeln!(output, "round trip: {}", style.paint(Role::Good, "bit-identical"));
    }
    let differs = if round_trip.differing == 1 { "differs" } else { "differ" };
    let differing = format!("{} {differs}", quantity::counted(round_trip.differing, "element"));
    let error = round_trip.max_abs_error.map_or_else(String::new, |error| format!(", by at most {}", figure(error)));
    let at = round_trip.at.as_ref().map_or_else(String::new, |at| format!(", at [{}]", quantity::shape(at)));
    writeln!(output, "round trip: {}{error}{at}", style.paint(Role::Warning, &differing))
}

/// Writes a row for each codec.
pub fn write_stages(result: &ApplyCodecResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let times = result.repeat.map_or_else(String::new, |repeat| format!(", medians of {repeat}"));
    writeln!(output, "{}", style.paint(Role::Heading, &format!("{}{times}", result.direction)))?;
    let mut table = Table::new(&["codec", "data type", "shape", "fill value", ">bytes", ">time", ">rate"]);
    for stage in &result.stages {
        let codec = stage.codec.clone().unwrap_or_else(|| "(input)".to_owned());
        let time = stage.seconds.map_or_else(String::new, quantity::seconds);
        let rate = stage.bytes_per_second.map_or_else(String::new, quantity::rate);
        let rest = [stage.output.bytes.map_or_else(String::new, quantity::count), time, rate];
        table.push([codec].into_iter().chain(quantity::array_cells(&stage.output)).chain(rest), None);
    }
    table.write(style, output)
}

/// Returns the edges of the bins, one more than there are bins.
fn edges(histogram: &HistogramResult) -> Vec<String> {
    let bins = histogram.counts.len();
    let scale = histogram.min.abs().max(histogram.max.abs());
    let edge = |bin: usize| {
        let share = approximate(bin as u64) / approximate(bins.max(1) as u64);
        let edge = histogram.min * (1.0 - share) + histogram.max * share;
        // The rounding error of a zero is shown as zero.
        figure(if edge.abs() < 1e-12 * scale { 0.0 } else { edge })
    };
    (0..=bins).map(edge).collect()
}

/// Returns each bin with its edges and its count.
pub(super) fn bins(histogram: &HistogramResult) -> Table {
    let mut table = Table::new(&["bin", ">values"]);
    for (edges, part) in edges(histogram).windows(2).zip(&histogram.counts) {
        table.push([format!("{} to {}", edges[0], edges[1]), count(*part)], None);
    }
    table
}

/// Writes a bar for each bin, relative to the greatest count.
fn write_histogram(histogram: &HistogramResult, columns: usize, output: &mut dyn Write) -> io::Result<()> {
    let edges = edges(histogram);
    let counts: Vec<String> = histogram.counts.iter().map(|part| count(*part)).collect();
    let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
    let (edge_width, count_width) = (widest(&edges), widest(&counts));
    let available = columns.saturating_sub(2 * edge_width + count_width + 10).max(8);
    let greatest = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    for (bin, part) in histogram.counts.iter().enumerate() {
        let bar = bar(approximate(*part) / approximate(greatest), available);
        let (from, to, count) = (&edges[bin], &edges[bin + 1], &counts[bin]);
        let line = format!("  {from:>edge_width$} to {to:>edge_width$}  {count:>count_width$}  {bar}");
        writeln!(output, "{}", line.trim_end())?;
    }
    for (label, part) in [("below", histogram.below), ("above", histogram.above)].iter().filter(|(_, part)| *part > 0) {
        writeln!(output, "  {label}: {}", count(*part))?;
    }
    Ok(())
}

/// Returns a bar of at most `available` characters. A bar of more than nothing is visible.
fn bar(share: f64, available: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = whole((share * approximate(available as u64) * 8.0).round()).max(usize::from(share > 0.0));
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}
