//! `--keep-bits`: floats stay floats, with fewer bits in their significand (`bitround`; CF conventions 8.4).

use crate::array::{ChunkSet, Interrupt};
use crate::codec::ValueChange;
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::engine::Progress;
use crate::kernel::bit_pairs::{BitPatterns, Information, leading_bits};
use crate::kernel::keep_bits::KeepBits as Kernel;
use crate::metadata::{CodecMetadata, Object};
use crate::operation::information::BitSurvey;
use crate::operation::quantize::request::refuse_packed;
use crate::operation::{
    Budget, Draft, FloatType, KeepBits, Numbers, OpenedArray, OperationError, Result, cf, explain, new_driver,
    stored_array,
};
use crate::pipeline::{Completeness, Pipeline};

/// The attributes of a rounded array: the variable that tells how, and the bits (CF conventions 8.4.2).
const NAME: &str = "quantization";
const BITS: &str = "quantization_nsb";

/// Attributes of a rounding that was made before: that of algorithms that count digits, and what the netCDF library puts
/// beside it.
const DIGITS: &str = "quantization_nsd";
const OF_NETCDF: &str = "_Quantize";

/// The codec, by the name that zarr-python knows: it has none for the registered one, `bitround`.
const CODEC: &str = "numcodecs.bitround";

/// The rounding of an array.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BitRounding {
    /// The option, with the bits that were found.
    pub keep: KeepBits,
    /// The array's type.
    pub number_type: NumberType,
    /// The value of absent elements.
    pub fill: f64,
    /// The name of the variable that tells how, in the array's group.
    pub container: String,
}

impl BitRounding {
    /// The bits; `None` where a plan that reads no chunk leaves them to the data.
    pub(crate) fn bits(&self) -> Option<u32> {
        if let KeepBits::Bits(bits) | KeepBits::Found(bits, _) = self.keep { Some(bits) } else { None }
    }

    /// Where the data had no information, nothing is rounded.
    pub(super) fn warning(&self) -> Option<Diagnostic> {
        let KeepBits::Found(bits, _) = self.keep else { return None };
        (bits == all_bits(self.number_type)).then(|| {
            let message = "neighbours share no information that ends before the last bit: all bits are kept";
            Diagnostic::new(code::KEEP_BITS_NO_INFORMATION, message)
                .with_help("give a number, `--keep-bits N`, if you know how many bits matter")
        })
    }
}

/// Whether a finding is that no registry has the name that the codec was given, which is that of most readers.
pub(super) fn is_about_name(found: &Diagnostic) -> bool {
    found.is(code::CODEC_UNREGISTERED) && found.message.contains(CODEC)
}

/// Writes the rounding into DEST's metadata: the codec goes first in the innermost chain, in the place of one that there
/// is. v2 has no place for it in front of a transposition, which its `order` is: there it goes behind.
pub(super) fn apply(
    source: &OpenedArray,
    absent: Option<&FillValue>,
    (keep, container): (KeepBits, &str),
    draft: &mut Draft,
) -> Result<(ValueChange, BitRounding)> {
    let number_type = float_type(&draft.data_type, &source.store)?;
    refuse_packed(&draft.codecs, &source.store)?;
    let all = all_bits(number_type);
    let fill = absent.and_then(|fill| fill.to_bits(&draft.data_type));
    let fill = FloatType(number_type).value(fill.unwrap_or(0));
    let rounding = BitRounding { keep, number_type, fill, container: container.to_owned() };
    let bits = rounding.bits().unwrap_or(all);
    if bits > all {
        return Err(OperationError::data(format!(
            "--keep-bits {bits} is more than the {all} explicit bits that the significand of {number_type} has"
        )));
    }
    let has_order = draft.zarr_format == 2;
    draft.edit_innermost(|chain| {
        let is_bitround = |codec: &CodecMetadata| matches!(codec.name.as_str(), "bitround" | CODEC);
        // A name that is there stays.
        let name = chain.iter().find(|codec| is_bitround(codec)).map(|codec| codec.name.clone());
        chain.retain(|codec| !is_bitround(codec));
        let configuration = Object::new().with("keepbits", u64::from(bits));
        let name = name.unwrap_or_else(|| CODEC.to_owned());
        let is_order = |codec: &&CodecMetadata| has_order && codec.name == "transpose";
        let place = chain.iter().take_while(is_order).count();
        chain.insert(place, CodecMetadata::new(&name, Some(configuration)));
    });
    describe(container, bits, draft);
    // What marks the missing, or is what absent chunks hold, has to be known again.
    let alone = Kernel::new(number_type, bits, &[]);
    let is_unpacked = draft.data_type != source.data_type;
    let declared = if is_unpacked { Vec::new() } else { cf::declared_missing(source, number_type) };
    let written = draft.fill_value.as_ref().and_then(|fill| fill.to_bits(&draft.data_type));
    let values = declared.into_iter().chain(written);
    let kept: Vec<u64> = values.filter(|value| alone.round_one(*value) != *value).collect();
    let kernel = Box::new(Kernel::new(number_type, bits, &kept));
    Ok((ValueChange::KeepBits(kernel), rounding))
}

/// Writes the attributes of a rounding, in the place of those of one before.
fn describe(container: &str, bits: u32, draft: &mut Draft) {
    let is_stale = |name: &str| name == DIGITS || name.starts_with(OF_NETCDF);
    let mut attributes: Object = draft.attributes().into_iter().filter(|(name, _)| !is_stale(name)).collect();
    attributes.insert(NAME, container);
    attributes.insert(BITS, u64::from(bits));
    draft.set_attributes(attributes);
}

/// The pipeline by which rounded values are written: with the codec in front of a transposition, where the kernel takes its
/// place. It works on each value by itself.
pub(super) fn rounding_first(pipeline: &Pipeline) -> Pipeline {
    let codecs = || pipeline.stages.iter().map(|stage| stage.metadata.clone());
    let is_bitround = |codec: &CodecMetadata| matches!(codec.name.as_str(), "bitround" | CODEC);
    let codecs: Vec<_> = codecs().filter(is_bitround).chain(codecs().filter(|c| !is_bitround(c))).collect();
    Pipeline::build(pipeline.input.clone(), &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new())
}

/// The fewest bits that keep a share of the information along every dimension, at least one; all where none is found. Those
/// chunks are read that are `present`, where that is known; whether all others are absent, or not known.
pub(crate) fn find(
    (source, unpacks): (&OpenedArray, bool),
    (present, are_all): (Option<&ChunkSet>, bool),
    share: f64,
    (budget, interrupt): (Budget, &Interrupt),
    progress: &dyn Progress,
) -> Result<KeepBits> {
    let unpack = if unpacks { cf::packing(source, None)? } else { None };
    let data_type = unpack.as_ref().map(|unpack| DataType::Number(unpack.target()));
    let number_type = float_type(data_type.as_ref().unwrap_or(&source.data_type), &source.store)?;
    let all = all_bits(number_type);
    let mut array = stored_array(source)?;
    array.present = present.cloned();
    let threads = BitSurvey::threads_of(&array, number_type.size(), budget)?;
    let driver = new_driver(threads, interrupt)?;
    let own_fill = || source.fill_value.as_ref().and_then(|fill| fill.to_bits(&source.data_type));
    let (missing, fill) = match &unpack {
        Some(unpack) => (Vec::new(), Some(cf::unpacked_fill(source, unpack))),
        None => (cf::declared_missing(source, number_type), own_fill()),
    };
    let numbers = unpack.map_or(Numbers::Own(number_type), |unpack| Numbers::Unpacked(Box::new(unpack)));
    let patterns = &BitPatterns::new(number_type, &missing);
    let (fill_bits, is_sample) = (fill.unwrap_or(0), !are_all);
    let survey = BitSurvey { side: &array, numbers: &numbers, patterns, fill_bits, is_sample };
    let found = survey.run(&driver, progress);
    let found = found.map_err(|fault| explain(fault, &array.metadata, &source.store, None))?;
    Ok(KeepBits::Found(most_bits(&found, share, number_type).map_or(all, |bits| bits.clamp(1, all)), share))
}

/// The bits of the significand that keep a share along each dimension that has any information.
fn most_bits(found: &[Information], share: f64, number_type: NumberType) -> Option<u32> {
    let positions = found.iter().filter_map(|information| information.kept(share)).max()?;
    u32::try_from(positions.saturating_sub(leading_bits(number_type))).ok()
}

/// All explicit bits of a significand.
fn all_bits(number_type: NumberType) -> u32 {
    number_type.fraction_bits().unwrap_or(52)
}

/// A type of floats whose bits can be rounded.
fn float_type(data_type: &DataType, store: &str) -> Result<NumberType> {
    match data_type.number() {
        Some(number_type) if number_type.is_float() => Ok(number_type),
        _ => Err(OperationError::data(format!("--keep-bits applies to float arrays; `{store}` is {data_type}"))),
    }
}
