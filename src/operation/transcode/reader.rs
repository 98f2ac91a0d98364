//! The values of an array, unit by unit: chunks, or the inner chunks of shards that can be streamed; what lies beyond
//! the edge of the array is cut off.

use crate::codec::chain::Workspace;
use crate::codec::region::{RegionCopy, advance, as_index, unravel};
use crate::codec::{BoundChain, ChainFault, ChainFaultKind, element_bits};
use crate::element::NumberType;
use crate::engine::driver::Fault;
use crate::engine::object::{Side, cell_start};
use crate::engine::shard::ShardLayout;
use crate::kernel::ElementFault;

/// Reads an array.
#[derive(Debug)]
pub struct CellReader<'a> {
    /// The array.
    pub side: &'a Side,
}

/// What a thread keeps from object to object.
#[derive(Debug, Default)]
pub struct ReadBuffers {
    read: Vec<u8>,
    decoded: Vec<u8>,
    cropped: Vec<u8>,
    workspace: Workspace,
}

/// A unit of the array.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Its first element in the array.
    pub start: Vec<u64>,
    /// The part of it that lies inside the array, in elements.
    pub shape: Vec<u64>,
}

impl Cell {
    /// Elements of the cell.
    pub fn num_elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// A kernel's fault on the cell's elements, with the element's place in the array.
    pub fn element_fault(
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
        let kind = ChainFaultKind::Element { fault, position: Some(position), bits, types: Some((source, target)) };
        Fault::Chain(ChainFault { place: "-".to_owned(), codec: "cast_value".to_owned(), kind })
    }
}

impl CellReader<'_> {
    /// Gives each unit of an object to `visit`, with its elements, or none where it is absent; an object that is
    /// not there is absent whole.
    pub fn each(
        &self,
        index: u64,
        buffers: &mut ReadBuffers,
        mut visit: impl FnMut(&Cell, Option<&[u8]>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let side = self.side;
        let (key, start) = (side.key(index), side.start_of(index));
        let Some(layout) = &side.layout else {
            let cell = self.cell(start, &side.metadata.chunk_shape);
            let max = side.chain.max_encoded_bytes();
            if !side.node.read_into(&key, max, &mut buffers.read)? {
                return visit(&cell, None);
            }
            let elements = self.decode(&side.chain, &cell, buffers)?;
            return visit(&cell, Some(elements));
        };
        self.each_of_shard(layout, &key, &start, buffers, &mut visit)
    }

    fn each_of_shard(
        &self,
        layout: &ShardLayout,
        key: &str,
        start: &[u64],
        buffers: &mut ReadBuffers,
        visit: &mut impl FnMut(&Cell, Option<&[u8]>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let reader = self.side.node.open(key)?;
        let index = match &reader {
            Some(reader) => layout.read_index(reader, &mut buffers.read, &mut buffers.workspace)?,
            None => Vec::new(),
        };
        let (grid, shape) = (layout.cell_grid_shape(), &layout.cell.decoded().shape);
        let mut place = vec![0; grid.len()];
        loop {
            let cell = self.cell(cell_start(start, &place, shape), shape);
            if cell.num_elements() > 0 {
                match (index.get(layout.entry_of(&place)).copied().flatten(), &reader) {
                    (Some((offset, length)), Some(reader)) => {
                        reader.read_at(offset, length, &mut buffers.read)?;
                        let elements = self.decode(&layout.cell, &cell, buffers)?;
                        visit(&cell, Some(elements))?;
                    }
                    _ => visit(&cell, None)?,
                }
            }
            if !advance(&mut place, &grid) {
                return Ok(());
            }
        }
    }

    /// A unit of `shape` at `start`, cut at the edge of the array.
    fn cell(&self, start: Vec<u64>, shape: &[u64]) -> Cell {
        let shape = self.side.cropped(&start, shape).unwrap_or_else(|| shape.to_vec());
        Cell { start, shape }
    }

    /// Decodes what was read, and cuts off what lies beyond the edge.
    fn decode<'b>(&self, chain: &BoundChain, cell: &Cell, buffers: &'b mut ReadBuffers) -> Result<&'b [u8], ChainFault> {
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
}
