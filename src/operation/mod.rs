//! What a command does, with no terminal in sight: options in, a result or an error out.

pub mod error;
pub mod options;
pub mod progress;
