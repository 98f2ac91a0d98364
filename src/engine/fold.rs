//! The one pass over the elements of an array: each chunk is read once, in parallel, whatever is made of its elements,
//! with the same outcome for any number of threads.

use super::{Buffers, Driver, Progress, Workers};
use crate::array::{ChunkFault, ChunkSet, InPieces, OpenedObject, Result, StoredArray};
use crate::codec::as_index;
use crate::grid::Region;

/// A chunk that is read, or a piece of one: pieces come in the order of the chunk.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// The chunk, as far as it lies inside the array.
    pub region: &'a Region,
    /// The elements; `None` where the chunk is not stored.
    pub elements: Option<&'a [u8]>,
}

/// Something that is found out about the elements of an array.
pub trait Accumulator: Sync {
    /// The findings in a box of the array.
    type Part: Send;
    /// Buffers that a thread keeps from chunk to chunk.
    type Buffers: Default + Send;

    /// A part of which nothing was looked at.
    fn start(&self, region: &Region) -> Self::Part;

    /// Adds a chunk, or a piece of one.
    fn add(&self, part: &mut Self::Part, chunk: Chunk<'_>, buffers: &mut Self::Buffers) -> Result<()>;

    /// Adds what was found elsewhere. Parts come in the order of the grid.
    fn merge(&self, all: &mut Self::Part, part: &Self::Part);

    /// True if chunks have to be given whole.
    fn takes_whole(&self) -> bool {
        false
    }

    /// The places of the chunks of an object that are needed; `None` where all are.
    fn places(&self, _object: &OpenedObject<'_>) -> Option<Vec<Vec<u64>>> {
        None
    }
}

/// Both of two.
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

/// One that may not be asked for.
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

/// The findings of a pass.
#[derive(Debug)]
pub struct Folded<A: Accumulator> {
    pub part: A::Part,
    /// Elements that are stored.
    pub elements: u64,
    /// True if a chunk of those that were looked for is absent.
    pub lacks_chunks: bool,
    /// Bytes that were read, as they are stored.
    pub bytes_read: u64,
}

/// A pass over an array.
#[derive(Clone, Copy)]
pub struct Fold<'a> {
    pub array: &'a StoredArray,
    pub driver: &'a Driver,
    pub progress: &'a dyn Progress,
}

impl Fold<'_> {
    /// Makes the pass over all objects that are there, under this name.
    pub fn run<A: Accumulator>(&self, name: &str, accumulator: &A) -> Result<Folded<A>, ChunkFault> {
        self.run_over(&self.array.objects(), name, accumulator)
    }

    /// Makes the pass over some objects.
    pub fn run_over<A: Accumulator>(
        &self,
        objects: &ChunkSet,
        name: &str,
        accumulator: &A,
    ) -> Result<Folded<A>, ChunkFault> {
        let object_bytes = self.array.chunk_bytes();
        self.progress.start(name, Some(objects.len().saturating_mul(object_bytes)));
        let taken = Region::between(self.array.metadata.skipped.clone(), &self.array.metadata.shape);
        let mut all = Folded::new(accumulator, &taken);
        // Too few shards to go round: the threads share the inner chunks of each.
        let shares_units = self.array.layout.is_some() && self.driver.outnumbers(objects);
        let work = |workers: &Workers<'_, A::Buffers>, index| {
            let found = self.object(accumulator, workers, index)?;
            self.progress.advance(object_bytes);
            Ok(found)
        };
        let fold = |_, found| all.merge(accumulator, &found);
        let outcome = self.driver.run_units(objects, &[self.array], shares_units, work, fold);
        self.progress.finish();
        outcome.map(|()| all)
    }

    /// Reads an object.
    fn object<A: Accumulator>(
        &self,
        accumulator: &A,
        workers: &Workers<'_, A::Buffers>,
        index: u64,
    ) -> Result<Folded<A>> {
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

    /// Adds a chunk that is given whole.
    fn add(&mut self, accumulator: &A, chunk: Chunk<'_>, buffers: &mut A::Buffers) -> Result<()> {
        self.elements += chunk.elements.map_or(0, |_| chunk.region.num_elements());
        self.lacks_chunks |= chunk.elements.is_none();
        accumulator.add(&mut self.part, chunk, buffers)
    }

    /// Adds the chunks of an object that are needed.
    fn add_chunks(
        &mut self,
        accumulator: &A,
        object: &OpenedObject<'_>,
        workers: &Workers<'_, A::Buffers>,
    ) -> Result<()> {
        let places = accumulator.places(object);
        if places.is_none() {
            object.expect_all();
        }
        let count = places.as_ref().map_or(object.num_subchunks(), |places| places.len() as u64);
        let read = |Buffers { source, visitor, .. }: &mut Buffers<A::Buffers>, item| {
            let place = places.as_ref().map_or_else(|| object.place(item), |places| places[as_index(item)].clone());
            let region = object.subchunk(&place);
            // Inner chunks of a shard may lie beyond the edge.
            if region.is_empty() {
                return Ok(None);
            }
            let mut found = Folded::new(accumulator, &region);
            source.bytes_read = 0;
            let elements = object.read(&place, &region, source)?;
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
