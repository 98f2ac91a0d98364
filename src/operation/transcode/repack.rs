//! `--as` without quantising: the existing packing in another form, with the same codes in the chunks (CLI.md, "Forms
//! of a packing").

#[cfg(test)]
mod tests;

use crate::array::{ChunkSet, Fault, StoredArray};
use crate::codec::{BoundCodec, Effect, StepOrigin, Tiles, ValueProgram, ValueStep, conversion, fault};
use crate::data_type::{DataType, FillValue};
use crate::element::{ElementType, NumberType, element_bits};
use crate::engine::{Accumulator, Chunk, Driver, Fold, Progress};
use crate::kernel::Rounding;
use crate::metadata::{ArrayMetadata, CodecMetadata, Number};
use crate::operation::quantize::{Codes, Scaling, elements_of};
use crate::operation::xarray::{self, FILL_VALUE};
use crate::operation::{
    Draft, FloatType, OpenedArray, OperationError, Quantization, QuantizeForm, Result, cf, draft, explain, stored,
    stored_array,
};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// Maximum difference of values, in units in the last place of the greatest value.
const MOST_ULPS: f64 = 2.0;

/// A packing in its new form.
pub(super) struct Repacking {
    /// The form in DEST.
    pub quantization: Quantization,
    /// The greatest difference between a value read from SOURCE and from DEST. `None` for plain integers.
    pub difference: Option<f64>,
    /// Limit of this difference.
    pub limit: f64,
    /// The code of absent elements. `None` if no code represents the fill value.
    pub absent: Option<FillValue>,
    /// Whether SOURCE is a float array.
    pub is_of_floats: bool,
    /// The decoders of SOURCE and of DEST, to float64.
    decode: [ValueProgram; 2],
}

/// Writes the packing of an array into the draft in another form. Also returns the value of absent elements in DEST.
pub(super) fn repack(
    source: &OpenedArray,
    form: QuantizeForm,
    floats: Option<&DataType>,
    draft: &mut Draft,
) -> Result<(Repacking, Option<FillValue>)> {
    let packing = Packing::new(source, form, floats)?;
    let Packing { codes, float, absent, .. } = packing;
    let mut quantization = quantization(&packing, form);
    let (difference, limit) = fit(&packing, &mut quantization, &source.store)?;
    let nan = quantization.codes.nan.map(|_| float.bits(f64::NAN));
    let surviving = |code| quantization.surviving(code);
    // The fill value must survive the new chain. With SOURCE's own one, absent chunks can stay absent.
    quantization.fill_value = nan.or(absent.and_then(surviving)).or_else(|| surviving(0)).unwrap_or(0);
    let is_of_floats = draft.data_type.number().is_some_and(NumberType::is_float);
    draft.keep_codecs(codecs_of_codes(&draft.codecs, is_of_floats));
    let values = if form == QuantizeForm::Codecs { float.0 } else { codes };
    let stands_for = if form == QuantizeForm::Codecs {
        let (floats, mut attributes) = (DataType::Number(float.0), draft.attributes_without(&cf::PACKING_ATTRIBUTES));
        let mask = nan.and_then(|bits| xarray::encode(&floats, &FillValue::from_bits(float.0, bits)));
        if let Some(mask) = mask {
            attributes.insert(FILL_VALUE, mask);
        }
        draft.set_attributes(attributes);
        draft.set_data_type(floats);
        quantization.apply(draft)?;
        let is_missing = |code| packing.missing.contains(&code);
        absent.and_then(|code| if is_missing(code) { nan } else { quantization.codecs().decode(code) })
    } else {
        quantization.apply(draft)?;
        // In v2 a fill value is a mask, except for 0, which becomes null.
        let is_mask = draft.zarr_format == 2 && draft.document.get("dimension_names").is_some();
        let missing = packing.missing.first().copied();
        let fill = absent.filter(|_| missing.is_some() || !is_mask).or(missing).unwrap_or(0);
        draft.set_fill_value(FillValue::from_bits(codes, fill))?;
        absent
    };
    let absent = absent.map(|code| FillValue::from_bits(codes, code));
    let decode = [packing.decode, quantization.number_reader()];
    let repacking = Repacking { quantization, difference, limit, absent, is_of_floats, decode };
    Ok((repacking, stands_for.map(|bits| FillValue::from_bits(values, bits))))
}

/// Returns the quantisation of DEST, before its scale is chosen.
fn quantization(packing: &Packing, form: QuantizeForm) -> Quantization {
    let Packing { codes, float, scaling: [offset, scale], .. } = *packing;
    #[expect(clippy::cast_possible_truncation, reason = "codes are integers of up to 32 bits")]
    let mut missing = packing.missing.iter().map(|bits| fault::number_value(codes, *bits) as i64);
    let nan = missing.next();
    // float64 represents all codes of up to 32 bits, so none is left out.
    let all = Codes::new(NumberType::of(ElementType::Float64), codes, nan).unwrap_or(Codes { first: 0, last: 0, nan });
    let scaling = Scaling::new(Some(offset), Some(scale));
    let (source, target, codes, more_nan_codes) = (float.0, codes, all, missing.collect());
    Quantization { form, source, target, codes, scaling, more_nan_codes, is_proved: true, ..Quantization::default() }
}

/// Chooses the scale and offset with which readers of DEST get the values of SOURCE, or the closest ones. All codes of
/// up to 16 bits are compared. Returns the greatest difference, and its limit.
fn fit(packing: &Packing, quantization: &mut Quantization, store: &str) -> Result<(Option<f64>, f64)> {
    if quantization.form == QuantizeForm::Plain {
        return Ok((None, 0.0));
    }
    let table = table(packing.codes);
    let expected = values(&packing.decode, &table).unwrap_or_default();
    let limit = expected.iter().map(|value| value.abs()).fold(0.0, f64::max);
    let limit = MOST_ULPS * packing.float.unit_in_last_place(limit);
    // Attributes are JSON numbers, but values of codecs have the array's type.
    let is_cf = quantization.form == QuantizeForm::Cf;
    let float = if is_cf { FloatType(NumberType::of(ElementType::Float64)) } else { packing.float };
    let [offset, scale] = packing.scaling.map(|value| float.round(value, Rounding::NearestEven));
    let (mut best, mut least) = (quantization.scaling, f64::INFINITY);
    // Without a normal scale nothing is tried, and the difference stays infinite, which is refused.
    let steps = [0, 1, -1, 2, -2, 3, -3].into_iter().filter(|_| scale.is_normal());
    for (of_scale, of_offset) in steps.flat_map(|s| [(s, 0), (s, 1), (s, -1)]) {
        // Neighbours of an offset of 0 are never as good.
        let near = [(offset, if offset == 0.0 { 0 } else { of_offset }), (scale, of_scale)];
        let [Some(offset), Some(scale)] = near.map(|(value, steps)| float.neighbour(value, steps)) else { continue };
        quantization.scaling = Scaling::new(Some(offset), Some(scale));
        let difference =
            greatest_difference(&expected, &values(&quantization.number_reader(), &table).unwrap_or_default());
        // `scale_factor` is 1 / scale, unless another value is exact.
        if difference < least && (!is_cf || least.is_infinite() || difference == 0.0) {
            (best, least) = (quantization.scaling, difference);
        }
        if least == 0.0 {
            break;
        }
    }
    quantization.scaling = best;
    held(least, limit, store).map(|least| (Some(least), limit))
}

/// Returns a difference within the limit. Fails if it is greater.
fn held(difference: f64, limit: f64, store: &str) -> Result<f64> {
    if difference <= limit {
        return Ok(difference);
    }
    let message = format!(
        "no `scale` and `offset` give the values of `{store}` in this form: they would differ by up to {difference:?}, \
         and {limit:?} is allowed"
    );
    Err(OperationError::data(message).with_help("use `--unpack --step S` to quantise again, in multiples of S"))
}

/// Returns all codes of up to 16 bits. For wider types: some codes, from the least to the greatest.
fn table(codes: NumberType) -> Vec<u8> {
    // 65,536 bit patterns of 32 bits at equal distances: 65,535 * 65,537 is the greatest pattern.
    let stride = if codes.bits() > 16 { 0x1_0001 } else { 1 };
    elements_of(codes, (0..1_u64 << codes.bits().min(16)).map(|code| code * stride))
}

/// Returns the greatest difference. Infinite if only one side has a number.
fn greatest_difference(one: &[f64], other: &[f64]) -> f64 {
    let difference = |(a, b): (&f64, &f64)| match (a - b).abs() {
        _ if a == b || (a.is_nan() && b.is_nan()) => 0.0,
        difference if difference.is_nan() => f64::INFINITY,
        difference => difference,
    };
    if one.len() == other.len() { one.iter().zip(other).map(difference).fold(0.0, f64::max) } else { f64::INFINITY }
}

impl Repacking {
    /// Returns the pipeline of the codes of SOURCE. With `fill`: of DEST with this fill value.
    pub(super) fn codes(&self, metadata: &ArrayMetadata, fill: Option<&FillValue>) -> Pipeline {
        let Quantization { form, source, target, .. } = self.quantization;
        let encoded = |fill: &FillValue| {
            let code = self.quantization.codecs().encode(fill.to_bits(&DataType::Number(source))?)?;
            Some(FillValue::from_bits(target, code))
        };
        let fill_value = match fill {
            None => self.absent.clone(),
            Some(fill) if form == QuantizeForm::Codecs => encoded(fill),
            Some(fill) => Some(fill.clone()),
        };
        let (data_type, shape) = (DataType::Number(target), metadata.grid.largest().to_vec());
        let input = ArrayRepresentation { data_type, shape, fill_value };
        let is_float = if fill.is_some() { form == QuantizeForm::Codecs } else { self.is_of_floats };
        let codecs = codecs_of_codes(&metadata.codecs, is_float);
        Pipeline::build(input, &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new())
    }

    /// Returns SOURCE as an array of its codes.
    pub(super) fn source(&self, source: &OpenedArray) -> Result<StoredArray> {
        let pipeline = self.codes(&source.metadata, None);
        stored::bound_array((&source.node, &source.metadata, &pipeline), &source.store, false)
    }

    /// Checks the codes of more than 16 bits that occur.
    pub(super) fn measure(
        &mut self,
        source: &OpenedArray,
        present: Option<&ChunkSet>,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<()> {
        let Some(known) = self.difference.filter(|_| self.quantization.target.bits() > 16) else { return Ok(()) };
        let array = self.source(source)?.with_present(present);
        let found = Fold { array: &array, driver, progress }.run("first pass", &Differences(&self.decode));
        let found = found.map_err(|fault| explain(fault, &array.metadata, &source.store, None))?;
        self.difference = Some(held(known.max(found.part), self.limit, &source.store)?);
        Ok(())
    }
}

/// Determines the greatest difference of the codes that occur.
struct Differences<'a>(&'a [ValueProgram; 2]);

impl Accumulator for Differences<'_> {
    type Part = f64;
    type Buffers = ([Vec<f64>; 2], Tiles);

    fn add(&self, part: &mut f64, chunk: Chunk<'_>, (buffers, tiles): &mut Self::Buffers) -> Result<(), Fault> {
        for (decode, buffer) in self.0.iter().zip(&mut *buffers) {
            let run = decode.numbers(chunk.elements.unwrap_or_default(), buffer, tiles);
            run.map_err(|fault| Fault::Other(format!("a code has no value: {:?}", fault.fault.kind)))?;
        }
        *part = part.max(greatest_difference(&buffers[0], &buffers[1]));
        Ok(())
    }

    fn merge(&self, all: &mut f64, part: &f64) {
        *all = all.max(*part);
    }
}

const FILTER: &str = "numcodecs.fixedscaleoffset";

const PACKING: [&str; 3] = ["scale_offset", "cast_value", FILTER];

/// The packings that can be written in another form.
pub(super) const PACKED: &str = "to quantise floats, add `--max-error E` or `--quantize TYPE`; alone, `--as` changes integers with `scale_factor` or `add_offset` to \
    `codecs`, `fixedscaleoffset` to `codecs` or `cf`, and `cast_value` to `cf` or `plain`; `--attributes JSON` removes CF attributes";

/// Returns the codecs of the codes, after those that pack floats.
pub(super) fn codecs_of_codes(codecs: &[CodecMetadata], is_float: bool) -> Vec<CodecMetadata> {
    if is_float { draft::strip(codecs, &PACKING) } else { codecs.to_vec() }
}

/// Returns whether an array has a packing that can be written in this form, and is in another one.
pub(super) fn is_for(source: &OpenedArray, form: QuantizeForm) -> bool {
    let has = |name| draft::has_codec(&source.metadata.codecs, name);
    let is_float = source.data_type.number().is_some_and(NumberType::is_float);
    match form {
        QuantizeForm::Codecs if !is_float => cf::has_packing(source),
        QuantizeForm::Codecs => has(FILTER),
        QuantizeForm::Cf => is_float && (has("cast_value") || has(FILTER)),
        QuantizeForm::Plain => is_float && has("cast_value") && !has(FILTER),
    }
}

/// The codes of an array, and their values.
struct Packing {
    codes: NumberType,
    float: FloatType,
    /// The decoding to float64.
    decode: ValueProgram,
    /// `offset` and `scale` of a codec that does approximately the same.
    scaling: [f64; 2],
    /// Codes of missing values. The code of absent elements is the first.
    missing: Vec<u64>,
    /// The code of absent elements, if there is one.
    absent: Option<u64>,
}

impl Packing {
    /// Reads the packing of an array that gets another form.
    fn new(source: &OpenedArray, form: QuantizeForm, floats: Option<&DataType>) -> Result<Self> {
        let refused = || {
            let message =
                format!("`{}` is not quantised in a form that `--as {}` can change", source.store, form.name());
            OperationError::data(message).with_help(PACKED)
        };
        let is_integer = source.data_type.number().is_some_and(|number| !number.is_float());
        if form == QuantizeForm::Cf && is_integer && cf::has_packing(source) {
            let message = format!("`{}` already has the form of `--as cf`", source.store);
            return Err(OperationError::data(message).with_help("leave `--as` out to copy it"));
        }
        let number = source.data_type.number().filter(|_| is_for(source, form)).ok_or_else(refused)?;
        let is_float = number.is_float();
        let of_attributes = || Self::of_attributes(source, number, floats);
        let packing = if is_float { Self::of_chain(source, number) } else { of_attributes() };
        let mut packing = packing?.ok_or_else(refused)?;
        packing.float = floats.and_then(DataType::number).map_or(packing.float, FloatType);
        let Packing { codes, float, absent, .. } = packing;
        // `cast_value` decodes a code to the float type. CF readers compute in float64, which holds all of them.
        let is_held = form != QuantizeForm::Codecs || codes.bits() <= float.0.significand_bits().unwrap_or(0);
        if codes.is_float() || ![8, 16, 32].contains(&codes.bits()) || !is_held {
            let message = format!(
                "`{}` is quantised to {codes}: `--as` takes integers of 8, 16 or 32 bits that {} can store",
                source.store, float.0
            );
            let wider = if codes.bits() == 32 { "try `--data-type float64`, or " } else { "" };
            let help = format!("{wider}quantise again with `--unpack --quantize TYPE`");
            return Err(OperationError::data(message).with_help(help));
        }
        packing.missing.sort_by_key(|code| Some(*code) != absent);
        Ok(packing)
    }

    /// Returns the packing of integers by attributes. `None` if the chain packs them again.
    fn of_attributes(source: &OpenedArray, stored: NumberType, floats: Option<&DataType>) -> Result<Option<Self>> {
        // JSON numbers have this type for readers.
        let double = DataType::Number(NumberType::of(ElementType::Float64));
        let names = draft::codec_names(&source.metadata.codecs);
        let is_packed_once = !names.iter().any(|name| name == PACKING[0] || name == FILTER);
        let unpack = cf::packing(source, floats.or(Some(&double)))?.filter(|_| is_packed_once);
        let Some(unpack) = unpack else { return Ok(None) };
        let factor = |name| cf::factor(name, source);
        let scaling = [factor("add_offset")?.unwrap_or(0.0), 1.0 / factor("scale_factor")?.unwrap_or(1.0)];
        let (codes, float) = (unpack.source, FloatType(unpack.target));
        let mut decode = ValueProgram::new(codes.size());
        decode.push(ValueStep::Unpack(Box::new(unpack)), StepOrigin::DataType);
        let absent = source.fill_value.as_ref().map_or(Some(0), |fill| fill.to_bits(&source.data_type));
        let missing = cf::declared_missing(source, stored);
        Ok(Some(Packing { codes, float, decode: decode.to_float64(float.0), scaling, missing, absent }))
    }

    /// Returns the packing of floats by codecs. `None` if other codecs are before them.
    fn of_chain(source: &OpenedArray, number: NumberType) -> Result<Option<Self>> {
        let stored = stored_array(source)?;
        let (chain, float) = (stored.subchunk_chain(), FloatType(number));
        let packs = |codec: &BoundCodec| PACKING.contains(&codec.metadata.name.as_str());
        let codes_of = |index: usize| chain.codecs()[index].encoded.array().and_then(|array| array.data_type.number());
        // After the first integers, and after differences, all codecs are of the codes.
        let codecs = chain.codecs().iter().take_while(|codec| codec.metadata.name != draft::DELTA).enumerate();
        let indices: Vec<usize> = codecs.filter(|(_, codec)| packs(codec)).map(|(index, _)| index).collect();
        let first = indices.iter().find(|index| codes_of(**index).is_some_and(|codes| !codes.is_float()));
        let Some(&last) = first.or(indices.last()) else { return Ok(None) };
        let codes = codes_of(last);
        let programs = conversion::value_programs(chain, last);
        let Some((codes, [encode, decode])) = codes.zip(programs) else { return Ok(None) };
        let member = |name: &str| {
            let packing = chain.codecs()[..=last].iter().filter(|codec| packs(codec));
            let mut members = packing.filter_map(|codec| codec.metadata.member(name));
            members.find_map(|json| json.as_number().map(Number::as_f64))
        };
        let scaling = [member("offset").unwrap_or(0.0), member("scale").unwrap_or(1.0)];
        let decode = decode.to_float64(number);
        let mut missing = match chain.codecs()[last].codec.effect() {
            Effect::Cast { decode, .. } => decode.options.scalar_map.clone(),
            _ => Vec::new(),
        };
        missing.retain(|(_, value)| float.value(*value).is_nan());
        let declared = cf::declared_missing(source, number);
        let code_of = |bits: u64| code_of([&encode, &decode], float, bits);
        let missing = missing.into_iter().map(|(code, _)| code).chain(declared.into_iter().filter_map(code_of));
        let missing = missing.collect();
        let absent = source.fill_value.as_ref().and_then(|fill| fill.to_bits(&source.data_type)).and_then(code_of);
        Ok(Some(Packing { codes, float, decode, scaling, missing, absent }))
    }
}

/// Returns the values of codes. `None` if a code has no value.
fn values(decode: &ValueProgram, codes: &[u8]) -> Option<Vec<f64>> {
    let mut values = Vec::new();
    decode.numbers(codes, &mut values, &mut Tiles::default()).ok().map(|()| values)
}

/// Returns the code of a value that is decoded unchanged. `None` for other values.
fn code_of([encode, decode]: [&ValueProgram; 2], float: FloatType, bits: u64) -> Option<u64> {
    let code = encode.run_alone(&FillValue::from_bits(float.0, bits).0)?;
    let (before, after) = (float.value(bits), *values(decode, &code)?.first()?);
    (before == after || (before.is_nan() && after.is_nan())).then(|| element_bits(&code))
}
