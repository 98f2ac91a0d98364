//! The reports of a job in parts.

use super::block::{Block, Members, Report};
use super::quantity::{self, bytes, count, counted};
use super::terminal::Role;
use crate::operation::StatusResult;
use crate::operation::parts_result::{InitResult, PartResult};

fn parts_report<'a>(title: String, (role, state): (Role, &str), members: Members<'a>) -> Report<'a> {
    let blocks = vec![Block::Members(members)];
    Report { title, state: state.to_owned(), role: Some(role), blocks, ..Report::default() }
}

/// Returns the report of `--init`: the plan.
pub fn init(result: &InitResult) -> Report<'_> {
    let state = if result.was_there { "the same plan already exists" } else { "planned in parts" };
    let passes = result.passes.iter().map(|pass| format!("{}, {}", pass.name, counted(pass.partitions, "part")));
    let passes: Vec<String> = passes.collect();
    let mut members = vec![
        ("parts", count(result.partitions)),
        ("passes", passes.join("; ")),
        ("memory", format!("{} for each part", bytes(result.memory_bytes))),
        ("bytes", format!("{} decoded in the largest part", bytes(result.bytes))),
        ("objects", format!("at most {}", count(result.objects))),
    ];
    // The choices of `--compress auto`: for a single array, or array by array.
    let chosen = result.compressors.iter().map(|of| match of.path.as_str() {
        "/" => of.compress.clone(),
        path => format!("{} {}", path.trim_start_matches('/'), of.compress),
    });
    let chosen = chosen.collect::<Vec<_>>().join(", ");
    members.extend((!chosen.is_empty()).then_some(("compressor", chosen)));
    let last = result.partitions.saturating_sub(1);
    let names: Vec<&str> = result.passes.iter().map(|pass| pass.name).collect();
    let each = if names.len() > 1 { format!(" once for each pass ({})", names.join(", ")) } else { String::new() };
    let to = if last > 0 { format!(" to `{last}`") } else { String::new() };
    members.push(("next", format!("run `--partition 0`{to}{each}, then `--finish`")));
    parts_report(format!("{} -> {}", result.source, result.destination), (Role::Good, state), members)
}

/// Returns the report of a part.
pub fn part(result: &PartResult) -> Report<'_> {
    let PartResult { destination, partition, partitions, .. } = result;
    let Some(pass) = result.pass else {
        return parts_report(destination.clone(), (Role::Good, "complete already"), Vec::new());
    };
    if partition >= partitions {
        let parts = counted(*partitions, "part");
        let nothing = format!("nothing to do for part {partition}: `{pass}` has {parts}");
        return parts_report(destination.clone(), (Role::Good, &nothing), Vec::new());
    }
    let title = format!("{destination}: {pass}, part {partition} of {partitions}");
    if result.was_done {
        return parts_report(title, (Role::Good, "done already"), Vec::new());
    }
    let read = format!("{} read", bytes(result.bytes_read));
    let mut members = if pass == "range" {
        // A part of this pass finds the range of the values, and writes nothing.
        vec![("stored", read)]
    } else {
        let chunks = format!("{} written", count(result.chunks_written));
        vec![("chunks", chunks), ("stored", format!("{read}, {} written", bytes(result.bytes_written)))]
    };
    members.push(("time", quantity::seconds(result.seconds)));
    parts_report(title, (Role::Good, "done"), members)
}

/// Returns the report of `--status`: the parts that are done, and those that are missing.
pub fn status(result: &StatusResult) -> Report<'_> {
    let title = result.destination.clone();
    if result.complete {
        return parts_report(title, (Role::Good, "complete"), Vec::new());
    }
    let state = if result.is_missing_any() {
        (Role::Warning, "parts are missing")
    } else {
        (Role::Good, "all parts are done: `--finish` publishes it")
    };
    let members = result.passes.iter().map(|pass| {
        let missing = if pass.missing.is_empty() { String::new() } else { format!("; missing {}", pass.missing) };
        (pass.name, format!("{} of {} done{missing}", count(pass.done), counted(pass.partitions, "part")))
    });
    parts_report(title, state, members.collect())
}
