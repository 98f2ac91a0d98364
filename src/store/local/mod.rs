//! Stores in local folders.

mod confined;
mod copy;
mod log;
mod object;
mod publish;
pub(super) mod scratch;
mod store;
mod tree;

pub(super) use object::{FileReader, FileWriter};
pub(super) use publish::beside;
pub(super) use store::io_error;
pub use store::{LocalStore, Modes};
pub(super) use tree::{is_mount_point, link_into, relation, rename, replace_file, resolved, sync_folder};
