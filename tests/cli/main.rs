//! The program, run as its users run it: exit statuses, messages, results.

#![expect(clippy::disallowed_methods, reason = "tests write and read files")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed test reports the line")]

#[path = "../support/mod.rs"]
mod support;

mod cases;
#[cfg(all(unix, feature = "remote"))]
mod clocks;
mod drawn;
mod estimate;
mod generators;
mod help;
// Other systems limit the address space differently, or not at all.
#[cfg(target_os = "linux")]
mod hostile;
mod hostile_names;
mod inspect_preview;
#[cfg(unix)]
mod inspect_tree;
mod inspect_values;
mod keep_bits;
mod kept;
#[cfg(target_os = "linux")]
mod memory;
mod numcodecs;
mod parts;
#[cfg(unix)]
mod progress;
mod quality;
mod quantise;
mod rectilinear;
#[cfg(feature = "remote")]
mod remote;
mod report;
mod report_page;
mod resume;
mod rules;
mod select;
mod signals;
mod sparse;
mod suggest_ways;
mod transcode;
mod two_passes;
mod unread;
mod validate;
mod validate_levels;
mod verdicts;
mod zip;
mod zip_write;
