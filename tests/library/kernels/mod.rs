//! The kernels compared with a slow exact reference, with the sentences of the specifications, and with another
//! implementation.
//!
//! With `ZARRCAST_EXHAUSTIVE=1` the tests of float32 sources use all 2^32 values instead of a stratified sample.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "these tests compare with the results of `as` and =="
)]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cast;
mod cast_value_procedure;
mod float32;
mod one_element;
mod other_implementation;
mod quantize;
mod quantize_case;
#[path = "../../../crates/kernels/tests/reference/mod.rs"]
mod reference;
mod reference_itself;
mod scale_offset;
mod small_floats;
mod statistics;
mod strategies;
mod subject;
