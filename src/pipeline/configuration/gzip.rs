//! `gzip`: its level.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/gzip/>

use super::Parsed;
use super::members::Members;
use crate::metadata::json::Object;

/// The configuration of `gzip`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GzipConfiguration {
    /// 0 (stored) to 9.
    pub level: u32,
}

/// Parses the configuration of the codec at `pointer`.
pub fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<GzipConfiguration> {
    let mut members = Members::of_codec("gzip", configuration, pointer, &["level"]);
    let level = members.require("level").and_then(|json| members.integer("level", json, 0..=9));
    members.finish(level.map(|level| GzipConfiguration { level }))
}
