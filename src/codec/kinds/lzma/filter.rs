//! The entries of `filters` of `numcodecs.lzma`, and presets.

use super::{LzmaArchitecture, LzmaFilter, LzmaOptions, LzmaPreset, present};
use crate::codec::kinds::Parsed;
use crate::codec::kinds::members::{Members, wrong};
use crate::diagnostic::code;
use crate::metadata::json::{Json, Object};

/// Python's bit for the slow variant of a preset.
const EXTREME: u32 = 1 << 31;
/// Python's `FILTER_LZMA1`.
const LZMA1: i64 = 0x4000_0000_0000_0001;
const LZMA2: i64 = 0x21;
const DELTA: i64 = 3;
/// liblzma takes no more filters.
const MAX_FILTERS: usize = 4;

const ARCHITECTURES: [(i64, LzmaArchitecture); 6] = [
    (4, LzmaArchitecture::X86),
    (5, LzmaArchitecture::PowerPc),
    (6, LzmaArchitecture::Ia64),
    (7, LzmaArchitecture::Arm),
    (8, LzmaArchitecture::ArmThumb),
    (9, LzmaArchitecture::Sparc),
];

/// `None` after a fault.
pub(super) fn read_preset(members: &mut Members<'_>, json: &Json) -> Option<LzmaPreset> {
    let preset = json.as_u64().and_then(|number| u32::try_from(number).ok());
    let preset = preset
        .map(|number| LzmaPreset { level: number & !EXTREME, is_extreme: number & EXTREME != 0 })
        .filter(|preset| preset.level <= 9);
    if preset.is_none() {
        let expected = "an integer from 0 to 9, or one with Python's PRESET_EXTREME (2147483648) added";
        members.report_found(wrong(json.as_number().is_some()), "preset", expected, json);
    }
    preset
}

/// `None` after a fault; `pointer` is that of the codec.
pub(super) fn read_filters(members: &mut Members<'_>, json: &Json, pointer: &str) -> Option<Vec<LzmaFilter>> {
    let Some(entries) = json.as_array().filter(|entries| (1..=MAX_FILTERS).contains(&entries.len())) else {
        let expected = format!("a list of 1 to {MAX_FILTERS} filters");
        members.report_found(wrong(json.as_array().is_some()), "filters", &expected, json);
        return None;
    };
    let mut filters = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let pointer = format!("{pointer}/configuration/filters/{index}");
        let Some(entry) = entry.as_object() else {
            members.report_found(code::CONFIGURATION_TYPE, "filters", "filters as objects", entry);
            return None;
        };
        let (filter, found) = read_filter(entry, pointer);
        members.diagnostics.extend(found);
        filters.push(filter?);
    }
    Some(filters)
}

/// One filter, with the members that its `id` allows.
fn read_filter(entry: &Object, pointer: String) -> Parsed<LzmaFilter> {
    const OF_LZMA: &[&str] =
        &["id", "preset", "dict_size", "lc", "lp", "pb", "mode", "nice_len", "mf", "depth"];
    let id = entry.get("id").and_then(Json::as_i128).and_then(|id| i64::try_from(id).ok());
    let branch = ARCHITECTURES.iter().find(|(number, _)| Some(*number) == id).map(|entry| entry.1);
    let known: &[&str] = match id {
        Some(DELTA) => &["id", "dist"],
        _ if branch.is_some() => &["id", "start_offset"],
        _ => OF_LZMA,
    };
    let mut members = Members::of_object("numcodecs.lzma", Some(entry), pointer, known);
    let Some(json) = members.require("id") else { return members.finish(None) };
    let mut integer = |name: &str, least: u32, greatest: u32| match present(&members, name) {
        Some(json) => members.integer(name, json, least..=greatest).map(Some),
        None => Some(None),
    };
    let filter = match (id, branch) {
        (Some(DELTA), _) => {
            integer("dist", 1, 256).map(|dist| LzmaFilter::Delta { distance: dist.unwrap_or(1) })
        }
        (_, Some(architecture)) => integer("start_offset", 0, u32::MAX)
            .map(|start| LzmaFilter::Branch { architecture, start_offset: start.unwrap_or(0) }),
        (Some(LZMA1 | LZMA2), _) => read_options(&mut members)
            .map(|options| LzmaFilter::Lzma { is_second: id == Some(LZMA2), options }),
        _ => {
            let expected = "the id of a filter: 4611686018427387905 (LZMA1), 33 (LZMA2), 3 (delta) or 4 to 9";
            members.report_found(wrong(json.as_number().is_some()), "id", expected, json);
            None
        }
    };
    members.finish(filter)
}

fn read_options(members: &mut Members<'_>) -> Option<LzmaOptions> {
    let preset = match present(members, "preset") {
        Some(json) => read_preset(members, json)?,
        None => LzmaPreset::default(),
    };
    let mut integer = |name: &str, least: u32, greatest: u32| match present(members, name) {
        Some(json) => members.integer(name, json, least..=greatest).map(Some),
        None => Some(None),
    };
    let options = LzmaOptions {
        preset,
        dict_size: integer("dict_size", 4096, 1536 << 20)?,
        lc: integer("lc", 0, 4)?,
        lp: integer("lp", 0, 4)?,
        pb: integer("pb", 0, 4)?,
        mode: integer("mode", 1, 2)?,
        nice_len: integer("nice_len", 2, 273)?,
        mf: integer("mf", 3, 20)?,
        depth: integer("depth", 0, u32::MAX)?,
    };
    if options.mf.is_some_and(|mf| ![3, 4, 18, 19, 20].contains(&mf)) {
        let expected = "3, 4 (hash chains), 18, 19 or 20 (binary trees)";
        members.report_found(code::CONFIGURATION_VALUE, "mf", expected, members.get("mf")?);
        return None;
    }
    if options.lc.unwrap_or(3) + options.lp.unwrap_or(0) > 4 {
        let message = "`lc` and `lp` of `numcodecs.lzma` make more than 4 together";
        members.report(code::CONFIGURATION_VALUE, "lc", message);
        return None;
    }
    Some(options)
}
