//! Names with configurations: the form that grids, key encodings, storage transformers and codecs share.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::json::{Json, Object, member_pointer};
use crate::diagnostic::{Code, Diagnostic, code};

/// The most faults of one kind that are reported for one list. Otherwise a hostile document could use any amount of
/// memory.
pub(crate) const MAX_FAULTS: usize = 100;

/// The most codecs of one list.
const MAX_CODECS: usize = 256;

/// A codec in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct CodecMetadata {
    /// The name.
    pub name: String,
    /// The configuration, if there is one.
    pub configuration: Option<Object>,
    /// False only if the document contains `"must_understand": false`.
    pub must_understand: bool,
    /// An RFC 6901 pointer to it in the document.
    pub pointer: String,
    /// The view of an element's bytes in a v2 codec, if v3 has no word for it.
    pub view: Option<View>,
}

/// The view of an element's bytes in a v2 codec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// A filter whose `dtype` differs from the elements: it reads their bytes in the stored order.
    AsStored,
    /// A filter whose `dtype` differs from the elements: it reads their bytes in the other order.
    Swapped,
    /// `bytes` of a struct: true for each big-endian field. The fields of a nested struct follow in its position.
    BigEndianFields(Vec<bool>),
}

impl Serialize for CodecMetadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CodecMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut found = Vec::new();
        let read = read_codecs(&Json::Array(vec![Json::deserialize(deserializer)?]), "", &mut found);
        match found.into_iter().find(Diagnostic::is_error) {
            Some(error) => Err(serde::de::Error::custom(error.message)),
            None => read.and_then(|mut codecs| codecs.pop()).ok_or_else(|| serde::de::Error::custom("no codec")),
        }
    }
}

impl CodecMetadata {
    /// Makes a codec that is not from a document.
    pub fn new(name: impl Into<String>, configuration: Option<Object>) -> Self {
        CodecMetadata { name: name.into(), configuration, must_understand: true, pointer: String::new(), view: None }
    }

    pub(super) fn at(mut self, pointer: &str) -> Self {
        pointer.clone_into(&mut self.pointer);
        self
    }

    /// Returns the object form, with `configuration` only if there is one.
    pub fn to_json(&self) -> Json {
        let mut object = Object::new().with("name", self.name.as_str());
        if let Some(configuration) = &self.configuration {
            object.insert("configuration", configuration.clone());
        }
        if !self.must_understand {
            object.insert("must_understand", false);
        }
        object.into()
    }

    /// Returns a member of the configuration. `None` if it is absent.
    pub fn member(&self, name: &str) -> Option<&Json> {
        self.configuration.as_ref().and_then(|configuration| configuration.get(name))
    }

    /// Returns the codecs inside a shard, or another codec that has a list of them.
    pub fn inner_codecs(&self) -> Option<Vec<CodecMetadata>> {
        // The pipeline reads this list again and reports its faults.
        read_codecs(self.member("codecs")?, "", &mut Vec::new())
    }

    /// Returns true if two codecs have the same name and configuration, at any pointer. No configuration equals an
    /// empty one.
    pub fn same_value(&self, other: &CodecMetadata) -> bool {
        let configuration = |codec: &CodecMetadata| codec.configuration.clone().unwrap_or_default();
        self.name == other.name && self.view == other.view && configuration(self).same_value(&configuration(other))
    }
}

/// Reads a list of codecs (of an array, or inside a codec's configuration) at `pointer`. Codecs with an invalid form
/// are left out with a diagnostic. `None` if it is not a list.
pub fn read_codecs(codecs: &Json, pointer: &str, faults: &mut Vec<Diagnostic>) -> Option<Vec<CodecMetadata>> {
    let Some(elements) = codecs.as_array() else { return faults.wrong_type(codecs, "an array of codecs", pointer) };
    if elements.is_empty() {
        let message = "`codecs` is empty: at least one codec must turn the array into bytes";
        let help = "add {\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}";
        faults.advise(code::CODECS_EMPTY, pointer, message, help);
    }
    if elements.len() > MAX_CODECS {
        let message = format!("there are {} codecs; at most {MAX_CODECS} are supported", elements.len());
        return faults.refuse(code::JSON_LIMIT, pointer, message);
    }
    let read = |(index, element)| read_extension(element, &format!("{pointer}/{index}"), faults);
    Some(elements.iter().enumerate().filter_map(read).collect())
}

/// Reads a name with a configuration, or a name alone. `None` if there is no name, or if the configuration is not an
/// object.
pub(super) fn read_extension(json: &Json, pointer: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<CodecMetadata> {
    if let Some(name) = json.as_str() {
        let message = format!("{name:?} is written as only its name, which most readers reject");
        let help = format!("write {{\"name\": {}}}", Json::from(name));
        diagnostics.advise(code::EXTENSION_STRING, pointer, message, help);
        return Some(CodecMetadata::new(name, None).at(pointer));
    }
    let Some(object) = json.as_object() else { return diagnostics.wrong_type(json, "an object with a name", pointer) };
    for name in object.unknown_names(&["name", "configuration", "must_understand"]).take(MAX_FAULTS) {
        let message = format!("unknown member {}", Json::from(name).excerpt());
        let help = "known are name, configuration, must_understand";
        diagnostics.advise(code::MEMBER_UNKNOWN, member_pointer(pointer, name), message, help);
    }
    let name = match object.get("name") {
        Some(Json::String(name)) => Some(name.to_string()),
        Some(other) => diagnostics.wrong_type(other, "a string", &format!("{pointer}/name")),
        None => diagnostics.refuse(code::MEMBER_MISSING, pointer, "`name` is missing"),
    };
    let configuration = match object.get("configuration") {
        None => Some(None),
        Some(Json::Object(configuration)) => Some(Some(configuration.clone())),
        Some(other) => diagnostics.wrong_type(other, "an object", &format!("{pointer}/configuration")),
    };
    let must_understand = match object.get("must_understand") {
        None => None,
        Some(Json::Bool(value)) => Some(*value),
        Some(other) => diagnostics.wrong_type(other, "a boolean", &format!("{pointer}/must_understand")),
    };
    let must_understand = must_understand.unwrap_or(true);
    // The reading ends only here if a part is missing, so that all faults above are reported.
    Some(CodecMetadata { must_understand, ..CodecMetadata::new(name?, configuration?).at(pointer) })
}

/// A collection of findings about a document.
pub(crate) trait Findings {
    /// Adds a finding at a pointer.
    fn add(&mut self, code: Code, pointer: impl Into<String>, message: impl Into<String>);

    /// Adds a finding at a pointer, with the next step.
    fn advise(&mut self, code: Code, pointer: impl Into<String>, message: impl Into<String>, help: impl Into<String>);

    /// Adds a finding about a value that could not be read, and returns `None`.
    fn refuse<T>(&mut self, code: Code, pointer: impl Into<String>, message: impl Into<String>) -> Option<T> {
        self.add(code, pointer, message);
        None
    }

    /// Adds "expected ..., found ..." at `pointer`, and returns `None`.
    fn unexpected<T>(&mut self, code: Code, json: &Json, expected: &str, pointer: &str) -> Option<T> {
        let name = pointer.rsplit('/').next().unwrap_or_default();
        let found = json.excerpt();
        let message = if name.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit()) {
            format!("expected {expected}, found {found}")
        } else {
            format!("`{name}`: expected {expected}, found {found}")
        };
        self.refuse(code, pointer, message)
    }

    /// Reports a member of the wrong type, and returns `None`.
    fn wrong_type<T>(&mut self, json: &Json, expected: &str, pointer: &str) -> Option<T> {
        self.unexpected(code::MEMBER_TYPE, json, expected, pointer)
    }
}

impl Findings for Vec<Diagnostic> {
    fn add(&mut self, code: Code, pointer: impl Into<String>, message: impl Into<String>) {
        self.push(Diagnostic::new(code, message).at_pointer(pointer));
    }

    fn advise(&mut self, code: Code, pointer: impl Into<String>, message: impl Into<String>, help: impl Into<String>) {
        self.push(Diagnostic::new(code, message).with_help(help).at_pointer(pointer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Vec<CodecMetadata>>, Vec<(&'static str, String)>) {
        let mut diagnostics = Vec::new();
        let codecs = read_codecs(&Json::parse_str(text).unwrap(), "/codecs", &mut diagnostics);
        let found = |diagnostic: Diagnostic| (diagnostic.code, diagnostic.location.pointer.unwrap());
        (codecs, diagnostics.into_iter().map(found).collect())
    }

    #[test]
    fn codecs_are_the_same_by_value() {
        let codec = |text: &str| read(text).0.unwrap().remove(0);
        let a = codec(r#"[{"name":"a","configuration":{"x":1.0,"y":2}}]"#);
        assert!(a.same_value(&codec(r#"[{"name":"a","configuration":{"y":2,"x":1}}]"#)));
        assert!(!a.same_value(&codec(r#"[{"name":"a","configuration":{"y":2,"x":1.5}}]"#)));
        assert!(codec(r#"[{"name":"a"}]"#).same_value(&codec(r#"[{"name":"a","configuration":{}}]"#)));
    }
}
