//! Reading the members of one configuration strictly: each fault becomes a diagnostic at its pointer.

use std::ops::RangeInclusive;

use super::Parsed;
use crate::diagnostic::{Code, Diagnostic, code};
use crate::metadata::extension::MAX_FAULTS;
use crate::metadata::json::{Json, Number, Object, member_pointer};

/// The members of a configuration, or of an object inside of one.
pub(crate) struct Members<'a> {
    codec: &'static str,
    object: Option<&'a Object>,
    pointer: String,
    known: Vec<&'static str>,
    is_absence_reported: bool,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'a> Members<'a> {
    /// The configuration of the codec at `pointer`; members that are not `known` are faults.
    pub(crate) fn of_codec(
        codec: &'static str,
        configuration: Option<&'a Object>,
        pointer: &str,
        known: &[&'static str],
    ) -> Self {
        Self::of_object(codec, configuration, format!("{pointer}/configuration"), known)
    }

    /// An object inside of a configuration, itself at `pointer`.
    pub(crate) fn of_object(
        codec: &'static str,
        object: Option<&'a Object>,
        pointer: String,
        known: &[&'static str],
    ) -> Self {
        let diagnostics = Vec::new();
        let own = known.to_vec();
        let mut members =
            Members { codec, object, pointer, known: own, is_absence_reported: false, diagnostics };
        let unknown = object.into_iter().flat_map(Object::names).filter(|name| !known.contains(name));
        for name in unknown.take(MAX_FAULTS) {
            members.report_unknown(name);
        }
        members
    }

    /// The name of the codec.
    pub(crate) fn codec(&self) -> &'static str {
        self.codec
    }

    /// What was made, with everything that was found.
    pub(crate) fn finish<T>(self, configuration: Option<T>) -> Parsed<T> {
        (configuration, self.diagnostics)
    }

    /// The pointer to a member.
    pub(crate) fn pointer_to(&self, name: &str) -> String {
        member_pointer(&self.pointer, name)
    }

    /// A member that may be absent.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Json> {
        self.object.and_then(|object| object.get(name))
    }

    /// A member that must be there.
    pub(crate) fn require(&mut self, name: &str) -> Option<&'a Json> {
        let member = self.get(name);
        if member.is_none() {
            self.report_missing(name);
        }
        member
    }

    /// Adds a fault of a member.
    pub(crate) fn report(&mut self, code: Code, name: &str, message: impl Into<String>) {
        let diagnostic = Diagnostic::new(code, message).at_pointer(self.pointer_to(name));
        self.diagnostics.push(diagnostic);
    }

    /// Adds a fault: a member is not what it should be.
    pub(crate) fn report_found(&mut self, code: Code, name: &str, expected: &str, found: &Json) {
        let message = format!("`{name}` of `{}`: expected {expected}, found {}", self.codec, shown(found));
        self.report(code, name, message);
    }

    /// One of some strings.
    pub(crate) fn choice<T: Clone>(&mut self, name: &str, json: &Json, choices: &[(&str, T)]) -> Option<T> {
        let found = json.as_str().and_then(|text| choices.iter().find(|choice| choice.0 == text));
        if found.is_none() {
            let names: Vec<String> = choices.iter().map(|choice| format!("{:?}", choice.0)).collect();
            let code = wrong(json.as_str().is_some());
            self.report_found(code, name, &format!("one of {}", names.join(", ")), json);
        }
        found.map(|choice| choice.1.clone())
    }

    /// An integer of a range.
    pub(crate) fn integer<T>(&mut self, name: &str, json: &Json, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + std::fmt::Display,
    {
        let number =
            json.as_i128().and_then(|value| T::try_from(value).ok()).filter(|value| range.contains(value));
        if number.is_none() {
            let expected = format!("an integer from {} to {}", range.start(), range.end());
            self.report_found(wrong(json.as_number().is_some()), name, &expected, json);
        }
        number
    }

    /// A number.
    pub(crate) fn number(&mut self, name: &str, json: &Json) -> Option<f64> {
        let number = json.as_number().map(Number::as_f64);
        if number.is_none() {
            self.report_found(code::CONFIGURATION_TYPE, name, "a number", json);
        }
        number
    }

    /// A boolean.
    pub(crate) fn boolean(&mut self, name: &str, json: &Json) -> Option<bool> {
        let value = json.as_bool();
        if value.is_none() {
            self.report_found(code::CONFIGURATION_TYPE, name, "true or false", json);
        }
        value
    }

    fn report_unknown(&mut self, name: &str) {
        let message = format!("`{}` has no member `{}`", self.codec, shortened(name));
        let help = if self.known.is_empty() {
            format!("remove it: a configuration of `{}` has no members", self.codec)
        } else {
            format!("the members are {}", quoted(&self.known))
        };
        let diagnostic = Diagnostic::new(code::CONFIGURATION_UNKNOWN, message).with_help(help);
        self.diagnostics.push(diagnostic.at_pointer(self.pointer_to(name)));
    }

    /// An absent configuration is one fault, however many members it should have.
    fn report_missing(&mut self, name: &str) {
        if self.object.is_some() {
            let message = format!("`{}` lacks `{name}`", self.codec);
            let diagnostic = Diagnostic::new(code::CONFIGURATION_MISSING, message);
            self.diagnostics.push(diagnostic.at_pointer(self.pointer.clone()));
        } else if !self.is_absence_reported {
            self.is_absence_reported = true;
            let message = format!("`{}` has no configuration, and needs one with `{name}`", self.codec);
            let codec_pointer = self.pointer.rsplit_once('/').map_or("", |split| split.0);
            let diagnostic = Diagnostic::new(code::CONFIGURATION_MISSING, message);
            self.diagnostics.push(diagnostic.at_pointer(codec_pointer));
        }
    }
}

/// The code for a wrong value, or for one that is not even of the right JSON type.
pub(crate) const fn wrong(is_type_right: bool) -> Code {
    if is_type_right { code::CONFIGURATION_VALUE } else { code::CONFIGURATION_TYPE }
}

/// A JSON value as a message shows it: short, whatever the document holds.
pub(crate) fn shown(json: &Json) -> String {
    match json {
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => shortened(number.literal()),
        Json::String(text) => format!("{:?}", shortened(text)),
        other => other.kind().to_owned(),
    }
}

fn shortened(text: &str) -> String {
    const LENGTH: usize = 40;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
