//! A histogram as text: a bar for each bin, or the bins in numbers.

use std::io::{self, Write};

use super::quantity::{approximate, count, figure};
use super::table::Table;
use crate::operation::HistogramResult;

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
    let mut table = Table::new(&["bin", ">values"]);
    for (edges, part) in edges(histogram).windows(2).zip(&histogram.counts) {
        table.push(vec![format!("{} to {}", edges[0], edges[1]), count(*part)], None);
    }
    table
}

/// A bar for each bin, as long as its count against the greatest.
pub(super) fn write(histogram: &HistogramResult, columns: usize, output: &mut dyn Write) -> io::Result<()> {
    let edges = edges(histogram);
    let counts: Vec<String> = histogram.counts.iter().map(|part| count(*part)).collect();
    let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
    let (edge_width, count_width) = (widest(&edges), widest(&counts));
    let room = columns.saturating_sub(2 * edge_width + count_width + 10).max(8);
    let greatest = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    for (bin, part) in histogram.counts.iter().enumerate() {
        let bar = bar(approximate(*part) / approximate(greatest), room);
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
