//! Results as JSON: one document with the version of its schema first.
//!
//! The members are those of the result structs in `operation`, by their names. Members may be added within a
//! version; none is renamed, removed or given another meaning.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

#[derive(Serialize)]
struct Document<'a, T> {
    schema: String,
    #[serde(flatten)]
    result: &'a T,
}

/// Writes the result of a command, and a line end.
pub fn write<T: Serialize>(command: &str, result: &T, output: &mut dyn Write) -> io::Result<()> {
    let document = Document { schema: format!("zarrcast.{command}/1"), result };
    // Pieces of text reach the output many at a time, none of them divided.
    let mut output = BufWriter::with_capacity(1 << 16, output);
    serde_json::to_writer_pretty(&mut output, &document)?;
    writeln!(output)?;
    output.flush()
}
