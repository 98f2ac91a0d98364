//! `--as` alone: the packing that is there in another form, whose chunks are the codes as they are (CLI.md, "Forms of a
//! packing").

mod packing;
#[cfg(test)]
mod tests;

use self::packing::{Decode, Packing, values};
pub(super) use self::packing::{PACKED, codecs_of_codes, is_for};
use crate::array::{ChunkSet, Fault, StoredArray};
use crate::codec::Tiles;
use crate::codec::fault::number_value;
use crate::data_type::{DataType, FillValue};
use crate::element::{ElementType, NumberType, element_bits};
use crate::engine::{Accumulator, Chunk, Driver, Fold, Progress};
use crate::grid::Region;
use crate::kernel::{OutOfRange, Rounding};
use crate::metadata::ArrayMetadata;
use crate::operation::cf::PACKING_ATTRIBUTES;
use crate::operation::quantize::{Codes, Scaling};
use crate::operation::stored::side;
use crate::operation::xarray::{self, FILL_VALUE};
use crate::operation::{Draft, FloatType, OpenedArray, OperationError, Quantization, QuantizeForm, explain};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// Units in the last place of the greatest value by which values may differ.
const MOST_ULPS: f64 = 2.0;

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
    /// True if SOURCE is an array of floats.
    pub is_of_floats: bool,
    /// The decoding of SOURCE and of DEST.
    decode: [Decode; 2],
}

/// Writes the packing of an array into the draft in another form; with the value of absent elements in DEST.
pub(super) fn repack(
    source: &OpenedArray,
    form: QuantizeForm,
    floats: Option<&DataType>,
    draft: &mut Draft,
) -> Result<(Repacking, Option<FillValue>), OperationError> {
    let packing = Packing::of(source, form, floats)?;
    let Packing { codes, float, absent, .. } = packing;
    let mut quantization = quantization(&packing, form);
    let (difference, limit) = fit(&packing, &mut quantization, &source.store)?;
    let nan = quantization.codes.nan.map(|_| float.bits(f64::NAN));
    let surviving = |code| quantization.surviving(code);
    quantization.fill_value = nan.or(absent.and_then(surviving)).or_else(|| surviving(0)).unwrap_or(0);
    let is_of_floats = draft.data_type.number().is_some_and(NumberType::is_float);
    draft.keep_codecs(codecs_of_codes(&draft.codecs, is_of_floats));
    let values = if form == QuantizeForm::Codecs { float.0 } else { codes };
    let stands_for = if form == QuantizeForm::Codecs {
        let (floats, mut attributes) = (DataType::Number(float.0), draft.attributes());
        for name in PACKING_ATTRIBUTES {
            attributes.remove(name);
        }
        let mask = nan.and_then(|bits| xarray::encode(&floats, &FillValue::from_bits(float.0, bits)));
        if let Some(mask) = mask {
            attributes.insert(FILL_VALUE, mask);
        }
        draft.set_attributes(attributes);
        draft.set_data_type(floats);
        quantization.apply(draft)?;
        let is_missing = |code| packing.missing.contains(&code);
        absent.and_then(|code| if is_missing(code) { nan } else { quantization.decoded(code) })
    } else {
        quantization.apply(draft)?;
        // In v2 a fill value is a mask, unless it is 0, of which null is made.
        let is_mask = draft.zarr_format == 2 && draft.document.get("dimension_names").is_some();
        let missing = packing.missing.first().copied();
        let fill = absent.filter(|_| missing.is_some() || !is_mask).or(missing).unwrap_or(0);
        draft.set_fill_value(FillValue::from_bits(codes, fill))?;
        absent
    };
    let absent = absent.map(|code| FillValue::from_bits(codes, code));
    let decode = [packing.decode, quantization.reader()];
    let repacking = Repacking { quantization, difference, limit, absent, is_of_floats, decode };
    Ok((repacking, stands_for.map(|bits| FillValue::from_bits(values, bits))))
}

/// The quantisation that DEST has, before its scale is chosen.
fn quantization(packing: &Packing, form: QuantizeForm) -> Quantization {
    let Packing { codes, float, scaling: [offset, scale], .. } = *packing;
    #[expect(clippy::cast_possible_truncation, reason = "codes are integers of up to 32 bits")]
    let mut missing = packing.missing.iter().map(|bits| number_value(codes, *bits) as i64);
    let nan = missing.next();
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

/// Chooses the scale and the offset by which DEST's reader gets what SOURCE's does, or what differs the least, over all
/// codes of up to 16 bits; that difference, and the greatest that is allowed.
fn fit(packing: &Packing, quantization: &mut Quantization, store: &str) -> Result<(Option<f64>, f64), OperationError> {
    if quantization.form == QuantizeForm::Plain {
        return Ok((None, 0.0));
    }
    let table = table(packing.codes);
    let expected = values(&packing.decode, &table).unwrap_or_default();
    let limit = expected.iter().map(|value| value.abs()).fold(0.0, f64::max);
    let limit = MOST_ULPS * packing.float.unit_in_last_place(limit);
    // Attributes are numbers of JSON; the values of codecs have the array's type.
    let is_cf = quantization.form == QuantizeForm::Cf;
    let float = if is_cf { FloatType(NumberType::of(ElementType::Float64)) } else { packing.float };
    let [offset, scale] = packing.scaling.map(|value| float.round(value, Rounding::NearestEven));
    let (mut best, mut least) = (quantization.scaling, f64::INFINITY);
    let steps = [0, 1, -1, 2, -2, 3, -3].into_iter().filter(|_| scale.is_normal());
    for (of_scale, of_offset) in steps.flat_map(|s| [(s, 0), (s, 1), (s, -1)]) {
        // An offset of 0 has no neighbour that is as good.
        let near = [(offset, if offset == 0.0 { 0 } else { of_offset }), (scale, of_scale)];
        let [Some(offset), Some(scale)] = near.map(|(value, steps)| float.neighbour(value, steps)) else { continue };
        quantization.scaling = Scaling::of(Some(offset), Some(scale));
        let found = values(&quantization.reader(), &table).unwrap_or_default();
        let difference = greatest_difference(&expected, &found);
        // A `scale_factor` is 1 / scale, unless another is exact.
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

/// A difference that is allowed.
fn held(difference: f64, limit: f64, store: &str) -> Result<f64, OperationError> {
    if difference <= limit {
        return Ok(difference);
    }
    let message = format!(
        "no `scale` and `offset` give the values of `{store}` in this form: they would differ by up to {difference}, and \
         {limit} is allowed"
    );
    Err(OperationError::data(message).with_help("use `--unpack --step S` to quantise again, in multiples of S"))
}

/// All codes of up to 16 bits; of wider ones some, from the least to the greatest.
fn table(codes: NumberType) -> Vec<u8> {
    let stride = if codes.bits() > 16 { 0x1_0001 } else { 1 };
    (0..1_u64 << codes.bits().min(16)).flat_map(|place| FillValue::from_bits(codes, place * stride).0).collect()
}

/// The greatest difference; infinite where one side alone has a number.
fn greatest_difference(one: &[f64], other: &[f64]) -> f64 {
    let difference = |(a, b): (&f64, &f64)| match (a - b).abs() {
        _ if a == b || (a.is_nan() && b.is_nan()) => 0.0,
        difference if difference.is_nan() => f64::INFINITY,
        difference => difference,
    };
    if one.len() == other.len() { one.iter().zip(other).map(difference).fold(0.0, f64::max) } else { f64::INFINITY }
}

impl Repacking {
    /// SOURCE, or DEST if it has the fill value, as the array of codes that it is behind the packing.
    pub(super) fn codes(&self, metadata: &ArrayMetadata, fill: Option<&FillValue>) -> Pipeline {
        let Quantization { form, source, target, .. } = self.quantization;
        let encoded = |fill: &FillValue| {
            let code = self.quantization.encoded(fill.to_bits(&DataType::Number(source))?)?;
            Some(FillValue::from_bits(target, code))
        };
        let fill_value = match fill {
            None => self.absent.clone(),
            Some(fill) if form == QuantizeForm::Codecs => encoded(fill),
            Some(fill) => Some(fill.clone()),
        };
        let (data_type, shape) = (DataType::Number(target), metadata.largest_chunk().to_vec());
        let input = ArrayRepresentation { data_type, shape, fill_value };
        let is_float = if fill.is_some() { form == QuantizeForm::Codecs } else { self.is_of_floats };
        let codecs = codecs_of_codes(&metadata.codecs, is_float);
        Pipeline::build(input, &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new())
    }

    /// SOURCE as the array of its codes.
    pub(super) fn source(&self, source: &OpenedArray) -> Result<StoredArray, OperationError> {
        let (node, metadata) = (source.node.clone(), source.metadata.clone());
        side(node, metadata, &self.codes(&source.metadata, None), &source.store, 0, false)
    }

    /// Proves the codes of more than 16 bits that occur.
    pub(super) fn measure(
        &mut self,
        source: &OpenedArray,
        present: Option<&ChunkSet>,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<(), OperationError> {
        let Some(known) = self.difference.filter(|_| self.quantization.target.bits() > 16) else { return Ok(()) };
        let array = self.source(source)?.with_present(present);
        let found = Fold { array: &array, driver, progress }.run("first pass", &Differences(&self.decode));
        let found = found.map_err(|fault| explain(fault, &array.metadata, &source.store, None))?;
        self.difference = Some(held(known.max(found.part), self.limit, &source.store)?);
        Ok(())
    }
}

/// The greatest difference of the codes that occur.
struct Differences<'a>(&'a [Decode; 2]);

impl Accumulator for Differences<'_> {
    type Part = f64;
    type Buffers = ([Vec<u8>; 2], Tiles);

    fn start(&self, _: &Region) -> f64 {
        0.0
    }

    fn add(&self, part: &mut f64, chunk: Chunk<'_>, (buffers, tiles): &mut Self::Buffers) -> Result<(), Fault> {
        for ((decode, _), buffer) in self.0.iter().zip(&mut *buffers) {
            let run = decode.run(chunk.elements.unwrap_or_default(), buffer, tiles, None);
            run.map_err(|fault| Fault::Other(format!("a code has no value: {:?}", fault.fault.kind)))?;
        }
        let [one, other] = [0, 1].map(|side| {
            let number = self.0[side].1.0;
            buffers[side].chunks_exact(number.size()).map(move |bytes| number_value(number, element_bits(bytes)))
        });
        *part = one.zip(other).map(|(a, b)| greatest_difference(&[a], &[b])).fold(*part, f64::max);
        Ok(())
    }

    fn merge(&self, all: &mut f64, part: &f64) {
        *all = all.max(*part);
    }
}
