//! What v3 has as v2 writes it: type strings, fill values, filters and a compressor. What v2 cannot express is said.

mod codecs;
mod dtype;
mod fill_value;

pub use codecs::{V2ByteOrder, V2Chain, with_little_endian_types, write_codecs};
pub use dtype::write_dtype;
pub use fill_value::write_fill_value;

/// What v2 cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Zarr v2 cannot express {what}")]
pub struct NotInV2 {
    /// It, by its name.
    pub what: String,
    /// What can be done instead, where there is something.
    pub help: Option<&'static str>,
}

impl NotInV2 {
    fn new(what: impl Into<String>) -> Self {
        NotInV2 { what: what.into(), help: None }
    }

    fn with_help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }
}
