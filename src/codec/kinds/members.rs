//! Tables of the members of configurations: the form of each and its value if absent. The members are read strictly by
//! them, and each fault becomes a diagnostic at its pointer. numcodecs reads null as absent.
//!
//! Documentation: <https://numcodecs.readthedocs.io/>

use std::ops::RangeInclusive;

use crate::data_type::DataType;
use crate::diagnostic::quantity::shortened;
use crate::diagnostic::{Code, Diagnostic, code};
use crate::metadata::extension::{CodecMetadata, Findings, MAX_FAULTS};
use crate::metadata::json::{Json, Object, member_pointer};

/// The form of a member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MemberType {
    /// An integer from the first to the second number.
    Integer(i64, i64),
    /// An integer for which the function returns true. The text describes these integers.
    Listed(fn(i64) -> bool, &'static str),
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
pub(crate) enum MemberDefault {
    /// The member is required.
    Refused,
    /// There is no value.
    Nothing,
    /// There is no value, and null means the same.
    Null,
    Integer(i64),
    Boolean(bool),
    Text(&'static str),
}

/// A member of a configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) value_type: MemberType,
    pub(crate) default: MemberDefault,
}

impl Member {
    pub(crate) const fn new(name: &'static str, value_type: MemberType, default: MemberDefault) -> Self {
        Member { name, value_type, default }
    }

    pub(crate) const fn required(name: &'static str, value_type: MemberType) -> Self {
        Self::new(name, value_type, MemberDefault::Refused)
    }

    /// Makes a member that may be absent, without a default.
    pub(crate) const fn optional(name: &'static str, value_type: MemberType) -> Self {
        Self::new(name, value_type, MemberDefault::Nothing)
    }
}

/// Adds numcodecs' values for members that the document does not have.
pub(super) fn fill(configuration: &mut Object, table: &[Member]) {
    for member in table {
        let value = match member.default {
            MemberDefault::Integer(value) => Json::from(value),
            MemberDefault::Boolean(value) => Json::from(value),
            MemberDefault::Text(text) => Json::from(text),
            MemberDefault::Refused | MemberDefault::Nothing | MemberDefault::Null => continue,
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
        // numpy has no complex numbers of 16-bit floats.
        DataType::Complex(component) => component.bits() > 16,
        _ => false,
    };
    if let Some(data_type) = DataType::from_name(plain) {
        // numpy has no byte order before a full name: `<float32` is not valid.
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
pub(crate) struct ConfigurationReader<'a> {
    codec: &'a str,
    object: Option<&'a Object>,
    pointer: String,
    table: &'static [Member],
    /// False if a member does not match the table.
    pub(crate) is_valid: bool,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'a> ConfigurationReader<'a> {
    /// Reads the configuration of a codec and checks it against `table`. Faults are reported.
    pub(crate) fn of_codec(codec: &'a CodecMetadata, table: &'static [Member]) -> Self {
        let CodecMetadata { name, configuration, pointer, .. } = codec;
        Self::new(name, configuration.as_ref(), format!("{pointer}/configuration"), table)
    }

    /// Reads an object at `pointer` and checks its members against `table`. Faults are reported.
    pub(crate) fn new(codec: &'a str, object: Option<&'a Object>, pointer: String, table: &'static [Member]) -> Self {
        let mut members =
            ConfigurationReader { codec, object, pointer, table, is_valid: true, diagnostics: Vec::new() };
        members.report_unknown();
        for member in table {
            let is_required = matches!(member.default, MemberDefault::Refused);
            let json = if is_required { members.get(member.name) } else { members.given(member.name) };
            let is_right = match json {
                Some(json) => members.check(member, json),
                None => !is_required || members.report_missing(member.name),
            };
            members.is_valid &= is_right;
        }
        members
    }

    fn report_unknown(&mut self) {
        let names: Vec<_> = self.table.iter().map(|member| member.name).collect();
        let help = || match names.join("`, `") {
            names if names.is_empty() => format!("remove it: a configuration of `{}` has no members", self.codec),
            names => format!("the members are `{names}`"),
        };
        let unknown = self.object.into_iter().flat_map(|object| object.unknown_names(&names));
        for name in unknown.take(MAX_FAULTS) {
            let message = format!("`{}` has no member `{}`", self.codec, shortened(name.to_owned(), SHOWN));
            self.diagnostics.advise(code::CONFIGURATION_UNKNOWN, self.pointer_to(name), message, help());
        }
    }

    /// Reports a required member that is missing, and returns false. An absent configuration is only one fault, however
    /// many members it should have.
    fn report_missing(&mut self, name: &str) -> bool {
        let (message, pointer) = if self.object.is_some() {
            (format!("`{}` lacks `{name}`", self.codec), self.pointer.as_str())
        } else {
            let codec_pointer = self.pointer.rsplit_once('/').map_or("", |split| split.0);
            (format!("`{}` has no configuration, and needs one with `{name}`", self.codec), codec_pointer)
        };
        if self.object.is_some() || self.is_valid {
            self.diagnostics.add(code::CONFIGURATION_MISSING, pointer, message);
        }
        false
    }

    pub(crate) fn pointer_to(&self, name: &str) -> String {
        member_pointer(&self.pointer, name)
    }

    /// Returns a member that may be absent.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Json> {
        self.object.and_then(|object| object.get(name))
    }

    /// Returns a member that is present. For numcodecs, and where the table says so, null is absent.
    pub(crate) fn given(&self, name: &str) -> Option<&'a Json> {
        let is_null_absent =
            || self.codec.starts_with("numcodecs.") || matches!(self.default_of(name), MemberDefault::Null);
        self.get(name).filter(|json| !json.is_null() || !is_null_absent())
    }

    /// Checks that a value has the form of its member.
    fn check(&mut self, member: &Member, json: &Json) -> bool {
        let (name, text) = (member.name, json.as_str());
        let (is_right, is_type_right, expected) = match member.value_type {
            MemberType::Integer(least, greatest) => {
                return self.checked_integer(name, json, least..=greatest).is_some();
            }
            MemberType::Listed(is_listed, expected) => {
                let number = json.as_i128().and_then(|number| i64::try_from(number).ok());
                (number.is_some_and(is_listed), json.as_number().is_some(), expected)
            }
            MemberType::Number => (json.as_number().is_some(), false, "a number"),
            MemberType::Boolean => (json.as_bool().is_some(), false, "true or false"),
            MemberType::Choice(choices) => return self.choice_index(name, json, choices).is_some(),
            MemberType::DataType => {
                (text.and_then(numpy_data_type).is_some(), text.is_some(), "a data type of numpy, such as \"<f4\"")
            }
            MemberType::Any => return true,
        };
        is_right || self.unexpected::<()>(wrong(is_type_right), name, expected, json).is_some()
    }

    fn default_of(&self, name: &str) -> MemberDefault {
        self.table.iter().find(|member| member.name == name).map_or(MemberDefault::Nothing, |member| member.default)
    }

    /// Returns an integer that is present, if `T` can represent it.
    pub(crate) fn integer<T: TryFrom<i128>>(&self, name: &str) -> Option<T> {
        self.given(name).and_then(Json::as_i128).and_then(|value| T::try_from(value).ok())
    }

    /// Returns the integer, or the table's default. It is 0 if there is no default, or `T` cannot represent the value.
    pub(crate) fn integer_value<T: TryFrom<i128> + Default>(&self, name: &str) -> T {
        let default = if let MemberDefault::Integer(value) = self.default_of(name) { value.into() } else { 0 };
        let value = self.integer(name).unwrap_or(default);
        T::try_from(value).unwrap_or_default()
    }

    /// Returns the string, or the table's default.
    pub(crate) fn text_value(&self, name: &str) -> &'a str {
        let default = if let MemberDefault::Text(text) = self.default_of(name) { text } else { "" };
        self.given(name).and_then(Json::as_str).unwrap_or(default)
    }

    pub(crate) fn report(&mut self, code: Code, name: &str, message: impl Into<String>) {
        self.diagnostics.add(code, self.pointer_to(name), message);
    }

    /// Reports a fault of a member and returns `None`.
    pub(crate) fn refuse<T>(&mut self, code: Code, name: &str, message: impl Into<String>) -> Option<T> {
        self.report(code, name, message);
        None
    }

    /// Reports a fault of an entry of a member, which is an array.
    pub(crate) fn report_entry(&mut self, code: Code, name: &str, index: usize, message: String) {
        let pointer = format!("{}/{index}", self.pointer_to(name));
        self.diagnostics.add(code, pointer, message);
    }

    /// Reports a member that is not as expected, and returns `None`.
    pub(crate) fn unexpected<T>(&mut self, code: Code, name: &str, expected: &str, found: &Json) -> Option<T> {
        self.refuse(code, name, format!("`{name}` of `{}`: expected {expected}, found {}", self.codec, shown(found)))
    }

    /// Returns the choice of one of some strings, or `default` if the member is absent. `None` after a fault.
    pub(crate) fn choice<T: Clone>(&mut self, name: &str, choices: &[(&str, T)], default: T) -> Option<T> {
        let Some(json) = self.given(name) else { return Some(default) };
        let names: Vec<_> = choices.iter().map(|choice| choice.0).collect();
        self.choice_index(name, json, &names).map(|index| choices[index].1.clone())
    }

    /// Returns the index of a string among some. Reports any other value.
    fn choice_index(&mut self, name: &str, json: &Json, choices: &[&str]) -> Option<usize> {
        let index = json.as_str().and_then(|text| choices.iter().position(|choice| *choice == text));
        index.or_else(|| {
            let expected = format!("one of \"{}\"", choices.join("\", \""));
            self.unexpected(wrong(json.as_str().is_some()), name, &expected, json)
        })
    }

    /// Returns an integer of a range. Reports any other value.
    pub(crate) fn checked_integer<T>(&mut self, name: &str, json: &Json, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + std::fmt::Display,
    {
        let number = json.as_i128().and_then(|value| T::try_from(value).ok()).filter(|value| range.contains(value));
        number.or_else(|| {
            let expected = format!("an integer from {} to {}", range.start(), range.end());
            self.unexpected(wrong(json.as_number().is_some()), name, &expected, json)
        })
    }
}

/// Returns the code for a wrong value, or for a value of the wrong JSON type.
pub(crate) const fn wrong(is_type_right: bool) -> Code {
    if is_type_right { code::CONFIGURATION_VALUE } else { code::CONFIGURATION_TYPE }
}

/// The most characters of a value in a message.
const SHOWN: usize = 40;

/// Returns a JSON value for a message, shortened.
pub(crate) fn shown(json: &Json) -> String {
    match json {
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => shortened(number.literal().to_owned(), SHOWN),
        Json::String(text) => format!("{:?}", shortened(text.to_string(), SHOWN)),
        other => other.kind().to_owned(),
    }
}
