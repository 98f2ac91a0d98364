//! What goes wrong in a store.

use super::Result;

/// A store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system below the store refused.
    #[error("cannot {action} {object}")]
    Io {
        /// The attempted action: `read`, `create`.
        action: &'static str,
        /// The object or folder, as messages name it.
        object: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Something that is no regular file stands where an object should.
    #[error("{object} is {found}, not a regular file")]
    NotAFile {
        /// The object, as messages name it.
        object: String,
        /// `a folder`, `a FIFO`, ...
        found: &'static str,
    },
    /// An object is larger than what it can hold.
    #[error("{object} holds {found} bytes, at most {bound} expected")]
    TooLarge {
        /// The object, as messages name it.
        object: String,
        /// Its size in bytes.
        found: u64,
        /// The bound in bytes.
        bound: u64,
    },
    /// An object was there, and was not when it was read.
    #[error("{object} was removed while it was read")]
    Vanished {
        /// The object, as messages name it.
        object: String,
    },
    /// An object ends before what is to be read of it.
    #[error("{object} holds {found} bytes, {end} were expected")]
    TooShort {
        /// The object, as messages name it.
        object: String,
        /// Its size in bytes.
        found: u64,
        /// The bytes that it needs to have.
        end: u64,
    },
    /// An object, or the file that holds it, breaks its format.
    #[error("{object} is damaged: {reason}")]
    Damaged {
        /// The object, as messages name it.
        object: String,
        /// The fault.
        reason: String,
    },
    /// A key that could leave the store.
    #[error("the key {key:?} is not a path inside the store")]
    Key {
        /// The key.
        key: String,
    },
    /// A store behind a network did not do what was asked.
    #[error("{0}")]
    Remote(#[source] Box<RemoteError>),
}

/// A failed request to a store behind a network.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {object}: {why}")]
pub struct RemoteError {
    /// The attempted action: `read`, `list`.
    pub action: &'static str,
    /// The object or folder, as messages name it.
    pub object: String,
    /// The reason, without any secret.
    pub why: String,
    /// The next step.
    pub help: String,
    /// The store knows who asks, or does not want to, and says no (403).
    pub is_refused: bool,
}

impl StoreError {
    /// True if the data are at fault (a folder where a chunk should be), not the machine.
    pub fn is_data_fault(&self) -> bool {
        !matches!(self, StoreError::Io { .. } | StoreError::Vanished { .. } | StoreError::Remote(_))
    }

    /// True if the store refuses this object (403), and may give others.
    pub fn is_refused(&self) -> bool {
        matches!(self, StoreError::Remote(error) if error.is_refused)
    }

    /// An error where an object of `found` bytes, or what is wanted of one, has more than `bound`.
    pub(super) fn check_size(found: u64, bound: u64, object: impl FnOnce() -> String) -> Result<()> {
        if found <= bound { Ok(()) } else { Err(StoreError::TooLarge { object: object(), found, bound }) }
    }

    /// The error of `length` bytes from `offset` of an object that has fewer.
    pub(super) fn too_short(object: String, found: u64, (offset, length): (u64, u64)) -> Self {
        StoreError::TooShort { object, found, end: offset.saturating_add(length) }
    }

    /// The error of an object that ended while it was copied.
    pub(super) fn cut_short(object: String, copied: u64, length: u64) -> Self {
        let source = std::io::Error::other(format!("{copied} of {length} bytes were copied"));
        StoreError::Io { action: "copy", object, source }
    }

    /// The error of what a store of this kind has not.
    pub(super) fn unsupported(action: &'static str, object: String) -> Self {
        StoreError::Io { action, object, source: std::io::ErrorKind::Unsupported.into() }
    }
}
