//! Results for people and programs: text, JSON, HTML pages with pictures, and progress on the terminal.

mod block;
pub mod failure;
pub mod formats;
pub mod github;
pub mod html;
mod information;
pub mod inspect;
pub mod inspect_preview;
mod inspect_values;
pub mod junit;
pub mod parts;
pub mod progress;
pub mod quantity;
mod quantization;
mod sample;
pub mod sarif;
pub mod table;
pub mod terminal;
pub mod text;
pub mod transcode;
pub mod validate;

pub use block::Report;
