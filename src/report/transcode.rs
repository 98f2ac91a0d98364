//! The report of `transcode`: the outcome of each array, and the effect of a quantisation on its values.

use std::collections::BTreeMap;

use super::block::{Block, Members, Report, findings, heading, known};
use super::quantity::{self, bytes, count, counted, figure};
use super::quantization::{describe_quantization, quantized_to};
use super::{sample, table::Table, terminal::Role};
use crate::metadata::{Json, Object};
use crate::operation::transcode_result::{ArrayDescription, Counts, NodeResult, PlannedObjects, RouteName};
use crate::operation::{ComparedArray, EstimateResult, QuantizationResult, TranscodeResult, VerifyResult};

/// The maximum number of arrays with a section of their own on a page.
const MOST_SECTIONS: usize = 100;

/// Returns the report of a run or a plan. `compared` contains the pictures of quantised arrays. `is_verbose` lists the
/// results of `--verify` for each array, also if all are right.
pub fn report<'a>(result: &'a TranscodeResult, compared: &'a [ComparedArray], is_verbose: bool) -> Report<'a> {
    // A run that does not complete is an error.
    let (role, state) =
        if result.dry_run { (Role::Warning, "plan, nothing written") } else { (Role::Good, "complete") };
    let sizes = if result.dry_run {
        "Stored chunks: the upper bar is SOURCE, the lower an estimate of DEST where there is one"
    } else {
        "Stored chunks: the upper bar is before, the lower after"
    };
    let mut blocks = vec![findings(&result.warnings)];
    let arrays = arrays(result);
    if let [node] = result.nodes.as_slice() {
        let done = if result.dry_run { "the plan" } else { "what was done" };
        blocks.push(Block::Page(vec![heading(2, done)]));
        let mut members = node_members(node, result.dry_run);
        members.extend(other_keys(result).map(|keys| ("other keys", keys)));
        blocks.push(Block::Members(members));
        blocks.extend(quantization(node, None, compared));
        blocks.extend(node.verify.as_ref().map(|verify| verified(String::new(), verify, &[node])));
    } else {
        let table = |is_page| Block::Table(sizes, rows(&arrays, is_page));
        if !arrays.is_empty() {
            blocks.push(Block::Page(vec![heading(2, "arrays"), table(true)]));
        }
        blocks.push(Block::Text(vec![table(false)]));
        for (number, (node, ..)) in arrays.iter().enumerate() {
            let quantised = quantization(node, Some(name(node)), compared);
            if number < MOST_SECTIONS {
                blocks.extend(quantised);
            } else {
                blocks.push(Block::Text(quantised));
            }
        }
        blocks.extend(all_verified(&arrays, is_verbose));
        blocks.push(Block::Page(vec![heading(2, "in all")]));
        blocks.push(Block::Members(sums(result, &arrays)));
    }
    blocks.extend(result.plan.as_ref().map(|plan| Block::Members(planned(plan))));
    if !result.dry_run {
        blocks.push(Block::Members(vec![("time", time(result))]));
    }
    if result.nodes.len() == 1 && !arrays.is_empty() {
        blocks.push(Block::Page(vec![heading(2, "sizes"), Block::Table(sizes, rows(&arrays, false))]));
    }
    Report {
        title: format!("{} -> {}", result.source, result.destination),
        state: state.to_owned(),
        role: Some(role),
        figures: figures(result, &arrays),
        blocks,
        ..Report::default()
    }
}

/// Returns the path of a node in SOURCE, or `the array` for the root.
fn name(node: &NodeResult) -> String {
    if node.path == "/" { "the array".to_owned() } else { node.path.trim_start_matches('/').to_owned() }
}

/// An array with its metadata in SOURCE and in DEST.
type Array<'a> = (&'a NodeResult, &'a ArrayDescription, &'a ArrayDescription);

/// Returns a row for each array, on a page with its chunks and codecs. Bars show the stored bytes before and after.
fn rows(arrays: &[Array<'_>], is_page: bool) -> Table {
    let columns = ["array", "route", "type", ">stored", "", "chunks", "codecs"];
    let shown = if is_page { columns.len() } else { 5 };
    let mut table = Table::new(&columns[..shown]);
    for (node, source, destination) in arrays {
        let change = |text: fn(&ArrayDescription) -> String| changed(text(source), &text(destination));
        let estimate = node.estimate.as_ref();
        let sizes = [node.counts.bytes_source, node.counts.bytes_written];
        let [before, after] = sizes.map(|size| size.map(bytes));
        let before = before.unwrap_or_default();
        let about = estimate.map(|estimate| sample::approximately(estimate.bytes_stored, estimate.is_exact));
        let after = match after {
            Some(after) if after == before => String::new(),
            after => format!("-> {}", about.or(after).unwrap_or_else(|| "?".to_owned())),
        };
        let cells = [
            name(node),
            node.route.name().to_owned(),
            change(|array| data_type(array.data_type.get("name").unwrap_or(&array.data_type))),
            before,
            after,
        ];
        let about = [change(chunks), changed_chain((source, destination))];
        let sizes = [sizes[0], estimate.map(|estimate| estimate.bytes_stored).or(sizes[1])];
        table.push_sizes(cells.into_iter().chain(about).take(shown), sizes.to_vec());
    }
    table
}

/// Returns the shape of chunks, and of their shards.
fn chunks(array: &ArrayDescription) -> String {
    let shard = array.shard_shape.as_deref();
    chunk_shape(array) + &shard.map_or_else(String::new, |shard| format!(" in {}", quantity::shape(shard)))
}

/// Returns one text if both are equal, otherwise both with an arrow.
fn changed(before: String, after: &str) -> String {
    if before == after { before } else { format!("{before} -> {after}") }
}

/// Returns the effect of a quantisation: figures of all values, pictures of some.
fn quantization<'a>(node: &'a NodeResult, name: Option<String>, compared: &'a [ComparedArray]) -> Vec<Block<'a>> {
    let Some(quantization) = &node.quantization else {
        let Some(dimensions) = &node.predict else { return Vec::new() };
        let along = Some(format!("along {}", dimensions.join(", ")));
        let members = known([("differences", along), ("readers", node.readers.clone())]).collect();
        return vec![Block::Heading(3, name, "stored as differences".to_owned()), Block::Members(members)];
    };
    let pictures = match compared.iter().find(|compared| compared.path == node.path) {
        Some(pictures) => vec![Block::Comparison(pictures, quantization)],
        None if quantization.max_abs_error.is_some() && !compared.is_empty() => {
            let note = format!("Pictures are drawn of the first {} quantised arrays", compared.len());
            vec![Block::Note(note)]
        }
        None => Vec::new(),
    };
    vec![
        Block::Heading(3, name, quantized_to(quantization)),
        Block::Members(describe_quantization(quantization)),
        Block::Page(pictures),
    ]
}

/// Returns the outcome of `--verify`: a line for all arrays, with `--verbose` one each.
fn all_verified<'a>(arrays: &[Array<'_>], is_verbose: bool) -> Vec<Block<'a>> {
    let each: Vec<_> = arrays.iter().filter_map(|(node, ..)| Some((*node, node.verify.as_ref()?))).collect();
    if is_verbose || each.len() < 2 {
        return each.into_iter().map(|(node, verify)| verified(name(node), verify, &[node])).collect();
    }
    let greatest = |figure: fn(&VerifyResult) -> Option<f64>| {
        each.iter().filter_map(|(_, verify)| figure(verify)).reduce(f64::max)
    };
    let sum = VerifyResult {
        elements: each.iter().fold(0, |all, (_, verify)| all.saturating_add(verify.elements)),
        max_abs_error: greatest(|verify| verify.max_abs_error),
        bound: greatest(|verify| verify.bound),
        ..VerifyResult::default()
    };
    let nodes: Vec<_> = each.iter().map(|(node, _)| *node).collect();
    vec![verified(counted(each.len() as u64, "array"), &sum, &nodes)]
}

/// Returns the outcome of `--verify`, and the number of compared elements. Copies are compared byte for byte instead. A
/// difference is an error of the run.
fn verified<'a>(name: String, verify: &VerifyResult, nodes: &[&NodeResult]) -> Block<'a> {
    let error = verify.max_abs_error.filter(|error| *error > 0.0);
    let outcome = match verify.bound {
        Some(_) => "within the bound",
        // The values were rounded or converted as planned.
        None if error.is_some() => "as planned",
        None => "equal",
    };
    let clamped = nodes.iter().filter_map(|node| node.quantization.as_ref()?.clamped).fold(0, u64::saturating_add);
    let clamped = if clamped > 0 { format!(" but for {} clamped", count(clamped)) } else { String::new() };
    let compared = if nodes.iter().all(|node| node.route == RouteName::Copy) && verify.bound.is_none() {
        ", chunks compared byte for byte".to_owned()
    } else {
        format!("{clamped}, {} compared", counted(verify.elements, "element"))
    };
    let error = error.map_or_else(String::new, |error| format!(", max difference {}", figure(error)));
    Block::Verified(name, outcome, compared + &error)
}

/// Returns the most important figures.
fn figures(result: &TranscodeResult, arrays: &[Array<'_>]) -> Vec<(&'static str, String, String)> {
    let mut figures = Vec::new();
    match bytes_of_all(result) {
        [Some(before), Some(after)] => {
            let ratio = quantity::ratio(before, after).unwrap_or_default();
            // A line break must not separate a number from its unit.
            let [before, after] = [before, after].map(|size| bytes(size).replace(' ', "\u{a0}"));
            figures.push(("Stored", format!("{before} \u{2192} {after}"), ratio));
        }
        [_, Some(after)] => figures.push(("Stored", bytes(after), String::new())),
        [Some(before), None] => figures.push(("Stored before", bytes(before), String::new())),
        [None, None] => {}
    }
    if let [(NodeResult { quantization: Some(quantization), .. }, ..)] = arrays {
        let note = |word: &str, number: Option<f64>| {
            number.map_or_else(String::new, |number| format!("{word} {}", figure(number)))
        };
        let QuantizationResult { step, bound, max_abs_error, rms_error, .. } = *quantization;
        let kind = if quantization.form == "bitround" { "Data type" } else { "Codes" };
        let data_type = quantization.data_type.clone();
        figures.extend(data_type.map(|data_type| (kind, data_type, note("in steps of", step))));
        figures.extend(max_abs_error.map(|error| ("Max error", figure(error), note("bound", bound))));
        figures.extend(rms_error.map(|error| ("RMS error", figure(error), String::new())));
    } else {
        figures.push(("Arrays", count(arrays.len() as u64), String::new()));
    }
    if !result.dry_run {
        let time = time(result);
        let (time, rate) = time.split_once(", ").unwrap_or((&time, ""));
        figures.push(("Time", time.to_owned(), rate.to_owned()));
    }
    figures
}

/// Returns the arrays among the nodes in the order of their paths: `level 2` before `level 10`.
fn arrays<'a>(result: &'a TranscodeResult) -> Vec<Array<'a>> {
    let array = |node: &'a NodeResult| Some((node, node.source.as_ref()?, node.destination.as_ref()?));
    let mut arrays: Vec<_> = result.nodes.iter().filter_map(array).collect();
    arrays.sort_by_cached_key(|(node, ..)| node.path.split('/').map(with_long_numbers).collect::<Vec<_>>());
    arrays
}

/// Returns a name whose numbers are padded to 20 digits, so that names sort by their numbers.
fn with_long_numbers(name: &str) -> String {
    let is_same = |a: &u8, b: &u8| a.is_ascii_digit() == b.is_ascii_digit();
    let run = |run: &[u8]| {
        let (width, run) = (if run[0].is_ascii_digit() { 20 } else { 0 }, String::from_utf8_lossy(run));
        format!("{run:0>width$}")
    };
    name.as_bytes().chunk_by(is_same).map(run).collect()
}

fn other_keys(result: &TranscodeResult) -> Option<String> {
    let others = result.totals.other_keys;
    (others > 0).then(|| format!("{}, copied", count(others)))
}

/// Returns the sums of a hierarchy with their labels.
fn sums(result: &TranscodeResult, arrays: &[Array<'_>]) -> Members<'static> {
    let groups = result.nodes.len() - arrays.len();
    let nodes = format!("{}, {}", counted(arrays.len() as u64, "array"), counted(groups as u64, "group"));
    let spared = result.spared.iter().map(|path| path.trim_start_matches('/')).collect::<Vec<_>>().join(", ");
    let [before, after] = bytes_of_all(result);
    let estimates: Vec<&EstimateResult> = arrays.iter().filter_map(|(node, ..)| node.estimate.as_ref()).collect();
    let unchanged = || format!("{spared}: coordinates (change one with `--include NAME`)");
    let dropped = arrays.iter().flat_map(|(_, source, destination)| dropped(source, destination));
    let mut compressed = arrays.iter().filter_map(|(node, ..)| node.compression.as_ref());
    let chosen = compressed.clone().filter_map(|compression| compression.chosen.clone());
    let open = compressed.find(|compression| compression.chosen.is_none());
    let members = [
        ("nodes", Some(nodes)),
        ("other keys", other_keys(result)),
        ("unchanged", (!spared.is_empty()).then(unchanged)),
        ("removed codecs", by_count(dropped, "of")),
        ("compressor", open.map(sample::chosen).or_else(|| by_count(chosen, "for"))),
        ("stored", before.or(after).map(|_| stored(before, after))),
        ("estimated", (!estimates.is_empty()).then(|| sample::estimated(&estimates))),
    ];
    known(members).collect()
}

fn data_type(data_type: &Json) -> String {
    if data_type.is_null() { "integers".to_owned() } else { quantity::json(data_type) }
}

/// Returns the time, and the rate of logical bytes.
fn time(result: &TranscodeResult) -> String {
    let time = quantity::seconds(result.seconds);
    match result.totals.counts.bytes_logical {
        Some(logical) if result.seconds > 0.0 && logical > 0 => {
            format!("{time}, {}", quantity::rate(quantity::approximate(logical) / result.seconds))
        }
        _ => time,
    }
}

/// Returns the changes and counts of a node with their labels, without its values. Members of SOURCE and DEST have an
/// arrow if they differ.
fn node_members(node: &NodeResult, dry_run: bool) -> Members<'static> {
    let sides = node.source.as_ref().zip(node.destination.as_ref());
    let both = |text: fn(&ArrayDescription) -> String| sides.map(|(before, after)| changed(text(before), &text(after)));
    let shards = |of: &ArrayDescription| of.shard_shape.as_deref().map_or_else(|| "none".to_owned(), quantity::shape);
    let dropped = sides.map(|(source, destination)| dropped(source, destination)).filter(|names| !names.is_empty());
    let slice = |[start, stop]: &[u64; 2]| format!("{start}:{stop}");
    let selected = node.selection.as_ref().map(|slices| slices.iter().map(slice).collect::<Vec<_>>().join(", "));
    let passes = if node.passes == Some(2) { ", in two passes" } else { "" };
    let Counts { chunks, bytes_read, bytes_logical, bytes_temporary, .. } = node.counts;
    let temporary = bytes_temporary.filter(|temporary| *temporary > 0);
    let most = if dry_run { "at most " } else { "" };
    let compression = node.compression.as_ref();
    let tried = compression.filter(|compression| !compression.tried.is_empty());
    let estimate = node.estimate.as_ref();
    let work = node.units.zip(node.memory_bytes).filter(|_| dry_run);
    let members = [
        ("data type", both(|array| data_type(&array.data_type))),
        ("fill value", both(|array| quantity::json(&array.fill_value))),
        ("chunk shape", both(chunk_shape)),
        ("shard shape", both(shards).filter(|shards| shards != "none")),
        ("codecs", sides.map(changed_chain)),
        ("removed codecs", dropped.map(|names| names.join(", "))),
        ("selected", selected),
        ("route", Some(format!("{}{passes}", route_text(node.route)))),
        ("chunks", chunks.map(|chunks| chunk_counts(chunks, &node.counts, dry_run))),
        ("stored", bytes_read.map(|_| stored(node.counts.bytes_source, node.counts.bytes_written))),
        ("temporary", temporary.map(|temporary| format!("{most}{}", bytes(temporary)))),
        ("decoded", bytes_logical.map(bytes)),
        ("read", reads(node, dry_run)),
        ("compressor", compression.map(sample::chosen)),
        ("tried", tried.map(sample::tried)),
        ("estimated", estimate.map(|estimate| sample::estimated(&[estimate]))),
        ("sample", estimate.map(|estimate| sample::sample(&estimate.sample))),
        ("work", work.map(|(units, _)| counted(units, "unit"))),
        ("memory", work.map(|(_, memory)| bytes(memory))),
    ];
    known(members).collect()
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

/// Returns the shape of a subchunk, or `rectilinear` if there is no single shape.
fn chunk_shape(array: &ArrayDescription) -> String {
    array.chunk_shape.as_deref().map_or_else(|| "rectilinear".to_owned(), quantity::shape)
}

/// Returns the names of the codecs that only SOURCE has, also inside shards.
fn dropped(source: &ArrayDescription, destination: &ArrayDescription) -> Vec<String> {
    let (mut kept, mut dropped) = (names(&destination.codecs), names(&source.codecs));
    dropped.retain(|name| {
        let index = kept.iter().position(|other| other == name);
        // Each codec of DEST stands for one of SOURCE. A chain may have one codec twice and lose one of them.
        index.map(|index| kept.swap_remove(index)).is_none()
    });
    dropped
}

fn names(codecs: &[Json]) -> Vec<String> {
    let mut names = Vec::new();
    for codec in codecs {
        names.push(quantity::name(codec));
        let inner = codec.pointer("/configuration/codecs").and_then(Json::as_array);
        names.extend(inner.into_iter().flat_map(self::names));
    }
    names
}

/// Returns names with the number of their arrays: `zstd of 2 arrays`.
fn by_count(names: impl Iterator<Item = String>, of: &str) -> Option<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    let text = |(name, number)| format!("{name} {of} {}", counted(number, "array"));
    let texts: Vec<String> = counts.into_iter().map(text).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Returns one chain if both are alike, otherwise both with an arrow.
fn changed_chain((before, after): (&ArrayDescription, &ArrayDescription)) -> String {
    changed(chain(&before.codecs, &after.codecs), &chain(&after.codecs, &before.codecs))
}

/// Returns the names of a chain's codecs, those inside a shard in brackets. Where another chain has the same names, the
/// members of configurations that differ follow.
fn chain(codecs: &[Json], others: &[Json]) -> String {
    let has_same_names = names(codecs) == names(others);
    let text = |(codec, other): (&Json, Option<&Json>)| {
        let sides = [Some(codec), other].map(|codec| codec.and_then(|codec| codec.get("configuration")));
        let inner = sides.map(|side| side.and_then(|side| side.get("codecs")).and_then(Json::as_array));
        let note = match (sides, inner) {
            (_, [Some(codecs), others]) => format!(" [{}]", chain(codecs, others.unwrap_or_default())),
            ([Some(own), other], _) if has_same_names => differing(own, other),
            _ => String::new(),
        };
        quantity::name(codec) + &note
    };
    let others = others.iter().map(Some).chain(std::iter::repeat(None));
    codecs.iter().zip(others).map(text).collect::<Vec<_>>().join(", ")
}

/// Returns the members of a configuration that another one does not have, after a space.
fn differing(own: &Json, other: Option<&Json>) -> String {
    let mut members = Object::new();
    for (name, value) in own.as_object().into_iter().flat_map(Object::iter) {
        let other = other.and_then(|other| other.get(name));
        if other.is_none_or(|other| !other.same_value(value)) {
            members.push(name, value.clone());
        }
    }
    if members.is_empty() { String::new() } else { format!(" {}", quantity::json(&members.into())) }
}

/// Returns the stored bytes of all arrays in SOURCE and in DEST. `None` if those of one array are unknown.
fn bytes_of_all(result: &TranscodeResult) -> [Option<u64>; 2] {
    [result.totals.counts.bytes_source, result.totals.counts.bytes_written]
}

/// Returns the bytes before, if known, the bytes after, and their ratio.
fn stored(before: Option<u64>, written: Option<u64>) -> String {
    let after = written.map_or_else(|| "unknown until written".to_owned(), bytes);
    let Some(before) = before else { return after };
    let ratio = written.and_then(|written| quantity::ratio(before, written));
    let ratio = ratio.map_or_else(String::new, |ratio| format!(", {ratio}"));
    format!("{} -> {after}{ratio}", bytes(before))
}

fn chunk_counts(chunks: u64, counts: &Counts, dry_run: bool) -> String {
    let parts = [
        (counts.chunks_absent.filter(|absent| *absent > 0), "absent"),
        (counts.chunks_refused.filter(|refused| *refused > 0), "refused"),
        (counts.chunks_read, if dry_run { "to read" } else { "read" }),
        (counts.chunks_written, if dry_run { "to write" } else { "written" }),
    ];
    [count(chunks)].into_iter().chain(numbered(&parts)).collect::<Vec<_>>().join(", ")
}

/// Returns the known numbers, each with its word.
fn numbered(parts: &[(Option<u64>, &str)]) -> impl Iterator<Item = String> {
    parts.iter().filter_map(|(number, word)| Some(format!("{} {word}", count((*number)?))))
}

/// Returns how often chunks are read. `None` if that is obvious.
fn reads(node: &NodeResult, dry_run: bool) -> Option<String> {
    let amplification = node.read_amplification?;
    // Then what is read is not what is stored.
    if amplification > 1.0 && node.counts.chunks_read != Some(0) {
        let often = figure((amplification * 100.0).round() / 100.0);
        let whose = if node.passes == Some(2) { "in one of the passes" } else { "on average" };
        let read = node.counts.bytes_read.map_or_else(String::new, |read| format!("{}, ", bytes(read)));
        return Some(format!("{read}each chunk {often} times, {whose}"));
    }
    (dry_run && node.route == RouteName::Rechunk).then(|| "each chunk once".to_owned())
}

/// Returns the objects of a plan with their labels.
fn planned(plan: &PlannedObjects) -> Members<'static> {
    let keys = match (plan.files, plan.folders) {
        (Some(1), Some(0)) => format!("one zip file of at most {}", counted(plan.keys, "key")),
        (Some(files), Some(folders)) => {
            format!("at most {} in {}", counted(files, "file"), counted(folders, "folder"))
        }
        _ => format!("at most {}", counted(plan.keys, "object")),
    };
    let requests: Vec<_> = numbered(&[(plan.requests_read, "to read"), (plan.requests_write, "to write")]).collect();
    let requests = (!requests.is_empty()).then(|| format!("about {}", requests.join(", ")));
    known([("will be", Some(keys)), ("requests", requests)]).collect()
}
