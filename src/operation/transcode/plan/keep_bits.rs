//! `--keep-bits`: floats stay floats, with fewer bits in their significand (`bitround`; CF conventions 8.4). The rounding
//! is documented in a variable, one for each group of DEST with such arrays (CF conventions 8.4.1, "Quantization
//! variables").

use std::collections::{BTreeMap, HashMap};
use std::iter::once;
use std::mem::take;

use super::{CONTAINER, Plan, PlannedConversion, SourceArray};
use crate::array::{ChunkSet, Interrupt};
use crate::codec::ValueStep;
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::engine::Progress;
use crate::kernel::{bit_pairs::leading_bits, keep_bits::KeepBits as Kernel, quantize::QuantizeFigures};
use crate::metadata::{CodecMetadata, Json, Object, edit};
use crate::operation::quantize::request::refuse_packed;
use crate::operation::transcode::{NodeDocument, NodeDocuments};
use crate::operation::{
    Budget, Draft, GroupReading, KeepBits, Numbers, OpenedArray, OperationError, Result, cf, explain,
    information::BitSurvey, new_driver, stored_array,
};
use crate::pipeline::{Completeness, Pipeline};

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
