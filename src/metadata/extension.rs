//! Names with configurations: the form that data types, grids, key encodings and codecs share.

use super::json::{Json, Object};
use crate::diagnostic::Diagnostic;

/// A codec as a document has it.
#[derive(Debug, Clone, PartialEq)]
pub struct CodecMetadata {
    /// Its name.
    pub name: String,
    /// Its configuration, where there is one.
    pub configuration: Option<Object>,
    /// False only where the document says so.
    pub must_understand: bool,
    /// Whether it was written as its name alone.
    pub shorthand: bool,
    /// Where it is, as an RFC 6901 pointer into the document.
    pub pointer: String,
}

impl CodecMetadata {
    /// A codec that is made new.
    pub fn new(name: impl Into<String>, configuration: Option<Object>) -> Self {
        CodecMetadata {
            name: name.into(),
            configuration,
            must_understand: true,
            shorthand: false,
            pointer: String::new(),
        }
    }

    /// The object form; `configuration` is left out where it is absent.
    pub fn to_json(&self) -> Json {
        unimplemented!()
    }
}

/// Reads a list of codecs (of an array, or inside a codec's configuration) at `pointer`; those whose form is wrong
/// are left out, with a diagnostic. `None` where it is no list.
pub fn read_codecs(
    _codecs: &Json,
    _pointer: &str,
    _diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<CodecMetadata>> {
    unimplemented!()
}
