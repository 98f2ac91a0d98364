//! Variable-length elements: chunks of `vlen-utf8` and similar codecs as separate elements, in both directions.
//! Also the conversion of chunks that are not decoded to elements.

use super::chain::{BoundChain, BoundCodec, Codec, Workspace};
use super::fault::{ChainFault, CodecError, Result};
use super::kinds::Effect;
use super::kinds::error::reserve;
use super::kinds::vlen::Vlen;
use super::region::{advance, as_index};
use crate::grid::ravel;

/// The offset of an element in bytes, and its length.
pub type ElementRange = (usize, u32);

/// The size of an [`ElementRange`] in bytes.
pub const RANGE_BYTES: u64 = size_of::<ElementRange>() as u64;

/// Variable-length elements in C order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VlenElements {
    /// The bytes of the elements, in any order.
    pub bytes: Vec<u8>,
    /// The offset and length of each element in `bytes`.
    pub ranges: Vec<ElementRange>,
}

impl VlenElements {
    /// Returns an element. It is empty if there is none at `index`.
    pub fn element(&self, index: usize) -> &[u8] {
        self.ranges.get(index).map_or(&[], |(offset, length)| &self.bytes[*offset..*offset + *length as usize])
    }

    /// Returns true if all elements equal this one.
    pub fn are_all(&self, element: &[u8]) -> bool {
        (0..self.ranges.len()).all(|index| self.element(index) == element)
    }
}

/// A chain whose chunks can be separated into elements. It consists of any number of `transpose`, then `vlen-utf8` or a
/// similar codec, then bytes->bytes codecs.
#[derive(Debug, Clone)]
pub struct VlenChain {
    chain: BoundChain,
    /// The index of the array->bytes codec.
    index: usize,
    pub vlen: Vlen,
    /// The array's dimension for each dimension of the encoded chunk.
    order: Vec<usize>,
}

impl VlenChain {
    /// Makes it from such a chain. `None` for any other.
    pub fn new(chain: &BoundChain) -> Option<Self> {
        let index = chain.codecs().iter().position(|codec| matches!(codec.codec.effect(), Effect::Vlen(_)))?;
        let before = chain.codecs()[..index].iter().map(|codec| codec.codec.effect());
        let is_turned = before.clone().all(|effect| matches!(effect, Effect::Transpose(_)));
        let order = before.fold((0..chain.decoded().shape.len()).collect(), |order, effect| effect.order_after(order));
        let Effect::Vlen(vlen) = chain.codecs()[index].codec.effect() else { return None };
        let rest_is_run = chain.bytes_index() <= index + 1;
        (is_turned && rest_is_run).then(|| VlenChain { chain: chain.clone(), index, vlen, order })
    }

    /// Returns the fill value of the array. It is empty if there is none.
    pub fn fill_value(&self) -> &[u8] {
        self.chain.decoded().fill_value.as_ref().map_or(&[], |fill| &fill.0)
    }

    /// Returns the distance in the encoded chunk between neighbours along each dimension of the array.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.order.len()];
        let mut stride = 1_usize;
        for dimension in self.order.iter().rev() {
            strides[*dimension] = stride;
            stride = stride.saturating_mul(as_index(self.chain.decoded().shape[*dimension]));
        }
        strides
    }

    /// Decodes the bytes->bytes codecs.
    pub fn decode(&self, encoded: &[u8], framed: &mut Vec<u8>, workspace: &mut Workspace) -> Result {
        self.chain.decode_to(self.index + 1, encoded, framed, workspace)
    }

    /// Finds the offset and length of each element, in the order in which they are encoded.
    pub fn ranges(&self, framed: &[u8], ranges: &mut Vec<ElementRange>) -> Result {
        let found = self.vlen.each(framed, |offset, length| ranges.push((offset, length)));
        found.map_err(|error| self.fault(error))
    }

    /// Returns the bytes of a chunk of these elements before the bytes->bytes codecs. Missing elements are `fill`.
    pub fn framed_bytes(&self, elements: &VlenElements, fill: &[u8]) -> u64 {
        let lengths = elements.ranges.iter().fold(0_u64, |sum, (_, length)| sum.saturating_add(u64::from(*length)));
        let missing = self.vlen.num_elements.saturating_sub(elements.ranges.len() as u64);
        // Each element has a length of 4 bytes, and the chunk has a count of 4 bytes.
        let framing = self.vlen.num_elements.saturating_mul(4).saturating_add(4);
        lengths.saturating_add(missing.saturating_mul(fill.len() as u64)).saturating_add(framing)
    }

    /// Writes a chunk from the elements of its box of shape `valid` at the origin. The others are `fill`.
    pub fn frame(&self, elements: &VlenElements, valid: &[u64], fill: &[u8], framed: &mut Vec<u8>) -> Result {
        let fault = |error| self.fault(error).of_encoding();
        let too_many = || fault(CodecError::bytes("more elements than 32 bits can count"));
        let count = u32::try_from(self.vlen.num_elements).map_err(|_| too_many())?;
        framed.clear();
        let needed = as_index(self.framed_bytes(elements, fill));
        reserve(framed, needed).map_err(fault)?;
        framed.extend(count.to_le_bytes());
        let shape: Vec<u64> = self.order.iter().map(|dimension| self.chain.decoded().shape[*dimension]).collect();
        let (mut encoded, mut position) = (vec![0; shape.len()], vec![0; shape.len()]);
        for _ in 0..count {
            for (index, dimension) in encoded.iter().zip(&self.order) {
                position[*dimension] = *index;
            }
            let is_inside =
                !elements.ranges.is_empty() && position.iter().zip(valid).all(|(index, length)| index < length);
            let element = if is_inside { elements.element(as_index(ravel(&position, valid))) } else { fill };
            framed.extend(u32::try_from(element.len()).map_err(|_| too_many())?.to_le_bytes());
            framed.extend_from_slice(element);
            advance(&mut encoded, &shape);
        }
        Ok(())
    }

    /// Encodes the bytes->bytes codecs.
    pub fn encode(&self, framed: &[u8], encoded: &mut Vec<u8>, workspace: &mut Workspace) -> Result {
        self.chain.encode_from(self.index + 1, framed, encoded, workspace)
    }

    /// Returns the number of buffers of about the chunk's size that exist at a time in either direction, including the
    /// result.
    pub fn num_buffers(&self) -> u64 {
        let steps = self.chain.codecs().len() - self.index - 1;
        1 + steps.saturating_sub(1).min(2) as u64
    }

    /// Returns the bytes that the codecs need in addition to the buffers, for chunks of `bytes`.
    pub fn context_bytes(&self, bytes: u64) -> u64 {
        self.chain.context_bytes_of(self.index + 1, bytes)
    }

    fn fault(&self, error: CodecError) -> ChainFault {
        self.chain.codecs()[self.index].fault(self.index, error.into())
    }
}

// Conversion between chains that differ only in bytes->bytes codecs. Chunks are not decoded to elements, so any data
// type and any other codec is possible.

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
    let is_opaque = |codec: &BoundCodec| matches!(codec.codec, Codec::Other) && codec.metadata.name != "bytes";
    let is_apart = a.iter().any(is_opaque);
    let is_bytes = |codec: &&BoundCodec| is_apart && codec.metadata.name == "bytes";
    let (a_bytes, a_others): (Vec<_>, Vec<_>) = a.iter().partition(is_bytes);
    let (b_bytes, b_others): (Vec<_>, Vec<_>) = b.iter().partition(is_bytes);
    same(&a_bytes, &b_bytes) && same(&a_others, &b_others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::ElementSize;
    use crate::data_type::{DataType, FillValue};
    use crate::metadata::extension::read_codecs;
    use crate::metadata::json::Json;
    use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

    fn chain(codecs: &str, shape: &[u64]) -> VlenChain {
        let codecs = read_codecs(&Json::parse_str(codecs).unwrap(), "", &mut Vec::new()).unwrap();
        let fill_value = Some(FillValue(b"-".to_vec()));
        let input = ArrayRepresentation { data_type: DataType::String, shape: shape.to_vec(), fill_value };
        let pipeline = Pipeline::build(input, &codecs, Completeness::ToBytes, "", &mut Vec::new());
        VlenChain::new(&BoundChain::bind_elements(&pipeline, ElementSize::Unread).unwrap()).unwrap()
    }

    fn words(words: &[&str]) -> VlenElements {
        let mut elements = VlenElements::default();
        for word in words {
            elements.ranges.push((elements.bytes.len(), u32::try_from(word.len()).unwrap()));
            elements.bytes.extend(word.bytes());
        }
        elements
    }

    #[test]
    fn chunk_put_together_comes_apart_in_every_order() {
        let elements = words(&["a", "bb", "", "dddd"]);
        for (codecs, expected) in [
            (r#"[{"name":"vlen-utf8"},{"name":"crc32c"}]"#, ["a", "bb", "-", "", "dddd", "-"]),
            (
                r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"vlen-utf8"}]"#,
                ["a", "", "bb", "dddd", "-", "-"],
            ),
        ] {
            let chain = chain(codecs, &[2, 3]);
            let (mut framed, mut encoded, mut back) = (Vec::new(), Vec::new(), Vec::new());
            let mut workspace = Workspace::default();
            chain.frame(&elements, &[2, 2], chain.fill_value(), &mut framed).unwrap();
            assert_eq!(framed.len() as u64, chain.framed_bytes(&elements, chain.fill_value()));
            chain.encode(&framed, &mut encoded, &mut workspace).unwrap();
            chain.decode(&encoded, &mut back, &mut workspace).unwrap();
            let mut read = VlenElements { bytes: back, ranges: Vec::new() };
            chain.ranges(&read.bytes, &mut read.ranges).unwrap();
            let found: Vec<_> = (0..6).map(|index| read.element(index)).collect();
            assert_eq!(found, expected.map(str::as_bytes), "{codecs}");
            let strides = chain.strides();
            assert_eq!(read.element(strides[0] + strides[1]), b"dddd");
            assert!(!read.are_all(b"-"));
        }
    }
}
