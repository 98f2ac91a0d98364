//! Reads of two arrays of the same shape next to each other.

#[cfg(test)]
mod tests;

use std::ops::AddAssign;
use std::sync::MutexGuard;

use super::{
    BlockReader, BudgetTooSmall, Buffers, ChunkResult, Costs, DecodedBlock, DecodedSubchunk, Driver, Filling, Grids,
    PrefetchPlan, RechunkPlan, Schedule, Silent, Transfer, Workers, guarded, reads_all, reads_in, reads_of_box,
    reads_of_object, source_of,
};
use crate::array::{ChunkSet, ReadBuffers, Result, SubchunkSource, crop};
use crate::codec::as_index;
use crate::grid::{Grid, Region, ravel, zip_with};

/// Memory of a piece of a block in addition to its elements, in bytes.
const PIECE_BYTES: u64 = 128;

/// Elements of the source and of the destination in the same box.
pub struct Pair<'p> {
    /// Box in elements of the destination.
    pub region: &'p Region,
    /// Elements in C order. Absent ones are fill values. Both slices are empty if neither side is stored.
    pub elements: [&'p [u8]; 2],
    /// True for each side with stored elements.
    pub is_stored: [bool; 2],
}

/// Source and destination of a transfer, read in pieces.
pub struct Pairs<'a> {
    transfer: &'a Transfer,
    /// Grid of the pieces. If both sides have the same subchunks, pieces are these.
    pieces: Grid,
    /// Blocks of pieces for which the source is kept in memory. `None` means that both sides have the same subchunks.
    blocks: Option<RechunkPlan>,
    /// True if pieces are subchunks of the destination. Otherwise it is kept in memory in blocks, too.
    is_direct: bool,
    fillings: [Filling; 2],
    /// Number of threads, and the memory that they need.
    pub schedule: Schedule,
}

/// Buffers of a thread, reused for all pieces.
#[derive(Debug, Default)]
struct PieceBuffers<W> {
    elements: PairBuffers,
    visitor: W,
}

/// Buffers for both sides of a piece: subchunks that are read for it alone or cropped at the edge of the array, and
/// elements where nothing is stored.
type PairBuffers = ([ReadBuffers; 2], [Vec<u8>; 2]);

impl<'a> Pairs<'a> {
    /// Plans pieces that are subchunks of the destination. Chooses the blocks with the fewest reads within `budget`
    /// bytes, for as many of `threads` as fit. A thread needs `worker` bytes in addition to blocks.
    pub fn new(transfer: &'a Transfer, worker: u64, threads: usize, budget: u64) -> Result<Self, BudgetTooSmall> {
        let Transfer { source, destination, .. } = transfer;
        let (piece, fillings) = (destination.subchunk_shape().to_vec(), [source, destination].map(Filling::new));
        if transfer.has_same_subchunks() {
            if worker > budget {
                return Err(BudgetTooSmall { least: worker });
            }
            let threads = (budget / worker.max(1)).min(threads.max(1) as u64);
            let bytes = worker.saturating_mul(threads);
            let schedule = Schedule { threads: as_index(threads), shares_blocks: false, bytes };
            let pieces = destination.subchunk_grid.clone();
            return Ok(Pairs { transfer, pieces, blocks: None, is_direct: true, fillings, schedule });
        }
        let is_direct = destination.layout.is_some() || destination.is_regular();
        let held = &fillings[..if is_direct { 1 } else { 2 }];
        let element = held.iter().map(|filling| filling.element_size() as u64).sum();
        let (destination_object, order) = (destination.metadata.grid.largest().to_vec(), destination.subchunk_order());
        let grids = Grids { destination_object, order, ..grids(transfer, &piece) };
        let plan = RechunkPlan::new(grids, Costs { element, subchunk: PIECE_BYTES, worker }, budget)?;
        let schedule = Schedule::new(&plan, threads, budget);
        let pieces = transfer.grid_of(&piece);
        Ok(Pairs { transfer, pieces, blocks: Some(plan), is_direct, fillings, schedule })
    }

    /// Plans blocks of a shape, for [`Pairs::each_block`]. Returns `None` if they do not consist of whole pieces.
    pub fn in_blocks(transfer: &'a Transfer, piece: &[u64], block: Vec<u64>) -> Option<Self> {
        let costs = Costs { element: 0, subchunk: 0, worker: 0 };
        let plan = RechunkPlan::of_blocks(grids(transfer, piece), costs, block, u64::MAX)?.ok()?;
        let fillings = [&transfer.source, &transfer.destination].map(Filling::new);
        let schedule = Schedule { threads: 1, shares_blocks: true, bytes: 0 };
        let (pieces, blocks) = (transfer.grid_of(piece), Some(plan));
        Some(Pairs { transfer, pieces, blocks, is_direct: false, fillings, schedule })
    }

    /// Returns all units: objects of the destination, or groups of them.
    pub fn all_units(&self) -> ChunkSet {
        let num_chunks = || self.transfer.destination.metadata.num_chunks();
        ChunkSet::full(self.blocks.as_ref().map_or_else(num_chunks, RechunkPlan::num_groups))
    }

    /// Calls `visit` for each block in C order. All threads share a block.
    pub fn each_block<W: Default + Send>(
        &self,
        driver: &Driver,
        visit: impl Fn(&PairBlock<'_, W>) -> Result<()> + Sync,
    ) -> ChunkResult {
        let from = source_of(self.transfer);
        let work = |workers: &Workers<'_, W>, unit| {
            let mut to = SubchunkSource::of_destination(&self.transfer.destination);
            to.reads_all = true;
            self.read_blocks([&from, &to], unit, workers, |region, blocks| {
                let subchunks = &blocks[0].subchunks.clone();
                let pieces = blocks.each_mut().map(DecodedBlock::decoded);
                visit(&PairBlock { region, shape: self.pieces.largest(), subchunks, pieces, workers })
            })
        };
        driver.run_units(&self.all_units(), &self.reads_ahead(&from), true, work, |_, ()| ())
    }

    /// Reads the blocks of a unit one after the other, and calls `visit` with each. `subchunks` are those of both sides.
    fn read_blocks<V: Default + Send>(
        &self,
        subchunks: [&SubchunkSource<'_>; 2],
        unit: u64,
        workers: &Workers<'_, V>,
        mut visit: impl FnMut(&Region, &mut [DecodedBlock; 2]) -> Result<()>,
    ) -> Result<()> {
        let num_held = if self.is_direct { 1 } else { 2 };
        workers.with_blocks(|blocks| {
            for block in self.blocks.iter().flat_map(|plan| plan.blocks(unit)) {
                for (side, decoded) in blocks[..num_held].iter_mut().enumerate() {
                    let subchunks = subchunks[side];
                    let decoded = decoded.begin(&block, self.pieces.largest(), &subchunks.array.metadata.skipped);
                    self.reader(subchunks, side).read(decoded, workers)?;
                }
                visit(&block, blocks)?;
            }
            Ok(())
        })
    }

    /// Returns the units in which either side may store elements. With `objects`, only units that contain some of them. If
    /// it is not known which objects the destination has, only the source counts.
    pub fn units(&self, objects: Option<&ChunkSet>) -> ChunkSet {
        let Transfer { source, destination, .. } = self.transfer;
        let stored = |transfer: &Transfer| match &self.blocks {
            None => transfer.overlapped_among(&destination.metadata.grid, objects),
            Some(plan) => plan.groups_among(transfer, objects),
        };
        let of_source = stored(self.transfer);
        if destination.present.is_none() {
            return of_source;
        }
        let (from, to) = (destination.clone(), source.clone());
        let of_destination = stored(&Transfer { source: from, destination: to, absent_element: None, origin: None });
        ChunkSet::from(of_source.runs().chain(of_destination.runs()).collect::<Vec<_>>())
    }

    /// Returns the first element of a unit.
    pub fn start_of(&self, unit: u64) -> Vec<u64> {
        let Some(plan) = &self.blocks else { return self.transfer.destination.start_of(unit) };
        plan.blocks(unit).into_iter().next().map(|block| block.start).unwrap_or_default()
    }

    /// Calls `visit` for each piece of some units, and `fold` for the results of the units in order. With `objects`,
    /// only for pieces in these objects of the destination.
    pub fn fold<W: Default + Send, R: Default + AddAssign + Send>(
        &self,
        driver: &Driver,
        (units, objects): (&ChunkSet, Option<&ChunkSet>),
        visit: impl Fn(&mut W, &Pair<'_>) -> Result<R> + Sync,
        fold: impl FnMut(u64, R),
    ) -> ChunkResult {
        let Transfer { source, destination, .. } = self.transfer;
        let mut from = source_of(self.transfer);
        // Reads in blocks announce their parts themselves.
        from.reads_all = self.blocks.is_none() && reads_all(source, destination);
        // If there are too few shards for all threads, they share each.
        let are_few = self.blocks.is_none() && destination.layout.is_some() && driver.outnumbers(units);
        let work = |workers: &Workers<'_, PieceBuffers<W>>, unit| {
            // Each unit has its own source, so that only the index of one shard is kept.
            let mut to = SubchunkSource::of_destination(destination);
            to.reads_all = true;
            let (subchunks, mut all) = ([&from, &to], R::default());
            let piece = |own: &mut PieceBuffers<W>, position: &[u64], held: [Option<&DecodedBlock>; 2]| {
                let region = destination.inside(&self.pieces.region_of(position));
                let is_excluded = objects.is_some_and(|some| !some.contains(destination.object_of(position)));
                if is_excluded || region.is_empty() {
                    return Ok(R::default());
                }
                let held = held.map(|block| block.map(|block| block.lock(block.item(position))));
                let pair = self.pair(subchunks, (position, &region), held.each_ref(), &mut own.elements)?;
                guarded(|| visit(&mut own.visitor, &pair))
                    .map_err(|fault| fault.of_destination(destination.objects_in(&region).next().unwrap_or(0)))
            };
            let mut each = |cells: &Region, held: [Option<&DecodedBlock>; 2]| {
                let one = |own: &mut Buffers<_>, item| piece(&mut own.visitor, &cells.position(item), held);
                workers.each(cells.num_elements(), one, |_, found| all += found)
            };
            if self.blocks.is_none() {
                each(&destination.subchunks_of(unit), [None; 2])?;
            } else {
                self.read_blocks(subchunks, unit, workers, |_, [from, to]| {
                    each(&from.subchunks, [Some(from), (!self.is_direct).then_some(to)])
                })?;
            }
            Ok(all)
        };
        driver.run_units(units, &self.reads_ahead(&from), self.schedule.shares_blocks || are_few, work, fold)
    }

    /// Returns the reads of both sides for each unit. `subchunks` are those of the source.
    fn reads_ahead<'s>(&'s self, subchunks: &'s SubchunkSource<'_>) -> [PrefetchPlan<'s>; 2] {
        let Transfer { source, destination, .. } = self.transfer;
        let of_source = PrefetchPlan::of_array(source, move |unit, each| match &self.blocks {
            None => reads_in(self.transfer, &destination.region_of(unit), each),
            Some(plan) => {
                let reader = self.reader(subchunks, 0);
                plan.blocks(unit).iter().for_each(|block| reader.reads(block, each));
            }
        });
        let of_destination = PrefetchPlan::of_array(destination, move |unit, each| match &self.blocks {
            None => reads_of_object(destination, unit, true, each),
            Some(plan) => {
                plan.blocks(unit).iter().for_each(|block| reads_of_box(destination, block, self.is_direct, each));
            }
        });
        [of_source, of_destination]
    }

    /// Returns both sides of a piece. `held` are the pieces in memory, of the sides that are kept there.
    fn pair<'b>(
        &'b self,
        subchunks: [&SubchunkSource<'_>; 2],
        (position, region): (&[u64], &'b Region),
        held: [&'b Option<MutexGuard<'_, DecodedSubchunk>>; 2],
        ([from, to], filled): &'b mut PairBuffers,
    ) -> Result<Pair<'b>> {
        let side = |side, read| self.side((side, subchunks[side]), (position, region), held[side].as_deref(), read);
        let found = [side(0, from)?, side(1, to)?];
        let is_stored = found.map(|elements| elements.is_some());
        let mut elements: [&[u8]; 2] = [&[]; 2];
        if is_stored != [false; 2] {
            for ((filling, filled), (elements, found)) in
                self.fillings.iter().zip(filled).zip(elements.iter_mut().zip(found))
            {
                *elements = found.unwrap_or_else(|| {
                    filled.resize(as_index(region.num_elements()) * filling.element_size(), 0);
                    filling.fill(filled, &region.shape, &region.shape);
                    filled
                });
            }
        }
        Ok(Pair { region, elements, is_stored })
    }

    /// Returns the elements of a piece on one side, cropped to the array, or `None` if nothing of it is stored. `held`
    /// is the piece in memory, if this side is kept there. Else it is read.
    fn side<'b>(
        &self,
        (side, subchunks): (usize, &SubchunkSource<'_>),
        (position, region): (&[u64], &Region),
        held: Option<&'b DecodedSubchunk>,
        read: &'b mut ReadBuffers,
    ) -> Result<Option<&'b [u8]>> {
        let Some(held) = held else {
            let position = if side == 0 { self.transfer.source_subchunk(position) } else { position.into() };
            let start = subchunks.array.subchunk_grid.start_of(&position);
            let elements = read.read_subchunk(subchunks, &position, &Region { start, shape: region.shape.clone() });
            return elements.map_err(|fault| subchunks.located(fault, &position));
        };
        let size = self.fillings[side].element_size();
        if !held.is_stored || held.elements.len() == as_index(region.num_elements()) * size {
            return Ok(held.is_stored.then_some(&held.elements));
        }
        let cropped = &mut read.bytes;
        cropped.clone_from(&held.elements);
        crop(cropped, self.pieces.largest(), (&vec![0; region.shape.len()], &region.shape), size);
        Ok(Some(cropped))
    }

    fn reader<'r, 's>(&'r self, subchunks: &'r SubchunkSource<'s>, side: usize) -> BlockReader<'s, 'r> {
        BlockReader { source: subchunks, origin: None, filling: &self.fillings[side], progress: &Silent }
    }
}

/// Block of both sides in memory, in pieces.
pub struct PairBlock<'b, W> {
    /// Box in elements of the destination.
    pub region: &'b Region,
    /// Shape of a piece.
    shape: &'b [u64],
    /// Pieces, as a box of their grid.
    subchunks: &'b Region,
    pieces: [Vec<&'b DecodedSubchunk>; 2],
    workers: &'b Workers<'b, W>,
}

impl<W: Default + Send> PairBlock<'_, W> {
    /// Runs `work` for each of `0..count` on all threads, and calls `fold` with the results in order.
    pub fn each<R: Send>(
        &self,
        count: u64,
        work: impl Fn(&mut W, u64) -> Result<R> + Sync,
        fold: impl FnMut(u64, R),
    ) -> Result<()> {
        self.workers.each(count, |buffers, item| work(&mut buffers.visitor, item), fold)
    }

    /// Like [`PairBlock::each`], for each piece. The elements of absent pieces are fill values.
    pub fn each_piece<R: Send>(
        &self,
        work: impl Fn(&mut W, &Pair<'_>) -> Result<R> + Sync,
        mut fold: impl FnMut(&Region, R),
    ) -> Result<()> {
        let region = |item| Region::chunk(&self.subchunks.position(item), self.shape).common(self.region);
        let work = |visitor: &mut W, item| {
            let region = region(item);
            let (elements, is_stored) = self.elements_from(&region.start);
            work(visitor, &Pair { region: &region, elements, is_stored })
        };
        self.each(self.subchunks.num_elements(), work, |item, found| fold(&region(item), found))
    }

    /// Returns the elements of a piece from `element` to its end, and whether each side stores some of them.
    pub fn elements_from(&self, element: &[u64]) -> ([&[u8]; 2], [bool; 2]) {
        let position = zip_with(element, self.shape, |at, length| at / length);
        let region = Region::chunk(&position, self.shape).common(self.region);
        let item = ravel(&zip_with(&position, &self.subchunks.start, |at, first| at - first), &self.subchunks.shape);
        let before = ravel(&zip_with(element, &region.start, |at, first| at - first), &region.shape);
        let pieces = self.pieces.each_ref().map(|side| side[as_index(item)]);
        let size = |side: &[u8]| side.len() / as_index(region.num_elements());
        let elements = pieces.map(|piece| &piece.elements[as_index(before) * size(&piece.elements)..]);
        (elements, pieces.map(|piece| piece.is_stored))
    }
}

/// Returns grids in which each piece is an object.
fn grids(transfer: &Transfer, piece: &[u64]) -> Grids {
    let Transfer { source, destination, .. } = transfer;
    let (shape, skipped) = (destination.metadata.shape.clone(), source.metadata.skipped.clone());
    let (destination_subchunk, destination_object) = (piece.to_vec(), piece.to_vec());
    let (source_subchunk, order) = (source.part_shape(), (0..piece.len()).collect());
    Grids { shape, skipped, source_subchunk, destination_subchunk, destination_object, order }
}
