//! Whether a chunk is stored with a checksum of its bytes.

use super::{BoundConfiguration, Pipeline, Stage};
use crate::codec::registry;
use crate::metadata::extension::CodecMetadata;

impl Pipeline {
    /// Whether some codec stores a checksum of each chunk, or of what is inside it; that of a shard's index alone is
    /// none. What a codec that is not known stores is not known either: it counts as none.
    pub fn has_checksum(&self) -> bool {
        self.stages.iter().any(Stage::has_checksum)
    }
}

impl Stage {
    fn has_checksum(&self) -> bool {
        match &self.configuration {
            BoundConfiguration::Sharding(sharding) => sharding.inner.has_checksum(),
            _ => stores_checksum(&self.metadata),
        }
    }
}

fn stores_checksum(codec: &CodecMetadata) -> bool {
    let kind = registry::find(&codec.name).and_then(|entry| entry.bytes);
    kind.is_some_and(|kind| (kind.stores_checksum)(codec.configuration.as_ref()))
}
