//! `transcode` as text: what became of each array, and what a quantisation did to its values.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::defused::one_line;
use super::plan_text;
use super::quality_text;
use super::quantity::{self, bytes, count, counted, figure};
use super::sample_text;
use super::table::{Align, Table, wrapped, write_members};
use super::terminal::{Role, Style};
use super::width::width;
use crate::metadata::json::Json;
use crate::operation::sample_result::EstimateResult;
use crate::operation::transcode_result::{
    ArrayDescription, Counts, NodeResult, QuantizationResult, RouteName, TranscodeResult, VerifyResult,
};

/// Writes it.
pub fn write(result: &TranscodeResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let headline = format!("{} -> {}", result.source, result.destination);
    let state = if result.dry_run {
        style.paint(Role::Warning, "plan, nothing written")
    } else if result.complete {
        style.paint(Role::Good, "complete")
    } else {
        style.paint(Role::Error, "not complete")
    };
    writeln!(output, "{}: {state}", style.paint(Role::Heading, &headline))?;
    match result.nodes.as_slice() {
        [node] => write_node(node, result.dry_run, style, output)?,
        _ => write_tree(result, style, output)?,
    }
    if let Some(plan) = &result.plan {
        write_members(&plan_text::planned(plan), style, output)?;
    }
    if !result.dry_run {
        write_members(&[("time", time(result))], style, output)?;
    }
    Ok(())
}

/// A row for each array of a hierarchy.
pub(super) fn rows(arrays: &[&NodeResult]) -> Table {
    let mut table = Table::new(&[
        ("array", Align::Left),
        ("route", Align::Left),
        ("type", Align::Left),
        ("stored", Align::Right),
        ("", Align::Left),
    ]);
    for node in arrays {
        let types = [&node.source, &node.destination].map(|side| side.as_ref().map(type_text));
        let change = match types {
            [Some(before), Some(after)] if before != after => format!("{before} -> {after}"),
            [_, after] => after.unwrap_or_default(),
        };
        let before = node.counts.bytes_source.map(bytes).unwrap_or_default();
        let after = match node.counts.bytes_written.map(bytes) {
            Some(after) if after == before => String::new(),
            after => {
                let estimated = || node.estimate.as_ref().map(sample_text::about);
                format!("-> {}", estimated().or(after).unwrap_or_else(|| "?".to_owned()))
            }
        };
        let cells =
            vec![node.path.trim_start_matches('/').to_owned(), route_name(node.route), change, before, after];
        table.push(cells, None);
    }
    table
}

/// The nodes of a hierarchy: a row for each array, what a quantisation did below them, and the sums.
fn write_tree(result: &TranscodeResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let arrays: Vec<&NodeResult> = arrays(result);
    rows(&arrays).write(style, output)?;
    for node in &arrays {
        if let Some(quantization) = &node.quantization {
            let heading = format!("{}: {}", node.path.trim_start_matches('/'), quantized_to(quantization));
            writeln!(output, "{}", style.paint(Role::Heading, &heading))?;
            write_members(&describe_quantization(quantization), style, output)?;
        }
    }
    write_verified(&arrays, style, output)?;
    write_members(&sums(result), style, output)
}

/// What `--verify` found: a line for all arrays that are as they should be, unless each is asked for, and one for each other.
fn write_verified(arrays: &[&NodeResult], style: Style, output: &mut dyn Write) -> io::Result<()> {
    let of_arrays = || arrays.iter().filter_map(|node| Some((node, node.verify.as_ref()?)));
    let (mut sum, mut right) = (VerifyResult { equal: true, ..VerifyResult::default() }, 0);
    for (_, verify) in of_arrays().filter(|(_, verify)| verify.equal) {
        right += 1;
        sum.elements = sum.elements.saturating_add(verify.elements);
        sum.bound = sum.bound.or(verify.bound);
        sum.max_abs_error = [sum.max_abs_error, verify.max_abs_error].into_iter().flatten().reduce(f64::max);
    }
    let is_summed = right > 1 && !style.is_verbose();
    for (node, verify) in of_arrays().filter(|(_, verify)| !(verify.equal && is_summed)) {
        write_verify(&format!("{} ", one_line(node.path.trim_start_matches('/'))), verify, style, output)?;
    }
    if is_summed {
        write_verify(&format!("{} ", counted(right, "array")), &sum, style, output)?;
    }
    Ok(())
}

/// The arrays among the nodes.
pub(super) fn arrays(result: &TranscodeResult) -> Vec<&NodeResult> {
    result.nodes.iter().filter(|node| node.node_type == "array").collect()
}

/// The sums of a hierarchy, label by label.
pub(super) fn sums(result: &TranscodeResult) -> Vec<(&'static str, String)> {
    let arrays = arrays(result);
    let groups = result.nodes.len() - arrays.len();
    let mut members = vec![(
        "nodes",
        format!("{}, {}", counted(arrays.len() as u64, "array"), counted(groups as u64, "group")),
    )];
    if result.totals.other_keys > 0 {
        members.push(("other keys", format!("{}, copied", count(result.totals.other_keys))));
    }
    if !result.spared.is_empty() {
        let names: Vec<&str> = result.spared.iter().map(|path| path.trim_start_matches('/')).collect();
        members.push(("spared", format!("{} (`--include NAME` takes one)", names.join(", "))));
    }
    if let Some(dropped) = dropped_of_all(&arrays) {
        members.push(("dropped", dropped));
    }
    if let Some(compressors) = compressors_of_all(&arrays) {
        members.push(("compressor", compressors));
    }
    let totals = &result.totals.counts;
    let is_known = arrays.iter().all(|node| node.counts.bytes_written.is_some());
    if let (Some(written), true) = (totals.bytes_written, is_known) {
        members.push(("stored", stored(source_bytes(result), Some(written))));
    }
    let estimates: Vec<&EstimateResult> = arrays.iter().filter_map(|node| node.estimate.as_ref()).collect();
    if !estimates.is_empty() {
        members.push(("estimated", sample_text::estimated_together(&estimates)));
    }
    members
}

fn type_text(array: &ArrayDescription) -> String {
    data_type(array.data_type.get("name").unwrap_or(&array.data_type))
}

fn data_type(data_type: &Json) -> String {
    if data_type.is_null() { "integers".to_owned() } else { quantity::json(data_type) }
}

/// The time, and the rate of logical bytes.
#[expect(clippy::cast_precision_loss, reason = "a rate of three digits")]
pub(super) fn time(result: &TranscodeResult) -> String {
    let time = quantity::seconds(result.seconds);
    match result.totals.counts.bytes_logical {
        Some(logical) if result.seconds > 0.0 && logical > 0 => {
            format!("{time}, {}", quantity::rate(logical as f64 / result.seconds))
        }
        _ => time,
    }
}

fn write_node(node: &NodeResult, dry_run: bool, style: Style, output: &mut dyn Write) -> io::Result<()> {
    if node.path != "/" {
        writeln!(output, "{}", style.paint(Role::Heading, &node.path))?;
    }
    write_members(&node_members(node, dry_run), style, output)?;
    if let Some(quantization) = &node.quantization {
        writeln!(output, "{}", style.paint(Role::Heading, &quantized_to(quantization)))?;
        write_members(&describe_quantization(quantization), style, output)?;
    }
    match &node.verify {
        Some(verify) => write_verify("", verify, style, output),
        None => Ok(()),
    }
}

/// What became of a node, label by label, but for its values.
pub(super) fn node_members(node: &NodeResult, dry_run: bool) -> Vec<(&'static str, String)> {
    let mut members = Vec::new();
    if let (Some(source), Some(destination)) = (&node.source, &node.destination) {
        describe_change(source, destination, &mut members);
    }
    if let Some(selection) = &node.selection {
        let slices: Vec<String> = selection.iter().map(|[start, stop]| format!("{start}:{stop}")).collect();
        members.push(("selected", slices.join(", ")));
    }
    let passes = if node.passes == Some(2) { ", in two passes" } else { "" };
    members.push(("route", format!("{}{passes}", route_text(node.route))));
    describe_counts(node, dry_run, &mut members);
    members
}

fn route_name(route: RouteName) -> String {
    route_text(route).split([':', ' ']).next().unwrap_or_default().to_owned()
}

fn route_text(route: RouteName) -> &'static str {
    match route {
        RouteName::Copy => "copy: encoded chunks as they are",
        RouteName::Recode => "recode: the chunk grid stays, codecs change",
        RouteName::Reshard => "reshard: encoded inner chunks as they are, in other shards",
        RouteName::Rechunk => "rechunk: another chunk grid",
        RouteName::Metadata => "metadata only",
    }
}

/// The shape of what can be decoded alone, in words where there is no one.
fn chunk_shape(array: &ArrayDescription) -> String {
    array.chunk_shape.as_deref().map_or_else(|| "rectilinear".to_owned(), quantity::shape)
}

/// What is the same is told once, what changes with an arrow.
fn describe_change(
    source: &ArrayDescription,
    destination: &ArrayDescription,
    members: &mut Vec<(&'static str, String)>,
) {
    let changed = |before: String, after: String| {
        if before == after { before } else { format!("{before} -> {after}") }
    };
    members.push(("data type", changed(data_type(&source.data_type), data_type(&destination.data_type))));
    members.push((
        "fill value",
        changed(quantity::json(&source.fill_value), quantity::json(&destination.fill_value)),
    ));
    members.push(("chunk shape", changed(chunk_shape(source), chunk_shape(destination))));
    let shards = [source, destination].map(|array| array.shard_shape.as_deref().map(quantity::shape));
    if shards.iter().any(Option::is_some) {
        let [before, after] = shards.map(|shard| shard.unwrap_or_else(|| "none".to_owned()));
        members.push(("shard shape", changed(before, after)));
    }
    members.push(("codecs", changed(chain(&source.codecs), chain(&destination.codecs))));
    let dropped = dropped(source, destination);
    if !dropped.is_empty() {
        members.push(("dropped", dropped.join(", ")));
    }
}

/// The names of the codecs that SOURCE has and DEST has not, those inside shards too.
fn dropped(source: &ArrayDescription, destination: &ArrayDescription) -> Vec<String> {
    let mut kept = names(&destination.codecs);
    let mut dropped = names(&source.codecs);
    dropped.retain(|name| match kept.iter().position(|other| other == name) {
        Some(place) => {
            kept.swap_remove(place);
            false
        }
        None => true,
    });
    dropped
}

fn names(codecs: &[Json]) -> Vec<String> {
    let mut names = Vec::new();
    for codec in codecs {
        names.push(quantity::json(codec.get("name").unwrap_or(codec)));
        let inner = codec.pointer("/configuration/codecs").and_then(Json::as_array);
        names.extend(inner.into_iter().flat_map(self::names));
    }
    names
}

/// What is dropped of the arrays of a hierarchy: each name with the number of arrays.
fn dropped_of_all(arrays: &[&NodeResult]) -> Option<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for array in arrays {
        if let (Some(source), Some(destination)) = (&array.source, &array.destination) {
            for name in dropped(source, destination) {
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    let texts: Vec<String> =
        counts.into_iter().map(|(name, number)| format!("{name} of {}", counted(number, "array"))).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// What `--compress auto` chose for the arrays of a hierarchy: each with the number of arrays.
fn compressors_of_all(arrays: &[&NodeResult]) -> Option<String> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for compression in arrays.iter().filter_map(|node| node.compression.as_ref()) {
        let Some(chosen) = &compression.chosen else { return Some(sample_text::chosen(compression)) };
        *counts.entry(chosen).or_default() += 1;
    }
    let texts: Vec<String> =
        counts.into_iter().map(|(name, number)| format!("{name} for {}", counted(number, "array"))).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// The names of a chain's codecs, those of a shard in brackets.
fn chain(codecs: &[Json]) -> String {
    let name = |codec: &Json| {
        let name = codec.get("name").unwrap_or(codec);
        let inner = codec.pointer("/configuration/codecs").and_then(Json::as_array);
        quantity::json(name) + &inner.map_or_else(String::new, |inner| format!(" [{}]", chain(inner)))
    };
    codecs.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Whether chunks are read more than once: then what is read is not what is stored.
fn is_read_again(node: &NodeResult) -> bool {
    node.read_amplification.is_some_and(|amplification| amplification > 1.0)
        && node.counts.chunks_read != Some(0)
}

/// Bytes of all arrays as SOURCE stores them, where they are known of each.
pub(super) fn source_bytes(result: &TranscodeResult) -> Option<u64> {
    let is_known = arrays(result).iter().all(|node| node.counts.bytes_source.is_some());
    result.totals.counts.bytes_source.filter(|_| is_known)
}

/// Bytes before, where they are known, and after, and how many times fewer there are.
fn stored(before: Option<u64>, written: Option<u64>) -> String {
    let after = written.map_or_else(|| "not known before".to_owned(), bytes);
    let Some(before) = before else { return after };
    let ratio = written.and_then(|written| quantity::ratio(before, written));
    let ratio = ratio.map_or_else(String::new, |ratio| format!(", {ratio}"));
    format!("{} -> {after}{ratio}", bytes(before))
}

fn describe_counts(node: &NodeResult, dry_run: bool, members: &mut Vec<(&'static str, String)>) {
    let Counts { chunks, chunks_absent, chunks_refused, chunks_read, chunks_written, .. } = node.counts;
    if let Some(chunks) = chunks {
        let parts = [
            (chunks_absent.filter(|absent| *absent > 0), "absent"),
            (chunks_refused.filter(|refused| *refused > 0), "refused"),
            (chunks_read, if dry_run { "to read" } else { "read" }),
            (chunks_written, if dry_run { "to write" } else { "written" }),
        ];
        let known = parts.iter().filter_map(|(number, word)| Some(format!("{} {word}", count((*number)?))));
        members.push(("chunks", [count(chunks)].into_iter().chain(known).collect::<Vec<_>>().join(", ")));
    }
    if node.counts.bytes_read.is_some() {
        members.push(("stored", stored(node.counts.bytes_source, node.counts.bytes_written)));
    }
    if let Some(temporary) = node.counts.bytes_temporary.filter(|temporary| *temporary > 0) {
        let most = if dry_run { "at most " } else { "" };
        members.push(("temporary", format!("{most}{}", bytes(temporary))));
    }
    if let Some(logical) = node.counts.bytes_logical {
        members.push(("logical", bytes(logical)));
    }
    match node.read_amplification {
        Some(amplification) if is_read_again(node) => {
            let often = figure((amplification * 100.0).round() / 100.0);
            let whose = if node.passes == Some(2) { "in one of the passes" } else { "in the mean" };
            let read = node.counts.bytes_read.map_or_else(String::new, |read| format!("{}, ", bytes(read)));
            members.push(("read", format!("{read}each chunk {often} times, {whose}")));
        }
        Some(_) if dry_run && node.route == RouteName::Rechunk => {
            members.push(("read", "each chunk once".to_owned()));
        }
        _ => {}
    }
    if let Some(compression) = &node.compression {
        members.push(("compressor", sample_text::chosen(compression)));
        if !compression.tried.is_empty() {
            members.push(("tried", sample_text::tried(compression)));
        }
    }
    if let Some(estimate) = &node.estimate {
        members.push(("estimated", sample_text::estimated(estimate)));
        members.push(("sample", sample_text::sample(&estimate.sample)));
    }
    if dry_run && let (Some(units), Some(memory)) = (node.units, node.memory_bytes) {
        members.push(("work", counted(units, "unit")));
        members.push(("memory", bytes(memory)));
    }
}

/// What a quantisation makes of an array: `quantised to uint8`.
pub(super) fn quantized_to(result: &QuantizationResult) -> String {
    if result.form == "bitround" {
        let data_type = result.data_type.as_deref().unwrap_or("floats");
        return match (result.keep_bits, result.max_abs_error) {
            (Some(bits), Some(_)) => format!("{data_type} rounded to {}", counted(u64::from(bits), "bit")),
            (Some(bits), None) => format!("{data_type} to be rounded to {}", counted(u64::from(bits), "bit")),
            (None, _) => format!("{data_type} to be rounded to the bits that a first pass finds"),
        };
    }
    match (&result.data_type, &result.scale) {
        (Some(data_type), Some(_)) => match result.max_abs_error {
            Some(_) => format!("quantised to {data_type}"),
            None => format!("to be quantised to {data_type}"),
        },
        (Some(data_type), None) => {
            format!("to be quantised to {data_type}, over a range that a first pass finds")
        }
        (None, Some(_)) => {
            let step = result.step.map(figure).unwrap_or_default();
            format!(
                "to be quantised in steps of {step}, to the first type that has the codes a first pass finds"
            )
        }
        (None, None) => {
            "to be quantised to the narrowest type that keeps --max-error, which a first pass finds"
                .to_owned()
        }
    }
}

/// What it did to the values, label by label.
pub(super) fn describe_quantization(result: &QuantizationResult) -> Vec<(&'static str, String)> {
    let mut members = Vec::new();
    if let Some(bits) = result.keep_bits {
        members.push(("bits kept", format!("{bits} of the significand")));
    }
    if let Some(share) = result.information {
        members.push(("information", format!("{} % of it, in every dimension", figure(share * 100.0))));
    }
    if let Some([low, high]) = &result.range {
        members.push(("range", format!("{} to {}", quantity::json(low), quantity::json(high))));
    }
    if let Some([first, last]) = result.codes {
        let nan_code = result.nan_code.map_or_else(String::new, |code| format!(", NaN is {code}"));
        members.push(("codes", format!("{first} to {last}{nan_code}")));
    }
    if let Some(step) = result.step {
        members.push(("step", figure(step)));
    }
    if let Some(error) = result.max_abs_error {
        let bound = result.bound.map_or_else(String::new, |bound| format!(" (bound {})", figure(bound)));
        members.push(("greatest error", figure(error) + &bound));
    }
    if let Some(error) = result.rms_error {
        members.push(("rms error", figure(error)));
    }
    let share = |number| {
        format!("{} of {} ({})", count(number), count(result.count), quantity::percent(number, result.count))
    };
    match result.clamped {
        Some(0) => members.push(("clamped", "none".to_owned())),
        Some(clamped) => {
            let error = result
                .max_abs_error_clamped
                .map_or_else(String::new, |error| format!(", by up to {}", figure(error)));
            members.push(("clamped", share(clamped) + &error));
        }
        None => {}
    }
    if let Some(nan) = result.nan {
        members.push(("NaN", if nan > 0 { share(nan) } else { "none".to_owned() }));
    }
    if let Some(distinct) = result.distinct_codes {
        members.push(("distinct codes", count(distinct)));
    }
    if let Some(quality) = &result.quality {
        members.extend(quality_text::describe(quality));
    }
    if let Some(readers) = result.readers {
        members.push(("readers", readers.to_owned()));
    }
    if let Some((value, code)) = &result.reader_workaround {
        let entry = format!("{} -> {code} in scalar_map", quantity::json(value));
        members.push(("workaround", format!("{entry}, for zarr-python 3.4.1 and 3.4.2 (--no-workarounds)")));
    }
    members
}

fn write_verify(name: &str, verify: &VerifyResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    const LABEL: &str = "verified:";
    let (outcome, compared) = verified(verify);
    let role = if verify.equal { Role::Good } else { Role::Error };
    let mut lines = wrapped(&(outcome.clone() + &compared), style, width(name) + LABEL.len() + 1).into_iter();
    let first = lines.next().unwrap_or_default();
    let compared = first.strip_prefix(&outcome).map(|rest| style.paint(role, &outcome) + rest);
    writeln!(output, "{name}{} {}", style.paint(Role::Heading, LABEL), compared.unwrap_or(first))?;
    lines.try_for_each(|line| writeln!(output, "    {line}"))
}

/// What `--verify` found: the outcome, and what was compared.
pub(super) fn verified(verify: &VerifyResult) -> (String, String) {
    let outcome = match (verify.equal, verify.bound) {
        (true, Some(_)) => "within the bound".to_owned(),
        (true, None) => "equal".to_owned(),
        (false, _) => {
            let differs = if verify.differing == 1 { "differs" } else { "differ" };
            format!("{} {differs}", counted(verify.differing, "element"))
        }
    };
    let compared = format!(", {} compared", counted(verify.elements, "element"));
    let error = verify.max_abs_error.filter(|error| *error > 0.0);
    let error = error.map_or_else(String::new, |error| format!(", greatest difference {}", figure(error)));
    (outcome, compared + &error)
}
