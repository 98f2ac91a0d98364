//! How many bytes a thread holds while it decodes, encodes or converts a chunk: buffers, and what compressors keep.

use super::chain::{BoundChain, Codec};
use super::conversion::Conversion;
use crate::pipeline::Representation;

impl BoundChain {
    /// The most bytes of an encoded chunk, as its codecs bound it; the decoded size where they give no bound.
    pub fn encoded_bytes(&self) -> u64 {
        self.encoded().max_bytes().unwrap_or_else(|| self.decoded_bytes())
    }

    /// Bytes of a decoded chunk.
    pub fn decoded_bytes(&self) -> u64 {
        self.decoded().num_bytes().unwrap_or(u64::MAX)
    }

    /// The bytes that its compressors keep, those of inner chunks too.
    pub fn context_bytes(&self) -> u64 {
        self.codecs().iter().fold(0, |sum, codec| {
            let bytes = match &codec.codec {
                Codec::BytesToBytes(bytes_codec) => bytes_codec.context_bytes(size_of(&codec.decoded)),
                Codec::Array(array_codec) => array_codec.context_bytes(size_of(&codec.decoded)),
                Codec::Sharding(sharding) => {
                    let inner = sharding.inner();
                    inner.context_bytes().saturating_add(inner.passage_bytes(inner.codecs().len()))
                }
                Codec::Other => 0,
            };
            sum.saturating_add(bytes)
        })
    }

    /// The bytes that compressors from codec `first` on keep for chunks of `bytes`, be that what the chain says or not.
    pub(super) fn context_bytes_of(&self, first: usize, bytes: u64) -> u64 {
        self.codecs()[first..].iter().fold(0, |sum, codec| match &codec.codec {
            Codec::BytesToBytes(codec) => sum.saturating_add(codec.context_bytes(bytes)),
            _ => sum,
        })
    }

    /// The buffers between `steps` codecs that are run one by one.
    pub(super) fn passage_bytes(&self, steps: usize) -> u64 {
        let between = steps.saturating_sub(1).min(2) as u64;
        let spare = if self.takes_differences() { 2 } else { 0 };
        self.max_representation_bytes().saturating_mul(between + spare)
    }

    /// The bytes that reading takes: the encoded chunk, the decoded one and, where the array has edges, the part inside.
    pub fn reading_bytes(&self, has_edges: bool) -> u64 {
        let decoded = self.decoded_bytes();
        let is_plain = self.stores_elements(usize::try_from(decoded).unwrap_or(usize::MAX));
        let copies = u64::from(!is_plain) + u64::from(has_edges);
        let chunk = self.encoded_bytes().saturating_add(decoded.saturating_mul(copies));
        chunk.saturating_add(self.passage_bytes(self.codecs().len())).saturating_add(self.context_bytes())
    }
}

fn size_of(representation: &Representation) -> u64 {
    representation.max_bytes().unwrap_or(0)
}

impl Conversion {
    /// The bytes that converting takes: both encoded chunks and all between; more where the array has edges.
    pub fn buffer_bytes(&self, has_edges: bool) -> u64 {
        let of_side = |chain: &BoundChain| chain.encoded_bytes().saturating_add(chain.context_bytes());
        let sides = of_side(self.source()).saturating_add(of_side(self.destination()));
        sides.saturating_add(self.working_bytes(has_edges))
    }
}
