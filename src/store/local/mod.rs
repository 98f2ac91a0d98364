//! Stores in local folders.

mod confined;
mod object;
mod store;
mod tree;

pub(super) use confined::beside;
pub(super) use object::FileReader;
pub(super) use store::io_error;
pub use store::{LocalStore, Modes};
pub(super) use tree::{is_mount_point, link_into, make_scratch, relation, rename, replace_file, resolved, sync_folder};
