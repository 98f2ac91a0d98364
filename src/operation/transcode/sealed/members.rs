//! Members of the document of a plan: written where they say something, read back with their place in the message.

use crate::data_type::DataType;
use crate::element::NumberType;
use crate::metadata::json::{Json, Number, Object};

/// A member of a written plan is missing, or not what its form has there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{member}` is {found}, and should be {expected}")]
pub(in crate::operation::transcode) struct PlanFault {
    member: String,
    found: String,
    expected: &'static str,
}

impl PlanFault {
    /// A fault of a member, which may be missing.
    pub(in crate::operation::transcode) fn of(
        member: &str,
        found: Option<&Json>,
        expected: &'static str,
    ) -> Self {
        let found = found.map_or_else(|| "missing".to_owned(), Json::excerpt);
        PlanFault { member: member.to_owned(), found, expected }
    }

    /// The fault with the place of the object that the member is in.
    #[must_use]
    pub(in crate::operation::transcode) fn inside(self, place: &str) -> Self {
        PlanFault { member: format!("{place}/{}", self.member), ..self }
    }
}

/// A member that must be there.
pub(in crate::operation::transcode) fn required<'a, T>(
    of: &'a Json,
    name: &str,
    expected: &'static str,
    read: impl FnOnce(&'a Json) -> Option<T>,
) -> Result<T, PlanFault> {
    let found = of.get(name);
    found.and_then(read).ok_or_else(|| PlanFault::of(name, found, expected))
}

/// A member that is left out where there is nothing to say.
pub(in crate::operation::transcode) fn optional<'a, T>(
    of: &'a Json,
    name: &str,
    expected: &'static str,
    read: impl FnOnce(&'a Json) -> Option<T>,
) -> Result<Option<T>, PlanFault> {
    of.get(name)
        .map(|found| read(found).ok_or_else(|| PlanFault::of(name, Some(found), expected)))
        .transpose()
}

/// A switch, which is left out where it is off.
pub(in crate::operation::transcode) fn switch(of: &Json, name: &str) -> Result<bool, PlanFault> {
    Ok(optional(of, name, "true or false", Json::as_bool)?.unwrap_or(false))
}

/// Adds a member, unless there is nothing to say.
pub(in crate::operation::transcode) fn put<T>(
    to: &mut Object,
    name: &str,
    value: Option<&T>,
    write: impl FnOnce(&T) -> Json,
) {
    if let Some(value) = value {
        to.insert(name, write(value));
    }
}

/// Adds a switch that is on.
pub(in crate::operation::transcode) fn put_switch(to: &mut Object, name: &str, is_on: bool) {
    if is_on {
        to.insert(name, true);
    }
}

/// A finite number, whose shortest literal gives the same bits back.
pub(in crate::operation::transcode) fn float(value: f64) -> Json {
    Number::from_f64_shortest(value).map_or(Json::Null, Json::Number)
}

/// A number as [`float`] writes it.
pub(in crate::operation::transcode) fn read_float(json: &Json) -> Option<f64> {
    json.as_number().map(Number::as_f64).filter(|value| value.is_finite())
}

/// An integer of 64 bits.
pub(in crate::operation::transcode) fn read_integer(json: &Json) -> Option<i64> {
    json.as_i128().and_then(|value| i64::try_from(value).ok())
}

/// A list, each element as `read` has it.
pub(in crate::operation::transcode) fn read_list<T>(
    json: &Json,
    read: impl FnMut(&Json) -> Option<T>,
) -> Option<Vec<T>> {
    json.as_array()?.iter().map(read).collect()
}

/// Numbers without sign.
pub(in crate::operation::transcode) fn list(values: &[u64]) -> Json {
    Json::Array(values.iter().map(|value| Json::from(*value)).collect())
}

/// A text.
pub(in crate::operation::transcode) fn read_text(json: &Json) -> Option<String> {
    json.as_str().map(str::to_owned)
}

/// A type of numbers, by its name.
pub(in crate::operation::transcode) fn read_number_type(json: &Json) -> Option<NumberType> {
    DataType::from_metadata(json).ok()?.number()
}

/// The value of a name.
pub(in crate::operation::transcode) fn named<T: Copy>(names: &[(&str, T)], json: &Json) -> Option<T> {
    let text = json.as_str()?;
    names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

/// The name of a value.
pub(in crate::operation::transcode) fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> Json {
    names.iter().find(|(_, other)| other == value).map_or(Json::Null, |(name, _)| Json::from(*name))
}
