//! What was done with the objects (chunks or shards) of an array, counted.

use crate::kernel::quantize::QuantizeFigures;

/// What was done with an object.
#[derive(Debug, Clone, Copy, Default)]
pub struct ObjectReport {
    /// Objects that were written.
    pub written: u64,
    /// Bytes read from the source.
    pub bytes_read: u64,
    /// Bytes written to the destination.
    pub bytes_written: u64,
    /// Bytes of intermediate data.
    pub bytes_temporary: u64,
    /// Error figures, where the job quantises.
    pub figures: QuantizeFigures,
}

impl ObjectReport {
    /// Adds what was done with another object.
    pub fn add(&mut self, other: &ObjectReport) {
        self.written = self.written.saturating_add(other.written);
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(other.bytes_written);
        self.bytes_temporary = self.bytes_temporary.saturating_add(other.bytes_temporary);
        self.figures.merge(&other.figures);
    }
}
