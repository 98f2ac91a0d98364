//! The tables of the members of configurations: the form of each, and the value where it is absent; numcodecs takes null
//! for nothing.
//!
//! Documentation: <https://numcodecs.readthedocs.io/>

use crate::data_type::DataType;
use crate::element::{ElementType, NumberType};
use crate::metadata::json::{Json, Object};

/// The form of a member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// An integer of a range.
    Integer(i64, i64),
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// One of some strings.
    Choice(&'static [&'static str]),
    /// A data type as numpy writes it.
    DataType,
    /// Anything; numcodecs says more.
    Any,
}

/// The value that numcodecs takes for an absent member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Absent {
    /// It takes no absence.
    Refused,
    /// It goes without.
    Nothing,
    /// An integer.
    Integer(i64),
    /// A boolean.
    Boolean(bool),
    /// A string.
    Text(&'static str),
}

/// A member of a configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    /// The name.
    pub(crate) name: &'static str,
    /// The form.
    pub(crate) form: Form,
    /// The value where it is absent.
    pub(crate) absent: Absent,
}

impl Member {
    /// A member that may be absent.
    pub(crate) const fn new(name: &'static str, form: Form, absent: Absent) -> Self {
        Member { name, form, absent }
    }

    /// A member that must be there.
    pub(crate) const fn required(name: &'static str, form: Form) -> Self {
        Member { name, form, absent: Absent::Refused }
    }
}

/// Sets the members that numcodecs gives a value where the document has none.
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

/// A number type as numpy writes it: `<f4`, `|u1`, `i2`, `float32`, `bool`. The byte order does not matter: an array
/// has none between codecs.
pub(crate) fn numpy_data_type(text: &str) -> Option<DataType> {
    let plain = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    if let Some(data_type) = DataType::from_name(plain) {
        let is_numpy = match &data_type {
            DataType::Bool => true,
            DataType::Number(number) => number.small_float().is_none() && number.is_whole(),
            DataType::Complex(component) => component.bits() > 16,
            _ => false,
        };
        return (is_numpy && plain == text).then_some(data_type);
    }
    let (kind, size) = plain.split_at_checked(1)?;
    let size: usize = size.parse().ok()?;
    let float = |size: usize| {
        let floats = [ElementType::Float16, ElementType::Float32, ElementType::Float64];
        floats.into_iter().find(|float| float.size() == size).map(NumberType::of)
    };
    let integer = |signed| {
        let bits = u32::try_from(size).ok()?.checked_mul(8)?;
        NumberType::integer(signed, bits).filter(|number| number.is_whole())
    };
    match kind {
        "b" if size == 1 => Some(DataType::Bool),
        "i" => integer(true).map(DataType::Number),
        "u" => integer(false).map(DataType::Number),
        "f" => float(size).map(DataType::Number),
        "c" if size >= 8 => float(size / 2).filter(|float| float.size() * 2 == size).map(DataType::Complex),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numpy_names_are_data_types() {
        for (text, name) in [
            ("<f4", "float32"),
            (">c16", "complex128"),
            ("|u1", "uint8"),
            ("i8", "int64"),
            ("float16", "float16"),
            ("bool", "bool"),
            ("|b1", "bool"),
        ] {
            assert_eq!(numpy_data_type(text).map(|found| found.name()).as_deref(), Some(name), "{text}");
        }
        for text in ["", "f", "<f3", "i3", "<uint8", "r8", "uint10", "bfloat16", "<U4", "c4", "f-4", "é4"] {
            assert_eq!(numpy_data_type(text), None, "{text}");
        }
    }
}
