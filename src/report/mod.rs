//! Results for people and programs: text and JSON over any `Write`, and progress on the terminal.

pub mod apply_codec_text;
pub mod failure;
pub mod github;
pub mod inspect_text;
pub mod json;
pub mod junit;
pub mod progress;
pub mod quantity;
pub mod sarif;
pub mod table;
pub mod terminal;
pub mod transcode_text;
mod uri;
pub mod validate_text;
