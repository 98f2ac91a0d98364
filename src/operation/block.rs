//! Blocks of an array: boxes of elements that hold whole chunks of both sides where memory allows, and are read from
//! either.

use crate::array::chunk_set::{ChunkSet, ChunkSetBuilder};
use crate::array::fault::Fault;
use crate::array::reader::ReadBuffers;
use crate::array::stored::StoredArray;
use crate::array::subchunks::OpenedObject;
use crate::codec::region::{RegionCopy, as_index, fill_box};
use crate::engine::ahead::{Reads, reads_of_box};
use crate::grid::{Region, lcm, ravel, unravel};
use crate::metadata::array::num_elements;
use crate::store::{Node, Part};

/// The most blocks that are listed one by one.
const LISTED: u64 = 1 << 22;

/// An array cut into blocks.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    shape: Vec<u64>,
    block_shape: Vec<u64>,
    grid: Vec<u64>,
}

/// A side that is read in blocks.
#[derive(Debug)]
pub(super) struct BlockReader<'a> {
    pub(super) side: &'a StoredArray,
    /// As messages name the store.
    pub(super) name: &'a str,
}

/// What is read of a side for each block.
#[derive(Debug)]
pub(super) struct BlockReads<'a> {
    pub(super) blocks: &'a Blocks,
    pub(super) reader: &'a BlockReader<'a>,
}

impl Reads for BlockReads<'_> {
    fn source(&self) -> (&Node, u64) {
        (&self.reader.side.node, self.reader.side.chunk_bytes())
    }

    fn reads(&self, block: u64, each: &mut dyn FnMut(&str, Part)) {
        reads_of_box(self.reader.side, &self.blocks.region(block), false, each);
    }
}

impl Blocks {
    /// Cuts the array so that few chunks of either side are cut, and a block has at most `limit` bytes on both sides
    /// together, where chunks are not larger themselves.
    pub(super) fn new(a: &StoredArray, b: &StoredArray, limit: u64) -> Self {
        let shape = a.metadata.shape.clone();
        let element = [a, b].map(|side| side.chain.decoded().data_type.size().unwrap_or(1) as u64);
        let element = element.iter().sum::<u64>();
        let objects = [a.metadata.largest_chunk(), b.metadata.largest_chunk()];
        let subchunks = [a, b].map(subchunk_shape);
        let together = |shapes: [&[u64]; 2], join: fn(u64, u64) -> u64| -> Vec<u64> {
            let lengths = shapes[0].iter().zip(shapes[1]).map(|(a, b)| join(*a, *b));
            lengths.zip(&shape).map(|(length, whole)| length.min(*whole).max(1)).collect()
        };
        // From the best to what is at least bounded.
        let candidates = [
            together([objects[0], objects[1]], aligned),
            together([objects[0], objects[1]], u64::max),
            together([subchunks[0], subchunks[1]], aligned),
            together([subchunks[0], subchunks[1]], u64::max),
            together([subchunks[0], subchunks[0]], u64::max),
        ];
        let fits = |shape: &&Vec<u64>| {
            num_elements(shape)
                .and_then(|count| count.checked_mul(element))
                .is_some_and(|bytes| bytes <= limit)
        };
        let [.., least] = &candidates;
        let block_shape = candidates.iter().find(fits).unwrap_or(least).clone();
        let grid = shape.iter().zip(&block_shape).map(|(whole, block)| whole.div_ceil(*block)).collect();
        Blocks { shape, block_shape, grid }
    }

    /// How many there are; `None` where 64 bits do not hold the number.
    pub(super) fn count(&self) -> Option<u64> {
        num_elements(&self.grid)
    }

    /// Elements of a whole block.
    pub(super) fn block_elements(&self) -> u64 {
        num_elements(&self.block_shape).unwrap_or(u64::MAX)
    }

    /// A block, cut at the edge of the array.
    pub(super) fn region(&self, index: u64) -> Region {
        Region::chunk(&unravel(index, &self.grid), &self.block_shape).common(&Region::whole(&self.shape))
    }

    /// The blocks in which an object of either side lies; possibly others, too.
    pub(super) fn with_objects(&self, sides: [&BlockReader<'_>; 2]) -> ChunkSet {
        let total = self.count().unwrap_or(u64::MAX);
        let mut blocks = ChunkSetBuilder::default();
        for reader in sides {
            let per_object = reader.side.metadata.largest_chunk().iter().zip(&self.block_shape);
            let per_object =
                per_object.fold(1_u64, |all, (object, block)| all.saturating_mul(object / block + 2));
            let objects = reader.side.objects();
            if total <= LISTED || objects.len().saturating_mul(per_object) >= total {
                return ChunkSet::full(total);
            }
            for object in objects.iter() {
                let region = reader.side.inside(&reader.side.region_of(object));
                if !region.is_empty() {
                    let overlapped = region.chunks(&self.block_shape).cells();
                    overlapped.for_each(|block| blocks.insert(ravel(&block, &self.grid)));
                }
            }
        }
        blocks.finish()
    }
}

/// The smallest unit of a side that is decoded alone, or the largest of them.
fn subchunk_shape(side: &StoredArray) -> &[u64] {
    match &side.layout {
        Some(layout) => &layout.subchunk.decoded().shape,
        None => side.metadata.largest_chunk(),
    }
}

/// The least length that both divide, where it is near the greater of them; else that one.
fn aligned(a: u64, b: u64) -> u64 {
    let greater = a.max(b);
    lcm(a, b).filter(|length| *length <= greater.saturating_mul(4)).unwrap_or(greater)
}

impl BlockReader<'_> {
    /// The element that absent chunks are full of.
    pub(super) fn fill_value(&self) -> Vec<u8> {
        let decoded = self.side.chain.decoded();
        let zeros = || vec![0; decoded.data_type.size().unwrap_or(1)];
        decoded.fill_value.as_ref().map_or_else(zeros, |fill_value| fill_value.0.clone())
    }

    /// Whether an object that touches the region is there.
    pub(super) fn has_objects(&self, region: &Region) -> bool {
        self.side.objects_in(region).any(|object| self.side.may_hold(object))
    }

    /// Reads the elements of a region into `target` (replaced), in C order.
    pub(super) fn read(
        &self,
        region: &Region,
        buffers: &mut ReadBuffers,
        target: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let fill_value = self.fill_value();
        target.resize(as_index(region.num_elements()) * fill_value.len(), 0);
        let mut part = BlockPart { region, fill_value, buffers, target };
        self.side.objects_in(region).try_for_each(|index| {
            self.read_object(index, &mut part).map_err(|fault| self.explain(index, fault))
        })
    }

    fn read_object(&self, index: u64, block: &mut BlockPart<'_>) -> Result<(), Fault> {
        let whole = self.side.region_of(index);
        let part = block.region.common(&self.side.inside(&whole));
        if part.is_empty() {
            return Ok(());
        }
        if !self.side.may_hold(index) {
            block.fill(&part);
            return Ok(());
        }
        let object = self.side.open(index, block.buffers)?;
        let subchunk =
            self.side.layout.as_ref().map_or(&whole.shape, |layout| &layout.subchunk.decoded().shape);
        let mut places = part.relative_to(&whole.start).chunks(subchunk).cells();
        places.try_for_each(|place| block.read(&object, &place))
    }

    /// A fault of the data names its chunk and store; one of the machine stays what it is.
    fn explain(&self, index: u64, fault: Fault) -> Fault {
        match fault {
            fault if !fault.is_of_data() => fault,
            fault => {
                let cause = match &fault {
                    // The position is that in the array already.
                    Fault::Chain(fault) => fault.sentence_at(&vec![0; self.side.metadata.shape.len()]),
                    fault => fault.to_string(),
                };
                Fault::Other(format!("chunk {} of {}: {cause}", self.side.key(index), self.name))
            }
        }
    }
}

/// A block that is being read.
struct BlockPart<'a> {
    region: &'a Region,
    fill_value: Vec<u8>,
    buffers: &'a mut ReadBuffers,
    /// The elements of the block, in C order.
    target: &'a mut Vec<u8>,
}

impl BlockPart<'_> {
    /// Reads what of a subchunk lies in the block.
    fn read(&mut self, object: &OpenedObject<'_>, place: &[u64]) -> Result<(), Fault> {
        let subchunk = object.subchunk(place);
        let common = self.region.common(&subchunk);
        if common.is_empty() {
            return Ok(());
        }
        let Some(elements) = object.read(place, &subchunk, self.buffers)? else {
            self.fill(&common);
            return Ok(());
        };
        if subchunk == *self.region && elements.len() == self.target.len() {
            self.buffers.exchange(self.target);
            return Ok(());
        }
        RegionCopy {
            source_shape: &subchunk.shape,
            source_start: &common.offset_in(&subchunk.start),
            target_shape: &self.region.shape,
            target_start: &common.offset_in(&self.region.start),
            extent: &common.shape,
            element_size: self.fill_value.len(),
        }
        .run(elements, self.target);
        Ok(())
    }

    /// Fills a part of the block in which nothing is stored.
    fn fill(&mut self, part: &Region) {
        let start = part.offset_in(&self.region.start);
        fill_box(self.target, &self.region.shape, (&start, &part.shape), &self.fill_value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_lengths_are_common_multiples_while_they_are_near() {
        assert_eq!([aligned(4, 6), aligned(8, 2), aligned(7, 11), aligned(1, 1)], [12, 8, 11, 1]);
        assert_eq!(aligned(u64::MAX, u64::MAX - 1), u64::MAX);
    }
}
