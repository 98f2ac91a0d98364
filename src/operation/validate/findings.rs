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
    /// Of each severity, from infos to errors.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(options: &ValidateOptions, room: usize) -> (Vec<String>, [u64; 3]) {
        let mut findings = Findings::new(options, room);
        for code in [code::KEY_UNKNOWN, code::CHUNK_CORRUPT, code::DATA_TYPE_UNSUPPORTED, code::KEY_UNKNOWN] {
            let mut part = Findings::new(options, findings.room_left());
            part.push(Diagnostic { severity: Severity::Info, ..Diagnostic::new(code, "found") });
            findings.append(part);
        }
        let kept = findings.kept.iter().map(|found| format!("{} {}", found.code, found.severity)).collect();
        let [infos, warnings, errors] = findings.counts;
        (kept, [errors, warnings, infos])
    }

    #[test]
    fn findings_have_the_severity_of_the_table() {
        let (kept, counts) = gathered(&ValidateOptions::default(), 10);
        assert_eq!(kept, ["ZK201 warning", "ZX101 error", "ZD102 info", "ZK201 warning"]);
        assert_eq!(counts, [1, 2, 1]);
    }

    #[test]
    fn counts_are_exact_where_findings_are_left_out() {
        let (kept, counts) = gathered(&ValidateOptions::default(), 2);
        assert_eq!((kept.len(), counts), (2, [1, 2, 1]));
    }

    #[test]
    fn deny_and_allow_change_severities() {
        let denied = ValidateOptions {
            deny: vec![code::DATA_TYPE_UNSUPPORTED],
            deny_warnings: true,
            ..ValidateOptions::default()
        };
        assert_eq!(gathered(&denied, 0).1, [4, 0, 0]);
        let allowed = ValidateOptions { allow: vec![code::CHUNK_CORRUPT], ..ValidateOptions::default() };
        assert_eq!(gathered(&allowed, 0).1, [0, 2, 1]);
    }
}
