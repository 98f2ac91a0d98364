//! Documents as the two versions of the format have them, and consolidated metadata.

pub(in crate::operation) mod consolidate;
pub(in crate::operation) mod from_v2;
pub(in crate::operation) mod version_2;
