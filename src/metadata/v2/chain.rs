//! The `order`, `filters` and `compressor` of a v2 array as a chain of v3 codecs, and back.
//!
//! Codecs of the registry get their name there. Any other codec keeps its numcodecs name after `numcodecs.`, as
//! zarr-python writes it. Values are copied unchanged. The codec checks them later.

use super::dtype::Dtype;
use super::{NotInV2, V2ByteOrder};
use crate::codec::registry::{self, CodecKind, Entry, V2Id};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code, spelling};
use crate::metadata::{CodecMetadata, Findings, Json, Object, View};

/// Returns the data type, which a filter may determine, and the codecs.
pub(super) fn read(
    dtype: &Dtype,
    transpose: Option<CodecMetadata>,
    filters: &[&Json],
    compressor: Option<&Json>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Json, Vec<CodecMetadata>) {
    let mut data_type = dtype.data_type.to_metadata();
    let (mut stored, mut is_bytes) = (dtype.clone(), false);
    // Filters get the elements in the order in which they are stored, so the transposition is first.
    let mut codecs: Vec<CodecMetadata> = transpose.into_iter().collect();
    let filters = filters.iter().enumerate().map(|(index, filter)| (format!("/filters/{index}"), *filter));
    let compressor = compressor.map(|json| ("/compressor".to_owned(), json));
    let is_compressor = |pointer: &str| pointer == "/compressor";
    for (pointer, json) in filters.chain(compressor) {
        let read = read_codec(json, &pointer, stored.size, diagnostics);
        let Some((mut metadata, kind, [decoded, encoded])) = read else { continue };
        match kind {
            // v2 does not name the codec `bytes`. It is before the first codec that takes bytes.
            CodecKind::BytesToBytes if !is_bytes => {
                codecs.push(bytes(&stored));
                is_bytes = true;
            }
            CodecKind::BytesToBytes => {}
            // Some compressors encode the elements themselves.
            CodecKind::ArrayToBytes => {
                diagnostics.extend(big_endian_fault(&metadata, &stored));
                is_bytes = true;
            }
            CodecKind::ArrayToArray => {
                // A filter that is written as the compressor encodes the elements, as any filter does.
                if is_compressor(&pointer) && !is_bytes {
                    diagnostics.push(filter_as_compressor(&metadata));
                }
                metadata.view = decoded.and_then(|decoded| decoded.view_of(&stored));
                // The next codec gets the elements in the type and byte order that this filter names for its results.
                stored = encoded.unwrap_or(stored);
            }
        }
        // `|O` does not say what the objects are. A filter such as `vlen-utf8` does.
        if dtype.is_object() && !is_compressor(&pointer) {
            data_type = registry::find(&metadata.name).and_then(|entry| entry.v2_objects).map_or(data_type, Json::from);
        }
        codecs.push(metadata);
    }
    if !is_bytes {
        codecs.push(bytes(&stored));
    }
    (data_type, codecs)
}

/// A chain of codecs in v2.
#[derive(Debug, Clone, PartialEq)]
pub struct V2Chain {
    /// True if `order` is F.
    pub is_fortran: bool,
    /// The byte order of the array's elements.
    pub order: V2ByteOrder,
    /// `filters`, or null if there are none.
    pub filters: Json,
    /// `compressor`, or null.
    pub compressor: Json,
}

/// Converts v3 codecs in encode order to v2, for an array of this rank and type. Fails for codecs that v2 does not
/// have.
pub fn write_codecs(codecs: &[CodecMetadata], data_type: &DataType, rank: usize) -> Result<V2Chain, NotInV2> {
    let (mut is_fortran, mut order) = (false, V2ByteOrder::Little);
    let mut converted: Vec<Object> = Vec::new();
    for codec in codecs {
        match codec.name.as_str() {
            // Two reversals cancel each other. After another codec, v2 has no place for a `transpose`, and `convert`
            // refuses it.
            "transpose" if converted.is_empty() => is_fortran ^= is_reversal(codec, rank)?,
            "bytes" => {
                order = match &codec.view {
                    Some(View::BigEndianFields(fields)) => V2ByteOrder::Fields(fields.clone()),
                    _ => V2ByteOrder::whole(codec.member("endian").and_then(Json::as_str) == Some("big")),
                };
            }
            _ => converted.push(convert(codec, data_type)?),
        }
    }
    if !matches!(order, V2ByteOrder::Fields(_)) {
        // Elements of one byte have no order, whatever `endian` is.
        order = V2ByteOrder::whole(order_types(&mut converted, order.is_big()) && data_type.has_byte_order());
    }
    let is_compressor = |codec: &Object| codec.get("id").and_then(Json::as_str).is_some_and(is_compressor);
    // The compressor runs after all filters, so only the last codec can be it.
    let compressor = converted.pop_if(|codec| is_compressor(codec)).map_or(Json::Null, Json::from);
    let filters = Json::from((!converted.is_empty()).then_some(converted));
    Ok(V2Chain { is_fortran, order, filters, compressor })
}

/// Returns true if a `transpose` reverses the dimensions, false if it keeps them. Fails for any other order.
fn is_reversal(codec: &CodecMetadata, rank: usize) -> Result<bool, NotInV2> {
    let order = codec.member("order");
    let numbers: Option<Vec<u64>> =
        order.and_then(Json::as_array).and_then(|order| order.iter().map(Json::as_u64).collect());
    match (order.and_then(Json::as_str), numbers) {
        (Some("C"), _) => return Ok(false),
        (Some("F"), _) => return Ok(true),
        (_, Some(numbers)) if numbers.iter().copied().eq(0..rank as u64) => return Ok(false),
        (_, Some(numbers)) if numbers.iter().copied().eq((0..rank as u64).rev()) => return Ok(true),
        _ => {}
    }
    let order = order.map_or_else(String::new, Json::to_string);
    Err(NotInV2::new(format!("`transpose` of the order {order}: Zarr v2 has only the orders C and F"))
        .with_help("give a chain without it with --codecs"))
}

/// Returns the codec in numcodecs' form.
fn convert(codec: &CodecMetadata, data_type: &DataType) -> Result<Object, NotInV2> {
    let configuration = codec.configuration.clone().unwrap_or_default();
    let with_id =
        |id: &str, members: Object| [("id".to_owned(), Json::from(id))].into_iter().chain(members).collect::<Object>();
    let name = codec.name.as_str();
    if let Some(id) = name.strip_prefix("numcodecs.") {
        return Ok(with_id(id, configuration));
    }
    let entry = registry::find(name);
    let by_type = |entry: Entry| (entry.codec?.v2_id)(data_type);
    let Some(id) = entry.and_then(|entry| entry.v2.id().or_else(|| by_type(entry))) else {
        let help = entry.map_or(Entry::CHAIN_WITHOUT_IT, |entry| entry.without_v2);
        return Err(NotInV2::new(format!("the codec `{name}`")).with_help(help));
    };
    let form = entry.and_then(|entry| Some(entry.codec?.v2));
    let mut members = form.map_or(configuration.clone(), |form| (form.write)(configuration));
    // Not every version of numcodecs knows a member that was added later, such as `checksum` of `zstd`.
    for (member, default) in entry.map_or(&[][..], |entry| entry.defaults) {
        if members.get(member).is_some_and(|json| json.to_string() == *default) {
            members.remove(member);
        }
    }
    Ok(with_id(id, members))
}

/// Returns true if a codec of this id is written as the compressor. Any other is a filter.
fn is_compressor(id: &str) -> bool {
    id == "zstandard" || registry::of_v2(id).is_some_and(|entry| matches!(entry.v2, V2Id::Compressor(_)))
}

/// Sets the types of filters to the byte order of the stored elements, if it differs: in v2 they determine it. Returns
/// true if the array's own elements are big-endian.
fn order_types(filters: &mut [Object], is_big: bool) -> bool {
    let is_text = |filter: &Object, name: &str| filter.get(name).is_some_and(|json| json.as_str().is_some());
    let mut expected = if is_big { '>' } else { '<' };
    // The byte order is that of the stored elements. So the filters are followed back from there to the array's
    // elements.
    for filter in filters.iter_mut().rev() {
        if let Some(name) = ["astype", "encode_dtype", "dtype"].into_iter().find(|name| is_text(filter, name)) {
            set_order(filter, name, expected);
        }
        let decoded = ["dtype", "decode_dtype"].into_iter().find(|name| is_text(filter, name));
        let order = decoded.and_then(|name| filter.get(name)?.as_str()?.chars().next());
        expected = match order {
            Some(order @ ('<' | '>')) => order,
            // Single bytes have no order, and a type without a written order is little-endian.
            Some('|') | None => expected,
            Some(_) => '<',
        };
    }
    expected == '>'
}

/// Returns the configuration of a filter with little-endian types. Between the codecs of v3 their byte order means
/// nothing.
pub fn with_little_endian_types(configuration: &Object) -> Object {
    let mut little = configuration.clone();
    for name in ["dtype", "astype", "decode_dtype", "encode_dtype"] {
        set_order(&mut little, name, '<');
    }
    little
}

/// Sets the byte order of a type that is text. A type without a written order is little-endian, and stays so.
fn set_order(filter: &mut Object, name: &str, order: char) {
    let Some(text) = filter.get(name).and_then(Json::as_str) else { return };
    let kind = text.trim_start_matches(['<', '>']);
    if !text.starts_with('|') && (order == '>' || kind.len() < text.len()) {
        let text = format!("{order}{kind}");
        filter.insert(name, text);
    }
}

/// Ids of numcodecs that no codec of v3 has, with their kinds.
const OF_V2_ALONE: [(&str, CodecKind); 6] = [
    ("base64", CodecKind::BytesToBytes),
    ("categorize", CodecKind::ArrayToArray),
    ("json2", CodecKind::ArrayToBytes),
    ("msgpack2", CodecKind::ArrayToBytes),
    ("pickle", CodecKind::ArrayToBytes),
    ("zstandard", CodecKind::BytesToBytes),
];

/// A codec, what it turns into what, and the `dtype` that it takes elements for and that of its results, where it names them.
type V2Codec = (CodecMetadata, CodecKind, [Option<Dtype>; 2]);
/// Reads an entry of `filters`, or the `compressor`. `item_size` is the bytes of its input elements.
fn read_codec(json: &Json, pointer: &str, item_size: u64, diagnostics: &mut Vec<Diagnostic>) -> Option<V2Codec> {
    let Some(object) = json.as_object() else {
        return diagnostics.unexpected(code::V2_CODEC, json, "an object with an `id`", pointer);
    };
    let id = match object.get("id") {
        Some(Json::String(id)) => &**id,
        Some(other) => {
            let pointer = format!("{pointer}/id");
            return diagnostics.unexpected(code::V2_CODEC, other, "a string", &pointer);
        }
        None => return diagnostics.refuse(code::V2_CODEC, pointer, "the codec has no `id`"),
    };
    let mut configuration = object.clone();
    configuration.remove("id");
    let dtype = |names: &[&str]| read_dtype(names.iter().find_map(|name| configuration.get(name))?);
    let entry = registry::of_v2(id);
    let types = match entry.and_then(|entry| entry.codec?.v2_types) {
        Some((decoded, encoded)) => [decoded, encoded].map(|text| read_dtype(&text.into())),
        None => [dtype(&["dtype", "decode_dtype"]), dtype(&["astype", "encode_dtype", "dtype"])],
    };
    let alone = || OF_V2_ALONE.iter().find(|row| row.0 == id).map(|row| row.1);
    let kind = entry.map(|entry| entry.kind).or_else(alone).unwrap_or_else(|| {
        diagnostics.push(unknown_id(id).at_pointer(pointer));
        // An unknown filter most likely changes values, a compressor does not.
        if pointer == "/compressor" { CodecKind::BytesToBytes } else { CodecKind::ArrayToArray }
    });
    let (name, configuration) = match (entry, entry.and_then(|entry| Some(entry.codec?.v2))) {
        (None, _) => (format!("numcodecs.{id}"), Some(configuration)),
        (Some(entry), None) => (entry.name.to_owned(), Some(configuration)),
        (Some(entry), Some(form)) => {
            let (name, configuration) = form.in_v3(configuration, item_size);
            (name.unwrap_or(entry.name).to_owned(), configuration)
        }
    };
    Some((CodecMetadata::new(name, configuration).at(pointer), kind, types))
}

/// Returns the diagnostic of an id that numcodecs does not have. It is an error if it is similar to a known id.
fn unknown_id(id: &str) -> Diagnostic {
    let message = format!("numcodecs has no codec with the id {}", Json::from(id).excerpt());
    let known = registry::all().filter_map(|entry| entry.v2.id()).chain(OF_V2_ALONE.map(|row| row.0));
    match spelling::meant(id, known) {
        Some(meant) => Diagnostic::new(code::CODEC_MISNAMED, format!("{message}, which is similar to {meant:?}"))
            .with_help(format!("write {meant:?}, if you mean that")),
        None => Diagnostic::new(code::CODEC_UNREGISTERED, message).with_help("not every reader can decode the array"),
    }
}

/// Reads a type of a configuration, which may have no byte order. numpy then uses the machine's, and machines are
/// little-endian.
fn read_dtype(json: &Json) -> Option<Dtype> {
    let bare = || Dtype::read(&format!("<{}", json.as_str()?).into()).ok();
    Dtype::read(json).ok().or_else(bare)
}

/// Returns the fault of big-endian elements for some codecs. numcodecs passes elements to them as stored in memory, and
/// assumes the same order for the result. So it cannot write a chunk of big-endian elements, and reads other numbers
/// than were written.
fn big_endian_fault(codec: &CodecMetadata, stored: &Dtype) -> Option<Diagnostic> {
    let kind = registry::find(&codec.name).and_then(|entry| entry.codec);
    let is_little = kind.is_some_and(|kind| kind.is_little_endian_in_v2);
    (is_little && stored.order == Some(V2ByteOrder::Big)).then(|| {
        Diagnostic::new(code::V2_CODEC, format!("`{}` takes no big-endian elements", codec.name))
            .with_help("a `dtype` or `astype` that starts with `<` is what it can have been written for")
            .at_pointer(codec.pointer.clone())
    })
}

/// Returns the finding of an array->array codec that is written as the compressor.
fn filter_as_compressor(codec: &CodecMetadata) -> Diagnostic {
    let id = codec.name.trim_start_matches("numcodecs.");
    let message = format!("the compressor `{id}` is a filter, and is read as the last of `filters`");
    Diagnostic::new(code::V2_FILTER_AS_COMPRESSOR, message)
        .with_help("readers that expect bytes from every compressor fail: put it into `filters`")
        .at_pointer(codec.pointer.clone())
}

/// Returns the `bytes` codec of elements in this order.
fn bytes(dtype: &Dtype) -> CodecMetadata {
    let order = dtype.order.as_ref().filter(|_| dtype.has_layout);
    let endian = match (order, &dtype.data_type) {
        (Some(V2ByteOrder::Big), _) => Some("big"),
        (Some(V2ByteOrder::Little), _) | (None, DataType::Struct(_)) => Some("little"),
        // Single or raw bytes, and fields that have orders of their own.
        _ => None,
    };
    let mut codec = CodecMetadata::new("bytes", endian.map(|endian| Object::new().with("endian", endian))).at("/dtype");
    if let Some(V2ByteOrder::Fields(fields)) = order {
        codec.view = Some(View::BigEndianFields(fields.clone()));
    }
    codec
}
