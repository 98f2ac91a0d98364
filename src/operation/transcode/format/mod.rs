//! Documents as the two versions of the format have them, and consolidated metadata.

pub(crate) mod consolidate;
pub(crate) mod from_v2;
pub(crate) mod version_2;
