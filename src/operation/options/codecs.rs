//! The short form of codecs on the command line: `zstd:5:checksum`, `blosc:lz4:5:shuffle`, several with commas.

use crate::codec::registry;
use crate::diagnostic::spelling::{alternatives, near};
use crate::metadata::{CodecMetadata, Json, Object};

fn words() -> String {
    let words: Vec<&str> = registry::shorthands().map(|(_, shorthand)| shorthand.usage).collect();
    let (last, others) = words.split_last().unwrap_or((&"", &[]));
    format!("{} and {last}", others.join(", "))
}

/// Returns the first part of each word, and its names in other programs, each with the word to use.
fn names() -> Vec<(&'static str, &'static str)> {
    let own = registry::shorthands().map(|(name, _)| (name, name)).chain([("none", "none")]);
    own.chain(registry::shorthands().flat_map(|(_, shorthand)| shorthand.aliases.iter().copied())).collect()
}

/// Parses the bytes->bytes codecs of `--compress`, in encode order. `none` is an empty list.
///
/// A `blosc` that shuffles has no `typesize`: see [`complete_typesize`]. The error lists what is expected.
pub fn compression(text: &str) -> Result<Vec<CodecMetadata>, String> {
    if text == "none" { Ok(Vec::new()) } else { text.split(',').map(|word| bytes_codec(word.trim())).collect() }
}

/// Parses the chain of `--codecs` in the words of `--compress`. `bytes`, `bytes:little` and `bytes:big` are words, too.
/// Without one of them, `bytes` is added as the first codec.
pub fn chain(text: &str) -> Result<Vec<Json>, String> {
    let mut codecs = Vec::new();
    for word in text.split(',').map(str::trim).filter(|_| text != "none") {
        match word {
            "bytes" | "bytes:little" => codecs.push(array_bytes("little")),
            "bytes:big" => codecs.push(array_bytes("big")),
            word => codecs.push(bytes_codec(word)?),
        }
    }
    if !codecs.iter().any(|codec| codec.name == "bytes") {
        codecs.insert(0, array_bytes("little"));
    }
    Ok(codecs.iter().map(CodecMetadata::to_json).collect())
}

/// Adds the missing `typesize` of every shuffling `blosc`, for elements of `element_size` bytes.
pub fn complete_typesize(chain: &mut [CodecMetadata], element_size: usize) {
    for codec in chain.iter_mut().filter(|codec| codec.name == "blosc") {
        if let Some(configuration) = &mut codec.configuration
            && configuration.get("shuffle").and_then(Json::as_str).is_some_and(|mode| mode != "noshuffle")
            && !configuration.contains("typesize")
        {
            configuration.insert("typesize", Json::from(element_size as u64));
        }
    }
}

fn array_bytes(endian: &str) -> CodecMetadata {
    CodecMetadata::new("bytes", Some(Object::new().with("endian", endian)))
}

fn bytes_codec(word: &str) -> Result<CodecMetadata, String> {
    let parts: Vec<&str> = word.split(':').collect();
    let (name, parts) = parts.split_first().unwrap_or((&"", &[]));
    if *name == "none" {
        return Err("`none` cannot be combined with other codecs".to_owned());
    }
    let (name, shorthand) = registry::shorthands().find(|(own, _)| own == name).ok_or_else(|| unknown(name))?;
    Ok(CodecMetadata::new(name, shorthand.read(parts, word)?))
}

fn unknown(name: &str) -> String {
    if name == "auto" {
        return "`auto` works only in --compress, which keeps the codecs before the compressor".to_owned();
    }
    let (lower, names) = (name.to_lowercase(), names());
    let mut meant: Vec<&str> = names.iter().filter(|(known, _)| *known == lower).map(|(_, meant)| *meant).collect();
    if meant.is_empty() {
        let near = near(name, names.iter().map(|(known, _)| *known)).into_iter();
        meant.extend(near.filter_map(|near| names.iter().find(|(known, _)| *known == near).map(|(_, meant)| *meant)));
        // Several aliases may stand for one word.
        meant.dedup();
    }
    let question = if meant.is_empty() { String::new() } else { format!(" Did you mean {}?", alternatives(&meant)) };
    let known = words();
    format!("`{name}` is not a known codec.{question} Known are {known}; other codecs are given to --codecs as JSON")
}
