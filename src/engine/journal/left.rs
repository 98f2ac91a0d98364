//! What a run has left in its journal.

use std::collections::BTreeMap;

use super::line::{Header, Known, is_cleared, next_line, read};
use super::{Fingerprint, JournalError, SCHEMA};
use crate::store::machine;

/// What a run of the same plan has left.
pub(super) struct Left {
    /// What is done, by the names of the parts.
    pub(super) known: BTreeMap<String, Known>,
    /// The length of the lines that are believed.
    pub(super) length: u64,
    /// Whether the last of these was written after the present boot.
    pub(super) is_same_boot: bool,
    /// Whether what stood in the same place has yet to be removed.
    pub(super) must_clear: bool,
}

impl Left {
    /// What the text of a journal says; `None` where it had not begun to say anything.
    pub(super) fn read(text: &[u8], fingerprint: &Fingerprint) -> Result<Option<Self>, JournalError> {
        let Some((header, first)) = next_line::<Header>(text, 0) else { return Ok(None) };
        if header.schema != SCHEMA {
            return Err(JournalError::OtherPlan { differences: vec!["the form of the journal".to_owned()] });
        }
        let differences = fingerprint.differences(&header.fingerprint);
        if !differences.is_empty() {
            return Err(JournalError::OtherPlan { differences });
        }
        let boot = machine::boot_id();
        let (known, length, is_same_boot) = read(text, first, header.boot.as_ref(), boot.as_ref());
        let believed = &text[..usize::try_from(length).unwrap_or(text.len()).min(text.len())];
        let must_clear = header.replaces && !is_cleared(believed);
        Ok(Some(Left { known, length, is_same_boot, must_clear }))
    }
}
