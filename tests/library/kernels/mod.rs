//! The kernels against a slow exact reference, against the sentences of the specifications, and against
//! another implementation.
//!
//! `ZARRCAST_EXHAUSTIVE=1` makes the tests of float32 sources try all 2^32 values instead of a stratified sample.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "what `as` and == do to numbers is what these tests compare with"
)]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cast;
mod cast_value_procedure;
mod float32;
mod one_element;
mod other_implementation;
mod quantize;
mod quantize_case;
#[path = "../../support/reference/mod.rs"]
mod reference;
mod reference_itself;
mod scale_offset;
mod small_floats;
mod statistics;
mod strategies;
mod subject;
