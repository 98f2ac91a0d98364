//! Errors of stores.

use super::Result;

/// Failure of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system returned an error.
    #[error("cannot {action} {object}")]
    Io {
        /// The attempted action: `read`, `create`.
        action: &'static str,
        /// Name of the object or folder in messages.
        object: String,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// An entry that is not a regular file exists at the key of an object.
    #[error("{object} is {found}, not a regular file")]
    NotAFile {
        /// Name of the object in messages.
        object: String,
        /// `a folder`, `a FIFO`, ...
        found: &'static str,
    },
    /// An object is larger than expected.
    #[error("{object} holds {found} bytes, at most {bound} expected")]
    TooLarge {
        /// Name of the object in messages.
        object: String,
        /// Size in bytes.
        found: u64,
        /// Largest expected size in bytes.
        bound: u64,
    },
    /// An object was removed before it was read. Contains its name in messages.
    #[error("{0} was removed while it was read")]
    Vanished(String),
    /// An object ends before the range that is read.
    #[error("{object} holds {found} bytes, {end} were expected")]
    TooShort {
        /// Name of the object in messages.
        object: String,
        /// Size in bytes.
        found: u64,
        /// Size in bytes that is needed.
        end: u64,
    },
    /// An object, or the file that contains it, violates its format.
    #[error("{object} is damaged: {reason}")]
    Damaged {
        /// Name of the object in messages.
        object: String,
        /// Description of the fault.
        reason: String,
    },
    /// An object in a form that this program does not read.
    #[error("{object} is not read: {reason}")]
    Unsupported {
        /// Name of the object in messages.
        object: String,
        /// Description of the form.
        reason: String,
    },
    /// A key that could leave the store.
    #[error("the key {0:?} is not a path inside the store")]
    Key(String),
    /// A remote store failed, or a store refuses the object.
    #[error("{0}")]
    Remote(#[source] Box<RemoteError>),
}

/// Failed request to a remote store, or refused access to an object.
#[derive(Debug, Default, thiserror::Error)]
#[error("cannot {action} {object}: {why}")]
pub struct RemoteError {
    /// The attempted action: `read`, `list`.
    pub action: &'static str,
    /// Name of the object or folder in messages.
    pub object: String,
    /// The reason, without any secret.
    pub why: String,
    /// The next step.
    pub help: String,
    /// The store refuses this object (403), with or without credentials.
    pub is_refused: bool,
    /// The store does not accept the credentials (401), so it refuses every object.
    pub is_unauthorized: bool,
}

impl StoreError {
    /// Returns true if the data are at fault (a folder where a chunk should be), not the machine.
    pub fn is_data_fault(&self) -> bool {
        !matches!(self, StoreError::Io { .. } | StoreError::Vanished(_) | StoreError::Remote(_))
    }

    /// Returns true if the store does not accept the credentials (401). It returns no object.
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, StoreError::Remote(error) if error.is_unauthorized)
    }

    /// Returns true if the store refuses this object (403). It may still return others.
    pub fn is_refused(&self) -> bool {
        matches!(self, StoreError::Remote(error) if error.is_refused)
    }

    /// Returns true if the fault is of this object alone: its data, or the store refuses it. Others can be read.
    pub fn is_of_object(&self) -> bool {
        self.is_data_fault() || self.is_refused()
    }

    /// Returns the error of a failed or refused request.
    pub(crate) fn remote(error: RemoteError) -> Self {
        StoreError::Remote(Box::new(error))
    }

    /// Returns the next step that a store gives.
    pub fn next_step(&self) -> Option<&str> {
        if let StoreError::Remote(error) = self { Some(&error.help) } else { None }
    }

    /// Keeps a fault of one object apart from those that end the work.
    pub(super) fn apart<T>(found: Result<T>) -> Result<Result<T>> {
        if found.as_ref().is_err_and(|error| !error.is_of_object()) { found.map(Ok) } else { Ok(found) }
    }

    /// Fails if an object, or the requested part of one, has more than `bound` bytes.
    pub(super) fn check_size(found: u64, bound: u64, object: impl FnOnce() -> String) -> Result<()> {
        if found <= bound { Ok(()) } else { Err(StoreError::TooLarge { object: object(), found, bound }) }
    }

    /// Returns the error for a read of `length` bytes from `offset` of a shorter object.
    pub(super) fn too_short(object: String, found: u64, (offset, length): (u64, u64)) -> Self {
        StoreError::TooShort { object, found, end: offset.saturating_add(length) }
    }

    /// Returns the error for an object that ended during a copy.
    pub(super) fn cut_short(object: String, copied: u64, length: u64) -> Self {
        Self::io("copy", object, std::io::Error::other(format!("{copied} of {length} bytes were copied")))
    }

    /// Returns the error of a call of the operating system, or one of that kind.
    pub(super) fn io(action: &'static str, object: String, source: impl Into<std::io::Error>) -> Self {
        StoreError::Io { action, object, source: source.into() }
    }

    /// Returns the error for an operation that this kind of store does not have.
    pub(super) fn unsupported(action: &'static str, object: String) -> Self {
        Self::io(action, object, std::io::ErrorKind::Unsupported)
    }
}
