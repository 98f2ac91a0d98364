//! Stores in local folders.

mod confined;
mod store;
mod tree;

pub(super) use confined::beside;
pub(super) use store::{FileReader, io_error};
pub use store::{LocalStore, Modes};
pub(super) use tree::{is_mount_point, link_into, make_scratch, relation, rename, replace_file, resolved, sync_folder};
