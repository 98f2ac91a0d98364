//! What a chain's codecs hold beside the chunk: compressor contexts, which a thread keeps from chunk to chunk.

use super::{BoundChain, BoundCodec, Codec};
use crate::metadata::json::Json;

/// Window, chain and hash logarithms of zstd's levels 1 to 22 for large inputs (its table of compression parameters).
const ZSTD_LOGARITHMS: [(u32, u32, u32); 22] = [
    (19, 13, 14),
    (20, 15, 16),
    (21, 16, 17),
    (21, 18, 18),
    (21, 18, 19),
    (21, 18, 19),
    (21, 19, 20),
    (21, 19, 20),
    (22, 20, 21),
    (22, 21, 22),
    (22, 21, 22),
    (22, 22, 23),
    (22, 22, 22),
    (22, 22, 23),
    (22, 23, 23),
    (22, 22, 22),
    (23, 23, 22),
    (23, 23, 22),
    (23, 24, 22),
    (25, 25, 23),
    (26, 26, 24),
    (27, 27, 25),
];

impl BoundChain {
    /// Bytes of the contexts that a thread keeps to encode and decode with this chain, at most.
    pub fn context_bytes(&self) -> u64 {
        self.codecs().iter().map(context_bytes).fold(0, u64::saturating_add)
    }

    /// Whether encoded chunks are the elements themselves, as `bytes` alone leaves them.
    pub fn stores_elements_always(&self) -> bool {
        let bytes = self.decoded().num_bytes().and_then(|bytes| usize::try_from(bytes).ok());
        bytes.is_some_and(|bytes| self.stores_elements(bytes))
    }
}

fn context_bytes(codec: &BoundCodec) -> u64 {
    match (&codec.codec, codec.name.as_str()) {
        (Codec::Sharding(sharding), _) => sharding.inner().context_bytes(),
        (Codec::BytesToBytes(_), "zstd" | "numcodecs.zstd") => {
            let level = codec.metadata.member("level").and_then(Json::as_number);
            let level = level.and_then(|number| i64::try_from(number.as_integral_i128()?).ok()).unwrap_or(3);
            zstd_context_bytes(level, codec.decoded.max_bytes().unwrap_or(u64::MAX))
        }
        // The block that is sorted (900 kB), eight bytes for each of its bytes.
        (Codec::BytesToBytes(_), "bz2" | "numcodecs.bz2") => 8 << 20,
        (Codec::BytesToBytes(_), "crc32c" | "adler32" | "fletcher32") => 0,
        // Deflate: a window and hash tables; blosc: a block and its tables.
        (Codec::BytesToBytes(_), _) => 1 << 20,
        _ => 0,
    }
}

/// A compression context of a level for inputs of a size, and a decompression context: what zstd itself estimates,
/// rounded up.
fn zstd_context_bytes(level: i64, input: u64) -> u64 {
    let place = usize::try_from(level.clamp(1, 22) - 1).unwrap_or(0);
    let (window, chain, hash) = ZSTD_LOGARITHMS[place];
    // zstd makes its tables no larger than its input needs.
    let needed = input.max(1 << 10).checked_next_power_of_two().map_or(63, u64::trailing_zeros);
    let (window, chain, hash) = (window.min(needed), chain.min(needed + 1), hash.min(needed + 1));
    let tables = (4_u64 << chain) + (4_u64 << hash) + (4_u64 << 17);
    // Sequences and literals of a block of 128 KiB, and the parser's tables of the highest levels.
    tables + (1_u64 << window).min(input) / 8 + (2 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zstd_contexts_of_high_levels_are_large_for_large_chunks_alone() {
        assert!(zstd_context_bytes(19, u64::MAX) > 80 << 20);
        assert!(zstd_context_bytes(22, 64 << 10) < 8 << 20);
        assert!(zstd_context_bytes(1, 4 << 20) < zstd_context_bytes(9, 4 << 20));
        assert!(zstd_context_bytes(-5, 0) < 4 << 20);
    }
}
