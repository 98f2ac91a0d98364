//! A packing that is there: CF attributes, `fixedscaleoffset`, or `scale_offset` and `cast_value`.

use crate::codec::conversion::value_programs;
use crate::codec::fault::number_value;
use crate::codec::{BoundCodec, Role, StepOrigin, Tiles, ValueProgram, ValueStep};
use crate::data_type::{DataType, FillValue};
use crate::element::{ElementType, NumberType, element_bits};
use crate::metadata::{CodecMetadata, Number};
use crate::operation::draft::{DELTA, codec_names, strip};
use crate::operation::{FloatType, OpenedArray, OperationError, QuantizeForm, cf, stored_array};

const FILTER: &str = "numcodecs.fixedscaleoffset";

/// Codecs that pack.
const PACKING: [&str; 3] = ["scale_offset", "cast_value", FILTER];

/// The packings that another form is written of.
pub(crate) const PACKED: &str = "to quantise floats, add `--max-error E` or `--quantize TYPE`; alone, `--as` changes integers with `scale_factor` or `add_offset` to \
    `codecs`, `fixedscaleoffset` to `codecs` or `cf`, and `cast_value` to `cf` or `plain`; `--attributes JSON` removes CF attributes";

/// The codecs of the codes, behind those that pack floats.
pub(crate) fn codecs_of_codes(codecs: &[CodecMetadata], is_float: bool) -> Vec<CodecMetadata> {
    if is_float { strip(codecs, &PACKING) } else { codecs.to_vec() }
}

/// Whether an array has a packing that can be written in this form, and is not in it.
pub(crate) fn is_for(source: &OpenedArray, form: QuantizeForm) -> bool {
    let names = codec_names(&source.metadata.codecs);
    let has = |name: &str| names.iter().any(|own| own == name);
    let is_float = source.data_type.number().is_some_and(NumberType::is_float);
    match form {
        QuantizeForm::Codecs if !is_float => cf::has_packing(source),
        QuantizeForm::Codecs => has(FILTER),
        QuantizeForm::Cf => is_float && (has("cast_value") || has(FILTER)),
        QuantizeForm::Plain => is_float && has("cast_value") && !has(FILTER),
    }
}

/// From codes to values, and the type of the values.
pub(super) type Decode = (ValueProgram, FloatType);

/// Codes of an array, and the values that they stand for.
pub(super) struct Packing {
    pub(super) codes: NumberType,
    /// The type of the values.
    pub(super) float: FloatType,
    pub(super) decode: Decode,
    /// `offset` and `scale` of a codec that does about the same.
    pub(super) scaling: [f64; 2],
    /// Codes that stand for missing values. The one that absent elements have is the first.
    pub(super) missing: Vec<u64>,
    /// The code of absent elements, where there is one.
    pub(super) absent: Option<u64>,
}

impl Packing {
    /// Reads the packing of an array that is to get another form.
    pub(super) fn of(
        source: &OpenedArray,
        form: QuantizeForm,
        floats: Option<&DataType>,
    ) -> Result<Self, OperationError> {
        let refused = || {
            let message =
                format!("`{}` is not quantised in a form that `--as {}` can change", source.store, form.name());
            OperationError::data(message).with_help(PACKED)
        };
        let number = source.data_type.number().filter(|_| is_for(source, form)).ok_or_else(refused)?;
        let is_float = number.is_float();
        let of_attributes = || Self::of_attributes(source, number, floats);
        let packing = if is_float { Self::of_chain(source, number) } else { of_attributes() };
        let mut packing = packing?.ok_or_else(refused)?;
        packing.float = floats.and_then(DataType::number).map_or(packing.float, FloatType);
        let Packing { codes, float, absent, .. } = packing;
        let is_held = form != QuantizeForm::Codecs || codes.bits() <= float.0.significand_bits().unwrap_or(0);
        if codes.is_float() || ![8, 16, 32].contains(&codes.bits()) || !is_held {
            let message = format!(
                "`{}` is quantised to {codes}: `--as` takes integers of 8, 16 or 32 bits that {} can store",
                source.store, float.0
            );
            let help = "try `--data-type float64`, or quantise again with `--unpack --quantize TYPE`";
            return Err(OperationError::data(message).with_help(help));
        }
        packing.missing.sort_by_key(|code| Some(*code) != absent);
        Ok(packing)
    }

    /// The packing of integers by attributes; `None` where the chain packs them again.
    fn of_attributes(
        source: &OpenedArray,
        stored: NumberType,
        floats: Option<&DataType>,
    ) -> Result<Option<Self>, OperationError> {
        // Numbers of JSON have this type for readers.
        let double = DataType::Number(NumberType::of(ElementType::Float64));
        let names = codec_names(&source.metadata.codecs);
        let is_packed_once = !names.iter().any(|name| name == PACKING[0] || name == FILTER);
        let unpack = cf::packing(source, floats.or(Some(&double)))?.filter(|_| is_packed_once);
        let Some(unpack) = unpack else { return Ok(None) };
        let factor = |name| cf::factor(name, &source.metadata.attributes);
        let scaling = [factor("add_offset")?.unwrap_or(0.0), 1.0 / factor("scale_factor")?.unwrap_or(1.0)];
        let (codes, float) = (unpack.source(), FloatType(unpack.target()));
        let mut decode = ValueProgram::new(codes.size());
        decode.push(ValueStep::Unpack(Box::new(unpack)), StepOrigin::DataType);
        let absent = source.fill_value.as_ref().map_or(Some(0), |fill| fill.to_bits(&source.data_type));
        let missing = cf::declared_missing(source, stored);
        Ok(Some(Packing { codes, float, decode: (decode, float), scaling, missing, absent }))
    }

    /// The packing of floats by codecs; `None` where others stand before them.
    fn of_chain(source: &OpenedArray, number: NumberType) -> Result<Option<Self>, OperationError> {
        let stored = stored_array(source)?;
        let (chain, float) = (stored.subchunk_chain(), FloatType(number));
        let packs = |codec: &BoundCodec| PACKING.contains(&codec.name.as_str());
        let codes_of = |place: usize| chain.codecs()[place].encoded.array().and_then(|array| array.data_type.number());
        // Behind the first integers, and behind differences, all is of the codes.
        let codecs = chain.codecs().iter().take_while(|codec| codec.name != DELTA).enumerate();
        let places: Vec<usize> = codecs.filter(|(_, codec)| packs(codec)).map(|(place, _)| place).collect();
        let first = places.iter().find(|place| codes_of(**place).is_some_and(|codes| !codes.is_float()));
        let Some(&last) = first.or(places.last()) else { return Ok(None) };
        let codes = codes_of(last);
        let programs = value_programs(chain, last);
        let Some((codes, [encode, decode])) = codes.zip(programs) else { return Ok(None) };
        let member = |name: &str| {
            let packing = chain.codecs()[..=last].iter().filter(|codec| packs(codec));
            let mut members = packing.filter_map(|codec| codec.metadata.member(name));
            members.find_map(|json| json.as_number().map(Number::as_f64))
        };
        let scaling = [member("offset").unwrap_or(0.0), member("scale").unwrap_or(1.0)];
        let decode = (decode, float);
        let mut missing = match chain.codecs()[last].codec.role() {
            Role::Cast { decode, .. } => decode.options().scalar_map.clone(),
            _ => Vec::new(),
        };
        missing.retain(|(_, value)| float.value(*value).is_nan());
        let declared = cf::declared_missing(source, number);
        let code_of = |bits: u64| code_of(&encode, &decode, bits);
        let missing = missing.into_iter().map(|(code, _)| code).chain(declared.into_iter().filter_map(code_of));
        let missing = missing.collect();
        let absent = source.fill_value.as_ref().and_then(|fill| fill.to_bits(&source.data_type)).and_then(code_of);
        Ok(Some(Packing { codes, float, decode, scaling, missing, absent }))
    }
}

/// The values of codes; `None` where one has none.
pub(super) fn values((decode, float): &Decode, codes: &[u8]) -> Option<Vec<f64>> {
    let mut decoded = Vec::new();
    decode.run(codes, &mut decoded, &mut Tiles::default(), None).ok()?;
    Some(decoded.chunks_exact(float.0.size()).map(|bytes| number_value(float.0, element_bits(bytes))).collect())
}

/// The code of a value that comes back as it was.
fn code_of(encode: &ValueProgram, decode: &Decode, bits: u64) -> Option<u64> {
    let mut code = Vec::new();
    let value = FillValue::from_bits(decode.1.0, bits).0;
    encode.run(&value, &mut code, &mut Tiles::default(), None).ok()?;
    let (before, after) = (decode.1.value(bits), *values(decode, &code)?.first()?);
    (before == after || (before.is_nan() && after.is_nan())).then(|| element_bits(&code))
}
