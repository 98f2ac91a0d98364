//! A quantisation: the request, the results from the data, the type, scale and offset that follow, and the error.

mod float_type;
pub(super) mod quantization;
pub(super) mod range;
pub(super) mod request;
mod widest_step;

pub(crate) use float_type::{FloatType, elements_of};
pub(crate) use quantization::Quantization;
pub(crate) use range::{Codes, RangeFinder, Scaling};
pub(crate) use request::{FirstPass, FirstPassStats, Request};
