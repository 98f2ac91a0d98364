//! Conversion between chains that differ only in bytes->bytes codecs. Chunks are not decoded to elements, so any data
//! type and any other codec is possible.

use super::chain::{BoundChain, BoundCodec, Codec, Workspace};
use super::fault::Result;
use super::kinds::Effect;

/// A planned conversion from one chain to another.
#[derive(Debug, Clone)]
pub struct Recoding {
    source: BoundChain,
    destination: BoundChain,
    /// The number of equal leading codecs of both chains.
    keep: usize,
}

impl Recoding {
    /// Plans it for chunks of the same shape. `None` if a differing codec cannot run, or its input is an array.
    pub fn new(source: &BoundChain, destination: &BoundChain) -> Option<Self> {
        let (from, to) = (source.decoded(), destination.decoded());
        if from.data_type != to.data_type || from.shape != to.shape {
            return None;
        }
        let longest = source.codecs().len().min(destination.codecs().len());
        // The longest prefix is tried first. [bytes, x] and [x, bytes] are alike with an unknown x, although their
        // first codecs differ.
        let keep = (0..=longest).rev().find(|count| leads_alike(source, destination, *count)).unwrap_or(0);
        let is_run = |chain: &BoundChain| chain.bytes_index() <= keep;
        // A chain of only unknown codecs ends in bytes, too.
        let gives_bytes = keep > 0 && source.codecs()[keep - 1].encoded.array().is_none();
        let is_possible = gives_bytes && is_run(source) && is_run(destination);
        is_possible.then(|| Recoding { source: source.clone(), destination: destination.clone(), keep })
    }

    /// Returns true if encoded chunks stay unchanged.
    pub fn is_copy(&self) -> bool {
        self.keep == self.source.codecs().len() && self.keep == self.destination.codecs().len()
    }

    /// Decodes the differing codecs of either side's chunk. Then checks that the rest is complete, if possible.
    pub fn decode(&self, is_source: bool, encoded: &[u8], kept: &mut Vec<u8>, workspace: &mut Workspace) -> Result {
        let chain = if is_source { &self.source } else { &self.destination };
        chain.decode_to(self.keep, encoded, kept, workspace)?;
        // `new` returns no recoding without a kept codec.
        let index = self.keep - 1;
        let codec = &chain.codecs()[index];
        // Decoding has checked every size that the chain knows. For variable-length elements only the framing shows
        // that a chunk is complete.
        let Effect::Vlen(vlen) = codec.codec.effect() else { return Ok(()) };
        vlen.check(kept).map_err(|error| codec.fault(index, error.into()))
    }

    /// Encodes with the destination's own codecs.
    pub fn encode(&self, kept: &[u8], encoded: &mut Vec<u8>, workspace: &mut Workspace) -> Result {
        self.destination.encode_from(self.keep, kept, encoded, workspace)
    }

    /// Returns the number of buffers of about the chunk's size that exist at a time.
    pub fn num_buffers(&self) -> u64 {
        let steps = |chain: &BoundChain| chain.codecs().len() - self.keep;
        // Two are the encoded and the kept bytes. Several codecs alternate between two more.
        2 + steps(&self.source).max(steps(&self.destination)).saturating_sub(1).min(2) as u64
    }

    /// Returns the bytes that the codecs need in addition to the buffers, for chunks of `bytes`.
    pub fn context_bytes(&self, bytes: u64) -> u64 {
        let of = |chain: &BoundChain| chain.context_bytes_of(self.keep, bytes);
        of(&self.source).saturating_add(of(&self.destination))
    }
}

/// Returns true if the first `count` codecs of both chains have the same result. With a codec that does not run here,
/// the position of `bytes` is ignored. In v2 it is after the filters and before the compressor, and the same codec may
/// be either.
fn leads_alike(a: &BoundChain, b: &BoundChain, count: usize) -> bool {
    let (a, b) = (&a.codecs()[..count], &b.codecs()[..count]);
    let same = |a: &[&BoundCodec], b: &[&BoundCodec]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.metadata.same_value(&b.metadata))
    };
    let is_opaque = |codec: &BoundCodec| matches!(codec.codec, Codec::Other) && codec.name != "bytes";
    let is_apart = a.iter().any(is_opaque);
    let is_bytes = |codec: &&BoundCodec| is_apart && codec.name == "bytes";
    let (a_bytes, a_others): (Vec<_>, Vec<_>) = a.iter().partition(is_bytes);
    let (b_bytes, b_others): (Vec<_>, Vec<_>) = b.iter().partition(is_bytes);
    same(&a_bytes, &b_bytes) && same(&a_others, &b_others)
}
