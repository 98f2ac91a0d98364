//! Pass over the elements of an array. Each chunk is read once, in parallel, for all accumulators. The result does not
//! depend on the number of threads.

use super::{Buffers, ChunkResult, Driver, PrefetchPlan, Progress, Workers, reads_of_object};
use crate::array::{ChunkSet, InPieces, OpenedObject, Result, StoredArray};
use crate::codec::as_index;
use crate::grid::Region;

/// Chunk, or a piece of one. Pieces are in order.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// Box of the chunk inside the array.
    pub region: &'a Region,
    /// Elements. `None` means that the chunk is absent.
    pub elements: Option<&'a [u8]>,
}

/// Computation over the elements of an array.
pub trait Accumulator: Sync {
    /// Result for a box of the array.
    type Part: Default + Send;
    /// Buffers of a thread, reused for all chunks.
    type Buffers: Default + Send;

    /// Returns the result for a box before any element.
    fn start(&self, _region: &Region) -> Self::Part {
        Self::Part::default()
    }

    /// Adds a chunk, or a piece of one.
    fn add(&self, part: &mut Self::Part, chunk: Chunk<'_>, buffers: &mut Self::Buffers) -> Result<()>;

    /// Adds the result of another box. Boxes are merged in the order of the grid.
    fn merge(&self, all: &mut Self::Part, part: &Self::Part);

    /// Returns true if `add` needs whole chunks.
    fn takes_whole(&self) -> bool {
        false
    }

    /// Returns the positions of the needed chunks of an object. `None` means all of them.
    fn positions(&self, _object: &OpenedObject<'_>) -> Option<Vec<Vec<u64>>> {
        None
    }
}

/// Threads with the buffers of an accumulator.
type WorkersOf<'w, A> = Workers<'w, <A as Accumulator>::Buffers>;

/// Two accumulators in one pass.
impl<A: Accumulator, B: Accumulator> Accumulator for (A, B) {
    type Part = (A::Part, B::Part);
    type Buffers = (A::Buffers, B::Buffers);

    fn start(&self, region: &Region) -> Self::Part {
        (self.0.start(region), self.1.start(region))
    }

    fn add(&self, part: &mut Self::Part, chunk: Chunk<'_>, buffers: &mut Self::Buffers) -> Result<()> {
        self.0.add(&mut part.0, chunk, &mut buffers.0)?;
        self.1.add(&mut part.1, chunk, &mut buffers.1)
    }

    fn merge(&self, all: &mut Self::Part, part: &Self::Part) {
        self.0.merge(&mut all.0, &part.0);
        self.1.merge(&mut all.1, &part.1);
    }

    fn takes_whole(&self) -> bool {
        self.0.takes_whole() || self.1.takes_whole()
    }
}

/// Optional accumulator.
impl<A: Accumulator> Accumulator for Option<A> {
    type Part = Option<A::Part>;
    type Buffers = A::Buffers;

    fn start(&self, region: &Region) -> Self::Part {
        self.as_ref().map(|accumulator| accumulator.start(region))
    }

    fn add(&self, part: &mut Self::Part, chunk: Chunk<'_>, buffers: &mut Self::Buffers) -> Result<()> {
        match (self, part) {
            (Some(accumulator), Some(part)) => accumulator.add(part, chunk, buffers),
            _ => Ok(()),
        }
    }

    fn merge(&self, all: &mut Self::Part, part: &Self::Part) {
        if let (Some(accumulator), Some(all), Some(part)) = (self, all, part) {
            accumulator.merge(all, part);
        }
    }

    fn takes_whole(&self) -> bool {
        self.as_ref().is_some_and(Accumulator::takes_whole)
    }
}

/// Result of a pass.
pub struct Folded<A: Accumulator> {
    pub part: A::Part,
    /// Number of stored elements.
    pub elements: u64,
    /// True if an expected chunk is absent.
    pub lacks_chunks: bool,
    /// Number of encoded bytes that were read.
    pub bytes_read: u64,
}

/// Pass over an array.
#[derive(Clone, Copy)]
pub struct Fold<'a> {
    pub array: &'a StoredArray,
    pub driver: &'a Driver,
    pub progress: &'a dyn Progress,
}

impl Fold<'_> {
    /// Runs the pass over all existing objects. `name` is its name in the progress display.
    pub fn run<A: Accumulator>(&self, name: &str, accumulator: &A) -> ChunkResult<Folded<A>> {
        self.run_over(&self.array.objects(), name, accumulator)
    }

    /// Runs the pass over some objects.
    pub fn run_over<A: Accumulator>(&self, objects: &ChunkSet, name: &str, accumulator: &A) -> ChunkResult<Folded<A>> {
        let object_bytes = self.array.chunk_bytes();
        self.progress.start(name, Some(objects.len().saturating_mul(object_bytes)));
        let mut all = Folded::new(accumulator, &self.array.selection());
        // There are too few shards for all threads, so they share the inner chunks of each.
        let shares_units = self.array.layout.is_some() && self.driver.outnumbers(objects);
        let work = |workers: &WorkersOf<'_, A>, index| {
            let found = self.object(accumulator, workers, index)?;
            self.progress.advance(object_bytes);
            Ok(found)
        };
        let fold = |_, found| all.merge(accumulator, &found);
        let reads = PrefetchPlan::of_array(self.array, |object, each| reads_of_object(self.array, object, true, each));
        let outcome = self.driver.run_units(objects, &[reads], shares_units, work, fold);
        self.progress.finish();
        outcome.map(|()| all)
    }

    fn object<A: Accumulator>(&self, accumulator: &A, workers: &WorkersOf<'_, A>, index: u64) -> Result<Folded<A>> {
        let region = self.array.inside(&self.array.region_of(index));
        let mut found = Folded::new(accumulator, &region);
        let mut first = workers.first();
        let Buffers { source: read, visitor: own, .. } = &mut *first;
        read.bytes_read = 0;
        let pieces = if accumulator.takes_whole() {
            InPieces::NotGiven
        } else {
            self.array.each_piece(index, read, |piece| {
                accumulator.add(&mut found.part, Chunk { region: &region, elements: Some(piece) }, own)
            })?
        };
        match pieces {
            InPieces::Given => found.elements = region.num_elements(),
            InPieces::Absent => found.add(accumulator, Chunk { region: &region, elements: None }, own)?,
            InPieces::NotGiven => {
                let object = self.array.open_subchunks(index, false, read)?;
                found.bytes_read = object.index_bytes();
                // The workers lock these buffers again.
                drop(first);
                found.add_chunks(accumulator, &object, workers)?;
                return Ok(found);
            }
        }
        found.bytes_read = read.bytes_read;
        Ok(found)
    }
}

impl<A: Accumulator> Folded<A> {
    fn new(accumulator: &A, region: &Region) -> Self {
        Folded { part: accumulator.start(region), elements: 0, lacks_chunks: false, bytes_read: 0 }
    }

    fn add(&mut self, accumulator: &A, chunk: Chunk<'_>, buffers: &mut A::Buffers) -> Result<()> {
        self.elements += chunk.elements.map_or(0, |_| chunk.region.num_elements());
        self.lacks_chunks |= chunk.elements.is_none();
        accumulator.add(&mut self.part, chunk, buffers)
    }

    fn add_chunks(&mut self, accumulator: &A, object: &OpenedObject<'_>, workers: &WorkersOf<'_, A>) -> Result<()> {
        let positions = accumulator.positions(object);
        if positions.is_none() {
            object.expect_all();
        }
        let count = positions.as_ref().map_or(object.subchunks.num_elements(), |some| some.len() as u64);
        let read = |Buffers { source, visitor, .. }: &mut Buffers<A::Buffers>, item| {
            let all = || object.subchunks.position(item);
            let position = positions.as_ref().map_or_else(all, |some| some[as_index(item)].clone());
            let region = object.region_of(&position);
            // Inner chunks of a shard may be completely beyond the edge.
            if region.is_empty() {
                return Ok(None);
            }
            let mut found = Folded::new(accumulator, &region);
            source.bytes_read = 0;
            let elements = object.read(&position, &region, source)?;
            found.add(accumulator, Chunk { region: &region, elements }, visitor)?;
            found.bytes_read = source.bytes_read;
            Ok(Some(found))
        };
        workers.each(count, read, |_, found| {
            if let Some(found) = found {
                self.merge(accumulator, &found);
            }
        })
    }

    fn merge(&mut self, accumulator: &A, other: &Self) {
        accumulator.merge(&mut self.part, &other.part);
        self.elements += other.elements;
        self.lacks_chunks |= other.lacks_chunks;
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
    }
}
