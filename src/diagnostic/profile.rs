//! The purpose of a command, which decides the severity of findings.

/// The purpose of a command. A profile has the severities of the profile that it is made from, except for a few codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Checks the store against the specification (`validate`).
    Validate,
    /// Reads the store as far as possible. An error of `validate` whose meaning is unambiguous is a warning (SEMANTICS:
    /// C1, C2, C12, C16, C18). Made from [`Profile::Validate`].
    Read,
    /// Needs the values. Anything that prevents decoding them is an error. Made from [`Profile::Read`].
    Values,
    /// Reads the store to write it elsewhere. Consolidated metadata is made again, so faults in its copies are
    /// warnings. Made from [`Profile::Read`].
    Source,
    /// Checks an array before writing. Its fill value must be encoded and decoded bit for bit. Made from
    /// [`Profile::Read`].
    Write,
    /// Reads or writes an array with any fill value (`--no-fill-check`). Made from [`Profile::Read`].
    AnyFillValue,
}

impl Profile {
    /// Returns the profile that it is made from. `None` for [`Profile::Validate`].
    pub(super) const fn base(self) -> Option<Profile> {
        match self {
            Profile::Validate => None,
            Profile::Read => Some(Profile::Validate),
            Profile::Values | Profile::Source | Profile::Write | Profile::AnyFillValue => Some(Profile::Read),
        }
    }
}
