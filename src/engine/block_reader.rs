//! Blocks of the destination read from the source, and given cell by cell to whoever wants their elements.

use std::sync::Mutex;

use super::cell_encoder::CellEncoder;
use super::cells::CellSource;
use super::decoded_block::{DecodedBlock, overlap};
use super::driver::{ChunkFault, Driver, Fault, guarded};
use super::object::{ObjectBuffers, ObjectJob, Side, at};
use super::plan::Block;
use super::rechunk::Rechunk;
use super::workers::Workers;
use crate::codec::ChainFault;
use crate::codec::region::{Pieces, RegionCopy, advance, as_index, ravel, unravel};

/// Bytes of a plain object that are read at a time: the least that is worth a call, and the most, which leaves room in
/// a level 2 cache.
const PIECE_BYTES: [u64; 2] = [1 << 15, 1 << 18];

impl Side {
    /// The part of a cell that can be read alone, if all before it and after it in its row is read too: the cell, but
    /// of plain objects any stretch.
    pub fn part_shape(&self) -> Vec<u64> {
        let (chain, shape) = (self.cell_chain(), self.cell_shape());
        let is_plain = self.layout.is_none() && chain.stores_elements(as_index(chain.decoded_bytes()));
        let size = chain.decoded().data_type.size().filter(|_| is_plain);
        let Some(size) = size else { return shape.to_vec() };
        let whole = [vec![0; shape.len()], shape.to_vec()];
        let [least, _] = PIECE_BYTES.map(|bytes| bytes / size as u64);
        let first = Pieces::new(shape, [&whole[0], &whole[1]], [1, least]).next();
        first.map_or_else(|| shape.to_vec(), |(_, extent)| extent)
    }
}

/// The elements of the source where a cell of the destination is.
#[derive(Debug)]
pub struct GatheredCell<'a> {
    /// Its position in the grid of the destination's cells.
    pub position: &'a [u64],
    /// What lies inside the array, in elements along each dimension.
    pub shape: &'a [u64],
    /// The elements inside the array, in C order.
    pub elements: &'a [u8],
    /// Whether any of them is stored.
    pub is_stored: bool,
}

/// Gives every cell of the destination's grid to `visit`, with the elements that the source has there; what it makes
/// of them goes to `fold`, in no order.
pub fn visit_cells<R: Send>(
    job: &ObjectJob,
    rechunk: &Rechunk,
    driver: &Driver,
    visit: impl Fn(&GatheredCell<'_>) -> Result<R, Fault> + Sync,
    mut fold: impl FnMut(R),
) -> Result<(), ChunkFault> {
    let cells = JobCells::new(job);
    let reader = BlockReader { cells: &cells, encoder: &rechunk.encoder };
    let buffers: Vec<Mutex<ObjectBuffers>> = driver.workspaces();
    let mut decoded = DecodedBlock::default();
    let groups = job.overlapped(&rechunk.plan.group_shape());
    for index in groups.iter() {
        for block in rechunk.plan.blocks(&rechunk.plan.group(index)) {
            let mut workers = Workers::All { driver, buffers: &buffers };
            let visited = reader.read(&block, &job.destination, &mut decoded, &mut workers).and_then(|_| {
                let (decoded, element_size) = (&decoded, rechunk.encoder.element_size());
                workers.each(decoded.num_cells(), |_, item| {
                    visit_cell(job, (decoded, item), element_size, &visit)
                })
            });
            visited.map_err(|fault| ChunkFault { index, fault })?.into_iter().for_each(&mut fold);
        }
    }
    Ok(())
}

fn visit_cell<R>(
    job: &ObjectJob,
    (decoded, item): (&DecodedBlock, usize),
    element_size: usize,
    visit: &impl Fn(&GatheredCell<'_>) -> Result<R, Fault>,
) -> Result<R, Fault> {
    let side = &job.destination;
    let position = decoded.position(item);
    let cell = decoded.lock(item);
    let whole = side.cell_shape();
    let valid = side.cropped(&side.start_of_cell(&position), whole);
    let shape = valid.as_deref().unwrap_or(whole);
    let mut cropped = Vec::new();
    let inside = as_index(shape.iter().product::<u64>()) * element_size;
    let has_gaps = inside != cell.elements.len();
    if has_gaps {
        let origin = vec![0; shape.len()];
        cropped.resize(inside, 0);
        RegionCopy {
            source_shape: whole,
            source_start: &origin,
            target_shape: shape,
            target_start: &origin,
            extent: shape,
            element_size,
        }
        .run(&cell.elements, &mut cropped);
    }
    let elements = if has_gaps { &cropped } else { &cell.elements };
    let gathered = GatheredCell { position: &position, shape, elements, is_stored: cell.is_stored };
    guarded(|| visit(&gathered)).map_err(|fault| fault.of_destination(side.object_of(&position).0))
}

/// The cells that a job reads.
#[derive(Debug)]
pub(super) struct JobCells<'a> {
    /// Those of its source.
    pub(super) source: CellSource<'a>,
    /// Those of the array that its source is intermediate data of.
    pub(super) origin: Option<CellSource<'a>>,
}

impl<'a> JobCells<'a> {
    /// The cells of a job's source that are there.
    pub(super) fn new(job: &'a ObjectJob) -> Self {
        let source = CellSource::new(&job.source, Some(&job.present));
        let origin = job.origin.as_ref();
        let source = if origin.is_some() { source.reading_entries() } else { source };
        let origin = origin.map(|origin| CellSource::new(&origin.side, Some(&origin.present)));
        JobCells { source, origin }
    }

    /// Bytes of the source's indexes that were read.
    pub(super) fn index_bytes(&self) -> u64 {
        self.source.index_bytes()
    }
}

/// Reads blocks.
#[derive(Debug)]
pub(super) struct BlockReader<'a> {
    /// The cells of the source.
    pub(super) cells: &'a JobCells<'a>,
    /// What knows of absent elements.
    pub(super) encoder: &'a CellEncoder,
}

impl BlockReader<'_> {
    /// Reads all source cells that overlap a block into its cells; how many encoded bytes they had.
    pub(super) fn read(
        &self,
        block: &Block,
        destination: &Side,
        decoded: &mut DecodedBlock,
        workers: &mut Workers<'_>,
    ) -> Result<u64, Fault> {
        decoded.begin(block, destination.cell_shape());
        let shared: &DecodedBlock = decoded;
        workers.each(shared.num_cells(), |_, item| {
            shared.prepare(item, self.encoder, |start, end| self.may_be_absent(start, end));
            Ok(())
        })?;
        let bytes = self.read_all(block, shared, workers)?;
        if let Some(origin) = &self.cells.origin {
            workers.each(shared.num_cells(), |buffers, item| {
                shared.reconsider(item, self.encoder, |part| holds_any(origin, part, buffers))
            })?;
        }
        Ok(bytes)
    }

    fn read_all(
        &self,
        block: &Block,
        decoded: &DecodedBlock,
        workers: &mut Workers<'_>,
    ) -> Result<u64, Fault> {
        let side = self.cells.source.side();
        let (first_cell, cell_counts) = block.cells(side.cell_shape());
        if !self.cells.source.reads_indexes() {
            return self.read_cells(&first_cell, &cell_counts, decoded, workers);
        }
        // Shard by shard, so that the index of each is read once.
        let (first, counts) = block.cells(&side.metadata.chunk_shape);
        let per_object = side.cells_per_object();
        let mut place = vec![0; counts.len()];
        let mut bytes = 0;
        loop {
            let object: Vec<u64> = place.iter().zip(&first).map(|(index, first)| index + first).collect();
            let (cells, counts_inside) = overlap(&first_cell, &cell_counts, &object, &per_object);
            bytes += self.read_cells(&cells, &counts_inside, decoded, workers)?;
            if !advance(&mut place, &counts) {
                return Ok(bytes);
            }
        }
    }

    /// Whether some of the box may hold nothing that is stored.
    fn may_be_absent(&self, start: &[u64], end: &[u64]) -> bool {
        let block = Block { start: start.to_vec(), end: end.to_vec() };
        self.cells.source.side().layout.is_some() || self.has_object(&block, false)
    }

    /// Whether an object that overlaps the block is there.
    pub(super) fn holds_any(&self, block: &Block) -> bool {
        self.has_object(block, true)
    }

    /// Whether one of the objects that overlap a block is there, or is not.
    fn has_object(&self, block: &Block, is_there: bool) -> bool {
        let side = &self.cells.source.side().metadata;
        let grid = side.chunk_grid_shape();
        let (first, counts) = block.cells(&side.chunk_shape);
        let mut place = vec![0; counts.len()];
        loop {
            let object: Vec<u64> = place.iter().zip(&first).map(|(index, first)| index + first).collect();
            if self.cells.source.may_hold(ravel(&object, &grid)) == is_there {
                return true;
            }
            if !advance(&mut place, &counts) {
                return false;
            }
        }
    }

    /// Reads a box of source cells.
    fn read_cells(
        &self,
        first: &[u64],
        counts: &[u64],
        decoded: &DecodedBlock,
        workers: &mut Workers<'_>,
    ) -> Result<u64, Fault> {
        let count = as_index(counts.iter().product());
        let bytes = workers.each(count, |buffers, item| {
            let place = unravel(item as u64, counts);
            let cell: Vec<u64> = place.iter().zip(first).map(|(index, first)| index + first).collect();
            guarded(|| self.read_cell(&cell, decoded, buffers))
                .map_err(|fault| fault.of_source(self.cells.source.side().object_of(&cell).0))
        })?;
        Ok(bytes.iter().sum())
    }

    fn read_cell(
        &self,
        cell: &[u64],
        decoded: &DecodedBlock,
        buffers: &mut ObjectBuffers,
    ) -> Result<u64, Fault> {
        let side = self.cells.source.side();
        let chain = side.cell_chain();
        if side.layout.is_none() && chain.stores_elements(as_index(chain.decoded_bytes())) {
            return self.read_elements(cell, decoded, &mut buffers.read);
        }
        let ObjectBuffers { read, decoded: elements, workspace, .. } = buffers;
        if !self.cells.source.read(cell, read, workspace)? {
            return Ok(0);
        }
        let start = side.start_of_cell(cell);
        let values: &[u8] = if chain.stores_elements(read.len()) {
            read
        } else {
            chain.decode(read, elements, workspace).map_err(|fault| at(fault, &start))?;
            elements
        };
        check_values(side, values, &start, side.cell_shape())?;
        decoded.scatter(values, &start, side.cell_shape(), self.encoder.element_size());
        Ok(read.len() as u64)
    }

    /// Reads what a block needs of an object that is its elements, piece by piece, so that they are still in the
    /// level 2 cache when they are copied.
    fn read_elements(
        &self,
        cell: &[u64],
        decoded: &DecodedBlock,
        buffer: &mut Vec<u8>,
    ) -> Result<u64, Fault> {
        let side = self.cells.source.side();
        let object = side.object_of(cell).0;
        let in_source = |fault: Fault| fault.of_source(object);
        let Some(reader) = self.cells.source.open_object(object).map_err(in_source)? else { return Ok(0) };
        let (shape, size, start) =
            (side.cell_shape(), self.encoder.element_size() as u64, side.start_of_cell(cell));
        let (expected, found) = (side.chunk_bytes(), reader.length());
        if expected != found {
            return Err(in_source(Fault::Chain(ChainFault::of_stored_size(&reader, expected))));
        }
        let [first, end] = decoded.needed(&start, shape);
        let mut bytes = 0;
        for (first, extent) in Pieces::new(shape, [&first, &end], PIECE_BYTES.map(|bytes| bytes / size)) {
            let length = extent.iter().product::<u64>() * size;
            reader
                .read_at(ravel(&first, shape) * size, length, buffer)
                .map_err(|error| in_source(error.into()))?;
            bytes += length;
            let start: Vec<u64> = start.iter().zip(&first).map(|(a, b)| a + b).collect();
            check_values(side, buffer, &start, &extent).map_err(in_source)?;
            decoded.scatter(buffer, &start, &extent, self.encoder.element_size());
        }
        Ok(bytes)
    }
}

/// Refuses elements of a box of `shape` at `start` that lie inside the array and are no values of its type.
fn check_values(side: &Side, elements: &[u8], start: &[u64], shape: &[u64]) -> Result<(), Fault> {
    let chain = side.cell_chain();
    if !chain.checks_values() {
        return Ok(());
    }
    let valid = side.cropped(start, shape);
    chain.check_values(elements, shape, valid.as_deref().unwrap_or(shape)).map_err(|fault| at(fault, start))
}

/// Whether a cell that overlaps a part of the array is stored.
fn holds_any(source: &CellSource<'_>, part: &Block, buffers: &mut ObjectBuffers) -> Result<bool, Fault> {
    let (first, counts) = part.cells(source.side().cell_shape());
    let mut place = vec![0; counts.len()];
    loop {
        let cell: Vec<u64> = place.iter().zip(&first).map(|(index, first)| index + first).collect();
        if source.holds(&cell, &mut buffers.read, &mut buffers.workspace)? {
            return Ok(true);
        }
        if !advance(&mut place, &counts) {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::codec::BoundChain;
    use crate::codec::conversion::ValueChange;
    use crate::data_type::DataType;
    use crate::engine::ChunkSet;
    use crate::engine::driver::ObjectOf;
    use crate::engine::journal::{Fingerprint, Journal};
    use crate::engine::object::ObjectWay;
    use crate::engine::plan::{Costs, Grids, RechunkPlan};
    use crate::engine::progress::Progress;
    use crate::engine::rechunk::Schedule;
    use crate::metadata::array::ArrayDocument;
    use crate::metadata::json::Json;
    use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
    use crate::store::LocalNode;

    /// An array of 4 x 4 bytes in these chunks.
    fn side(node: LocalNode, chunk_shape: [u64; 2]) -> Side {
        let document = format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[4,4],"data_type":"uint8",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunk_shape:?}}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
        );
        let metadata = ArrayDocument::read(&Json::parse_str(&document).unwrap()).metadata().unwrap();
        let data_type = DataType::read(&metadata.data_type).unwrap().value;
        let fill_value = Some(data_type.fill_value_from_json(&metadata.fill_value).unwrap().value);
        let input = ArrayRepresentation { data_type, shape: chunk_shape.to_vec(), fill_value };
        let codecs = &metadata.codecs;
        let pipeline = Pipeline::build(input, codecs, Completeness::ToBytes, "", &mut Vec::new());
        Side { node, chain: BoundChain::bind(&pipeline).unwrap(), metadata, layout: None }
    }

    /// From two chunks of two rows to four of one column, block by block.
    fn columns(folder: &std::path::Path) -> (ObjectJob, Rechunk) {
        let source = side(LocalNode::new(folder.join("a")), [2, 4]);
        let destination = side(LocalNode::new(folder.join("b")), [4, 1]);
        for object in 0..2 {
            source.node.write(&source.key(object), &[1; 8]).unwrap();
        }
        let grids = Grids {
            shape: vec![4, 4],
            source_cell: vec![2, 4],
            destination_cell: vec![4, 1],
            destination_object: vec![4, 1],
            order: vec![0, 1],
        };
        let plan = RechunkPlan::new(grids, Costs { element: 1, cell: 0, worker: 0 }, 4).unwrap();
        assert_eq!(plan.num_groups(), 4);
        let encoder = CellEncoder::new(&source, &destination, &ValueChange::None, false).unwrap();
        let schedule = Schedule::new(&plan, 1, 4);
        let rechunk = Rechunk { plan, encoder, schedule };
        let way = ObjectWay::Rechunk(Box::new(rechunk.clone()));
        let present = ChunkSet::full(2);
        (ObjectJob { source, destination, way, present, absent_element: None, origin: None }, rechunk)
    }

    #[test]
    fn panic_over_a_cell_names_its_chunk() {
        let folder = tempfile::tempdir().unwrap();
        let (job, rechunk) = columns(folder.path());
        let visit = |cell: &GatheredCell<'_>| {
            assert!(cell.position != [0, 2], "a bug");
            Ok(())
        };
        let fault = visit_cells(&job, &rechunk, &Driver::new(2).unwrap(), visit, |()| {}).unwrap_err();
        let Fault::At { of, index, fault } = fault.fault else { panic!("{fault:?}") };
        assert_eq!((of, index), (ObjectOf::Destination, 2));
        assert!(matches!(*fault, Fault::Panic(_)), "{fault:?}");
    }

    /// Panics when it hears of the third block.
    #[derive(Default)]
    struct Third(AtomicU64);

    impl Progress for Third {
        fn start(&self, _name: &str, _length: Option<u64>) {}
        fn advance(&self, _bytes: u64) {
            assert!(self.0.fetch_add(1, Ordering::Relaxed) != 2, "a bug");
        }
        fn finish(&self) {}
    }

    #[test]
    fn panic_over_a_block_names_its_first_chunk() {
        let folder = tempfile::tempdir().unwrap();
        let (job, _) = columns(folder.path());
        job.destination.node.create_root().unwrap();
        let journal =
            Journal::begin(&job.destination.node, &Fingerprint::new([("a", vec![&b"a"[..]])]), false)
                .unwrap();
        let driver = Driver::new(1).unwrap();
        let fault = job.run(&driver, &Third::default(), &journal.part("/"), |_| {}).unwrap_err();
        let Fault::At { of, index, fault } = fault.fault else { panic!("{fault:?}") };
        assert_eq!((of, index), (ObjectOf::Destination, 2));
        assert!(fault.to_string().contains("a bug"), "{fault}");
    }
}
