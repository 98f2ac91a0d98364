//! The report of `inspect`. For an array: metadata, codecs and chunks. For a group: its members as a tree.

use super::block::{Block, Members, Report, findings, heading, known};
use super::information::information;
use super::inspect_values::{chunk, stats, suggestion, ways};
use super::quantity::{self, bytes, count, counted};
use super::table::{Table, cut};
use super::terminal::Role;
use crate::metadata::Json;
use crate::operation::document::below;
use crate::operation::inspect_result::{
    GroupResult, NodeMembers, NodeResult, RepresentationResult, StageRow, StorageResult,
};
use crate::operation::{ArrayResult, Failure, InspectResult, StatsResult};

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
        let [.., ratio] = total_sizes(group);
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
    // The other columns have no sum.
    let sum = |name: String, sizes| [name].into_iter().chain(vec![String::new(); 4]).chain(sizes);
    if !rest.is_empty() {
        let all = |bytes: fn(&NodeResult) -> Option<u64>| rest.iter().filter_map(bytes).reduce(u64::saturating_add);
        let stored = all(|node| node.bytes_stored);
        let name = format!("... and {} more", counted(rest.len() as u64, "node"));
        table.push_sizes(sum(name, sizes(all(|node| node.bytes_logical), stored)), vec![stored]);
    }
    if result.totals.arrays > 1 {
        table.push(sum("total".to_owned(), total_sizes(result)), None);
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

/// Returns the sizes of all arrays. Without a ratio if the decoded size of a stored array is unknown.
fn total_sizes(GroupResult { totals, nodes, .. }: &GroupResult) -> [String; 3] {
    let [decoded, stored, ratio] = sizes(Some(totals.bytes_logical), totals.bytes_stored);
    let is_unknown =
        |node: &NodeResult| node.bytes_logical.is_none() && node.bytes_stored.is_some_and(|bytes| bytes > 0);
    [decoded, stored, if nodes.iter().any(is_unknown) { String::new() } else { ratio }]
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
