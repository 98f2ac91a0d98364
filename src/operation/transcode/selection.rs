//! Options for the arrays of a hierarchy, and the choice of arrays (`--only`).

use std::collections::HashSet;

use super::plan::regrid::Names;
use super::plan::values;
use super::{SourceArray, repack};
use crate::diagnostic::quantity::counted;
use crate::element::NumberType;
use crate::grid::Region;
use crate::operation::{
    ChangeOptions, OpenedArray, OperationError, PathPattern, Predict, Result, ShapeRequest, ShardRequest,
    TranscodeOptions, coordinates::named, options::Slice,
};

const SPARED: &str = "coordinates, and arrays that CF attributes of others name, change only if `--include` or `--rule` \
                      names them without `*`";

/// Fails if a pattern matches no array, or if no array is left: the names are probably wrong.
pub(super) fn check_patterns(options: &TranscodeOptions, paths: &[&str]) -> Result<()> {
    let rules = options.rules.iter().map(|rule| ("--rule", &rule.pattern));
    let others = [("--only", &options.only), ("--include", &options.include), ("--exclude", &options.exclude)];
    let others = others.iter().flat_map(|(option, list)| list.iter().map(|pattern| (*option, pattern)));
    for (option, pattern) in others.chain(rules) {
        if !paths.iter().any(|path| pattern.matches(path)) {
            return Err(no_match(option, pattern));
        }
    }
    if !paths.is_empty() && !paths.iter().any(|path| is_left(options, path)) {
        return Err(OperationError::data("--include and --exclude leave no array"));
    }
    Ok(())
}

fn no_match(option: &str, pattern: &PathPattern) -> OperationError {
    let help = if pattern.to_string().contains(',') {
        "a comma is part of the pattern: repeat the option for each pattern, or write `{a,b}`"
    } else {
        "patterns match paths without the leading slash; `*` matches within one name, `**/` any number of groups"
    };
    OperationError::data(format!("{option} `{pattern}` matches no array")).with_help(help)
}

/// Fails if an option applies to no array: a name is probably misspelt.
pub(super) fn check_applied(options: &TranscodeOptions, arrays: &[SourceArray], spared: &[String]) -> Result<()> {
    let store = options.source.display();
    let given = || std::iter::once(&options.change).chain(options.rules.iter().map(|rule| &rule.change));
    let of_all = named_dimensions(&options.change).map(|named| (named, None));
    let of_rules =
        options.rules.iter().flat_map(|rule| named_dimensions(&rule.change).map(|named| (named, Some(&rule.pattern))));
    for ((option, name), pattern) in of_all.chain(of_rules) {
        // `--select` cuts arrays that `--include` leaves out, too.
        let is_changed = |array: &&SourceArray| match pattern {
            // It has to fit anyway.
            Some(pattern) => pattern.ends_with_a_name() || pattern.matches(&array.path),
            None => option == "--select" || is_left(options, &array.path),
        };
        let mut changed = arrays.iter().filter(is_changed);
        if !changed.any(|array| dimension_names(&array.opened).any(|own| own == name)) {
            let what = if arrays.iter().all(|array| is_changed(&array)) { "" } else { " that it may change" };
            let message = format!("{option} names the dimension `{name}`, which no array of `{store}`{what} has");
            let help = "`zarrcast inspect` shows the names of an array's dimensions";
            return Err(OperationError::data(message).with_help(help));
        }
    }
    let packed = "`--unpack` needs `scale_offset` or `cast_value` in the chain, or the attribute `scale_factor` or \
        `add_offset`";
    // A rule may quantise where all others round, and the other way round.
    let of_floats: ChangeTest = |change| change.quantize.is_some() || change.keep_bits.is_some();
    let is_asked = |array: &&SourceArray| {
        let is_of_all = options.include.is_empty() || any_matches(&options.include, &array.path);
        let is_ruled = options.rules.iter().any(|rule| of_floats(&rule.change) && rule.pattern.matches(&array.path));
        is_ruled || (of_floats(&options.change) && is_of_all)
    };
    let is_float = |array: &&SourceArray| array.opened.data_type.number().is_some_and(NumberType::is_float);
    let asked: Vec<&SourceArray> = arrays.iter().filter(is_float).filter(is_asked).collect();
    let left = if asked.is_empty() {
        "the options are for arrays of other types: only floats are quantised or rounded"
    } else if asked.iter().any(|array| any_matches(&options.exclude, &array.path)) {
        "`--exclude` leaves no such array"
    } else if asked.iter().any(|array| spared.contains(&array.path)) {
        SPARED
    } else {
        "`--rule` replaces this change of the array by another one"
    };
    let changes: [(ChangeTest, _, _); 4] = [
        (of_floats, "float array to quantise or round", left),
        (|change| !matches!(change.predict, None | Some(Predict::None)), "array of integers to predict", SPARED),
        (|change| change.repack.is_some(), "array that `--as` can change", repack::PACKED),
        (|change| change.unpack, "array to unpack", packed),
    ];
    for (is_made, what, help) in changes {
        if given().any(is_made) && !arrays.iter().any(|array| is_made(&array.change)) {
            return Err(OperationError::data(format!("`{store}` has no {what}")).with_help(help));
        }
    }
    Ok(())
}

/// Returns the dimensions that options name, with the option.
fn named_dimensions(change: &ChangeOptions) -> impl Iterator<Item = (&'static str, &String)> {
    let ChangeOptions { select, chunk_shape, shard_shape, .. } = change;
    let shard_shape = if let Some(ShardRequest::Shape(shape)) = shard_shape { Some(shape) } else { None };
    let names = select.iter().map(|slice| ("--select", &slice.dimension));
    let names = names.chain(named_lengths(chunk_shape.as_ref()).iter().map(|(name, _)| ("--chunk-shape", name)));
    let names = names.chain(named_lengths(shard_shape).iter().map(|(name, _)| ("--shard-shape", name)));
    let predicted = change.predicted().iter().filter(|name| name.parse::<usize>().is_err());
    names.chain(predicted.map(|name| ("--predict", name)))
}

/// Tests options for a change that needs arrays of some kind.
type ChangeTest = fn(&ChangeOptions) -> bool;

fn named_lengths(shape: Option<&ShapeRequest>) -> &[(String, u64)] {
    if let Some(ShapeRequest::Named(named)) = shape { named } else { &[] }
}

/// Cuts an array to the slices of `--select`. From here on, the array consists of the chunks that overlap them.
pub(super) fn take(array: &mut SourceArray) -> Result<()> {
    let ChangeOptions { select, dimension_names, .. } = &array.change;
    let metadata = &array.opened.metadata;
    // If the array has names of its own, `--select` uses these, not the new ones.
    let has_names = metadata.dimension_names.as_ref().is_some_and(|names| names.iter().any(Option::is_some));
    let names = Names { source: metadata, asked: if has_names { None } else { dimension_names.as_deref() } };
    let mut known = Vec::new();
    let mut region = Region { start: vec![0; metadata.shape.len()], shape: metadata.shape.clone() };
    for slice in select {
        let dimension = names.dimension_or_number("--select", &slice.dimension)?;
        if known.contains(&dimension) {
            let message = format!("--select gives the dimension `{}` twice, by name and by number", slice.dimension);
            return Err(OperationError::data(message));
        }
        known.push(dimension);
        let (start, stop) = ends_of(slice, metadata.shape[dimension], &array.opened.store)?;
        (region.start[dimension], region.shape[dimension]) = (start, stop - start);
    }
    if region.shape != metadata.shape {
        array.opened.metadata = metadata.part(&region);
    }
    Ok(())
}

/// Returns the start and stop index of a slice, in a dimension of `length` elements.
fn ends_of(slice: &Slice, length: u64, store: &str) -> Result<(u64, u64)> {
    let Slice { dimension, start, stop } = slice;
    let refusal = |what: String| {
        let text = |index: &Option<i64>| index.map_or_else(String::new, |index| index.to_string());
        let message = format!("--select {dimension}={}:{} of `{store}` {what}", text(start), text(stop));
        OperationError::data(message).with_help(format!("STOP is the index after the last element, at most {length}"))
    };
    let index = |index: Option<i64>, default: u64| match index {
        None => Some(default),
        Some(index) if index < 0 => length.checked_sub(index.unsigned_abs()),
        Some(index) => Some(index.unsigned_abs()).filter(|index| *index <= length),
    };
    let ends = index(*start, 0).zip(index(*stop, length));
    let (start, stop) =
        ends.ok_or_else(|| refusal(format!("leaves the array, which has {} there", counted(length, "element"))))?;
    // An axis of length 0 has only the empty slice.
    if start >= stop && length > 0 {
        return Err(refusal("selects no element".to_owned()));
    }
    Ok((start, stop.max(start)))
}

fn dimension_names(array: &OpenedArray) -> impl Iterator<Item = &str> {
    array.metadata.dimension_names.iter().flatten().flatten().map(String::as_str)
}

fn any_matches(patterns: &[PathPattern], path: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(path))
}

fn is_left(options: &TranscodeOptions, path: &str) -> bool {
    (options.include.is_empty() || any_matches(&options.include, path)) && !any_matches(&options.exclude, path)
}

/// Sets the changes of an array. They are the options of the command line, if it is not excluded, overridden by those of
/// each matching rule. Options and patterns with wildcards change what they fit, a rule with a name has to fit. Returns
/// whether it is not quantised or rounded because other arrays need its exact values.
pub(super) fn set_change(options: &TranscodeOptions, array: &mut SourceArray, coordinates: &HashSet<String>) -> bool {
    let SourceArray { path, opened: source, .. } = array;
    let rules: Vec<_> = options.rules.iter().filter(|rule| rule.pattern.matches(path)).collect();
    let is_excluded = any_matches(&options.exclude, path);
    let mut chosen = options.change.clone();
    if !is_left(options, path) {
        // A hierarchy has one format, because no reader opens a mixed one. Its arrays share dimensions, so a slice
        // applies to all of them.
        let ChangeOptions { select, zarr_format, .. } = chosen;
        chosen = ChangeOptions { select, zarr_format, ..ChangeOptions::default() };
    }
    let is_named = options.include.iter().any(|pattern| pattern.matches(path) && pattern.ends_with_a_name())
        || rules.iter().any(|rule| rule.pattern.ends_with_a_name());
    fit(&mut chosen, source, false);
    let mut predicts = false;
    if is_excluded {
        // An array that `--include` leaves out is cut with the others. One that `--exclude` names is copied whole.
        chosen.select.clear();
    } else {
        for rule in rules {
            let mut change = rule.change.clone();
            if rule.pattern.ends_with_a_name() {
                predicts |= change.predict.is_some();
            } else {
                fit(&mut change, source, chosen.unpack);
            }
            chosen.override_by(&change);
        }
    }
    let is_float = source.data_type.number().is_some_and(NumberType::is_float);
    let stays_float = is_float && chosen.quantize.is_none() && !values::is_packed_array(source);
    let is_needed = coordinates.contains(path) && !is_named;
    if !predicts && (stays_float || source.data_type.number().is_none() || is_needed) {
        // Otherwise `--compress auto:small` would try differences.
        chosen.predict = Some(Predict::None);
    }
    let is_spared = is_needed && (chosen.quantize.is_some() || chosen.keep_bits.is_some());
    if is_spared {
        (chosen.quantize, chosen.keep_bits) = (None, None);
    }
    // Without a conversion of values, its options do not apply.
    if chosen.quantize.is_none() && chosen.data_type.is_none() && !chosen.unpack {
        (chosen.rounding, chosen.out_of_range, chosen.nan_value) = (None, None, None);
    }
    array.change = chosen;
    is_spared
}

/// Removes what does not fit an array. Its values may be unpacked already.
fn fit(change: &mut ChangeOptions, source: &OpenedArray, is_unpacked: bool) {
    let asked = (change.unpack, change.repack);
    change.unpack &= values::is_packed_array(source);
    change.repack = change.repack.filter(|form| repack::is_for(source, *form));
    if asked != (change.unpack, change.repack) {
        // `--data-type` is the type of the unpacked floats.
        change.data_type = None;
    }
    let is_float = source.data_type.number().is_some_and(NumberType::is_float);
    if !is_float && !change.unpack && !is_unpacked {
        (change.quantize, change.keep_bits) = (None, None);
    }
    keep_dimensions(change, source);
}

/// Keeps only the named lengths of the array's own dimensions.
fn keep_dimensions(options: &mut ChangeOptions, source: &OpenedArray) {
    let own: Vec<&str> = dimension_names(source).collect();
    options.select.retain(|slice| own.contains(&slice.dimension.as_str()));
    let is_of_others = |request: &mut ShapeRequest| {
        let ShapeRequest::Named(named) = request else { return false };
        named.retain(|(name, _)| own.contains(&name.as_str()));
        named.is_empty()
    };
    options.chunk_shape.take_if(is_of_others);
    options.shard_shape.take_if(|request| match request {
        ShardRequest::Shape(shape) => is_of_others(shape),
        ShardRequest::None => false,
    });
    if let Some(Predict::Dimensions(dimensions)) = &mut options.predict {
        let rank = source.metadata.shape.len();
        dimensions
            .retain(|dimension| own.contains(&dimension.as_str()) || dimension.parse().is_ok_and(|n: usize| n < rank));
        if dimensions.is_empty() {
            options.predict = Some(Predict::None);
        }
    }
}

/// Returns the paths of the arrays that patterns match, of their coordinates, and of arrays in their CF attributes.
/// Also returns the groups above them.
pub(super) fn kept(patterns: &[PathPattern], arrays: &[SourceArray]) -> HashSet<String> {
    let is_asked = |array: &&SourceArray| patterns.iter().any(|pattern| pattern.matches(&array.path));
    let mut waiting: Vec<&SourceArray> = arrays.iter().filter(is_asked).collect();
    let paths: HashSet<&str> = arrays.iter().map(|array| array.path.as_str()).collect();
    let mut kept = HashSet::from(["/".to_owned()]);
    while let Some(SourceArray { path, opened, .. }) = waiting.pop() {
        // Attributes of two arrays may name each other.
        if !kept.insert(path.clone()) {
            continue;
        }
        // The first slash is that of the root, which is kept in any case.
        kept.extend(path.match_indices('/').skip(1).map(|(end, _)| path[..end].to_owned()));
        let needed = needed(path, opened, |path| paths.contains(path));
        waiting.extend(arrays.iter().filter(|array| needed.contains(&array.path)));
    }
    kept
}

/// Returns the paths that an array's attributes name, and possible paths of coordinates of its dimensions. These are in
/// its group or in a group above.
fn needed(path: &str, array: &OpenedArray, exists: impl Fn(&str) -> bool) -> HashSet<String> {
    let member = (path, Some(&array.metadata), &array.metadata.attributes);
    let mut needed: HashSet<String> = named(&member, exists).into_iter().collect();
    for (end, _) in path.match_indices('/') {
        needed.extend(dimension_names(array).map(|name| format!("{}/{name}", &path[..end])));
    }
    needed
}
