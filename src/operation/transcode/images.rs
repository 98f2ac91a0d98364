//! Images in several resolutions: arrays that the attribute `multiscales` of a group names (OME-Zarr, `GeoZarr`).

use super::SourceArray;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::{Json, Object};
use crate::operation::{ChangeOptions, GroupReading, OperationError, QuantizeForm, QuantizeOptions, Result};

/// Fails if an option would make the levels of an image inconsistent.
pub(super) fn check_levels(arrays: &[SourceArray], groups: &[GroupReading]) -> Result<()> {
    let is_cut = |change: &ChangeOptions| !change.select.is_empty();
    let has_own_range = |change: &ChangeOptions| {
        let asked = change.quantize.as_ref().filter(|asked| asked.form == QuantizeForm::Plain);
        asked.is_some_and(QuantizeOptions::finds_range)
    };
    for levels in images(arrays, groups) {
        let is_any = |applies: &dyn Fn(&ChangeOptions) -> bool| levels.iter().any(|level| applies(&level.change));
        let paths: Vec<&str> = levels.iter().map(|level| level.path.trim_start_matches('/')).collect();
        let names = paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
        if is_any(&is_cut) {
            let message = format!("--select: {names} are levels of one image, so their indices differ");
            let help = format!("take one level alone: --only '{}'", paths[0]);
            return Err(OperationError::data(message).with_help(help));
        }
        if is_any(&has_own_range) {
            let message = format!("--as plain: {names} are levels of one image, and each would get its own range");
            return Err(OperationError::data(message)
                .with_help("give --quantize TYPE with --range LO,HI or --scale, the same for all levels"));
        }
    }
    Ok(())
}

/// Returns a warning for each group of which `--only` keeps some levels of an image, but not all.
pub(super) fn left_out(arrays: &[SourceArray], groups: &[GroupReading]) -> Vec<Diagnostic> {
    let warning = |group: &GroupReading| {
        let is_kept = |level: &&str| arrays.iter().any(|array| variable_in(group, level, &array.path).is_some());
        let names = levels(&group.attributes).into_iter().flatten();
        let (kept, lost): (Vec<&str>, Vec<&str>) = names.partition(is_kept);
        let message = format!("`multiscales` names `{}`, but --only leaves it out", lost.join("`, `"));
        let found = Diagnostic::new(code::MULTISCALES_LEVELS_LEFT_OUT, message)
            .with_help("edit `multiscales` in the document of the group in DEST: name only the levels that are left")
            .at_node(&group.node_path.path);
        (!kept.is_empty() && !lost.is_empty()).then_some(found)
    };
    groups.iter().filter_map(warning).collect()
}

/// Returns the arrays of each image that has several levels. A level is an array, or a group with an array for each
/// variable.
fn images<'a>(arrays: &'a [SourceArray], groups: &[GroupReading]) -> Vec<Vec<&'a SourceArray>> {
    let mut images = Vec::new();
    for group in groups {
        for levels in levels(&group.attributes) {
            let mut variables: Vec<(&str, Vec<&SourceArray>)> = Vec::new();
            for array in arrays {
                let variable = levels.iter().find_map(|level| variable_in(group, level, &array.path));
                let Some(variable) = variable else { continue };
                match variables.iter_mut().find(|(known, _)| *known == variable) {
                    Some((_, image)) => image.push(array),
                    None => variables.push((variable, vec![array])),
                }
            }
            images.extend(variables.into_iter().map(|(_, image)| image).filter(|image| image.len() > 1));
        }
    }
    images
}

/// A path below that of a level of a group's image, which is empty for the level itself; `None` where it is not there.
fn variable_in<'a>(group: &GroupReading, level: &str, path: &'a str) -> Option<&'a str> {
    let inside = path.strip_prefix(group.node_path.path.trim_end_matches('/'))?.strip_prefix('/')?;
    inside.strip_prefix(level).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the paths of the levels of each image in the attributes.
fn levels(attributes: &Object) -> Vec<Vec<&str>> {
    let inside = attributes.get("ome").and_then(|ome| ome.get("multiscales"));
    // OME-Zarr 0.4 and earlier have a list here, 0.5 has it below `ome`. GeoZarr has an object in one of three forms.
    match attributes.get("multiscales").or(inside) {
        Some(Json::Array(images)) => images.iter().map(|image| listed(image.get("datasets"))).collect(),
        Some(image @ Json::Object(_)) => match image.get("tile_matrix_limits").and_then(Json::as_object) {
            Some(limits) => vec![limits.names().collect()],
            None => vec![listed(image.get("layout").or_else(|| image.get("tile_matrix_set")?.get("tileMatrices")))],
        },
        _ => Vec::new(),
    }
}

fn listed(levels: Option<&Json>) -> Vec<&str> {
    let levels = levels.and_then(Json::as_array).unwrap_or_default();
    let names = ["path", "asset", "group", "id"];
    let paths = levels.iter().filter_map(|level| names.iter().find_map(|name| level.get(name)?.as_str()));
    paths.map(|path| path.trim_start_matches("./").trim_matches('/')).collect()
}
