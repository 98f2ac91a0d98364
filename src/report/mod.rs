//! Results for people and programs: text, JSON, HTML pages with pictures, and progress on the terminal.

pub mod failure;
pub mod formats;
pub mod html;
pub mod inspect;
pub mod inspect_preview;
pub mod quantity;
pub mod table;
pub mod terminal;
pub mod text;
pub mod transcode;
pub mod validate;

pub use text::Report;
