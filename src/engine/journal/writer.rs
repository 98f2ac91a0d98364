//! Lines of a journal as they are appended, whole.

use std::time::Instant;

use crate::store::{Log, StoreError};

/// Where the lines of a journal go.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) log: Box<dyn Log>,
    /// The length of its whole lines; `None` where it can be written no more.
    pub(super) length: Option<u64>,
    pub(super) last_line: Instant,
    pub(super) last_checkpoint: Instant,
    pub(super) bytes: u64,
}

impl Writer {
    /// Appends whole lines, or nothing.
    pub(super) fn append(&mut self, lines: &str) -> Result<(), StoreError> {
        let Some(length) = self.length else { return Ok(()) };
        if let Err(error) = self.log.append(lines.as_bytes()) {
            // Half a line would hide those after it.
            self.length = self.log.truncate(length).ok().map(|()| length);
            return Err(error);
        }
        self.length = Some(length + lines.len() as u64);
        Ok(())
    }
}
