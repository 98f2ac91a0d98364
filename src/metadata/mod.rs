//! Zarr documents: a lenient parse that keeps every literal and knows where it is, and editing that changes
//! nothing else.

pub mod json;
