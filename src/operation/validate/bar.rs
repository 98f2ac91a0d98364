//! How far the check of a store is.

use crate::operation::hierarchy::{HierarchyNode, NodeContent};
use crate::operation::open::ArrayReading;
use crate::operation::options::ValidateLevel;
use crate::operation::progress::{Progress, Share};

/// The one bar of a store: the chunks of each array are a share of it that is as large as its elements.
pub(super) struct Bar<'a>(&'a dyn Progress);

impl<'a> Bar<'a> {
    /// Begins it, where the level looks into chunks.
    pub(super) fn of(
        nodes: &[HierarchyNode],
        level: ValidateLevel,
        store: &str,
        progress: &'a dyn Progress,
    ) -> Self {
        let bytes = |node: &HierarchyNode| match &node.content {
            NodeContent::Array(reading) => reading.decoded_bytes(),
            _ => 0,
        };
        if level > ValidateLevel::Keys {
            progress.start(store, Some(nodes.iter().map(bytes).fold(0, u64::saturating_add)));
        }
        Bar(progress)
    }

    /// The part of it that an array is.
    pub(super) fn share(&self, reading: &ArrayReading) -> Share<'a> {
        Share::new(self.0, reading.decoded_bytes(), 1)
    }
}
