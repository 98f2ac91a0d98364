//! The members of a data type's configuration.

use std::fmt::Display;

use super::error::{DataTypeError, MAX_ELEMENT_SIZE};
use crate::metadata::json::{Json, Object};

/// The members of one configuration.
pub(super) struct Members<'a> {
    pub(super) name: &'a str,
    object: &'a Object,
}

impl<'a> Members<'a> {
    /// An error where there is no configuration, or a member that is not `known`.
    pub(super) fn new(
        name: &'a str,
        configuration: Option<&'a Object>,
        known: &'static [&'static str],
    ) -> Result<Self, DataTypeError> {
        let object = configuration.ok_or_else(|| missing(name, known[0]))?;
        match object.names().find(|member| !known.contains(member)) {
            None => Ok(Members { name, object }),
            Some(member) => {
                let (member, known) = (Json::from(member).excerpt(), known.join(" and "));
                let message = format!("the configuration of {name:?} has no member {member}, only {known}");
                Err(DataTypeError::new("/configuration", message))
            }
        }
    }

    /// A member that must be there.
    pub(super) fn require(&self, member: &'static str) -> Result<&'a Json, DataTypeError> {
        self.object.get(member).ok_or_else(|| missing(self.name, member))
    }

    /// The fault of a member, or of what is inside it.
    pub(super) fn fault(&self, member: impl Display, expected: impl Display, found: &Json) -> DataTypeError {
        let message = format!("`{member}` of {:?}: expected {expected}, found {}", self.name, found.excerpt());
        DataTypeError::new(&format!("/configuration/{member}"), message)
    }

    /// `length_bytes`, a positive multiple of `unit`; `None` where it is more than this program reads.
    pub(super) fn length(&self, unit: u64) -> Result<Option<usize>, DataTypeError> {
        let json = self.require("length_bytes")?;
        let length = json.as_u64().filter(|&length| length > 0 && length % unit == 0).ok_or_else(|| {
            let of = if unit == 1 { String::new() } else { format!(" that is a multiple of {unit}") };
            self.fault("length_bytes", format!("a positive integer{of}"), json)
        })?;
        Ok(usize::try_from(length).ok().filter(|&length| length <= MAX_ELEMENT_SIZE))
    }
}

/// The configuration, or a member of it, is missing.
fn missing(name: &str, member: &str) -> DataTypeError {
    DataTypeError::new("", format!("the data type {name:?} needs a configuration with `{member}`"))
}
