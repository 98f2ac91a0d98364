//! Where arrays lie. Only this row touches files.

mod confined;
mod copy;
mod entry;
pub(crate) mod fault;
pub mod file;
pub mod file_format;
pub mod local;
pub mod location;
pub mod log;
pub mod machine;
mod object;
pub mod tree;

pub use entry::{EntryKind, FolderListing, LinkTarget};
pub use local::Node;
pub use location::{Location, LocationError};
pub use log::LogFile;
pub use object::{ObjectReader, ObjectWriter};

use std::path::PathBuf;

/// A store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// What was attempted: `read`, `create`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Something that is no regular file stands where an object should.
    #[error("{} is {found}, not a regular file", .path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// `a folder`, `a FIFO`, ...
        found: &'static str,
    },
    /// An object is larger than what it can hold.
    #[error("{} holds {found} bytes, at most {bound} expected", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        found: u64,
        /// The bound in bytes.
        bound: u64,
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
        matches!(self, StoreError::NotAFile { .. } | StoreError::TooLarge { .. } | StoreError::Key { .. })
    }
}
