//! Kernels compared with plain references. These tests are outside of the crate so that it is compiled once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bit_pairs;
mod delta;
mod differences;
mod filters;
mod float_format;
mod keep_bits;
mod missing;
mod quality;
mod quantize;
mod summary;
mod transpose;
