//! `inspect` of a group: its members as a tree, a row each.

use super::{kind, named, title};
use crate::metadata::json::Json;
use crate::operation::inspect_result::{GroupResult, NodeMembers, NodeResult, StatsResult};
use crate::report::block::{Block, Report, heading};
use crate::report::inspect_values;
use crate::report::quantity::{self, bytes, count, counted};
use crate::report::table::Table;

/// Nodes that have a row on a page; of more, the sums are said.
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
    if let Some(stats) = stats(group) {
        let table = Block::Table("What was found in the chunks of each array", stats);
        blocks.extend([heading(2, "values"), table]);
    }
    for node in &group.nodes {
        let name = below(&node.members.path, &group.path).trim_start_matches('/');
        blocks.extend(node.ways.iter().flat_map(|ways| inspect_values::ways(Some(name.to_owned()), ways)));
    }
    let num_of = |node_type| group.nodes.iter().filter(|node| node.members.node_type == node_type).count() as u64;
    let members = format!("{}, {}", counted(num_of("array"), "array"), counted(num_of("group"), "group"));
    Report {
        title: title(&group.store, &group.path),
        state: format!("{}; {members} below it", kind("group", group.zarr_format)),
        figures: figures(group),
        blocks,
        ..Report::default()
    }
}

/// The few figures that say most.
fn figures(group: &GroupResult) -> Vec<(&'static str, String, String)> {
    let logical = group.totals.bytes_logical;
    let mut figures =
        vec![("Arrays", count(group.totals.arrays), String::new()), ("Decoded", bytes(logical), String::new())];
    if let Some(stored) = group.totals.bytes_stored {
        let [.., ratio] = sizes(Some(logical), Some(stored));
        let ratio = if ratio.is_empty() { ratio } else { format!("ratio {ratio}") };
        figures.push(("Stored", bytes(stored), ratio));
    }
    figures
}

/// The nodes, at most so many; more have one row together. Bars are of stored bytes, of decoded ones where none are known.
fn tree(result: &GroupResult, most: usize) -> Table {
    let mut table = Table::new(&["node", "shape", "type", "chunks", "codecs", ">decoded", ">stored", ">ratio"])
        // What `inspect` of the array shows goes first.
        .with_spare(&["codecs", "chunks", "ratio"]);
    let (shown, rest) = result.nodes.split_at(result.nodes.len().min(most));
    for node in shown {
        let size = node.bytes_stored.or(node.bytes_logical.filter(|_| result.totals.bytes_stored.is_none()));
        table.push_sizes(row(node, &result.path), vec![size]);
    }
    let sum = |name: String, logical, stored| {
        let mut cells = vec![name];
        cells.resize(5, String::new());
        cells.extend(sizes(logical, stored));
        cells
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

/// A row for each array whose values were read; without the columns of NaN and of missing values where none has any.
fn stats(result: &GroupResult) -> Option<Table> {
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
        table.push(cells.into_iter().zip(shown).filter_map(|(cell, is)| is.then_some(cell)).collect(), None);
    }
    Some(table)
}

/// The path of a node from the group that is shown.
fn below<'a>(path: &'a str, root: &str) -> &'a str {
    path.strip_prefix(root.trim_end_matches('/')).unwrap_or(path)
}

/// A node's row: its name, shape, type, chunks and codecs; decoded and stored bytes, and their ratio.
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
    let shape = |shape: &Option<Vec<u64>>| shape.as_deref().map_or_else(String::new, extents);
    let chunks = match &members.shard_shape {
        Some(shard) => format!("{} in {}", shape(&members.chunk_shape), extents(shard)),
        None => match grid_name(members).filter(|name| name != "regular") {
            Some(grid) if members.chunk_shape.is_some() => {
                format!("{} in {grid}", shape(&members.chunk_shape))
            }
            Some(grid) => grid,
            None => shape(&members.chunk_shape),
        },
    };
    let names = members.dimension_names.as_deref();
    let mut cells = vec![
        format!("{}{name}{mark}", "  ".repeat(depth)),
        members.shape.as_deref().map_or_else(String::new, |shape| named(shape, names).replace(", ", ",")),
        members.data_type.as_ref().map_or_else(String::new, type_name),
        chunks,
        members.codecs.as_deref().map_or_else(String::new, chain),
    ];
    cells.extend(sizes(node.bytes_logical, node.bytes_stored));
    cells
}

/// Bytes decoded and stored, and how many times smaller they are stored.
fn sizes(decoded: Option<u64>, stored: Option<u64>) -> [String; 3] {
    #[expect(clippy::cast_precision_loss, reason = "a ratio of three digits")]
    let ratio = |decoded: u64, stored: u64| format!("{:.2}", decoded as f64 / stored as f64);
    let ratio = decoded.zip(stored.filter(|stored| *stored > 0)).map(|(decoded, stored)| ratio(decoded, stored));
    let text = |bytes: Option<u64>| bytes.map_or_else(String::new, quantity::bytes);
    [text(decoded), text(stored), ratio.unwrap_or_default()]
}

/// The name of the chunk grid.
fn grid_name(node: &NodeMembers) -> Option<String> {
    Some(quantity::json(node.chunk_grid.as_ref()?.get("name")?))
}

/// A shape without spaces.
fn extents(shape: &[u64]) -> String {
    quantity::shape(shape).replace(' ', "")
}

fn type_name(data_type: &Json) -> String {
    quantity::json(data_type.get("name").unwrap_or(data_type))
}

/// The names of codecs; those inside a shard in brackets.
fn chain(codecs: &[Json]) -> String {
    let name = |codec: &Json| {
        let name = quantity::json(codec.get("name").unwrap_or(codec));
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
