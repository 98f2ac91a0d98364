//! Boxes of elements of any length, from whatever subchunks of an array they lie in.

use std::borrow::Cow;

use super::room::{DecodedSubchunk, MeasuredBuffers};
use crate::array::fault::Fault;
use crate::array::subchunks::SubchunkSource;
use crate::codec::chain::OfShape;
use crate::codec::elements::{PLACE_BYTES, VlenChain, VlenElements};
use crate::codec::region::{advance, as_index, ravel};
use crate::engine::plan::Block;
use crate::grid::Region;

/// Reads boxes of elements of an array.
#[derive(Debug)]
pub struct ElementReader<'a> {
    source: &'a SubchunkSource<'a>,
    chain: VlenChain,
    strides: Vec<usize>,
    /// Tells the arrays apart that a thread reads.
    number: usize,
}

impl<'a> ElementReader<'a> {
    /// A reader, if subchunks can be taken apart. A thread that reads several arrays gives each another number.
    pub fn new(source: &'a SubchunkSource<'a>, number: usize) -> Option<Self> {
        let chain = VlenChain::of(source.side().subchunk_chain())?;
        let strides = chain.strides();
        Some(ElementReader { source, chain, strides, number })
    }

    /// Reads a box that lies inside what is taken of the array; also the bytes of all subchunks that hold a part of it,
    /// encoded.
    pub fn read(&self, block: &Block, buffers: &mut MeasuredBuffers) -> Result<(VlenElements, u64), Fault> {
        let block = &block.moved_by(&self.source.side().metadata.skipped);
        let shape: Vec<u64> = block.start.iter().zip(&block.end).map(|(start, end)| end - start).collect();
        let count = shape.iter().fold(1_u64, |product, length| product.saturating_mul(*length));
        let fill = self.chain.fill_value();
        let (first, counts) = self.source.side().subchunks_in(&block.start, &block.end);
        if let Err(fault) =
            buffers.take(count.saturating_mul(PLACE_BYTES).saturating_add(fill.len() as u64), 0)
        {
            // A chunk that claims elements which it does not hold is itself at fault, not the memory.
            self.load(&first, buffers)?;
            return Err(fault);
        }
        let mut elements = VlenElements { bytes: fill.to_vec(), places: Vec::new() };
        let reserved = elements.places.try_reserve_exact(as_index(count));
        reserved.map_err(|_| Fault::Memory { needed: count.saturating_mul(PLACE_BYTES) })?;
        elements.places.resize(as_index(count), (0, u32::try_from(fill.len()).unwrap_or(0)));
        let (mut place, mut bytes) = (vec![0; counts.len()], 0_u64);
        loop {
            let subchunk: Vec<u64> = place.iter().zip(&first).map(|(index, first)| index + first).collect();
            if let Some(length) = self.load(&subchunk, buffers)? {
                bytes = bytes.saturating_add(length);
                self.gather(&subchunk, block, &shape, buffers, &mut elements)?;
            }
            if !advance(&mut place, &counts) {
                return Ok((elements, bytes));
            }
        }
    }

    /// What takes a subchunk apart: the same for all, where they are of one shape.
    fn chain_of(&self, subchunk: &[u64]) -> Result<Cow<'_, VlenChain>, Fault> {
        match self.source.side().chain_of_subchunk(subchunk)? {
            OfShape::Same(_) => Ok(Cow::Borrowed(&self.chain)),
            OfShape::Made(own) => {
                let chain = VlenChain::of(&own).map(Cow::Owned);
                chain.ok_or_else(|| Fault::Other("its chunks are not taken apart".to_owned()))
            }
        }
    }

    /// Makes a subchunk the last of those that are kept; its encoded bytes, or `None` where it is absent.
    fn load(&self, subchunk: &[u64], buffers: &mut MeasuredBuffers) -> Result<Option<u64>, Fault> {
        if let Some(encoded) = buffers.recall(self.number, subchunk) {
            return Ok(Some(encoded));
        }
        if !buffers.read(self.source, subchunk)? {
            return Ok(None);
        }
        let encoded = buffers.encoded.len() as u64;
        let side = self.source.side();
        let located = |fault: Fault| fault.in_object(self.number == 0, side.object_of(subchunk).0);
        let chain = &*self.chain_of(subchunk)?;
        let bytes = buffers.decode(chain, self.number).map_err(located)?;
        let mut places = Vec::new();
        let needed = chain.num_elements().min(bytes.len() as u64 / 4).saturating_mul(PLACE_BYTES);
        buffers.take(needed, 0)?;
        places.try_reserve_exact(as_index(needed / PLACE_BYTES)).map_err(|_| Fault::Memory { needed })?;
        chain.places(&bytes, &mut places).map_err(|fault| located(Fault::Chain(fault)))?;
        let elements = VlenElements { bytes, places };
        buffers.keep(DecodedSubchunk { number: self.number, subchunk: subchunk.to_vec(), elements, encoded });
        Ok(Some(encoded))
    }

    /// Takes what a box and the subchunk that was loaded last have in common.
    fn gather(
        &self,
        subchunk: &[u64],
        block: &Block,
        shape: &[u64],
        buffers: &mut MeasuredBuffers,
        elements: &mut VlenElements,
    ) -> Result<(), Fault> {
        let side = self.source.side();
        let Region { start: subchunk_start, shape: subchunk_shape } = side.region_of_subchunk(subchunk);
        let strides = match self.chain_of(subchunk)? {
            Cow::Borrowed(_) => Cow::Borrowed(&self.strides),
            Cow::Owned(chain) => Cow::Owned(chain.strides()),
        };
        let start: Vec<u64> = subchunk_start.iter().zip(&block.start).map(|(a, b)| *a.max(b)).collect();
        let ends = subchunk_start.iter().zip(&subchunk_shape).zip(&block.end);
        let extent: Vec<u64> = ends
            .zip(&start)
            .map(|(((subchunk, length), end), start)| {
                subchunk.saturating_add(*length).min(*end).saturating_sub(*start)
            })
            .collect();
        if extent.contains(&0) {
            return Ok(());
        }
        let from = |position: &[u64]| {
            let offsets = position.iter().zip(&start).zip(&subchunk_start).zip(&*strides);
            offsets
                .map(|(((index, start), subchunk), stride)| as_index(index + start - subchunk) * stride)
                .sum::<usize>()
        };
        let each = |visit: &mut dyn FnMut(&[u64])| {
            let mut position = vec![0; extent.len()];
            loop {
                visit(&position);
                if !advance(&mut position, &extent) {
                    return;
                }
            }
        };
        let mut length = 0_u64;
        let loaded =
            |buffers: &MeasuredBuffers, position: &[u64]| buffers.last_element(from(position)).len() as u64;
        each(&mut |position| length = length.saturating_add(loaded(buffers, position)));
        // A buffer that grows has room for twice what is in it.
        buffers.take(length.saturating_mul(2), 1)?;
        let reserved = elements.bytes.try_reserve(as_index(length));
        reserved.map_err(|_| Fault::Memory { needed: length })?;
        each(&mut |position| {
            let element = buffers.last_element(from(position));
            let to: Vec<u64> = position
                .iter()
                .zip(&start)
                .zip(&block.start)
                .map(|((i, start), block)| i + start - block)
                .collect();
            let place = (elements.bytes.len(), u32::try_from(element.len()).unwrap_or(u32::MAX));
            elements.places[as_index(ravel(&to, shape))] = place;
            elements.bytes.extend_from_slice(element);
        });
        Ok(())
    }
}
