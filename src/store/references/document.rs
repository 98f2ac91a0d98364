//! Parser of reference files, versions 0 and 1 of the fsspec specification (<https://fsspec.github.io/kerchunk/spec.html>).

use std::collections::BTreeMap;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::store::{Key, Node, Result};

/// Prefix of an object in base64.
const BASE64: &str = "base64:";

/// Most invalid keys that are kept to be shown.
const MOST_UNNAMED: usize = 100;

const GENERATED: &str = "it generates references by \"gen\", which is not supported: write out each reference, as \
    `kerchunk` does";

/// Location of an object's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reference {
    /// Bytes in the reference file itself.
    Inline(Box<[u8]>),
    /// A whole target or a part of it. Contains the index in the list of targets, and offset and length in bytes.
    Target { index: usize, part: Option<(u64, u64)> },
}

/// Reason why a target is not read, and the next step.
pub(super) type Refusal = (String, &'static str);

#[derive(Debug, Default)]
pub(super) struct Document {
    /// References sorted by key. All keys are valid.
    pub references: Vec<(Box<str>, Reference)>,
    /// Unique paths and URLs, with templates replaced. Each with its object once it is opened.
    pub targets: Vec<(String, OnceLock<Result<Node, Refusal>>)>,
    /// First invalid keys, in a printable form.
    pub unnamed: Vec<String>,
}

enum Value {
    Inline(Box<[u8]>),
    NotBase64,
    Target { url: String, part: Option<(u64, u64)> },
    Other(&'static str),
}

/// Keys and values. The last value of a key counts.
type Members<'a> = BTreeMap<Box<str>, &'a RawValue>;

impl Document {
    /// Parses a reference file. Returns `None` if the file is something else. An error describes a fault.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, String> {
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Ok(None);
        }
        let members: Members<'_> = serde_json::from_slice(bytes).map_err(no_json)?;
        let (mut templates, mut references, mut others) = (BTreeMap::new(), None, Members::new());
        for (key, value) in members {
            match &*key {
                "version" => match json(value)? {
                    0_u64 | 1 => {}
                    version => {
                        return Err(format!("version {version} of reference files is not supported, only 0 and 1"));
                    }
                },
                "templates" => templates = json(value)?,
                "gen" if json::<Vec<IgnoredAny>>(value)?.is_empty() => {}
                "gen" => return Err(GENERATED.to_owned()),
                "refs" => references = Some(json::<Members<'_>>(value)?),
                // In version 0 the other members are the references.
                _ => drop(others.insert(key, value)),
            }
        }
        let is_part = |raw| matches!(value(raw), Value::Target { part: Some(_), .. });
        let may_be_other = references.is_none() && !others.values().any(|raw| is_part(raw));
        let mut indices = HashMap::new();
        let mut document = Document::default();
        for (key, raw) in references.unwrap_or(others) {
            let reference = match value(raw) {
                Value::Inline(bytes) => Reference::Inline(bytes),
                Value::NotBase64 => {
                    return Err(format!("{key:?} begins with \"base64:\", but the rest is not base64"));
                }
                // Without any reference to a part, this is probably another kind of file.
                Value::Other(_) if may_be_other => return Ok(None),
                Value::Other(found) => return Err(format!("{key:?} is not a reference, but {found}")),
                Value::Target { url, part } => {
                    // Millions of references share few targets, so each text is stored once.
                    let index = match indices.entry(url) {
                        Entry::Occupied(known) => *known.get(),
                        Entry::Vacant(new) => {
                            document.targets.push((filled_in(new.key(), &templates)?, OnceLock::new()));
                            *new.insert(document.targets.len() - 1)
                        }
                    };
                    Reference::Target { index, part }
                }
            };
            if Key::new(&key).is_ok() {
                document.references.push((key, reference));
            } else if document.unnamed.len() < MOST_UNNAMED {
                document.unnamed.push(key.into());
            }
        }
        Ok(Some(document))
    }
}

fn json<'a, T: Deserialize<'a>>(value: &'a RawValue) -> Result<T, String> {
    serde_json::from_str(value.get()).map_err(no_json)
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it by value")]
fn no_json(error: serde_json::Error) -> String {
    if error.is_data() { format!("it has another form ({error})") } else { format!("it is not JSON ({error})") }
}

/// Replaces the templates `{{name}}` in a URL.
fn filled_in(url: &str, templates: &BTreeMap<String, String>) -> Result<String, String> {
    let (mut filled, mut rest) = (String::with_capacity(url.len()), url);
    while let Some((before, after)) = rest.split_once("{{") {
        let open = || format!("{url:?} has a template that is not closed");
        let (name, after) = after.split_once("}}").ok_or_else(open)?;
        let name = name.trim();
        // A value with templates of its own needs arguments, which are not supported.
        let value = templates.get(name).filter(|value| !value.contains("{{"));
        let unknown = || format!("the template {name:?} of {url:?} is unknown, or not simple");
        filled.push_str(before);
        filled.push_str(value.ok_or_else(unknown)?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Parses the value of a key. Its text is valid JSON.
fn value(raw: &RawValue) -> Value {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'"') => match serde_json::from_str::<String>(text) {
            Ok(text) => match text.strip_prefix(BASE64) {
                Some(encoded) => {
                    STANDARD.decode(encoded).map_or(Value::NotBase64, |bytes| Value::Inline(bytes.into_boxed_slice()))
                }
                None => Value::Inline(text.into_bytes().into_boxed_slice()),
            },
            Err(_) => Value::Other("text that is no Unicode"),
        },
        // A document as a JSON object, not as its text.
        Some(b'{') => Value::Inline(text.as_bytes().into()),
        Some(b'[') => match (serde_json::from_str(text), serde_json::from_str(text)) {
            (Ok((url, offset, length)), _) => Value::Target { url, part: Some((offset, length)) },
            (_, Ok((url,))) => Value::Target { url, part: None },
            _ => Value::Other("a list that is no [URL] or [URL, OFFSET, LENGTH]"),
        },
        _ => Value::Other("a number or literal"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inline(text: &str) -> Reference {
        Reference::Inline(text.as_bytes().into())
    }

    #[test]
    fn version_0_is_an_object_of_references() {
        let text = r#"{"b/0.1": ["x.nc", 10, 20], ".zgroup": "{\"zarr_format\":2}", "b/0.0": ["x.nc"],
            "a": "base64:AAEC", "b/.zarray": {"fill_value": 1.50}, "e": ["y.nc", 0, 0]}"#;
        let document = Document::parse(text.as_bytes()).unwrap().unwrap();
        let found: Vec<_> = document.references.iter().map(|(key, value)| (&**key, value.clone())).collect();
        assert_eq!(
            found,
            [
                (".zgroup", inline("{\"zarr_format\":2}")),
                ("a", Reference::Inline([0, 1, 2].into())),
                ("b/.zarray", inline("{\"fill_value\": 1.50}")),
                ("b/0.0", Reference::Target { index: 0, part: None }),
                ("b/0.1", Reference::Target { index: 0, part: Some((10, 20)) }),
                ("e", Reference::Target { index: 1, part: Some((0, 0)) }),
            ]
        );
        assert!(document.targets.iter().map(|(text, _)| text).eq(["x.nc", "y.nc"]));
    }
}
