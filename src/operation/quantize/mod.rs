//! A quantisation: the request, the results from the data, the type, scale and offset that follow, and the error.

pub(super) mod first_pass;
pub(super) mod quantization;
pub(super) mod range;
pub(super) mod readers;
pub(super) mod request;
mod widest_step;

pub(crate) use first_pass::FirstPass;
pub(crate) use quantization::Quantization;
pub(crate) use range::{Codes, FloatType, RangeFinder, Scaling};
pub(crate) use request::{FirstPassStats, Request};
pub(crate) use widest_step::elements_of;
