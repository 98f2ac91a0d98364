//! Inspect, validate and transcode Zarr arrays; the codecs `scale_offset` and `cast_value`.

pub mod cli;
pub mod data_type;
pub mod diagnostic;
pub mod element;
pub mod kernel;
pub mod metadata;
pub mod operation;
pub mod report;
pub mod store;
