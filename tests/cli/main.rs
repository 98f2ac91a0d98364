//! The program, run as its users run it: exit statuses, messages, results.

#[path = "../support/mod.rs"]
mod support;

mod apply_codec;
mod exit_status;
mod generators;
mod help;
