//! The memory of a thread while it decodes or encodes a chunk: buffers, and contexts of compressors.

use super::chain::{BoundChain, Codec};

impl BoundChain {
    /// Returns the most bytes of an encoded chunk, as limited by its codecs. Without a limit it is the decoded size.
    pub fn encoded_bytes(&self) -> u64 {
        self.encoded().max_bytes().unwrap_or_else(|| self.decoded_bytes())
    }

    /// Returns the bytes of a decoded chunk.
    pub fn decoded_bytes(&self) -> u64 {
        self.decoded().num_bytes().unwrap_or(u64::MAX)
    }

    /// Returns the bytes of its compressors' contexts, including those of inner chunks.
    pub fn context_bytes(&self) -> u64 {
        let contexts = self.codecs().iter().map(|codec| match &codec.codec {
            Codec::Sharding(sharding) => {
                let inner = sharding.inner();
                inner.context_bytes().saturating_add(inner.passage_bytes(inner.codecs().len()))
            }
            other => other.context_bytes(codec.decoded.max_bytes().unwrap_or(0)),
        });
        contexts.fold(0, u64::saturating_add)
    }

    /// Returns the bytes of the contexts from codec `first` on, for chunks of `bytes` instead of the chain's size.
    pub(super) fn context_bytes_of(&self, first: usize, bytes: u64) -> u64 {
        self.codecs()[first..].iter().map(|codec| codec.codec.context_bytes(bytes)).fold(0, u64::saturating_add)
    }

    /// Returns the bytes of the buffers between `steps` codecs that run one by one.
    pub(super) fn passage_bytes(&self, steps: usize) -> u64 {
        let between = steps.saturating_sub(1).min(2) as u64;
        let spare = if self.takes_differences() { 2 } else { 0 };
        self.max_representation_bytes().saturating_mul(between + spare)
    }

    /// Returns the bytes needed to read: the encoded chunk, the decoded one and, if the array has edges, the part
    /// inside.
    pub fn reading_bytes(&self, has_edges: bool) -> u64 {
        let decoded = self.decoded_bytes();
        let is_plain = self.stores_elements(usize::try_from(decoded).unwrap_or(usize::MAX));
        let copies = u64::from(!is_plain) + u64::from(has_edges);
        let chunk = self.encoded_bytes().saturating_add(decoded.saturating_mul(copies));
        chunk.saturating_add(self.passage_bytes(self.codecs().len())).saturating_add(self.context_bytes())
    }
}

impl Codec {
    /// Returns the bytes of the contexts of a codec that contains no chain, to encode or decode `decoded` bytes.
    fn context_bytes(&self, decoded: u64) -> u64 {
        match self {
            Codec::BytesToBytes(codec) => codec.context_bytes(decoded),
            Codec::Array(codec) => codec.context_bytes(decoded),
            Codec::Sharding(_) | Codec::Other => 0,
        }
    }
}
