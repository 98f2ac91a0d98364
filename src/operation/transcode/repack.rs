//! `--as` alone: the packing that is there in another form, whose chunks are the codes as they are (CLI.md, "Forms of a
//! packing").

mod packing;

use self::packing::{Kind, Packing, decoder, values, widen};
pub(super) use self::packing::{PACKING, is_for};
use super::plan::change::strip;
use super::plan::metadata::DestinationMetadata;
use super::verify::decode;
use crate::array::ChunkSet;
use crate::array::fault::Fault;
use crate::codec::value_program::{StepOrigin, Tiles, ValueProgram, ValueStep};
use crate::data_type::{DataType, FillValue};
use crate::element::{ElementType, NumberType, element_bits};
use crate::engine::driver::Driver;
use crate::engine::fold::{Accumulator, Chunk, Fold};
use crate::engine::progress::Progress;
use crate::grid::Region;
use crate::kernel::unpack::Unpack;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::array::ArrayMetadata;
use crate::metadata::json::Json;
use crate::operation::cf::PACKING_ATTRIBUTES;
use crate::operation::draft::Draft;
use crate::operation::error::OperationError;
use crate::operation::fault::explain;
use crate::operation::open::OpenedArray;
use crate::operation::options::{ChangeOptions, QuantizeForm};
use crate::operation::quantize::quantization::Quantization;
use crate::operation::quantize::range::{Codes, FloatType, Scaling};
use crate::operation::stored::side;
use crate::operation::xarray::{self, FILL_VALUE};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// Units in the last place of the greatest value by which values may differ.
const MOST_ULPS: f64 = 2.0;

/// How many values of the type on each side of the guess are tried for the scale, and for the offset.
const AROUND: [i64; 2] = [3, 1];

/// A packing in its new form.
#[derive(Debug, Clone)]
pub(super) struct Repacking {
    /// The form that DEST has.
    pub quantization: Quantization,
    /// The greatest difference of a value, as readers of SOURCE and of DEST see it; `None` of bare integers.
    pub difference: Option<f64>,
    /// The greatest that it may be.
    pub limit: f64,
    /// The code of absent elements; `None` where no code stands for the fill value.
    pub absent: Option<FillValue>,
    /// Both chains from the codes on.
    pub chains: [Pipeline; 2],
    /// From codes to the values of SOURCE, and of DEST.
    decode: [ValueProgram; 2],
}

/// Writes the packing of an array into the draft in another form; with the value of absent elements in DEST.
pub(super) fn repack(
    source: &OpenedArray,
    form: QuantizeForm,
    options: &ChangeOptions,
    draft: &mut Draft,
) -> Result<(Repacking, Option<FillValue>), OperationError> {
    let packing = Packing::of(source, form, options.data_type.as_ref())?;
    let Packing { codes, float, absent, .. } = packing;
    let mut quantization = quantization(&packing, form);
    let limit = fit(&packing, &mut quantization, &source.store)?;
    let is_missing = absent.is_some_and(|code| packing.missing.contains(&code));
    let value = absent.and_then(|code| quantization.surviving(code));
    let nan = quantization.codes.nan.map(|_| float.bits(f64::NAN));
    let zero = || quantization.surviving(0);
    quantization.fill_value = nan.or(value).or_else(zero).unwrap_or(0);
    draft.keep_codecs(strip(&draft.codecs, &PACKING));
    let stood_for = if form == QuantizeForm::Codecs {
        draft.set_data_type(DataType::Number(float.0));
        mask_by_nan(&packing, draft);
        quantization.apply(draft)?;
        absent.and_then(|code| if is_missing { nan } else { quantization.decoded(code) })
    } else {
        quantization.apply(draft)?;
        // In v2 a fill value is a mask, unless it is 0, of which null is made.
        let is_masked = draft.zarr_format == 2 && draft.document.get("dimension_names").is_some();
        let masks = packing.missing.first().copied();
        let fill = absent.filter(|_| masks.is_some() || !is_masked).or(masks).unwrap_or(0);
        draft.set_fill_value(FillValue::from_bits(codes, fill))?;
        if form == QuantizeForm::Cf && !quantization.more_nan_codes.is_empty() {
            let mut attributes = draft.attributes();
            let others = quantization.more_nan_codes.iter().map(|code| Json::from(*code)).collect();
            attributes.insert("missing_value", Json::Array(others));
            draft.set_attributes(attributes);
        }
        absent
    };
    let values = if form == QuantizeForm::Codecs { float.0 } else { codes };
    let chain = of_codes(&source.metadata, codes, absent.unwrap_or(0));
    let repacking = Repacking {
        difference: None,
        limit,
        absent: absent.map(|code| FillValue::from_bits(codes, code)),
        chains: [chain.clone(), chain],
        decode: [packing.decode, reader(&quantization)],
        quantization,
    };
    Ok((repacking, stood_for.map(|bits| FillValue::from_bits(values, bits))))
}

/// The quantisation that DEST has, before its scale is chosen.
fn quantization(packing: &Packing, form: QuantizeForm) -> Quantization {
    let Packing { codes, float, .. } = *packing;
    let shift = 64 - codes.bits();
    let signed = |bits: u64| (bits << shift).cast_signed() >> shift;
    let is_signed = codes.integer_bounds().is_some_and(|(least, _)| least < 0);
    let code = |bits: &u64| if is_signed { signed(*bits) } else { bits.cast_signed() };
    let mut missing = packing.missing.iter().map(code);
    let nan = missing.next();
    let [offset, scale] = packing.scaling;
    let all = Codes::of(NumberType::of(ElementType::Float64), codes, nan);
    Quantization {
        form,
        source: float.0,
        target: codes,
        codes: all.unwrap_or(Codes { first: 0, last: 0, nan }),
        more_nan_codes: missing.collect(),
        scaling: Scaling::of(Some(offset), Some(scale)),
        range: None,
        rounding: Rounding::NearestEven,
        out_of_range: OutOfRange::Error,
        missing: Vec::new(),
        fill_value: 0,
        absent_bits: 0,
        writes_absent: false,
        max_error: None,
        grid_step: None,
        is_proved: true,
        is_open: false,
        is_target_settled: true,
        reader_workaround: None,
        warnings: Vec::new(),
    }
}

/// Chooses the scale and the offset by which DEST's reader gets what SOURCE's does, or what differs the least; the
/// greatest difference that is allowed.
fn fit(packing: &Packing, quantization: &mut Quantization, store: &str) -> Result<f64, OperationError> {
    if quantization.form == QuantizeForm::Plain {
        return Ok(0.0);
    }
    let table = table(packing.codes);
    let expected = values(&packing.decode, &table).unwrap_or_default();
    let greatest = expected.iter().map(|value| value.abs()).fold(0.0, f64::max);
    // Attributes are numbers of JSON; the values of codecs have the array's type.
    let is_cf = quantization.form == QuantizeForm::Cf;
    let float = if is_cf { FloatType(NumberType::of(ElementType::Float64)) } else { packing.float };
    let guess = packing.scaling.map(|value| float.round(value, Rounding::NearestEven));
    let mut best: Option<(Scaling, f64)> = None;
    for [offset, scale] in around(float, guess) {
        quantization.scaling = Scaling::of(Some(offset), Some(scale));
        let found = values(&reader(quantization), &table);
        let difference = found.map_or(f64::INFINITY, |found| greatest_difference(&expected, &found));
        // A `scale_factor` is 1 / scale, unless another is exact.
        let is_better = best.is_none_or(|(_, least)| if is_cf { difference == 0.0 } else { difference < least });
        if is_better {
            best = Some((quantization.scaling, difference));
        }
        if difference == 0.0 {
            break;
        }
    }
    let limit = MOST_ULPS * packing.float.unit_in_last_place(greatest);
    match best.filter(|(_, difference)| *difference <= limit) {
        Some((scaling, _)) => {
            quantization.scaling = scaling;
            Ok(limit)
        }
        None => Err(too_far(store, best.map_or(f64::INFINITY, |(_, difference)| difference), limit)),
    }
}

/// Offsets and scales next to a guess, the nearest first.
fn around(float: FloatType, [offset, scale]: [f64; 2]) -> impl Iterator<Item = [f64; 2]> {
    let steps = |most: i64| (0..=most).flat_map(|step| if step == 0 { vec![0] } else { vec![step, -step] });
    let near = move |value: f64, step: i64| if step == 0 { Some(value) } else { float.neighbour(value, step) };
    let [of_scale, of_offset] = AROUND;
    // An offset of 0 has no neighbour that is as good.
    let of_offset = if offset == 0.0 { 0 } else { of_offset };
    let is_usable = |[offset, scale]: &[f64; 2]| offset.is_finite() && scale.is_normal();
    let all = steps(of_scale)
        .flat_map(move |s| steps(of_offset).filter_map(move |o| Some([near(offset, o)?, near(scale, s)?])));
    all.filter(is_usable)
}

fn too_far(store: &str, difference: f64, limit: f64) -> OperationError {
    let message = format!(
        "no `scale` and `offset` give the values of `{store}` in this form: they would differ by up to {difference}, \
         and {limit} is allowed"
    );
    OperationError::data(message).with_help("`--unpack` with `--step S` packs the values anew, in multiples of S")
}

/// From DEST's codes to its values in float64, as readers get them.
fn reader(quantization: &Quantization) -> ValueProgram {
    let Quantization { form, source, target, scaling, .. } = quantization;
    if *form == QuantizeForm::Codecs {
        let mut program = decode(quantization);
        widen(&mut program, FloatType(*source));
        return program;
    }
    let missing = quantization.codes.nan.iter().chain(&quantization.more_nan_codes).map(|code| i128::from(*code));
    let (scale_factor, add_offset) = (1.0 / scaling.scale.unwrap_or(1.0), scaling.offset.unwrap_or(0.0));
    let double = NumberType::of(ElementType::Float64);
    let unpack = Unpack::new(*target, double, scale_factor, add_offset, missing.collect());
    let mut program = ValueProgram::new(target.size());
    program.push(ValueStep::Unpack(Box::new(unpack)), StepOrigin::DataType);
    program
}

/// All codes of up to 16 bits; of wider ones some, from the least to the greatest.
fn table(codes: NumberType) -> Vec<u8> {
    let stride = if codes.bits() > 16 { 0x1_0001 } else { 1 };
    (0..1_u64 << codes.bits().min(16)).flat_map(|place| FillValue::from_bits(codes, place * stride).0).collect()
}

/// The greatest difference; infinite where one side alone is NaN.
fn greatest_difference(one: &[f64], other: &[f64]) -> f64 {
    let difference = |(a, b): (&f64, &f64)| match (a.is_nan(), b.is_nan()) {
        (true, true) => 0.0,
        (false, false) => {
            if a == b {
                0.0
            } else {
                (a - b).abs()
            }
        }
        _ => f64::INFINITY,
    };
    one.iter().zip(other).map(difference).fold(0.0, f64::max)
}

/// Lets NaN stand for what attributes declare missing, and takes those away that tell of the packing.
fn mask_by_nan(packing: &Packing, draft: &mut Draft) {
    let mut attributes = draft.attributes();
    let (is_cf, has_missing) = (packing.kind == Kind::Attributes, !packing.missing.is_empty());
    for name in PACKING_ATTRIBUTES {
        let is_mask = [FILL_VALUE, "missing_value"].contains(&name);
        let nan = FillValue::from_bits(packing.float.0, packing.float.bits(f64::NAN));
        let nan = xarray::encode(&DataType::Number(packing.float.0), &nan);
        match attributes.get_mut(name).zip(nan) {
            Some((mask, nan)) if name == FILL_VALUE && has_missing => *mask = nan,
            Some(_) if is_cf || (is_mask && has_missing) => drop(attributes.remove(name)),
            _ => {}
        }
    }
    draft.set_attributes(attributes);
}

/// The chain of an array from the codes on.
fn of_codes(metadata: &ArrayMetadata, codes: NumberType, fill: u64) -> Pipeline {
    let input = ArrayRepresentation {
        data_type: DataType::Number(codes),
        shape: metadata.largest_chunk().to_vec(),
        fill_value: Some(FillValue::from_bits(codes, fill)),
    };
    let codecs = strip(&metadata.codecs, &PACKING);
    Pipeline::build(input, &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new())
}

impl Repacking {
    /// Proves the form by DEST's documents as they are read: every code of up to 16 bits, of wider ones some.
    pub(super) fn prove(&mut self, destination: &DestinationMetadata, store: &str) -> Result<(), OperationError> {
        let DestinationMetadata { metadata, pipeline, .. } = destination;
        let Quantization { form, source, target, .. } = self.quantization;
        let fill = pipeline.input.fill_value.as_ref().and_then(|fill| fill.to_bits(&pipeline.input.data_type));
        let fill = match form {
            QuantizeForm::Codecs => fill.and_then(|fill| self.quantization.encoded(fill)),
            QuantizeForm::Cf | QuantizeForm::Plain => fill,
        };
        self.chains[1] = of_codes(metadata, target, fill.unwrap_or(0));
        if form == QuantizeForm::Plain {
            return Ok(());
        }
        if let Some(read) = decoder(pipeline, FloatType(source)) {
            self.decode[1] = read;
        }
        let table = table(target);
        let [before, after] = self.decode.each_ref().map(|decode| values(decode, &table).unwrap_or_default());
        self.hold(greatest_difference(&before, &after), store)
    }

    /// Whether some codes are proved by the data alone.
    pub(super) fn is_open(&self) -> bool {
        self.quantization.form != QuantizeForm::Plain && self.quantization.target.bits() > 16
    }

    /// Proves the codes that occur.
    pub(super) fn measure(
        &mut self,
        source: &OpenedArray,
        present: Option<&ChunkSet>,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<(), OperationError> {
        let (node, metadata) = (source.node.clone(), source.metadata.clone());
        let array = side(node, metadata, &self.chains[0], &source.store, 0, false)?.with_present(present);
        let fold = Fold { array: &array, driver, progress };
        let found = fold.run("first pass", &Differences(&self.decode));
        let found = found.map_err(|fault| explain(fault, &array.metadata, &source.store, None))?;
        self.hold(self.difference.unwrap_or(0.0).max(found.part), &source.store)
    }

    fn hold(&mut self, difference: f64, store: &str) -> Result<(), OperationError> {
        self.difference = Some(difference);
        if difference <= self.limit { Ok(()) } else { Err(too_far(store, difference, self.limit)) }
    }
}

/// The greatest difference of the codes that occur.
struct Differences<'a>(&'a [ValueProgram; 2]);

impl Accumulator for Differences<'_> {
    type Part = f64;
    type Buffers = ([Vec<u8>; 2], Tiles);

    fn start(&self, _: &Region) -> f64 {
        0.0
    }

    fn add(&self, part: &mut f64, chunk: Chunk<'_>, (buffers, tiles): &mut Self::Buffers) -> Result<(), Fault> {
        let codes = chunk.elements.unwrap_or_default();
        for (program, buffer) in self.0.iter().zip(buffers.iter_mut()) {
            let run = program.run(codes, buffer, tiles, None);
            run.map_err(|fault| Fault::Other(format!("a code has no value: {:?}", fault.fault.kind)))?;
        }
        let value = |bytes: &[u8]| f64::from_bits(element_bits(bytes));
        for (one, other) in buffers[0].chunks_exact(8).zip(buffers[1].chunks_exact(8)).filter(|(a, b)| a != b) {
            *part = part.max(greatest_difference(&[value(one)], &[value(other)]));
        }
        Ok(())
    }

    fn merge(&self, all: &mut f64, part: &f64) {
        *all = all.max(*part);
    }
}
