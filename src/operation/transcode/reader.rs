//! The values of an array, unit by unit: chunks, or the inner chunks of shards that can be streamed; what lies beyond
//! the edge of the array is cut off.

use crate::codec::chain::Workspace;
use crate::codec::region::{RegionCopy, advance, as_index, unravel};
use crate::codec::sharding::IndexEntry;
use crate::codec::{BoundChain, ChainFault, ChainFaultKind, element_bits};
use crate::element::NumberType;
use crate::engine::driver::Fault;
use crate::engine::object::{Side, cell_start};
use crate::engine::shard::ShardLayout;
use crate::kernel::ElementFault;
use crate::store::ObjectReader;

/// Reads an array.
#[derive(Debug)]
pub(in crate::operation) struct CellReader<'a> {
    /// The array.
    pub side: &'a Side,
}

/// What a thread keeps from object to object.
#[derive(Debug, Default)]
pub(in crate::operation) struct ReadBuffers {
    read: Vec<u8>,
    decoded: Vec<u8>,
    cropped: Vec<u8>,
    /// For the codecs, and for the tiles of value programs.
    pub workspace: Workspace,
}

impl ReadBuffers {
    /// The elements of a cell whose encoded bytes are `encoded`, which becomes the buffer that is read into.
    pub(super) fn decode(
        &mut self,
        chain: &BoundChain,
        cell: &Cell,
        encoded: &mut Vec<u8>,
    ) -> Result<&[u8], ChainFault> {
        std::mem::swap(&mut self.read, encoded);
        decode(chain, cell, self)
    }

    /// A buffer of so many bytes, whatever it holds.
    pub(super) fn piece(&mut self, length: usize) -> &mut [u8] {
        self.read.resize(length, 0);
        &mut self.read
    }
}

/// A unit of the array.
#[derive(Debug, Clone)]
pub(in crate::operation) struct Cell {
    /// Its first element in the array.
    pub start: Vec<u64>,
    /// The part of it that lies inside the array, in elements.
    pub shape: Vec<u64>,
}

impl Cell {
    /// Elements of the cell.
    pub(super) fn num_elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// A kernel's fault on the cell's elements, with the element's place in the array.
    pub(super) fn element_fault(
        &self,
        fault: ElementFault,
        elements: &[u8],
        source: NumberType,
        target: NumberType,
    ) -> Fault {
        let mut position = unravel(fault.index as u64, &self.shape);
        position.iter_mut().zip(&self.start).for_each(|(index, first)| *index += first);
        let size = source.size();
        let bits = elements.get(fault.index * size..(fault.index + 1) * size).map_or(0, element_bits);
        let kind =
            ChainFaultKind::Element { fault, position: Some(position), bits, types: Some((source, target)) };
        Fault::Chain(ChainFault { place: "-".to_owned(), codec: "cast_value".to_owned(), kind })
    }
}

/// A stored object that is being read.
#[derive(Debug)]
pub(in crate::operation) struct OpenedObject<'a> {
    side: &'a Side,
    key: String,
    start: Vec<u64>,
    shard: Option<OpenedShard<'a>>,
}

#[derive(Debug)]
struct OpenedShard<'a> {
    layout: &'a ShardLayout,
    /// `None` where the shard is absent.
    reader: Option<ObjectReader>,
    index: Vec<IndexEntry>,
}

impl<'a> CellReader<'a> {
    /// Opens an object; one that is not there is absent whole.
    pub(in crate::operation) fn open(
        &self,
        index: u64,
        buffers: &mut ReadBuffers,
    ) -> Result<OpenedObject<'a>, Fault> {
        let side = self.side;
        let key = side.key(index);
        let shard = match &side.layout {
            None => None,
            Some(layout) => {
                let reader = side.node.open(&key)?;
                let index = match &reader {
                    Some(reader) => layout.read_index(reader, &mut buffers.read, &mut buffers.workspace)?,
                    None => Vec::new(),
                };
                Some(OpenedShard { layout, reader, index })
            }
        };
        Ok(OpenedObject { side, key, start: side.start_of(index), shard })
    }

    /// Gives each unit of an object to `visit`, with its elements, or none where it is absent.
    pub(super) fn each(
        &self,
        index: u64,
        buffers: &mut ReadBuffers,
        mut visit: impl FnMut(&Cell, Option<&[u8]>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let object = self.open(index, buffers)?;
        object.each_place(|place| {
            let cell = object.cell(place);
            visit(&cell, object.read(place, &cell, buffers)?)
        })
    }
}

impl OpenedObject<'_> {
    /// Calls `visit` with the place of each unit that lies inside the array, at least in part.
    pub(super) fn each_place(&self, mut visit: impl FnMut(&[u64]) -> Result<(), Fault>) -> Result<(), Fault> {
        let grid = match &self.shard {
            Some(shard) => shard.layout.cell_grid_shape(),
            None => vec![1; self.start.len()],
        };
        let mut place = vec![0; grid.len()];
        loop {
            if self.cell(&place).num_elements() > 0 {
                visit(&place)?;
            }
            if !advance(&mut place, &grid) {
                return Ok(());
            }
        }
    }

    /// The unit at a place, cut at the edge of the array.
    pub(in crate::operation) fn cell(&self, place: &[u64]) -> Cell {
        let shape = match &self.shard {
            Some(shard) => &shard.layout.cell.decoded().shape,
            None => &self.side.metadata.chunk_shape,
        };
        let start = cell_start(&self.start, place, shape);
        let shape = self.side.cropped(&start, shape).unwrap_or_else(|| shape.clone());
        Cell { start, shape }
    }

    /// The elements of a unit; `None` where it is absent.
    pub(in crate::operation) fn read<'b>(
        &self,
        place: &[u64],
        cell: &Cell,
        buffers: &'b mut ReadBuffers,
    ) -> Result<Option<&'b [u8]>, Fault> {
        let Some(shard) = &self.shard else {
            let chain = &self.side.chain;
            let there = self.side.node.read_into(&self.key, chain.max_encoded_bytes(), &mut buffers.read)?;
            return if there { Ok(Some(decode(chain, cell, buffers)?)) } else { Ok(None) };
        };
        let entry = shard.index.get(shard.layout.entry_of(place)).copied().flatten();
        let (Some((offset, length)), Some(reader)) = (entry, &shard.reader) else { return Ok(None) };
        reader.read_at(offset, length, &mut buffers.read)?;
        Ok(Some(decode(&shard.layout.cell, cell, buffers)?))
    }
}

/// Decodes what was read, and cuts off what lies beyond the edge.
fn decode<'b>(chain: &BoundChain, cell: &Cell, buffers: &'b mut ReadBuffers) -> Result<&'b [u8], ChainFault> {
    let ReadBuffers { read, decoded, cropped, workspace } = buffers;
    let elements: &[u8] = if chain.stores_elements(read.len()) {
        read
    } else {
        chain.decode(read, decoded, workspace)?;
        decoded
    };
    let shape = &chain.decoded().shape;
    if cell.shape == *shape {
        return Ok(elements);
    }
    let size = chain.decoded().data_type.size().unwrap_or(1);
    let origin = vec![0; shape.len()];
    cropped.resize(as_index(cell.num_elements()) * size, 0);
    RegionCopy {
        source_shape: shape,
        source_start: &origin,
        target_shape: &cell.shape,
        target_start: &origin,
        extent: &cell.shape,
        element_size: size,
    }
    .run(elements, cropped);
    Ok(cropped)
}
