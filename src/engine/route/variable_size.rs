//! Arrays whose chunk sizes are known only after a read. Their elements have variable size, or a codec is not decoded
//! here.
//!
//! Subchunks (inner chunks, or chunks without shards) are done one by one, each with the memory of a thread. Those that
//! do not fit it are done at the end, one after the other, with all memory.

mod elements;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::Mutex;

use crate::array::{ChunkFault, ChunkSet, Fault, Result, StoredArray};
use crate::codec::{Recoding, VlenChain, VlenElements};
use crate::diagnostic::quantity::approximate;
use crate::engine::plan::Axis;
use crate::engine::{
    ChunkResult, Driver, Encoded, Groups, ObjectReport, Pass, PrefetchPlan, Reports, SubchunkWriter, Transfer,
    all_in_order, reads_in,
};
use crate::grid::Region;
use crate::store::held;
pub use elements::{BETWEEN_SUBCHUNKS, ElementReader, VariableSizeBuffers};
use elements::{chain_of, not_taken_apart};

/// Conversion of the subchunks of an array.
#[derive(Debug, Clone)]
pub struct VariableSize {
    /// Change of each subchunk.
    pub change: SubchunkChange,
    /// Chain that builds subchunks of the destination, if they can be built.
    pub destination: Option<VlenChain>,
    /// True if subchunks of only fill values are written.
    pub write_empty: bool,
    /// Memory of the run.
    pub memory_share: MemoryShare,
}

impl VariableSize {
    /// Returns true if the encoded subchunks stay unchanged.
    pub fn is_copy(&self) -> bool {
        matches!(&self.change, SubchunkChange::Recode(recoding) if recoding.is_copy())
    }

    /// Returns the mean number of reads of a source subchunk. Objects in the same subchunks share one read.
    pub fn read_amplification(&self, source: &StoredArray, destination: &StoredArray) -> f64 {
        let shape = &destination.metadata.shape;
        if shape.contains(&0) {
            return 1.0;
        }
        let lengths = Groups::new(destination, source).lengths();
        let subchunks = source.subchunk_shape().iter().zip(&lengths);
        let axes = shape.iter().zip(subchunks).filter(|_| matches!(self.change, SubchunkChange::Compose));
        axes.map(|(length, (from, to))| axis_amplification(*length, *from, *to)).product()
    }
}

/// Returns the mean number of parts into which the other side cuts the subchunks of an axis.
fn axis_amplification(length: u64, from: u64, to: u64) -> f64 {
    let axis = Axis { length, skipped: 0, source: from, unit: to };
    if length == 0 { 1.0 } else { approximate(axis.reads(to)) / approximate(axis.chunks()) }
}

/// Change of a subchunk.
#[derive(Debug, Clone)]
pub enum SubchunkChange {
    /// Only bytes->bytes codecs differ.
    Recode(Box<Recoding>),
    /// The elements are read from the subchunks that contain them, and encoded again.
    Compose,
}

/// Memory of a run in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryShare {
    /// Memory of each thread.
    pub share: u64,
    /// Memory for a subchunk that is done alone.
    pub whole: u64,
    /// Part of either that is in use whatever the subchunk.
    pub base: u64,
}

impl MemoryShare {
    /// Runs `work` for each object with the memory of a thread, group by group. Calls `fold` with the results in any
    /// order. Announces `reads` to the store.
    ///
    /// Objects that do not fit are done at the end, one after the other, with all memory.
    pub fn run<R: Default + AddAssign + Send>(
        self,
        driver: &Driver,
        (groups, objects, reads): (&Groups, &ChunkSet, &[PrefetchPlan<'_>]),
        work: impl Fn(&mut VariableSizeBuffers, u64) -> Result<R> + Sync,
        mut fold: impl FnMut(R),
    ) -> ChunkResult {
        let (too_large, failed) = (Mutex::new(Vec::new()), Mutex::new(BTreeMap::new()));
        let mut run = |most: u64, driver: &Driver, objects: &ChunkSet, reads: &[PrefetchPlan<'_>]| {
            let of_group = |buffers: &mut VariableSizeBuffers, group| {
                let mut all = R::default();
                let mut own = groups.objects(group).flatten().filter(|object| objects.contains(*object));
                while let Some(object) = own.next() {
                    buffers.begin(most, self.base);
                    match work(buffers, object) {
                        Ok(done) => all += done,
                        Err(fault) if fault.is_of_memory() && most < self.whole => {
                            // The other objects of the group need the same subchunks, so they wait as well.
                            held(&too_large).extend(std::iter::once(object).chain(&mut own));
                        }
                        Err(fault) => {
                            // The driver reports the group of a fault, but not the object in it.
                            held(&failed).insert(group, object);
                            return Err(fault);
                        }
                    }
                }
                Ok(all)
            };
            driver.run_ahead(&groups.of(objects), reads, of_group, |_, all| fold(all))
        };
        let done = run(self.share, driver, objects, reads).and_then(|()| {
            let left = ChunkSet::from_iter(std::mem::take(&mut *held(&too_large)));
            run(self.whole, &driver.alone(), &left, &[])
        });
        done.map_err(|ChunkFault { index, fault }| {
            let object = held(&failed).get(&index).copied().or_else(|| groups.objects(index).flatten().next());
            ChunkFault { index: object.unwrap_or(index), fault }
        })
    }
}

impl Pass<'_, VariableSize> {
    /// Writes every object of the destination.
    pub(crate) fn run(&self, fold: &mut Reports<'_>) -> ChunkResult {
        let Transfer { source, destination, .. } = self.transfer;
        // Objects that need the same subchunks are in the same group.
        let (groups, reader) = (Groups::new(destination, source), ElementReader::new(&self.source, 0));
        let objects = self.transfer.overlapped_among(&destination.metadata.grid, self.progress.assigned.as_ref());
        let work = |buffers: &mut VariableSizeBuffers, object| {
            self.progress.do_once(object, || {
                let report = self.object(object, (reader.as_ref(), &groups.start_beside(object)), buffers)?;
                self.listener.advance(report.bytes_read);
                Ok(report)
            })
        };
        // The number of elements does not show the size of an object, so it is the memory of a thread.
        let reads = PrefetchPlan::new(&source.node, self.route.memory_share.share, |group, each| {
            if !groups.objects(group).flatten().all(|object| self.progress.is_done(object)) {
                reads_in(self.transfer, &groups.region(group), each);
            }
        });
        let run = self.route.memory_share.run(self.driver, (&groups, &objects, &[reads]), work, &mut *fold);
        self.ended(run, fold)
    }

    /// Writes an object. `from` is the reader of elements, and the `from` of [`ElementReader::read`].
    fn object(
        &self,
        object: u64,
        (reader, from): (Option<&ElementReader<'_, '_>>, &[u64]),
        buffers: &mut VariableSizeBuffers,
    ) -> Result<ObjectReport> {
        let destination = &self.transfer.destination;
        let mut writer = SubchunkWriter::new(destination, object);
        buffers.source.bytes_read = 0;
        for subchunk in subchunks_inside(destination, object) {
            self.driver.interrupt().check()?;
            buffers.next();
            let is_written = match &self.route.change {
                SubchunkChange::Recode(recoding) => self.recode(recoding, &subchunk, buffers)?,
                SubchunkChange::Compose => {
                    let (chain, block) = (self.destination_chain(&subchunk)?, block_of(destination, &subchunk));
                    let elements = reader.ok_or_else(not_taken_apart)?.read(&block, from, buffers)?;
                    let is_written = self.route.write_empty || !elements.are_all(chain.fill_value());
                    if is_written {
                        buffers.encode(&chain, &elements, &block.shape, chain.fill_value())?;
                    }
                    is_written
                }
            };
            if is_written {
                writer.write(&subchunk, Encoded::whole(&buffers.written))?;
            }
        }
        writer.report.bytes_read = buffers.source.bytes_read;
        writer.finish()
    }

    /// Returns the chain that builds a subchunk of the destination.
    fn destination_chain(&self, subchunk: &[u64]) -> Result<Cow<'_, VlenChain>> {
        let chain = self.route.destination.as_ref().ok_or_else(not_taken_apart)?;
        chain_of(&self.transfer.destination, subchunk, chain)
    }

    /// Encodes a subchunk with other bytes->bytes codecs. Returns false if it is absent.
    fn recode(&self, recoding: &Recoding, subchunk: &[u64], buffers: &mut VariableSizeBuffers) -> Result<bool> {
        let Transfer { source, destination, absent_element, .. } = self.transfer;
        let located = |fault: Fault| self.source.located(fault, subchunk);
        if !buffers.read(&self.source, subchunk)? {
            let Some(absent) = absent_element else { return Ok(false) };
            let chain = &self.destination_chain(subchunk)?;
            // A box without elements. The empty shape of an array without dimensions would mean one element.
            let nothing = vec![0; subchunk.len().max(1)];
            let elements = VlenElements { bytes: absent.clone(), ranges: Vec::new() };
            buffers.encode(chain, &elements, &nothing, absent)?;
            return Ok(true);
        }
        buffers.source.bytes_read += buffers.source.bytes.len() as u64;
        let own = recoding_of([source, destination], subchunk)?;
        let recoding = own.as_ref().unwrap_or(recoding);
        if recoding.is_copy() {
            std::mem::swap(&mut buffers.source.bytes, &mut buffers.written);
        } else {
            buffers.decode_recoded(recoding, true).and_then(|()| buffers.encode_recoded(recoding)).map_err(located)?;
        }
        Ok(true)
    }
}

/// Calls `visit` for each subchunk of some objects of a destination, with its part inside the array. Calls `fold` with
/// the results in any order.
pub fn fold_subchunks<R: Default + AddAssign + Send>(
    transfer: &Transfer,
    objects: &ChunkSet,
    (memory_share, driver): (MemoryShare, &Driver),
    visit: impl Fn(&mut VariableSizeBuffers, &[u64], &Region) -> Result<R> + Sync,
    fold: impl FnMut(R),
) -> ChunkResult {
    let Transfer { source, destination, .. } = transfer;
    let work = |buffers: &mut VariableSizeBuffers, object| {
        let mut all = R::default();
        for subchunk in subchunks_inside(destination, object) {
            driver.interrupt().check()?;
            buffers.next();
            all += visit(buffers, &subchunk, &block_of(destination, &subchunk))?;
        }
        Ok(all)
    };
    memory_share.run(driver, (&Groups::new(destination, source), objects, &[]), work, fold)
}

/// Returns the recoding of a subchunk, or `None` if all subchunks have the same shape.
pub fn recoding_of(arrays: [&StoredArray; 2], subchunk: &[u64]) -> Result<Option<Recoding>> {
    if arrays.iter().all(|array| array.layout.is_some() || array.is_regular()) {
        return Ok(None);
    }
    let [source, destination] = arrays;
    let (source, destination) = (source.chain_of_subchunk(subchunk)?, destination.chain_of_subchunk(subchunk)?);
    Recoding::new(&source, &destination).map(Some).ok_or_else(not_taken_apart)
}

/// Returns the part of a subchunk inside the array.
fn block_of(array: &StoredArray, subchunk: &[u64]) -> Region {
    array.subchunk_grid.region_of(subchunk).common(&Region::whole(&array.metadata.shape))
}

/// Returns the subchunks of an object that overlap the array, in the object's order.
fn subchunks_inside(array: &StoredArray, object: u64) -> impl Iterator<Item = Vec<u64>> {
    all_in_order(array, object).filter(|subchunk| !block_of(array, subchunk).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    #[test]
    fn amplification_counts_the_parts_that_subchunks_are_cut_into() {
        for (length, from, to) in [(10, 4, 2), (10, 2, 4), (10, 4, 4), (12, 4, 6), (13, 5, 3), (1, 7, 9), (0, 1, 1)] {
            let subchunks = |of: u64| (0..length).map(move |index| index / of);
            let mut parts: Vec<(u64, u64)> = subchunks(from).zip(subchunks(to)).collect();
            parts.dedup();
            let count = |number: u64| f64::from(u32::try_from(number).unwrap());
            let wanted = if length == 0 { 1.0 } else { count(parts.len() as u64) / count(length.div_ceil(from)) };
            assert_eq!(axis_amplification(length, from, to), wanted, "{length} {from} {to}");
        }
    }

    #[test]
    fn objects_that_do_not_fit_a_share_are_done_with_all_there_is() {
        let driver = Driver::new(3).unwrap();
        let memory_share = MemoryShare { share: 100, whole: 300, base: 10 };
        let work = |needs: u64| {
            move |buffers: &mut VariableSizeBuffers, index: u64| {
                buffers.next();
                let bytes = if index % 7 == 3 { needs } else { 90 };
                buffers.take(bytes, 0).map(|()| index + 1)
            }
        };
        for subchunk in [1, 9] {
            let groups = Groups::of_grid(Grid::regular(&[50], &[1]), &[subchunk]);
            let (objects, mut sum) = (ChunkSet::full(50), 0);
            memory_share.run(&driver, (&groups, &objects, &[]), work(290), |done: u64| sum += done).unwrap();
            assert_eq!(sum, (1..=50).sum::<u64>());
            let fault = memory_share.run(&driver, (&groups, &objects, &[]), work(291), |_: u64| {}).unwrap_err();
            assert!(fault.index == 3 && matches!(fault.fault, Fault::Memory { needed: 301 }), "{fault:?}");
        }
    }
}
