//! One pass over the values of an array: every stored element once, in parallel, with the same outcome for any number
//! of threads.

use std::sync::Mutex;

use crate::array::ChunkSet;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::reader::{InPieces, PIECE, ReadBuffers};
use crate::array::stored::StoredArray;
use crate::array::subchunks::OpenedObject;
use crate::codec::region::as_index;
use crate::engine::driver::Driver;
use crate::engine::progress::Progress;
use crate::kernel::missing::MissingCount;
use crate::metadata::array::num_elements;
use crate::operation::numbers::CfNumbers;

/// What is made of numbers.
pub(super) trait Scan: Sync {
    /// What is found in some of them.
    type Part: Default + Send;

    /// Adds numbers, in native byte order.
    fn add(&self, part: &mut Self::Part, elements: &[u8]);

    /// Adds what was found elsewhere.
    fn merge(&self, part: &mut Self::Part, other: &Self::Part);
}

/// What a pass found, and in how many elements.
#[derive(Debug, Default)]
pub(super) struct Found<P> {
    pub part: P,
    /// Elements that are stored, missing ones among them.
    pub elements: u64,
    /// Elements that count as missing, which are in no part.
    pub missing: MissingCount,
}

/// The values of an array.
#[derive(Debug)]
pub(super) struct Values<'a> {
    /// The array.
    pub side: &'a StoredArray,
    /// Its elements as numbers.
    pub numbers: &'a CfNumbers,
    /// Who reads them.
    pub driver: &'a Driver,
    /// Whether nothing is known of what is not stored: it counts for nothing, and not as the fill value.
    pub is_sample: bool,
}

/// Bytes that a thread holds while it reads chunks: both sides of the largest codec, what the codecs keep, and the
/// index of a shard. Chunks that store their elements as they are are read in pieces.
pub(super) fn unit_bytes(side: &StoredArray) -> u64 {
    let is_plain = side.chain.stores_elements(as_index(side.chunk_bytes())) && !side.chain.checks_values();
    if side.layout.is_none() && !side.has_edges() && is_plain {
        return side.chunk_bytes().min(PIECE as u64);
    }
    let chain = side.subchunk_chain();
    let buffers = chain.max_representation_bytes().saturating_mul(2);
    buffers.saturating_add(chain.context_bytes()).saturating_add(side.index_bytes())
}

impl Values<'_> {
    /// Elements of the array; `None` where they are more than can be counted.
    pub(super) fn num_elements(&self) -> Option<u64> {
        num_elements(&self.side.metadata.shape)
    }

    /// Makes the pass over what is stored. Parts are those of subchunks, merged to those of objects, merged in the order
    /// of the grid.
    pub(super) fn scan<S: Scan>(
        &self,
        scan: &S,
        name: &str,
        progress: &dyn Progress,
    ) -> Result<Found<S::Part>, ChunkFault> {
        let (object_bytes, objects) = (self.side.chunk_bytes(), self.side.objects());
        progress.start(name, Some(objects.len().saturating_mul(object_bytes)));
        let mut all = Found::<S::Part>::default();
        let mut fold = |found: Found<S::Part>| {
            all.add(scan, &found);
            progress.advance(object_bytes);
        };
        let few = objects.len() < 2 * self.driver.num_threads() as u64;
        let outcome = if self.side.layout.is_some() && few {
            each_object(&objects, |index| self.shared(scan, index), &mut fold)
        } else {
            let work = |buffers: &mut ReadBuffers, index| self.object(scan, buffers, index);
            self.driver.run_ahead::<ReadBuffers, _>(&objects, &[self.side], work, |_, found| fold(found))
        };
        progress.finish();
        outcome.map(|()| all)
    }

    /// One thread reads an object.
    fn object<S: Scan>(
        &self,
        scan: &S,
        buffers: &mut ReadBuffers,
        index: u64,
    ) -> Result<Found<S::Part>, Fault> {
        let mut found = Found::<S::Part>::default();
        let mut whole = Found::<S::Part>::default();
        match self.side.each_piece(index, buffers, |piece| self.add(scan, &mut whole, piece))? {
            InPieces::Given => {
                whole.elements = num_elements(&self.side.shape_of(index)).unwrap_or(0);
                found.add(scan, &whole);
                return Ok(found);
            }
            InPieces::Absent => return Ok(found),
            InPieces::NotGiven => {}
        }
        let object = self.side.open(index, buffers)?;
        object.expect_all();
        object.each_place(|place| {
            found.add(scan, &self.subchunk(scan, &object, place, buffers)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// All threads read the inner chunks of a shard, a few at a time.
    fn shared<S: Scan>(&self, scan: &S, index: u64) -> Result<Found<S::Part>, Fault> {
        let threads = self.driver.num_threads();
        let workspaces: Vec<Mutex<ReadBuffers>> = (0..threads).map(|_| Mutex::default()).collect();
        let object = self.side.open(index, &mut ReadBuffers::default())?;
        object.expect_all();
        let mut found = Found::<S::Part>::default();
        let mut places = Vec::new();
        let run = |places: &mut Vec<Vec<u64>>, found: &mut Found<S::Part>| {
            let parts = self.driver.map(&workspaces, places.len(), |buffers, item| {
                self.driver.interrupt().check()?;
                self.subchunk(scan, &object, &places[item], buffers)
            });
            places.clear();
            for part in parts {
                found.add(scan, &part?);
            }
            Ok(())
        };
        object.each_place(|place| {
            places.push(place.to_vec());
            if places.len() < threads * 64 { Ok(()) } else { run(&mut places, &mut found) }
        })?;
        run(&mut places, &mut found)?;
        Ok(found)
    }

    fn subchunk<S: Scan>(
        &self,
        scan: &S,
        object: &OpenedObject<'_>,
        place: &[u64],
        buffers: &mut ReadBuffers,
    ) -> Result<Found<S::Part>, Fault> {
        let subchunk = object.subchunk(place);
        let mut found = Found::<S::Part>::default();
        if let Some(elements) = object.read(place, &subchunk, buffers)? {
            self.add(scan, &mut found, elements);
            found.elements = subchunk.num_elements();
        }
        Ok(found)
    }

    fn add<S: Scan>(&self, scan: &S, found: &mut Found<S::Part>, elements: &[u8]) {
        let Found { part, missing, .. } = found;
        *missing += self.numbers.each_piece(elements, |numbers| scan.add(part, numbers));
    }
}

/// Does the work on each object here, one after the other.
fn each_object<P>(
    objects: &ChunkSet,
    work: impl Fn(u64) -> Result<Found<P>, Fault>,
    fold: &mut impl FnMut(Found<P>),
) -> Result<(), ChunkFault> {
    for index in objects.iter() {
        fold(work(index).map_err(|fault| ChunkFault { index, fault })?);
    }
    Ok(())
}

impl<P> Found<P> {
    /// Adds what was found elsewhere.
    fn add(&mut self, scan: &impl Scan<Part = P>, other: &Found<P>) {
        scan.merge(&mut self.part, &other.part);
        self.elements += other.elements;
        self.missing += other.missing;
    }
}
