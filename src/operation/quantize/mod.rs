//! A quantisation: what was asked for, what the data hold, the type, scale and offset that follow, and its error.

pub(super) mod first_pass;
pub(super) mod quantization;
pub(super) mod range;
pub(super) mod readers;
pub(super) mod request;
mod settle;
mod widest_step;
mod worst_error;

pub(in crate::operation) use first_pass::{FirstPass, Survey};
pub(in crate::operation) use quantization::Quantization;
pub(in crate::operation) use range::{Codes, FloatType, RangeFinder, Scaling};
pub(in crate::operation) use request::Request;
