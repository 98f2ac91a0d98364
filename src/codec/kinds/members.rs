//! Tables of the members of configurations: the form of each and its value if absent. The members are read strictly by
//! them, and each fault becomes a diagnostic at its pointer. numcodecs reads null as absent.
//!
//! Documentation: <https://numcodecs.readthedocs.io/>

use std::ops::RangeInclusive;

use crate::data_type::DataType;
use crate::diagnostic::{Code, Diagnostic, code};
use crate::metadata::extension::{CodecMetadata, MAX_FAULTS};
use crate::metadata::json::{Json, Object, member_pointer};

/// The form of a member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// An integer from the first to the second number.
    Integer(i64, i64),
    Number,
    Boolean,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A data type in numpy's notation.
    DataType,
    /// Any value. The codec checks it itself.
    Any,
}

/// The value that numcodecs uses for an absent member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Absent {
    /// The member is required.
    Refused,
    /// There is no value.
    Nothing,
    Integer(i64),
    Boolean(bool),
    Text(&'static str),
}

/// A member of a configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) absent: Absent,
}

impl Member {
    /// Makes a member that may be absent.
    pub(crate) const fn new(name: &'static str, form: Form, absent: Absent) -> Self {
        Member { name, form, absent }
    }

    pub(crate) const fn required(name: &'static str, form: Form) -> Self {
        Member { name, form, absent: Absent::Refused }
    }
}

/// Adds numcodecs' values for members that the document does not have.
pub(super) fn fill(configuration: &mut Object, table: &[Member]) {
    for member in table {
        let value = match member.absent {
            Absent::Integer(value) => Json::from(value),
            Absent::Boolean(value) => Json::from(value),
            Absent::Text(text) => Json::from(text),
            Absent::Refused | Absent::Nothing => continue,
        };
        if !configuration.contains(member.name) {
            configuration.insert(member.name, value);
        }
    }
}

/// Reads a number type in numpy's notation: `<f4`, `|u1`, `i2`, `float32`, `bool`. The byte order is ignored: an array
/// has none between codecs.
pub(crate) fn numpy_data_type(text: &str) -> Option<DataType> {
    let plain = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    let is_numpy = |data_type: &DataType| match data_type {
        DataType::Bool => true,
        DataType::Number(number) => number.small_float().is_none() && number.is_whole(),
        DataType::Complex(component) => component.bits() > 16,
        _ => false,
    };
    if let Some(data_type) = DataType::from_name(plain) {
        return Some(data_type).filter(|data_type| plain == text && is_numpy(data_type));
    }
    let (kind, size) = plain.split_at_checked(1)?;
    let bits = size.parse::<u32>().ok()?.checked_mul(8)?;
    let family = match kind {
        "b" if bits == 8 => return Some(DataType::Bool),
        "i" => "int",
        "u" => "uint",
        "f" => "float",
        "c" => "complex",
        _ => return None,
    };
    DataType::from_name(&format!("{family}{bits}")).filter(is_numpy)
}

/// The members of a configuration, or of an object inside one.
pub(crate) struct Members<'a> {
    codec: &'a str,
    object: Option<&'a Object>,
    pointer: String,
    table: &'static [Member],
    is_absence_reported: bool,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'a> Members<'a> {
    /// Reads the configuration of a codec and checks it against `table`. Returns false if a member does not match.
    pub(crate) fn of_codec(codec: &'a CodecMetadata, table: &'static [Member]) -> (Self, bool) {
        let CodecMetadata { name, configuration, pointer, .. } = codec;
        Self::of_table(name, configuration.as_ref(), format!("{pointer}/configuration"), table)
    }

    /// Reads an object at `pointer` and checks its members against `table`. Faults are reported.
    pub(crate) fn of_table(
        codec: &'a str,
        object: Option<&'a Object>,
        pointer: String,
        table: &'static [Member],
    ) -> (Self, bool) {
        let known: Vec<_> = table.iter().map(|member| member.name).collect();
        let mut members = Self::new(codec, object, pointer, &known);
        members.table = table;
        let mut is_valid = true;
        for member in table {
            let is_required = matches!(member.absent, Absent::Refused);
            let json = if is_required { members.require(member.name) } else { members.given(member.name) };
            is_valid &= json.map_or(!is_required, |json| members.check(member, json));
        }
        (members, is_valid)
    }

    /// Reads an object at `pointer` inside a configuration.
    pub(crate) fn new(codec: &'a str, object: Option<&'a Object>, pointer: String, known: &[&'static str]) -> Self {
        let mut members =
            Members { codec, object, pointer, table: &[], is_absence_reported: false, diagnostics: Vec::new() };
        let unknown = object.into_iter().flat_map(Object::names).filter(|name| !known.contains(name));
        for name in unknown.take(MAX_FAULTS) {
            let message = format!("`{codec}` has no member `{}`", shortened(name));
            let help = if known.is_empty() {
                format!("remove it: a configuration of `{codec}` has no members")
            } else {
                let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                format!("the members are {}", names.join(", "))
            };
            let found = Diagnostic::new(code::CONFIGURATION_UNKNOWN, message).with_help(help);
            members.diagnostics.push(found.at_pointer(members.pointer_to(name)));
        }
        members
    }

    pub(crate) fn pointer_to(&self, name: &str) -> String {
        member_pointer(&self.pointer, name)
    }

    /// Returns a member that may be absent.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Json> {
        self.object.and_then(|object| object.get(name))
    }

    /// Returns a member that is present. For numcodecs, null is absent.
    pub(crate) fn given(&self, name: &str) -> Option<&'a Json> {
        self.get(name).filter(|json| !json.is_null() || !self.codec.starts_with("numcodecs."))
    }

    /// Checks that a value has the form of its member.
    fn check(&mut self, member: &Member, json: &Json) -> bool {
        let name = member.name;
        let (is_right, expected) = match member.form {
            Form::Integer(least, greatest) => return self.integer(name, json, least..=greatest).is_some(),
            Form::Number => (json.as_number().is_some(), "a number"),
            Form::Boolean => (json.as_bool().is_some(), "true or false"),
            Form::Choice(choices) => {
                let choices: Vec<_> = choices.iter().map(|choice| (*choice, ())).collect();
                return self.choice(name, json, &choices).is_some();
            }
            Form::DataType => {
                (json.as_str().and_then(numpy_data_type).is_some(), "a data type of numpy, such as \"<f4\"")
            }
            Form::Any => return true,
        };
        if !is_right {
            let is_text = matches!(member.form, Form::DataType) && json.as_str().is_some();
            self.report_found(wrong(is_text), name, expected, json);
        }
        is_right
    }

    fn absent(&self, name: &str) -> Absent {
        self.table.iter().find(|member| member.name == name).map_or(Absent::Nothing, |member| member.absent)
    }

    /// Returns the integer, or the table's default. It is 0 if there is no default, or `T` cannot represent the value.
    pub(crate) fn integer_value<T: TryFrom<i128> + Default>(&self, name: &str) -> T {
        let default = || if let Absent::Integer(value) = self.absent(name) { value.into() } else { 0 };
        let value = self.given(name).and_then(Json::as_i128).unwrap_or_else(default);
        T::try_from(value).unwrap_or_default()
    }

    /// Returns the boolean, or the table's default.
    pub(crate) fn boolean_value(&self, name: &str) -> bool {
        let default = matches!(self.absent(name), Absent::Boolean(true));
        self.given(name).and_then(Json::as_bool).unwrap_or(default)
    }

    /// Returns the string, or the table's default.
    pub(crate) fn text_value(&self, name: &str) -> &'a str {
        let default = if let Absent::Text(text) = self.absent(name) { text } else { "" };
        self.given(name).and_then(Json::as_str).unwrap_or(default)
    }

    /// Returns the choice of one of some strings, or the first if the member is absent. `None` after a fault.
    pub(crate) fn choice_or_first<T: Clone>(&mut self, name: &str, choices: &[(&str, T)]) -> Option<T> {
        match self.given(name) {
            Some(json) => self.choice(name, json, choices),
            None => choices.first().map(|choice| choice.1.clone()),
        }
    }

    /// Returns a required member, or reports that it is missing. An absent configuration is only one fault, however
    /// many members it should have.
    fn require(&mut self, name: &str) -> Option<&'a Json> {
        let member = self.get(name);
        if member.is_some() || (self.object.is_none() && self.is_absence_reported) {
            return member;
        }
        let (message, pointer) = if self.object.is_some() {
            (format!("`{}` lacks `{name}`", self.codec), self.pointer.as_str())
        } else {
            self.is_absence_reported = true;
            let codec_pointer = self.pointer.rsplit_once('/').map_or("", |split| split.0);
            (format!("`{}` has no configuration, and needs one with `{name}`", self.codec), codec_pointer)
        };
        self.diagnostics.push(Diagnostic::new(code::CONFIGURATION_MISSING, message).at_pointer(pointer));
        None
    }

    pub(crate) fn report(&mut self, code: Code, name: &str, message: impl Into<String>) {
        let diagnostic = Diagnostic::new(code, message).at_pointer(self.pointer_to(name));
        self.diagnostics.push(diagnostic);
    }

    /// Reports a fault of a member and returns `None`.
    pub(crate) fn refuse<T>(&mut self, code: Code, name: &str, message: impl Into<String>) -> Option<T> {
        self.report(code, name, message);
        None
    }

    /// Reports a member that is not as expected.
    pub(crate) fn report_found(&mut self, code: Code, name: &str, expected: &str, found: &Json) {
        let message = format!("`{name}` of `{}`: expected {expected}, found {}", self.codec, shown(found));
        self.report(code, name, message);
    }

    /// Returns the choice of one of some strings. Reports any other value.
    pub(crate) fn choice<T: Clone>(&mut self, name: &str, json: &Json, choices: &[(&str, T)]) -> Option<T> {
        let found = json.as_str().and_then(|text| choices.iter().find(|choice| choice.0 == text));
        if found.is_none() {
            let names: Vec<String> = choices.iter().map(|choice| format!("{:?}", choice.0)).collect();
            let code = wrong(json.as_str().is_some());
            self.report_found(code, name, &format!("one of {}", names.join(", ")), json);
        }
        found.map(|choice| choice.1.clone())
    }

    /// Returns an integer of a range. Reports any other value.
    pub(crate) fn integer<T>(&mut self, name: &str, json: &Json, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + std::fmt::Display,
    {
        let number = json.as_i128().and_then(|value| T::try_from(value).ok()).filter(|value| range.contains(value));
        if number.is_none() {
            let expected = format!("an integer from {} to {}", range.start(), range.end());
            self.report_found(wrong(json.as_number().is_some()), name, &expected, json);
        }
        number
    }
}

/// Returns the code for a wrong value, or for a value of the wrong JSON type.
pub(crate) const fn wrong(is_type_right: bool) -> Code {
    if is_type_right { code::CONFIGURATION_VALUE } else { code::CONFIGURATION_TYPE }
}

/// Returns a JSON value for a message, shortened.
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
    if let Some((end, _)) = text.char_indices().nth(LENGTH) { format!("{}...", &text[..end]) } else { text.to_owned() }
}
