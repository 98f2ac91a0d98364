//! `crc32c`: it has no members.

use super::Parsed;
use super::members::Members;
use crate::metadata::json::Object;

/// The configuration of `crc32c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Crc32cConfiguration;

/// Parses the configuration of the codec at `pointer`.
pub fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<Crc32cConfiguration> {
    Members::of_codec("crc32c", configuration, pointer, &[]).finish(Some(Crc32cConfiguration))
}
