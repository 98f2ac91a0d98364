//! Boxes of elements of any length, from whatever subchunks of an array they lie in.

use std::borrow::Cow;

use super::buffers::{DecodedSubchunk, VariableSizeBuffers};
use crate::array::{Fault, Result, StoredArray, SubchunkSource, position};
use crate::codec::elements::PLACE_BYTES;
use crate::codec::region::{advance, as_index};
use crate::codec::{OfShape, VlenChain, VlenElements};
use crate::grid::{Region, ravel, volume};
use crate::memory::fallibly;

/// The chain that takes a subchunk apart and puts it together: that of all, where they are of one shape.
pub(super) fn vlen_chain_of<'c>(
    side: &StoredArray,
    subchunk: &[u64],
    chain: &'c VlenChain,
) -> Result<Cow<'c, VlenChain>> {
    match side.chain_of_subchunk(subchunk)? {
        OfShape::Same(_) => Ok(Cow::Borrowed(chain)),
        OfShape::Made(own) => VlenChain::of(&own).map(Cow::Owned).ok_or_else(not_taken_apart),
    }
}

pub(super) fn not_taken_apart() -> Fault {
    Fault::Other("its chunks are not taken apart".to_owned())
}

/// Reads boxes of elements of an array.
#[derive(Debug)]
pub struct ElementReader<'p, 'a> {
    source: &'p SubchunkSource<'a>,
    chain: VlenChain,
    /// Tells the arrays apart that a thread reads.
    number: usize,
}

impl<'p, 'a> ElementReader<'p, 'a> {
    /// A reader, if subchunks can be taken apart. A thread that reads several arrays gives each another number.
    pub fn new(source: &'p SubchunkSource<'a>, number: usize) -> Option<Self> {
        let chain = VlenChain::of(source.side.subchunk_chain())?;
        Some(ElementReader { source, chain, number })
    }

    /// Reads a box that lies inside what is taken of the array; also the bytes of subchunks that hold a part of it,
    /// encoded. Of boxes that lie in the same subchunks, from the element `counted` on, only the one counts a subchunk
    /// that holds its first element.
    pub fn read(
        &self,
        block: &Region,
        counted: &[u64],
        buffers: &mut VariableSizeBuffers,
    ) -> Result<(VlenElements, u64)> {
        let (side, skipped) = (self.source.side, &self.source.side.metadata.skipped);
        let block = &block.moved_by(skipped);
        let counts_it = |subchunk: &[u64]| {
            let first = side.region_of_subchunk(subchunk).start.into_iter().zip(counted.iter().zip(skipped));
            let first = first.map(|(start, (counted, skipped))| start.max(counted.saturating_add(*skipped)));
            first.zip(&block.start).all(|(first, start)| *start <= first)
        };
        let count = volume(&block.shape);
        let fill = self.chain.fill_value();
        let subchunks = self.source.side.subchunks_in(block);
        if let Err(fault) = buffers.take(count.saturating_mul(PLACE_BYTES).saturating_add(fill.len() as u64), 0) {
            // A chunk that claims elements which it does not hold is itself at fault, not the memory.
            self.load(&subchunks.start, buffers)?;
            return Err(fault);
        }
        let mut elements = VlenElements { bytes: fill.to_vec(), places: Vec::new() };
        fallibly(|| elements.places.try_reserve_exact(as_index(count)))
            .map_err(|_| Fault::Memory { needed: count.saturating_mul(PLACE_BYTES) })?;
        elements.places.resize(as_index(count), (0, u32::try_from(fill.len()).unwrap_or(0)));
        let mut bytes = 0_u64;
        self.each_within(&subchunks, |subchunk| {
            if let Some(length) = self.load(subchunk, buffers)? {
                bytes = bytes.saturating_add(if counts_it(subchunk) { length } else { 0 });
                self.gather(subchunk, block, buffers, &mut elements)?;
            }
            Ok(())
        })?;
        Ok((elements, bytes))
    }

    /// Visits the subchunks of a box that may be there. A box may claim far more of them than are stored: then these are
    /// walked.
    fn each_within(&self, subchunks: &Region, mut visit: impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let side = self.source.side;
        let count = volume(&subchunks.shape);
        if let Some(present) = side.present.as_ref().filter(|_| side.layout.is_none())
            && present.len() < count
        {
            let present = present.iter().map(|object| position(object, &side.metadata));
            return present.filter(|subchunk| subchunks.contains(subchunk)).try_for_each(|subchunk| visit(&subchunk));
        }
        subchunks.cells().try_for_each(|subchunk| visit(&subchunk))
    }

    /// Makes a subchunk the last of those that are kept; its encoded bytes, or `None` where it is absent.
    fn load(&self, subchunk: &[u64], buffers: &mut VariableSizeBuffers) -> Result<Option<u64>> {
        let key = (self.number, subchunk.to_vec());
        if let Some(kept) = buffers.subchunks.by_key.get(&key) {
            return Ok(Some(kept.encoded));
        }
        if !buffers.read(self.source, subchunk)? {
            return Ok(None);
        }
        let encoded = buffers.source.bytes.len() as u64;
        let side = self.source.side;
        let located = |fault: Fault| fault.in_object(self.number == 0, side.object_of(subchunk).0);
        let chain = &*vlen_chain_of(side, subchunk, &self.chain)?;
        let bytes = buffers.decode(chain).map_err(located)?;
        let mut places = Vec::new();
        let needed = chain.num_elements().min(bytes.len() as u64 / 4).saturating_mul(PLACE_BYTES);
        buffers.take(needed, 0)?;
        fallibly(|| places.try_reserve_exact(as_index(needed / PLACE_BYTES))).map_err(|_| Fault::Memory { needed })?;
        chain.places(&bytes, &mut places).map_err(|fault| located(Fault::Chain(fault)))?;
        let elements = VlenElements { bytes, places };
        buffers.keep(key, DecodedSubchunk { elements, encoded });
        Ok(Some(encoded))
    }

    /// Takes what a box and the subchunk that was loaded last have in common.
    fn gather(
        &self,
        subchunk: &[u64],
        block: &Region,
        buffers: &mut VariableSizeBuffers,
        elements: &mut VlenElements,
    ) -> Result<()> {
        let side = self.source.side;
        let region = side.region_of_subchunk(subchunk);
        let strides = vlen_chain_of(side, subchunk, &self.chain)?.strides();
        let common = region.common(block);
        if common.is_empty() {
            return Ok(());
        }
        let Region { start, shape: extent } = &common;
        let from = |position: &[u64]| {
            let offsets = position.iter().zip(start).zip(&region.start).zip(&*strides);
            offsets
                .map(|(((index, start), subchunk), stride)| as_index(index + start - subchunk) * stride)
                .sum::<usize>()
        };
        let each = |visit: &mut dyn FnMut(&[u64])| {
            let mut position = vec![0; extent.len()];
            loop {
                visit(&position);
                if !advance(&mut position, extent) {
                    return;
                }
            }
        };
        let mut length = 0_u64;
        let Some((_, DecodedSubchunk { elements: loaded, .. })) = buffers.subchunks.by_key.peek_mru() else {
            return Ok(());
        };
        each(&mut |position| length = length.saturating_add(loaded.element(from(position)).len() as u64));
        // A buffer that grows has room for twice what is in it.
        buffers.take(length.saturating_mul(2), 1)?;
        fallibly(|| elements.bytes.try_reserve(as_index(length))).map_err(|_| Fault::Memory { needed: length })?;
        let Some((_, DecodedSubchunk { elements: loaded, .. })) = buffers.subchunks.by_key.peek_mru() else {
            return Ok(());
        };
        let mut to = vec![0; start.len()];
        each(&mut |position| {
            let element = loaded.element(from(position));
            for (dimension, to) in to.iter_mut().enumerate() {
                *to = position[dimension] + start[dimension] - block.start[dimension];
            }
            let place = (elements.bytes.len(), u32::try_from(element.len()).unwrap_or(u32::MAX));
            elements.places[as_index(ravel(&to, &block.shape))] = place;
            elements.bytes.extend_from_slice(element);
        });
        Ok(())
    }
}
