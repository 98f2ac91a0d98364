//! A quantisation with all its parameters: codes, scaling, NaN, fill value (CLI.md, "Quantising").
//!
//! Metadata that help some readers of a quantised array, and warnings about others (CLI.md, "Quantising", *Readers*).
//! Also the attributes that mask values, once the values are codes.

use serde::{Deserialize, Serialize};

use super::float_type::float_of;
use super::{Codes, FloatType, RangeFinder, Scaling};
use crate::codec::kinds::values::{cast_value_metadata, scale_offset_metadata};
use crate::codec::{StepOrigin, ValueProgram, ValueStep};
use crate::data_type::{DataType, FillValue, value_to_json};
use crate::diagnostic::{Diagnostic, code, quantity};
use crate::element::{ElementType, NumberType, integer_bits};
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::quantize::{Quantize, QuantizeOptions as KernelOptions};
use crate::kernel::{OutOfRange, Rounding, scale_offset::ScaleOffset, unpack::Unpack};
use crate::metadata::{CodecMetadata, Json, Number, Object};
use crate::operation::xarray::{FILL_VALUE, nan_like};
use crate::operation::{Draft, QuantizeForm, Result, cf, draft};

/// A quantisation whose parameters are all known.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Quantization {
    pub form: QuantizeForm,
    pub source: NumberType,
    /// The type of the codes.
    pub target: NumberType,
    pub codes: Codes,
    /// Codes that are decoded to NaN in addition to the one of `codes`.
    #[serde(default)]
    pub more_nan_codes: Vec<i64>,
    pub scaling: Scaling,
    /// The least and greatest value of the range.
    pub range: Option<(f64, f64)>,
    /// `rounding` of `cast_value`.
    pub rounding: Rounding,
    /// `out_of_range` of `cast_value`.
    pub out_of_range: OutOfRange,
    /// Bit patterns of values that are read as NaN.
    pub missing: Vec<u64>,
    /// Fill value of DEST, as bits of the float type.
    pub fill_value: u64,
    /// Fill value of SOURCE, as bits of the float type.
    pub absent_bits: u64,
    /// Whether absent chunks must be written, because no fill value represents them.
    pub writes_absent: bool,
    pub max_error: Option<f64>,
    /// `--step`.
    pub grid_step: Option<f64>,
    /// Whether `max_error` is proved for every value of the range, so that the data need not be measured.
    pub is_proved: bool,
    /// Whether the range is not known yet, because the plan reads no chunk.
    #[serde(skip)]
    pub is_open: bool,
    /// Whether TYPE was neither given nor determined by measuring.
    #[serde(skip)]
    pub is_target_open: bool,
    /// An entry of `scalar_map.encode` only for some readers: the encoded 0 as bits of the float type, and a code. No
    /// element has this value.
    pub reader_workaround: Option<(u64, i64)>,
}

/// Returns the value nearest to `decode(encode(fill))` that survives the cast and the whole chain bit for bit. It is
/// within the bound of `fill`.
pub(crate) fn surviving_fill(quantization: &Quantization, fill: f64) -> Option<f64> {
    let kernel = quantization.codecs();
    let float = FloatType(quantization.source);
    let start = float.value(kernel.coded(float.bits(fill))?);
    let steps = (0..=16_i64).flat_map(|step| [step, -step]);
    let allowed = quantization.bound();
    let mut values = steps.filter_map(|step| float.neighbour(start, step));
    values.find(|value| (value - fill).abs() <= allowed && kernel.survives(float.bits(*value)))
}

/// The two codecs for single values, as readers apply them.
pub(crate) struct ValueCodecs {
    scale_offset: ScaleOffset,
    encode: Cast,
    decode: Cast,
}

impl ValueCodecs {
    pub(crate) fn encode(&self, bits: u64) -> Option<u64> {
        self.encode.convert_one(self.scale_offset.encode_one(bits).ok()?).ok()
    }

    pub(crate) fn decode(&self, code: u64) -> Option<u64> {
        self.scale_offset.decode_one(self.decode.convert_one(code).ok()?).ok()
    }

    /// Returns the value after encoding and decoding.
    fn coded(&self, bits: u64) -> Option<u64> {
        self.decode(self.encode(bits)?)
    }

    /// Returns whether a value survives each codec alone.
    fn survives(&self, bits: u64) -> bool {
        // Readers pass the fill value through the chain codec by codec, and each must bring it back (SEMANTICS: A1.8,
        // B17).
        let Ok(scaled) = self.scale_offset.encode_one(bits) else { return false };
        let Ok(code) = self.encode.convert_one(scaled) else { return false };
        self.decode.convert_one(code) == Ok(scaled) && self.scale_offset.decode_one(scaled) == Ok(bits)
    }
}

/// Fewer codes in use than this are a warning.
pub(crate) const FEW_CODES: u64 = 8;

impl Quantization {
    /// Returns whether all parameters are known and none depends on the data.
    pub(crate) fn is_resolved(&self) -> bool {
        !(self.is_open || self.is_target_open)
    }

    /// Returns whether the codes are known. In an open plan all codes of the type must be used, and a NaN code reserved
    /// in any case.
    pub(crate) fn are_codes_resolved(&self) -> bool {
        let is_whole_type = self.codes.nan.is_some() && self.max_error.is_none() && self.grid_step.is_none();
        !self.is_target_open && (!self.is_open || is_whole_type)
    }

    /// Returns whether different values would all become equal: their range is at most twice `--max-error`.
    pub(crate) fn eats_range(&self) -> bool {
        let Some((lo, hi)) = self.range.filter(|(lo, hi)| lo < hi && !self.is_open) else { return false };
        // Halves: the difference of two float64 may overflow.
        self.max_error.is_some_and(|error| hi / 2.0 - lo / 2.0 <= error)
    }

    /// Returns a warning if absent elements have another value in DEST, or are written. It is known once the range is.
    pub(crate) fn fill_value_warning(&self) -> Option<Diagnostic> {
        let [old, new] = [self.absent_bits, self.fill_value].map(|bits| FloatType(self.source).value(bits));
        let message = if self.writes_absent {
            let becomes = "missing chunks are written, and the fill value becomes NaN";
            format!("the integers can store no value near the fill value {old}: {becomes}")
        } else {
            format!("the fill value {old} becomes {new}, which the integers can store exactly")
        };
        // Without absent elements it becomes NaN, which changes no element.
        let is_moved = self.writes_absent || (old != new && !new.is_nan());
        (is_moved && self.is_resolved()).then(|| Diagnostic::new(code::QUANTIZE_FILL_VALUE_MOVED, message))
    }

    /// Returns a warning if a step leaves few codes in use.
    pub(crate) fn few_codes_warning(&self, is_in_tree: bool) -> Option<Diagnostic> {
        let is_cut_off = self.scaling.is_greatest(FloatType(self.source));
        let (step, next) = match (self.grid_step, self.max_error) {
            (Some(step), _) => (step, "give a smaller `--step`"),
            (None, Some(_)) => (self.step(), "give a smaller `--max-error`"),
            (None, None) if is_cut_off => (self.step(), "the array's type allows no smaller one: use `--keep-bits`"),
            (None, None) => return None,
        };
        let differs = self.range.is_some_and(|(lo, hi)| lo < hi) && !self.is_open;
        let codes = self.codes.last.abs_diff(self.codes.first).saturating_add(1);
        let rule = if is_in_tree { " with `--rule`, or leave the array unchanged with `--exclude`" } else { "" };
        (differs && codes < FEW_CODES).then(|| {
            let message = format!("a step of {step} leaves {} in use", quantity::counted(codes, "code"));
            Diagnostic::new(code::QUANTIZE_FEW_CODES, message).with_help(format!("{next}{rule}"))
        })
    }

    pub(crate) fn bind(&self) -> Quantize {
        let Quantization { form, source, target, codes, rounding, .. } = *self;
        let (float, has_scalar_map) = (FloatType(source), form == QuantizeForm::Codecs);
        let options = RangeFinder { float, target, codes, rounding, has_scalar_map }.options(self.scaling);
        let (out_of_range, missing) = (self.out_of_range, self.missing.clone());
        let cf = (self.form == QuantizeForm::Cf).then(|| self.cf_attributes());
        Quantize::new(KernelOptions { out_of_range, missing, cf, ..options })
    }

    fn cf_attributes(&self) -> (f64, f64) {
        // Without an offset, nothing must change. After a negative scale -0.0 is added, which keeps the sign of a zero.
        let absent = if self.scaling.scale.is_some_and(f64::is_sign_negative) { -0.0 } else { 0.0 };
        let decoded = 1.0 / self.scaling.scale.unwrap_or(1.0);
        // The scale is rounded to the array's type, `--step` is not. Both decode few codes to nearly the same values.
        let step = self.grid_step.filter(|step| (step - decoded).abs() * self.greatest_code() <= step * 1e-3);
        (step.unwrap_or(decoded), self.scaling.offset.unwrap_or(absent))
    }

    /// Returns the greatest magnitude of a code.
    fn greatest_code(&self) -> f64 {
        float_of(self.codes.first).abs().max(float_of(self.codes.last).abs())
    }

    fn scale_offset(&self) -> ScaleOffset {
        let bits = |value: Option<f64>| value.map(|value| FloatType(self.source).bits(value));
        let (offset, scale) = (bits(self.scaling.offset), bits(self.scaling.scale));
        ScaleOffset::new(self.source, offset, scale)
    }

    /// Returns the casts of `cast_value` for encoding and decoding.
    fn casts(&self) -> (CastOptions, CastOptions) {
        let float = FloatType(self.source);
        // As a key of `scalar_map`, the canonical NaN matches every NaN (SEMANTICS: B12).
        let special = [(f64::NAN, self.codes.nan), (-0.0, self.scaling.negative_zero_code)];
        let bits_of = |code: i64| integer_bits(code.cast_unsigned(), self.target.element());
        let map = special.into_iter().filter_map(|(value, code)| Some((float.bits(value), bits_of(code?))));
        let encode: Vec<(u64, u64)> = map.collect();
        let more = self.more_nan_codes.iter().map(|code| (bits_of(*code), float.bits(f64::NAN)));
        let decode = encode.iter().map(|(value, code)| (*code, *value)).chain(more).collect();
        let (rounding, out_of_range) = (self.rounding, self.out_of_range);
        let cast = |source, target, scalar_map| CastOptions { source, target, rounding, out_of_range, scalar_map };
        (cast(self.source, self.target, encode), cast(self.target, self.source, decode))
    }

    pub(crate) fn codecs(&self) -> ValueCodecs {
        let (encode, decode) = self.casts();
        ValueCodecs { scale_offset: self.scale_offset(), encode: Cast::new(encode), decode: Cast::new(decode) }
    }

    /// Returns the decoding from codes to float64, with the values that readers get.
    pub(crate) fn number_reader(&self) -> ValueProgram {
        let is_cf = self.form == QuantizeForm::Cf;
        self.reader().to_float64(if is_cf { NumberType::of(ElementType::Float64) } else { self.source })
    }

    /// Returns the decoding from codes to values as readers do it.
    pub(crate) fn reader(&self) -> ValueProgram {
        let mut program = ValueProgram::new(self.target.size());
        if self.form == QuantizeForm::Cf {
            let missing = self.codes.nan.iter().chain(&self.more_nan_codes).map(|code| i128::from(*code)).collect();
            let (double, attributes) = (NumberType::of(ElementType::Float64), self.cf_attributes());
            let unpack = Unpack::new(self.target, double, attributes.0, attributes.1, missing);
            program.push(ValueStep::Unpack(Box::new(unpack)), StepOrigin::DataType);
            return program;
        }
        let ValueCodecs { decode, scale_offset, .. } = self.codecs();
        program.push(ValueStep::Cast(decode), StepOrigin::DataType);
        program.push(ValueStep::ScaleDecode(scale_offset), StepOrigin::DataType);
        program
    }

    /// Returns the value of a code, with the real decoder.
    pub(crate) fn value_of(&self, code: i64) -> Option<f64> {
        let bits = self.codecs().decode(integer_bits(code.cast_unsigned(), self.target.element()))?;
        Some(FloatType(self.source).value(bits))
    }

    /// Returns the bits of a code's value, if it survives each codec alone.
    pub(crate) fn surviving(&self, code: u64) -> Option<u64> {
        let codecs = self.codecs();
        codecs.decode(code).filter(|bits| codecs.survives(*bits) && codecs.encode(*bits) == Some(code))
    }

    /// Returns the value of absent elements, in the data type of DEST.
    pub(crate) fn absent_value(&self) -> FillValue {
        let absent = if self.writes_absent { self.absent_bits } else { self.fill_value };
        let are_floats = self.form == QuantizeForm::Codecs;
        let code = || self.codecs().encode(absent).unwrap_or(0);
        if are_floats { FillValue::from_bits(self.source, absent) } else { FillValue::from_bits(self.target, code()) }
    }

    /// Returns the decoded value of the code that is written for absent elements.
    pub(crate) fn absent_read_back(&self) -> Option<FillValue> {
        Some(FillValue::from_bits(self.source, self.codecs().coded(self.absent_bits)?))
    }

    /// Returns the error of absent elements: of the fill value in DEST, or of the written code. `None` if they are NaN.
    pub(crate) fn absent_error(&self) -> Option<f64> {
        let float = FloatType(self.source);
        let absent = float.value(self.absent_bits);
        let written = if self.writes_absent { self.codecs().coded(self.absent_bits)? } else { self.fill_value };
        let decoded = float.value(written);
        (!absent.is_nan() && !decoded.is_nan()).then(|| (decoded - absent).abs())
    }

    pub(crate) fn step(&self) -> f64 {
        (1.0 / self.scaling.scale.unwrap_or(1.0)).abs()
    }

    /// Returns the limit of the error of values in range: `--max-error`, or else half a step. For a directed rounding
    /// it is a whole step. The error of the float arithmetic is added.
    pub(crate) fn bound(&self) -> f64 {
        if let Some(max_error) = self.max_error {
            return max_error;
        }
        let steps = if self.rounding.is_to_nearest() { 0.5 } else { 1.0 };
        let ends = [self.codes.first, self.codes.last].map(|code| self.value_of(code).unwrap_or(0.0));
        let (mut span, magnitude) = ((ends[1] - ends[0]).abs(), ends[0].abs().max(ends[1].abs()));
        if self.grid_step.is_some() {
            // The offset may be far from the values.
            span = span.max(self.greatest_code() * self.step());
        }
        let significand_bits = self.source.significand_bits().map_or(53, u32::cast_signed);
        // Two operations encode and two decode. Each rounds by at most 2^-bits of a value of about this size.
        steps * self.step() + 2_f64.powi(-significand_bits) * 4.0 * (span + magnitude)
    }

    /// Returns the additional error of CF readers that round to the array's type instead of float64. It is at most a
    /// few units in the last place of the greatest value.
    pub(crate) fn cf_rounding(&self) -> f64 {
        let significand_bits = self.source.significand_bits().map_or(53, u32::cast_signed);
        let magnitude = self.range.map_or(0.0, |(lo, hi)| lo.abs().max(hi.abs()));
        if self.form == QuantizeForm::Cf { 2_f64.powi(2 - significand_bits) * magnitude } else { 0.0 }
    }

    /// Returns a value as a literal of the array's type.
    pub(crate) fn literal(&self, value: f64) -> Json {
        value_to_json(self.source, FloatType(self.source).bits(value))
    }

    /// Returns the range as literals of the array's type.
    pub(crate) fn range_literals(&self) -> Option<[Json; 2]> {
        self.range.map(|(lo, hi)| [lo, hi].map(|value| self.literal(value)))
    }

    /// Returns the number of codecs that the kernel replaces.
    pub(crate) fn num_codecs(&self) -> usize {
        if self.form == QuantizeForm::Codecs { self.metadata().len() } else { 0 }
    }

    /// Returns the entry that encodes the scaled 0 to the NaN code, or else to the first code. `None` if it is
    /// infinite.
    pub(crate) fn entry_for_zero(&self) -> Option<(u64, i64)> {
        let encoded = self.codecs().scale_offset.encode_one(0).ok()?;
        Some((encoded, self.codes.nan.unwrap_or(self.codes.first)))
    }

    /// Returns whether `packbits` stores the codes.
    pub(crate) fn is_packed(&self) -> bool {
        !(self.target.is_whole() && self.target.bits().is_power_of_two())
    }

    /// Returns the two codecs as metadata. A `scale_offset` without effect is left out.
    pub(crate) fn metadata(&self) -> Vec<CodecMetadata> {
        let scaling = self.scale_offset();
        let (mut encode, decode) = self.casts();
        let entry = self
            .reader_workaround
            .map(|(value, code)| (value, integer_bits(code.cast_unsigned(), self.target.element())));
        encode.scalar_map.extend(entry);
        // In an open plan the scale is not known, but the chain will have the codec.
        let scales = self.is_open || scaling.offset.is_some() || scaling.scale.is_some();
        let scaled = scales.then(|| scale_offset_metadata(&scaling));
        scaled.into_iter().chain([cast_value_metadata(&encode, &decode)]).collect()
    }

    /// Writes the quantisation into the metadata of DEST.
    pub(crate) fn apply(&self, draft: &mut Draft) -> Result<()> {
        let codes = DataType::Number(self.target);
        let packed = self.is_packed();
        let heading = if self.form == QuantizeForm::Codecs { self.metadata() } else { Vec::new() };
        draft.edit_innermost(|chain| {
            draft::follow_data_type(chain, &codes);
            if packed {
                for codec in chain.iter_mut().filter(|codec| codec.name == "bytes") {
                    *codec = CodecMetadata::new("packbits", None);
                }
            }
            chain.splice(0..0, heading);
        });
        if self.form == QuantizeForm::Codecs {
            return draft.set_fill_value(FillValue::from_bits(self.source, self.fill_value));
        }
        draft.set_data_type(codes);
        draft.set_fill_value(FillValue::from_bits(self.target, self.codecs().encode(self.fill_value).unwrap_or(0)))?;
        if self.form == QuantizeForm::Cf {
            self.describe_as_cf(draft);
        }
        Ok(())
    }

    /// Sets the CF attributes (CF conventions, section 8.1).
    fn describe_as_cf(&self, draft: &mut Draft) {
        let attributes = draft.attributes_without(&cf::PACKING_ATTRIBUTES);
        // JSON parsers make an integer of a literal without fraction and exponent, and these attributes must be floats.
        let float64 = |value: f64| Number::from_shortest(value).map_or(Json::Null, Json::Number);
        let (factor, offset) = self.cf_attributes();
        let mut attributes = attributes.with("scale_factor", float64(factor)).with("add_offset", float64(offset));
        if let Some(nan) = self.codes.nan {
            attributes.insert("_FillValue", nan);
        }
        if !self.more_nan_codes.is_empty() {
            let codes = self.more_nan_codes.iter().map(|code| Json::from(*code));
            attributes.insert("missing_value", Json::Array(codes.collect()));
        }
        draft.set_attributes(attributes);
    }
}

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
    concerns && quantization.codecs().encode(0).is_none()
}

/// Returns the whole chain of a draft including the quantisation and the help for readers.
pub(crate) fn chain(quantization: &Quantization, mut draft: Draft) -> Result<Vec<CodecMetadata>> {
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
