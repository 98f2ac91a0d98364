//! The purpose of a command, which decides the severity of findings.

/// For what a store is looked at. A profile judges as the one that it is made from, but for what its codes say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// The store is held against the specification (`validate`).
    Validate,
    /// The store is read as far as it can be: what `validate` forbids, but has one meaning, is a warning
    /// (SEMANTICS: C1, C2, C12, C16, C18). Made from [`Profile::Validate`].
    Read,
    /// Values are asked for: what keeps them from being decoded is an error. Made from [`Profile::Read`].
    Values,
    /// The store is read to be written elsewhere: copies of its documents in consolidated metadata are made anew, and
    /// faults in them are warnings. Made from [`Profile::Read`].
    Source,
    /// An array that would be written, and whose fill value must come back bit for bit. Made from [`Profile::Read`].
    Write,
    /// The same, whatever becomes of its fill value (`--no-fill-check`). Made from [`Profile::Write`].
    WriteAnyFillValue,
}

impl Profile {
    /// The profile that it differs from in a few codes.
    pub(super) const fn base(self) -> Option<Profile> {
        match self {
            Profile::Validate => None,
            Profile::Read => Some(Profile::Validate),
            Profile::Values | Profile::Source | Profile::Write => Some(Profile::Read),
            Profile::WriteAnyFillValue => Some(Profile::Write),
        }
    }
}
