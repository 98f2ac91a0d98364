//! `--data-type`: converts values and the fill value by the rules of `cast_value`. `--unpack`: restores plain floats,
//! by removing `scale_offset` and `cast_value`, or by applying CF attributes.
//!
//! Codecs that do not decode the numbers that they encode, if chunks are encoded again (SEMANTICS: D15). Also new data
//! types in a chain that few programs read (SEMANTICS: B23).
//!
//! `--keep-bits`: floats stay floats, with fewer bits in their significand (`bitround`; CF conventions 8.4). The
//! rounding is documented in a variable, one for each group of DEST with such arrays (CF conventions 8.4.1,
//! "Quantization variables").

use std::collections::{BTreeMap, HashMap};
use std::iter::once;
use std::mem::take;

use super::{CONTAINER, Plan, PlannedConversion, SourceArray};
use crate::array::{ChunkSet, Interrupt};
use crate::codec::kinds::values::is_lossy;
use crate::codec::{BoundChain, BoundCodec, Effect, ValueConversion, ValueStep, conversion, fault};
use crate::data_type::{DataType, FillValue, value_from_json, value_to_json};
use crate::diagnostic::{Diagnostic, code};
use crate::element::{ElementType, FloatFormat, NumberType};
use crate::engine::{ObjectJob, Progress, Route};
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::{OutOfRange, bit_pairs::leading_bits, keep_bits::KeepBits as Kernel, quantize::QuantizeFigures};
use crate::metadata::{CodecMetadata, Json, Object, edit};
use crate::operation::quantize::request::{PACKING_CODECS, is_packed, refuse_packed};
use crate::operation::transcode::{NodeDocument, NodeDocuments};
use crate::operation::xarray::{self, FILL_VALUE};
use crate::operation::{
    Budget, ChangeOptions, Draft, FloatType, GroupReading, KeepBits, Numbers, OpenedArray, OperationError, Result, cf,
    draft, explain, histogram::BitSurvey, new_driver, stored_array,
};
use crate::pipeline::{Completeness, Pipeline};

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

/// Fails if `--codecs` has a filter that would change quantised or rounded values again: the reported error would not be
/// that of DEST.
pub(crate) fn refuse_lossy_filters(options: &ChangeOptions, draft: &Draft) -> Result<()> {
    const LOSSY: [&str; 3] = [draft::FIXED_SCALE_OFFSET, "numcodecs.quantize", "numcodecs.astype"];
    let names = draft::codec_names(&draft.codecs);
    let Some(name) = names.iter().find(|name| LOSSY.contains(&name.as_str())).filter(|_| options.codecs.is_some())
    else {
        return Ok(());
    };
    let message = format!("--codecs has `{name}`, which would change the quantised values again");
    Err(OperationError::data(message).with_help("leave this codec out"))
}

/// Fails if codecs are configured for the old type of the values, the type changes, and there is no new chain.
pub(crate) fn refuse_bound_codecs(options: &ChangeOptions, draft: &Draft, [from, to]: [NumberType; 2]) -> Result<()> {
    let names = draft::codec_names(&draft.codecs);
    let bound = names.iter().find(|name| BOUND_TO_A_TYPE.contains(&name.as_str()));
    let Some(name) = bound.filter(|_| options.codecs.is_none()) else { return Ok(()) };
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

/// Returns the number of codecs of DEST's chain that have encoded SOURCE's values before, and do not encode them again.
pub(crate) fn kept(job: &ObjectJob) -> usize {
    match &job.route {
        // Cut chunks are encoded again, by all codecs but those that have rounded the values already.
        Route::Move(conversion) if !job.transfer.source.metadata.is_cut() => conversion.kept(),
        Route::Move(conversion) => conversion.num_rounded(),
        Route::Rechunk(rechunk) => rechunk.encoder.conversion.num_rounded(),
        Route::Staged(staged) => staged.second.encoder.conversion.num_rounded(),
        Route::VariableSize(_) => 0,
    }
}

/// Returns the first codec that encodes elements for DEST, and can change a number that it has rounded before: `delta`
/// of floats, a compressor that rounds, or a filter that calculates in float16. Codecs that have encoded the chunks
/// before, and do not encode them again, change nothing.
pub(crate) fn of(job: &ObjectJob) -> Option<&BoundCodec> {
    let (chain, kept) = (job.transfer.destination.subchunk_chain(), kept(job));
    let mut codecs = chain.codecs().iter().skip(kept);
    let is_filter = |codec: &&BoundCodec| matches!(codec.codec.effect(), Effect::Filter { .. });
    let rounding = codecs.clone().find(|codec| conversion::rounds(codec));
    rounding.or_else(|| codecs.find(is_filter).filter(|_| drifts(chain, kept)))
}

/// Returns whether a chain of float16 changes a number that it has rounded before. Filters of wider floats do so only
/// for codes beyond 2^24.
fn drifts(chain: &BoundChain, kept: usize) -> bool {
    if chain.decoded().data_type.real_number() != Some(NumberType::of(ElementType::Float16)) {
        return false;
    }
    let program = conversion::round_trip(chain, kept);
    (0..=u16::MAX).any(|bits| {
        let once = program.run_alone(&bits.to_ne_bytes());
        once.is_some_and(|once| program.run_alone(&once).is_some_and(|again| again != once))
    })
}

/// Returns whether absent elements are stored together with others in chunks of another grid, and numcodecs filters
/// change their fill value.
pub(crate) fn loses_fill_value(job: &ObjectJob) -> bool {
    let is_other_grid = matches!(job.route, Route::Rechunk(_) | Route::Staged(_));
    let (source, chain) = (&job.transfer.source, job.transfer.destination.subchunk_chain());
    let has_filter =
        chain.codecs().iter().any(|codec| matches!(codec.codec.effect(), Effect::Filter { .. } | Effect::BitRound(_)));
    let lacks_chunks = || source.objects().len() < source.metadata.num_chunks();
    let absent = chain.decoded().fill_value.as_ref().filter(|_| is_other_grid && has_filter && lacks_chunks());
    absent.is_some_and(|fill| conversion::round_trip(chain, kept(job)).run_alone(&fill.0).as_ref() != Some(&fill.0))
}

/// Returns the warning about losses by encoding again.
pub(crate) fn warning(job: &ObjectJob) -> Option<Diagnostic> {
    if loses_fill_value(job) {
        let message = "missing chunks are written together with others, and the filters of the chain change the fill \
            value: missing elements get another value";
        let help = "`--codecs` with a chain without these filters keeps every value; so does a change that leaves the chunks as they are";
        return Some(Diagnostic::new(code::BITROUND_FILL_VALUE_LOST, message).with_help(help));
    }
    let codec = of(job)?;
    if let Some(loss) = codec.codec.max_loss() {
        let most = if loss.is_finite() { format!(" by up to {loss}") } else { String::new() };
        let message = format!(
            "chunks are encoded again by `{}`, which rounds: values can change{most}, and values near a NaN or an \
                infinite element can be lost",
            codec.metadata.name
        );
        let help =
            "the mode `reversible`, or another codec, keeps every value; `--verify` tells by how much they change";
        return Some(Diagnostic::new(code::ZFP_LOSSY, message).with_help(help));
    }
    let reason = match codec.codec.effect() {
        Effect::Filter { .. } => "in float16: values that it has rounded before can change",
        _ => {
            "of floats: its sums can differ from SOURCE's values in the last digits, and values after a NaN or an \
                infinite element in the chunk are lost"
        }
    };
    let message = format!("chunks are encoded again by `{}` {reason}", codec.metadata.name);
    let help =
        "`--codecs` with a chain without it keeps every value; so does a change that leaves the chunks as they are";
    Some(Diagnostic::new(code::DELTA_LOSSY, message).with_help(help))
}

/// Returns a warning about the first such type, if the source does not have it anywhere in its chain.
pub(crate) fn rare_type_warning(source: &Pipeline, destination: &Pipeline) -> Option<Diagnostic> {
    let is_rare = |one: &DataType| one.is_small_float() || (one.is_sub_byte() && one.is_registered());
    let is_known = |data_type: &DataType| types(source).any(|known| known == data_type);
    let new = types(destination).find(|data_type| is_rare(data_type) && !is_known(data_type))?;
    let message =
        format!("{new} is written: zarr-python cannot open the array, nor a consolidated group that contains it");
    let help = "zarrs reads it, and tensorstore reads some of these types as an array's own; float16 and uint8 are \
        read everywhere";
    Some(Diagnostic::new(code::DATA_TYPE_SUB_BYTE, message).with_help(help))
}

/// Returns a warning if raw bytes of v2 get the name of the core specification in v3 (SEMANTICS: A6).
pub(crate) fn raw_warning(source: &OpenedArray, draft: &Draft) -> Option<Diagnostic> {
    let DataType::Raw(size) = &draft.data_type else { return None };
    if source.documents.zarr_format == draft.zarr_format || draft.zarr_format != 3 {
        return None;
    }
    let message =
        format!("{} is written, as the core specification has it, which no zarr-python reads", draft.data_type);
    let help = format!(
        "for zarr-python: `--data-type '{{\"name\":\"raw_bytes\",\"configuration\":{{\"length_bytes\":{size}}}}}'`"
    );
    Some(Diagnostic::new(code::DATA_TYPE_UNREAD, message).with_help(help))
}

/// Returns a warning if `scale_offset` and `cast_value` replace `fixedscaleoffset` (SEMANTICS: A1.10).
pub(crate) fn rescaled_warning(source: &OpenedArray, draft: &Draft) -> Option<Diagnostic> {
    let is_scaled = |codecs| draft::has_codec(codecs, draft::FIXED_SCALE_OFFSET);
    if !is_scaled(&source.metadata.codecs) || is_scaled(&draft.codecs) || !is_packed(&draft.codecs) {
        return None;
    }
    let message = "values of `numcodecs.fixedscaleoffset` are encoded again by `scale_offset` and `cast_value`: they \
        are not bit-identical";
    let help = "`--verify` tells by how much they change; a chain that keeps the filter changes none";
    Some(Diagnostic::new(code::CAST_VALUE_LOSSY, message).with_help(help))
}

/// Returns the types of a chunk before and after each codec, also inside shards.
fn types(pipeline: &Pipeline) -> impl Iterator<Item = &DataType> {
    draft::chains(pipeline).flat_map(|chain| {
        let encoded = chain.stages.iter().filter_map(|stage| stage.output.as_ref()?.array());
        [&chain.input].into_iter().chain(encoded).map(|array| &array.data_type)
    })
}

/// The attributes of a rounded array: the variable that documents the rounding, and the bits (CF conventions 8.4.2).
const NAME: &str = "quantization";
const BITS: &str = "quantization_nsb";

/// The codec name that zarr-python knows. It does not know the registered name, `bitround`.
const CODEC: &str = "numcodecs.bitround";

pub(crate) struct BitRounding {
    /// The option, with the bits if they were determined.
    pub keep: KeepBits,
    pub number_type: NumberType,
    /// The figures of one absent element.
    pub absent: QuantizeFigures,
    /// Name of the variable in the array's group that documents the rounding.
    pub container: String,
}

impl BitRounding {
    /// Returns the error of absent elements. `None` if they are NaN or missing.
    pub(crate) fn absent_error(&self) -> Option<f64> {
        (self.absent.nan == 0).then_some(self.absent.max_abs_error)
    }

    /// Returns a warning if the data have no information, so that nothing is rounded.
    pub(super) fn warning(&self) -> Option<Diagnostic> {
        let KeepBits::Found(bits, _) = self.keep else { return None };
        (bits == all_bits(self.number_type)).then(|| {
            let message = "neighbours share no information that ends before the last bit: all bits are kept";
            Diagnostic::new(code::KEEP_BITS_NO_INFORMATION, message)
                .with_help("give a number, `--keep-bits N`, if you know how many bits matter")
        })
    }
}

/// Returns whether a finding says that the codec's name is in no registry. Most readers know this name.
pub(super) fn is_about_name(found: &Diagnostic) -> bool {
    found.is(code::CODEC_UNREGISTERED) && found.message.contains(CODEC)
}

/// Writes the rounding into the metadata of DEST. Rounds the value of absent elements, too. The codec is the first of the
/// innermost chain, and replaces an existing one. In v2 it must follow a transposition, which is the `order` there.
pub(super) fn keep_bits(
    array: &SourceArray,
    keep: KeepBits,
    changed: &mut PlannedConversion,
    draft: &mut Draft,
) -> Result<()> {
    let SourceArray { opened: source, container, .. } = array;
    let number_type = float_type(&draft.data_type, &source.store)?;
    refuse_packed(&draft.codecs, &source.store)?;
    let all = all_bits(number_type);
    let bits = keep.bits().unwrap_or(all);
    if bits > all {
        return Err(OperationError::data(format!(
            "--keep-bits {bits} is more than the {all} explicit bits that the significand of {number_type} has"
        ))
        .with_help(format!("give at most {all}, or `auto`")));
    }
    let has_order = draft.zarr_format == 2;
    draft.edit_innermost(|chain| {
        // An existing name is kept.
        let present = chain.iter().find(|codec| is_bitround(codec));
        let name = present.map_or_else(|| CODEC.to_owned(), |codec| codec.name.clone());
        chain.retain(|codec| !is_bitround(codec));
        let configuration = Object::new().with("keepbits", u64::from(bits));
        let is_order = |codec: &&CodecMetadata| has_order && codec.name == "transpose";
        let index = chain.iter().take_while(is_order).count();
        chain.insert(index, CodecMetadata::new(&name, Some(configuration)));
    });
    describe(container, bits, draft);
    // Values that mark missing elements, and the value of absent chunks, must stay recognisable.
    let is_unpacked = draft.data_type != source.data_type;
    let declared = if is_unpacked { Vec::new() } else { cf::declared_missing(source, number_type) };
    let written = draft.fill_value.as_ref().and_then(|fill| fill.to_bits(&draft.data_type));
    let kernel = Kernel::new(number_type, bits, &declared, written);
    let mut absent = QuantizeFigures::default();
    if let Some(FillValue(element)) = &mut changed.absent {
        kernel.convert(&element.clone(), element, &mut absent);
    }
    changed.rounding = Some(BitRounding { keep, number_type, absent, container: container.clone() });
    changed.change = take(&mut changed.change).then(ValueStep::KeepBits(Box::new(kernel)), 1);
    Ok(())
}

/// Sets the attributes of a rounding, and removes those of an earlier one.
fn describe(container: &str, bits: u32, draft: &mut Draft) {
    // Attributes of an earlier rounding: by algorithms that count digits, and additional ones of the netCDF library.
    let is_stale = |name: &str| name == "quantization_nsd" || name.starts_with("_Quantize");
    let attributes = draft.attributes().into_iter().filter(|(name, _)| !is_stale(name));
    draft.set_attributes(attributes.collect::<Object>().with(NAME, container).with(BITS, u64::from(bits)));
}

fn is_bitround(codec: &CodecMetadata) -> bool {
    matches!(codec.name.as_str(), "bitround" | CODEC)
}

/// Returns the pipeline that writes rounded values. The codec is before a transposition, where the kernel replaces it.
/// It rounds each value by itself, so the order does not matter.
pub(super) fn rounding_first(pipeline: &Pipeline) -> Pipeline {
    let mut codecs = pipeline.codecs();
    codecs.sort_by_key(|codec| !is_bitround(codec));
    Pipeline::build(pipeline.input.clone(), &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new())
}

/// Returns the fewest bits that keep a share of the information along every dimension, at least one. Without any
/// information it returns all bits. Reads the `present` chunks, if they are known. `are_all`: all other chunks are
/// absent.
pub(crate) fn find_bits(
    (source, unpacks): (&OpenedArray, bool),
    (present, are_all): (Option<&ChunkSet>, bool),
    share: f64,
    (budget, interrupt): (Budget, &Interrupt),
    progress: &dyn Progress,
) -> Result<KeepBits> {
    let unpack = if unpacks { cf::packing(source, None)? } else { None };
    let data_type = unpack.as_ref().map(|unpack| DataType::Number(unpack.target));
    let number_type = float_type(data_type.as_ref().unwrap_or(&source.data_type), &source.store)?;
    let all = all_bits(number_type);
    let array = stored_array(source)?.with_present(present);
    let missing = if unpack.is_some() { Vec::new() } else { cf::declared_missing(source, number_type) };
    let numbers = Numbers::of(number_type, unpack);
    let fill_bits = numbers.fill_of(source);
    let survey = BitSurvey::new(array, numbers, &missing, fill_bits, !are_all);
    let driver = new_driver(survey.threads_of(budget)?, interrupt)?;
    let found = survey.run(&driver, progress);
    let found = found.map_err(|fault| explain(fault, &source.metadata, &source.store, None))?;
    // They keep the share along each dimension with information.
    let positions = found.iter().filter_map(|information| information.kept(share)).max();
    let bits = positions.and_then(|positions| u32::try_from(positions.saturating_sub(leading_bits(number_type))).ok());
    Ok(KeepBits::Found(bits.map_or(all, |bits| bits.clamp(1, all)), share))
}

/// Returns the number of explicit bits of a significand.
fn all_bits(number_type: NumberType) -> u32 {
    number_type.fraction_bits().unwrap_or(52)
}

/// Returns a float type whose bits can be rounded. Fails for other types.
fn float_type(data_type: &DataType, store: &str) -> Result<NumberType> {
    let refused = || OperationError::data(format!("--keep-bits applies to float arrays; `{store}` is {data_type}"));
    data_type.number().filter(|number_type| number_type.is_float()).ok_or_else(refused)
}

const ALGORITHM: &str = "algorithm";
const IMPLEMENTATION: &str = "implementation";

/// The name of the rounding method in the CF conventions.
const BITROUND: &str = "bitround";

/// Returns the software in the form of the conventions: "software-name version version-string".
const ZARRCAST: &str = concat!("zarrcast version ", env!("CARGO_PKG_VERSION"));

/// Sets the name of the variable for each rounded array. It is an existing one in its group with the same content, or a
/// new one.
pub(crate) fn name_containers(arrays: &mut [SourceArray], groups: &[GroupReading]) {
    let says_the_same = |array: &SourceArray| {
        let attributes = &array.opened.metadata.attributes;
        let says = |name: &str, text: &str| attributes.get(name).and_then(Json::as_str) == Some(text);
        says(ALGORITHM, BITROUND) && says(IMPLEMENTATION, ZARRCAST)
    };
    let of_arrays = arrays.iter().map(|array| (array.path.clone(), says_the_same(array)));
    let of_groups = groups.iter().map(|group| (group.node_path.path.clone(), false));
    let taken: HashMap<String, bool> = of_arrays.chain(of_groups).collect();
    for array in arrays.iter_mut().filter(|array| array.change.keep_bits.is_some()) {
        let group = group_of(&array.path);
        let is_free = |name: &str| taken.get(&format!("{group}/{name}")).is_none_or(|same| *same);
        let others = (2_u64..).map(|number| format!("{CONTAINER}_{number}"));
        let mut names = once(CONTAINER.to_owned()).chain(others);
        array.container = names.find(|name| is_free(name)).unwrap_or_default();
    }
}

/// Adds the documents of the variables that are not there yet to those of the nodes, by their paths.
pub(crate) fn add_documents(arrays: &[Plan], nodes: &mut BTreeMap<String, NodeDocuments>) {
    for plan in arrays {
        let Some(rounding) = &plan.changed.rounding else { continue };
        let path = format!("{}/{}", group_of(&plan.path), rounding.container);
        // Several arrays of a group share one variable.
        nodes.entry(path).or_insert_with(|| document(plan.destination.draft.zarr_format));
    }
}

/// Returns a variable without dimensions and without data.
fn document(zarr_format: u64) -> NodeDocuments {
    const V2: &str = r#"{"zarr_format":2,"shape":[],"chunks":[],"dtype":"|i1","compressor":null,"fill_value":0,
        "order":"C","filters":null}"#;
    const V3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[],"data_type":"int8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},
        "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},
        "fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{},"dimension_names":[]}"#;
    let attributes = Object::new().with(ALGORITHM, BITROUND).with(IMPLEMENTATION, ZARRCAST);
    let node = |key: &str, json: Json| (key.to_owned(), NodeDocument::new(json));
    let array = |text: &str| Json::parse_str(text).unwrap_or(Json::Null);
    if zarr_format == 2 {
        // xarray needs it in v2, also without dimensions (SEMANTICS: D14).
        let attributes = attributes.with("_ARRAY_DIMENSIONS", Json::Array(Vec::new()));
        return vec![node(".zattrs", attributes.into()), node(".zarray", array(V2))];
    }
    let mut array = array(V3);
    edit::set_member(&mut array, "attributes", attributes);
    vec![node("zarr.json", array)]
}

/// Returns the path of the group of an array. Empty for the root.
pub(crate) fn group_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(group, _)| group)
}
