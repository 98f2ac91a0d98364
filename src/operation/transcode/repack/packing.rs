//! A packing that is there: CF attributes, `fixedscaleoffset`, or `scale_offset` and `cast_value`.

use crate::codec::kinds::Role;
use crate::codec::value_program::{StepOrigin, Tiles, ValueProgram, ValueStep};
use crate::data_type::{DataType, FillValue};
use crate::element::{ElementType, NumberType, element_bits};
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::json::Number;
use crate::operation::draft::codec_names;
use crate::operation::error::OperationError;
use crate::operation::open::OpenedArray;
use crate::operation::options::QuantizeForm;
use crate::operation::quantize::range::FloatType;
use crate::operation::quantize::request::is_packed;
use crate::operation::transcode::plan::change::has_packing_attributes;
use crate::operation::{cf, missing};
use crate::pipeline::{BoundConfiguration, Pipeline, Stage};

const FILTER: &str = "numcodecs.fixedscaleoffset";

/// Codecs that pack.
pub(in crate::operation::transcode) const PACKING: [&str; 3] = ["scale_offset", "cast_value", FILTER];

/// The form of a packing that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `scale_factor` and `add_offset` of integers.
    Attributes,
    /// `fixedscaleoffset`.
    Filter,
    /// `scale_offset` and `cast_value`.
    Codecs,
}

impl Kind {
    /// The form of an array's packing; `None` where it has none.
    fn of(source: &OpenedArray) -> Option<Self> {
        let codecs = &source.metadata.codecs;
        if source.data_type.number().is_some_and(NumberType::is_float) {
            let is_filtered = codec_names(codecs).iter().any(|name| name == FILTER);
            return is_filtered.then_some(Kind::Filter).or(is_packed(codecs).then_some(Kind::Codecs));
        }
        has_packing_attributes(source).then_some(Kind::Attributes)
    }

    fn becomes(self, form: QuantizeForm) -> bool {
        match form {
            QuantizeForm::Codecs => self != Kind::Codecs,
            QuantizeForm::Cf => self != Kind::Attributes,
            QuantizeForm::Plain => self == Kind::Codecs,
        }
    }
}

/// Whether an array has a packing that can be written in this form, and is not in it.
pub(in crate::operation::transcode) fn is_for(source: &OpenedArray, form: QuantizeForm) -> bool {
    Kind::of(source).is_some_and(|kind| kind.becomes(form))
}

/// A packing: what the codes stand for.
#[derive(Debug)]
pub(super) struct Packing {
    pub(super) kind: Kind,
    pub(super) codes: NumberType,
    /// The type of the values.
    pub(super) float: FloatType,
    /// From codes to values, in float64.
    pub(super) decode: ValueProgram,
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
        let kind = Kind::of(source).filter(|kind| kind.becomes(form)).ok_or_else(|| refused(source, form))?;
        let mut packing = match kind {
            Kind::Attributes => Self::of_attributes(source, floats)?,
            Kind::Filter | Kind::Codecs => Self::of_chain(source, kind)?,
        };
        if let Some(floats) = floats.and_then(DataType::number).filter(|_| kind == Kind::Filter) {
            packing.float = FloatType(floats);
        }
        let Packing { codes, float, absent, .. } = packing;
        let most_bits = if form == QuantizeForm::Plain { 64 } else { 32 };
        let is_whole = codes.is_whole() && codes.bits().is_power_of_two() && codes.bits() >= 8;
        if codes.is_float() || !is_whole || codes.bits() > most_bits {
            let message = format!("`{}` is packed in {codes}: only integers of 8, 16 and 32 bits change", source.store);
            return Err(OperationError::data(message).with_help(REPACK));
        }
        if form == QuantizeForm::Codecs && codes.bits() > float.0.significand_bits().unwrap_or(0) {
            let message = format!("{} does not hold all codes of {codes}", float.0);
            return Err(OperationError::data(message).with_help("give `--data-type float64`"));
        }
        packing.missing.sort_by_key(|code| Some(*code) != absent);
        Ok(packing)
    }

    fn of_attributes(source: &OpenedArray, floats: Option<&DataType>) -> Result<Self, OperationError> {
        if codec_names(&source.metadata.codecs).iter().any(|name| PACKING.contains(&name.as_str())) {
            let message = format!("`{}` is packed twice, by attributes and in its chain", source.store);
            return Err(OperationError::data(message).with_help(REPACK));
        }
        // Numbers of JSON have this type for readers.
        let double = DataType::Number(NumberType::of(ElementType::Float64));
        let unpack = cf::packing(source, floats.or(Some(&double)))?;
        let unpack = unpack.ok_or_else(|| refused(source, QuantizeForm::Codecs))?;
        let (codes, float) = (unpack.source(), FloatType(unpack.target()));
        let (least, greatest) = codes.integer_bounds().unwrap_or_default();
        let is_code = |code: &i128| (least..=greatest).contains(code);
        let mut missing = Vec::new();
        for code in unpack.missing().iter().copied().filter(is_code).map(|code| bits_of(codes, code)) {
            if !missing.contains(&code) {
                missing.push(code);
            }
        }
        let scaling = [unpack.add_offset(), 1.0 / unpack.scale_factor()];
        let absent = source.fill_value.as_ref().and_then(|fill| fill.to_bits(&source.data_type)).or(Some(0));
        let mut decode = ValueProgram::new(codes.size());
        decode.push(ValueStep::Unpack(Box::new(unpack)), StepOrigin::DataType);
        widen(&mut decode, float);
        Ok(Packing { kind: Kind::Attributes, codes, float, decode, scaling, missing, absent })
    }

    fn of_chain(source: &OpenedArray, kind: Kind) -> Result<Self, OperationError> {
        let unclear = || {
            let message = format!("the chain of `{}` is no packing of floats in integers", source.store);
            let help = "`--unpack` writes plain floats, and `--quantize` packs them again";
            OperationError::data(message).with_help(help)
        };
        let stages = packing_stages(&source.pipeline).ok_or_else(unclear)?;
        let float = source.data_type.number().ok_or_else(unclear)?;
        let last = stages.last().and_then(|stage| stage.output.as_ref()?.array());
        let codes = last.and_then(|array| array.data_type.number()).ok_or_else(unclear)?;
        let roles: Vec<Role<'_>> = stages.iter().map(|stage| stage.configuration.role()).collect();
        let float = FloatType(float);
        let (mut encode, mut missing) = (ValueProgram::new(float.0.size()), Vec::new());
        let scaling = match roles.as_slice() {
            [Role::Filter { filter, swap: None }] => {
                encode.push(ValueStep::FilterEncode((*filter).clone()), StepOrigin::DataType);
                let number = |name| Some(stages[0].metadata.member(name)?.as_number().map(Number::as_f64)?);
                [number("offset").unwrap_or(0.0), number("scale").unwrap_or(1.0)]
            }
            [scale @ .., Role::Cast { encode: cast, decode }] if scale.len() < 2 => {
                let scaling = match scale {
                    [Role::ScaleOffset(scale)] => {
                        encode.push(ValueStep::ScaleEncode((*scale).clone()), StepOrigin::DataType);
                        [(scale.offset(), 0.0), (scale.scale(), 1.0)]
                    }
                    [] => [(None, 0.0), (None, 1.0)],
                    _ => return Err(unclear()),
                };
                encode.push(ValueStep::Cast((*cast).clone()), StepOrigin::DataType);
                let nan = decode.options().scalar_map.iter().filter(|(_, value)| float.value(*value).is_nan());
                missing.extend(nan.map(|(code, _)| *code));
                scaling.map(|(bits, default)| bits.map_or(default, |bits| float.value(bits)))
            }
            _ => return Err(unclear()),
        };
        let decode = decoder(&source.pipeline, float).ok_or_else(unclear)?;
        let code_of = |bits: u64| code_of([&encode, &decode], float, bits);
        for code in missing::declared(source, float.0).into_iter().filter_map(code_of) {
            if !missing.contains(&code) {
                missing.push(code);
            }
        }
        let absent = source.fill_value.as_ref().and_then(|fill| fill.to_bits(&source.data_type)).and_then(code_of);
        Ok(Packing { kind, codes, float, decode, scaling, missing, absent })
    }
}

/// The way out for what has no other form.
const REPACK: &str = "`--unpack` with `--quantize` packs the values anew; `--exclude` leaves an array as it is";

fn refused(source: &OpenedArray, form: QuantizeForm) -> OperationError {
    let (word, from, help) = match form {
        QuantizeForm::Codecs => {
            ("codecs", "by CF attributes or `fixedscaleoffset`", "`--quantize TYPE` packs plain floats")
        }
        QuantizeForm::Cf => {
            ("cf", "by `scale_offset` and `cast_value` or `fixedscaleoffset`", "`--quantize TYPE --as cf` packs floats")
        }
        QuantizeForm::Plain => (
            "plain",
            "by `scale_offset` and `cast_value`",
            "`--attributes JSON` takes CF attributes away; `--quantize TYPE --as plain` packs floats",
        ),
    };
    let message = format!("`--as {word}` takes an array that is packed {from}, and `{}` is not", source.store);
    OperationError::data(message).with_help(help)
}

/// The codecs of a chain that pack, in shards too; `None` where others stand between that change values.
fn packing_stages(pipeline: &Pipeline) -> Option<Vec<&Stage>> {
    fn all<'a>(pipeline: &'a Pipeline, stages: &mut Vec<&'a Stage>) {
        for stage in &pipeline.stages {
            match &stage.configuration {
                BoundConfiguration::Sharding(sharding) => all(&sharding.inner, stages),
                _ => stages.push(stage),
            }
        }
    }
    let mut stages = Vec::new();
    all(pipeline, &mut stages);
    let packs = |stage: &&Stage| PACKING.contains(&stage.name.as_str());
    let last = stages.iter().rposition(packs)?;
    stages.truncate(last + 1);
    stages.retain(|stage| !matches!(stage.configuration.role(), Role::Transpose(_) | Role::Reshape));
    stages.iter().all(packs).then_some(stages)
}

/// From the codes of a chain to its values in float64, as any reader decodes them.
pub(super) fn decoder(pipeline: &Pipeline, float: FloatType) -> Option<ValueProgram> {
    let stages = packing_stages(pipeline)?;
    let codes = stages.last()?.output.as_ref()?.array()?.data_type.size()?;
    let mut program = ValueProgram::new(codes);
    for stage in stages.iter().rev() {
        let step = match stage.configuration.role() {
            Role::ScaleOffset(codec) => ValueStep::ScaleDecode(codec.clone()),
            Role::Cast { decode, .. } => ValueStep::Cast(decode.clone()),
            Role::Filter { filter, swap: None } => ValueStep::FilterDecode(filter.clone()),
            _ => return None,
        };
        program.push(step, StepOrigin::DataType);
    }
    widen(&mut program, float);
    Some(program)
}

/// Appends the step to float64, which holds every value.
pub(super) fn widen(program: &mut ValueProgram, float: FloatType) {
    let target = NumberType::of(ElementType::Float64);
    let (rounding, out_of_range) = (Rounding::NearestEven, OutOfRange::Error);
    let cast = CastOptions { source: float.0, target, rounding, out_of_range, scalar_map: Vec::new() };
    if float.0 != target {
        program.push(ValueStep::Cast(Cast::new(cast)), StepOrigin::DataType);
    }
}

/// The values of codes; `None` where one has none.
pub(super) fn values(decode: &ValueProgram, codes: &[u8]) -> Option<Vec<f64>> {
    let mut decoded = Vec::new();
    decode.run(codes, &mut decoded, &mut Tiles::default(), None).ok()?;
    Some(decoded.chunks_exact(8).map(|bytes| f64::from_bits(element_bits(bytes))).collect())
}

/// The code of a value that comes back as it was.
fn code_of([encode, decode]: [&ValueProgram; 2], float: FloatType, bits: u64) -> Option<u64> {
    let mut code = Vec::new();
    let value = FillValue::from_bits(float.0, bits).0;
    encode.run(&value, &mut code, &mut Tiles::default(), None).ok()?;
    let (before, after) = (float.value(bits), *values(decode, &code)?.first()?);
    (before == after || (before.is_nan() && after.is_nan())).then(|| element_bits(&code))
}

/// The bits of a code.
fn bits_of(codes: NumberType, code: i128) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the code is one of the type")]
    let bits = code as u64;
    bits & (u64::MAX >> (64 - codes.bits()))
}
