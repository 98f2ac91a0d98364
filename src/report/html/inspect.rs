//! `inspect` as a page: an array with its values, a group with its tree.

use maud::{Markup, html};

use super::chart;
use super::findings::findings;
use super::level::{self, Drawn};
use super::page::{Header, page};
use super::parts::{self, Ids, capital, code, heading, members};
use super::picture::{Pixels, colour_bar, picture};
use super::scale::Scale;
use super::text;
use crate::metadata::json::Json;
use crate::operation::drawing::finite_range;
use crate::operation::inspect_result::{ArrayResult, GroupResult, InspectResult, PreviewResult, WaysResult};
use crate::report::{
    inspect_information, inspect_preview, inspect_text, inspect_tree, inspect_values, quantity, ways_text,
};

/// Nodes of a tree, and bins of a histogram, that have a row; of more, the sums are said.
const MOST_NODES: usize = 2000;

/// Attributes that are written, and letters of one.
const MOST_ATTRIBUTES: (usize, usize) = (200, 1000);

/// A STORE, and what was found or why it cannot be read.
#[derive(Debug)]
pub struct Inspected<'a> {
    /// STORE, as the user named it.
    pub store: String,
    /// What is in it, or what happened, in one line.
    pub result: Result<&'a InspectResult, String>,
}

/// The page of one STORE or of several.
pub fn inspect(stores: &[Inspected<'_>]) -> String {
    let ids = &mut Ids::default();
    if let [Inspected { result: Ok(result), .. }] = stores {
        let header = Header { command: "inspect", title: name(result), summary: summary(result) };
        return page(&header, &body(result, 2, ids));
    }
    let title = quantity::counted(stores.len() as u64, "store");
    let header = Header { command: "inspect", title, summary: html! {} };
    let main = html! {
        @for inspected in stores {
            section {
                @match &inspected.result {
                    Ok(result) => { (heading(2, &name(result))) (summary(result)) (body(result, 3, ids)) }
                    Err(message) => { (heading(2, &inspected.store)) p.error { "not read: " bdi { (text(message)) } } }
                }
            }
        }
    };
    page(&header, &main)
}

fn name(result: &InspectResult) -> String {
    let (store, path) = match result {
        InspectResult::Array(array) => (&array.store, &array.path),
        InspectResult::Group(group) => (&group.store, &group.path),
    };
    if path == "/" { store.clone() } else { format!("{store}{path}") }
}

/// What it is, and the figures that say most.
fn summary(result: &InspectResult) -> Markup {
    let format = |format: Option<u64>| format.map_or_else(String::new, |format| format!(", Zarr v{format}"));
    match result {
        InspectResult::Array(array) => html! {
            p { (array.node_type) (format(array.zarr_format)) }
            (parts::figures(&array_figures(array)))
        },
        InspectResult::Group(group) => html! {
            p { "group" (format(group.zarr_format)) "; " (inspect_tree::members_below(group)) " below it" }
            (parts::figures(&group_figures(group)))
        },
    }
}

fn array_figures(array: &ArrayResult) -> Vec<(&'static str, String, String)> {
    let mut figures = Vec::new();
    if let Some(shape) = &array.shape {
        let elements = shape.iter().try_fold(1_u64, |product, length| product.checked_mul(*length));
        let elements = elements.map_or_else(String::new, |elements| quantity::counted(elements, "element"));
        figures.push(("Shape", shape_text(shape), elements));
    }
    if let Some(data_type) = &array.data_type {
        let name = quantity::json(data_type.get("name").unwrap_or(data_type));
        figures.push(("Data type", quantity::shortened(name, 60), String::new()));
    }
    if let Some(storage) = &array.storage {
        let stored = quantity::bytes(storage.bytes_stored);
        let logical = storage.bytes_logical;
        let of = logical.map_or_else(String::new, |bytes| format!("of {} decoded", quantity::bytes(bytes)));
        figures.push(("Stored", stored, of));
        let ratio = logical.and_then(|logical| quantity::ratio(logical, storage.bytes_stored));
        figures.extend(
            ratio
                .map(|ratio| ("Stored is", ratio, "than decoded".to_owned()))
                .filter(|(_, ratio, _)| ratio.contains("times")),
        );
    }
    figures
}

fn group_figures(group: &GroupResult) -> Vec<(&'static str, String, String)> {
    let mut figures = vec![("Arrays", quantity::count(group.totals.arrays), String::new())];
    let logical = group.totals.bytes_logical;
    figures.push(("Decoded", quantity::bytes(logical), String::new()));
    if let Some(stored) = group.totals.bytes_stored {
        let ratio = quantity::ratio(logical, stored).unwrap_or_default();
        figures.push(("Stored", quantity::bytes(stored), ratio));
    }
    figures
}

fn shape_text(shape: &[u64]) -> String {
    if shape.is_empty() {
        return quantity::shape(shape);
    }
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" \u{d7} ")
}

fn body(result: &InspectResult, depth: u8, ids: &mut Ids) -> Markup {
    html! {
        @if !result.warnings().is_empty() {
            (heading(depth, "Findings"))
            (findings(result.warnings()))
        }
        @match result {
            InspectResult::Array(array) => { (array_body(array, depth, ids)) }
            InspectResult::Group(group) => { (group_body(group, depth, ids)) }
        }
    }
}

fn array_body(array: &ArrayResult, depth: u8, ids: &mut Ids) -> Markup {
    html! {
        (values(array, depth, ids))
        (heading(depth, "Metadata and storage"))
        (members(&inspect_text::members(array)))
        @if let Some(storage) = &array.storage { @if storage.unknown_keys.len() > 1 {
            details { summary { (quantity::counted(storage.unknown_keys.len() as u64, "other key")) }
                ul { @for key in &storage.unknown_keys { li { code { bdi { (text(key)) } } } } } }
        } }
        @if let Some((caption, table)) = inspect_text::pipeline(array) {
            (heading(depth, "Pipeline"))
            (parts::table(&caption, &table, ids))
        }
        (attributes(array.attributes.as_ref(), depth))
        @if let Some(suggestion) = &array.suggestion {
            (heading(depth, "Suggestion"))
            (members(&inspect_values::suggestion_members(suggestion)))
            p { "The command:" } (code(&suggestion.command))
            p { "The codecs, as JSON:" } (code(&Json::Array(suggestion.codecs.clone()).to_string()))
            p { "The whole chain, as JSON:" } (code(&Json::Array(suggestion.chain.clone()).to_string()))
        }
        @if let Some(tried) = &array.ways {
            (heading(depth, &capital(ways_text::HEADING)))
            (ways(tried, ids))
        }
        @if let Some(information) = &array.information {
            (heading(depth, &capital(&inspect_information::heading(information))))
            (parts::table("Information along each dimension", &inspect_information::table(information), ids))
            p { (capital(&inspect_information::verdict(information))) "." }
        }
        @if let Some(chunk) = &array.chunk {
            (heading(depth, &capital(&inspect_values::chunk_heading(chunk))))
            (members(&inspect_values::chunk_members(chunk)))
            @if !chunk.stages.is_empty() {
                (parts::table("The chunk's way back through the codecs", &inspect_values::chunk_stages(chunk), ids))
            }
        }
    }
}

/// What is in the chunks: figures and pictures.
fn values(array: &ArrayResult, depth: u8, ids: &mut Ids) -> Markup {
    let drawing = array.drawing.clone().unwrap_or_default();
    let note = drawing.note.as_deref();
    let preview = array.preview.as_ref().or(array.image.as_ref());
    if array.stats.is_none() && array.drawing.is_none() && preview.is_none() {
        return html! {};
    }
    html! {
        (heading(depth, "Values"))
        @if let Some(stats) = &array.stats { (members(&inspect_values::stats_members(stats))) }
        @if let Some(note) = note { p { bdi { (text(note)) } } }
        @if let Some(preview) = preview { (slice(preview)) }
        div.charts {
            @if let Some(level) = &drawing.level { (level::drawn(Drawn { level, name: "values" }, ids)) }
            @if let Some(histogram) = &drawing.histogram {
                figure {
                    (chart::histogram(histogram, &[], "Histogram of the values", ids))
                    figcaption {
                        strong { "Histogram" } " of "
                        @if drawing.is_of_all { "all values" } @else { "the values of the level beside it" }
                        " in " (quantity::counted(histogram.counts.len() as u64, "bin")) " from "
                        (quantity::figure(histogram.min)) " to " (quantity::figure(histogram.max))
                        @if histogram.below > 0 { "; below: " (quantity::count(histogram.below)) }
                        @if histogram.above > 0 { "; above: " (quantity::count(histogram.above)) }
                        "."
                    }
                }
            }
        }
        @if let Some(histogram) = &array.histogram {
            details {
                summary { "The histogram in numbers" }
                (parts::first_rows("Values in each bin", &inspect_values::bins(histogram), MOST_NODES, ids))
            }
        }
    }
}

/// The slice of `--preview`.
fn slice(preview: &PreviewResult) -> Markup {
    let values: Vec<f64> = preview.values.iter().flat_map(|row| row.0.iter().copied()).collect();
    let columns = preview.values.first().map_or(1, |row| row.0.len());
    let scale = Scale::of(finite_range(&values));
    let reduced = if preview.reduction == "mean" { "means of finite values" } else { "nearest values" };
    let words = format!("{}; {reduced}", inspect_preview::heading(preview));
    html! {
        (picture(Pixels { values: &values, columns }, scale, &text(&words), &html! { bdi { (text(&words)) } "." }))
        (colour_bar(scale, "value", values.iter().any(|value| value.is_nan())))
    }
}

fn attributes(attributes: Option<&Json>, depth: u8) -> Markup {
    let Some(attributes) = attributes.and_then(Json::as_object).filter(|attributes| !attributes.is_empty())
    else {
        return html! {};
    };
    let (most, letters) = MOST_ATTRIBUTES;
    let shown: Vec<(&str, String)> = attributes
        .iter()
        .take(most)
        .map(|(name, value)| (name, quantity::shortened(quantity::json_text(value), letters)))
        .collect();
    let more = attributes.len().saturating_sub(most);
    html! {
        (heading(depth, "Attributes"))
        (members(&shown))
        @if more > 0 { p { "... and " (quantity::count(more as u64)) " more." } }
    }
}

/// Ways to store an array smaller.
fn ways(tried: &WaysResult, ids: &mut Ids) -> Markup {
    html! {
        (members(&ways_text::members(tried)))
        (parts::table("What each way comes to", &ways_text::table(tried), ids))
        @for note in ways_text::notes(tried) { p { (note) } }
        @for command in ways_text::commands(tried) { (code(command)) }
    }
}

fn group_body(group: &GroupResult, depth: u8, ids: &mut Ids) -> Markup {
    let of = if group.totals.bytes_stored.is_some() { "stored" } else { "decoded" };
    html! {
        @if !group.nodes.is_empty() {
            (heading(depth, "Tree"))
            (parts::table(&format!("The nodes; bars are as long as arrays are large {of}"), &inspect_tree::tree(group, MOST_NODES), ids))
        }
        @if let Some(stats) = inspect_tree::stats(group) {
            (heading(depth, "Values"))
            (parts::table("What was found in the chunks of each array", &stats, ids))
        }
        @for (path, tried) in inspect_tree::ways(group) {
            (heading(depth, &format!("{path}: {}", ways_text::HEADING)))
            (ways(tried, ids))
        }
        (heading(depth, "Metadata"))
        (members(&[("documents", inspect_tree::consolidated(group).to_owned())]))
        (attributes(Some(&group.attributes), depth))
    }
}
