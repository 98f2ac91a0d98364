//! Results for people and programs: text and JSON over any `Write`, and progress on the terminal.

pub mod apply_codec_text;
pub mod defused;
pub mod failure;
pub mod inspect_text;
pub mod json;
pub mod progress;
pub mod quantity;
pub mod table;
pub mod terminal;
pub mod transcode_text;
