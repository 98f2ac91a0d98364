//! Conversions of values. `--data-type` converts them, and the fill value, by the rules of `cast_value`. `--unpack` restores
//! plain floats, by removing `scale_offset` and `cast_value`, or by applying CF attributes.

use crate::codec::kinds::values::is_lossy;
use crate::codec::{Effect, ValueConversion, ValueStep, fault};
use crate::data_type::{DataType, FillValue, value_from_json, value_to_json};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, FloatFormat, NumberType};
use crate::kernel::OutOfRange;
use crate::kernel::cast::{Cast, CastOptions};
use crate::metadata::{CodecMetadata, Json};
use crate::operation::quantize::request::{PACKING_CODECS, is_packed};
use crate::operation::xarray::{self, FILL_VALUE};
use crate::operation::{ChangeOptions, Draft, FloatType, Numbers, OpenedArray, OperationError, Result, cf, draft};
use crate::pipeline::{Pipeline, Stage};

/// Codecs whose configuration is for one data type.
const BOUND_TO_A_TYPE: [&str; 9] = [
    "bitround",
    "cast_value",
    "numcodecs.astype",
    "numcodecs.bitround",
    "numcodecs.delta",
    draft::FIXED_SCALE_OFFSET,
    "numcodecs.packbits",
    "numcodecs.quantize",
    "scale_offset",
];

/// The conversion of values, and the value of absent elements after it.
type Converted = (ValueConversion, Option<FillValue>);

/// Changes the data type and fill value of the draft. Returns the conversion of the values, and the value of absent
/// elements.
pub(crate) fn convert(source: &OpenedArray, options: &ChangeOptions, draft: &mut Draft) -> Result<Converted> {
    let Some(data_type) = options.data_type.as_ref().filter(|wanted| **wanted != source.data_type) else {
        return Ok((ValueConversion::default(), source.fill_value.clone()));
    };
    // `r32` and `raw_bytes` of 4 bytes are two names for the same elements, so no chunk changes (SEMANTICS: A6).
    if source.data_type.raw_size().is_some_and(|size| data_type.raw_size() == Some(size)) {
        draft.set_data_type(data_type.clone());
        if let Some(fill_value) = source.fill_value.clone() {
            draft.set_fill_value(fill_value)?;
        }
        return Ok((ValueConversion::default(), source.fill_value.clone()));
    }
    let (Some(from), Some(to)) = (source.data_type.real_number(), data_type.real_number()) else {
        let message = format!("`{}` is {}, which cannot be converted to {data_type}", source.store, source.data_type);
        return Err(OperationError::data(message).with_help("integers and real floats convert into each other"));
    };
    refuse_bound_codecs(options, draft, [from, to])?;
    if options.out_of_range == Some(OutOfRange::Wrap) && to.is_float() {
        return Err(OperationError::data(format!("--out-of-range wrap is for integer types, and {to} is not one"))
            .with_help("use `--out-of-range clamp`, or leave it out"));
    }
    if is_lossy(from, to) && !options.allow_lossy_cast {
        return Err(lossy(from, to));
    }
    let declared = cf::declared_type(from, &source.metadata.attributes);
    if declared != from && options.attributes.is_none() {
        let message = format!("the attribute `_Unsigned` declares `{}` to be {declared}, not {from}", source.store);
        let help = "`--unpack` converts what CF readers see, if the array is packed; or replace all attributes with \
            --attributes";
        return Err(OperationError::data(message).with_help(help));
    }
    let scalar_map = match &options.nan_value {
        // As a key, the canonical NaN matches every NaN (SEMANTICS: B12).
        Some(json) if let Some(nan) = from.float_format().and_then(FloatFormat::canonical_nan) => {
            let read = value_from_json(to, json);
            vec![(nan, read.map_err(|error| OperationError::not_a_value("--nan-value", json, to, error))?.value)]
        }
        _ => Vec::new(),
    };
    let (rounding, out_of_range) = (options.rounding.unwrap_or_default(), options.out_of_range.unwrap_or_default());
    let cast = Cast::new(CastOptions { source: from, target: to, rounding, out_of_range, scalar_map });
    draft.set_data_type(data_type.clone());
    draft::follow(draft);
    convert_masks(draft, &cast)?;
    let bits = source.fill_value.as_ref().and_then(|fill| fill.to_bits(&source.data_type)).unwrap_or(0);
    let converted = match cast.convert_one(bits) {
        Ok(converted) => Some(FillValue::from_bits(to, converted)),
        // It matters only if an element is absent.
        Err(_) if options.fill_value.is_some() => None,
        Err(kind) => {
            let message = format!("the fill value {} cannot be converted to {to}", value_to_json(from, bits));
            let help = fault::element_help(kind).unwrap_or("choose a type that can store it");
            return Err(OperationError::data(message).with_help(help));
        }
    };
    draft.set_fill_value(converted.clone().unwrap_or(FillValue::from_bits(to, 0)))?;
    Ok((ValueConversion::of(ValueStep::Convert(Box::new(cast))), converted))
}

/// Converts the attributes that mask values in the same way as the values, in their present form (SEMANTICS: D5).
fn convert_masks(draft: &mut Draft, cast: &Cast) -> Result<()> {
    let (from, to, double) = (cast.options.source, cast.options.target, NumberType::of(ElementType::Float64));
    let mut attributes = draft.attributes();
    for name in [FILL_VALUE, "missing_value"] {
        let Some(json) = attributes.get(name) else { continue };
        let convert = |element: &Json| {
            let Some(old) = xarray::scalar(from, element) else { return Ok(element.clone()) };
            let of_xarray =
                |number, bits| xarray::encode(&DataType::Number(number), &FillValue::from_bits(number, bits));
            let is_base64 = element.as_str().is_some() && value_from_json(from, element).is_err();
            let is_of_xarray = is_base64 || (name == FILL_VALUE && of_xarray(from, old).as_ref() == Some(element));
            // A literal that float32 rounds, such as 1e20, is another number in float64.
            let means = |new| xarray::scalar(to, element).is_none_or(|read| read == new);
            match cast.convert_one(old) {
                Ok(new) if is_of_xarray => Ok(of_xarray(to, new).unwrap_or_else(|| value_to_json(to, new))),
                Ok(new) if is_same_number((from, old), (to, new)) && means(new) => Ok(element.clone()),
                // With all its digits, because readers parse it as a float64.
                Ok(new) if to.is_float() => Ok(value_to_json(double, FloatType(to).value(new).to_bits())),
                Ok(new) => Ok(value_to_json(to, new)),
                // A NaN without a code masks nothing.
                Err(_) if fault::number_value(from, old).is_nan() => Ok(element.clone()),
                Err(_) => {
                    let masked = value_to_json(from, old).excerpt();
                    let message = format!("the attribute `{name}` masks {masked}, which cannot be converted to {to}");
                    Err(OperationError::data(message)
                        .with_help("choose a type that can store it, or replace all attributes with --attributes"))
                }
            }
        };
        let converted = match json.as_array() {
            Some(elements) => Json::Array(elements.iter().map(convert).collect::<Result<_, _>>()?),
            None => convert(json)?,
        };
        attributes.insert(name, converted);
    }
    if attributes != draft.attributes() {
        draft.set_attributes(attributes);
    }
    Ok(())
}

fn is_same_number(one: (NumberType, u64), other: (NumberType, u64)) -> bool {
    let [one, other] = [one, other].map(|(number, bits)| fault::number_value(number, bits));
    one == other || (one.is_nan() && other.is_nan())
}

/// Removes filters that quantise, which a quantisation replaces (SEMANTICS: A1.10). The values stay as they are decoded.
pub(crate) fn drop_filters(options: &ChangeOptions, draft: &mut Draft, names: &[&str]) {
    let kept = draft::strip(&draft.codecs, names);
    if options.codecs.is_none() && kept != draft.codecs {
        draft.set_codecs(kept);
        draft::follow(draft);
    }
}

/// Fails if a codec of DEST would change quantised or rounded values again: the reported error would not be that of
/// DEST.
pub(super) fn refuse_lossy_codecs(options: &ChangeOptions, pipeline: &Pipeline) -> Result<()> {
    const LOSSY: [&str; 3] = [draft::FIXED_SCALE_OFFSET, "numcodecs.quantize", "numcodecs.astype"];
    let is_given = options.codecs.is_some();
    let is_filter = |stage: &Stage| is_given && LOSSY.contains(&&*stage.metadata.name);
    let is_lossy = |stage: &&Stage| match (options.quantize.is_some(), options.keep_bits.is_some()) {
        (true, _) => is_filter(stage) || draft::changes_integers(stage),
        (false, true) => is_filter(stage) || draft::max_loss(stage).is_some(),
        (false, false) => false,
    };
    let Some(stage) = draft::chains(pipeline).flat_map(|chain| &chain.stages).find(is_lossy) else { return Ok(()) };
    let whose = if is_given { "--codecs" } else { "the chain" };
    let message = format!("{whose} has `{}`, which would change the quantised values again", stage.metadata.name);
    Err(OperationError::data(message).with_help("give a chain without this codec by --codecs"))
}

/// Fails if codecs are configured for the old type of the values, the type changes, and there is no new chain.
pub(crate) fn refuse_bound_codecs(options: &ChangeOptions, draft: &Draft, [from, to]: [NumberType; 2]) -> Result<()> {
    let is_bound =
        |codec: &CodecMetadata| BOUND_TO_A_TYPE.contains(&codec.name.as_str()) || draft::stores_some_bits(codec);
    let bound = draft::flattened(&draft.codecs).into_iter().find(is_bound);
    let Some(CodecMetadata { name, .. }) = bound.filter(|_| options.codecs.is_none()) else { return Ok(()) };
    let error = OperationError::data(format!("codec `{name}` is configured for {from}, not for {to}"));
    let remove = if PACKING_CODECS.contains(&name.as_str()) { ", or remove the codec with --unpack" } else { "" };
    Err(error.with_help(format!("give a new chain with --codecs{remove}")))
}

fn lossy(from: NumberType, to: NumberType) -> OperationError {
    let float = if from.bits() > 53 { "" } else { "float64 or " };
    OperationError::data(format!("{to} does not hold all values of {from}: the conversion can lose bits"))
        .with_help(format!("accept it with --allow-lossy-cast, or choose {float}an integer type"))
}

/// Fails for a chain that encodes integers as floats that cannot represent them all (SEMANTICS: B1).
pub(crate) fn refuse_lossy_casts(pipeline: &Pipeline) -> Result<()> {
    for stage in draft::chains(pipeline).flat_map(|chain| &chain.stages) {
        if let Effect::Cast { encode, .. } = stage.configuration.effect() {
            let (source, target) = (encode.options.source, encode.options.target);
            if is_lossy(source, target) {
                return Err(lossy(source, target));
            }
        }
    }
    Ok(())
}

/// Returns whether there is anything to unpack.
pub(crate) fn is_packed_array(source: &OpenedArray) -> bool {
    is_packed(&source.metadata.codecs) || cf::has_packing(source)
}

/// `--unpack`: changes the draft. Returns the conversion of the values, and the value of absent elements.
pub(crate) fn unpack(source: &OpenedArray, options: &ChangeOptions, draft: &mut Draft) -> Result<Converted> {
    let codecs = &source.metadata.codecs;
    let of_attributes = if cf::has_packing(source) { cf::packing(source, options.data_type.as_ref())? } else { None };
    if of_attributes.is_none() && !is_packed(codecs) {
        let message = format!("`{}` is not packed", source.store);
        let help = "--unpack needs an array with `scale_offset` or `cast_value` in its chain, or an integer array with \
            the attribute `scale_factor` or `add_offset`";
        return Err(OperationError::data(message).with_help(help));
    }
    // Differences are removed, and the transposition that was added for them.
    let turns = if draft::has_differences(codecs) { "transpose" } else { draft::DELTA };
    draft.set_codecs(draft::strip(codecs, &[PACKING_CODECS[0], PACKING_CODECS[1], draft::DELTA, turns]));
    if let Some(unpack) = &of_attributes {
        draft.set_data_type(DataType::Number(unpack.target));
    }
    draft.edit_innermost(|chain| {
        // It stored codes of unusual widths.
        for codec in chain.iter_mut().filter(|codec| codec.name == "packbits") {
            *codec = CodecMetadata::new("bytes", None);
        }
    });
    draft::follow(draft);
    let Some(unpack) = of_attributes else { return convert(source, options, draft) };
    let floats = unpack.target;
    let not_a_number = FillValue::from_bits(floats, FloatType(floats).bits(f64::NAN));
    draft.set_fill_value(not_a_number.clone())?;
    draft.set_attributes(draft.attributes_without(&cf::PACKING_ATTRIBUTES));
    let absent = Numbers::of(floats, Some(unpack.clone())).fill_of(source);
    let is_nan = FloatType(floats).value(absent).is_nan();
    let absent = if is_nan { not_a_number } else { FillValue::from_bits(floats, absent) };
    Ok((ValueConversion::of(ValueStep::Unpack(Box::new(unpack))), Some(absent)))
}

/// Returns a warning if float32 cannot distinguish the codes of a CF packing, or cannot represent one of them.
pub(super) fn unpacked_warning(change: &ValueConversion) -> Option<Diagnostic> {
    let unpack = change.unpacking()?;
    let (codes, floats) = (unpack.source, unpack.target);
    if codes.is_float() || codes.bits() > 16 || floats.bits() > 32 {
        return None;
    }
    // The least codes and the greatest: precision is lost there first.
    let (count, signs) = (1_u64 << codes.bits(), u64::from(codes.element().is_signed_integer()) << (codes.bits() - 1));
    let ends = (0..count.min(16)).chain(count.saturating_sub(16)..count).map(|code| code ^ signs);
    #[expect(clippy::cast_possible_truncation, reason = "the one rounding to float32")]
    let values = ends.map(|code| unpack.value_of_bits(code)).map(|value| (value, value as f32));
    let values: Vec<(f64, f32)> = values.filter(|(value, _)| value.is_finite()).collect();
    let fall_together = values.windows(2).any(|pair| pair[0].0 != pair[1].0 && pair[0].1 == pair[1].1);
    (fall_together || values.iter().any(|(_, narrow)| narrow.is_infinite())).then(|| {
        let message = format!(
            "{floats} cannot store the values of all codes: `scale_factor` is too large, or too small relative to \
                `add_offset`"
        );
        Diagnostic::new(code::CAST_VALUE_LOSSY, message).with_help("`--data-type float64` can store them")
    })
}
