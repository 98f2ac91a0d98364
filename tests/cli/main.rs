//! The program, run as its users run it: exit statuses, messages, results.

#![expect(clippy::disallowed_methods, reason = "tests make and look at files")]

#[path = "../support/mod.rs"]
mod support;

mod apply_codec;
mod exit_status;
mod generators;
mod help;
mod inspect;
