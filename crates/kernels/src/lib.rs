//! Types of array elements, and arithmetic over slices of them. It is a crate of its own so that it is compiled once for the program
//! and its tests; it changes without notice.

pub mod element;
pub mod kernel;
