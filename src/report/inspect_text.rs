//! `inspect` as text: the metadata, then a row for each codec.

use std::io::{self, Write};

use super::table::{Align, Table, write_members};
use super::terminal::{Role, Style};
use super::{inspect_preview, inspect_values, quantity};
use crate::metadata::json::Json;
use crate::operation::inspect_result::{ArrayResult, Decoded, StageRow};

/// The most attributes that a terminal shows.
const MAX_ATTRIBUTES: usize = 1000;

/// The most characters of a dimension's name that text shows.
const MAX_NAME: usize = 200;

/// Writes it.
pub fn write(result: &ArrayResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let name =
        if result.path == "/" { result.store.clone() } else { format!("{}{}", result.store, result.path) };
    let format = result.zarr_format.map_or_else(String::new, |format| format!(", Zarr v{format}"));
    writeln!(output, "{}: {}{format}", style.paint(Role::Heading, &name), result.node_type)?;
    write_members(&members(result), style, output)?;
    write_attributes(result.attributes.as_ref(), style, output)?;
    if let Some((heading, table)) = pipeline(result) {
        writeln!(output)?;
        writeln!(output, "{}", style.paint(Role::Heading, &heading))?;
        table.write(style, output)?;
    }
    inspect_values::write(result, style, output)?;
    match &result.preview {
        Some(preview) => inspect_preview::write(preview, style, output),
        None => Ok(()),
    }
}

/// The pipeline as a table, under its heading.
pub(super) fn pipeline(result: &ArrayResult) -> Option<(String, Table)> {
    let stages = result.pipeline.as_ref()?;
    let is_sharded = stages.iter().any(|stage| stage.pipeline.is_some());
    let unit = if is_sharded { "shard" } else { "chunk" };
    let mut table = Table::new(&[
        ("codec", Align::Left),
        ("kind", Align::Left),
        ("data type", Align::Left),
        ("shape", Align::Left),
        ("fill value", Align::Left),
        ("bytes", Align::Right),
    ]);
    push_stages(result.decoded.as_ref(), stages, 0, &mut table);
    Some((format!("pipeline of a {unit}, in encode order"), table))
}

/// What the metadata and the storage say, label by label.
pub(super) fn members(result: &ArrayResult) -> Vec<(&'static str, String)> {
    let mut members = Vec::new();
    let mut push = |label, value: Option<String>| {
        if let Some(value) = value {
            members.push((label, value));
        }
    };
    push("shape", result.shape.as_deref().map(|shape| named(shape, result.dimension_names.as_deref())));
    let v2 =
        result.data_type_v2.as_ref().map_or_else(String::new, |v2| format!(" (v2: {})", quantity::json(v2)));
    push("data type", result.data_type.as_ref().map(|name| quantity::json(name) + &v2));
    push("fill value", result.fill_value.as_ref().map(quantity::json));
    push("chunk shape", result.chunk_shape.as_deref().map(quantity::shape));
    push("shard shape", result.shard_shape.as_deref().map(quantity::shape));
    let is_regular = |grid: &&Json| grid.get("name").and_then(Json::as_str) == Some("regular");
    let grid = result.chunk_grid.as_ref().filter(|grid| !is_regular(grid));
    push("chunk grid", grid.map(extension));
    push("key encoding", result.chunk_key_encoding.as_ref().map(extension));
    if let Some(storage) = &result.storage {
        let of = |present: Option<u64>, possible: Option<u64>| {
            let text = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), quantity::count);
            format!("{} of {} stored", text(present), text(possible))
        };
        push("chunks", Some(of(storage.chunks_present, storage.chunks)));
        push("shards", storage.shards.map(|shards| of(storage.shards_present, Some(shards))));
        let logical = storage
            .bytes_logical
            .map_or_else(String::new, |bytes| format!(", {} decoded", quantity::bytes(bytes)));
        push("bytes", Some(format!("{} stored{logical}", quantity::bytes(storage.bytes_stored))));
        let unknown = storage.unknown_keys.len();
        push(
            "other keys",
            storage.unknown_keys.first().map(|first| format!("{unknown}, the first `{first}`")),
        );
    }
    members
}

/// `time=12, lat=180`; lengths alone where there are no names.
pub(super) fn named(shape: &[u64], names: Option<&[Option<String>]>) -> String {
    let Some(names) = names.filter(|names| names.len() == shape.len() && !shape.is_empty()) else {
        return quantity::shape(shape);
    };
    let lengths: Vec<String> = shape
        .iter()
        .zip(names)
        .map(|(length, name)| {
            name.as_ref().map_or_else(
                || length.to_string(),
                |name| format!("{}={length}", quantity::shortened(name.clone(), MAX_NAME)),
            )
        })
        .collect();
    lengths.join(", ")
}

/// An extension point: its name, and its configuration where there is one.
fn extension(metadata: &Json) -> String {
    let configuration =
        metadata.get("configuration").map_or_else(String::new, |json| format!(" {}", quantity::json(json)));
    metadata
        .get("name")
        .map_or_else(|| quantity::json(metadata), |name| quantity::json(name) + &configuration)
}

/// Attributes under their heading, where there are any.
pub(super) fn write_attributes(
    attributes: Option<&Json>,
    style: Style,
    output: &mut dyn Write,
) -> io::Result<()> {
    let Some(attributes) = attributes.and_then(Json::as_object).filter(|attributes| !attributes.is_empty())
    else {
        return Ok(());
    };
    writeln!(output)?;
    writeln!(output, "{}", style.paint(Role::Heading, "attributes"))?;
    let is_whole = style.width().is_none();
    let shown = if is_whole { usize::MAX } else { MAX_ATTRIBUTES };
    let text = |value: &Json| if is_whole { value.to_string() } else { quantity::json_text(value) };
    let members: Vec<(&str, String)> =
        attributes.iter().take(shown).map(|(name, value)| (name, text(value))).collect();
    write_members(&members, style, output)?;
    match attributes.len().saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(output, "  ... and {} more", quantity::count(more as u64)),
    }
}

fn push_stages(decoded: Option<&Decoded>, stages: &[StageRow], depth: usize, table: &mut Table) {
    let indent = "  ".repeat(depth);
    if let Some(decoded) = decoded {
        let name = if depth == 0 { "(decoded)" } else { "(inner chunk)" };
        table.push(
            vec![
                format!("{indent}{name}"),
                String::new(),
                quantity::json(&decoded.data_type),
                decoded.shape.as_deref().map_or_else(String::new, quantity::shape),
                decoded.fill_value.as_ref().map_or_else(String::new, quantity::json),
                decoded.bytes.map_or_else(String::new, quantity::count),
            ],
            None,
        );
    }
    for stage in stages {
        let text = |json: &Option<Json>| json.as_ref().map_or_else(String::new, quantity::json);
        // A shard's own rows say what its configuration says.
        let configuration = stage.configuration.as_ref().filter(|_| stage.pipeline.is_none());
        table.push(
            vec![
                format!("{indent}{}", stage.codec),
                stage.kind.unwrap_or("unknown").to_owned(),
                text(&stage.data_type),
                stage.shape.as_deref().map_or_else(String::new, quantity::shape),
                text(&stage.fill_value),
                stage.bytes.map_or_else(|| "varies".to_owned(), quantity::count),
            ],
            configuration
                .filter(|json| json.as_object().is_none_or(|object| !object.is_empty()))
                .map(quantity::json),
        );
        if let Some(inner) = &stage.pipeline {
            push_stages(stage.inner_decoded.as_deref(), inner, depth + 1, table);
        }
    }
}
