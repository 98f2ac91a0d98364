//! What each data type supports, as a page of the documentation: asked of the code itself, type by type.

use super::numbers::Numbers;
use crate::data_type::DataType;
use crate::diagnostic::Diagnostic;
use crate::element::NumberType;
use crate::metadata::CodecMetadata;
use crate::metadata::json::{Json, Object};
use crate::metadata::v2::write_dtype;
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// Above the table.
const INTRODUCTION: &str = "\
# Data types

What `zarrcast` does with each data type. This page is generated from the code
(`UPDATE_GENERATED=1 cargo test --test generated`); of types with a configuration, and of families (`r8`, `r16`...; `uint10`,
`int12`...), one stands for all.

- **v3**: as it is written; `complex_float32` and `complex_float64` are read as `complex64` and `complex128`.
- **v2**: the `dtype` in Zarr v2, little endian; the names without a byte order are tensorstore's, and no other reader's.
- **bytes**: of an element in memory; of the sizes that do not fill them, the bits that count.
- **default**: the fill value that is taken where v2 has `null`.
- **also**: other forms of a fill value that are read and written: `NaN`, the infinities, `NaT`, and the bits in hexadecimal.
- **to bytes**: the codecs that store the elements; `bytes` with `endian` where an element has a byte order.
- **values**: the codecs that calculate with the elements; `cast_value` in both directions.
- **commands**: `data-type`: `transcode --data-type` from and to it. `quantize`: `transcode --quantize` from it. `stats`:
  `inspect --stats`. `against`: `validate --against` compares numbers within a tolerance, else bits.

Every type is inspected, validated, and copied byte for byte; so are types that are not in this table.

";

/// The codecs that turn elements into bytes.
const TO_BYTES: [&str; 5] = ["bytes", "packbits", "numcodecs.pcodec", "vlen-utf8", "vlen-bytes"];

/// The page, in Markdown.
pub fn data_type_page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let header = ["v3", "v2", "bytes", "default", "also", "to bytes", "values", "commands"];
    push_row(&mut page, &header.map(str::to_owned));
    push_row(&mut page, &header.map(|_| "---".to_owned()));
    let mut shown = Vec::new();
    for data_type in DataType::examples() {
        // Two names of one type, as `complex64` and `complex_float32` are, make one row.
        if !shown.contains(&data_type) {
            push_row(&mut page, &row(&data_type));
            shown.push(data_type);
        }
    }
    page
}

fn push_row(page: &mut String, cells: &[String]) {
    page.push_str("| ");
    page.push_str(&cells.join(" | "));
    page.push_str(" |\n");
}

fn row(data_type: &DataType) -> [String; 8] {
    let name = match data_type.to_metadata() {
        Json::String(name) => code(&name),
        metadata => code(&metadata.to_string_compact()),
    };
    let v2 = write_dtype(data_type, false)
        .map_or_else(|_| String::new(), |dtype| code(&dtype.to_string_compact()));
    let default = data_type.default_fill_value().and_then(|fill| data_type.fill_value_to_json(&fill).ok());
    [
        name,
        v2,
        size(data_type),
        default.map_or_else(String::new, |json| code(&json.to_string_compact())),
        list(special_forms(data_type)),
        list(TO_BYTES.into_iter().filter(|name| accepts(data_type, &[to_bytes(name, data_type)])).map(
            |name| {
                if name == "bytes" && data_type.has_byte_order() { "bytes, endian" } else { name }
            },
        )),
        list(value_codecs(data_type)),
        commands(data_type).join(", "),
    ]
}

fn size(data_type: &DataType) -> String {
    let Some(size) = data_type.size() else { return "any".to_owned() };
    match data_type.components() {
        Some((number_type, 1)) if !number_type.is_whole() => format!("{size} ({} bits)", number_type.bits()),
        Some((number_type, _)) if !number_type.is_whole() => {
            format!("{size} (2 of {} bits)", number_type.bits())
        }
        _ => size.to_string(),
    }
}

/// The words that are read as a fill value, of a complex number as a component.
fn special_forms(data_type: &DataType) -> Vec<&'static str> {
    let is_complex = data_type.components().is_some_and(|(_, count)| count == 2);
    let component = data_type.components().map_or(0, |(number_type, _)| number_type.size());
    let zeros = format!("0x{}", "00".repeat(component));
    let forms = [("NaN", "NaN"), ("Infinity", "Infinity"), ("NaT", "NaT"), (zeros.as_str(), "hexadecimal")];
    let is_read = |word: &str| {
        let json =
            if is_complex { Json::Array(vec![Json::from(word), Json::from(word)]) } else { Json::from(word) };
        let is_text = data_type.is_variable_length() || matches!(data_type, DataType::FixedUtf32(_));
        !is_text && data_type.fill_value_from_json(&json).is_ok_and(|read| read.notes.is_empty())
    };
    forms.into_iter().filter(|(word, _)| is_read(word)).map(|(_, form)| form).collect()
}

fn value_codecs(data_type: &DataType) -> Vec<&'static str> {
    let of = |name: &str, configuration| CodecMetadata::new(name, configuration);
    let bitround = Object::new().with("keepbits", 1);
    let chains = [
        ("cast_value", of("cast_value", Some(Object::new().with("data_type", "float64")))),
        ("scale_offset", of("scale_offset", None)),
        ("bitround", of("bitround", Some(bitround))),
    ];
    chains
        .into_iter()
        .filter(|(_, codec)| accepts(data_type, std::slice::from_ref(codec)))
        .map(|(name, _)| name)
        .collect()
}

fn commands(data_type: &DataType) -> Vec<&'static str> {
    let is_core_float = data_type.number().is_some_and(NumberType::is_float);
    let has_distance =
        data_type.components().is_some() || *data_type == DataType::Bool || data_type.is_variable_length();
    [
        (data_type.real_number().is_some(), "data-type"),
        (is_core_float, "quantize"),
        (Numbers::of(data_type).is_some(), "stats"),
        (has_distance, "against"),
    ]
    .into_iter()
    .filter_map(|(is_supported, name)| is_supported.then_some(name))
    .collect()
}

fn to_bytes(name: &str, data_type: &DataType) -> CodecMetadata {
    let endian =
        (name == "bytes" && data_type.has_byte_order()).then(|| Object::new().with("endian", "little"));
    CodecMetadata::new(name, endian)
}

/// Whether codecs take elements of a type without a finding that is an error, and what comes out is known.
fn accepts(data_type: &DataType, codecs: &[CodecMetadata]) -> bool {
    let input = ArrayRepresentation { data_type: data_type.clone(), shape: vec![4], fill_value: None };
    let mut found = Vec::new();
    let pipeline = Pipeline::build(input, codecs, Completeness::Partial, "", &mut found);
    !found.iter().any(Diagnostic::is_error) && pipeline.output().is_some()
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(code).collect::<Vec<_>>().join(", ")
}
