//! Stores in local folders.

mod confined;
mod copy;
mod log;
mod object;
mod publish;
pub(super) mod scratch;
mod site;
mod store;
mod tree;

pub(super) use object::{FileReader, FileWriter};
pub(super) use site::LocalSite;
pub(super) use store::io_error;
pub use store::{LocalStore, Modes};
pub(super) use tree::resolved;
