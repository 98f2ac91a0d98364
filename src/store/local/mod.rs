//! Stores in local folders.

mod confined;
mod copy;
mod log;
mod object;
mod site;
mod store;
mod tree;

pub use store::LocalStore;
use store::io_error;
