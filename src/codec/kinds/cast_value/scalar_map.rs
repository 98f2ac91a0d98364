//! `scalar_map`: values that are replaced before anything else is looked at.
//!
//! The side of an entry that is of `data_type` is read without knowing what reaches the codec, the other when it is
//! bound. Of a repeated key the first entry counts.

use std::collections::HashSet;

use crate::codec::kinds::members::{Members, shown};
use crate::codec::kinds::scalar::scalar;
use crate::data_type::value_from_json;
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::metadata::extension::MAX_FAULTS;
use crate::metadata::json::Json;

/// Errors are still kept where so many warnings are that no more of those are.
const MOST_ERRORS: usize = 2 * MAX_FAULTS;

/// An entry of which only the side of `data_type` has been read.
pub(super) struct HalfRead<'a> {
    /// Its position in the list.
    index: usize,
    /// The bits of the side that has been read.
    bits: u64,
    /// The side whose type is not known yet.
    unread: &'a Json,
}

/// Reads `encode` and `decode`; the entries that are wrong are left out.
pub(super) fn read<'a>(members: &mut Members<'a>, target: Option<NumberType>) -> [Vec<HalfRead<'a>>; 2] {
    let Some(json) = members.get("scalar_map") else { return Default::default() };
    let Some(object) = json.as_object() else {
        members.report_found(code::CONFIGURATION_TYPE, "scalar_map", "an object", json);
        return Default::default();
    };
    let pointer = members.pointer_to("scalar_map");
    let mut map = Members::of_object("scalar_map", Some(object), pointer, &["encode", "decode"]);
    let lists = ["encode", "decode"].map(|name| read_list(&mut map, name, target));
    members.diagnostics.append(&mut map.diagnostics);
    lists
}

fn read_list<'a>(map: &mut Members<'a>, name: &str, target: Option<NumberType>) -> Vec<HalfRead<'a>> {
    let Some(json) = map.get(name) else { return Vec::new() };
    let Some(list) = json.as_array() else {
        map.report_found(code::CONFIGURATION_TYPE, name, "an array of pairs", json);
        return Vec::new();
    };
    let mut entries = Vec::new();
    for (index, json) in list.iter().enumerate() {
        let (pointer, what) = (format!("{}/{index}", map.pointer_to(name)), what(name, index));
        let Some([key, value]) = json.as_array() else {
            let found = json.as_array().map_or_else(|| shown(json), |pair| format!("{} values", pair.len()));
            let message = format!("{what}: expected a key and a value, found {found}");
            if map.diagnostics.len() < MOST_ERRORS {
                map.diagnostics.push(Diagnostic::new(code::CAST_VALUE_SCALAR, message).at_pointer(pointer));
            }
            continue;
        };
        let (read, unread) = if name == "encode" { (value, key) } else { (key, value) };
        let Some(target) = target else { continue };
        if let Some(bits) = side((target, read), &what, &pointer, (0, &mut map.diagnostics)) {
            entries.push(HalfRead { index, bits, unread });
        }
    }
    entries
}

/// An entry in messages.
fn what(name: &str, index: usize) -> String {
    format!("entry {index} of `scalar_map.{name}`")
}

/// Reads the other side of each entry of a list, and keeps the first of each key; `None` where one is no value of `decoded`.
pub(super) fn bind(
    (name, entries): (&str, &[HalfRead<'_>]),
    decoded: NumberType,
    members: &mut Members<'_>,
) -> Option<Vec<(u64, u64)>> {
    let pointer = members.pointer_to("scalar_map");
    let pointer_to = |index| format!("{pointer}/{name}/{index}");
    let diagnostics = &mut members.diagnostics;
    let before = diagnostics.len();
    let mut read = Vec::with_capacity(entries.len());
    for HalfRead { index, bits, unread } in entries {
        let rest = side((decoded, unread), &what(name, *index), &pointer_to(*index), (before, diagnostics));
        let pair = rest.map(|rest| if name == "encode" { (rest, *bits) } else { (*bits, rest) });
        read.extend(pair.map(|pair| (*index, pair)));
    }
    if read.len() < entries.len() {
        return None;
    }
    let before = diagnostics.len();
    let mut seen = HashSet::new();
    read.retain(|(index, (key, _))| {
        let is_first = seen.insert(*key);
        if !is_first && diagnostics.len() - before < MAX_FAULTS {
            let message = format!("{} repeats a key; the first entry counts", what(name, *index));
            let diagnostic = Diagnostic::new(code::CAST_VALUE_SCALAR_REPEATED, message)
                .with_help("remove it: zarr-python takes the last entry of a key")
                .at_pointer(pointer_to(*index));
            diagnostics.push(diagnostic);
        }
        is_first
    });
    Some(read.into_iter().map(|(_, pair)| pair).collect())
}

/// Reads one side of an entry; `None`, and an error among the findings, where it is no value. Of the findings after
/// the first `before` no more are kept than a reader looks at; an error is always among them.
fn side(
    (number_type, json): (NumberType, &Json),
    what: &str,
    pointer: &str,
    (before, diagnostics): (usize, &mut Vec<Diagnostic>),
) -> Option<u64> {
    let read = value_from_json(number_type, json);
    let limit = before + if read.is_ok() { MAX_FAULTS } else { MOST_ERRORS };
    if diagnostics.len() < limit {
        scalar((code::CAST_VALUE_SCALAR, what), read, pointer, diagnostics)
    } else {
        read.ok().map(|read| read.value)
    }
}
