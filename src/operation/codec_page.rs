//! Which codecs there are, and which of them run, as a page of the documentation: asked of the code itself.

use crate::codec::registry::{self, Entry};
use crate::data_type::DataType;
use crate::element::{ElementType, NumberType};
use crate::metadata::CodecMetadata;
use crate::metadata::json::Json;
use crate::metadata::v2::write_codecs;

/// Above the table.
const INTRODUCTION: &str = "\
# Codecs

What `zarrcast` does with each codec. This page is generated from the code
(`UPDATE_GENERATED=1 cargo test --test generated`).

- **v3**: as it is written. **turns**: what into what.
- **registered**: the core specification or the zarr-extensions registry has the name; zarr-python writes those of
  numcodecs, zarrs its own.
- **v2**: the `id` of a filter or compressor, or the member that says it.
- **runs**: encoded and decoded in every command. What does not run is inspected, validated by its metadata and copied
  byte for byte.

| v3 | turns | registered | v2 | runs |
| --- | --- | --- | --- | --- |
";

/// The page, in Markdown.
pub fn codec_page() -> String {
    registry::all().fold(INTRODUCTION.to_owned(), |page, entry| page + &row(entry))
}

fn row(entry: Entry) -> String {
    let registered = if entry.is_registered { "yes" } else { "" };
    let runs = match entry.reason {
        _ if entry.is_decoded => "yes".to_owned(),
        Some(reason) => format!("no: {reason}"),
        None => "no".to_owned(),
    };
    let Entry { name, kind, .. } = entry;
    format!("| `{name}` | {} | {registered} | {} | {runs} |\n", kind.name(), version_2(name))
}

/// How v2 has it.
fn version_2(name: &str) -> String {
    let member = match name {
        "bytes" => Some("dtype"),
        "transpose" => Some("order"),
        _ => None,
    };
    if let Some(member) = member {
        return format!("(`{member}`)");
    }
    let float = DataType::Number(NumberType::of(ElementType::Float32));
    let Ok(chain) = write_codecs(&[CodecMetadata::new(name, None)], &float, 1) else { return String::new() };
    let filter = || chain.filters.as_array().and_then(|filters| filters.first());
    let codec = chain.compressor.as_object().or_else(|| filter().and_then(Json::as_object));
    let id = codec.and_then(|codec| codec.get("id")?.as_str());
    id.map_or_else(String::new, |id| format!("`{id}`"))
}
