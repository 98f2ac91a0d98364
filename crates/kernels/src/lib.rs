//! Types of array elements, and arithmetic over slices of them. It is a separate crate so that it is compiled once for
//! the program and its tests. It changes without notice.

pub mod element;
pub mod kernel;
