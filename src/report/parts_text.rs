//! The commands of a job in parts as text.

use std::io::{self, Write};

use super::quantity::{self, bytes, count, counted};
use super::table::write_members;
use super::terminal::{Role, Style};
use crate::operation::parts_result::{ChosenCompressor, InitResult, PartResult, StatusResult};

/// Writes what `--init` planned.
pub fn write_init(result: &InitResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let headline = format!("{} -> {}", result.source, result.destination);
    let state = if result.was_there { "the same plan is there already" } else { "planned in parts" };
    writeln!(output, "{}: {}", style.paint(Role::Heading, &headline), style.paint(Role::Good, state))?;
    let passes: Vec<String> = result
        .passes
        .iter()
        .map(|pass| format!("{}, {}", pass.name, counted(pass.partitions, "part")))
        .collect();
    let mut members = vec![
        ("parts", count(result.partitions)),
        ("passes", passes.join("; ")),
        ("memory", format!("{} for each part", bytes(result.memory_bytes))),
        ("bytes", format!("{} decoded in the largest part", bytes(result.bytes))),
        ("objects", format!("{} at most", count(result.objects))),
    ];
    if !result.compressors.is_empty() {
        members.push(("compressor", compressors(&result.compressors)));
    }
    members.push(("next", next(result)));
    write_members(&members, style, output)
}

/// What `--compress auto` chose: of an array alone, or array by array.
fn compressors(chosen: &[ChosenCompressor]) -> String {
    let one = |of: &ChosenCompressor| match of.path.as_str() {
        "/" => of.compress.clone(),
        path => format!("{} {}", path.trim_start_matches('/'), of.compress),
    };
    chosen.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What to run next.
fn next(result: &InitResult) -> String {
    let last = result.partitions.saturating_sub(1);
    format!("`--partition 0` to `--partition {last}`, then `--finish`")
}

/// Writes what a part did.
pub fn write_part(result: &PartResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let Some(pass) = result.pass else {
        return writeln!(output, "{}: {}", result.destination, style.paint(Role::Good, "complete already"));
    };
    if result.partition >= result.partitions {
        let parts = counted(result.partitions, "part");
        let nothing = format!("nothing to do for part {}: `{pass}` has {parts}", result.partition);
        return writeln!(output, "{}: {}", result.destination, style.paint(Role::Good, &nothing));
    }
    let part = format!("{}: {pass}, part {} of {}", result.destination, result.partition, result.partitions);
    let state = if result.was_done { "done already" } else { "done" };
    writeln!(output, "{}: {}", style.paint(Role::Heading, &part), style.paint(Role::Good, state))?;
    if result.was_done {
        return Ok(());
    }
    let mut members = Vec::new();
    if pass == "range" {
        // Such a part looks for the range of the values, and writes nothing.
        members.push(("stored", format!("{} read", bytes(result.bytes_read))));
    } else {
        members.push(("chunks", format!("{} written", count(result.chunks_written))));
        let stored = format!("{} read, {} written", bytes(result.bytes_read), bytes(result.bytes_written));
        members.push(("stored", stored));
    }
    members.push(("time", quantity::seconds(result.seconds)));
    write_members(&members, style, output)
}

/// Writes what is done of a job, and what is missing.
pub fn write_status(result: &StatusResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let heading = style.paint(Role::Heading, &result.destination);
    if result.complete {
        return writeln!(output, "{heading}: {}", style.paint(Role::Good, "complete"));
    }
    let state = if result.is_missing_any() {
        style.paint(Role::Warning, "parts are missing")
    } else {
        style.paint(Role::Good, "all parts are done: `--finish` publishes it")
    };
    writeln!(output, "{heading}: {state}")?;
    for pass in &result.passes {
        let done = format!("{} of {} done", count(pass.done), counted(pass.partitions, "part"));
        let missing =
            if pass.missing.is_empty() { String::new() } else { format!("; missing {}", pass.missing) };
        write_members(&[(pass.name, format!("{done}{missing}"))], style, output)?;
    }
    Ok(())
}
