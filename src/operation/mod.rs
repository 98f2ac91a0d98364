//! What a command does, with no terminal in sight: options in, a result or an error out.

pub mod against;
pub mod apply_codec;
pub mod apply_codec_result;
pub mod document;
pub mod error;
pub mod expect;
pub mod figure;
pub mod group;
pub mod hierarchy;
pub mod inspect;
pub mod inspect_result;
pub mod npy;
pub mod open;
pub mod options;
pub use crate::engine::interrupt::Interrupt;
pub mod place;
pub use crate::engine::progress;
pub mod storage;
pub mod transcode;
pub mod transcode_result;
pub mod validate;
pub mod validate_result;

/// The cores that the process may use.
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}
