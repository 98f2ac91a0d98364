//! Where arrays and files lie.

pub mod file;
