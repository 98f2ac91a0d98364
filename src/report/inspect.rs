//! The report of `inspect`. For an array: metadata, codecs and chunks. For a group: its members as a tree.
//!
//! Results about the values as blocks: statistics, a suggestion, ways to store an array smaller, a sample, one chunk.
//! Also the bitwise real information with a drawing of the bits.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::block::{Block, Members, Report, findings, heading, known};
use super::quantity::{self, bytes, count, counted, exact, figure, percent, seconds, shape, shortened, whole};
use super::quantization::trimmed;
use super::table::{Table, cut};
use super::terminal::{Role, Style, one_line};
use crate::metadata::Json;
use crate::operation::document::below;
use crate::operation::inspect_result::{
    ChunkResult, DimensionInformation, GroupResult, KeptBits, NodeMembers, NodeResult, RepresentationResult, StageRow,
    StorageResult, SuggestionResult, WayResult, WaysResult,
};
use crate::operation::transcode_result::{SampleResult, TriedResult};
use crate::operation::{
    ArrayResult, CompressionResult, EstimateResult, Failure, InformationResult, InspectResult, StatsResult,
};

/// The maximum number of characters of a dimension's name in text.
const MAX_NAME: usize = 200;

/// Returns the report of a result.
pub fn report(result: &InspectResult) -> Report<'_> {
    let mut report = match result {
        InspectResult::Array(array) => self::array(array),
        InspectResult::Group(group) => self::group(group),
    };
    report.blocks.insert(0, findings(result.warnings()));
    report
}

/// Returns the report of a STORE that cannot be read.
pub fn unread(failure: &Failure) -> Report<'static> {
    Report {
        title: failure.store.clone().unwrap_or_default(),
        state: format!("not read: {}", failure.message),
        role: Some(Role::Error),
        ..Report::default()
    }
}

/// Returns the name of a node: the store and the path.
pub(super) fn title(store: &str, path: &str) -> String {
    if path == "/" { store.to_owned() } else { format!("{store}{path}") }
}

/// Returns the kind of a node: `array, Zarr v3`.
pub(super) fn kind(node_type: &str, zarr_format: Option<u64>) -> String {
    zarr_format.map_or_else(|| node_type.to_owned(), |format| format!("{node_type}, Zarr v{format}"))
}

fn array(array: &ArrayResult) -> Report<'_> {
    let mut blocks = vec![
        Block::Page(pictures(array)),
        Block::Page(vec![heading(2, "metadata and storage")]),
        Block::Members(members(array)),
    ];
    let unknown = array.storage.as_ref().and_then(|storage| storage.unknown_keys.as_ref()?.get(1..));
    let others = unknown.unwrap_or_default().join(", ");
    blocks.extend((!others.is_empty()).then(|| Block::Page(vec![Block::Note(format!("also: {others}"))])));
    blocks.extend(array.members.attributes.as_ref().map(Block::Attributes));
    if let Some(stages) = &array.pipeline {
        let unit = if stages.iter().any(|stage| stage.pipeline.is_some()) { "shard" } else { "chunk" };
        let mut table = Table::new(&["codec", "kind", "data type", "shape", "fill value", ">bytes"]);
        push_stages(array.decoded.as_ref(), stages, 0, &mut table);
        blocks.push(heading(2, format!("pipeline of a {unit}, in encode order")));
        blocks.push(Block::Table("Codecs and what a chunk is after each", table));
    }
    let stats = array.stats.as_ref().map(|found| Block::Members(stats(found)));
    let histogram = array.histogram.as_ref().map(Block::Histogram);
    let values = [("values", stats), ("histogram", histogram)];
    blocks.extend(known(values).map(|(label, block)| Block::Text(vec![heading(2, label), block])));
    blocks.extend(array.suggestion.iter().flat_map(suggestion));
    blocks.extend(array.ways.iter().flat_map(|of| ways(None, of)));
    blocks.extend(array.information.iter().flat_map(information));
    blocks.extend(array.chunk.iter().flat_map(chunk));
    blocks.extend(array.preview.iter().map(|preview| Block::Text(vec![Block::Preview(preview)])));
    Report {
        title: title(&array.store, &array.members.path),
        state: kind(array.members.node_type, array.members.zarr_format),
        figures: figures(array),
        blocks,
        ..Report::default()
    }
}

/// Returns the figures and pictures of the chunks, which are first on a page.
fn pictures(array: &ArrayResult) -> Vec<Block<'_>> {
    let drawing = array.drawing.as_ref();
    let preview = array.preview.as_ref().or(array.image.as_ref());
    let stats = array.stats.as_ref().map(|found| Block::Members(stats(found)));
    let note = drawing.and_then(|drawing| drawing.note.clone()).map(Block::Note);
    let pictures = [preview.map(Block::Preview), drawing.map(Block::Drawing)];
    let bins = array.histogram.as_ref().map(Block::Histogram);
    let blocks = [stats, note].into_iter().chain(pictures).chain([bins]).flatten();
    let is_any = array.stats.is_some() || drawing.is_some() || preview.is_some();
    is_any.then(|| heading(2, "values")).into_iter().chain(blocks).collect()
}

/// Returns the most important figures.
fn figures(array: &ArrayResult) -> Vec<(&'static str, String, String)> {
    let mut figures = Vec::new();
    if let Some(shape) = &array.members.shape {
        let elements = shape.iter().try_fold(1_u64, |product, length| product.checked_mul(*length));
        let elements = elements.map_or_else(String::new, |elements| quantity::counted(elements, "element"));
        figures.push(("Shape", quantity::shape(shape).replace(", ", " \u{d7} "), elements));
    }
    let data_type =
        array.members.data_type.as_ref().map(|data_type| quantity::shortened(quantity::name(data_type), 60));
    figures.extend(data_type.map(|data_type| ("Data type", data_type, String::new())));
    if let Some(storage) = &array.storage {
        let logical = storage.bytes_logical;
        let of = logical.map_or_else(String::new, |bytes| format!("of {} decoded", quantity::bytes(bytes)));
        figures.push(("Stored", quantity::bytes(storage.bytes_stored), of));
        let ratio = logical.and_then(|logical| quantity::ratio(logical, storage.bytes_stored));
        let ratio = ratio.filter(|ratio| ratio.contains("times"));
        figures.extend(ratio.map(|ratio| ("Stored is", ratio, "than decoded".to_owned())));
    }
    figures
}

/// Returns metadata and storage with their labels.
fn members(result: &ArrayResult) -> Members<'_> {
    let (of_node, storage) = (&result.members, result.storage.as_ref());
    let v2 = of_node.data_type_v2.as_ref().map_or_else(String::new, |v2| format!(" (v2: {})", quantity::json(v2)));
    let is_regular = |grid: &&Json| grid.get("name").and_then(Json::as_str) == Some("regular");
    let of = |present: Option<u64>, possible: Option<u64>| {
        let text = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), quantity::count);
        format!("{} of {} stored", text(present), text(possible))
    };
    let stored = |storage: &StorageResult| {
        let [decoded, stored, ratio] = sizes(storage.bytes_logical, Some(storage.bytes_stored));
        let words = [("", stored, " stored"), (", ", decoded, " decoded"), (", ratio ", ratio, "")];
        let words = words.into_iter().filter(|(_, word, _)| !word.is_empty());
        words.map(|(before, word, after)| [before, &word, after].concat()).collect::<String>()
    };
    let unknown = |storage: &StorageResult| {
        let first = storage.unknown_keys.as_ref()?.first()?;
        Some(format!("{}, the first `{first}`", quantity::count(storage.num_unknown)))
    };
    let members = [
        ("shape", of_node.shape.as_deref().map(|shape| named(shape, of_node.dimension_names.as_deref()))),
        ("data type", of_node.data_type.as_ref().map(|name| quantity::json(name) + &v2)),
        ("fill value", of_node.fill_value.as_ref().map(quantity::json)),
        ("chunk shape", of_node.chunk_shape.as_deref().map(quantity::shape)),
        ("shard shape", of_node.shard_shape.as_deref().map(quantity::shape)),
        ("chunk grid", of_node.chunk_grid.as_ref().filter(|grid| !is_regular(grid)).map(extension)),
        ("key encoding", of_node.chunk_key_encoding.as_ref().map(extension)),
        ("chunks", storage.map(|storage| of(storage.chunks_present, storage.chunks))),
        ("shards", storage.and_then(|storage| Some(of(storage.shards_present, Some(storage.shards?))))),
        ("bytes", storage.map(stored)),
        refused(result.chunks_refused),
        ("other keys", storage.and_then(unknown)),
    ];
    known(members).collect()
}

/// Returns the number of refused chunks with its label.
fn refused(chunks: Option<u64>) -> (&'static str, Option<String>) {
    let chunks = chunks.filter(|chunks| *chunks > 0);
    ("refused", chunks.map(|chunks| format!("{}, treated as absent", counted(chunks, "chunk"))))
}

/// Returns `time=12, lat=180`, or only lengths if there are no names.
pub(super) fn named(shape: &[u64], names: Option<&[Option<String>]>) -> String {
    let Some(names) = names.filter(|names| names.len() == shape.len() && !shape.is_empty()) else {
        return quantity::shape(shape);
    };
    let length = |(length, name): (&u64, &Option<String>)| match name {
        Some(name) => format!("{}={length}", quantity::shortened(name.clone(), MAX_NAME)),
        None => length.to_string(),
    };
    shape.iter().zip(names).map(length).collect::<Vec<_>>().join(", ")
}

/// Returns the name of an extension point, and its configuration if there is one.
fn extension(metadata: &Json) -> String {
    let configuration = metadata.get("configuration").map_or_else(String::new, |of| format!(" {}", quantity::json(of)));
    metadata.get("name").map_or_else(|| quantity::json(metadata), |name| quantity::json(name) + &configuration)
}

fn push_stages(decoded: Option<&RepresentationResult>, stages: &[StageRow], depth: usize, table: &mut Table) {
    let indent = "  ".repeat(depth);
    if let Some(decoded) = decoded {
        let name = format!("{indent}{}", if depth == 0 { "(decoded)" } else { "(inner chunk)" });
        let bytes = decoded.bytes.map_or_else(String::new, quantity::count);
        table.push([name, String::new()].into_iter().chain(quantity::array_cells(decoded)).chain([bytes]), None);
    }
    for stage in stages {
        let names = [format!("{indent}{}", stage.codec), stage.kind.unwrap_or("unknown").to_owned()];
        let array = quantity::array_cells(&stage.output);
        let bytes = stage.output.bytes.map_or_else(|| "varies".to_owned(), quantity::count);
        // The rows of a shard already show its configuration.
        let configuration = stage.configuration.as_ref().filter(|_| stage.pipeline.is_none());
        let note = configuration.filter(|json| json.as_object().is_none_or(|object| !object.is_empty()));
        table.push(names.into_iter().chain(array).chain([bytes]), note.map(quantity::json));
        if let Some(inner) = &stage.pipeline {
            push_stages(stage.inner_decoded.as_deref(), inner, depth + 1, table);
        }
    }
}

/// The maximum number of nodes with a row on a page. The others are only in the sums.
const MOST_NODES: usize = 2000;

pub(super) fn group(group: &GroupResult) -> Report<'_> {
    let consolidated = if group.consolidated { "consolidated" } else { "not consolidated" };
    let about = [
        Block::Page(vec![heading(2, "metadata")]),
        Block::Members(vec![("metadata", consolidated.to_owned())]),
        Block::Attributes(&group.attributes),
    ];
    let mut blocks = Vec::from(about);
    if !group.nodes.is_empty() {
        let caption = match group.totals.bytes_stored {
            Some(_) => "The nodes; bars are as long as arrays are large stored",
            None => "The nodes; bars are as long as arrays are large decoded",
        };
        let table = Block::Table(caption, tree(group, MOST_NODES));
        blocks.insert(0, Block::Page(vec![heading(2, "tree"), table]));
        blocks.push(Block::Text(vec![Block::Blank, Block::Table(caption, tree(group, usize::MAX))]));
    }
    if let Some(stats) = group_stats(group) {
        let table = Block::Table("What was found in the chunks of each array", stats);
        blocks.extend([heading(2, "values"), table]);
    }
    for node in &group.nodes {
        let name = below(&node.members.path, &group.path).trim_start_matches('/');
        blocks.extend(node.ways.iter().flat_map(|of| ways(Some(name.to_owned()), of)));
    }
    let chunks_refused = group.nodes.iter().filter_map(|node| node.chunks_refused).sum();
    blocks.extend(known([refused(Some(chunks_refused))]).map(|member| Block::Members(vec![member])));
    let num_of = |node_type| group.nodes.iter().filter(|node| node.members.node_type == node_type).count() as u64;
    let depth = group.depth.map_or_else(|| "below it".to_owned(), |depth| format!("to depth {depth}"));
    let members = format!("{}, {}", counted(num_of("array"), "array"), counted(num_of("group"), "group"));
    Report {
        title: title(&group.store, &group.path),
        state: format!("{}; {members} {depth}", kind("group", group.zarr_format)),
        figures: group_figures(group),
        blocks,
        ..Report::default()
    }
}

/// Returns the most important figures.
fn group_figures(group: &GroupResult) -> Vec<(&'static str, String, String)> {
    let logical = group.totals.bytes_logical;
    let arrays = ("Arrays", count(group.totals.arrays), String::new());
    let mut figures = vec![arrays, ("Decoded", bytes(logical), String::new())];
    if let Some(stored) = group.totals.bytes_stored {
        let [.., ratio] = sizes(Some(logical), Some(stored));
        let ratio = if ratio.is_empty() { ratio } else { format!("ratio {ratio}") };
        figures.push(("Stored", bytes(stored), ratio));
    }
    figures
}

/// Returns at most `most` nodes, and one row for the others. Bars are of stored bytes, or decoded ones if unknown.
fn tree(result: &GroupResult, most: usize) -> Table {
    let mut table = Table::new(&["node", "shape", "type", "chunks", "codecs", ">decoded", ">stored", ">ratio"])
        // `inspect` of the array shows these, so they are omitted first.
        .with_spare(&["codecs", "chunks", "ratio"]);
    let (shown, rest) = result.nodes.split_at(result.nodes.len().min(most));
    for node in shown {
        let size = node.bytes_stored.or(node.bytes_logical.filter(|_| result.totals.bytes_stored.is_none()));
        table.push_sizes(row(node, &result.path), vec![size]);
        if let NodeMembers { shape: Some(shape), dimension_names: Some(names), .. } = &node.members {
            // The names of dimensions give way before their lengths.
            let cut_to = |most| {
                let names: Vec<_> = names.iter().map(|name| name.as_deref().map(|name| cut(name, most))).collect();
                named(shape, Some(&names)).replace(", ", ",")
            };
            table.shorten(1, [12, 8, 5, 3].map(cut_to).into_iter().chain([extents(shape)]));
        }
    }
    let sum = |name: String, logical, stored| {
        // The other columns have no sum.
        [name].into_iter().chain(vec![String::new(); 4]).chain(sizes(logical, stored))
    };
    if !rest.is_empty() {
        let all = |bytes: fn(&NodeResult) -> Option<u64>| rest.iter().filter_map(bytes).reduce(u64::saturating_add);
        let stored = all(|node| node.bytes_stored);
        let name = format!("... and {} more", counted(rest.len() as u64, "node"));
        table.push_sizes(sum(name, all(|node| node.bytes_logical), stored), vec![stored]);
    }
    if result.totals.arrays > 1 {
        table.push(sum("total".to_owned(), Some(result.totals.bytes_logical), result.totals.bytes_stored), None);
    }
    table
}

/// Returns a row for each array with read values. Columns of NaN or missing values are omitted if no array has any.
fn group_stats(result: &GroupResult) -> Option<Table> {
    let read = || result.nodes.iter().filter_map(|node| Some((node, node.stats.as_ref()?)));
    read().next()?;
    let has_any = |part: fn(&StatsResult) -> u64| read().any(|(_, stats)| part(stats) > 0);
    let shown = [true, true, has_any(|stats| stats.nan), has_any(|stats| stats.missing), true, true, true, true];
    let columns = ["array", ">elements", ">NaN", ">missing", ">min", ">max", ">mean", ">deviation"];
    let columns: Vec<&str> = columns.into_iter().zip(shown).filter_map(|(name, is)| is.then_some(name)).collect();
    let mut table = Table::new(&columns);
    let value = |value: Option<&Json>| match value {
        Some(Json::Number(number)) if !number.is_integer_literal() => quantity::figure(number.as_f64()),
        Some(value) => quantity::json(value),
        None => String::new(),
    };
    let number = |number: Option<f64>| number.map_or_else(String::new, quantity::figure);
    for (node, stats) in read() {
        let cells = [
            below(&node.members.path, &result.path).trim_start_matches('/').to_owned(),
            count(stats.count),
            count(stats.nan),
            count(stats.missing),
            value(stats.min.as_ref()),
            value(stats.max.as_ref()),
            number(stats.mean),
            number(stats.standard_deviation),
        ];
        table.push(cells.into_iter().zip(shown).filter_map(|(cell, is)| is.then_some(cell)), None);
    }
    Some(table)
}

/// Returns the row of a node: its name, shape, type, chunks and codecs, decoded and stored bytes, and their ratio.
fn row(node: &NodeResult, root: &str) -> Vec<String> {
    let members = &node.members;
    let below = below(&members.path, root);
    let depth = below.matches('/').count().saturating_sub(1);
    let name = below.rsplit('/').next().unwrap_or_default();
    let mark = match members.node_type {
        "group" => "/",
        "array" => "",
        _ => " (unreadable)",
    };
    let grid = || members.chunk_grid.as_ref()?.get("name").map(quantity::json).filter(|name| name != "regular");
    let outer = members.shard_shape.as_deref().map(extents).or_else(grid);
    let chunks = match (members.chunk_shape.as_deref().map(extents), outer) {
        (Some(chunk), Some(outer)) => format!("{chunk} in {outer}"),
        (chunk, outer) => chunk.or(outer).unwrap_or_default(),
    };
    let names = members.dimension_names.as_deref();
    let mut cells = vec![
        format!("{}{name}{mark}", "  ".repeat(depth)),
        members.shape.as_deref().map_or_else(String::new, |shape| named(shape, names).replace(", ", ",")),
        members.data_type.as_ref().map_or_else(String::new, quantity::name),
        chunks,
        members.codecs.as_deref().map_or_else(String::new, chain),
    ];
    cells.extend(sizes(node.bytes_logical, node.bytes_stored));
    cells
}

/// Returns decoded bytes, stored bytes, and their ratio.
fn sizes(decoded: Option<u64>, stored: Option<u64>) -> [String; 3] {
    let ratio = |(decoded, stored)| format!("{:.2}", quantity::approximate(decoded) / quantity::approximate(stored));
    let ratio = decoded.zip(stored.filter(|stored| *stored > 0)).map(ratio);
    let text = |bytes: Option<u64>| bytes.map_or_else(String::new, quantity::bytes);
    [text(decoded), text(stored), ratio.unwrap_or_default()]
}

/// Returns a shape without spaces.
fn extents(shape: &[u64]) -> String {
    quantity::shape(shape).replace(' ', "")
}

/// Returns the names of codecs, those inside a shard in brackets.
fn chain(codecs: &[Json]) -> String {
    let name = |codec: &Json| {
        let name = quantity::name(codec);
        let inner = codec.pointer("/configuration/codecs").and_then(Json::as_array);
        match inner.filter(|_| name == "sharding_indexed") {
            Some(inner) => format!("shard[{}]", chain(inner)),
            None => name,
        }
    };
    codecs.iter().map(name).collect::<Vec<_>>().join(" ")
}

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
    fn chain_shows_what_is_inside_shards() {
        let json =
            r#"["bytes",{"name":"sharding_indexed","configuration":{"codecs":[{"name":"bytes"},{"name":"zstd"}]}}]"#;
        assert_eq!(chain(Json::parse_str(json).unwrap().as_array().unwrap()), "bytes shard[bytes zstd]");
    }
}

#[cfg(test)]
mod inspect_values_tests {
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
