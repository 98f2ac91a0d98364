//! Inspect, validate and transcode Zarr arrays; the codecs `scale_offset` and `cast_value`.

pub mod array;
pub mod cli;
pub mod codec;
pub mod data_type;
pub mod diagnostic;
pub mod element;
pub mod engine;
pub mod grid;
pub mod kernel;
pub mod metadata;
pub mod operation;
pub mod pipeline;
pub mod report;
pub mod store;

pub use codec::plugin::register;
