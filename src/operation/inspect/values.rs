//! One pass over the values of an array: every stored element once, in parallel, with the same outcome for any number
//! of threads.

use std::sync::Mutex;

use crate::engine::ChunkSet;
use crate::engine::driver::{ChunkFault, Driver, Fault};
use crate::engine::object::Side;
use crate::engine::progress::Progress;
use crate::metadata::array::num_elements;
use crate::operation::error::OperationError;
use crate::operation::transcode::reader::{CellReader, OpenedObject, ReadBuffers};

/// What is made of elements.
pub(super) trait Scan: Sync {
    /// What is found in some of them.
    type Part: Default + Send;

    /// Adds elements, in native byte order.
    fn add(&self, part: &mut Self::Part, elements: &[u8]);

    /// Adds what was found elsewhere.
    fn merge(&self, part: &mut Self::Part, other: &Self::Part);
}

/// What a pass found, and in how many elements.
#[derive(Debug, Default)]
pub(super) struct Found<P> {
    pub part: P,
    pub elements: u64,
}

/// The values of an array.
#[derive(Debug)]
pub(super) struct Values<'a> {
    /// The array.
    pub side: &'a Side,
    /// Its objects that are stored.
    pub present: &'a ChunkSet,
    /// Who reads them.
    pub driver: &'a Driver,
}

/// Bytes that a thread holds: both sides of the largest codec.
pub(super) fn unit_bytes(side: &Side) -> u64 {
    let chain = side.layout.as_ref().map_or(&side.chain, |layout| &layout.cell);
    chain.max_representation_bytes().saturating_mul(2)
}

/// As many threads as `budget` bytes allow; an error where they allow none.
pub(super) fn threads_within(
    budget: Option<u64>,
    unit: u64,
    threads: usize,
) -> Result<usize, OperationError> {
    let Some(budget) = budget else { return Ok(threads) };
    match usize::try_from(budget / unit.max(1)).unwrap_or(usize::MAX) {
        0 => Err(OperationError::environment(format!(
            "--max-memory of {budget} bytes is too small: a single chunk needs {unit} bytes"
        ))
        .with_help(format!("give at least `--max-memory {unit}`"))),
        allowed => Ok(threads.min(allowed)),
    }
}

impl Values<'_> {
    /// Elements of the array; `None` where they are more than can be counted.
    pub(super) fn num_elements(&self) -> Option<u64> {
        num_elements(&self.side.metadata.shape)
    }

    /// Makes the pass over what is stored. Parts are those of cells, merged to those of objects, merged in the order
    /// of the grid.
    pub(super) fn scan<S: Scan>(
        &self,
        scan: &S,
        name: &str,
        progress: &dyn Progress,
    ) -> Result<Found<S::Part>, ChunkFault> {
        let object_bytes = self.side.chunk_bytes();
        progress.start(name, Some(self.present.len().saturating_mul(object_bytes)));
        let mut all = Found::<S::Part>::default();
        let mut fold = |found: Found<S::Part>| {
            scan.merge(&mut all.part, &found.part);
            all.elements += found.elements;
            progress.advance(object_bytes);
        };
        let few = self.present.len() < 2 * self.driver.num_threads() as u64;
        let outcome = if self.side.layout.is_some() && few {
            self.each_object(|index| self.shared(scan, index), &mut fold)
        } else {
            let work = |buffers: &mut ReadBuffers, index| self.object(scan, buffers, index);
            self.driver.run::<ReadBuffers, _>(self.present, work, |_, found| fold(found))
        };
        progress.finish();
        outcome.map(|()| all)
    }

    fn each_object<P>(
        &self,
        work: impl Fn(u64) -> Result<Found<P>, Fault>,
        fold: &mut impl FnMut(Found<P>),
    ) -> Result<(), ChunkFault> {
        for place in 0..self.present.len() {
            let Some(index) = self.present.nth(place) else { break };
            fold(work(index).map_err(|fault| ChunkFault { index, fault })?);
        }
        Ok(())
    }

    /// One thread reads an object.
    fn object<S: Scan>(
        &self,
        scan: &S,
        buffers: &mut ReadBuffers,
        index: u64,
    ) -> Result<Found<S::Part>, Fault> {
        let reader = CellReader { side: self.side };
        let mut found = Found::<S::Part>::default();
        let mut part = S::Part::default();
        if reader.each_piece(index, buffers, |piece| scan.add(&mut part, piece))? {
            scan.merge(&mut found.part, &part);
            found.elements = num_elements(&self.side.metadata.chunk_shape).unwrap_or(0);
            return Ok(found);
        }
        let object = reader.open(index, buffers)?;
        object.each_place(|place| {
            let (part, elements) = cell(scan, &object, place, buffers)?;
            scan.merge(&mut found.part, &part);
            found.elements += elements;
            Ok(())
        })?;
        Ok(found)
    }

    /// All threads read the inner chunks of a shard, a few at a time.
    fn shared<S: Scan>(&self, scan: &S, index: u64) -> Result<Found<S::Part>, Fault> {
        let threads = self.driver.num_threads();
        let workspaces: Vec<Mutex<ReadBuffers>> = (0..threads).map(|_| Mutex::default()).collect();
        let object = CellReader { side: self.side }.open(index, &mut ReadBuffers::default())?;
        let mut found = Found::<S::Part>::default();
        let mut places = Vec::new();
        let run = |places: &mut Vec<Vec<u64>>, found: &mut Found<S::Part>| {
            let parts = self.driver.map(&workspaces, places.len(), |buffers, item| {
                cell(scan, &object, &places[item], buffers)
            });
            places.clear();
            for part in parts {
                let (part, elements) = part?;
                scan.merge(&mut found.part, &part);
                found.elements += elements;
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
}

fn cell<S: Scan>(
    scan: &S,
    object: &OpenedObject<'_>,
    place: &[u64],
    buffers: &mut ReadBuffers,
) -> Result<(S::Part, u64), Fault> {
    let cell = object.cell(place);
    let mut part = S::Part::default();
    let Some(elements) = object.read(place, &cell, buffers)? else { return Ok((part, 0)) };
    scan.add(&mut part, elements);
    Ok((part, cell.num_elements()))
}
