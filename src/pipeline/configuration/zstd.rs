//! `zstd`: level and checksum.
//!
//! Specification: <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/zstd>

use super::Parsed;
use super::members::Members;
use crate::metadata::json::Object;

/// The configuration of `zstd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZstdConfiguration {
    /// -131072 to 22; 0 is the default level.
    pub level: i32,
    /// Whether frames end with a checksum of their content.
    pub checksum: bool,
}

/// Parses the configuration of the codec at `pointer`.
pub fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<ZstdConfiguration> {
    let mut members = Members::of_codec("zstd", configuration, pointer, &["level", "checksum"]);
    let level = members.require("level").and_then(|json| members.integer("level", json, -131_072..=22));
    let checksum = members.get("checksum").map_or(Some(false), |json| members.boolean("checksum", json));
    members.finish(level.zip(checksum).map(|(level, checksum)| ZstdConfiguration { level, checksum }))
}
