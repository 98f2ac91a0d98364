//! Metadata that help some readers of a quantised array, and warnings about others (CLI.md, "Quantising", *Readers*).
//! Also the attributes that mask values, once the values are codes.

use super::Quantization;
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::{CodecMetadata, Object};
use crate::operation::xarray::{FILL_VALUE, nan_like};
use crate::operation::{Draft, OpenedArray, QuantizeForm, Result, draft};

/// Helps zarr-python 3.4.1 and 3.4.2 to open a sharded array whose inner chain cannot encode 0. Returns a warning if
/// that is impossible.
///
/// They cast the data type's default scalar, 0, instead of the fill value when they open a shard
/// (`_validate_inner_codecs` of `zarr/codecs/sharding.py`). An entry of `scalar_map.encode` has a code for it. No chunk
/// contains a 0 in this code. The kernel that encodes chunks ignores the entry, and a 0 in SOURCE is still an error.
pub(crate) fn work_around(quantization: &mut Quantization, draft: &mut Draft, is_wanted: bool) -> Option<Diagnostic> {
    if !is_wanted || !needs_workaround(quantization, &draft.codecs) {
        return None;
    }
    let Some(entry) = quantization.entry_for_zero() else {
        let message = "0 overflows when it is encoded: zarr-python 3.4.1 and 3.4.2 do not open the array";
        let help = "leave the shards out, use `--as cf`, or quantise a range that is nearer to 0";
        return Some(Diagnostic::new(code::QUANTIZE_READERS, message).with_help(help));
    };
    quantization.reader_workaround = Some(entry);
    let cast = quantization.metadata().into_iter().find(|codec| codec.name == "cast_value");
    draft.edit_innermost(|chain| {
        let found = chain.iter_mut().find(|codec| codec.name == "cast_value");
        if let (Some(found), Some(cast)) = (found, cast) {
            *found = cast;
        }
    });
    None
}

/// Returns whether zarr-python 3.4.1 and 3.4.2 open an array with this chain only with help.
pub(crate) fn needs_workaround(quantization: &Quantization, codecs: &[CodecMetadata]) -> bool {
    let is_sharded = draft::has_codec(codecs, "sharding_indexed");
    let concerns = is_sharded && quantization.form == QuantizeForm::Codecs && !quantization.is_open;
    // 0 is the default of the array's type.
    concerns && quantization.encoded(0).is_none()
}

/// Returns SOURCE's whole chain including the quantisation and the help for readers.
pub(crate) fn chain(quantization: &Quantization, source: &OpenedArray) -> Result<Vec<CodecMetadata>> {
    let mut draft = Draft::new(source);
    quantization.apply(&mut draft)?;
    work_around(&mut quantization.clone(), &mut draft, true);
    Ok(draft.codecs)
}

/// Returns a warning if CF has no such type for the codes: for float32 it has only 8 and 16 bits (CF 8.1).
pub(crate) fn cf_warning(quantization: &Quantization) -> Option<Diagnostic> {
    let Quantization { form, source, target, is_target_open, .. } = quantization;
    let is_beyond = *form == QuantizeForm::Cf && source.bits() == 32 && target.bits() > 16;
    (is_beyond && !*is_target_open).then(|| {
        let message = format!("CF has no {target} for packed {source} (section 8.1): of {source}, 8 and 16 bits only");
        let help =
            "readers that unpack to float32 may lose bits; use uint8, uint16 or a larger error, or `--as codecs`";
        Diagnostic::new(code::QUANTIZE_CF_TYPE, message).with_help(help)
    })
}

/// Returns a warning if xarray cannot open plain codes: it parses a v3 `_FillValue` of integers as an integer.
pub(crate) fn plain_warning(quantization: &Quantization, draft: &Draft) -> Option<Diagnostic> {
    let attributes = draft.attributes();
    let is_plain = quantization.form == QuantizeForm::Plain && draft.zarr_format == 3;
    let literal = attributes.get(FILL_VALUE).filter(|json| is_plain && json.as_i128().is_none())?;
    let what = literal.excerpt();
    let message =
        format!("the attribute `{FILL_VALUE}` stays {what}, which is no integer: xarray does not open the array");
    let help = "with `--as cf` xarray reads floats and masks missing values; `--attributes` writes other attributes";
    Some(Diagnostic::new(code::QUANTIZE_READERS, message).with_help(help))
}

/// Keeps the attributes of a CF packing as they were `before` other attributes were given: without them no reader
/// decodes the codes.
pub(crate) fn keep_packing(draft: &mut Draft, before: &Object) {
    let mut attributes = draft.attributes();
    for name in ["scale_factor", "add_offset", FILL_VALUE] {
        match before.get(name) {
            Some(json) => attributes.insert(name, json.clone()),
            None => drop(attributes.remove(name)),
        }
    }
    draft.set_attributes(attributes);
}

const MISSING_VALUE: &str = "missing_value";

/// Attributes that declare which stored values are missing.
const MASKS: [&str; 5] = [FILL_VALUE, MISSING_VALUE, "valid_min", "valid_max", "valid_range"];

/// Makes NaN the only missing value: no code represents another one.
pub(crate) fn mask_by_nan(draft: &mut Draft) {
    let mut attributes = draft.attributes();
    if let Some(json) = attributes.get_mut(FILL_VALUE) {
        *json = nan_like(json);
    }
    attributes.remove(MISSING_VALUE);
    draft.set_attributes(attributes);
}

/// Returns a warning about masking attributes that are changed or removed in DEST. `--unpack` applies the first two, so
/// nothing is lost with them.
pub(crate) fn changed_masks(source: &Object, destination: &Object, unpacks: bool) -> Option<Diagnostic> {
    let mut said = Vec::new();
    for &name in &MASKS[if unpacks { 2 } else { 0 }..] {
        match (source.get(name), destination.get(name)) {
            (Some(_), None) => said.push(format!("`{name}` is removed")),
            (Some(before), Some(after)) if !before.same_value(after) => {
                let shown = if *after == nan_like(after) { "NaN" } else { &after.to_string() };
                said.push(format!("`{name}` becomes {shown}"));
            }
            _ => {}
        }
    }
    let message = format!("attributes changed with the codes: {}", said.join(", "));
    (!said.is_empty()).then(|| Diagnostic::new(code::QUANTIZE_ATTRIBUTES, message))
}
