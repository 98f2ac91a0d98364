//! A settled quantisation in the document of a plan. Values of the array's type are written as numbers of 64 bits, whose
//! shortest literals are exact; fill values and NaN by their bits.

use super::change::{FORMS, OUT_OF_RANGE, ROUNDINGS};
use super::members::{
    PlanFault, float, list, name_of, named, optional, put, put_switch, read_float, read_integer, read_list,
    read_number_type, required, switch,
};
use crate::metadata::json::{Json, Object};
use crate::operation::quantize::quantization::Quantization;
use crate::operation::quantize::range::{Codes, Scaling};

/// The quantisation as members. Its warnings, which were given when it was settled, are none of it.
pub(super) fn write(settled: &Quantization) -> Json {
    let mut to = Object::new()
        .with("form", name_of(&FORMS, &settled.form))
        .with("source", settled.source.name())
        .with("target", settled.target.name())
        .with("first_code", settled.codes.first)
        .with("last_code", settled.codes.last);
    put(&mut to, "nan_code", settled.codes.nan.as_ref(), |code| Json::from(*code));
    put(&mut to, "offset", settled.scaling.offset.as_ref(), |value| float(*value));
    put(&mut to, "scale", settled.scaling.scale.as_ref(), |value| float(*value));
    put(&mut to, "negative_zero_code", settled.scaling.negative_zero_code.as_ref(), |code| Json::from(*code));
    put(&mut to, "range", settled.range.as_ref(), |(lo, hi)| Json::Array(vec![float(*lo), float(*hi)]));
    to.insert("rounding", name_of(&ROUNDINGS, &settled.rounding));
    to.insert("out_of_range", name_of(&OUT_OF_RANGE, &settled.out_of_range));
    to.insert("missing_bits", list(&settled.missing));
    to.insert("fill_value_bits", settled.fill_value);
    to.insert("absent_bits", settled.absent_bits);
    put(&mut to, "max_error", settled.max_error.as_ref(), |error| float(*error));
    put(&mut to, "step", settled.grid_step.as_ref(), |step| float(*step));
    put_switch(&mut to, "writes_absent", settled.writes_absent);
    put_switch(&mut to, "is_proved", settled.is_proved);
    put(&mut to, "reader_workaround", settled.reader_workaround.as_ref(), |(bits, code)| {
        Json::Array(vec![Json::from(*bits), Json::from(*code)])
    });
    Json::Object(to)
}

/// The quantisation of [`write`].
pub(super) fn read(from: &Json) -> Result<Quantization, PlanFault> {
    let (integer, number, of_numbers) = ("an integer", "a number", "a type of numbers");
    let pair = |json: &Json| match json.as_array()? {
        [lo, hi] => Some((read_float(lo)?, read_float(hi)?)),
        _ => None,
    };
    let workaround = |json: &Json| match json.as_array()? {
        [bits, code] => Some((bits.as_u64()?, read_integer(code)?)),
        _ => None,
    };
    Ok(Quantization {
        form: required(from, "form", "`codecs`, `cf` or `plain`", |json| named(&FORMS, json))?,
        source: required(from, "source", of_numbers, read_number_type)?,
        target: required(from, "target", of_numbers, read_number_type)?,
        codes: Codes {
            first: required(from, "first_code", integer, read_integer)?,
            last: required(from, "last_code", integer, read_integer)?,
            nan: optional(from, "nan_code", integer, read_integer)?,
        },
        scaling: Scaling {
            offset: optional(from, "offset", number, read_float)?,
            scale: optional(from, "scale", number, read_float)?,
            negative_zero_code: optional(from, "negative_zero_code", integer, read_integer)?,
        },
        range: optional(from, "range", "two numbers", pair)?,
        rounding: required(from, "rounding", "a rounding", |json| named(&ROUNDINGS, json))?,
        out_of_range: required(from, "out_of_range", "`error`, `clamp` or `wrap`", |json| {
            named(&OUT_OF_RANGE, json)
        })?,
        missing: required(from, "missing_bits", "a list of integers", |json| read_list(json, Json::as_u64))?,
        fill_value: required(from, "fill_value_bits", integer, Json::as_u64)?,
        absent_bits: required(from, "absent_bits", integer, Json::as_u64)?,
        max_error: optional(from, "max_error", number, read_float)?,
        grid_step: optional(from, "step", number, read_float)?,
        writes_absent: switch(from, "writes_absent")?,
        is_proved: switch(from, "is_proved")?,
        is_open: false,
        is_target_settled: true,
        reader_workaround: optional(from, "reader_workaround", "bits and a code", workaround)?,
        warnings: Vec::new(),
    })
}
