//! Results for people and programs: text, JSON, HTML pages with pictures, and progress on the terminal.

mod block;
pub mod failure;
pub mod formats;
pub mod html;
pub mod inspect;
pub mod inspect_preview;
pub mod progress;
pub mod quantity;
mod quantization;
pub mod table;
pub mod terminal;
pub mod text;
pub mod transcode;
pub mod validate;

pub use block::Report;
