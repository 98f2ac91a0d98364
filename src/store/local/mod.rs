//! Stores in local folders.

mod confined;
mod copy;
pub(crate) mod fault;
pub(super) mod object;
mod store;
pub mod tree;

pub use store::LocalStore;
pub(super) use store::io_error;
