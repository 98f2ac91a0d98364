//! Findings as they are gathered: the first of them kept, all of them counted.

use crate::diagnostic::{Code, Diagnostic, Profile, Severity, code};
use crate::operation::ValidateOptions;

impl ValidateOptions {
    /// The severity that a code has by the table and the options; `None` where it is allowed.
    fn severity(&self, found: &Diagnostic) -> Option<Severity> {
        if self.allow.iter().any(|code| found.is(*code)) {
            return None;
        }
        if self.deny.iter().any(|code| found.is(*code)) {
            return Some(Severity::Error);
        }
        let severity = Profile::Validate.severity(found);
        Some(if self.deny_warnings && severity == Severity::Warning { Severity::Error } else { severity })
    }
}

/// Findings in their order: at most `room` of them are kept, the others counted.
#[derive(Debug, Clone)]
pub(super) struct Findings<'a> {
    options: &'a ValidateOptions,
    room: usize,
    pub(super) kept: Vec<Diagnostic>,
    /// One for each severity, from infos to errors.
    pub(super) counts: [u64; 3],
}

impl<'a> Findings<'a> {
    pub(super) fn new(options: &'a ValidateOptions, room: usize) -> Self {
        Findings { options, room, kept: Vec::new(), counts: [0; 3] }
    }

    /// The number of findings that are still kept.
    pub(super) fn room_left(&self) -> usize {
        self.room.saturating_sub(self.kept.len())
    }

    /// Appends a finding. One that does not know the next step has that of its rule's page.
    pub(super) fn push(&mut self, mut found: Diagnostic) {
        let Some(severity) = self.options.severity(&found) else { return };
        self.counts[severity as usize] += 1;
        if self.kept.len() < self.room {
            found.severity = severity;
            if found.help.is_none() {
                found.help = code::of(found.code).map(Code::first_step);
            }
            self.kept.push(found);
        }
    }

    /// Appends those of a part.
    pub(super) fn append(&mut self, part: Findings) {
        self.counts.iter_mut().zip(part.counts).for_each(|(all, part)| *all += part);
        let room = self.room_left();
        self.kept.extend(part.kept.into_iter().take(room));
    }

    /// All, also those not kept.
    pub(super) fn len(&self) -> u64 {
        self.counts.iter().sum()
    }
}
