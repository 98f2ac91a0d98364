//! The severity of findings. It is decided only here.
//!
//! Code that finds a fault does not decide its severity. A command applies a profile to its list of findings. (`--deny`
//! and `--allow` of `validate` are applied afterwards, by the user.)

use super::{Code, Diagnostic, Profile, Severity, code};

impl Profile {
    /// Returns the profile that it is made from. `None` for [`Profile::Validate`].
    const fn base(self) -> Option<Profile> {
        match self {
            Profile::Validate => None,
            Profile::Read => Some(Profile::Validate),
            Profile::Values | Profile::Source | Profile::Write | Profile::AnyFillValue => Some(Profile::Read),
        }
    }

    /// Returns the severity of a code.
    pub fn severity_of(self, code: Code) -> Severity {
        let own = code.exceptions.iter().find(|(profile, _)| *profile == self);
        let by_base = || self.base().map_or(code.severity, |base| base.severity_of(code));
        own.map_or_else(by_base, |(_, severity)| *severity)
    }

    /// Returns the severity of a finding, whatever its `severity` field is.
    pub fn severity(self, found: &Diagnostic) -> Severity {
        let severity = code::of(found.code).map_or(found.severity, |entry| self.severity_of(entry));
        // v2's document of only copies is written again completely, so any of its faults is a warning.
        let is_about_copies =
            found.location.key.as_deref().is_some_and(|key| key.rsplit('/').next() == Some(".zmetadata"));
        if self == Profile::Source && is_about_copies { severity.min(Severity::Warning) } else { severity }
    }

    /// Returns true if a finding is an error.
    pub fn forbids(self, found: &Diagnostic) -> bool {
        self.severity(found) == Severity::Error
    }

    /// Sets the severity of findings.
    pub fn judge<'a>(self, findings: impl IntoIterator<Item = &'a mut Diagnostic>) {
        for found in findings {
            found.severity = self.severity(found);
        }
    }

    /// Returns the findings with their severity set.
    pub fn judged(self, mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        self.judge(&mut findings);
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn severities(code: Code) -> [&'static str; 6] {
        [Profile::Validate, Profile::Read, Profile::Values, Profile::Source, Profile::Write, Profile::AnyFillValue]
            .map(|profile| profile.severity_of(code).name())
    }

    #[test]
    fn profile_judges_as_the_one_that_it_is_made_from() {
        assert_eq!(severities(code::MEMBER_MISSING), ["error"; 6]);
        assert_eq!(severities(code::CHUNKS_ABSENT), ["info"; 6]);
        assert_eq!(severities(code::ENDIAN_MISSING), ["error", "warning", "warning", "warning", "warning", "warning"]);
        assert_eq!(
            severities(code::SCALE_OFFSET_FILL_VALUE_LOST),
            ["warning", "warning", "warning", "warning", "error", "warning"]
        );
        assert_eq!(
            severities(code::CAST_VALUE_FILL_VALUE_LOST),
            ["error", "error", "error", "error", "error", "warning"]
        );
        assert_eq!(severities(code::CONSOLIDATED_STALE), ["error", "error", "error", "warning", "error", "error"]);
        assert_eq!(severities(code::CODEC_UNSUPPORTED), ["info", "info", "error", "info", "info", "info"]);
    }

    #[test]
    fn finding_is_judged_by_its_code_and_not_by_what_it_was_taken_for_before() {
        let found = vec![Diagnostic::new(code::ENDIAN_MISSING, "no endian")];
        let read = Profile::Read.judged(found);
        assert_eq!(read[0].severity, Severity::Warning);
        assert!(Profile::Validate.forbids(&read[0]) && !Profile::Write.forbids(&read[0]));
    }

    #[test]
    fn fault_in_a_document_of_copies_is_a_warning_about_a_source_alone() {
        let found = Diagnostic::new(code::JSON_SYNTAX, "not JSON");
        let copies = found.clone().at_key("a/.zmetadata");
        assert!(Profile::Source.forbids(&found) && !Profile::Source.forbids(&copies));
        assert!(Profile::Read.forbids(&copies));
    }
}
