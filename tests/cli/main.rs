//! The program, run as its users run it: exit statuses, messages, results.

#![expect(clippy::disallowed_methods, reason = "tests make and look at files")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails says where")]

#[path = "../support/mod.rs"]
mod support;

mod against;
mod apply_codec;
mod bad_input;
mod exit_status;
mod generators;
mod help;
mod inspect;
mod rechunk;
mod signals;
mod transcode;
mod validate;
mod version_2;
