//! Filters and compressors of v2: numcodecs' configurations as v3 codecs.
//!
//! What the registry has gets its name there; anything else keeps numcodecs' under `numcodecs.`, as zarr-python
//! writes it. Values are passed on as they stand: whether they are right is for who knows the codec.

use super::V2ByteOrder;
use super::dtype::Dtype;
use crate::codec::registry::{self, CodecKind};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, code, spelling};
use crate::metadata::{CodecMetadata, Findings, Json, Object, View};

/// Ids of numcodecs that no codec of v3 has, with what they turn into what.
const OF_V2_ALONE: [(&str, CodecKind); 6] = [
    ("base64", CodecKind::BytesToBytes),
    ("categorize", CodecKind::ArrayToArray),
    ("json2", CodecKind::ArrayToBytes),
    ("msgpack2", CodecKind::ArrayToBytes),
    ("pickle", CodecKind::ArrayToBytes),
    ("zstandard", CodecKind::BytesToBytes),
];

/// A codec, and what it turns into what.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct V2Codec {
    pub(super) metadata: CodecMetadata,
    pub(super) kind: CodecKind,
    /// The `dtype` that the codec takes elements for, where it names one.
    pub(super) decoded: Option<Dtype>,
    /// The `dtype` of its results, where it names one.
    pub(super) encoded: Option<Dtype>,
}

/// Reads an entry of `filters`, or the `compressor`. `item_size` is that of the elements that reach it.
pub(super) fn read(json: &Json, pointer: &str, item_size: u64, diagnostics: &mut Vec<Diagnostic>) -> Option<V2Codec> {
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
    let (decoded, encoded) = match entry.and_then(|entry| entry.array?.v2_types) {
        Some((decoded, encoded)) => (read_dtype(&decoded.into()), read_dtype(&encoded.into())),
        None => (dtype(&["dtype", "decode_dtype"]), dtype(&["astype", "encode_dtype", "dtype"])),
    };
    let alone = || OF_V2_ALONE.iter().find(|row| row.0 == id).map(|row| row.1);
    let kind = entry.map(|entry| entry.kind).or_else(alone).unwrap_or_else(|| {
        diagnostics.push(unknown_id(id).at_pointer(pointer));
        // A filter that nobody knows most likely changes values; a compressor does not.
        if pointer == "/compressor" { CodecKind::BytesToBytes } else { CodecKind::ArrayToArray }
    });
    let (name, configuration) = match (entry, entry.and_then(|entry| entry.v2_form())) {
        (None, _) => (format!("numcodecs.{id}"), Some(configuration)),
        (Some(entry), None) => (entry.name.to_owned(), Some(configuration)),
        (Some(entry), Some(form)) => {
            let (name, configuration) = form.in_v3(configuration, item_size);
            (name.unwrap_or(entry.name).to_owned(), configuration)
        }
    };
    let metadata = CodecMetadata::new(name, configuration).at(pointer);
    Some(V2Codec { metadata, kind, decoded, encoded })
}

/// An id that numcodecs does not have: an error where another must have been meant.
fn unknown_id(id: &str) -> Diagnostic {
    let message = format!("numcodecs has no codec of the id {}", Json::from(id).excerpt());
    let known = registry::all().filter_map(|entry| entry.v2.id()).chain(OF_V2_ALONE.map(|row| row.0));
    match spelling::meant(id, known) {
        Some(meant) => Diagnostic::new(code::CODEC_MISNAMED, format!("{message}, which is nearly {meant:?}"))
            .with_help(format!("write {meant:?}, if that is what is meant")),
        None => Diagnostic::new(code::CODEC_UNREGISTERED, message).with_help("not every reader can decode the array"),
    }
}

/// A type of a configuration, which may come without its byte order: numpy then takes the machine's, and machines are
/// little endian.
fn read_dtype(json: &Json) -> Option<Dtype> {
    let bare = || Dtype::read(&format!("<{}", json.as_str()?).into()).ok();
    Dtype::read(json).ok().or_else(bare)
}

/// numcodecs gives elements to these codecs as they lie in memory, and takes what comes back for elements of the same
/// order: of big-endian ones it writes no chunk, and reads other numbers than any that was written.
pub(super) fn big_endian_fault(codec: &CodecMetadata, stored: &Dtype) -> Option<Diagnostic> {
    let kind = registry::find(&codec.name).and_then(|entry| entry.array);
    let is_little = kind.is_some_and(|kind| kind.is_little_endian_in_v2);
    (is_little && stored.order == Some(V2ByteOrder::Big)).then(|| {
        let message = format!("`{}` takes no big-endian elements", codec.name);
        Diagnostic::new(code::V2_CODEC, message)
            .with_help("a `dtype` or `astype` that starts with `<` is what it can have been written for")
            .at_pointer(codec.pointer.clone())
    })
}

/// The finding for an array->array codec that stands as the compressor.
pub(super) fn filter_as_compressor(codec: &CodecMetadata) -> Diagnostic {
    let id = codec.name.trim_start_matches("numcodecs.");
    let message = format!("the compressor `{id}` is a filter, and is read as the last of `filters`");
    Diagnostic::new(code::V2_FILTER_AS_COMPRESSOR, message)
        .with_help("readers that expect bytes from every compressor fail: put it into `filters`")
        .at_pointer(codec.pointer.clone())
}

/// The `bytes` codec of elements in this order.
pub(super) fn bytes(dtype: &Dtype) -> CodecMetadata {
    let order = dtype.order.as_ref().filter(|_| dtype.has_layout);
    let endian = match (order, &dtype.data_type) {
        (Some(V2ByteOrder::Big), _) => Some("big"),
        (Some(V2ByteOrder::Little), _) | (None, DataType::Struct(_)) => Some("little"),
        // Single bytes, or raw ones whatever is in them; and fields that have orders of their own.
        _ => None,
    };
    let configuration = endian.map(|endian| Object::new().with("endian", endian));
    let mut codec = CodecMetadata::new("bytes", configuration).at("/dtype");
    if let Some(V2ByteOrder::Fields(fields)) = order {
        codec.view = Some(View::BigEndianFields(fields.clone()));
    }
    codec
}
