//! What goes wrong in a store.

/// A store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system below the store refused.
    #[error("cannot {action} {object}")]
    Io {
        /// What was attempted: `read`, `create`.
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
    /// What holds an object, or the object itself, is not as its format has it.
    #[error("{object} is damaged: {reason}")]
    Damaged {
        /// The object, as messages name it.
        object: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A key that could leave the store.
    #[error("the key {key:?} is not a path inside the store")]
    Key {
        /// The key.
        key: String,
    },
}

impl StoreError {
    /// Whether the data are at fault (a folder where a chunk should be), not the machine.
    pub fn is_data_fault(&self) -> bool {
        !matches!(self, StoreError::Io { .. })
    }

    /// The error of what a store of this kind has not.
    pub(super) fn unsupported(action: &'static str, object: String) -> Self {
        StoreError::Io { action, object, source: std::io::ErrorKind::Unsupported.into() }
    }
}
