//! The memory that a cell needs on its way through a chain: encoded, decoded and between codecs, contexts included.

use crate::codec::{BoundChain, Conversion};

/// Bytes that a thread needs to decode a cell of a chain to elements, the elements included.
pub fn decode_bytes(chain: &BoundChain) -> u64 {
    let encoded = chain.max_representation_bytes();
    if chain.stores_elements_always() {
        return encoded;
    }
    // Encoded, decoded, and what stands between two codecs: at most two buffers that take turns.
    let buffers = (chain.codecs().len() as u64).min(3) + 1;
    encoded.saturating_mul(buffers).saturating_add(chain.context_bytes())
}

/// Bytes that a thread needs to encode a cell by a conversion.
pub fn encode_bytes(conversion: &Conversion) -> u64 {
    let chain = conversion.destination();
    let largest = chain.max_representation_bytes().max(conversion.source().max_representation_bytes());
    // Changed, padded, permuted and encoded elements, and what stands between two codecs.
    let buffers = if conversion.decodes_elements() { 4 } else { 1 } + (chain.codecs().len() as u64).min(3);
    largest.saturating_mul(buffers).saturating_add(chain.context_bytes())
}
