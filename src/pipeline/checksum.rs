//! Whether a chunk is stored with a checksum of its bytes.

use super::{BoundConfiguration, Pipeline, Stage};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::Json;

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
    match codec.name.strip_prefix("numcodecs.").unwrap_or(&codec.name) {
        // gzip and bz2 end in a CRC-32, zlib in an Adler-32 of what they have compressed.
        "adler32" | "bz2" | "crc32" | "crc32c" | "fletcher32" | "gzip" | "jenkins_lookup3" | "zlib" => true,
        "zstd" => matches!(codec.member("checksum"), Some(Json::Bool(true))),
        // An `.xz` stream (format 1, the default) has one unless `check` is 0; the other two formats have none.
        "lzma" => {
            let number = |name| codec.member(name).and_then(Json::as_u64);
            number("format").unwrap_or(1) == 1 && number("check") != Some(0)
        }
        _ => false,
    }
}
