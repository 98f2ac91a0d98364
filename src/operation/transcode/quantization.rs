//! What a quantisation will do: codes, scaling, NaN, fill value (CLI.md, "Quantising").

use super::destination::{Draft, codec_names, follow_data_type};
use super::range::{Codes, FloatType, RangeFault, RangeFinder, Scaling};
use super::survey::Survey;
use crate::data_type::{DataType, FillValue, value_from_json, value_to_json};
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::engine::chunk_set::Listing;
use crate::kernel::cast::Cast;
use crate::kernel::quantize::{Quantize, QuantizeOptions as KernelOptions};
use crate::kernel::scale_offset::ScaleOffset;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Number};
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::operation::options::{QuantizeForm, QuantizeOptions, TranscodeOptions};
use crate::pipeline::configuration::{BoundCastValue, BoundScaleOffset};

/// A quantisation whose every parameter is known.
#[derive(Debug, Clone)]
pub(in crate::operation) struct Quantization {
    /// How the codes are written.
    pub form: QuantizeForm,
    /// The array's float type.
    pub source: NumberType,
    /// The codes' type.
    pub target: NumberType,
    /// The codes.
    pub codes: Codes,
    /// `offset` and `scale`.
    pub scaling: Scaling,
    /// The least and greatest value that the codes were made for.
    pub range: Option<(f64, f64)>,
    /// `cast_value`'s rounding.
    pub rounding: Rounding,
    /// `cast_value`'s `out_of_range`.
    pub out_of_range: OutOfRange,
    /// Bits of values that count as NaN.
    pub missing: Vec<u64>,
    /// DEST's fill value, bits of the float type.
    pub fill_value: u64,
    /// The source's fill value, bits of the float type.
    pub absent_bits: u64,
    /// Whether absent chunks must be written out, since no fill value stands for them.
    pub writes_absent: bool,
    /// `--max-error`.
    pub max_error: Option<f64>,
    /// Whether the range is not known yet: a plan that reads no chunk.
    pub is_open: bool,
    /// Whether TYPE was given, or has been found by measuring.
    pub is_target_settled: bool,
    /// What the user should know.
    pub warnings: Vec<Diagnostic>,
}

/// What is asked for, before the range is known.
#[derive(Debug)]
pub(in crate::operation) struct Request<'a> {
    /// The array.
    pub source: &'a OpenedArray,
    /// The options of the run.
    pub options: &'a TranscodeOptions,
    /// Those of the quantisation.
    pub quantize: &'a QuantizeOptions,
    /// The array's float type.
    pub number_type: NumberType,
    /// Values that count as NaN.
    pub missing: Vec<u64>,
    /// The fill value's bits.
    pub fill_bits: u64,
}

impl<'a> Request<'a> {
    /// Checks that the array can be quantised at all.
    pub(in crate::operation) fn new(
        source: &'a OpenedArray,
        options: &'a TranscodeOptions,
        quantize: &'a QuantizeOptions,
    ) -> Result<Self, OperationError> {
        let number_type = match source.data_type {
            DataType::Number(number_type) if number_type.is_float() => number_type,
            _ => {
                return Err(OperationError::data(format!(
                    "quantising applies to float arrays; `{}` holds {}",
                    source.store, source.data_type
                ))
                .with_help("change the type of other arrays with --data-type"));
            }
        };
        refuse_packed(&source.metadata.codecs, &source.store)?;
        if quantize.form == QuantizeForm::Cf {
            check_cf(source, quantize.data_type)?;
        }
        let fill_bits =
            source.fill_value.as_ref().and_then(|fill| fill.to_bits(&source.data_type)).unwrap_or(0);
        let missing = super::missing::values(source, number_type, quantize.missing.as_ref())?;
        Ok(Request { source, options, quantize, number_type, missing, fill_bits })
    }

    /// The array's arithmetic.
    pub(super) fn float(&self) -> FloatType {
        FloatType(self.number_type)
    }

    /// Whether the range must be looked for in the data.
    pub(super) fn needs_first_pass(&self) -> bool {
        self.quantize.range.is_none() && self.quantize.scale.is_none() && self.quantize.offset.is_none()
    }

    /// Whether chunks must be read before anything can be settled.
    pub(super) fn reads_data(&self) -> bool {
        self.needs_first_pass() || self.quantize.max_error.is_some()
    }

    /// The quantisation as far as it is known before any chunk is read.
    pub(super) fn open(&self, listing: &Listing) -> Result<Quantization, OperationError> {
        let total: u64 = self.source.metadata.chunk_grid_shape().iter().product();
        let survey = Survey { absent_elements: listing.present.len() < total, ..Survey::default() };
        // The widest, so that what the plan needs is enough for any.
        let widest = self.candidates().into_iter().next_back().unwrap_or(self.number_type);
        let mut quantization = self.settle(widest, &survey)?;
        quantization.is_open = self.needs_first_pass();
        quantization.is_target_settled = self.quantize.data_type.is_some();
        quantization.warnings.clear();
        Ok(quantization)
    }

    /// Whether the fill value stands for NaN.
    pub(super) fn fill_is_nan(&self) -> bool {
        let fill = self.float().value(self.fill_bits);
        fill.is_nan() || self.missing.iter().any(|bits| self.float().value(*bits) == fill)
    }

    /// The candidates for the codes' type, narrowest first.
    pub(super) fn candidates(&self) -> Vec<NumberType> {
        use crate::element::ElementType::{UInt8, UInt16, UInt32};
        match self.quantize.data_type {
            Some(data_type) => vec![data_type],
            None => [UInt8, UInt16, UInt32].map(NumberType::of).to_vec(),
        }
    }

    /// Settles everything for one type of codes.
    pub(super) fn settle(&self, target: NumberType, survey: &Survey) -> Result<Quantization, OperationError> {
        let fill = self.float().value(self.fill_bits);
        let fill_is_data = !self.fill_is_nan() && survey.absent_elements;
        if fill.is_infinite() && fill_is_data {
            return Err(infinite(&self.source.store, "absent chunks hold the fill value, an infinity"));
        }
        self.check_survey(survey)?;
        let saw_nan = survey.extent.is_some_and(|extent| extent.nan > 0);
        let wants_nan = self.quantize.nan_value.is_some() || self.fill_is_nan() || saw_nan || !fill_is_data;
        let mut quantization = self.with_codes(target, wants_nan, survey, fill_is_data.then_some(fill))?;
        if !fill_is_data {
            quantization.fill_value = FloatType(self.number_type).bits(f64::NAN);
            return Ok(quantization);
        }
        if let Some(moved) = surviving_fill(&quantization, fill) {
            quantization.fill_value = self.float().bits(moved);
            if moved != fill {
                quantization.warnings.push(Diagnostic::new(
                    code::QUANTIZE_FILL_VALUE_MOVED,
                    format!("the fill value {fill} becomes {moved}, which the codes bring back bit for bit"),
                ));
            }
            return Ok(quantization);
        }
        let mut quantization = self.with_codes(target, true, survey, Some(fill))?;
        quantization.fill_value = self.float().bits(f64::NAN);
        quantization.writes_absent = true;
        quantization.warnings.push(Diagnostic::new(
            code::QUANTIZE_FILL_VALUE_MOVED,
            format!(
                "no value near the fill value {fill} survives the codes: absent chunks are written out, and the fill \
                 value becomes NaN"
            ),
        ));
        Ok(quantization)
    }

    /// What the first pass found that cannot be quantised.
    fn check_survey(&self, survey: &Survey) -> Result<(), OperationError> {
        let Some(extent) = survey.extent else { return Ok(()) };
        if extent.positive_infinity + extent.negative_infinity > 0 {
            let count = extent.positive_infinity + extent.negative_infinity;
            return Err(infinite(&self.source.store, &format!("{count} elements are infinite")));
        }
        if survey.declared_missing > 0 {
            return Err(OperationError::data(format!(
                "`{}` holds {} elements equal to its attribute `_FillValue` or `missing_value`, which would ruin the \
                 range",
                self.source.store, survey.declared_missing
            ))
            .with_help("count them as NaN with `--missing auto`, or name other values with `--missing VALUE,...`"));
        }
        Ok(())
    }

    fn with_codes(
        &self,
        target: NumberType,
        wants_nan: bool,
        survey: &Survey,
        fill: Option<f64>,
    ) -> Result<Quantization, OperationError> {
        let nan =
            if wants_nan { self.quantize.nan_value.or_else(|| Codes::default_nan(target)) } else { None };
        let (least, greatest) = target.integer_bounds().ok_or_else(|| {
            OperationError::data(format!("--quantize takes an integer type; {target} is none"))
        })?;
        if nan.is_some_and(|nan| !(least..=greatest).contains(&i128::from(nan))) {
            return Err(OperationError::data(format!(
                "--nan-value {} is no value of {target}, {least} to {greatest}",
                nan.unwrap_or_default()
            )));
        }
        let codes = Codes::of(self.number_type, target, nan)
            .ok_or_else(|| OperationError::data(format!("{target} has too few codes")))?;
        let rounding = self.options.rounding.unwrap_or_default();
        let finder = RangeFinder { source: self.number_type, target, codes, rounding };
        let range = self.range(survey, fill)?;
        let scaling = self.scaling(&finder, range)?;
        if let Some(fill) = fill
            && finder.encode(scaling, fill).is_none()
        {
            return Err(OperationError::data(format!(
                "absent chunks hold the fill value {fill}, which the given range leaves out"
            ))
            .with_help("widen the range to take it in, or leave the range out"));
        }
        Ok(Quantization {
            form: self.quantize.form,
            source: self.number_type,
            target,
            codes,
            scaling,
            range,
            rounding,
            out_of_range: self.options.out_of_range.unwrap_or_default(),
            missing: self.missing.clone(),
            fill_value: self.fill_bits,
            absent_bits: self.fill_bits,
            writes_absent: false,
            max_error: self.quantize.max_error,
            is_open: false,
            is_target_settled: true,
            warnings: Vec::new(),
        })
    }

    /// The least and greatest value, from `--range` or the first pass and the fill value.
    fn range(&self, survey: &Survey, fill: Option<f64>) -> Result<Option<(f64, f64)>, OperationError> {
        if let Some((lo, hi)) = &self.quantize.range {
            let (lo, hi) = (self.number(lo, "--range")?, self.number(hi, "--range")?);
            if lo <= hi {
                return Ok(Some((lo, hi)));
            }
            return Err(OperationError::data(format!(
                "--range {lo},{hi} is empty: the least value comes first"
            )));
        }
        if !self.needs_first_pass() {
            return Ok(None);
        }
        let float = self.float();
        let seen = survey.extent.and_then(|extent| extent.finite);
        let seen = seen.map(|(lo, hi)| (float.value(lo), float.value(hi)));
        Ok(match (seen, fill) {
            (Some((lo, hi)), Some(fill)) => Some((lo.min(fill), hi.max(fill))),
            (None, Some(fill)) => Some((fill, fill)),
            (seen, None) => seen,
        })
    }

    fn scaling(&self, finder: &RangeFinder, range: Option<(f64, f64)>) -> Result<Scaling, OperationError> {
        if self.quantize.scale.is_some() || self.quantize.offset.is_some() {
            let number =
                |json: &Option<Json>, option| json.as_ref().map(|json| self.number(json, option)).transpose();
            let scale = number(&self.quantize.scale, "--scale")?;
            let offset = number(&self.quantize.offset, "--offset")?;
            if scale == Some(0.0) {
                return Err(OperationError::data("--scale 0 could not be decoded")
                    .with_help("give a scale that is not 0"));
            }
            return Ok(Scaling { offset: offset.filter(|o| *o != 0.0), scale: scale.filter(|s| *s != 1.0) });
        }
        let Some((lo, hi)) = range else { return Ok(Scaling::default()) };
        finder.find(lo, hi).map_err(|fault: RangeFault| {
            OperationError::data(format!("values from {lo} to {hi} cannot be quantised to {}", finder.target))
                .because(fault)
                .with_help("give --scale and --offset, or a narrower --range with --out-of-range clamp")
        })
    }

    /// A finite number of an option in the array's type.
    fn number(&self, json: &Json, option: &str) -> Result<f64, OperationError> {
        let refused = |why: String| {
            OperationError::data(format!(
                "{option} {} is no finite {}{why}",
                json.to_string_compact(),
                self.number_type
            ))
        };
        let read = value_from_json(self.number_type, json).map_err(|error| refused(format!(": {error}")))?;
        let value = self.float().value(read.value);
        if value.is_finite() { Ok(value) } else { Err(refused(String::new())) }
    }
}

/// Refuses to quantise what is quantised already: the chain of `whose`.
pub(super) fn refuse_packed(codecs: &[CodecMetadata], whose: &str) -> Result<(), OperationError> {
    let names = codec_names(codecs);
    if !names.iter().any(|name| name == "scale_offset" || name == "cast_value") {
        return Ok(());
    }
    let message = format!("`{whose}` has `scale_offset` or `cast_value` in its chain already");
    let help = "run `zarrcast transcode --unpack` first, then quantise the result";
    Err(OperationError::data(message).with_help(help))
}

fn infinite(store: &str, what: &str) -> OperationError {
    OperationError::data(format!("`{store}` cannot be quantised: {what}")).with_help(
        "no code stands for an infinity; count them as missing with `--missing Infinity,-Infinity`, or map them with \
         `--codecs` and a `scalar_map`",
    )
}

/// What CF attributes can express.
fn check_cf(source: &OpenedArray, target: Option<NumberType>) -> Result<(), OperationError> {
    let packed =
        ["scale_factor", "add_offset"].into_iter().find(|name| source.metadata.attributes.contains(name));
    if let Some(name) = packed {
        return Err(OperationError::data(format!("`{}` has the attribute `{name}` already", source.store))
            .with_help("run `zarrcast transcode --unpack` first, then quantise the result"));
    }
    let fits = |t: NumberType| t.is_whole() && (t.bits() < 64);
    if target.is_some_and(|target| !fits(target)) {
        return Err(OperationError::data("--as cf writes int8 to int32 and uint8 to uint32 only")
            .with_help("choose one of these types, or --as codecs"));
    }
    Ok(())
}

/// The value next to `decode(encode(fill))` that survives the cast and the whole chain bit for bit.
fn surviving_fill(quantization: &Quantization, fill: f64) -> Option<f64> {
    let kernel = quantization.codecs();
    let float = FloatType(quantization.source);
    let start = float.value(kernel.decode(kernel.encode(float.bits(fill))?)?);
    let steps = (0..=16_i64).flat_map(|step| [step, -step]);
    steps.filter_map(|step| float.neighbour(start, step)).find(|value| kernel.survives(float.bits(*value)))
}

/// The two codecs, value by value, as any reader runs them.
struct ValueCodecs {
    scale_offset: ScaleOffset,
    encode: Cast,
    decode: Cast,
}

impl ValueCodecs {
    fn encode(&self, bits: u64) -> Option<u64> {
        self.encode.convert_one(self.scale_offset.encode_one(bits).ok()?).ok()
    }

    fn decode(&self, code: u64) -> Option<u64> {
        self.scale_offset.decode_one(self.decode.convert_one(code).ok()?).ok()
    }

    /// Whether a value survives each codec by itself.
    fn survives(&self, bits: u64) -> bool {
        let Ok(scaled) = self.scale_offset.encode_one(bits) else { return false };
        let Ok(code) = self.encode.convert_one(scaled) else { return false };
        self.decode.convert_one(code) == Ok(scaled) && self.scale_offset.decode_one(scaled) == Ok(bits)
    }
}

impl Quantization {
    /// Whether the codes are known: of an open plan, where a NaN code is set aside in any case.
    pub(super) fn are_codes_settled(&self) -> bool {
        self.is_target_settled && (!self.is_open || self.codes.nan.is_some())
    }

    /// The kernel's options.
    pub(super) fn kernel(&self) -> KernelOptions {
        let finder = RangeFinder {
            source: self.source,
            target: self.target,
            codes: self.codes,
            rounding: self.rounding,
        };
        let options = finder.options(self.scaling);
        KernelOptions { out_of_range: self.out_of_range, missing: self.missing.clone(), ..options }
    }

    /// The bound kernel.
    pub(super) fn bind(&self) -> Quantize {
        Quantize::new(self.kernel())
    }

    /// `scale_offset` as metadata have it.
    fn scale_offset(&self) -> BoundScaleOffset {
        let float = FloatType(self.source);
        let bits = |value: Option<f64>| value.map(|value| float.bits(value));
        let (offset, scale) = (bits(self.scaling.offset), bits(self.scaling.scale));
        BoundScaleOffset { number_type: self.source, offset, scale }
    }

    /// `cast_value` as metadata have it.
    fn cast_value(&self) -> BoundCastValue {
        let not_a_number = FloatType(self.source).bits(f64::NAN);
        let code = self.codes.nan.map(|code| code.cast_unsigned() & mask(self.target));
        BoundCastValue {
            decoded: self.source,
            encoded: self.target,
            rounding: self.rounding,
            out_of_range: self.out_of_range,
            encode: code.map(|code| (not_a_number, code)).into_iter().collect(),
            decode: code.map(|code| (code, not_a_number)).into_iter().collect(),
        }
    }

    fn codecs(&self) -> ValueCodecs {
        let (scaling, cast) = (self.scale_offset(), self.cast_value());
        ValueCodecs {
            scale_offset: ScaleOffset::new(scaling.number_type, scaling.offset, scaling.scale),
            encode: Cast::new(cast.encode_options()),
            decode: Cast::new(cast.decode_options()),
        }
    }

    /// Both codecs backward: the cast, then the scaling.
    pub(super) fn decoders(&self) -> (Cast, ScaleOffset) {
        let codecs = self.codecs();
        (codecs.decode, codecs.scale_offset)
    }

    /// The value of a code, through the real decode.
    pub(super) fn value_of(&self, code: i64) -> Option<f64> {
        let decoded = self.codecs().decode(code.cast_unsigned() & mask(self.target))?;
        Some(FloatType(self.source).value(decoded))
    }

    /// What absent elements become, in DEST's data type.
    pub(super) fn absent_value(&self) -> FillValue {
        match self.form {
            QuantizeForm::Codecs if self.writes_absent => FillValue::from_bits(self.source, self.absent_bits),
            QuantizeForm::Codecs => FillValue::from_bits(self.source, self.fill_value),
            QuantizeForm::Cf | QuantizeForm::Plain => {
                let absent = if self.writes_absent { self.absent_bits } else { self.fill_value };
                FillValue::from_bits(self.target, self.codecs().encode(absent).unwrap_or(0))
            }
        }
    }

    /// The error of absent elements: of the fill value that stands for them, or of the code that is written; `None`
    /// where they are NaN.
    pub(in crate::operation) fn absent_error(&self) -> Option<f64> {
        let float = FloatType(self.source);
        let absent = float.value(self.absent_bits);
        let codecs = self.codecs();
        let decoded = if self.writes_absent {
            float.value(codecs.decode(codecs.encode(self.absent_bits)?)?)
        } else {
            float.value(self.fill_value)
        };
        (!absent.is_nan() && !decoded.is_nan()).then(|| (decoded - absent).abs())
    }

    /// `|1/scale|`.
    pub(in crate::operation) fn step(&self) -> f64 {
        (1.0 / self.scaling.scale.unwrap_or(1.0)).abs()
    }

    /// What the greatest error over values in range may be: `--max-error`; else half a step, or a whole one where
    /// the rounding is directed, and what the arithmetic of the float type adds.
    pub(super) fn bound(&self) -> f64 {
        if let Some(max_error) = self.max_error {
            return max_error;
        }
        let steps = match self.rounding {
            Rounding::NearestEven | Rounding::NearestAway => 0.5,
            _ => 1.0,
        };
        let ends = [self.codes.first, self.codes.last].map(|code| self.value_of(code).unwrap_or(0.0));
        let (span, magnitude) = ((ends[1] - ends[0]).abs(), ends[0].abs().max(ends[1].abs()));
        let significand_bits = self.source.significand_bits().map_or(53, u32::cast_signed);
        steps * self.step() + 2_f64.powi(-significand_bits) * 4.0 * (span + magnitude)
    }

    /// `offset` and `scale` as literals of the array's type.
    pub(super) fn literals(&self) -> (Json, Json) {
        let float = FloatType(self.source);
        let literal = |value: f64| value_to_json(self.source, float.bits(value));
        (literal(self.scaling.offset.unwrap_or(0.0)), literal(self.scaling.scale.unwrap_or(1.0)))
    }

    /// The range as literals of the array's type.
    pub(in crate::operation) fn range_literals(&self) -> Option<[Json; 2]> {
        let float = FloatType(self.source);
        self.range.map(|(lo, hi)| [lo, hi].map(|value| value_to_json(self.source, float.bits(value))))
    }

    /// How many codecs the kernel stands for.
    pub(super) fn num_codecs(&self) -> usize {
        match self.form {
            QuantizeForm::Codecs => self.metadata().len(),
            QuantizeForm::Cf | QuantizeForm::Plain => 0,
        }
    }

    /// The two codecs as metadata; a `scale_offset` that does nothing is left out.
    pub(in crate::operation) fn metadata(&self) -> Vec<CodecMetadata> {
        let scaling = self.scale_offset();
        let scaled = (self.is_open || scaling.offset.is_some() || scaling.scale.is_some())
            .then(|| scaling.to_metadata());
        scaled.into_iter().chain([self.cast_value().to_metadata()]).collect()
    }

    /// The source's whole chain with the quantisation in it.
    pub(in crate::operation) fn chain(
        &self,
        source: &OpenedArray,
    ) -> Result<Vec<CodecMetadata>, OperationError> {
        let mut draft = Draft::of(source);
        self.apply(&mut draft)?;
        Ok(draft.codecs)
    }

    /// Writes the quantisation into DEST's metadata.
    pub(super) fn apply(&self, draft: &mut Draft) -> Result<(), OperationError> {
        let codes = DataType::Number(self.target);
        let packed = !(self.target.is_whole() && self.target.bits().is_power_of_two());
        let heading = if self.form == QuantizeForm::Codecs { self.metadata() } else { Vec::new() };
        draft.edit_innermost(|chain| {
            follow_data_type(chain, &codes);
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
        let code = self.codecs().encode(self.fill_value).unwrap_or(0);
        draft.set_fill_value(FillValue::from_bits(self.target, code))?;
        if self.form == QuantizeForm::Cf {
            self.describe_as_cf(draft);
        }
        Ok(())
    }

    /// The CF attributes (CF conventions, section 8.1).
    fn describe_as_cf(&self, draft: &mut Draft) {
        let mut attributes = draft.attributes();
        for name in ["missing_value", "valid_min", "valid_max", "valid_range", "_FillValue", "_Unsigned"] {
            attributes.remove(name);
        }
        let float64 = |value: f64| Number::from_f64_shortest(value).map_or(Json::Null, Json::Number);
        attributes.insert("scale_factor", float64(1.0 / self.scaling.scale.unwrap_or(1.0)));
        attributes.insert("add_offset", float64(self.scaling.offset.unwrap_or(0.0)));
        if let Some(nan) = self.codes.nan {
            attributes.insert("_FillValue", nan);
        }
        draft.set_attributes(attributes);
    }
}

/// The bits of a type's elements.
fn mask(number_type: NumberType) -> u64 {
    u64::MAX >> (64 - number_type.size() * 8)
}
