//! Results about the values as blocks: statistics, a suggestion, ways to store an array smaller, a sample, one chunk.
//! Also the bitwise real information with a drawing of the bits.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::quantity::{self, bytes, count, counted, exact, figure, percent, seconds, shape, shortened, whole};
use super::table::Table;
use super::terminal::{Role, Style, one_line};
use super::text::{Block, Members, heading, known};
use super::transcode::trimmed;
use crate::metadata::Json;
use crate::operation::inspect_result::{
    ChunkResult, DimensionInformation, KeptBits, SuggestionResult, WayResult, WaysResult,
};
use crate::operation::transcode_result::{SampleResult, TriedResult};
use crate::operation::{CompressionResult, EstimateResult, InformationResult, StatsResult};

/// Returns the statistics with their labels.
pub(super) fn stats(stats: &StatsResult) -> Members<'static> {
    let share = |part: u64| format!("{} ({})", count(part), percent(part, stats.count));
    let all = [("elements", count(stats.count)), ("finite", share(stats.finite))];
    let parts = [
        ("NaN", stats.nan),
        ("missing", stats.missing),
        ("+Infinity", stats.positive_infinity),
        ("-Infinity", stats.negative_infinity),
        ("fill value", stats.fill_value),
    ];
    let parts = parts.into_iter().filter(|(_, part)| *part > 0).map(|(label, part)| (label, share(part)));
    let figures = [
        ("min", stats.min.as_ref().map(quantity::json)),
        ("max", stats.max.as_ref().map(quantity::json)),
        ("mean", stats.mean.map(exact)),
        ("standard deviation", stats.standard_deviation.map(exact)),
    ];
    all.into_iter().chain(parts).chain(known(figures)).collect()
}

/// Returns the effect of the suggested codecs on the values, and the command and codecs to copy.
pub(super) fn suggestion(suggestion: &SuggestionResult) -> Vec<Block<'_>> {
    let range = |[lo, hi]: &[Json; 2]| format!("{} to {}", quantity::json(lo), quantity::json(hi));
    let range = suggestion.range.as_ref().map_or_else(|| "no finite value".to_owned(), range);
    vec![
        heading(2, "suggestion"),
        Block::Members(vec![
            ("range", range),
            ("step", figure(suggestion.step)),
            ("max error", figure(suggestion.max_abs_error)),
            ("fill value", quantity::json(&suggestion.fill_value)),
        ]),
        Block::Code("the command", vec![suggestion.command.clone()]),
        Block::Json("the codecs", Json::Array(suggestion.codecs.clone())),
        Block::Json("the whole chain", Json::Array(suggestion.chain.clone())),
    ]
}

/// Returns ways to store an array smaller: the sample, a row for the unchanged array and for each way, the commands.
pub(super) fn ways(name: Option<String>, ways: &WaysResult) -> Vec<Block<'_>> {
    let mut members = vec![("sample", sample(&ways.sample)), ("values", values(&ways.values))];
    if let Some(codecs) = ways.compress {
        members.push(("compressed", format!("with {codecs} in every option; the array itself is not compressed")));
    }
    let mut table = Table::new(&["option", "as", ">max error", ">stored", ">ratio"]);
    table.push(["as it is", "", "0", &bytes(ways.bytes_stored), "1"], None);
    for way in &ways.ways {
        // The type of the codes, or the number of kept bits.
        let kind = way.keep_bits.map(|bits| counted(bits, "bit")).or_else(|| way.data_type.clone());
        let stored = way.bytes_stored.map(|stored| approximately(stored, way.is_exact));
        let ratio = way.ratio.map(|ratio| figure((ratio * 100.0).round() / 100.0));
        let cells = [kind, way.max_abs_error.map(figure), stored, ratio].map(Option::unwrap_or_default);
        let mark = if is_best(way, ways) { " *" } else { "" };
        table.push([way.name.clone() + mark].into_iter().chain(cells), way.reason.clone());
    }
    let is_whole = ways.sample.chunks == ways.sample.of;
    let title = if is_whole { "options, tried on all chunks" } else { "options, tried on a sample" };
    let mut blocks = vec![
        Block::Heading(2, name, title.to_owned()),
        Block::Members(members),
        Block::Table("Each option with its error and size", table),
    ];
    if ways.ways.iter().any(|way| is_best(way, ways)) {
        blocks.push(Block::Note("* no other option is better in size or error and worse in neither".to_owned()));
    }
    if !is_whole && !ways.ways.is_empty() {
        let note = "Errors, ranges and kept bits are from the sample. The commands use all values: the range of \
            uint8 and uint16 may be wider, and keep-bits may keep a bit more or less.";
        blocks.push(Block::Note(note.to_owned()));
    }
    let commands: Vec<String> = ways.ways.iter().filter_map(|way| way.command.clone()).collect();
    blocks.extend((!commands.is_empty()).then_some(Block::Code("the commands", commands)));
    blocks
}

/// Returns a summary: `-2.05841 to 34.4533, deviation 11.7952, 45.13 % NaN`.
fn values(values: &StatsResult) -> String {
    let mut texts = match (&values.min, &values.max) {
        (Some(min), Some(max)) => vec![format!("{} to {}", json_figure(min), json_figure(max))],
        _ => vec!["none is finite".to_owned()],
    };
    texts.extend(values.standard_deviation.map(|deviation| format!("deviation {}", figure(deviation))));
    let infinite = values.positive_infinity + values.negative_infinity;
    let parts = [(values.nan, "NaN"), (values.missing, "missing"), (infinite, "infinite")].into_iter();
    let parts = parts.filter(|(part, _)| *part > 0);
    texts.extend(parts.map(|(part, name)| format!("{} {name}", percent(part, values.count))));
    texts.join(", ")
}

fn json_figure(json: &Json) -> String {
    if let Json::Number(number) = json { figure(number.as_f64()) } else { quantity::json(json) }
}

/// True if no other option, nor the unchanged array, is better in error or size and worse in neither.
fn is_best(way: &WayResult, ways: &WaysResult) -> bool {
    let Some(own) = way.max_abs_error.zip(way.bytes_stored) else { return false };
    let others = ways.ways.iter().filter_map(|other| other.max_abs_error.zip(other.bytes_stored));
    !others.chain([(0.0, ways.bytes_stored)]).any(|other| other.0 <= own.0 && other.1 <= own.1 && other != own)
}

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

/// Returns a chunk as stored, and each step of its decoding.
pub(super) fn chunk(chunk: &ChunkResult) -> Vec<Block<'_>> {
    let kind = if chunk.inner { "inner chunk" } else { "chunk" };
    let mut members = vec![("key", chunk.key.clone())];
    if !chunk.present {
        members.push(("stored", "no: its elements are the fill value".to_owned()));
    }
    if let Some(stored) = chunk.bytes_stored {
        let at = chunk.offset.map_or_else(String::new, |offset| format!(", from byte {}", count(offset)));
        let exact = if stored < 1024 { String::new() } else { format!(" ({} bytes)", count(stored)) };
        members.push(("stored", format!("{}{exact}{at}", bytes(stored))));
    }
    members.push(("shape", quantity::shape(&chunk.shape)));
    let mut blocks = vec![heading(2, format!("{kind} {}", quantity::shape(&chunk.indices))), Block::Members(members)];
    let mut table = Table::new(&["decoded by", "data type", "shape", ">bytes", ">time", "checksum"]);
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
    if !chunk.stages.is_empty() {
        blocks.push(Block::Table("The chunk's way back through the codecs", table));
    }
    blocks
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

/// Returns the total bytes and time of arrays, one after the other: `~164 KiB, about 3.0 s`.
pub(super) fn estimated(estimates: &[&EstimateResult]) -> String {
    let bytes_stored = estimates.iter().fold(0_u64, |all, one| all.saturating_add(one.bytes_stored));
    let is_exact = estimates.iter().all(|one| one.is_exact);
    let time = estimates.iter().map(|one| one.seconds).sum();
    format!("{}, about {}", approximately(bytes_stored, is_exact), seconds(time))
}

/// Returns bytes, with a `~` unless they are exact.
pub(super) fn approximately(bytes_stored: u64, is_exact: bool) -> String {
    let sign = if is_exact { "" } else { "~" };
    format!("{sign}{}", bytes(bytes_stored))
}

/// Returns the number of chunks of a sample, and their choice.
pub(super) fn sample(sample: &SampleResult) -> String {
    let of = if sample.of == 1 {
        "the only chunk".to_owned()
    } else if sample.chunks == sample.of {
        format!("all {}", counted(sample.of, "chunk"))
    } else {
        let share = percent(sample.chunks, sample.of);
        format!("{} of {} chunks ({share}), spread evenly", count(sample.chunks), count(sample.of))
    };
    format!("{of}, of shape {}; {} read", shape(&sample.chunk_shape), bytes(sample.bytes_read))
}

/// The choice of `--compress auto`.
pub(super) fn chosen(compression: &CompressionResult) -> String {
    match (&compression.chosen, &compression.sample) {
        (Some(chosen), Some(sample)) if sample.of == 0 => format!("{chosen}: there is no chunk to try"),
        (Some(chosen), Some(sample)) => {
            let (chunks, of) = (count(sample.chunks), counted(sample.of, "chunk"));
            format!("{chosen}, the best on {chunks} of {of}")
        }
        (None, Some(_)) => "none of those that were tried".to_owned(),
        _ => format!("chosen by `{}` when a run begins, or with --estimate", compression.goal),
    }
}

/// Returns the chains that were tried, with the estimated bytes of all chunks.
pub(super) fn tried(compression: &CompressionResult) -> String {
    let one = |tried: &TriedResult| {
        let predict = if tried.predict.is_empty() { "" } else { &*format!(" --predict {}", tried.predict.join(",")) };
        let stored = tried.bytes_stored.map_or_else(|| "not for this type".to_owned(), bytes);
        format!("{}{predict} {stored}", tried.compress)
    };
    compression.tried.iter().map(one).collect::<Vec<_>>().join(", ")
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
