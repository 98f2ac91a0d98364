//! Results of `inspect` about the values as blocks: statistics, a suggestion, ways to store an array smaller, one chunk.

use super::block::{Block, Members, heading, known};
use super::quantity::{self, bytes, count, counted, exact, figure, percent, seconds};
use super::sample::{approximately, sample};
use super::table::Table;
use crate::metadata::Json;
use crate::operation::StatsResult;
use crate::operation::inspect_result::{ChunkResult, SuggestionResult, WayResult, WaysResult};

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
