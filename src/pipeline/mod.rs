//! Metadata to stages.

pub mod configuration;
