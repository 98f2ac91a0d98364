//! A quantisation: what was asked for, what the data hold, the type, scale and offset that follow, and its error.

pub(super) mod first_pass;
pub(super) mod quantization;
pub(super) mod range;
pub(super) mod readers;
pub(super) mod request;
mod settle;
mod widest_step;
mod worst_error;

pub(crate) use first_pass::{FirstPass, Survey};
pub(crate) use quantization::Quantization;
pub(crate) use range::{Codes, FloatType, RangeFinder, Scaling};
pub(crate) use request::Request;
