//! The attributes by which readers mask values, once the values are codes.

use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::Object;
use crate::operation::draft::Draft;
use crate::operation::xarray::{FILL_VALUE, nan_like};

const MISSING_VALUE: &str = "missing_value";

/// Attributes that tell which stored values are no data.
const MASKS: [&str; 5] = [FILL_VALUE, MISSING_VALUE, "valid_min", "valid_max", "valid_range"];

/// Lets NaN stand for what is missing: no code stands for another value.
pub(in crate::operation) fn mask_by_nan(draft: &mut Draft) {
    let mut attributes = draft.attributes();
    if let Some(json) = attributes.get_mut(FILL_VALUE) {
        *json = nan_like(json);
    }
    attributes.remove(MISSING_VALUE);
    draft.set_attributes(attributes);
}

/// Tells of such attributes that are others in DEST, or are gone.
pub(in crate::operation) fn changed_masks(source: &Object, destination: &Object) -> Option<Diagnostic> {
    let mut said = Vec::new();
    for name in MASKS {
        match (source.get(name), destination.get(name)) {
            (Some(_), None) => said.push(format!("`{name}` goes")),
            (Some(before), Some(after)) if !before.same_value(after) => {
                let shown = if *after == nan_like(before) { "NaN" } else { &after.to_string_compact() };
                said.push(format!("`{name}` becomes {shown}"));
            }
            _ => {}
        }
    }
    let message = format!("attributes follow the codes: {}", said.join(", "));
    (!said.is_empty()).then(|| Diagnostic::new(code::QUANTIZE_ATTRIBUTES, message))
}
