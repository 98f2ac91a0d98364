//! A quantisation: what was asked for, what the data hold, the type, scale and offset that follow, and its error.

pub(in crate::operation) mod first_pass;
mod fit;
mod grid;
pub(in crate::operation) mod measure;
pub(in crate::operation) mod quantization;
pub(in crate::operation) mod range;
pub(in crate::operation) mod readers;
pub(in crate::operation) mod request;
mod settle;
pub(in crate::operation) mod survey;
mod widest_step;
mod worst_error;
