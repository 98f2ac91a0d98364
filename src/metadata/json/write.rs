//! Writing: compact, or indented as Python's `json.dumps(indent=2)` does. Number literals stay as they are.

use super::Json;

impl Json {
    /// One line, without white space.
    pub fn to_string_compact(&self) -> String {
        unimplemented!()
    }

    /// Indented by two spaces, without a line end; an array of scalars stays on its line if that has at most 80 columns.
    pub fn to_string_pretty(&self) -> String {
        unimplemented!()
    }
}

/// The compact form.
impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_string_compact())
    }
}
