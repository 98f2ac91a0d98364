//! Results for people and programs: text and JSON over any `Write`, pages with pictures, and progress on the terminal.

pub mod apply_codec_text;
mod block;
mod colour_map;
pub mod defused;
pub mod failure;
pub mod github;
mod histogram;
pub mod html;
pub mod inspect;
mod inspect_information;
pub mod inspect_preview;
mod inspect_values;
pub mod json;
pub mod junit;
pub mod parts;
pub mod progress;
pub mod quantity;
mod quantization;
mod sample;
pub mod sarif;
pub mod table;
pub mod terminal;
mod text;
pub mod transcode;
mod uri;
pub mod validate;

pub use block::Report;
