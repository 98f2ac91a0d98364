//! A group as text: its members as a tree, a line each, within 80 columns.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::inspect_text::write_attributes;
use super::quantity;
use super::table::WIDTH;
use super::terminal::{Role, Style};
use crate::metadata::json::Json;
use crate::operation::inspect_result::{GroupResult, NodeResult};

/// Columns of a line: name, shape, data type, chunks, codecs, logical size.
const COLUMNS: usize = 6;

/// No column is cut to fewer letters.
const LEAST_WIDTH: usize = 6;

/// Writes it.
pub fn write(result: &GroupResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let name =
        if result.path == "/" { result.store.clone() } else { format!("{}{}", result.store, result.path) };
    let format = result.zarr_format.map_or_else(String::new, |format| format!(", Zarr v{format}"));
    let num_of = |node_type: &str| result.nodes.iter().filter(|node| node.node_type == node_type).count();
    let members = format!("{}, {}", counted(num_of("array"), "array"), counted(num_of("group"), "group"));
    writeln!(output, "{}: group{format}; {members} below it", style.paint(Role::Heading, &name))?;
    write_attributes(Some(&result.attributes), style, output)?;
    if result.nodes.is_empty() {
        return Ok(());
    }
    writeln!(output)?;
    let heading = ["node", "shape", "data type", "chunks", "codecs", "size"].map(str::to_owned);
    let mut rows = vec![heading];
    rows.extend(result.nodes.iter().map(|node| row(node, &result.path)));
    let widths = widths(&rows);
    for (number, row) in rows.iter().enumerate() {
        let line = line(row, &widths);
        if number == 0 {
            writeln!(output, "{}", style.paint(Role::Faint, &line))?;
        } else {
            writeln!(output, "{line}")?;
        }
    }
    Ok(())
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", quantity::count(count as u64))
}

fn row(node: &NodeResult, root: &str) -> [String; COLUMNS] {
    let below = node.path.strip_prefix(root.trim_end_matches('/')).unwrap_or(&node.path);
    let depth = below.matches('/').count().saturating_sub(1);
    let name = below.rsplit('/').next().unwrap_or_default().escape_debug();
    let mark = match node.node_type {
        "group" => "/",
        "array" => "",
        _ => " (unreadable)",
    };
    let shape = |shape: &Option<Vec<u64>>| shape.as_deref().map_or_else(String::new, extents);
    let chunks = match &node.shard_shape {
        Some(shard) => format!("{} in {}", shape(&node.chunk_shape), extents(shard)),
        None => shape(&node.chunk_shape),
    };
    [
        format!("{}{name}{mark}", "  ".repeat(depth)),
        shape(&node.shape),
        node.data_type.as_ref().map_or_else(String::new, type_name),
        chunks,
        node.codecs.as_deref().map_or_else(String::new, chain),
        node.bytes_logical.map_or_else(String::new, quantity::bytes),
    ]
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

/// The width of each column: what it needs, the widest cut until all fit.
fn widths(rows: &[[String; COLUMNS]]) -> [usize; COLUMNS] {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let room = WIDTH - 2 * (COLUMNS - 1);
    while widths.iter().sum::<usize>() > room {
        match widths.iter_mut().max() {
            Some(widest) if *widest > LEAST_WIDTH => *widest -= 1,
            _ => break,
        }
    }
    widths
}

fn line(row: &[String; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let mut line = String::new();
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        let cell = cut(cell, *width);
        if column + 1 == COLUMNS {
            let _ = write!(line, "{cell:>width$}");
        } else {
            let _ = write!(line, "{cell:<width$}  ");
        }
    }
    line.truncate(line.trim_end().len());
    line
}

fn cut(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_owned();
    }
    cell.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_to_80_columns() {
        let long = "x".repeat(60);
        let rows = [
            ["node", "shape", "data type", "chunks", "codecs", "size"].map(str::to_owned),
            [&long, "1000,1000", "float32", &long, "bytes zstd", "3.81 MiB"].map(str::to_owned),
        ];
        let widths = widths(&rows);
        let line = line(&rows[1], &widths);
        assert!(line.chars().count() <= 80 && line.ends_with("  bytes zstd  3.81 MiB"), "{line}");
        assert_eq!(line.matches('…').count(), 2);
    }

    #[test]
    fn chain_shows_what_is_inside_shards() {
        let json = r#"["bytes",{"name":"sharding_indexed","configuration":{"codecs":[{"name":"bytes"},{"name":"zstd"}]}}]"#;
        assert_eq!(chain(Json::parse_str(json).unwrap().as_array().unwrap()), "bytes shard[bytes zstd]");
    }
}
