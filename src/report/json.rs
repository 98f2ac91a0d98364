//! Results as JSON: one document with the version of its schema first.
//!
//! The members are those of the result structs in `operation`, by their names. A version may get new members. None is
//! renamed, removed or changed in meaning.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

/// A result with the version of its schema.
#[derive(Debug, Serialize)]
pub struct Document<'a, T> {
    schema: String,
    #[serde(flatten)]
    result: &'a T,
}

impl<'a, T> Document<'a, T> {
    pub fn new(command: &str, result: &'a T) -> Self {
        // Both lost members: the interval of an estimate, and the skew of values.
        let version = if matches!(command, "inspect" | "transcode") { 2 } else { 1 };
        Document { schema: format!("zarrcast.{command}/{version}"), result }
    }
}

/// Writes the result of a command, and a line end.
pub fn write<T: Serialize>(command: &str, result: &T, output: &mut dyn Write) -> io::Result<()> {
    let document = Document::new(command, result);
    // The buffer joins small writes and splits none. The output must not get part of a character.
    let mut output = BufWriter::with_capacity(1 << 16, output);
    serde_json::to_writer_pretty(&mut output, &document)?;
    writeln!(output)?;
    output.flush()
}
