//! `transcode` as a page: what became of each array, and what a quantisation did to its values.

use maud::{Markup, html};

use super::comparison;
use super::findings::findings;
use super::page::{Header, page};
use super::parts::{self, Ids, capital, heading, members};
use super::text;
use crate::operation::drawing::ComparedArray;
use crate::operation::transcode_result::{NodeResult, TranscodeResult};
use crate::report::quantity::{self, bytes, figure};
use crate::report::table::{Align, Table};
use crate::report::transcode_text as words;

/// Arrays that have a row; of more, the sums are said.
const MOST_ARRAYS: usize = 1000;

/// Arrays that have a section of their own.
const MOST_SECTIONS: usize = 100;

/// The page; `compared` are the pictures of quantised arrays.
pub fn transcode(result: &TranscodeResult, compared: &[ComparedArray]) -> String {
    let ids = &mut Ids::default();
    let title = format!("{} \u{2192} {}", result.source, result.destination);
    let header = Header { command: "transcode", title, summary: summary(result) };
    let arrays = words::arrays(result);
    let main = html! {
        @if !result.warnings.is_empty() { (heading(2, "Findings")) (findings(&result.warnings)) }
        @if let [node] = result.nodes.as_slice() {
            (quantization(node, 2, compared, ids))
            (heading(2, "What was done"))
            (members(&words::node_members(node, result.dry_run)))
            (verify(node))
            (sizes(&arrays, ids))
        } @else {
            (sizes(&arrays, ids))
            (heading(2, "Arrays"))
            (members(&words::sums(result)))
            @for node in arrays.iter().take(MOST_SECTIONS) {
                (heading(3, &node.path))
                (members(&words::node_members(node, result.dry_run)))
                (verify(node))
                (quantization(node, 4, compared, ids))
            }
            @if arrays.len() > MOST_SECTIONS {
                p { "... and " (quantity::counted((arrays.len() - MOST_SECTIONS) as u64, "array")) " more, which the table above and `--json` have." }
            }
        }
    };
    page(&header, &main)
}

fn summary(result: &TranscodeResult) -> Markup {
    let (class, state) = if result.dry_run {
        ("warning", "plan, nothing written")
    } else if result.complete {
        ("good", "complete")
    } else {
        ("error", "not complete")
    };
    let arrays = words::arrays(result);
    let mut shown = Vec::new();
    let totals = &result.totals.counts;
    let is_known = arrays.iter().all(|node| node.counts.bytes_written.is_some());
    match (words::source_bytes(result), totals.bytes_written.filter(|_| is_known)) {
        (Some(before), Some(after)) => {
            let ratio = quantity::ratio(before, after).unwrap_or_default();
            // A line is not broken between a number and its unit.
            let [before, after] = [before, after].map(|size| bytes(size).replace(' ', "\u{a0}"));
            shown.push(("Stored", format!("{before} \u{2192} {after}"), ratio));
        }
        (_, Some(after)) => shown.push(("Stored", bytes(after), String::new())),
        (Some(before), None) => shown.push(("Stored before", bytes(before), String::new())),
        (None, None) => {}
    }
    if let [node] = arrays.as_slice()
        && let Some(quantization) = &node.quantization
    {
        if let Some(data_type) = &quantization.data_type {
            let step =
                quantization.step.map_or_else(String::new, |step| format!("in steps of {}", figure(step)));
            shown.push(("Codes", data_type.clone(), step));
        }
        if let Some(error) = quantization.max_abs_error {
            let bound =
                quantization.bound.map_or_else(String::new, |bound| format!("bound {}", figure(bound)));
            shown.push(("Greatest error", figure(error), bound));
        }
        if let Some(error) = quantization.rms_error {
            shown.push(("Root-mean-square error", figure(error), String::new()));
        }
    } else {
        shown.push(("Arrays", quantity::count(arrays.len() as u64), String::new()));
    }
    if !result.dry_run {
        let time = words::time(result);
        let (time, rate) = time.split_once(", ").unwrap_or((&time, ""));
        shown.push(("Time", time.to_owned(), rate.to_owned()));
    }
    html! {
        p class={ "verdict " (class) } { (state) }
        (parts::figures(&shown))
    }
}

/// What a quantisation did: figures of all values, pictures of some.
fn quantization(node: &NodeResult, depth: u8, compared: &[ComparedArray], ids: &mut Ids) -> Markup {
    let Some(quantization) = &node.quantization else { return html! {} };
    let pictures = compared.iter().find(|compared| compared.path == node.path);
    html! {
        (heading(depth, &capital(&words::quantized_to(quantization))))
        (members(&words::describe_quantization(quantization)))
        @match pictures.map(|pictures| &pictures.comparison) {
            Some(Ok(comparison)) => { (comparison::pictures(comparison, quantization, ids)) }
            Some(Err(message)) => { p { "The pictures could not be drawn: " bdi { (text(message)) } } }
            None => { @if quantization.max_abs_error.is_some() && !compared.is_empty() {
                p.faint { "Pictures are drawn of the first " (compared.len()) " quantised arrays." }
            } }
        }
    }
}

fn verify(node: &NodeResult) -> Markup {
    html! {
        @if let Some(verify) = &node.verify {
            @let (outcome, compared) = words::verified(verify);
            p { "Verified: " strong class=(if verify.equal { "good" } else { "error" }) { (outcome) } (compared) "." }
        }
    }
}

/// Stored bytes of each array before and after, as numbers and as bars.
fn sizes(arrays: &[&NodeResult], ids: &mut Ids) -> Markup {
    let mut table = Table::new(&[
        ("array", Align::Left),
        ("route", Align::Left),
        ("type", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("ratio", Align::Right),
    ]);
    let (shown, rest) = arrays.split_at(arrays.len().min(MOST_ARRAYS));
    for (node, words) in shown.iter().zip(words::rows(shown).body()) {
        let (before, after) = (node.counts.bytes_source, node.counts.bytes_written);
        let size = |size: Option<u64>| size.map_or_else(|| "not known".to_owned(), bytes);
        let ratio = before.zip(after).and_then(|(before, after)| quantity::ratio(before, after));
        let name = if node.path == "/" { "the array" } else { node.path.trim_start_matches('/') };
        let [_, route, change, ..] = words.cells.as_slice() else { continue };
        let cells = [name, route, change, &size(before), &size(after), &ratio.unwrap_or_default()];
        // Where the first is not known, the second would have its colour.
        table.push_sizes(cells.map(str::to_owned).to_vec(), vec![before.unwrap_or(0), after.unwrap_or(0)]);
    }
    if !rest.is_empty() {
        let sum =
            |bytes: fn(&NodeResult) -> Option<u64>| rest.iter().filter_map(|node| bytes(node)).sum::<u64>();
        let (before, after) = (sum(|node| node.counts.bytes_source), sum(|node| node.counts.bytes_written));
        let name = format!("... and {} more", quantity::counted(rest.len() as u64, "array"));
        let cells = [&name, "", "", &bytes(before), &bytes(after), ""];
        table.push_sizes(cells.map(str::to_owned).to_vec(), vec![before, after]);
    }
    html! {
        @if !arrays.is_empty() {
            (heading(2, "Sizes"))
            (parts::table("Stored chunks: the upper bar is before, the lower after", &table, ids))
        }
    }
}
