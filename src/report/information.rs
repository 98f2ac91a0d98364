//! The bitwise real information of an array, with a drawing of the bits.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::block::{Block, heading};
use super::quantity::{count, counted, shortened, whole};
use super::quantization::trimmed;
use super::table::Table;
use super::terminal::{Role, Style, one_line};
use crate::operation::InformationResult;
use crate::operation::inspect_result::{DimensionInformation, KeptBits};

/// Returns the bitwise real information: a table, a drawing of the bits, and the conclusion.
pub(super) fn information(information: &InformationResult) -> Vec<Block<'_>> {
    let words = format!("bitwise real information of {} {}", information.data_type, information.of);
    let shares: Vec<String> = information.kept.iter().map(|kept| format!(">{} % in", share(kept))).collect();
    let mut columns = vec!["dimension", ">pairs", ">information"];
    columns.extend(shares.iter().map(String::as_str));
    let mut table = Table::new(&columns);
    for dimension in &information.dimensions {
        let mut row = vec![name(dimension), count(dimension.pairs), format!("{:.2} bits", dimension.total)];
        row.extend(dimension.kept.iter().map(kept_bits));
        table.push(row, None);
    }
    vec![
        heading(2, words),
        Block::Table("Information along each dimension", table),
        Block::Bits(information),
        Block::Note(verdict(information)),
    ]
}

/// The drawn characters of a dimension's name. The 64 bits of a float64 then fit on a line of 80.
const NAME: usize = 10;

/// The characters of a bit, from an eighth of a bit of information on.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The character of a bit without information.
const NONE: char = '·';

/// Returns the sentence below the drawing.
pub(super) fn verdict(information: &InformationResult) -> String {
    let Some((first, others)) = information.kept.split_first() else {
        return "neighbours share no information: it does not tell how many bits matter".to_owned();
    };
    let of = if information.leading_bits > 1 { " of the significand" } else { "" };
    let keep = if first.bits == 1 { "keeps" } else { "keep" };
    let mut text = format!("{}{of} {keep} {} % of it in every dimension", kept_bits(first), share(first));
    for kept in others {
        let _ = write!(text, ", {} {} %", kept_bits(kept), share(kept));
    }
    text
}

/// Writes the drawing, with an empty line before and after it.
pub(super) fn write_bits(information: &InformationResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output)?;
    let leading = usize::try_from(information.leading_bits).unwrap_or(0);
    let width = information.dimensions.iter().map(|of| short_name(of).chars().count()).max().unwrap_or(0);
    for dimension in &information.dimensions {
        let line = format!("  {:<width$}  {}", short_name(dimension), drawn(dimension, leading));
        writeln!(output, "{}", line.trim_end())?;
    }
    let legend = legend(information.bits.len(), leading);
    writeln!(output, "  {:<width$}  {}\n", "", style.paint(Role::Label, &legend))
}

/// Returns a character for each bit, with a space after the sign and after the exponent.
pub(super) fn drawn(dimension: &DimensionInformation, leading: usize) -> String {
    let mut text = String::new();
    for (position, found) in dimension.real.iter().enumerate() {
        if position > 0 && (position == leading || (position == 1 && leading > 0)) {
            text.push(' ');
        }
        let eighth = whole((found * 8.0).ceil()).min(LEVELS.len());
        text.push(if *found > 0.0 { LEVELS[eighth.saturating_sub(1)] } else { NONE });
    }
    text
}

/// Returns the line below the drawing: sign, exponent, significand.
fn legend(bits: usize, leading: usize) -> String {
    // An integer has only a sign before its bits.
    // The word "significand" has 11 letters and must not be wider than the bits that it names.
    let significand = if leading > 1 && bits - leading >= 11 { "significand" } else { "bits" };
    match leading {
        0 => significand.to_owned(),
        1 => format!("± {significand}"),
        _ => format!("± {:<width$} {significand}", "exponent", width = leading - 1),
    }
}

fn name(dimension: &DimensionInformation) -> String {
    dimension.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| dimension.axis.to_string())
}

fn short_name(dimension: &DimensionInformation) -> String {
    shortened(one_line(&name(dimension)).into_owned(), NAME)
}

fn share(kept: &KeptBits) -> String {
    trimmed(&format!("{:.6}", kept.share * 100.0))
}

fn kept_bits(kept: &KeptBits) -> String {
    counted(kept.bits, "bit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_drawn_in_groups_and_chance_as_points() {
        let dimension = DimensionInformation {
            axis: 0,
            name: None,
            pairs: 100,
            information: vec![0.5, 1.0, 0.01, 0.3, 0.0, 0.0, 0.0, 0.0],
            real: vec![0.5, 1.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0],
            insignificant: 0.05,
            total: 1.8,
            kept: Vec::new(),
        };
        assert_eq!(drawn(&dimension, 3), "▄ █· ▃····");
        assert_eq!(drawn(&dimension, 0), "▄█·▃····");
        assert_eq!(legend(32, 9), "± exponent significand");
        assert_eq!(legend(64, 12), "± exponent    significand");
    }
}
