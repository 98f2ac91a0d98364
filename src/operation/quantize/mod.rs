//! A quantisation: the request, the results from the data, the type, scale and offset that follow, and the error.

pub(super) mod quantization;
pub(super) mod range;
pub(super) mod request;

pub(crate) use quantization::Quantization;
pub(crate) use range::{Codes, FloatType, RangeFinder, Scaling, elements_of};
pub(crate) use request::{FirstPass, FirstPassStats, Request};
