//! `--unpack`: plain floats again, by dropping `scale_offset` and `cast_value`, or by applying CF attributes.

use super::change;
use crate::codec::conversion::ValueChange;
use crate::data_type::{DataType, FillValue};
use crate::kernel::unpack::Unpack;
use crate::metadata::edit::codecs_json;
use crate::metadata::extension::{CodecMetadata, read_codecs};
use crate::operation::cf;
use crate::operation::draft::{Draft, follow};
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::operation::options::ChangeOptions;
use crate::operation::quantize::range::FloatType;
use crate::operation::quantize::request::{PACKING_CODECS, is_packed};

/// Whether there is anything to unpack.
pub(in crate::operation) fn applies(source: &OpenedArray) -> bool {
    let attributes = &source.metadata.attributes;
    is_packed(&source.metadata.codecs)
        || (source.data_type.number().is_some_and(|number| !number.is_float())
            && ["scale_factor", "add_offset"].iter().any(|name| attributes.get(name).is_some()))
}

/// Changes the draft; what happens to the values, and what absent elements become.
pub(in crate::operation) fn apply(
    source: &OpenedArray,
    options: &ChangeOptions,
    draft: &mut Draft,
) -> Result<(ValueChange, Option<FillValue>), OperationError> {
    if is_packed(&source.metadata.codecs) {
        let stripped = strip(&source.metadata.codecs);
        draft.set_codecs(stripped);
        follow_unpacked(draft);
        return match &options.data_type {
            Some(data_type) => change::data_type(source, options, data_type, draft),
            None => Ok((ValueChange::None, source.fill_value.clone())),
        };
    }
    let unpack = cf::packing(source, options.data_type.as_ref())?.ok_or_else(|| {
        OperationError::data(format!("`{}` is not packed", source.store)).with_help(
            "--unpack takes an array with `scale_offset` or `cast_value` in its chain, or an integer array with \
             the attribute `scale_factor` or `add_offset`",
        )
    })?;
    let (change, absent) = apply_attributes(source, unpack, draft)?;
    Ok((change, Some(absent)))
}

/// The chain without both codecs, inside shards too.
fn strip(codecs: &[CodecMetadata]) -> Vec<CodecMetadata> {
    let kept = codecs.iter().filter(|codec| !PACKING_CODECS.contains(&codec.name.as_str()));
    kept.cloned()
        .map(|mut codec| {
            if let Some(inside) = codec.configuration.as_mut().and_then(|c| c.get_mut("codecs")) {
                let inner = read_codecs(inside, "", &mut Vec::new()).unwrap_or_default();
                *inside = codecs_json(&strip(&inner));
            }
            codec
        })
        .collect()
}

/// Makes `bytes` and `blosc` fit floats; `packbits`, which held odd codes, becomes `bytes`.
fn follow_unpacked(draft: &mut Draft) {
    draft.edit_innermost(|chain| {
        for codec in chain.iter_mut().filter(|codec| codec.name == "packbits") {
            *codec = CodecMetadata::new("bytes", None);
        }
    });
    follow(draft);
}

/// Changes the draft to one of floats; how they are made, and what absent elements become.
fn apply_attributes(
    source: &OpenedArray,
    unpack: Unpack,
    draft: &mut Draft,
) -> Result<(ValueChange, FillValue), OperationError> {
    let floats = unpack.target();
    draft.set_data_type(DataType::Number(floats));
    follow_unpacked(draft);
    let not_a_number = FillValue::from_bits(floats, FloatType(floats).bits(f64::NAN));
    draft.set_fill_value(not_a_number.clone())?;
    let mut attributes = draft.attributes();
    for name in cf::PACKING_ATTRIBUTES {
        attributes.remove(name);
    }
    draft.set_attributes(attributes);
    let absent = cf::unpacked_fill(source, &unpack);
    let is_nan = FloatType(floats).value(absent).is_nan();
    let absent = if is_nan { not_a_number } else { FillValue::from_bits(floats, absent) };
    Ok((ValueChange::Unpack(Box::new(unpack), Box::default()), absent))
}
