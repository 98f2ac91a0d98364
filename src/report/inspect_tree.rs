//! A group as text: its members as a tree, a line each, as wide as the terminal.

use std::io::{self, Write};

use super::defused::one_line;
use super::inspect_text::{named, write_attributes};
use super::quantity;
use super::table::{Align, Table, write_members};
use super::terminal::{Role, Style};
use super::ways_text;
use crate::metadata::json::Json;
use crate::operation::inspect_result::{GroupResult, NodeResult, StatsResult, WaysResult};

/// The columns of the tree.
const COLUMNS: [(&str, Align); 8] = [
    ("node", Align::Left),
    ("shape", Align::Left),
    ("type", Align::Left),
    ("chunks", Align::Left),
    ("codecs", Align::Left),
    ("decoded", Align::Right),
    ("stored", Align::Right),
    ("ratio", Align::Right),
];

/// Writes it.
pub fn write(result: &GroupResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let name =
        if result.path == "/" { result.store.clone() } else { format!("{}{}", result.store, result.path) };
    let format = result.zarr_format.map_or_else(String::new, |format| format!(", Zarr v{format}"));
    let members = members_below(result);
    writeln!(output, "{}: group{format}; {members} below it", style.paint(Role::Heading, &name))?;
    write_members(&[("metadata", consolidated(result).to_owned())], style, output)?;
    write_attributes(Some(&result.attributes), style, output)?;
    if result.nodes.is_empty() {
        return Ok(());
    }
    writeln!(output)?;
    let mut table = tree(result, usize::MAX);
    // What `inspect` of the array shows goes first.
    table.leave_out(&["codecs", "chunks", "ratio"], style);
    table.write(style, output)?;
    write_stats(result, style, output)?;
    for (path, ways) in ways(result) {
        writeln!(output, "\n{}", style.paint(Role::Heading, &format!("{path}: {}", ways_text::HEADING)))?;
        ways_text::write(ways, style, output)?;
    }
    Ok(())
}

/// The nodes, at most so many; more have one row together. Bars are of stored bytes, of decoded ones where none are known.
pub(super) fn tree(result: &GroupResult, most: usize) -> Table {
    let mut table = Table::new(&COLUMNS);
    let (shown, rest) = result.nodes.split_at(result.nodes.len().min(most));
    for node in shown {
        let size = node.bytes_stored.or(node.bytes_logical.filter(|_| result.totals.bytes_stored.is_none()));
        table.push_sizes(row(node, &result.path), size.into_iter().collect());
    }
    let sum = |name: String, logical, stored| {
        let mut cells = vec![name];
        cells.resize(5, String::new());
        cells.extend(sizes(logical, stored));
        cells
    };
    if !rest.is_empty() {
        let all =
            |bytes: fn(&NodeResult) -> Option<u64>| rest.iter().filter_map(bytes).reduce(u64::saturating_add);
        let stored = all(|node| node.bytes_stored);
        let name = format!("... and {} more", quantity::counted(rest.len() as u64, "node"));
        table.push_sizes(sum(name, all(|node| node.bytes_logical), stored), stored.into_iter().collect());
    }
    if result.totals.arrays > 1 {
        table.push(
            sum("total".to_owned(), Some(result.totals.bytes_logical), result.totals.bytes_stored),
            None,
        );
    }
    table
}

/// The ways of each array that has some, by its path from the group.
pub(super) fn ways(result: &GroupResult) -> impl Iterator<Item = (String, &WaysResult)> {
    let path =
        |node: &NodeResult| one_line(below(&node.path, &result.path).trim_start_matches('/')).into_owned();
    result.nodes.iter().filter_map(move |node| Some((path(node), node.ways.as_ref()?)))
}

/// `3 arrays, 1 group`.
pub(super) fn members_below(result: &GroupResult) -> String {
    let num_of = |node_type: &str| {
        let num = result.nodes.iter().filter(|node| node.node_type == node_type).count();
        quantity::counted(num as u64, node_type)
    };
    format!("{}, {}", num_of("array"), num_of("group"))
}

/// Whether copies of the documents below a group are with its own.
pub(super) fn consolidated(result: &GroupResult) -> &'static str {
    if result.consolidated { "consolidated" } else { "not consolidated" }
}

fn write_stats(result: &GroupResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let Some(table) = stats(result) else { return Ok(()) };
    writeln!(output, "\n{}", style.paint(Role::Heading, "values"))?;
    table.write(style, output)
}

/// A row for each array whose values were read; without the columns of NaN and of missing values where none has any.
pub(super) fn stats(result: &GroupResult) -> Option<Table> {
    let read = || result.nodes.iter().filter_map(|node| Some((node, node.stats.as_ref()?)));
    read().next()?;
    let has_any = |part: fn(&StatsResult) -> u64| read().any(|(_, stats)| part(stats) > 0);
    let shown = [true, has_any(|stats| stats.nan), has_any(|stats| stats.missing), true, true, true, true];
    let columns = ["elements", "NaN", "missing", "least", "greatest", "mean", "deviation"];
    let columns = columns.into_iter().zip(shown).filter(|(_, shown)| *shown);
    let columns: Vec<_> = columns.map(|(name, _)| (name, Align::Right)).collect();
    let mut table = Table::new(&[[("array", Align::Left)].as_slice(), &columns].concat());
    let value = |value: Option<&Json>| match value {
        Some(Json::Number(number)) if !number.is_integer_literal() => quantity::figure(number.as_f64()),
        Some(value) => quantity::json(value),
        None => String::new(),
    };
    let number = |number: Option<f64>| number.map_or_else(String::new, quantity::figure);
    for (node, stats) in read() {
        let path = below(&node.path, &result.path).trim_start_matches('/');
        let figures = [
            quantity::count(stats.count),
            quantity::count(stats.nan),
            quantity::count(stats.missing),
            value(stats.min.as_ref()),
            value(stats.max.as_ref()),
            number(stats.mean),
            number(stats.standard_deviation),
        ];
        let figures = figures.into_iter().zip(shown).filter(|(_, shown)| *shown).map(|(text, _)| text);
        table.push(std::iter::once(path.replace('\n', "\\n")).chain(figures).collect(), None);
    }
    Some(table)
}

/// The path of a node from the group that is shown.
fn below<'a>(path: &'a str, root: &str) -> &'a str {
    path.strip_prefix(root.trim_end_matches('/')).unwrap_or(path)
}

/// A node's row: its name, shape, type, chunks and codecs; decoded and stored bytes, and their ratio.
fn row(node: &NodeResult, root: &str) -> Vec<String> {
    let below = below(&node.path, root);
    let depth = below.matches('/').count().saturating_sub(1);
    let name = below.rsplit('/').next().unwrap_or_default();
    let mark = match node.node_type {
        "group" => "/",
        "array" => "",
        _ => " (unreadable)",
    };
    let shape = |shape: &Option<Vec<u64>>| shape.as_deref().map_or_else(String::new, extents);
    let chunks = match &node.shard_shape {
        Some(shard) => format!("{} in {}", shape(&node.chunk_shape), extents(shard)),
        None => match grid_name(node).filter(|name| name != "regular") {
            Some(grid) if node.chunk_shape.is_some() => format!("{} in {grid}", shape(&node.chunk_shape)),
            Some(grid) => grid,
            None => shape(&node.chunk_shape),
        },
    };
    let names = node.dimension_names.as_deref();
    let mut cells = vec![
        format!("{}{name}{mark}", "  ".repeat(depth)),
        node.shape.as_deref().map_or_else(String::new, |shape| named(shape, names).replace(", ", ",")),
        node.data_type.as_ref().map_or_else(String::new, type_name),
        chunks,
        node.codecs.as_deref().map_or_else(String::new, chain),
    ];
    cells.extend(sizes(node.bytes_logical, node.bytes_stored));
    cells
}

/// Bytes decoded and stored, and how many times smaller they are stored.
fn sizes(decoded: Option<u64>, stored: Option<u64>) -> [String; 3] {
    #[expect(clippy::cast_precision_loss, reason = "a ratio of three digits")]
    let ratio = |decoded: u64, stored: u64| format!("{:.2}", decoded as f64 / stored as f64);
    let ratio =
        decoded.zip(stored.filter(|stored| *stored > 0)).map(|(decoded, stored)| ratio(decoded, stored));
    let text = |bytes: Option<u64>| bytes.map_or_else(String::new, quantity::bytes);
    [text(decoded), text(stored), ratio.unwrap_or_default()]
}

/// The name of the chunk grid.
fn grid_name(node: &NodeResult) -> Option<String> {
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
        let json = r#"["bytes",{"name":"sharding_indexed","configuration":{"codecs":[{"name":"bytes"},{"name":"zstd"}]}}]"#;
        assert_eq!(chain(Json::parse_str(json).unwrap().as_array().unwrap()), "bytes shard[bytes zstd]");
    }
}
