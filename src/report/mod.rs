//! Results for people and programs: text and JSON over any `Write`, pages with pictures, and progress on the terminal.

pub mod apply_codec_text;
mod colour_map;
pub mod defused;
pub mod failure;
pub mod github;
mod grouped;
pub mod html;
mod inspect_information;
pub mod inspect_preview;
pub mod inspect_text;
pub mod inspect_tree;
mod inspect_values;
pub mod json;
pub mod junit;
pub mod parts_text;
pub mod progress;
mod progress_line;
mod quality_text;
pub mod quantity;
mod sample_text;
pub mod sarif;
pub mod table;
pub mod terminal;
pub mod transcode_text;
mod uri;
pub mod validate_text;
mod width;
