//! `--unpack`: plain floats again, by dropping `scale_offset` and `cast_value`, or by applying CF attributes.

use super::change;
use crate::codec::conversion::ValueChange;
use crate::data_type::{DataType, FillValue};
use crate::element::{ElementType, NumberType};
use crate::kernel::unpack::Unpack;
use crate::metadata::edit::codecs_json;
use crate::metadata::extension::{CodecMetadata, read_codecs};
use crate::metadata::json::Json;
use crate::operation::draft::{Draft, codec_names, follow, read_chain};
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::operation::options::ChangeOptions;
use crate::operation::{cf, missing};

const PACKING_CODECS: [&str; 2] = ["scale_offset", "cast_value"];
const PACKING_ATTRIBUTES: [&str; 8] = [
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "valid_min",
    "valid_max",
    "valid_range",
    "_Unsigned",
];

/// Whether there is anything to unpack.
pub(in crate::operation) fn applies(source: &OpenedArray) -> bool {
    let names = codec_names(&source.metadata.codecs);
    let attributes = &source.metadata.attributes;
    names.iter().any(|name| PACKING_CODECS.contains(&name.as_str()))
        || (source.data_type.number().is_some_and(|number| !number.is_float())
            && ["scale_factor", "add_offset"].iter().any(|name| attributes.get(name).is_some()))
}

/// Changes the draft; what happens to the values, and what absent elements become.
pub(in crate::operation) fn apply(
    source: &OpenedArray,
    options: &ChangeOptions,
    draft: &mut Draft,
) -> Result<(ValueChange, Option<FillValue>), OperationError> {
    let names = codec_names(&source.metadata.codecs);
    if names.iter().any(|name| PACKING_CODECS.contains(&name.as_str())) {
        let stripped = strip(&source.metadata.codecs);
        draft.set_codecs(stripped);
        follow_unpacked(draft);
        let changed = match &options.data_type {
            Some(data_type) => change::data_type(source, options, data_type, draft)?,
            None => (ValueChange::None, source.fill_value.clone()),
        };
        set_chain(options, draft)?;
        return Ok(changed);
    }
    let packing = Packing::of(source, options.data_type.as_ref())?;
    let (change, absent) = packing.apply(source, draft)?;
    set_chain(options, draft)?;
    Ok((change, Some(absent)))
}

fn set_chain(options: &ChangeOptions, draft: &mut Draft) -> Result<(), OperationError> {
    if let Some(codecs) = &options.codecs {
        draft.set_codecs(read_chain(codecs, "--codecs")?);
    }
    Ok(())
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

/// CF packing of an integer array.
struct Packing {
    codes: NumberType,
    floats: NumberType,
    scale_factor: f64,
    add_offset: f64,
    missing: Vec<i128>,
}

impl Packing {
    fn of(source: &OpenedArray, floats: Option<&DataType>) -> Result<Self, OperationError> {
        let attributes = &source.metadata.attributes;
        let (scale_factor, add_offset) =
            (cf::factor("scale_factor", attributes)?, cf::factor("add_offset", attributes)?);
        let codes = source.data_type.number().filter(|number_type| !number_type.is_float());
        let (Some(codes), true) = (codes, scale_factor.is_some() || add_offset.is_some()) else {
            return Err(OperationError::data(format!("`{}` is not packed", source.store)).with_help(
                "--unpack takes an array with `scale_offset` or `cast_value` in its chain, or an integer array with \
                 the attribute `scale_factor` or `add_offset`",
            ));
        };
        let floats = float_type(codes, floats)?;
        let declared = missing::declared_type(codes, attributes);
        let missing: Vec<i128> = ["_FillValue", "missing_value"]
            .into_iter()
            .filter_map(|name| attributes.get(name))
            .flat_map(|json| json.as_array().map_or_else(|| vec![json.clone()], <[Json]>::to_vec))
            .filter_map(|json| json.as_number()?.as_integral_i128())
            .map(|code| if declared == codes { code } else { wrapped(code, declared) })
            .collect();
        Ok(Packing {
            codes: declared,
            floats,
            scale_factor: scale_factor.unwrap_or(1.0),
            add_offset: add_offset.unwrap_or(0.0),
            missing,
        })
    }

    fn apply(
        self,
        source: &OpenedArray,
        draft: &mut Draft,
    ) -> Result<(ValueChange, FillValue), OperationError> {
        let bits = source.fill_value.as_ref().and_then(|fill| fill.to_bits(&source.data_type)).unwrap_or(0);
        let unpack = Unpack::new(self.codes, self.floats, self.scale_factor, self.add_offset, self.missing);
        draft.set_data_type(DataType::Number(self.floats));
        follow_unpacked(draft);
        let float = crate::operation::quantize::range::FloatType(self.floats);
        let not_a_number = FillValue::from_bits(self.floats, float.bits(f64::NAN));
        draft.set_fill_value(not_a_number.clone())?;
        let mut attributes = draft.attributes();
        for name in PACKING_ATTRIBUTES {
            attributes.remove(name);
        }
        draft.set_attributes(attributes);
        let absent = unpack.value_of_bits(bits);
        let absent = if absent.is_nan() {
            not_a_number
        } else {
            FillValue::from_bits(
                self.floats,
                float.bits(float.round(absent, crate::kernel::Rounding::NearestEven)),
            )
        };
        Ok((ValueChange::Unpack(Box::new(unpack)), absent))
    }
}

/// The type of the values: what is asked for, or float32 for codes of up to 16 bits and float64 for wider ones.
fn float_type(codes: NumberType, asked: Option<&DataType>) -> Result<NumberType, OperationError> {
    let by_width = if codes.bits() <= 16 { ElementType::Float32 } else { ElementType::Float64 };
    let Some(asked) = asked else { return Ok(NumberType::of(by_width)) };
    let wide = |float: &NumberType| matches!(float.element(), ElementType::Float32 | ElementType::Float64);
    asked.number().filter(wide).ok_or_else(|| {
        OperationError::data(format!("CF attributes unpack to float32 or float64, not to {asked}"))
            .with_help("leave --data-type out, and change the type of the result in a second run")
    })
}

/// A code as its type holds it: -1 is 255 where bytes are declared unsigned.
fn wrapped(code: i128, codes: NumberType) -> i128 {
    match codes.integer_bounds() {
        Some((least, greatest)) if !(least..=greatest).contains(&code) => {
            (code - least).rem_euclid(greatest - least + 1) + least
        }
        _ => code,
    }
}
