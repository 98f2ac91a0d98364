//! The one pass over the elements of an array: each chunk is read once, in parallel, whatever is made of its elements,
//! with the same outcome for any number of threads.

use std::sync::Mutex;

use super::driver::Driver;
use super::progress::Progress;
use crate::array::ChunkSet;
use crate::array::fault::{ChunkFault, Result};
use crate::array::reader::{InPieces, ReadBuffers};
use crate::array::stored::StoredArray;
use crate::array::subchunks::OpenedObject;
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
pub struct Folded<P> {
    pub part: P,
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

/// Buffers that a thread keeps.
struct Buffers<A: Accumulator>(ReadBuffers, A::Buffers);

impl<A: Accumulator> Default for Buffers<A> {
    fn default() -> Self {
        Buffers(ReadBuffers::default(), A::Buffers::default())
    }
}

impl Fold<'_> {
    /// Makes the pass over all objects that are there, under this name.
    pub fn run<A: Accumulator>(&self, name: &str, accumulator: &A) -> Result<Folded<A::Part>, ChunkFault> {
        self.run_over(&self.array.objects(), name, accumulator)
    }

    /// Makes the pass over some objects.
    pub fn run_over<A: Accumulator>(
        &self,
        objects: &ChunkSet,
        name: &str,
        accumulator: &A,
    ) -> Result<Folded<A::Part>, ChunkFault> {
        let object_bytes = self.array.chunk_bytes();
        self.progress.start(name, Some(objects.len().saturating_mul(object_bytes)));
        let taken = Region::between(self.array.metadata.skipped.clone(), &self.array.metadata.shape);
        let mut all = Folded::new(accumulator, &taken);
        let few = objects.len() < 2 * self.driver.num_threads() as u64;
        let outcome = if self.array.layout.is_some() && few {
            objects.iter().try_for_each(|index| {
                let found = self.shared(accumulator, index).map_err(|fault| ChunkFault { index, fault })?;
                all.merge(accumulator, &found);
                self.progress.advance(object_bytes);
                Ok(())
            })
        } else {
            let work = |buffers: &mut Buffers<A>, index| {
                let found = self.object(accumulator, buffers, index)?;
                self.progress.advance(object_bytes);
                Ok(found)
            };
            let fold = |_, found| all.merge(accumulator, &found);
            self.driver.run_ahead(objects, &[self.array], work, fold)
        };
        self.progress.finish();
        outcome.map(|()| all)
    }

    /// One thread reads an object.
    fn object<A: Accumulator>(
        &self,
        accumulator: &A,
        buffers: &mut Buffers<A>,
        index: u64,
    ) -> Result<Folded<A::Part>> {
        let region = self.array.inside(&self.array.region_of(index));
        let mut found = Folded::new(accumulator, &region);
        let Buffers(read, own) = buffers;
        read.bytes_read = 0;
        let pieces = if accumulator.takes_whole() {
            InPieces::NotGiven
        } else {
            self.array.each_piece(index, read, |piece| {
                let chunk = Chunk { region: &region, elements: Some(piece) };
                accumulator.add(&mut found.part, chunk, own)
            })?
        };
        match pieces {
            InPieces::Given => found.elements = region.num_elements(),
            InPieces::Absent => found.add(accumulator, Chunk { region: &region, elements: None }, own)?,
            InPieces::NotGiven => {
                let object = self.array.open(index, read)?;
                needed(accumulator, &object, |place| {
                    found.merge(accumulator, &chunk(accumulator, &object, place, buffers)?);
                    Ok(())
                })?;
            }
        }
        found.bytes_read = buffers.0.bytes_read;
        Ok(found)
    }

    /// All threads read the inner chunks of a shard, a few at a time.
    fn shared<A: Accumulator>(&self, accumulator: &A, index: u64) -> Result<Folded<A::Part>> {
        let threads = self.driver.num_threads();
        let workspaces: Vec<Mutex<Buffers<A>>> = (0..threads).map(|_| Mutex::default()).collect();
        let mut first = ReadBuffers::default();
        let object = self.array.open(index, &mut first)?;
        let mut found = Folded::new(accumulator, &self.array.inside(&self.array.region_of(index)));
        let mut run = |places: &mut Vec<Vec<u64>>| {
            let parts = self.driver.map(&workspaces, places.len(), |buffers, item| {
                chunk(accumulator, &object, &places[item], buffers)
            });
            places.clear();
            parts.into_iter().try_for_each(|part| part.map(|part| found.merge(accumulator, &part)))
        };
        let mut places = Vec::new();
        needed(accumulator, &object, |place| {
            places.push(place.to_vec());
            if places.len() < threads * 64 { Ok(()) } else { run(&mut places) }
        })?;
        run(&mut places)?;
        let read = workspaces.into_iter().filter_map(|buffers| Some(buffers.into_inner().ok()?.0.bytes_read));
        found.bytes_read = read.fold(first.bytes_read, u64::saturating_add);
        Ok(found)
    }
}

/// Gives the places of the chunks of an object that are needed to `visit`.
fn needed<A: Accumulator>(
    accumulator: &A,
    object: &OpenedObject<'_>,
    mut visit: impl FnMut(&[u64]) -> Result<()>,
) -> Result<()> {
    if let Some(places) = accumulator.places(object) {
        return places.iter().try_for_each(|place| visit(place));
    }
    object.expect_all();
    object.each_place(visit)
}

/// Reads a chunk.
fn chunk<A: Accumulator>(
    accumulator: &A,
    object: &OpenedObject<'_>,
    place: &[u64],
    Buffers(read, own): &mut Buffers<A>,
) -> Result<Folded<A::Part>> {
    let region = object.subchunk(place);
    let mut found = Folded::new(accumulator, &region);
    let elements = object.read_or_keep(place, &region, read)?;
    found.add(accumulator, Chunk { region: &region, elements }, own)?;
    Ok(found)
}

impl<P> Folded<P> {
    fn new<A: Accumulator<Part = P>>(accumulator: &A, region: &Region) -> Self {
        Folded { part: accumulator.start(region), elements: 0, lacks_chunks: false, bytes_read: 0 }
    }

    /// Adds a chunk that is given whole.
    fn add<A: Accumulator<Part = P>>(
        &mut self,
        accumulator: &A,
        chunk: Chunk<'_>,
        buffers: &mut A::Buffers,
    ) -> Result<()> {
        self.elements += chunk.elements.map_or(0, |_| chunk.region.num_elements());
        self.lacks_chunks |= chunk.elements.is_none();
        accumulator.add(&mut self.part, chunk, buffers)
    }

    fn merge<A: Accumulator<Part = P>>(&mut self, accumulator: &A, other: &Folded<P>) {
        accumulator.merge(&mut self.part, &other.part);
        self.elements += other.elements;
        self.lacks_chunks |= other.lacks_chunks;
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
    }
}
