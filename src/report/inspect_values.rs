//! Results of reading the chunks, as blocks: figures, suggestion, ways to store an array smaller, one chunk.

use super::block::{Block, Members, heading, known};
use super::quantity::{self, bytes, count, counted, figure, percent, seconds};
use super::table::Table;
use super::{inspect_information, sample};
use crate::metadata::json::Json;
use crate::operation::inspect_result::{
    ChunkResult, InformationResult, StatsResult, SuggestionResult, WayResult, WaysResult,
};

/// The figures, label by label.
pub(super) fn stats(stats: &StatsResult) -> Members<'static> {
    let share = |part: u64| format!("{} ({})", count(part), percent(part, stats.count));
    let mut members = vec![("elements", count(stats.count)), ("finite", share(stats.finite))];
    let parts = [
        ("NaN", stats.nan),
        ("missing", stats.missing),
        ("+Infinity", stats.positive_infinity),
        ("-Infinity", stats.negative_infinity),
        ("fill value", stats.fill_value),
    ];
    members.extend(parts.into_iter().filter(|(_, part)| *part > 0).map(|(label, part)| (label, share(part))));
    let figures = [
        ("min", stats.min.as_ref().map(quantity::json)),
        ("max", stats.max.as_ref().map(quantity::json)),
        ("mean", stats.mean.map(|mean| mean.to_string())),
        ("standard deviation", stats.standard_deviation.map(|deviation| deviation.to_string())),
    ];
    members.extend(known(figures));
    members
}

/// The effect of the suggested codecs on the values, and the command and codecs to copy.
pub(super) fn suggestion(suggestion: &SuggestionResult) -> Vec<Block<'_>> {
    let range = suggestion.range.as_ref().map_or_else(
        || "no finite value".to_owned(),
        |[lo, hi]| format!("{} to {}", quantity::json(lo), quantity::json(hi)),
    );
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

/// Ways to store an array smaller: the sample, a row for each way, the commands.
pub(super) fn ways(name: Option<String>, ways: &WaysResult) -> Vec<Block<'_>> {
    let mut members = vec![("sample", sample::sample(&ways.sample)), ("values", values(&ways.values))];
    if let Some(codecs) = ways.compress {
        members.push(("compressed", format!("by {codecs} in every option; now it is not")));
    }
    let mut blocks = vec![
        Block::Heading(2, name, "options, tried on a sample".to_owned()),
        Block::Members(members),
        Block::Table("Each option with its error and size", ways_table(ways)),
    ];
    if ways.ways.iter().any(|way| is_best(way, ways)) {
        blocks.push(Block::Note("* no option is smaller without a larger error".to_owned()));
    }
    if ways.sample.chunks < ways.sample.of && !ways.ways.is_empty() {
        let note = "Errors, ranges and kept bits are those of the sample. The commands look at all values: the \
                    range of uint8 and uint16 may be wider, and keep-bits may keep a bit more or less.";
        blocks.push(Block::Note(note.to_owned()));
    }
    let commands: Vec<String> = ways.ways.iter().filter_map(|way| way.command.clone()).collect();
    blocks.extend((!commands.is_empty()).then_some(Block::Code("the commands", commands)));
    blocks
}

/// `-2.05841 to 34.4533, deviation 11.7952, 45.13 % NaN`.
fn values(values: &StatsResult) -> String {
    let mut texts = match (&values.min, &values.max) {
        (Some(min), Some(max)) => vec![format!("{} to {}", json_figure(min), json_figure(max))],
        _ => vec!["none is finite".to_owned()],
    };
    texts.extend(values.standard_deviation.map(|deviation| format!("deviation {}", figure(deviation))));
    let infinite = values.positive_infinity + values.negative_infinity;
    for (part, name) in [(values.nan, "NaN"), (values.missing, "missing"), (infinite, "infinite")] {
        if part > 0 {
            texts.push(format!("{} {name}", percent(part, values.count)));
        }
    }
    texts.join(", ")
}

fn json_figure(json: &Json) -> String {
    match json {
        Json::Number(number) => figure(number.as_f64()),
        other => quantity::json(other),
    }
}

/// A row for the array as it is, and one for each way.
fn ways_table(ways: &WaysResult) -> Table {
    let mut table = Table::new(&["option", "as", ">max error", ">stored", ">ratio"]);
    let as_it_is = ["as it is", "", "0", &bytes(ways.bytes_stored), "1"];
    table.push(as_it_is.map(str::to_owned).to_vec(), None);
    for way in &ways.ways {
        let stored = way.bytes_stored.map(|stored| sample::approximately(stored, way.is_exact));
        let ratio = way.ratio.map(|ratio| figure((ratio * 100.0).round() / 100.0));
        let cells = [kind(way), way.max_abs_error.map(figure), stored, ratio].map(Option::unwrap_or_default);
        let mark = if is_best(way, ways) { " *" } else { "" };
        table.push([way.name.clone() + mark].into_iter().chain(cells).collect(), way.reason.clone());
    }
    table
}

/// True if no other option, nor the array as it is, is better in error or size and worse in neither.
fn is_best(way: &WayResult, ways: &WaysResult) -> bool {
    let Some(own) = way.max_abs_error.zip(way.bytes_stored) else { return false };
    let others = ways.ways.iter().filter_map(|other| other.max_abs_error.zip(other.bytes_stored));
    !others.chain([(0.0, ways.bytes_stored)]).any(|other| other.0 <= own.0 && other.1 <= own.1 && other != own)
}

/// The type of the codes, or the bits that are kept.
fn kind(way: &WayResult) -> Option<String> {
    way.keep_bits.map(|bits| counted(bits, "bit")).or_else(|| way.data_type.clone())
}

/// The bitwise real information: a table, a drawing of the bits, what it comes to.
pub(super) fn information(information: &InformationResult) -> Vec<Block<'_>> {
    let words = format!("bitwise real information of {} {}", information.data_type, information.of);
    vec![
        heading(2, words),
        Block::Table("Information along each dimension", inspect_information::table(information)),
        Block::Bits(information),
        Block::Note(inspect_information::verdict(information)),
    ]
}

/// A chunk as it is stored, and its way back through the codecs.
pub(super) fn chunk(chunk: &ChunkResult) -> Vec<Block<'_>> {
    let kind = if chunk.inner { "inner chunk" } else { "chunk" };
    let mut members = vec![("key", chunk.key.clone())];
    if !chunk.present {
        members.push(("stored", "no: its elements are the fill value".to_owned()));
    }
    if let Some(stored) = chunk.bytes_stored {
        let at = chunk.offset.map_or_else(String::new, |offset| format!(", from byte {}", count(offset)));
        members.push(("stored", format!("{} ({} bytes){at}", bytes(stored), count(stored))));
    }
    members.push(("shape", quantity::shape(&chunk.shape)));
    let mut blocks = vec![heading(2, format!("{kind} {}", quantity::shape(&chunk.indices))), Block::Members(members)];
    if !chunk.stages.is_empty() {
        blocks.push(Block::Table("The chunk's way back through the codecs", chunk_stages(chunk)));
    }
    blocks
}

fn chunk_stages(chunk: &ChunkResult) -> Table {
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
    table
}
