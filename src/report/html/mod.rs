//! Results as one HTML page: all that the text says, and pictures. The page needs nothing from elsewhere, no script either.
//!
//! Names and texts of a store are hostile: the macro escapes what HTML acts on, and [`text`] what writing acts on.

mod chart;
mod comparison;
mod findings;
mod inspect;
mod level;
mod page;
mod parts;
mod picture;
mod scale;
mod transcode;
mod validate;

pub use inspect::{Inspected, inspect};
pub use transcode::transcode;
pub use validate::validate;

use super::defused::one_line;

/// Text from a store: control characters, and those that turn the direction of writing, as escapes.
fn text(text: &str) -> String {
    one_line(text).into_owned()
}
