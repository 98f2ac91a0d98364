//! What is wrong with a zip file, or with a member of it.

use rawzip::ErrorKind;

use crate::store::StoreError;

/// A fault of a zip file, or of the store that it lies in.
#[derive(Debug, thiserror::Error)]
pub(super) enum ZipFault {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("it has no end: the file is cut short, or was not copied whole")]
    NoEnd,
    #[error("its directory cannot be read ({0})")]
    Directory(String),
    #[error("its directory is to have {claimed} entries, and has {found}")]
    Count { claimed: u64, found: u64 },
    #[error("the name of its member {0:?} is an absolute path")]
    Absolute(String),
    #[error("the name of its member {0:?} leads out of it")]
    LeadsOut(String),
    #[error("its members {0:?} and {1:?} overlap")]
    Overlap(Box<str>, Box<str>),
    #[error("its member {0:?} goes on beyond the end of the data")]
    BeyondEnd(Box<str>),
}

impl ZipFault {
    /// The fault that the reader of directories tells of.
    pub(super) fn of(error: rawzip::Error) -> Self {
        match error.into_kind() {
            ErrorKind::IO(error) => match error.downcast::<StoreError>() {
                Ok(error) => ZipFault::Store(error),
                Err(error) => ZipFault::Directory(error.to_string().to_lowercase()),
            },
            ErrorKind::MissingEndOfCentralDirectory => ZipFault::NoEnd,
            kind => ZipFault::Directory(kind.to_string().to_lowercase()),
        }
    }

    /// The same as an error of the store, of the zip of this name.
    pub(super) fn in_zip(self, zip: &str) -> StoreError {
        match self {
            ZipFault::Store(error) => error,
            fault => StoreError::Damaged { object: zip.to_owned(), reason: fault.to_string() },
        }
    }
}
